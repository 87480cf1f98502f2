"""Long pieces of three-byte characters cut in the scan: the tables beside safe_cuts.py, whole modules beside tokenizers 0.23.3."""

from __future__ import annotations

import itertools
import json
import random
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary.safe_cuts import SafeCuts, find_safe_cuts
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_compile.vocabulary.wide_cuts import build_wide_cuts, end_places, find_wide_cuts, pair_places
from gigatok_runtime.byte_level import BYTE_TO_CHAR, bytes_to_alphabet
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)

CJK = "中文字日本語龍國人大"
KANA = "かなカー"
OTHERS = ["a", "b", " ", "1", "\n", "é", "ш", "🙂", "。", "ก", "한", "\u3000", "�"]


# ---------------------------------------------------------------------- models


def byte_level(merged: Sequence[bytes], whole_only: Sequence[bytes] = (), **changes: Any) -> dict[str, Any]:
    """A byte-level tokenizer.json with the entries `merged`, each made of the longest entry that it begins with and the rest, and others
    that no merge makes."""
    vocab = {BYTE_TO_CHAR[byte]: byte for byte in range(256)}
    merges = []
    for token in dict.fromkeys(merged):
        split = max(
            k
            for k in range(1, len(token))
            if bytes_to_alphabet(token[:k]) in vocab and bytes_to_alphabet(token[k:]) in vocab
        )
        vocab.setdefault(bytes_to_alphabet(token), len(vocab))
        merges.append(f"{bytes_to_alphabet(token[:split])} {bytes_to_alphabet(token[split:])}")
    for token in whole_only:
        assert bytes_to_alphabet(token) not in vocab
        vocab[bytes_to_alphabet(token)] = len(vocab)
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "ignore_merges": bool(whole_only)}
    return {
        "version": "1.0",
        "added_tokens": [],
        "pre_tokenizer": BYTES,
        "model": model,
        "decoder": byte_map(True),
    } | changes


def byte_map(use_regex: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": use_regex}


BYTES = byte_map(True)
IN_BYTES = {  # what comes after ByteLevel sees bytes, and cuts characters in two
    "type": "Sequence",
    "pretokenizers": [BYTES, {"type": "Digits", "individual_digits": True}],
}


def characters(text: str) -> list[bytes]:
    """Entries for characters of three bytes, and what they are made of."""
    return [part for c in text for part in (c.encode()[:2], c.encode())]


PAIRS = [f"{a}{b}".encode() for a, b in ("中文", "日本", "本語", "かな", "大人", "語か")]
FRAGMENTS = [  # entries that begin or end inside a character, over a point between two, and what they are made of: before the characters
    *characters("文な"),
    "文".encode() + "字".encode()[:1],
    "國".encode()[:2],
    "中".encode()[2:] + "國".encode()[:2],
    "人".encode()[1:],
    "人".encode()[1:] + b"a",
    "日".encode()[2:] + "な".encode(),
    "龍".encode()[:2],
    b" " + "龍".encode()[:2],
]
WHOLE = [
    w.encode()
    for w in ("中文字", "大龍", "龍", "a中", "中a", "本語か", "ーカー", "é中", "文字b", "人人人", " 日本語", "カ")
]
BASE = list(dict.fromkeys([*characters((CJK + KANA).replace("龍", "").replace("カ", "")), *PAIRS]))
MANY = "".join(chr(0x4E00 + 37 * i) for i in range(60))


def spaced(pairs: Sequence[str]) -> dict[str, Any]:
    """A model over characters without a splitting step (as Gemma's), all bytes to fall back to."""
    vocab = {"<unk>": 0} | {f"<0x{byte:02X}>": 1 + byte for byte in range(256)}
    for entry in ["\u2581", *MANY, *"ab", *pairs]:
        vocab.setdefault(entry, len(vocab))
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [[pair[0], pair[1]] for pair in pairs],
        "byte_fallback": True,
        "fuse_unk": True,
        "unk_token": "<unk>",
    }
    normalizer = {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}
    return {"version": "1.0", "added_tokens": [], "normalizer": normalizer, "pre_tokenizer": None, "model": model}


FILES: dict[str, dict[str, Any]] = {
    "pairs": byte_level(BASE),
    "fragments": byte_level([*FRAGMENTS, *BASE]),
    "whole only": byte_level(BASE, WHOLE),
    "whole only, fragments": byte_level([*FRAGMENTS, *BASE], WHOLE),
    "cut in bytes": byte_level([*FRAGMENTS, *BASE], WHOLE, pre_tokenizer=IN_BYTES),
    "one piece": byte_level([*FRAGMENTS, *BASE], WHOLE, pre_tokenizer=byte_map(False)),
    "characters": spaced([a + b for i, a in enumerate(MANY) for k, b in enumerate(MANY) if (7 * i + k) % 3]),
}


def path_of(name: str, folder: Path) -> Path:
    return modules.write_toy("wide_" + "".join(c if c.isalnum() else "_" for c in name), FILES[name], folder)


def model_of(name: str, folder: Path) -> BpeModel:
    model = read_definition(str(path_of(name, folder))).model
    assert isinstance(model, BpeModel)
    return model


# ---------------------------------------------------------------------- tables


