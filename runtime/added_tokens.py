"""Added tokens in a text, matched as the reference matches them.

tokenizers: leftmost-longest over all tokens of a pass; a match that does not count (special tokens as text, or
`single_word` inside a word) is used up, no shorter token is tried. tiktoken: tokens that are text are not looked for at all.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from gigatok_runtime.errors import SpecialTokenError
from gigatok_runtime.manifest import AddedTokenEntry
from gigatok_runtime.special import MODES

# White_Space, which Rust's \s is. Its property has not changed since Unicode 6.3.
WHITESPACE: Final = frozenset(
    map(
        chr,
        [*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000],
    )
)


class Segment(NamedTuple):
    """text[start:end], which is the added token `token` (its number), or plain text where that is None."""

    start: int
    end: int
    token: int | None


class AddedTokenMatcher:
    """The tokens of one pass: those with normalized=false over the raw text, or the others over normalized text.

    Args:
        tokens: all added tokens of the definition, in manifest order.
        contents: what to look for, by number of the token: its content, or its normalized content.
        word_ranges: inclusive ranges of word characters, sorted.
        exclusive: tokens that are text are not looked for (tiktoken), instead of matched and passed over (tokenizers).
    """

    def __init__(
        self,
        tokens: Sequence[AddedTokenEntry],
        contents: dict[int, str],
        word_ranges: Sequence[Sequence[int]],
        exclusive: bool,
    ) -> None:
        self.tokens = tokens
        self.contents = {
            number: content for number, content in contents.items() if content and tokens[number]["matched"]
        }
        self.word_starts = [low for low, _ in word_ranges]
        self.word_ends = [high for _, high in word_ranges]
        self.exclusive = exclusive
        self.pattern_for = lru_cache(maxsize=64)(self._pattern_for)

    def _pattern_for(self, modes: bytes) -> tuple[re.Pattern[str] | None, dict[str, int]]:
        """A pattern that finds the longest token at the leftmost place, and which token each content is."""
        skip = MODES["text"] if self.exclusive else None
        numbers: dict[str, int] = {}
        for number, content in self.contents.items():
            if modes[number] != skip:
                numbers.setdefault(content, number)
        longest_first = sorted(numbers, key=len, reverse=True)
        return (re.compile("|".join(map(re.escape, longest_first))) if numbers else None), numbers

    def segments(self, text: str, modes: bytes, where: tuple[int | None, int | None]) -> Iterator[Segment]:
        """The whole of `text`, from left to right, as tokens and what lies between them.

        where: for errors, the byte offset of `text` in the whole (None: not known) and the index of the whole in a batch.

        Raises:
            SpecialTokenError: a token whose mode is "error", before the text that lies before it is given.
        """
        pattern, numbers = self.pattern_for(modes)
        done = 0
        for match in pattern.finditer(text) if pattern is not None else ():
            start, end = match.span()
            number = numbers[match.group()]
            if modes[number] == MODES["text"] or not self._stands_alone(text, start, end, number):
                continue
            token = self.tokens[number]
            at = start
            # A token never reaches left into the one before it, but rstrip may reach over the next one.
            if token["lstrip"]:
                start = max(_spaces_before(text, start), done)
            if token["rstrip"]:
                end = _spaces_after(text, end)
            if start >= end:  # nothing is left of it (the reference panics where that is less than nothing)
                continue
            if modes[number] == MODES["error"]:
                raise self._forbidden(number, text, at, where)
            if done < start:
                yield Segment(done, start, None)
            yield Segment(start, end, number)
            done = end
        if done != len(text):
            yield Segment(done, len(text), None)

    def check_forbidden(self, text: str, modes: bytes, where: tuple[int | None, int | None]) -> None:
        """What tiktoken does first: no token with mode "error" anywhere, not even inside of one that is allowed.

        Raises:
            SpecialTokenError: for the leftmost such token, the longest there.
        """
        wanted = bytes(mode if mode == MODES["error"] else MODES["text"] for mode in modes)
        pattern, numbers = self.pattern_for(wanted)
        match = pattern.search(text) if pattern is not None else None
        if match is not None:
            raise self._forbidden(numbers[match.group()], text, match.start(), where)

    def _forbidden(self, number: int, text: str, at: int, where: tuple[int | None, int | None]) -> SpecialTokenError:
        offset = None if where[0] is None else where[0] + len(text[:at].encode())
        return SpecialTokenError(self.tokens[number]["content"], offset, where[1])

    def _stands_alone(self, text: str, start: int, end: int, number: int) -> bool:
        if not self.tokens[number]["single_word"]:
            return True
        before = start > 0 and self._is_word(text[start - 1])
        after = end < len(text) and self._is_word(text[end])
        return not before and not after

    def _is_word(self, char: str) -> bool:
        at = bisect_right(self.word_starts, ord(char)) - 1
        return at >= 0 and ord(char) <= self.word_ends[at]


def _spaces_before(text: str, at: int) -> int:
    while at > 0 and text[at - 1] in WHITESPACE:
        at -= 1
    return at


def _spaces_after(text: str, at: int) -> int:
    while at < len(text) and text[at] in WHITESPACE:
        at += 1
    return at
