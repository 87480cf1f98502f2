"""The `normalizer` of a tokenizer.json: a flat list of steps.

A component without a known `type` is told from its fields, as the reference does: the first kind, in its order, whose
fields are all there and right.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from gigatok_compile.definition.cutting_steps import check_user_pattern
from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer.charsmap import parse_charsmap

PLAIN: Final = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")
"""Kinds without fields of their own."""

Steps = tuple[NormalizerStep, ...]


def read_normalizer(fields: Fields | None) -> Steps:
    """The steps in order; nested sequences are flattened.

    Raises:
        DefinitionError: a step that the reference refuses, or cannot run; by its path.
    """
    return _steps(fields) if fields else ()


def _steps(fields: Fields) -> Steps:
    kind = fields.values.get("type")
    if isinstance(kind, str) and kind in PLAIN:
        return (NormalizerStep(kind, fields.where),)
    if isinstance(kind, str) and kind in _READERS:
        return _READERS[kind](fields)
    errors = []
    for name in _BY_FIELDS:
        if all(key in fields.values for key in _NEEDED[name]):
            try:
                return _READERS[name](fields)
            except DefinitionError as error:
                errors.append(error)
    if errors:
        raise errors[0]
    if kind == "BertNormalizer":
        return _read_bert(fields)  # says which field is missing
    known = ", ".join(sorted({*PLAIN, *_READERS} - {"Bert"} | {"BertNormalizer"}))
    if "type" in fields.values:
        fields.fail("type", f"there is no normalizer {kind!r}", f"one of {known}")
    raise DefinitionError("no type, and the fields of no normalizer", where=fields.where, hint=f"one of {known}")


def _read_sequence(fields: Fields) -> Steps:
    return tuple(step for child in fields.children("normalizers") for step in _steps(child))


def _read_strip(fields: Fields) -> Steps:
    options = {"strip_left": fields.boolean("strip_left"), "strip_right": fields.boolean("strip_right")}
    return (NormalizerStep("Strip", fields.where, options),)


def _read_prepend(fields: Fields) -> Steps:
    return (NormalizerStep("Prepend", fields.where, {"prepend": fields.string("prepend")}),)


def _read_replace(fields: Fields) -> Steps:
    """The pattern is `{"String": text}` or `{"Regex": Oniguruma}`; the content is literal."""
    pattern = fields.child("pattern")
    options: dict[str, Any]
    match list(pattern.values):
        case ["Regex"]:
            options = {"regex": pattern.string("Regex")}
            check_user_pattern(options["regex"], "oniguruma", pattern.path("Regex"))
        case ["String"]:
            options = {"string": pattern.string("String")}
        case keys:
            raise DefinitionError(
                f"expected one key, String or Regex, found {', '.join(keys) or 'none'}", where=pattern.where
            )
    return (NormalizerStep("Replace", fields.where, options | {"content": fields.string("content")}),)


def _read_bert(fields: Fields) -> Steps:
    """`strip_accents` null or absent: as `lowercase`."""
    options = {key: fields.boolean(key) for key in ("clean_text", "handle_chinese_chars", "lowercase")}
    accents = fields.values.get("strip_accents")
    options["strip_accents"] = options["lowercase"] if accents is None else fields.boolean("strip_accents")
    return (NormalizerStep("BertNormalizer", fields.where, options),)


def _read_precompiled(fields: Fields) -> Steps:
    where = fields.path("precompiled_charsmap")
    charsmap = parse_charsmap(fields.string("precompiled_charsmap"), where)
    return (NormalizerStep("Precompiled", fields.where, {"precompiled_charsmap": charsmap}),)


_READERS: Final[dict[str, Callable[[Fields], Steps]]] = {
    "Bert": _read_bert,  # the name that a `type` must have to be read by it; files say BertNormalizer
    "Strip": _read_strip,
    "Sequence": _read_sequence,
    "Replace": _read_replace,
    "Prepend": _read_prepend,
    "Precompiled": _read_precompiled,
}
_BY_FIELDS: Final = ("Bert", "Strip", "Sequence", "Replace", "Prepend")
_NEEDED: Final = {
    "Bert": ("clean_text", "handle_chinese_chars", "lowercase"),
    "Strip": ("strip_left", "strip_right"),
    "Sequence": ("normalizers",),
    "Replace": ("pattern", "content"),
    "Prepend": ("prepend",),
}
