"""Every normalizer and chains of them, in C (every vector unit) and in plain Python, against tokenizers 0.23.3."""

from __future__ import annotations

import functools
import json
import lzma
import random
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import analyse, compile_definition, explain_compilation, slow_tiers
from gigatok_compile.emit.normalizer import compile_normalizer
from gigatok_compile.errors import CompileError, Unsupported
from gigatok_compile.ir.normalizer import CharacterPass, FormPass, FusedPass, PrefixPass, RunPass
from gigatok_compile.normalizer import normalize_function
from gigatok_compile.normalizer.finder import build_finder
from gigatok_compile.normalizer.passes import plan_passes
from gigatok_compile.unicode import graphemes_generate
from gigatok_compile.unicode.engine import all_scalars
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import modules

harness = runpy.run_path(str(Path(__file__).with_name("normalizer_harness.py")))
LEVELS: list[int] = harness["LEVELS"]
Normalizer = dict[str, Any]


def chain(*steps: Normalizer) -> Normalizer:
    return {"type": "Sequence", "normalizers": list(steps)}


def literal(pattern: str, content: str) -> Normalizer:
    return {"type": "Replace", "pattern": {"String": pattern}, "content": content}


def regex(pattern: str, content: str) -> Normalizer:
    return {"type": "Replace", "pattern": {"Regex": pattern}, "content": content}


def prepend(text: str) -> Normalizer:
    return {"type": "Prepend", "prepend": text}


def strip(left: bool = True, right: bool = True) -> Normalizer:
    return {"type": "Strip", "strip_left": left, "strip_right": right}


def bert(clean: bool = True, chinese: bool = True, accents: bool | None = None, lower: bool = True) -> Normalizer:
    return {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents,
            "lowercase": lower}  # fmt: skip


def kind(name: str) -> Normalizer:
    return {"type": name}


def charsmap() -> Normalizer:
    """A map with keys of one, two and three characters, longer results, and an empty one."""
    reader = runpy.run_path(str(Path(__file__).with_name("test_normalizer_reader.py")))
    keys = {"①": "1", "ﬁ": "fi", "\t": " ", "\r": " ", "\n": " ", "\x0b": "", "\x0c": " ", "\u200b": "", "A\u030a": "Å", "か\u3099": "が", "e\u0301\u0323": "no",
            "한": "long replacement text", "e\u0301": "é", "\u0301": "'", "b\u0301": ""}  # fmt: skip
    del keys["e\u0301\u0323"]  # the shorter one is its prefix
    texts, places = b"", {}
    for key, value in keys.items():
        places[key.encode()] = len(texts)
        texts += value.encode() + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": reader["charsmap"](reader["trie"](places), texts)}


