"""The `model` of a tokenizer.json: a byte-level BPE vocabulary."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_compile.definition.alphabet import alphabet_to_bytes, missing_bytes
from gigatok_compile.definition.fields import Fields, is_u32, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import BpeModel
from gigatok_runtime.byte_level import BYTE_TO_CHAR

MAX_ID = 2**24
"""Largest id taken: tables are indexed by id, and no vocabulary comes near (the largest known has 2**18 entries)."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """The vocabulary in bytes. `unmatchable` are the ids of entries that no text can ever become."""

    tokens: tuple[bytes | None, ...]
    unmatchable: frozenset[int]


def guess_model_type(fields: Fields) -> str:
    """The model's type; a file without one is told by its keys, in the reference's order."""
    if "type" in fields.values:
        return fields.kind()
    if "merges" in fields.values:
        return "BPE"
    if "continuing_subword_prefix" in fields.values:
        return "WordPiece"
    return "Unigram" if isinstance(fields.values.get("vocab"), list) else "WordLevel"


def read_vocab(fields: Fields) -> Mapping[str, int]:
    """`vocab` as the file has it, text to id; every id is a distinct number up to MAX_ID."""
    vocab = fields.child("vocab").values
    where = fields.path("vocab")
    for token, number in vocab.items():
        if not is_u32(number):
            raise DefinitionError(f"the id of {token!r} must be a whole number, found {json_name(number)}", where=where)
        if number > MAX_ID:
            raise DefinitionError(f"the id of {token!r} is {number}; the largest taken is {MAX_ID}", where=where)
    if len(set(vocab.values())) != len(vocab):
        seen: dict[int, str] = {}
        for token, number in vocab.items():
            if number in seen:
                raise DefinitionError(
                    f"{seen[number]!r} and {token!r} both have id {number}",
                    where=where,
                    hint="the reference would pick one at random on each load",
                )
            seen[number] = token
    return vocab


def read_bpe_model(fields: Fields, vocab: Mapping[str, int], added: Container[str]) -> tuple[BpeModel, tuple[str, ...]]:
    """The model, and warnings.

    With every byte that text can hold in the vocabulary nothing is ever unknown, so `unk_token`, `fuse_unk` and
    `byte_fallback` cannot act and are not looked at.

    Args:
        fields: the `model` object.
        vocab: what `read_vocab` returned.
        added: the contents of the added tokens.

    Raises:
        DefinitionError: a field that cannot be reproduced, a byte without an entry, or a bad merge.
    """
    _refuse_affixes_and_dropout(fields)
    # null counts as absent for these flags, unlike for most (measured)
    flags = {
        f: fields.values.get(f) is not None and fields.boolean(f)
        for f in ("fuse_unk", "byte_fallback", "ignore_merges")
    }
    byte_ids = _byte_ids(fields, vocab)
    entries, warnings = _read_entries(fields, vocab, added, flags["ignore_merges"])
    rows, ranks = _read_merges(fields, vocab, entries.unmatchable)
    return BpeModel(entries.tokens, rows, ranks, byte_ids, flags["ignore_merges"]), warnings


def _refuse_affixes_and_dropout(fields: Fields) -> None:
    for key in ("continuing_subword_prefix", "end_of_word_suffix"):
        if fields.values.get(key) is not None and fields.string(key):
            fields.fail(key, f"{fields.values[key]!r} is not compiled", "what compiles: null or an empty string")
    if fields.values.get("unk_token") is not None:
        fields.string("unk_token")
    dropout = fields.values.get("dropout")
    if dropout is None:
        return
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        fields.fail("dropout", f"expected null or a number from 0 to 1, found {json_name(dropout)}")
    if dropout > 0:
        fields.fail("dropout", "dropout makes the ids random, which is not compiled", "set it to null")


def _byte_ids(fields: Fields, vocab: Mapping[str, int]) -> npt.NDArray[np.int32]:
    byte_ids = np.array([vocab.get(char, -1) for char in BYTE_TO_CHAR], dtype=np.int32)
    if missing := missing_bytes(byte_ids, "entry"):
        fields.fail(
            "vocab", missing, "the reference drops such bytes from the text without a word; this is not compiled"
        )
    return byte_ids


def _read_entries(
    fields: Fields, vocab: Mapping[str, int], added: Container[str], ignore_merges: bool
) -> tuple[_Entries, tuple[str, ...]]:
    """The bytes of every id.

    An entry with a character outside the byte alphabet cannot come out of any text, and decodes to its own UTF-8
    (measured). An added token's text stands in `added_tokens` already, so its entry stays None. Any other keeps its UTF-8,
    which may be the bytes of a real entry too; where whole pieces are looked up first that would change ids, so it is
    refused there.
    """
    tokens: list[bytes | None] = [None] * (max(vocab.values(), default=-1) + 1)
    unmatchable: set[int] = set()
    outside: list[str] = []
    for text, number in vocab.items():
        mapped = alphabet_to_bytes(text)
        if mapped:
            tokens[number] = mapped
            continue
        unmatchable.add(number)
        if text and text not in added:
            tokens[number] = text.encode()
            outside.append(text)
    if outside and ignore_merges:
        fields.fail(
            "vocab",
            f"{outside[0]!r} is not written in the byte alphabet, in a model with ignore_merges",
            "make it an added token, or take it out",
        )
    warnings = (
        (
            f"{fields.path('vocab')}: {len(outside)} entries such as {outside[0]!r} are not in the byte alphabet: never matched",
        )
        if outside
        else ()
    )
    return _Entries(tuple(tokens), frozenset(unmatchable)), warnings


def _read_merges(
    fields: Fields, vocab: Mapping[str, int], unmatchable: frozenset[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Rows (left, right, merged) by rank, and the ranks. Of a pair that occurs twice the last counts.

    Merges of entries that no text can become are left out: they never happen.
    """
    flat: list[int] = []
    for index, (left, right) in enumerate(_merge_pairs(fields)):
        try:
            flat += (vocab[left], vocab[right], vocab[left + right])
        except KeyError as error:
            place = _place_of_merge(fields, index)
            fields.fail(place, f"{error.args[0]!r} is not in the vocabulary", "the file may be cut or edited")
    rows = np.array(flat, dtype=np.int32).reshape(-1, 3)
    pairs = rows[:, 0].astype(np.int64) << 32 | rows[:, 1]
    # np.unique keeps the first of equals, so look at the list from its end
    _, from_end = np.unique(pairs[::-1], return_index=True)
    ranks = np.sort(len(pairs) - 1 - from_end).astype(np.int32)
    if unmatchable:
        ranks = ranks[~np.isin(rows[ranks], list(unmatchable)).any(axis=1)]
    return np.ascontiguousarray(rows[ranks]), ranks


