"""Texts of an exact number of tokens, and statistics of their calls.

A text is a window of a corpus that is cut where the reference engine gives exactly the wanted number of ids. Windows of
one set do not overlap, so no text, and in a corpus without repeated words no word, comes twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

Count = Callable[[str], int]
TRIES = 24
"""Guesses for one window; what does not come out even then is left out."""


def cut_at_tokens(window: str, tokens: int, count: Count, guess: float = 4.0) -> str | None:
    """The beginning of `window` that has exactly `tokens` ids and no space at its end.

    Args:
        window: text that has at least as many ids; otherwise there is no answer.
        tokens: the wanted number.
        count: ids of a text, special tokens included if they are to be counted.
        guess: characters of a token.

    Returns:
        The text, or None where the window is too short, or no cut within TRIES guesses gives the number.
    """
    end = min(len(window), max(1, round(tokens * guess)))
    tried = set[int]()
    for _ in range(TRIES):
        if end in tried:
            end += 1  # guesses go round in a circle
        if end > len(window):
            return None
        tried.add(end)
        piece = window[:end].rstrip()  # engines of one model part over a space at the end
        found = count(piece)
        if found == tokens:
            return piece
        missing = tokens - found
        if missing > 0 and end == len(window):
            return None
        step = missing * end / max(found, 1)
        end = min(max(1, end + (round(step) or (1 if missing > 0 else -1))), len(window))
    return None


def word_start(text: str, at: int) -> int:
    """The first place from `at` on where a word starts."""
    while 0 < at < len(text) and not (text[at - 1].isspace() and not text[at].isspace()):
        at += 1
    return at


def shuffled(count: int) -> Iterator[int]:
    """0 to count - 1 in large strides, so that every beginning of the list is spread over all of it."""
    stride = max(1, int(count * 0.382))
    while math.gcd(stride, count) != 1:
        stride += 1
    return (number * stride % count for number in range(count))


def cut_texts(text: str, tokens: int, wanted: int, count: Count) -> list[str]:
    """Up to `wanted` texts of `tokens` ids from all over `text`; less where it is too short for as many windows.

    They are not in the order of the corpus, so that what is measured last is not from its end.
    """
    sample = text[len(text) // 3 :][: max(tokens * 8, 4000)]
    guess = len(sample) / max(count(sample), 1)
    room = max(1, int(len(text) / (tokens * guess * 1.3)))
    windows = min(room, 2 * wanted + 2)
    found: dict[str, None] = {}
    for number in shuffled(windows):
        begin, end = (place * len(text) // windows for place in (number, number + 1))
        piece = cut_at_tokens(text[word_start(text, begin) : end], tokens, count, guess)
        if piece is not None:
            found[piece] = None
        if len(found) == wanted:
            break
    return list(found)


def percentile(values: Sequence[float], share: float) -> float:
    """The nearest rank: the smallest value that at least `share` of all values do not exceed.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("no values")
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def blocks(count: int, parts: int) -> list[tuple[int, int]]:
    """`count` calls in at most `parts` stretches of about equal length: (first, one past the last)."""
    parts = max(1, min(parts, count))
    return [(number * count // parts, (number + 1) * count // parts) for number in range(parts)] if count else []
