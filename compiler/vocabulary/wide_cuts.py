"""build_wide_cuts: where long pieces of three-byte characters are cut before they are looked up.

A pre-token of Chinese, Japanese or Thai is a clause, and most clauses of a text are new. The stretches between its safe
cuts (safe_cuts.py) are few and come again and again: cut there, such a text is made of known words, as English is. So the
scan cuts long pieces right away (templates/wide_cuts.h), by tables that answer in a few instructions without a branch.
They say "an entry lies across" for every pair of characters where safe_cuts.py does, and for a few others, which only loses
cuts:

    pairs     bit hash(left, right)                                       an entry holds both
    ends      bit hash(last byte of the left, first two of the right)     an entry begins inside the left or ends inside the right
    kept      bit hash(left, right)                                       no cut before nor behind the two, see below

`pairs` and `kept` have the same places: 32 of pairs in a word or, where any are kept, 16 of each.

What comes of it is looked up as words are, so a stretch must be worth the same as a whole pre-token and as a part of one. That is
not so for *whole-only* entries: where whole pre-tokens that are entries are taken as they are (ignore_merges), one that merging
does not make. No stretch may be one of these. So no cut lies inside of one (all entries are counted then), none before its first
two characters and none behind its last two; where such two are not both of three bytes, none before or behind the one
that is, nor at any character that `ends` takes for it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.safe_cuts import SafeCuts, find_safe_cuts

LEFT_MULTIPLIER, RIGHT_MULTIPLIER, END_MULTIPLIER = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
END_BITS = 16
_LEAST_BITS = 9
_SPARSE = 16  # places for each pair
_FEW = 1000  # pairs of a vocabulary over characters: with fewer its implied pattern (implied_cuts.py) has cut it all


@dataclass(frozen=True, slots=True)
class WideCuts:
    """Pairs of neighbours without a cut between them, both of three bytes, as six bytes each; `ends` of the three bytes that
    meet, and `kept`, pairs before and behind which there is no cut. `usable` False: no point may be cut
    at, or none is worth it."""

    pairs: frozenset[bytes]
    ends: frozenset[bytes]
    kept: frozenset[bytes]
    usable: bool


def find_wide_cuts(model: BpeModel, reachable: npt.NDArray[np.bool_], cuts: SafeCuts) -> WideCuts:
    """Collect them.

    Args:
        reachable: (n,) bool, what merging makes (`Derivations.reachable`).
        cuts: `find_safe_cuts` of these entries.
    """
    if model.ignore_merges:
        cuts = find_safe_cuts(model, np.ones_like(reachable))
    pairs = {left + right for left, right in cuts.pairs if _is_wide(left) and _is_wide(right)}
    ends: set[bytes] = set()
    kept: set[bytes] = set()
    for left, right in cuts.fragments:
        if left[-1] >= 0x80 and 0xE0 <= right[0] < 0xF0:
            ends.update(bytes((left[-1],)) + begin for begin in _begins(right))
    if model.ignore_merges:
        for token, made in zip(model.tokens, reachable.tolist(), strict=True):
            if not token or made:
                continue
            if _is_wide(token[:3]) and _is_wide(token[3:6]):
                kept.add(token[:6])
            elif _is_wide(token[:3]):
                ends.update(bytes((last,)) + token[:2] for last in _CONTINUATION)
            if _is_wide(token[-3:]) and _is_wide(token[-6:-3]):
                kept.add(token[-6:])
            elif _is_wide(token[-3:]):
                ends.update(token[-1:] + begin for lead in range(0xE0, 0xF0) for begin in _begins(bytes((lead,))))
    worth = cuts.usable and (model.atoms == "bytes" or len(pairs) >= _FEW)
    return WideCuts(frozenset(pairs), frozenset(ends), frozenset(kept), worth)


def build_wide_cuts(cuts: WideCuts) -> TableSet:
    """Tables of gt_wide_cuts, and its constants."""
    bits = max(_LEAST_BITS, int(np.ceil(np.log2(max(1, _SPARSE * len(cuts.pairs))))))
    pairs, kept = (_bits(pair_places(some, bits), bits) for some in (cuts.pairs, cuts.kept))
    both = np.concatenate([pairs.reshape(-1, 16), kept.reshape(-1, 16)], axis=1) if cuts.kept else pairs
    ends = _bits(end_places(cuts.ends), END_BITS)
    tables = (
        Table("wide_pairs", _packed(both), "bit hash of two neighbours: an entry may hold both"),
        Table("wide_ends", _packed(ends), "bit hash of three bytes that meet: an entry may hold a part"),
    )
    constants = {
        "wide_cuts": int(cuts.usable),
        "wide_keeps": int(bool(cuts.kept)),
        "wide_has_ends": int(bool(cuts.ends)),
        "wide_pair_bits": bits,
        "wide_end_bits": END_BITS,
    }
    return TableSet(tables, constants)


NO_WIDE_CUTS = WideCuts(frozenset(), frozenset(), frozenset(), False)
"""Of models that have no safe cuts."""


def pair_places(pairs: Collection[bytes], bits: int) -> npt.NDArray[np.intp]:
    """(n,) places of six bytes each in a table of 2**bits, as templates/wide_cuts.h counts them."""
    left, right = (
        np.array([int.from_bytes(pair[at : at + 3], "little") for pair in pairs], dtype=np.uint32) for at in (0, 3)
    )
    mixed = left * np.uint32(LEFT_MULTIPLIER) + right * np.uint32(RIGHT_MULTIPLIER)
    places: npt.NDArray[np.intp] = (mixed >> np.uint32(32 - bits)).astype(np.intp)
    return places


def end_places(ends: Collection[bytes]) -> npt.NDArray[np.intp]:
    """(n,) places of three bytes each in a table of 2**END_BITS."""
    numbers = np.array([int.from_bytes(end, "little") << 8 for end in ends], dtype=np.uint32)
    places: npt.NDArray[np.intp] = (numbers * np.uint32(END_MULTIPLIER) >> np.uint32(32 - END_BITS)).astype(np.intp)
    return places


def _bits(places: npt.NDArray[np.intp], bits: int) -> npt.NDArray[np.bool_]:
    """(2**bits,) bool, set at `places`."""
    table = np.zeros(1 << bits, dtype=np.bool_)
    table[places] = True
    return table


def _packed(bits: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint32]:
    """Words of 32."""
    return np.packbits(bits.reshape(-1), bitorder="little").view("<u4").astype(np.uint32)


_CONTINUATION = range(0x80, 0xC0)


def _begins(right: bytes) -> list[bytes]:
    """The first two bytes of the characters that begin with `right`."""
    return [right[:2]] if len(right) > 1 else [right + bytes((second,)) for second in _CONTINUATION]


def _is_wide(character: bytes) -> bool:
    """A whole character of three bytes."""
    return len(character) == 3 and 0xE0 <= character[0] < 0xF0
