"""The `model` of a tokenizer.json: a BPE vocabulary, byte-level or over characters."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_compile.definition.alphabet import alphabet_to_bytes, missing_bytes
from gigatok_compile.definition.fields import Fields, is_u32, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import CONTINUES, ENDS, BpeModel
from gigatok_runtime.byte_level import BYTE_TO_CHAR

MAX_ID = 2**24
"""Largest id taken: tables are indexed by id, and no vocabulary comes near (the largest known has 2**18 entries)."""


@dataclass(frozen=True, slots=True)
class _Entries:
    """The vocabulary in bytes. `unmatchable` are the ids of entries that no text can ever become."""

    tokens: tuple[bytes | None, ...]
    unmatchable: frozenset[int]
    affixes: npt.NDArray[np.uint8]


def guess_model_type(fields: Fields) -> str:
    """The model's type; a file without one is told by its keys, in the reference's order."""
    if "type" in fields.values:
        return fields.kind()
    if "merges" in fields.values:
        return "BPE"
    if "continuing_subword_prefix" in fields.values and "max_input_chars_per_word" in fields.values:
        return "WordPiece"
    return "Unigram" if isinstance(fields.values.get("vocab"), list) else "WordLevel"


def read_vocab(fields: Fields) -> Mapping[str, int]:
    """`vocab` as the file has it, text to id; every id is a distinct number up to MAX_ID."""
    vocab = fields.child("vocab").values
    where = fields.path("vocab")
    if not vocab:
        raise DefinitionError(
            "there are no entries", where=where, hint="the reference loads this, and gives no ids for any text"
        )
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


@dataclass(frozen=True, slots=True)
class Spelling:
    """How the vocabulary writes text.

    byte_level: in the byte alphabet, a character a byte. entry: what an entry is in the text that the model sees, None if no
    text can become it (see definition/respell.py). prefix, suffix: continuing_subword_prefix, end_of_word_suffix; "" for none.
    """

    byte_level: bool
    entry: Callable[[str], str | None] = lambda text: text
    prefix: str = ""
    suffix: str = ""

    def stripped(self, text: str) -> tuple[str, int]:
        """An entry without its affixes, and which ones it had."""
        affixes = 0
        if self.prefix and text.startswith(self.prefix):
            text, affixes = text[len(self.prefix) :], CONTINUES
        if self.suffix and text.endswith(self.suffix):
            text, affixes = text[: -len(self.suffix)], affixes | ENDS
        return text, affixes

    def to_bytes(self, text: str) -> bytes | None:
        """The bytes of text that an entry without affixes stands for; None if no text can become it."""
        if self.byte_level:
            return alphabet_to_bytes(text)
        respelled = self.entry(text)
        return None if respelled is None else respelled.encode("utf-8", "surrogatepass")


def read_bpe_model(
    fields: Fields, vocab: Mapping[str, int], added: Container[str], spelling: Spelling
) -> tuple[BpeModel, tuple[str, ...]]:
    """The model, and warnings.

    Where every byte that text can hold has an entry nothing is ever unknown, so `unk_token`, `fuse_unk` and
    `byte_fallback` cannot act and are not looked at.

    Args:
        fields: the `model` object.
        vocab: what `read_vocab` returned.
        added: the contents of the added tokens.
        spelling: how its entries are to be read; affixes are taken from the model.

    Raises:
        DefinitionError: a field that cannot be reproduced, or a bad merge.
    """
    _refuse_dropout(fields)
    spelling = replace(
        spelling,
        prefix=_affix(fields, "continuing_subword_prefix"),
        suffix=_affix(fields, "end_of_word_suffix"),
    )
    # null counts as absent for these flags, unlike for most (measured)
    flags = {
        f: fields.values.get(f) is not None and fields.boolean(f)
        for f in ("fuse_unk", "byte_fallback", "ignore_merges")
    }
    entries, warnings = _read_entries(fields, vocab, added, spelling, flags["ignore_merges"])
    byte_ids = _byte_ids(fields, vocab, spelling, flags["byte_fallback"])
    unk_id, unknown_warnings = _unknown(fields, vocab, spelling, byte_ids)
    merged = _read_merges(fields, vocab, entries.unmatchable, spelling.prefix)
    _refuse_merges_of(fields, merged[0], unk_id, () if spelling.byte_level else byte_ids.tolist())
    model = BpeModel(
        entries.tokens,
        *merged,
        byte_ids,
        flags["ignore_merges"],
        atoms="bytes" if spelling.byte_level else "characters",
        unk_id=unk_id,
        fuse_unk=flags["fuse_unk"],
        affixes=entries.affixes if spelling.prefix or spelling.suffix else None,
        marks=(CONTINUES if spelling.prefix else 0) | (ENDS if spelling.suffix else 0),
    )
    return model, warnings + unknown_warnings


def _affix(fields: Fields, key: str) -> str:
    """An affix; null and the empty string are none."""
    return "" if fields.values.get(key) is None else fields.string(key)


def _refuse_dropout(fields: Fields) -> None:
    dropout = fields.values.get("dropout")
    if dropout is None:
        return
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        fields.fail("dropout", f"expected null or a number from 0 to 1, found {json_name(dropout)}")
    if dropout > 0:
        fields.fail("dropout", "dropout makes the ids random, which is not compiled", "set it to null")


def _byte_ids(
    fields: Fields, vocab: Mapping[str, int], spelling: Spelling, byte_fallback: bool
) -> npt.NDArray[np.int32]:
    """The ids of bytes: of the byte alphabet, or what characters fall back to."""
    if not spelling.byte_level:
        names = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
        if byte_fallback and (spelling.prefix or spelling.suffix):
            fields.fail("byte_fallback", "byte_fallback together with a subword prefix or suffix is not compiled")
        return np.array([vocab.get(name, -1) for name in names] or [-1] * 256, dtype=np.int32)
    byte_ids = np.array([vocab.get(char, -1) for char in BYTE_TO_CHAR], dtype=np.int32)
    if byte_fallback and missing_bytes(byte_ids, "entry"):
        fields.fail(
            "byte_fallback",
            "a byte-level vocabulary that lacks bytes, with byte_fallback, is not compiled",
            "set it to false",
        )
    return byte_ids


def _unknown(
    fields: Fields, vocab: Mapping[str, int], spelling: Spelling, byte_ids: npt.NDArray[np.int32]
) -> tuple[int, tuple[str, ...]]:
    """The id of what is unknown, -1 if there is none or it cannot occur; and a warning where text can be lost."""
    name = fields.string("unk_token") if fields.values.get("unk_token") is not None else None
    missing = missing_bytes(byte_ids, "entry")
    if not missing and not (spelling.byte_level and (spelling.prefix or spelling.suffix)):
        return -1, ()
    if name is None:
        lost = missing if spelling.byte_level and missing else "what the vocabulary does not hold"
        return -1, (f"{fields.where}: {lost}; without an unk_token it is dropped from the text, as in the reference",)
    if name not in vocab:
        fields.fail(
            "unk_token", f"{name!r} is not in the vocabulary", "the reference fails on the first text that needs it"
        )
    return vocab[name], ()


def _refuse_merges_of(fields: Fields, rows: npt.NDArray[np.int32], unk_id: int, fallen_back: Sequence[int]) -> None:
    """Tokens that no characters of the text are behind must merge with nothing: what merging makes could not be foreseen."""
    strange = np.isin(rows, [i for i in (unk_id, *fallen_back) if i >= 0]).any(axis=1)
    if strange.any():
        row = rows[int(strange.argmax())].tolist()
        fields.fail("merges", f"ids {row[0]} and {row[1]} merge, one of which stands for what is unknown or for a byte")


def _read_entries(
    fields: Fields, vocab: Mapping[str, int], added: Container[str], spelling: Spelling, ignore_merges: bool
) -> tuple[_Entries, tuple[str, ...]]:
    """The bytes of every id.

    An entry with a character outside the byte alphabet cannot come out of any text, and decodes to its own UTF-8
    (measured). An added token's text stands in `added_tokens` already, so its entry stays None. Any other keeps its UTF-8,
    which may be the bytes of a real entry too; where whole pieces are looked up first that would change ids, so it is
    refused there.
    """
    size = max(vocab.values(), default=-1) + 1
    tokens: list[bytes | None] = [None] * size
    affixes = np.zeros(size, dtype=np.uint8)
    unmatchable: set[int] = set()
    outside: list[str] = []
    for text, number in vocab.items():
        stripped, affixes[number] = spelling.stripped(text)
        mapped = spelling.to_bytes(stripped)
        if mapped:
            tokens[number] = mapped
            continue
        unmatchable.add(number)
        if spelling.byte_level and text and text not in added:
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
    return _Entries(tuple(tokens), frozenset(unmatchable), affixes), warnings


def _read_merges(
    fields: Fields, vocab: Mapping[str, int], unmatchable: frozenset[int], prefix: str
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Rows (left, right, merged) by rank, and the ranks. Of a pair that occurs twice the last counts.

    Merges of entries that no text can become are left out: they never happen.
    """
    flat: list[int] = []
    for index, (left, right) in enumerate(_merge_pairs(fields)):
        if prefix and not right.startswith(prefix):
            fields.fail(_place_of_merge(fields, index), f"{right!r} does not begin with {prefix!r}")
        try:
            flat += (vocab[left], vocab[right], vocab[left + right[len(prefix) :]])
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
