"""Split steps as tokenizers 0.23 carries them out: the matches of a pattern, then one of five behaviors.

A step sees each piece that the steps before it left as a whole text of its own: anchors and look-ahead end there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

Run = tuple[int, int, bool]  # start, end, is it kept out of the result; before that: is it a match
Spans = list[tuple[int, int]]


class Splitter:
    """One split step.

    pattern: for the `regex` package under VERSION1, with properties written out as ranges.
    """

    def __init__(self, pattern: str, behavior: str, invert: bool) -> None:
        import regex

        # Nothing that `pattern` does not say may depend on flags: V1 sets, Unicode, no implicit case folding rules.
        self.compiled: Any = regex.compile(pattern, regex.VERSION1 | regex.UNICODE)
        self.behave = BEHAVIORS[behavior]
        self.invert = invert

    def spans(self, text: str) -> Spans:
        """The pieces of `text`, in order, none of them empty."""
        runs = list(self._runs(text))
        if self.invert:
            runs = [(start, end, not match) for start, end, match in runs]
        return [(start, end) for start, end, removed in self.behave(runs) if not removed and start < end]

    def _runs(self, text: str) -> Iterator[Run]:
        """Matches and what lies between them, from one end of `text` to the other."""
        done = 0
        for start, end in self.matches(text):
            if done != start:
                yield done, start, False
            yield start, end, True
            done = end
        if done != len(text):
            yield done, len(text), False

    def matches(self, text: str) -> Spans:
        """Successive matches by Oniguruma's rules, which differ from Python's only around empty ones."""
        found: Spans = [match.span() for match in self.compiled.finditer(text)]
        return found if all(start < end for start, end in found) else self._matches_with_empty(text)

    def _matches_with_empty(self, text: str) -> Spans:
        """An empty match right after the last one does not count: the search goes on one character further."""
        found: Spans = []
        at, last_end = 0, None
        while at <= len(text):
            match = self.compiled.search(text, at)
            if match is None:
                break
            start, end = match.span()
            if start == end == last_end:
                at += 1
                continue
            found.append((start, end))
            at = last_end = end
        return found


def _isolated(runs: list[Run]) -> list[Run]:
    return [(start, end, False) for start, end, _ in runs]


def _removed(runs: list[Run]) -> list[Run]:
    return runs


def _contiguous(runs: list[Run]) -> list[Run]:
    """Neighbours that are both matches or both not become one."""
    out: list[Run] = []
    previous = False
    for start, end, match in runs:
        if match == previous and out:
            out[-1] = (out[-1][0], end, False)
        else:
            out.append((start, end, False))
        previous = match
    return out


def _merged_with_previous(runs: list[Run]) -> list[Run]:
    """A match joins what stands before it, unless that is a match too."""
    out: list[Run] = []
    previous = False
    for start, end, match in runs:
        if match and not previous and out:
            out[-1] = (out[-1][0], end, False)
        else:
            out.append((start, end, False))
        previous = match
    return out


def _merged_with_next(runs: list[Run]) -> list[Run]:
    """A match joins what stands after it, unless that is a match too."""
    out: list[Run] = []
    previous = False
    for start, end, match in reversed(runs):
        if match and not previous and out:
            out[-1] = (start, out[-1][1], False)
        else:
            out.append((start, end, False))
        previous = match
    return out[::-1]


BEHAVIORS: Final[dict[str, Callable[[list[Run]], list[Run]]]] = {
    "Removed": _removed,
    "Isolated": _isolated,
    "Contiguous": _contiguous,
    "MergedWithPrevious": _merged_with_previous,
    "MergedWithNext": _merged_with_next,
}
