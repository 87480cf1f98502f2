"""Hypothesis strategies for patterns as text, split steps, and texts: all that the compiler supports, in both dialects."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from gigatok_compile.ir.definition import Dialect, SplitStep
from hypothesis import strategies as st
from split_oracle import BEHAVIORS

CHARACTERS = [*"abcAkKsS12_.' \n\r\t", "é", "É", "\u0301", "中", "ſ", "\u212a", "\u3000", "😀", "\u0295", "²", "\u00a0"]
"""In patterns. Case folding meets k and s (their Kelvin sign and long s)."""

OTHERS = [
    "ß",
    "İ",
    "\u0130",
    "ﬁ",
    "ʼ",
    "\u2028",
    "\x85",
    "\u200d",
    "٣",
    "ǅ",
    "ς",
    "ΐ",
    "\U0001d400",
    "\x00",
    "\U0010ffff",
    "b",
    "-",
]
SETS = [
    r"\p{L}",
    r"\p{Lu}",
    r"\p{N}",
    r"\p{M}",
    r"\P{L}",
    r"\p{^N}",
    r"\s",
    r"\S",
    r"\d",
    r"\D",
    r"\w",
    r"\W",
    r"\h",
    r"\p{P}",
]
ONIGURUMA_SETS = [".", "(?m:.)", r"\N", r"\O"]
FANCY_SETS = [".", "(?s:.)"]
SMALL = ["a", "b", "c", "A", "\n"]
"""Few characters, so that parts of a pattern meet."""

SMALL_SETS = ["[ab]", "[^a]", "[^ab]", ".", "[bc]", r"[^\n]", "[a-c&&[^b]]", "(?i:a)"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "{1,3}", "{0,2}", "{2,}", "{3}"]
_META = "\\^$.|?*+()[]{}"
_CONTROL = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_OPEN, _REFERENCE = "\ue000{}\ue001", "\ue002{}\ue001"  # a capture and a reference to it, until groups are numbered


def escaped(char: str) -> str:
    return _CONTROL.get(char) or ("\\" + char if char in _META else char)


def escaped_in_class(char: str) -> str:
    return _CONTROL.get(char) or ("\\" + char if char in "\\^-[]&~" else char)


@st.composite
def classes(draw: st.DrawFn, dialect: Dialect, depth: int = 2) -> str:
    """`[..]` with ranges, sets, nested classes, intersections, and in fancy differences."""

    def item() -> str:
        kind = draw(st.sampled_from(["char", "char", "char", "range", "set", "nested"]))
        if kind == "range":
            return draw(st.sampled_from(["a-c", "b-k", "A-Z", "0-9", "a-z", "\\x{80}-\\x{3000}", "!-/"]))
        if kind == "set":
            return draw(st.sampled_from(SETS))
        if kind == "nested" and depth:
            return draw(classes(dialect, depth - 1))
        return escaped_in_class(draw(st.sampled_from(CHARACTERS)))

    text = "".join(item() for _ in range(draw(st.integers(1, 3))))
    if depth and draw(st.integers(0, 4)) == 0:
        operators = ["&&", "&&", "--", "~~"] if dialect == "fancy" else ["&&"]
        text += draw(st.sampled_from(operators)) + draw(st.one_of(classes(dialect, depth - 1), st.sampled_from(SETS)))
    return "[" + "^" * draw(st.booleans()) + text + "]"


@st.composite
def patterns(draw: st.DrawFn, dialect: Dialect, depth: int = 3, small: bool = False) -> str:
    """A pattern; groups are numbered or named."""
    text = draw(_trees(dialect, depth, small))
    return number_groups(text, draw(st.booleans()))


@st.composite
def _trees(draw: st.DrawFn, dialect: Dialect, depth: int, small: bool) -> str:
    kinds = ["char", "char", "set", "class", "class", "anchor"]
    if depth:
        kinds = [
            *("char", "class", "concat", "concat", "concat", "choice", "choice", "repeat", "repeat", "repeat", "group"),
            *("look", "look", "flags", "atomic", "bound", "anchor"),
        ]

    def inner(less: int = 1) -> str:
        return draw(_trees(dialect, max(0, depth - less), small))

    match draw(st.sampled_from(kinds)):
        case "char":
            return escaped(draw(st.sampled_from(SMALL if small else CHARACTERS)))
        case "set" | "class" if small:
            return draw(st.sampled_from(SMALL_SETS))
        case "set":
            return draw(st.sampled_from([*SETS, *(FANCY_SETS if dialect == "fancy" else ONIGURUMA_SETS)]))
        case "class":
            return draw(classes(dialect))
        case "anchor":
            anchors = ["$", r"\z", "(?m:$)" if dialect == "fancy" else r"\R"]
            return draw(st.sampled_from([*anchors, *anchors, r"\b", r"\B"]))
        case "concat":
            return "".join(grouped(inner()) for _ in range(draw(st.integers(2, 3))))
        case "choice":
            options = [inner() for _ in range(draw(st.integers(2, 3)))]
            return "|".join([*options, ""] if draw(st.integers(0, 9)) == 0 else options)
        case "repeat":
            modes = ["", "", "", "?", "+"]
            repeat, mode = draw(st.sampled_from(REPEATS)), draw(st.sampled_from(modes))
            item = inner() if draw(st.booleans()) else draw(_trees(dialect, 0, small))
            return f"{repeatable(item)}{repeat}{mode}"
        case "group":
            return f"(?:{inner()})" if draw(st.booleans()) else f"{_OPEN.format(draw(st.integers(0, 10**6)))}{inner()})"
        case "look":
            return f"(?{draw(st.sampled_from('=!'))}{inner()})"
        case "flags":
            return f"(?i:{inner()})" if draw(st.integers(0, 5)) else f"(?:(?i){inner()})"
        case "atomic":
            return f"(?>{inner()})"
        case "bound":
            name = draw(st.integers(0, 10**6))
            few = (
                "[ab]"
                if small
                else draw(st.sampled_from(["[ab]", "[ab]", "[,-.]", "a", r"[a-d&&[^b]]", r"[_\n\x{301}]"]))
            )
            middle, last = (
                grouped(inner()) if draw(st.booleans()) else "",
                draw(st.sampled_from(["", "*", "+", "?", "{1,2}"])),
            )
            opened, reference = f"{_OPEN.format(name)}{few})", f"(?:{_REFERENCE.format(name)}){last}"
            if draw(st.integers(0, 9)) == 0:
                return reference + middle + opened
            return opened + middle + reference
    raise AssertionError


def grouped(text: str) -> str:
    return f"(?:{text})" if "|" in text or text.startswith("(?i)") else text


_ONE = re.compile(r"(?:[^\\\[\](){}|?*+^$.]|\\[^xpPbBzkg]|\\[pP]\{[^}]*\}|\.)\Z", re.DOTALL)


def repeatable(text: str) -> str:
    return text if _ONE.match(text) or re.fullmatch(r"\[[^\[\]]*\]", text) else f"(?:{text})"


def number_groups(text: str, named: bool) -> str:
    """References in place of marks; one to a group that was lost in shrinking cannot be, as both are drawn together."""
    ids = list(dict.fromkeys(re.findall("\ue000(\\d+)\ue001", text)))
    text = re.sub("\ue000(\\d+)\ue001", lambda m: f"(?<g{m[1]}>" if named else "(", text)
    if named:
        return re.sub("\ue002(\\d+)\ue001", r"\\k<g\1>", text)
    return re.sub("\ue002(\\d+)\ue001", lambda m: f"\\{ids.index(m[1]) + 1}", text)


@st.composite
def steps(draw: st.DrawFn, dialect: Dialect, depth: int = 2, small: bool = False) -> SplitStep:
    behavior, invert = draw(st.sampled_from(BEHAVIORS)), draw(st.booleans())
    if draw(st.integers(0, 5)) == 0:
        text = "".join(draw(st.lists(st.sampled_from(SMALL if small else CHARACTERS), min_size=1, max_size=3)))
        return SplitStep(text, dialect, "test", behavior, invert, is_regex=False)
    return SplitStep(draw(patterns(dialect, depth, small)), dialect, "test", behavior, invert)


def texts(letters: Sequence[str], seed: int, count: int, longest: int = 12) -> list[str]:
    """Over the letters of an alphabet, interesting others, and the characters that patterns are made of."""
    chooser = random.Random(seed)
    found = []
    for _ in range(count):
        pool = chooser.choices(letters, k=3) + chooser.choices(CHARACTERS, k=2)
        if chooser.random() < 0.2:
            pool += [*chooser.choices(OTHERS, k=2), "\r\n"]
        few = chooser.sample(pool, chooser.randint(1, len(pool)))
        found.append("".join(chooser.choices(few, k=chooser.randint(1, longest))))
    return found
