"""build_first_words: the first contents of every thread's table of words, entries of 9 to 16 bytes.

Shorter entries are in the hot table from the start (hot_table.py). Of the longer ones the best-ranked go in, as many as
leave the table (templates/thread.h) at most three eighths full, placed as gt_place_word does it: in the word's line of two
slots, else where its group of four lines has room.

    slot    key, 16 bytes | id, bits 0-23; 1 << 31: right for a whole pre-token only; 1 << 56: one id | 0
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.hot_table import HOT_WORD_BYTES, ONE_ID, WHOLE_ONLY
from gigatok_compile.vocabulary.word_table import WORD_BYTES, hash16, word_keys

WORD_BITS = 14  # 512 KiB of 32-byte slots
LINE, GROUP = 2, 8
MOST = (1 << WORD_BITS) * 3 // 8


def build_first_words(words: Mapping[bytes, int], whole_only: frozenset[int]) -> TableSet:
    """Table `words_first`, (4 << 14,) uint64, and constants GT_WORD_BITS_FIRST and GT_WORDS_FIRST_COUNT.

    Args:
        words: what whole pre-tokens encode to one id, and that id (below 2**24).
        whole_only: ids that merging does not make of their bytes.
    """
    ordered = sorted((number, word) for word, number in words.items() if HOT_WORD_BYTES < len(word) <= WORD_BYTES)[
        :MOST
    ]
    table = np.zeros((1 << WORD_BITS, 4), dtype=np.uint64)
    count = 0
    if ordered:
        low, high = word_keys([word for _, word in ordered])
        lines = (hash16(low, high) >> np.uint64(64 - WORD_BITS)) & ~np.uint64(LINE - 1)
        used = np.zeros(1 << WORD_BITS, dtype=bool)
        for (number, _), line, lo, hi in zip(ordered, lines.tolist(), low.tolist(), high.tolist(), strict=True):
            group = line - line % GROUP
            places = (line, line + 1, *range(group, group + GROUP))
            place = next((slot for slot in places if not used[slot]), None)
            if place is None:  # the better-ranked have filled the group
                continue
            used[place] = True
            table[place] = lo, hi, number | ONE_ID | (WHOLE_ONLY if number in whole_only else 0), 0
            count += 1
    return TableSet(
        (Table("words_first", table.reshape(-1), "what a thread's table of words starts with: key, value"),),
        {"word_bits_first": WORD_BITS, "words_first_count": count},
    )
