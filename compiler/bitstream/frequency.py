"""How common characters are, roughly: what is rare may take a slower path.

Nothing but speed depends on these figures. They are shares of English prose with some code and markup in it; what is not
ASCII shares a little by the size of its range.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.ir.tags import Range

_LETTERS = "etaoinsrhldcumfpgwybvkxjqz"
_LETTER_SHARES = (9, 6.7, 6, 5.6, 5.4, 5.3, 4.9, 4.8, 3.4, 3.1, 3, 2.4, 2.2, 2, 1.8, 1.7, 1.5, 1.2, 1.3, 1.1, 0.8, 0.6, 0.2, 0.1, 0.1, 0.1)  # fmt: skip
_OTHER_SHARES = {" ": 16, "\n": 2.0, ",": 1, ".": 1.2, "-": 0.5, '"': 0.4, "'": 0.4, "(": 0.4, ")": 0.4, "_": 0.4, "/": 0.3, ":": 0.3, ";": 0.3, "=": 0.3}  # fmt: skip
_UPPER = 0.06  # of the lower-case letter's share
_DIGIT = 0.3
_REST = 0.05
_WIDE = 2.0  # all of the other planes together
_WIDE_MOST = 40_000  # code points from which a range counts in full


def tag_weight(ranges: Sequence[Range]) -> float:
    """Percent of characters, roughly, that lie in `ranges`."""
    weight = 0.0
    for low, high in ranges:
        weight += sum(_share(chr(code_point)) for code_point in range(low, min(high, 0x7F) + 1))
        weight += _WIDE * min(1.0, max(0, high - max(low, 0x80) + 1) / _WIDE_MOST)
    return weight


def _share(char: str) -> float:
    lower = char.lower()
    if lower in _LETTERS:
        return _LETTER_SHARES[_LETTERS.index(lower)] * (1 if char == lower else _UPPER)
    if char.isdigit():
        return _DIGIT
    return _OTHER_SHARES.get(char, _REST)
