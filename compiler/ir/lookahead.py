"""LookAhead: the truth of look-aheads of any length, read from the right, as part of the symbols of an automaton.

A boundary automaton reads one symbol a character. Without look-ahead beyond one character the symbol is the
character's tag. With it the symbol is the tag and, for each look-ahead, whether it holds before the character.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LookAhead:
    """A deterministic automaton that reads from the right; state 0 is that of the text's end.

    moves[tag][state]: the state before a character with that tag when the state after it is `state`.
    symbols[tag][state]: the character's symbol in the same place.
    described[symbol]: (tag, bits), bit k of `bits`: look-ahead k holds before the character. The symbols of a pattern
        without look-ahead are its tags, and there is one state.
    end_bits: the same at the end of the text.
    """

    moves: tuple[tuple[int, ...], ...]
    symbols: tuple[tuple[int, ...], ...]
    described: tuple[tuple[int, int], ...]
    end_bits: int

    @property
    def state_count(self) -> int:
        return len(self.moves[0]) if self.moves else 1

    def __str__(self) -> str:
        if self.state_count == 1 and not self.end_bits and all(bits == 0 for _, bits in self.described):
            return "look-ahead: one character at most"
        return f"look-ahead: {self.state_count} states from the right, {len(self.described)} symbols"
