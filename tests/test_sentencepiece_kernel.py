"""templates/sentencepiece.h and gigatok_runtime.sentencepiece against sentencepiece's normalizer, on every vector unit."""

from __future__ import annotations

import ctypes
import os
import platform
import random
import runpy
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.sentencepiece_model import read_normalizer
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.ir.plan import TableSet
from gigatok_compile.normalizer.sentencepiece import build_sentencepiece_tables, own_pieces, sentencepiece_constants
from gigatok_compile.normalizer.sentencepiece_rules import analyse_charsmap
from gigatok_compile.vocabulary.double_array import build_trie
from gigatok_runtime.charsmap import Charsmap
from gigatok_runtime.sentencepiece import SentencePieceNormalizer

pytest.importorskip("sentencepiece")
sys.path.insert(0, str(Path(__file__).parent))
import sentencepiece_models as models

sys.path.remove(str(Path(__file__).parent))
harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
LEVELS = harness["vector_levels"]()

SOURCE = r"""
#include "sentencepiece.h"
static gt_scratch scratch;
extern int64_t first(const uint8_t *p, size_t n);
extern size_t normalize(const uint8_t *p, size_t n);
extern const void *memory(void);
int64_t first(const uint8_t *p, size_t n) { return gt_sentencepiece_first(p, n); }
size_t normalize(const uint8_t *p, size_t n) { return gt_sentencepiece(p, n, &scratch); }
const void *memory(void) { return scratch.memory; }
"""
HANDLE = r"""
#include "sentencepiece.h"
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) {
  gt_scratch s = {NULL, 0};
  size_t m = gt_sentencepiece(p, n, &s);
  gt_sentencepiece_first(p, n);
  *out = s.memory ? s.memory : malloc(1); /* nothing is reserved for an empty text */
  return m;
}
"""


def tables(step: NormalizerStep) -> str:
    own = build_trie(dict.fromkeys(own_pieces(step), 0))
    made = build_sentencepiece_tables(step, own.units, own.root) | TableSet(constants=sentencepiece_constants(step))
    return str(harness["table_source"](made))


class Kernel:
    """The normalizer of a model in C and in Python, and the reference's; `check` compares them on a text."""

    def __init__(self, data: bytes) -> None:
        model = proto.parse_model(data)
        assert model is not None
        self.step = read_normalizer(model)
        self.reference = models.reference(data)
        self.python = SentencePieceNormalizer(self.step.options, self.step.options["charsmap"])
        self.library: ctypes.CDLL = harness["build"](tables(self.step) + SOURCE)
        self.library.first.restype = ctypes.c_int64
        self.library.normalize.restype = ctypes.c_size_t
        self.library.memory.restype = ctypes.c_void_p
        for name in ("first", "normalize"):
            getattr(self.library, name).argtypes = [ctypes.c_char_p, ctypes.c_size_t]

    def check(self, text: str, python: bool = True) -> None:
        options, data = self.step.options, text.encode()
        expected = self.reference.normalize(text)
        if options["escape_whitespaces"]:
            expected = expected.replace("\u2581", " ")
        if python:
            assert self.python(text) == expected, ascii(text)
        space = b" " if text and options["add_dummy_prefix"] else b""
        before, after = (b"", space) if options["treat_whitespace_as_suffix"] else (space, b"")
        for level in LEVELS:
            harness["set_level"](self.library, level)
            length = self.library.normalize(data, len(data))
            result = ctypes.string_at(self.library.memory(), length) if length else b""
            assert result == expected.encode(), (level, ascii(text))
            first = self.library.first(data, len(data))
            if first < 0:
                assert result == before + data + after, (level, ascii(text))
            elif result:
                assert result.startswith((before + data[:first]).rstrip(b" ")), (level, ascii(text))


@pytest.mark.parametrize("block", range(4))
def test_made_up_rules(block: int) -> None:
    for seed in range(1000 + block * 5, 1005 + block * 5):
        rng = random.Random(seed)
        data, alphabet = models.random_model(rng)
        kernel = Kernel(data)
        for i in range(150):
            words = [rng.choice(alphabet) for _ in range(rng.choice([0, 1, 2, 3, 5, 9, 30, 100, 300]))]
            if i % 3 == 0:  # long stretches in which nothing happens
                words = [rng.choice("fgh ij") * rng.choice([1, 2, 40]) if rng.random() < 0.9 else w for w in words]
            kernel.check("".join(words))


