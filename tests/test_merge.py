"""templates/merge.h: one word, many words, long words, against the textbook."""

from __future__ import annotations

import dataclasses
import random
import runpy
import time
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary import pair_table
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_compile.vocabulary.tables import build_vocabulary_tables

harness: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_harness.py")))
made: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("vocabulary_models.py")))
MODELS: dict[str, BpeModel] = made["made_up"]()
SCALAR = ["-U__SSE2__"]
HOWS = ("one", "many", "long")


def compiled(model: BpeModel, flags: tuple[str, ...] = ()) -> Any:
    tables, _ = build_vocabulary_tables(model, derive_entries(model))
    return harness["Vocabulary"](tables, ignore_merges=model.ignore_merges, flags=flags)


@pytest.fixture(scope="module")
def gpt2_model() -> BpeModel:
    return read_definition("gpt2").model


@pytest.fixture(scope="module")
def gpt2(gpt2_model: BpeModel) -> Any:
    return compiled(gpt2_model)


def words_of(text: str, generator: random.Random, count: int, longest: int) -> list[bytes]:
    """Pieces of a text of 1 to `longest` characters, short ones more often."""
    found = []
    for _ in range(count):
        at = generator.randrange(len(text))
        found.append(text[at : at + min(longest, 1 + int(generator.expovariate(0.12)))].encode())
    return found


def made_up_words(generator: random.Random) -> list[bytes]:
    alphabets = ["ab", "a", "aab", "the or", "日本語中国人", "привет", "é👍🏽…a"]
    words = []
    for alphabet in alphabets:
        words += ["".join(generator.choices(alphabet, k=n)).encode() for n in range(1, 45) for _ in range(4)]
    return words + [bytes(generator.choices(range(256), k=generator.randint(1, 40))) for _ in range(100)]


def check(model: BpeModel, vocabulary: Any, words: list[bytes], naive_bpe: Any) -> None:
    bpe = naive_bpe(dataclasses.replace(model, ignore_merges=False))
    expected = [bpe.encode(word) for word in words]
    for how in HOWS:
        for word, ids, right in zip(words, vocabulary.merge(words, how), expected, strict=True):
            assert ids == right, (how, word)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("flags", [(), tuple(SCALAR)], ids=["vector", "scalar"])
def test_made_up_vocabularies(name, flags, naive_bpe):
    words = made_up_words(random.Random(1))
    check(MODELS[name], compiled(MODELS[name], flags), words, naive_bpe)


def test_tables_too_wide_for_the_marker(monkeypatch, naive_bpe):
    """With more than 61 bits in an entry, keys are compared as numbers."""
    monkeypatch.setattr(pair_table, "MARKER_BIT", -1)
    words = made_up_words(random.Random(2))
    check(MODELS["ranked"], compiled(MODELS["ranked"]), words, naive_bpe)


def test_gpt2_on_text(gpt2, gpt2_model, shared, naive_bpe):
    generator = random.Random(3)
    words = []
    for text in made["samples"](shared.root).values():
        words += words_of(text, generator, 250, 60)
    check(gpt2_model, gpt2, words, naive_bpe)


def test_gpt2_on_made_up_words(gpt2, gpt2_model, naive_bpe):
    check(gpt2_model, gpt2, made_up_words(random.Random(4)), naive_bpe)


def test_gpt2_words_whose_local_minima_must_not_merge_at_once(gpt2, gpt2_model, naive_bpe):
    check(
        gpt2_model,
        gpt2,
        [b"ooot", b"omma", b"aaa", b"aaaa", b"aaaaa", b" indivisible", b"=" * 31, b"=" * 32],
        naive_bpe,
    )


def test_many_and_single_agree_on_any_number_of_words(gpt2):
    generator = random.Random(5)
    letters = b" etaoinshrdlucmfwyp"
    words = [bytes(generator.choices(letters, k=generator.randint(1, 36))) for _ in range(1100)]
    expected = gpt2.merge(words)
    assert gpt2.merge(words, "many") == expected
    for count in (1, 2, 3, 5, 11, 12, 13, 24, 25, 255, 256, 257, 511, 513):
        assert gpt2.merge(words[:count], "many") == expected[:count]


# ---------------------------------------------------------------------- odd bytes, odd vocabularies


@pytest.mark.parametrize("missing", [b"\t", b"\x0b\xff", bytes(range(128, 256))])
def test_bytes_without_an_id_are_dropped(missing, naive_bpe):
    """As the reference does with characters it does not know: the neighbours touch, and may merge."""
    whole = MODELS["trained"]
    keep = [not set(token) & set(missing) for token in whole.tokens]
    rows = [row for row in whole.merges.tolist() if all(keep[number] for number in row)]
    model = made["model"](whole.tokens, rows, range(len(rows)), missing=missing)
    vocabulary = compiled(model)
    generator = random.Random(8)
    words = ["".join(generator.choices("the\t\x0bonéy", k=n)).encode() for n in range(1, 40) for _ in range(5)]
    bpe = naive_bpe(model)
    expected = [bpe.encode(bytes(byte for byte in word if byte not in missing)) for word in words]
    for how in HOWS:
        assert vocabulary.merge(words, how) == expected


# ---------------------------------------------------------------------- long words


LONG = {
    "a": b"a" * 1_000_000,
    "ab": b"ab" * 500_000,
    "spaces": b" " * 1_000_000,
    "one digit": b"7" * 1_000_000,
    "digits": bytes(random.Random(1).choices(b"0123456789", k=1_000_000)),
    "one character": "中".encode() * 333_333,
    "base64": bytes(random.Random(2).choices(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", k=1_000_000)),
    "bytes": random.Random(3).randbytes(1_000_000),
}


@pytest.mark.parametrize("name", LONG)
def test_a_megabyte_takes_well_under_a_second(name, gpt2, gpt2_model):
    began = time.process_time()
    (ids,) = gpt2.merge([LONG[name]])
    assert time.process_time() - began < 1.5  # 0.03 to 0.25 s on the machine of docs/merge.md
    assert b"".join(gpt2_model.tokens[number] for number in ids) == LONG[name]


@pytest.mark.parametrize("length", [33, 63, 64, 65, 511, 512, 513, 700])
def test_long_words(length, gpt2, gpt2_model, naive_bpe):
    generator = random.Random(length)
    words = [data[:length] for data in LONG.values()]
    words += [bytes(generator.choices(b" etaoin", k=length)), ("中国人民日报" * length).encode()[:length]]
    bpe = naive_bpe(gpt2_model)
    expected = [bpe.encode(word) for word in words]
    assert gpt2.merge(words) == expected
    assert gpt2.merge(words, "many") == expected


# ---------------------------------------------------------------------- memory


@pytest.mark.parametrize("name", ["ranked", "shuffled"])
def test_no_access_outside_under_sanitizers(name, naive_bpe):
    model = MODELS[name]
    words = [b"", *made_up_words(random.Random(9)), b"a" * 5000]
    # gt_next_cut and gt_safe_cut take valid UTF-8
    words = [word for word in words if word.decode(errors="replace").encode() == word]
    answers = compiled(model).merge_sanitized(words)
    bpe = naive_bpe(dataclasses.replace(model, ignore_merges=False))
    for word, ids in zip(words[:-1], answers, strict=False):
        assert ids == bpe.encode(word)
