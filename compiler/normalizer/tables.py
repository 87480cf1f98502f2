"""NfcData as the tables of templates/normalize.h.

Characters are looked up in two stages by code point: a block of 64 (what one trail byte of UTF-8 spans) names a row.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.normalizer.data import NfcData
from gigatok_compile.normalizer.finder import build_finder

BLOCKS = 0x110000 >> 6
CLASS, MAYBE, NO, SIMPLE = 0x3F, 0x40, 0x80, 0x81  # an entry of the flags; 0: an inert starter
HANGUL = slice(0xAC00, 0xD7A4)
PAIR_SLOTS_LOG2 = 12


def form_tables(data: NfcData, form: str) -> TableSet:
    """Tables of one gt_form of templates/normalize.h, named after the form; the header says how each is read."""
    flags = form_flags(data, form)
    blocks, rows = _two_stages(flags)
    index, values = _decompositions(data, form, flags)
    index_blocks, index_rows = _two_stages(index)
    finder = nfc_finder(flags) if form == "NFC" else build_finder(np.flatnonzero(flags).tolist()).masks
    masks = np.zeros(192, np.uint8)
    masks[: finder.size] = finder
    name = form.lower()
    return TableSet(
        (
            Table(f"{name}_blocks", blocks, "row of flags of every 64 code points"),
            Table(f"{name}_flags", rows, f"class rank, 64: may compose with what is before it, 128: never in {form}"),
            Table(f"{name}_split_blocks", index_blocks, "row of split_index of every 64 code points"),
            Table(f"{name}_split_index", index_rows, "where in splits the full decomposition begins, 0: none"),
            Table(
                f"{name}_splits", values, "decompositions: code point | flags << 24 of each part, bit 31: the last one"
            ),
            Table(f"{name}_leads", nfc_leads(flags), "1 for a byte that leads characters with flags"),
            Table(f"{name}_finder", masks, "nibble masks that find the bytes of characters with flags"),
        )
    )


def pair_table(data: NfcData, composes: bool = True) -> TableSet:
    """What the forms that compose share; a small empty one where none does."""
    slots = _pair_slots(data) if composes else np.zeros(2, np.uint64)
    pairs = Table("nfc_pairs", slots, "first << 42 | second << 21 | composed, open addressing")
    return TableSet((pairs,), {"nfc_pair_slots_log2": PAIR_SLOTS_LOG2 if composes else 1})


def form_descriptor(data: NfcData, form: str) -> str:
    """The C initializer of the gt_form."""
    parts, size = _growth(data, form)
    name = f"gt_{form.lower()}"
    tables = ", ".join(
        f"{name}_{table}" for table in ("blocks", "flags", "leads", "finder", "split_blocks", "split_index", "splits")
    )
    return f"{{{tables}, {parts}, {size}, {int(form.endswith('C'))}}}"


def _growth(data: NfcData, form: str) -> tuple[int, int]:
    """(parts for two bytes of text, bytes for one), at most."""
    parts, size = 3, 3  # a Hangul syllable has three bytes, and three parts of three bytes
    for c, decomposed in decompositions(data, form).items():
        length = len(chr(c).encode())
        parts = max(parts, -(-2 * len(decomposed) // length))
        size = max(size, -(-sum(len(chr(part).encode()) for part in decomposed) // length))
    return parts, size


def decompositions(data: NfcData, form: str) -> dict[int, tuple[int, ...]]:
    """Code point -> its full decomposition in this form. Hangul is left out."""
    return data.decompositions | (data.compatibility if "K" in form else {})


def form_flags(data: NfcData, form: str = "NFC") -> npt.NDArray[np.uint8]:
    """(0x110000,) uint8: what normalize.h has to know about each code point."""
    flags = np.zeros(0x110000, np.uint8)
    for c, rank in data.classes.items():
        flags[c] = rank
    stable: set[int] = set()
    if form.endswith("C"):
        for _, second in data.compositions:
            flags[second] |= MAYBE
        flags[0x1161 : 0x1161 + 21] |= MAYBE
        flags[0x11A8 : 0x11A8 + 27] |= MAYBE
        stable = set(data.compositions.values())
    else:
        flags[HANGUL] = NO
    if "K" in form:
        stable -= set(data.compatibility)
    changing = {c: parts for c, parts in decompositions(data, form).items() if c not in stable}
    for c in changing:
        flags[c] = NO
    for c, parts in changing.items():
        if not any(flags[part] for part in parts):
            flags[c] = SIMPLE
    return flags


def nfc_leads(flags: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(256,) uint8: 1 for the first byte of every character that has flags."""
    leads = np.zeros(256, np.uint8)
    leads[[chr(c).encode()[0] for c in np.flatnonzero(flags).tolist()]] = 1
    return leads


