"""The benchmark harness: cutting texts, digests, verdicts, tables, and the adapter for our modules on a stand-in.

Nothing here looks at a clock's answer or at the network; workers run in this interpreter's environment.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import digests, engines, goals, materials, plan, report, run, summary, texts
finally:
    sys.path.remove(str(ROOT))

Tokenizer = pytest.importorskip("tokenizers").Tokenizer

DOCUMENTS = [
    " ".join(
        f"The cat {number * line} sat on mat {line}, and the other didn't. Кошка {line + number} сидела, 猫坐{line}在垫子上。"
        for line in range(40)
    )
    for number in range(1, 13)
]

STAND_IN = """
import os

import numpy as np
from tokenizers import Tokenizer

__version__ = "stand-in"
tokenizer = Tokenizer.from_file(os.path.join(os.path.dirname(__file__), "tokenizer.json"))


def encode(text):
    ids = np.array(tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.uint32)
    if os.environ.get("GIGATOK_ISA") == "wrong" and len(ids) > 3:
        ids[3] += 1
    return ids


def encode_batch(texts, threads=None):
    assert threads == 1
    parts = [encode(text) for text in texts]
    offsets = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return np.concatenate(parts), offsets
"""


def tiny_definition() -> dict[str, Any]:
    """Byte-level BPE with 256 bytes and a few merges; ids are merge ranks."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + index) for index in range(len(others))]
    merges = ["t h", "th e", "c a", "ca t", "Ġ the", "Ġ cat", "Ð º"]
    vocabulary = {letter: index for index, letter in enumerate(letters)}
    for merge in merges:
        vocabulary[merge.replace(" ", "")] = len(vocabulary)
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "vocab": vocabulary, "merges": merges},
    }


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> run.Bench:
    """A prepared work folder: one tiny model, one corpus, our stand-in module; all workers in this environment."""
    monkeypatch.setattr(run.Bench, "python_for", lambda self, engine: sys.executable)
    for folder in (tmp_path / "models" / "tiny", tmp_path / "compiled" / "tiny"):
        folder.mkdir(parents=True)
        (folder / "tokenizer.json").write_text(json.dumps(tiny_definition()), encoding="utf-8")
    (tmp_path / "compiled" / "tiny" / "__init__.py").write_text(STAND_IN, encoding="utf-8")
    (tmp_path / "ru.txt").write_text(f"\n{texts.SEPARATOR}\n".join(DOCUMENTS), encoding="utf-8")
    return run.Bench(tmp_path, tmp_path, tmp_path / "compiled", sys.executable, cpu=-1)


def settings(*names: str, kinds: tuple[str, ...] = plan.KINDS) -> plan.Settings:
    return plan.Settings(
        engines=names, models=("tiny",), corpora=("ru",), kinds=kinds, rounds=1, replays=1, slices=2, calls=40,
        startups=1, short_corpus="ru", control_corpus="ru",
    )  # fmt: skip


def result_of(cells: list[plan.Cell], chosen: plan.Settings) -> dict[str, Any]:
    """A result file as `run.main` writes it, with a machine that does not exist."""
    plan.judge_all(cells)
    facts = {name: {"title": engines.find_engine(name).title, "version": "1"} for name in chosen.engines}
    machine = {"cpu": "Example", "cores": 2, "caches": {"L2": "1M"}, "flags": ["avx2"], "system": "Linux"}
    machine |= {"compiler": "cc 1", "python": "3.11", "transparent_huge_pages": "madvise"}
    return {
        "date": "2026-01-01", "machine": machine, "load_before": [0.1], "load_after": [0.2], "engines": facts,
        "settings": {"models": list(chosen.models), "corpora": list(chosen.corpora), "rounds": 1, "short_corpus": "ru"},
        "corpora": {"ru": {"bytes": 10, "documents": 1, "recurrence": 2.0}}, "cells": cells,
    }  # fmt: skip


# Texts.


def test_documents_end_at_separator_lines_only():
    text = "one\n<|endoftext|>\ntwo <|endoftext|> two\n\nmore\n<|endoftext|>\n"
    assert texts.split_documents(text) == ["one", "two <|endoftext|> two\n\nmore"]


@pytest.mark.parametrize("size", [4, 5, 6, 7, 64])
def test_cut_pieces_join_to_the_text_and_keep_characters_whole(size):
    text = "aбв猫🐈" * 9
    pieces = texts.cut_at_characters(text, size)
    assert "".join(pieces) == text
    assert all(len(piece.encode()) <= size for piece in pieces)


