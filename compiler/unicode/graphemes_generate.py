"""Write graphemes.txt: the classes of characters that Precompiled's grapheme clusters are made by, read out of the wheel.

    python -m gigatok_compile.unicode.graphemes_generate            rewrite graphemes.txt next to this file
    python -m gigatok_compile.unicode.graphemes_generate --check    compare only; exit 1 when it differs

tokenizers 0.23.3 cuts with the crate unicode-segmentation, and what it shows of its clusters is this: one of less than six
bytes is looked up as a whole. So a charsmap that makes a "V" of whatever begins with any byte tells one cluster ("V") from
characters ("V" each), and a short cluster behind a longer one tells where the longer one ended. Two classes cannot be told
from others that way and need not be: regional indicators (four bytes each, so that no cluster with one is short, but the one
that is alone), which count as "other". The tables are those of Unicode 17 (the linkers U+1A60 and U+10A3F are new there).

Takes about a minute.
"""

from __future__ import annotations

import struct
import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path

from gigatok_compile.unicode.engine import all_scalars
from gigatok_compile.unicode.generate import format_ranges

OUTPUT = Path(__file__).with_name("graphemes.txt")
MARK, JOINER, PICTURE, CONSONANT, LINKER = "\u0300", "\u200d", "\u00a9", "\u0915", "\u094d"
LEAD, VOWEL, TAIL = "\u1100", "\u1161", "\u11a8"


def counter() -> Callable[[str, Iterable[str], str], list[int]]:
    """A function (before, characters, after) -> for each character how many "V" the three together become."""
    from tokenizers import normalizers

    units = [0] * 1024
    units[0] = 256 << 10
    for byte in range(1, 256):
        if byte != 0x0A:  # the line feed stays, and cuts on both sides
            units[256 ^ byte] = 768 << 10 | 1 << 8 | byte
    normalizer = normalizers.Precompiled(struct.pack("<I1024I", 4096, *units) + b"V\0")

    def count(before: str, characters: Iterable[str], after: str) -> list[int]:
        text = "\n".join(before + char + after for char in characters)
        return [len(line) for line in normalizer.normalize_str(text).split("\n")]

    return count


def classes() -> dict[str, set[str]]:
    """Class to its characters. CR and LF are in none, and what is in none is "other"."""
    count = counter()
    scalars = [char for char in all_scalars() if char not in "\r\n\0"]

    def those(chars: Iterable[str], before: str, after: str, is_it: Callable[[int], bool]) -> set[str]:
        listed = list(chars)
        return {char for char, n in zip(listed, count(before, listed, after), strict=True) if is_it(n)}

    joins = those(scalars, "a", "", lambda n: n == 1)
    rest = [char for char in scalars if char not in joins]
    control = those(rest, "", MARK + MARK, lambda n: n == 2)
    plain = [char for char in rest if char not in control]
    three = [char for char in plain if char <= "\uffff"]  # Hangul is there
    prepend = those(plain, "", "a", lambda n: n == 1)
    picture = those(plain, PICTURE + JOINER, "", lambda n: n == 3)
    consonant = those(plain, "", LINKER + CONSONANT + MARK, lambda n: n == 4)
    after = {part: those(three, part, MARK, lambda n: n == 3) for part in (LEAD, VOWEL, TAIL)}
    before = {part: those(three, "", part + MARK, lambda n: n == 3) - prepend for part in (LEAD, VOWEL, TAIL)}
    lead = after[LEAD] & before[LEAD]
    vowel = after[LEAD] & after[VOWEL]
    tail = after[TAIL]
    syllable = after[LEAD] - lead - vowel
    open_syllable = syllable & before[VOWEL]
    assert before[VOWEL] == lead | vowel | open_syllable
    assert before[TAIL] == vowel | tail | syllable
    assert after[VOWEL] == vowel | tail

    joiner = those(joins, PICTURE, PICTURE + MARK, lambda n: n == 4)
    assert joiner == {JOINER}
    spacing = those(joins, PICTURE, JOINER + PICTURE + MARK, lambda n: n != 5) - joiner
    linker = those(joins, CONSONANT, CONSONANT + MARK, lambda n: n == 4)
    within = those(joins, CONSONANT + LINKER, CONSONANT + MARK, lambda n: n == 5)
    assert within == those(joins, CONSONANT, LINKER + CONSONANT + MARK, lambda n: n == 5)
    assert linker | joiner <= within and not within & spacing
    return {
        "control": control | {"\0"},
        "prepend": prepend,
        "extend": within - linker - joiner,
        "extend_apart": joins - within - spacing,  # a mark that a conjunct is not joined across
        "linker": linker,
        "joiner": joiner,
        "spacing": spacing,
        "lead": lead,
        "vowel": vowel,
        "tail": tail,
        "open": open_syllable,
        "closed": syllable - open_syllable,
        "picture": picture,
        "consonant": consonant,
    }


def extract() -> str:
    """The file's text, from the installed tokenizers."""
    import tokenizers

    lines = [
        "# made by: python -m gigatok_compile.unicode.graphemes_generate",
        f"source tokenizers {tokenizers.__version__}",
    ]
    seen: set[str] = set()
    for name, members in classes().items():
        assert not seen & members, name
        seen |= members
        text = f"{name} {format_ranges(map(ord, members))}"
        lines += textwrap.wrap(text, 118, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the file, or with --check compare; the exit status."""
    text = extract()
    if "--check" in arguments:
        same = OUTPUT.read_text(encoding="ascii") == text
        print("same" if same else f"{OUTPUT.name} differs from the installed tokenizers")
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
