"""The processes of the latency benchmark: starting workers, letting engines take turns, reading callgrind's counts."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.latency_engines import ENGINES, OURS
from benchmarks.latency_models import Definition
from benchmarks.latency_texts import blocks, percentile
from benchmarks.run import ONE_THREAD

FOLDER = Path(__file__).resolve().parent
WORKER = FOLDER / "latency_worker.py"
MARK = "@@"
Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """Where everything is. special: every engine adds special tokens."""

    work: Path
    peers_folder: Path
    ours_python: str
    cpu: int
    special: bool = False
    isa: str = ""
    tools: Mapping[str, Path] = field(default_factory=dict)

    def python_for(self, engine: str) -> str:
        environment = ENGINES[engine].environment
        return self.ours_python if environment == "own" else str(peers.python_of(environment, self.peers_folder))

    def environment(self, engine: str) -> dict[str, str]:
        dropped = ("PYTHON", "GIGATOK_", "VIRTUAL_ENV", "LD_PRELOAD")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)} | ONE_THREAD
        return kept | {"GIGATOK_ISA": self.isa} if self.isa and engine == OURS else kept

    def command(self, task: str, engine: str, definition: Definition, **options: str) -> list[str]:
        path = definition.files[ENGINES[engine].reads]
        given = {"engine": engine, "path": str(path), "cpu": str(self.cpu), "special": str(int(self.special))} | options
        return [self.python_for(engine), str(WORKER), task, *(f"{name}={value}" for name, value in given.items())]


def missing(engine: str, definition: Definition) -> str | None:
    """Why the engine cannot read this definition."""
    reads = ENGINES[engine].reads
    return None if reads in definition.files else definition.missing.get(reads, f"there is no {reads}")


def run_worker(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> tuple[list[Report], str]:
    """(what a worker said, line by line; why it did not end by itself, or "")"""
    trouble = ""
    try:
        done = subprocess.run(
            command, check=False, env=dict(environment), capture_output=True, text=True, timeout=seconds
        )
        output, errors = done.stdout, done.stderr
        if done.returncode:
            last = errors.strip().splitlines()[-1:] or [""]
            trouble = f"exit {done.returncode}: {last[0][:200]}"
    except subprocess.TimeoutExpired as late:
        output = late.stdout.decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
        trouble = f"ended after {seconds:.0f} s"
    except OSError as error:
        output, trouble = "", f"cannot start: {error.strerror}"
    return [json.loads(line[len(MARK) :]) for line in output.splitlines() if line.startswith(MARK)], trouble


def run_once(command: Sequence[str], environment: Mapping[str, str], seconds: float) -> Report:
    """The one report of a worker; `error` where there is none."""
    reports, trouble = run_worker(command, environment, seconds)
    return reports[-1] if reports and not trouble else {"error": trouble or "no output"}


# ------------------------------------------------------------------ engines in turn


class Server:
    """A worker that times calls when it is told to. `failure` says why it does not, and then it does nothing."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], seconds: float) -> None:
        self.seconds = seconds
        self.failure: Report = {}
        self.ns: dict[int, int] = {}  # text -> nanoseconds, of the current pass
        self.share = 1.0
        self.about: Report = {}
        self.unread = b""
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the server
        try:
            self.process = subprocess.Popen(
                command, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                bufsize=0,
            )  # fmt: skip
        except OSError as error:
            self.failure = {"error": f"cannot start: {error.strerror}"}
            return
        self.about = self.answer()

    def line(self) -> str | None:
        """The next line of its output; None when it has ended, or is killed since it said nothing in time."""
        assert self.process.stdout
        deadline = time.monotonic() + self.seconds
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            while b"\n" not in self.unread:
                if not ready.select(max(0.0, deadline - time.monotonic())):
                    self.process.kill()
                    self.failure = {"error": f"no answer in {self.seconds:.0f} s"}
                    return None
                more = os.read(self.process.stdout.fileno(), 1 << 20)
                if not more:
                    self.errors.seek(0)
                    last = self.errors.read().decode(errors="replace").strip().splitlines()[-1:] or ["no output"]
                    self.failure = {"error": f"exit {self.process.wait()}: {last[0][:200]}"}
                    return None
                self.unread += more
        line, _, self.unread = self.unread.partition(b"\n")
        return line.decode(errors="replace")

    def answer(self) -> Report:
        """The next report of the worker, or {} and `failure`."""
        while True:
            line = self.line()
            if line is None:
                return {}
            if line.startswith(MARK):
                break
        report: Report = json.loads(line[len(MARK) :])
        if "error" in report or "skip" in report:
            self.failure = report
            return {}
        return report

    def ask(self, **request: Any) -> Report:
        if self.failure:
            return {}
        assert self.process.stdin
        with contextlib.suppress(OSError):  # where it has ended, the answer says how
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
        return self.answer()

    def time(self, begin: int, end: int, seconds: float, again: bool) -> None:
        report = self.ask(do="time", **{"from": begin, "to": end}, seconds=seconds, again=again)
        spent = report.get("ns", [])
        self.ns.update(zip(range(begin, begin + len(spent)), spent, strict=True))
        self.share = min(self.share, report.get("share", 1.0))

    def close(self) -> None:
        self.errors.close()
        if not hasattr(self, "process"):
            return
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def time_in_turn(
    servers: Mapping[str, Server], count: int, parts: int, seconds: float, again: bool
) -> dict[str, Report]:
    """One pass over `count` texts: a stretch of calls by one engine, the same by the next, and so on.

    Args:
        servers: engine -> its worker.
        count: number of texts.
        parts: into how many stretches they are parted.
        seconds: a stretch of one engine ends after that, with fewer calls.
        again: the texts were seen before.

    Returns:
        engine -> calls, p50_ns, p99_ns, and the ratio to ours of each on the texts that both have encoded.
    """
    for server in servers.values():
        server.ns = {}
    for begin, end in blocks(count, parts):
        for server in servers.values():
            server.time(begin, end, seconds, again)
    ours = servers[OURS].ns if OURS in servers else {}
    return {name: summarize(server.ns, ours) for name, server in servers.items() if server.ns and not server.failure}


