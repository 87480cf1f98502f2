"""BPE in plain Python: the same ids as the reference, in n log n steps.

The pair with the lowest rank merges first, the leftmost one among equals; a heap holds the pairs, and one that no longer
stands in the text is passed over when it comes up.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

_CACHED_BYTES = 1 << 24  # of pieces; then the cache starts anew
_CACHED_PIECE = 1 << 10  # longer pieces hardly repeat


CONTINUES, ENDS = 1, 2  # bits of `affixes`


class BytePairEncoder:
    """A vocabulary and its merges.

    Args:
        tokens: bytes of text of each id, without affixes; None for ids that are no model entry.
        merges: (m, 3) int32 rows left id, right id, merged id.
        ranks: (m,) int32, the rank of each row, lower first.
        byte_ids: (256,) int32, the id of each byte; of characters what they fall back to. -1 for none.
        ignore_merges: a whole piece that is an entry gets its id without merging.
        characters: merging begins with characters, not with bytes.
        unk_id: of what is no entry and falls back to nothing; -1: it is dropped, as in the reference.
        fuse_unk: neighbours of that kind are one id.
        affixes: (n,) uint8, whether an entry has the prefix of what continues a word (1) and the suffix of what ends one (2);
            None where the definition has neither.
        marks: which of the two the definition has, the same bits, whether or not an entry has them.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        merges: npt.NDArray[np.int32],
        ranks: npt.NDArray[np.int32],
        byte_ids: npt.NDArray[np.int32],
        ignore_merges: bool,
        *,
        characters: bool = False,
        unk_id: int = -1,
        fuse_unk: bool = False,
        affixes: npt.NDArray[np.uint8] | None = None,
        marks: int = 0,
    ) -> None:
        self.characters = characters
        self.unk_id = unk_id
        self.fuse_unk = fuse_unk
        flags = [0] * len(tokens) if affixes is None else affixes.tolist()
        self.continues, self.ends = marks & CONTINUES, marks & ENDS
        # entries of one byte or character, by what they are and where they stand
        self.atoms: dict[tuple[bytes, int], int] = {}
        if not characters and affixes is None:
            self.atoms = {(bytes([b]), 0): i for b, i in enumerate(byte_ids.tolist()) if i >= 0}
        else:
            longest = 4 if characters else 1
            self.atoms = {(t, flags[i]): i for i, t in enumerate(tokens) if t and len(t) <= longest and _single(t)}
        self.fallback: list[int] = byte_ids.tolist() if characters else [-1] * 256
        alone = {i: t for i, t in enumerate(tokens) if t is not None and flags[i] == self.ends}
        self.whole = {t: i for i, t in alone.items()} if ignore_merges else {}
        pairs = zip(merges[:, 0].tolist(), merges[:, 1].tolist(), strict=True)
        results = zip(ranks.tolist(), merges[:, 2].tolist(), strict=True)
        self.merges: dict[tuple[int, int], tuple[int, int]] = dict(zip(pairs, results, strict=True))
        self.cache: dict[bytes, list[int]] = {}
        self.cached_bytes = 0

    def encode(self, piece: bytes) -> list[int]:
        """Ids of one piece (a pre-token)."""
        ids = self.cache.get(piece)
        if ids is None:
            whole = self.whole.get(piece)
            ids = [whole] if whole is not None else self.merge(piece)
            if len(piece) <= _CACHED_PIECE:
                self._remember(piece, ids)
        return ids

    def _remember(self, piece: bytes, ids: list[int]) -> None:
        self.cached_bytes += len(piece)
        if self.cached_bytes > _CACHED_BYTES:
            self.cache = {}
            self.cached_bytes = len(piece)
        self.cache[piece] = ids

    def begin(self, piece: bytes) -> list[int]:
        """The ids that merging begins with.

        What is unknown comes before the next known atom, so after bytes that characters between fell back to (measured).
        """
        units = [c.encode() for c in piece.decode()] if self.characters else [bytes([b]) for b in piece]
        ids: list[int] = []
        pending = False
        for at, unit in enumerate(units):
            where = (self.continues if at else 0) | (self.ends if at == len(units) - 1 else 0)
            found = self.atoms.get((unit, where))
            fallen = [self.fallback[byte] for byte in unit] if found is None else []
            if found is None and min(fallen) >= 0:
                ids += fallen
                continue
            if pending and (found is not None or not self.fuse_unk):
                ids.append(self.unk_id)
                pending = False
            if found is not None:
                ids.append(found)
            else:
                pending = self.unk_id >= 0
        return [*ids, self.unk_id] if pending else ids

    def merge(self, piece: bytes) -> list[int]:
        """Ids of one piece by merging alone."""
        ids = self.begin(piece)
        n = len(ids)
        if n < 2:
            return ids
        # A doubly linked list over positions; a position that was merged into its left neighbour has id -1.
        before, after = list(range(-1, n - 1)), list(range(1, n + 1))
        find = self.merges.get
        heap = [(found[0], at, found[1]) for at in range(n - 1) if (found := find((ids[at], ids[at + 1])))]
        heapify(heap)
        while heap:
            rank, left, merged = heappop(heap)
            right = after[left]
            # What stood there may have changed; another pair may even make the same id, but at its own rank.
            if ids[left] < 0 or right == n or find((ids[left], ids[right])) != (rank, merged):
                continue
            ids[left], ids[right] = merged, -1
            after[left] = after[right]
            if after[left] < n:
                before[after[left]] = left
                if found := find((merged, ids[after[left]])):
                    heappush(heap, (found[0], left, found[1]))
            if before[left] >= 0 and (found := find((ids[before[left]], merged))):
                heappush(heap, (found[0], before[left], found[1]))
        return [i for i in ids if i >= 0]


def _single(token: bytes) -> bool:
    """One byte, or one character."""
    return len(token) == 1 or (token[0] >= 0xC0 and all(byte & 0xC0 == 0x80 for byte in token[1:]))
