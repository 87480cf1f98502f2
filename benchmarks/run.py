#!/usr/bin/env python3
"""Measure compiled tokenizers beside their rivals: one core, fresh processes, engines in turn, ids compared.

    python benchmarks/run.py --ours DIR                       everything (about half an hour)
    python benchmarks/run.py --ours DIR --models gpt2 --corpora ru --rounds 1 --bytes 1000000

DIR holds modules written by `gigatok-compile`, named like the models. Without --ours only the rivals run.
The raw figures go to a JSON file; the tables of `benchmarks/report.py` are printed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import machine, materials, peers
from benchmarks.engines import CONTROL, ENGINES, OURS, REFERENCE, find_engine, forced_isa
from benchmarks.plan import (
    KINDS,
    Cell,
    Settings,
    Task,
    expected_digests,
    judge,
    judge_all,
    plan_tasks,
    uncaught_controls,
)
from benchmarks.report import tables
from benchmarks.summary import FULL_SHARE

WORKER = Path(__file__).resolve().parent / "worker.py"
MARK = "@@"
RIVALS = [name for name in ENGINES if name not in (OURS, CONTROL)]
ONE_THREAD = {
    "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1", "TOKIO_WORKER_THREADS": "1", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0",
}  # fmt: skip
SCHEMA = 1


class Bench:
    """Where everything is, and how one task becomes one process."""

    def __init__(self, work: Path, peers_folder: Path, ours: Path | None, ours_python: str, cpu: int) -> None:
        self.work = work
        self.peers_folder = peers_folder
        self.ours = ours
        self.ours_python = ours_python
        self.cpu = cpu
        self.timeout = 600.0

    def python_for(self, engine: str) -> str:
        environment = find_engine(engine).environment
        return self.ours_python if environment == "own" else str(peers.python_of(environment, self.peers_folder))

    def model_for(self, engine: str, model: str) -> Path | None:
        """The definition, or our module's folder; None where we have none for this model."""
        if find_engine(engine).environment != "own":
            return self.work / "models" / model / "tokenizer.json"
        folder = self.ours / model if self.ours else None
        return folder if folder and (folder / "__init__.py").exists() else None

    def environment_for(self, engine: str) -> dict[str, str]:
        dropped = ("PYTHON", "GIGATOK_", "VIRTUAL_ENV")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | ONE_THREAD
        isa = forced_isa(engine)
        return environment | {"GIGATOK_ISA": isa} if isa else environment

    def run(self, task: Task) -> Cell:
        cell: Cell = {"kind": task.kind, "engine": task.engine, "model": task.model, "round": task.round}
        cell |= {"corpus": task.corpus} if task.corpus else {}
        cell |= {"way": task.way} if task.way else {}
        cell |= {"size": int(task.options["size"])} if "size" in task.options else {}
        model = self.model_for(task.engine, task.model)
        if model is None:
            return cell | {"skip": f"no compiled module for {task.model}"}
        options = {"engine": task.engine, "model": str(model), "cpu": str(self.cpu)} | task.options
        if task.corpus:
            options |= {"corpus": str(self.corpus_file(task)), "way": task.way}
        command = [self.python_for(task.engine), str(WORKER), task.kind]
        command += [f"{name}={value}" for name, value in options.items()]
        cell["load1"] = (machine.load_average() or [0.0])[0]
        try:
            done = subprocess.run(
                command,
                check=False,
                env=self.environment_for(task.engine),
                capture_output=True,
                text=True,
                timeout=self.timeout,
            )
        except subprocess.TimeoutExpired:
            return cell | {"error": f"no answer in {self.timeout:.0f} s"}
        except OSError as error:
            return cell | {"error": f"cannot start: {error.strerror}"}
        lines = [line for line in done.stdout.splitlines() if line.startswith(MARK)]
        if not lines:
            last = done.stderr.strip().splitlines()[-1:] or ["no output"]
            return cell | {"error": f"exit {done.returncode}: {last[0][:300]}"}
        report: dict[str, Any] = json.loads(lines[-1][len(MARK) :])
        return cell | report

    def corpus_file(self, task: Task) -> Path:
        """Short calls take their texts from the whole corpus, also when --bytes makes the others smaller."""
        whole = self.work / "whole" / f"{task.corpus}.txt"
        return whole if task.kind == "short" and whole.exists() else self.work / f"{task.corpus}.txt"


