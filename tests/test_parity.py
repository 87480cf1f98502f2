"""Ids of built modules on real text: equal to those of the reference engine on every corpus, for each instruction set,
at 1, 2 and 8 threads, whole and document by document.

Subject: the generated module, as a user calls it. Oracle: tokenizers 0.23.3 for a tokenizer.json, tiktoken 0.14.0 for a
rank file; its ids are kept in pytest's cache. Each corpus is cut to some hundred kilobytes, unless GIGATOK_FULL=1.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import modules

THREADS = (1, 2, 8)
SOME = 300_000  # bytes of each corpus
MORE = 1_700_000  # of some: a text is cut over threads from a megabyte on
LONG = {"english", "zh", "code", "unique"}
SEPARATOR = "\n<|endoftext|>\n"


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """Where the reference's ids are kept. Those of whole corpora are half a gigabyte: not at all."""
    return None if modules.FULL else modules.cache_folder(request.config, tmp_path_factory)


def check_ids(built: modules.Built, reference: modules.Reference, got: Any, expected: Any, what: str) -> None:
    if not np.array_equal(got, expected):
        pytest.fail(f"{what}: {modules.first_difference(got, expected, reference.engine.decode)}")


@pytest.mark.parametrize("corpus", modules.corpus_names())
@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_ids_of_real_text_are_those_of_the_reference(
    model: str, corpus: str, folder: Path, answers: Path | None, capsys: Any
) -> None:
    built = modules.build_model(model, folder)
    reference = modules.reference(model, modules.definition_file(model, folder))
    size = None if modules.FULL else MORE if corpus in LONG else SOME
    whole, documents = modules.first_documents(modules.corpus(corpus, folder), size)
    digest = hashlib.sha256(whole.encode()).hexdigest()[:12]
    key = f"{model}-{reference.digest}-{corpus}-{digest}"
    (whole_ids,) = modules.remembered(answers, f"{key}-whole", lambda: (reference.encode(whole),))
    ids, offsets = modules.remembered(answers, f"{key}-documents", lambda: reference.flat(documents))
    options = reference.options
    compared = 0
    for isa in built.isas:
        with built.isa(isa):
            built.lib.gt_release_thread()  # nothing learnt yet: words are merged
            for threads in THREADS:
                got = built.module.encode(whole, threads=threads, **options)
                check_ids(built, reference, got, whole_ids, f"whole, {isa}, {threads} threads")
                batch = built.module.encode_batch(documents, threads, **options)
                check_ids(built, reference, batch.ids, ids, f"documents, {isa}, {threads} threads")
                assert np.array_equal(batch.offsets, offsets)
                compared += len(got) + len(batch.ids)
            assert built.module.count(whole, **options) == len(whole_ids)
            # known words now, and one document a call
            again = [built.module.encode(document, **options) for document in documents[:300]]
            check_ids(built, reference, np.concatenate(again), ids[: offsets[len(again)]], f"one by one, {isa}")
    if modules.FULL:
        with capsys.disabled():
            size = len(whole.encode())
            print(f"\n{model} {corpus}: {size} bytes, {len(whole_ids)} + {len(ids)} ids, {compared} compared")


