"""What a chain of normalizer steps does to a string, for the contents of added tokens and for the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial

from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer.data import nfc_data_for_runtime
from gigatok_runtime.nfc import Nfc
from gigatok_runtime.sentencepiece import SentencePieceNormalizer, respell


@lru_cache(maxsize=1)
def _nfc() -> Nfc:
    return Nfc(nfc_data_for_runtime())


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

    Raises DefinitionError for a kind that is not compiled.
    """
    functions: list[Callable[[str], str]] = []
    for step in steps:
        if step.kind == "SentencePiece":
            functions.append(SentencePieceNormalizer(step.options, step.options["charsmap"]))
            continue
        if step.kind != "NFC":
            raise DefinitionError(
                f"normalizer {step.kind} is not compiled", where=step.where, hint="NFC is the one that is"
            )
        functions.append(_nfc())

    def normalize(text: str) -> str:
        for function in functions:
            text = function(text)
        return text

    return normalize
