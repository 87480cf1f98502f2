"""find_whole_words: which entries of a Unigram vocabulary are what their own text encodes to.

Problem: most words of a text are entries, and most of these are their own best segmentation. Where a pre-token is such a word, its
id is known without a walk; but only the arithmetic of the reference says which are.

Idea: the Viterbi of templates/unigram.h over all entries of one length at once, an array operation for each pair of a
beginning and an end. An entry offers itself first, so it stays unless a later offer for its end is higher.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.vocabulary.double_array import ENTRY, LEAF, PAYLOAD_SHIFT, VALUE_LABEL, Trie, build_trie

_RESET = 100_000.0
_Scores = npt.NDArray[np.float32] | npt.NDArray[np.float64]
_Units = npt.NDArray[np.uint32]


def find_whole_words(model: UnigramModel, longest: int, trie: Trie | None = None) -> dict[bytes, int]:
    """The entries of at most `longest` bytes that as a whole pre-token encode to their own id alone, with that id.

    Args:
        trie: of `model.matched`, if it is at hand.
    """
    entries = model.matched
    trie = trie or build_trie(entries)
    scores: _Scores = model.scores.astype(np.float32) if model.accumulate == "f32" else model.scores
    by_length: dict[int, list[bytes]] = {}
    for token in entries:
        if len(token) <= longest:
            by_length.setdefault(len(token), []).append(token)
    words: dict[bytes, int] = {}
    for size, tokens in by_length.items():
        rows = np.frombuffer(b"".join(tokens), np.uint8).reshape(-1, size)
        whole = _are_whole(rows, model, trie.units, trie.root, scores)
        words |= {token: entries[token] for token, is_whole in zip(tokens, whole.tolist(), strict=True) if is_whole}
    return words


def _are_whole(
    rows: npt.NDArray[np.uint8], model: UnigramModel, units: _Units, root: int, scores: _Scores
) -> npt.NDArray[np.bool_]:
    """For each row, an entry: no way in more than one piece has a higher sum."""
    count, size = rows.shape
    sums = np.full((size + 1, count), -np.inf, scores.dtype)
    sums[0] = 0
    whole = np.ones(count, np.bool_)
    unknown = scores.dtype.type(model.unk_score)
    lengths = np.select([rows < 0x80, rows < 0xE0, rows < 0xF0], [1, 2, 3], 4)
    for start in range(size):
        # the character boundaries; rows that are settled are left out
        alive = np.flatnonzero(((rows[:, start] & 0xC0) != 0x80) & whole)
        if model.accumulate == "f32" and start:  # where the reference would take sums back, leave it to the real thing
            large = np.abs(sums[start, alive]) > _RESET
            whole[alive[large]] = False
            alive = alive[~large]
        single = np.zeros(count, np.bool_)
        beginners = alive
        offset = np.full(len(alive), root, np.int64)
        for end in range(start + 1, size + 1):
            byte = rows[alive, end - 1].astype(np.int64)
            unit = units[offset + byte]
            fits = (unit & 0x1FF) == byte
            alive, unit, byte, offset = alive[fits], unit[fits], byte[fits], offset[fits]
            below = (unit >> PAYLOAD_SHIFT).astype(np.int64)
            is_leaf = (unit & LEAF) != 0
            at = np.flatnonzero(unit & ENTRY)
            ids = np.where(is_leaf[at], below[at], units[below[at] * ~is_leaf[at] + VALUE_LABEL] >> PAYLOAD_SHIFT)
            hit = alive[at]
            single[hit] |= lengths[hit, start] == end - start
            _offer(sums, whole, hit, end, sums[start, hit] + scores[ids], start)
            alive, offset = alive[~is_leaf], below[~is_leaf]
        lone = beginners[~single[beginners]]
        for length in range(1, 5):
            hit = lone[lengths[lone, start] == length]
            won = _offer(sums, whole, hit, start + length, sums[start, hit] + unknown, start)
            if model.unk_id < 0:
                whole[won] = False  # the reference raises
    return whole


def _offer(
    sums: _Scores,
    whole: npt.NDArray[np.bool_],
    rows: npt.NDArray[np.int64],
    end: int,
    offers: npt.NDArray[np.floating],
    start: int,
) -> npt.NDArray[np.int64]:
    """Put the higher of two sums at `end`; the rows where that is the new one."""
    if not len(rows):
        return rows
    higher = offers > sums[end, rows]
    won: npt.NDArray[np.int64] = rows[higher]
    sums[end, won] = offers[higher]
    if start and end == len(sums) - 1:
        whole[won] = False
    return won
