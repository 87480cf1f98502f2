"""A Unigram model: of a tokenizer.json, and of a SentencePiece `.model`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.fields import Fields, is_u32, json_name
from gigatok_compile.definition.json_number import read_integer
from gigatok_compile.definition.sentencepiece_bpe import Pieces
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_runtime.sentencepiece import MARK

UNK_PENALTY = 10.0
LOWEST_SCORE = -1e30
"""Lower scores are not taken: their sums could end at minus infinity, where the reference's comparisons mean something else."""


def read_unigram_vocab(fields: Fields) -> list[tuple[str, float]]:
    """`vocab` of the `model` object: pairs of text and score, by id.

    Raises:
        DefinitionError: an entry that is no such pair, no entries, or a score below LOWEST_SCORE.
    """
    vocab = fields.items("vocab")
    if not vocab:
        fields.fail("vocab", "there are no entries", "the reference gives no ids for any text, or does not load")
    entries = []
    for number, entry in enumerate(vocab):
        where = f"{fields.path('vocab')}[{number}]"
        if not isinstance(entry, list) or len(entry) != 2:
            found = f"a list of {len(entry)}" if isinstance(entry, list) else json_name(entry)
            raise DefinitionError(f"expected a pair of an entry and its score, found {found}", where=where)
        text, score = entry
        if not isinstance(text, str):
            raise DefinitionError(f"expected a string, found {json_name(text)}", where=f"{where}[0]")
        if isinstance(score, bool) or not isinstance(score, int | float):
            raise DefinitionError(
                f"expected the score of {text!r} as a number, found {json_name(score)}", where=f"{where}[1]"
            )
        value = score if isinstance(score, float) else read_integer(score)
        _check_score(value, text, f"{where}[1]")
        entries.append((text, value))
    return entries


def read_unigram_model(
    fields: Fields,
    vocab: Sequence[tuple[str, float]],
    entry: Callable[[str], str | None] = lambda text: text,
    mark: str = "",
) -> tuple[UnigramModel, tuple[str, ...]]:
    """The model of a tokenizer.json, and warnings.

    Args:
        fields: the `model` object.
        vocab: what `read_unigram_vocab` returned.
        entry: what an entry is in the text that the model sees, None if no text can become it (definition/respell.py).
        mark: what a space of that text is in truth; "" where nothing was respelled.

    Raises:
        DefinitionError: `unk_id` is not an id of the vocabulary, or a field has the wrong type.
    """
    warnings: tuple[str, ...] = ()
    unk_id = _unk_id(fields, len(vocab))
    byte_fallback = fields.boolean("byte_fallback", default=False)
    last = {text: number for number, (text, _) in enumerate(vocab)}  # of equal entries the reference keeps the last
    tokens: list[bytes | None] = []
    for number, (text, _) in enumerate(vocab):
        respelled = entry(text) if text and last[text] == number else None  # an empty entry never matches
        tokens.append(None if respelled is None else respelled.encode())
    byte_ids = np.full(256, -1, np.int32)
    if byte_fallback:
        byte_ids[:] = [last.get(f"<0x{byte:02X}>", -1) for byte in range(256)]
    if unk_id < 0:
        warnings = (f"{fields.path('unk_id')}: there is none, so text with a character that is no entry is an error",)
    scores = np.array([score for _, score in vocab], np.float64)
    model = UnigramModel(
        tuple(tokens),
        scores,
        float(scores.min()) - UNK_PENALTY,
        unk_id,
        byte_ids,
        "tokenizers",
        (mark or " ").encode(),
    )
    return model, warnings


def _unk_id(fields: Fields, entries: int) -> int:
    """`unk_id`; -1 where it is absent or null."""
    value: Any = fields.values.get("unk_id")
    if value is None:
        return -1
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        fields.fail("unk_id", f"expected a whole number, found {json_name(value)}")
    if value >= entries or not is_u32(value):
        fields.fail("unk_id", f"{value} is not an id of the {entries} entries, which the reference refuses")
    return int(value)


def build_unigram(pieces: Pieces) -> UnigramModel:
    """The model of a SentencePiece `.model`. Byte, control, unknown and unused pieces match no text.

    User-defined pieces are entries like others, with a score by their length in bytes, in the spelling of the file. Without an
    unknown piece all bytes have one, so unknown text gets an id past the vocabulary that never comes out.

    Raises:
        DefinitionError: a score that is not a number or infinite, or one of a normal piece below LOWEST_SCORE; no pieces that
            text can match.
    """
    if not np.isin(pieces.kinds, (proto.NORMAL, proto.USER_DEFINED, proto.UNUSED)).any():
        raise DefinitionError("there is no piece that text can match, which the reference refuses", where="pieces")
    for number, (text, score, kind) in enumerate(zip(pieces.texts, pieces.scores.tolist(), pieces.kinds, strict=True)):
        if kind == proto.NORMAL or not math.isfinite(score):  # the others' scores are not used, but looked at
            _check_score(score, text, f"pieces[{number}].score")
    lowest = pieces.scores[pieces.kinds == proto.NORMAL].min(initial=np.finfo(np.float32).max)
    tokens: list[bytes | None] = []
    scores = pieces.scores.astype(np.float64)
    for number, (text, kind) in enumerate(zip(pieces.texts, pieces.kinds, strict=True)):
        matches = text is not None and kind in (proto.NORMAL, proto.USER_DEFINED)
        tokens.append(text.encode() if text is not None and matches else None)
        if text is not None and kind == proto.USER_DEFINED:
            written = text.replace(" ", MARK) if pieces.escape else text
            scores[number] = np.float32(0.1 * (len(written.encode()) - 1))
    return UnigramModel(
        tuple(tokens),
        scores,
        float(np.float32(lowest) - np.float32(UNK_PENALTY)),
        pieces.unk_id if pieces.unk_id >= 0 else len(tokens),
        pieces.byte_ids,
        "sentencepiece",
        (MARK if pieces.escape else " ").encode(),
    )


def _check_score(score: float, text: str | None, where: str) -> None:
    if math.isnan(score):
        raise DefinitionError(f"the score of {text!r} is not a number", where=where)
    if not LOWEST_SCORE <= score < float("inf"):
        raise DefinitionError(
            f"the score of {text!r} is {score}; what is compiled is from {LOWEST_SCORE} to the largest finite number",
            where=where,
        )
