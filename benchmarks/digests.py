"""One digest for all the ids of a run, the same function in every environment.

blake2b over the number of texts, their lengths in ids, and the ids as little-endian u32. The lengths are folded
in, so two runs with the same ids but a shifted document boundary do not agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]


def join_ids(per_text: Iterable[Any]) -> tuple[Ids, Offsets]:
    """Flat ids and `len(texts) + 1` offsets out of one id sequence (list or array) per text."""
    arrays = [np.asarray(ids, dtype=np.uint32) for ids in per_text]
    offsets = np.zeros(len(arrays) + 1, dtype=np.int64)
    np.cumsum([len(ids) for ids in arrays], out=offsets[1:])
    return (np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.uint32)), offsets


def digest_ids(ids: Any, offsets: Any) -> str:
    lengths = np.diff(np.asarray(offsets).astype("<i8"))
    state = hashlib.blake2b(digest_size=16)
    state.update(len(lengths).to_bytes(8, "little"))
    state.update(np.ascontiguousarray(lengths).tobytes())
    state.update(np.ascontiguousarray(np.asarray(ids).astype("<u4", copy=False)).tobytes())
    return state.hexdigest()


def digest_digests(digests: Sequence[str]) -> str:
    """One digest for several slices, in order."""
    return hashlib.blake2b("\n".join(digests).encode(), digest_size=16).hexdigest()
