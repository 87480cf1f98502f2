"""build_vocabulary_tables: a BPE vocabulary -> everything the C code knows about it, and what is worth telling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gigatok_compile.ir.definition import CONTINUES, ENDS, BpeModel
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.vocabulary.atom_tables import build_atom_tables
from gigatok_compile.vocabulary.double_array import build_trie
from gigatok_compile.vocabulary.first_words import build_first_words
from gigatok_compile.vocabulary.hot_table import build_hot_table
from gigatok_compile.vocabulary.merge_order import order_merges
from gigatok_compile.vocabulary.pair_table import build_pair_table
from gigatok_compile.vocabulary.safe_cuts import build_cut_tables, find_safe_cuts
from gigatok_compile.vocabulary.self_encoding import Derivations
from gigatok_compile.vocabulary.wide_cuts import build_wide_cuts, find_wide_cuts
from gigatok_compile.vocabulary.word_table import WORD_BYTES, build_word_table


@dataclass(frozen=True, slots=True)
class VocabularyFacts:
    """What the analysis found; sizes in bytes."""

    entries: int
    max_id: int
    unreachable: int  # entries that merging does not make of their own bytes
    merges: int  # rows of the definition
    live_merges: int  # those that can ever happen
    ids_in_rank_order: bool
    words: int  # entries of at most 16 bytes, baked as whole words
    long_words: int  # longer ones
    longest: int
    cut_pairs: int  # pairs of neighbouring characters, or parts of them, that some entry holds
    cuts_usable: bool
    cuts_in_scan: bool  # long pieces are cut where characters of three bytes meet (wide_cuts.py)
    word_table_bytes: int
    trie_bytes: int
    merge_table_bytes: int
    cut_table_bytes: int

    def __str__(self) -> str:
        order = "ids are in rank order" if self.ids_in_rank_order else "ids are not in rank order (one more table)"
        cuts = f"{self.cut_pairs:,} pairs of neighbours lie in an entry, text is cut between all others"
        if self.cuts_in_scan:
            cuts += ", between characters of three bytes before it is looked up"
        sizes = {
            "words": self.word_table_bytes,
            "trie": self.trie_bytes,
            "merges": self.merge_table_bytes,
            "cuts": self.cut_table_bytes,
        }
        return "\n".join(
            [
                f"vocabulary of {self.entries:,} entries, largest id {self.max_id:,}, longest {self.longest} bytes",
                f"  {self.unreachable:,} entries cannot be reached by merging",
                f"  {self.live_merges:,} of {self.merges:,} merges can happen; {order}",
                f"  {self.words:,} words of at most {WORD_BYTES} bytes are looked up whole, {self.long_words:,} longer ones",
                f"  safe cuts: {cuts if self.cuts_usable else 'none, entries depend on where in a word they stand'}",
                "  bytes of tables: " + ", ".join(f"{name} {size:,}" for name, size in sizes.items()),
            ]
        )


def build_vocabulary_tables(model: BpeModel, derivations: Derivations) -> tuple[TableSet, VocabularyFacts]:
    """All tables of templates/vocabulary.h and templates/merge.h, and the facts.

    Args:
        derivations: what `derive_entries` found.

    Raises:
        DefinitionError: merges that contradict each other, or a vocabulary too large for the tables.
    """
    order = order_merges(model, derivations)
    pairs = build_pair_table(order)
    reachable = derivations.reachable

    values: dict[bytes, int] = {}  # for the trie; of entries with the same bytes, the one that encoding gives
    whole_words = stands_alone(model)
    for number, token in enumerate(model.tokens):
        if token and whole_words[number] and (token not in values or reachable[number]):
            values[token] = number << 1 | int(reachable[number])
    trie = build_trie(values)
    whole = {token: value >> 1 for token, value in values.items() if value & 1 or model.ignore_merges}
    short = sorted((number, token) for token, number in whole.items() if len(token) <= WORD_BYTES and 0xFF not in token)
    long = [token for token in whole if len(token) > WORD_BYTES]
    words = build_word_table({token: number for number, token in short}, long)
    cuts = find_safe_cuts(model, reachable)
    cut_tables = build_cut_tables(cuts)
    wide = find_wide_cuts(model, reachable, cuts)
    wide_tables = build_wide_cuts(wide)
    whole_only = np.array([token is not None for token in model.tokens]) & ~reachable
    baked, only_whole = {token: number for number, token in short}, frozenset(np.flatnonzero(whole_only).tolist())
    tables = (
        words.tables
        | trie.tables
        | pairs.tables
        | cut_tables
        | wide_tables
        | build_hot_table(baked, only_whole)
        | build_first_words(baked, only_whole)
        | build_atom_tables(model, derivations.atoms, order, pairs)
        | TableSet(
            (
                Table(
                    "whole_only_bits",
                    np.packbits(np.append(whole_only, False), bitorder="little"),
                    "bit id: an entry that merging does not make, so it stands for whole pre-tokens only",
                ),
            ),
        )
    )
    facts = VocabularyFacts(
        entries=sum(token is not None for token in model.tokens),
        max_id=len(model.tokens) - 1,
        unreachable=int(whole_only.sum()),
        merges=len(model.merges),
        live_merges=len(order.pairs),
        ids_in_rank_order=order.to_id is None,
        words=words.count,
        long_words=len(long),
        longest=trie.longest,
        cut_pairs=cuts.count,
        cuts_usable=cuts.usable,
        word_table_bytes=words.tables.bytes,
        trie_bytes=trie.tables.bytes,
        merge_table_bytes=pairs.tables.bytes,
        cuts_in_scan=wide.usable,
        cut_table_bytes=cut_tables.bytes + wide_tables.bytes,
    )
    return tables, facts


def stands_alone(model: BpeModel) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """(n,) bool, which entries can be a whole pre-token: with affixes, those that begin and end a word."""
    if model.affixes is None:
        return np.ones(len(model.tokens), dtype=np.bool_)
    alone: np.ndarray[tuple[int], np.dtype[np.bool_]] = (model.affixes & (CONTINUES | ENDS)) == model.marks & ENDS
    return alone
