"""The C tables and merging of a vocabulary, as Python functions. Loaded with `runpy.run_path`, like kernel_harness.py."""

from __future__ import annotations

import ctypes
import runpy
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gigatok_compile.ir.plan import TableSet

kernels = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
NONE = 0xFFFFFFFF
_files = tempfile.TemporaryDirectory(prefix="gigatok-tables-")

HEADERS = """
#include "common.h"
#include "scratch.h"
#include "vocabulary.h"
#include "merge.h"
"""

FUNCTIONS = r"""
static gt_scratch scratch;
enum { ONE, LONG, CUT, NEXT_CUT };

static size_t merge_parts(const uint8_t *p, size_t n, uint32_t *out, int next) {
  const uint8_t *const end = p + n, *from = p;
  size_t count = 0;
  for (const uint8_t *q = p; q < end; from = q) {
    if (next) q = gt_next_cut(q, end);
    else do q += gt_sequence_length(*q); while (q < end && !gt_safe_cut(q, p, end));
    count += gt_merge(from, (size_t)(q - from), out + count, &scratch);
  }
  return count;
}

/* ids of word i go to ids + starts[i] */
void merge_words(int how, const uint8_t *text, const int64_t *starts, int64_t n, uint32_t *ids, int64_t *counts) {
  for (int64_t i = 0; i < n; i++) {
    const uint8_t *p = text + starts[i];
    const size_t length = (size_t)(starts[i + 1] - starts[i]);
    uint32_t *out = ids + starts[i];
    counts[i] = (int64_t)(how == ONE ? gt_merge(p, length, out, &scratch)
                          : how == LONG ? gt_merge_long(p, length, out, &scratch)
                                        : merge_parts(p, length, out, how == NEXT_CUT));
  }
}

void merge_many(const uint8_t *text, const int64_t *starts, int64_t n, uint32_t *ids, int64_t *counts) {
  gt_piece *pieces = malloc((size_t)n * sizeof *pieces);
  for (int64_t i = 0; i < n; i++) pieces[i] = (gt_piece){text + starts[i], ids + starts[i], (uint32_t)(starts[i + 1] - starts[i]), 0};
  if (!gt_merge_many(pieces, (size_t)n, &scratch)) abort();
  for (int64_t i = 0; i < n; i++) counts[i] = pieces[i].count;
  free(pieces);
}

/* 1 at the byte offsets of safe cuts */
void safe_cuts(const uint8_t *p, int64_t n, uint8_t *cuts) {
  for (int64_t i = 1; i < n; i++) cuts[i] = (p[i] & 0xC0) != 0x80 && gt_safe_cut(p + i, p, p + n);
}

uint32_t word16(uint64_t lo, uint64_t hi) { gt_word16_prefetch(lo, hi); return gt_word16(lo, hi); }
uint64_t hash16(uint64_t lo, uint64_t hi) { return gt_hash16(lo, hi); }
uint64_t hash_bytes(const uint8_t *p, int64_t n) { return gt_hash_bytes(p, (size_t)n); }
int may_be_entry(const uint8_t *p, int64_t n) { return gt_may_be_entry(gt_hash_bytes(p, (size_t)n)); }
uint32_t trie_exact(const uint8_t *p, int64_t n) { return gt_trie_exact(p, (size_t)n); }
uint32_t trie_entry(const uint8_t *p, int64_t n) { return gt_trie_entry(p, (size_t)n); }
int64_t trie_longest(const uint8_t *p, int64_t n, uint32_t *id) { return (int64_t)gt_trie_longest(p, (size_t)n, id); }
"""

SANITIZED = r"""
static gt_scratch scratch;
static size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  uint32_t *ids = malloc((2 * n + 2) * sizeof *ids); /* the words' own arrays are exactly n ids */
  uint32_t *exact = malloc(n * sizeof *ids), *again = malloc(n * sizeof *ids);
  *out = (uint8_t *)ids;
  if (!n) return free(exact), free(again), 0;
  const size_t count = gt_merge(p, n, exact, &scratch);
  gt_piece piece = {p, again, (uint32_t)n, 0};
  if (!gt_merge_many(&piece, 1, &scratch) || piece.count != count || memcmp(exact, again, 4 * count)) abort();
  if (gt_merge_long(p, n, again, &scratch) != count || memcmp(exact, again, 4 * count)) abort();
  for (const uint8_t *q = p; q < p + n;) {
    const uint8_t *next = gt_next_cut(q, p + n);
    if (next < p + n && !gt_safe_cut(next, p, p + n)) abort();
    q = next;
  }
  uint32_t id = GT_NONE;
  const size_t longest = gt_trie_longest(p, n, &id);
  if (longest > n || (longest == n && gt_trie_entry(p, n) != id)) abort();
  memcpy(ids, exact, 4 * count);
  free(exact), free(again);
  return 4 * count;
}
"""


