"""The normalization forms NFC, NFD, NFKC and NFKD over tables that the module carries, in plain Python.

Python's own `unicodedata` follows its own Unicode version, the reference engine an older one, so the regex tier and the
compiler normalize with this. The algorithm is that of the Unicode standard, section 3.11: decompose fully, sort every
run of marks by combining class (stably), compose what is not blocked (NFC and NFKC).

Text is normalized only around characters that may change something; text without any (most of it) is returned as it is.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

_S, _L, _V, _T = 0xAC00, 0x1100, 0x1161, 0x11A7  # bases of the arithmetic Hangul syllables and their parts
_N_L, _N_V, _N_T = 19, 21, 28


class NormalizationForm:
    """One form of str: `NormalizationForm(arrays, "NFC")(text)`.

    Args:
        arrays: what `gigatok_compile.normalizer.form_arrays` returns, as stored in `definition.npz`:
            nfc_decomposed (k,) uint32 code points with a full canonical decomposition, Hangul left out;
            nfc_offsets (k + 1,) uint32 and nfc_values (nfc_offsets[-1],) uint32, the decompositions, joined;
            nfc_marks (m,) uint32 and nfc_classes (m,) uint8, the characters with a combining class and its rank;
            nfc_compositions (c, 3) uint32, rows (first, second, composed);
            for NFKC and NFKD also norm_compatibility_from, _offsets and _to, as `map_from_arrays` reads them: what has
            another decomposition there than in NFD.
        form: "NFC", "NFD", "NFKC" or "NFKD".
    """

    def __init__(self, arrays: Mapping[str, npt.NDArray[Any]], form: str = "NFC") -> None:
        self.composes = form.endswith("C")
        values = "".join(map(chr, arrays["nfc_values"].tolist()))
        offsets = arrays["nfc_offsets"].tolist()
        keys = map(chr, arrays["nfc_decomposed"].tolist())
        spans = itertools.pairwise(offsets)
        self.decompositions = {key: values[a:b] for key, (a, b) in zip(keys, spans, strict=True)}
        marks = map(chr, arrays["nfc_marks"].tolist())
        self.classes: dict[str, int] = dict(zip(marks, arrays["nfc_classes"].tolist(), strict=True))
        compatibility: dict[str, str] = {}
        if "K" in form:
            compatibility = {chr(c): parts for c, parts in map_from_arrays(arrays, "norm_compatibility").items()}
            self.decompositions |= compatibility
        rows = arrays["nfc_compositions"].tolist()
        self.compositions = {(chr(a), chr(b)): chr(c) for a, b, c in rows}
        self.unsafe = frozenset(self._unsafe() | set(compatibility))
        self._around = re.compile(".?[" + _character_class(self.unsafe) + "]+", re.DOTALL)

    def __call__(self, text: str) -> str:
        """The form of `text`, which is `text` itself in most cases."""
        if text.isascii() or self.unsafe.isdisjoint(text):
            return text
        if not self.composes:
            return self._around.sub(lambda match: "".join(self._decomposed(match.group())), text)
        return self._around.sub(lambda match: "".join(self._composed(self._decomposed(match.group()))), text)

    def is_safe_boundary(self, character: str) -> bool:
        """A cut before this character never changes the result: it composes with nothing before it and stays put."""
        return character not in self.unsafe

    def _unsafe(self) -> set[str]:
        """Characters that move, change, or compose with one before them."""
        if not self.composes:
            syllables = map(chr, range(_S, _S + _N_L * _N_V * _N_T))
            return {*self.decompositions, *self.classes, *syllables}
        stable = set(self.compositions.values())
        unsafe = {key for key in self.decompositions if key not in stable} | set(self.classes)
        unsafe |= {second for _, second in self.compositions}
        unsafe |= {chr(_V + i) for i in range(_N_V)} | {chr(_T + i) for i in range(1, _N_T)}
        return unsafe

    def _decomposed(self, text: str) -> list[str]:
        """Full decomposition, marks in canonical order."""
        result: list[str] = []
        for character in text:
            syllable = ord(character) - _S
            if 0 <= syllable < _N_L * _N_V * _N_T:
                vowel, tail = divmod(syllable, _N_T)
                result += [chr(_L + vowel // _N_V), chr(_V + vowel % _N_V)] + [chr(_T + tail)] * (tail > 0)
            else:
                result += self.decompositions.get(character, character)
        start = 0
        classes = self.classes
        while start < len(result):
            stop = start
            while stop < len(result) and result[stop] in classes:
                stop += 1
            if stop - start > 1:
                result[start:stop] = sorted(result[start:stop], key=classes.__getitem__)
            start = stop + 1
        return result

    def _composed(self, characters: list[str]) -> list[str]:
        result: list[str] = []
        starter, last = -1, 0  # where in `result` the last starter is; class of what stands after it (0: nothing)
        for character in characters:
            rank = self.classes.get(character, 0)
            if starter >= 0 and (last == 0 or last < rank):
                composed = self._pair(result[starter], character)
                if composed:
                    result[starter] = composed
                    continue
            if rank == 0:
                starter = len(result)
            last = rank
            result.append(character)
        return result

    def _pair(self, first: str, second: str) -> str | None:
        lead, vowel = ord(first) - _L, ord(second) - _V
        if 0 <= lead < _N_L and 0 <= vowel < _N_V:
            return chr(_S + (lead * _N_V + vowel) * _N_T)
        syllable, tail = ord(first) - _S, ord(second) - _T
        if 0 <= syllable < _N_L * _N_V * _N_T and syllable % _N_T == 0 and 0 < tail < _N_T:
            return chr(ord(first) + tail)
        return self.compositions.get((first, second))


def map_from_arrays(arrays: Mapping[str, npt.NDArray[Any]], name: str) -> dict[int, str]:
    """Code point -> text, from `name`_from (k,), `name`_offsets (k + 1,) and `name`_to (offsets[-1],), all uint32."""
    joined = "".join(map(chr, arrays[f"{name}_to"].tolist()))
    spans = itertools.pairwise(arrays[f"{name}_offsets"].tolist())
    return {key: joined[a:b] for key, (a, b) in zip(arrays[f"{name}_from"].tolist(), spans, strict=True)}


def _character_class(characters: frozenset[str]) -> str:
    codes = np.array(sorted(map(ord, characters)), dtype=np.int64)
    if not codes.size:
        return "^\\U00000000-\\U0010FFFF"  # nothing
    breaks = np.flatnonzero(np.diff(codes) != 1)
    starts, stops = codes[np.r_[0, breaks + 1]], codes[np.r_[breaks, codes.size - 1]]
    return "".join(f"\\U{a:08X}-\\U{b:08X}" for a, b in zip(starts.tolist(), stops.tolist(), strict=True))
