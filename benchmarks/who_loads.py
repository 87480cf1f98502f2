"""Which engine loads which definition, and whose ids are right.

    python benchmarks/who_loads.py --out who.json                       every definition of the shared folder (an hour)
    python benchmarks/who_loads.py --out who.json --models gpt2 gemma3 --engines ours gigatoken
    python benchmarks/who_loads.py --out who.json --variants            small definitions, one known hole each
    python -m benchmarks.who_tables who.json                            the results as Markdown

The reference is tokenizers of a tokenizer.json, sentencepiece of a `.model`, tiktoken of a rank file or tekken.json. Texts
are those of `who_texts.py`, one a call, without special tokens put round them. Each engine with each definition has a process
of its own, with limits of memory (--megabytes) and of time (--seconds a text). Ours is compiled in that process without
verification. A later run replaces the cells that it measures. The rivals' environments are made by `peers.py`.
"""

from __future__ import annotations

import argparse
import json
import lzma
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.materials import shared_folder
from benchmarks.peers import peers_folder, python_of
from benchmarks.rivals import OURS, REFERENCE, RIVALS, Job, kind_of
from benchmarks.sessions import DIES, DIFFERS, EQUAL, HANGS, IDS, LOADED, NOT_RUN, RAISES, Outcome, Session
from benchmarks.verify_models import GRAMMARS, definitions
from benchmarks.who_tables import cell_text
from benchmarks.who_texts import added_tokens, case_texts, corpus_texts, hostile, is_text, typed
from benchmarks.who_variants import make_variants

SCHEMES = {
    "cl100k_base": "cl100k",
    "o200k_base": "o200k",
    "r50k_base": "r50k",
    "whisper_multilingual": "gpt2",
    "llama4": "o200k",
    "qwen3_6": "qwen35",
}
"""Rank files, and gigatoken's name for the pattern of each."""
TURNS_OUT = (EQUAL, DIFFERS, RAISES, DIES, HANGS, NOT_RUN)
SHRINK_ROUNDS = 30


def outcome_of(expected: Outcome, got: Outcome) -> str:
    """One of TURNS_OUT, for a text of which the reference gives ids."""
    if got.kind != IDS:
        return got.kind
    return EQUAL if got.ids == expected.ids else DIFFERS


