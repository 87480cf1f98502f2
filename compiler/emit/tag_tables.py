"""Alphabet and BitProgram -> the tables that stages one and two of a kernel read: tags of characters, class codes of tags.

A kernel's tag is a column of the machine, or "past the end of the text", the last one. Non-ASCII characters are looked up
in rows of 64 code points, the six bits of the last byte. For whole texts at a time there are two coarser tables, by lead byte
and by the first two bytes: they say the tag where all code points have the same, as with most scripts.

Each tag gets a code, a string of bits, one for each class; a class mask is then one bit of the codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_compile.emit.boundary import code_bytes, symbol_places
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.ir.tags import Tag

CODE_POINTS = 0x110000
SURROGATES = slice(0xD800, 0xE000)
MAX_BIT_TAGS = 64  # one 64-byte permute looks up a tag's code
MAX_TAGS = 255  # the end included
MIXED = 255  # no tag: code points of several


def check_kernel_limits(program: BitProgram, machine: Bimachine) -> None:
    """Raises CompileError if the pattern has more tags than the bitstream kernel holds."""
    if machine.tag_count + 1 > MAX_BIT_TAGS:
        raise CompileError(
            f"the bitstream kernel holds at most {MAX_BIT_TAGS - 1} tags, this pattern needs {machine.tag_count}"
        )


def tag_tables(alphabet: Sequence[Tag], continuation: Sequence[int] | None = None) -> TableSet:
    """Code points to tags; with `continuation` (see SplitKernel) also bytes."""
    end = len(alphabet)
    of_code_point = np.full(CODE_POINTS, end, dtype=np.uint8)
    for tag in alphabet:
        for low, high in tag.ranges:
            of_code_point[low : high + 1] = tag.index
    of_code_point[SURROGATES] = end  # no text has them
    rows, row_of = _two_stages(of_code_point)
    leads, pairs = _uniform(of_code_point)
    mixed = sum(1 << lead for lead in range(16) if leads[0x20 + lead] == MIXED)
    of_bytes = () if continuation is None else (_continuation_table(continuation),)
    return TableSet(
        tables=(
            Table("ascii_tags", of_code_point[:128].copy(), "tag of an ASCII byte"),
            Table("tag_block_of", row_of, "block of 64 code points -> row of tag_blocks"),
            Table("tag_blocks", rows, "tags of 64 code points, equal rows once"),
            Table("lead_tags", leads, "tag of all characters that begin with byte 0xC0 + i, or GT_TAG_MIXED"),
            Table("pair_tags", pairs, "the same for bytes 0xE0 + i / 64 and 0x80 + i % 64"),
            *of_bytes,
        ),
        constants={"tags": end + 1, "tag_end": end, "tag_mixed": MIXED, "mixed_leads": mixed},
    )


def _continuation_table(continuation: Sequence[int]) -> Table:
    return Table("continuation_tags", np.array(continuation, dtype=np.uint8), "tag of byte 0x80 + i")


def bit_tables(program: BitProgram) -> TableSet:
    """Class codes and constants of the bit program; check_kernel_limits has passed."""
    codes = np.zeros((code_bytes(program), MAX_BIT_TAGS), dtype=np.uint8)
    for number, c in enumerate(program.classes):
        for tag in c.tags:
            codes[number // 8, tag] |= 1 << number % 8
    initially = np.array(program.initially or (False,), dtype=np.uint8)
    return TableSet(
        tables=(
            Table("tag_codes", codes.reshape(-1), "class bits of a tag, 64 entries a byte of code"),
            Table("right_values", np.array(program.right_values, dtype=np.uint64), "bit i: right stream i, by state"),
            Table("left_initial", initially, "left streams before the text"),
        ),
        constants={
            "code_bytes": code_bytes(program),
            "classes": len(program.classes),
            "symbols": -(-max([8 * code_bytes(program), *(place + 1 for place in symbol_places(program))]) // 8) * 8,
            "right": program.right_count,
            "left": len(program.initially),
            "streams": max(program.right_count, len(program.initially)),
        },
    )


def _two_stages(values: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.unsignedinteger[Any]]]:
    """(rows one after the other, row of each block of 64)."""
    rows, row_of = np.unique(values.reshape(-1, 64), axis=0, return_inverse=True)
    row_of = row_of.reshape(-1)
    return rows.reshape(-1), row_of.astype(np.uint8 if len(rows) <= 256 else np.uint16)


def _uniform(tags: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    """The one tag of all characters with a lead byte 0xC0 up, and of all with a pair of first bytes 0xE0 0x80 up, or MIXED.
    Bytes that no text has get tag 0."""
    leads = np.zeros(64, dtype=np.uint8)
    pairs = np.zeros((16, 64), dtype=np.uint8)

    def common(first: int, past: int) -> int:
        points = np.arange(max(first, 0x80), past)
        found = np.unique(tags[points[(points < SURROGATES.start) | (points >= SURROGATES.stop)]])
        return int(found[0]) if len(found) == 1 else MIXED if len(found) else 0

    for lead in range(2, 32):
        leads[lead] = common(lead << 6, lead + 1 << 6)
    for lead in range(16):
        leads[0x20 + lead] = common(max(lead << 12, 0x800), lead + 1 << 12)
        for second in range(64):
            block = lead << 6 | second
            pairs[lead, second] = common(block << 6, block + 1 << 6) if block << 6 >= 0x800 else 0
    for lead in range(5):
        leads[0x30 + lead] = common(max(lead << 18, 0x10000), min(lead + 1 << 18, CODE_POINTS))
    return leads, pairs.reshape(-1)
