"""From raw cells to one figure per engine, model, text and kind, with the rounds' spread.

A figure is ranked only when every cell behind it gave the reference's ids. Of the two ways to call an engine (loop
of single calls, batch) the better one counts, for every engine alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.engines import CONTROL, OURS
from benchmarks.plan import Cell

RATES = ("first", "settled", "unseen", "replay")  # MB/s, higher is better
NANOSECONDS = ("short-20", "short-512")  # per call, lower is better
NOISE = 1.2  # a ratio nearer to 1 than this is no difference on a machine that is not ours alone
FULL_SHARE = 0.95  # CPU time by wall time; below it, another process had the core


@dataclass(frozen=True, slots=True)
class Figure:
    """One engine's answer for one row of a table."""

    value: float  # median over the rounds: MB/s, or ns
    low: float  # lowest and highest round
    high: float
    way: str  # "loop" or "batch"
    verdict: str  # "same" or why it is not ranked
    tail: float = 0.0  # 99th percentile, for short calls

    @property
    def ranked(self) -> bool:
        return self.verdict == "same"


RowKey = tuple[str, str, str]  # model, corpus, figure
Rows = dict[RowKey, dict[str, Figure]]  # engine -> figure


def is_ours(engine: str) -> bool:
    return engine == OURS or engine.startswith(OURS + "-")


def readings(cell: Cell) -> dict[str, list[float]]:
    """The figures in one cell, each as its raw values."""
    if "bytes" in cell and cell["kind"] == "pass":
        megabytes = cell["bytes"] / 1e6
        figures = {"first": [megabytes / (cell["first_call_s"] + cell["first_s"])]}
        figures |= {"settled": [megabytes / cell["first_s"]]}
        return figures | {"replay": [megabytes / seconds for seconds in cell["replay_s"]]}
    if cell["kind"] == "unseen" and "bytes" in cell:
        return {"unseen": [size / 1e6 / s for size, s in zip(cell["bytes"], cell["slice_s"], strict=True)]}
    if cell["kind"] == "short" and "median_ns" in cell:
        return {f"short-{cell['size']}": [cell["median_ns"]]}
    return {}


def worst_verdict(cells: Iterable[Cell]) -> str:
    verdicts = {cell["verdict"] for cell in cells}
    return next((v for v in ("differ", "error", "unchecked", "skip") if v in verdicts), "same")


def rows_of(result: dict[str, Any]) -> Rows:
    groups: dict[tuple[RowKey, str], dict[str, list[Cell]]] = defaultdict(lambda: defaultdict(list))
    for cell in result["cells"]:
        if cell["engine"] == CONTROL or cell["kind"] == "startup":
            continue
        names = {
            "pass": ("first", "settled", "replay"),
            "unseen": ("unseen",),
            "short": (f"short-{cell.get('size', '')}",),
        }
        for name in names[cell["kind"]]:
            groups[(cell["model"], cell["corpus"], name), cell["engine"]][cell["way"]].append(cell)
    rows: Rows = defaultdict(dict)
    for (key, engine), ways in groups.items():
        figures = [figure_of(key[2], way, cells) for way, cells in ways.items()]
        rows[key][engine] = best_way(figures, key[2])
    return rows


def figure_of(name: str, way: str, cells: list[Cell]) -> Figure:
    """All raw values of the rounds pooled for the median; the spread is that of the rounds' own medians."""
    verdict = worst_verdict(cells)
    rounds = [values for cell in cells if (values := readings(cell).get(name))]
    if not rounds:
        return Figure(0.0, 0.0, 0.0, way, verdict if verdict != "same" else "skip")
    medians = [median(values) for values in rounds]
    tails = [cell["p99_ns"] for cell in cells if "p99_ns" in cell]
    value = median(value for values in rounds for value in values)
    return Figure(value, min(medians), max(medians), way, verdict, median(tails) if tails else 0.0)


def best_way(figures: list[Figure], name: str) -> Figure:
    good = [figure for figure in figures if figure.ranked]
    if not good:
        return figures[0]
    lower_is_better = name in NANOSECONDS
    return min(good, key=lambda figure: figure.value if lower_is_better else -figure.value)


def best_rival(row: dict[str, Figure], lower_is_better: bool = False) -> str | None:
    rivals = [engine for engine, figure in row.items() if figure.ranked and not is_ours(engine)]
    sign = 1 if lower_is_better else -1
    return min(rivals, key=lambda engine: sign * row[engine].value, default=None)


def ratio(row: dict[str, Figure], ours: str, lower_is_better: bool = False) -> float | None:
    """Ours by the best rival of the same run; None when either is missing or not ranked."""
    rival = best_rival(row, lower_is_better)
    if rival is None or ours not in row or not row[ours].ranked:
        return None
    return row[ours].value / row[rival].value


def startup_of(result: dict[str, Any]) -> dict[tuple[str, str], dict[str, float]]:
    """(model, engine) -> medians: milliseconds to import and load, of the first call, and private megabytes after."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in result["cells"]:
        if cell["kind"] == "startup" and "import_s" in cell:
            groups[cell["model"], cell["engine"]].append(cell)
    return {key: startup_medians(cells) for key, cells in groups.items()}


def startup_medians(cells: list[Cell]) -> dict[str, float]:
    medians = {name: median(cell[f"{name}_s"] for cell in cells) * 1e3 for name in ("import", "load", "first_call")}
    for name in ("import_kb", "loaded_kb", "called_kb"):
        if all(cell[name] for cell in cells):
            medians[name.replace("kb", "mb")] = median(sum(cell[name].values()) for cell in cells) / 1000
    return medians
