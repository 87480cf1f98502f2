"""The process in which a grammar's kernels are checked: `python -m gigatok_compile.check.child JOB`.

As with modules (verify/child.py), a kernel that crashes or hangs takes only this process along.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from gigatok_compile.check.chain import StepChain
from gigatok_compile.check.library import SplitterLibrary
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.verify import checks, texts
from gigatok_compile.verify.report import Mismatch
from gigatok_compile.verify.shrink import shrink
from gigatok_compile.verify.subject import Diary, Disagreement

CHECKS: tuple[tuple[checks.CutsCheck, float], ...] = (
    (checks.short_strings, 0.25),
    (checks.every_window, 0.12),
    (checks.every_phase, 0.13),
    (checks.runs, 0.10),
    (checks.chunk_ends, 0.10),
    (checks.word_ends, 0.05),
    (checks.random_boundaries, 0.05),
)
"""Those of a module that are about cuts, and their share of the time; random strings have the rest."""

RANDOM_SHARE = 0.15


class GrammarSubject:
    """The kernels and the oracle. What it compares is cuts, what it shows is pieces."""

    def __init__(self, library: SplitterLibrary, oracle: StepChain, diary: Diary) -> None:
        self.library, self.oracle, self.diary = library, oracle, diary

    def check_spans(self, text: str) -> None:
        """Every kernel cuts `text` where the steps say; raises Disagreement."""
        expected = self.oracle.byte_spans(text)
        data = text.encode()
        for isa in self.library.isas:
            self.diary.note(f"boundaries {isa}", text)
            if self.library.spans(data, isa) != expected:
                small = shrink(text, partial(self._differs, isa))
                right = self._show(small, self.oracle.byte_spans(small))
                got = self._show(small, self.library.spans(small.encode(), isa))
                raise Disagreement(Mismatch("pieces", isa, small, right, got))

    def _differs(self, isa: str, text: str) -> bool:
        self.diary.note(f"boundaries {isa}", text)
        return self.library.spans(text.encode(), isa) != self.oracle.byte_spans(text)

    @staticmethod
    def _show(text: str, spans: list[tuple[int, int]]) -> str:
        data = text.encode()
        return ascii([data[start:stop].decode(errors="replace") for start, stop in spans])


def random_strings(subject: GrammarSubject, job: dict[str, Any]) -> int:
    """Random strings of a few words, `cases` of them if the job says so."""
    random = Random(f"{job['seed']} random_strings")
    clock = checks.Clock(job["budget"] * RANDOM_SHARE)
    wanted, done = job["cases"], 0
    while done < wanted if wanted is not None else (done == 0 or clock.left()):
        for _ in range(min(64, wanted - done) if wanted is not None else 64):
            subject.check_spans(texts.random_text(job["alphabet"], random, random.randint(0, 40)))
            done += 1
    return done


def run(subject: GrammarSubject, job: dict[str, Any]) -> dict[str, int]:
    """All checks; for each, how many cases it compared."""
    if job.get("texts") is not None:  # only these, to find the one that makes a kernel crash
        for text in job["texts"]:
            subject.check_spans(text)
        return {}
    for text in job["examples"]:
        subject.check_spans(text)
    cases = {"examples": len(job["examples"])}
    clock = checks.Clock(job["budget"] * checks.EDGES_SHARE)
    cases["edges"] = checks.edges(subject, job["alphabet"], job["edges"], clock)
    for check, share in CHECKS:
        random = Random(f"{job['seed']} {check.__name__}")
        cases[check.__name__] = check(subject, job["alphabet"], random, checks.Clock(job["budget"] * share))
    return cases | {"random_strings": random_strings(subject, job)}


def main(job_path: str) -> int:
    """Run the job; the last line of standard output is the outcome."""
    job: dict[str, Any] = json.loads(Path(job_path).read_text(encoding="utf-8"))
    # a space before the text is put there before it is cut, so it is no matter of the kernels
    steps = [step for step in load_grammar(job["grammar"]).steps if isinstance(step, SplitStep)]
    oracle = StepChain(steps)
    subject = GrammarSubject(SplitterLibrary(Path(job["library"])), oracle, Diary(job["diary"]))
    try:
        print(json.dumps({"cases": run(subject, job), "isas": list(subject.library.isas)}))
    except Disagreement as error:
        print(json.dumps({"mismatch": asdict(error.mismatch)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
