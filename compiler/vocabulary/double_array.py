"""build_trie: all entries in a double-array trie.

Problem: find an entry of any length by its bytes, and the longest entry that a text begins with, in one small load a byte.

Idea: the double array (Aoe 1989) in its compact form with 4 bytes a node, as in Darts-clone: a node's children lie at its
`offset` plus the byte that leads to them, and every node keeps that byte as a label. No two nodes have the same offset, so
the label alone tells whether what lies there is the child asked for. The value of a node that has children lies at
`offset + 256`; a node without children holds its value in place of the offset, which saves a unit for most entries.

           31                       11  10     9      8      7        0
          +---------------------------+------+-------+------+----------+
    node  | offset, or a leaf's value | leaf | entry |  0   |   byte   |
          +---------------------------+------+-------+------+----------+
    other | value, or nothing         |             |  1   |          |    the value of a node with children; free
          +---------------------------+------+-------+------+----------+

`value` is id << 1 | "this word encodes to this id". The root's offset is a constant. Nodes go in by depth, so the tops of
all words share pages; nodes with one child, which are most, fill the holes that the others leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.plan import Table, TableSet

ENTRY, LEAF, OTHER = 1 << 9, 1 << 10, 1 << 8
PAYLOAD_SHIFT = 11
VALUE_LABEL = 256
FREE = 0xFFFFFFFF
_WINDOW = 4096


@dataclass(frozen=True, slots=True)
class Trie:
    """units: (n,) uint32 as drawn above. nodes: how many of them are nodes."""

    units: npt.NDArray[np.uint32]
    root: int
    nodes: int
    longest: int  # bytes

    def walk(self, text: bytes) -> int:
        """Offset of the children of the node that `text` leads to; -1 if there is no such node, or it has no children."""
        offset = self.root
        for byte in text:
            unit = int(self.units[offset + byte])
            if unit & 0x1FF != byte or unit & LEAF:
                return -1
            offset = unit >> PAYLOAD_SHIFT
        return offset

    @property
    def tables(self) -> TableSet:
        return TableSet(
            (Table("trie_units", self.units, "double array: offset or value, leaf, entry, other, byte"),),
            {"trie_root": self.root, "longest_entry": self.longest},
        )


@dataclass(frozen=True, slots=True)
class _Level:
    """Nodes of one depth, sorted by prefix. parent: index in the level above. value: -1 where there is no entry."""

    parent: npt.NDArray[np.int64]
    byte: npt.NDArray[np.int64]
    value: npt.NDArray[np.int64]


def build_trie(values: dict[bytes, int]) -> Trie:
    """A trie of the words (none empty) with their values (below 2^21).

    Raises:
        DefinitionError: more nodes or larger ids than 21 bits can name.
    """
    levels = _levels(values)
    # All nodes in one numbering, by depth; node 0 is the root.
    first = np.cumsum([1] + [len(level.byte) for level in levels])
    parent = np.concatenate(
        [np.zeros(0, np.int64), *(level.parent + f for level, f in zip(levels, [0, *first], strict=False))]
    )
    byte = np.concatenate([np.zeros(0, np.int64), *(level.byte for level in levels)])
    value = np.concatenate([np.full(1, -1), *(level.value for level in levels)])
    n = len(value)
    # The labels each node needs a place for, sorted by node: its children's bytes, and one for the value if it has both.
    children = np.bincount(parent, minlength=n)
    valued = np.flatnonzero((value >= 0) & (children > 0))
    owner = np.concatenate([parent, valued])
    label = np.concatenate([byte, np.full(len(valued), VALUE_LABEL)])
    order = np.lexsort((label, owner))
    owner, label = owner[order], label[order]
    offset = _place(owner, label, n)
    leaf = children == 0
    payload = np.where(leaf, value, offset)
    largest = int(max(payload.max(initial=0), value.max(initial=0)))
    if largest >> (32 - PAYLOAD_SHIFT):
        raise DefinitionError(
            f"the vocabulary needs a trie of {n} nodes or ids up to {largest >> 1}, which is more than fits"
        )
    units = np.full(int(offset.max()) + VALUE_LABEL + 1, FREE, dtype=np.uint32)
    kind = np.where(value >= 0, ENTRY, 0) | np.where(leaf, LEAF, 0)
    unit = payload << PAYLOAD_SHIFT | kind
    units[offset[parent] + byte] = (unit[1:] | byte).astype(np.uint32)
    units[offset[valued] + VALUE_LABEL] = (value[valued] << PAYLOAD_SHIFT | OTHER).astype(np.uint32)
    return Trie(units, int(offset[0]), n, max(map(len, values), default=0))


def _levels(values: dict[bytes, int]) -> list[_Level]:
    """The nodes of each depth: sorted words, cut into runs with an equal prefix."""
    words = sorted(values)
    numbers = np.array([values[word] for word in words], dtype=np.int64)
    lengths = np.array([len(word) for word in words], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]) if len(words) else np.zeros(0, dtype=np.int64)
    text = np.frombuffer(b"".join(words), dtype=np.uint8)
    levels = []
    # `alive` are the words longer than `depth`, in order; `node` is the index of each one's prefix in the level above
    alive, node = np.arange(len(words)), np.zeros(len(words), dtype=np.int64)
    depth = 0
    while len(alive):
        byte = text[starts[alive] + depth].astype(np.int64)
        new = np.ones(len(alive), dtype=np.bool_)
        new[1:] = (node[1:] != node[:-1]) | (byte[1:] != byte[:-1])
        here = np.cumsum(new) - 1
        value = np.full(int(here[-1]) + 1, -1, dtype=np.int64)
        ends = lengths[alive] == depth + 1
        value[here[ends]] = numbers[alive[ends]]
        levels.append(_Level(node[new], byte[new], value))
        alive, node = alive[~ends], here[~ends]
        depth += 1
    return levels


def _place(owner: npt.NDArray[np.int64], label: npt.NDArray[np.int64], nodes: int) -> npt.NDArray[np.int64]:
    """An offset for each node, all different, such that `offset[owner] + label` are all different too.

    Nodes with several labels take the first offset where they fit; then those with one take a free unit each.
    """
    offset = np.zeros(nodes, dtype=np.int64)
    owners, first, size = np.unique(owner, return_index=True, return_counts=True)
    free = np.ones(2 * len(owner) + 4 * _WINDOW, dtype=np.bool_)
    unused = np.ones(len(free), dtype=np.bool_)
    begin = 0
    several = np.flatnonzero(size > 1)
    for k in several.tolist():
        labels = label[first[k] : first[k] + size[k]].tolist()
        at = begin
        while True:
            if at + VALUE_LABEL + _WINDOW > len(free):
                free, unused = (np.concatenate([a, np.ones(len(a), dtype=np.bool_)]) for a in (free, unused))
            fits = unused[at : at + _WINDOW].copy()
            for c in labels:
                fits &= free[at + c : at + c + _WINDOW]
            step = int(fits.argmax())
            if fits[step]:
                break
            at += _WINDOW
        at += step
        # Little is free far behind the last places: leave that to nodes with one label.
        begin = max(begin, at - _WINDOW)
        offset[owners[k]] = at
        unused[at] = False
        free[[at + c for c in labels]] = False
    one = np.flatnonzero(size == 1)
    holes = np.flatnonzero(free[VALUE_LABEL:]) + VALUE_LABEL  # so that no offset is negative
    offset[owners[one]] = _match_holes(label[first[one]], holes, unused)
    return offset


def _match_holes(
    label: npt.NDArray[np.int64], holes: npt.NDArray[np.int64], unused: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """A hole for each label such that `hole - label` are all different and unused, nearly in order."""
    offset = np.full(len(label), -1, dtype=np.int64)
    waiting = np.arange(len(label))
    while len(waiting):
        if len(waiting) > len(holes):  # past the last unit all is free
            last = int(holes[-1]) if len(holes) else VALUE_LABEL
            last = max(last, len(unused) - VALUE_LABEL)
            unused = np.concatenate([unused, np.ones(2 * len(waiting) + VALUE_LABEL, dtype=np.bool_)])
            holes = np.concatenate([holes, np.arange(last + 1, len(unused) - VALUE_LABEL)])
        offered = holes[: len(waiting)]
        tried = offered - label[waiting]
        wins = unused[tried]
        # of equal offsets the first wins; the losers' holes are offered to others, each to the one before
        _, firsts = np.unique(tried, return_index=True)
        first = np.zeros(len(waiting), dtype=np.bool_)
        first[firsts] = True
        wins &= first
        offset[waiting[wins]] = tried[wins]
        unused[tried[wins]] = False
        lost = offered[~wins]
        waiting = waiting[~wins]
        fresh = holes[len(offered) :]
        if wins.mean() < 0.5:  # these holes and these labels do not go together: take new ones
            lost = lost[:0]
        holes = np.concatenate([lost[1:], fresh]) if len(lost) else fresh
    return offset
