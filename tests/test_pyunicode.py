"""Between UTF-8 and the units of a str: templates/pyutf8.h and pyunicode.h, every instruction set, in C and without Python.

Oracle: Python's codecs. Texts lie right before a page that cannot be read, but for the slack that the functions may read; what is
written has exactly the room that is asked for, before such a page too.
"""

from __future__ import annotations

import random
import struct
import subprocess
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from gigatok_compile.build import find_compiler
from gigatok_compile.emit.utf8_tables import utf8_tables

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)

HEADERS = ("pyfours.h", "pyutf8.h", "pyunicode.h")
FLAGS = ("-O2", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
DRIVER = r"""
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
typedef uint8_t Py_UCS1;
typedef uint16_t Py_UCS2;
typedef uint32_t Py_UCS4;
static const char *isa;
static const char *gt_isa(void) { return isa; }
#include "fours.h"
#include "pyunicode.h"

enum { ROOM = 1 << 20, PAGE = 1 << 16 };
static uint8_t *before_a_wall(void) { /* the end of ROOM bytes, after which nothing can be touched */
  uint8_t *const p = mmap(NULL, ROOM + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED || mprotect(p, ROOM, PROT_READ | PROT_WRITE)) exit(2);
  return p + ROOM;
}

/* Records: width, characters, bytes of UTF-8 (0 if there is a surrogate); the characters; the bytes. */
int main(int argc, char **argv) {
  uint8_t *const text_end = before_a_wall(), *const units_end = before_a_wall(), *const out_end = before_a_wall();
  static uint8_t units[ROOM], text[ROOM];
  int checked = 0;
  for (int k = 2; k < argc; k++) {
    isa = argv[k];
#if defined(__x86_64__)
    if (!strcmp(isa, "avx512") && !__builtin_cpu_supports("avx512vbmi2")) continue;
    if (!strcmp(isa, "avx2") && !__builtin_cpu_supports("avx2")) continue;
#endif
    FILE *const file = fopen(argv[1], "rb");
    uint32_t head[3];
    while (fread(head, 4, 3, file) == 3) {
      const uint32_t width = head[0], n = head[1], bytes = head[2];
      if (fread(units, width, n, file) != n || fread(text, 1, bytes, file) != bytes) return 2;
      /* to UTF-8: units at the wall, room as the caller gives it */
      const size_t most = (size_t)n * (width == 1 ? 2 : width == 2 ? 3 : 4) + PYGT_SLACK;
      uint8_t *const s = units_end - (size_t)n * width, *const out = out_end - most;
      memcpy(s, units, (size_t)n * width);
      const uint8_t *const end = pygt_utf8(s, (int)width, n, out);
      if ((end == NULL) != (bytes == 0 && n > 0)) return printf("%s: surrogates, width %u, %u characters\n", isa, width, n), 1;
      if (!end) continue;
      if ((size_t)(end - out) != bytes || memcmp(out, text, bytes)) return printf("%s: to UTF-8, width %u, %u characters\n", isa, width, n), 1;
      /* and back: what can be read after the text is noise, of both kinds */
      for (int noise = 0; noise < 2; noise++) {
        uint8_t *const p = text_end - PYGT_PIECE_SLACK - bytes;
        memset(text_end - PYGT_PIECE_SLACK, noise ? 0xBF : 0xE5, PYGT_PIECE_SLACK);
        memcpy(p, text, bytes);
        const size_t room = n + (size_t)(noise * 7);
        uint8_t *const to = units_end - room * width;
        memset(to, 0, room * width);
        const size_t made = pygt_widen(p, bytes, (int)width, to, room);
        if (made != n || memcmp(to, units, (size_t)n * width)) return printf("%s: from UTF-8, width %u, %u characters\n", isa, width, n), 1;
        if (n && pygt_widen(p, bytes, (int)width, units_end - (size_t)(n - 1) * width, n - 1) != SIZE_MAX) return printf("%s: no room\n", isa), 1;
      }
      checked++;
    }
    fclose(file);
  }
  printf("%d\n", checked);
  return 0;
}
"""
ALPHABETS = [
    "ab c",
    "éÿ\x80",
    "aé",
    "Ā\u07ffж",
    "日本語\u0800\ud7ff\ue000\uffff",
    "a é日",
    "ж, ",
    "日本, x",
    "a😀",
    "é日😀\U0010ffff",
    "\x00\x7f\x80\u07ff\u0800\uffff\U00010000",
]


def texts() -> list[str]:
    rng = random.Random(8)
    made = [char * n for char in "aé日😀" for n in (0, 1, 3, 4, 5, 15, 16, 17, 63, 64, 65, 200)]
    for alphabet in ALPHABETS:
        made += ["".join(rng.choices(alphabet, k=rng.randrange(1, 300))) for _ in range(150)]
        # runs, so that fours of one length and of mixed lengths follow one another
        made += ["".join(rng.choice(alphabet) * rng.randrange(1, 40) for _ in range(20)) for _ in range(40)]
    return made


def record(text: str, data: bytes) -> bytes:
    most = max(map(ord, text), default=0)
    width = 1 if most < 0x100 else 2 if most < 0x10000 else 4
    codec = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
    return struct.pack("<3I", width, len(text), len(data)) + text.encode(codec, "surrogatepass") + data


def records() -> bytes:
    rng = random.Random(9)
    made = [record(text, text.encode()) for text in texts()]
    for text in texts()[::7]:
        at = rng.randrange(len(text) + 1)
        made.append(record(text[:at] + rng.choice("\ud800\udfff") + text[at:], b""))
    return b"".join(made)


def check(compiler: Sequence[str], runner: Sequence[str], isas: Sequence[str], folder: Path, tables: str) -> None:
    (folder / "driver.c").write_text(DRIVER, encoding="utf-8")
    (folder / "fours.h").write_text(tables, encoding="utf-8")
    for name in HEADERS:
        (folder / name).write_text((files("gigatok_compile.templates") / name).read_text(), encoding="utf-8")
    (folder / "records").write_bytes(records())
    command = [*compiler, *FLAGS, "driver.c", "-o", "driver"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [*runner, str(folder / "driver"), str(folder / "records"), *isas], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(done.stdout) >= len(texts())


def test_every_instruction_set_of_this_machine(tmp_path: Path, fours_as_c: str) -> None:
    check(find_compiler(), (), ("avx512", "avx2", "neon", "swar"), tmp_path, fours_as_c)


def test_aarch64(tmp_path: Path, fours_as_c: str) -> None:
    compiler, runner = modules.aarch64()
    check(compiler, runner, ("neon", "swar"), tmp_path, fours_as_c)


def test_the_tables_say_what_the_codec_says() -> None:
    """Every four lengths, both ways."""
    made: dict[str, Any] = {table.name: table.data for table in utf8_tables().tables}
    chars = {1: "a", 2: "é", 3: "日"}
    for lengths in [(a, b, c, d) for a in chars for b in chars for c in chars for d in chars]:
        data = "".join(chars[n] for n in lengths).encode()
        leads = sum(1 << i for i, byte in enumerate([*data, ord("a")]) if byte & 0xC0 != 0x80)
        row = int(made["fours_of_leads"][leads >> 1 & 0xFFF])
        apart = made["fours_apart"][16 * row : 16 * row + 16].reshape(4, 4)
        lanes = [[data[i] for i in lane if i < 16] for lane in apart.tolist()]
        assert lanes == [list(reversed(chars[n].encode())) for n in lengths]
        number = sum((n > 1) << i | (n > 2) << (4 + i) for i, n in enumerate(lengths))
        joined = made["fours_joined"][16 * number : 16 * number + 16].tolist()
        assert joined[15] == 0x80 + len(data)
        spread = b"".join(bytes(3 - n) + chars[n].encode() + b"\0" for n in lengths)
        assert bytes(spread[i] for i in joined[:12] if i < 16) == data


def test_what_is_no_four_has_no_row() -> None:
    tables = utf8_tables()
    (rows,) = [table.data for table in tables.tables if table.name == "fours_of_leads"]
    none = tables.constants["fours_none"]
    for leads in range(1 << 12):
        places = [i + 1 for i in range(12) if leads >> i & 1][:4]
        lengths = [b - a for a, b in zip([0, *places], places, strict=False)]
        fits = len(lengths) == 4 and max(lengths) <= 3
        assert (rows[leads] != none) == fits, bin(leads)
