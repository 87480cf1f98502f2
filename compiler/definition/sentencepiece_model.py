"""A SentencePiece `.model` to a TokenizerDefinition: what sentencepiece 0.2.3 does with it, which is not what tokenizers does with
the tokenizer.json of the same model.

Pieces are respelled (gigatok_runtime.sentencepiece): the mark U+2581 is one space byte. Control pieces are added tokens that no text
becomes. User-defined pieces are added tokens too: BPE cuts them out of the normalized text, in Unigram they are entries with a score
of their own (unigram_model.py). SentencePiece adds no special tokens by itself, so there is no post-processor.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.sentencepiece_bpe import Pieces, build_bpe
from gigatok_compile.definition.unigram_model import build_unigram
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    AddedToken,
    DecoderStep,
    NormalizerStep,
    PostProcessor,
    SentencePieceDecoding,
    TokenizerDefinition,
)
from gigatok_compile.normalizer.sentencepiece_rules import analyse_charsmap
from gigatok_runtime.sentencepiece import BYTE, MARK, MARKED, PLAIN, respell

REFERENCE = "sentencepiece 0.2.3"
MAX_PIECE = 8000
"""A piece of this many bytes is refused by the reference."""
MAX_NESTED = 64
"""Of user-defined pieces that all begin one text the reference looks at these many, the shortest (measured); more are refused."""

_BYTE_NAMES = {b"<0x%02X>" % byte: byte for byte in range(256)}
_FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")


@dataclass(frozen=True, slots=True)
class _Piece:
    """`text` has the mark, as in the file."""

    text: str
    score: float
    kind: int


def read_sentencepiece_model(data: bytes, *, name: str, sha256: str) -> TokenizerDefinition:
    """Read the bytes of a `.model`.

    Raises:
        DefinitionError: no SentencePiece model, one that the reference does not load, or something that is not compiled; names
            the field by its path in sentencepiece_model.proto.
    """
    model = proto.parse_model(data)
    if model is None:
        raise DefinitionError("not a SentencePiece model: the protobuf is damaged", hint="fetch the file again")
    trainer, normalizer = model.trainer_spec, model.normalizer_spec
    pieces = _read_pieces(model)
    unk_id, byte_ids = _check_pieces(pieces, trainer.byte_fallback)
    step = _normalizer_step(model, pieces)
    _refuse(model)
    escape = bool(normalizer.escape_whitespaces)
    unigram = trainer.model_type == proto.UNIGRAM
    decoding = _decoding(pieces, trainer, normalizer)
    if not unigram:
        _check_order_of_merges(pieces)
    build = build_unigram if unigram else build_bpe
    vocabulary = build(
        Pieces(
            texts=[None if escape and " " in piece.text else respell(piece.text, escape) for piece in pieces],
            scores=np.array([piece.score for piece in pieces], np.float32),
            kinds=np.array([piece.kind for piece in pieces], np.uint8),
            byte_ids=byte_ids,
            unk_id=unk_id,
            escape=escape,
        )
    )
    return TokenizerDefinition(
        name=name,
        source_format="sentencepiece",
        reference=REFERENCE,
        sha256=sha256,
        normalizer=(step,),
        pre_tokenizer=(),
        model=vocabulary,
        added_tokens=_added_tokens(pieces, escape, cut_out=not unigram),
        post_processor=PostProcessor(),
        decoder=(DecoderStep("SentencePiece", "pieces", {"strip": decoding.strip}),),
        truncation=None,
        padding=None,
        mark=MARK if escape else "",
        contents=tuple(piece.text for piece in pieces),
        sentencepiece=decoding,
        roles=_roles(pieces, trainer, unk_id),
    )


def _read_pieces(model: Any) -> list[_Piece]:
    pieces = []
    for index, piece in enumerate(model.pieces):
        where = f"pieces[{index}]"
        text = piece.piece
        if len(text) >= MAX_PIECE:
            _fail(where, f"the piece has {len(text)} bytes; the reference loads less than {MAX_PIECE}")
        if not text:
            _fail(where, "the piece is empty, which the reference refuses")
        if b"\0" in text:
            _fail(where, f"the piece {text!r} holds a NUL, which the reference refuses")
        try:
            pieces.append(_Piece(text.decode(), piece.score, piece.type))
        except UnicodeDecodeError:
            _fail(where, f"the piece {text!r} is not UTF-8; this is not compiled")
    return pieces


def _check_pieces(pieces: Sequence[_Piece], byte_fallback: bool) -> tuple[int, np.ndarray[Any, np.dtype[np.int32]]]:
    """The unknown piece's id and the ids of byte pieces, after the checks that the reference makes when it loads.

    Where all bytes have a piece nothing is unknown: without an unknown piece the id is -1.
    """
    places: dict[str, int] = {}
    unk_id = -1
    byte_ids = np.full(256, -1, np.int32)
    for index, piece in enumerate(pieces):
        where = f"pieces[{index}]"
        first = places.setdefault(piece.text, index)
        if first != index:
            _fail(where, f"the piece {piece.text!r} stands at pieces[{first}] already, which the reference refuses")
        if piece.kind == proto.UNKNOWN:
            if unk_id >= 0:
                _fail(where, f"a second unknown piece after pieces[{unk_id}], which the reference refuses")
            unk_id = index
        if piece.kind == proto.BYTE:
            if not byte_fallback:
                _fail(where, f"the byte piece {piece.text!r} stands in a model without trainer_spec.byte_fallback")
            byte = _BYTE_NAMES.get(piece.text.encode())
            if byte is None:
                _fail(where, f"the byte piece {piece.text!r} is not written as <0x41> is")
            byte_ids[byte] = index
    if unk_id < 0 and not byte_fallback:
        _fail("pieces", "there is no unknown piece, without which the reference does not load the model")
    if byte_fallback and (byte_ids < 0).any():
        missing = int(np.flatnonzero(byte_ids < 0)[0])
        _fail("pieces", f"trainer_spec.byte_fallback is set, and there is no byte piece <0x{missing:02X}>")
    return unk_id, byte_ids


def _check_order_of_merges(pieces: Sequence[_Piece]) -> None:
    for index, piece in enumerate(pieces):
        if piece.kind in (proto.NORMAL, proto.UNUSED) and math.isnan(piece.score):
            where = f"pieces[{index}].score"
            _fail(where, f"the score of {piece.text!r} is not a number", "the order of merges would be random")


def _refuse(model: Any) -> None:
    """What loads in the reference and is not compiled."""
    kind = model.trainer_spec.model_type
    if kind not in (proto.UNIGRAM, proto.BPE):
        _fail(
            "trainer_spec.model_type",
            f"the model type {proto.MODEL_TYPES[kind]} is not compiled",
            "what compiles: unigram, bpe",
        )
    if model.denormalizer_spec.precompiled_charsmap:
        _fail("denormalizer_spec.precompiled_charsmap", "rules for decoding are not compiled")
    if model.self_test_data.samples:
        _fail(
            "self_test_data.samples",
            "the reference loads a model only when its samples come out right, which is not checked here",
            "take the samples out",
        )
    try:
        model.trainer_spec.unk_surface.decode()
    except UnicodeDecodeError:
        _fail("trainer_spec.unk_surface", f"{model.trainer_spec.unk_surface!r} is not UTF-8")


def read_normalizer(model: Any) -> NormalizerStep:
    """The normalizer of a ModelProto of any model type.

    Raises:
        DefinitionError: a piece that is not text, or rules that are not usable.
    """
    return _normalizer_step(model, _read_pieces(model))


def _normalizer_step(model: Any, pieces: Sequence[_Piece]) -> NormalizerStep:
    spec, trainer, where = model.normalizer_spec, model.trainer_spec, "normalizer_spec"
    try:
        facts = analyse_charsmap(spec.precompiled_charsmap)
    except ValueError as error:
        _fail(f"{where}.precompiled_charsmap", f"the compiled rules are not usable: {error}")
    user_defined = {piece.text for piece in pieces if piece.kind == proto.USER_DEFINED}
    for text in user_defined:
        if sum(text[:n] in user_defined for n in range(1, len(text) + 1)) > MAX_NESTED:
            _fail(
                "pieces",
                f"more than {MAX_NESTED} user-defined pieces begin with one another, up to {text!r:.60}; this is not compiled",
            )
    options = {flag: bool(getattr(spec, flag)) for flag in _FLAGS}
    options["treat_whitespace_as_suffix"] = bool(trainer.treat_whitespace_as_suffix)
    return NormalizerStep(
        "SentencePiece",
        where,
        options
        | {
            "user_defined": sorted(user_defined),
            "longest_rule": facts.longest_rule,
            "charsmap": bytes(spec.precompiled_charsmap),
        },
    )


def _added_tokens(pieces: Sequence[_Piece], escape: bool, cut_out: bool) -> tuple[AddedToken, ...]:
    """Control pieces, which no text becomes, and user-defined ones.

    cut_out: user-defined pieces are looked for in the normalized text (BPE), not left to compete with others (Unigram). With
    escaped white space one that holds a space is never found there.
    """
    return tuple(
        AddedToken(
            index,
            piece.text,
            normalized=piece.kind == proto.USER_DEFINED,
            special=piece.kind == proto.CONTROL,
            matched=cut_out and piece.kind == proto.USER_DEFINED and not (escape and " " in piece.text),
        )
        for index, piece in enumerate(pieces)
        if piece.kind in (proto.CONTROL, proto.USER_DEFINED)
    )


def _decoding(pieces: Sequence[_Piece], trainer: Any, normalizer: Any) -> SentencePieceDecoding:
    shown: list[bytes] = []
    kinds: list[int] = []
    for piece in pieces:
        kind, text = PLAIN, piece.text.replace(MARK, " ").encode()
        if piece.kind == proto.BYTE:
            kind, text = BYTE, bytes((_BYTE_NAMES[piece.text.encode()],))
        elif piece.kind == proto.CONTROL:
            text = b""
        elif piece.kind == proto.UNKNOWN:
            text = bytes(trainer.unk_surface)
        elif piece.text.startswith(MARK):
            kind = MARKED
        shown.append(text)
        kinds.append(kind)
    strips = normalizer.add_dummy_prefix or normalizer.remove_extra_whitespaces
    strip = "every" if normalizer.remove_extra_whitespaces else "first"
    return SentencePieceDecoding(tuple(shown), np.array(kinds, np.uint8), strip if strips else "none")  # type: ignore[arg-type]


def _roles(pieces: Sequence[_Piece], trainer: Any, unk_id: int) -> dict[str, int]:
    """Ids of the pieces that trainer_spec names, where they are control pieces."""
    roles = {"unk": unk_id} if unk_id >= 0 else {}
    control = {piece.text.encode(): index for index, piece in enumerate(pieces) if piece.kind == proto.CONTROL}
    for role in ("bos", "eos", "pad"):
        name = getattr(trainer, f"{role}_piece")
        if name in control:
            roles[role] = control[name]
    return roles


def _fail(where: str, message: str, hint: str | None = None) -> NoReturn:
    raise DefinitionError(message, where=where, hint=hint)
