"""How fast a grammar's kernels cut, and nothing else: no vocabulary, no ids."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from gigatok_compile.check.chain import StepChain
from gigatok_compile.check.library import SplitterLibrary
from gigatok_compile.errors import CompileError

SAMPLES = {"English": "english.txt", "Chinese": "chinese.txt", "code": "code.txt"}
SAMPLE_BYTES = 4_000_000
PASSES = 7
REGEX_CHARACTERS = 20_000  # the regex tier is some thousand times slower


@dataclass(frozen=True, slots=True)
class Speed:
    """The fastest pass of one kernel over one text. ticks: of the time stamp counter, 0 where there is none."""

    kernel: str
    text: str
    bytes: int
    pieces: int
    seconds: float
    ticks: int = 0

    @property
    def gigabytes(self) -> float:
        """GB/s."""
        return self.bytes / self.seconds / 1e9


def sample_texts(path: Path | None = None) -> dict[str, bytes]:
    """The text of a file, or the samples inside, repeated to some megabytes.

    Raises:
        CompileError: the file cannot be read, is empty or is not UTF-8.
    """
    if path is None:
        folder = files("gigatok_compile.check") / "samples"
        return {title: _repeated((folder / name).read_bytes()) for title, name in SAMPLES.items()}
    try:
        data = path.read_bytes()
        data.decode()
    except OSError as error:
        raise CompileError(f"not a readable file ({error.strerror})", where=str(path)) from None
    except UnicodeDecodeError as error:
        raise CompileError(f"not UTF-8 at byte {error.start}", where=str(path)) from None
    if not data:
        raise CompileError("the file is empty", where=str(path))
    return {path.name: _repeated(data)}


def _repeated(data: bytes) -> bytes:
    return data * -(-SAMPLE_BYTES // len(data))


def kernel_speeds(library: SplitterLibrary, texts: Mapping[str, bytes], passes: int = PASSES) -> list[Speed]:
    """Every kernel over every text, on one core."""
    return [_timed(library, isa, title, data, passes) for isa in library.isas for title, data in texts.items()]


def _timed(library: SplitterLibrary, isa: str, title: str, data: bytes, passes: int) -> Speed:
    best, ticks, pieces = float("inf"), 0, 0
    for _ in range(passes):
        first_tick, began = library.ticks(), time.perf_counter()
        pieces = library.count(data, isa)
        seconds, counted = time.perf_counter() - began, library.ticks() - first_tick
        if seconds < best:
            best, ticks = seconds, counted
    return Speed(isa, title, len(data), pieces, best, ticks)


def regex_speeds(oracle: StepChain, texts: Mapping[str, bytes]) -> list[Speed]:
    """The regex tier over the beginning of every text."""
    found = []
    for title, data in texts.items():
        text = data[: 4 * REGEX_CHARACTERS].decode(errors="ignore")[:REGEX_CHARACTERS]
        began = time.perf_counter()
        pieces = len(oracle.byte_spans(text))
        found.append(Speed("regex", title, len(text.encode()), pieces, time.perf_counter() - began))
    return found


def speed_table(speeds: Sequence[Speed]) -> list[str]:
    """Lines: a row for each kernel, a column for each text."""
    titles, kernels = (list(dict.fromkeys(names)) for names in zip(*((s.text, s.kernel) for s in speeds), strict=True))
    with_ticks = all(speed.ticks for speed in speeds if speed.kernel != "regex") and kernels != ["regex"]
    unit = "TSC cycles" if with_ticks else "ns"
    cells = {(s.kernel, s.text): _cell(s, with_ticks) for s in speeds}
    rows = [["GB/s", *titles]] + [[kernel] + [cells[kernel, title] for title in titles] for kernel in kernels]
    widths = [max(len(row[i]) for row in rows) for i in range(len(titles) + 1)]
    lines = [
        "  "
        + "  ".join(
            f"{cell:>{width}}" if i else f"{cell:<{width}}"
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    return [f"speed of cutting alone, one core, the fastest pass: GB/s ({unit} a byte)", *lines, *_about_ticks(speeds)]


def _cell(speed: Speed, with_ticks: bool) -> str:
    rate = f"{speed.gigabytes:.2f}" if speed.gigabytes >= 0.01 else f"{speed.gigabytes:.5f}"
    if not with_ticks:
        return f"{rate} ({speed.seconds / speed.bytes * 1e9:.2f})"
    return f"{rate} ({speed.ticks / speed.bytes:.2f})" if speed.ticks else rate


def _about_ticks(speeds: Sequence[Speed]) -> list[str]:
    ticked = [speed for speed in speeds if speed.ticks]
    if not ticked:
        return []
    rate = sorted(speed.ticks / speed.seconds for speed in ticked)[len(ticked) // 2]
    return [f"  (the time stamp counter goes at {rate / 1e9:.2f} GHz here, whatever the core's own clock does)"]
