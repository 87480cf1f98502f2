"""Modules on aarch64: whole C trees, built with a cross compiler and run by qemu, or natively on such a machine.

Subject: the kernels `neon`, `swar` and `automaton`, and the text passes that have NEON code (UTF-8, added tokens, NFC).
Oracles: the interpreters of the bimachine and of the bit program, for pieces; the textbook and the x86 build, for ids; Python's
decoder, for broken UTF-8. Every text lies once right before a page that cannot be read and once right after one.

Needs `gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user`. Where CI is set they have to be there.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import platform
import random
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gigatok_compile.bitstream.interpret import pieces as bit_pieces
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import analyse
from gigatok_compile.emit.module import render_module
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.split import SplitKernel
from gigatok_compile.verify.texts import de_bruijn, short_strings

sys.path.insert(0, str(Path(__file__).parent))
import modules
import sentencepiece_models

ISAS = ("neon", "swar", "automaton")
FLAGS = ("-O2", "-std=gnu11", "-pthread", "-Wall", "-Wextra", "-Werror", "-DGT_NO_PYTHON")

DRIVER = r"""
#define _GNU_SOURCE
#include "gigatok.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static void put(const void *data, size_t size) { fwrite(data, 1, size, stdout); }
static void put_number(int64_t number) { put(&number, 8); }

