"""The analysis of a vocabulary, in Python: what merging reaches, orders, layouts, safe cuts."""

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
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import ENDS, BpeModel
from gigatok_compile.vocabulary import double_array
from gigatok_compile.vocabulary.double_array import build_trie
from gigatok_compile.vocabulary.merge_order import MergeOrder, order_merges
from gigatok_compile.vocabulary.pair_table import build_pair_table, displace_rows
from gigatok_compile.vocabulary.perfect_hash import build_perfect_hash
from gigatok_compile.vocabulary.safe_cuts import find_safe_cuts, split_characters
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_compile.vocabulary.tables import build_vocabulary_tables
from gigatok_compile.vocabulary.word_table import build_word_table, hash16, word_keys
from hypothesis import given
from hypothesis import strategies as st

made: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_models.py")))
MODELS: dict[str, BpeModel] = made["made_up"]()


@pytest.fixture(scope="module")
def gpt2() -> BpeModel:
    return read_definition("gpt2").model


@pytest.fixture(params=MODELS)
def small(request: pytest.FixtureRequest) -> BpeModel:
    return MODELS[request.param]


def by_merging(model: BpeModel) -> BpeModel:
    return dataclasses.replace(model, ignore_merges=False)


# ---------------------------------------------------------------------- what merging reaches


def test_reachable_entries_are_those_that_the_textbook_encodes_to_themselves(small, naive_bpe):
    bpe = naive_bpe(by_merging(small))
    expected = [token is not None and bpe.encode(token) == [number] for number, token in enumerate(small.tokens)]
    assert derive_entries(small).reachable.tolist() == expected


def test_gpt2_reaches_every_entry_but_its_special_token(gpt2, naive_bpe):
    derived = derive_entries(gpt2)
    assert np.flatnonzero(~derived.reachable).tolist() == [50256]
    bpe = naive_bpe(gpt2)
    for number in random.Random(1).sample(range(256, 50256), 500):
        assert bpe.encode(gpt2.tokens[number]) == [number]
        left, right, merged = gpt2.merges[derived.last_merge[number]]
        assert (merged, gpt2.tokens[left] + gpt2.tokens[right]) == (number, gpt2.tokens[number])


@pytest.mark.parametrize(("name", "unreachable", "live"), [("llama3", 588, 127156), ("qwen3", 0, 151387)])
def test_unreachable_entries_of_published_vocabularies(shared, name, unreachable, live):
    model = read_definition(str(shared.model_file(name))).model
    derived = derive_entries(model)
    entries = np.array([token is not None for token in model.tokens])
    assert int((entries & ~derived.reachable).sum()) == unreachable
    assert len(order_merges(model, derived).pairs) == live


def test_dropped_merges_never_happen(small, naive_bpe):
    """BPE with only the last merge of every entry is BPE."""
    derived = derive_entries(small)
    rows = np.unique(derived.last_merge[derived.last_merge >= 0])
    fewer = dataclasses.replace(by_merging(small), merges=small.merges[rows], ranks=small.ranks[rows])
    one, other = naive_bpe(by_merging(small)), naive_bpe(fewer)
    generator = random.Random(5)
    for _ in range(3000):
        text = bytes(generator.choices(b"abab\xe6\x97\xa5\xe6\x9c\xac\xe4the", k=generator.randint(1, 24)))
        assert one.encode(text) == other.encode(text)


def test_rank_file_drops_merges(naive_bpe):
    model = MODELS["ranked"]
    assert len(order_merges(model, derive_entries(model)).pairs) < len(model.merges)


def test_merges_that_do_not_join_their_parts_are_refused():
    model = made["model"]([*made["BYTES"], b"ab"], [(97, 98, 256)], [0])
    bad = dataclasses.replace(model, tokens=(*model.tokens[:256], b"xy"))
    with pytest.raises(DefinitionError, match=r"merge 0 makes b'xy' \(id 256\) of b'a' and b'b'"):
        derive_entries(bad)


def test_entries_with_a_byte_that_has_no_id_are_not_reachable():
    model = made["model"]([*made["BYTES"], b"a\xffb", b"ab"], [(97, 98, 257)], [0], missing=[0xFF])
    reachable = derive_entries(model).reachable
    assert (reachable[0xFF], reachable[256], reachable[257]) == (False, False, True)


# ---------------------------------------------------------------------- orders


def test_ids_in_rank_order_are_order_ids(gpt2):
    order = order_merges(gpt2, derive_entries(gpt2))
    assert order.to_id is None
    assert (order.pairs == gpt2.merges).all()


def test_other_ids_are_mapped():
    model = MODELS["shuffled"]
    order = order_merges(model, derive_entries(model))
    assert order.to_id is not None
    assert (np.diff(order.pairs[:, 2]) > 0).all()
    assert (order.to_id[order.pairs] == model.merges).all()
    assert (order.to_id[order.of[model.byte_ids]] == model.byte_ids).all()


