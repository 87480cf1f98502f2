"""A built module under test, next to the regex engine of the same package."""

from __future__ import annotations

import importlib
import mmap
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gigatok_compile.verify.report import Mismatch
from gigatok_compile.verify.shrink import shrink
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.errors import SpecialTokenError
from gigatok_runtime.manifest import read_manifest
from gigatok_runtime.native_engine import NativeEngine
from gigatok_runtime.regex_engine import RegexEngine

AUTOMATON = "automaton"


class Disagreement(Exception):
    """Two engines differ on a text."""

    def __init__(self, mismatch: Mismatch) -> None:
        super().__init__(str(mismatch))
        self.mismatch = mismatch


class Diary:
    """Which texts are being worked on, in a file that outlives a crash of this process."""

    def __init__(self, path: str, size: int = 1 << 22) -> None:
        with open(path, "wb") as file:
            file.truncate(size)
        with open(path, "r+b") as file:
            self.view = mmap.mmap(file.fileno(), size)
        self.size = size

    def note(self, what: str, text: str) -> None:
        """`text` may be cut off at the end of the file."""
        data = f"{what}\0{text}".encode()[: self.size - 8]
        self.view[8 : 8 + len(data)] = data
        self.view[:8] = len(data).to_bytes(8, "little")

    @staticmethod
    def read(path: Path) -> tuple[str, str]:
        """The last note: what, and the text."""
        data = path.read_bytes()
        note = data[8 : 8 + int.from_bytes(data[:8], "little")].decode(errors="ignore")
        what, _, text = note.partition("\0")
        return what, text


def import_package(directory: Path, name: str) -> Any:
    """The package as a user gets it, with the engine its manifest says."""
    sys.path.insert(0, str(directory))
    os.environ.pop("GIGATOK_ENGINE", None)
    os.environ.pop("GIGATOK_ISA", None)
    return importlib.import_module(name)


class Subject:
    """The native engine and the oracle, and the comparisons between them. Every comparison raises Disagreement."""

    def __init__(self, directory: Path, name: str, diary: Diary) -> None:
        self.native: NativeEngine = import_package(directory, name)._module.engine
        extension: Any = importlib.import_module(f"{name}._native")
        self.ffi, self.lib = extension.ffi, extension.lib
        package = directory / name
        self.manifest = read_manifest(package)
        self.data = read_definition_data(package)
        self.oracle = RegexEngine(self.manifest, self.data)
        self.diary = diary
        self.isas = self.native.isas
        self.boundary_isas = tuple(dict.fromkeys((*self.isas, AUTOMATON)))
        self._cuts: Any = np.zeros((2, 1024), np.uint64)

    def spans(self, text: str, isa: str) -> list[tuple[int, int]]:
        """Where the kernels of `isa` let pre-tokens start and stop, in bytes."""
        data = text.encode()
        if self._cuts.shape[1] < len(data) + 1:
            self._cuts = np.zeros((2, 2 * len(data) + 2), np.uint64)
        starts, stops = (self.ffi.cast("uint64_t *", self.ffi.from_buffer(row)) for row in self._cuts)
        self.diary.note(f"boundaries {isa}", text)
        capacity = self._cuts.shape[1]
        n = self.lib.gt_boundaries(self.ffi.from_buffer(data), len(data), isa.encode(), starts, stops, capacity)
        if n < 0 or n > capacity:
            raise RuntimeError(f"gt_boundaries gave {n} for isa {isa!r}")
        return list(zip(*self._cuts[:, :n].tolist(), strict=True))

    def check_spans(self, text: str) -> None:
        """Every kernel set cuts `text` where the pattern says."""
        expected = self.oracle.spans(text)
        for isa in self.boundary_isas:
            if self.spans(text, isa) != expected:
                self._blame_spans(text, isa)

    def _blame_spans(self, text: str, isa: str) -> None:
        small = shrink(text, lambda t: self.spans(t, isa) != self.oracle.spans(t))
        raise Disagreement(
            Mismatch("boundaries", isa, small, str(self.oracle.spans(small)), str(self.spans(small, isa)))
        )

    def check_ids(self, texts: Sequence[str], **options: Any) -> None:
        """Every kernel set gives the oracle's ids for all texts, and `count` their number."""
        expected = self.oracle.encode_batch(texts, **options)
        for isa in self.isas:
            self.native.set_isa(isa)
            self.diary.note(f"ids {isa}", "\0".join(texts))
            got = self.native.encode_batch(texts, 1, **options)
            if np.array_equal(got.ids, expected.ids) and np.array_equal(got.offsets, expected.offsets):
                continue
            for i, text in enumerate(texts):
                mine = got.ids[got.offsets[i] : got.offsets[i + 1]]
                if not np.array_equal(mine, expected.ids[expected.offsets[i] : expected.offsets[i + 1]]):
                    self._blame_ids(text, isa, options)
            raise RuntimeError("encode_batch gives wrong offsets")
        self.native.set_isa(self.isas[0])

    def _blame_ids(self, text: str, isa: str, options: dict[str, Any]) -> None:
        def both(t: str) -> tuple[list[int], list[int]]:
            return (
                self.oracle.encode_batch([t], **options).ids.tolist(),
                self.native.encode_batch([t], 1, **options).ids.tolist(),
            )

        small = shrink(text, lambda t: both(t)[0] != both(t)[1])
        expected, got = both(small)
        raise Disagreement(Mismatch("ids", isa, small, str(expected), str(got), options))

    def check_same(
        self, check: str, text: str, expected: Any, call: Callable[..., Any], *args: Any, **options: Any
    ) -> None:
        """`call(*args, **options)`, which concerns `text`, gives `expected` (see `outcome`); arrays are compared by value."""
        self.diary.note(check, text)
        got = self.outcome(call, *args, **options)
        if not _same(got, expected):
            raise Disagreement(Mismatch(check, self.native.isa, text, str(expected), str(got), options))

    def outcome(self, call: Callable[..., Any], *args: Any, **options: Any) -> Any:
        """What a call returns, or type and message of an exception that is the user's fault."""
        try:
            return call(*args, **options)
        except SpecialTokenError as error:
            # Where normalization moved the text, the place is known to a few bytes only.
            place = None if self.manifest["normalizer"] else error.offset
            return type(error).__name__, error.token, place
        except ValueError as error:
            return type(error).__name__, str(error)


def _same(got: Any, expected: Any) -> bool:
    if isinstance(got, np.ndarray) and isinstance(expected, np.ndarray):
        return bool(np.array_equal(got, expected))
    if isinstance(got, tuple) and isinstance(expected, tuple):
        return len(got) == len(expected) and all(map(_same, got, expected))
    return bool(type(got) is type(expected) and got == expected)
