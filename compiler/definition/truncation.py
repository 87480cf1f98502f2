"""The `truncation` and `padding` of a tokenizer.json: checked, then kept as they are for the adapters."""

from __future__ import annotations

from typing import Any

from gigatok_compile.definition.fields import Fields

_STRATEGIES = ("LongestFirst", "OnlyFirst", "OnlySecond")
_DIRECTIONS = ("Left", "Right")


def read_truncation(fields: Fields | None, special_count: int) -> dict[str, Any] | None:
    """The truncation as the file has it.

    Args:
        special_count: how many ids the post-processor adds to one text.

    Raises:
        DefinitionError: a field of the wrong type, or a stride at which the reference crashes when there is text to cut.
    """
    if fields is None:
        return None
    max_length, stride = fields.unsigned("max_length"), fields.unsigned("stride")
    _one_of(fields, "strategy", _STRATEGIES)
    if "direction" in fields.values:
        _one_of(fields, "direction", _DIRECTIONS)
    room = max_length - special_count
    if stride and 0 <= room <= stride:
        fields.fail("stride", f"must be below {room} (max_length without the special tokens), found {stride}")
    return fields.values


def read_padding(fields: Fields | None) -> dict[str, Any] | None:
    """The padding as the file has it.

    Raises:
        DefinitionError: a field of the wrong type.
    """
    if fields is None:
        return None
    if fields.required("strategy") != "BatchLongest":
        fields.child("strategy").unsigned("Fixed")
    _one_of(fields, "direction", _DIRECTIONS)
    if fields.values.get("pad_to_multiple_of") is not None:
        fields.unsigned("pad_to_multiple_of")
    fields.unsigned("pad_id")
    fields.unsigned("pad_type_id")
    fields.string("pad_token")
    return fields.values


def _one_of(fields: Fields, key: str, names: tuple[str, ...]) -> None:
    if fields.string(key) not in names:
        fields.fail(key, f"unknown name {fields.values[key]!r}", f"one of {', '.join(names)}")
