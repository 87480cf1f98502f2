"""The Unigram model: read, and encoded in plain Python, as the reference has it."""

from __future__ import annotations

import lzma
import math
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.unigram_model import read_unigram_model, read_unigram_vocab
from gigatok_compile.errors import DefinitionError
from gigatok_runtime.sentencepiece import MARK
from gigatok_runtime.unigram import UnigramEncoder
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import sentencepiece_models as made
import unigram_models as models

SHARED = Path(__file__).parents[2] / "shared"
MARKED = [("t5_base", "json"), ("xlm_roberta", "json"), ("pegasus", "json")]
PIECES = [
    (name, "model") for name in ("albert", "t5_base", "jurassic2", "sp_unigram_en", "sp_unigram_ja", "seqio_test")
]
VOCAB = [["<unk>", 0.0], ["a", -1.0], ["b", -1], ["ab", -2.0]]


def words(name: str, count: int) -> list[str]:
    """Words of a corpus, each with the space before it; and longer stretches."""
    with lzma.open(SHARED / "corpora" / f"{name}.txt.xz") as file:
        text = file.read(200_000).decode("utf-8", "ignore")
    found = [" " + word for word in text.split()[:count]]
    return found + [" ".join(text[at : at + 300].split()) for at in range(0, 30_000, 300)]


@pytest.mark.parametrize(("name", "kind"), MARKED + PIECES)
def test_words_of_real_models(name: str, kind: str) -> None:
    data = lzma.decompress((SHARED / "models" / name / f"tokenizer.{kind}.xz").read_bytes())
    if kind == "json":
        model, encode = models.from_tokenizers(data.decode(), respelled=True)
    else:
        model, encode = models.from_sentencepiece(data)
    texts = [text for corpus in ("english", "zh", "ru", "emoji", "code") for text in words(corpus, 1500)]
    texts = [text.replace(MARK, "") for text in texts]
    assert len(texts) > 5000
    assert models.differences(model, encode, texts, lambda text: text) == []


@pytest.mark.parametrize("seed", range(120))
def test_random_models_of_tokenizers(seed: int) -> None:
    rng = random.Random(seed)
    text, letters = models.random_tokenizers(rng)
    model, encode = models.from_tokenizers(text)
    assert models.differences(model, encode, models.random_texts(rng, letters, 40), lambda text: text) == []


@pytest.mark.parametrize("seed", range(120))
def test_random_models_of_sentencepiece(seed: int) -> None:
    rng = random.Random(seed)
    data, letters = models.random_sentencepiece(rng)
    model, encode = models.from_sentencepiece(data)
    texts = models.random_texts(rng, letters, 40)
    assert models.differences(model, encode, texts, lambda t: t.replace(MARK, " ") if model.space != b" " else t) == []


def test_one_unit_in_the_last_place_decides_a_tie() -> None:
    """Negative control: with scores read as Python reads them some text has other ids."""
    rng = random.Random(5)
    for _ in range(20_000):
        a, b = (f"-{rng.uniform(1, 14):.{rng.randint(14, 16)}f}" for _ in range(2))
        exact = float(a) + float(b)
        text = models.tokenizer_json({"unk_id": 0, "vocab": "V"})
        text = text.replace('"V"', f'[["<unk>",0.0],["a",{a}],["b",{b}],["ab",{exact!r}]]')
        model, encode = models.from_tokenizers(text)
        plain = UnigramEncoder(
            model.tokens, [0.0, float(a), float(b), exact], model.unk_score, 0, model.byte_ids.tolist(), "tokenizers"
        )
        expected = encode("ab")
        assert models.encoder(model).encode(b"ab") == expected
        if plain.encode(b"ab") != expected:
            return
    raise AssertionError("no such pair was found")


def read(changes: dict[str, Any]) -> Any:
    values = {"type": "Unigram", "unk_id": 0, "vocab": VOCAB, "byte_fallback": False} | changes
    fields = Fields.of({key: value for key, value in values.items() if value != "absent"}, "model")
    return read_unigram_model(fields, read_unigram_vocab(fields))


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"vocab": {"a": 1}}, "model.vocab", "expected a list, found an object"),
        ({"vocab": "absent"}, "model.vocab", "missing"),
        ({"vocab": []}, "model.vocab", "no entries"),
        ({"vocab": [*VOCAB, ["c"]]}, "model.vocab[4]", "found a list of 1"),
        ({"vocab": [*VOCAB, ["c", 1, 2]]}, "model.vocab[4]", "found a list of 3"),
        ({"vocab": [*VOCAB, "c"]}, "model.vocab[4]", "found a string"),
        ({"vocab": [*VOCAB, [1, 1.0]]}, "model.vocab[4][0]", "found the number 1"),
        ({"vocab": [*VOCAB, ["c", "1"]]}, "model.vocab[4][1]", "found a string"),
        ({"vocab": [*VOCAB, ["c", True]]}, "model.vocab[4][1]", "found true or false"),
        ({"vocab": [*VOCAB, ["c", -1e31]]}, "model.vocab[4][1]", "-1e+31"),
        ({"unk_id": 4}, "model.unk_id", "not an id of the 4 entries"),
        ({"unk_id": -1}, "model.unk_id", "whole number"),
        ({"unk_id": 1.0}, "model.unk_id", "whole number"),
        ({"unk_id": True}, "model.unk_id", "whole number"),
        ({"byte_fallback": None}, "model.byte_fallback", "null"),
        ({"byte_fallback": 1}, "model.byte_fallback", "number 1"),
    ],
)
def test_what_the_reference_refuses_is_refused(changes: dict[str, Any], where: str, message: str) -> None:
    with pytest.raises(DefinitionError, match=message.replace("+", r"\+")) as error:
        read(changes)
    assert error.value.where == where
    values = {"unk_id": 0, "vocab": VOCAB, "byte_fallback": False} | changes
    if changes.get("vocab") in ([], [*VOCAB, ["c", -1e31]]):  # loads with unk_id null, or gives ids we do not vouch for
        return
    with pytest.raises(Exception, match="line 1 column"):
        Tokenizer.from_str(models.tokenizer_json({key: value for key, value in values.items() if value != "absent"}))


def test_without_unk_id_unknown_text_is_an_error() -> None:
    for absent in (None, "absent"):
        model, warnings = read({"unk_id": absent})
        assert model.unk_id == -1 and "model.unk_id" in warnings[0]
    encoder = models.encoder(model)
    assert encoder.encode(b"ab") == [3] and encoder.encode(b"") == []
    with pytest.raises(ValueError, match="'x' is no entry"):
        encoder.encode(b"abx")
    _, reference = models.from_tokenizers(models.tokenizer_json({"unk_id": None, "vocab": VOCAB}))
    with pytest.raises(Exception, match="`unk_id` is missing"):
        reference("abx")


@pytest.mark.parametrize(
    ("score", "kind"),
    [
        *((score, kind) for score in (math.nan, math.inf, -math.inf) for kind in range(1, 6) if kind != 2),
        (-2e30, proto.NORMAL),
    ],
)
def test_scores_of_pieces_that_are_refused(score: float, kind: int) -> None:
    data = made.model_bytes([*made.META, ("a", -1.0, 1), ("b", score, kind)], made.IDENTITY, {"model_type": 1})
    with pytest.raises(DefinitionError) as error:
        models.from_sentencepiece(data)
    assert error.value.where == "pieces[4].score"
    if math.isfinite(score):  # loads, but sums could end at minus infinity
        return
    with pytest.raises(RuntimeError, match=r"score is NaN or Inf\."):
        made.reference(data)
