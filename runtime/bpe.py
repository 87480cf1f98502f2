"""Byte-level BPE in plain Python: the same ids as the reference, in n log n steps.

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


class BytePairEncoder:
    """A vocabulary and its merges.

    Args:
        tokens: bytes of each id, None for ids that are no model entry.
        merges: (m, 3) int32 rows left id, right id, merged id.
        ranks: (m,) int32, the rank of each row, lower first.
        byte_ids: (256,) int32, -1 for bytes without an id: such bytes are dropped, as in the reference.
        ignore_merges: a whole piece that is an entry gets its id without merging.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        merges: npt.NDArray[np.int32],
        ranks: npt.NDArray[np.int32],
        byte_ids: npt.NDArray[np.int32],
        ignore_merges: bool,
    ) -> None:
        self.byte_ids: list[int] = byte_ids.tolist()
        self.whole = {t: i for i, t in enumerate(tokens) if t is not None} if ignore_merges else {}
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

    def merge(self, piece: bytes) -> list[int]:
        """Ids of one piece by merging alone."""
        ids = [self.byte_ids[byte] for byte in piece if self.byte_ids[byte] >= 0]
        n = len(ids)
        if n < 2:
            return ids
        # A doubly linked list over positions; a position that was merged into its left neighbour has id -1.
        before, after = list(range(-1, n - 1)), list(range(1, n + 1))
        find = self.merges.get
        heap = [(*found, at) for at in range(n - 1) if (found := find((ids[at], ids[at + 1])))]
        heapify(heap)
        while heap:
            rank, merged, left = heappop(heap)
            right = after[left]
            # What stood there may have changed; another pair may even make the same id, but at its own rank.
            if ids[left] < 0 or right == n or find((ids[left], ids[right])) != (rank, merged):
                continue
            ids[left], ids[right] = merged, -1
            after[left] = after[right]
            if after[left] < n:
                before[after[left]] = left
                if found := find((merged, ids[after[left]])):
                    heappush(heap, (*found, left))
            if before[left] >= 0 and (found := find((ids[before[left]], merged))):
                heappush(heap, (*found, before[left]))
        return [i for i in ids if i >= 0]
