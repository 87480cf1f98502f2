"""cut_pattern: the pre-tokenizer that a vocabulary implies, for definitions that have none.

SentencePiece-style definitions merge a whole text at once. Yet no token of theirs holds a letter and a digit, or anything
and a space after it: their trainer cut there too, and never wrote it down. Where no token that merging can make holds two
neighbours, no merge crosses the point between them, and the text may be cut there (safe_cuts.py has the argument). Then
words repeat, are cached, and are found by the same kernels as those of any other pattern.

The exact relation of neighbours is too fine for that: it cuts "twelve" between t and w, and has as many classes as there
are characters. So characters that some token joins, directly or over others, make one *kind*: Latin letters, punctuation,
kana and ideographs. A piece is a run of one kind with the spaces before it, a character that no token joins to another is a
piece by itself, and rare kinds count as one. A space joins everything that follows it and nothing before it, but for the
characters after which some token holds one (Gemma 3 has a single such token, `>` space `</`).

    " *" (?: [letters]+ | [punctuation]+ | ... | [other] )        one alternative a kind
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from gigatok_compile.bitstream.frequency import tag_weight
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.tags import Range
from gigatok_compile.pattern.codeset import CodeSet

KINDS = 6
"""Kinds with an alternative of their own. Each is a class of the kernel; Gemma 3's vocabulary has 147, most of one script."""

_ROW_BITS = 6
SPACE = " "
WHERE = "model.vocab"
COMPONENT = "neighbours that no token of the vocabulary joins"
_WEIGHT_OF_ASCII = 10_000.0  # of one percent of characters, in tokens


@dataclass(frozen=True, slots=True)
class CutPattern:
    """kinds: the characters of each kind, the most common first, then those of the rare kinds as one if there are any.
    lone: characters that are joined to none but a space. before_space: those after which a token may hold a space."""

    kinds: tuple[CodeSet, ...]
    lone: CodeSet
    before_space: CodeSet
    joins_spaces: bool

    @property
    def pattern(self) -> str:
        """Of the regex dialect that both engines read alike."""
        spaces = f"{SPACE}*" if self.joins_spaces else ""
        runs = [f"{_set(kind)}+" for kind in self.kinds]
        if self.lone.ranges:
            runs.append(_set(self.lone))
        unit = f"(?:{'|'.join(runs)})"
        if not self.joins_spaces:
            return unit
        if not self.before_space.ranges:
            return f"{spaces}{unit}|{SPACE}+"
        over = "|".join(
            f"{_set(kind)}*{_set(kind & self.before_space)}"
            for kind in (*self.kinds, self.lone)
            if (kind & self.before_space).ranges
        )
        across = f"(?:(?:{over}){SPACE}+)"
        return f"{spaces}(?:{across}+{unit}?|{unit})|{SPACE}+"

    def __str__(self) -> str:
        return (
            f"{len(self.kinds)} kinds of characters, {len(self.before_space.ranges)} of them join a space that follows"
        )


def cut_step(tokens: Iterable[str], unknown: CodeSet | None, joins_spaces: bool) -> SplitStep:
    """The step that cuts between kinds.

    Args:
        tokens: what merging can make, as text.
        unknown: characters whose neighbours of the same sort must stay with them (what is unknown is fused); None: none.
        joins_spaces: a space belongs to what follows it, as in texts that were respelled.
    """
    found = find_kinds(tokens, unknown, joins_spaces)
    return SplitStep(found.pattern, "oniguruma", WHERE, component=COMPONENT, derived=True)