@pytest.mark.parametrize("corpus", ["code", "mixed", "zh"])
@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_files_are_encoded_like_their_documents(model: str, corpus: str, folder: Path, tmp_path: Path) -> None:
    """encode_file: mapped, cut at a separator, what follows the last one left out when it is empty."""
    if corpus not in modules.corpus_names():
        corpus = "english"
    built = modules.build_model(model, folder)
    reference = modules.reference(model, modules.definition_file(model, folder))
    whole, _ = modules.first_documents(modules.corpus(corpus, folder), 200_000)
    path = tmp_path / "corpus.txt"
    path.write_bytes(whole.encode())
    parts = whole.split(SEPARATOR)
    expected, offsets = reference.flat(parts[:-1] if parts[-1] == "" else parts)
    for threads in (None, 1, 3):
        ids, at = built.module.encode_file(path, SEPARATOR, threads, **reference.options)
        check_ids(built, reference, ids, expected, f"file, {threads} threads")
        assert np.array_equal(at, offsets)
    one = built.module.encode_file(str(path), **reference.options)
    check_ids(built, reference, one.ids, reference.encode(whole), "file of one document")
    assert one.offsets.tolist() == [0, len(one.ids)]


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_decoding_gives_the_text_back(model: str, folder: Path) -> None:
    built = modules.build_model(model, folder)
    reference = modules.reference(model, modules.definition_file(model, folder))
    for corpus in modules.corpus_names():
        text, _ = modules.first_documents(modules.corpus(corpus, folder), 60_000)
        ids = built.module.encode(text, **reference.options)
        expected = reference.engine.normalizer.normalize_str(text) if model == "qwen3" else text
        assert built.module.decode(ids) == expected
        assert built.module.decode_bytes(ids) == expected.encode()
        assert built.module.decode(ids.tolist()) == expected


@pytest.mark.parametrize("model", ["r50k_base", "cl100k_base"])
def test_special_tokens_of_rank_files_in_real_text(model: str, folder: Path) -> None:
    """Every document's separator is a special token when it may be."""
    built = modules.build_model(model, folder)
    reference = modules.reference(model, modules.definition_file(model, folder))
    text, documents = modules.first_documents(modules.corpus("english", folder), 100_000)
    assert text.count("<|endoftext|>") == text.count(SEPARATOR) >= 2
    expected = reference.engine.encode(text, allowed_special="all")
    assert built.module.encode(text, special="match").tolist() == expected
    assert expected.count(reference.engine.eot_token) == text.count(SEPARATOR)
    with pytest.raises(ValueError, match=r"<\|endoftext\|>"):
        built.module.encode(text)
    assert built.module.encode(documents[0]).tolist() == reference.engine.encode(documents[0])


def shuffled_words(text: str, seed: int) -> str:
    rng = np.random.default_rng(seed)
    words = text.split(" ")
    rng.shuffle(words)
    return " ".join(words)


def mutated(text: str, rng: np.random.Generator, letters: Sequence[str]) -> str:
    """Real text with single characters changed, left out, doubled, put in, and parts repeated or turned round."""
    chars = list(text)
    for at in rng.integers(0, len(chars), len(chars) // 12).tolist():
        other = letters[int(rng.integers(len(letters)))]
        match int(rng.integers(7)):
            case 0:
                chars[at] = other
            case 1:
                chars[at] = ""
            case 2:
                chars[at] *= int(rng.integers(2, 6))
            case 3:
                chars[at] += other
            case 4:
                chars[at] = chars[at].swapcase()
            case 5:
                chars[at : at + 9] = reversed(chars[at : at + 9])
            case _:
                chars[at : at + 4] = chars[at : at + 4] * 2
    return "".join(chars)


LETTERS = [
    *"aZs'l 1.-_\n\r\t",
    "  ",
    "\u00a0",
    "\u3000",
    "é",
    "e\u0301",
    "中",
    "😀",
    "\u200d",
    "ſ",
    "\u0345",
    "가",
    "ᄀ",
    "\x00",
]


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_ids_of_mutated_real_text(model: str, folder: Path) -> None:
    """Slices of every corpus, changed at a twelfth of their characters."""
    built = modules.build_model(model, folder)
    reference = modules.reference(model, modules.definition_file(model, folder))
    rng = np.random.default_rng(None if modules.FULL else 11)
    texts = []
    for corpus in modules.corpus_names():
        whole = modules.corpus(corpus, folder)
        for _ in range(12):
            start = int(rng.integers(0, max(1, len(whole) - 2000)))
            part = whole[start : start + 1200]
            texts += [mutated(part, rng, LETTERS), shuffled_words(part, 3), part[::-1]]
    ids, offsets = reference.flat(texts)
    for isa in built.isas:
        with built.isa(isa):
            got = built.module.encode_batch(texts, 1, **reference.options)
            check_ids(built, reference, got.ids, ids, isa)
            assert np.array_equal(got.offsets, offsets)
