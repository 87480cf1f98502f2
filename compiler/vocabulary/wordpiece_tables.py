"""build_wordpiece_tables: the tables of templates/wordpiece.h, and of the caches of words that all models share.

One trie holds all entries as the vocabulary spells them. Those that continue a word begin with the prefix, so they are what
lies below the node that the prefix leads to: looking for them begins there instead of at the root, with the word's own bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from gigatok_compile.ir.definition import WordPieceModel
from gigatok_compile.ir.plan import TableSet
from gigatok_compile.vocabulary.double_array import build_trie
from gigatok_compile.vocabulary.first_words import build_first_words
from gigatok_compile.vocabulary.hot_table import build_hot_table
from gigatok_compile.vocabulary.safe_cuts import SafeCuts, build_cut_tables
from gigatok_compile.vocabulary.wide_cuts import NO_WIDE_CUTS, build_wide_cuts
from gigatok_compile.vocabulary.word_table import WORD_BYTES, build_word_table


@dataclass(frozen=True, slots=True)
class WordPieceFacts:
    """What the analysis found; sizes in bytes."""

    entries: int
    max_id: int
    continuing: int  # entries that continue a word
    words: int  # entries of at most 16 bytes, baked as whole words
    longest: int
    word_table_bytes: int
    trie_bytes: int

    def __str__(self) -> str:
        return "\n".join(
            [
                f"vocabulary of {self.entries:,} entries, largest id {self.max_id:,}, longest {self.longest} bytes",
                f"  {self.continuing:,} entries continue a word",
                f"  {self.words:,} words of at most {WORD_BYTES} bytes are looked up whole",
                f"  bytes of tables: words {self.word_table_bytes:,}, trie {self.trie_bytes:,}",
            ]
        )


def build_wordpiece_tables(model: WordPieceModel) -> tuple[TableSet, WordPieceFacts]:
    """All tables of templates/vocabulary.h and templates/wordpiece.h, and the facts.

    Raises:
        DefinitionError: a vocabulary too large for the tables.
    """
    entries = {token: number for number, token in enumerate(model.tokens) if token}
    # a word that is an entry has its id, if it is not too long
    whole = {
        token: n for token, n in entries.items() if model.max_characters is None or _fits(token, model.max_characters)
    }
    trie = build_trie({token: number << 1 | int(token in whole) for token, number in entries.items()})
    baked = {t: n for t, n in sorted(whole.items(), key=lambda item: item[1]) if len(t) <= WORD_BYTES}
    words = build_word_table(baked, [token for token in whole if len(token) > WORD_BYTES])
    continuing = -1 if model.prefix is None else trie.walk(model.prefix)
    nothing_cut = SafeCuts(np.zeros((128, 128), np.bool_), (), (), usable=False)
    tables = (
        words.tables
        | trie.tables
        | build_cut_tables(nothing_cut)
        | build_wide_cuts(NO_WIDE_CUTS)
        | build_hot_table(baked, frozenset())
        | build_first_words(baked, frozenset())
        | TableSet(
            constants={
                "characters": 1,
                "continuing": int(continuing >= 0),
                "continuing_root": max(continuing, 0),
                "unk_id": model.unk_id,
                "word_limited": int(model.max_characters is not None),
                "word_characters": model.max_characters or 0,
            }
        )
    )
    prefix = model.prefix
    facts = WordPieceFacts(
        entries=len(entries),
        max_id=len(model.tokens) - 1,
        continuing=0 if prefix is None else sum(t.startswith(prefix) and t != prefix for t in entries),
        words=words.count,
        longest=trie.longest,
        word_table_bytes=words.tables.bytes,
        trie_bytes=trie.tables.bytes,
    )
    return tables, facts


def _fits(token: bytes, characters: int) -> bool:
    return len(token.decode("utf-8", "surrogatepass")) <= characters
