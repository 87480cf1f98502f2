"""build_hot_table: the first contents of every thread's hot table, so that no thread starts cold.

The hot table (templates/thread.h) is direct-mapped by the word's bytes, padded with 0xFF to 8. Ids of a BPE vocabulary sort
by frequency, so where two entries want one slot the lower id has it. No profile is needed.

    slot    key, 8 bytes | id, bits 0-23; 1 << 31: right for a whole pre-token only; 1 << 56: one id
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from gigatok_compile.ir.plan import Table, TableSet

HOT_BITS = 15  # 512 KiB of 16-byte slots: fits the second-level cache of current CPUs beside the text
HOT_WORD_BYTES = 8
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
EMPTY_KEY = np.uint64(0xFFFFFFFFFFFFFFFE)  # GT_EMPTY_KEY
ONE_ID = 1 << 56
WHOLE_ONLY = 1 << 31


def build_hot_table(words: Mapping[bytes, int], whole_only: frozenset[int]) -> TableSet:
    """Table `hot_first`, (2 << 15,) uint64: key and value in turn; constant GT_HOT_BITS.

    Args:
        words: what whole pre-tokens encode to one id, and that id (below 2**24). Words of over 8 bytes are left out.
        whole_only: ids that merging does not make of their bytes.
    """
    ordered = sorted(((number, word) for word, number in words.items() if len(word) <= HOT_WORD_BYTES), reverse=True)
    keys = np.array(
        [int.from_bytes(word.ljust(HOT_WORD_BYTES, b"\xff"), "little") for _, word in ordered], dtype=np.uint64
    )
    values = np.array(
        [number | ONE_ID | (WHOLE_ONLY if number in whole_only else 0) for number, _ in ordered], dtype=np.uint64
    )
    table = np.zeros((1 << HOT_BITS, 2), dtype=np.uint64)
    table[:, 0] = EMPTY_KEY
    slots = (keys * MULTIPLIER) >> np.uint64(64 - HOT_BITS)
    for slot, key, value in zip(
        slots.tolist(), keys.tolist(), values.tolist(), strict=True
    ):  # the lowest id comes last
        table[slot] = key, value
    return TableSet(
        (Table("hot_first", table.reshape(-1), "what a thread's hot table starts with: key and value in turn"),),
        {"hot_bits": HOT_BITS},
    )
