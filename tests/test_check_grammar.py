"""`--check-grammar`: what is said of a grammar, and what is found wrong with one.

The negative controls alter the C text, the bit program, the table or the oracle of a right grammar: each must be caught.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gigatok_compile.check import examples, grammar, speed
from gigatok_compile.check.chain import StepChain
from gigatok_compile.check.grammar import GrammarCheck, check_grammar
from gigatok_compile.check.library import SplitterLibrary
from gigatok_compile.cli import main
from gigatok_compile.errors import CompileError, PatternError, VerifyError
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.bits import Not
from gigatok_compile.split_plan import plan_pre_tokenizer
from gigatok_compile.verify import texts

DATES: dict[str, Any] = {
    "name": "dates",
    "dialect": "fancy",
    "pattern": r"\p{N}{4}-\p{N}{2}-\p{N}{2}| ?\p{L}+(?:'\p{L}+)*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+",
    "models": ["none, made up"],
    "examples": [["due 2026-11-29, isn't it?", ["due", " ", "2026-11-29", ",", " isn't", " it", "?"]]],
}
LONG_REPEAT = {"name": "long", "dialect": "fancy", "pattern": r"\p{L}{1,300}|\P{L}", "examples": [["ab1", ["ab", "1"]]]}
BEHIND = {
    "name": "behind",
    "dialect": "fancy",
    "pattern": r"(?<=\p{L})'\p{L}+|\p{L}+|\p{N}+|[^\p{L}\p{N}]",
    "examples": [["it's 1", ["it", "'s", " ", "1"]]],
}
REMOVES = {
    "name": "removes",
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Digits", "individual_digits": True}],
    },
    "examples": [[" ab  c12\n", ["ab", "c", "1", "2"]]],
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], str]:
    def write(contents: Any) -> str:
        path = tmp_path / "mine.json"
        path.write_text(contents if isinstance(contents, str) else json.dumps(contents))
        return str(path)

    return write


def check(path: str, **options: Any) -> tuple[GrammarCheck, str]:
    """A short check, and all that it said."""
    said: list[str] = []
    options = {"seconds": 0.4, "timing": False} | options
    return check_grammar(path, say=said.append, **options), "\n".join(said)


# ------------------------------------------------------------------ what is said


def test_a_grammar_that_no_library_knows(write: Any) -> None:
    found, said = check(write(DATES), timing=True)
    assert found.split.tier == "bitstream"
    assert re.search(r"^grammar dates$", said, re.MULTILINE)
    assert "models    none, made up" in said
    assert "dialect fancy" in said and "Unicode 16.0" in said
    assert "pre-tokenizer: native, the bitstream tier" in said
    assert "step 0 (pattern): bitstream" in said
    assert re.search(r"\d+ operations for 64 characters, \d+ classes", said)
    assert re.search(r"examples: 1 is right on the regex tier and in tiktoken [\d.]+", said)
    assert set(found.isas) >= {"swar", "automaton"}
    assert f"cases agree with the regex engine ({', '.join(found.isas)})" in said
    assert {speed.kernel for speed in found.speeds} == {*found.isas, "regex"}
    assert {speed.text for speed in found.speeds} == {"English", "Chinese", "code"}
    for isa in found.isas:
        assert re.search(rf"^  {isa} +[\d.]+ \([\d.]+\)", said, re.MULTILINE)


def test_every_kind_of_check_is_made(write: Any) -> None:
    found, said = check(write(DATES))
    kinds = (
        "examples",
        "edges",
        "short_strings",
        "every_window",
        "every_phase",
        "runs",
        "chunk_ends",
        "word_ends",
        "random_boundaries",
        "random_strings",
    )
    assert tuple(found.cases) == kinds
    assert min(found.cases.values()) > 0
    assert found.cases["every_phase"] > 64
    assert found.speeds == () and "speed" not in said


def test_cases_are_a_number_of_random_strings(write: Any) -> None:
    assert check(write(DATES), cases=3000, seconds=0.1)[0].cases["random_strings"] == 3000
    assert check(write(DATES), cases=0, seconds=0.1)[0].cases["random_strings"] == 0


@pytest.mark.parametrize(
    ("contents", "tier", "text"),
    [
        (DATES, "bitstream", "native, the bitstream tier"),
        (REMOVES, "bitstream", "some text is removed"),
        (LONG_REPEAT, "automaton", "because the pattern needs "),
        (BEHIND, "regex", "because look-behind is not compiled to an automaton"),
    ],
)
def test_every_tier(write: Any, contents: Any, tier: str, text: str) -> None:
    found, said = check(write(contents))
    assert found.split.tier == tier
    assert text in said
    assert (found.cases == {}) == (tier == "regex")
    assert ("because" in said) == (tier != "bitstream")


def test_a_grammar_that_is_not_regular_is_right_and_slow(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check-grammar", write(BEHIND), "--seconds", "0.3"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    caret = next(i for i, line in enumerate(lines) if line.strip().startswith("^"))
    assert lines[caret - 1][lines[caret].index("^") :].startswith("(?<=")
    assert "1 is right on the regex tier; not compared with tiktoken" in out
    assert re.search(r"^  regex +[\d.]+ \([\d.]+\)", out, re.MULTILINE)
    assert "warning: behind runs on the regex tier" in err


def test_a_space_before_the_text_is_no_matter_of_the_kernels() -> None:
    found, said = check("gpt2-prefix")
    assert found.split.tier == "bitstream" and found.cases["examples"] == 22
    assert "22 are right on the regex tier and in tokenizers" in said


def test_a_space_before_every_piece_is_told(write: Any) -> None:
    last = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": False}
    steps = {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, last]}
    found, said = check(write({"name": "x", "pre_tokenizer": steps, "examples": [["a12", ["a", "1", "2"]]]}))
    assert found.split.tier == "regex" and "because pre_tokenizer.pretokenizers[1]: add_prefix_space after a" in said


def test_a_step_behind_metaspace_sees_its_marks(write: Any) -> None:
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
    split = {"type": "Split", "pattern": {"String": "▁a"}, "behavior": "Isolated", "invert": False}
    steps = {"type": "Sequence", "pretokenizers": [metaspace, split]}
    found, said = check(write({"name": "x", "pre_tokenizer": steps, "examples": [["a ab a", ["a", " a", "b", " a"]]]}))
    assert found.split.tier == "regex" and "a step after Metaspace sees its marks" in said
    assert "1 is right on the regex tier and in tokenizers" in said


def test_long_patterns_are_shortened() -> None:
    _, said = check("o200k", seconds=0.1)
    (line,) = [line for line in said.splitlines() if line.startswith("    pattern ")]
    assert line.endswith(" ...") and len(line) < 120


def test_quiet_says_nothing(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check-grammar", write(DATES), "--seconds", "0.2", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_sources_can_be_kept(write: Any, tmp_path: Path) -> None:
    check(write(DATES), seconds=0.1, keep_c=tmp_path / "c")
    assert {"splitter.c", "boundary.inc.h", "tables.h", "tables.bin"} <= {p.name for p in (tmp_path / "c").iterdir()}


# ------------------------------------------------------------------ what is wrong with a grammar


def test_a_wrong_example_is_shown(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = DATES | {"examples": [*DATES["examples"], ["1é", ["1é"]]]}
    assert main(["--check-grammar", write(wrong), "--seconds", "0.2"]) == 1
    out, err = capsys.readouterr()
    assert "mine.json: 1 example is wrong\nexamples[1] of '1\\xe9'\n" in err
    assert "the file says  ['1\\xe9']\n" in err and "the steps give ['1', '\\xe9']\n" in err
    assert err.count("examples[") == 1  # the reference says the same
    assert "kernels" not in out


def test_an_example_on_which_the_engines_differ_is_our_defect(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StepChain, "pieces", lambda self, text: [text])
    with pytest.raises(VerifyError, match="read this grammar differently: please report it"):
        check(write(DATES))


def test_without_the_reference_engine_it_says_so(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examples, "find_spec", lambda name: None)
    _, said = check(write(DATES), seconds=0.1)
    assert "not compared with tiktoken\n  (tiktoken is not installed" in said


def test_no_examples_are_mentioned(write: Any) -> None:
    assert "examples: none" in check(write(DATES | {"examples": []}), seconds=0.1)[1]


def test_a_broken_pattern_shows_the_place(write: Any, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(DATES | {"pattern": r"\p{L}+|(\p{N}+"})
    assert main(["--check-grammar", path]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" not in err
    first, pattern, caret = err.splitlines()[-3:]
    assert first.startswith(f"gigatok-compile: {path}: pattern: ")
    assert pattern[caret.index("^") :] == r"(\p{N}+"
    with pytest.raises(PatternError):
        check(path)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ("{", "not a readable grammar file"),
        ({"name": "x", "dialect": "pcre", "pattern": "a"}, "mine.json: dialect: the dialect 'pcre'"),
        ({"name": "x", "pre_tokenizer": {"type": "Soup"}}, "mine.json: pre_tokenizer: the pre-tokenizer Soup"),
    ],
)
def test_a_file_that_is_no_grammar(write: Any, contents: Any, message: str) -> None:
    with pytest.raises(CompileError, match=re.escape(message)) as caught:
        check(write(contents))
    assert str(caught.value).count("mine.json") == 1


@pytest.mark.parametrize(("content", "message"), [(b"\xff", "not UTF-8 at byte 0"), (b"", "empty"), (None, "No such")])
def test_a_text_that_cannot_be_measured(write: Any, tmp_path: Path, content: bytes | None, message: str) -> None:
    text = tmp_path / "text"
    if content is not None:
        text.write_bytes(content)
    with pytest.raises(CompileError, match=message):
        check(write(DATES), timing=True, text=text)


def test_a_text_of_ones_own(write: Any, tmp_path: Path) -> None:
    text = tmp_path / "own.txt"
    text.write_text("on 2026-11-29\n" * 50)
    found, said = check(write(DATES), timing=True, text=text, seconds=0.1)
    assert {speed.text for speed in found.speeds} == {"own.txt"} and "own.txt" in said


USAGE = [
    (["--check-grammar", "cl100k", "gpt2"], "it takes the place of DEFINITION"),
    (["--check-grammar", "cl100k", "--install"], "so --install does not go with it"),
    (["--check-grammar", "cl100k", "-o", "x"], "so --out and --no-verify do not"),
    (["--check-grammar", "cl100k", "--seconds", "0"], "0 is not a number of seconds"),
    (["--check-grammar", "cl100k", "--cases", "-1"], "-1 is negative"),
    (["gpt2", "--cases", "5"], "it goes with --check-grammar only"),
    ([], "the following arguments are required: DEFINITION"),
]


@pytest.mark.parametrize(("arguments", "message"), USAGE)
def test_usage(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


# ------------------------------------------------------------------ negative controls


def broken_text(files: dict[str, Any], file: str, old: str, new: str) -> dict[str, Any]:
    assert old in files[file], f"{file} has no {old!r}"
    return files | {file: files[file].replace(old, new, 1)}


FAULTS = {
    "the last character of a block": (
        "boundary.inc.h",
        "return starts;",
        "return starts & ~(GT_NOWHERE + (1ull << 63));",
    ),
    "a start too many": ("boundary.inc.h", "return starts;", "return starts | (before[0] & (GT_NOWHERE + 2048));"),
    "a stream is lost between words": ("boundary.inc.h", "  before[0] = p0;", "  before[0] = GT_NOWHERE;"),
    "a stream is lost between sizes of word": (
        "bits.inc.h",
        "left->streams[i] = beside[i] << (63 - (count - 1) % 64);",
        "left->streams[i] = beside[i];",
    ),
    "a wide character after a chunk": (
        "boundary.h",
        "return gt_tag_blocks[64u * gt_tag_block_of[block] + low]",
        "return 1 ^ gt_tag_blocks[64u * gt_tag_block_of[block] + low]",
    ),
    "the walk": ("walk.h", "cuts[i] = (uint8_t)entry;", "cuts[i] = (uint8_t)(entry | (i == 77));"),
}


def fault(kind: str, files: dict[str, Any]) -> dict[str, Any]:
    if kind == "a table":
        data = bytearray(files["tables.bin"])
        data[ord("b")] ^= 1  # the tags of ASCII stand first
        return files | {"tables.bin": bytes(data)}
    if kind == "one instruction set":
        spelled = "\n#define gt_flatten_swar(m, b, o) gt_flatten_plain((m) & ~(1ull << 40), b, o)\n"
        return files | {"isa_swar.h": files["isa_swar.h"] + spelled}
    return broken_text(files, *FAULTS[kind])


@pytest.mark.parametrize("kind", [*FAULTS, "a table", "one instruction set"])
def test_a_broken_kernel_is_caught(write: Any, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    original = grammar.render_splitter
    monkeypatch.setattr(grammar, "render_splitter", lambda name, kernel: fault(kind, original(name, kernel)))
    with pytest.raises(VerifyError) as caught:
        check(write(DATES), seconds=2)
    message = str(caught.value)
    assert "dates: the compiled grammar is wrong: pieces (" in message
    assert "\n  right  [" in message and "\n  got    [" in message
    assert "please report" in message


@pytest.mark.parametrize("contents", [DATES, REMOVES])
def test_a_wrong_bit_program_is_caught(write: Any, monkeypatch: pytest.MonkeyPatch, contents: Any) -> None:
    original = grammar.plan_pre_tokenizer

    def wrong(steps: Any) -> Any:
        plan = original(steps)
        assert plan.kernel is not None and plan.kernel.bits is not None
        bits = plan.kernel.bits
        bits = replace(bits, initially=tuple(not value for value in bits.initially), starts=Not(Not(bits.starts)))
        return replace(plan, kernel=replace(plan.kernel, bits=bits))

    monkeypatch.setattr(grammar, "plan_pre_tokenizer", wrong)
    with pytest.raises(VerifyError, match="the compiled grammar is wrong"):
        check(write(contents))


def test_the_altered_texts_are_altered_in_nothing_else(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Positive control: the same way round, without a fault."""
    original = grammar.render_splitter
    monkeypatch.setattr(grammar, "render_splitter", lambda name, kernel: dict(original(name, kernel)))
    assert check(write(DATES), seconds=0.1)[0].cases


