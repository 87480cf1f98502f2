"""The normalization forms: templates/normalize.h and gigatok_runtime.normalization_form against the reference wheel, on every
vector unit."""

from __future__ import annotations

import ctypes
import itertools
import random
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer import form_arrays, load_nfc_data, normalize_function
from gigatok_compile.normalizer.finder import build_finder
from gigatok_compile.normalizer.tables import form_descriptor, form_flags, form_tables, nfc_finder, pair_table
from gigatok_compile.unicode import nfc_generate
from gigatok_runtime.normalization_form import NormalizationForm
from hypothesis import example, given
from hypothesis import strategies as st

tokenizers = pytest.importorskip("tokenizers")
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
REFERENCES: dict[str, Callable[[str], str]] = {
    form: getattr(tokenizers.normalizers, form)().normalize_str for form in FORMS
}
reference = REFERENCES["NFC"]
harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
LEVELS = harness["vector_levels"]()
DATA = load_nfc_data()
FLAGS = form_flags(DATA)
PYTHONS = {form: NormalizationForm(form_arrays("K" in form), form) for form in FORMS}
SCALARS = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
MARKS = list(map(chr, DATA.classes))
SECONDS = sorted({chr(b) for _, b in DATA.compositions} | set("\u1161\u1175\u11a8\u11c2"))
# What meets in the rules: bases, composites, marks of many classes, Hangul parts, exclusions, singletons.
ODD = "aqAeéệ\u212b\u0344\u0958\u09c7\u09be\u0dd9\u0dca\u0dcf\u1100\u1161\u11a7\u11a8\uac00\uac01\u30ab\u3099\u1d15e中я"
ODD += "ﷺｶﾞﾊﾟ①ﬁＡ，\u00a0\u3131\u314f\u0385"
ODD += "\u0300\u0301\u0323\u0327\u0334\u0338\u0345\u031b\u035c\u05b0\u094d\u093c\u0e38\u0f71\u0f72\u0f74\u302a\ufb1e\U0001d165\n "


def source(form: str = "NFC") -> str:
    tables = form_tables(DATA, form) | pair_table(DATA, form.endswith("C"))
    text: str = harness["table_source"](tables)
    return f'#define _GNU_SOURCE\n{text}#include "normalize.h"\nstatic const gt_form form = {form_descriptor(DATA, form)};\n{FUNCTIONS}'


FUNCTIONS = r"""
static gt_scratch scratch;
extern int64_t first(const uint8_t *p, size_t n);
extern size_t normalize(const uint8_t *p, size_t n);
extern const void *memory(void);
extern int safe(const uint8_t *p, size_t n);
int64_t first(const uint8_t *p, size_t n) { return gt_nfc_first(&form, p, n); }
size_t normalize(const uint8_t *p, size_t n) { return gt_nfc(&form, p, n, &scratch); }
const void *memory(void) { return scratch.memory; }
int safe(const uint8_t *p, size_t n) { return gt_nfc_safe_boundary(&form, p, p + n); }
"""
HANDLE = r"""
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  gt_scratch s = {NULL, 0};
  size_t m = gt_nfc(&form, p, n, &s);
  if (gt_nfc_first(&form, p, n) < 0 && (m != n || memcmp(p, s.memory, n))) abort();
  *out = s.memory;
  return m;
}
"""


class Kernel:
    def __init__(self, form: str = "NFC", before: str = "") -> None:
        self.form = form
        self.library: ctypes.CDLL = harness["build"](before + source(form))
        self.library.first.restype = ctypes.c_int64
        self.library.normalize.restype = ctypes.c_size_t
        self.library.memory.restype = ctypes.c_void_p
        for name in ("first", "normalize", "safe"):
            getattr(self.library, name).argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def normalize(self, text: str, level: int) -> str:
        data = text.encode()
        harness["set_level"](self.library, level)
        first = self.library.first(data, len(data))
        length = self.library.normalize(data, len(data))
        result = ctypes.string_at(self.library.memory(), length)
        assert first >= 0 or result == data
        if first >= 0:  # the promise of gt_nfc_first: nothing changes before it
            assert result[:first] == data[:first]
        return result.decode()


@pytest.fixture(scope="module", params=FORMS)
def form_kernel(request: pytest.FixtureRequest) -> Kernel:
    return Kernel(request.param)


@pytest.fixture(scope="module", params=("NFC", "NFD"))
def canonical_kernel(request: pytest.FixtureRequest) -> Kernel:
    return Kernel(request.param)


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    """NFC."""
    return Kernel()


def check(kernel: Kernel, text: str, python: bool = True) -> None:
    expected = REFERENCES[kernel.form](text)
    for level in LEVELS:
        assert kernel.normalize(text, level) == expected, (level, ascii(text))
    if python:
        assert PYTHONS[kernel.form](text) == expected, ascii(text)


