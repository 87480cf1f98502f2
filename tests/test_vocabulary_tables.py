"""templates/vocabulary.h over real and made-up vocabularies: whole words, the trie, safe cuts."""

from __future__ import annotations

import dataclasses
import itertools
import random
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary.safe_cuts import split_characters
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_compile.vocabulary.tables import build_vocabulary_tables
from gigatok_compile.vocabulary.word_table import hash16, hash_bytes

harness: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_harness.py")))
made: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_models.py")))
MODELS: dict[str, BpeModel] = made["made_up"]()


def compiled(model: BpeModel) -> Any:
    tables, _ = build_vocabulary_tables(model, derive_entries(model))
    return harness["Vocabulary"](tables, ignore_merges=model.ignore_merges)


@pytest.fixture(scope="module")
def gpt2_model() -> BpeModel:
    return read_definition("gpt2").model


@pytest.fixture(scope="module")
def gpt2(gpt2_model: BpeModel) -> Any:
    return compiled(gpt2_model)


@pytest.fixture(scope="module", params=MODELS)
def small(request: pytest.FixtureRequest) -> tuple[BpeModel, Any]:
    return MODELS[request.param], compiled(MODELS[request.param])


# ---------------------------------------------------------------------- words


def test_hash_is_the_same_in_c_and_numpy(gpt2):
    generator = random.Random(1)
    keys = [(generator.getrandbits(64), generator.getrandbits(64)) for _ in range(200)] + [
        (0, 0),
        (2**64 - 1, 2**64 - 1),
    ]
    low, high = np.array(keys, dtype=np.uint64).T
    assert hash16(low, high).tolist() == [gpt2.lib.hash16(*key) for key in keys]


def test_hash_of_longer_words_is_the_same_in_c_and_python(gpt2):
    generator = random.Random(3)
    for length in (*range(17, 70), 255, 1024):
        word = generator.randbytes(length)
        assert hash_bytes(word) == gpt2.lib.hash_bytes(word, length)


def test_longer_entries_pass_the_filter_and_few_others(gpt2, gpt2_model):
    longer = [token for token in gpt2_model.tokens[:50256] if len(token) > 16]
    assert len(longer) > 50
    assert all(gpt2.lib.may_be_entry(token, len(token)) for token in longer)
    generator = random.Random(4)
    others = [generator.randbytes(generator.randint(17, 60)) for _ in range(2000)]
    assert sum(gpt2.lib.may_be_entry(word, len(word)) for word in others) < 200


def test_every_short_word_of_gpt2_is_found(gpt2, gpt2_model):
    for number, token in enumerate(gpt2_model.tokens[:50256]):
        if len(token) <= 16 and 0xFF not in token:
            assert gpt2.word(token) == number
    assert gpt2.word(b"<|endoftext|>") is None  # merging does not make it


def test_other_words_are_not_found(gpt2, gpt2_model):
    known = set(gpt2_model.tokens)
    generator = random.Random(2)
    for token in generator.sample(gpt2_model.tokens, 4000):
        for other in (token + b"q", token[:-1] + b"\x7f", token[1:], token[:1] * len(token)):
            if 0 < len(other) <= 16 and other not in known:
                assert gpt2.word(other) is None


def test_unreachable_entries_are_words_only_if_whole_pieces_are_looked_up(small, naive_bpe):
    model, vocabulary = small
    bpe = naive_bpe(dataclasses.replace(model, ignore_merges=False))
    for number, token in enumerate(model.tokens):
        if token and 0xFF not in token:
            expected = number if model.ignore_merges or bpe.encode(token) == [number] else None
            assert vocabulary.exact(token) == expected
            assert len(token) > 16 or vocabulary.word(token) == expected
            assert vocabulary.entry(token) == number


def test_whole_only_bits_mark_unreachable_entries():
    model = MODELS["ranked"]
    tables, _ = build_vocabulary_tables(model, derive_entries(model))
    (bits,) = (table.data for table in tables.tables if table.name == "whole_only_bits")
    marked = np.unpackbits(bits, bitorder="little")[: len(model.tokens)].astype(bool)
    assert (marked == ~derive_entries(model).reachable).all()
    assert marked.any()


