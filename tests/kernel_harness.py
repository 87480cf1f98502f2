"""Compile C text against the templates for the kernel tests: as a shared library, or as a sanitized program.

Loaded with `runpy.run_path`, since test modules cannot import each other (`--import-mode=importlib`).
"""

from __future__ import annotations

import ctypes
import hashlib
import platform
import subprocess
import tempfile
from importlib import resources
from pathlib import Path

import numpy as np
from gigatok_compile.ir.plan import TableSet

WARNINGS = ["-std=gnu11", "-Wall", "-Wextra", "-Werror"]
LEVELS = ["-DGT_VECTOR_LEVEL=test_level"]
PRELUDE = "extern int test_level; int test_level = 0;\n"
_cache = tempfile.TemporaryDirectory(prefix="gigatok-kernels-")


def vector_levels() -> list[int]:
    """GT_VECTOR_LEVEL values this CPU can run."""
    if platform.machine() in ("aarch64", "arm64"):
        return [0, 1]
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    return [0] + [2] * (" avx2" in flags) + [3] * (" avx512bw" in flags)


def table_source(tables: TableSet) -> str:
    """C definitions of every table and constant of `tables`."""
    lines = ["#include <stdint.h>"]
    for table in tables.tables:
        values = table.data if table.data.size else np.zeros(1, table.data.dtype)
        text = ",".join(str(v) + ("ULL" if table.data.dtype == np.uint64 else "") for v in values.tolist())
        lines.append(
            f"static const {table.c_type} gt_{table.name}[{values.size}] "
            f"__attribute__((unused, aligned({table.align}))) = {{{text}}};"
        )
    lines += [f"#define GT_{name.upper()} {value}" for name, value in tables.constants.items()]
    return "\n".join(lines) + "\n"


def _compile(source: str, flags: list[str], suffix: str) -> Path:
    key = hashlib.sha256("\0".join([source, *flags]).encode()).hexdigest()[:16]
    output = Path(_cache.name) / f"{key}{suffix}"
    if not output.exists():
        text = output.with_suffix(".c")
        text.write_text(PRELUDE + source)
        with resources.as_file(resources.files("gigatok_compile.templates")) as templates:
            command = ["gcc", *WARNINGS, *LEVELS, *flags, f"-I{templates}", str(text), "-o", str(output)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return output


def build(source: str) -> ctypes.CDLL:
    """A shared library of `source`; its global `test_level` chooses the vector unit."""
    return ctypes.CDLL(str(_compile(source, ["-O2", "-fPIC", "-shared"], ".so")))


def set_level(library: ctypes.CDLL, level: int) -> None:
    ctypes.c_int.in_dll(library, "test_level").value = level


def run_sanitized(source: str, records: list[bytes], level: int) -> list[bytes]:
    """Run `source` on every record under AddressSanitizer and UndefinedBehaviorSanitizer.

    `source` defines `static size_t handle(const uint8_t *p, size_t n, uint8_t **out)`, which leaves a malloc'ed answer
    in *out and returns its length. Each record lies in a block of just its size, so that a read past it is caught.
    """
    program = _compile(
        source + _SANITIZED_MAIN, ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"], ".exe"
    )
    data = b"".join(len(r).to_bytes(4, "little") + r for r in records)
    done = subprocess.run([str(program), str(level)], input=data, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-4000:]
    answers, at = [], 0
    while at < len(done.stdout):
        length = int.from_bytes(done.stdout[at : at + 4], "little")
        answers.append(done.stdout[at + 4 : at + 4 + length])
        at += 4 + length
    assert len(answers) == len(records)
    return answers


_SANITIZED_MAIN = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
  uint32_t n;
  test_level = argc > 1 ? atoi(argv[1]) : 0;
  while (fread(&n, 4, 1, stdin) == 1) {
    uint8_t *p = malloc(n ? n : 1), *out = NULL;
    uint8_t *exact = n ? p : p + 1; /* an empty record has no readable byte at all */
    if (!p || (n && fread(p, 1, n, stdin) != n)) return 2;
    uint32_t m = (uint32_t)handle(exact, n, &out);
    fwrite(&m, 4, 1, stdout);
    fwrite(out, 1, m, stdout);
    free(out);
    free(p);
  }
  return 0;
}
"""
