"""The `pre_tokenizer` of a tokenizer.json as a flat list of steps, each of which works on the pieces of the one before."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, cast

from gigatok_compile.definition.cutting_steps import (
    CUTTING,
    byte_level_split,
    metaspace_split,
    read_character,
)
from gigatok_compile.definition.fields import Fields, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import ByteLevelStep, MetaspaceStep, PrependScheme, PreTokenizerStep

_KINDS: Final = ", ".join(CUTTING)
_HINT: Final = f"what compiles: ByteLevel, or a Sequence with one ByteLevel; before and after it {_KINDS}"
_SCHEMES: Final = ("first", "never", "always")


def read_pre_tokenizer(fields: Fields | None) -> tuple[PreTokenizerStep, ...]:
    """The steps, in order; nested sequences are flattened, null has none.

    The ByteLevelStep stands behind the steps that see text and before those that see bytes, except with
    `ByteLevel(add_prefix_space=true, use_regex=true)`: the prefix is put on *before* GPT-2's pattern cuts, so there the
    ByteLevelStep stands before that SplitStep.

    Raises:
        DefinitionError: a step that is not compiled, by its path.
        PatternError: a pattern with a property that no engine knows.
    """
    if fields is None:
        return ()
    steps = read_steps(fields)
    if any(isinstance(step, ByteLevelStep) for step in steps):
        for step in steps:
            if isinstance(step, MetaspaceStep):
                raise DefinitionError(
                    "the pre-tokenizer Metaspace is not compiled before ByteLevel", where=step.where, hint=_HINT
                )
    return steps


def read_steps(fields: Fields) -> tuple[PreTokenizerStep, ...]:
    """The steps of any pre-tokenizer, in order; nested sequences are flattened, an empty one has no steps.

    `Metaspace` is the cut that it makes (if it makes one) and then a MetaspaceStep, which replaces and prepends in
    every piece. A step after that sees the marks. What cuts after ByteLevel is marked `on_bytes`.

    Raises:
        DefinitionError: a kind that the reference does not have, a field that is wrong, a second step that changes the
            text beside ByteLevel, or one that the reference panics on; by its path.
        PatternError: a pattern with a property that no engine knows.
    """
    steps: list[PreTokenizerStep] = []
    for leaf in _leaves(fields):
        kind = leaf.kind()
        mapped = next((step for step in steps if isinstance(step, ByteLevelStep)), None)
        if mapped is not None:
            steps += _read_on_bytes(leaf, steps, mapped)
        elif kind == "ByteLevel":
            steps += _read_byte_level(leaf)
        elif kind == "Metaspace":
            steps += _read_metaspace(leaf)
        elif kind in CUTTING:
            steps += CUTTING[kind](leaf)
        else:
            raise DefinitionError(f"the pre-tokenizer {kind} is not compiled", where=leaf.where, hint=_HINT)
    return tuple(steps)


def _read_on_bytes(leaf: Fields, before: list[PreTokenizerStep], mapped: ByteLevelStep) -> list[PreTokenizerStep]:
    """A step after ByteLevel. It may cut; where the text is changed beside the map, bytes would not be those of the text."""
    kind = leaf.kind()
    if kind not in CUTTING:
        raise DefinitionError(
            f"the step {kind} comes after ByteLevel, where only a step that cuts is compiled",
            where=leaf.where,
            hint=_HINT,
        )
    if mapped.add_prefix_space or any(isinstance(step, MetaspaceStep) for step in before):
        what = "ByteLevel with add_prefix_space" if mapped.add_prefix_space else "Metaspace and ByteLevel"
        raise DefinitionError(f"the step {kind} after {what} is not compiled", where=leaf.where, hint=_HINT)
    return [replace(step, on_bytes=True) for step in CUTTING[kind](leaf)]


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
    split = byte_level_split(fields)
    return [step, split] if prefix else [split, step]


def _read_metaspace(fields: Fields) -> list[PreTokenizerStep]:
    """The old `add_prefix_space` says nothing that `prepend_scheme` does not; the reference wants them to agree when it is
    false, and so do we."""
    replacement = read_character(fields, "replacement")
    scheme = fields.string("prepend_scheme") if "prepend_scheme" in fields.values else "always"
    if scheme not in _SCHEMES:
        fields.fail("prepend_scheme", f"unknown scheme {scheme!r}", f"one of {', '.join(_SCHEMES)}")
    legacy = fields.values.get("add_prefix_space") is None or fields.boolean("add_prefix_space")
    if not legacy and scheme != "never":
        fields.fail(
            "add_prefix_space", f"false does not go with prepend_scheme {scheme}", "the reference refuses it too"
        )
    unused = fields.values.get("str_rep")
    if unused is not None and not isinstance(unused, str):
        fields.fail("str_rep", f"expected a string, found {json_name(unused)}")
    split = fields.values.get("split") is None or fields.boolean("split")
    step = MetaspaceStep(replacement, cast(PrependScheme, scheme), split, fields.where)
    return [metaspace_split(replacement, fields), step] if split else [step]
