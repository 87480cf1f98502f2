"""Whole modules of Unigram tokenizer.json files: every engine against tokenizers, on texts made to be hard for them."""

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
from gigatok_compile.ir.definition import MetaspaceStep
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import modules
import unigram_models

sys.path.insert(0, str(modules.ROOT))
try:
    from benchmarks import verify_models
finally:
    sys.path.remove(str(modules.ROOT))

MARK = "▁"
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def vocabulary(*entries: str, unk: str = "<unk>", **others: Any) -> dict[str, Any]:
    """Scores that are close to each other and often sum to the same."""
    scores = [-0.1, -0.2, -0.30000000000000004, -1.0, -0.7]
    vocab = [[unk, 0.0], *([entry, scores[number % len(scores)]] for number, entry in enumerate(entries))]
    return {"type": "Unigram", "unk_id": 0, "vocab": vocab, **others}


def file_of(model: dict[str, Any], pre_tokenizer: Any, normalizer: Any = None, added: Any = ()) -> dict[str, Any]:
    parts = {"normalizer": normalizer, "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None}
    return {"version": "1.0", "added_tokens": list(added), **parts, "model": model}


def metaspace(scheme: str = "always", split: bool = True) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split}


def behind(*steps: dict[str, Any], scheme: str = "always", split: bool = True) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": [*steps, metaspace(scheme, split)]}


WHITESPACE = {"type": "WhitespaceSplit"}
PUNCTUATION = {"type": "Punctuation", "behavior": "Isolated"}
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
ENTRIES = ["▁", "a", "b", "é", "▁a", "▁ab", "ab", "ba", "abé", "▁é", "a▁b", "▁▁", ".", "▁.", "中", "▁abab", "<unk>a"]
SPACES = [entry.replace(MARK, " ") for entry in ENTRIES]
SINGLE = ["▁", "a", "b", ".", "é"]  # with a mark put before it, "a" is two ids
SMALL = {
    "whole": file_of(vocabulary(*SPACES), None),
    "replaced": file_of(vocabulary(*ENTRIES), None, REPLACE),
    "marks": file_of(vocabulary(*ENTRIES), metaspace()),
    "marks_first": file_of(vocabulary(*ENTRIES), metaspace("first")),
    "marks_never": file_of(vocabulary(*ENTRIES), metaspace("never", split=False)),
    "spaces_in_entries": file_of(vocabulary(*ENTRIES, "a b", " "), metaspace()),
    "t5": file_of(vocabulary(*ENTRIES), behind(WHITESPACE)),
    "t5_nosplit": file_of(vocabulary(*ENTRIES), behind(WHITESPACE, split=False)),
    "t5_never": file_of(vocabulary(*ENTRIES), behind(WHITESPACE, scheme="never")),
    "t5_bytes": file_of(vocabulary(*ENTRIES, *BYTES, byte_fallback=True), behind(WHITESPACE)),
    "t5_no_mark": file_of(vocabulary("a", "b", "ab", "▁ab", "é"), behind(WHITESPACE)),
    "two_ids_a_byte": file_of(vocabulary(*SINGLE), behind(WHITESPACE, PUNCTUATION)),
    "spaces_in_pieces": file_of(vocabulary(*ENTRIES), behind(PUNCTUATION)),
    "spaces_in_pieces_whole": file_of(vocabulary(*ENTRIES), behind(PUNCTUATION, split=False)),
    "spaces_in_pieces_never": file_of(vocabulary(*ENTRIES), behind(PUNCTUATION, scheme="never", split=False)),
    "space_as_mark": file_of(
        vocabulary(*SPACES), {"type": "Sequence", "pretokenizers": [PUNCTUATION, {**metaspace(), "replacement": " "}]}
    ),
    "added": file_of(
        vocabulary(*ENTRIES),
        behind(WHITESPACE),
        added=[
            {
                "id": 2,
                "content": "b",
                "single_word": True,
                "lstrip": False,
                "rstrip": True,
                "normalized": False,
                "special": True,
            }
        ],
    ),
}
PLAIN = {"space_as_mark"}
"""What only the plain engine does."""


