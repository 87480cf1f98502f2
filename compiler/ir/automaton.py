"""BoundaryAutomaton: a deterministic Mealy machine over symbols that finds one match from a given start.

A symbol is a tag, or a tag and the truth of look-aheads (ir/lookahead.py).

Reading it: `state = start`; for the symbol at each position (the column of the character's tag, or `end_column` at the
end of the text) first `accepts[state, symbol]` says whether a match may end *before* that symbol, then `moves[state,
symbol]` is the next state. State 0 is dead. The match ends at the last position where `accepts` was set; if it never
was, no match starts here. A later `accepts` always wins over an earlier one, since threads of lower preference than a
match are dropped when it is found. One that is certain to be overruled is not set, so inside a plain run of letters
there is nothing to remember.

Gaps: where no match starts, the start moves on by one character. All characters up to the start of the next match form
one piece of their own, which is not a match. `covers_everything` says that a pattern cannot have gaps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

DEAD = 0


@dataclass(frozen=True, slots=True, eq=False)
class BoundaryAutomaton:
    """Minimal and canonical: patterns that mean the same over the same tags give equal machines.

    columns: symbol -> column; symbols that no state tells apart share one. Columns are numbered by their lowest tag.
    moves: (states, columns + 1) uint16, the last column (text end) is all dead. Row 0 is the dead state.
    accepts: (states, columns + 1) bool.
    start: 1, or 0 if the pattern matches nothing. Other states are numbered in breadth-first order.
    """

    columns: tuple[int, ...]
    moves: npt.NDArray[np.uint16]
    accepts: npt.NDArray[np.bool_]
    start: int

    @property
    def state_count(self) -> int:
        return int(self.moves.shape[0])

    @property
    def column_count(self) -> int:
        """Columns of characters; the text end is one more."""
        return int(self.moves.shape[1]) - 1

    @property
    def end_column(self) -> int:
        return self.column_count

    def tags_of(self, column: int) -> tuple[int, ...]:
        return tuple(tag for tag, its_column in enumerate(self.columns) if its_column == column)

    @property
    def covers_everything(self) -> bool:
        """True if a match starts at every position of every text, so that gaps do not exist."""
        if self.start == DEAD:
            return False
        # States that a text can be in after at least one character with no match seen; a text may end there.
        unmatched: set[int] = set()
        pending: list[tuple[int, int]] = [(self.start, self.column_count)]
        while pending:
            state, symbols = pending.pop()
            for symbol in range(symbols):
                if self.accepts[state, symbol]:
                    continue
                target = int(self.moves[state, symbol])
                if target == DEAD:
                    return False
                if target not in unmatched:
                    unmatched.add(target)
                    pending.append((target, self.column_count + 1))
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BoundaryAutomaton):
            return NotImplemented
        same = self.columns == other.columns and self.start == other.start
        return same and np.array_equal(self.moves, other.moves) and np.array_equal(self.accepts, other.accepts)

    def __hash__(self) -> int:
        return hash((self.columns, self.start, self.moves.tobytes(), self.accepts.tobytes()))

    def __str__(self) -> str:
        lines = [f"boundary automaton: {self.state_count} states, {self.column_count} columns, start {self.start}"]
        lines.append("  columns of tags: " + " ".join(map(str, self.columns)))
        lines.append("  a cell is the next state (. dead); * before it: a match may end before this symbol")
        head = "".join(f"{column:>5}" for column in range(self.column_count)) + "  end"
        lines.append(f"  state{head}")
        for state in range(1, self.state_count):
            cells = "".join(
                f"{'*' * bool(accept) + (str(target) if target else '.'):>5}"
                for target, accept in zip(self.moves[state], self.accepts[state], strict=True)
            )
            lines.append(f"  {state:5}{cells}")
        return "\n".join(lines)