# ---------------------------------------------------------------------- trie


def test_entries_are_found_by_their_bytes(gpt2, gpt2_model):
    for number, token in enumerate(gpt2_model.tokens):
        assert gpt2.entry(token) == number
    for token in (b"<|endoftext|", b"<|endoftext|>x", b" " * 200, b"zzzzzzzz"):
        assert gpt2.entry(token) is None


def test_longest_prefix(gpt2, gpt2_model, small):
    generator = random.Random(3)
    text = "".join(chr(generator.choice([*range(32, 127), *range(0x4E00, 0x4F00)])) for _ in range(300)).encode()
    text += "supercalifragilistic the      \n\n\n Министерство 日本語日本語".encode()
    for vocabulary, model in ((gpt2, gpt2_model), (small[1], small[0])):
        ids = {token: number for number, token in enumerate(model.tokens) if token}
        for at in range(len(text)):
            rest = text[at : at + 140]
            length = max(cut for cut in range(1, len(rest) + 1) if rest[:cut] in ids)
            assert vocabulary.longest(rest) == (length, ids[rest[:length]])


# ---------------------------------------------------------------------- cuts


def lies_across(token: bytes, left: bytes, right: bytes) -> bool:
    return any(
        (token[:cut].endswith(left) or left.endswith(token[:cut]))
        and (token[cut:].startswith(right) or right.startswith(token[cut:]))
        for cut in range(1, len(token))
    )


def test_cuts_are_where_no_entry_lies_across(small):
    model, vocabulary = small
    reachable = derive_entries(model).reachable
    entries = [t for t, made_ in zip(model.tokens, reachable, strict=True) if t and made_ and split_characters(t)]
    characters = [
        c.encode() for c in ["a", "b", "t", "h", "\0", "\x7f", *"日本語中国人", "é", "ê", "п", "р", "👍", "🏽", "…"]
    ]
    for left, right in itertools.product(characters, repeat=2):
        expected = not any(lies_across(token, left, right) for token in entries)
        assert vocabulary.cuts(left + right) == ([len(left)] if expected else []), (left, right)


def check_cuts(vocabulary: Any, text: str, generator: random.Random) -> tuple[int, int]:
    """Merging with cuts is merging without, over pieces of a text; how many pieces were whole, and their parts."""
    pieces = []
    for _ in range(800):
        at = generator.randrange(len(text))
        pieces.append(text[at : at + generator.randint(1, 60)].encode())
    whole = vocabulary.merge(pieces)
    assert vocabulary.merge(pieces, "cut") == whole
    assert vocabulary.merge(pieces, "next_cut") == whole
    return len(pieces), sum(len(vocabulary.cuts(piece)) + 1 for piece in pieces)


def test_merging_between_cuts_is_merging(gpt2, shared):
    generator = random.Random(4)
    for text in made["samples"](shared.root).values():
        check_cuts(gpt2, text, generator)


def test_merging_between_cuts_on_made_up_vocabularies(small):
    generator = random.Random(5)
    text = "".join(generator.choices("ab ther日本語中国人éêприв👍🏽…", k=20000))
    check_cuts(small[1], text, generator)


@pytest.mark.parametrize("name", ["llama3", "qwen3"])
def test_merging_in_larger_vocabularies(name, shared, naive_bpe):
    """Against the textbook, whole and between cuts. And what the cuts are for: Chinese falls into pieces that repeat."""
    model = read_definition(str(shared.model_file(name))).model
    vocabulary = compiled(model)
    bpe = naive_bpe(dataclasses.replace(model, ignore_merges=False))
    generator = random.Random(6)
    texts = made["samples"](shared.root)
    for sample in texts.values():
        check_cuts(vocabulary, sample, generator)
        starts = generator.choices(range(len(sample)), k=60)
        words = [sample[at : at + generator.randint(1, 30)].encode() for at in starts]
        assert vocabulary.merge(words) == vocabulary.merge(words, "many") == [bpe.encode(word) for word in words]
    text = texts["zh"][:100_000].encode()
    cuts = [0, *vocabulary.cuts(text), len(text)]
    parts = [text[a:b] for a, b in itertools.pairwise(cuts)]
    assert len(set(parts)) < 0.25 * len(parts)
