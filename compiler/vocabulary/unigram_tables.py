"""build_unigram_tables: a Unigram vocabulary -> what templates/unigram.h reads.

The trie is the double array of double_array.py, with the bare id as a value. Scores lie in a table of their own, by id: ids are
mostly in order of frequency, so the scores that are asked for share few cache lines. docs/unigram.md has what else was tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.vocabulary.double_array import LEAF, PAYLOAD_SHIFT, Trie, build_trie
from gigatok_compile.vocabulary.first_words import build_first_words
from gigatok_compile.vocabulary.hot_table import build_hot_table
from gigatok_compile.vocabulary.safe_cuts import SafeCuts, build_cut_tables
from gigatok_compile.vocabulary.unigram_words import find_whole_words
from gigatok_compile.vocabulary.wide_cuts import NO_WIDE_CUTS, build_wide_cuts
from gigatok_compile.vocabulary.word_table import WORD_BYTES, build_word_table

ID_BITS = 21
NO_ID = (1 << ID_BITS) - 1
LONGEST = (1 << (32 - ID_BITS)) - 1
"""Entries of so many bytes fit beside an id in 32 bits."""
_CHARACTER = 4  # bytes that the longest one has
_NONE = 0xFFFFFFFF
Pieces = Literal["plain", "marked", "prefixed"]
"""What the model does to a pre-token before it reads it: nothing; marks become spaces; and a space is put before it too."""


@dataclass(frozen=True, slots=True)
class UnigramFacts:
    """What is worth telling; sizes in bytes. whole_words: how many pre-tokens are known to become one id."""

    entries: int
    longest: int
    whole_words: int
    trie_bytes: int
    score_bytes: int

    def __str__(self) -> str:
        return (
            f"Unigram vocabulary of {self.entries:,} entries, longest {self.longest} bytes; "
            f"{self.whole_words:,} whole words of at most {WORD_BYTES} bytes are one of them; "
            f"bytes of tables: trie {self.trie_bytes:,}, scores {self.score_bytes:,}"
        )


def build_unigram_tables(model: UnigramModel, pieces: Pieces = "plain") -> tuple[TableSet, UnigramFacts]:
    """The tables and constants of a model.

    Raises:
        DefinitionError: an entry longer than LONGEST, ids that do not fit in ID_BITS, or a mark that falls back to its bytes.
    """
    entries = model.matched
    _check(model, entries)
    trie = build_trie(entries)
    characters = _first_units(trie)
    single = model.accumulate == "f32"
    scores = np.append(model.scores, model.unk_score).astype(np.float32 if single else np.float64)
    byte_ids = np.where(model.byte_ids < 0, _NONE, model.byte_ids).astype(np.uint32)
    # sums of the places that a match from here can end at, and of this one
    ring = 1 << max(trie.longest, _CHARACTER).bit_length()
    words = _whole_words(model, trie, pieces)
    tables = _known_words(words) | TableSet(
        (
            Table("unigram_units", trie.units, "double array of the entries, see double_array.py; the value is the id"),
            Table(
                "unigram_characters", characters, "the unit that each character below U+10000 leads to from the root"
            ),
            Table("unigram_scores", scores, "what a match of each id adds; last, what an unknown character adds"),
            Table("unigram_bytes", byte_ids, "the id that a byte of unknown text falls back to, or GT_NONE"),
        ),
        {
            "unigram_root": trie.root,
            "unigram_longest": trie.longest,
            "unigram_ring": ring,
            "unigram_unk": model.unk_id if model.unk_id >= 0 else NO_ID,
            "unigram_unk_score": len(model.scores),
            "unigram_f32": int(single),
            "unigram_fallback": int(bool((model.byte_ids >= 0).any())),
            "unigram_run_is_text": int(model.engine == "tokenizers"),
        },
    )
    return tables, UnigramFacts(
        len(entries), trie.longest, len(words), trie.units.nbytes + characters.nbytes, scores.nbytes
    )


def _whole_words(model: UnigramModel, trie: Trie, pieces: Pieces) -> dict[bytes, int]:
    """What pre-tokens of at most WORD_BYTES become one id, as far as that is known, and which: most entries do, in the spelling of
    the pre-token. None of a `.model`, whose pre-tokens are whole texts."""
    if model.engine == "sentencepiece":
        return {}
    words = find_whole_words(model, WORD_BYTES + (pieces == "prefixed"), trie)
    if pieces == "plain":
        return words
    if pieces == "prefixed":  # a pre-token that has no mark gets one
        words = {word[1:]: number for word, number in words.items() if word[:1] == b" " and len(word) > 1}
    return {word: number for word, number in words.items() if b" " not in word}


def _known_words(words: dict[bytes, int]) -> TableSet:
    """The tables of what is known of whole words, and of safe cuts, which is nothing: nothing is known of where the best way through
    a text is in two."""
    nothing_cut = SafeCuts(np.zeros((128, 128), np.bool_), (), (), usable=False)
    return (
        build_word_table(words).tables
        | build_hot_table(words, frozenset())
        | build_first_words(words, frozenset())
        | build_cut_tables(nothing_cut)
        | build_wide_cuts(NO_WIDE_CUTS)
        | TableSet(
            (Table("trie_units", np.zeros(512, np.uint32), "no entries are known to encode to themselves"),),
            {"trie_root": 0, "longest_entry": 0, "characters": 1},
        )
    )


def _first_units(trie: Trie) -> npt.NDArray[np.uint32]:
    """(65536,) uint32: by code point, the unit after its bytes; LEAF where no entry begins with it."""
    points = np.arange(1 << 16)
    found = np.full(len(points), LEAF, np.uint32)
    for low, high, lead in ((0, 0x80, 0), (0x80, 0x800, 0xC0), (0x800, 0x10000, 0xE0)):
        here = points[low:high]
        size = {0: 1, 0xC0: 2, 0xE0: 3}[lead]
        unit = np.full(len(here), trie.root << PAYLOAD_SHIFT, np.uint32)
        for k in range(size):
            shift = 6 * (size - 1 - k)
            byte = here >> shift if k == 0 else 0x80 | (here >> shift & 0x3F)
            byte = byte | lead if k == 0 else byte
            following = trie.units[np.where(unit & LEAF, 0, unit >> PAYLOAD_SHIFT) + byte]
            fits = ((unit & LEAF) == 0) & ((following & 0x1FF) == byte)
            unit = np.where(fits, following, LEAF).astype(np.uint32)
        found[low:high] = unit
    return found


def _check(model: UnigramModel, entries: dict[bytes, int]) -> None:
    where = "pieces" if model.engine == "sentencepiece" else "model.vocab"
    for token, number in entries.items():
        if len(token) > LONGEST:
            raise DefinitionError(
                f"the entry of id {number} has {len(token)} bytes; what is compiled has at most {LONGEST}",
                where=f"{where}[{number}]",
            )
    if max(len(model.tokens), model.unk_id + 1) > NO_ID:
        raise DefinitionError(
            f"there are {len(model.tokens)} entries; what is compiled has at most {NO_ID}", where=where
        )
    falls_back = all(model.byte_ids[byte] >= 0 for byte in model.space)
    if len(model.space) > 1 and b" " not in entries and falls_back:
        # It would be three ids for one byte of text; no known model is like that.
        raise DefinitionError(
            f"the mark {model.space.decode()!r} is no entry and falls back to its bytes; this is not compiled",
            where=where,
        )