def set_at(table: Any, places: Any, in_word: int = 32) -> Any:
    """(n,) bool, the bits of a table at `places`."""
    return (table.data[places // in_word] >> (places % in_word).astype(np.uint32) & 1).astype(bool)


def joined(cuts: SafeCuts, left: str, right: str) -> bool:
    """safe_cuts.py's answer, from its pairs."""
    a, b = left.encode(), right.encode()
    parts = {(a[-i:], b[:k]) for i in range(1, len(a) + 1) for k in range(1, len(b) + 1)}
    return bool(parts & (set(cuts.fragments) | set(cuts.pairs)))


@pytest.mark.parametrize("name", ["gpt2", *FILES])
def test_no_cut_that_is_not_safe(name: str, folder: Path) -> None:
    """For all pairs of the vocabulary's characters, and for random ones, of which few cuts are lost."""
    model = read_definition("gpt2").model if name == "gpt2" else model_of(name, folder)
    assert isinstance(model, BpeModel)
    reachable = derive_entries(model).reachable
    cuts = find_safe_cuts(model, np.ones_like(reachable) if model.ignore_merges else reachable)
    built = build_wide_cuts(find_wide_cuts(model, reachable, find_safe_cuts(model, reachable)))
    tables, size = {table.name: table for table in built.tables}, built.constants["wide_pair_bits"]
    assert built.constants["wide_cuts"] == 1
    rng = random.Random(name)
    known = MANY[:40] if name == "characters" else CJK + KANA
    any_of = [chr(rng.choice([rng.randrange(0x800, 0xD800), rng.randrange(0x4E00, 0x9FFF)])) for _ in range(60)]
    found = [(a, b) for a, b in itertools.product([*known, *any_of], repeat=2)]
    in_word = 16 if built.constants["wide_keeps"] else 32
    pairs = set_at(tables["wide_pairs"], pair_places([(a + b).encode() for a, b in found], size), in_word)
    ends = set_at(tables["wide_ends"], end_places([a.encode()[-1:] + b.encode()[:2] for a, b in found]))
    stays = np.array([joined(cuts, a, b) for a, b in found])
    assert not (stays & ~(pairs | ends)).any()
    if name in ("gpt2", "pairs", "characters"):  # whole-only entries take more
        assert (~stays & (pairs | ends)).sum() < 0.15 * (~stays).sum()


# ---------------------------------------------------------------------- ids


def clauses(name: str, count: int) -> list[str]:
    """Texts with long pieces, of few characters, so that all that is special in the vocabulary comes up at cuts, at the ends of pieces, at
    those of blocks and chunks."""
    rng = random.Random(name)
    alphabet = list(MANY[:12] if name == "characters" else CJK + KANA)
    parts = [*alphabet, *[w.decode() for w in WHOLE], *[p.decode() for p in PAIRS]]
    found = []
    for _ in range(count):
        some = rng.sample(parts, rng.randint(2, len(parts)))
        words = [
            "".join(rng.choices(some, k=rng.randint(1, 24)))
            if rng.random() < 0.7
            else "".join(rng.choices([*OTHERS, *some], k=rng.randint(1, 12)))
            for _ in range(rng.choice([1, 1, 3, 30, 200]))
        ]
        found.append(rng.choice(["", "。", " ", "a"]).join(words))
    return found


@pytest.mark.parametrize("name", FILES)
def test_ids_are_those_of_the_reference(name: str, folder: Path) -> None:
    """On every instruction set, with nothing learnt and then a second time; every text also moved by a few bytes."""
    given = clauses(name, 150)
    given += ["x" * k + text for k, text in enumerate(sorted(given, key=len)[-40:])]
    reference = Tokenizer.from_str(json.dumps(FILES[name]))
    right = [encoding.ids for encoding in reference.encode_batch(given, add_special_tokens=False)]
    engines = modules.engines(path_of(name, folder).stem, path_of(name, folder), folder)
    for isa, engine in engines.each():
        for turn in ("new", "again"):
            for text, ids in zip(
                given if isa != "regex" else given[::5], right if isa != "regex" else right[::5], strict=True
            ):
                assert engine.encode(text).tolist() == ids, (name, isa, turn, text)


def test_texts_have_stretches_that_are_whole_only_entries(folder: Path) -> None:
    """What the test above is for: with entries that stand for whole pre-tokens only, cut out of longer ones by their neighbours."""
    model = model_of("whole only", folder)
    reachable = derive_entries(model).reachable
    cuts = find_safe_cuts(model, np.ones_like(reachable))
    entries = {token.decode() for token in WHOLE}
    seen = set()
    for text in clauses("whole only", 150):
        for piece in text.replace("。", " ").split():
            points = [0, *(i for i in range(1, len(piece)) if not joined(cuts, piece[i - 1], piece[i])), len(piece)]
            seen |= {piece[a:b] for a, b in itertools.pairwise(points)} & entries if len(points) > 2 else set()
    assert {"中文字", "大龍", "龍", "本語か", "人人人", "カ"} <= seen


def test_a_model_whose_pattern_cuts_it_all_has_none(folder: Path) -> None:
    """Llama 2's kind: a handful of pairs, which the pattern that the vocabulary implies leaves together."""
    path = modules.write_toy("wide_few", spaced([MANY[0] + MANY[1], MANY[2] + MANY[3]]), folder)
    model = read_definition(str(path)).model
    assert isinstance(model, BpeModel)
    reachable = derive_entries(model).reachable
    assert not find_wide_cuts(model, reachable, find_safe_cuts(model, reachable)).usable
