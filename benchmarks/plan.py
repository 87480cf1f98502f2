"""What is measured, in which order, and whether the ids were right.

A task is one measurement in one process. Tasks of one text and kind stand next to each other, engine after engine,
and the whole comes round `rounds` times with the engines in another order, so drift of the machine meets all alike.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from benchmarks.engines import CONTROL, REFERENCE

KINDS = ("pass", "unseen", "short", "startup")
WAYS = ("loop", "batch")
SHORT_SIZES = (20, 512)
Cell = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Settings:
    engines: tuple[str, ...]  # without the control; the reference is in it
    models: tuple[str, ...]
    corpora: tuple[str, ...]
    kinds: tuple[str, ...] = KINDS
    rounds: int = 3
    replays: int = 5
    slices: int = 5  # timed ones, without the warm-up slice
    calls: int = 4000  # distinct short texts in each half of a latency measurement
    startups: int = 3  # processes a round
    max_seconds: float = 10.0  # a slow engine stops replaying after this
    short_corpus: str = "english"
    control_corpus: str = ""  # where the negative control runs; small, so that it costs little


@dataclass(frozen=True, slots=True)
class Task:
    kind: str
    engine: str
    model: str
    round: int
    corpus: str = ""
    way: str = ""
    options: dict[str, str] = field(default_factory=dict)

    def label(self) -> str:
        parts = (self.model, self.corpus, self.kind, self.way, self.options.get("size", ""))
        return " ".join(part for part in parts if part)


def turn_of(engines: tuple[str, ...], round_number: int) -> list[str]:
    """The engines of one round: the reference first and only once (it is slow and never the best), others in turn."""
    others = [engine for engine in engines if engine != REFERENCE]
    shift = (round_number - 1) % max(len(others), 1)
    order = others[shift:] + others[:shift]
    return [REFERENCE, *order] if round_number == 1 and REFERENCE in engines else order


def plan_tasks(settings: Settings) -> list[Task]:
    tasks: list[Task] = []
    for number in range(1, settings.rounds + 1):
        order = turn_of(settings.engines, number)
        for model in settings.models:
            for corpus in settings.corpora:
                if "pass" in settings.kinds:
                    options = {"replays": str(settings.replays), "max_seconds": str(settings.max_seconds)}
                    tasks += both_ways("pass", order, model, number, corpus, options)
                    if number == 1 and corpus == settings.control_corpus:
                        tasks += both_ways("pass", [CONTROL], model, number, corpus, {"replays": "0"})
                if "unseen" in settings.kinds:
                    tasks += both_ways("unseen", order, model, number, corpus, {"slices": str(settings.slices)})
            if "short" in settings.kinds:
                for size in SHORT_SIZES:
                    options = {"size": str(size), "calls": str(settings.calls)}
                    corpus = settings.short_corpus
                    tasks += [Task("short", engine, model, number, corpus, "loop", options) for engine in order]
            if "startup" in settings.kinds:
                tasks += [Task("startup", engine, model, number) for _ in range(settings.startups) for engine in order]
    return tasks


def both_ways(kind: str, order: list[str], model: str, number: int, corpus: str, options: dict[str, str]) -> list[Task]:
    """Each way in its own process: a batch after a loop would find warm caches."""
    ways = WAYS if number % 2 else WAYS[::-1]
    return [Task(kind, engine, model, number, corpus, way, options) for engine in order for way in ways]


# Verdicts.


def parity_key(cell: Cell) -> tuple[str, str, str, int]:
    """Cells with one key encoded the same texts, so their digests must be equal."""
    return cell["kind"], cell["model"], cell.get("corpus", ""), cell.get("size", 0)


def expected_digests(cells: Iterable[Cell]) -> dict[tuple[str, str, str, int], str | None]:
    """What the reference says for each key; None where it contradicts itself."""
    expected: dict[tuple[str, str, str, int], str | None] = {}
    for cell in cells:
        if cell["engine"] == REFERENCE:
            for digest in cell.get("digests", ()):
                if expected.setdefault(parity_key(cell), digest) != digest:
                    expected[parity_key(cell)] = None
    return expected


def judge(cell: Cell, expected: dict[tuple[str, str, str, int], str | None]) -> str:
    """`same`, `differ`, `unchecked` (no word from the reference), or `skip` / `error` where nothing was measured."""
    for failure in ("skip", "error"):
        if failure in cell:
            return failure
    wanted = expected.get(parity_key(cell))
    if wanted is None or not cell.get("digests"):
        return "unchecked"
    return "same" if all(digest == wanted for digest in cell["digests"]) else "differ"


def judge_all(cells: list[Cell]) -> None:
    expected = expected_digests(cells)
    for cell in cells:
        cell["verdict"] = judge(cell, expected)


def uncaught_controls(cells: Iterable[Cell]) -> list[Cell]:
    """Control cells that were NOT found to differ; any means that the comparison of ids is broken."""
    return [cell for cell in cells if cell["engine"] == CONTROL and cell["verdict"] != "differ"]
