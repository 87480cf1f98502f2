"""A map of characters as the tables of templates/characters.h."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.plan import Table

BLOCKS = 0x110000 >> 6
ITSELF = b"\xff"  # in a text: the character, whatever it is
MOST_TEXTS = 1 << 16


@dataclass(frozen=True, slots=True)
class CharacterTables:
    """tables: blocks, text_of, starts, texts, ascii, each named with the pass's name before it. growth: bytes for one byte,
    at most, and at least 1."""

    tables: tuple[Table, ...]
    growth: int


def character_tables(name: str, mapping: Mapping[int, str]) -> CharacterTables:
    """The tables of a map, code point -> text.

    Raises:
        CompileError: more texts than a table holds.
    """
    texts: dict[bytes, int] = {b"": 0}  # number 0 is no text: the character stays
    packed: list[bytes] = [b""]
    text_of = np.zeros(0x110000, np.uint16)
    growth = 1
    empty = 0
    for c, text in mapping.items():
        char = chr(c)
        growth = max(growth, -(-len(text.encode()) // len(char.encode())))
        if text == char:
            continue
        stored = text.encode().replace(char.encode(), ITSELF, 1) if char in text else text.encode()
        if not stored:
            if not empty:
                empty = len(packed)
                packed.append(b"")
            text_of[c] = empty
            continue
        if stored not in texts:
            texts[stored] = len(packed)
            packed.append(stored)
            if len(packed) > MOST_TEXTS:
                raise CompileError(f"a map of characters has more than {MOST_TEXTS - 1} texts")
        text_of[c] = texts[stored]
    rows, which = np.unique(text_of.reshape(BLOCKS, 64), axis=0, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum([len(text) for text in packed])]).astype(np.uint32)
    return CharacterTables(
        (
            Table(f"{name}_blocks", which.reshape(-1).astype(np.uint16), "row of text_of of every 64 code points"),
            Table(f"{name}_text_of", rows.reshape(-1), "number of the text of each code point, 0: it stays"),
            Table(f"{name}_starts", starts, "where each text begins; 0xFF in a text is the character itself"),
            Table(f"{name}_texts", np.frombuffer(b"".join(packed), np.uint8), "the texts"),
            Table(f"{name}_ascii", _ascii(mapping), "texts of ASCII: length << 56 | bytes; length 255: it is in texts"),
        ),
        growth,
    )


def ascii_shift(mapping: Mapping[int, str]) -> tuple[int, int, int] | None:
    """(first, count, shift) if ASCII is what a map shifts one range of by one distance, two characters at least; else None."""
    changed = sorted(c for c in mapping if c < 128)
    if len(changed) < 2 or changed[-1] - changed[0] + 1 != len(changed):
        return None
    shifts = {ord(mapping[c]) - c if len(mapping[c]) == 1 else None for c in changed}
    shift = shifts.pop()
    if shifts or shift is None or not all(ord(mapping[c]) < 128 for c in changed):
        return None
    return changed[0], len(changed), shift & 0xFF


CR = 0x0D


def blanked_controls(mapping: Mapping[int, str]) -> tuple[int, int, int] | None:
    """(first, count, byte) of a range of control characters without CR, two at least of which become that one ASCII character; what
    else is in the range becomes something else, so it is looked for. None if there is no such range."""
    found = [
        (sum(mapping[c] == blank for c in range(first, past)), first, past, blank)
        for first in range(1, 32)
        for past in range(first + 1, 33)
        if CR not in range(first, past) and all(c in mapping for c in range(first, past))
        for blank in {mapping[first]} & {mapping[past - 1]}
        if len(blank) == 1 and blank.isascii()
    ]
    if not found:
        return None
    most, first, past, blank = max(found, key=lambda row: (row[0], -row[1], -row[2]))
    return (first, past - first, ord(blank)) if most > 1 else None


def _ascii(mapping: Mapping[int, str]) -> npt.NDArray[np.uint64]:
    values = np.zeros(128, np.uint64)
    for c in range(128):
        text = mapping.get(c, chr(c)).encode()
        values[c] = int.from_bytes(text, "little") | len(text) << 56 if len(text) < 8 else 255 << 56
    return values