LOWER = kind("Lowercase")
PLAIN = {name: kind(name) for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt", "ByteLevel")}
CHAINS: dict[str, Normalizer] = PLAIN | {
    "bert": bert(),
    "bert cased": bert(lower=False),
    "bert accents": bert(clean=False, chinese=False, accents=True, lower=False),
    "strip": strip(),
    "left": strip(right=False),
    "right": strip(left=False),
    "precompiled": charsmap(),
    "llama": chain(prepend("▁"), literal(" ", "▁")),
    "llama inverse": chain(literal("▁", " "), prepend(" ")),
    "dropped": chain(literal("a", ""), prepend("Q"), LOWER),
    "dropped prefix": chain(prepend("aa"), literal("a", "")),
    "prefix before empty": chain(literal("a", ""), prepend("Q"), literal("b", "")),
    "two prefixes": chain(prepend("x"), prepend("Y"), LOWER, prepend("Z")),
    "strip then prefix": chain(strip(), prepend("x")),
    "literal": literal("ab", "x"),
    "literal longer": chain(literal("``", '"'), literal("''", "<quote>")),
    "literal wide": literal("e\u0301", "é!"),
    "literal overlap": literal("aa", "aaa"),
    "literal long": literal("ab" * 12, "-"),
    "empty literal": literal("", "_"),
    "spaces": regex(r"\s+", " "),
    "runs": regex(r" {2,}", "▁"),
    "any run": regex(r"a+", ""),
    "runs of one content": chain(regex(r" {2,}", "  "), regex(r"x{4,}", "xxxxx")),
    "deberta": regex(r"\s{2,}|[\n\r\t]", " "),
    "far": regex(r" +\z|a+$", "#"),
    "look": regex(r"a+(?=\s*b)|b*", "!"),
    "far run": regex(r" +▁", "▁"),
    "empty": regex(r"x*", "-"),
    "classes": regex(r"[\p{L}&&[^a-z]]|\p{Nd}{2}", "<>"),
    "delete": regex(r"\p{M}+|[,.]", ""),
    "once": chain(regex(r"\A▁", "▁▁"), regex(r"\A\s*(?=b)", "<"), regex(r"\Aa+", "")),
    "start": regex(r"\A", ">"),
    "clip": chain(kind("NFC"), regex(r"\s+", " "), LOWER),
    "xlnet": chain(literal("``", '"'), literal("''", '"'), kind("NFKD"), kind("StripAccents"), LOWER),
    "accents": chain(kind("NFD"), kind("StripAccents"), kind("NFC"), strip()),
    "lower first": chain(LOWER, kind("NFD"), kind("StripAccents"), literal("a", "b")),
    "marks stay": chain(kind("NFD"), LOWER),
    "bert and more": chain(literal("x", "\u302ey"), bert(), literal("b", "c"), prepend("Q")),
    "bytes": chain(LOWER, kind("ByteLevel"), literal("Ġ", "_")),
    "all": chain(kind("Nmt"), kind("NFKC"), bert(), literal(" ", "▁"), strip(), prepend("▁"), kind("NFD")),
}
ODD = [
    *"aAbBeEx \t\r\n'`,1",
    "\x0b\x0c",
    "\r\n",
    "  ",
    "É",
    "\u0301",
    "\u0323",
    "\u0300",
    "\u302e",  # marks that BERT keeps, of several classes
    "\u08d4",
    "\U0001d165",
    "\U0001d15e",  # holds one
    "İ",
    "ß",
    "Σ",
    "ς",
    "中",
    "｜",
    "，",
    "ﬁ",
    "①",
    "か",
    "\u3099",
]
ODD += [
    "\u200b",
    "\u200d",
    "\u200c",
    "\u00a0",
    "\u3000",
    "\u0085",
    "©",
    "\u0915",
    "\u094d",
    "\u1100",
    "\u1161",
    "\u11a8",
    "가",
    "각",
    "한",
]
ODD += [
    "😀",
    "\U0001f1e6",
    "▁",
    "Ġ",
    "\ufeff",
    "\u0600",
    "\u0903",
    "\0",
    "\x01",
    "\u2028",
    "\U0001d15e",
    "ﷺ",
    "\U000e0001",
    "\U0001e000",
]


@functools.cache
def engines(name: str) -> tuple[Callable[[str], str], Callable[[str], str], Any]:
    """(the reference, plain Python, the C) of a chain."""
    definition = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": CHAINS[name],
                  "pre_tokenizer": None, "post_processor": None, "decoder": None,
                  "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}  # fmt: skip
    reference = tokenizers.Tokenizer.from_str(json.dumps(definition)).normalizer.normalize_str
    return reference, normalize_function(harness["steps_of"](CHAINS[name])), harness["Chain"](CHAINS[name])


def difference(text: str, got: str, expected: str) -> str:
    at = next((i for i, (a, b) in enumerate(zip(got, expected, strict=False)) if a != b), min(len(got), len(expected)))
    return f"{ascii(text)[:120]}: at {at} {got[at - 5 : at + 20]!a}, expected {expected[at - 5 : at + 20]!a}"


def check(name: str, texts: Sequence[str], *, python: bool = True) -> None:
    reference, plain, native = engines(name)
    for text in texts:
        expected = reference(text)
        if python:
            got = plain(text)
            assert got == expected, ("python", difference(text, got, expected))
        for level in LEVELS:
            got = native(text, level)
            assert got == expected, (level, difference(text, got, expected))


def in_lines(words: Sequence[str], size: int = 20_000) -> list[str]:
    return ["\n".join(words[at : at + size]) for at in range(0, len(words), size)]


SCALARS = all_scalars()


@pytest.mark.parametrize("name", CHAINS)
def test_every_scalar_value(name: str) -> None:
    """Alone, and after a base before a mark; ASCII also by itself, where nothing is in lines."""
    check(name, in_lines(SCALARS))
    check(name, in_lines([f"e{char}\u0301" for char in SCALARS]), python=False)
    check(name, list(SCALARS[:0x300]))


@pytest.mark.parametrize("name", CHAINS)
def test_short_texts_of_odd_characters(name: str) -> None:
    rng = random.Random(3)
    check(name, ["", *ODD, *(a + b for a in ODD for b in ODD)])
    check(name, ["".join(rng.choices(ODD, k=rng.randrange(3, 14))) for _ in range(3000)])


@pytest.mark.parametrize("name", CHAINS)
@given(text=st.text(st.sampled_from("".join(ODD)) | st.characters(exclude_categories=["Cs"]), max_size=150))
def test_any_text(name: str, text: str) -> None:
    check(name, [text])


@pytest.mark.parametrize("name", CHAINS)
def test_every_phase_of_a_block(name: str) -> None:
    """Something to change at each place around the ends of blocks, in text that has nothing else to change, or only that."""
    rng = random.Random(4)
    texts = []
    for phase in range(64):
        for filler in ("a", "中", "я", " "):
            odd = "".join(rng.choices(ODD, k=rng.randrange(1, 4)))
            texts.append(filler * (64 + phase) + odd + filler * (130 - phase))
            texts.append(filler * phase + odd)
    check(name, texts)


@pytest.mark.parametrize("name", CHAINS)
def test_real_text(name: str, folder: Path) -> None:
    for corpus in ("english", "zh", "ru", "code", "vi", "hi", "ko", "emoji"):
        if corpus in modules.corpus_names():
            check(name, [modules.corpus(corpus, folder)[:60_000]])


@pytest.mark.parametrize("name", CHAINS)
def test_no_sanitizer_complains(name: str) -> None:
    rng = random.Random(5)
    reference, _, native = engines(name)
    texts = [
        "",
        *ODD,
        *("".join(rng.choices(ODD, k=size)) for size in [*range(2, 70), 100, 127, 128, 129, 500] for _ in range(2)),
    ]
    texts += [char * size for char in ("a", "A", " ", "\n", "中", "ﷺ", "é") for size in (64, 65, 66, 130, 5000)]
    broken = [
        bytes(rng.choices(b"aA \n\x80\xbf\xc3\xa9\xe3\x82\x99\xf0\xf4\xf7\xff", k=rng.randrange(150)))
        for _ in range(150)
    ]
    for level in LEVELS:
        answers = native.sanitized([text.encode() for text in texts], level)
        assert [answer.decode() for answer in answers] == [reference(text) for text in texts]
        broken += [b"a " + b"\x80" * 9000 + b" a", b"\xe3" * 9000 + b"  ", b"\x80" * 5000]
        native.sanitized(broken, level)  # such text has no right answer, but nothing outside it may be read


@pytest.mark.parametrize("name", CHAINS)
def test_a_megabyte_of_anything_takes_linear_time(name: str) -> None:
    _, _, native = engines(name)
    for unit in (
        "a",
        " ",
        "A",
        "\n",
        "é",
        "e\u0301",
        "\u0301",
        "中",
        "，",
        "\r\n",
        "ab",
        "가",
        "ﷺ",
        "©\u200d",
        "\u0915\u094d",
        "x ",
    ):
        text = unit * (500_000 // len(unit.encode()))
        started = time.perf_counter()
        native(text, LEVELS[-1])
        assert time.perf_counter() - started < 2.0, (unit, len(text))


CLEAN = {
    "NFC": "plain text, é, привет, 你好",
    "NFKC": "plain text, é, привет, 你好",
    "Lowercase": "plain text, é, привет, 你好",
    "StripAccents": "plain Text é 你好",
    "llama inverse": "",
    "literal longer": "'it' `is` 中文 é",
    "spaces": "one two three",
    "runs": "one two three\n中文 é",
    "far": "one two three  four\nfive",
    "precompiled": "plain text 中文 é",
    "Nmt": "plain text 中文 é",
    "bert cased": "plain text é",
}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_text_stays_where_it_is(name: str) -> None:
    reference, _, native = engines(name)
    text = CLEAN[name] * 20
    assert reference(text) == text
    for level in LEVELS:
        assert native(text, level) == text
        assert native.where == 0


def test_strip_copies_nothing() -> None:
    _, _, native = engines("strip")
    for level in LEVELS:
        assert native("  a b\n", level) == "a b"
        assert native.where == 1
        assert native("   ", level) == ""


def passes(normalizer: Normalizer) -> list[Any]:
    return [planned.work for planned in plan_passes(harness["steps_of"](normalizer))]


def test_chains_become_few_passes() -> None:
    assert [type(work) for work in passes(CHAINS["llama"])] == [CharacterPass]
    assert [type(work) for work in passes(CHAINS["llama inverse"])] == [CharacterPass]
    (fused,) = passes(bert())
    assert isinstance(fused, FusedPass) and [type(work) for work in fused.passes] == [
        CharacterPass,
        FormPass,
        CharacterPass,
    ]
    assert {0x302E, 0x1D165, 0x1D15E} <= fused.ordered and len(fused.ordered) < 200
    assert (
        fused.mapping[ord("É")] == "e"
        and fused.mapping[ord("中")] == " 中 "
        and fused.mapping[ord("각")] == "\u1100\u1161\u11a8"
    )
    for accents_dropped in (chain(kind("NFKD"), kind("StripAccents"), LOWER), CHAINS["lower first"]):
        assert [type(work) for work in passes(accents_dropped)] == [CharacterPass]
    assert [type(work) for work in passes(CHAINS["marks stay"])] == [FormPass, CharacterPass]
    assert [type(work) for work in passes(chain(kind("NFC"), kind("StripAccents")))] == [FormPass, CharacterPass]
    assert [type(work) for work in passes(chain(kind("Nmt"), LOWER, kind("StripAccents"), literal("x", "yy")))] == [
        CharacterPass
    ]
    assert passes(chain(prepend("a"), prepend("b"))) == [PrefixPass("ba")]
    assert passes(regex(" {2,}", "▁")) == [RunPass(" ", 2, "▁")]
    assert passes(chain(kind("NFC"), kind("NFC"))) == [FormPass("NFC")]
    assert passes(chain(prepend(""), literal("a", "a"), literal("ab", "ab"), strip(False, False), chain())) == []


def test_finders_find_their_set_and_of_ascii_nothing_else() -> None:
    rng = random.Random(6)
    for _ in range(30):
        points = {
            *rng.sample(range(128), rng.randrange(20)),
            *(ord(rng.choice(SCALARS)) for _ in range(rng.randrange(60))),
        }
        finder = build_finder(points)
        assert all(finder.accepts([chr(c)]) for c in points)
        assert [c for c in range(128) if finder.accepts([chr(c)])] == sorted(c for c in points if c < 128)
    assert not build_finder([]).accepts("aé中")
    lower = build_finder(c for c in passes(LOWER)[0].mapping)
    assert not lower.accepts("abcéпривет你好世界ひらがな한국어，。“”")


def test_classes_of_grapheme_clusters_are_those_of_the_wheel(capsys: pytest.CaptureFixture[str]) -> None:
    assert graphemes_generate.main(["--check"]) == 0, capsys.readouterr().out


def test_a_regex_that_is_not_regular_runs_on_the_regex_tier(tmp_path: Path, toy_definition: Any) -> None:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(toy_definition({"normalizer": regex(r"(a|b)\1", "x")})), encoding="utf-8")
    with pytest.raises(Unsupported):
        compile_normalizer(plan_passes(harness["steps_of"](regex(r"(a|b)\1", "x"))))
    compilation = analyse(read_definition(str(path)))
    assert compilation.tables is None
    (warning,) = slow_tiers(compilation)
    assert "the normalizer cannot run natively" in warning and r"(a|b)\1" in warning
    result = compile_definition(str(path), out_dir=tmp_path / "out", name="toy_backreference", verify_seconds=0.2)
    sys.path.insert(0, str(tmp_path / "out"))
    try:
        import toy_backreference  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    assert result.package.name == "toy_backreference"
    engine = tokenizers.Tokenizer.from_file(str(path))
    for text in ("aab", "abba", "bb aa b"):
        assert toy_backreference.encode(text).tolist() == engine.encode(text).ids


def test_too_large_an_automaton_is_no_refusal(tmp_path: Path, toy_definition: Any) -> None:
    path = tmp_path / "toy.json"
    pattern = r"(?:a|b)*a(?:a|b){13}c"
    path.write_text(json.dumps(toy_definition({"normalizer": regex(pattern, "x")})), encoding="utf-8")
    with pytest.raises(CompileError):
        compile_normalizer(plan_passes(harness["steps_of"](regex(pattern, "x"))))
    assert analyse(read_definition(str(path))).tables is None


def test_explain_says_what_each_step_became(tmp_path: Path, toy_definition: Any) -> None:
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(toy_definition({"normalizer": CHAINS["clip"]})), encoding="utf-8")
    text = explain_compilation(analyse(read_definition(str(path))))
    assert "pass 0: NFC: NFC" in text
    assert "pass 1: Replace: matches of '\\\\s+' become ' ', by 3 left and 2 right states, 1 characters ahead" in text
    assert "pass 2: Lowercase: 1488 characters by a table; first bytes 41-5A" in text


