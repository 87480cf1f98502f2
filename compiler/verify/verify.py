"""verify_module: is a built package right? Checked against the regex engine, in a process of its own."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gigatok_compile.errors import VerifyError
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.ir.tags import Tag
from gigatok_compile.verify.files import check_files
from gigatok_compile.verify.report import Mismatch, VerifyReport
from gigatok_compile.verify.subject import Diary
from gigatok_compile.verify.texts import byte_alphabet, edge_characters, make_alphabet

_HINT = "this is a defect of gigatok-compile: please report the definition and this text"

BUDGET_SECONDS = 6.0


@dataclass(frozen=True, slots=True)
class _Ended:
    """A child process that is over. outcome: what it printed, None if it did not come to that."""

    status: int
    outcome: dict[str, Any] | None
    what: str  # the last note of its diary
    text: str
    stderr: str
    timed_out: bool


def verify_module(
    package_dir: Path,
    definition: TokenizerDefinition,
    partitions: Sequence[Sequence[Tag]] = (),
    *,
    finer: Sequence[Sequence[Tag]] = (),
    continuation: Sequence[int] | None = None,
    budget_seconds: float = BUDGET_SECONDS,
    seed: int = 0,
) -> VerifyReport:
    """Compare the package's files with the definition, then its native engine, every kernel set of it, with its regex engine.

    A package without a library has the regex engine only; then that is run over the same texts.

    Args:
        package_dir: a complete package: library, manifest.json, definition.npz, __init__.py.
        definition: what it was made from.
        partitions: the kernel's alphabet, or each step's tags where there is no kernel: one character of each cell makes
            the short texts.
        finer: the steps' tags; a character of each of theirs is in the longer ones.
        continuation: the kernel's, None where it reads characters.
        budget_seconds: about how long; smaller budgets check fewer texts, never fewer kinds of them.
        seed: of the random texts; equal seeds give equal texts, as far as the time reaches.

    Raises:
        VerifyError: with the smallest text found on which the module is wrong, crashes or hangs.
    """
    started = time.monotonic()
    package_dir = package_dir.resolve()
    check_files(package_dir, definition)
    job = {
        "directory": str(package_dir.parent),
        "name": package_dir.name,
        "alphabet": [*make_alphabet(partitions, finer), *byte_alphabet(continuation)],
        "edges": edge_characters([*partitions, *finer], continuation is not None),
        "budget": budget_seconds,
        "seed": seed,
    }
    outcome = run_job(job, timeout=60 + 20 * budget_seconds)
    return VerifyReport(outcome["cases"], tuple(outcome["isas"]), time.monotonic() - started, seed)


def run_job(job: dict[str, Any], *, timeout: float, what: str = "module") -> dict[str, Any]:
    """What the child of `job` found out: "cases" and "isas".

    Args:
        job: see verify/child.py; "child" is the module that carries it out, by default that one.
        what: is being checked, for messages.

    Raises:
        VerifyError: with the smallest text found on which it is wrong, crashes or hangs.
    """
    with tempfile.TemporaryDirectory(prefix="gigatok-verify-") as folder:
        ended = _run(job, Path(folder), timeout)
        if ended.outcome is None:
            raise _crash_error(job, Path(folder), ended, what)
    if "mismatch" in ended.outcome:
        mismatch = Mismatch(**ended.outcome["mismatch"])
        raise VerifyError(f"the compiled {what} is wrong: {mismatch}", where=job["name"], hint=_HINT)
    return ended.outcome


def _run(job: dict[str, Any], folder: Path, timeout: float) -> _Ended:
    diary, job_file = folder / "diary", folder / "job.json"
    diary.write_bytes(bytes(8))
    job_file.write_text(json.dumps(job | {"diary": str(diary)}), encoding="utf-8")
    command = [sys.executable, "-m", job.get("child", "gigatok_compile.verify.child"), str(job_file)]
    timed_out = False
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, check=False)
        status, stdout, stderr = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        status, stdout, stderr, timed_out = -signal.SIGKILL, "", "", True
    lines = stdout.strip().splitlines()
    outcome = json.loads(lines[-1]) if status == 0 and lines else None
    return _Ended(status, outcome, *Diary.read(diary), stderr, timed_out)


def _crash_error(job: dict[str, Any], folder: Path, ended: _Ended, what: str) -> VerifyError:
    """The error for a child that crashed, hung, or raised; a crash is narrowed down to one text."""
    if ended.status > 0:
        reason = ended.stderr.strip().splitlines()[-15:]
        return VerifyError(
            f"the check of the compiled {what} failed:\n  " + "\n  ".join(reason), where=job["name"], hint=_HINT
        )
    text = ended.text if ended.timed_out else _crashing_text(job, folder, ended)
    did = "does not return" if ended.timed_out else f"crashes ({signal.Signals(-ended.status).name})"
    shown = ascii(text) if len(text) <= 300 else f"{text[:300]!a}... ({len(text)} characters)"
    return VerifyError(
        f"the compiled {what} {did} in {ended.what or 'loading'}: {shown}", where=job["name"], hint=_HINT
    )


def _crashing_text(job: dict[str, Any], folder: Path, ended: _Ended) -> str:
    """Of the texts that were being worked on, one that crashes by itself, if there is one; halved, then cut short."""
    kind = ended.what.split(" ")[0]
    if kind not in ("boundaries", "ids"):
        return ended.text

    def crashes(texts: list[str]) -> bool:
        return _run(job | {"texts": texts, "what": ended.what}, folder, timeout=60).status < 0

    texts = ended.text.split("\0") if kind == "ids" else [ended.text]
    while len(texts) > 1:
        half = texts[: len(texts) // 2]
        texts = half if crashes(half) else texts[len(texts) // 2 :]
    (text,) = texts
    step = len(text) // 2
    while step and crashes([text]):
        shorter = [part for part in (text[:-step], text[step:]) if crashes([part])]
        text, step = (shorter[0], min(step, len(shorter[0]) // 2)) if shorter else (text, step // 2)
    return text
