"""find_safe_cuts: between which characters can no entry reach across?

If no entry holds the bytes on both sides of a point between two characters, no merge can cross it, and the encoding of
the whole is the encodings of the parts, one after the other. (In BPE every token in the making is an entry.) So long
pre-tokens, as Chinese, Japanese and Thai have them, fall into pieces that repeat. Of entries those count that merging
reaches: a token in the making was made of its own bytes alone (self_encoding.py), so no other ever comes up.

An entry that lies across the point between a left and a right character holds a suffix of the left one's bytes and a
prefix of the right one's, and ends or goes on there:

    ... left | right ...        entry          what is kept
        E4BDA0 E5A5BD           E4BDA0E5A5BD   (left, right)      both whole
            A0 E5A5BD           A0E5A5BD       (suffix, right)    an entry that begins inside a character
        E4BDA0 E5A5             E4BDA0E5A5     (left, prefix)     one that ends inside a character
            A0 E5               A0E5           (suffix, prefix)

Kept is every such pair that occurs in an entry, so the answer is exact. Pairs of ASCII characters are a table of bits;
other pairs of whole characters a perfect hash of their bytes, compared; pairs with a fragment (a few hundred in real
vocabularies) a small hash table behind a filter over (last byte of the left, first byte of the right), 8 KiB.

Bytes that are in no valid UTF-8 at all cannot occur, and neither can entries that hold them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.perfect_hash import PerfectHash, build_perfect_hash

_FRAGMENT_LOAD = 0.25
_FRAGMENT_HASH = 0x9E3779B97F4A7C15
NEVER_IN_UTF8 = frozenset({0xC0, 0xC1, *range(0xF5, 0x100)})


@dataclass(frozen=True, slots=True)
class SafeCuts:
    """Pairs of neighbours that some entry holds, as bytes. `usable` False: no point may be cut at."""

    ascii: npt.NDArray[np.bool_]  # (128, 128) left, right
    pairs: tuple[tuple[bytes, bytes], ...]  # sorted; at least one is not ASCII
    fragments: tuple[tuple[bytes, bytes], ...]  # sorted
    usable: bool

    @property
    def count(self) -> int:
        return int(self.ascii.sum()) + len(self.pairs) + len(self.fragments)


def find_safe_cuts(model: BpeModel, reachable: npt.NDArray[np.bool_]) -> SafeCuts:
    """Collect the pairs.

    With affixes nothing is cut, since a part's ends would not be the word's.

    Args:
        reachable: (n,) bool, what merging makes (`Derivations.reachable`).
    """
    tokens = [token for token, made in zip(model.tokens, reachable, strict=True) if token and made]
    text = np.frombuffer(b"\x80".join(token for token in tokens if token.isascii()), dtype=np.uint8)
    both = np.maximum(text[:-1], text[1:]) < 128
    ascii_pairs = np.zeros((128, 128), dtype=np.bool_)
    ascii_pairs[text[:-1][both], text[1:][both]] = True
    pairs: set[tuple[str, str]] = set()
    fragments: set[tuple[bytes, bytes]] = set()
    for token in tokens:
        if token.isascii():
            continue
        parts = split_characters(token)
        if parts is None:
            continue
        begin, whole, end = parts
        pairs.update(itertools.pairwise(whole))
        sides = [
            *([begin] if begin else []),
            *(c.encode() for c in (whole[:1], whole[-1:]) if c),
            *([end] if end else []),
        ]
        if begin and len(sides) > 1:
            fragments.add((begin, sides[1]))
        if end and len(sides) > 1:
            fragments.add((sides[-2], end))
    wide = []
    for left, right in sorted(pairs):
        if left.isascii() and right.isascii():
            ascii_pairs[ord(left), ord(right)] = True
        else:
            wide.append((left.encode(), right.encode()))
    return SafeCuts(ascii_pairs, tuple(wide), tuple(sorted(fragments)), model.affixes is None)


def split_characters(token: bytes) -> tuple[bytes, str, bytes] | None:
    """The end of a character that a token begins with, its whole characters, and the beginning of one that it ends with.

    None if the token is in no valid UTF-8 text.
    """
    begin = 0
    while begin < len(token) and token[begin] & 0xC0 == 0x80:
        begin += 1
    if begin > 3:
        return None
    last = len(token) - 1  # where the last character begins
    while last > begin and token[last] & 0xC0 == 0x80:
        last -= 1
    lead = token[last] if last >= begin else 0
    whole = 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    end = last if len(token) - last < whole else len(token)
    if NEVER_IN_UTF8 & set(token[end:]):
        return None
    try:
        return token[:begin], token[begin:end].decode(), token[end:]
    except UnicodeDecodeError:
        return None


def build_cut_tables(cuts: SafeCuts) -> TableSet:
    """The tables of gt_safe_cut."""
    keys = pair_keys(cuts.pairs)
    hashed: PerfectHash = build_perfect_hash(keys)
    places = np.zeros(1 << hashed.place_bits, dtype=np.uint64)  # key 0 would be NUL NUL, which is ASCII
    places[hashed.places] = keys
    bits = np.packbits(cuts.ascii.reshape(-1), bitorder="little").view("<u8").astype(np.uint64)
    filter_bits = np.zeros((256, 256), dtype=np.bool_)
    for left, right in cuts.fragments:
        filter_bits[left[-1], right[0]] = True
    fragments, mask = _fragment_table(pair_keys(cuts.fragments))
    tables = (
        Table("cut_ascii", bits, "bit 128 * left + right: an entry holds both, ASCII"),
        Table("cut_pilots", hashed.pilots, "pilots of cut_pairs"),
        Table("cut_pairs", places, "left << 32 | right, other whole characters that an entry holds"),
        Table(
            "cut_filter",
            np.packbits(filter_bits.reshape(-1), bitorder="little").view("<u8").astype(np.uint64),
            "bit 256 * last byte of the left + first byte of the right: ask cut_fragments",
        ),
        Table("cut_fragments", fragments, "left << 32 | right, one of them a part of a character; 0 is free"),
    )
    constants = {
        "safe_cuts": int(cuts.usable),
        "cut_multiplier_high": hashed.multiplier >> 32,
        "cut_multiplier_low": hashed.multiplier & 0xFFFFFFFF,
        "cut_bucket_bits": hashed.bucket_bits,
        "cut_place_bits": hashed.place_bits,
        "cut_fragment_mask": mask,
    }
    return TableSet(tables, constants)


def pair_keys(pairs: Iterable[tuple[bytes, bytes]]) -> npt.NDArray[np.uint64]:
    """Both sides as big-endian numbers. A byte string of at most 4 bytes has its own number unless it begins with NUL,
    and of characters and their parts only NUL itself does."""
    keys = [int.from_bytes(left, "big") << 32 | int.from_bytes(right, "big") for left, right in pairs]
    return np.array(keys, dtype=np.uint64)


def _fragment_table(keys: npt.NDArray[np.uint64]) -> tuple[npt.NDArray[np.uint64], int]:
    """Open addressing, linear probing; the mask of its indices."""
    bits = max(4, int(np.ceil(np.log2(max(1, len(keys)) / _FRAGMENT_LOAD))))
    table = np.zeros(1 << bits, dtype=np.uint64)
    mask = (1 << bits) - 1
    homes = (keys * np.uint64(_FRAGMENT_HASH) >> np.uint64(40)).astype(np.int64) & mask
    for key, at in zip(keys, homes.tolist(), strict=True):
        while table[at]:
            at = (at + 1) & mask
        table[at] = key
    return table, mask