def _place_of_merge(fields: Fields, number: int) -> str:
    """Where the merge stands in the file, which counts the "#version" lines too."""
    real = [i for i, m in enumerate(fields.items("merges")) if not (isinstance(m, str) and m.startswith("#version"))]
    return f"merges[{real[number]}]"


def _merge_pairs(fields: Fields) -> list[tuple[str, str]]:
    """The merges as pairs, from either spelling. "#version" lines are skipped in the string spelling only (measured)."""
    merges: list[Any] = fields.items("merges")
    if all(isinstance(merge, str) for merge in merges):
        pairs = []
        for index, merge in enumerate(merges):
            if merge.startswith("#version"):
                continue
            left, separator, right = merge.partition(" ")
            if not separator or " " in right:
                fields.fail(
                    f"merges[{index}]",
                    f"expected two tokens with one space between them, found {merge!r}",
                    'a token that contains a space needs the pair form ["left", "right"]',
                )
            pairs.append((left, right))
        return pairs
    for index, merge in enumerate(merges):
        if not (
            isinstance(merge, list) and len(merge) == 2 and isinstance(merge[0], str) and isinstance(merge[1], str)
        ):
            fields.fail(
                f"merges[{index}]",
                f"expected a pair of tokens, found {merge!r:.60}",
                'all merges are "left right" strings, or all are ["left", "right"] pairs',
            )
    return [(left, right) for left, right in merges]
