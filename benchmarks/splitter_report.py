#!/usr/bin/env python3
"""The table of all grammars out of a result file of splitters.py.

python -m benchmarks.splitter_report RESULT.json                     Markdown to the terminal
python -m benchmarks.splitter_report RESULT.json --update README.md  between the two markers there
python -m benchmarks.splitter_report RESULT.json --isa avx2          our figures of another kernel
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.engines import REFERENCE
from benchmarks.report import lay_out, update_file
from benchmarks.summary import FULL_SHARE

RIVALS = ("gigatoken", "tokenizers-rc")
VERSIONS = {"gigatoken": "gigatoken 0.10.0", "tokenizers-rc": "tokenizers 1.0.0rc3"}
SHOWN = ("english", "zh", "code")
HEADS = {"english": "English", "zh": "Chinese", "code": "code", "ja": "Japanese", "ru": "Russian"}
BEGIN, END = "<!-- splitters: begin -->", "<!-- splitters: end -->"
FAST = 2.5
LONG_PIECES = 24.0
"""Bytes of English a piece, on average, from which on merging and not cutting decides a rival's speed."""
RULE_TEXT = (
    f"a rival's slowdown is its MB/s on English with GPT-2's own pre-tokenizer by its MB/s with this one, the same text "
    f"encoded again (word caches are warm); up to {FAST} reads `fast path`, above it `regex`"
)
KERNELS = ("avx512", "avx2", "swar", "automaton")


@dataclass(frozen=True, slots=True)
class Treatment:
    """What a rival makes of a pre-tokenizer.

    kind: "fast path", "regex", "refused", "wrong ids", "unchecked" (the reference refuses it itself), "error" (no answer),
        or "-" (not measured). rate: MB/s. slowdown: GPT-2's rate by this one. message: the library's own, where it has one.
    """

    kind: str
    rate: float = 0.0
    slowdown: float = 0.0
    message: str = ""

    def __str__(self) -> str:
        if not self.rate:
            return self.kind
        rate = f"{self.rate:.0f}" if self.rate >= 20 else f"{self.rate:.1f}"
        return f"{self.kind} {rate} ({self.slowdown:.1f}×)" if self.slowdown else f"{self.kind} {rate}"


def replay_rate(cell: Mapping[str, Any] | None) -> float:
    """MB/s of a replay; 0 where there is none."""
    if not cell or not cell.get("replay_s"):
        return 0.0
    return float(cell["bytes"] / 1e6 / median(cell["replay_s"]))


def classify(facts: Mapping[str, Any], baseline: Mapping[str, Any], engine: str) -> Treatment:
    """What `engine` makes of one grammar (see RULE_TEXT)."""
    rivals = facts.get("rivals")
    if not rivals or engine not in rivals:
        return Treatment("-")
    cells, reference = rivals[engine], rivals.get(REFERENCE, {})
    failed = next((cell["error"] for cell in cells.values() if "error" in cell), "")
    if failed:
        hung = failed.startswith(("no answer", "exit ", "cannot start"))
        return Treatment("error" if hung else "refused", message=failed)
    rate = replay_rate(cells.get("english"))
    base = replay_rate(baseline.get(engine, {}).get("english"))
    slowdown = base / rate if rate and base else 0.0
    for corpus, cell in cells.items():
        wanted = reference.get(corpus, {}).get("digests")
        if not wanted:
            return Treatment("unchecked", rate, slowdown, reference.get(corpus, {}).get("error", ""))
        if any(digest != wanted[0] for digest in cell["digests"]):
            return Treatment("wrong ids", rate, slowdown)
    return Treatment("fast path" if slowdown <= FAST else "regex", rate, slowdown)


def best_isa(facts: Mapping[str, Any]) -> str:
    found = {cell["isa"] for cell in facts.get("cells", ())}
    return next((isa for isa in KERNELS if isa in found), "")


def our_cell(facts: Mapping[str, Any], corpus: str, isa: str) -> Mapping[str, Any] | None:
    return next((c for c in facts.get("cells", ()) if c["corpus"] == corpus and c["isa"] == isa), None)


def show_speed(cell: Mapping[str, Any] | None) -> str:
    """GB/s, and TSC cycles a byte where there is a counter, else ns."""
    if cell is None:
        return "-"
    each = cell["ticks"] / cell["bytes"] if cell.get("ticks") else cell["seconds"] / cell["bytes"] * 1e9
    return f"{cell['bytes'] / cell['seconds'] / 1e9:.2f} ({each:.2f})"


def has_long_pieces(facts: Mapping[str, Any]) -> bool:
    cell = our_cell(facts, "english", best_isa(facts))
    return bool(cell and cell["bytes"] / max(1, cell["pieces"]) > LONG_PIECES)


def summary_line(facts: Mapping[str, Any], verdicts: Mapping[str, Treatment]) -> str:
    """One grammar, for the progress of a run."""
    parts = [str(facts["tier"])]
    isa = best_isa(facts)
    if isa:
        parts.append(f"{isa} " + ", ".join(show_speed(our_cell(facts, corpus, isa)) for corpus in SHOWN))
    if facts.get("wrong"):
        parts.append(f"WRONG CUTS: {', '.join(facts['wrong'])}")
    return "; ".join([*parts, *(f"{engine} {verdict}" for engine, verdict in verdicts.items() if verdict.kind != "-")])


def show_models(models: list[str], count: int = 3) -> str:
    return ", ".join(models[:count]) + (f", {len(models) - count} more" if len(models) > count else "")


