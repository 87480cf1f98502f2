"""The decoder as the manifest has it: steps that gigatok_runtime.decoding carries out."""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.errors import DefinitionError, Unsupported
from gigatok_compile.ir.definition import DecoderStep
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.verify.expand import to_regex_package
from gigatok_runtime.manifest import DecoderEntry


def decoder_entries(steps: Sequence[DecoderStep] | None) -> list[DecoderEntry] | None:
    """Entries of the steps; regexes of Replace are written for the `regex` package, their properties as ranges.

    Raises:
        DefinitionError: a regex that cannot be said there exactly.
    """
    return None if steps is None else [_entry(step) for step in steps]


def _entry(step: DecoderStep) -> DecoderEntry:
    options = dict(step.options)
    if options.get("is_regex"):
        where = f"{step.where}.pattern.Regex"
        try:
            options["pattern"] = to_regex_package(
                parse_pattern(options["pattern"], "oniguruma", where, components=False)
            )
        except Unsupported as error:
            raise DefinitionError(error.message, where=where, hint=error.hint) from None
    return {"kind": step.kind, "options": options}
