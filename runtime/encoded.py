"""The result of encoding many texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


class Encoded(NamedTuple):
    """Ids of many texts, flat.

    ids: (n,) uint32, the ids of all texts one after the other.
    offsets: (len(texts) + 1,) int64; text i has ids[offsets[i]:offsets[i + 1]].
    """

    ids: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]


class EncodedWithTypeIds(NamedTuple):
    """Encoded, and the type id of every id: 0 for a first text, 1 for a second one, unless the definition says otherwise.

    type_ids: (n,) uint32, one an id.
    """

    ids: npt.NDArray[np.uint32]
    offsets: npt.NDArray[np.int64]
    type_ids: npt.NDArray[np.uint32]
