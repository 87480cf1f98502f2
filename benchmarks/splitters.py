#!/usr/bin/env python3
"""Every grammar of the package: how fast our kernels cut, and what the rivals make of the same pre-tokenizer.

    python benchmarks/splitters.py                         all of them (about ten minutes on an idle machine)
    python benchmarks/splitters.py --grammars cl100k t5    some; what the result file holds already is kept
    python benchmarks/splitters.py --again                 measure anew what it holds
    python -m benchmarks.splitter_report RESULT.json --update README.md

Ours is cutting alone (`gt_count_pieces` of a splitter without a vocabulary), per kernel, on one core. A rival does not cut
alone, so it encodes: GPT-2's vocabulary with the grammar's pre-tokenizer, English, twice over. What that says is in the ratio
to the same library, on the same text, with GPT-2's own pre-tokenizer. Ids are compared with tokenizers 0.23.3.

The file is written after each grammar: an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # started as a file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import machine, materials, peers
from benchmarks.engines import REFERENCE
from benchmarks.plan import Cell, Task
from benchmarks.run import Bench, rounded, run_undisturbed
from benchmarks.splitter_report import RIVALS, RULE_TEXT, classify, summary_line
from benchmarks.texts import read_documents

CORPORA = ("english", "zh", "code", "ja", "ru")
TEXT_BYTES = 4_000_000  # for our kernels
RIVAL_BYTES = 1_500_000
CHECKED_CHARACTERS = 20_000  # of each text, our cuts are compared with the regex engine's
PASSES = 9
REPLAYS = 5
RETRIES = 2  # of a measurement that had not its whole core
SCHEMA = 1


# ------------------------------------------------------------------ ours


def measure_ours(name: str, texts: Mapping[str, bytes], passes: int = PASSES) -> dict[str, Any]:
    """Tier, and every kernel over every text. Needs gigatok_compile and a C compiler."""
    from gigatok_compile.check.chain import StepChain
    from gigatok_compile.check.grammar import build_splitter
    from gigatok_compile.check.library import SplitterLibrary
    from gigatok_compile.check.speed import kernel_speeds
    from gigatok_compile.errors import CompileError
    from gigatok_compile.grammars.registry import load_grammar
    from gigatok_compile.ir.definition import SplitStep
    from gigatok_compile.split_plan import plan_pre_tokenizer

    grammar = load_grammar(name)
    facts: dict[str, Any] = {"models": list(grammar.models), "rows": list(grammar.rows)}
    facts["kind"] = grammar.dialect if grammar.patterns else "pre_tokenizer"
    try:
        steps = grammar.steps
        plan = plan_pre_tokenizer(steps)
    except CompileError as error:
        return facts | {"tier": "refused", "reason": str(error), "cells": []}
    facts |= {"tier": plan.tier, "steps": [step.tier for step in plan.steps]}
    if plan.kernel is None:
        return facts | {"reason": plan.reason, "cells": []}
    facts |= {"reason": plan.kernel.reason, "removes": plan.kernel.machine.removes}
    if plan.kernel.bits is not None:
        facts |= {"operations": plan.kernel.bits.operations, "classes": len(plan.kernel.bits.classes)}
    oracle = StepChain([step for step in steps if isinstance(step, SplitStep)])  # what kernels do; no prefix
    with tempfile.TemporaryDirectory(prefix="gigatok-splitter-") as folder:
        library = SplitterLibrary(build_splitter(grammar, plan.kernel, Path(folder)))
        facts["wrong"] = wrong_cuts(library, oracle, texts)
        cells = [
            {
                "isa": speed.kernel,
                "corpus": speed.text,
                "bytes": speed.bytes,
                "pieces": speed.pieces,
                "seconds": speed.seconds,
                "ticks": speed.ticks,
            }
            for speed in kernel_speeds(library, texts, passes)
        ]
    return facts | {"cells": cells}


def wrong_cuts(library: Any, oracle: Any, texts: Mapping[str, bytes]) -> list[str]:
    """Kernels and texts on which they do not cut as the regex engine does."""
    found = []
    for title, data in texts.items():
        text = data[: 4 * CHECKED_CHARACTERS].decode(errors="ignore")[:CHECKED_CHARACTERS]
        expected = oracle.byte_spans(text)
        found += [f"{isa} {title}" for isa in library.isas if library.spans(text.encode(), isa) != expected]
    return found


@contextlib.contextmanager
def pinned(cpu: int) -> Iterator[None]:
    """This process on one core, and back."""
    if cpu < 0 or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


# ------------------------------------------------------------------ rivals

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}


def pre_tokenizer_of(contents: Mapping[str, Any]) -> dict[str, Any]:
    """The pre-tokenizer of a byte-level tokenizer.json that cuts as a grammar file says; patterns are taken as they stand."""
    if "pre_tokenizer" not in contents:
        patterns = [contents["pattern"]] if isinstance(contents["pattern"], str) else contents["pattern"]
        steps = [
            {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
            for pattern in patterns
        ]
        return {"type": "Sequence", "pretokenizers": [*steps, BYTE_LEVEL]}
    given = contents["pre_tokenizer"]
    if given is None:
        return BYTE_LEVEL
    leaves = list(leaves_of(given))
    if any(leaf["type"] == "ByteLevel" for leaf in leaves):
        return dict(given)
    return {"type": "Sequence", "pretokenizers": [*leaves, BYTE_LEVEL]}


def leaves_of(step: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if step["type"] == "Sequence":
        for child in step["pretokenizers"]:
            yield from leaves_of(child)
    else:
        yield dict(step)


def grammar_contents(name: str) -> dict[str, Any]:
    from importlib.resources import files

    from gigatok_compile.grammars.registry import load_grammar

    path = files("gigatok_compile.grammars") / load_grammar(name).where
    contents: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return contents


def distinct_text(documents: Sequence[str], size: int) -> list[str]:
    """Every word of the text once, in lines of twenty: a word cache answers nothing."""
    words = dict.fromkeys(word for document in documents for word in document.split())
    lines, length, line = [], 0, list[str]()
    for word in words:
        line.append(word)
        length += len(word.encode()) + 1
        if len(line) == 20:
            lines.append(" ".join(line))
            line = []
        if length > size:
            break
    chunk = 200  # lines a document
    lines += [" ".join(line)] if line else []
    return ["\n".join(lines[at : at + chunk]) for at in range(0, len(lines), chunk)]


def measure_rivals(bench: Bench, model: str, engines: Iterable[str]) -> dict[str, dict[str, Cell]]:
    """engine -> text -> cell; the reference's digests stand in it like the others'."""
    found: dict[str, dict[str, Cell]] = {}
    for engine in engines:
        options = {"replays": str(0 if engine == REFERENCE else REPLAYS), "max_seconds": "4"}
        found[engine] = {}
        for corpus in ("english", "distinct"):
            cell = run_undisturbed(bench, Task("pass", engine, model, 1, corpus, "batch", options), RETRIES)
            kept = ("bytes", "first_call_s", "first_s", "replay_s", "digests", "load_s", "cpu_share", "error", "skip")
            found[engine][corpus] = {key: cell[key] for key in kept if key in cell}
            if "error" in cell:
                break
    return found


def prepare_rivals(work: Path, size: int) -> tuple[dict[str, object], dict[str, Any]]:
    """The two texts, and GPT-2's definition."""
    path, facts = materials.prepare_corpus("english", work, size)
    whole, _ = materials.prepare_corpus("english", work / "whole", None)
    separator = f"\n{materials.SEPARATOR}\n"
    documents = distinct_text(read_documents(str(whole)), size)
    (work / "distinct.txt").write_text(separator.join(documents), encoding="utf-8")
    assert path.name == "english.txt"
    definition: dict[str, Any] = json.loads(materials.prepare_model("gpt2", work / "models").read_text("utf-8"))
    return facts, definition


