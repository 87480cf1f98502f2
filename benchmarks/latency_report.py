#!/usr/bin/env python3
"""Markdown tables out of a result file of `latency.py`.

    python -m benchmarks.latency_report RESULT.json [--update docs/latency.md]

A file that `--update` writes to must hold the lines of MARKERS.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.latency_engines import OURS
from benchmarks.report import lay_out, update_file
from benchmarks.summary import FULL_SHARE

Report = dict[str, Any]
MARKERS = ("<!-- latency: begin -->", "<!-- latency: end -->")
KIND_TITLES = {
    "english": "English, whose words repeat",
    "unique": "text whose words do not repeat",
    "distinct": "English words, each once",
}
PASS_TITLES = {"first": "first pass", "replay": "replay"}


def tables(result: Report) -> str:
    """All that was measured, with the machine and how to read it."""
    parts = [machine_line(result)]
    for model in result["models"]:
        parts.append(f"### {model}")
        for part in ("latency", "instructions", "allocations", "memory", "linear"):
            cells = [cell for cell in result.get(part, ()) if cell["model"] == model]
            if cells:
                parts += TABLES[part](result, cells)
    parts.append(notes(result))
    return "\n\n".join(parts)


def headings(result: Report) -> dict[str, str]:
    """engine -> title with its version, in the order of the run."""
    about: dict[str, Report] = {}
    for cell in result.get("latency", ()):
        for engine, report in cell["engines"].items():
            about[engine] = report.get("about") or about.get(engine, {})
    for part in ("instructions", "allocations", "memory", "linear"):
        for cell in result.get(part, ()):
            about[cell["engine"]] = about.get(cell["engine"]) or cell.get("about", cell)
    return {
        engine: title if engine == OURS else f"{title} {about.get(engine, {}).get('version', '')}".rstrip()
        for engine, title in result["engines"].items()
    }


def failure(report: Mapping[str, Any]) -> str | None:
    """What stands in the cell of an engine that was not measured."""
    return "error" if "error" in report else "-" if "skip" in report else None


# ------------------------------------------------------------------ latency


def middle(passes: Sequence[Report], key: str) -> float | None:
    """The median over passes; None where no pass has it."""
    values = [each[key] for each in passes if key in each]
    return median(values) if values else None


def microseconds(nanoseconds: float) -> str:
    value = nanoseconds / 1e3
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def times(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def best_right(engines: Mapping[str, Report], phase: str, key: str) -> tuple[str, float] | None:
    """The fastest rival whose ids are right on all texts, and how many times our time it takes."""
    ranked = [
        (ratio, engine)
        for engine, report in engines.items()
        if engine != OURS and failure(report) is None and report["compared"] and not report["differ"]
        and (ratio := middle(report[phase], key)) is not None
    ]  # fmt: skip
    return (min(ranked)[1], min(ranked)[0]) if ranked else None


def latency_cell(engine: str, report: Report, phase: str) -> str:
    failed = failure(report)
    if failed or not report[phase]:
        return failed or "-"
    p50, p99 = (middle(report[phase], f"{name}_ns") or 0.0 for name in ("p50", "p99"))
    text = f"{microseconds(p50)} / {microseconds(p99)}"
    ratio = middle(report[phase], "p50_ratio")
    if engine != OURS and ratio is not None:
        text += f" ({times(ratio)}×)"
    if report["differ"]:
        text += f" ≠{report['differ']}/{report['compared']}"
    elif not report["compared"]:
        text += " unchecked"
    return text


def latency_tables(result: Report, cells: Iterable[Report]) -> list[str]:
    heads = headings(result)
    by_kind: dict[str, list[Report]] = {}
    for cell in cells:
        by_kind.setdefault(cell["kind"], []).append(cell)
    made = []
    for kind, group in by_kind.items():
        for phase, title in PASS_TITLES.items():
            lines = []
            for cell in group:
                engines = cell["engines"]
                line = [f"{cell['size']:,} ({cell['texts']})"]
                line += [latency_cell(engine, engines[engine], phase) if engine in engines else "-" for engine in heads]
                for key in ("p50_ratio", "p99_ratio"):
                    best = best_right(engines, phase, key)
                    line.append(f"{times(best[1])} ({heads[best[0]]})" if best else "-")
                lines.append(line)
            head = ["tokens (texts)", *heads.values(), "best rival with right ids / ours, p50", "the same, p99"]
            name = KIND_TITLES.get(kind, kind)
            made += [f"**{name}, {title}**: µs a call, p50 / p99 (p50 by ours)", lay_out(head, lines)]
    return made


# ------------------------------------------------------------------ instructions, allocations


def by_engine(cells: Iterable[Report]) -> dict[str, dict[str, Report]]:
    """kind -> engine -> cell"""
    found: dict[str, dict[str, Report]] = {}
    for cell in cells:
        found.setdefault(cell["kind"], {})[cell["engine"]] = cell
    return found


def instruction_tables(result: Report, cells: Iterable[Report]) -> list[str]:
    heads = headings(result)
    lines = []
    size = result["settings"]["counter_size"]
    for kind, engines in by_engine(cells).items():
        ours = engines.get(OURS, {})
        for key, title in (("first", "text not seen before"), ("warm", "warm text")):
            line = [f"{KIND_TITLES.get(kind, kind)}, {title}"]
            for engine in heads:
                cell = engines.get(engine, {"skip": ""})
                failed = failure(cell)
                text = failed or f"{cell[key]:,.0f} [{cell[f'{key}_inside']:,.0f}]"
                if not failed and engine != OURS and ours.get(key):
                    text += f" ({times(cell[key] / ours[key])}×)"
                line.append(text)
            lines.append(line)
    spread = max((cell["spread"] for cell in cells if "spread" in cell), default=0.0)
    remark = (
        f"Instructions retired of a call of {size} tokens [of these, in the engine's own library] (by ours), as valgrind "
        f"{result.get('valgrind', '')} counts them; Python's part of a call is in it for all. Counted again they differ by "
        f"{spread:.2%} at most."
    )
    return [remark.replace("  ", " "), lay_out(["", *heads.values()], lines)]


def number(value: float) -> str:
    return f"{value:.0f}" if abs(value - round(value)) < 0.005 else f"{value:.2f}"


def allocation_tables(result: Report, cells: Iterable[Report]) -> list[str]:
    heads = headings(result)
    lines = []
    for kind, engines in by_engine(cells).items():
        line = [KIND_TITLES.get(kind, kind)]
        for engine in heads:
            cell = engines.get(engine, {"skip": ""})
            failed = failure(cell)
            calls = cell.get("encode", {})
            line.append(failed or f"{number(calls['inside'])} + {number(calls['calls'] - calls['inside'])}")
        core = engines.get(OURS, {}).get("core")
        lines.append([*line, number(core["calls"]) if core else "-"])
    size = result["settings"]["counter_size"]
    title = (
        f"Allocations of a call on a warm text of {size} tokens: by the engine's library + by Python and numpy for it "
        "(the array that is returned); at the right our C core alone, all allocations there are"
    )
    return [title, lay_out(["", *heads.values(), "C core of ours"], lines)]


# ------------------------------------------------------------------ memory, long words


def memory_tables(result: Report, cells: Iterable[Report]) -> list[str]:
    heads = headings(result)
    lines = []
    for cell in cells:
        line = [heads[cell["engine"]]]
        failed = failure(cell)
        for key in ("loaded_kb", "warm_kb", "full_kb"):
            pages = cell.get(key)
            line.append(f"{sum(pages.values()) / 1024:.1f}" if pages and not failed else failed or "-")
        caches = cell.get("thread_bytes")
        lines.append([*line, f"{caches / 2**20:.1f}" if caches is not None else "-"])
    sizes = sorted(int(pair.split(":")[0]) for pair in result["settings"]["sizes"])
    head = ["private memory, MiB", "import, load, one call", f"after the texts of {sizes[0]:,} tokens"]
    head += [f"after those of {sizes[-1]:,}", "of it scratch and caches of the thread"]
    return [lay_out(head, lines)]


def reference_of(result: Report, model: str) -> str:
    return str(result["models"][model]["reference"])


def linear_tables(result: Report, cells: Iterable[Report]) -> list[str]:
    heads = headings(result)
    sizes = [str(size) for size in result["settings"]["long_words"]]
    cells = list(cells)
    right = {cell["engine"]: cell.get("digests", {}) for cell in cells}.get(reference_of(result, cells[0]["model"]), {})
    lines = []
    for cell in cells:
        measured = cell.get("seconds", {})
        if not measured:
            lines.append([heads[cell["engine"]], "-", "-", *[failure(cell) or "-"] * len(sizes), "-"])
        for kind, times_of in measured.items():
            found = cell.get("digests", {}).get(kind)
            ids = "unchecked" if not found or kind not in right else "right" if found == right[kind] else "≠"
            line = [heads[cell["engine"]], kind, ids]
            for size in sizes:
                seconds = times_of.get(size)
                line.append(f"{seconds * 1e3:.1f}" if isinstance(seconds, float | int) else "too slow")
            known = [(int(size), times_of[size]) for size in sizes if isinstance(times_of.get(size), float | int)]
            ratio = "-"
            if len(known) > 1 and known[0][1] > 0:
                (small, short), (large, long) = known[0], known[-1]
                ratio = f"{long / short / (large / small):.2f}"
            lines.append([*line, ratio])
    head = ["a word of", "letters", "ids of the shortest", *(f"{int(size) / 1e6:g} MB, ms" for size in sizes)]
    head.append("time a letter, longest / shortest")
    return [lay_out(head, lines)]


TABLES = {
    "latency": latency_tables,
    "instructions": instruction_tables,
    "allocations": allocation_tables,
    "memory": memory_tables,
    "linear": linear_tables,
}


# ------------------------------------------------------------------ what is around the tables


def machine_line(result: Report) -> str:
    facts = result["machine"]
    caches = ", ".join(f"{name} {size}" for name, size in facts["caches"].items())
    settings = result["settings"]
    return (
        f"{result['date']}, {facts['cpu']} ({facts['cores']} cores; {caches}; {', '.join(facts['flags'])}), "
        f"{facts['system']}, {facts['compiler']}, Python {facts['python']}, huge pages {facts['transparent_huge_pages']}; "
        f"kernels of ours: {', '.join(isas(result)) or 'none'}. "
        f"Load average {result['load_before'][0]} before, {result['load_after'][0]} after; "
        f"{settings['rounds']} rounds of fresh processes, {settings['replays']} replays in each, all pinned to one core."
    )


def isas(result: Report) -> list[str]:
    """Which kernels ran, apart from those under valgrind."""
    found = dict[str, None]()
    for cell in result.get("latency", ()):
        isa = cell["engines"].get(OURS, {}).get("about", {}).get("isa")
        if isa:
            found[isa] = None
    for part in ("allocations", "memory"):
        for cell in result.get(part, ()):
            if cell["engine"] == OURS and cell.get("isa"):
                found[cell["isa"]] = None
    return list(found)


def notes(result: Report) -> str:
    special = result["settings"]["special_tokens"]
    lines = [
        "A text has exactly that many ids with special tokens, as the reference counts them; calls are timed "
        + ("with them." if special else "without them, since not every engine can add them."),
        "≠k/n: on k of n texts the ids are not those of the reference; such a rival is not taken for the best.",
        "First pass: a fresh process encodes each text once. Replay: the same texts again in the same process.",
    ]
    for kind, facts in result["corpora"].items():
        more = f", recurrence {facts['recurrence']}" if "recurrence" in facts else ""
        lines.append(f"{KIND_TITLES.get(kind, kind)}: {facts['bytes'] / 1e6:.1f} MB ({facts['origin']}{more}).")
    for model, facts in result["models"].items():
        lines.append(f"{model}: the reference is {facts['reference']} on its {facts['source']}.")
        lines += facts["notes"]
        lines += [f"{model}: {kind}: {reason}" for kind, reason in facts["missing"].items()]
    counted = {cell["isa"] for cell in result.get("instructions", ()) if cell["engine"] == OURS and cell.get("isa")}
    if counted:
        lines.append(f"Under valgrind, which has no AVX-512, ours runs its kernels for {', '.join(sorted(counted))}.")
    shares = [
        report["share"]
        for cell in result.get("latency", ())
        for report in cell["engines"].values()
        if "share" in report
    ]
    disturbed = sum(share < FULL_SHARE for share in shares)
    if disturbed:
        lines.append(
            f"In {disturbed} of {len(shares)} cells an engine had less than {FULL_SHARE:.0%} of the core in one of its stretches."
        )
    lines += [f"{text}, {count} times" for text, count in failures(result).items()]
    return "\n".join(f"- {line}" for line in lines)


def failures(result: Report) -> dict[str, int]:
    """What was not measured and why, and how often."""
    found: dict[str, int] = {}

    def add(part: str, cell: Report, engine: str, report: Report) -> None:
        for key in ("error", "skip"):
            if report.get(key):
                text = f"{part}, {cell['model']}, {engine}: {key}: {report[key]}"
                found[text] = found.get(text, 0) + 1

    for part in TABLES:
        for cell in result.get(part, ()):
            for engine, report in cell["engines"].items() if part == "latency" else [(cell["engine"], cell)]:
                add(part, cell, engine, report)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--update", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    text = tables(json.loads(options.result.read_text(encoding="utf-8")))
    if options.update:
        update_file(options.update, text, MARKERS)
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
