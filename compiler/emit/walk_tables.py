"""Bimachine -> the tables of templates/walk.h, of the search for a right state, and of places where a text can be cut.

The pass from the right turns a character into a symbol, a class of (tag, right state after it) pairs that no left state
tells apart. A pair and a left state that never come together fit anything, so pairs are joined as long as they agree where
both are defined: of jais2's 2838 pairs 31 symbols are left. What is still undefined is filled with the move of the state
before the text, which is defined everywhere but inside a character (byte mode), and there with any other: a walk that began
with a wrong guess begins anew there.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gigatok_compile.emit.tag_tables import MAX_TAGS
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.plan import Table, TableSet

MAX_SYMBOLS = 4096  # twelve bits of an entry
MAX_STATES = 4096
MAX_CELLS = 1 << 24  # of the left table: 64 MiB

UNDEFINED = -1
Array = npt.NDArray[np.int64]


def check_walk_limits(machine: Bimachine) -> None:
    """Raises CompileError if the machine is beyond what the walk holds."""
    _tables(machine)


def walk_tables(machine: Bimachine) -> TableSet:
    """Tables and constants of the walk; check_walk_limits has passed."""
    right, left = _tables(machine)
    states = machine.right_count
    small = np.array(machine.right, dtype=np.uint8 if states <= 256 else np.uint16)
    sync = certain_pairs(machine)
    return TableSet(
        tables=(
            Table("right_table", small.reshape(-1), "right state before a tag, by tag and state after it"),
            Table("walk_right", right, "row of the state before and symbol of a character, by state after it and tag"),
            Table(
                "walk_left",
                left,
                "row of the state after a character and cuts before it, by state before it and symbol",
            ),
            Table(
                "sync_pairs", sync.astype(np.uint8).reshape(-1), "1: between these two tags a text can be cut in two"
            ),
        ),
        constants={"right_states": states, "walk_symbols": len(left) // machine.left_count},
    )


def _tables(machine: Bimachine) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """(walk_right, walk_left)."""
    for what, value, limit in (
        ("tags", machine.tag_count + 1, MAX_TAGS),
        ("right states", machine.right_count, MAX_STATES),
        ("left states", machine.left_count, MAX_STATES),
    ):
        if value > limit:
            raise CompileError(f"the automaton kernel holds at most {limit} {what}, this pattern needs {value}")
    cells = _cells(machine)
    symbol_of, columns = _symbols(cells)
    for what, value, limit in (("symbols", len(columns), MAX_SYMBOLS), ("cells", columns.size, MAX_CELLS)):
        if value > limit:
            raise CompileError(f"the automaton kernel holds at most {limit} {what}, this pattern needs {value}")
    start = columns[:, START : START + 1]
    anew = np.where(start == UNDEFINED, columns.max(axis=1, keepdims=True), start)
    columns = np.where(columns == UNDEFINED, anew, columns)
    left = (columns >> 2) * len(columns) << 2 | columns & 3
    tags = machine.tag_count + 1
    before = np.zeros((machine.right_count, tags), dtype=np.int64)
    before[:, :-1] = np.array(machine.right, dtype=np.int64).T * tags
    symbols = np.zeros_like(before)
    symbols[:, :-1] = symbol_of.reshape(machine.tag_count, machine.right_count).T
    return (before << 12 | symbols).astype(np.uint32).reshape(-1), left.T.astype(np.uint32).reshape(-1)


def _cells(machine: Bimachine) -> Array:
    """[tag * right_count + right state after it, left state before it]: the left state after, and the two bits of a cut."""
    cells = np.full((machine.tag_count, machine.right_count, machine.left_count), UNDEFINED, dtype=np.int64)
    kept = machine.kept
    for (state, tag, after), (target, cut) in machine.left.items():
        cells[tag, after, state] = target << 2 | (2 * kept[state] | kept[target]) * cut
    return cells.reshape(-1, machine.left_count)


def _symbols(cells: Array) -> tuple[Array, Array]:
    """(symbol of each row, the symbols' joined rows): each row joins the first symbol that it agrees with."""
    rows, row_of = np.unique(cells, axis=0, return_inverse=True)
    joined: list[Array] = []
    symbol_of_row = np.zeros(len(rows), dtype=np.int64)
    for number, row in enumerate(rows):
        for symbol, other in enumerate(joined):
            if not np.any((row != other) & (row != UNDEFINED) & (other != UNDEFINED)):
                joined[symbol] = np.maximum(row, other)
                break
        else:
            symbol = len(joined)
            joined.append(row)
        symbol_of_row[number] = symbol
    return symbol_of_row[row_of.reshape(-1)], np.stack(joined)


def certain_pairs(machine: Bimachine) -> npt.NDArray[np.bool_]:
    """[tag, next tag] (the end of the text is the last): between the two a text can be cut in two, whatever comes before and
    after: there is a cut, and what follows is what would follow at the start of a text."""
    tags, rights, lefts = machine.tag_count, machine.right_count, machine.left_count
    keys = np.array(list(machine.left), dtype=np.int64).reshape(-1, 3)
    moves = np.array(list(machine.left.values()), dtype=np.int64).reshape(-1, 2)
    right = np.array(machine.right, dtype=np.int64).reshape(tags, rights)
    state, tag, after = keys.T
    target, cut = moves.T
    reached = np.zeros((tags, lefts, rights), dtype=bool)  # left state behind a tag, right state there
    reached[tag, target, after] = True
    from_start = np.full((tags, rights), UNDEFINED, dtype=np.int64)
    first = state == START
    from_start[tag[first], after[first]] = target[first]
    good = (cut == 1) & (from_start[tag, after] == target)
    certain = np.zeros((tags + 1, tags + 1), dtype=bool)
    for before in range(tags):
        occurs = reached[before, state, right[tag, after]]
        certain[before, :tags] = np.bincount(tag[occurs], minlength=tags) > 0
        certain[before, tag[occurs & ~good]] = False
    return certain
