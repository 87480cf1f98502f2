"""The `pre_tokenizer` of a tokenizer.json: a flat list of steps that ends in a byte-level one.

Every step that cuts becomes a SplitStep, so that later stages know one kind only:
`ByteLevel(use_regex=true)` is GPT-2's pattern, `Digits` is a pattern over its own table of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, cast

from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import Behavior, ByteLevelStep, PreTokenizerStep, SplitStep

GPT2_PATTERN: Final = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
"""The pattern behind `ByteLevel(use_regex=true)`."""

NUMERIC: Final = r"[\p{N}\x{11DE0}-\x{11DE9}\x{16FF4}-\x{16FF6}]"
"""Rust's `char::is_numeric` (Unicode 17) over the regex engine's \\p{N} (Unicode 16), which lacks 13 of its numbers."""

_BEHAVIORS: Final = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_HINT: Final = "what compiles: ByteLevel, or a Sequence of Split and Digits steps that ends in ByteLevel"


def read_pre_tokenizer(fields: Fields | None) -> tuple[PreTokenizerStep, ...]:
    """The steps in order; nested sequences are flattened.

    The last step is a ByteLevelStep, except after `ByteLevel(add_prefix_space=true, use_regex=true)`: the prefix is put
    on *before* GPT-2's pattern cuts, so there the ByteLevelStep stands before that SplitStep.

    Raises:
        DefinitionError: a step that is not compiled or a chain that is not byte-level, by its path.
    """
    if fields is None:
        raise DefinitionError("no pre-tokenizer, so this is not a byte-level model", where="pre_tokenizer", hint=_HINT)
    steps: list[PreTokenizerStep] = []
    byte_level = False
    for leaf in _leaves(fields):
        if byte_level:
            raise DefinitionError(
                f"the step {leaf.kind()} comes after ByteLevel, where it would see mapped bytes and not text",
                where=leaf.where,
                hint=_HINT,
            )
        match leaf.kind():
            case "ByteLevel":
                steps += _read_byte_level(leaf)
                byte_level = True
            case "Split":
                steps.append(_read_split(leaf))
            case "Digits":
                steps.append(_read_digits(leaf))
            case kind:
                raise DefinitionError(f"the pre-tokenizer {kind} is not compiled", where=leaf.where, hint=_HINT)
    if not byte_level:
        raise DefinitionError("no ByteLevel step, so this is not a byte-level model", where=fields.where, hint=_HINT)
    return tuple(steps)


def _leaves(fields: Fields) -> Iterator[Fields]:
    if fields.kind() == "Sequence":
        for child in fields.children("pretokenizers"):
            yield from _leaves(child)
    else:
        yield fields


def _read_byte_level(fields: Fields) -> list[PreTokenizerStep]:
    prefix = fields.boolean("add_prefix_space")
    fields.boolean("trim_offsets")  # changes offsets only
    step = ByteLevelStep(prefix, fields.where)
    if not fields.boolean("use_regex", default=True):
        return [step]
    split = SplitStep(GPT2_PATTERN, "oniguruma", fields.path("use_regex"))
    return [step, split] if prefix else [split, step]


def _read_split(fields: Fields) -> SplitStep:
    pattern = fields.child("pattern")
    match list(pattern.values):
        case ["Regex"]:
            text, is_regex, where = pattern.string("Regex"), True, pattern.path("Regex")
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
    behavior = fields.string("behavior")
    if behavior not in _BEHAVIORS:
        fields.fail("behavior", f"unknown behavior {behavior!r}", f"one of {', '.join(_BEHAVIORS)}")
    return SplitStep(text, "oniguruma", where, cast(Behavior, behavior), fields.boolean("invert"), is_regex)


def _read_digits(fields: Fields) -> SplitStep:
    """Each number character by itself, or each run of them."""
    where = fields.path("individual_digits")
    return SplitStep(NUMERIC if fields.boolean("individual_digits") else NUMERIC + "+", "oniguruma", where)
