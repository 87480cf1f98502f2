"""The compiled normalization rules of a SentencePiece model (`precompiled_charsmap`): the longest rule that a text begins with.

Layout: u32 size of the trie in bytes, the trie, the replacements, each ended by a NUL. The trie is a Darts double array of u32
units: bits 0 to 7 (and 31) the label, bit 8 "a rule ends here", bits 10 to 31 the offset, shifted by 8 more when bit 9 is set. The
children of the unit at i lie at i ^ offset ^ label; where a rule ends, the unit at i ^ offset holds the place of its replacement.
Rules that go on alike share units: the 225,000 rules of nmt_nfkc have 45,000 of them.
"""

from __future__ import annotations

import struct
from typing import Final

LABEL: Final = 0x800000FF
ENDS: Final = 1 << 8
VALUE: Final = 0x7FFFFFFF


class Charsmap:
    """units: of the trie. replacements: all of them, each ended by a NUL.

    Raises:
        ValueError: not a charsmap that the reference loads. Where the trie leads is not looked at.
    """

    def __init__(self, charsmap: bytes) -> None:
        if len(charsmap) <= 4:
            raise ValueError("it is cut off")
        (size,) = struct.unpack_from("<I", charsmap)
        if size >= len(charsmap) - 4:
            raise ValueError("its trie is larger than it is")
        if size < 1024 or size % 1024:
            raise ValueError("the size of its trie is no multiple of 1024")
        self.units: tuple[int, ...] = struct.unpack_from(f"<{size // 4}I", charsmap, 4)
        self.replacements = charsmap[4 + size :]
        if not self.replacements.endswith(b"\0"):
            raise ValueError("its last replacement has no end")

    def children(self, at: int) -> int:
        """Where the children of the unit at `at` lie, and its value: ^ the label, 0 for the value."""
        unit = self.units[at]
        return at ^ (unit >> 10) << ((unit & 1 << 9) >> 6)

    def replacement(self, value: int) -> bytes:
        return self.replacements[value : self.replacements.index(b"\0", value)]

    def longest(self, data: bytes, at: int = 0) -> tuple[int, bytes] | None:
        """How many bytes the longest rule that data[at:] begins with takes, and its replacement; None where no rule begins."""
        units = self.units
        place = self.children(0)
        found: tuple[int, int] | None = None
        for end in range(at, len(data)):
            child = place ^ data[end]
            unit = units[child]
            if not data[end] or unit & LABEL != data[end]:  # the label 0 is that of values
                break
            place = self.children(child)
            if unit & ENDS:
                found = end + 1 - at, units[place] & VALUE
        return None if found is None else (found[0], self.replacement(found[1]))

    def begins(self, char: bytes) -> bool:
        """Could a rule begin with this character?"""
        place = self.children(0)
        for label in char:
            if self.units[place ^ label] & LABEL != label:
                return False
            place = self.children(place ^ label)
        return True
