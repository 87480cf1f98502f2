"""The C side of a Unigram model, as Python functions. Loaded with `runpy.run_path`, like kernel_harness.py."""

from __future__ import annotations

import ctypes
import runpy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.vocabulary.unigram_tables import build_unigram_tables

kernels = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
vocabulary = runpy.run_path(str(Path(__file__).with_name("vocabulary_harness.py")))

HEADERS = """
#include "common.h"
#define GT_NONE 0xFFFFFFFFu
#define GT_UNIGRAM_ALONE 1
#include "unigram.h"
"""

FUNCTIONS = r"""
/* ids of piece i go to ids + starts[i] */
void encode(const uint8_t *text, const int64_t *starts, int64_t n, uint32_t *ids, int64_t *counts) {
  for (int64_t i = 0; i < n; i++)
    counts[i] = (int64_t)gt_unigram(text + starts[i], (size_t)(starts[i + 1] - starts[i]), ids + starts[i]);
}
"""

SANITIZED = r"""
static size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  uint32_t *ids = malloc(n * sizeof *ids); /* exactly n */
  *out = (uint8_t *)ids;
  const size_t count = gt_unigram(p, n, ids);
  return count == GT_UNIGRAM_NO_UNK ? 0 : 4 * count;
}
"""


class Unigram:
    """The C side of one model."""

    def __init__(self, model: UnigramModel) -> None:
        tables, self.facts = build_unigram_tables(model)
        self._source = vocabulary["incbin_source"](tables, {}) + HEADERS
        self.lib = ctypes.CDLL(str(kernels["_compile"](self._source + FUNCTIONS, ["-O2", "-fPIC", "-shared"], ".so")))
        pointer = ctypes.c_void_p
        self.lib.encode.argtypes = [pointer, pointer, ctypes.c_int64, pointer, pointer]

    def encode(self, pieces: Sequence[bytes]) -> list[list[int] | None]:
        """Ids of each piece; None where there is no unknown id and one is needed."""
        text = np.frombuffer(b"".join(pieces), np.uint8)
        starts = np.cumsum([0, *map(len, pieces)]).astype(np.int64)
        ids, counts = np.full(len(text) + 1, 0xEEEEEEEE, np.uint32), np.zeros(len(pieces), np.int64)
        self.lib.encode(text.ctypes.data, starts.ctypes.data, len(pieces), ids.ctypes.data, counts.ctypes.data)
        assert ids[-1] == 0xEEEEEEEE
        flat = ids.tolist()
        return [
            None if count < 0 else flat[at : at + count]
            for at, count in zip(starts.tolist(), counts.tolist(), strict=False)
        ]

    def encode_sanitized(self, pieces: Sequence[bytes]) -> list[list[int]]:
        answers = kernels["run_sanitized"](self._source + SANITIZED, list(pieces), 0)
        return [np.frombuffer(answer, np.uint32).tolist() for answer in answers]