def shorter(text: str) -> list[str]:
    """Texts to try in place of `text`: parts of it, the shortest first, and with one character left out."""
    size = len(text)
    found: dict[str, None] = {}
    for part in (size // 8, size // 4, size // 2, size * 3 // 4):
        if part > 24 or size <= 64:
            step = max(1, part // 2)
            found |= dict.fromkeys(text[at : at + part] for at in range(0, size - part + 1, step))
    for step in filter(None, (size // 2, size // 8, size // 32, min(size, 1))):
        found |= dict.fromkeys((text[:step], text[:-step], text[step:]))
    if size <= 64:
        found |= dict.fromkeys(text[:at] + text[at + 1 :] for at in range(size))
    return [part for part in sorted(found, key=len) if len(part) < size]


def shrink(text: str, wrong: Callable[[str], bool], rounds: int = SHRINK_ROUNDS) -> str:
    """The shortest text found that is wrong as `text` is; `text` itself when its parts are right."""
    for _ in range(rounds):
        found = next((part for part in shorter(text) if wrong(part)), None)
        if found is None:
            break
        text = found
    return text


def example_of(text: str, right: Outcome, got: Outcome) -> dict[str, Any]:
    """What tables show of a text that differs: ids from the first different one on, and how many there are."""
    pairs = zip(right.ids, got.ids, strict=False)
    at = next((number for number, (a, b) in enumerate(pairs) if a != b), min(len(right.ids), len(got.ids)))
    return {
        "text": text[:200],
        "repeat": len(text) if len(set(text)) == 1 else 0,
        "at": at,
        "right": right.ids[at : at + 8],
        "got": got.ids[at : at + 8],
        "lengths": (len(right.ids), len(got.ids)),
    }


def compare(
    texts: Sequence[str], expected: Sequence[Outcome], reference: Session, session: Session, loaded: Outcome
) -> dict[str, Any]:
    """One cell: how loading went, how many texts turn out how, what was said, and the shortest text found that differs."""
    cell: dict[str, Any] = {"load": loaded.kind, "message": loaded.message}
    if loaded.kind != LOADED:
        return cell
    counts = dict.fromkeys(TURNS_OUT, 0)
    first: dict[str, tuple[str, str]] = {}
    for text, right in zip(texts, expected, strict=True):
        got = session.encode(text)
        how = outcome_of(right, got)
        counts[how] += 1
        if how != EQUAL and (how not in first or len(text) < len(first[how][0])):
            first[how] = (text, got.message)
    cell |= {"texts": len(texts), "counts": {how: count for how, count in counts.items() if count}}
    for how in (RAISES, DIES, HANGS):
        if how in first:
            cell[how] = {"text": first[how][0][:200], "characters": len(first[how][0]), "message": first[how][1]}
    if DIFFERS in first:

        def wrong(text: str) -> bool:
            right, got = reference.encode(text), session.encode(text)
            return right.kind == got.kind == IDS and right.ids != got.ids

        text = shrink(first[DIFFERS][0], wrong)
        cell["example"] = example_of(text, reference.encode(text), session.encode(text))
    return cell


def session_of(job: Job, limits: argparse.Namespace) -> Session:
    rival = RIVALS.get(job.engine)
    environment = rival.environment if rival else "released"
    python = sys.executable if environment == "own" else str(python_of(environment, peers_folder()))
    worker = str(ROOT / "benchmarks" / "who_worker.py")
    quiet = dict.fromkeys(("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TOKIO_WORKER_THREADS"), "1")
    return Session(
        [python, worker, json.dumps(job._asdict()), str(limits.megabytes)],
        quiet | {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1", "PYTHONHASHSEED": "0"},
        load_limit=900 if job.engine == OURS else 120,
        text_limit=limits.seconds,
    )


def job_of(engine: str, model: str, path: Path, folder: Path) -> Job:
    from gigatok_compile.grammars.registry import load_grammar

    kind = kind_of(path)
    grammar = GRAMMARS.get(model, "") if kind == "ranks" else ""
    return Job(
        engine,
        str(path),
        kind,
        pattern=load_grammar(grammar).patterns[0] if grammar else "",
        encoding=path.stem,
        scheme=SCHEMES.get(model, ""),
        grammar=grammar,
        module=str(folder / f"m_{model}"),
    )


def measure(
    model: str, path: Path, texts: Iterable[str], engines: Sequence[str], limits: argparse.Namespace, folder: Path
) -> dict[str, Any]:
    """One row: the reference's answer and a cell an engine. Texts that the reference has no ids for are left out and counted."""
    row: dict[str, Any] = {"model": model, "file": path.name, "date": time.strftime("%Y-%m-%d"), "cells": {}}
    reference = session_of(job_of(REFERENCE, model, path, folder), limits)
    loaded = reference.load()
    row["reference"] = {"load": loaded.kind, "message": loaded.message}
    answers: list[tuple[str, Outcome]] = []
    if loaded.kind == LOADED:
        answers = [(text, reference.encode(text)) for text in dict.fromkeys(texts) if is_text(text)]
        row["reference"]["no_ids"] = sum(answer.kind != IDS for _, answer in answers)
        answers = [(text, answer) for text, answer in answers if answer.kind == IDS]
        row["reference"]["texts"] = len(answers)
    for engine in engines:
        session = session_of(job_of(engine, model, path, folder), limits)
        began = time.monotonic()
        loaded = session.load()
        loaded = replace(loaded, message=loaded.message.replace(f"{path}: ", "").replace(f"{path.parent}/", ""))
        kept, expected = [text for text, _ in answers], [answer for _, answer in answers]
        row["cells"][engine] = compare(kept, expected, reference, session, loaded)
        session.close()
        print(
            f"  {model} {engine}: {cell_text(row['cells'][engine])} ({time.monotonic() - began:.0f} s)",
            file=sys.stderr,
            flush=True,
        )
    reference.close()
    return row


def without_lengths(data: bytes, kind: str) -> bytes:
    """A tokenizer.json that neither cuts nor pads: not every engine can be told to leave that."""
    if kind != "json":
        return data
    definition = json.loads(data)
    if not definition.get("truncation") and not definition.get("padding"):
        return data
    return json.dumps(definition | {"truncation": None, "padding": None}, ensure_ascii=False).encode()


def versions() -> list[str]:
    """Name and version of every engine that is measured and of the references."""
    wanted: dict[str, list[str]] = {"released": ["tokenizers", "sentencepiece"]}
    for rival in RIVALS.values():
        if rival.environment != "own":
            wanted.setdefault(rival.environment, []).append(rival.distribution)
    found = []
    for environment, names in wanted.items():
        code = "import sys; from importlib.metadata import version\nfor n in sys.argv[1:]: print(n, version(n))"
        command = [str(python_of(environment, peers_folder())), "-c", code, *names]
        found += subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return found


def replace_row(rows: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Put a row in place; cells of engines that it does not hold stay."""
    for number, old in enumerate(rows):
        if (old["model"], old["file"]) == (row["model"], row["file"]):
            rows[number] = row | {"cells": old["cells"] | row["cells"]}
            return
    rows.append(row)
    rows.sort(key=lambda row: (row["model"], row["file"]))


def results_text(results: Mapping[str, Any]) -> str:
    """JSON with a line for each definition, so that a run's changes can be read."""

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    def lines(value: Any) -> str:
        is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], dict)
        return "[\n" + ",\n".join(map(compact, value)) + "\n]" if is_rows else compact(value)

    return "{" + ",".join(f"{compact(key)}:{lines(value)}" for key, value in results.items()) + "}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--out", type=Path, required=True, help="JSON file of results; what it holds of other cells stays"
    )
    parser.add_argument("--models", nargs="*", help="only these definitions (or variants)")
    parser.add_argument("--engines", nargs="*", default=list(RIVALS), choices=RIVALS, help="only these engines")
    parser.add_argument("--variants", action="store_true", help="the small definitions of who_variants.py")
    parser.add_argument("--seconds", type=float, default=20, help="for one text")
    parser.add_argument("--megabytes", type=int, default=8192, help="address space of a process")
    parser.add_argument("--modules", type=Path, help="folder to keep our compiled modules in, and to find them again")
    arguments = parser.parse_args()
    results: dict[str, Any] = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    shared = shared_folder()
    if shared is None:
        raise SystemExit(
            "the definitions are in the shared folder ($GIGATOK_SHARED, or `shared` beside the repository)"
        )
    results |= {"versions": versions(), "date": time.strftime("%Y-%m-%d")}
    hard = [*case_texts(shared / "cases"), *hostile()]
    with tempfile.TemporaryDirectory(prefix="gigatok-who-") as temporary:
        folder = Path(temporary)
        modules = (arguments.modules or folder / "modules").absolute()
        modules.mkdir(parents=True, exist_ok=True)
        if arguments.variants:
            for variant in make_variants(shared, folder):
                if not arguments.models or variant.name in arguments.models:
                    texts = [*variant.texts, *hard, *typed(variant.added)]
                    row = measure(variant.name, variant.path, texts, arguments.engines, arguments, modules)
                    replace_row(results.setdefault("variants", []), row | {"claim": variant.claim})
                    arguments.out.write_text(results_text(results))
            return
        documents = corpus_texts(shared / "corpora")
        for model, packed in definitions(shared):
            if arguments.models and model not in arguments.models:
                continue
            path = folder / model / packed.stem
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(without_lengths(lzma.decompress(packed.read_bytes()), kind_of(path)))
            texts = [*documents, *hard, *typed(added_tokens(path, kind_of(path)))]
            row = measure(model, path, texts, arguments.engines, arguments, modules / kind_of(path))
            replace_row(results.setdefault("definitions", []), row)
            arguments.out.write_text(results_text(results))
    return


if __name__ == "__main__":
    main()
