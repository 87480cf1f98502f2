"""CodeSet: an immutable set of Unicode scalar values, kept as sorted inclusive ranges."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gigatok_compile.ir.tags import Range
from gigatok_compile.unicode.tables import fold_orbit, load_tables

SCALARS: tuple[Range, ...] = ((0, 0xD7FF), (0xE000, 0x10FFFF))


@dataclass(frozen=True, slots=True)
class CodeSet:
    """ranges: sorted, disjoint, not adjacent, no surrogates (U+D7FF and U+E000 do not touch). Equal sets are equal."""

    ranges: tuple[Range, ...]

    @staticmethod
    def of(ranges: Iterable[Range]) -> CodeSet:
        """From ranges in any order; they may overlap, and surrogates in them are dropped."""
        merged: list[Range] = []
        for low, high in sorted(ranges):
            if merged and low <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
            else:
                merged.append((low, high))
        return CodeSet(_intersect(merged, SCALARS))

    @staticmethod
    def single(code_point: int) -> CodeSet:
        return CodeSet.of([(code_point, code_point)])

    @staticmethod
    def everything() -> CodeSet:
        return CodeSet(SCALARS)

    @staticmethod
    def empty() -> CodeSet:
        return CodeSet(())

    def __or__(self, other: CodeSet) -> CodeSet:
        return CodeSet.of(self.ranges + other.ranges)

    def __and__(self, other: CodeSet) -> CodeSet:
        return CodeSet(_intersect(self.ranges, other.ranges))

    def __sub__(self, other: CodeSet) -> CodeSet:
        return self & other.complement()

    def complement(self) -> CodeSet:
        """Every scalar value that is not in the set."""
        gaps: list[Range] = []
        start = 0
        for low, high in self.ranges:
            if start < low:
                gaps.append((start, low - 1))
            start = high + 1
        if start <= 0x10FFFF:
            gaps.append((start, 0x10FFFF))
        return CodeSet(_intersect(gaps, SCALARS))

    def __contains__(self, code_point: int) -> bool:
        index = bisect_right(self.ranges, (code_point, 0x110000)) - 1
        return index >= 0 and self.ranges[index][1] >= code_point

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __len__(self) -> int:
        return sum(high - low + 1 for low, high in self.ranges)

    def __iter__(self) -> Iterator[int]:
        for low, high in self.ranges:
            yield from range(low, high + 1)

    def fold(self) -> CodeSet:
        """The set together with everything that differs from a member only by case."""
        extra = [
            (other, other)
            for code_point in load_tables().orbits
            if code_point in self
            for other in fold_orbit(code_point)
        ]
        return CodeSet.of(self.ranges + tuple(extra))

    def __str__(self) -> str:
        return " ".join(f"{low:X}" if low == high else f"{low:X}-{high:X}" for low, high in self.ranges)


def _intersect(left: Iterable[Range], right: Iterable[Range]) -> tuple[Range, ...]:
    a, b = list(left), list(right)
    i = j = 0
    out: list[Range] = []
    while i < len(a) and j < len(b):
        low, high = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if low <= high:
            out.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)
