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


def word_starts(text: str, count: int) -> Iterator[int]:
    """`count` places spread over the text, each the start of a word."""
    for number in range(count):
        at = number * len(text) // count
        while 0 < at < len(text) and not (text[at - 1].isspace() and not text[at].isspace()):
            at += 1
        yield at


def cut_texts(text: str, tokens: int, wanted: int, count: Count) -> list[str]:
    """Up to `wanted` texts of `tokens` ids from all over `text`; less where it is too short for as many windows.

    What is found is dealt out of order, so that the first and the last text are not from the ends of the corpus.
    """
    sample = text[len(text) // 3 :][: max(tokens * 8, 4000)]
    guess = len(sample) / max(count(sample), 1)
    room = max(1, int(len(text) / (tokens * guess * 1.3)))
    windows = min(room, wanted + wanted // 8 + 1)
    found: dict[str, None] = {}
    for start in word_starts(text, windows):
        piece = cut_at_tokens(text[start : start + len(text) // windows], tokens, count, guess)
        if piece is not None:
            found[piece] = None
    texts = list(found)
    stride = next(step for step in range(max(2, int(len(texts) * 0.382)), len(texts) + 3) if coprime(step, len(texts)))
    return [texts[index * stride % len(texts)] for index in range(len(texts))][:wanted]


def coprime(left: int, right: int) -> bool:
    return math.gcd(left, right) == 1


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
