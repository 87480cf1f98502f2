"""templates/utf8.h against Python's own decoder: the same verdict, the same offset, on every vector unit."""

from __future__ import annotations

import ctypes
import itertools
import random
import runpy
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))

SOURCE = r"""
#include "utf8.h"
#include <stdlib.h>
extern int64_t validate(const uint8_t *p, size_t n);
int64_t validate(const uint8_t *p, size_t n) { return gt_validate(p, n); }
"""
HANDLE = r"""
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  int64_t at = validate(p, n);
  *out = malloc(8);
  memcpy(*out, &at, 8);
  return 8;
}
"""
LEVELS = harness["vector_levels"]()

# Bytes at which the rules of table 3-7 change.
EDGES = bytes([0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1])
EDGES += bytes([0xEC, 0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF])


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    built: ctypes.CDLL = harness["build"](SOURCE)
    built.validate.restype = ctypes.c_int64
    built.validate.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return built


def first_bad(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return -1


def check(library: ctypes.CDLL, data: bytes) -> None:
    expected = first_bad(data)
    for level in LEVELS:
        harness["set_level"](library, level)
        assert library.validate(data, len(data)) == expected, (level, data)


def test_all_strings_of_up_to_three_edge_bytes(library: ctypes.CDLL) -> None:
    for length in range(4):
        for word in itertools.product(EDGES, repeat=length):
            check(library, bytes(word))


def test_four_edge_bytes_at_every_offset_of_a_block(library: ctypes.CDLL) -> None:
    """Every pair of leads and continuations, moved over the edges of 32- and 64-byte blocks."""
    words = [bytes(w) for w in itertools.product(EDGES[2:], repeat=2)]
    words += [bytes([0xF0, b, c, d]) for b, c, d in itertools.product([0x8F, 0x90, 0xBF], [0x80, 0xC0], [0x80, 0x41])]
    words += [bytes([0xF4, b, 0x80, 0x80]) for b in (0x80, 0x8F, 0x90)] + ["\U0001f600".encode(), "中".encode()]
    for word in words:
        for before in (*range(28, 34), *range(60, 66), *range(124, 130)):
            for filler in (b"a", "é".encode()):
                head = (filler * before)[:before] if filler == b"a" else (b"a" * (before % 2) + filler * (before // 2))
                check(library, head + word)
                check(library, head + word + b"tail" * 20)


def test_a_break_at_every_offset_of_long_text(library: ctypes.CDLL) -> None:
    for text in ("plain ascii " * 30, "Привет, мир " * 20, "汉字かな交じり文" * 15, "a\U0001f600" * 60):
        data = text.encode()
        check(library, data)
        for i in range(len(data)):
            check(library, data[:i])
            check(library, data[:i] + b"\xff" + data[i + 1 :])


@given(st.text(max_size=150), st.integers(0, 150), st.binary(max_size=6))
def test_text_with_bytes_thrown_in(library: ctypes.CDLL, text: str, at: int, junk: bytes) -> None:
    data = text.encode("utf-8", "surrogatepass")
    check(library, data[:at] + junk + data[at:])


@given(st.binary(max_size=200))
def test_random_bytes(library: ctypes.CDLL, data: bytes) -> None:
    check(library, data)


def test_without_x86_the_portable_way_is_all_there_is() -> None:
    built: ctypes.CDLL = harness["build"]("#define GT_X86 0\n" + SOURCE)
    built.validate.restype = ctypes.c_int64
    harness["set_level"](built, 3)
    for data in (b"a" * 200, "中".encode() * 50, b"a" * 100 + b"\xff"):
        assert built.validate(data, ctypes.c_size_t(len(data))) == first_bad(data)


def test_reads_nothing_outside_the_buffer() -> None:
    rng = random.Random(5)
    records = [b""]
    for length in (*range(1, 140), 191, 192, 193, 255, 256, 257):
        text = "".join(rng.choice("aé中\U0001f600") for _ in range(length)).encode()[:length]
        records += [b"a" * length, text, text[:-1] + b"\xf0"]
    for level in LEVELS:
        answers = harness["run_sanitized"](SOURCE + HANDLE, records, level)
        assert [int.from_bytes(a, "little", signed=True) for a in answers] == [first_bad(r) for r in records]
