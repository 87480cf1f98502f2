"""UnigramModel: what a Unigram vocabulary says, in the arithmetic of its reference engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Engine = Literal["tokenizers", "sentencepiece"]


@dataclass(frozen=True, slots=True)
class UnigramModel:
    """A Unigram vocabulary: the text becomes the pieces with the highest sum of scores.

    tokens: the bytes of text that every id stands for, without repeats (None for what never matches: control, unused and byte
        pieces, entries that no text can become, and all but the last of equal entries); index = id. Where the definition
        replaces spaces by a mark, the mark is written as a space here (see definition/respell.py).
    scores: (n,) float64, what a match of each id adds. For sentencepiece these are float32 numbers.
    unk_score: what a character without a piece of its own adds.
    unk_id: the id of unknown text; -1 if there is none and text that needs it is an error; past the vocabulary if there is none
        and all bytes have a piece.
    byte_ids: (256,) int32, the pieces `<0xNN>` that unknown text falls back to, -1 for one that is missing; all -1 without
        byte_fallback.
    engine: whose sums and whose way with unknown text (see gigatok_runtime.unigram).
    space: what a space in unknown text falls back to: the bytes of the mark if it was respelled.
    """

    tokens: tuple[bytes | None, ...]
    scores: npt.NDArray[np.float64]
    unk_score: float
    unk_id: int
    byte_ids: npt.NDArray[np.int32]
    engine: Engine
    space: bytes = b" "

    def __str__(self) -> str:
        fallback = ", bytes for what is unknown" if (self.byte_ids >= 0).any() else ""
        unknown = f", unknown text has id {self.unk_id}" if 0 <= self.unk_id < len(self.tokens) else ""
        return f"{len(self.matched)} entries with scores, sums in {self.accumulate}{fallback}{unknown}"

    @property
    def accumulate(self) -> Literal["f64", "f32"]:
        """The width in which the sum of a path is kept."""
        return "f64" if self.engine == "tokenizers" else "f32"

    @property
    def matched(self) -> dict[bytes, int]:
        """The entries that text can match: bytes to id."""
        return {token: number for number, token in enumerate(self.tokens) if token is not None}