def test_limited_documents_come_from_the_whole_corpus():
    documents = [f"{number:03}" + "x" * 97 for number in range(100)]
    kept = texts.limit_documents(documents, 1000)
    assert texts.byte_length(kept) <= 1000
    assert int(kept[0][:3]) < 10
    assert int(kept[-1][:3]) > 80


def test_a_single_long_document_is_limited_by_cutting():
    assert texts.limit_documents(["猫" * 1000], 100) == ["猫" * 33]


def test_slices_are_disjoint_even_and_complete():
    documents = [f"document {number} " + "x" * (number % 17) for number in range(600)]
    slices = texts.deal_slices(documents, 6)
    assert sorted(text for part in slices for text in part) == sorted(documents)
    sizes = [texts.byte_length(part) for part in slices]
    assert max(sizes) - min(sizes) < 100


def test_a_long_document_is_dealt_in_chunks():
    slices = texts.deal_slices(["é" * texts.LONG_DOCUMENT], 6)
    assert all(len(part) > 1 for part in slices)
    assert sum(texts.byte_length(part) for part in slices) == 2 * texts.LONG_DOCUMENT


def test_short_texts_are_distinct_and_of_the_size_asked_for():
    found = texts.short_texts(DOCUMENTS, 20, 50)
    assert len(found) == len(set(found)) == 50
    assert all(16 < len(text.encode()) <= 20 for text in found)


def test_recurrence_counts_pieces_by_distinct_pieces():
    assert materials.recurrence(["a a a a"]) == 2.0  # "a", " a", " a", " a"


# Digests and verdicts.


def test_digest_is_the_same_for_every_container():
    ids = [[1, 2], [], [70000]]
    expected = digests.digest_ids(np.array([1, 2, 70000], np.uint32), np.array([0, 2, 2, 3], np.int64))
    assert digests.digest_ids(*digests.join_ids(ids)) == expected
    assert digests.digest_ids(*digests.join_ids(np.array(part, np.int64) for part in ids)) == expected
    assert digests.digest_ids([1, 2, 70000], [0, 2, 2, 3]) == expected


def test_digest_sees_a_changed_id_and_a_shifted_boundary():
    whole = digests.digest_ids([1, 2, 3], [0, 1, 3])
    assert len({whole, digests.digest_ids([1, 2, 4], [0, 1, 3]), digests.digest_ids([1, 2, 3], [0, 2, 3])}) == 3


def cell(engine: str, digest: str, first_s: float = 1.0, way: str = "batch", **more: Any) -> plan.Cell:
    base = {"kind": "pass", "engine": engine, "model": "tiny", "corpus": "ru", "way": way, "round": 1}
    return (
        base
        | {"bytes": 10**7, "first_call_s": 0.0, "first_s": first_s, "replay_s": [first_s / 2], "digests": [digest]}
        | more
    )


def test_verdicts():
    cells = [
        cell("tokenizers", "good"),
        cell("gigatoken", "good"),
        cell("fastokens", "bad"),
        cell("tiktoken", "good", corpus="zh"),
        {"kind": "pass", "engine": "ours", "model": "tiny", "corpus": "ru", "way": "loop", "skip": "no module"},
    ]
    plan.judge_all(cells)
    assert [cell["verdict"] for cell in cells] == ["same", "same", "differ", "unchecked", "skip"]


def test_a_replay_with_other_ids_differs():
    cells = [cell("tokenizers", "good"), cell("gigatoken", "good", digests=["good", "bad"])]
    plan.judge_all(cells)
    assert cells[1]["verdict"] == "differ"


def test_a_reference_that_contradicts_itself_decides_nothing():
    cells = [cell("tokenizers", "one", way="loop"), cell("tokenizers", "two"), cell("gigatoken", "one")]
    plan.judge_all(cells)
    assert {cell["verdict"] for cell in cells} == {"unchecked"}


def test_an_uncaught_control_is_reported():
    cells = [cell("tokenizers", "good"), cell("control", "good")]
    plan.judge_all(cells)
    assert plan.uncaught_controls(cells) == [cells[1]]


# The plan.


def test_engines_take_turns_and_the_reference_goes_once_and_first():
    names = ("ours", "gigatoken", "fastokens", "tokenizers")
    assert [plan.turn_of(names, number) for number in (1, 2, 3)] == [
        ["tokenizers", "ours", "gigatoken", "fastokens"],
        ["gigatoken", "fastokens", "ours"],
        ["fastokens", "ours", "gigatoken"],
    ]


