"""The checked-in Unicode tables against the reference engines, on all 1,112,064 scalar values."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from gigatok_compile.unicode import expansions, fold_orbit, property_ranges
from gigatok_compile.unicode.engine import all_scalars, code_points_of, matches_whole, runs_of
from gigatok_compile.unicode.names import GROUPS, LEAF_CATEGORIES
from gigatok_compile.unicode.tables import load_tables

GAP = 0x800  # surrogates


def names_of(dialect: str) -> list[str]:
    """One name for every different table of a dialect."""
    first = {}
    for (name, its_dialect), ranges in sorted(load_tables().properties.items()):
        # A bare \w is checked below: inside the brackets that combine tables Oniguruma has another one.
        bare_word = dialect == "oniguruma" and name in (r"\w", "word")
        if its_dialect == dialect and not bare_word:
            first.setdefault(ranges, name)
    return sorted(first.values())


def pattern_of(name: str) -> str:
    return name if name.startswith("\\") else f"[{name}]" if name.startswith("[") else f"\\p{{{name}}}"


def members(name: str, dialect: str) -> np.ndarray:
    """Boolean, one entry for every scalar value in order."""
    mask = np.zeros(len(all_scalars()), dtype=np.bool_)
    for low, high in property_ranges(name, dialect):
        shift = GAP if low >= 0xE000 else 0
        mask[low - shift : high - shift + 1] = True
    return mask


def test_every_fancy_table_equals_the_engine():
    text = np.array([ord(char) for char in all_scalars()])
    wrong = []
    for name in names_of("fancy"):
        if code_points_of(pattern_of(name), "fancy") != set(text[members(name, "fancy")].tolist()):
            wrong.append(name)
    assert wrong == []


def groups_of_names() -> list[list[str]]:
    """Oniguruma scans all scalar values in most of a second, so tables are checked together: disjoint ones (categories,
    scripts) all at once, others six at a time through their 64 intersections."""
    categories = [leaf.lower() for leaf in LEAF_CATEGORIES]
    common = members("common", "oniguruma")
    scripts, others = [], []
    covered = common.copy()
    for name in names_of("oniguruma"):
        if name in categories or name in ("common", "zyyy"):
            continue
        mask = members(name, "oniguruma")
        if not (mask & covered).any():
            covered |= mask
            scripts.append(name)
        else:
            others.append(name)
    return [categories, ["common", *scripts], *(others[i : i + 6] for i in range(0, len(others), 6))]


def test_every_oniguruma_table_equals_the_engine():
    for number, names in enumerate(groups_of_names()):
        check_together(names, disjoint=number < 2)


def check_together(names: list[str], disjoint: bool) -> None:
    """The engine's runs begin where ours do, and the first character of every run is in the same tables."""
    masks = [members(name, "oniguruma") for name in names]
    code = np.zeros(len(all_scalars()), dtype=np.int64)
    if disjoint:
        patterns = [pattern_of(name) for name in names]
        for index, mask in enumerate(masks):
            code[mask] = index + 1
    else:
        patterns = [
            "[" + "&&".join(f"[{sign}{pattern_of(name)}]" for sign, name in zip(signs, names, strict=True)) + "]"
            for signs in product(("", "^"), repeat=len(names))
        ]
        for index, mask in enumerate(masks):
            code += mask.astype(np.int64) << index
    starts = [0, *(np.flatnonzero(np.diff(code)) + 1).tolist()]
    assert runs_of(patterns) == starts
    sample = "".join(all_scalars()[start] for start in starts)
    for name, mask in zip(names, masks, strict=True):
        expected = {ord(char) for char, start in zip(sample, starts, strict=True) if mask[start]}
        assert code_points_of(pattern_of(name), "oniguruma", sample) == expected, name


def test_categories_partition_the_scalar_values_and_groups_are_unions():
    masks = {leaf: members(leaf, "oniguruma") for leaf in LEAF_CATEGORIES}
    assert (sum(mask.astype(int) for mask in masks.values()) == 1).all()
    for group, leaves in GROUPS.items():
        assert (members(group, "oniguruma") == np.logical_or.reduce([masks[leaf] for leaf in leaves])).all()


SIZES = [("L", 141028), ("N", 1911), ("M", 2501), (r"\s", 25), ("P", 855), ("Nd", 760)]


