"""Named model grammars: the pattern, the dialect it is written in, and what tiktoken itself adds to it.

One JSON file per grammar lies next to this module, with examples whose splits were made by the reference engine
(tests run them against every engine). A rank file (`.tiktoken`, `qwen.tiktoken`, `tokenizer.model` of Llama 4) holds no
pattern, so its user has to name one of these.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from gigatok_compile.errors import DefinitionError


@dataclass(frozen=True, slots=True)
class Example:
    """`pieces` joined give `text`; gaps between matches are pieces of their own."""

    text: str
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grammar:
    """A pre-tokenizer by name.

    dialect: how the patterns are read, "fancy" (tiktoken) or "oniguruma" (tokenizer.json).
    patterns: applied in order, each to the pieces that the one before left; nearly always just one.
    special_tokens: content -> id, where tiktoken defines them for this encoding; else empty.
    unicode: version of the tables that the examples were made with.
    """

    name: str
    aliases: tuple[str, ...]
    dialect: str
    patterns: tuple[str, ...]
    models: tuple[str, ...]
    special_tokens: Mapping[str, int]
    unicode: str
    notes: str
    examples: tuple[Example, ...]

    @property
    def pattern(self) -> str:
        """The only pattern. Raises DefinitionError for a sequence of several."""
        if len(self.patterns) != 1:
            raise DefinitionError(f"the grammar {self.name!r} is a sequence of {len(self.patterns)} patterns")
        return self.patterns[0]


def load_grammar(name_or_path: str | Path) -> Grammar:
    """A grammar by name or alias (case does not matter), or from a `.json` file of the same form.

    Raises:
        DefinitionError: for a name that is not known, a file that cannot be read, or a missing field.
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
    try:
        special = dict(data.get("special_tokens", {}))
        for rule in data.get("special_token_ranges", []):
            for number in range(rule["first"], rule["last"] + 1):
                special[rule["content"].replace("N", str(number))] = number
        if data["dialect"] not in ("oniguruma", "fancy"):
            raise DefinitionError(f"the dialect {data['dialect']!r} is not oniguruma or fancy", where=where)
        patterns = (data["pattern"],) if isinstance(data["pattern"], str) else tuple(map(str, data["pattern"]))
        return Grammar(
            name=data["name"],
            aliases=tuple(data.get("aliases", ())),
            dialect=data["dialect"],
            patterns=patterns,
            models=tuple(data.get("models", ())),
            special_tokens=special,
            unicode=data.get("unicode", "16.0"),
            notes=data.get("notes", ""),
            examples=tuple(Example(text, tuple(pieces)) for text, pieces in data.get("examples", ())),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DefinitionError(f"not a grammar: {error!r}", where=where) from None
