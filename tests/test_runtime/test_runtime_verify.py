"""Verification of built modules: right ones pass, each kind of wrong one is caught and its fault shown on a small text."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gigatok_compile.definition_data import write_definition_data
from gigatok_compile.emit.package import render_package_files
from gigatok_compile.errors import VerifyError
from gigatok_compile.ir.definition import PostProcessor, SplitStep, TokenizerDefinition
from gigatok_compile.manifest import build_manifest
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import partition
from gigatok_compile.verify import verify_module
from gigatok_compile.verify.shrink import shrink
from gigatok_compile.verify.texts import de_bruijn, make_alphabet, short_strings
from gigatok_compile.verify.verify import _run

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def gpt2_program() -> Any:
    return partition(parse_pattern(GPT2, "oniguruma"))


def test_alphabet_has_characters_of_each_tag_and_width() -> None:
    program = gpt2_program()
    alphabet = make_alphabet([program.tags])
    assert len(alphabet) == len(program.tags)
    for tag in program.tags:
        chars = next(chars for chars in alphabet if any(lo <= ord(chars[0]) <= hi for lo, hi in tag.ranges))
        assert all(any(lo <= ord(c) <= hi for lo, hi in tag.ranges) for c in chars)
    assert any([len(c.encode()) for c in chars] == [1, 2, 3, 4] for chars in alphabet)
    assert make_alphabet([])


def test_two_programs_share_one_alphabet() -> None:
    digits = partition(parse_pattern(r"[0-9]|\p{N}+", "oniguruma"))
    both = make_alphabet([gpt2_program().tags, digits.tags])
    assert len(both) == len(make_alphabet([gpt2_program().tags])) + 1


def test_de_bruijn_text_holds_every_string_once() -> None:
    for chars, length in (("ab", 1), ("ab", 6), ("abc", 4), ("a", 3)):
        text = de_bruijn(chars, length)
        windows = [text[i : i + length] for i in range(len(text) - length + 1)]
        assert len(windows) == len(set(windows)) == len(chars) ** length


def test_short_strings_begin_with_the_shortest() -> None:
    source = short_strings("ab", Random(1), limit=4)
    assert [next(source) for _ in range(6)] == ["a", "b", "aa", "ab", "ba", "bb"]
    assert 3 <= len(next(source)) <= 11


def test_shrink_finds_a_smallest_text() -> None:
    assert (
        shrink("xx" * 50 + "a" + "y" * 77 + "b" + "zz", lambda t: "a" in t and "b" in t and t.index("a") < t.index("b"))
        == "ab"
    )
    assert shrink("abc", lambda t: len(t) >= 2) in ("ab", "bc", "ac")


@pytest.fixture(scope="module")
def program(stub_definition: TokenizerDefinition) -> Any:
    (step,) = [step for step in stub_definition.pre_tokenizer if isinstance(step, SplitStep)]
    gpt2_program()  # the tags of a richer pattern make better texts for a core that ignores them
    return partition(parse_pattern(step.pattern, step.dialect))


def test_a_right_module_passes(stub_directory: Path, stub_definition: TokenizerDefinition, program: Any) -> None:
    report = verify_module(
        stub_directory / "stub_tok", stub_definition, [program.tags, gpt2_program().tags], budget_seconds=1.5
    )
    assert report.isas[-2:] == ("slow", "automaton")
    assert min(report.cases.values()) > 0 and report.total > 2000
    assert json.loads(json.dumps(report.as_dict()))["cases"] == report.cases
    assert f"{report.total:,} cases agree with the regex engine ({', '.join(report.isas)};" in str(report)


FaultyPackage = Callable[[str], Path]


@pytest.fixture(scope="module")
def faulty(tmp_path_factory: Any, stub_directory: Path, build_stub: Callable[..., Path]) -> FaultyPackage:
    def make(flag: str) -> Path:
        package = Path(tmp_path_factory.mktemp("faulty")) / "stub_tok"
        package.mkdir()
        for file in (stub_directory / "stub_tok").iterdir():
            if file.is_file() and not file.name.startswith("_native"):
                (package / file.name).write_bytes(file.read_bytes())
        build_stub(package, flag)
        return package

    return make


def test_a_lost_boundary_is_shown_on_a_small_text(
    faulty: FaultyPackage, stub_definition: TokenizerDefinition, program: Any
) -> None:
    with pytest.raises(VerifyError) as caught:
        verify_module(faulty("-DWRONG_AT=63"), stub_definition, [program.tags, gpt2_program().tags], budget_seconds=1.0)
    message = str(caught.value)
    assert re.match(r"stub_tok: the compiled module is wrong: boundaries \((fast|avx512)\) of ", message)
    assert "right  [(0, 1), (1, " in message and "please report" in message
    text = ast.literal_eval(message.split(" of ", 1)[1].splitlines()[0])
    assert 63 < len(text.encode()) < 80  # the cut that is lost is at byte 63


def test_a_wrong_id_is_shown_on_a_small_text(
    faulty: FaultyPackage, stub_definition: TokenizerDefinition, program: Any
) -> None:
    with pytest.raises(
        VerifyError,
        match=r"ids \((fast|avx512), special='match'.*\) of 'aq'\n  right  \[97, 113\]\n  got    \[97, 114\]",
    ):
        verify_module(faulty("-DWRONG_ID"), stub_definition, [program.tags], budget_seconds=1.0)


def test_a_crash_is_reported_with_its_text(
    faulty: FaultyPackage, stub_definition: TokenizerDefinition, program: Any
) -> None:
    with pytest.raises(VerifyError, match=r"the compiled module crashes \(SIGABRT\) in ids (fast|avx512): '\\n1'"):
        verify_module(faulty("-DCRASH"), stub_definition, [program.tags, gpt2_program().tags], budget_seconds=1.0)


def test_a_hang_is_reported(faulty: FaultyPackage, tmp_path: Path) -> None:
    package = faulty("-DHANG")
    job = {"directory": str(package.parent), "name": package.name, "texts": ["fine", "a\n1b"], "what": "ids"}
    ended = _run(job, tmp_path, timeout=4)
    assert ended.timed_out and ended.outcome is None and ended.text == "a\n1b"


def test_a_package_that_does_not_load_is_reported(
    faulty: FaultyPackage, stub_definition: TokenizerDefinition, program: Any
) -> None:
    package = faulty("-DRIGHT")
    (package / "__init__.py").write_text("raise OSError('no such library')")
    with pytest.raises(VerifyError, match=r"(?s)the check of the compiled module failed:\n.*no such library"):
        verify_module(package, stub_definition, [program.tags], budget_seconds=1.0)


def test_files_that_differ_from_the_definition_are_reported(
    faulty: FaultyPackage, stub_definition: TokenizerDefinition, program: Any
) -> None:
    package = faulty("-DRIGHT")
    other = replace(stub_definition, sha256="0" * 64, post_processor=PostProcessor.around(suffix=(3,)))
    with pytest.raises(VerifyError, match="files and the definition differ in: digest, post-processor"):
        verify_module(package, other, [program.tags], budget_seconds=1.0)
    (package / "definition.npz").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(VerifyError, match=r"definition.npz cannot be read"):
        verify_module(package, stub_definition, [program.tags], budget_seconds=1.0)


def test_a_package_without_a_library_is_run(stub_definition: TokenizerDefinition, tmp_path: Path) -> None:
    package = tmp_path / "stub_tok"
    package.mkdir()
    manifest = build_manifest(stub_definition, engine="regex")
    for name, text in render_package_files(manifest).items():
        (package / name).write_text(text, encoding="utf-8")
    (package / "definition.npz").write_bytes(write_definition_data(stub_definition))
    report = verify_module(package, stub_definition, [gpt2_program().tags], budget_seconds=1.0)
    assert report.isas == ("regex",) and report.cases["regex_alone"] > 64
    assert "regex" in str(report)