@pytest.mark.parametrize("name", SMALL)
def test_small_vocabularies_give_the_ids_of_the_reference(name: str, folder: Path, tmp_path: Path) -> None:
    """All texts of up to five of the characters that matter; then random lines, and words where caches change."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(SMALL[name]), encoding="utf-8")
    reference = Tokenizer.from_file(str(path))
    generator = random.Random(name)
    chars = "ab▁ .x"
    words = ["".join(word) for length in range(1, 6) for word in itertools.product(chars, repeat=length)]
    lines = ["".join(generator.choices("aab▁  .éx中\t\n", k=generator.randint(0, 90))) for _ in range(300)]
    units = ("a", "ab", "é", "▁", " ", ".", "a.", "aé", "a b", "▁a", "x", "ab ab.")
    longer = [unit * times for unit in units for times in (8, 9, 15, 16, 17, 40, 341, 342, 1023, 1024, 1025, 3000)]
    texts = [*words, *lines, *longer, "", "\x00", "<unk>a<unk>", "<0x41>", "a" * 100_000, ".a" * 50_000]
    right = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    for isa, engine in modules.engines(f"uni_{name}", path, folder, tier="regex" if name in PLAIN else "native").each():
        ids, offsets = engine.encode_batch(texts, 2)
        found = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
        assert [(t, f, r) for t, f, r in zip(texts, found, right, strict=True) if f != r][:3] == [], isa
        assert [engine.count(text) for text in texts[-10:]] == list(map(len, right[-10:]))


def test_a_mark_before_every_piece_can_be_an_id_more_than_there_are_bytes(folder: Path, tmp_path: Path) -> None:
    """Room for ids is kept by bytes; a batch, a long word and many short texts each have to have enough."""
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(SMALL["two_ids_a_byte"]), encoding="utf-8")
    reference = Tokenizer.from_file(str(path))
    texts = [piece * times for piece in (".", "a.", "a b ", "b", ".x") for times in (1, 3, 60, 5000, 40_000)]
    right = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    assert max(len(ids) / len(text) for ids, text in zip(right, texts, strict=True)) == 2
    for isa, engine in modules.engines("uni_two_ids_a_byte", path, folder).each():
        for text, ids in zip(texts, right, strict=True):
            assert engine.encode(text).tolist() == ids, isa


@pytest.mark.parametrize("seed", range(12))
def test_random_vocabularies(seed: int, folder: Path, tmp_path: Path) -> None:
    generator = random.Random(seed)
    text, letters = unigram_models.random_tokenizers(generator)
    definition = json.loads(text)
    definition["pre_tokenizer"] = generator.choice(
        [
            None,
            metaspace(),
            metaspace("never"),
            behind(WHITESPACE),
            behind(WHITESPACE, PUNCTUATION),
            behind(PUNCTUATION, split=False),
        ]
    )
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(definition), encoding="utf-8")
    reference = Tokenizer.from_file(str(path))
    texts = unigram_models.random_texts(generator, letters + "  ", 200)
    right = [reference.encode(text, add_special_tokens=False).ids for text in texts]
    try:
        engines = modules.engines(f"uni_random{seed}", path, folder)
    except DefinitionError as error:
        assert "falls back to its bytes" in str(error)
        return
    for isa, engine in engines.each():
        ids, offsets = engine.encode_batch(texts, 1)
        found = [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)]
        assert [(t, f, r) for t, f, r in zip(texts, found, right, strict=True) if f != r][:3] == [], isa


@pytest.mark.parametrize("name", ["t5_base", "pegasus", "xlm_roberta"])
def test_models_give_the_ids_and_texts_of_the_reference(name: str, folder: Path, shared: Any) -> None:
    path = modules.plain_file(name, shared.root / "models" / name / "tokenizer.json.xz", folder)
    built = modules.build(name, path, folder)
    reference = verify_models.reference_of(name, path)
    row = modules.compare_on_corpora(built, reference, folder, None if modules.FULL else 12_000)
    assert (row["different"], row["different_text"]) == (0, 0), row
    manifest = built.module.tokenizer.manifest
    assert manifest["engine"] == "native" and {tier["tier"] for tier in manifest["tiers"]} == {"bitstream"}


def test_metaspace_is_left_to_the_model_only_where_it_can_do_it(tmp_path: Path) -> None:
    """Behind a step that cuts; not where it asks for the text's beginning, and not where a step comes after it."""

    def read(pre_tokenizer: Any) -> MetaspaceStep:
        path = tmp_path / "tokenizer.json"
        path.write_text(json.dumps(file_of(vocabulary(*ENTRIES), pre_tokenizer)), encoding="utf-8")
        return next(s for s in read_definition(str(path)).pre_tokenizer if isinstance(s, MetaspaceStep))

    assert read(behind(WHITESPACE)).by_piece and read(behind(WHITESPACE)).respelled
    assert read(metaspace()).respelled and not read(metaspace()).by_piece
    assert not read(behind(WHITESPACE, scheme="first")).respelled
    after = {"type": "Sequence", "pretokenizers": [WHITESPACE, metaspace(), PUNCTUATION]}
    assert not read(after).respelled