@pytest.mark.parametrize(("name", "size"), SIZES)
def test_sizes_are_those_of_unicode_16(name, size):
    assert members(name, "oniguruma").sum() == members(name, "fancy").sum() == size


def test_word_class_of_oniguruma_is_another_one_inside_a_class():
    text = np.array([ord(char) for char in all_scalars()])
    assert code_points_of(r"\w", "oniguruma") == set(text[members(r"\w", "oniguruma")].tolist())
    inside = set(text[members("[:word:]", "oniguruma")].tolist())
    assert code_points_of(r"[\w]", "oniguruma") == inside == code_points_of(r"[\p{word}]", "oniguruma")
    assert set(text[members("word", "oniguruma")].tolist()) - inside == {0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE}


def test_word_class_differs_between_the_engines():
    difference = members(r"\w", "oniguruma") != members(r"\w", "fancy")
    codes = [ord(char) for char, differs in zip(all_scalars(), difference, strict=True) if differs]
    assert {0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE, 0x200C, 0x200D} <= set(codes)


def orbit_list() -> list[tuple[int, ...]]:
    return sorted(set(load_tables().orbits.values()))


def class_of(code_points) -> str:
    ranges = []
    for code_point in sorted(code_points):
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return "[" + "".join(f"\\x{{{low:X}}}-\\x{{{high:X}}}" for low, high in ranges) + "]"


@pytest.mark.parametrize("dialect", ["oniguruma", "fancy"])
def test_case_folding_orbits_are_exactly_those_of_the_engine(dialect):
    """For every bit of an orbit's number: the least members of the orbits with that bit, ignoring case, must match
    all members of those orbits and nothing else. Two orbits that the engine joins differ in some bit."""
    orbits = orbit_list()
    cased = "".join(chr(c) for orbit in orbits for c in orbit)
    for bit in range(len(orbits).bit_length()):
        chosen = [orbit for number, orbit in enumerate(orbits) if number >> bit & 1]
        # The zero keeps Oniguruma from trying its foldings to several characters at the neighbours.
        text = "0".join(cased)
        found = code_points_of(f"(?i:{class_of(orbit[0] for orbit in chosen)})", dialect, text)
        assert found == {c for orbit in chosen for c in orbit}


def test_characters_without_an_orbit_fold_to_nothing():
    """As a whole on all scalar values; and no two of those that could have case fold to each other."""
    orbits = load_tables().orbits
    single = [ord(char) for char in all_scalars() if ord(char) not in orbits]
    assert code_points_of(f"(?i:{class_of(single)})", "fancy") == set(single)
    could_fold = code_points_of(r"[\p{Lu}\p{Ll}\p{Lt}\p{Lm}\p{M}\p{Nl}\p{So}]", "fancy") - set(orbits)
    candidates = sorted(could_fold)
    text = "0".join(map(chr, candidates))
    for bit in range(len(candidates).bit_length()):
        chosen = [c for number, c in enumerate(candidates) if number >> bit & 1]
        for dialect in ("oniguruma", "fancy"):
            assert code_points_of(f"(?i:{class_of(chosen)})", dialect, text) == set(chosen)


def test_orbits_hold_the_special_cases():
    assert fold_orbit(ord("s")) == (0x53, 0x73, 0x17F)
    assert fold_orbit(ord("k")) == (0x4B, 0x6B, 0x212A)
    assert fold_orbit(ord("i")) == (0x49, 0x69)
    assert fold_orbit(ord("1")) == (0x31,)


def test_expansions_are_matched_by_oniguruma_only():
    for code_point, folded in expansions().items():
        text = "".join(map(chr, folded))
        assert matches_whole(f"(?i:\\x{{{code_point:X}}})", "oniguruma", [text]) == [True]
    assert expansions()[0xDF] == (0x73, 0x73)
    assert matches_whole("(?i:ß)", "fancy", ["ss"]) == [False]


def test_unknown_names_raise():
    with pytest.raises(KeyError):
        property_ranges("NoSuchThing", "oniguruma")
    with pytest.raises(KeyError):
        property_ranges("script=Greek", "oniguruma")
    assert property_ranges("script=Greek", "fancy") == property_ranges("greek", "oniguruma")
    assert property_ranges("Uppercase Letter", "fancy") == property_ranges("Lu", "fancy")
