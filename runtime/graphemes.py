"""Extended grapheme clusters (Unicode standard annex 29) as the reference's Precompiled normalizer sees them.

An automaton over classes of characters. Regional indicators have no class of their own: Precompiled cannot tell.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

import numpy.typing as npt

CLASSES: Final = (
    "other",
    "cr",
    "lf",
    "control",
    "prepend",
    "extend",
    "extend_apart",  # a mark that a conjunct is not joined across
    "linker",
    "joiner",
    "spacing",
    "lead",
    "vowel",
    "tail",
    "open",  # Hangul syllables without a last consonant
    "closed",
    "picture",
    "consonant",
)
"""Their numbers are what `norm_graphemes` and the C tables hold."""

State = tuple[str, str]
"""Class of the last character, and how far a sequence is that joins what comes: "picture", "picture+joiner",
"consonant", "consonant+linker" or ""."""

START: Final[State] = ("", "")
_APART = ("cr", "lf", "control")
_EXTENDING = ("extend", "extend_apart", "linker", "joiner", "spacing")
_HANGUL = {
    "lead": ("lead", "vowel", "open", "closed"),
    "open": ("vowel", "tail"),
    "vowel": ("vowel", "tail"),
    "closed": ("tail",),
    "tail": ("tail",),
}


def step(state: State, now: str) -> tuple[bool, State]:
    """(does a cluster begin before a character of class `now`, the state after it)."""
    last, sequence = state
    if not last or last in _APART or now in _APART:
        begins = not (last == "cr" and now == "lf")
    else:
        begins = not (
            now in _EXTENDING
            or last == "prepend"
            or now in _HANGUL.get(last, ())
            or (now == "consonant" and sequence == "consonant+linker")
            or (now == "picture" and sequence == "picture+joiner")
        )
    if now in ("picture", "consonant"):
        return begins, (now, now)
    if sequence == "picture" and now in ("extend", "extend_apart", "linker"):
        return begins, (now, sequence)
    if sequence == "picture" and now == "joiner":
        return begins, (now, "picture+joiner")
    if sequence.startswith("consonant") and now == "linker":
        return begins, (now, "consonant+linker")
    if sequence.startswith("consonant") and now in ("extend", "joiner"):
        return begins, (now, sequence)
    return begins, (now, "")


class GraphemeClusters:
    """Clusters of str: `GraphemeClusters(arrays)(text)`.

    Args:
        arrays: of `definition.npz`: norm_graphemes (k, 3) uint32, first, last and class of ranges.
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        rows = arrays["norm_graphemes"].tolist()
        self.class_of = {chr(c): CLASSES[number] for low, high, number in rows for c in range(low, high + 1)}
        self.steps: dict[tuple[State, str], tuple[bool, State]] = {}

    def __call__(self, text: str) -> list[str]:
        """`text` in clusters, in order."""
        starts: list[int] = []
        state = START
        for at, char in enumerate(text):
            key = state, self.class_of.get(char, "other")
            if key not in self.steps:
                self.steps[key] = step(*key)
            begins, state = self.steps[key]
            if begins:
                starts.append(at)
        return [text[a:b] for a, b in itertools.pairwise([*starts, len(text)])]