def test_two_results_at_one_rank_are_refused():
    model = made["model"]([*made["BYTES"], b"ab", b"cd"], [(97, 98, 256), (99, 100, 257)], [4, 4])
    with pytest.raises(DefinitionError, match="ids 256 and 257 are both made at rank 4"):
        order_merges(model, derive_entries(model))


# ---------------------------------------------------------------------- layouts


@given(st.sets(st.tuples(st.integers(0, 40), st.integers(0, 300)), min_size=1))
def test_displaced_rows_do_not_meet(pairs):
    row, column = np.array(sorted(pairs, key=hash), dtype=np.int64).T
    bases = displace_rows(row, column)
    assert (bases >= 0).all()
    assert len(np.unique(bases[row] + column)) == len(pairs)


def test_pairs_lie_at_their_place(small):
    order = order_merges(small, derive_entries(small))
    table = build_pair_table(order)
    shift = 5 + table.base_bits
    mask = (1 << table.id_bits) - 1
    found = 0
    for place, entry in enumerate(table.entries.tolist()):
        left = entry >> (shift + table.id_bits) & mask
        if left == mask:
            continue
        found += 1
        right = place - int(table.bases[left - 1]) - 1
        merged = (entry >> shift & mask) - 1
        assert [left - 1, right, merged] in order.pairs.tolist()
        assert entry >> 5 & ((1 << table.base_bits) - 1) == table.bases[merged]
    assert found == len(order.pairs)


def test_vocabularies_that_do_not_fit_are_refused():
    order = MergeOrder(np.array([[0, 1, 2]]), np.full(256, -1), 1 << 30, None)
    with pytest.raises(DefinitionError, match="64 are compiled"):
        build_pair_table(order)


def walk(trie: double_array.Trie, word: bytes) -> int | None:
    offset, unit = trie.root, 0
    for at, byte in enumerate(word):
        unit = int(trie.units[offset + byte])
        if unit & 0x1FF != byte:
            return None
        if unit & double_array.LEAF:
            return unit >> double_array.PAYLOAD_SHIFT if at == len(word) - 1 else None
        offset = unit >> double_array.PAYLOAD_SHIFT
    if not unit & double_array.ENTRY:
        return None
    return int(trie.units[offset + double_array.VALUE_LABEL]) >> double_array.PAYLOAD_SHIFT


@given(
    st.sets(st.binary(min_size=1, max_size=6), max_size=60), st.lists(st.binary(min_size=1, max_size=7), max_size=20)
)
def test_trie_holds_its_words_and_no_others(words, others):
    values = {word: number for number, word in enumerate(sorted(words))}
    trie = build_trie(values)
    for word in (*words, *others, *(word[:-1] for word in words), *(word + b"\0" for word in words)):
        if word:
            assert walk(trie, word) == values.get(word)
    assert trie.longest == max(map(len, words), default=0)


def test_trie_of_all_bytes_and_pairs():
    values = {bytes(word): number for number, word in enumerate(itertools.product(range(256), repeat=2))}
    values |= {bytes([byte]): 70000 + byte for byte in range(256)}
    trie = build_trie(values)
    assert all(walk(trie, word) == value for word, value in values.items())


def test_trie_of_gpt2_is_compact(gpt2):
    trie = build_trie({token: number for number, token in enumerate(gpt2.tokens)})
    assert trie.nodes == 98036
    assert trie.units.nbytes < 560_000


@given(st.sets(st.integers(0, 2**64 - 1), max_size=400))
def test_perfect_hash_gives_every_key_its_own_place(keys):
    hashed = build_perfect_hash(np.array(sorted(keys), dtype=np.uint64))
    assert len(np.unique(hashed.places)) == len(keys)
    assert (hashed.places < 1 << hashed.place_bits).all()


def test_perfect_hash_of_equal_keys_is_refused():
    with pytest.raises(ValueError, match="equal keys"):
        build_perfect_hash(np.array([3, 3], dtype=np.uint64))


def test_common_words_are_in_their_home_bucket(gpt2):
    words = {token: number for number, token in enumerate(gpt2.tokens) if len(token) <= 16}
    table = build_word_table(words)
    assert table.count == len(words)
    hashes = hash16(*word_keys(list(words)))
    homes = (hashes >> np.uint64(32)) * np.uint64(table.home) >> np.uint64(32)
    ids = np.stack([table.buckets[:, 6] & 0xFFFFFFFF, table.buckets[:, 6] >> 32, table.buckets[:, 7] & 0xFFFFFFFF])
    at_home = (ids[:, homes.astype(np.int64)] == list(words.values())).any(axis=0)
    assert (~at_home).sum() == table.away < 0.16 * len(words)
    assert (~at_home[:10000]).sum() < 100


