"""build_pair_table: the merges that can happen -> one array, in which every pair has exactly one place.

Problem: merging asks, for every new pair of neighbours, whether it merges and into what. Most answers are no, and a miss
must cost no more than a hit.

Idea (row displacement, Tarjan and Yao 1979, as parser generators pack their tables): think of a matrix with a row for
each left token and a column for each right token. Rows are sparse, so they are laid over each other in one array, each
moved by its own *base* until no two entries meet. The place of a pair is `base[left] + right`: no hash, one load, and the
check that the entry found belongs to `left` settles the rest, since `left` fixes the base and so the column.

An entry holds what the next step needs: the merged token's number (also the pair's priority) and *its* base, so that the
pairs it forms are found without another load.

      63     61 60          check  position bits + base bits + id bits
      +--------+--------------+---------------+--------------+----------+
      | marker |  left + 1    |   merged + 1  | merged base  | position |
      +--------+--------------+---------------+--------------+----------+
               |   id bits    |   id bits     |  base bits   |  5 bits  |

`position` is 0 here; merge.h puts the place in the word there, so that comparing entries compares rank, then position.
Order ids are stored plus one: token 0 is "no token". The marker, bit 61, is there if 61 bits suffice for the rest: then
an entry, read as a double, is positive, normal and no NaN, and SSE2 can compare two at a time (merge.h says why).

Rows go in by size, larger ones first, at the first base where they fit; rows of one entry fill the holes. Low ids are
common tokens, so common pairs lie together near the front of their rows. Measured against a perfect hash and against open
addressing in docs/merge.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.merge_order import MergeOrder

POSITION_BITS = 5
MARKER_BIT = 61
_WINDOW = 8192  # bases tried at a time


@dataclass(frozen=True, slots=True)
class PairTable:
    """bases: (size,) int64 by order id, 0 for tokens that are the left of no pair. The rest as drawn above."""

    entries: npt.NDArray[np.uint64]
    bases: npt.NDArray[np.int64]
    id_bits: int
    base_bits: int
    marker: bool
    to_id: npt.NDArray[np.uint32] | None

    def token(self, order_ids: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        """Tokens as the C code holds them, the middle of an entry: number and base; 0 for order ids below 0."""
        words = (order_ids + 1) << (POSITION_BITS + self.base_bits) | self.bases[order_ids] << POSITION_BITS
        tokens: npt.NDArray[np.uint64] = np.where(order_ids >= 0, words, 0).astype(np.uint64)
        return tokens

    @property
    def tables(self) -> TableSet:
        tables = [
            Table(
                "merge_pairs", self.entries, "left + 1 | merged + 1 | base of merged | 0, at base of left + right + 1"
            ),
        ]
        if self.to_id is not None:
            tables.append(Table("merge_ids", np.append(np.uint32(2**32 - 1), self.to_id), "id by order id + 1"))
        constants = {
            "merge_position_bits": POSITION_BITS,
            "merge_base_bits": self.base_bits,
            "merge_id_bits": self.id_bits,
            "merge_marker": int(self.marker),
            "merge_mapped": int(self.to_id is not None),
        }
        return TableSet(tuple(tables), constants)


def build_pair_table(order: MergeOrder) -> PairTable:
    """Lay out the pairs.

    Raises:
        DefinitionError: a vocabulary too large for 64-bit entries (above half a million merged tokens).
    """
    left, right, merged = order.pairs.T
    placed = displace_rows(left, right) if len(left) else np.zeros(1, dtype=np.int64)
    id_bits = (order.size + 1).bit_length()  # all ones is the check of empty places
    base_bits = max(1, int(placed.max()).bit_length())
    total = POSITION_BITS + base_bits + 2 * id_bits
    if total > 64:
        raise DefinitionError(
            f"{order.size} tokens with {len(left)} merges need entries of {total} bits, 64 are compiled",
            where="model.merges",
        )
    bases = np.zeros(order.size, dtype=np.int64)
    bases[: len(placed)] = placed
    marker = total <= MARKER_BIT
    marked = np.uint64(1 << MARKER_BIT if marker else 0)

    def check(number: npt.NDArray[np.int64]) -> npt.NDArray[np.uint64]:
        shifted: npt.NDArray[np.uint64] = number.astype(np.uint64) << np.uint64(total - id_bits)
        return shifted

    size = int(bases.max(initial=0)) + order.size + 1
    nobody = np.full(size, (1 << id_bits) - 1, dtype=np.int64)
    entries = check(nobody) | marked
    table = PairTable(entries, bases, id_bits, base_bits, marker, order.to_id)
    entries[bases[left] + right + 1] = check(left + 1) | table.token(merged) | marked
    return table


def displace_rows(row: npt.NDArray[np.int64], column: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Bases such that `bases[row] + column` are all different; index = row, 0 for rows that do not occur."""
    by_row = np.lexsort((column, row))
    row, column = row[by_row], column[by_row]
    rows, first, size = np.unique(row, return_index=True, return_counts=True)
    bases = np.zeros(int(rows[-1]) + 1, dtype=np.int64)
    free = np.ones(4 * (len(row) + int(column.max())) + 2 * _WINDOW, dtype=np.bool_)
    # Where to begin looking, by row size: a little before where the last row of that size went.
    begin: dict[int, int] = {}
    largest_first = np.argsort(-size, kind="stable")
    for k in largest_first[size[largest_first] > 1]:
        columns = column[first[k] : first[k] + size[k]]
        offsets = columns - columns[0]
        at = max(begin.get(int(size[k]), 0), int(columns[0]))
        while True:
            if at + int(offsets[-1]) + _WINDOW > len(free):
                free = np.concatenate([free, np.ones(len(free), dtype=np.bool_)])
            fits = free[at : at + _WINDOW].copy()
            for offset in offsets[1:].tolist():
                fits &= free[at + offset : at + offset + _WINDOW]
            step = int(fits.argmax())
            if fits[step]:
                break
            at += _WINDOW
        at += step
        if size[k] <= 8:
            begin[int(size[k])] = max(begin.get(int(size[k]), 0), at - _WINDOW // 2)
        free[at + offsets] = False
        bases[rows[k]] = at - columns[0]
    # Single entries, by column: the next free place that is not before the column.
    single = np.flatnonzero(size == 1)
    single = single[np.argsort(column[first[single]], kind="stable")]
    holes = np.flatnonzero(free)
    taken = 0
    for k in single.tolist():
        at = int(column[first[k]])
        taken = max(taken, int(np.searchsorted(holes, at))) if holes[taken] < at else taken
        bases[rows[k]] = holes[taken] - at
        taken += 1
    return bases
