"""Texts to an engine in another process, and what becomes of each: ids, an exception, a dead process, no answer in time.

A process that died or was killed is started again for the next text, until it has been `deaths` times.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

LOADED = "loaded"
NO_READER = "no reader"
REFUSES = "refuses"
IDS = "ids"
RAISES = "raises"
DIES = "dies"
HANGS = "hangs"
NOT_RUN = "not run"
EQUAL = "equal"
DIFFERS = "differs"
"""What IDS turn out to be."""


@dataclass(frozen=True)
class Outcome:
    """What became of loading (LOADED, NO_READER, REFUSES, DIES, HANGS) or of one text (IDS, RAISES, DIES, HANGS, NOT_RUN)."""

    kind: str
    message: str = ""
    ids: tuple[int, ...] = ()


@dataclass
class Session:
    """A worker process: `who_worker.py`, or anything that speaks as it does.

    load_limit, text_limit: seconds. deaths: how often the process may end by itself or be killed before texts are not run.
    """

    command: Sequence[str]
    environment: dict[str, str] = field(default_factory=dict)
    load_limit: float = 120.0
    text_limit: float = 20.0
    deaths: int = 12
    _process: subprocess.Popen[bytes] | None = None
    _errors: BinaryIO | None = None
    _rest: bytes = b""
    _died: int = 0

    def load(self) -> Outcome:
        """Start the process and wait until it has loaded."""
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = subprocess.Popen(
            list(self.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | self.environment,
        )
        self._rest = b""
        reply = self._reply(self.load_limit)
        if isinstance(reply, Outcome):
            return reply
        outcome = Outcome(reply["load"], reply.get("message", ""))
        if outcome.kind != LOADED:
            self.close()
        return outcome

    def encode(self, text: str) -> Outcome:
        if self._process is None:
            if self._died >= self.deaths:
                return Outcome(NOT_RUN)
            again = self.load()
            if again.kind != LOADED:
                self._died = self.deaths
                return Outcome(NOT_RUN, f"did not load again: {again.message}")
        assert self._process is not None and self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(text).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return self._dead()
        reply = self._reply(self.text_limit)
        if isinstance(reply, Outcome):
            return reply
        if "raises" in reply:
            return Outcome(RAISES, reply["raises"])
        return Outcome(IDS, "", tuple(reply["ids"]))

    def close(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()
        if self._errors is not None:
            self._errors.close()
            self._errors = None

    def _reply(self, limit: float) -> dict[str, Any] | Outcome:
        """The next line, or how the process ended without one."""
        assert self._process is not None and self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        until = time.monotonic() + limit
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            left = until - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self._died += 1
                self.close()
                return Outcome(HANGS, f"no answer in {limit:g} s")
            data = os.read(descriptor, 1 << 20)
            if not data:
                return self._dead()
            parts.append(data)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        reply: dict[str, Any] = json.loads(line)
        return reply

    def _dead(self) -> Outcome:
        """After the process ended by itself: the signal or exit code, and what it said last."""
        assert self._process is not None and self._errors is not None
        code = self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        self._died += 1
        self.close()
        return Outcome(DIES, f"{how}: {said[-1][:200]}" if said else how)
