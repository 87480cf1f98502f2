"""The `normalizer` of a tokenizer.json: a flat list of steps."""

from __future__ import annotations

from collections.abc import Iterator

from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import NormalizerStep

_READ = ("NFC",)


def read_normalizer(fields: Fields | None) -> tuple[NormalizerStep, ...]:
    """The steps in order; nested sequences are flattened.

    Raises:
        DefinitionError: a step that is not compiled, by its path.
    """
    return tuple(_steps(fields)) if fields else ()


def _steps(fields: Fields) -> Iterator[NormalizerStep]:
    kind = fields.kind()
    if kind == "Sequence":
        for child in fields.children("normalizers"):
            yield from _steps(child)
    elif kind in _READ:
        yield NormalizerStep(kind, fields.where)
    else:
        raise DefinitionError(
            f"the normalizer {kind} is not compiled",
            where=fields.where,
            hint=f"what compiles: {', '.join(_READ)}, a Sequence of these, or null",
        )
