"""What a chain of normalizer steps does to a string, for the contents of added tokens and for the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer.data import nfc_data_for_runtime
from gigatok_runtime.nfc import Nfc


@lru_cache(maxsize=1)
def _nfc() -> Nfc:
    return Nfc(nfc_data_for_runtime())


def normalize_function(steps: Sequence[NormalizerStep]) -> Callable[[str], str]:
    """The function str -> str of the whole chain; the identity for no steps.

    Raises DefinitionError for a kind that is not compiled.
    """
    functions: list[Callable[[str], str]] = []
    for step in steps:
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
