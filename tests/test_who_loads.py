"""The comparison of who loads what: outcomes told apart with engines that crash, hang and differ on purpose; tables; costs.

Rivals are not needed: the engines here are made up, or this environment's tokenizers.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import compile_costs, rivals, sessions, who_loads, who_tables, who_texts, who_variants
finally:
    sys.path.remove(str(ROOT))

WORKER = """
import os, signal, sys, time
sys.path.insert(0, {root!r})
from benchmarks.who_worker import answer

class NoReader(Exception):
    pass

class Panic(BaseException):
    pass

def encode(text):
    print("noise on stdout")
    if text == "die":
        print("the engine's last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGSEGV)
    if text == "leave":
        os._exit(3)
    if text == "hang":
        time.sleep(60)
    if text == "panic":
        raise Panic("index out of bounds\\nsecond line")
    return [ord(c) + (c == {wrong!r}) for c in text]

def load():
    {loading}
    return encode

answer(load, NoReader)
"""
REFUSAL = 'Unsupported model type "WordPiece"'


def session(tmp_path: Path, loading: str = "pass", wrong: str = "", **limits: Any) -> sessions.Session:
    script = tmp_path / f"worker{len(list(tmp_path.iterdir()))}.py"
    script.write_text(WORKER.format(root=str(ROOT), wrong=wrong, loading=loading))
    return sessions.Session([sys.executable, str(script)], **limits)


# Processes.


def test_what_becomes_of_a_text_is_told_apart_and_the_next_one_is_encoded(tmp_path):
    engine = session(tmp_path, text_limit=2)
    assert engine.load().kind == sessions.LOADED
    texts = ("ab", "die", "a\0\n\u4e2d", "hang", "panic", "leave", "", "x" * 300_000)
    outcomes = [engine.encode(text) for text in texts]
    engine.close()
    kinds = [outcome.kind for outcome in outcomes]
    ids = sessions.IDS
    assert kinds == [ids, sessions.DIES, ids, sessions.HANGS, sessions.RAISES, sessions.DIES, ids, ids]
    assert outcomes[0].ids == (97, 98) and outcomes[2].ids == (97, 0, 10, 0x4E2D) and outcomes[6].ids == ()
    assert outcomes[1].message == "SIGSEGV: the engine's last words"
    assert outcomes[3].message == "no answer in 2 s"
    assert outcomes[4].message == "Panic: index out of bounds"
    assert outcomes[5].message.startswith("exit code 3")
    assert len(outcomes[7].ids) == 300_000


@pytest.mark.parametrize(
    ("loading", "kind", "message"),
    [
        (f"raise ValueError({REFUSAL!r} + chr(10) + 'more')", sessions.REFUSES, f"ValueError: {REFUSAL}"),
        ("raise Panic()", sessions.REFUSES, "Panic"),
        ("raise NoReader('reads tokenizer.json only')", sessions.NO_READER, "reads tokenizer.json only"),
        ("os.kill(os.getpid(), signal.SIGABRT)", sessions.DIES, "SIGABRT"),
        ("time.sleep(60)", sessions.HANGS, "no answer in 1 s"),
    ],
)
def test_what_becomes_of_loading_is_told_apart(tmp_path, loading, kind, message):
    engine = session(tmp_path, loading, load_limit=1 if kind == sessions.HANGS else 60)
    loaded = engine.load()
    engine.close()
    assert (loaded.kind, loaded.message) == (kind, message)


def test_an_engine_that_dies_often_is_not_started_for_ever(tmp_path):
    engine = session(tmp_path, deaths=3)
    engine.load()
    kinds = [engine.encode("die").kind for _ in range(5)]
    assert kinds == [sessions.DIES] * 3 + [sessions.NOT_RUN] * 2
    assert engine.encode("ab").kind == sessions.NOT_RUN


# Cells.


def test_a_cell_counts_outcomes_and_finds_a_short_example(tmp_path):
    reference, engine = session(tmp_path), session(tmp_path, wrong="q")
    reference.load()
    loaded = engine.load()
    texts = ["fine", "a q in the middle of a long text, which is left out " * 20, "panic", ""]
    expected = [sessions.Outcome(sessions.IDS, ids=tuple(map(ord, text))) for text in texts]
    cell = who_loads.compare(texts, expected, reference, engine, loaded)
    reference.close()
    engine.close()
    assert cell["counts"] == {sessions.EQUAL: 2, sessions.DIFFERS: 1, sessions.RAISES: 1}
    assert cell["example"]["text"] == "q"
    assert cell["example"]["right"] == (ord("q"),) and cell["example"]["got"] == (ord("q") + 1,)
    assert cell[sessions.RAISES] == {"text": "panic", "characters": 5, "message": "Panic: index out of bounds"}
    assert who_tables.cell_text(cell) == "**1 of 4 differ, 1 raise**"


def test_a_text_that_is_wrong_only_as_a_whole_is_its_own_example():
    text = "abc" * 30
    assert who_loads.shrink(text, lambda part: part == text) == text
    assert who_loads.shrink(text, lambda part: "ca" in part) == "ca"
    assert 200 <= len(who_loads.shrink("_" * 5000, lambda part: len(part) >= 200)) < 210


def test_the_example_begins_at_the_first_difference():
    ids = sessions.IDS
    right, got = sessions.Outcome(ids, ids=tuple(range(40))), sessions.Outcome(ids, ids=(*range(30), 7))
    example = who_loads.example_of("x" * 90, right, got)
    assert (example["at"], example["right"][0], example["got"], example["repeat"]) == (30, 30, (7,), 90)
    cut = who_loads.example_of("xyz", right, sessions.Outcome(ids, ids=tuple(range(20))))
    assert who_tables.ids_text(cut) == "is from id 20 on 20 21 22 23 24 25 26 27 ..., not nothing (40 ids, not 20)"


# Tables.


def cell(load: str = sessions.LOADED, message: str = "", **counts: int) -> dict[str, Any]:
    return {"load": load, "message": message, "counts": counts, "texts": sum(counts.values())}


def row(model: str, cells: dict[str, Any], load: str = sessions.LOADED) -> dict[str, Any]:
    reference = {"load": load, "message": "", "texts": 4}
    return {"model": model, "file": "tokenizer.json", "reference": reference, "cells": cells}


ROWS = [
    row(
        "bert", {"ours": cell(equal=4), "gigatoken": cell(sessions.REFUSES, REFUSAL), "tokie": cell(equal=3, differs=1)}
    ),
    row(
        "mini",
        {"ours": cell(equal=4), "gigatoken": cell(sessions.REFUSES, REFUSAL), "tokie": cell(sessions.DIES, "SIGABRT")},
    ),
    row("odd", {"ours": cell(sessions.REFUSES, "no"), "gigatoken": cell(equal=4)}, sessions.REFUSES),
    row(
        "sp",
        {"ours": cell(equal=4), "gigatoken": cell(equal=3, dies=1), "tokie": cell(sessions.NO_READER, "json only")},
    ),
]


def test_the_table_has_a_row_a_definition_and_each_refusal_once():
    table = who_tables.main_table(ROWS, who_tables.definition_name).splitlines()
    assert table[0] == "| definition | texts | compiled | gigatoken | tokie |"
    assert table[2] == "| bert (tokenizer.json) | 4 | equal | refuses (1) | **1 of 4 differ** |"
    assert table[3] == "| mini (tokenizer.json) | 4 | equal | refuses (1) | dies at load (2) |"
    assert table[4] == "| odd (tokenizer.json) | refused | refuses | **loads it** |  |"
    assert table[5] == "| sp (tokenizer.json) | 4 | equal | **1 die** | – |"
    assert table[7:] == [f"1. {REFUSAL}", "2. SIGABRT"]


def test_the_summary_counts_only_what_the_reference_loads():
    lines = who_tables.summary_table(ROWS).splitlines()
    assert lines[2] == "| compiled | 3 | 3 | 3 | 0 | 0 | 0 |"
    assert next(line for line in lines if "gigatoken" in line) == "| gigatoken | 3 | 1 | 0 | 0 | 1 | 2 |"
    assert next(line for line in lines if "tokie" in line) == "| tokie | 2 | 1 | 0 | 1 | 1 | 0 |"


def test_tables_go_between_the_markers_of_a_page(tmp_path, monkeypatch):
    variant = row("no_regex", {"tokie": cell(equal=4)}) | {"claim": "no regex"}
    results = {"versions": ["tokie 1"], "date": "2026-01-01", "definitions": ROWS, "variants": [variant]}
    (tmp_path / "who.json").write_text(json.dumps(results))
    page = tmp_path / "page.md"
    page.write_text("".join(f"{marker.format(part)}\n" for part in who_tables.PARTS for marker in who_tables.MARKERS))
    monkeypatch.setattr(sys, "argv", ["who_tables", str(tmp_path / "who.json"), "--update", str(page)])
    who_tables.main()
    written = page.read_text()
    assert "4 definitions, 2026-01-01. Versions: tokie 1." in written and "| no regex | 4 | equal |" in written


def test_examples_are_printable():
    assert who_tables.escaped("a\0\u4e2d\n") == r"`'a\x00\u4e2d\n'`"
    assert who_tables.escaped("```") == r"`'\x60\x60\x60'`"
    assert who_tables.escaped("_" * 200, 9000) == "`'_' * 9000`"
    assert who_tables.escaped("\u0301a" * 40).endswith("\\u0301a'`...") and len(who_tables.escaped("\u0301a" * 40)) < 90


def test_a_later_run_replaces_only_the_cells_it_measured():
    rows = [row("b", {"ours": cell(equal=1), "tokie": cell(equal=1)})]
    who_loads.replace_row(rows, row("b", {"tokie": cell(differs=1)}))
    who_loads.replace_row(rows, row("a", {}))
    assert [r["model"] for r in rows] == ["a", "b"]
    assert rows[1]["cells"] == {"ours": cell(equal=1), "tokie": cell(differs=1)}


# Texts and definitions.


def definition() -> dict[str, Any]:
    letters = [chr(code) for code in (*range(33, 127), *range(161, 173), *range(174, 256), *range(256, 324))]
    vocabulary = {letter: id for id, letter in enumerate(letters)} | {"th": 256, "the": 257}
    added = {"id": 258, "content": "<end>", "single_word": False, "lstrip": False, "rstrip": False}
    return {
        "version": "1.0", "truncation": None, "padding": None, "normalizer": None, "post_processor": None, "decoder": None,
        "added_tokens": [added | {"normalized": False, "special": True}],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["t h", "th e"]},
    }  # fmt: skip


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    for part in ("models/gpt2", "cases/configs", "corpora"):
        (folder / part).mkdir(parents=True)
    packed = lzma.compress(json.dumps(definition()).encode())
    (folder / "models" / "gpt2" / "tokenizer.json.xz").write_bytes(packed)
    (folder / "cases" / "configs" / "load_truncated-file.json").write_text('{"added_tokens": [')
    (folder / "cases" / "configs" / "tp.json").write_text(json.dumps(definition()))
    (folder / "cases" / "configs" / "cl100k.tiktoken").write_text("")
    (folder / "corpora" / "ja.txt.xz").write_bytes(lzma.compress("\u732b\n<|endoftext|>\n\u72ac\u72ac".encode()))
    return folder


def test_hostile_texts_are_valid_and_have_long_runs():
    texts = list(who_texts.hostile())
    assert all(who_texts.is_text(text) for text in texts)
    assert {"", "\0", " " * 16} <= set(texts) and max(map(len, texts)) >= who_texts.RUN
    assert not who_texts.is_text("a\ud83d")


def test_corpora_are_cut_between_characters(shared):
    assert who_texts.corpus_texts(shared / "corpora", 3) == ["\u732b"]
    assert who_texts.corpus_texts(shared / "corpora", 22) == ["\u732b", "\u72ac"]


def test_added_tokens_of_every_mixture_of_options_are_typed(tmp_path):
    path = tmp_path / "tokenizer.json"
    names = [f"<{number}>" for number in range(50)]
    path.write_text(json.dumps({"added_tokens": [{"content": name, "lstrip": name == "<30>"} for name in names]}))
    chosen = who_texts.added_tokens(path, "json")
    assert {"<0>", "<30>", "<49>"} <= set(chosen)
    assert who_texts.added_tokens(path, "ranks") == []
    assert "a<30>b" in set(who_texts.typed(chosen))


def test_each_variant_is_a_step_away_from_the_base(shared, tmp_path):
    variants = {variant.name: variant for variant in who_variants.make_variants(shared, tmp_path)}
    base = who_variants.small_gpt2(shared)
    for name in who_variants.CHANGES:
        assert json.loads(variants[name].path.read_text()) != base, name
    assert {name for name in variants if name.startswith("case_")} == {"case_tp_json", "case_load_truncated_file_json"}
    assert variants["case_tp_json"].added == ("<end>",)
    assert all(name.isidentifier() for name in variants)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("tokenizer.json", "json"),
        ("x.tiktoken", "ranks"),
        ("tekken.json", "tekken"),
        ("tokenizer.model", "sentencepiece"),
    ],
)
def test_kinds_of_files(name, kind):
    assert rivals.kind_of(Path(name)) == kind


def test_definitions_are_given_without_truncation_and_padding():
    plain = json.dumps(definition(), indent=3).encode()
    assert who_loads.without_lengths(plain, "json") == plain
    assert who_loads.without_lengths(b"ranks", "ranks") == b"ranks"
    cut = json.dumps(definition() | {"truncation": {"max_length": 8}, "padding": {"pad_id": 1}}).encode()
    assert json.loads(who_loads.without_lengths(cut, "json")) == definition()


@pytest.mark.parametrize(
    ("step", "kept"),
    [
        ({"type": "Split", "behavior": "Isolated", "invert": False}, True),
        ({"type": "Split", "behavior": "Removed", "invert": True}, True),
        ({"type": "Split", "behavior": "Removed", "invert": False}, False),
        ({"type": "Split", "behavior": "Contiguous"}, False),
        ({"type": "ByteLevel", "add_prefix_space": True}, False),
        ({"type": "ByteLevel", "add_prefix_space": False}, True),
    ],
)
def test_which_definitions_tiktoken_can_be_given(step, kept):
    assert rivals.keeps_pieces(step) == kept
    assert rivals.keeps_pieces({"type": "Sequence", "pretokenizers": [step]}) == kept


def test_a_row_is_measured_with_the_engines_of_this_environment(tmp_path, monkeypatch):
    """The loader of tokenizers stands for a rival: equal to the reference, which is itself."""
    pytest.importorskip("tokenizers")
    monkeypatch.setattr(who_loads, "python_of", lambda environment, folder: sys.executable)
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition()))
    limits = argparse.Namespace(megabytes=8192, seconds=20)
    texts = ["the <end>", "\ud83d", "", "the <end>"]
    row = who_loads.measure("tiny", path, texts, ["tokenizers-rc", "gigatoken"], limits, tmp_path)
    assert row["reference"] == {"load": "loaded", "message": "", "no_ids": 0, "texts": 2}
    assert row["cells"]["tokenizers-rc"]["counts"] == {"equal": 2}
    assert row["cells"]["gigatoken"]["load"] == sessions.REFUSES  # there is no such package here
    assert "gigatoken" in row["cells"]["gigatoken"]["message"]


# Costs.

STAND_IN = """
class _module:
    class engine:
        thread_bytes = staticmethod(lambda: 5 << 20)

kept = []

def encode(text):
    kept.append(bytearray(b"x") * (1 << 20))
"""


def test_memory_is_what_a_module_adds(tmp_path):
    (tmp_path / "module.py").write_text(STAND_IN)
    text = tmp_path / "text.txt"
    text.write_text("\n<|endoftext|>\n".join(["a document"] * 8))
    report = compile_costs.measure_memory(tmp_path, "module", text)
    for way in ("alone", "beside"):
        got = report[way]
        assert got["base_kb"] > 1000 and got["cache_kb"] == 5 * 1024
        assert 900 < got["short_kb"] - got["import_kb"] < 2000
        assert 8 * 1024 - 200 < got["text_kb"] - got["short_kb"] < 8 * 1024 + 2000


def test_a_refusal_has_no_costs(tmp_path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"version": "1.0", "model": {"type": "Parrot"}}')
    refused = compile_costs.run_compiler(path, tmp_path / "out", "m_parrot", None, verify=False)
    assert set(refused) == {"refused"} and "Parrot" in refused["refused"]


def test_the_table_of_costs():
    memory = {
        "import_seconds": 0.0021,
        "base_kb": 26624,
        "import_kb": 512,
        "short_kb": 2048,
        "text_kb": 8192,
        "cache_kb": 6144,
    }
    plain = {"cpu": 6.04, "wall": 9.0, "peak_mb": 200.2}
    measured = {
        "model": "gpt2", "file": "tokenizer.json", "plain": plain, "verified": plain | {"cpu": 9.4, "peak_mb": 300.0},
        "package_bytes": 8_300_000, "library_bytes": 6_400_000, "alone": memory, "beside": memory | {"text_kb": 7168},
    }  # fmt: skip
    rows = [{"model": "albert", "file": "tokenizer.model", "refused": "not compiled"}, measured]
    lines = compile_costs.table(rows).splitlines()
    assert [line.count("|") for line in lines] == [16] * 4
    assert lines[2].startswith("| albert (tokenizer.model) | refused: not compiled |")
    cells = "6.0 | 9.4 | 300 | 8.3 | 6.4 | 2.1 | 0.5 | 2.0 | 8.0 | 6.0 | 0.5 | 2.0 | 7.0 | 1.0"
    assert lines[3] == f"| gpt2 (tokenizer.json) | {cells} |"
    dated = [row | {"date": "2026-01-01", "machine": "Example"} for row in rows]
    assert compile_costs.page_text(dated).startswith("Measured on 2026-01-01; Example.\nWhat a process holds")
    assert "26.0 to 26.0 MB" in compile_costs.page_text(dated)


def test_results_have_a_line_for_each_definition() -> None:
    results = {"date": "2026-01-01", "versions": ["a 1"], "definitions": [{"model": "a", "cells": {}}, {"model": "b"}]}
    text = who_loads.results_text(results)
    assert json.loads(text) == results
    assert len(text.splitlines()) == 4
