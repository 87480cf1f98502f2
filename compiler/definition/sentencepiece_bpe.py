"""The pieces of a SentencePiece BPE model as merges of a BpeModel.

SentencePiece has no list of merges: two neighbours merge where together they are a piece, at that piece's score. So each piece
gives a row for every way to cut it into two symbols, all of one rank. Symbols are pieces and single characters: a character that
is no piece is unknown, yet it merges where a longer piece holds it. UNUSED pieces merge like others and are taken apart again
in the end, the way they were put together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.tiktoken_ranks import split_rows
from gigatok_compile.ir.definition import BpeModel, HiddenSymbol
from gigatok_runtime.character_bpe import CharacterPairEncoder
from gigatok_runtime.sentencepiece import MARK


@dataclass(frozen=True, slots=True)
class Pieces:
    """All pieces by id. texts: respelled, None for one that no text becomes whatever its kind.

    escape: spaces are marks in truth, which byte pieces show. scores: (n,) float32. kinds: (n,) numbers of sentencepiece_proto.
    byte_ids: (256,) int32 or -1 throughout. unk_id: -1 only where all bytes have a piece.
    """

    texts: Sequence[str | None]
    scores: npt.NDArray[np.float32]
    kinds: npt.NDArray[np.uint8]
    byte_ids: npt.NDArray[np.int32]
    unk_id: int
    escape: bool


def build_bpe(pieces: Pieces) -> BpeModel:
    """The model, over characters."""
    merging = np.isin(pieces.kinds, (proto.NORMAL, proto.UNUSED))
    symbols = {text: i for i, text in enumerate(pieces.texts) if text is not None and merging[i]}
    frozen = {text for text, kind in zip(pieces.texts, pieces.kinds, strict=True) if kind == proto.USER_DEFINED}
    unused = {text for text, i in symbols.items() if pieces.kinds[i] == proto.UNUSED}
    longer = [text for text in symbols if len(text) > 1]
    in_pieces = {char for text in longer for char in text}
    if pieces.escape:  # a mark that is no piece: its bytes are not those of the space that it is spelled as
        in_pieces.add(" ")
    characters = sorted(in_pieces - symbols.keys() - frozen)
    symbols |= {char: len(pieces.texts) + k for k, char in enumerate(characters)}

    # The best score first; np.unique sorts upwards and numbers equal scores alike.
    _, ranks_of = np.unique(~_sortable(pieces.scores), return_inverse=True)
    ids_of = np.array([symbols[text] for text in longer], np.int64)
    order: list[int] = np.argsort(ranks_of[ids_of], kind="stable").tolist() if longer else []
    rows = split_rows(symbols, [longer[k] for k in order])
    # Only ranks that occur, so that they are dense.
    _, ranks = np.unique(ranks_of[rows[:, 2]], return_inverse=True)
    tokens = tuple(
        text.encode() if text is not None and kind == proto.NORMAL else None
        for text, kind in zip(pieces.texts, pieces.kinds, strict=True)
    )
    model = BpeModel(
        tokens,
        rows,
        ranks.astype(np.int32),
        pieces.byte_ids,
        ignore_merges=False,
        atoms="characters",
        unk_id=pieces.unk_id if (pieces.byte_ids < 0).any() else -1,
        fuse_unk=True,
    )
    hidden = [(symbols[text], text) for text in sorted(unused) + characters]
    return model if not hidden else _with_hidden(model, hidden, pieces.escape)


def _sortable(scores: npt.NDArray[np.float32]) -> npt.NDArray[np.uint32]:
    """Numbers that order as the reference orders scores: by value, and -0.0 below 0.0 (measured)."""
    bits = scores.view(np.uint32)
    return np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))


def _with_hidden(model: BpeModel, hidden: Sequence[tuple[int, str]], escape: bool) -> BpeModel:
    """The model with what its hidden symbols become."""
    encoder = CharacterPairEncoder(
        model.tokens,
        model.merges,
        model.ranks,
        model.byte_ids,
        unk_id=model.unk_id,
        hidden=[(number, text.encode(), ()) for number, text in hidden],
    )
    known: dict[int, tuple[int, ...]] = {}
    for number, text in sorted(hidden, key=lambda item: len(item[1])):
        if len(text) == 1:
            known[number] = tuple(encoder.of_unknown(MARK if escape and text == " " else text))
            continue
        # Its last merge is the only one that makes it, so without that the two halves are left. More than two, or unknown
        # characters, are left of a symbol that is never made.
        parts = encoder.merge(text, without=number)
        known[number] = tuple(i for part in parts if part >= 0 for i in known.get(part, (part,)))
    return replace(model, hidden=tuple(HiddenSymbol(number, text.encode(), known[number]) for number, text in hidden))
