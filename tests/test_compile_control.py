"""Negative controls at compile time: a module whose C is altered must be refused, and nothing may be left behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile import driver
from gigatok_compile.errors import VerifyError

FAULTS = {
    "a start is lost at a block's end": ("boundary.inc.h", "return starts;", "return starts & ~(GT_NOWHERE + (1ull << 63));", "boundaries ("),
    "a stream is lost between words": ("boundary.inc.h", "  before[0] = p0;", "  before[0] = GT_NOWHERE;", "boundaries ("),
    "the right state at a chunk's end": ("boundary.h", "return map[0];", "return map[GT_RIGHT_STATES - 1] * 0;", "boundaries ("),
    "the walk": ("walk.h", "cuts[i] = (uint8_t)entry;", "cuts[i] = (uint8_t)(entry | (i == 77));", "boundaries (automaton) "),
    "one instruction set": ("isa_swar.h", "", "\n#define gt_flatten_swar(m, b, o) gt_flatten_plain((m) & ~(1ull << 40), b, o)\n", ""),
}  # fmt: skip
PATTERN = r"'(?:s|t)| ?\p{L}+| ?\p{N}{1,3}|\s+(?!\S)|\s+| ?[^\s\p{L}\p{N}]+"


@pytest.fixture
def source(toy_definition: Any, tmp_path: Path) -> str:
    split = {"type": "Split", "pattern": {"Regex": PATTERN}, "behavior": "Isolated", "invert": False}
    last = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    changes = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, last]}}
    path = tmp_path / "toy.json"
    path.write_text(json.dumps(toy_definition(changes)))
    return str(path)


def altered(files: dict[str, Any], file: str, old: str, new: str) -> dict[str, Any]:
    assert isinstance(files[file], str) and old in files[file], f"{file} has no {old!r}"
    text = files[file].replace(old, new, 1) if old else files[file] + new
    return files | {file: text}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_kernel_is_caught(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    file, old, new, told = FAULTS[kind]
    original = driver.render_module
    monkeypatch.setattr(driver, "render_module", lambda *parts: altered(original(*parts), file, old, new))
    with pytest.raises(VerifyError) as caught:
        driver.compile_definition(source, out_dir=tmp_path / "out", verify_seconds=3.0)
    message = str(caught.value)
    assert "toy: the compiled module is wrong: " in message and told in message
    assert "\n  right  " in message and "\n  got    " in message and "please report" in message
    assert not (tmp_path / "out" / "toy").exists()


def test_the_time_is_what_is_asked_for(source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a fault the module passes; the budget is passed on, and is about kept."""
    given: list[float] = []
    original = driver.verify_module

    def watched(*parts: Any, **options: Any) -> Any:
        given.append(options["budget_seconds"])
        return original(*parts, **options)

    monkeypatch.setattr(driver, "verify_module", watched)
    result = driver.compile_definition(source, out_dir=tmp_path, verify_seconds=0.5)
    assert given == [0.5]
    assert (tmp_path / "toy" / "manifest.json").exists() and "cases agree" in result.verified
