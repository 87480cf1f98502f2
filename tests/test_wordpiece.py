"""WordPiece and WordLevel: every engine of a module against tokenizers, on words made to be hard for them."""

from __future__ import annotations

import itertools
import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import WordPieceModel
from gigatok_compile.vocabulary.wordpiece_tables import build_wordpiece_tables
from gigatok_runtime.wordpiece import WordPieceEncoder
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.insert(0, str(modules.ROOT))
try:
    from benchmarks import verify_models
finally:
    sys.path.remove(str(modules.ROOT))

WHITESPACE = {"type": "WhitespaceSplit"}
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}


def file_of(model: dict[str, Any], pre_tokenizer: Any = WHITESPACE) -> dict[str, Any]:
    parts = {"normalizer": None, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None}
    return {"version": "1.0", "added_tokens": [], **parts, "model": model}


def wordpiece(entries: list[str], prefix: str = "##", most: int = 100, **others: Any) -> dict[str, Any]:
    vocab = {entry: number for number, entry in enumerate(["U", *entries])}
    fields = {"unk_token": "U", "continuing_subword_prefix": prefix, "max_input_chars_per_word": most, "vocab": vocab}
    return {"type": "WordPiece", **fields, **others}


def wordlevel(entries: list[str], **others: Any) -> dict[str, Any]:
    vocab = {entry: number for number, entry in enumerate(["U", *entries])}
    return {"type": "WordLevel", "unk_token": "U", "vocab": vocab, **others}


