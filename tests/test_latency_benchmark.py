"""The latency benchmark on a tiny model: cutting texts, percentiles, turns, counters, tables. No time is asserted.

Workers run in this interpreter's environment, so the rivals that it lacks show how a failure is told.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import (
        latency,
        latency_engines,
        latency_models,
        latency_report,
        latency_run,
        latency_texts,
        latency_worker,
        peers,
    )
    from benchmarks.engines import Skip
    from benchmarks.latency_engines import OURS
finally:
    sys.path.remove(str(ROOT))

Tokenizer = pytest.importorskip("tokenizers").Tokenizer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = [
    "".join(word) for word in zip(*(random.Random(seed).choices(LETTERS, k=3000) for seed in range(5)), strict=True)
]


def tiny_unigram() -> dict[str, Any]:
    """Unigram over words that begin with a mark; sentencepiece can do the same."""
    syllables = sorted({left + right for left in LETTERS for right in "aeiou"})
    pieces = [["<s>", 0.0], ["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -4.0]]
    pieces += [[letter, -6.0 - 0.125 * number] for number, letter in enumerate(LETTERS)]
    pieces += [[text, -7.0 - 0.0625 * number] for number, text in enumerate(syllables)]
    special = [
        {
            "id": number,
            "content": content,
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "special": True,
        }
        for number, content in enumerate(("<s>", "<pad>", "</s>", "<unk>"))
    ]
    return {
        "version": "1.0",
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": None,
        "added_tokens": special,
        "normalizer": None,
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": None,
        "decoder": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "model": {"type": "Unigram", "unk_id": 3, "vocab": pieces, "byte_fallback": False},
    }


def read_word(text: str) -> int:
    return len(text.split())


# ------------------------------------------------------------------ texts and figures


def test_a_cut_text_has_the_wanted_number_of_ids():
    window = " ".join(WORDS[:200])
    for tokens in (1, 2, 17, 100, 200):
        piece = latency_texts.cut_at_tokens(window, tokens, read_word)
        assert piece is not None
        assert read_word(piece) == tokens
        assert window.startswith(piece)
        assert not piece.endswith(" ")


def test_a_window_that_is_too_short_gives_no_text():
    assert latency_texts.cut_at_tokens("one two three", 4, read_word) is None


def test_no_cut_is_made_where_the_number_cannot_come_out():
    assert latency_texts.cut_at_tokens("abcdef" * 50, 7, lambda text: len(text) // 2 * 2) is None


@pytest.mark.parametrize(("tokens", "wanted"), [(20, 30), (100, 7), (7, 100)])
def test_texts_are_distinct_windows_of_the_corpus(tokens: int, wanted: int):
    corpus = " ".join(WORDS)
    texts = latency_texts.cut_texts(corpus, tokens, wanted, read_word)
    assert len(texts) == wanted
    assert all(read_word(text) == tokens and text in corpus for text in texts)
    words = [word for text in texts for word in text.split()]
    assert len(words) - len(set(words)) <= len(WORDS) - len(set(WORDS))


def test_a_corpus_that_is_too_short_gives_fewer_texts():
    texts = latency_texts.cut_texts(" ".join(WORDS[:100]), 40, 50, read_word)
    assert 1 <= len(texts) <= 2


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 1000])
def test_percentiles_are_nearest_ranks(count: int):
    values = [float(value) for value in range(1, count + 1)]
    random.Random(count).shuffle(values)
    for share in (0.5, 0.99, 1.0):
        found = latency_texts.percentile(values, share)
        below = sum(value <= found for value in values)
        assert below >= share * count
        assert found == 1 or below - 1 < share * count


def test_percentiles_of_nothing():
    with pytest.raises(ValueError, match="no values"):
        latency_texts.percentile([], 0.5)


@pytest.mark.parametrize(("count", "parts"), [(0, 3), (1, 3), (10, 3), (12, 4), (5, 1)])
def test_blocks_are_all_the_calls_in_order(count: int, parts: int):
    found = latency_texts.blocks(count, parts)
    assert [number for begin, end in found for number in range(begin, end)] == list(range(count))
    assert len(found) <= parts
    assert all(begin < end for begin, end in found)


def test_ratios_are_those_of_the_texts_that_both_encoded():
    ours = dict.fromkeys(range(10), 100) | {10: 1_000_000}
    report = latency_run.summarize({text: 250 + text for text in range(10)}, ours)
    assert report == {"calls": 10, "p50_ns": 254, "p99_ns": 259, "p50_ratio": 2.54, "p99_ratio": 2.59}
    assert latency_run.summarize({1: 7}, {}) == {"calls": 1, "p50_ns": 7, "p99_ns": 7}


class TimedByTheClock:
    """A server that answers made-up times, and writes down whose turn it was."""

    def __init__(self, name: str, each: int, turns: list[str], limit: int = 10**6) -> None:
        self.failure: latency_run.Report = {}
        self.name, self.each, self.turns, self.limit = name, each, turns, limit
        self.ns: dict[int, int] = {}

    def time(self, begin: int, end: int, seconds: float, again: bool) -> None:
        self.turns.append(self.name)
        self.ns |= {text: self.each * (text + 1) for text in range(begin, min(end, begin + self.limit))}


def test_engines_take_turns():
    turns: list[str] = []
    servers = {name: TimedByTheClock(name, each, turns) for name, each in ((OURS, 10), ("a", 30), ("b", 5))}
    servers["b"].limit = 2  # its stretches end early
    found = latency_run.time_in_turn(servers, 100, 5, 1.0, False)  # type: ignore[arg-type]
    assert turns == [OURS, "a", "b"] * 5
    assert found[OURS] == {"calls": 100, "p50_ns": 500, "p99_ns": 990, "p50_ratio": 1.0, "p99_ratio": 1.0}
    assert found["a"]["p50_ratio"] == found["a"]["p99_ratio"] == 3.0
    assert found["b"]["calls"] == 10
    assert found["b"]["p50_ratio"] == 0.5


def test_time_calls_stops_when_its_seconds_are_over():
    spent, share = latency_worker.time_calls(lambda texts: None, ["a"] * 50, 10.0)
    assert len(spent) == 50
    assert min(spent) >= 0
    assert share >= 0
    assert len(latency_worker.time_calls(lambda texts: None, ["a"] * 50, -1.0)[0]) == 1


def test_a_long_word_is_one_word():
    assert latency_worker.long_word("one letter", 5) == "aaaaa"
    assert latency_worker.long_word("one letter", 5, 1) == "bbbbb"
    word = latency_worker.long_word("letters that do not repeat", 1000)
    assert word == latency_worker.long_word("letters that do not repeat", 1000)
    assert word != latency_worker.long_word("letters that do not repeat", 1000, 1)
    assert len(word) == 1000
    assert set(word) == set(LETTERS)


def served(*digests: str, **more: Any) -> latency_run.Report:
    timed = [{"calls": len(digests)}]
    return {"first": timed, "replay": timed * 2, "digests": list(digests), "about": {}, "share": 1.0, **more}


def test_texts_whose_ids_differ_are_counted_over_all_rounds():
    rounds = [
        {OURS: served("a", "b", "x"), "tokenizers": served("a", "b", "c"), "short": served("a"), "bad": served("a")},
        {
            OURS: served("y", "b", "c"),
            "tokenizers": served("a", "b", "c"),
            "short": served("a"),
            "bad": {"error": "no"},
        },
    ]
    judged = latency.judge_rounds(rounds, "tokenizers")
    assert (judged[OURS]["differ"], judged[OURS]["compared"]) == (2, 3)
    assert (judged["tokenizers"]["differ"], judged["tokenizers"]["compared"]) == (0, 3)
    assert (judged["short"]["differ"], judged["short"]["compared"]) == (0, 1)
    assert judged["bad"] == {"error": "no"}
    assert (len(judged[OURS]["first"]), len(judged[OURS]["replay"])) == (2, 4)
    cell = {"model": "m", "kind": "english", "size": 514, "engines": judged}
    assert latency.wrong_ids({"latency": [cell]}) == ["m, english, 514 tokens: ids of 2 of 3 texts are wrong"]
    assert latency.judge_rounds(rounds, "absent")[OURS]["compared"] == 0


# ------------------------------------------------------------------ definitions


def test_a_model_made_of_a_tokenizer_json_gives_its_ids(tmp_path: Path):
    sentencepiece = pytest.importorskip("sentencepiece")
    data = latency_models.sentencepiece_model(tiny_unigram())
    assert data is not None
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(data)
    reference = Tokenizer.from_str(json.dumps(tiny_unigram() | {"truncation": None}))
    for text in ("hello there", "banana bandana", " ".join(WORDS[:300]), "x 7 y"):
        assert processor.EncodeAsIds(text) == reference.encode(text, add_special_tokens=False).ids


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"type": "BPE", "vocab": {}, "merges": []}},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": None},
        {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": ""}] * 2}},
    ],
)
def test_no_model_is_made_where_it_could_not_be_alike(changes: dict[str, Any]):
    assert latency_models.sentencepiece_model(tiny_unigram() | changes) is None


def test_truncation_is_taken_out(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(tiny_unigram()), encoding="utf-8")
    found = latency_models.find_definition(f"tiny={path}", tmp_path / "definitions")
    assert found.source == "tokenizer.json"
    assert set(found.files) == {"tokenizer.json", "tokenizer.model"}
    assert json.loads(found.files["tokenizer.json"].read_text(encoding="utf-8"))["truncation"] is None
    assert Tokenizer.from_file(str(found.files["tokenizer.json"])).truncation is None


def test_what_does_not_compile_is_told(tmp_path: Path):
    path = tmp_path / "tokenizer.json"
    path.write_text('{"model": {"type": "BPE"}}', encoding="utf-8")
    definition = latency_models.Definition("broken", "tokenizer.json", {"tokenizer.json": path})
    found = latency_models.compile_module(definition, tmp_path, sys.executable)
    assert "module" not in found.files
    assert found.missing["module"].startswith("not compiled: ")
    assert str(tmp_path) not in found.missing["module"]
    assert latency_run.missing(OURS, found) == found.missing["module"]


def test_sentencepiece_adds_no_special_tokens(tmp_path: Path):
    pytest.importorskip("sentencepiece")
    path = tmp_path / "made.model"
    path.write_bytes(latency_models.sentencepiece_model(tiny_unigram()) or b"")
    with pytest.raises(Skip):
        latency_engines.load_sentencepiece(str(path), True)


# ------------------------------------------------------------------ callgrind's files

DUMP = """# callgrind format
version: 1
desc: Trigger: Client Request: {name}
events: Ir
ob=(1) /lib/x/_native.so
fn=(1) encode
3 10
+2 5
cob=(2) /lib/libc.so
cfn=(2) memcpy
calls=3 40
* 900
-1 7
ob=(2)
fn=(2)
40 900
ob=(1)
fn=(3) other
7 100
totals: 1922
"""


def test_the_cost_of_a_library_is_without_what_it_calls():
    text = DUMP.format(name="once-0")
    assert latency_run.self_cost(text, ["/_native."]) == 122
    assert latency_run.self_cost(text, ["/libc"]) == 900
    assert latency_run.self_cost(text, ["/other"]) == 0


def test_dumps_are_known_by_their_names(tmp_path: Path):
    for number, name in enumerate(("once-0", "twice-0")):
        (tmp_path / f"out.{number}").write_text(DUMP.format(name=name), encoding="utf-8")
    (tmp_path / "out").write_text("desc: Trigger: Program termination\ntotals: 5\n", encoding="utf-8")
    assert latency_run.read_callgrind(tmp_path, ["/_native."]) == {"once-0": (1922, 122), "twice-0": (1922, 122)}


def test_what_is_around_the_calls_is_taken_off():
    counted = {
        "once-0": (1100, 600), "twice-0": (2100, 1100), "once-1": (1060, 560), "twice-1": (2060, 1060),
        "first": (3060, 2060),
    }  # fmt: skip
    report = latency_run.per_call(counted, 10)
    assert report["warm"] == 100
    assert report["warm_inside"] == 50
    assert report["first"] == 300
    assert report["first_inside"] == 200
    assert report["spread"] == 0


# ------------------------------------------------------------------ all of it


def run_latency(folder: Path, *arguments: str) -> tuple[latency_run.Report, str]:
    """The benchmark on the tiny model: its result, and its tables."""
    definition = folder / "tokenizer.json"
    definition.write_text(json.dumps(tiny_unigram()), encoding="utf-8")

    def prepare_kind(kind: str, work: Path) -> tuple[Path, dict[str, object]]:
        path = work / f"{kind}.txt"
        path.write_text(" ".join(random.Random(kind).choices(WORDS[:200], k=3000)), encoding="utf-8")
        return path, {"origin": "made", "bytes": path.stat().st_size, "recurrence": 1.0}

    common = [
        "--models", f"tiny={definition}", "--sizes", "10:9", "40:6", "--rounds", "2", "--replays", "1", "--stretches", "2",
        "--seconds", "5", "--counted", "3", "--long-words", "1000", "4000", "--cpu", "-1", "--quiet",
        "--out", str(folder / "out" / "result.json"), "--table", str(folder / "table.md"),
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(latency_run.Place, "python_for", lambda self, engine: sys.executable)
        patch.setattr(latency, "prepare_kind", prepare_kind)
        patch.setattr(peers, "make_environments", lambda folder: None)
        assert latency.main([*common, *arguments]) == 0
    result: latency_run.Report = json.loads((folder / "out" / "result.json").read_text(encoding="utf-8"))
    return result, (folder / "table.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[latency_run.Report, str]:
    """All but what needs valgrind, which is slow."""
    pytest.importorskip("sentencepiece")
    parts = ("latency", "allocations", "memory", "linear")
    return run_latency(tmp_path_factory.mktemp("latency"), "--kinds", "english", "--parts", *parts)


PRESENT = (OURS, "tokenizers", "tokenizers-rc", "sentencepiece")


def test_every_text_size_and_engine_is_in_the_result(run: tuple[latency_run.Report, str]):
    result, _ = run
    assert [(cell["kind"], cell["size"]) for cell in result["latency"]] == [("english", 10), ("english", 40)]
    for cell in result["latency"]:
        assert list(cell["engines"]) == [OURS, *latency_engines.RIVALS]
        assert cell["texts"] == {10: 9, 40: 6}[cell["size"]]
        for engine in PRESENT:
            report = cell["engines"][engine]
            assert report["compared"] == cell["texts"]
            assert report["differ"] == 0, engine
            assert [each["calls"] for each in (*report["first"], *report["replay"])] == [cell["texts"]] * 4
            assert all(0 < each["p50_ns"] <= each["p99_ns"] for each in report["first"])
        for engine in ("iree-tokenizer", "tokie"):
            assert "error" in cell["engines"][engine] or cell["engines"][engine]["compared"]
    assert result["texts"]["tiny"]["english"]["10"]["texts"] == 9
    assert result["settings"]["counter_size"] == 40


def test_no_allocation_is_made_for_a_warm_text(run: tuple[latency_run.Report, str]):
    result, _ = run
    cells = {cell["engine"]: cell for cell in result["allocations"]}
    ours = cells[OURS]
    assert ours["encode"]["inside"] == 0
    assert ours["core"]["calls"] == 0
    assert ours["ranges"] == 1
    assert cells["tokenizers"]["encode"]["inside"] > 10  # so the counter does count


def test_instructions_are_counted_or_the_reason_is_told(tmp_path: Path):
    """Of ours and the reference, which is always there."""
    result, text = run_latency(tmp_path, "--parts", "instructions", "--kinds", "english", "--engines")
    assert [cell["engine"] for cell in result["instructions"]] == [OURS, "tokenizers"]
    if not shutil.which("valgrind"):
        assert all(cell["skip"] == "valgrind is not installed" for cell in result["instructions"])
        return
    for cell in result["instructions"]:
        assert 0 < cell["warm_inside"] < cell["warm"]
        assert 0 < cell["first_inside"] < cell["first"]
    ours, theirs = result["instructions"]
    assert ours["warm"] < theirs["warm"]
    assert ours["spread_inside"] < 0.02  # the code takes the same steps again
    assert_complete(text, 1)


def test_memory_and_long_words_of_every_engine(run: tuple[latency_run.Report, str]):
    result, _ = run
    for part in ("memory", "linear"):
        assert [cell["engine"] for cell in result[part]] == [OURS, *latency_engines.RIVALS]
    ours = result["memory"][0]
    assert ours["thread_bytes"] > 0
    assert set(ours["full_kb"]) == {"Private_Dirty", "Private_Clean"}
    for cell in result["linear"][: len(PRESENT)]:
        assert {kind: set(of) for kind, of in cell["seconds"].items()} == {
            "one letter": {"1000", "4000"},
            "letters that do not repeat": {"1000", "4000"},
        }
        assert cell["digests"] == result["linear"][1]["digests"]


def assert_complete(text: str, count: int) -> list[str]:
    """The tables of a page, none of whose cells is empty."""
    tables = [block for block in text.split("\n\n") if block.startswith("|")]
    assert len(tables) == count
    for table in tables:
        rows = [line.strip("|").split("|") for line in table.splitlines()]
        assert len({len(row) for row in rows}) == 1
        assert all(cell.strip() for row in rows[1:] for cell in row)
    return tables


def test_the_tables_are_complete(run: tuple[latency_run.Report, str]):
    result, text = run
    tables = assert_complete(text, 2 + 3)  # first pass and replay; allocations, memory, long words
    heads = tables[0].splitlines()[0]
    assert all(title in heads for title in ("compiled", "tokenizers", "sentencepiece", "iree-tokenizer", "tokie"))
    assert "10 (9)" in tables[0]
    assert tables[-1].count("| right |") == 2 * len(PRESENT)
    for word in ("kernels of ours", "Load average", "the reference is tokenizers", result["machine"]["cpu"]):
        assert word in text
    assert latency_report.tables(result) == text.rstrip("\n")


def made_result(**engines: latency_run.Report) -> latency_run.Report:
    """A result of one size, with a machine that does not exist."""
    machine = {"cpu": "Example", "cores": 2, "caches": {"L2": "1M"}, "flags": ["avx2"], "system": "Linux"}
    machine |= {"compiler": "cc 1", "python": "3.11", "transparent_huge_pages": "madvise"}
    cell = {"model": "m", "kind": "english", "size": 514, "texts": 3, "engines": engines}
    return {
        "date": "2026-01-01", "machine": machine, "load_before": [0.1], "load_after": [0.2], "valgrind": "1",
        "engines": {name: name for name in engines}, "latency": [cell], "corpora": {},
        "models": {"m": {"source": "tokenizer.json", "reference": "tokenizers", "notes": [], "missing": {}}},
        "settings": {
            "rounds": 1, "replays": 1, "special_tokens": False, "counter_size": 514, "sizes": ["514:3"], "long_words": [],
        },
    }  # fmt: skip


def passes(*figures: float, differ: int = 0, compared: int = 3) -> latency_run.Report:
    made = [{"calls": 3, "p50_ns": f, "p99_ns": 2 * f, "p50_ratio": f / 1e4, "p99_ratio": f / 1e4} for f in figures]
    return {
        "first": made,
        "replay": made,
        "differ": differ,
        "compared": compared,
        "about": {"version": "1"},
        "share": 1.0,
    }


def test_a_rival_whose_ids_are_wrong_is_never_the_best():
    result = made_result(
        ours=passes(1e4, 1e4, 1e4),
        wrong=passes(2e4, differ=1),
        unchecked=passes(2e4, compared=0),
        right=passes(9e4, 3e4, 5e4),
        slow=passes(2e6),
        broken={"error": "exit 1: no"},
        none={"skip": "it reads no .model"},
    )
    row = latency_report.tables(result).split("\n\n")[3].splitlines()[2]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == [
        "514 (3)", "10.0 / 20.0", "20.0 / 40.0 (2.0×) ≠1/3", "20.0 / 40.0 (2.0×) unchecked", "50.0 / 100 (5.0×)",
        "2,000 / 4,000 (200×)", "error", "-", "5.0 (right 1)", "5.0 (right 1)",
    ]  # fmt: skip
    notes = latency_report.notes(result)
    assert "latency, m, broken: error: exit 1: no, 1 times" in notes
    assert "latency, m, none: skip: it reads no .model, 1 times" in notes


def test_a_page_between_its_markers_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page, file = tmp_path / "page.md", tmp_path / "result.json"
    result = made_result(ours=passes(1e4))
    file.write_text(json.dumps(result), encoding="utf-8")
    page.write_text("before\n{}\nold\n{}\nafter\n".format(*latency_report.MARKERS), encoding="utf-8")
    assert latency_report.main([str(file), "--update", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert latency_report.main([str(file)]) == 0
    assert capsys.readouterr().out.strip() == latency_report.tables(result)


def test_a_worker_that_says_nothing_is_ended():
    command = [sys.executable, "-c", "import time; print('noise', flush=True); time.sleep(60)"]
    server = latency_run.Server(command, {}, 1.0)
    try:
        assert server.failure == {"error": "no answer in 1 s"}
        assert server.ask(do="ids", to=1) == {}
    finally:
        server.close()
    assert server.process.returncode != 0


def test_a_worker_that_fails_tells_its_last_line():
    server = latency_run.Server([sys.executable, "-c", "raise SystemExit('no such file')"], {}, 20.0)
    server.close()
    assert server.failure == {"error": "exit 1: no such file"}
    reports, trouble = latency_run.run_worker([sys.executable, "-c", "print('@@{\"a\": 1}'); 1 / 0"], {}, 20.0)
    assert reports == [{"a": 1}]
    assert trouble == "exit 1: ZeroDivisionError: division by zero"


def test_arguments_that_do_not_fit_are_refused(capsys: pytest.CaptureFixture[str]):
    for arguments in (["--sizes", "514"], ["--sizes", "514:x"], ["--sizes", "514:3", "--counter-size", "130"]):
        with pytest.raises(SystemExit):
            latency.parse_arguments(arguments)
    capsys.readouterr()


def test_started_as_a_file():
    program = ROOT / "benchmarks" / "latency.py"
    done = subprocess.run([sys.executable, str(program), "--help"], check=False, capture_output=True, text=True)
    assert done.returncode == 0
    assert "--modules" in done.stdout
