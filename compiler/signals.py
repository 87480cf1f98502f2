"""Ending well: the signals that would end the process, turned into exceptions or put off for a moment."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType


class Terminated(SystemExit):
    """SIGTERM or SIGHUP arrived; unwinds like SystemExit, with the exit status a shell would report."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


@contextlib.contextmanager
def termination_raises() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Terminated in the block, as Ctrl-C raises KeyboardInterrupt, so that `finally` runs."""

    def handle(number: int, _frame: FrameType | None) -> None:
        raise Terminated(number)

    with _handled((signal.SIGTERM, signal.SIGHUP), handle):
        yield


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """SIGINT, SIGTERM and SIGHUP wait until the end of the block: for steps that must not be left half done."""
    arrived: list[int] = []
    try:
        with _handled((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), lambda number, _frame: arrived.append(number)):
            yield
    finally:
        for number in arrived:
            signal.raise_signal(number)


@contextlib.contextmanager
def _handled(numbers: Sequence[int], handle: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Set `handle` for the block. Only the main thread may, so in others this does nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # None: a handler that was not set from Python. An ignored signal (nohup) stays ignored.
    previous = {number: signal.getsignal(number) for number in numbers}
    ours = [number for number in numbers if previous[number] not in (None, signal.SIG_IGN)]
    for number in ours:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, previous[number])
