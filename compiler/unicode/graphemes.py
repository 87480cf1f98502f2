"""Loader of `graphemes.txt`: the class of each character in grapheme clusters, as Precompiled sees them."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import numpy as np
import numpy.typing as npt
from gigatok_runtime.graphemes import CLASSES


@lru_cache(maxsize=1)
def grapheme_ranges() -> npt.NDArray[np.uint32]:
    """(k, 3): first, last, number of the class in `gigatok_runtime.graphemes.CLASSES`. In no range: other."""
    rows = [(0x0D, 0x0D, CLASSES.index("cr")), (0x0A, 0x0A, CLASSES.index("lf"))]
    text = (files("gigatok_compile.unicode") / "graphemes.txt").read_text(encoding="ascii")
    for line in text.replace("\n  ", " ").splitlines():
        name, *items = line.split()
        if name in CLASSES:
            for item in items:
                low, _, high = item.partition("-")
                rows.append((int(low, 16), int(high or low, 16), CLASSES.index(name)))
    return np.array(sorted(rows), np.uint32)
