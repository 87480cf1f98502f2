"""Named model grammars: how a text is cut, and what tiktoken itself adds to the encoding.

One JSON file per grammar lies next to this module, with examples whose splits were made by the reference engine
(tests run them against every engine). A rank file (`.tiktoken`, `qwen.tiktoken`, `tokenizer.model` of Llama 4) holds no
pattern, so its user has to name one of these.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, cast

from gigatok_compile.definition.fields import Fields, json_name
from gigatok_compile.definition.pre_tokenizer import read_steps
from gigatok_compile.errors import CompileError, DefinitionError
from gigatok_compile.ir.definition import Dialect, PreTokenizerStep, SplitStep


@dataclass(frozen=True, slots=True)
class Example:
    """`pieces` joined give `text`, less what the grammar removes; gaps between matches are pieces of their own."""

    text: str
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A pre-tokenizer by name.

    rows: its numbers in the list of known pre-tokenizers, "1" to "41" and variants such as "4b".
    dialect: how the patterns are read, "fancy" (tiktoken) or "oniguruma" (tokenizer.json).
    patterns: applied in order, each to the pieces that the one before left; nearly always just one. Empty for a
        grammar that is given as the `pre_tokenizer` of a tokenizer.json.
    pre_tokenizer: that object; None for a grammar of patterns, and where the models have no pre-tokenizer.
    special_tokens: content -> id, where tiktoken defines them for this encoding; else empty.
    unicode: version of the tables that the examples were made with.
    """

    name: str
    aliases: tuple[str, ...]
    rows: tuple[str, ...]
    dialect: str
    patterns: tuple[str, ...]
    pre_tokenizer: Mapping[str, Any] | None
    models: tuple[str, ...]
    special_tokens: Mapping[str, int]
    unicode: str
    notes: str
    examples: tuple[Example, ...]
    where: str  # the file, for errors

    @property
    def steps(self) -> tuple[PreTokenizerStep, ...]:
        """The grammar in the form that the compiler works with, whichever way it is given.

        Raises:
            CompileError: for a pre_tokenizer with a component that is not read, by file and field.
        """
        if self.patterns:
            dialect, named = cast(Dialect, self.dialect), len(self.patterns) > 1
            return tuple(
                SplitStep(pattern, dialect, f"pattern[{index}]" if named else "pattern")
                for index, pattern in enumerate(self.patterns)
            )
        if self.pre_tokenizer is None:
            return ()
        with in_file(self.where):
            return read_steps(Fields(dict(self.pre_tokenizer), "pre_tokenizer"))

    @property
    def pattern(self) -> str:
        """The only pattern. Raises DefinitionError for a sequence of several and for a pre_tokenizer."""
        if not self.patterns:
            raise DefinitionError(f"the grammar {self.name!r} is a pre_tokenizer of a tokenizer.json, not a pattern")
        if len(self.patterns) != 1:
            raise DefinitionError(f"the grammar {self.name!r} is a sequence of {len(self.patterns)} patterns")
        return self.patterns[0]


def load_grammar(name_or_path: str | Path) -> Grammar:
    """A grammar by name or alias (case does not matter), or from a `.json` file of the same form.

    Raises:
        DefinitionError: for a name that is not known, a file that cannot be read, or a field that is missing or wrong.
    """
    text = str(name_or_path)
    if text.lower().endswith(".json"):
        try:
            data = json.loads(Path(text).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DefinitionError(f"not a readable grammar file ({error})", where=text) from None
        return _parse(data, text)
    key = _key(text)
    names = _names()
    if key not in names:
        raise DefinitionError(f"no grammar is called {text!r}", hint="known: " + ", ".join(grammar_names()))
    return names[key]


def grammar_names() -> tuple[str, ...]:
    """Names of all grammars that come with the package, sorted, without aliases."""
    return tuple(sorted({grammar.name for grammar in _names().values()}))


def _key(name: str) -> str:
    return name.lower().replace("_", "-")


@lru_cache(maxsize=1)
def _names() -> dict[str, Grammar]:
    names: dict[str, Grammar] = {}
    for entry in sorted(files("gigatok_compile.grammars").iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".json"):
            grammar = _parse(json.loads(entry.read_text(encoding="utf-8")), entry.name)
            for name in (grammar.name, *grammar.aliases):
                if _key(name) in names:
                    raise DefinitionError(f"two grammars are called {name!r}", where=entry.name)
                names[_key(name)] = grammar
    return names


def _parse(data: Any, where: str) -> Grammar:
    with in_file(where):
        fields = Fields.of(data, "")
        dialect, patterns = _read_patterns(fields)
        pre_tokenizer = fields.optional_child("pre_tokenizer")
        return Grammar(
            name=fields.string("name"),
            aliases=_strings(fields, "aliases"),
            rows=_strings(fields, "rows"),
            dialect=dialect,
            patterns=patterns,
            pre_tokenizer=None if pre_tokenizer is None else pre_tokenizer.values,
            models=_strings(fields, "models"),
            special_tokens=_special_tokens(fields),
            unicode=fields.string("unicode") if "unicode" in fields.values else "16.0",
            notes=fields.string("notes") if "notes" in fields.values else "",
            examples=_examples(fields),
            where=where,
        )


@contextmanager
def in_file(name: str) -> Iterator[None]:
    """Puts the name of the file before the field in errors."""
    try:
        yield
    except CompileError as error:
        if not (error.where or "").startswith(name):  # once is enough
            error.where = f"{name}: {error.where}" if error.where else name
        raise


def _read_patterns(fields: Fields) -> tuple[str, tuple[str, ...]]:
    """Dialect and patterns: from `dialect` and `pattern`, or "oniguruma" and none for a `pre_tokenizer`."""
    if "pre_tokenizer" in fields.values:
        for key in ("pattern", "dialect"):
            if key in fields.values:
                fields.fail(key, "a grammar with a pre_tokenizer has no such field")
        return "oniguruma", ()
    if isinstance(fields.required("pattern"), str):
        patterns: tuple[str, ...] = (fields.string("pattern"),)
    else:
        patterns = _strings(fields, "pattern")
    if not patterns:
        fields.fail("pattern", "the list of patterns is empty")
    dialect = fields.string("dialect")
    if dialect not in ("oniguruma", "fancy"):
        fields.fail("dialect", f"the dialect {dialect!r} is not oniguruma or fancy")
    return dialect, patterns


def _strings(fields: Fields, key: str) -> tuple[str, ...]:
    """A list of strings, empty if the field is missing."""
    values = fields.items(key) if key in fields.values else []
    for index, value in enumerate(values):
        if not isinstance(value, str):
            fields.fail(f"{key}[{index}]", f"expected a string, found {json_name(value)}")
    return tuple(values)


def _special_tokens(fields: Fields) -> dict[str, int]:
    given = fields.optional_child("special_tokens")
    tokens = {} if given is None else {content: given.unsigned(content) for content in given.values}
    for rule in fields.children("special_token_ranges") if "special_token_ranges" in fields.values else ():
        for number in range(rule.unsigned("first"), rule.unsigned("last") + 1):
            tokens[rule.string("content").replace("N", str(number))] = number
    return tokens


def _examples(fields: Fields) -> tuple[Example, ...]:
    examples = []
    for index, value in enumerate(fields.items("examples") if "examples" in fields.values else ()):
        match value:
            case [str(text), [*pieces]] if all(isinstance(piece, str) for piece in pieces):
                examples.append(Example(text, tuple(pieces)))
            case _:
                fields.fail(f"examples[{index}]", "an example is a text and the list of its pieces")
    return tuple(examples)
