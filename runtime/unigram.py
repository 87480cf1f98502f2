"""Unigram in plain Python, as the reference engines do it: the oracle for the C code (templates/unigram.h).

A text becomes the pieces whose scores have the highest sum. From every character on, each entry that the text goes on with
offers a way to its end; a character that is no entry offers itself as unknown. A later offer replaces an earlier one only if
its sum is higher, so of equal ways the first found stays. The engines differ in two things:

- tokenizers sums in float64. sentencepiece sums in float32, and when the sum of the place it stands at is past 100,000 or below
  -100,000 it takes that sum from this place and from all later ones that have one, so that precision does not run out.
- In tokenizers neighbouring unknown pieces are one text (the unknown token itself, typed, is one of them). If that text is an entry it
  is that, else its bytes if all have a piece, else unknown. In sentencepiece unknown characters fall back to bytes each, or are one
  unknown id together.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence

RESET = 100_000.0


class UnigramEncoder:
    """bytes of a text -> ids. The model is a vocabulary, as gigatok_compile.ir.unigram.UnigramModel says it.

    Args:
        tokens: the bytes of every id, None for what never matches.
        scores: what a match of each id adds.
        unk_score: what an unknown character adds.
        unk_id: the id of unknown text, -1 for none.
        byte_ids: 256 ids, -1 for none.
        engine: "tokenizers" or "sentencepiece".
        space: what a space in unknown text falls back to.
    """

    def __init__(
        self,
        tokens: Sequence[bytes | None],
        scores: Sequence[float],
        unk_score: float,
        unk_id: int,
        byte_ids: Sequence[int],
        engine: str,
        space: bytes = b" ",
    ) -> None:
        self.ids = {token: number for number, token in enumerate(tokens) if token is not None}
        self.scores = [float(score) for score in scores]
        self.unk_score = float(unk_score)
        self.unk_id = int(unk_id)
        self.byte_ids = [int(number) for number in byte_ids]
        self.tokenizers = engine == "tokenizers"
        self.space = space
        self.prefixes = {token[:end] for token in self.ids for end in range(1, len(token))}

    def encode(self, piece: bytes) -> list[int]:
        """The ids of a pre-token, which must be UTF-8.

        Raises:
            ValueError: a character that is no entry, and there is no unknown id.
        """
        ids: list[int] = []
        unknown = 0  # where a run of unknown pieces begins
        in_run = False
        for start, _, number in self._best_path(piece):
            if number == self.unk_id:
                if not in_run:
                    unknown, in_run = start, True
                continue
            if in_run:
                ids += self._unknown(piece[unknown:start])
                in_run = False
            ids.append(number)
        if in_run:
            ids += self._unknown(piece[unknown:])
        return ids

    def _best_path(self, piece: bytes) -> list[tuple[int, int, int]]:
        """Start, end and id of each piece."""
        size = len(piece)
        sums = [0.0] * (size + 1)
        starts = [-1] * (size + 1)
        numbers = [-1] * (size + 1)
        at = reach = 0
        while at < size:
            if not self.tokenizers and abs(sums[at]) > RESET:
                offset = sums[at]
                for end in range(at, reach + 1):
                    if end == at or starts[end] >= 0:
                        sums[end] = self._kept(sums[end] - offset)
            character = _sequence_length(piece[at])
            single = False
            for end, number in self._matches(piece, at):
                offer = self._kept(sums[at] + self.scores[number])
                reach = max(reach, end)
                if starts[end] < 0 or offer > sums[end]:
                    sums[end], starts[end], numbers[end] = offer, at, number
                single |= end == at + character
            if not single:
                end = at + character
                offer = self._kept(sums[at] + self.unk_score)
                reach = max(reach, end)
                if starts[end] < 0 or offer > sums[end]:
                    if self.unk_id < 0:
                        raise ValueError(f"{piece[at:end].decode()!r} is no entry, and the model has no unk_id")
                    sums[end], starts[end], numbers[end] = offer, at, self.unk_id
            at += character
        path = []
        while at:
            path.append((starts[at], at, numbers[at]))
            at = starts[at]
        return path[::-1]

    def _matches(self, piece: bytes, at: int) -> Iterator[tuple[int, int]]:
        for end in range(at + 1, len(piece) + 1):
            text = piece[at:end]
            if text in self.ids:
                yield end, self.ids[text]
            if text not in self.prefixes:
                return

    def _kept(self, offer: float) -> float:
        return offer if self.tokenizers else ctypes.c_float(offer).value

    def _unknown(self, text: bytes) -> list[int]:
        if self.tokenizers and text in self.ids:
            return [self.ids[text]]
        ids = [self.byte_ids[byte] for byte in text.replace(b" ", self.space)]
        return [self.unk_id] if min(ids) < 0 else ids


def _sequence_length(lead: int) -> int:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