def test_a_kernel_that_crashes_is_caught(write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    original = grammar.render_splitter
    crash = "  if (memchr(text, '-', length)) abort();\n  gt_thread *const t"

    def crashing(name: str, kernel: Any) -> dict[str, Any]:
        return broken_text(dict(original(name, kernel)), "cuts.inc.h", "  gt_thread *const t", crash)

    monkeypatch.setattr(grammar, "render_splitter", crashing)
    with pytest.raises(VerifyError, match=r"the compiled grammar crashes \(SIGABRT\) in boundaries \w+: '-'"):
        check(write(DATES))


# ------------------------------------------------------------------ the parts


@pytest.mark.parametrize("name", grammar_names())
def test_the_oracle_cuts_all_examples_right(name: str) -> None:
    found = load_grammar(name)
    oracle = StepChain(found.steps)
    for example in found.examples:
        assert oracle.pieces(example.text) == list(example.pieces)
        data = example.text.encode()
        assert [data[a:b].decode() for a, b in oracle.byte_spans(example.text)] == list(example.pieces)


@pytest.mark.parametrize("contents", [DATES, REMOVES, LONG_REPEAT])
def test_counting_cuts_as_often_as_finding_them(write: Any, tmp_path: Path, contents: Any) -> None:
    found = load_grammar(write(contents))
    kernel = plan_pre_tokenizer(found.steps).kernel
    assert kernel is not None
    library = SplitterLibrary(grammar.build_splitter(found, kernel, tmp_path))
    for text in ("", "a", " ", "it's 1 2026-11-29\n", "ab cd " * 5000, "é" * 4095 + "x 1"):
        for isa in library.isas:
            assert library.count(text.encode(), isa) == len(library.spans(text.encode(), isa))


def test_chunk_ends_are_those_of_the_kernels() -> None:
    text = (files("gigatok_compile.templates") / "common.h").read_text()
    assert re.search(rf"^#define GT_CHUNK {texts.CHUNK} ", text, re.MULTILINE)
    data = next(texts.chunk_ends([["a"], [" "], ["é", "中"]], Random(1), chunks=40)).encode()
    at = around = 0
    while at + texts.CHUNK < len(data):
        at += texts.CHUNK
        while data[at] & 0xC0 == 0x80:
            at -= 1
        around += len(set(data[at - 12 : at + 12])) > 2
    assert around > 30


def test_samples_are_of_their_kinds_and_large() -> None:
    for title, data in speed.sample_texts().items():
        text = data.decode()
        assert len(data) >= speed.SAMPLE_BYTES
        assert (sum(ch > "\u2e80" for ch in text) > len(text) / 2) == (title == "Chinese")