# ------------------------------------------------------------------ whole modules

ADDED = [
    {"id": 300 + i, "content": content, "special": i < 2, "single_word": False, "lstrip": i == 1, "rstrip": i == 1,
     "normalized": i >= 2}
    for i, content in enumerate(["<|e|>", "<s>", "Xy", "é", "①"])
]  # fmt: skip
MODULES = {
    "everything": CHAINS["all"],
    "clip": CHAINS["clip"],
    "inverse": CHAINS["llama inverse"],
    "strip": chain(strip(), LOWER),
    "nothing": regex(r"[^<Xyé①]", ""),
    "precompiled": chain(charsmap(), regex(r" {2,}", " ")),
}


@pytest.mark.parametrize("name", MODULES)
def test_ids_of_whole_modules(name: str, folder: Path, toy_definition: Any) -> None:
    """Stretches between added tokens are normalized by themselves; a text may become empty; large ones are cut into parts."""
    definition = toy_definition({"normalizer": MODULES[name], "added_tokens": ADDED})
    built = modules.build_toy(f"normalizer_{name}", definition, folder)
    engine = tokenizers.Tokenizer.from_str(json.dumps(definition))
    rng = random.Random(9)
    pieces = [*ODD, "<|e|>", "<s>", "Xy", "xy", "XY", "é", "ab", " a b "]
    texts = ["", " ", "  ", "<s>", " <s> ", *pieces]
    texts += ["".join(rng.choices(pieces, k=rng.randrange(1, 30))) for _ in range(1500)]
    expected = [encoding.ids for encoding in engine.encode_batch_fast(texts, add_special_tokens=False)]
    large = "".join(rng.choices([*pieces, "word ", "ｗｉｄｅ "], k=600_000))
    large_ids = engine.encode(large, add_special_tokens=False).ids
    for isa in built.isas:
        with built.isa(isa):
            for text, ids in zip(texts, expected, strict=True):
                assert built.module.encode(text).tolist() == ids, (isa, ascii(text))
            assert built.module.count(large) == len(large_ids)
            assert np.array_equal(
                built.module.encode_batch([large, "a", large], threads=2).ids[: len(large_ids)], large_ids
            )


