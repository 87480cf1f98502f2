"""Write nfc.json: decompositions, combining classes and compositions of the reference engine.

    python -m gigatok_compile.unicode.nfc_generate            rewrite nfc.json next to this file
    python -m gigatok_compile.unicode.nfc_generate --check    compare only; exit 1 when it differs

tokenizers 0.23.3 normalizes with the crate unicode-normalization-alignments, whose tables are older than those of any
Python we run on (section 2 of the format notes), so everything is recovered from the installed wheel by running it:

- decompositions: NFD of every scalar value. Hangul syllables are left out, they are arithmetic (checked here).
- compatibility: NFKD of every scalar value for which it is not NFD. NFKC composes it as NFC does (a test checks).
- combining classes: a mark m is recognised, and ordered among the others, by whether NFD swaps it with a mark of known
  place. Only the *order* of classes can be observed and only the order matters, so classes are numbered 1, 2, ... by rank.
- compositions: the pairs (X, m) with NFC(X m) one character. Each is the last step of a character that NFC leaves alone.
"""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

OUTPUT = Path(__file__).with_name("nfc.json")
LOWEST_MARK = "\u0334"  # class 1
HIGHEST_MARK = "\u0345"  # class 240
HANGUL = range(0xAC00, 0xD7A4)


def extract() -> dict[str, object]:
    """Everything nfc.json holds, from the installed tokenizers."""
    import tokenizers

    nfd = tokenizers.normalizers.NFD().normalize_str
    nfc = tokenizers.normalizers.NFC().normalize_str
    nfkd = tokenizers.normalizers.NFKD().normalize_str
    scalars = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]

    full = {c: nfd(chr(c)) for c in scalars}
    compatible = {c: d for c in scalars if (d := nfkd(chr(c))) != full[c]}
    decomposed = {c: d for c, d in full.items() if d != chr(c) and c not in HANGUL}
    for c in HANGUL:
        lead, vowel, tail = (c - 0xAC00) // 588, (c - 0xAC00) % 588 // 28, (c - 0xAC00) % 28
        expected = chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else "")
        assert full[c] == expected and nfc(expected) == chr(c), f"U+{c:04X} is not arithmetic"

    def swaps(first: str, second: str) -> bool:
        return nfd("a" + first + second) != "a" + first + second

    marks = [
        chr(c)
        for c in scalars
        if full[c] == chr(c) and (swaps(HIGHEST_MARK, chr(c)) or (chr(c) != LOWEST_MARK and swaps(chr(c), LOWEST_MARK)))
    ]

    def order(first: str, second: str) -> int:
        return int(swaps(first, second)) - int(swaps(second, first))

    classes: list[list[int]] = []
    for mark in sorted(marks, key=functools.cmp_to_key(order)):  # stable: by class, then by code point
        if classes and order(chr(classes[-1][-1]), mark) == 0:
            classes[-1].append(ord(mark))
        else:
            classes.append([ord(mark)])

    compositions = []
    for c, d in decomposed.items():
        if nfc(chr(c)) != chr(c):
            continue
        rest = nfc(d[:-1])
        assert len(rest) == 1 and nfc(rest + d[-1]) == chr(c), f"U+{c:04X} is not the composition of a pair"
        compositions.append((ord(rest), ord(d[-1]), c))
    changed = [c for c in scalars if nfc(chr(c)) != chr(c)]
    assert all(c in decomposed for c in changed)
    return {
        "made_by": "python -m gigatok_compile.unicode.nfc_generate",
        "source": f"tokenizers {tokenizers.__version__} (unicode-normalization-alignments)",
        "decompositions": _lines(decomposed),
        "classes": [_ranges(members) for members in classes],
        "compositions": [f"{a:04X} {b:04X} {c:04X}" for a, b, c in sorted(compositions)],
        "compatibility": _lines(compatible),
    }


def _lines(decompositions: dict[int, str]) -> dict[str, str]:
    return {f"{c:04X}": " ".join(f"{ord(x):04X}" for x in d) for c, d in decompositions.items()}


def _ranges(members: list[int]) -> str:
    """`members` as "300-314 31B", sorted."""
    runs: list[list[int]] = []
    for c in sorted(members):
        if runs and c == runs[-1][1] + 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return " ".join(f"{a:04X}" if a == b else f"{a:04X}-{b:04X}" for a, b in runs)


def main(arguments: list[str]) -> int:
    """Write the file, or with --check compare; the exit status."""
    text = json.dumps(extract(), indent=0) + "\n"
    if "--check" in arguments:
        same = OUTPUT.read_text(encoding="ascii") == text
        print("same" if same else f"{OUTPUT.name} differs from the installed tokenizers")
        return 0 if same else 1
    OUTPUT.write_text(text, encoding="ascii")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
