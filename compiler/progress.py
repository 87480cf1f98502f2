"""What a person sees while a module is compiled: a line that moves on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol, TextIO

WARNING = "warning"
"""A stage of this name is a message to keep, not a stage."""


class Progress(Protocol):
    """Called with each stage as it begins; `detail` says what is known about it."""

    def __call__(self, stage: str, detail: str) -> None: ...


def silent(stage: str, detail: str) -> None:
    """--quiet: warnings only."""
    if stage == WARNING:
        print(f"gigatok-compile: warning: {detail}", file=sys.stderr)


@contextlib.contextmanager
def shown(stream: TextIO) -> Iterator[Progress]:
    """Progress on `stream`, which a block may write to meanwhile through the logging of others."""
    if not stream.isatty():
        yield _plain(stream)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream)
    with console.status("") as status:
        began = last = time.perf_counter()
        current = ""

        def finish() -> None:
            if current:
                took = time.perf_counter() - last
                console.print(Text(f"  {current}", style="dim"), Text(f"{took:.1f} s", style="dim"), highlight=False)

        def report(stage: str, detail: str) -> None:
            nonlocal last, current
            if stage == WARNING:
                console.print(Text(f"warning: {detail}", style="yellow"))
                return
            finish()
            last, current = time.perf_counter(), f"{stage:<14}{detail}"
            status.update(Text(f"{stage}: {detail} ({last - began:.0f} s)"))

        yield report
        finish()


def _plain(stream: TextIO) -> Progress:
    def report(stage: str, detail: str) -> None:
        print(f"gigatok-compile: {stage}: {detail}", file=stream, flush=True)

    return report
