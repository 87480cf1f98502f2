"""--explain: what is said about each tier. The facts come from the stages; here it is about the telling."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition import read_definition
from gigatok_compile.driver import plan_definition_decoder
from gigatok_compile.explain import explain
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.split_plan import plan_split
from gigatok_compile.vocabulary.added_tokens import plan_added_tokens

TABLES = TableSet((Table("small", np.zeros(3, np.uint8), "few"), Table("large", np.zeros(4000, np.uint32), "many")), {})


@pytest.fixture
def told(toy_definition: Any, tmp_path: Any) -> Any:
    """The explanation of the toy definition with these pre-tokenizer steps before the byte map."""

    def tell(*patterns: str) -> str:
        steps = [{"type": "Split", "pattern": {"Regex": p}, "behavior": "Isolated", "invert": False} for p in patterns]
        last = toy_definition()["pre_tokenizer"]
        path = tmp_path / "toy.json"
        path.write_text(
            json.dumps(toy_definition({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [*steps, last]}}))
        )
        definition = read_definition(str(path))
        split = plan_split(definition)
        added = plan_added_tokens(definition.added_tokens, lambda text: text, exclusive=False)
        native = split.kernel is not None
        decoder = plan_definition_decoder(definition)
        facts, tables = ("vocabulary facts", TABLES) if native else (None, None)
        return explain(definition, split, added, decoder, facts, tables)

    return tell


def test_a_native_step(told: Any) -> None:
    text = told(r" ?\p{L}+|\P{L}")
    assert "pre-tokenizer: native, the bitstream tier (64 characters a step)" in text
    assert "step 0 (pre_tokenizer.pretokenizers[0].pattern.Regex): bitstream" in text
    assert "matches cover every text" in text
    assert "tags      3" in text
    assert "vocabulary facts" in text
    lines = text.splitlines()
    large, small = (next(i for i, line in enumerate(lines) if f" {name} " in line) for name in ("large", "small"))
    assert large < small
    assert "16,000" in lines[large]
    assert "tables: 16,003 bytes" in text


def test_the_regex_tier_says_which_construct_and_where(told: Any) -> None:
    text = told(r"(\w)\1|b")
    assert "pre-tokenizer: the regex tier" in text
    lines = text.splitlines()
    carets = [i for i, line in enumerate(lines) if line.strip().startswith("^")]
    assert carets
    for at in carets:  # under the back-reference
        column = lines[at].index("^")
        assert lines[at - 1][column:].startswith("\\1")
    assert "tables:" not in text


def test_several_steps(told: Any) -> None:
    text = told(r"\d", r"\s+")
    assert "because pre_tokenizer.pretokenizers[1].pattern.Regex" in text or "native" in text
    assert text.count("  step ") == 2