def write_model(work: Path, name: str, definition: Mapping[str, Any], pre_tokenizer: Mapping[str, Any]) -> None:
    folder = work / "models" / name
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**definition, "pre_tokenizer": pre_tokenizer})
    (folder / "tokenizer.json").write_text(text, encoding="utf-8")


# ------------------------------------------------------------------ the whole


def our_texts(work: Path, names: Sequence[str], size: int) -> tuple[dict[str, bytes], dict[str, object]]:
    """Each corpus as one text, its documents on lines of their own; those that cannot be had are left out."""
    texts: dict[str, bytes] = {}
    facts: dict[str, object] = {}
    (work / "ours").mkdir()
    for name in names:
        try:
            path, facts[name] = materials.prepare_corpus(name, work / "ours", size)
        except SystemExit as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        texts[name] = "\n".join(read_documents(str(path))).encode()
    return texts, facts


def machine_name(cpu: str) -> str:
    """A word for file names: "AMD EPYC" gives epyc."""
    words = cpu.lower().replace("(r)", " ").split()
    return next((word for word in words if word in ("epyc", "xeon", "ryzen", "core", "neoverse")), "machine")


def start_result(path: Path) -> dict[str, Any]:
    """What an earlier run left, or a new one."""
    if path.exists():
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if result.get("schema") != SCHEMA:
            raise SystemExit(f"{path} was written by another version of this script: remove it, or name another --out")
        return result
    return {"schema": SCHEMA, "rule": RULE_TEXT, "baseline": {}, "grammars": {}}


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """JSON, a grammar a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps({key: value for key, value in result.items() if key != "grammars"}, indent=1)
    lines = [f"  {json.dumps(name)}: {json.dumps(rounded(facts))}" for name, facts in result["grammars"].items()]
    part = path.with_suffix(".part")
    text = ",\n".join(lines)
    part.write_text(
        f'{head.rstrip().removesuffix("}").rstrip()},\n "grammars": {{\n{text}\n }}\n}}\n', encoding="utf-8"
    )
    part.rename(path)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--grammars", nargs="+", metavar="NAME", help="default: all of the package")
    parser.add_argument("--again", action="store_true", help="measure anew what the result file holds")
    parser.add_argument("--no-rivals", dest="rivals", action="store_false", help="our kernels only")
    parser.add_argument("--bytes", type=int, default=TEXT_BYTES, help="of each text, for our kernels")
    parser.add_argument("--rival-bytes", type=int, default=RIVAL_BYTES, help="of each text, for the rivals")
    parser.add_argument("--cpu", type=int, help="the core to pin to; default: the last one this process may use")
    parser.add_argument("--peers", metavar="DIR", help="the rivals' environments; made when missing")
    parser.add_argument("--out", type=Path, help="default: results/splitters-DATE-MACHINE.json")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    from gigatok_compile.grammars.registry import grammar_names, load_grammar

    options = parse_arguments(arguments)
    names = [load_grammar(name).name for name in options.grammars or grammar_names()]
    about = machine.describe_machine()
    date = time.strftime("%Y-%m-%d", time.gmtime())
    results = Path(__file__).resolve().parent / "results"
    out = options.out or results / f"splitters-{date}-{machine_name(str(about['cpu']))}.json"
    result = start_result(out)
    cpu = options.cpu if options.cpu is not None else (machine.usable_cpus() or [-1])[-1]
    result |= {"date": date, "machine": about, "pinned_cpu": cpu, "load_before": machine.load_average()}
    with tempfile.TemporaryDirectory(prefix="gigatok-splitters-") as folder:
        work = Path(folder)
        (work / "whole").mkdir()
        texts, result["corpora"] = our_texts(work, CORPORA, options.bytes)
        bench = Bench(work, peers.peers_folder(options.peers), None, sys.executable, cpu)
        bench.timeout = 90.0
        definition: dict[str, Any] = {}
        if options.rivals:
            peers.make_environments(bench.peers_folder)
            result["rival_corpus"], definition = prepare_rivals(work, options.rival_bytes)
            if options.again or not result["baseline"]:
                result["baseline"] = measure_rivals(bench, "gpt2", RIVALS)
                write_result(out, result)
        for number, name in enumerate(names, 1):
            facts: dict[str, Any] = {} if options.again else result["grammars"].get(name, {})
            if "cells" not in facts:
                with pinned(cpu):
                    facts = facts | measure_ours(name, texts)
            if options.rivals and "rivals" not in facts:
                write_model(work, name, definition, pre_tokenizer_of(grammar_contents(name)))
                facts["rivals"] = measure_rivals(bench, name, (REFERENCE, *RIVALS))
                (work / "models" / name / "tokenizer.json").unlink()
            facts["load1"] = (machine.load_average() or [0.0])[0]
            result["grammars"][name] = facts
            write_result(out, result | {"load_after": machine.load_average()})
            verdicts = {engine: classify(facts, result["baseline"], engine) for engine in RIVALS}
            print(f"[{number}/{len(names)}] {name}: {summary_line(facts, verdicts)}", file=sys.stderr, flush=True)
    result["load_after"] = machine.load_average()
    write_result(out, result)
    print(out)
    return 1 if any(facts.get("wrong") for facts in result["grammars"].values()) else 0


if __name__ == "__main__":
    raise SystemExit(main())
