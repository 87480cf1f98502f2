"""What compiling costs, and what a compiled module costs on disk and in memory.

    python benchmarks/compile_costs.py --out costs.json                     every definition of the shared folder
    python benchmarks/compile_costs.py --out costs.json --models gemma3 gpt_oss
    python benchmarks/compile_costs.py --out costs.json --update docs/costs.md   write the table there, run nothing

Compiling: CPU seconds (user and system) and the largest resident size of `gigatok-compile` with all that it starts (the C
compiler, the process that verifies), interpreter included; with verification, and with --no-verify. Memory: pages that no
other process holds (Private_Clean + Private_Dirty), after importing the module, after one short text, and after the documents
of the first 4 MB of the English corpus, a call each, whose ids are dropped; less what a process holds that imported numpy and
gigatok_runtime only. Each in a process of its own, and once more beside a second process that did the same, since pages of
the library are then shared. Caches are `thread_bytes` of the module: tables of learnt words, and scratch.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.machine import describe_machine
from benchmarks.materials import shared_folder
from benchmarks.report import update_file
from benchmarks.rivals import kind_of
from benchmarks.texts import cut_at_characters, split_documents
from benchmarks.verify_models import GRAMMARS, definitions
from benchmarks.worker import private_kilobytes

TEXT_BYTES = 4_000_000
SHORT = "The first call of a fresh process."
POINTS = ("import", "short", "text")
MARKERS = "<!-- costs: begin -->", "<!-- costs: end -->"


def private() -> int:
    """Private pages of this process, in kB."""
    pages = private_kilobytes()
    return pages["Private_Clean"] + pages["Private_Dirty"]


def use_module(folder: str, name: str, text: str) -> dict[str, Any]:
    """In a fresh process: private kB before and after each step, seconds of the import, and bytes of caches."""
    import gc
    import importlib

    import gigatok_runtime.module  # noqa: F401
    import numpy  # noqa: F401

    documents = split_documents(Path(text).read_text(encoding="utf-8"))
    sys.path.insert(0, folder)
    gc.collect()
    began, base = time.perf_counter(), private()
    module = importlib.import_module(name)
    seconds = time.perf_counter() - began
    report: dict[str, Any] = {"import_seconds": seconds, "base_kb": base, "import_kb": private() - base}
    module.encode(SHORT)
    report["short_kb"] = private() - base
    for document in documents:
        module.encode(document)
    gc.collect()
    report["text_kb"] = private() - base
    engine = module._module.engine
    report["cache_kb"] = engine.thread_bytes() // 1024 if hasattr(engine, "thread_bytes") else None
    return report


def run_compiler(path: Path, folder: Path, name: str, grammar: str | None, verify: bool) -> dict[str, Any]:
    """CPU seconds, wall seconds and largest resident MB of the command; `refused` when it says no."""
    command = [
        str(Path(sys.executable).parent / "gigatok-compile"),
        str(path),
        "-o",
        str(folder),
        "--name",
        name,
        "--quiet",
    ]
    command += ["--grammar", grammar] if grammar else []
    command += [] if verify else ["--no-verify"]
    with tempfile.TemporaryFile() as said:
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - began
        if process.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or [f"exit code {process.returncode}"]
            return {"refused": lines[0].replace(f"{path}: ", "")}
    return {"cpu": usage.ru_utime + usage.ru_stime, "wall": wall, "peak_mb": usage.ru_maxrss / 1024}


def measure_memory(folder: Path, name: str, text: Path) -> dict[str, Any]:
    """`use_module` alone, and beside a process that has done the same and waits."""
    command = [sys.executable, __file__, "--use", str(folder), name, str(text)]
    report: dict[str, Any] = {"alone": json.loads(subprocess.run(command, check=True, capture_output=True).stdout)}
    with ExitStack() as stack:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        other = stack.enter_context(subprocess.Popen([*command, "--wait"], **pipes))  # type: ignore[call-overload]
        other.stdout.readline()
        report["beside"] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        other.stdin.close()
    return report


def measure(model: str, packed: Path, text: Path, folder: Path) -> dict[str, Any]:
    path = folder / packed.stem
    path.write_bytes(lzma.decompress(packed.read_bytes()))
    grammar = GRAMMARS.get(model) if kind_of(path) == "ranks" else None
    row: dict[str, Any] = {"model": model, "file": path.name, "date": time.strftime("%Y-%m-%d")}
    facts = describe_machine()
    row["machine"] = f"{facts['cpu']}, {facts['compiler']}, Python {facts['python']}"
    name = "m_" + model
    plain = run_compiler(path, folder / "plain", name, grammar, False)
    if "refused" in plain:
        return row | plain
    row |= {"plain": plain, "verified": run_compiler(path, folder / "verified", name, grammar, True)}
    package = folder / "plain" / name
    files = [file for file in package.rglob("*") if file.is_file()]
    row["package_bytes"] = sum(file.stat().st_size for file in files)
    row["library_bytes"] = sum(file.stat().st_size for file in files if file.suffix == ".so")
    return row | measure_memory(folder / "plain", name, text)


def table(rows: Sequence[dict[str, Any]]) -> str:
    """The rows as Markdown; MB are 1e6 bytes on disk and 2^20 in memory."""
    head = "definition|CPU s|with verification|peak MB|package MB|library MB|import ms|alone: import|short text|4 MB of text|caches"
    head += "|beside another: import|short text|4 MB of text|without caches"
    lines = [f"| {head.replace('|', ' | ')} |", "|---" * 15 + "|"]
    for row in rows:
        named = f"{row['model']} ({row['file']})"
        if "refused" in row:
            lines.append(f"| {named} | refused: {row['refused']} |" + " |" * 13)
            continue
        verified = row["verified"]
        alone, beside = row["alone"], row["beside"]
        caches = beside["cache_kb"]
        cells = [
            f"{row['plain']['cpu']:.1f}",
            f"{verified['cpu']:.1f}" if "cpu" in verified else "fails",
            f"{max(row['plain']['peak_mb'], verified.get('peak_mb', 0)):.0f}",
            f"{row['package_bytes'] / 1e6:.1f}",
            f"{row['library_bytes'] / 1e6:.1f}",
            f"{alone['import_seconds'] * 1000:.1f}",
            *(f"{alone[point + '_kb'] / 1024:.1f}" for point in POINTS),
            "" if caches is None else f"{caches / 1024:.1f}",
            *(f"{beside[point + '_kb'] / 1024:.1f}" for point in POINTS),
            "" if caches is None else f"{(beside['text_kb'] - caches) / 1024:.1f}",
        ]
        lines.append(f"| {named} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def baseline(rows: Sequence[dict[str, Any]]) -> str:
    """What a process holds that imported numpy and gigatok_runtime and read the text, over all rows."""
    sizes = [row["beside"]["base_kb"] / 1024 for row in rows if "beside" in row]
    return f"{min(sizes):.1f} to {max(sizes):.1f} MB" if sizes else "not measured"


def page_text(rows: Sequence[dict[str, Any]]) -> str:
    """What stands between the markers of a page."""
    dates, machines = (sorted({row[key] for row in rows}) for key in ("date", "machine"))
    lines = [
        f"Measured on {', '.join(dates)}; {'; '.join(machines)}.",
        f"What a process holds before the import, the text included: {baseline(rows)}.",
    ]
    return "\n".join(lines) + f"\n\n{table(rows)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", help="only these")
    parser.add_argument("--out", type=Path, help="JSON file of results; what it holds of other models stays")
    parser.add_argument("--update", type=Path, metavar="FILE", help="write --out as a table between the markers there")
    parser.add_argument("--use", nargs=3, metavar=("FOLDER", "NAME", "TEXT"), help=argparse.SUPPRESS)
    parser.add_argument("--wait", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.use:
        print(json.dumps(use_module(*arguments.use)), flush=True)
        if arguments.wait:
            sys.stdin.read()
        return
    known = json.loads(arguments.out.read_text()) if arguments.out and arguments.out.exists() else []
    if arguments.update:
        update_file(arguments.update, page_text(known), MARKERS)
        return
    shared = shared_folder()
    if shared is None:
        raise SystemExit(
            "the definitions are in the shared folder ($GIGATOK_SHARED, or `shared` beside the repository)"
        )
    with tempfile.TemporaryDirectory(prefix="gigatok-costs-") as temporary:
        text = Path(temporary) / "english.txt"
        with lzma.open(shared / "corpora" / "english.txt.xz") as file:
            text.write_text(
                cut_at_characters(file.read(TEXT_BYTES).decode(errors="ignore"), TEXT_BYTES)[0], encoding="utf-8"
            )
        for model, packed in definitions(shared):
            if arguments.models and model not in arguments.models:
                continue
            with tempfile.TemporaryDirectory(dir=temporary) as folder:
                row = measure(model, packed, text, Path(folder))
            print(table([row]).splitlines()[-1], flush=True)
            known = [r for r in known if (r["model"], r["file"]) != (row["model"], row["file"])] + [row]
            known.sort(key=lambda r: (r["model"], r["file"]))
            if arguments.out:
                arguments.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