def check_many(kernel: Kernel, words: list[str]) -> None:
    """Words between newlines, and on a difference the word at fault."""
    text = "\n".join(words)
    expected = REFERENCES[kernel.form](text)
    results: list[tuple[Any, str]] = [(level, kernel.normalize(text, level)) for level in LEVELS]
    results.append(("python", PYTHONS[kernel.form](text)))
    for name, result in results:
        if result != expected:
            pairs = zip(words, result.split("\n"), expected.split("\n"), strict=True)
            raise AssertionError((name, next(tuple(map(ascii, row)) for row in pairs if row[1] != row[2])))


def test_data_is_what_the_installed_reference_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert tokenizers.__version__ in DATA.source
    assert nfc_generate.main(["--check"]) == 0, capsys.readouterr().out


def test_every_scalar_value_alone_and_after_a_base(form_kernel: Kernel) -> None:
    words = [c for c in SCALARS if c != "\n"]
    check_many(form_kernel, words)
    check_many(form_kernel, ["e" + c for c in words])


def test_every_first_with_every_second_of_a_composition(kernel: Kernel) -> None:
    firsts = {chr(a) for a, _ in DATA.compositions} | set(map(chr, DATA.decompositions)) | set(ODD) - {"\n"}
    check_many(kernel, [a + b for a in sorted(firsts) for b in SECONDS])


def test_every_pair_of_marks_after_a_base(canonical_kernel: Kernel) -> None:
    check_many(canonical_kernel, ["a" + m1 + m2 for m1 in MARKS for m2 in MARKS])


def test_all_words_of_three_odd_characters(form_kernel: Kernel) -> None:
    check_many(form_kernel, ["".join(w) for w in itertools.product([c for c in ODD if c != "\n"], repeat=3)])


def test_random_strings_of_marks(form_kernel: Kernel) -> None:
    rng = random.Random(11)
    words = []
    for _ in range(30_000):
        base = rng.choice(["", "a", "e", "\u1ec7", "\u0fb2", "\uac00", "q", "\u03b1"])
        words.append(base + "".join(rng.choices(MARKS if rng.random() < 0.5 else SECONDS, k=rng.randrange(1, 40))))
    check_many(form_kernel, words)


def test_hangul_every_syllable_from_its_parts(canonical_kernel: Kernel) -> None:
    parts = range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A7, 0x11C4)
    check_many(canonical_kernel, [chr(a) + chr(b) + chr(c) for a, b, c in itertools.product(*parts)])


@given(st.text(st.sampled_from(ODD) | st.characters(exclude_categories=["Cs"]), max_size=120))
@example("")
@example("\u0300")
def test_any_text(form_kernel: Kernel, text: str) -> None:
    check(form_kernel, text)


@given(st.text(st.sampled_from(ODD), min_size=1, max_size=12), st.integers(0, 140), st.integers(0, 140))
def test_odd_words_at_every_phase_of_a_block(form_kernel: Kernel, word: str, before: int, after: int) -> None:
    for filler in ("a", "中", "я"):
        check(form_kernel, filler * before + word + filler * after)


def test_text_in_nfc_is_recognised_without_copying(kernel: Kernel) -> None:
    """Scripts whose marks cannot compose or stand in order: gt_nfc_first says -1 although they have flags."""
    texts = ["สวัสดีครับ ที่นี่", "नमस्ते दुनिया", "שָׁלוֹם", "مَرْحَبًا", "வணக்கம் உலகம்", "Xin chào thế giới", "がぎぐ パピプ", "한국어"]
    for text in texts:
        stable = reference(text)
        for level in LEVELS:
            harness["set_level"](kernel.library, level)
            data = (stable * 20).encode()
            assert kernel.library.first(data, len(data)) == -1, text


def test_a_cut_at_a_safe_boundary_changes_nothing(kernel: Kernel) -> None:
    rng = random.Random(3)
    for c in SCALARS:
        assert bool(kernel.library.safe(c.encode(), len(c.encode()))) is PYTHONS["NFC"].is_safe_boundary(c), ascii(c)
    assert kernel.library.safe(b"", 0)
    for _ in range(3000):
        text = "".join(rng.choices(ODD, k=12))
        whole = reference(text)
        for i in range(1, len(text)):
            if PYTHONS["NFC"].is_safe_boundary(text[i]):
                assert reference(text[:i]) + reference(text[i:]) == whole


