"""build_word_table: entries of at most 16 bytes that are their own encoding, by their bytes.

Problem: most pre-tokens are an entry; say so, and which, in one cache line, verified, without a warm-up.

Idea: buckets of 64 bytes, a cache line each, with three 16-byte keys and their ids. The key is the word padded to 16 bytes
with 0xFF, a byte that no UTF-8 text has. Entries go in by id, so the common ones are in their home bucket and what a full
bucket turns away to the next are the rarer ones. A bucket remembers whom it turned away in 32 bits, one of them by the
word's hash: a word that is not there is looked for in the next bucket only if its bit is set.

    u64   0     1     2     3     4     5     6              7
        +-----+-----+-----+-----+-----+-----+------+-------+------+---------+
        | lo0 | lo1 | lo2 | hi0 | hi1 | hi2 | id0  | id1   | id2  | turned  |
        |     |     |     |     |     |     |      |       |      | away    |
        +-----+-----+-----+-----+-----+-----+------+-------+------+---------+

The hash is the same on every CPU (templates/vocabulary.h: gt_hash16) and is written here a second time, in numpy.

Most words that are asked for are no entries, and a table of megabytes is in no near cache. So there is a bit for each word by the
top bits of its hash, 8 to 16 bits an entry, which is looked at first.

Longer entries are found by walking the trie, which few longer words need: of clauses of Chinese or Japanese, which are no
entries, a walk costs a dozen cache misses to learn that. So there is a bit for each, by the hash that the caches use for words
of that length (gt_hash_bytes), with 16 to 32 bits an entry.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.plan import Table, TableSet

WORD_BYTES = 16
NONE = 0xFFFFFFFF
_PER_BUCKET = 3
_LOAD = 0.7
HASH_LOW = 0x9E3779B97F4A7C15
HASH_HIGH = 0xC2B2AE3D27D4EB4F


@dataclass(frozen=True, slots=True)
class WordTable:
    """buckets: (n, 8) uint64 as drawn above. count: words in it. away: how many are not in their home bucket. shorter, longer: (2**k,)
    bool, by the top bits of gt_hash16 and gt_hash_bytes, whether there may be a word with this hash, and a longer one."""

    buckets: npt.NDArray[np.uint64]
    shorter: npt.NDArray[np.bool_]
    longer: npt.NDArray[np.bool_]
    home: int  # buckets a hash can point to; a few more follow
    count: int
    away: int

    @property
    def tables(self) -> TableSet:
        return TableSet(
            (
                Table(
                    "word_buckets",
                    self.buckets.reshape(-1),
                    "buckets: three low and three high keys, three ids, turned away",
                ),
                Table(
                    "short_words",
                    np.packbits(self.shorter, bitorder="little"),
                    "a bit by a word's hash: it may be in a bucket",
                ),
                Table(
                    "long_words",
                    np.packbits(self.longer, bitorder="little"),
                    "a bit by a longer word's hash: it may be an entry",
                ),
            ),
            {
                "word_bucket_count": self.home,
                "short_word_bits": len(self.shorter).bit_length() - 1,
                "long_word_bits": len(self.longer).bit_length() - 1,
            },
        )


def build_word_table(words: dict[bytes, int], longer: Collection[bytes] = ()) -> WordTable:
    """A table of the words (1 to 16 bytes, none with a byte 0xFF), hottest first; word -> id. `longer`: those of more bytes."""
    home = max(1, int(len(words) / (_PER_BUCKET * _LOAD)))
    low, high = word_keys(list(words))
    hashes = hash16(low, high)
    homes = (hashes >> np.uint64(32)) * np.uint64(home) >> np.uint64(32)
    keys: list[list[tuple[int, int, int]]] = [[] for _ in range(home)]
    turned_away = [0] * home
    away = 0
    rows = zip(
        low.tolist(), high.tolist(), words.values(), homes.tolist(), (hashes & np.uint64(31)).tolist(), strict=True
    )
    for lo, hi, number, at, bit in rows:
        away += len(keys[at]) == _PER_BUCKET
        while len(keys[at]) == _PER_BUCKET:
            turned_away[at] |= 1 << bit
            at += 1
            if at == len(keys):
                keys.append([])
                turned_away.append(0)
        keys[at].append((lo, hi, number))
    table = np.full((len(keys), 8), 2**64 - 1, dtype=np.uint64)
    ids = np.full((len(keys), 4), NONE, dtype=np.uint64)
    ids[:, 3] = turned_away
    bucket = np.repeat(np.arange(len(keys)), [len(k) for k in keys])
    place = np.concatenate([np.arange(len(k)) for k in keys])
    flat = np.array([entry for k in keys for entry in k], dtype=np.uint64).reshape(-1, 3)
    table[bucket, place], table[bucket, 3 + place], ids[bucket, place] = flat[:, 0], flat[:, 1], flat[:, 2]
    table[:, 6] = ids[:, 0] | ids[:, 1] << np.uint64(32)
    table[:, 7] = ids[:, 2] | ids[:, 3] << np.uint64(32)
    shorter = _filter(hashes, 8)
    longer_hashes = np.array([hash_bytes(word) for word in longer], dtype=np.uint64)
    return WordTable(table, shorter, _filter(longer_hashes, 16), home, len(words), away)


def _filter(hashes: npt.NDArray[np.uint64], sparse: int) -> npt.NDArray[np.bool_]:
    """(2**k,) bool, set at the top k bits of each hash, with at least `sparse` bits for each."""
    bits = max(6, (sparse * len(hashes) - 1).bit_length())
    found = np.zeros(1 << bits, dtype=np.bool_)
    found[hashes >> np.uint64(64 - bits)] = True
    return found


def hash_bytes(word: bytes) -> int:
    """gt_hash_bytes of templates/vocabulary.h, of more than 8 bytes."""

    def fold(value: int, at: int, multiplier: int) -> int:
        product = (value ^ int.from_bytes(word[at : at + 8], "little")) * multiplier
        return (product ^ product >> 64) & 2**64 - 1

    value = len(word) * 0xA0761D6478BD642F & 2**64 - 1
    for at in range(0, len(word) - 8, 8):
        value = fold(value, at, 0xE7037ED1A0B428DB)
    return fold(value, len(word) - 8, 0x8EBC6AF09C88C6E3) | 1


def word_keys(words: list[bytes]) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The low and high halves of the words' keys."""
    padded = b"".join(word.ljust(WORD_BYTES, b"\xff") for word in words)
    halves = np.frombuffer(padded, dtype="<u8").reshape(-1, 2)
    return halves[:, 0].astype(np.uint64), halves[:, 1].astype(np.uint64)


def hash16(low: npt.NDArray[np.uint64], high: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """gt_hash16 of templates/vocabulary.h."""
    mixed: npt.NDArray[np.uint64] = low * np.uint64(HASH_LOW) + high * np.uint64(HASH_HIGH)
    folded: npt.NDArray[np.uint64] = mixed ^ mixed >> np.uint64(32)
    return folded
