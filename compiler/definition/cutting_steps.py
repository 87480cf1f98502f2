"""Pre-tokenizers that cut, one by one: each becomes SplitSteps, so that later stages know one kind of cut only.

The sets of characters in these patterns, spelled `\\p{hf:..}`, are those of the component and not of a Unicode release
(`gigatok_compile.unicode.components`). Of equal ways to say a cut, the one is taken whose matches are long: a run that is
isolated rather than single characters that are joined again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import Behavior, SplitStep
from gigatok_compile.pattern.parse import MAX_REPEAT, parse_pattern
from gigatok_compile.unicode.components import ANY_SCRIPT, PREFIX, script_names

GPT2_PATTERN: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern behind `ByteLevel(use_regex=true)`."""

NUMERIC: Final = r"\p{hf:numeric}"
PUNCTUATION: Final = r"\p{hf:punctuation}"
WHITESPACE: Final = r"\p{hf:whitespace}"
WORDS: Final = r"\p{hf:word}+|[^\p{hf:word}\p{hf:whitespace}]+"
ANY_CHARACTER: Final = r"\O"  # what (?s:.) is elsewhere; Oniguruma has no flag s

_BEHAVIORS: Final = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_DEFAULT_LENGTH: Final = 5  # of FixedLength


def check_user_pattern(pattern: str, dialect: str, where: str) -> None:
    """Refuse a pattern that did not come from us and names a component's set, which no engine knows.

    Raises:
        PatternError: an unknown property.
    """
    if PREFIX in pattern:
        parse_pattern(pattern, dialect, where, components=False)


def read_split(fields: Fields) -> tuple[SplitStep, ...]:
    """Split: a regex or a literal text of the user's, any behavior."""
    pattern = fields.child("pattern")
    match list(pattern.values):
        case ["Regex"]:
            text, is_regex, where = pattern.string("Regex"), True, pattern.path("Regex")
            check_user_pattern(text, "oniguruma", where)
        case ["String"]:
            text, is_regex, where = pattern.string("String"), False, pattern.path("String")
        case keys:
            raise DefinitionError(
                f"expected one key, String or Regex, found {', '.join(keys) or 'none'}", where=pattern.where
            )
    if not text and not is_regex:
        raise DefinitionError(
            "the text to split at is empty", where=where, hint="this cuts at every character; write the Regex (?s:.)"
        )
    return (SplitStep(text, "oniguruma", where, _behavior(fields), fields.boolean("invert"), is_regex, "Split"),)


def byte_level_split(fields: Fields) -> SplitStep:
    """GPT-2's pattern, the cut of `ByteLevel(use_regex=true)`."""
    return SplitStep(GPT2_PATTERN, "oniguruma", fields.path("use_regex"), component="ByteLevel(use_regex=true)")


def metaspace_split(replacement: str, fields: Fields) -> SplitStep:
    """Where Metaspace(split=true) cuts the text as it was *before* it is replaced: in front of every mark, and spaces
    become marks. A prefix makes no cut: the text it stands before does not begin with a mark, so both are one piece."""
    pattern = f"[ {_literal(replacement)}]"
    component = f"Metaspace(replacement={replacement!r}, split=true)"
    return SplitStep(pattern, "oniguruma", fields.where, "MergedWithNext", component=component)


def _read_digits(fields: Fields) -> tuple[SplitStep, ...]:
    """Each number character by itself, or each run of them."""
    individual = fields.boolean("individual_digits")
    component = f"Digits(individual_digits={str(individual).lower()})"
    pattern = NUMERIC if individual else f"{NUMERIC}+"
    return (SplitStep(pattern, "oniguruma", fields.path("individual_digits"), component=component),)


def _read_punctuation(fields: Fields) -> tuple[SplitStep, ...]:
    behavior = _behavior(fields, "Isolated")
    component = f"Punctuation(behavior={behavior})"
    if behavior == "Contiguous":
        return (SplitStep(f"{PUNCTUATION}+", "oniguruma", fields.where, component=component),)
    return (SplitStep(PUNCTUATION, "oniguruma", fields.where, behavior, component=component),)


