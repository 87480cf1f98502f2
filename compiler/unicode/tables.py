"""Loader of `tables.txt`: Unicode as the reference engines have it (`generate.py` makes the file)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from gigatok_compile.ir.tags import Range
from gigatok_compile.unicode.names import GROUPS, LONG_CATEGORY_NAMES, loose

UNICODE_VERSION = "16.0"
_PREFIXES = ("generalcategory", "gc", "script", "sc")


@dataclass(frozen=True, slots=True)
class UnicodeTables:
    """properties: (loose name or `\\w` and so on, dialect) -> ranges. orbits: code point -> its whole fold orbit.

    expansions: code point -> the several characters that Oniguruma's `(?i:..)` takes it for (U+00DF: "ss").
    """

    properties: dict[tuple[str, str], tuple[Range, ...]]
    orbits: dict[int, tuple[int, ...]]
    expansions: dict[int, tuple[int, ...]]


@lru_cache(maxsize=1)
def load_tables() -> UnicodeTables:
    properties: dict[tuple[str, str], tuple[Range, ...]] = {}
    orbits: dict[int, tuple[int, ...]] = {}
    expansions: dict[int, tuple[int, ...]] = {}
    text = (files("gigatok_compile.unicode") / "tables.txt").read_text(encoding="ascii")
    for line in text.splitlines():
        names, dialects, *items = line.split()
        if names == "fold":
            for item in items:
                orbit = tuple(int(part, 16) for part in item.split(","))
                orbits.update(dict.fromkeys(orbit, orbit))
        elif names == "expand":
            for item in items:
                head, folded = item.split("=")
                expansions[int(head, 16)] = tuple(int(part, 16) for part in folded.split(","))
        else:
            ranges = tuple(_parse_range(item) for item in items)
            for name in names.split(","):
                for dialect in ("oniguruma", "fancy") if dialects == "both" else (dialects,):
                    properties[name, dialect] = ranges
    for dialect in ("oniguruma", "fancy"):
        for group, leaves in GROUPS.items():
            merged = [item for leaf in leaves for item in properties[leaf.lower(), dialect]]
            properties.setdefault((group.lower(), dialect), _merge(merged))
        for name, short in LONG_CATEGORY_NAMES.items():
            properties.setdefault((name, dialect), properties[short.lower(), dialect])
    return UnicodeTables(properties, orbits, expansions)


def property_ranges(name: str, dialect: str) -> tuple[Range, ...]:
    """Ranges of `\\p{name}` in `dialect`, of a shorthand spelled `\\s`, `\\d`, `\\w`, `\\h`, or of a bracket spelled
    `[:punct:]`. No surrogates.

    fancy also takes `script=..`, `sc=..`, `gc=..`, `general_category=..` and names with a leading "is".

    Raises:
        KeyError: when the engine has no such property (or we did not enumerate it).
    """
    table = load_tables().properties
    key = name if name[:1] in "\\[" else loose(name)
    if (key, dialect) in table:
        return table[key, dialect]
    if dialect == "fancy":
        prefix, _, value = key.replace(":", "=").partition("=")
        if value and prefix in _PREFIXES and (value, dialect) in table:
            return table[value, dialect]
        if key.startswith("is") and (key[2:], dialect) in table:
            return table[key[2:], dialect]
    raise KeyError(name)


def fold_orbit(code_point: int) -> tuple[int, ...]:
    """All code points that `(?i:..)` does not tell from this one, sorted, itself included."""
    return load_tables().orbits.get(code_point, (code_point,))


def expansions() -> dict[int, tuple[int, ...]]:
    """Oniguruma's case foldings of one character to several, which `(?i:..)` matches in both directions."""
    return load_tables().expansions


def _parse_range(item: str) -> Range:
    low, _, high = item.partition("-")
    return (int(low, 16), int(high or low, 16))


def _merge(ranges: list[Range]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)