def find_kinds(tokens: Iterable[str], unknown: CodeSet | None, joins_spaces: bool) -> CutPattern:
    """Characters by what joins them. See `cut_step` for the arguments."""
    hub = SPACE if joins_spaces else ""
    groups = _Groups()
    doubled: set[str] = set()
    before_space: set[str] = set()
    size: Counter[str] = Counter()
    for token in tokens:
        for left, right in itertools.pairwise(token):
            if left == hub:
                continue
            if right == hub:
                before_space.add(left)
            elif left == right:
                doubled.add(left)
            else:
                groups.join(left, right)
        if token:
            size[token[-1]] += 1
    kinds: dict[str, list[str]] = {}
    for char in {*groups.parent, *doubled}:
        kinds.setdefault(groups.find(char), []).append(char)
    sets = [CodeSet.of((ord(char), ord(char)) for char in kind) for kind in kinds.values()]
    weights = [
        sum(size[char] for char in kind)
        + _WEIGHT_OF_ASCII * tag_weight([(ord(c), ord(c)) for c in kind if c.isascii()])
        for kind in kinds.values()
    ]
    if unknown is not None and unknown.ranges:
        sets.append(unknown)
        weights.append(float("inf"))  # always a kind of its own
    order = sorted(range(len(sets)), key=lambda i: (-weights[i], sets[i].ranges))
    ordered = [sets[i] for i in order]
    common, rare = _absorb(ordered[:KINDS], ordered[KINDS:], unknown)
    if rare:
        common.append(CodeSet.of(r for kind in rare for r in kind.ranges))
    common = _whole_rows(common)
    joined = CodeSet.of(r for kind in common for r in kind.ranges)
    lone = joined.complement() - (CodeSet.single(ord(hub)) if hub else CodeSet.empty())
    spaces = CodeSet.of((ord(char), ord(char)) for char in before_space)
    return CutPattern(tuple(common), lone, spaces, joins_spaces)


def _rows(kind: CodeSet) -> set[int]:
    """Rows of 64 code points, without those of ASCII, in which a kind has characters."""
    rows = {row for low, high in kind.ranges for row in range(low >> _ROW_BITS, (high >> _ROW_BITS) + 1)}
    return rows - set(range(0x80 >> _ROW_BITS))


def _absorb(common: list[CodeSet], rare: list[CodeSet], unknown: CodeSet | None) -> tuple[list[CodeSet], list[CodeSet]]:
    """Common kinds with the rare ones that have characters in rows of theirs, and of no other common kind's; and the rare ones
    that are left. It only takes cuts away, as _whole_rows does, and lets that do its work: 41 % of a Chinese text's characters
    were in rows of ideographs of which one or two belong to a rare kind, 237 MB/s (Gemma 3, replay)."""
    rows = [set() if kind is unknown else _rows(kind) for kind in common]
    taken: list[list[Range]] = [[] for _ in common]
    left = []
    for kind in rare:
        own = _rows(kind)
        sharing = [number for number, theirs in enumerate(rows) if own & theirs]
        if len(sharing) == 1 and kind.ranges[0][0] >= 0x80:
            taken[sharing[0]].extend(kind.ranges)
        else:
            left.append(kind)
    return [CodeSet.of([*kind.ranges, *more]) for kind, more in zip(common, taken, strict=True)], left


def _whole_rows(kinds: list[CodeSet]) -> list[CodeSet]:
    """Kinds that take in the lone characters of their rows of 64 code points, but for ASCII and rows that two kinds share.

    The kernels look characters up by row; a row that is all alike costs nothing. (Gemma 3 joins 2,449 ideographs, in every
    row of them some: 72 MB/s on Chinese with rows as they are, 4 times that with whole ones.) It only takes cuts away.
    """
    rows: dict[int, set[int]] = {}
    for number, kind in enumerate(kinds):
        for row in _rows(kind):
            rows.setdefault(row, set()).add(number)
    added: list[list[Range]] = [[] for _ in kinds]
    for row, numbers in rows.items():
        first = row << _ROW_BITS
        if len(numbers) == 1:
            added[min(numbers)].append((first, first + (1 << _ROW_BITS) - 1))
    return [CodeSet.of([*kind.ranges, *more]) for kind, more in zip(kinds, added, strict=True)]


class _Groups:
    """Union-find over characters."""

    def __init__(self) -> None:
        self.parent: dict[str, str] = {}

    def find(self, char: str) -> str:
        root = char
        while self.parent.setdefault(root, root) != root:
            root = self.parent[root]
        while self.parent[char] != root:
            self.parent[char], char = root, self.parent[char]
        return root

    def join(self, left: str, right: str) -> None:
        self.parent[self.find(left)] = self.find(right)


def _set(code_set: CodeSet) -> str:
    return f"[{''.join(_range(r) for r in code_set.ranges)}]"


def _range(code_points: Range) -> str:
    low, high = code_points
    return f"\\x{{{low:X}}}" if low == high else f"\\x{{{low:X}}}-\\x{{{high:X}}}"
