"""The process in which a built module is checked: `python -m gigatok_compile.verify.child JOB`.

A module under test may crash, and a library that is loaded cannot be replaced on every system, so none of this happens in
the compiler's own process. JOB is a JSON file; the last line of standard output is a JSON object, the outcome.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

from gigatok_compile.verify.checks import CHECKS, EDGES_SHARE, Clock, edges
from gigatok_compile.verify.subject import Diary, Disagreement, Subject, import_package
from gigatok_compile.verify.texts import random_text, short_strings, simplest


def main(job_path: str) -> int:
    job: dict[str, Any] = json.loads(Path(job_path).read_text(encoding="utf-8"))
    if not any((Path(job["directory"]) / job["name"]).glob("_native.*")):
        print(json.dumps({"cases": {"regex_alone": run_regex_alone(job)}, "isas": ["regex"]}))
        return 0
    subject = Subject(Path(job["directory"]), job["name"], Diary(job["diary"]))
    try:
        cases = (
            run_texts(subject, job["texts"], job["what"]) if job.get("texts") is not None else run_checks(subject, job)
        )
    except Disagreement as error:
        print(json.dumps({"mismatch": asdict(error.mismatch)}))
        return 0
    print(json.dumps({"cases": cases, "isas": list(subject.boundary_isas)}))
    return 0


def run_checks(subject: Subject, job: dict[str, Any]) -> dict[str, int]:
    """All checks; for each, how many cases it compared."""
    cases = {"edges": edges(subject, job["alphabet"], job["edges"], Clock(job["budget"] * EDGES_SHARE))}
    for check, share in CHECKS:
        random = Random(f"{job['seed']} {check.__name__}")
        cases[check.__name__] = check(subject, job["alphabet"], random, Clock(job["budget"] * share))
    return cases


def run_regex_alone(job: dict[str, Any]) -> int:
    """A package without a library: there is nothing to compare with, but it must run, and give ids that it can decode."""
    engine = import_package(Path(job["directory"]), job["name"])._module.engine
    random, clock = Random(job["seed"]), Clock(job["budget"] / 4)
    done = 0
    for batch in clock.batches(short_strings(simplest(job["alphabet"]), random), 64):
        encoded = engine.encode_batch([*batch, random_text(job["alphabet"], random, 300)], special="match")
        if not all(engine.token_bytes(number) is not None for number in set(encoded.ids.tolist())):
            raise RuntimeError("the regex engine gives ids that the vocabulary does not hold")
        done += len(batch) + 1
    return done


def run_texts(subject: Subject, texts: list[str], what: str) -> dict[str, int]:
    """Only these texts, to find the one that makes the module crash."""
    for text in texts:
        if what.startswith("boundaries"):
            subject.check_spans(text)
        else:
            subject.check_ids([text], special="match")
    return {"texts": len(texts)}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
