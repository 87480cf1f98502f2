"""The `decoder` of a tokenizer.json: a flat list of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import DecoderStep
from gigatok_compile.pattern.parse import parse_pattern

_PREPEND_SCHEMES = ("always", "first", "never")
_WITHOUT_TYPE = {  # by the fields it must have; the reference takes no other decoder without a type (measured)
    "BPEDecoder": {"suffix"},
    "WordPiece": {"prefix", "cleanup"},
    "CTC": {"pad_token", "word_delimiter_token", "cleanup"},
    "Replace": {"pattern", "content"},
    "Strip": {"content", "start", "stop"},
}


def read_decoder(fields: Fields | None) -> tuple[DecoderStep, ...] | None:
    """The steps in order, those of a Sequence in its place. None: there is no decoder, which joins tokens with spaces.

    Raises:
        DefinitionError: an unknown decoder, or a field that the reference does not take.
    """
    return None if fields is None else tuple(_read(fields))


def _read(fields: Fields) -> list[DecoderStep]:
    kind = fields.kind() if "type" in fields.values else _guess(fields)
    if kind == "Sequence":
        return [step for child in fields.children("decoders") for step in _read(child)]
    if kind not in _READERS:
        raise DefinitionError(
            f"unknown decoder {kind}", where=fields.where, hint=f"one of {', '.join([*_READERS, 'Sequence'])}, or null"
        )
    return [DecoderStep(kind, fields.where, _READERS[kind](fields))]


def _guess(fields: Fields) -> str:
    for kind, needed in _WITHOUT_TYPE.items():
        if needed <= fields.values.keys():
            return kind
    fields.fail("type", "this field is missing")


def _byte_level(fields: Fields) -> dict[str, Any]:
    fields.boolean("add_prefix_space")
    fields.boolean("trim_offsets")
    fields.boolean("use_regex", True)
    return {}


def _metaspace(fields: Fields) -> dict[str, Any]:
    replacement = _character(fields, "replacement")
    scheme = fields.string("prepend_scheme") if "prepend_scheme" in fields.values else "always"
    if scheme not in _PREPEND_SCHEMES:
        fields.fail("prepend_scheme", f"unknown scheme {scheme!r}", f"one of {', '.join(_PREPEND_SCHEMES)}")
    if (
        fields.values.get("add_prefix_space") is not None
        and not fields.boolean("add_prefix_space")
        and scheme != "never"
    ):
        fields.fail("add_prefix_space", "false goes with prepend_scheme never only")
    return {"replacement": replacement, "prepend_scheme": scheme}


def _word_piece(fields: Fields) -> dict[str, Any]:
    return {"prefix": fields.string("prefix"), "cleanup": fields.boolean("cleanup")}


def _bpe_decoder(fields: Fields) -> dict[str, Any]:
    return {"suffix": fields.string("suffix")}


def _ctc(fields: Fields) -> dict[str, Any]:
    return {
        "pad_token": fields.string("pad_token"),
        "word_delimiter_token": fields.string("word_delimiter_token"),
        "cleanup": fields.boolean("cleanup"),
    }


def _replace(fields: Fields) -> dict[str, Any]:
    pattern = fields.child("pattern")
    match list(pattern.values):
        case ["String" | "Regex" as spelling]:
            text = pattern.string(spelling)
        case keys:
            fields.fail("pattern", f"expected String or Regex, found {', '.join(keys) or 'nothing'}")
    if spelling == "Regex":
        parse_pattern(text, "oniguruma", pattern.path("Regex"), components=False)
    return {"pattern": text, "is_regex": spelling == "Regex", "content": fields.string("content")}


def _strip(fields: Fields) -> dict[str, Any]:
    return {
        "content": _character(fields, "content"),
        "start": fields.unsigned("start"),
        "stop": fields.unsigned("stop"),
    }


def _nothing(fields: Fields) -> dict[str, Any]:
    return {}


def _character(fields: Fields, key: str) -> str:
    text = fields.string(key)
    if len(text) != 1:
        fields.fail(key, f"expected one character, found {text!r}")
    return text


_READERS: dict[str, Callable[[Fields], dict[str, Any]]] = {
    "ByteLevel": _byte_level,
    "Metaspace": _metaspace,
    "WordPiece": _word_piece,
    "BPEDecoder": _bpe_decoder,
    "CTC": _ctc,
    "Replace": _replace,
    "Strip": _strip,
    "Fuse": _nothing,
    "ByteFallback": _nothing,
}
