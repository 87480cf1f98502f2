"""The C side of the Unigram model gives the ids of the reference, in linear time, and reads and writes nothing it should not."""

from __future__ import annotations

import lzma
import random
import runpy
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.vocabulary.unigram_tables import build_unigram_tables
from gigatok_runtime.sentencepiece import MARK

sys.path.insert(0, str(Path(__file__).parent))
import unigram_models as models

Unigram = runpy.run_path(str(Path(__file__).with_name("unigram_harness.py")))["Unigram"]
SHARED = Path(__file__).parents[2] / "shared"
REAL = [
    *((name, "json") for name in ("t5_base", "xlm_roberta", "pegasus")),
    *((name, "model") for name in ("albert", "t5_base", "jurassic2", "sp_unigram_en", "sp_unigram_ja", "seqio_test")),
]
CORPORA = sorted(path.name.split(".")[0] for path in (SHARED / "corpora").glob("*.txt.xz"))


def model_of(name: str, kind: str) -> tuple[UnigramModel, models.Encode]:
    data = lzma.decompress((SHARED / "models" / name / f"tokenizer.{kind}.xz").read_bytes())
    return models.from_tokenizers(data.decode(), respelled=True) if kind == "json" else models.from_sentencepiece(data)


@pytest.mark.parametrize(("name", "kind"), REAL)
def test_real_models_on_every_corpus(name: str, kind: str) -> None:
    """Words, lines, and stretches of 20,000 bytes, each as one piece."""
    model, encode = model_of(name, kind)
    native = Unigram(model)
    for corpus in CORPORA:
        with lzma.open(SHARED / "corpora" / f"{corpus}.txt.xz") as file:
            text = file.read(60_000).decode("utf-8", "ignore").replace(MARK, "").replace("\0", "")
        pieces = [" " + word for word in text.split()]
        pieces += [line for line in text.split("\n") if line]
        pieces += [text[at : at + 20_000] for at in range(0, len(text), 20_000)]
        ids = native.encode([piece.encode() for piece in pieces])
        wrong = [piece for piece, got in zip(pieces, ids, strict=True) if got != encode(piece)]
        assert not wrong, (corpus, wrong[:3])


def random_pieces(seed: int) -> tuple[UnigramModel, models.Encode, list[str], list[bytes]]:
    rng = random.Random(seed)
    if seed % 2:
        text, letters = models.random_tokenizers(rng)
        model, encode = models.from_tokenizers(text)
    else:
        data, letters = models.random_sentencepiece(rng)
        model, encode = models.from_sentencepiece(data)
    texts = models.random_texts(rng, letters, 100)
    texts += ["".join(rng.choice(letters) for _ in range(size)) for size in (63, 64, 65, 500, 5000)]
    respelled = len(model.space) > 1
    return model, encode, texts, [(text.replace(MARK, " ") if respelled else text).encode() for text in texts]


@pytest.mark.parametrize("seed", range(60))
def test_random_models(seed: int) -> None:
    model, encode, texts, pieces = random_pieces(seed)
    if len(model.space) > 1 and b" " not in model.matched and min(model.byte_ids[list(model.space)]) >= 0:
        with pytest.raises(DefinitionError, match="the mark '▁' is no entry"):
            build_unigram_tables(model)
        return
    ids = Unigram(model).encode(pieces)
    assert [text for text, got in zip(texts, ids, strict=True) if got != encode(text)] == []


@pytest.mark.parametrize("seed", [1, 3, 4, 6])
def test_no_sanitizer_complains(seed: int) -> None:
    model, _, _, pieces = random_pieces(seed)
    rng = random.Random(seed)
    broken = [bytes(rng.choice(b"ab\x80\xc3\xa9\xe4\xb8\xf0\x9f\xff ") for _ in range(size)) for size in range(1, 80)]
    cut = [piece[:end] for piece in pieces[:40] for end in (1, 2, 3, len(piece) - 1) if 0 < end < len(piece)]
    native = Unigram(model)
    everything = [b"", *pieces, *broken, *cut]
    assert native.encode_sanitized(everything) == native.encode(everything)


def test_without_unk_id() -> None:
    """Text is refused where some way to read it has an unknown character and nothing better is known yet."""
    vocab = [["a", -1.0], ["b", -1.0], ["abc", -2.0], ["de", -1.0]]
    model, encode = models.from_tokenizers(models.tokenizer_json({"unk_id": None, "vocab": vocab}))
    texts = ["ab", "", "abx", "abc", "de"]
    ids = Unigram(model).encode([text.encode() for text in texts])
    assert ids == [[0, 1], [], None, [2], None]
    for text, got in zip(texts, ids, strict=True):
        if got is None:
            with pytest.raises(Exception, match="`unk_id` is missing"):
                encode(text)
            with pytest.raises(ValueError, match="is no entry"):
                models.encoder(model).encode(text.encode())
        else:
            assert models.encoder(model).encode(text.encode()) == encode(text) == got


@pytest.mark.parametrize("letter", ["a", " ", "中", "\u0378", "ab", " the"])
def test_ten_megabytes_without_a_boundary(letter: str) -> None:
    model, encode = model_of("xlm_roberta", "json")
    native = Unigram(model)
    piece = letter * (10_000_000 // len(letter.encode()))
    short = letter * (10_000 // len(letter.encode()))
    begin = time.perf_counter()
    (ids,) = native.encode([piece.encode()])
    taken = time.perf_counter() - begin
    assert taken < 10
    (few,) = native.encode([short.encode()])
    assert few == encode(short)
    assert ids is not None
    assert abs(len(ids) - 1000 * len(few)) <= 1000


def test_what_does_not_fit_is_refused() -> None:
    nothing = np.full(256, -1, np.int32)
    with pytest.raises(DefinitionError, match="2048 bytes"):
        build_unigram_tables(UnigramModel((b"a" * 2048,), np.zeros(1), -10.0, 0, nothing, "tokenizers"))
    build_unigram_tables(UnigramModel((b"a" * 2047,), np.zeros(1), -10.0, 0, nothing, "tokenizers"))