def rates(cell: Cell) -> str:
    """One cell for the progress line."""
    if cell["verdict"] in ("skip", "error"):
        return f"{cell['verdict']}: {cell[cell['verdict']]}"
    if cell["kind"] == "pass":
        mb, replays = cell["bytes"] / 1e6, sorted(cell["replay_s"])
        replay = f", replay {mb / replays[len(replays) // 2]:.1f}" if replays else ""
        first = cell["first_call_s"] + cell["first_s"]
        text = f"first {mb / first:.1f}, after a call {mb / cell['first_s']:.1f}{replay} MB/s"
    elif cell["kind"] == "unseen":
        text = f"unseen {sum(cell['bytes']) / 1e6 / sum(cell['slice_s']):.1f} MB/s"
    elif cell["kind"] == "short":
        text = f"median {cell['median_ns']:.0f} ns, p99 {cell['p99_ns']:.0f} ns"
    else:
        text = f"import {cell['import_s'] * 1e3:.1f} ms, load {cell['load_s'] * 1e3:.1f} ms"
    return text if cell["verdict"] == "same" else f"{text}  [{cell['verdict']}]"


def run_undisturbed(bench: Bench, task: Task, retries: int) -> Cell:
    """The task again when it had less than its core, which says nothing about the engine; the best attempt counts.

    The reference is not repeated: it is slow, and only its ids matter.
    """
    best = bench.run(task)
    attempts = 1
    while best.get("cpu_share", 1.0) < FULL_SHARE and attempts <= retries and task.engine not in (REFERENCE, CONTROL):
        again = bench.run(task)
        attempts += 1
        if again.get("cpu_share", 0.0) > best["cpu_share"]:
            best = again
    return best | {"attempts": attempts} if attempts > 1 else best


def measure(bench: Bench, tasks: list[Task], quiet: bool, retries: int = 0) -> tuple[list[Cell], bool]:
    """All cells in order, and whether the run was interrupted."""
    cells: list[Cell] = []
    began = time.monotonic()
    for number, task in enumerate(tasks, 1):
        try:
            cell = run_undisturbed(bench, task, retries)
        except KeyboardInterrupt:
            return cells, True
        cells.append(cell)
        cell["verdict"] = judge(cell, expected_digests(cells))
        if not quiet:
            left = (time.monotonic() - began) / number * (len(tasks) - number)
            head = f"[{number}/{len(tasks)}, {left / 60:.0f} min left] round {task.round} {task.label()}"
            print(f"{head}  {task.engine}: {rates(cell)}", file=sys.stderr, flush=True)
    return cells, False