MODELS = ("sp_bpe_test", "albert", "jurassic2", "mistral_v3", "sp_unigram_ja")


@pytest.fixture(scope="module", params=MODELS)
def kernel(request: pytest.FixtureRequest, shared: Any) -> Kernel:
    return Kernel(shared.model_bytes(request.param))


def test_every_scalar_value(kernel: Kernel) -> None:
    scalars = [chr(c) for c in range(1, 0x110000) if not 0xD800 <= c < 0xE000]
    for start in range(0, len(scalars), 8192):
        part = scalars[start : start + 8192]
        kernel.check("\n".join(part), python=start < 0x4000)
        kernel.check(" ".join("a" + char for char in part), python=False)


def test_rules_that_meet(kernel: Kernel) -> None:
    facts = analyse_charsmap(kernel.step.options["charsmap"])
    rng = random.Random()
    seconds, others = (
        sorted(facts.seconds | {"\u0301"}),
        [*sorted(facts.alone), *["a", "e", " ", "  ", "\u304b", "\u1112"] * 300],
    )
    for _ in range(400):
        kernel.check("".join(rng.choice(seconds if rng.random() < 0.4 else others) for _ in range(60)))


def test_corpora(kernel: Kernel, shared: Any) -> None:
    for corpus in shared.corpus_names():
        text = shared.corpus(corpus)[:60_000].decode("utf-8", "ignore")
        kernel.check(text, python=False)
        for line in text.split("\n")[:20]:
            kernel.check(line)


def test_nothing_is_read_outside(shared: Any) -> None:
    """Malformed text too: the answer does not matter then, and nothing outside of it is touched."""
    rng = random.Random()
    for name in ("sp_bpe_test", "albert", "mistral_v3"):
        model = proto.parse_model(shared.model_bytes(name))
        texts = [
            text.encode()
            for text in ("", " ", "\u2581", "a\u0301", "  a  ", "\u1112\u1161", "\ufb01" * 40, "a" * 70 + "\ufdfa")
        ]
        texts += [text[:-1] for text in texts if text]
        texts += [
            bytes(rng.choice(b"a \xe2\x96\x81\xef\xb7\xba\xcc\x81\xf0\x00(") for _ in range(n)) for n in range(1, 140)
        ]
        for level in LEVELS:
            harness["run_sanitized"](tables(read_normalizer(model)) + HANDLE, texts, level)


