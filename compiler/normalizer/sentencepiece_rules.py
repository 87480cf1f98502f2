"""What the rules of a SentencePiece charsmap can touch: facts for the fast path, and proof that its trie can be trusted.

Units of the trie are shared, so the rules are not listed (nmt_nfkc has 225,000): each unit at which a character can end is looked
at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_runtime.charsmap import ENDS, LABEL, VALUE, Charsmap

_MAX_CHARACTERS = 1 << 20  # steps by a character; the largest charsmap known has 50,000. Keeps a bomb from running on
MAX_NESTED = 32
"""Of rules that all begin one text the reference looks at these many, the shortest (measured); more are refused here."""


@dataclass(frozen=True, slots=True)
class CharsmapFacts:
    """units: (n,) uint32, the trie as the file has it. replacements: text, each ended by a NUL.

    alone: characters that have a rule of their own. seconds: the second characters of longer rules. So text in which none of
    these occurs stays as it is.
    longest_rule: characters of the longest one. longest_replacement: bytes.
    """

    units: npt.NDArray[np.uint32]
    replacements: bytes
    alone: frozenset[str]
    seconds: frozenset[str]
    longest_rule: int
    longest_replacement: int


def analyse_charsmap(charsmap: bytes) -> CharsmapFacts:
    """The facts of a charsmap; an empty one has no units.

    Raises:
        ValueError: the reference does not load it, it leads outside or in a circle, or a rule is not UTF-8 text.
    """
    if not charsmap:
        return CharsmapFacts(np.zeros(0, np.uint32), b"", frozenset(), frozenset(), 0, 0)
    trie = _Trie(Charsmap(charsmap))
    if trie.ends(0):
        raise ValueError("a rule replaces nothing by something")
    # Units at which a character ends, each with the characters that lead on from it.
    levels: dict[int, dict[str, int]] = {}
    pending = [0]
    while pending:
        at = pending.pop()
        if at not in levels:
            levels[at] = trie.characters(at)
            pending += levels[at].values()
    nested, longest_rule = _deepest(levels, trie)
    if nested > MAX_NESTED:
        raise ValueError(f"more than {MAX_NESTED} rules begin with one another")
    firsts = levels[0]
    return CharsmapFacts(
        trie.units,
        trie.charsmap.replacements,
        alone=frozenset(char for char, unit in firsts.items() if trie.ends(unit)),
        seconds=frozenset(char for unit in set(firsts.values()) for char in levels[unit]),
        longest_rule=longest_rule,
        longest_replacement=trie.longest,
    )


class _Trie:
    """A checked view of the units."""

    def __init__(self, charsmap: Charsmap) -> None:
        self.charsmap = charsmap
        self.units = np.array(charsmap.units, np.uint32)
        self.longest = 0
        self.steps = 0

    def ends(self, at: int) -> bool:
        return bool(self.charsmap.units[at] & ENDS)

    def successors(self, at: int) -> list[tuple[int, int]]:
        """The labels that lead on from a unit, and where to. Raises ValueError when a walk on from it could leave the trie."""
        first = self.charsmap.children(at) & ~0xFF
        if first + 256 > len(self.units):
            raise ValueError("its trie leads outside")
        base = self.charsmap.children(at) & 0xFF
        labels = np.arange(256) ^ base  # of the units of this block
        found = np.flatnonzero((self.units[first : first + 256] & LABEL) == labels)
        if self.ends(at):
            self._check_value(self.charsmap.units[first + base] & VALUE)
        return [(int(labels[place]), first + int(place)) for place in found if labels[place]]

    def _check_value(self, value: int) -> None:
        if value >= len(self.charsmap.replacements):
            raise ValueError("a rule's replacement lies outside")
        replacement = self.charsmap.replacement(value)
        _as_text(replacement)
        self.longest = max(self.longest, len(replacement))

    def characters(self, at: int) -> dict[str, int]:
        """Each character that leads on from a unit, and the unit at which it ends."""
        found: dict[str, int] = {}
        pending = [(at, b"")]
        while pending:
            unit, read = pending.pop()
            for label, child in self.successors(unit):
                char = read + bytes((label,))
                if len(char) < _sequence_length(char[0]):
                    if self.ends(child):
                        raise ValueError("a rule is not UTF-8")
                    pending.append((child, char))
                else:
                    found[_as_text(char)] = child
                    self.steps += 1
                    if self.steps > _MAX_CHARACTERS:
                        raise ValueError("its trie is absurdly large")
        return found


def _sequence_length(lead: int) -> int:
    return 1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _as_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise ValueError("a rule is not UTF-8") from None


def _deepest(levels: dict[int, dict[str, int]], trie: _Trie) -> tuple[int, int]:
    """The most rules, and the most characters, on one way through the trie. Raises ValueError for a circle."""
    deepest: dict[int, tuple[int, int]] = {}
    open_units: set[int] = set()
    pending = [0]
    while pending:
        at = pending[-1]
        if at in deepest:
            pending.pop()
            continue
        below = set(levels[at].values())
        waiting = {unit for unit in below if unit not in deepest}
        if not waiting:
            rules = max((deepest[unit][0] for unit in below), default=0) + trie.ends(at)
            deepest[at] = rules, max((deepest[unit][1] + 1 for unit in below), default=0)
            open_units.discard(at)
            pending.pop()
        elif at in open_units or at in waiting:
            raise ValueError("its trie goes in a circle")
        else:
            open_units.add(at)
            pending += waiting
    return deepest[0]
