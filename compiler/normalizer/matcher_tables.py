"""A Matcher as the tables of templates/matcher.h."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.plan import Table
from gigatok_compile.normalizer.matcher import MAX_CELLS, Matcher

BLOCKS = 0x110000 >> 6
TABLES = ("blocks", "tags", "right", "symbols", "left", "end", "pairs")


def matcher_tables(matcher: Matcher, name: str) -> Iterator[Table]:
    """blocks, tags, right, symbols, left, end, pairs, each named with the pass's name before it.

    Raises:
        CompileError: they are too large.
    """
    if (
        len(matcher.tags) > 256
        or matcher.left.size > MAX_CELLS
        or matcher.left.shape[1] > 65535
        or matcher.left.max() > 65535
    ):
        raise CompileError(f"the pattern is too large for a table: {len(matcher.tags)} tags, {matcher}")
    tags = np.zeros(0x110000, np.uint8)
    for number, ranges in enumerate(matcher.tags):
        for low, high in ranges:
            tags[low : high + 1] = number
    rows, which = np.unique(tags.reshape(BLOCKS, 64), axis=0, return_inverse=True)
    yield Table(f"{name}_blocks", which.reshape(-1).astype(np.uint16), "row of tags of every 64 code points")
    yield Table(f"{name}_tags", rows.reshape(-1), "tag of each code point")
    yield Table(
        f"{name}_right", matcher.right.astype(np.uint16).reshape(-1), "right state before, by state after and tag"
    )
    yield Table(
        f"{name}_symbols", matcher.symbols.astype(np.uint16).reshape(-1), "symbol, by right state after and tag"
    )
    yield Table(
        f"{name}_left", matcher.left.astype(np.uint16).reshape(-1), "left state << 3 | what happens, by state, symbol"
    )
    yield Table(f"{name}_end", matcher.end.astype(np.uint8), "what happens at the end of the text, by left state")
    about = "1: between matches nothing changes at this ASCII character before that one; 2: it is a match by itself"
    yield Table(f"{name}_pairs", matcher.pairs.reshape(-1), about)


def matcher_fields(matcher: Matcher, name: str) -> str:
    """The part of a gt_matcher's initializer that speaks of these tables."""
    arrays = ", ".join(f"gt_{name}_{table}" for table in TABLES)
    return f"{arrays}, {len(matcher.tags)}, {matcher.left.shape[1]}, {matcher.ahead}, {int(matcher.anchored)}"
