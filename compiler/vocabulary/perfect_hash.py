"""build_perfect_hash: a place of its own for every key of a fixed set.

Hash and displace (Fox, Heath, Chen and Daoud 1992; PTHash, Pibiri and Trani 2021): the top bits of a key's hash choose a
bucket, the next bits a place, and the bucket's *pilot*, a small number, moves all its keys on by the same distance, to
where none meets another. Buckets go in by size, larger ones first, each with the smallest pilot that fits. Looking up
takes a multiplication, the pilot (a table that stays in the nearest caches) and the place. Keys that are not in the set
come out somewhere too: whoever looks up must compare the key that lies there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_KEYS_PER_BUCKET = 4
_LOAD = 0.97
_PILOTS = 1 << 16
_SEEDS = 1000
FOLD = 0xD6E8FEB86659FD93


@dataclass(frozen=True, slots=True)
class PerfectHash:
    """place of key k: (h >> (64 - bucket_bits - place_bits)) + pilots[h >> (64 - bucket_bits)], modulo 2^place_bits, with
    h = fold(k * multiplier), fold(x) = (x ^ x >> 32) * FOLD.

    places: (n,) int64, of the keys in the order given.
    """

    multiplier: int
    bucket_bits: int
    place_bits: int
    pilots: npt.NDArray[np.uint16]
    places: npt.NDArray[np.int64]


def build_perfect_hash(keys: npt.NDArray[np.uint64]) -> PerfectHash:
    """A perfect hash of distinct 64-bit keys; the same keys always give the same one.

    Raises:
        ValueError: two keys are equal.
    """
    n = len(keys)
    if len(np.unique(keys)) != n:
        raise ValueError("equal keys")
    place_bits = max(4, int(np.ceil(np.log2(max(1, n) / _LOAD))))
    bucket_bits = max(1, int(np.ceil(np.log2(max(2, n) / _KEYS_PER_BUCKET))))
    generator = np.random.Generator(np.random.PCG64(1))
    for _ in range(_SEEDS):
        multiplier = int(generator.integers(1 << 62)) * 4 + 1
        found = _try(keys, multiplier, bucket_bits, place_bits)
        if found is not None:
            return found
    raise AssertionError(f"no perfect hash of {n} keys after {_SEEDS} multipliers")


def _try(keys: npt.NDArray[np.uint64], multiplier: int, bucket_bits: int, place_bits: int) -> PerfectHash | None:
    mixed = keys * np.uint64(multiplier)
    mixed = (mixed ^ mixed >> np.uint64(32)) * np.uint64(FOLD)
    bucket = (mixed >> np.uint64(64 - bucket_bits)).astype(np.int64)
    size = 1 << place_bits
    place = (mixed >> np.uint64(64 - bucket_bits - place_bits)).astype(np.int64) & (size - 1)
    if len(np.unique(bucket << place_bits | place)) < len(keys):
        return None  # two keys of a bucket would stay together whatever the pilot
    order = np.lexsort((place, bucket))
    buckets, first, count = np.unique(bucket[order], return_index=True, return_counts=True)
    by_bucket = place[order]
    pilots = np.zeros(1 << bucket_bits, dtype=np.uint16)
    free = np.ones(size, dtype=np.bool_)
    windows = [64, 1024, 8192, _PILOTS]
    for k in np.argsort(-count, kind="stable").tolist():
        members = by_bucket[first[k] : first[k] + count[k]]
        begin = 0
        for end in windows:
            pilot = np.arange(begin, min(end, size))
            fits = (
                free[(members[:, None] + pilot) & (size - 1)].all(axis=0) if len(pilot) else np.zeros(1, dtype=np.bool_)
            )
            step = int(fits.argmax())
            if fits[step]:
                break
            begin = end
        else:
            return None
        pilots[buckets[k]] = begin + step
        free[(members + begin + step) & (size - 1)] = False
    return PerfectHash(multiplier, bucket_bits, place_bits, pilots, (place + pilots[bucket]) & (size - 1))
