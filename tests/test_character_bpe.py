"""BPE over characters, and bytes that are missing: the plain-Python encoder and the C code against tokenizers.

Every way in which a character can have no entry (fallen back to bytes, all or some of them there; unknown, fused or not;
dropped), subword prefixes and suffixes, on all short strings over a few characters and on random longer ones.
"""

from __future__ import annotations

import itertools
import json
import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition.tokenizer_json import read_tokenizer_json
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_compile.vocabulary.tables import build_vocabulary_tables
from gigatok_runtime.bpe import BytePairEncoder
from gigatok_runtime.byte_level import BYTE_TO_CHAR
from tokenizers import Tokenizer

harness: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_harness.py")))

WORDS = [
    "ab",
    "ba",
    "aba",
    "abab",
    "bab",
    "é",
    "aé",
    "éa",
    "日本",
    "本日",
    "日本語",
    "語",
    "👍",
    "👍👍",
    "a日",
    "xx",
    "x",
]
LETTERS = ["a", "b", "x", "é", "日", "本", "語", "👍"]
UNKNOWN = ["q", "ü", "中", "👎"]


def merges_of(words: list[str], vocab: dict[str, int]) -> list[list[str]]:
    """A merge for every way to put an entry together, in a random but fixed order."""
    found = [[w[:i], w[i:]] for w in words for i in range(1, len(w)) if w[:i] in vocab and w[i:] in vocab]
    random.Random(5).shuffle(found)
    return found


def characters(fallback: str, unk: str | None, fuse: bool) -> dict[str, Any]:
    """A tokenizer.json over characters. fallback: "no", "all", or "some" bytes."""
    entries = ["<unk>", *LETTERS, *[w for w in WORDS if w not in LETTERS]]
    if fallback != "no":
        entries += [f"<0x{b:02X}>" for b in range(256) if fallback == "all" or b not in (0xC3, 0xB8)]
    vocab = {entry: i for i, entry in enumerate(entries)}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": merges_of(WORDS, vocab),
        "unk_token": unk,
        "fuse_unk": fuse,
        "byte_fallback": fallback != "no",
    }
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": None, "model": model}


def affixed(prefix: str, suffix: str, *, byte_level: bool) -> dict[str, Any]:
    """Words in pieces that know where they stand."""
    atoms = list(BYTE_TO_CHAR) if byte_level else [*LETTERS, "c"]
    entries = ["<unk>"]
    for atom in atoms:
        entries += [atom, prefix + atom, atom + suffix, prefix + atom + suffix]
    words = ["ab", "abc", "bc", "cab"]
    for word in words:
        entries += [word, prefix + word, word + suffix, prefix + word + suffix]
    vocab = {entry: i for i, entry in enumerate(dict.fromkeys(entries))}
    merges = []
    for word, at in itertools.product(words, (1, 2)):
        if at >= len(word) or (word[:at] not in vocab or word[at:] not in vocab):
            continue
        for first, last in itertools.product(("", prefix), ("", suffix)):
            merges.append([first + word[:at], prefix + word[at:] + last])
    unique = [list(pair) for pair in dict.fromkeys(map(tuple, merges))]
    random.Random(2).shuffle(unique)
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": unique,
        "unk_token": "<unk>",
        "continuing_subword_prefix": prefix or None,
        "end_of_word_suffix": suffix or None,
    }
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": step if byte_level else {"type": "WhitespaceSplit"},
        "model": model,
    }


def missing_bytes(unk: str | None, fuse: bool) -> dict[str, Any]:
    """A byte-level vocabulary without the bytes of "é" and of "q"."""
    vocab = {c: i for i, c in enumerate(BYTE_TO_CHAR) if i not in (0xC3, 0xA9, ord("q"))}
    for entry in ("ab", "abab", "<unk>"):
        vocab[entry] = len(vocab) + 10
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [["a", "b"], ["ab", "ab"]],
        "unk_token": unk,
        "fuse_unk": fuse,
    }
    step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {"version": "1.0", "added_tokens": [], "pre_tokenizer": step, "model": model}