def test_each_way_is_a_process_of_its_own():
    tasks = plan.plan_tasks(settings("gigatoken", "tokenizers", kinds=("pass",)))
    assert [(task.engine, task.way) for task in tasks] == [
        ("tokenizers", "loop"),
        ("tokenizers", "batch"),
        ("gigatoken", "loop"),
        ("gigatoken", "batch"),
        ("control", "loop"),
        ("control", "batch"),
    ]


def test_isa_engines():
    assert engines.find_engine("ours-avx2").title == "compiled (avx2)"
    assert engines.forced_isa("ours-avx2") == "avx2"
    assert engines.forced_isa("tokenizers-rc") is None
    with pytest.raises(KeyError, match="no engine"):
        engines.find_engine("nobody")


# Workers, on the stand-in.


def test_stand_in_agrees_with_the_reference_in_every_measurement(bench):
    chosen = settings("ours", "tokenizers")
    cells, interrupted = run.measure(bench, plan.plan_tasks(chosen), quiet=True)
    assert not interrupted
    plan.judge_all(cells)
    assert {(cell["engine"], cell["kind"], cell["verdict"]) for cell in cells if cell["engine"] != "control"} == {
        (engine, kind, "same") for engine in chosen.engines for kind in plan.KINDS
    }
    assert [cell["verdict"] for cell in cells if cell["engine"] == "control"] == ["differ", "differ"]
    assert plan.uncaught_controls(cells) == []
    assert next(cell for cell in cells if cell["kind"] == "startup")["version"] == "0.23.3"
    text = report.tables(result_of(cells, chosen))
    assert "Russian, first pass" in text
    assert "2 of 2 wrong results were caught" in text


def test_forced_isa_reaches_the_module_and_wrong_ids_are_not_ranked(bench):
    chosen = settings("ours", "ours-wrong", "tokenizers", kinds=("pass", "short"))
    cells, _ = run.measure(bench, plan.plan_tasks(chosen), quiet=True)
    rows = summary.rows_of(result_of(cells, chosen))
    assert rows["tiny", "ru", "first"]["ours"].ranked
    assert rows["tiny", "ru", "first"]["ours-wrong"].verdict == "differ"
    assert rows["tiny", "ru", "short-512"]["ours-wrong"].verdict == "differ"


def test_tiktoken_adapter_reads_the_definition(bench):
    pytest.importorskip("tiktoken")
    tasks = [plan.Task("pass", name, "tiny", 1, "ru", "batch", {"replays": "0"}) for name in ("tokenizers", "tiktoken")]
    cells, _ = run.measure(bench, tasks, quiet=True)
    assert [cell["verdict"] for cell in cells] == ["same", "same"]


def test_a_measurement_that_shared_its_core_is_repeated_and_the_best_attempt_counts(bench, monkeypatch):
    shares = iter((0.5, 0.9, 0.7))
    monkeypatch.setattr(run.Bench, "run", lambda self, task: {"cpu_share": next(shares)})
    found = run.run_undisturbed(bench, plan.Task("pass", "gigatoken", "tiny", 1), retries=2)
    assert found == {"cpu_share": 0.9, "attempts": 3}


def test_a_model_without_a_module_is_skipped(bench):
    assert "no compiled module" in bench.run(plan.Task("startup", "ours", "absent", 1))["skip"]


def test_a_module_that_fails_is_an_error_with_its_message(bench):
    (bench.work / "compiled" / "tiny" / "__init__.py").write_text("raise RuntimeError('broken on purpose')")
    assert "broken on purpose" in bench.run(plan.Task("startup", "ours", "tiny", 1))["error"]


# Summaries and tables.


def judged(*cells: plan.Cell) -> dict[str, Any]:
    names = dict.fromkeys(str(cell["engine"]) for cell in cells)
    return result_of(list(cells), settings(*names))


def test_the_better_way_counts_and_the_ratio_is_to_the_best_rival():
    result = judged(
        cell("tokenizers", "good", 5.0),
        cell("ours", "good", 0.05, "loop"),
        cell("ours", "good", 0.02),
        cell("gigatoken", "good", 0.04),
        cell("fastokens", "bad", 0.001),
    )
    row = summary.rows_of(result)["tiny", "ru", "first"]
    assert (row["ours"].value, row["ours"].way) == (500.0, "batch")
    assert summary.best_rival(row) == "gigatoken"  # fastokens is faster, but its ids differ
    assert summary.ratio(row, "ours") == 2.0
    line = next(line for line in report.tables(result).splitlines() if line.startswith("| Russian, first pass"))
    assert line == "| Russian, first pass | 2.0ᵇ | **500**ᵇ | 250ᵇ | differ | 2.00 |"