SHARES = {"p50": 0.50, "p99": 0.99}


def summarize(spent: Mapping[int, int], ours: Mapping[int, int]) -> Report:
    report: Report = {"calls": len(spent)}
    common = [text for text in spent if text in ours]
    for name, share in SHARES.items():
        report[f"{name}_ns"] = percentile(list(spent.values()), share)
        if common:
            mine = percentile([ours[text] for text in common], share)
            report[f"{name}_ratio"] = percentile([spent[text] for text in common], share) / max(mine, 1)
    return report


def measure_round(
    place: Place,
    definition: Definition,
    engines: Sequence[str],
    texts: Path,
    count: int,
    *,
    parts: int,
    replays: int,
    seconds: float,
) -> dict[str, Report]:
    """All engines on one set of texts, each in a fresh process: the first pass, replays, ids.

    Returns:
        engine -> first and replay (lists of what `time_in_turn` gives), digests of every text's ids, about; or error or skip.
    """
    found: dict[str, Report] = {}
    servers: dict[str, Server] = {}
    try:
        for engine in engines:
            reason = missing(engine, definition)
            if reason:
                found[engine] = {"skip": reason}
                continue
            command = place.command("serve", engine, definition, texts=str(texts))
            servers[engine] = Server(command, place.environment(engine), 120 + seconds * 4)
            found[engine] = {"first": [], "replay": []}
        for number in range(replays + 1):
            for engine, report in time_in_turn(servers, count, parts, seconds, number > 0).items():
                found[engine]["replay" if number else "first"].append(report)
        for engine, server in servers.items():
            encoded = max(server.ns, default=-1) + 1
            answer = server.ask(do="ids", to=encoded)
            found[engine] |= {"digests": answer.get("digests", []), "tokens": answer.get("tokens", 0)}
            found[engine] |= {"about": server.about, "share": server.share} | server.failure
    finally:
        for server in servers.values():
            server.close()
    return found


# ------------------------------------------------------------------ counters


