"""A ClusterPass as the tables of templates/clusters.h."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.normalizer import ClusterPass
from gigatok_compile.ir.plan import Table
from gigatok_compile.normalizer.character_tables import character_tables
from gigatok_compile.normalizer.charsmap import characters_of
from gigatok_compile.unicode.graphemes import grapheme_ranges
from gigatok_runtime.graphemes import CLASSES, START, State, step

BLOCKS = 0x110000 >> 6
BEGINS = 0x80  # in a cell of the automaton: a cluster begins before the character
MOST_KEYS = 1 << 16


@dataclass(frozen=True, slots=True)
class ClusterTables:
    """tables: of the map of characters, and keys, key_texts, key_bytes, seconds, those of grapheme clusters. seconds: ranges of
    second characters of keys. found: code points at which a lookup may hit."""

    tables: tuple[Table, ...]
    slots_log2: int
    plain: int
    growth: int
    seconds: int
    found: frozenset[int]


def cluster_tables(work: ClusterPass, name: str) -> ClusterTables:
    """Raises CompileError: more texts or keys than a table holds."""
    made = character_tables(name, work.characters)
    keys, values, texts, log2 = _key_slots(work.clusters)
    seconds: set[int] = set()
    for key in work.clusters:
        first = 1 if key[0] < 0x80 else 2 if key[0] < 0xE0 else 3 if key[0] < 0xF0 else 4
        seconds.update(characters_of(key[first:]))
    ranges = _ranges(seconds)
    tables = (
        *made.tables,
        Table(f"{name}_keys", keys, "length << 56 | bytes of a key longer than a character, open addressing"),
        Table(f"{name}_key_texts", values, "place << 32 | length of its text"),
        Table(f"{name}_key_bytes", texts, "the texts"),
        Table(
            f"{name}_seconds",
            np.array(ranges, np.uint32).reshape(-1),
            "first, last of ranges of second characters of keys",
        ),
        *grapheme_tables(),
    )
    return ClusterTables(tables, log2, made.plain, made.growth, len(ranges), frozenset(seconds | set(work.characters)))


def _ranges(code_points: set[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for c in sorted(code_points):
        if runs and c == runs[-1][1] + 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return runs


def _key_slots(
    clusters: Mapping[bytes, str],
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.uint8], int]:
    if len(clusters) > MOST_KEYS:
        raise CompileError(f"the charsmap has more than {MOST_KEYS} keys of several characters")
    log2 = max(4, (2 * len(clusters)).bit_length())
    keys, values = np.zeros(1 << log2, np.uint64), np.zeros(1 << log2, np.uint64)
    texts = bytearray()
    for key, text in clusters.items():
        packed = int.from_bytes(key, "little") | len(key) << 56
        at = key_hash(packed, log2)
        while keys[at]:
            at = (at + 1) % len(keys)
        keys[at], values[at] = packed, len(texts) << 32 | len(text.encode())
        texts += text.encode()
    return keys, values, np.frombuffer(bytes(texts), np.uint8), log2


def key_hash(packed: int, log2: int) -> int:
    """Home slot of a key; gt_cluster_key computes the same."""
    return ((packed * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF) >> (64 - log2)


@lru_cache(maxsize=1)
def grapheme_tables() -> tuple[Table, ...]:
    """The automaton of grapheme clusters. Its states are (class of the last character, sequence); see runtime/graphemes.py."""
    classes = np.zeros(0x110000, np.uint8)
    for low, high, number in grapheme_ranges().tolist():
        classes[low : high + 1] = number
    rows, which = np.unique(classes.reshape(BLOCKS, 64), axis=0, return_inverse=True)
    states: list[State] = [START]
    moves: list[int] = []
    for state in states:  # grows while we walk it
        for now in CLASSES:
            begins, target = step(state, now)
            if target not in states:
                states.append(target)
            moves.append(states.index(target) | BEGINS * begins)
    assert len(states) < BEGINS
    sure = [all(step(state, now)[0] for state in states if state[0] == last) for last in CLASSES for now in CLASSES]
    return (
        Table(
            "grapheme_blocks", which.reshape(-1).astype(np.uint16), "row of grapheme_classes of every 64 code points"
        ),
        Table("grapheme_classes", rows.reshape(-1), "class of each code point in grapheme clusters"),
        Table(
            "grapheme_moves", np.array(moves, np.uint8), "state after, 128: a cluster begins; by state before and class"
        ),
        Table(
            "grapheme_sure", np.array(sure, np.uint8), "1: a cluster begins between these classes, whatever was before"
        ),
    )