def _two_stages(values: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.generic]]:
    rows, which = np.unique(values.reshape(BLOCKS, 64), axis=0, return_inverse=True)
    assert len(rows) <= 256 and not rows[0].any()  # row 0 is the empty one
    return which.reshape(-1).astype(np.uint8), rows.reshape(-1)


def _decompositions(
    data: NfcData, form: str, flags: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]]:
    index = np.zeros(0x110000, np.uint16)
    values = [0]
    places: dict[tuple[int, ...], int] = {}
    for c, parts in decompositions(data, form).items():
        if parts not in places:
            places[parts] = len(values)
            values += [part | int(flags[part]) << 24 for part in parts]
            values[-1] |= 1 << 31
        index[c] = places[parts]
    assert len(values) < 1 << 16
    return index, np.array(values, np.uint32)


def pair_hash(first: int, second: int) -> int:
    """Home slot of a pair in nfc_pairs; gt_nfc_pair computes the same."""
    return ((first * 0x9E3779B1 ^ second * 0x85EBCA6B) & 0xFFFFFFFF) >> (32 - PAIR_SLOTS_LOG2)


def _pair_slots(data: NfcData) -> npt.NDArray[np.uint64]:
    slots = np.zeros(1 << PAIR_SLOTS_LOG2, np.uint64)
    for (first, second), composed in data.compositions.items():
        at = pair_hash(first, second)
        while slots[at]:
            at = (at + 1) % len(slots)
        slots[at] = first << 42 | second << 21 | composed
    return slots


def _finder_bucket(lead: int, second: int) -> int:
    """Which of 16 buckets looks for characters that begin so.

    A bucket accepts the product of the nibbles it has seen, so what meets in a bucket decides what is found by mistake.
    These keep Latin, Greek, Cyrillic, Hebrew and Arabic letters, Han, kana, Hangul, their punctuation and emoji free of
    mistakes.
    """
    if lead < 0xD0:
        return 15 if lead >= 0xCE else 0
    if lead < 0xE0:
        if lead == 0xD7:
            return 9
        if lead in (0xD8, 0xD9):
            return 11 if second >> 4 == 9 else 14
        return 1
    if lead < 0xE2:
        return 2 if lead == 0xE0 else 3 if second < 0xB0 else 4
    if lead == 0xE2:
        return 5 if second == 0x80 else 6
    if lead == 0xE3:
        return 7 if second == 0x80 else 8
    if lead < 0xF0:
        return 12 if second >= 0xB0 else 10
    return 13 if second < 0xA0 else 12


def nfc_finder(flags: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """(192,) uint8: [2 groups of 8 buckets][3 bytes of a character][low, high nibble][16] -> bit of each bucket.

    Where all six lookups of one group share a bit, a character that has flags may begin; every such character is found.
    This is the "Teddy" search of Hyperscan, over the first three bytes of UTF-8.
    """
    masks = np.zeros((2, 3, 2, 16), np.uint8)
    for prefix in sorted({chr(c).encode()[:3] for c in np.flatnonzero(flags).tolist()}):
        bucket = _finder_bucket(prefix[0], prefix[1])
        add_to_bucket(masks[bucket // 8], bucket % 8, prefix)
    return masks.reshape(-1)


def add_to_bucket(masks: npt.NDArray[np.uint8], bucket: int, prefix: Iterable[int]) -> None:
    """Let `bucket` of masks (positions, 2, 16) accept `prefix`; positions past its end accept every byte."""
    known = list(prefix)
    for position in range(len(masks)):
        for byte in [known[position]] if position < len(known) else range(256):
            masks[position, 0, byte & 15] |= 1 << bucket
            masks[position, 1, byte >> 4] |= 1 << bucket
