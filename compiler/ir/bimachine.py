"""Bimachine: two deterministic automata, one from each side, that together say where pieces start.

See compiler/bitstream/bimachine.py for what they mean and how they are built.
"""

from __future__ import annotations

from dataclasses import dataclass

START, GAP = 0, 1  # left states before the first character and inside a gap; others follow


@dataclass(frozen=True, slots=True)
class Bimachine:
    """Both automata as tables. A tag here is a column of the machine's alphabet.

    right[tag][r]: right state before a character with that tag when the state after it is `r`. State `right_end` (0)
        is the state at the end of the text.
    left[(q, tag, r)]: (next left state, cut) for every combination that can occur: `q` the left state before the
        character, `r` the right state after it, `cut` whether a piece starts before the character.
    kept[q]: whether the piece that the last character belongs to is kept (START: False, there is no piece yet).
    """

    tag_count: int
    right: tuple[tuple[int, ...], ...]
    right_count: int
    left: dict[tuple[int, int, int], tuple[int, bool]]
    kept: tuple[bool, ...]

    @property
    def left_count(self) -> int:
        return len(self.kept)

    @property
    def removes(self) -> bool:
        """Some text is in no piece."""
        return not all(self.kept[state] for state in {target for target, _ in self.left.values()})

    def __str__(self) -> str:
        return (
            f"bimachine: {self.tag_count} tags, {self.right_count} right states, {self.left_count} left states, "
            f"{len(self.left)} transitions{', some text is removed' if self.removes else ''}"
        )