FILES: dict[str, dict[str, Any]] = {
    f"fallback {fallback}, unk {unk}, fuse {fuse}": characters(fallback, unk, fuse)
    for fallback in ("no", "all", "some")
    for unk in ("<unk>", None)
    for fuse in (False, True)
    if not (fuse and unk is None)
}
FILES |= {
    f"{'bytes' if level else 'characters'}, prefix {prefix!r}, suffix {suffix!r}": affixed(
        prefix, suffix, byte_level=level
    )
    for level in (False, True)
    for prefix, suffix in (("", "</w>"), ("##", ""), ("##", "</w>"))
}
FILES |= {
    f"bytes missing, unk {unk}, fuse {fuse}": missing_bytes(unk, fuse)
    for unk, fuse in ((None, False), ("<unk>", False), ("<unk>", True))
}
UNUSED_AFFIXES: dict[str, dict[str, Any]] = {
    "suffix": {"end_of_word_suffix": "</w>"},
    "prefix": {"continuing_subword_prefix": "##", "merges": []},
    "prefix and suffix": {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>", "merges": []},
}
FILES |= {  # no entry has them, so what they are put on is unknown
    f"{name}, {affixes} that no entry has": FILES[name] | {"model": FILES[name]["model"] | fields}
    for affixes, fields in UNUSED_AFFIXES.items()
    for name in (
        "fallback no, unk <unk>, fuse True",
        "fallback no, unk None, fuse False",
        "bytes missing, unk <unk>, fuse False",
    )
}


def texts() -> list[str]:
    """All strings of up to four characters, and longer ones at random."""
    some = ["a", "b", "c", "é", "日", "q", "ü", "👎"]
    found = ["".join(t) for n in (1, 2, 3, 4) for t in itertools.product(some, repeat=n)]
    generator = random.Random(11)
    for _ in range(1500):
        found.append("".join(generator.choices([*LETTERS, *UNKNOWN, "c"], k=generator.randint(5, 60))))
    return found


TEXTS = texts()


def python_encoder(model: BpeModel) -> BytePairEncoder:
    return BytePairEncoder(
        model.tokens,
        model.merges,
        model.ranks,
        model.byte_ids,
        model.ignore_merges,
        characters=model.atoms == "characters",
        unk_id=model.unk_id,
        fuse_unk=model.fuse_unk,
        affixes=model.affixes,
        marks=model.marks,
    )


@pytest.mark.parametrize("name", FILES)
def test_python_and_c_give_the_ids_of_the_reference(name: str) -> None:
    data = json.dumps(FILES[name])
    model = read_tokenizer_json(data.encode(), name="toy", sha256="0" * 64).model
    expected = [e.ids for e in Tokenizer.from_str(data).encode_batch_fast(TEXTS, add_special_tokens=False)]
    encoder = python_encoder(model)
    assert [encoder.merge(text.encode()) for text in TEXTS] == expected

    tables, _ = build_vocabulary_tables(model, derive_entries(model))
    vocabulary = harness["Vocabulary"](tables, ignore_merges=False)
    words = [text.encode() for text in TEXTS]
    for how in ("one", "long", "many"):
        assert vocabulary.merge(words, how) == expected, how
    assert vocabulary.merge_sanitized(words[::7]) == expected[::7]
    for text, ids in zip(words, expected, strict=True):
        found = vocabulary.exact(text)
        assert found is None or ids == [found], text


def test_words_that_are_entries_are_baked_only_where_they_can_stand() -> None:
    data = json.dumps(FILES["bytes, prefix '##', suffix '</w>'"])
    model = read_tokenizer_json(data.encode(), name="toy", sha256="0" * 64).model
    tables, _ = build_vocabulary_tables(model, derive_entries(model))
    vocabulary = harness["Vocabulary"](tables, ignore_merges=False)
    vocab = json.loads(data)["model"]["vocab"]
    assert vocabulary.exact(b"ab") == vocab["ab</w>"]
    assert model.affixes is not None and np.unique(model.affixes).tolist() == [0, 1, 2, 3]
