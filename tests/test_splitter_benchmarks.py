"""The benchmark of all grammars: what a rival's cells mean, the table, the texts, and taking up an older run. Toy data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import materials, splitter_report, splitters
    from benchmarks.splitter_report import Treatment, classify
finally:
    sys.path.remove(str(ROOT))


def passed(seconds: float, digest: str = "good") -> dict[str, Any]:
    return {"bytes": 1_000_000, "first_call_s": 0.1, "first_s": 0.5, "replay_s": [seconds, seconds * 2, seconds / 2],
            "digests": [digest, digest]}  # fmt: skip


def rivals(**engines: Any) -> dict[str, Any]:
    reference = {"english": {"digests": ["good"]}, "distinct": {"digests": ["good"]}}
    return {"tokenizers": reference} | {name.replace("_", "-"): cells for name, cells in engines.items()}


BASELINE = {"gigatoken": {"english": passed(0.002)}, "tokenizers-rc": {"english": passed(0.004)}}


def cells(**rates: float) -> list[dict[str, Any]]:
    return [
        {
            "isa": isa,
            "corpus": corpus,
            "bytes": 4_000_000,
            "pieces": 900_000,
            "seconds": 0.004 / rate,
            "ticks": 10_400_000,
        }
        for isa, rate in rates.items()
        for corpus in ("english", "zh", "code", "ja", "ru")
    ]


def result() -> dict[str, Any]:
    """Three grammars: on the fastest tier, on the slowest, and one that is refused by everybody."""
    return {
        "schema": 1,
        "rule": splitter_report.RULE_TEXT,
        "date": "2026-01-01",
        "machine": {"cpu": "Example"},
        "load_before": [0.1],
        "load_after": [0.2],
        "baseline": BASELINE,
        "grammars": {
            "late": {"models": ["M"], "rows": ["9"], "tier": "regex", "reason": "because", "cells": []},
            "fast": {
                "models": ["A", "B", "C", "D", "E"], "rows": ["1t"], "tier": "bitstream", "reason": "",
                "cells": cells(swar=0.5, avx512=3.0, automaton=0.4),
                "rivals": rivals(
                    gigatoken={"english": passed(0.0021), "distinct": passed(0.1)},
                    tokenizers_rc={"english": passed(0.02), "distinct": passed(0.1)},
                ),
            },
            "odd": {
                "models": [], "rows": ["2"], "tier": "bitstream", "reason": "", "wrong": ["swar zh"],
                "cells": [cell | {"pieces": 4} for cell in cells(avx2=1.0)],
                "rivals": rivals(
                    gigatoken={"english": {"error": "RuntimeError: no | such\n pattern"}},
                    tokenizers_rc={"english": passed(0.004), "distinct": passed(0.1, "bad")},
                ),
            },
        },
    }  # fmt: skip


# ------------------------------------------------------------------ what a rival does


@pytest.mark.parametrize(
    ("mine", "kind", "text"),
    [
        ({"english": passed(0.002), "distinct": passed(0.1)}, "fast path", "fast path 500 (1.0×)"),
        ({"english": passed(0.005), "distinct": passed(0.1)}, "fast path", "fast path 200 (2.5×)"),
        ({"english": passed(0.00502), "distinct": passed(0.1)}, "regex", "regex 199 (2.5×)"),
        ({"english": passed(0.2), "distinct": passed(0.1)}, "regex", "regex 5.0 (100.0×)"),
        ({"english": passed(0.002, "bad"), "distinct": passed(0.1)}, "wrong ids", "wrong ids 500 (1.0×)"),
        ({"english": passed(0.002), "distinct": passed(0.1, "bad")}, "wrong ids", "wrong ids 500 (1.0×)"),
        ({"english": {"error": "RuntimeError: Unknown"}}, "refused", "refused"),
        ({"english": {"error": "no answer in 90 s"}}, "error", "error"),
        ({"english": {"error": "exit -11: no output"}}, "error", "error"),
    ],
)
def test_treatments(mine: dict[str, Any], kind: str, text: str) -> None:
    found = classify({"rivals": rivals(gigatoken=mine)}, BASELINE, "gigatoken")
    assert (found.kind, str(found)) == (kind, text)


def test_an_engine_that_changes_its_ids_on_a_replay_is_wrong() -> None:
    cell = passed(0.002) | {"digests": ["good", "bad"]}
    facts = {"rivals": rivals(gigatoken={"english": cell, "distinct": passed(0.1)})}
    assert classify(facts, BASELINE, "gigatoken").kind == "wrong ids"


def test_without_a_word_of_the_reference_nothing_is_right() -> None:
    facts = {"rivals": {"tokenizers": {"english": {"error": "panics"}}, "gigatoken": {"english": passed(0.002)}}}
    assert classify(facts, BASELINE, "gigatoken") == Treatment("unchecked", 500.0, 1.0, "panics")
    assert classify({"tier": "bitstream"}, BASELINE, "gigatoken").kind == "-"


# ------------------------------------------------------------------ the table


def test_the_table() -> None:
    text = splitter_report.table(result())
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert rows[0].startswith("| grammar | models | tier | English, GB/s (TSC cycles a byte) |")
    assert "| fast | A, B, C, 2 more | bitstream | 3.00 (2.60) | 3.00 (2.60) | 3.00 (2.60) |" in rows[2]
    assert rows[2].endswith("| fast path 476 (1.1×) | regex 50 (5.0×) |")
    assert rows[3].startswith("| odd † |  | bitstream | 1.00 (2.60) ") and "| refused | wrong ids 250" in rows[3]
    assert rows[4] == "| late | M | regex | - | - | - | - | - |"
    assert rows[1].count("--:") == 3
    assert "avx512 kernels; load average 0.1 before, 0.2 after" in text
    assert "gigatoken 0.10.0 500 MB/s, tokenizers 1.0.0rc3 250 MB/s" in text
    assert "- A rival's slowdown is" in text and "up to 2.5 reads `fast path`" in text
    assert "- gigatoken 0.10.0, refused: RuntimeError: no \\| such pattern (odd)" in text
    assert "**Our kernels cut wrong**: odd (swar zh)." in text
    assert "cpu_share" not in text and "of their core" not in text
    assert "the share of hard positions is 0" in text


def test_a_shared_core_is_told() -> None:
    data = result()
    data["grammars"]["fast"]["rivals"]["gigatoken"]["english"]["cpu_share"] = 0.5
    data["grammars"]["odd"]["rivals"]["tokenizers-rc"]["english"]["cpu_share"] = 0.99
    assert "1 of 2 measurements of rivals had less than 95% of their core." in splitter_report.table(data)


def test_figures_of_another_kernel() -> None:
    text = splitter_report.table(result(), "automaton")
    assert "| fast | A, B, C, 2 more | bitstream | 0.40 (2.60)" in text
    assert "| odd † |  | bitstream | 1.00 (2.60)" in text  # it has no such kernel: its best one


def test_without_a_time_stamp_counter_it_is_nanoseconds() -> None:
    data = result()
    for facts in data["grammars"].values():
        for cell in facts["cells"]:
            cell["ticks"] = 0
    text = splitter_report.table(data)
    assert "GB/s (ns a byte)" in text and "3.00 (0.33)" in text and "time stamp" not in text


def test_the_table_goes_between_its_markers(tmp_path: Path) -> None:
    page, data = tmp_path / "README.md", tmp_path / "r.json"
    page.write_text(f"a\n{splitter_report.BEGIN}\nold\n{splitter_report.END}\nb\n", "utf-8")
    data.write_text(json.dumps(result()), "utf-8")
    assert splitter_report.main([str(data), "--update", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.startswith(f"a\n{splitter_report.BEGIN}\n2026-01-01, Example, one core")
    assert text.endswith(f"{splitter_report.END}\nb\n") and "old" not in text
    page.write_text("nothing", "utf-8")
    with pytest.raises(SystemExit, match="splitters: begin"):
        splitter_report.main([str(data), "--update", str(page)])


def test_the_readme_has_the_markers(root: Path) -> None:
    text = (root / "README.md").read_text("utf-8")
    assert text.index(splitter_report.BEGIN) < text.index(splitter_report.END)


# ------------------------------------------------------------------ what is measured


SPLIT = {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Isolated", "invert": False}
DIGITS = {"type": "Digits", "individual_digits": True}
OWN_BYTES = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        ({"pattern": "a"}, {"type": "Sequence", "pretokenizers": [SPLIT, splitters.BYTE_LEVEL]}),
        ({"pattern": ["a", "a"]}, {"type": "Sequence", "pretokenizers": [SPLIT, SPLIT, splitters.BYTE_LEVEL]}),
        ({"pre_tokenizer": None}, splitters.BYTE_LEVEL),
        ({"pre_tokenizer": DIGITS}, {"type": "Sequence", "pretokenizers": [DIGITS, splitters.BYTE_LEVEL]}),
        ({"pre_tokenizer": OWN_BYTES}, OWN_BYTES),
        (
            {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [DIGITS, OWN_BYTES]}},
            {"type": "Sequence", "pretokenizers": [DIGITS, OWN_BYTES]},
        ),
    ],
)
def test_pre_tokenizers_become_byte_level(contents: dict[str, Any], expected: dict[str, Any]) -> None:
    assert splitters.pre_tokenizer_of(contents) == expected


def test_in_a_distinct_text_no_word_comes_twice() -> None:
    documents = [" ".join(f"w{i}" for i in range(9000)), "w1 w2 new\nwords"]
    lines = splitters.distinct_text(documents, 10**9)
    words = [word for line in lines for word in line.split()]
    assert len(words) == len(set(words)) == 9002 and len(lines) == 3
    assert len(" ".join(splitters.distinct_text(documents, 500))) < 600


def test_ours_is_measured_and_compared(tmp_path: Path) -> None:
    texts = {"english": b"It's 12 o'clock. " * 50, "zh": "三个月过去了，".encode() * 50}
    facts = splitters.measure_ours("gpt2", texts, passes=1)
    assert facts["tier"] == "bitstream" and facts["operations"] > 5 and facts["wrong"] == []
    assert {cell["corpus"] for cell in facts["cells"]} == set(texts)
    assert {"swar", "automaton"} <= {cell["isa"] for cell in facts["cells"]}
    assert all(cell["seconds"] > 0 and cell["pieces"] > 0 for cell in facts["cells"])
    refused = tmp_path / "refused.json"
    refused.write_text(json.dumps({"name": "refused", "pre_tokenizer": {"type": "Soup"}}))
    assert splitters.measure_ours(str(refused), texts)["tier"] == "refused"


def test_wrong_cuts_are_noticed() -> None:
    class Library:
        isas = ("good", "bad")

        def spans(self, data: bytes, isa: str) -> list[tuple[int, int]]:
            return [(0, len(data))] if isa == "good" else []

    class Oracle:
        def byte_spans(self, text: str) -> list[tuple[int, int]]:
            return [(0, len(text.encode()))]

    assert splitters.wrong_cuts(Library(), Oracle(), {"zh": "时间".encode()}) == ["bad zh"]


def test_a_run_takes_up_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []

    def measure(name: str, texts: Any) -> dict[str, Any]:
        made.append(name)
        return {"models": [], "rows": ["1"], "tier": "bitstream", "reason": "", "cells": cells(swar=1.0), "wrong": []}

    monkeypatch.setattr(splitters, "measure_ours", measure)
    monkeypatch.setattr(splitters, "our_texts", lambda work, names, size: ({}, {}))
    out = tmp_path / "r.json"
    options = ["--no-rivals", "--cpu", "-1", "--out", str(out)]
    assert splitters.main(["--grammars", "gpt2", "CL100K_base", *options]) == 0
    assert splitters.main(["--grammars", "gpt2", "cl100k", "t5", *options]) == 0
    assert made == ["gpt2", "cl100k", "t5"]
    assert splitters.main(["--grammars", "t5", "--again", *options]) == 0
    assert made[3:] == ["t5"]
    found = json.loads(out.read_text("utf-8"))
    assert list(found["grammars"]) == ["gpt2", "cl100k", "t5"]
    assert out.read_text("utf-8").count("\n  ") > 2 and splitter_report.table(found)
    out.write_text(json.dumps(found | {"schema": 0}), "utf-8")
    with pytest.raises(SystemExit, match="another version"):
        splitters.main(["--grammars", "t5", *options])


def test_wrong_cuts_are_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = {"models": [], "rows": ["1"], "tier": "bitstream", "reason": "", "cells": [], "wrong": ["swar zh"]}
    monkeypatch.setattr(splitters, "measure_ours", lambda name, texts: dict(facts))
    monkeypatch.setattr(splitters, "our_texts", lambda work, names, size: ({}, {}))
    assert splitters.main(["--grammars", "t5", "--no-rivals", "--cpu", "-1", "--out", str(tmp_path / "r.json")]) == 1


@pytest.mark.parametrize(
    ("cpu", "name"), [("AMD EPYC", "epyc"), ("Intel(R) Xeon(R) Gold 6348", "xeon"), ("", "machine")]
)
def test_names_of_machines(cpu: str, name: str) -> None:
    assert splitters.machine_name(cpu) == name


def test_japanese_is_a_text_of_its_own() -> None:
    assert "ja" in materials.EXTRA_CORPORA and "ja" not in materials.CORPORA
