#!/usr/bin/env python3
"""Tables and figure out of a result file.

    python -m benchmarks.report RESULT.json                    Markdown to the terminal
    python -m benchmarks.report RESULT.json --update README.md between the two benchmark markers there
    python -m benchmarks.report RESULT.json --plot FIGURE.svg  grouped bars (needs matplotlib)
    python -m benchmarks.report RESULT.json --goals            the project's goals against the figures

A file that `--update` writes to must hold the lines BEGIN and END below.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.engines import CONTROL, REFERENCE
from benchmarks.materials import CORPORA
from benchmarks.summary import (
    FULL_SHARE,
    NANOSECONDS,
    NOISE,
    RATES,
    Figure,
    Rows,
    best_rival,
    is_ours,
    ratio,
    rows_of,
    startup_of,
)

FIGURES = {"first": "first pass", "settled": "first pass after a call", "unseen": "unseen", "replay": "replay"}
BEGIN, END = "<!-- benchmarks: begin -->", "<!-- benchmarks: end -->"
WAY_LETTER = {"loop": "ˢ", "batch": "ᵇ"}


def tables(result: dict[str, Any]) -> str:
    """Everything a reader needs, as Markdown."""
    rows = rows_of(result)
    parts = [machine_line(result)]
    for model in result["settings"]["models"]:
        parts += [f"**{model}**, MB/s on one core, higher is better", rate_table(result, rows, model)]
        parts += [small_table(result, rows, model)]
    parts += [notes(result)]
    return "\n\n".join(part for part in parts if part)


def titles(result: dict[str, Any]) -> dict[str, str]:
    """Column headings in the order of the run, without the control."""
    return {
        name: facts["title"] if is_ours(name) else f"{facts['title']} {facts['version']}"
        for name, facts in result["engines"].items()
        if name != CONTROL
    }


def show(figure: Figure | None, best: bool) -> str:
    if figure is None or figure.verdict in ("skip", "error"):
        return "-" if figure is None or figure.verdict == "skip" else "error"
    if not figure.ranked:
        return figure.verdict
    text = f"{figure.value:.0f}" if figure.value >= 20 else f"{figure.value:.1f}"
    return (f"**{text}**" if best else text) + WAY_LETTER[figure.way]


def show_ratio(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{'≈ ' if 1 / NOISE < value < NOISE else ''}{value:.2f}"


def lay_out(head: list[str], lines: list[list[str]]) -> str:
    rule = ["---"] + ["--:"] * (len(head) - 1)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, rule, *lines])


def rate_table(result: dict[str, Any], rows: Rows, model: str) -> str:
    heads = titles(result)
    ours = [name for name in heads if is_ours(name)]
    lines = []
    for corpus in result["settings"]["corpora"]:
        for name in RATES:
            row = rows.get((model, corpus, name))
            if not row:
                continue
            best = max((figure.value for figure in row.values() if figure.ranked), default=0.0)
            cells = [show(row.get(engine), engine in row and row[engine].value == best) for engine in heads]
            ratios = [show_ratio(ratio(row, engine)) for engine in ours]
            lines.append([f"{CORPORA[corpus][1]}, {FIGURES[name]}", *cells, *ratios])
    ratio_heads = [f"{heads[name]} / best rival" for name in ours]
    return lay_out(["text, figure", *heads.values(), *ratio_heads], lines) if lines else ""


def small_table(result: dict[str, Any], rows: Rows, model: str) -> str:
    """Short calls and start-up, an engine a line."""
    started = startup_of(result)
    corpus = result["settings"]["short_corpus"]
    lines = []
    for engine, title in titles(result).items():
        line = [title]
        for name in NANOSECONDS:
            figure = rows.get((model, corpus, name), {}).get(engine)
            line += [show_call(figure), f"{figure.tail / 1000:.2f}" if figure and figure.ranked else "-"]
        times = started.get((model, engine), {})
        line += [f"{times[key]:.1f}" if key in times else "-" for key in ("import", "load", "first_call")]
        line += [f"{times[key]:.1f}" if key in times else "-" for key in ("import_mb", "loaded_mb", "called_mb")]
        if any(cell != "-" for cell in line[1:]):
            lines.append(line)
    head = [
        f"short calls ({CORPORA[corpus][1]}) and start",
        "20 B median µs",
        "p99",
        "512 B median µs",
        "p99",
        "import ms",
        "load ms",
    ]
    head += ["first call ms", "MB private after import", "after load", "after a call"]
    if not lines:
        return ""
    remarks = [remark for name in NANOSECONDS if (remark := call_remark(result, rows, model, name))]
    return "\n\n".join([f"**{model}**, lower is better", lay_out(head, lines), *remarks])


def show_call(figure: Figure | None) -> str:
    if figure is None or figure.verdict == "skip":
        return "-"
    return f"{figure.value / 1000:.2f}" if figure.ranked else figure.verdict


def call_remark(result: dict[str, Any], rows: Rows, model: str, name: str) -> str:
    row = rows.get((model, result["settings"]["short_corpus"], name), {})
    rival = best_rival(row, lower_is_better=True)
    ours = next((engine for engine in row if is_ours(engine) and row[engine].ranked), None)
    if rival is None or ours is None:
        return ""
    others = dict.fromkeys((rival, "tokenizers-rc"))
    shares = [
        f"{row[ours].value / row[other].value:.2f} of {titles(result)[other]}"
        for other in others
        if other in row and row[other].ranked
    ]
    return f"A call of {name.removeprefix('short-')} bytes takes {', '.join(shares)}."


def machine_line(result: dict[str, Any]) -> str:
    facts = result["machine"]
    rounds = result["settings"]["rounds"]
    caches = ", ".join(f"{name} {size}" for name, size in facts["caches"].items())
    return (
        f"{result['date']}, {facts['cpu']} ({facts['cores']} cores; {caches}; {', '.join(facts['flags'])}), "
        f"{facts['system']}, {facts['compiler']}, Python {facts['python']}, huge pages {facts['transparent_huge_pages']}. "
        f"Load average {result['load_before'][0]} before, {result['load_after'][0]} after; "
        f"{rounds} round{'s' if rounds > 1 else ''}."
    )


def notes(result: dict[str, Any]) -> str:
    """How to read it, and whatever must not go unsaid: mismatches, errors, a shared core, a broken control."""
    reading = (
        "ˢ loop of single calls, ᵇ batch call: the better of the two for each engine. ≈ marks a ratio within the noise "
        f"(below {NOISE}). MB is 10⁶ bytes of UTF-8. Ids of every run are compared with tokenizers 0.23.3 by digest; "
        "a mismatch reads `differ` and is not ranked."
    )
    first = (
        "First pass: all that a fresh process spends after loading, until the whole text is encoded. After a call: "
        "the same without what the very first call, of one letter, took (some engines set up lazily then)."
    )
    lines = [reading, first]
    sizes = [
        f"{CORPORA[name][1]} {facts['bytes'] / 1e6:.1f} MB in {facts['documents']} documents, recurrence {facts['recurrence']}"
        for name, facts in result["corpora"].items()
    ]
    lines.append(f"Texts: {'; '.join(sizes)}.")
    controls = [cell for cell in result["cells"] if cell["engine"] == CONTROL]
    caught = sum(cell["verdict"] == "differ" for cell in controls)
    lines.append(f"Negative control: {caught} of {len(controls)} wrong results were caught.")
    failed: dict[str, int] = {}
    for cell in result["cells"]:
        if cell["engine"] != CONTROL and cell["verdict"] in ("differ", "error", "unchecked"):
            where = " ".join(cell[key] for key in ("engine", "model", "corpus", "kind", "way") if key in cell)
            text = f"{cell['verdict']}: {where}" + (f" ({cell['error']})" if "error" in cell else "")
            failed[text] = failed.get(text, 0) + 1
    lines += [f"{text}, {count} times" for text, count in failed.items()]
    shared = [cell for cell in result["cells"] if cell.get("cpu_share", 1) < FULL_SHARE and cell["engine"] != REFERENCE]
    if shared:
        lines.append(
            f"{len(shared)} of {len(result['cells'])} measurements had less than {FULL_SHARE:.0%} of their core."
        )
    if result.get("interrupted"):
        lines.append("The run was interrupted.")
    return "\n".join(f"- {line}" for line in lines)


def update_file(path: Path, text: str, markers: tuple[str, str] = (BEGIN, END)) -> None:
    """Replace what stands between the markers."""
    old = path.read_text(encoding="utf-8")
    head, begin, rest = old.partition(markers[0])
    _, end, tail = rest.partition(markers[1])
    if not begin or not end:
        raise SystemExit(f"{path} lacks the lines {markers[0]} and {markers[1]}")
    path.write_text(f"{head}{begin}\n{text}\n{end}{tail}", encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--update", type=Path, metavar="FILE")
    parser.add_argument("--plot", type=Path, metavar="FILE", help=".svg or .png")
    parser.add_argument("--goals", action="store_true")
    options = parser.parse_args(arguments)
    result = json.loads(options.result.read_text(encoding="utf-8"))
    if options.update:
        update_file(options.update, tables(result))
    if options.plot:
        from benchmarks.plot import draw

        draw(result, options.plot)
    if options.goals:
        from benchmarks.goals import check_goals

        print(check_goals(result))
    if not (options.update or options.plot or options.goals):
        print(tables(result))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