def look_at_engines(bench: Bench, engines: list[str], model: str) -> dict[str, dict[str, str]]:
    """Versions; it also brings every engine's files into the page cache before anything is timed."""
    found = {}
    for name in engines:
        engine = find_engine(name)
        cell = bench.run(Task("startup", name, model, 0))
        failure = cell.get("error") or cell.get("skip")
        if failure:
            print(f"{name}: {failure}", file=sys.stderr)
        found[name] = {
            "title": engine.title, "version": cell.get("version", "?"), "single_returns": engine.single_returns,
            "batch_returns": engine.batch_returns,
        }  # fmt: skip
    return found


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, metavar="DIR", help="folder with the compiled modules")
    parser.add_argument("--ours-python", default=sys.executable, metavar="PYTHON", help="interpreter for our modules")
    parser.add_argument("--isa", nargs="*", default=["avx2"], help="also run ours with GIGATOK_ISA forced to these")
    parser.add_argument("--models", nargs="+", default=["gpt2", "llama3"])
    parser.add_argument("--corpora", nargs="+", default=list(materials.CORPORA), choices=list(materials.CORPORA))
    parser.add_argument("--engines", nargs="+", default=RIVALS, choices=RIVALS, help="the rivals to run")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--replays", type=int, default=5, help="replays in each round and way")
    parser.add_argument("--slices", type=int, default=5, help="timed slices of the unseen measurement")
    parser.add_argument("--calls", type=int, default=4000, help="distinct short texts per median and per percentile")
    parser.add_argument("--startups", type=int, default=3, help="start-up processes per engine and round")
    parser.add_argument("--max-seconds", type=float, default=10.0, help="stop a slow engine's replays after this")
    parser.add_argument("--retries", type=int, default=2, help="repeat a measurement that had not its whole core")
    parser.add_argument("--bytes", type=int, help="at most this much of each corpus (short calls use all of it)")
    parser.add_argument("--cpu", type=int, help="the core to pin to; default: the last one this process may use")
    parser.add_argument("--peers", metavar="DIR", help="the rivals' environments; made when missing")
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent / "results" / "latest.json")
    parser.add_argument("--quiet", action="store_true")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = parse_arguments(arguments)
    rivals = [name for name in RIVALS if name in options.engines or name == REFERENCE]
    ours = [OURS, *(f"{OURS}-{isa}" for isa in options.isa)] if options.ours else []
    peers_folder = peers.peers_folder(options.peers)
    peers.make_environments(peers_folder)
    cpu = options.cpu if options.cpu is not None else (machine.usable_cpus() or [-1])[-1]
    settings = Settings(
        engines=(*ours, *rivals), models=tuple(options.models), corpora=tuple(options.corpora),
        kinds=tuple(options.kinds), rounds=options.rounds, replays=options.replays, slices=options.slices,
        calls=options.calls, startups=options.startups, max_seconds=options.max_seconds,
        short_corpus="english" if "english" in options.corpora else options.corpora[0],
        control_corpus=min(options.corpora, key=lambda name: materials.CORPORA[name][2]),
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="gigatok-benchmark-") as folder:
        work = Path(folder)
        for model in settings.models:
            materials.prepare_model(model, work / "models")
        corpora = {name: materials.prepare_corpus(name, work, options.bytes)[1] for name in settings.corpora}
        if options.bytes and "short" in settings.kinds:
            (work / "whole").mkdir()
            materials.prepare_corpus(settings.short_corpus, work / "whole", None)
        bench = Bench(work, peers_folder, options.ours and options.ours.resolve(), options.ours_python, cpu)
        engines = look_at_engines(bench, [*settings.engines, CONTROL], settings.models[0])
        before = machine.load_average()
        started = time.time()
        cells, interrupted = measure(bench, plan_tasks(settings), options.quiet, options.retries)
    judge_all(cells)
    result = {
        "schema": SCHEMA, "date": time.strftime("%Y-%m-%d", time.gmtime(started)), "seconds": int(time.time() - started),
        "interrupted": interrupted, "machine": machine.describe_machine(), "pinned_cpu": cpu,
        "load_before": before, "load_after": machine.load_average(), "settings": asdict(settings),
        "bytes_limit": options.bytes, "engines": engines, "corpora": corpora, "cells": cells,
    }  # fmt: skip
    write_result(options.out, result)
    print(tables(result))
    broken = uncaught_controls(cells)
    for cell in broken:
        print(f"negative control not caught: {cell['model']} {cell['way']} is {cell['verdict']}", file=sys.stderr)
    wrong = [cell for cell in cells if cell["engine"] in ours and cell["verdict"] in ("differ", "error")]
    return 1 if broken or wrong or interrupted else 0


def write_result(path: Path, result: dict[str, Any]) -> None:
    """JSON with one cell a line: raw figures, small diffs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({key: value for key, value in result.items() if key != "cells"}, indent=1)
    cells = ",\n".join(json.dumps(rounded(cell)) for cell in result["cells"])
    part = path.with_suffix(".part")
    part.write_text(f'{head.rstrip().removesuffix("}").rstrip()},\n "cells": [\n{cells}\n ]\n}}\n', encoding="utf-8")
    part.rename(path)


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


if __name__ == "__main__":
    raise SystemExit(main())
