"""A map of characters as the tables of templates/characters.h."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.plan import Table

BLOCKS = 0x110000 >> 6
ITSELF = b"\xff"  # in a text: the character, whatever it is
STOP = 0xFFFF  # number of no text: the map does not know what becomes of the character
MOST_TEXTS = STOP
_ALPHABET = 26
_READ_AHEAD = 16  # bytes that are read of a short text


@dataclass(frozen=True, slots=True)
class CharacterTables:
    """tables: blocks, text_of, starts, texts, ascii, each named with the pass's name before it. plain: texts from this number on hold the
    character itself. growth: bytes for one byte, at most, and at least 1."""

    tables: tuple[Table, ...]
    plain: int
    growth: int


def character_tables(name: str, mapping: Mapping[int, str], stops: Collection[int] = ()) -> CharacterTables:
    """The tables of a map, code point -> text.

    Args:
        stops: characters of which the map does not say what becomes of them.

    Raises:
        CompileError: more texts than a table holds.
    """
    changes = {c: text for c, text in mapping.items() if text != chr(c)}
    stored = {
        c: text.encode().replace(chr(c).encode(), ITSELF, 1) if chr(c) in text else text.encode()
        for c, text in changes.items()
    }
    texts = sorted(dict.fromkeys(stored.values()), key=lambda text: ITSELF in text)  # otherwise in the order of the map
    if len(texts) >= MOST_TEXTS:
        raise CompileError(f"a map of characters has more than {MOST_TEXTS - 1} texts")
    number_of = {text: number for number, text in enumerate(texts, start=1)}  # number 0 is no text: the character stays
    text_of = np.zeros(0x110000, np.uint16)
    for c, text in stored.items():
        text_of[c] = number_of[text]
    text_of[list(stops)] = STOP
    rows, which = np.unique(text_of.reshape(BLOCKS, 64), axis=0, return_inverse=True)
    starts = np.concatenate([[0, 0], np.cumsum([len(text) for text in texts])]).astype(np.uint32)
    return CharacterTables(
        (
            Table(f"{name}_blocks", which.reshape(-1).astype(np.uint16), "row of text_of of every 64 code points"),
            Table(f"{name}_text_of", rows.reshape(-1), "number of the text of each code point, 0: it stays"),
            Table(f"{name}_starts", starts, "where each text begins; 0xFF in a text is the character itself"),
            Table(f"{name}_texts", np.frombuffer(b"".join(texts) + bytes(_READ_AHEAD), np.uint8), "the texts"),
            Table(f"{name}_ascii", _ascii(mapping), "texts of ASCII: length << 56 | bytes; length 255: it is in texts"),
        ),
        1 + sum(ITSELF not in text for text in texts),
        max((-(-len(text.encode()) // len(chr(c).encode())) for c, text in changes.items()), default=1) or 1,
    )


def ascii_shift(mapping: Mapping[int, str]) -> tuple[int, int, int] | None:
    """(first, count, shift) of the longest range of ASCII that a map shifts by one distance: all that it changes of ASCII, two
    characters at least, or as many as an alphabet has. Else None."""
    shifts = [ord(mapping[c]) - c if c in mapping and len(mapping[c]) == 1 else 0 for c in range(128)]
    runs = [(len(list(run)), shift) for shift, run in itertools.groupby(shifts)]
    ends = list(itertools.accumulate(count for count, _ in runs))
    found = [(count, end - count, shift) for (count, shift), end in zip(runs, ends, strict=True) if shift]
    if not found:
        return None
    count, first, shift = max(found, key=lambda row: row[0])
    ascii_too = all(0 <= c + shift < 128 for c in (first, first + count - 1))
    enough = count >= _ALPHABET or (count >= 2 and count == sum(c < 128 for c in mapping))
    return (first, count, shift & 0xFF) if ascii_too and enough else None


CR = 0x0D


def blanked_controls(mapping: Mapping[int, str], without: Collection[int] = ()) -> tuple[int, int, int] | None:
    """(first, count, byte) of a range of control characters, two at least of which become that one ASCII character; what else is in the
    range becomes something else, so it is looked for. `without`: characters that must not be in it. None if there is no such range."""
    found = [
        (sum(mapping[c] == blank for c in range(first, past)), first, past, blank)
        for first in range(1, 32)
        for past in range(first + 1, 33)
        if all(c in mapping and c not in without for c in range(first, past))
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
