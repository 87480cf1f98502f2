"""BitProgram and tags -> the tables its kernel reads: tags of bytes and code points, class codes, the right automaton.

The kernel's tags are coarser than the pattern's: columns of the automaton that are in the same classes and that the right automaton does not
tell apart are one. Each gets a code, a string of bits, one for each class; a class mask is then one bit of the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.automaton import BoundaryAutomaton
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.ir.tags import Tag, TagProgram

CODE_POINTS = 0x110000
MAX_KERNEL_TAGS = 64  # one 64-byte permute looks up a tag's code
MAX_RIGHT_STATES = 254  # 255 stands for "unknown" in the memo of chunk ends
MAX_RIGHT_STREAMS = 64


@dataclass(frozen=True, slots=True)
class KernelTags:
    """kernel_tag[c] for every column c of the automaton; the last kernel tag is "past the end of the text"."""

    kernel_tag: tuple[int, ...]
    count: int  # the end included

    @property
    def end(self) -> int:
        return self.count - 1


def merge_tags(program: BitProgram) -> KernelTags:
    """Columns that the kernel cannot tell apart fall together; numbered by first column."""
    numbers: dict[tuple[object, ...], int] = {}
    kernel_tag = []
    for tag, row in enumerate(program.right_table):
        key = (tuple(tag in c.tags for c in program.classes), row)
        kernel_tag.append(numbers.setdefault(key, len(numbers)))
    return KernelTags(tuple(kernel_tag), len(numbers) + 1)


def check_kernel_limits(program: BitProgram, machine: Bimachine) -> None:
    """Raises CompileError if the pattern is beyond what the kernel holds (64 tags, 254 right states, 64 right streams)."""
    for what, value, limit in (
        ("kernel tags", merge_tags(program).count, MAX_KERNEL_TAGS),
        ("right states", machine.right_count, MAX_RIGHT_STATES),
        ("right streams", program.right_count, MAX_RIGHT_STREAMS),
    ):
        if value > limit:
            raise CompileError(f"the bitstream kernel holds at most {limit} {what}, this pattern needs {value}")


def tag_tables(program: BitProgram, machine: Bimachine, alphabet: Sequence[Tag]) -> TableSet:
    """Tables and constants of the boundary kernel; check_kernel_limits has passed."""
    kernel = merge_tags(program)
    states = machine.right_count
    of_code_point = _by_code_point(alphabet, kernel.kernel_tag, kernel.end)
    blocks, block_of = _two_stages(of_code_point)
    code_bytes = max(1, (len(program.classes) + 7) // 8)
    codes = np.zeros((code_bytes, MAX_KERNEL_TAGS), dtype=np.uint8)
    for number, c in enumerate(program.classes):
        for tag_index in c.tags:
            position = kernel.end if tag_index == machine.tag_count else kernel.kernel_tag[tag_index]
            codes[number // 8, position] |= 1 << number % 8
    right = np.zeros((kernel.count, states), dtype=np.uint8)
    for tag_index, row in enumerate(machine.right):
        right[kernel.kernel_tag[tag_index]] = row
    sync = np.zeros((kernel.count, kernel.count), dtype=np.uint8)
    for before, after in certain_pairs(machine, kernel):
        sync[before, after] = 1
    return TableSet(
        tables=(
            Table("ascii_tags", of_code_point[:128].copy(), "kernel tag of an ASCII byte"),
            Table("tag_block_of", block_of, "block of 64 code points -> row of tag_blocks"),
            Table("tag_blocks", blocks, "kernel tags of 64 code points, equal rows once"),
            Table("tag_codes", codes.reshape(-1), "class bits of a kernel tag, 64 entries a byte of code"),
            Table("right_table", right.reshape(-1), "right state before a tag, by tag and state after it"),
            Table("right_values", np.array(program.right_values, dtype=np.uint64), "bit i: right stream i, by state"),
            Table("sync_pairs", sync.reshape(-1), "1: a piece always starts between these two tags"),
            Table(
                "left_initial", np.array(program.initially or (False,), dtype=np.uint8), "left streams before the text"
            ),
        ),
        constants={
            "tags": kernel.count,
            "tag_end": kernel.end,
            "code_bytes": code_bytes,
            "classes": len(program.classes),
            "symbols": max(1, len(program.symbols)),
            "right": program.right_count,
            "left": len(program.initially),
            "right_states": states,
        },
    )


def certain_pairs(machine: Bimachine, kernel: KernelTags) -> list[tuple[int, int]]:
    """Pairs of kernel tags between which a piece starts whatever comes before and after (a synchronising context)."""
    outcomes: dict[tuple[int, int], bool] = {}
    by_state: dict[int, list[tuple[int, int, bool]]] = {}
    for (state, tag, after), (_, starts) in machine.left.items():
        by_state.setdefault(state, []).append((tag, after, starts))
    for (_, tag, after), (target, _) in machine.left.items():
        for next_tag, next_after, starts in by_state.get(target, ()):
            if machine.right[next_tag][next_after] == after:
                pair = (kernel.kernel_tag[tag], kernel.kernel_tag[next_tag])
                outcomes[pair] = outcomes.get(pair, True) and starts
    return sorted(pair for pair, always in outcomes.items() if always)


def automaton_tables(automaton: BoundaryAutomaton, tags: TagProgram) -> TableSet:
    """Tables and constants of the automaton kernel (templates/automaton.h)."""
    columns = _by_code_point(tags.tags, automaton.columns, automaton.end_column)
    blocks, block_of = _two_stages(columns)
    cells = automaton.moves.astype(np.uint16) | (automaton.accepts.astype(np.uint16) << 15)
    return TableSet(
        tables=(
            Table("ascii_columns", columns[:128].copy(), "automaton column of an ASCII byte"),
            Table("column_block_of", block_of, "block of 64 code points -> row of column_blocks"),
            Table("column_blocks", blocks, "automaton columns of 64 code points, equal rows once"),
            Table(
                "automaton_cells", cells.reshape(-1), "next state, top bit: a match may end here; by state and column"
            ),
        ),
        constants={"automaton_columns": automaton.column_count, "automaton_start": automaton.start},
    )


def _by_code_point(tags: Sequence[Tag], number_of: Sequence[int], rest: int) -> npt.NDArray[np.uint8]:
    """(0x110000,) the number of each code point's tag; `rest` for surrogates, which no text has."""
    values = np.full(CODE_POINTS, rest, dtype=np.uint8)
    for tag in tags:
        for low, high in tag.ranges:
            values[low : high + 1] = number_of[tag.index]
    return values


def _two_stages(values: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.unsignedinteger[Any]]]:
    """(rows one after the other, row of each block of 64)."""
    rows, row_of = np.unique(values.reshape(-1, 64), axis=0, return_inverse=True)
    row_of = row_of.reshape(-1)
    return rows.reshape(-1), row_of.astype(np.uint8 if len(rows) <= 256 else np.uint16)
