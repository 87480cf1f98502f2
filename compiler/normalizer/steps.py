"""What a chain of normalizer steps does to a string, and the data that the runtime does it with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer.charsmap import Charsmap
from gigatok_compile.normalizer.data import form_arrays, map_arrays, ranges_array
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.unicode.components import component_ranges, lowercase_map
from gigatok_compile.unicode.graphemes import grapheme_ranges
from gigatok_compile.verify.expand import to_regex_package
from gigatok_runtime.normalizers import make_normalizers
from gigatok_runtime.sentencepiece import respell

Arrays = dict[str, npt.NDArray[Any]]

_SETS = {
    "Nmt": ("nmt_space", "nmt_dropped"),
    "StripAccents": ("combining_mark",),
    "BertNormalizer": ("bert_space", "bert_dropped", "bert_chinese", "bert_mark"),
    "Strip": ("whitespace",),
}
"""Kind -> sets of components.txt that it reads."""

_FORMS = ("NFC", "NFD", "NFKC", "NFKD", "BertNormalizer")


def content_function(steps: Sequence[NormalizerStep]) -> Callable[[str], str]:
    """What the content of an added token with normalized=true is looked for as: the normalizer's text of it.

    The user-defined pieces of a SentencePiece model are looked for as they are, with no dummy prefix, though respelled.
    """
    for step in steps:
        if step.kind == "SentencePiece":
            return partial(respell, escape_whitespaces=bool(step.options["escape_whitespaces"]))
    return normalize_function(steps)


def normalize_function(steps: Sequence[NormalizerStep]) -> Callable[[str], str]:
    """The function str -> str of the whole chain; the identity for no steps.

    Raises:
        PatternError: a Replace whose regex does not parse, or which not even the regex engine can run exactly.
    """
    functions = make_normalizers(normalizer_entries(steps), normalizer_arrays(steps))

    def normalize(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return normalize


def normalizer_entries(steps: Sequence[NormalizerStep]) -> list[dict[str, Any]]:
    """The steps as the manifest has them: `kind` and `options`, which JSON can hold."""
    return [{"kind": step.kind, "options": _json_options(step)} for step in steps]


def _json_options(step: NormalizerStep) -> dict[str, Any]:
    """A charsmap is in the arrays: its size stands for it."""
    sizes = {key: value.size for key, value in step.options.items() if isinstance(value, Charsmap)}
    sizes |= {key: len(value) for key, value in step.options.items() if isinstance(value, bytes)}
    return step.options | sizes


def normalizer_arrays(steps: Sequence[NormalizerStep]) -> Arrays:
    """The arrays of `definition.npz` that `gigatok_runtime.normalizers` works with; none that no step needs."""
    kinds = {step.kind for step in steps}
    arrays: Arrays = {}
    if kinds & set(_FORMS):
        arrays |= form_arrays(compatibility=bool(kinds & {"NFKC", "NFKD"}))
    if kinds & {"Lowercase", "BertNormalizer"}:
        arrays |= map_arrays("norm_lowercase", lowercase_map())
    if "Precompiled" in kinds:
        arrays["norm_graphemes"] = grapheme_ranges()
    for name in sorted({name for kind in kinds for name in _SETS.get(kind, ())}):
        arrays[f"norm_{name}"] = ranges_array(component_ranges(name))
    for number, step in enumerate(steps):
        arrays |= _own_arrays(step, f"step{number}")
    return arrays


def _own_arrays(step: NormalizerStep, prefix: str) -> Arrays:
    if "regex" in step.options:
        pattern = to_regex_package(parse_pattern(step.options["regex"], "oniguruma", f"{step.where}.pattern.Regex"))
        return {f"{prefix}_pattern": np.frombuffer(pattern.encode(), np.uint8)}
    if step.kind == "SentencePiece":
        return {f"{prefix}_charsmap": np.frombuffer(step.options["charsmap"], np.uint8)}
    charsmap = step.options.get("precompiled_charsmap")
    if isinstance(charsmap, Charsmap):
        packed = b"".join(key + b"\0" + value.encode() + b"\0" for key, value in sorted(charsmap.clusters.items()))
        characters = map_arrays(f"{prefix}_characters", charsmap.characters)
        return {**characters, f"{prefix}_keys": np.frombuffer(packed, np.uint8)}
    return {}