def incbin_source(tables: TableSet, constants: dict[str, int]) -> str:
    """Definitions of the tables, whose data lies in files, and of the constants."""
    lines = ["#include <stdint.h>"]
    folder = Path(tempfile.mkdtemp(dir=_files.name))
    for table in tables.tables:
        file = folder / table.name
        data = table.data if table.data.size else np.zeros(1, table.data.dtype)
        file.write_bytes(data.tobytes())
        lines.append(
            f'__asm__(".pushsection .rodata\\n.balign 64\\n.local gt_{table.name}\\ngt_{table.name}:\\n'
            f'.incbin \\"{file}\\"\\n.popsection\\n");'
        )
        lines.append(f'extern __attribute__((visibility("hidden"))) const {table.c_type} gt_{table.name}[{data.size}];')
    lines += [f"#define GT_{name.upper()} {value}" for name, value in {**tables.constants, **constants}.items()]
    return "\n".join(lines) + "\n"


class Vocabulary:
    """The C side of one vocabulary. `flags` go to the compiler."""

    def __init__(self, tables: TableSet, *, ignore_merges: bool, flags: Sequence[str] = ()) -> None:
        self._source = incbin_source(tables, {"ignore_merges": int(ignore_merges)}) + HEADERS
        path = kernels["_compile"](self._source + FUNCTIONS, ["-O2", "-fPIC", "-shared", *flags], ".so")
        self.lib = ctypes.CDLL(str(path))
        pointer, i64, u64 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_uint64
        self.lib.merge_words.argtypes = [ctypes.c_int, pointer, pointer, i64, pointer, pointer]
        self.lib.merge_many.argtypes = [pointer, pointer, i64, pointer, pointer]
        self.lib.safe_cuts.argtypes = [pointer, i64, pointer]
        for name, arguments, result in (
            ("word16", [u64, u64], ctypes.c_uint32),
            ("hash16", [u64, u64], u64),
            ("hash_bytes", [ctypes.c_char_p, i64], u64),
            ("may_be_entry", [ctypes.c_char_p, i64], ctypes.c_int),
            ("trie_exact", [ctypes.c_char_p, i64], ctypes.c_uint32),
            ("trie_entry", [ctypes.c_char_p, i64], ctypes.c_uint32),
            ("trie_longest", [ctypes.c_char_p, i64, ctypes.POINTER(ctypes.c_uint32)], i64),
        ):
            function = getattr(self.lib, name)
            function.argtypes, function.restype = arguments, result

    def merge(self, words: Sequence[bytes], how: str = "one") -> list[list[int]]:
        """Ids of each word. how: "one" gt_merge, "long" gt_merge_long, "many" gt_merge_many, "cut" and "next_cut" gt_merge of
        the parts between safe cuts."""
        text = np.frombuffer(b"".join(words), dtype=np.uint8)
        starts = np.cumsum([0, *map(len, words)]).astype(np.int64)
        ids, counts = np.full(len(text) + 1, 0xEEEEEEEE, np.uint32), np.zeros(len(words), np.int64)
        arrays = [a.ctypes.data for a in (text, starts)], [a.ctypes.data for a in (ids, counts)]
        if how == "many":
            self.lib.merge_many(*arrays[0], len(words), *arrays[1])
        else:
            self.lib.merge_words(["one", "long", "cut", "next_cut"].index(how), *arrays[0], len(words), *arrays[1])
        assert ids[-1] == 0xEEEEEEEE
        flat, counted = ids.tolist(), counts.tolist()
        return [flat[at : at + count] for at, count in zip(starts.tolist(), counted, strict=False)]

    def cuts(self, text: bytes) -> list[int]:
        """Byte offsets of the safe cuts of a text."""
        found = np.zeros(len(text) + 1, dtype=np.uint8)
        data = np.frombuffer(text, dtype=np.uint8)
        self.lib.safe_cuts(data.ctypes.data, len(text), found.ctypes.data)
        return np.flatnonzero(found).tolist()

    def word(self, word: bytes) -> int | None:
        padded = word.ljust(16, b"\xff")
        number = self.lib.word16(int.from_bytes(padded[:8], "little"), int.from_bytes(padded[8:], "little"))
        return None if number == NONE else number

    def entry(self, word: bytes) -> int | None:
        number = self.lib.trie_entry(word, len(word))
        return None if number == NONE else number

    def exact(self, word: bytes) -> int | None:
        number = self.lib.trie_exact(word, len(word))
        return None if number == NONE else number

    def longest(self, text: bytes) -> tuple[int, int] | None:
        number = ctypes.c_uint32()
        length = self.lib.trie_longest(text, len(text), ctypes.byref(number))
        return (length, number.value) if length else None

    def merge_sanitized(self, words: Sequence[bytes]) -> list[list[int]]:
        answers = kernels["run_sanitized"](self._source + SANITIZED, list(words), 0)
        return [np.frombuffer(answer, dtype=np.uint32).tolist() for answer in answers]