def _read_whitespace(fields: Fields) -> tuple[SplitStep, ...]:
    """Runs of word characters, and of what is neither that nor whitespace."""
    return (SplitStep(WORDS, "oniguruma", fields.where, "Removed", True, component="Whitespace"),)


def _whitespace_removed(fields: Fields, component: str) -> SplitStep:
    return SplitStep(f"{WHITESPACE}+", "oniguruma", fields.where, "Removed", component=component)


def _read_whitespace_split(fields: Fields) -> tuple[SplitStep, ...]:
    return (_whitespace_removed(fields, "WhitespaceSplit"),)


def _read_bert(fields: Fields) -> tuple[SplitStep, ...]:
    isolated = SplitStep(PUNCTUATION, "oniguruma", fields.where, component="BertPreTokenizer")
    return (_whitespace_removed(fields, "BertPreTokenizer"), isolated)


def _read_delimiter(fields: Fields) -> tuple[SplitStep, ...]:
    delimiter = read_character(fields, "delimiter")
    component = f"CharDelimiterSplit(delimiter={delimiter!r})"
    where = fields.path("delimiter")
    return (SplitStep(delimiter, "oniguruma", where, "Removed", is_regex=False, component=component),)


def _read_fixed_length(fields: Fields) -> tuple[SplitStep, ...]:
    length = fields.unsigned("length") if "length" in fields.values else _DEFAULT_LENGTH
    if length == 0:
        fields.fail("length", "pieces of no characters", "the reference panics on every text that is not empty")
    if length > MAX_REPEAT:
        fields.fail("length", f"pieces of more than {MAX_REPEAT} characters are not compiled")
    pattern = f"{ANY_CHARACTER}{{1,{length}}}"
    where = fields.path("length")
    return (SplitStep(pattern, "oniguruma", where, component=f"FixedLength(length={length})"),)


def _read_unicode_scripts(fields: Fields) -> tuple[SplitStep, ...]:
    """A piece begins with a character of a script and goes on to the next one of another script. What stands before the
    first such character, spaces above all, is dropped, and so is a text without any (measured)."""
    anywhere = f"\\p{{{PREFIX}script={ANY_SCRIPT}}}"
    scripts = (f"\\p{{{PREFIX}script={name}}}" for name in script_names())
    pattern = "|".join(f"{script}[{script}{anywhere}]*" for script in scripts)
    return (SplitStep(pattern, "oniguruma", fields.where, "Removed", True, component="UnicodeScripts"),)


CUTTING: Final[dict[str, Callable[[Fields], tuple[SplitStep, ...]]]] = {
    "Split": read_split,
    "Digits": _read_digits,
    "Punctuation": _read_punctuation,
    "Whitespace": _read_whitespace,
    "WhitespaceSplit": _read_whitespace_split,
    "BertPreTokenizer": _read_bert,
    "CharDelimiterSplit": _read_delimiter,
    "FixedLength": _read_fixed_length,
    "UnicodeScripts": _read_unicode_scripts,
}
"""`type` -> its steps. ByteLevel and Metaspace also change the text and are read in `pre_tokenizer.py`."""


def read_character(fields: Fields, key: str) -> str:
    """A string of one character."""
    value = fields.string(key)
    if len(value) != 1:
        fields.fail(key, f"expected one character, found {value!r}")
    return value


def _behavior(fields: Fields, default: Behavior | None = None) -> Behavior:
    if default is not None and "behavior" not in fields.values:
        return default
    behavior = fields.string("behavior")
    if behavior not in _BEHAVIORS:
        fields.fail("behavior", f"unknown behavior {behavior!r}", f"one of {', '.join(_BEHAVIORS)}")
    return cast(Behavior, behavior)


def _literal(character: str) -> str:
    return f"\\x{{{ord(character):X}}}"
