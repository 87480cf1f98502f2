"""A set of characters -> the masks that find where one of them may begin (templates/finder.h).

The "Teddy" search of Hyperscan: a bucket accepts the product of the nibbles it has seen, so what meets in a bucket decides
what is found by mistake. ASCII characters get buckets by the upper nibble, joined only where the lower ones are the same, so
that of ASCII just the set is found. The others are joined, neighbours with neighbours, until the buckets are enough: each time
where that costs least, counted over characters of common scripts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

BUCKETS = 16
_COMMON = (  # first, last, weight of the whole range
    (0xA0, 0xFF, 8),
    (0x100, 0x17F, 2),
    (0x391, 0x3CE, 3),
    (0x400, 0x45F, 8),
    (0x5D0, 0x5EA, 3),
    (0x620, 0x64A, 4),
    (0x904, 0x939, 3),
    (0xE01, 0xE46, 3),
    (0x1EA0, 0x1EF9, 3),
    (0x2010, 0x2027, 6),
    (0x2581, 0x2581, 1),
    (0x3001, 0x3011, 5),
    (0x3041, 0x3096, 6),
    (0x30A1, 0x30FC, 5),
    (0x4E00, 0x9FFF, 12),
    (0xAC00, 0xD7A3, 6),
    (0xFF01, 0xFF1F, 4),
    (0x1F300, 0x1F64F, 2),
)
_SAMPLES = 200  # of each range

Bytes3 = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class FinderMasks:
    """masks: (groups * 6 * 16,) uint8, [groups][byte][low, high nibble][16]. leads: (256,) uint8, 1 for the first bytes of the
    set. groups, positions, ascii: as in gt_finder."""

    masks: npt.NDArray[np.uint8]
    leads: npt.NDArray[np.uint8]
    groups: int
    positions: int
    ascii: bool

    def accepts(self, characters: Iterable[str]) -> bool:
        """Would any of them be looked at?"""
        rows = _first_bytes(characters)
        found = np.zeros(len(rows), bool)
        for group in self.masks.reshape(self.groups, 3, 2, 16):
            found |= _accepted(group[: self.positions], rows) != 0
        return bool(found.any())

    def __str__(self) -> str:
        return f"first bytes {format_bytes(np.flatnonzero(self.leads).tolist())}"


def build_finder(code_points: Iterable[int]) -> FinderMasks:
    """The finder of a set of characters, which may be empty."""
    texts = {chr(c) for c in code_points}
    return build_byte_finder({text.encode()[:3] for text in texts})


def build_byte_finder(prefixes: Iterable[bytes]) -> FinderMasks:
    """The finder of what begins with one of `prefixes`, 1 to 3 bytes each, which need not be whole characters. Of ASCII nothing else
    is found where ASCII prefixes are single bytes."""
    prefixes = sorted(set(prefixes))
    leads = np.zeros(256, np.uint8)
    leads[[prefix[0] for prefix in prefixes]] = 1
    short = [prefix for prefix in prefixes if len(prefix) == 1]
    long = [prefix for prefix in prefixes if len(prefix) > 1]
    groups = _short_groups(short)
    if len(groups) > BUCKETS - (1 if long else 0):
        groups = [short]
    groups += _join([[prefix] for prefix in _by_second(long)], BUCKETS - len(groups)) if long else []
    group_count = 2 if len(groups) > 8 else 1
    masks = np.zeros((group_count, 3, 2, 16), np.uint8)
    for number, group in enumerate(groups):
        masks[number // 8] |= _mask(group) << np.uint8(number % 8)
    positions = 3 if long else 1
    return FinderMasks(masks.reshape(-1), leads, group_count, positions, any(prefix[0] < 0x80 for prefix in prefixes))


def _short_groups(short: list[bytes]) -> list[list[bytes]]:
    lows: dict[int, set[int]] = {}
    for prefix in short:
        lows.setdefault(prefix[0] >> 4, set()).add(prefix[0] & 15)
    groups: dict[frozenset[int], list[bytes]] = {}
    for high, low in lows.items():
        groups.setdefault(frozenset(low), []).extend(bytes([high << 4 | nibble]) for nibble in sorted(low))
    return list(groups.values())


def _by_second(prefixes: list[bytes]) -> list[tuple[bytes, ...]]:
    """Prefixes with the same first two bytes together, in order."""
    found: dict[bytes, list[bytes]] = {}
    for prefix in prefixes:
        found.setdefault(prefix[:2], []).append(prefix)
    return [tuple(group) for group in found.values()]


def _join(parts: list[list[tuple[bytes, ...]]], limit: int) -> list[list[bytes]]:
    """Neighbours joined until there are at most `limit` groups."""
    groups = [[prefix for group in part for prefix in group] for part in parts]
    masks = [_mask(group) for group in groups]
    cost = [_cost(mask) for mask in masks]
    extra = [_cost(a | b) - x - y for a, b, x, y in zip(masks, masks[1:], cost, cost[1:], strict=False)]
    while len(groups) > limit:
        at = int(np.argmin(extra))
        groups[at] += groups.pop(at + 1)
        masks[at] = masks[at] | masks.pop(at + 1)
        cost[at] = _cost(masks[at])
        del cost[at + 1], extra[at]
        for i in (at - 1, at):
            if 0 <= i < len(extra):
                extra[i] = _cost(masks[i] | masks[i + 1]) - cost[i] - cost[i + 1]
    return groups


def _mask(prefixes: Iterable[bytes]) -> npt.NDArray[np.uint8]:
    """(3, 2, 16) of one bucket; positions past a prefix's end accept every byte."""
    mask = np.zeros((3, 2, 16), np.uint8)
    for prefix in prefixes:
        for position in range(3):
            if position < len(prefix):
                mask[position, 0, prefix[position] & 15] = 1
                mask[position, 1, prefix[position] >> 4] = 1
            else:
                mask[position] = 1
    return mask


def _cost(mask: npt.NDArray[np.uint8]) -> float:
    rows, weights = _common()
    return float(weights[_accepted(mask, rows) != 0].sum()) + 1e-4 * float(np.prod(mask.sum(axis=2, dtype=np.int64)))


def _accepted(mask: npt.NDArray[np.uint8], rows: Bytes3) -> npt.NDArray[np.uint8]:
    found = np.full(len(rows), 0xFF, np.uint8)
    for position, (low, high) in enumerate(mask):
        found &= low[rows[:, position] & 15] & high[rows[:, position] >> 4]
    return found


def _first_bytes(characters: Iterable[str]) -> Bytes3:
    return np.array([list((char.encode() + b"  ")[:3]) for char in characters], np.uint8).reshape(-1, 3)


@lru_cache(maxsize=1)
def _common() -> tuple[Bytes3, npt.NDArray[np.float64]]:
    """Common characters by their first bytes, and how much each counts."""
    rows: list[str] = []
    weights: list[float] = []
    for low, high, weight in _COMMON:
        points = np.unique(np.linspace(low, high, min(_SAMPLES, high - low + 1)).astype(int)).tolist()
        rows += map(chr, points)
        weights += [weight / len(points)] * len(points)
    return _first_bytes(rows), np.array(weights)


def format_bytes(values: Iterable[int]) -> str:
    """`20 C3-C5 E2`."""
    runs: list[list[int]] = []
    for value in values:
        if runs and value == runs[-1][1] + 1:
            runs[-1][1] = value
        else:
            runs.append([value, value])
    return " ".join(f"{a:02X}" if a == b else f"{a:02X}-{b:02X}" for a, b in runs) or "none"
