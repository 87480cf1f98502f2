"""The kernels of a grammar as a library without a vocabulary (templates/splitter.c.j2), called through ctypes."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

_BYTES, _SIZE, _NAME = ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p


class SplitterLibrary:
    """A built splitter. isas: its kernels that this CPU can run, best first."""

    def __init__(self, path: Path) -> None:
        library = ctypes.CDLL(str(path))
        self._boundaries = library.gt_boundaries
        self._boundaries.restype = ctypes.c_int64
        self._boundaries.argtypes = [_BYTES, _SIZE, _NAME, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64]
        self._count = library.gt_count_pieces
        self._count.restype = ctypes.c_int64
        self._count.argtypes = [_BYTES, _SIZE, _NAME]
        self._ticks = library.gt_ticks
        self._ticks.restype = ctypes.c_uint64
        library.gt_isas.restype = _NAME
        self.isas = tuple(library.gt_isas().decode().split())
        self._names = {isa: isa.encode() for isa in self.isas}
        self._room(1024)

    def spans(self, data: bytes, isa: str) -> list[tuple[int, int]]:
        """Where the kernel of `isa` lets pieces start and stop, in bytes."""
        if self._capacity <= len(data):
            self._room(2 * len(data))
        n = self._boundaries(data, len(data), self._names[isa], self._starts, self._stops, self._capacity)
        if not 0 <= n <= self._capacity:
            raise RuntimeError(f"gt_boundaries gave {n} for {isa}")
        starts, stops = self._cuts[:, :n].tolist()
        return list(zip(starts, stops, strict=True))

    def count(self, data: bytes, isa: str) -> int:
        """How many pieces there are; cutting and nothing else, for timing."""
        return int(self._count(data, len(data), self._names[isa]))

    def ticks(self) -> int:
        """The time stamp counter; 0 on CPUs without one."""
        return int(self._ticks())

    def _room(self, capacity: int) -> None:
        self._cuts = np.zeros((2, capacity), np.uint64)
        self._starts, self._stops = (row.ctypes.data for row in self._cuts)
        self._capacity = capacity
