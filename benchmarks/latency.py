#!/usr/bin/env python3
"""Latency of one encode call, and what it costs: instructions, allocations, memory; linear or not. docs/latency.md is the method.

    python benchmarks/latency.py                              the whole of it (an hour and more)
    python benchmarks/latency.py --models minilm_l6_v2 --sizes 514:200 --rounds 1 --replays 1 --parts latency

Modules are compiled into a temporary folder; `--modules DIR` takes those that lie there ready, named like the models.
Figures go to a JSON file (--out), tables to a Markdown file (--table) or to the terminal. Nothing is asserted of a time;
the exit code is 1 when ids of ours are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import machine, materials, peers
from benchmarks.latency_engines import ENGINES, OURS, REFERENCES, RIVALS
from benchmarks.latency_models import Definition, compile_module, find_definition
from benchmarks.latency_report import tables
from benchmarks.latency_run import (
    Place,
    Report,
    build_tools,
    count_allocations,
    count_instructions,
    measure_linear,
    measure_memory,
    measure_round,
    missing,
    run_once,
    valgrind_version,
)
from benchmarks.splitters import distinct_text
from benchmarks.texts import read_documents

MODELS = ("xlm_roberta", "t5_base", "bert_base_uncased", "minilm_l6_v2")
SIZES = ("130:1000", "514:1000", "1026:500", "4098:200", "16386:100")
PARTS = ("latency", "instructions", "allocations", "memory", "linear")
KINDS = {
    "english": "words repeat (English corpus)",
    "unique": "words do not repeat (corpora/unique)",
    "distinct": "words do not repeat (each word of the English corpus once)",
}
SETTINGS = (
    "kinds", "sizes", "rounds", "replays", "stretches", "seconds", "counted", "counter_size", "special_tokens", "isa",
    "parts", "long_words",
)  # fmt: skip
SCHEMA = 1


def prepare_kind(kind: str, work: Path) -> tuple[Path, dict[str, object]]:
    """One text without separators: windows go over the borders of documents."""
    name = "english" if kind == "distinct" else kind
    path, facts = materials.prepare_corpus(name, work, None)
    documents = read_documents(str(path))
    if kind == "distinct":
        documents = distinct_text(documents, sum(len(document) for document in documents))
        facts = {"origin": facts["origin"], "bytes": sum(len(document.encode()) for document in documents)}
    target = work / f"{kind}-joined.txt"
    target.write_text("\n".join(documents), encoding="utf-8", newline="\n")
    return target, facts


class Bench:
    """One run: its settings, its texts, and what it found so far."""

    def __init__(self, options: argparse.Namespace, place: Place, definitions: Sequence[Definition]) -> None:
        self.options = options
        self.place = place
        self.definitions = definitions
        wanted = {*options.engines, *(REFERENCES[definition.source] for definition in definitions)}
        self.engines = [OURS, *(name for name in RIVALS if name in wanted)]
        self.texts: dict[tuple[str, str, int], tuple[Path, int]] = {}
        self.counts: dict[str, dict[str, Any]] = {}

    def note(self, text: str) -> None:
        if not self.options.quiet:
            print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)

    def cut_texts(self, corpora: dict[str, Path]) -> None:
        """The texts of every model, kind and size, by its reference."""
        wanted = dict(pair.split(":") for pair in self.options.sizes)
        for definition in self.definitions:
            reference = REFERENCES[definition.source]
            for kind, corpus in corpora.items():
                out = self.place.work / f"{definition.name}-{kind}"
                command = self.place.command(
                    "texts", reference, definition, kind=definition.source, corpus=str(corpus), out=str(out),
                    sizes=",".join(f"{size}:{count}" for size, count in wanted.items()),
                )  # fmt: skip
                report = run_once(command, self.place.environment(reference), 1800)
                if "sizes" not in report:
                    raise SystemExit(f"{definition.name}, {kind}: no texts: {report.get('error', report)}")
                self.counts.setdefault(definition.name, {})[kind] = report["sizes"]
                for size in map(int, wanted):
                    path = self.place.work / f"{out.name}-{size}.json"
                    self.texts[definition.name, kind, size] = path, report["sizes"][str(size)]["texts"]
                self.note(f"{definition.name}, {kind}: {report['sizes']}")

    def sets(self) -> list[tuple[Definition, str, int]]:
        by_name = {definition.name: definition for definition in self.definitions}
        return [(by_name[name], kind, size) for (name, kind, size), (_, count) in self.texts.items() if count]

    def latency(self) -> list[Report]:
        """A report a model, kind and size: engine -> rounds. Engines come in another order in each round."""
        cells: list[Report] = []
        for definition, kind, size in self.sets():
            path, count = self.texts[definition.name, kind, size]
            rounds = []
            for number in range(self.options.rounds):
                shift = number % len(self.engines)
                order = self.engines[shift:] + self.engines[:shift]
                rounds.append(
                    measure_round(
                        self.place, definition, order, path, count, parts=self.options.stretches,
                        replays=self.options.replays, seconds=self.options.seconds,
                    )
                )  # fmt: skip
                self.note(f"latency {definition.name} {kind} {size}, round {number + 1}: {glance(rounds[-1])}")
            cell: Report = {"model": definition.name, "kind": kind, "size": size, "texts": count}
            cells.append(cell | {"engines": judge_rounds(rounds, REFERENCES[definition.source])})
        return cells

    def each_engine(self, part: str, size: int) -> list[Report]:
        """Instructions or allocations: a report a model, kind and engine at one size."""
        counter = {"instructions": "instruction_counter", "allocations": "alloc_counter"}[part]
        cells: list[Report] = []
        for definition, kind, found in self.sets():
            if found != size:
                continue
            for engine in self.engines:
                cell: Report = {"model": definition.name, "kind": kind, "size": size, "engine": engine}
                reason = missing(engine, definition) or self.options.no_tools.get(counter)
                path, seconds = self.texts[definition.name, kind, size][0], self.options.counter_seconds
                if reason:
                    report: Report = {"skip": reason}
                elif part == "instructions":
                    report = count_instructions(self.place, definition, engine, path, self.options.counted, seconds)
                else:
                    report = count_allocations(self.place, definition, engine, path, self.options.counted, seconds)
                cells.append(cell | report)
                shown = {k: v for k, v in report.items() if k not in ("regions", "libraries")}
                self.note(f"{part} {definition.name} {kind} {engine}: {shown}")
        return cells

    def memory(self) -> list[Report]:
        cells: list[Report] = []
        kind = self.options.kinds[0]
        sizes = sorted(size for size in {size for _, of_kind, size in self.texts if of_kind == kind})
        for definition in self.definitions:
            few, many = (self.texts[definition.name, kind, size][0] for size in (sizes[0], sizes[-1]))
            for engine in self.engines:
                reason = missing(engine, definition)
                report = (
                    {"skip": reason}
                    if reason
                    else measure_memory(self.place, definition, engine, few, many, self.options.seconds)
                )
                cells.append({"model": definition.name, "engine": engine} | report)
                self.note(f"memory {definition.name} {engine}: {report}")
        return cells

    def linear(self) -> list[Report]:
        cells: list[Report] = []
        for definition in self.definitions:
            for engine in self.engines:
                reason = missing(engine, definition)
                report = (
                    {"skip": reason}
                    if reason
                    else measure_linear(self.place, definition, engine, self.options.long_words, self.options.seconds)
                )
                cells.append({"model": definition.name, "engine": engine} | report)
                self.note(f"linear {definition.name} {engine}: {report}")
        return cells


def glance(found: dict[str, Report]) -> str:
    """One round for the progress line: p50 of the first pass and of the last replay, in µs."""

    def figure(report: Report) -> str:
        if "error" in report or "skip" in report:
            return "-"
        parts = [report[name][-1]["p50_ns"] / 1e3 for name in ("first", "replay") if report.get(name)]
        return "/".join(f"{part:.0f}" for part in parts)

    return ", ".join(f"{engine} {figure(report)}" for engine, report in found.items())


def judge_rounds(rounds: Sequence[dict[str, Report]], reference: str) -> dict[str, Report]:
    """engine -> all its rounds, and on how many texts its ids were not those of the reference."""
    right: list[str] = next((of["digests"] for found in rounds if (of := found.get(reference, {})).get("digests")), [])
    judged: dict[str, Report] = {}
    for engine in rounds[0]:
        reports = [found[engine] for found in rounds]
        failed = next((report for report in reports if "error" in report or "skip" in report), None)
        if failed is not None:
            judged[engine] = {key: failed[key] for key in ("error", "skip") if key in failed}
            continue
        digests = [report["digests"] for report in reports]
        compared = min(len(right), min(map(len, digests)))
        judged[engine] = {
            "first": [each for report in reports for each in report["first"]],
            "replay": [each for report in reports for each in report["replay"]],
            "compared": compared,
            "differ": sum(any(of[text] != right[text] for of in digests) for text in range(compared)),
            "about": reports[-1]["about"],
            "share": min(report["share"] for report in reports),
        }
    return judged


def wrong_ids(result: Report) -> list[str]:
    """Where ids of ours are not those of the reference."""
    return [
        f"{cell['model']}, {cell['kind']}, {cell['size']} tokens: ids of {ours['differ']} of {ours['compared']} texts are wrong"
        for cell in result.get("latency", ())
        if (ours := cell["engines"].get(OURS, {})).get("differ")
    ]


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="+", default=list(MODELS), metavar="NAME[=FILE]")
    parser.add_argument("--modules", type=Path, metavar="DIR", help="folder of compiled modules, named like the models")
    parser.add_argument("--engines", nargs="*", default=list(RIVALS), choices=RIVALS, help="the rivals to run")
    parser.add_argument("--parts", nargs="+", default=list(PARTS), choices=PARTS)
    parser.add_argument("--kinds", nargs="+", default=["english", "unique"], choices=list(KINDS))
    parser.add_argument("--sizes", nargs="+", default=list(SIZES), metavar="TOKENS:TEXTS")
    parser.add_argument("--special-tokens", action="store_true", help="every call adds special tokens")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes of each engine")
    parser.add_argument("--replays", type=int, default=2, help="passes after the first one")
    parser.add_argument("--stretches", type=int, default=5, help="turns that an engine has in one pass")
    parser.add_argument("--seconds", type=float, default=10.0, help="bound of a stretch and of a long word")
    parser.add_argument("--counted", type=int, default=20, help="texts whose instructions and allocations are counted")
    parser.add_argument("--counter-size", type=int, help="tokens of these texts; default: the size next to 514")
    parser.add_argument("--counter-seconds", type=float, default=600.0, help="a counted process is ended after that")
    parser.add_argument("--long-words", nargs="+", type=int, default=[1_000_000, 2_000_000, 5_000_000, 10_000_000])
    parser.add_argument("--isa", default="", help="force GIGATOK_ISA for ours")
    parser.add_argument("--cpu", type=int, help="the core to pin to; default: the last one this process may use")
    parser.add_argument("--peers", metavar="DIR", help="the rivals' environments (benchmarks/peers.py)")
    parser.add_argument("--ours-python", default=sys.executable, metavar="PYTHON", help="interpreter for our modules")
    parser.add_argument("--out", type=Path, help="JSON file")
    parser.add_argument("--table", type=Path, help="Markdown file; otherwise the tables are printed")
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args(arguments)
    if any(not all(part.isdigit() for part in pair.split(":")) or pair.count(":") != 1 for pair in options.sizes):
        parser.error("--sizes: TOKENS:TEXTS, two numbers")
    sizes = [int(pair.partition(":")[0]) for pair in options.sizes]
    options.counter_size = options.counter_size or min(sizes, key=lambda size: abs(size - 514))
    if options.counter_size not in sizes:
        parser.error(f"--counter-size: no texts of {options.counter_size} tokens")
    return options


def gather(options: argparse.Namespace, work: Path) -> Report:
    """Measure everything that the options name; what `tables` reads and `--out` holds."""
    modules = options.modules or work / "modules"
    modules.mkdir(exist_ok=True)
    definitions = [
        compile_module(find_definition(name, work / "definitions"), modules, options.ours_python)
        for name in options.models
    ]
    tools, options.no_tools = build_tools(work)
    cpu = options.cpu if options.cpu is not None else (machine.usable_cpus() or [-1])[-1]
    peers_folder = peers.peers_folder(options.peers)
    peers.make_environments(peers_folder)
    place = Place(work, peers_folder, options.ours_python, cpu, options.special_tokens, options.isa, tools)
    corpora = {kind: prepare_kind(kind, work) for kind in options.kinds}
    bench = Bench(options, place, definitions)
    result: Report = {
        "schema": SCHEMA, "date": time.strftime("%Y-%m-%d %H:%M"), "machine": machine.describe_machine(), "cpu": cpu,
        "load_before": machine.load_average(),
        "settings": {
            name: getattr(options, name)
            for name in SETTINGS
        },
        "models": {
            each.name: {
                "source": each.source, "reference": REFERENCES[each.source], "notes": list(each.notes),
                "missing": each.missing,
            }
            for each in definitions
        },
        "engines": {name: ENGINES[name].title for name in bench.engines},
        "corpora": {kind: facts for kind, (_, facts) in corpora.items()},
    }  # fmt: skip
    bench.cut_texts({kind: path for kind, (path, _) in corpora.items()})
    result["texts"] = bench.counts
    for part in options.parts:
        if part in ("instructions", "allocations"):
            result[part] = bench.each_engine(part, options.counter_size)
        else:
            result[part] = getattr(bench, part)()
    return result | {"valgrind": valgrind_version(), "load_after": machine.load_average()}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse_arguments(arguments)
    with tempfile.TemporaryDirectory(prefix="gigatok-latency-") as folder:
        result = gather(options, Path(folder))
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + os.linesep, encoding="utf-8")
    text = tables(result)
    if options.table:
        options.table.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    wrong = wrong_ids(result)
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
