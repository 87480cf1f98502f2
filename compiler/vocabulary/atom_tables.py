"""build_atom_tables: what merging begins with, as tokens of the C code (templates/merge.h).

Bytes are an array. Characters above ASCII are a two-level table by code point, in pages of 64: vocabularies hold a few
thousand of them in runs. What has no entry is 0 there, and falls back to the tokens of its bytes, or is unknown.
"""

from __future__ import annotations

import numpy as np
from gigatok_compile.ir.definition import CONTINUES, ENDS, BpeModel
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.atoms import VARIANTS, Atoms
from gigatok_compile.vocabulary.merge_order import MergeOrder
from gigatok_compile.vocabulary.pair_table import PairTable
from gigatok_compile.vocabulary.safe_cuts import NEVER_IN_UTF8

PAGE_BITS = 6
_CODE_POINTS = 0x110000
UTF8_BYTES = [byte for byte in range(256) if byte not in NEVER_IN_UTF8]


def text_may_be_unknown(model: BpeModel, atoms: Atoms) -> bool:
    """Some text holds what is no atom and falls back to none."""
    if model.atoms == "characters":
        return bool((model.byte_ids[UTF8_BYTES] < 0).any())
    return any(bool((atoms.bytes[variant][UTF8_BYTES] < 0).any()) for variant in used_variants(model))


def used_variants(model: BpeModel) -> list[int]:
    """The variants of atoms that stand somewhere in a word: with affixes, those marked as the definition marks them."""
    continues, ends = model.marks & CONTINUES, model.marks & ENDS
    return sorted({0, continues, ends, continues | ends})


def build_atom_tables(model: BpeModel, atoms: Atoms, order: MergeOrder, pairs: PairTable) -> TableSet:
    """Tables merge_atoms, merge_bytes, merge_unknown, atom_pages and atom_page_of, and their switches."""

    def tokens(ids: object) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
        numbers = np.asarray(ids, dtype=np.int64)
        return pairs.token(np.where(numbers >= 0, order.of[np.maximum(numbers, 0)], -1))

    variants = VARIANTS if model.affixes is not None else 1
    of_byte = tokens(atoms.bytes[:variants].reshape(-1))
    tables = []
    constants = {
        "characters": int(model.atoms == "characters"),
        "affixes": int(model.affixes is not None),
        "continues": int(bool(model.marks & CONTINUES)),
        "ends": int(bool(model.marks & ENDS)),
        "merge_missing": int(text_may_be_unknown(model, atoms)),
        "has_unknown": int(model.unk_id >= 0),
        "fuse_unknown": int(model.fuse_unk),
    }
    if model.unk_id >= 0:
        tables.append(Table("merge_unknown", tokens([model.unk_id]), "what is no atom, as a token"))
    if model.atoms == "characters":
        fallback = tokens(model.byte_ids)
        ascii_too = of_byte.reshape(variants, 256)[:, :128]
        if variants == 1 and not text_may_be_unknown(
            model, atoms
        ):  # else what is fallen back to has an order of its own
            ascii_too = np.where(ascii_too != 0, ascii_too, fallback[:128])
        of_byte = np.concatenate([ascii_too, np.zeros((variants, 128), np.uint64)], axis=1).reshape(-1)
        tables.append(Table("merge_bytes", fallback, "each byte of a character without an entry, as a token"))
        tables += _character_pages(atoms, variants, tokens)
        constants["atom_page_bits"] = PAGE_BITS
    tables.insert(0, Table("merge_atoms", of_byte, "each byte as a token: order id + 1 | base | 0"))
    return TableSet(tuple(tables), constants)


def _character_pages(atoms: Atoms, variants: int, tokens: object) -> list[Table]:
    """Pages of tokens, the first one empty, and the page of each block of code points, variant after variant."""
    assert callable(tokens)
    size = 1 << PAGE_BITS
    page_of = np.zeros((variants, _CODE_POINTS >> PAGE_BITS), dtype=np.uint16)
    pages = [np.zeros(size, dtype=np.uint64)]
    for variant in range(variants):
        blocks: dict[int, list[tuple[int, int]]] = {}
        for code_point, number in sorted(atoms.characters[variant].items()):
            blocks.setdefault(code_point >> PAGE_BITS, []).append((code_point & (size - 1), number))
        for block, entries in blocks.items():
            page = np.zeros(size, dtype=np.uint64)
            page[[at for at, _ in entries]] = tokens([number for _, number in entries])
            page_of[variant, block] = len(pages)
            pages.append(page)
    return [
        Table("atom_page_of", page_of.reshape(-1), "the page of each 64 code points"),
        Table("atom_pages", np.concatenate(pages), "each character with an entry as a token, 0 for the others"),
    ]