def table(result: Mapping[str, Any], isa: str | None = None) -> str:
    """Everything a reader needs, as Markdown."""
    grammars: dict[str, dict[str, Any]] = dict(sorted(result["grammars"].items(), key=order_of))
    used = isa or next((best_isa(facts) for facts in grammars.values() if best_isa(facts)), "")
    unit = "TSC cycles" if any(c.get("ticks") for f in grammars.values() for c in f.get("cells", ())) else "ns"
    lines = []
    for name, facts in grammars.items():
        kernel = used if our_cell(facts, SHOWN[0], used) else best_isa(facts)
        cells = [show_speed(our_cell(facts, corpus, kernel)) for corpus in SHOWN]
        rivals = [str(classify(facts, result["baseline"], engine)) for engine in RIVALS]
        mark = " †" if has_long_pieces(facts) else ""
        lines.append([f"{name}{mark}", show_models(facts["models"]), facts["tier"], *cells, *rivals])
    heads = [f"{HEADS[corpus]}, GB/s ({unit} a byte)" for corpus in SHOWN]
    head = ["grammar", "models", "tier", *heads, *(VERSIONS[engine] for engine in RIVALS)]
    return "\n\n".join([about_run(result, used, unit), left_aligned(lay_out(head, lines), (1, 2, 6, 7)), notes(result)])


def order_of(item: tuple[str, dict[str, Any]]) -> tuple[int, str, str]:
    """By the row in the list of known pre-tokenizers."""
    name, facts = item
    row = (facts.get("rows") or ["999"])[0]
    digits = "".join(char for char in row if char.isdigit())
    return int(digits or 999), row, name


def left_aligned(markdown: str, columns: tuple[int, ...]) -> str:
    head, rule, *rest = markdown.split("\n")
    cells = rule.strip("| ").split(" | ")
    return "\n".join([head, "| " + " | ".join("---" if i in columns else c for i, c in enumerate(cells)) + " |", *rest])


def about_run(result: Mapping[str, Any], isa: str, unit: str) -> str:
    facts = result["machine"]
    load = result.get("load_after") or ["?"]
    base = ", ".join(
        f"{VERSIONS[engine]} {replay_rate(cells['english']):.0f} MB/s"
        for engine, cells in result["baseline"].items()
        if replay_rate(cells.get("english"))
    )
    ticks = [
        cell["ticks"] / cell["seconds"] / 1e9
        for grammar in result["grammars"].values()
        for cell in grammar.get("cells", ())
        if cell.get("ticks")
    ]
    counter = (
        f" (the time stamp counter goes at {median(ticks):.2f} GHz, whatever the core's clock does)" if ticks else ""
    )
    line = (
        f"{result['date']}, {facts['cpu']}, one core, {isa} kernels; load average {result['load_before'][0]} before, "
        f"{load[0]} after. Ours is cutting alone: the fastest pass over a few MB, GB/s and {unit} a byte{counter}."
    )
    return f"{line} Rivals encode with GPT-2's vocabulary; with GPT-2's own pre-tokenizer: {base}." if base else line


def notes(result: Mapping[str, Any]) -> str:
    """How to read it, and what must not go unsaid."""
    rule = f"{result['rule'][0].upper()}{result['rule'][1:]}"
    ids = "Ids are compared with tokenizers 0.23.3, which reads the same file"
    lines = [
        f"{rule}; the figures are MB/s and the slowdown. {ids}; patterns stand in it as in the grammar.",
        "No tier has positions that a slower engine decides: the share of hard positions is 0 on all of them.",
    ]
    grammars: dict[str, dict[str, Any]] = result["grammars"]
    if any(has_long_pieces(facts) for facts in grammars.values()):
        lines.append(
            f"† Pieces of more than {LONG_PIECES:.0f} bytes of English on average: merging, not cutting, decides a rival's speed."
        )
    for engine in RIVALS:
        messages: dict[str, list[str]] = {}
        for name, facts in sorted(grammars.items(), key=order_of):
            found = classify(facts, result["baseline"], engine)
            if found.kind in ("refused", "error", "unchecked"):
                messages.setdefault(f"{found.kind}: {shortened(found.message)}", []).append(name)
        lines += [f"{VERSIONS[engine]}, {text} ({named(names)})" for text, names in messages.items()]
    rivals = [
        cell
        for facts in grammars.values()
        for engine in RIVALS
        for cell in facts.get("rivals", {}).get(engine, {}).values()
        if "cpu_share" in cell
    ]
    shared = sum(cell["cpu_share"] < FULL_SHARE for cell in rivals)
    if shared:
        lines.append(f"{shared} of {len(rivals)} measurements of rivals had less than {FULL_SHARE:.0%} of their core.")
    wrong = [f"{name} ({', '.join(facts['wrong'])})" for name, facts in grammars.items() if facts.get("wrong")]
    if wrong:
        lines.append(f"**Our kernels cut wrong**: {', '.join(wrong)}.")
    return "\n".join(f"- {line}" for line in lines)


def named(grammars: list[str], most: int = 6) -> str:
    return ", ".join(grammars) if len(grammars) <= most else f"{len(grammars)} grammars"


def shortened(message: str, width: int = 140) -> str:
    """One line, without the patterns that some messages quote."""
    text = " ".join(message.split()).replace("|", "\\|")
    text = text.partition(': ["')[0]
    return text if len(text) <= width else f"{text[: width - 4]} ..."


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("result", type=Path)
    parser.add_argument("--update", type=Path, metavar="FILE")
    parser.add_argument("--isa", choices=KERNELS)
    options = parser.parse_args(arguments)
    text = table(json.loads(options.result.read_text(encoding="utf-8")), options.isa)
    if options.update:
        update_file(options.update, text, (BEGIN, END))
    else:
        print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
