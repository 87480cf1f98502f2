"""A chain of normalizers in C, by itself, as a Python function. Loaded with `runpy.run_path`, like kernel_harness.py."""

from __future__ import annotations

import ctypes
import json
import runpy
from pathlib import Path
from typing import Any

from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.normalizer import read_normalizer
from gigatok_compile.emit.normalizer import compile_normalizer
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer.passes import plan_passes

kernels = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
LEVELS: list[int] = kernels["vector_levels"]()

FUNCTIONS = r"""
extern int normalize(const uint8_t *p, size_t n);
extern const void *result(void);
extern size_t result_length(void);
static gt_scratch first, second;
static const uint8_t *begin, *end;
int normalize(const uint8_t *p, size_t n) {
  begin = p;
  end = p + n;
  return gt_normalize(&first, &second, &begin, &end);
}
const void *result(void) { return begin; }
size_t result_length(void) { return (size_t)(end - begin); }
"""
HANDLE = r"""
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  gt_scratch one = {NULL, 0}, two = {NULL, 0};
  const uint8_t *from = p, *to = p + n;
  const int where = gt_normalize(&one, &two, &from, &to);
  if (where == GT_TEXT_NO_MEMORY) abort();
  const size_t length = (size_t)(to - from);
  if (where == GT_TEXT_SAME && (from != p || length != n)) abort();
  if (where == GT_TEXT_PART && length && (from < p || to > p + n)) abort();
  if (where == GT_TEXT_IN_SCRATCH && length && (from < (uint8_t *)one.memory || to > (uint8_t *)one.memory + one.capacity)) abort();
  *out = malloc(length + 1);
  if (length) memcpy(*out, from, length);
  free(one.memory);
  free(two.memory);
  return length;
}
"""


def steps_of(normalizer: Any) -> tuple[NormalizerStep, ...]:
    """The steps of a `normalizer` in its JSON form."""
    return read_normalizer(None if normalizer is None else Fields.of(json.loads(json.dumps(normalizer)), "normalizer"))


def source_of(normalizer: Any) -> str:
    """C text with all passes and their tables."""
    code = compile_normalizer(plan_passes(steps_of(normalizer)))
    text = kernels["table_source"](code.tables)
    return (
        f"#define _GNU_SOURCE\n#include <stdlib.h>\n#include <string.h>\n{text}{code.tables.files['normalizer.inc.h']}"
    )


class Chain:
    """`chain(text, level)`: what the C makes of a text. `chain.where`: 0 same, 1 a part of the text, 2 in scratch memory."""

    def __init__(self, normalizer: Any) -> None:
        self.source = source_of(normalizer)
        self.library: ctypes.CDLL = kernels["build"](self.source + FUNCTIONS)
        self.library.normalize.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.library.result.restype = ctypes.c_void_p
        self.library.result_length.restype = ctypes.c_size_t
        self.where = 0

    def __call__(self, text: str, level: int) -> str:
        data = text.encode()
        kernels["set_level"](self.library, level)
        self.where = self.library.normalize(data, len(data))
        assert 0 <= self.where <= 2
        length = self.library.result_length()
        result = ctypes.string_at(self.library.result(), length) if length else b""
        assert self.where != 0 or result == data
        return result.decode()

    def sanitized(self, records: list[bytes], level: int) -> list[bytes]:
        """The same under AddressSanitizer, each record in a block of just its size."""
        return list(kernels["run_sanitized"](self.source + HANDLE, records, level))
