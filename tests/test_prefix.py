"""ByteLevel(add_prefix_space=true) on the native tier, against tokenizers: a space before every stretch between added tokens."""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from gigatok_compile.definition.read import read_definition
from gigatok_compile.split_plan import plan_split

sys.path.insert(0, str(Path(__file__).parent))
import modules

PARTS = ["ab", " ", "  ", "\n", "\t", "\u00a0", "é", "e\u0301", "中", "'s", "1", "<|a|>", "<|b|>", "xyz", "aab"]


def definition(make: Any, use_regex: bool, normalizer: Any = None) -> dict[str, Any]:
    added = [("<|a|>", False, False), ("<|b|>", False, True), ("xyz", True, False)]
    return dict(
        make(
            {
                "pre_tokenizer": {
                    "type": "ByteLevel",
                    "add_prefix_space": True,
                    "trim_offsets": True,
                    "use_regex": use_regex,
                },
                "normalizer": normalizer,
                "added_tokens": [
                    {"id": 300 + i, "content": content, "special": not normalized, "single_word": False, "lstrip": False,
                     "rstrip": strips, "normalized": normalized}
                    for i, (content, normalized, strips) in enumerate(added)
                ],
            }
        )
    )  # fmt: skip


@pytest.fixture(scope="module", params=["cut", "whole", "normalized"])
def built(request: pytest.FixtureRequest, tmp_path_factory: Any, toy_definition: Any) -> tuple[modules.Built, Any]:
    normalizer = {"type": "NFC"} if request.param == "normalized" else None
    made = definition(toy_definition, request.param != "whole", normalizer)
    module = modules.build_toy(f"prefix_{request.param}", made, modules.session_folder(tmp_path_factory))
    return module, tokenizers.Tokenizer.from_str(json.dumps(made))


def check(built: tuple[modules.Built, Any], texts: list[str], threads: tuple[int, ...] = (1,)) -> None:
    module, reference = built
    expected = [encoding.ids for encoding in reference.encode_batch_fast(texts, add_special_tokens=False)]
    for isa, count in itertools.product(module.isas, threads):
        with module.isa(isa):
            for text, ids in zip(texts, expected, strict=True):
                got = module.module.encode(text, threads=count, special="match")
                assert np.array_equal(got, ids), (isa, count, text[:80])
                assert module.module.count(text, special="match") == len(ids)


def test_every_stretch_gets_its_space(built: tuple[modules.Built, Any]) -> None:
    check(built, ["".join(parts) for n in range(4) for parts in itertools.product(PARTS, repeat=n)][:1500])


def test_random_texts(built: tuple[modules.Built, Any]) -> None:
    rng = random.Random(1)
    check(built, ["".join(rng.choices(PARTS, k=rng.randrange(60))) for _ in range(600)])
    check(built, ["ab" * 4096, " " + "é" * 4096, "中" * 5000 + "<|a|>" + "中" * 5000, "xyz" * 3000])


def test_large_texts_over_threads(built: tuple[modules.Built, Any]) -> None:
    """Short stretches and a long one, which is cut."""
    rng = random.Random(2)
    short = "".join(rng.choices(PARTS, k=400_000))
    check(built, [short, "ab, ab1 " * 300_000 + "<|a|>" + "ab\n" * 500_000], threads=(1, 3))


def test_a_space_before_every_piece_is_not_compiled(toy_definition: Any, tmp_path: Path) -> None:
    steps = [
        {"type": "Split", "pattern": {"Regex": r"\d"}, "behavior": "Isolated", "invert": False},
        {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
    ]
    path = tmp_path / "tokenizer.json"
    path.write_text(
        json.dumps(toy_definition({"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}})), encoding="utf-8"
    )
    plan = plan_split(read_definition(str(path)))
    assert plan.kernel is None and "add_prefix_space after a splitting step" in plan.reason