def test_finder_finds_every_character_with_flags() -> None:
    """What the vector units take for inert has no flags, and common scripts are taken for inert."""
    masks = nfc_finder(FLAGS).reshape(2, 3, 2, 16)
    utf8 = np.zeros((0x110000, 3), np.uint8)
    following = b"\x80\xbf"  # whatever stands after a short character: both extremes
    found = np.zeros(0x110000, bool)
    for c in SCALARS:
        encoded = c.encode()
        utf8[ord(c)] = list((encoded + following)[:3])
    for group in masks:
        together = np.full(0x110000, 0xFF, np.uint8)
        for position in range(3):
            byte = utf8[:, position]
            together &= group[position, 0][byte & 15] & group[position, 1][byte >> 4]
        found |= together != 0
    assert not (FLAGS.astype(bool) & ~found).any()
    for name, low, high in (
        ("ASCII", 0, 0x7F),
        ("Latin", 0x80, 0x2FF),
        ("Cyrillic", 0x410, 0x44F),
        ("Hebrew", 0x5D0, 0x5EA),
        ("Arabic", 0x627, 0x63A),
        ("Arabic", 0x641, 0x64A),
        ("Vietnamese", 0x1EA0, 0x1EF9),
        ("Greek", 0x3B1, 0x3CE),
        ("kana", 0x3041, 0x3096),
        ("kana", 0x30A1, 0x30FC),
        ("Han", 0x4E00, 0x9FFF),
        ("Hangul", 0xAC00, 0xD7A3),
        ("punctuation", 0x2010, 0x2027),
        ("CJK punctuation", 0x3001, 0x301F),
        ("full width", 0xFF01, 0xFF5E),
        ("emoji", 0x1F300, 0x1FAFF),
    ):
        assert not found[low : high + 1].any(), name


@pytest.mark.parametrize("form", FORMS)
def test_the_finder_of_any_form_finds_every_character_with_flags(form: str) -> None:
    flags = form_flags(DATA, form)
    finder = build_finder(np.flatnonzero(flags).tolist())
    for c in np.flatnonzero(flags).tolist():
        assert finder.accepts([chr(c)])
    assert not finder.accepts("abc ~")
    assert not finder.accepts("你好世界")
    assert form != "NFC" or not finder.accepts("éßñприветひらがな한국어")


def test_a_megabyte_of_marks_is_safe_and_fast(kernel: Kernel) -> None:
    n = 100_000
    words = ["q" + "\u0300" * n + "\u0323", "a" + "\u0323\u0300" * (n // 2), "\u1161" * n, "\u0344" * n]
    words.append("e" + "".join(random.Random(1).choices(MARKS, k=n)))
    for word in [*words, "\u0300" * 524_288]:
        for level in LEVELS:
            started = time.perf_counter()
            result = kernel.normalize(word, level)
            assert time.perf_counter() - started < 2.0, len(word)
        assert word[0] == "\u0300" == result[-1] or PYTHONS["NFC"](word) == result
    check(kernel, "a" + "\u0323\u0300" * 20_000)  # the reference itself, at a length it can do


def test_without_x86_the_portable_way_is_all_there_is() -> None:
    kernel = Kernel(before="#define GT_X86 0\n")
    for text in ("a" * 200 + "e\u0301", "中" * 60 + "\u0344" + "я" * 99, "สวัสดี" * 20 + "\u1100\u1161"):
        assert kernel.normalize(text, 3) == reference(text)


def test_reads_nothing_outside_the_buffer() -> None:
    rng = random.Random(7)
    texts = ["", "a", "\u0300", "é" * 33]
    for length in (*range(1, 80), 127, 128, 129, 200):
        texts += ["".join(rng.choices(ODD, k=length)), "".join(rng.choices("aя中", k=length)) + "\u0323"]
    texts += ["ﷺ" * 40, "ｶﾞＡ" * 30 + "\u0301", "가힣" * 30]
    for level, form in itertools.product(LEVELS, FORMS):
        answers = harness["run_sanitized"](source(form) + HANDLE, [t.encode() for t in texts], level)
        assert [a.decode() for a in answers] == [REFERENCES[form](t) for t in texts]


def test_malformed_text_is_not_read_past(kernel: Kernel) -> None:
    rng = random.Random(8)
    records = [
        bytes(rng.choices([0x41, 0x80, 0xCC, 0xE3, 0x82, 0x99, 0xF0, 0xF4, 0xF7, 0xFF], k=k)) for k in range(200)
    ]
    for level, form in itertools.product(LEVELS, ("NFC", "NFKD")):
        harness["run_sanitized"](source(form) + HANDLE, records, level)


def test_chains_of_steps() -> None:
    nfc = NormalizerStep("NFC", "normalizer")
    assert normalize_function([])("e\u0301") == "e\u0301"
    assert normalize_function([nfc, nfc])("e\u0301") == "é"
    assert normalize_function([nfc, NormalizerStep("NFKD", "normalizer")])("ﬁe\u0301") == "fie\u0301"


def test_runtime_module_does_not_need_the_compiler() -> None:
    import gigatok_runtime.normalization_form as module

    text = Path(module.__file__).read_text(encoding="utf-8")
    assert "gigatok_compile" not in text.replace("gigatok_compile.normalizer.form_arrays", "")