# ------------------------------------------------------------------ shared cases and models


def test_normalizers_of_the_known_hard_cases(shared: Any) -> None:
    """The configurations of `cases` that have a normalizer, on the inputs of all cases; and what the cases say themselves."""
    inputs = [text for case in shared.faults.values() for text in case["input"] if isinstance(text, str)][:2000]
    seen = set()
    for path in sorted(shared.configs.glob("*.json")):
        try:
            normalizer = json.loads(path.read_text("utf-8"))["normalizer"]
        except (ValueError, KeyError, TypeError):  # damaged on purpose
            continue
        key = json.dumps(normalizer)
        if normalizer and key not in seen and path.name != "load_unknown_normalizer.json":
            seen.add(key)
            CHAINS[path.name] = normalizer
            check(path.name, inputs)
    assert len(seen) >= 3
    case = shared.faults["hf-precompiled-nfd"]
    _, plain, native = engines("hf_precompiled.json")
    for text, expected in zip(case["input"], case["expected"], strict=True):
        assert plain(text) == native(text, LEVELS[-1]) == expected["normalized"]


@pytest.mark.parametrize(
    "model", ["t5_base", "pegasus", "xlm_roberta", "clip", "claude", "bert_base_uncased", "llama2"]
)
def test_normalizers_of_real_models(model: str, shared: Any, folder: Path) -> None:
    name = f"model {model}"
    packed = (shared.root / "models" / model / "tokenizer.json.xz").read_bytes()
    CHAINS[name] = json.loads(lzma.decompress(packed))["normalizer"]
    rng = random.Random(7)
    check(name, in_lines(SCALARS))
    check(name, ["".join(rng.choices(ODD, k=rng.randrange(1, 20))) for _ in range(2000)])
    for corpus in ("english", "zh", "vi", "hi", "ko"):
        check(name, [modules.corpus(corpus, folder)[:40_000]])


def test_claude_on_corpora(folder: Path) -> None:
    """A byte-level model under NFKC."""
    built, reference = (
        modules.build_model("claude", folder),
        modules.reference("claude", modules.definition_file("claude", folder)),
    )
    for corpus in modules.corpus_names():
        text = modules.corpus(corpus, folder)[:150_000]
        expected = reference.encode(text)
        for isa in built.isas:
            with built.isa(isa):
                assert np.array_equal(built.module.encode(text, special="match"), expected), (corpus, isa)
