"""NfcData: `unicode/nfc.json` in memory (`unicode/nfc_generate.py` makes that file from the reference wheel)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class NfcData:
    """Canonical normalization as the reference engine has it. Hangul is arithmetic and in none of these.

    decompositions: code point -> its full canonical decomposition.
    classes: code point -> rank of its combining class (1 is the lowest class; starters are absent). Ranks order marks as
        classes do; the classes' own numbers cannot be observed and are not needed.
    compositions: (first, second) -> the character they compose to, in NFC and NFKC.
    compatibility: code point -> its full compatibility decomposition, for those where NFKD is not NFD.
    """

    source: str
    decompositions: dict[int, tuple[int, ...]]
    classes: dict[int, int]
    compositions: dict[tuple[int, int], int]
    compatibility: dict[int, tuple[int, ...]]


@lru_cache(maxsize=1)
def load_nfc_data() -> NfcData:
    """`nfc.json`, checked for the properties that templates/normalize.h counts on."""
    text = (files("gigatok_compile.unicode") / "nfc.json").read_text(encoding="ascii")
    stored: dict[str, Any] = json.loads(text)
    decompositions, compatibility = (
        {int(key, 16): tuple(int(part, 16) for part in value.split()) for key, value in stored[field].items()}
        for field in ("decompositions", "compatibility")
    )
    classes: dict[int, int] = {}
    for rank, ranges in enumerate(stored["classes"], start=1):
        for item in ranges.split():
            low, _, high = item.partition("-")
            classes.update(dict.fromkeys(range(int(low, 16), int(high or low, 16) + 1), rank))
    compositions: dict[tuple[int, int], int] = {}
    for item in stored["compositions"]:
        first, second, composed = (int(part, 16) for part in item.split())
        compositions[first, second] = composed
    _check(decompositions, classes, compositions)
    return NfcData(stored["source"], decompositions, classes, compositions, compatibility)


def _check(
    decompositions: dict[int, tuple[int, ...]], classes: dict[int, int], compositions: dict[tuple[int, int], int]
) -> None:
    """The Unicode stability rules that make a cut before an inert starter safe, and sizes that C types assume."""
    seconds = {second for _, second in compositions}
    for composed in compositions.values():
        head = decompositions[composed][0]
        assert composed not in classes and head not in classes and head not in seconds
    assert not set(decompositions) & set(classes)  # a mark is its own decomposition
    assert max(classes.values()) < 64
    for c, parts in decompositions.items():
        size = len(chr(c).encode())
        assert 2 * len(parts) <= 3 * size and sum(len(chr(part).encode()) for part in parts) <= 3 * size


def form_arrays(compatibility: bool = False) -> dict[str, npt.NDArray[Any]]:
    """The arrays `gigatok_runtime.normalization_form` takes; stored in the module's `definition.npz`."""
    data = load_nfc_data()
    lengths = [len(value) for value in data.decompositions.values()]
    arrays: dict[str, npt.NDArray[Any]] = {
        "nfc_decomposed": np.array(list(data.decompositions), np.uint32),
        "nfc_offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32),
        "nfc_values": np.array([c for value in data.decompositions.values() for c in value], np.uint32),
        "nfc_marks": np.array(list(data.classes), np.uint32),
        "nfc_classes": np.array(list(data.classes.values()), np.uint8),
        "nfc_compositions": np.array([(a, b, c) for (a, b), c in data.compositions.items()], np.uint32),
    }
    if compatibility:
        texts = {c: "".join(map(chr, parts)) for c, parts in data.compatibility.items()}
        arrays |= map_arrays("norm_compatibility", texts)
    return arrays


def map_arrays(name: str, mapping: Mapping[int, str]) -> dict[str, npt.NDArray[Any]]:
    """Code point -> text as the arrays `gigatok_runtime.normalization_form.map_from_arrays` reads."""
    items = sorted(mapping.items())
    lengths = [len(text) for _, text in items]
    return {
        f"{name}_from": np.array([c for c, _ in items], np.uint32),
        f"{name}_offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint32),
        f"{name}_to": np.array([ord(char) for _, text in items for char in text], np.uint32),
    }


def ranges_array(ranges: Iterable[tuple[int, int]]) -> npt.NDArray[Any]:
    """(k, 2) uint32, first and last of each range."""
    return np.array(list(ranges), np.uint32).reshape(-1, 2)
