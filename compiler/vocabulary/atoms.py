"""atoms: what merging begins with, for every entry of a vocabulary at once.

An atom is an entry of one byte, or of one character. With affixes (continuing_subword_prefix, end_of_word_suffix) there are up
to four entries for each, by where in the word they stand; `BpeModel.affixes` says which an entry is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.definition import CONTINUES, ENDS, BpeModel

VARIANTS = 4
_CONTINUATION = 0xC0  # bytes 10xxxxxx, which begin no character


@dataclass(frozen=True, slots=True)
class Atoms:
    """bytes: (4, 256) int32, the id of each byte by variant; of characters: of each ASCII character. -1: none.
    characters: for each variant, the ids of characters above ASCII by code point; empty over bytes."""

    bytes: npt.NDArray[np.int32]
    characters: tuple[dict[int, int], ...]

    @property
    def ids(self) -> list[int]:
        """Ids that are atoms, byte by byte, then by code point; each once."""
        found = [int(i) for row in self.bytes for i in row if i >= 0]
        found += [number for row in self.characters for _, number in sorted(row.items())]
        return list(dict.fromkeys(found))


def find_atoms(model: BpeModel) -> Atoms:
    """The atoms of a vocabulary. Of entries with the same text the highest id counts, as in the reference's own map."""
    if model.atoms == "bytes" and model.affixes is None:
        table = np.full((VARIANTS, 256), -1, dtype=np.int32)
        table[0] = model.byte_ids
        return Atoms(table, ({},) * VARIANTS)
    table = np.full((VARIANTS, 256), -1, dtype=np.int32)
    characters: tuple[dict[int, int], ...] = tuple({} for _ in range(VARIANTS))
    for number, token in enumerate(model.tokens):
        if not token or len(token) > (4 if model.atoms == "characters" else 1):
            continue
        variant = 0 if model.affixes is None else int(model.affixes[number])
        if len(token) == 1:
            table[variant, token[0]] = number
        elif token[0] >= _CONTINUATION and all(byte & _CONTINUATION == 0x80 for byte in token[1:]):
            characters[variant][ord(token.decode())] = number
    return Atoms(table, characters)


@dataclass(frozen=True, slots=True)
class EntryAtoms:
    """The atoms of each entry, one entry after the other.

    ids: (m,) int32, -1 for what is no atom. ends: (n,) int64, where the atoms of each id end in `ids`.
    """

    ids: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        return np.diff(self.ends, prepend=0)


def entry_atoms(model: BpeModel, atoms: Atoms) -> EntryAtoms:
    """Every entry's atoms, where it stands in a word as its affixes say. Entries without text have none."""
    flat = np.frombuffer(b"".join(token or b"" for token in model.tokens), dtype=np.uint8)
    byte_ends = np.cumsum([len(token) if token else 0 for token in model.tokens], dtype=np.int64)
    if model.atoms == "bytes":
        units, ends = flat.astype(np.int64), byte_ends
    else:
        begins = (flat & _CONTINUATION) != 0x80
        text = flat.tobytes().decode("utf-8")
        units = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32).astype(np.int64)
        ends = np.append(0, np.cumsum(begins))[byte_ends].astype(np.int64)
    variants = np.zeros(len(units), dtype=np.int64)
    if model.affixes is not None:
        lengths = np.diff(ends, prepend=0)
        some = lengths > 0
        first, last = ends[some] - lengths[some], ends[some] - 1
        affixes = model.affixes[some].astype(np.int64)
        # what follows the first atom continues the word if the definition marks that at all
        variants[:] = model.marks & CONTINUES
        variants[first] = affixes & CONTINUES
        variants[last] |= affixes & ENDS
    ids = np.full(len(units), -1, dtype=np.int32)
    small = units < 256 if model.atoms == "bytes" else units < 128
    ids[small] = atoms.bytes[variants[small], units[small]]
    for at in np.flatnonzero(~small).tolist():
        ids[at] = atoms.characters[variants[at]].get(int(units[at]), -1)
    return EntryAtoms(ids, ends)