def test_a_bit_for_each_word(gpt2):
    words = {token: number for number, token in enumerate(gpt2.tokens) if len(token) <= 16}
    table = build_word_table(words)
    shift = np.uint64(64 - (len(table.shorter).bit_length() - 1))
    assert table.shorter[hash16(*word_keys(list(words))) >> shift].all()
    others = [token + b"#" for token in words if len(token) < 16 and token + b"#" not in words]
    assert table.shorter[hash16(*word_keys(others)) >> shift].mean() < 0.13


def test_no_words():
    table = build_word_table({})
    assert (table.count, table.home, table.shorter.any()) == (0, 1, False)


# ---------------------------------------------------------------------- safe cuts


@pytest.mark.parametrize(
    ("token", "parts"),
    [
        ("日本".encode(), (b"", "日本", b"")),
        ("日本".encode()[1:], ("日".encode()[1:], "本", b"")),
        ("日本".encode()[:-1], (b"", "日", "本".encode()[:-1])),
        ("日".encode()[1:2], ("日".encode()[1:2], "", b"")),
        ("日".encode()[:1], (b"", "", "日".encode()[:1])),
        ("a👍".encode()[:-1], (b"", "a", "👍".encode()[:-1])),
        ("日本".encode()[1:-1], ("日".encode()[1:], "", "本".encode()[:-1])),
        (b"\xc0", None),
        (b"a\xff", None),
        (b"\x80\x80\x80\x80", None),
        (b"\xe6a", None),
        ("\u00e9".encode() + b"\xed\xa0\x80", None),
    ],
)
def test_tokens_split_into_characters_and_fragments(token, parts):
    assert split_characters(token) == parts


def lies_across(token: bytes, left: bytes, right: bytes) -> bool:
    """Some text around "left right" has this token across the point between the two."""
    if split_characters(token) is None:
        return False
    return any(
        (token[:cut].endswith(left) or left.endswith(token[:cut]))
        and (token[cut:].startswith(right) or right.startswith(token[cut:]))
        for cut in range(1, len(token))
    )


def test_cut_pairs_are_those_that_entries_lie_across():
    model = MODELS["ranked"]
    reachable = derive_entries(model).reachable
    cuts = find_safe_cuts(model, reachable)
    tokens = [token for token, is_made in zip(model.tokens, reachable, strict=True) if token and is_made]
    characters = ["a", "b", "c", *"日本語中国人", "é", "👍"]
    kept = set(cuts.pairs) | set(cuts.fragments)
    for left, right in itertools.product([c.encode() for c in characters], repeat=2):
        if len(left) == len(right) == 1:
            found = bool(cuts.ascii[left[0], right[0]])
        else:
            suffixes = [left[i:] for i in range(len(left))]
            prefixes = [right[: i + 1] for i in range(len(right))]
            found = any(pair in kept for pair in itertools.product(suffixes, prefixes))
        assert found == any(lies_across(token, left, right) for token in tokens), (left, right)


def test_entries_that_merging_never_makes_join_nothing():
    model = made["model"]([*made["BYTES"], b"ab", b"xyz"], [(97, 98, 256)], [0])
    cuts = find_safe_cuts(model, derive_entries(model).reachable)
    assert cuts.ascii[ord("a"), ord("b")]
    assert not cuts.ascii[ord("x"), ord("y")]


def test_no_cuts_where_entries_depend_on_their_place_in_the_word():
    model = made["model"](made["BYTES"], [], [])
    with_suffix = dataclasses.replace(model, affixes=np.full(256, ENDS, np.uint8), marks=ENDS)
    assert find_safe_cuts(model, derive_entries(model).reachable).usable
    assert not find_safe_cuts(with_suffix, derive_entries(with_suffix).reachable).usable


# ---------------------------------------------------------------------- all of it


def test_facts_of_gpt2(gpt2):
    tables, facts = build_vocabulary_tables(gpt2, derive_entries(gpt2))
    assert (facts.entries, facts.max_id, facts.unreachable) == (50257, 50256, 1)
    assert (facts.merges, facts.live_merges, facts.ids_in_rank_order) == (50000, 50000, True)
    assert (facts.words, facts.long_words, facts.longest) == (50183, 72, 128)
    assert facts.merge_table_bytes < 1_300_000
    assert "50,183 words" in str(facts)
    assert len({table.name for table in tables.tables}) == len(tables.tables)


def test_tables_do_not_depend_on_chance(small):
    first, second = (build_vocabulary_tables(small, derive_entries(small))[0] for _ in range(2))
    assert first.constants == second.constants
    assert all((a.data == b.data).all() for a, b in zip(first.tables, second.tables, strict=True))