def build_tools(folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """(name -> library of a counter, name -> why there is none)"""
    made, reasons = {}, {}
    compiler = shutil.which(os.environ.get("CC", "cc"))
    for name in ("alloc_counter", "instruction_counter"):
        if sys.platform != "linux" or not compiler:
            reasons[name] = "needs Linux and a C compiler"
            continue
        library = folder / f"{name}.so"
        flags = ["-O2", "-fPIC", "-shared", "-Wall", "-Wextra"]
        command = [compiler, *flags, str(FOLDER / f"{name}.c"), "-o", str(library)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            reasons[name] = f"not built: {(done.stderr.strip().splitlines() or ['?'])[0][:200]}"
        else:
            made[name] = library
    if not shutil.which("valgrind"):
        made.pop("instruction_counter", None)
        reasons["instruction_counter"] = "valgrind is not installed"
    return made, reasons


def valgrind_version() -> str:
    if not shutil.which("valgrind"):
        return ""
    done = subprocess.run(["valgrind", "--version"], check=False, capture_output=True, text=True)
    return done.stdout.strip().removeprefix("valgrind-")


def count_instructions(
    place: Place, definition: Definition, engine: str, texts: Path, calls: int, seconds: float
) -> Report:
    """Instructions of a call of one engine, under callgrind."""
    folder = place.work / "callgrind" / f"{definition.name}-{engine}-{texts.stem}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    tool = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={folder / 'out'}", "-q"]
    counter = str(place.tools["instruction_counter"])
    if engine == OURS and definition.tier != "native":
        return {"skip": f"our module runs on the tier {definition.tier}"}
    command = place.command("instructions", engine, definition, texts=str(texts), calls=str(calls), counter=counter)
    report = run_once([*tool, *command], place.environment(engine), seconds)
    if "regions" not in report:
        return report
    counted = read_callgrind(folder, report["libraries"])
    absent = [name for name in report["regions"] if name not in counted]
    return report | (
        {"error": f"callgrind wrote nothing of {absent}"} if absent else per_call(counted, report["calls"])
    )


def per_call(counted: Mapping[str, tuple[int, int]], calls: int) -> Report:
    """Out of the counts of the regions, each (all, in the engine's library): a warm call, and one whose text is new."""
    report: Report = {}
    for place, suffix in enumerate(("", "_inside")):
        rounds = [counted[f"twice-{n}"][place] - counted[f"once-{n}"][place] for n in (0, 1)]
        around = 2 * counted["once-1"][place] - counted["twice-1"][place]  # what is not of the calls
        report[f"warm{suffix}"] = rounds[1] / calls
        report[f"first{suffix}"] = (counted["first"][place] - around) / calls
        report[f"spread{suffix}"] = abs(rounds[1] - rounds[0]) / max(rounds[1], 1)
    return report


def read_callgrind(folder: Path, libraries: Sequence[str]) -> dict[str, tuple[int, int]]:
    """region -> (instructions, those in the code of shared objects whose path has one of `libraries`), of all dumps."""
    found = {}
    for path in folder.iterdir():
        text = path.read_text(encoding="utf-8", errors="replace")
        named = re.search(r"^desc: Trigger: Client Request: (\S+)", text, re.MULTILINE)
        totals = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
        if named and totals:
            found[named[1]] = int(totals[1]), self_cost(text, libraries)
    return found


POSITIONS = tuple("0123456789+-*")
"""How a line of costs begins."""


def self_cost(text: str, libraries: Sequence[str]) -> int:
    """Instructions in some shared objects of one dump. A line after `calls=` is what a called function cost in all: not here."""
    names: dict[str, str] = {}
    inside = inclusive = False
    total = 0
    for line in text.splitlines():
        if line.startswith("ob="):
            number, _, name = line[3:].partition(" ")
            if name:
                names[number] = name
            inside = any(part in names.get(number, "") for part in libraries)
        elif line.startswith("cob="):
            number, _, name = line[4:].partition(" ")
            if name:
                names[number] = name
        elif line.startswith("calls="):
            inclusive = True
        elif line.startswith(POSITIONS):
            if inside and not inclusive:
                total += int(line.split()[1])
            inclusive = False
    return total


def count_allocations(
    place: Place, definition: Definition, engine: str, texts: Path, calls: int, seconds: float
) -> Report:
    command = place.command("allocations", engine, definition, texts=str(texts), calls=str(calls))
    environment = place.environment(engine) | {"LD_PRELOAD": str(place.tools["alloc_counter"])}
    return run_once(command, environment, seconds)


def measure_memory(place: Place, definition: Definition, engine: str, few: Path, many: Path, seconds: float) -> Report:
    command = place.command("memory", engine, definition, texts=str(few), more=str(many), seconds=str(seconds))
    return run_once(command, place.environment(engine), 120 + 3 * seconds)


def measure_linear(place: Place, definition: Definition, engine: str, sizes: Sequence[int], seconds: float) -> Report:
    """seconds: kind -> size -> seconds, or the reason why there are none; digests: kind -> that of the shortest word's ids;
    about."""
    command = place.command("linear", engine, definition, sizes=",".join(map(str, sizes)), seconds=str(seconds))
    reports, trouble = run_worker(command, place.environment(engine), 60 + 12 * seconds)
    found: Report = {}
    for report in reports:
        if "done" in report:
            found["about"] = {name: value for name, value in report.items() if name != "done"}
        elif "kind" in report:
            cells = found.setdefault("seconds", {}).setdefault(report["kind"], {})
            cells[str(report["size"])] = report.get("seconds", report.get("skip"))
            if "digest" in report:
                found.setdefault("digests", {})[report["kind"]] = report["digest"]
        elif "error" in report or "skip" in report:
            trouble = report.get("error") or report["skip"]
    return found | ({"error": trouble} if trouble else {})