/* A name: kernels. Then for each of them and each text: where it is no UTF-8; if it is nowhere, pieces; status, ids. */
int main(int argc, char **argv) {
  FILE *const file = fopen(argv[argc - 1], "rb");
  const size_t page = 65536, room = 64 * page; /* pages of any aarch64 */
  uint8_t *const base = mmap(NULL, room + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *const memory = base + page;
  uint8_t *const record = malloc(room);
  uint64_t *const found = malloc(4 * room * sizeof *found);
  if (!file || base == MAP_FAILED || !record || !found || mprotect(memory, room, PROT_READ | PROT_WRITE)) return 2;
  char names[64], *rest = names;
  strcpy(names, gt_isas());
  printf("%s\n", names);
  for (char *isa; (isa = strtok_r(rest, " ", &rest)); rewind(file)) {
    if (gt_set_isa(isa)) return 3;
    uint32_t size;
    while (fread(&size, 4, 1, file) == 1) {
      if (size > room - page) return 4;
      uint64_t *const starts[2] = {found, found + room}, *const stops[2] = {found + 2 * room, found + 3 * room};
      int64_t bad[2], pieces[2] = {0, 0};
      gt_output out[2] = {{0}, {0}};
      int status[2];
      if (size && fread(record, 1, size, file) != size) return 2;
      for (int end = 0; end < 2; end++) {
        uint8_t *const text = memory + (end ? room - size : 0), *const around = end ? text - page : text + size;
        memset(around, 0xBF, page); /* continuation bytes: who looks back, or on, goes far */
        memcpy(text, record, size);
        bad[end] = gt_validate_utf8(text, size);
        if (bad[end] < 0) pieces[end] = gt_boundaries(text, size, isa, starts[end], stops[end], (int64_t)size);
        const gt_call call = {NULL, 0, 1, bad[end] >= 0};
        const size_t length = size;
        const uint8_t *const texts[1] = {text};
        status[end] = gt_encode_many(texts, &length, 1, &call, &out[end]);
        if (status[end] == GT_OK && gt_count(text, size, &call) != out[end].n_ids) return 5;
      }
      if (bad[0] != bad[1] || pieces[0] != pieces[1] || status[0] != status[1] || out[0].n_ids != out[1].n_ids) return 6;
      const size_t span = 8 * (size_t)pieces[0], id_bytes = 4 * (size_t)out[0].n_ids;
      if (memcmp(starts[0], starts[1], span) || memcmp(stops[0], stops[1], span)) return 7;
      if (id_bytes && memcmp(out[0].ids, out[1].ids, id_bytes)) return 8;
      put_number(bad[0]);
      put_number(pieces[0]);
      put(starts[0], span);
      put(stops[0], span);
      put_number(status[0]);
      put_number(out[0].n_ids);
      put(out[0].ids, id_bytes);
      for (int end = 0; end < 2; end++) gt_output_free(&out[end]);
    }
  }
  gt_release_thread();
  return 0;
}
"""


# ------------------------------------------------------------------ the other machine


@dataclasses.dataclass(frozen=True)
class Machine:
    """How to compile for aarch64, and what to run the result with."""

    compiler: tuple[str, ...]
    runner: tuple[str, ...]

    def build(self, files: Mapping[str, str | bytes], folder: Path, flags: Sequence[str] = FLAGS) -> Path:
        folder.mkdir(exist_ok=True)
        for name, content in {**files, "driver.c": DRIVER}.items():
            (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        command = [*self.compiler, *flags, "module.c", "driver.c", "-o", "program"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return folder / "program"

    def run(self, program: Path, texts: Sequence[bytes]) -> dict[str, list[Answer]]:
        """What every kernel says of every text."""
        path = program.with_name("texts")
        path.write_bytes(b"".join(struct.pack("<I", len(text)) + text for text in texts))
        done = subprocess.run([*self.runner, str(program), str(path)], capture_output=True, check=False)
        assert done.returncode == 0, f"exit {done.returncode}: {done.stderr.decode(errors='replace')[-2000:]}"
        names, _, data = done.stdout.partition(b"\n")
        answers: dict[str, list[Answer]] = {}
        at = 0

        def take(count: int, dtype: str) -> npt.NDArray[Any]:
            nonlocal at
            values: npt.NDArray[Any] = np.frombuffer(data, dtype, count, at)
            at += values.nbytes
            return values

        for isa in names.decode().split():
            answers[isa] = []
            for _ in texts:
                bad, count = take(2, "<i8").tolist()
                spans = take(2 * count, "<u8").reshape(2, count).T
                status, n_ids = take(2, "<i8").tolist()
                answers[isa].append(Answer(bad, spans, status, take(n_ids, "<u4")))
        assert at == len(data)
        return answers


@dataclasses.dataclass(frozen=True)
class Answer:
    bad: int
    """The first byte that is no UTF-8; -1: none."""
    spans: npt.NDArray[np.uint64]
    """(pieces, 2): starts and stops."""
    status: int
    ids: npt.NDArray[np.uint32]


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine(*modules.aarch64())


# ------------------------------------------------------------------ modules


GRAMMARS = ("gpt2", "llama3", "o200k", "kimi", "deepseek-v3", "clip", "jais2", "falcon")


def toy_of_grammar(name: str) -> dict[str, Any]:
    grammar = load_grammar(name)
    if grammar.pre_tokenizer is not None:  # clip: what lies between matches is removed; falcon: bytes are cut
        return {"pre_tokenizer": grammar.pre_tokenizer}
    return modules.toy_changes([(pattern, "Isolated", False) for pattern in grammar.patterns])


NORMALIZERS: list[dict[str, Any]] = [
    {"type": "NFKC"},
    {"type": "Replace", "pattern": {"String": "--"}, "content": "\u2014"},
    {"type": "Replace", "pattern": {"Regex": r"[ \u3000]{3,}"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": "={2,}"}, "content": "=="},
    {"type": "Nmt"},
    {"type": "Lowercase"},
    {"type": "NFC"},
]


def toy_of_everything() -> dict[str, Any]:
    """Normalizers that search in every way, and added tokens of all kinds; those before and those after it begin in several ways and in one."""
    contents = ["<|endoftext|>", "<|e|>", "xy", "é", "\u0301"]
    return {
        **modules.toy_changes(load_grammar("llama3").pattern),
        "normalizer": {"type": "Sequence", "normalizers": NORMALIZERS},
        "added_tokens": [
            {"id": 300 + i, "content": content, "special": i < 2, "single_word": i == 2, "lstrip": i == 1,
             "rstrip": i == 1, "normalized": i >= 3}
            for i, content in enumerate(contents)
        ],
    }  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Source:
    """The C tree of a definition, and where it cuts."""

    files: dict[str, str | bytes]
    kernel: SplitKernel

    @functools.cached_property
    def tag_of(self) -> npt.NDArray[np.int64]:
        """By code point."""
        table = np.full(0x110000, -1, np.int64)
        for tag in self.kernel.alphabet:
            for low, high in tag.ranges:
                table[low : high + 1] = tag.index
        return table


def source_of(definition_source: str) -> Source:
    definition = read_definition(definition_source)
    compilation = analyse(definition)
    assert compilation.split.kernel is not None and compilation.tables is not None
    kernel = compilation.split.kernel
    return Source(render_module(definition, kernel, compilation.tables), kernel)


@pytest.fixture(scope="module")
def made(tmp_path_factory: Any, toy_definition: Any) -> Callable[[str], Source]:
    """The tree of a grammar with a toy vocabulary, or of `gpt2.json` itself."""
    folder = tmp_path_factory.mktemp("definitions")

    @functools.cache
    def make(name: str) -> Source:
        path = folder / f"{name}.json"
        path.write_text(json.dumps(toy_definition(toy_of_grammar(name))), encoding="utf-8")
        return source_of(str(path))

    return make


# ------------------------------------------------------------------ oracles


def machine_pieces(machine: Bimachine, tags: Sequence[int]) -> list[tuple[int, int]]:
    """Kept pieces, by the pair of automata: one pass from the right, one from the left."""
    after = [0]
    for tag in reversed(tags):
        after.append(machine.right[tag][after[-1]])
    after.reverse()
    found, state, begun = [], START, 0
    for position, tag in enumerate(tags):
        following, cut = machine.left[state, tag, after[position + 1]]
        if cut:
            if machine.kept[state]:
                found.append((begun, position))
            begun = position
        state = following
    return [*found, (begun, len(tags))] if machine.kept[state] else found


def byte_tags(source: Source, text: str) -> list[int]:
    """Tags where a byte has one each."""
    continuation = source.kernel.continuation
    assert continuation is not None
    return [
        int(source.tag_of[ord(char)]) if number == 0 else continuation[byte - 0x80]
        for char in text
        for number, byte in enumerate(char.encode())
    ]


def expected_spans(source: Source, text: str) -> npt.NDArray[np.uint64]:
    if source.kernel.continuation is not None:
        tags = byte_tags(source, text)
        found = machine_pieces(source.kernel.machine, tags) if tags else []
        if source.kernel.bits is not None and len(tags) < 2000:
            assert bit_pieces(source.kernel.bits, tags) == found, text
        return np.array(found, np.uint64).reshape(-1, 2)
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    kernel, tags = source.kernel, source.tag_of[points].tolist()
    found = machine_pieces(kernel.machine, tags)
    if kernel.bits is not None and len(text) < 2000:
        assert bit_pieces(kernel.bits, tags) == found, text
    lengths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    return offsets[np.array(found, np.int64).reshape(-1, 2)]


def toy_ids(data: bytes, spans: npt.NDArray[np.uint64]) -> list[int]:
    """Every byte is its own id, and `ab` is 256 within a piece."""
    ids: list[int] = []
    for start, stop in spans.tolist():
        for part in re.findall(rb"ab|.", data[start:stop], re.DOTALL):
            ids.append(256 if part == b"ab" else part[0])
    return ids


# ------------------------------------------------------------------ texts

SCRIPTS = [
    "The quick brown fox's 12345 jumps, isn't it? I'LL say: \"no\"...\r\n\r\n\tdef f(x_1):  return x**2 # done\n",
    "Съешь же ещё этих мягких французских булок, да выпей чаю! 2024 год.\n",
    "Zażółć gęślą jaźń. Größe, naïve façade à côté; ﬁn ½ ²³ Ⅷ 𝐁old 𝟘𝟙",
    "我能吞下玻璃而不伤身体。人口：1,400,000,000　（约）\n",
    "いろはにほへと ちりぬるを、ワカヨタレソ。ｶﾀｶﾅ 123円です。",
    "키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. 한국어",
    "نص حكيم له سر قاطع ١٢٣٤ وذو شأن عظيم، \u064b\u0651",
    "दबा कर हिन्दी में १२३ क्ष त्र।  เป็นมนุษย์สุดประเสริฐ ๑๒๓ ",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ա ա Բ բ Გ გ ᏣᎳᎩ ꭰ ስሙ \u1680\u2003\u2028\u00a0\u3000\u0085",
    "👩‍👩‍👧‍👦🏽 🇩🇪 😀😀😀 \U0001f9d1\u200d\U0001f4bb 𝒳 \U00020000\U0002a6d6 \U000e0001\U0010ffff",
]


def short_texts(letters: Sequence[str], limit: int) -> list[str]:
    """All strings up to the length that has at most `limit`."""
    length, count = 1, 0
    while len(letters) ** length <= limit:
        count += len(letters) ** length
        length += 1
    strings = short_strings(letters, random.Random(0), limit)
    return ["", *(next(strings) for _ in range(count))]


def window_texts(letters: Sequence[str], limit: int) -> list[str]:
    """Texts in which every string of some length occurs, and one of all of them in a row."""
    length = 1
    while len(letters) ** (length + 1) <= limit:
        length += 1
    whole = de_bruijn(letters, length)
    return [whole, *(whole[at : at + 1500 + length] for at in range(0, len(whole), 1500))]


def some_text(rng: random.Random, size: int, letters: Sequence[str]) -> str:
    out: list[str] = []
    while len(out) < size:
        out += rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 7))
    return "".join(out[:size])


def texts_for(kernel: SplitKernel) -> list[str]:
    rng = random.Random(1)
    letters = [chr(tag.ranges[0][0]) for tag in kernel.alphabet if tag.ranges]
    wide = [chr(max(high for _, high in tag.ranges)) for tag in kernel.alphabet if tag.ranges]
    if kernel.continuation is not None:
        letters += ["ü", "㼲", "ë"]
        wide += ["ü", "㼲", "𲼲"]
    wide = [char for char in wide if not "\ud800" <= char <= "\udfff"]
    letters_of_all = [*letters, *wide, *(char for text in SCRIPTS for char in text[::7])]
    texts = short_texts(letters[:40], 4000) + window_texts(letters, 20_000) + window_texts(wide, 4000)
    sample = some_text(rng, 300, letters_of_all)
    texts += [filler * phase + sample for phase in range(64) for filler in ("a", " ", "é", "中")]
    texts += [some_text(rng, size, letters_of_all) for size in (*range(1, 140), *range(4090, 4100), 12_000)]
    texts += [(char * 4100)[:size] for char in ("x", " ", "é", "中", "😀") for size in (63, 64, 65, 4095, 4096, 4097)]
    texts += ["q" * (4096 - before) + char + "s tail" for before in range(5) for char in ("é", "中", "😀", "\u3000")]
    for size in (
        *range(1, 20),
        *range(50, 80),
        *range(115, 140),
        191,
        192,
        193,
        255,
        256,
        257,
        600,
    ):  # runs over blocks
        texts += ["x" * (size % 64) + "." + char * size + "a" for char in "\n 1Aa"] + [
            "b" + " " * size + "\r\n c",
            "!\n" * size,
        ]
    for script in SCRIPTS:
        texts += [script, script * 200, "".join(rng.choice(script) for _ in range(3000))]
    texts.append("".join(rng.choice(SCRIPTS)[: rng.randrange(60)] for _ in range(2000)))
    points = (
        rng.choice((rng.randrange(0x800), rng.randrange(0x10000), rng.randrange(0x110000))) for _ in range(20_000)
    )
    texts.append("".join(chr(point) for point in points if not 0xD800 <= point <= 0xDFFF))
    return texts


# ------------------------------------------------------------------ tests


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_kernel_cuts_as_the_interpreters_do(
    name: str, machine: Machine, made: Callable[[str], Source], tmp_path: Path
) -> None:
    source = made(name)
    assert (source.kernel.bits is None) is (name == "jais2")
    texts = texts_for(source.kernel)
    data = [text.encode() for text in texts]
    answers = machine.run(machine.build(source.files, tmp_path), data)
    assert tuple(answers) == ISAS, "best first"
    for number, text in enumerate(texts):
        spans = expected_spans(source, text)
        ids = toy_ids(data[number], spans)
        for isa in ISAS:
            got = answers[isa][number]
            assert got.bad == -1 and got.status == 0
            assert np.array_equal(got.spans, spans), (isa, first_difference(data[number], got.spans, spans))
            assert got.ids.tolist() == ids, (isa, text)


def first_difference(data: bytes, got: npt.NDArray[np.uint64], expected: npt.NDArray[np.uint64]) -> str:
    start, stop = min(set(map(tuple, got.tolist())) ^ set(map(tuple, expected.tolist())))
    return f"the piece {start}:{stop} of {len(data)}, around it {data[max(0, start - 12) : start + 12]!r}"


def broken(rng: random.Random, texts: Sequence[bytes], count: int) -> list[bytes]:
    """Valid texts with a few bytes replaced, and cut anywhere."""
    found = []
    for _ in range(count):
        text = bytearray(rng.choice(texts))
        for _ in range(rng.randrange(4) if text else 0):
            text[rng.randrange(len(text))] = rng.choice(b" \x80\xbf\xc0\xc3\xe0\xe3\xed\xf0\xf4\xff")
        found.append(bytes(text[: rng.randrange(len(text) + 1)]))
    return found


def first_bad(data: bytes) -> int:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


@pytest.mark.parametrize("name", ["gpt2", "everything", "pieces"])
def test_ids_are_those_of_the_build_for_this_machine(
    name: str, machine: Machine, tmp_path: Path, tmp_path_factory: Any, toy_definition: Any
) -> None:
    """Whole modules: texts with added tokens, with characters that normalizers change, and with broken UTF-8."""
    folder = modules.session_folder(tmp_path_factory)
    if name == "gpt2":
        source, built = source_of("gpt2"), modules.build("gpt2", "gpt2", folder)
    elif name == "pieces":  # a Unigram `.model`
        (tmp_path / "toy.model").write_bytes(sentencepiece_models.every_kind_of_piece())
        source = source_of(str(tmp_path / "toy.model"))
        built = modules.build("toy_pieces_of_every_kind", tmp_path / "toy.model", folder)
    else:
        definition = toy_definition(toy_of_everything())
        (tmp_path / "toy.json").write_text(json.dumps(definition), encoding="utf-8")
        source = source_of(str(tmp_path / "toy.json"))
        built = modules.build_toy("toy_everything", definition, folder)
    rng = random.Random(2)
    parts = [
        "<|endoftext|>",
        "<|endoftext|",
        "<|e|>",
        "xy",
        "x",
        "abab",
        "e\u0301",
        "é",
        "\u0301",
        "가",
        "\u1100\u1161",
    ]
    parts += ["q\u0323\u0307", "q\u0307\u0323", "\u0958", "कि", "ö", "한국", "中文字", "internationalization"]
    parts += ["=", " ", "\n", " the", "A", "--", "ＡＢ", "，", "\u3000", "   ", "İ", "\u200b"]
    texts = [
        "".join(rng.choice(parts) * rng.choice((1, 1, 1, 30)) for _ in range(rng.randrange(40))) for _ in range(600)
    ]
    texts += [filler * size + part for part in parts for filler in "x中" for size in (*range(34), 62, 63, 64, 65)]
    texts += SCRIPTS + [script * 100 for script in SCRIPTS]
    data = [text.encode() for text in texts]
    data += broken(rng, data, 1200) + [
        b"x" * at + bytes([byte]) + b"x" * 70 for at in range(70) for byte in b"\x80\xc3\xe3\xf0"
    ]
    answers = machine.run(machine.build(source.files, tmp_path / "build"), data)
    for number, text_bytes in enumerate(data):
        bad = first_bad(text_bytes)
        ids = [] if bad >= 0 else built.module.encode(text_bytes.decode(), special="match").tolist()
        for isa in ISAS:
            got = answers[isa][number]
            assert (got.bad, got.status) == (bad, -3 if bad >= 0 else 0), (isa, text_bytes)
            assert got.ids.tolist() == ids, (isa, text_bytes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("vdupq_n_u8(0x40)", "vdupq_n_u8(0x41)"),
        ("GT_SWAP(v0, v1, 1, 0x55)", "GT_SWAP(v0, v1, 1, 0x54)"),
        ("settled & (settled - 1)", "settled"),  # only slower
    ],
)
def test_a_wrong_kernel_is_noticed(
    old: str, new: str, machine: Machine, made: Callable[[str], Source], tmp_path: Path
) -> None:
    source = made("llama3")
    text = str(source.files["isa_neon.h"])
    assert text.count(old) == 1
    files = {**source.files, "isa_neon.h": text.replace(old, new)}
    texts = [*SCRIPTS, "".join(SCRIPTS)]
    answers = machine.run(machine.build(files, tmp_path, ("-O1", *FLAGS[1:])), [text.encode() for text in texts])
    same = all(np.array_equal(answers["neon"][i].spans, expected_spans(source, text)) for i, text in enumerate(texts))
    assert same is (new == "settled")


def test_where_tools_are_missing_ci_fails_and_others_skip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    find = machine.__wrapped__  # type: ignore[attr-defined]
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception, match="apt install gcc-aarch64-linux-gnu"):
        find()
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match="qemu-user"):
        find()
