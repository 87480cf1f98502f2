"""The normalizers of a tokenizer.json in plain Python: str to str, exactly as tokenizers 0.23 has them.

Every table comes with the module (`definition.npz`): the reference's Unicode versions differ by component, and none is
Python's. A step's own arrays are named `step<number>_...`, those of a component `norm_...`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy.typing as npt
from gigatok_runtime.byte_level import bytes_to_alphabet
from gigatok_runtime.graphemes import GraphemeClusters
from gigatok_runtime.normalization_form import NormalizationForm, map_from_arrays
from gigatok_runtime.sentencepiece import SentencePieceNormalizer
from gigatok_runtime.splitting import Splitter

Arrays = Mapping[str, npt.NDArray[Any]]
Normalizer = Callable[[str], str]

LONGEST_CLUSTER = 5
"""Bytes: a longer grapheme cluster is not looked up as one by Precompiled."""


def make_normalizers(steps: Sequence[Mapping[str, Any]], arrays: Arrays) -> list[Normalizer]:
    """One function for each step.

    Args:
        steps: `kind` and `options`, as in the manifest. arrays: of `definition.npz`.

    Raises:
        ValueError: an unknown kind.
    """
    made: list[Normalizer] = []
    for number, step in enumerate(steps):
        maker = _MAKERS.get(step["kind"])
        if maker is None:
            raise ValueError(f"normalizer {step['kind']!r} is unknown to this gigatok_runtime")
        made.append(maker(step["options"], arrays, f"step{number}"))
    return made


def _form(name: str) -> Callable[[Mapping[str, Any], Arrays, str], Normalizer]:
    return lambda options, arrays, prefix: NormalizationForm(arrays, name)


def _lowercase(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    """Character by character: no rule for a final sigma."""
    return _mapped(map_from_arrays(arrays, "norm_lowercase"))


def _nmt(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    return _mapped(_members(arrays, "nmt_space", " ") | _members(arrays, "nmt_dropped", ""))


def _strip_accents(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    """Drops marks, and decomposes nothing."""
    return _mapped(_members(arrays, "combining_mark", ""))


def _bert(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    """Clean, set Chinese apart, strip accents (NFD, then no marks), lower: in this order."""
    chain: list[Normalizer] = []
    if options["clean_text"]:
        chain.append(_mapped(_members(arrays, "bert_space", " ") | _members(arrays, "bert_dropped", "")))
    if options["handle_chinese_chars"]:
        chain.append(_mapped({c: f" {chr(c)} " for c in _members(arrays, "bert_chinese", "")}))
    if options["strip_accents"]:
        chain += [NormalizationForm(arrays, "NFD"), _mapped(_members(arrays, "bert_mark", ""))]
    if options["lowercase"]:
        chain.append(_mapped(map_from_arrays(arrays, "norm_lowercase")))

    def normalize(text: str) -> str:
        for function in chain:
            text = function(text)
        return text

    return normalize


def _strip(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    blanks = "".join(map(chr, _members(arrays, "whitespace", "")))

    def strip(text: str) -> str:
        if options["strip_left"]:
            text = text.lstrip(blanks)
        return text.rstrip(blanks) if options["strip_right"] else text

    return strip


def _prepend(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    return lambda text: text and options["prepend"] + text


def _replace(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    """The content is literal. Nothing matches in an empty text, not even an empty pattern."""
    content = options["content"]
    if options.get("string"):
        return lambda text: text.replace(options["string"], content)
    pattern = bytes(arrays[f"{prefix}_pattern"]).decode() if "regex" in options else ""
    splitter = Splitter(pattern, "Isolated", False)

    def replace(text: str) -> str:
        done, parts = 0, []
        for start, end in splitter.matches(text) if text else ():
            parts += [text[done:start], content]
            done = end
        return "".join([*parts, text[done:]]) if parts else text

    return replace


def _sentencepiece(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    """SentencePiece's own normalizer, respelled."""
    return SentencePieceNormalizer(options, arrays[f"{prefix}_charsmap"].tobytes())


def _byte_level(options: Mapping[str, Any], arrays: Arrays, prefix: str) -> Normalizer:
    return lambda text: bytes_to_alphabet(text.encode())


class _Precompiled:
    """Per grapheme cluster, which is not what SentencePiece does: one of less than six bytes is looked up as a whole, and
    the first key that it begins with replaces all of it; else each character is looked up by itself."""

    def __init__(self, options: Mapping[str, Any], arrays: Arrays, prefix: str) -> None:
        self.characters = map_from_arrays(arrays, f"{prefix}_characters")
        packed = arrays[f"{prefix}_keys"].tobytes().split(b"\0")[:-1]
        self.clusters = {key: value.decode() for key, value in zip(packed[::2], packed[1::2], strict=True)}
        self.segment = GraphemeClusters(arrays)

    def __call__(self, text: str) -> str:
        return "".join(map(self._cluster, self.segment(text)))

    def _cluster(self, cluster: str) -> str:
        if len(cluster) > 1 and len(data := cluster.encode()) <= LONGEST_CLUSTER:
            first = self.characters.get(ord(cluster[0]))
            if first is not None:
                return first
            for size in range(2, len(data) + 1):
                found = self.clusters.get(data[:size])
                if found is not None:
                    return found
        return cluster.translate(self.characters)


def _members(arrays: Arrays, name: str, value: str) -> dict[int, str]:
    """Every code point of the set `norm_<name>`, (k, 2) first and last of its ranges, with `value`."""
    return {c: value for low, high in arrays[f"norm_{name}"].tolist() for c in range(low, high + 1)}


def _mapped(mapping: dict[int, str]) -> Normalizer:
    return lambda text: text.translate(mapping)


_MAKERS: dict[str, Callable[[Mapping[str, Any], Arrays, str], Normalizer]] = {
    **{name: _form(name) for name in ("NFC", "NFD", "NFKC", "NFKD")},
    "Lowercase": _lowercase,
    "Nmt": _nmt,
    "StripAccents": _strip_accents,
    "BertNormalizer": _bert,
    "Strip": _strip,
    "Prepend": _prepend,
    "Replace": _replace,
    "ByteLevel": _byte_level,
    "Precompiled": _Precompiled,
    "SentencePiece": _sentencepiece,
}
