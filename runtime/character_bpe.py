"""BPE over characters in plain Python, as SentencePiece has it: the same ids, in n log n steps.

A text is cut into characters; the pair of neighbours with the lowest rank merges first, the leftmost among equals. What is no
entry in the end becomes the byte entries of its UTF-8 or, without those, the unknown id.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heappop, heappush
from itertools import groupby

import numpy as np
import numpy.typing as npt


class CharacterPairEncoder:
    """A vocabulary and its merges.

    Args:
        tokens: bytes of each id, None for ids that no text is matched with.
        merges: (m, 3) int32 rows left id, right id, merged id; ranks: (m,) int32, lower first.
        byte_ids: (256,) int32, ids of the byte entries, -1 throughout where there are none.
        unk_id: for a character that is no entry where there are no byte entries; -1: it is dropped.
        fuse_unk: neighbouring unknown ids become one.
        hidden: (id, text, ids) of symbols that merge like any other and in the end become `ids`.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        merges: npt.NDArray[np.int32],
        ranks: npt.NDArray[np.int32],
        byte_ids: npt.NDArray[np.int32],
        unk_id: int = -1,
        fuse_unk: bool = False,
        hidden: Iterable[tuple[int, bytes, Sequence[int]]] = (),
    ) -> None:
        pairs = zip(merges[:, 0].tolist(), merges[:, 1].tolist(), strict=True)
        results = zip(ranks.tolist(), merges[:, 2].tolist(), strict=True)
        self.merges: dict[tuple[int, int], tuple[int, int]] = dict(zip(pairs, results, strict=True))
        self.byte_ids: list[int] = byte_ids.tolist()
        self.unk_id = unk_id
        self.fuse_unk = fuse_unk
        hidden = list(hidden)
        texts = [(i, token) for i, token in enumerate(tokens) if token] + [(i, text) for i, text, _ in hidden]
        self.characters = {text.decode(): i for i, text in texts if _is_character(text)}
        self.expansions: Mapping[int, Sequence[int]] = {i: ids for i, _, ids in hidden}
        self.cache: dict[bytes, list[int]] = {}

    def encode(self, piece: bytes) -> list[int]:
        """Ids of one piece (a pre-token, UTF-8)."""
        if len(piece) > 64:
            return self._finish(self.merge(piece.decode()))
        ids = self.cache.get(piece)
        if ids is None:
            if len(self.cache) >= 1 << 18:
                self.cache.clear()
            ids = self.cache[piece] = self._finish(self.merge(piece.decode()))
        return ids

    def merge(self, text: str, without: int = -1) -> list[int]:
        """The symbols of one piece; characters that are no symbol as -2 - their code point. `without`: a symbol that is not made."""
        ids = [self.characters.get(char, -2 - ord(char)) for char in text]
        n = len(ids)
        before, after = list(range(-1, n - 1)), list(range(1, n + 1))
        gone = [False] * n
        find = self.merges.get
        heap: list[tuple[int, int, int, int]] = []

        def offer(left: int, right: int) -> None:
            found = find((ids[left], ids[right]))
            if found and found[1] != without:
                heappush(heap, (found[0], left, found[1], right))

        for at in range(n - 1):
            offer(at, at + 1)
        while heap:
            rank, left, merged, right = heappop(heap)
            if gone[left] or after[left] != right or find((ids[left], ids[right])) != (rank, merged):
                continue  # what stood there has changed
            ids[left] = merged
            gone[right] = True
            after[left] = after[right]
            if after[left] < n:
                before[after[left]] = left
                offer(left, after[left])
            if before[left] >= 0:
                offer(before[left], left)
        return [symbol for symbol, is_gone in zip(ids, gone, strict=True) if not is_gone]

    def _finish(self, symbols: list[int]) -> list[int]:
        ids: list[int] = []
        for symbol in symbols:
            if symbol >= 0:
                ids += self.expansions.get(symbol, (symbol,))
            else:
                ids += self.of_unknown(chr(-2 - symbol))
        if self.fuse_unk and self.unk_id in ids:
            return [i for i, run in groupby(ids) for i in ([i] if i == self.unk_id else run)]
        return ids

    def of_unknown(self, char: str) -> list[int]:
        """Ids of a character that is no entry."""
        found = [self.byte_ids[byte] for byte in char.encode()]
        if min(found) >= 0:
            return found
        return [self.unk_id] if self.unk_id >= 0 else []


def _is_character(text: bytes) -> bool:
    return len(text) <= 4 and len(text.decode()) == 1
