"""The plain-Python oracle of a pre-tokenizer by itself: its steps over the `regex` package, without a vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from gigatok_compile.definition_data import expanded_pattern
from gigatok_compile.ir.definition import ByteLevelStep, MetaspaceStep, PreTokenizerStep, SplitStep
from gigatok_runtime.byte_level import bytes_to_alphabet
from gigatok_runtime.splitting import Splitter

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class _Part:
    """A piece as a step sees it: `text` stands for [start, stop) of the original, `put_in` characters at its front are not
    of it."""

    text: str
    start: int
    put_in: int


class StepChain:
    """Steps in order, each on the pieces that the one before left.

    Raises:
        Unsupported: a pattern that not even the regex package can run exactly.
    """

    def __init__(self, steps: Sequence[PreTokenizerStep]) -> None:
        on_bytes = [isinstance(step, SplitStep) and step.on_bytes for step in steps]
        made = [
            Splitter(expanded_pattern(step), step.behavior, step.invert) if isinstance(step, SplitStep) else step
            for step in steps
        ]
        self.byte_steps = [
            step for step, late in zip(made, on_bytes, strict=True) if late and isinstance(step, Splitter)
        ]
        self.steps = [step for step, late in zip(made, on_bytes, strict=True) if not late]
        last = max((i for i, step in enumerate(self.steps) if isinstance(step, Splitter)), default=-1)
        self.steps = self.steps[: last + 1]  # what only maps and puts in is not seen any more
        self.plain = all(isinstance(step, Splitter) for step in self.steps)

    def spans(self, text: str) -> list[Span]:
        """The pieces of `text` before the steps that cut bytes, in characters of it. What steps put in does not show."""
        if not self.plain:
            return self._spans_with_marks(text)
        spans = [(0, len(text))] if text else []
        for step in self.steps:
            assert isinstance(step, Splitter)
            spans = [(low + a, low + b) for low, high in spans for a, b in step.spans(text[low:high])]
        return spans

    def pieces(self, text: str) -> list[str]:
        """The pieces; bytes of one that are no whole character are replaced."""
        if not self.byte_steps:
            return [text[start:stop] for start, stop in self.spans(text)]
        data = text.encode()
        return [data[start:stop].decode(errors="replace") for start, stop in self.byte_spans(text)]

    def byte_spans(self, text: str) -> list[Span]:
        """The pieces in bytes of UTF-8, as gt_boundaries gives them."""
        spans = self._text_spans(text)
        if self.byte_steps:
            mapped = bytes_to_alphabet(text.encode())
            for step in self.byte_steps:
                spans = [(low + a, low + b) for low, high in spans for a, b in step.spans(mapped[low:high])]
        return spans

    def _text_spans(self, text: str) -> list[Span]:
        """`spans` in bytes."""
        spans = self.spans(text)
        if text.isascii():
            return spans
        offsets = [0, *accumulate(len(char.encode()) for char in text)]
        return [(offsets[start], offsets[stop]) for start, stop in spans]

    def _spans_with_marks(self, text: str) -> list[Span]:
        parts = [_Part(text, 0, 0)] if text else []
        for step in self.steps:
            match step:
                case Splitter():
                    parts = [
                        _Part(part.text[a:b], part.start + max(0, a - part.put_in), max(0, part.put_in - a))
                        for part in parts
                        for a, b in step.spans(part.text)
                    ]
                case ByteLevelStep(add_prefix_space=True):
                    parts = [_prefixed(part, " ") for part in parts]
                case MetaspaceStep():
                    parts = [_with_marks(part, step) for part in parts]
        spans = [(part.start, part.start + len(part.text) - part.put_in) for part in parts]
        return [(start, stop) for start, stop in spans if start < stop]


def _prefixed(part: _Part, mark: str) -> _Part:
    if part.text.startswith(mark):
        return part
    return _Part(mark + part.text, part.start, part.put_in + 1)


def _with_marks(part: _Part, step: MetaspaceStep) -> _Part:
    marked = _Part(part.text.replace(" ", step.replacement), part.start, part.put_in)
    if step.prepend_scheme == "always" or (step.prepend_scheme == "first" and part.start == 0):
        return _prefixed(marked, step.replacement)
    return marked