MARKED = ["▁a", "▁ab", "##b", "a", "b", "##▁", "▁", "##é"]
SMALL = {
    # an entry that a longer one hides; an entry that is the prefix itself; entries that hold the prefix twice
    "plain": file_of(
        wordpiece(["a", "ab", "abc", "##b", "##bc", "##c", "##", "##d##b", "####", "é", "##é", "##éa", "x"])
    ),
    "no_prefix": file_of(wordpiece(["a", "b", "aa", "bab", "é"], prefix="")),
    "none_continues": file_of(wordpiece(["a", "ab", "é"])),
    "prefix_is_leaf": file_of(wordpiece(["a", "ab", "##"])),
    "short": file_of(wordpiece(["a", "b", "aab", "##a", "##b", "##é", "éaab"], most=3)),
    "nothing_fits": file_of(wordpiece(["a", "b"], most=0)),
    "levels": file_of(wordlevel(["a", "ab", "é", "##b", "a" * 16, "b" * 17, "ab" * 40])),
    "whole": file_of(wordlevel(["a", "ab", "a b", " "]), None),
    "metaspace": file_of(wordpiece(MARKED), METASPACE),
    "metaspace_levels": file_of(wordlevel(MARKED), METASPACE),
    "gaps": file_of({**wordpiece([]), "vocab": {"U": 7, "a": 3, "##b": 300_000, "##a": 9, "é": 8}}),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_vocabularies_give_the_ids_of_the_reference(name: str, folder: Path, tmp_path: Path) -> None:
    """All words of up to five of the characters that matter; then random lines of them, and words where caches change."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(SMALL[name]), encoding="utf-8")
    reference = Tokenizer.from_file(str(path))
    generator = random.Random(name)
    chars = "abcdé#"
    words = ["".join(word) for length in range(1, 6) for word in itertools.product(chars, repeat=length)]
    lines = [" ".join(generator.choices(words, k=generator.randint(0, 40))) for _ in range(200)]
    longer = [
        unit * times for unit in ("a", "ab", "é", "b", "#a", "aé") for times in (8, 9, 16, 17, 40, 99, 100, 101, 3000)
    ]
    texts = [*words, *lines, *longer, "▁a", "a▁b ▁", "", " ", "\x00", "a" * 100_000, " ".join(longer)]
    right = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    for isa, engine in modules.engines(f"wp_{name}", path, folder).each():
        ids, offsets = engine.encode_batch(texts, 2)
        found = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
        assert [(t, f, r) for t, f, r in zip(texts, found, right, strict=True) if f != r][:3] == [], isa
        assert [engine.count(text) for text in texts[-10:]] == list(map(len, right[-10:]))


@pytest.mark.parametrize("name", ["bert_base_uncased", "bert_chinese", "minilm_l6_v2"])
def test_models_give_the_ids_and_texts_of_the_reference(name: str, folder: Path, shared: Any) -> None:
    path = modules.plain_file(name, shared.root / "models" / name / "tokenizer.json.xz", folder)
    built = modules.build(name, path, folder)
    reference = verify_models.reference_of(name, path)
    row = modules.compare_on_corpora(built, reference, folder, None if modules.FULL else 12_000)
    assert (row["different"], row["different_text"]) == (0, 0), row


def test_random_vocabularies_in_plain_python() -> None:
    """The oracle itself against the reference, on vocabularies of random pieces."""
    generator = random.Random(5)
    for _ in range(300):
        pieces = {
            "".join(generator.choices("ab#é", k=generator.randint(1, 4))) for _ in range(generator.randint(1, 12))
        }
        entries = sorted({generator.choice(("", "##")) + piece for piece in pieces})
        model = wordpiece(entries, prefix=generator.choice(("##", "", "#")), most=generator.choice((3, 100)))
        reference = Tokenizer.from_str(json.dumps(file_of(model, None)))
        tokens = [entry.encode() for entry in model["vocab"]]
        encoder = WordPieceEncoder(tokens, model["continuing_subword_prefix"], 0, model["max_input_chars_per_word"])
        for _ in range(60):
            word = "".join(generator.choices("ab#é", k=generator.randint(1, 9)))
            assert encoder.encode(word.encode()) == reference.encode(word).ids, (model, word)


def test_a_word_that_is_too_long_is_not_looked_up_whole() -> None:
    _, facts = build_wordpiece_tables(WordPieceModel((b"[UNK]", b"abc", b"ab", "éé".encode(), b"##b"), b"##", 0, 2))
    assert facts.words == 2 and facts.continuing == 1 and facts.entries == 5


@pytest.mark.parametrize(
    ("model", "where", "told"),
    [
        (wordpiece(["a"], unk_token="Q"), "model.unk_token", "'Q' is not in the vocabulary"),
        (wordlevel(["a"], unk_token="Q"), "model.unk_token", "'Q' is not in the vocabulary"),
        (wordpiece(["a"], most=-1), "model.max_input_chars_per_word", "whole number"),
        (wordpiece(["a"], max_input_chars_per_word=2.0), "model.max_input_chars_per_word", "whole number"),
        (wordpiece(["a"], max_input_chars_per_word=True), "model.max_input_chars_per_word", "whole number"),
        (wordpiece(["a"], continuing_subword_prefix=None), "model.continuing_subword_prefix", "null"),
        (wordpiece(["a"], unk_token=None), "model.unk_token", "null"),
        (wordlevel(["a"], vocab={}), "model.vocab", "no entries"),
    ],
)
def test_what_is_refused_names_its_field(model: dict[str, Any], where: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file_of(model)))
    with pytest.raises(DefinitionError) as caught:
        read_definition(str(path))
    assert f"{where}: " in str(caught.value) and told in str(caught.value)


@pytest.mark.parametrize("key", ["unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"])
def test_a_missing_field_is_refused_as_the_reference_does(key: str, tmp_path: Path) -> None:
    model = wordpiece(["a"])
    del model[key]
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(file_of(model)))
    with pytest.raises(DefinitionError) as caught:
        read_definition(str(path))
    assert f"model.{key}" in str(caught.value)
    with pytest.raises(Exception, match=key):
        Tokenizer.from_file(str(path))


def test_words_behind_the_byte_map_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": True, "trim_offsets": True}
    path.write_text(json.dumps(file_of(wordpiece(["a"]), byte_level)))
    with pytest.raises(DefinitionError, match="ByteLevel pre-tokenizer"):
        read_definition(str(path))


def test_a_file_without_a_type_is_told_by_its_fields(tmp_path: Path) -> None:
    for model in (wordpiece(["a", "##b"]), wordlevel(["a"])):
        del model["type"]
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(file_of(model)))
        found = read_definition(str(path)).model
        assert isinstance(found, WordPieceModel)
        assert found.prefix == (b"##" if "continuing_subword_prefix" in model else None)