def test_on_aarch64(shared: Any, tmp_path: Path) -> None:
    """The NEON scan in an emulator; on aarch64 itself the other tests run it."""
    tools = [shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")]
    if platform.machine() in ("aarch64", "arm64") or None in tools:
        reason = "needs gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user, and another machine than aarch64"
        assert platform.machine() in ("aarch64", "arm64") or "CI" not in os.environ, reason
        pytest.skip(reason)
    compiler, emulator = map(str, tools)
    flags = ["-O2", "-static", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *harness["LEVELS"]]
    rng = random.Random()
    letters = "abc  (.)\n\u2581\u00e9\u0301\u4e2d\uff0c\u3002\u201c\ufb01\u2460\u304b\u3099\u0e01\u0e33\ufeff"
    texts = [
        "".join(rng.choice(letters) if rng.random() < 0.3 else rng.choice("fgh ij") for _ in range(n))
        for n in range(200)
    ]
    records = b"".join(len(text.encode()).to_bytes(4, "little") + text.encode() for text in texts)
    for name in ("albert", "mistral_v3"):
        data = shared.model_bytes(name)
        source, program = tmp_path / f"{name}.c", tmp_path / name
        step = read_normalizer(proto.parse_model(data))
        head = "int test_level;\n#include <arm_neon.h>\n"
        source.write_text(head + tables(step) + HANDLE + harness["_SANITIZED_MAIN"])
        with resources.as_file(resources.files("gigatok_compile.templates")) as folder:
            subprocess.run([compiler, *flags, f"-I{folder}", str(source), "-o", str(program)], check=True)
        reference = models.reference(data)
        for level in ("0", "1"):
            done = subprocess.run([emulator, str(program), level], input=records, capture_output=True, check=True)
            at = 0
            for text in texts:
                stop = at + 4 + int.from_bytes(done.stdout[at : at + 4], "little")
                expected = reference.normalize(text).replace("\u2581", " ")
                assert done.stdout[at + 4 : stop].decode() == expected, (name, level, ascii(text))
                at = stop


# ------------------------------------------------------------------ the charsmap itself


def test_a_charsmap_is_read_as_the_reference_reads_it() -> None:
    rules = {"a": "b", "ab": "", "abc": "\u2581x", "\u4e2d": "zhong", "\u4e2d\u0301": " "}
    charsmap = Charsmap(models.charsmap(rules))
    for text, expected in [
        ("a", (1, b"b")),
        ("abx", (2, b"")),
        ("abcd", (3, b"\xe2\x96\x81x")),
        ("b", None),
        ("", None),
    ]:
        assert charsmap.longest(text.encode()) == expected
    facts = analyse_charsmap(models.charsmap(rules))
    assert facts.alone == {"a", "\u4e2d"} and facts.seconds == {"b", "\u0301"}
    assert (facts.longest_rule, facts.longest_replacement) == (3, 5)


def _changed(units: dict[int, int], rules: bytes = b"Z\0") -> bytes:
    words = [units.get(i, 0) for i in range(512)]
    data = b"".join(word.to_bytes(4, "little") for word in words)
    return len(data).to_bytes(4, "little") + data + rules


A = 256 ^ ord("a")


@pytest.mark.parametrize(
    ("charsmap", "message"),
    [
        (b"abc", "cut off"),
        (b"\xff\0\0\0x\0", "larger than it is"),
        (b"\x08\0\0\0" + b"\0" * 8 + b"x\0", "multiple of 1024"),
        (_changed({0: 256 << 10, A: 256 << 10 | 1 << 8 | 97, A ^ 256: 1 << 31}, b"Z"), "no end"),
        (_changed({0: 256 << 10, A: 256 << 10 | 1 << 8 | 97, A ^ 256: 1 << 31 | 1000}), "lies outside"),
        (_changed({0: 256 << 10, A: 0x40000 << 10 | 97}), "leads outside"),
        (_changed({0: 256 << 10, A: 97 << 10 | 97}), "circle"),
        (_changed({0: 256 << 10, A: 256 << 10 | 1 << 8 | 97, A ^ 256: 1 << 31}, b"\xff\0"), "not UTF-8"),
        (models.charsmap({"a" * 40: "b"} | {"a" * n: "c" for n in range(1, 34)}), "begin with one another"),
    ],
)
def test_charsmaps_that_are_refused(charsmap: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        analyse_charsmap(charsmap)


# ------------------------------------------------------------------ in a module


@pytest.mark.parametrize("name", ["sp_bpe_test", "mistral_v3", "made"])
def test_in_a_module(name: str, shared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GPT-2 behind the normalizer of a `.model`: the C engine and the Python engine agree, user-defined pieces included."""
    from gigatok_compile import driver
    from gigatok_compile.definition.read import read_definition
    from gigatok_compile.ir.definition import AddedToken

    own = [
        ("\u2581\u2581\u2581", 0.0, proto.USER_DEFINED),
        ("<co de>", 0.0, proto.USER_DEFINED),
        ("a.", 0.0, proto.USER_DEFINED),
    ]
    made = models.model_bytes(
        [*models.META, *own], {"precompiled_charsmap": models.charsmap({"ab": " ", "\u4e2d": "\u2581"})}
    )
    step = read_normalizer(proto.parse_model(made if name == "made" else shared.model_bytes(name)))
    gpt2 = read_definition("gpt2")
    tokens = [
        AddedToken(50257 + i, content, normalized=True, special=False, matched=" " not in content)
        for i, content in enumerate(step.options["user_defined"])
    ]
    control = AddedToken(50256, "<s>", matched=False)
    changed = replace(gpt2, normalizer=(step,), added_tokens=(control, *tokens), name=f"gpt2_{name}")
    monkeypatch.setattr(driver, "_read", lambda *_: changed)
    result = driver.compile_definition("gpt2", out_dir=tmp_path, verify_seconds=3)
    assert "agree with the regex engine" in result.verified
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(changed.name)
    oracle = models.engine(changed)
    texts = [
        "",
        " ",
        "  a  b  ",
        "a\u2581b",
        "\u2581\u2581\u2581\u2581x",
        "x <co de> y",
        "ab\u4e2da.b a  .",
        "<s>a",
        "\u2581" * 9,
        "a\u0301b" * 400,
    ]
    for text in texts:
        assert module.encode(text).tolist() == oracle.encode(text).tolist(), text
    assert module.encode_batch(texts, threads=2).ids.tolist() == oracle.encode_batch(texts).ids.tolist()