def test_a_way_that_differs_is_left_out_though_faster():
    result = judged(cell("tokenizers", "good", 5.0), cell("ours", "bad", 0.01, "loop"), cell("ours", "good", 0.02))
    assert summary.rows_of(result)["tiny", "ru", "first"]["ours"].way == "batch"
    assert "differ: ours tiny ru pass loop" in report.tables(result)


def test_rounds_are_pooled_and_their_spread_is_kept():
    rounds = [cell("tokenizers", "good", 5.0)]
    rounds += [cell("gigatoken", "good", seconds, round=number) for number, seconds in enumerate((0.1, 0.2, 0.4), 1)]
    figure = summary.rows_of(judged(*rounds))["tiny", "ru", "first"]["gigatoken"]
    assert (figure.value, figure.low, figure.high) == (50.0, 25.0, 100.0)


def test_one_wrong_round_takes_the_engine_out():
    result = judged(
        cell("tokenizers", "good", 5.0), cell("gigatoken", "good", 0.1), cell("gigatoken", "bad", 0.1, round=2)
    )
    assert summary.rows_of(result)["tiny", "ru", "first"]["gigatoken"].verdict == "differ"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "-"), (1.1, "≈ 1.10"), (0.9, "≈ 0.90"), (1.3, "1.30"), (0.5, "0.50")]
)
def test_ratios_within_the_noise_are_marked(value, shown):
    assert report.show_ratio(value) == shown


def test_first_pass_counts_the_first_call_and_the_row_below_does_not():
    rows = summary.rows_of(judged(cell("tokenizers", "good", 0.5, first_call_s=0.5)))
    assert rows["tiny", "ru", "first"]["tokenizers"].value == 10.0
    assert rows["tiny", "ru", "settled"]["tokenizers"].value == 20.0


def test_bundles_are_cut_at_lines():
    pieces = list(materials.cut_at_lines("ab\ncd\nef\n\ngh", 4))
    assert pieces == ["ab\ncd\n", "ef\n\ngh"]


def test_goals_say_met_missed_or_absent():
    english = [
        cell("tokenizers", "good", 5.0, corpus="english"),
        cell("ours", "good", 0.02, corpus="english"),
        cell("gigatoken", "good", 0.05, corpus="english"),
    ]
    lines = goals.check_goals(judged(*english)).splitlines()
    assert lines[1] == "met     tiny english first, ours, by the best rival: 2.50 (goal >= 2, aim 3)"
    assert lines[3].startswith("absent  tiny zh first")


def test_result_file_holds_one_cell_a_line_and_reads_back(tmp_path):
    result = judged(cell("tokenizers", "good", 5.0), cell("ours", "good", 1 / 3))
    path = tmp_path / "results" / "x.json"
    run.write_result(path, result)
    read = json.loads(path.read_text(encoding="utf-8"))
    assert read["cells"][1]["first_s"] == 0.333333
    assert sum(line.startswith('{"kind"') for line in path.read_text(encoding="utf-8").splitlines()) == 2
    assert report.tables(read) == report.tables(run.rounded(result))


def test_tables_go_between_the_markers(tmp_path):
    page = tmp_path / "README.md"
    page.write_text(f"before\n{report.BEGIN}\nold\n{report.END}\nafter\n", encoding="utf-8")
    report.update_file(page, "new")
    assert page.read_text(encoding="utf-8") == f"before\n{report.BEGIN}\nnew\n{report.END}\nafter\n"
    page.write_text("no markers", encoding="utf-8")
    with pytest.raises(SystemExit, match="lacks the lines"):
        report.update_file(page, "new")


def test_figure_is_drawn_and_the_same_twice(tmp_path):
    pytest.importorskip("matplotlib")
    from benchmarks.plot import draw

    result = judged(cell("tokenizers", "good", 5.0), cell("ours", "good", 0.02), cell("gigatoken", "bad", 0.05))
    first, second = tmp_path / "a.svg", tmp_path / "b.svg"
    draw(result, first)
    draw(result, second)
    assert first.read_bytes() == second.read_bytes()
    assert b"<svg" in first.read_bytes()
