"""Names for tags, made from what a cell of the partition holds, so that dumps and generated C can be read."""

from __future__ import annotations

from functools import lru_cache

from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.unicode.tables import fold_orbit, property_ranges

_ASCII_NAMES = {
    "\t": "tab", "\n": "line_feed", "\v": "vertical_tab", "\f": "form_feed", "\r": "carriage_return",
    "\x85": "next_line", " ": "space", "!": "exclamation", '"': "quote", "#": "hash", "$": "dollar", "%": "percent",
    "&": "ampersand", "'": "apostrophe", "(": "left_paren", ")": "right_paren", "*": "asterisk", "+": "plus",
    ",": "comma", "-": "hyphen", ".": "period", "/": "slash", ":": "colon", ";": "semicolon", "<": "less",
    "=": "equals", ">": "greater", "?": "question", "@": "at", "[": "left_bracket", "\\": "backslash",
    "]": "right_bracket", "^": "caret", "_": "underscore", "`": "backtick", "{": "left_brace", "|": "bar",
    "}": "right_brace", "~": "tilde", "\xa0": "no_break_space", "\u2581": "space_mark",
}  # fmt: skip

# From narrow to wide; a cell is named after the first that holds nearly all of it.
_PROPERTIES = (
    ("space", ("\\s",)), ("upper", ("Lu",)), ("lower", ("Ll",)), ("title", ("Lt",)), ("modifier_letter", ("Lm",)),
    ("other_letter", ("Lo",)), ("digit", ("Nd",)), ("mark", ("M",)), ("han", ("Han",)), ("hiragana", ("Hiragana",)),
    ("katakana", ("Katakana",)), ("hangul", ("Hangul",)), ("letter", ("L",)), ("number", ("N",)),
    ("punctuation", ("P",)), ("symbol", ("S",)), ("punctuation_symbol", ("P", "S")), ("word", ("L", "M", "N", "Pc")),
    ("control", ("Cc",)),
)  # fmt: skip
_NARROWER = {"other_letter": "letter", "han": "letter", "digit": "number"}  # if the wide one is nearly all in the cell
_NEARLY_ALL = 0.9
_SMALL = 12
_ASCII_PUNCTUATION = CodeSet.of([(0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)])


@lru_cache(maxsize=1)
def _property_sets() -> dict[str, CodeSet]:
    return {
        name: CodeSet.of(r for source in sources for r in property_ranges(source, "oniguruma"))
        for name, sources in _PROPERTIES
    }


def tag_names(cells: list[CodeSet]) -> list[str]:
    """One C identifier for every cell, all different."""
    names: list[str] = []
    taken: set[str] = set()
    for cell in cells:
        name = base = _name(cell)
        number = 2
        while name in taken:
            name, number = f"{base}_{number}", number + 1
        taken.add(name)
        names.append(name)
    return names


def _name(cell: CodeSet) -> str:
    if cell == CodeSet.of([(0x0A, 0x0A), (0x0D, 0x0D)]):
        return "newline"
    if len(cell) <= _SMALL:
        return _small_name(list(cell))
    if not cell - _ASCII_PUNCTUATION:
        return "ascii_punctuation"
    properties = _property_sets()
    for name, members in properties.items():
        if len(cell & members) >= _NEARLY_ALL * len(cell):
            if name == "space":
                return "space" if cell == members else "other_space"
            wider = properties[_NARROWER.get(name, name)]
            return _NARROWER.get(name, name) if len(cell & wider) >= _NEARLY_ALL * len(wider) else name
    return "rest"


def _small_name(code_points: list[int]) -> str:
    """By the characters: `space`, `letter_s` (any case of it), `letters_dmt`, `hyphen_and_3_more`, `u_3002`."""
    heads = sorted({min(orbit, key=lambda c: (not chr(c).islower(), c)) for orbit in map(fold_orbit, code_points)})
    chars = [chr(head) for head in heads]
    if all(char.isascii() and char.isalpha() for char in chars):
        if len(code_points) == 1 and chr(code_points[0]).isupper():
            return f"upper_letter_{chars[0]}"
        return ("letter_" if len(chars) == 1 else "letters_") + "".join(chars)
    if all(char.isascii() and char.isdigit() for char in chars):
        return ("digit_" if len(chars) == 1 else "digits_") + "".join(chars)
    words = [_ASCII_NAMES.get(char, f"u_{ord(char):04X}") for char in chars]
    return "_".join(words) if len(words) <= 3 else f"{words[0]}_and_{len(words) - 1}_more"
