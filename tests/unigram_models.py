"""Unigram models for tests: real ones and made-up ones, with the reference that says what is right."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.json_text import parse_json
from gigatok_compile.definition.sentencepiece_model import read_sentencepiece_model
from gigatok_compile.definition.unigram_model import read_unigram_model, read_unigram_vocab
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_runtime.sentencepiece import MARK
from gigatok_runtime.unigram import UnigramEncoder
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import sentencepiece_models as made

Encode = Callable[[str], list[int]]


def encoder(model: UnigramModel) -> UnigramEncoder:
    return UnigramEncoder(
        model.tokens,
        model.scores.tolist(),
        model.unk_score,
        model.unk_id,
        model.byte_ids.tolist(),
        model.engine,
        model.space,
    )


def tokenizer_json(model: dict[str, Any]) -> str:
    """A definition that is only a model."""
    steps = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"])
    return json.dumps({"version": "1.0", **steps, "added_tokens": [], "model": {"type": "Unigram", **model}})


def from_tokenizers(text: str, respelled: bool = False) -> tuple[UnigramModel, Encode]:
    """A model of a tokenizer.json's text, and the reference with nothing around it.

    respelled: entries have spaces for marks, and so have the texts."""
    fields = Fields.of(parse_json(text.encode())["model"], "model")
    entry = (lambda piece: None if " " in piece else piece.replace(MARK, " ")) if respelled else (lambda piece: piece)
    model, _ = read_unigram_model(fields, read_unigram_vocab(fields), entry, MARK if respelled else "")
    reference = Tokenizer(Tokenizer.from_str(text).model)

    def encode(piece: str) -> list[int]:
        return list(reference.encode(piece.replace(" ", MARK) if respelled else piece, add_special_tokens=False).ids)

    return model, encode


def from_sentencepiece(data: bytes) -> tuple[UnigramModel, Encode]:
    """A model of a `.model`, and the reference with an identity normalizer. Texts are respelled."""
    parsed = proto.parse_model(data)
    assert parsed is not None
    parsed.normalizer_spec.precompiled_charsmap = b""
    parsed.normalizer_spec.add_dummy_prefix = parsed.normalizer_spec.remove_extra_whitespaces = False
    data = parsed.SerializeToString()
    model = read_sentencepiece_model(data, name="made", sha256="").model
    assert isinstance(model, UnigramModel)
    reference = made.reference(data)
    return model, lambda text: list(reference.EncodeAsIds(text))


def random_tokenizers(rng: random.Random) -> tuple[str, str]:
    """A small tokenizer.json with ties, repeats and everything else, and the alphabet to make texts of."""
    letters = rng.sample("abcdeAé中😀▁ .", rng.randint(2, 8))
    entries = ["<unk>", *(letter for letter in letters if rng.random() < 0.7)]
    for _ in range(rng.randint(0, 30)):
        entries.append("".join(rng.choice(letters) for _ in range(rng.randint(1, 4))))
    if rng.random() < 0.2:
        entries += ["", "a<unk>", "<unk><unk>", "é<u"]
    if rng.random() < 0.4:
        entries += [f"<0x{byte:02X}>" for byte in range(256) if rng.random() < 1.0 or rng.random() < 0.98]
    missing = rng.random() < 0.3
    entries = [entry for entry in entries if not (missing and entry == "<0xA9>")]
    rng.shuffle(entries)
    if "<unk>" not in entries:
        entries.append("<unk>")
    scores: list[Any] = [-1.0, -2.0, -2, -3.0, -0.1, -0.2, -0.30000000000000004, 0.0, -1.1, -2.2, -3.3000000000000003]
    if rng.random() < 0.2:
        scores += [25.0, 50, -0.1]
    vocab = [[entry, rng.choice(scores)] for entry in entries]
    model = {"unk_id": entries.index("<unk>"), "vocab": vocab, "byte_fallback": rng.random() < 0.5}
    return tokenizer_json(model), "".join(letters) + "x"


def random_sentencepiece(rng: random.Random) -> tuple[bytes, str]:
    """The same of `.model` files."""
    letters = rng.sample("abcdeAé中😀▁ .", rng.randint(2, 8))
    texts = dict.fromkeys(letter for letter in letters if rng.random() < 0.7)
    for _ in range(rng.randint(1, 30)):
        texts["".join(rng.choice(letters) for _ in range(rng.randint(1, 4)))] = None
    texts["a"] = None
    scores = [-1.0, -2.0, -3.0, -0.1, -0.2, -0.3, 0.0, -1.1, -2.2, -3.3, -16777216.0]
    if rng.random() < 0.2:
        scores += [25.0, 3.7]
    weights = rng.choice([[1, 0, 0], [20, 1, 2], [5, 2, 2]])
    kinds = [rng.choices([proto.NORMAL, proto.UNUSED, proto.USER_DEFINED], weights)[0] for _ in texts]
    if rng.random() < 0.05:
        kinds = [proto.USER_DEFINED for _ in texts]
    pieces: list[made.Piece] = [
        *made.META,
        *((text, rng.choice(scores), kind) for text, kind in zip(texts, kinds, strict=True)),
    ]
    byte_fallback = rng.random() < 0.4
    if byte_fallback:
        pieces += made.BYTES
    normalizer = made.IDENTITY | {"escape_whitespaces": rng.random() < 0.7}
    trainer = {"byte_fallback": byte_fallback, "model_type": proto.UNIGRAM}
    return made.model_bytes(pieces, normalizer, trainer), "".join(letters) + "x"


def random_texts(rng: random.Random, letters: str, count: int) -> list[str]:
    texts = ["".join(rng.choice(letters) for _ in range(rng.randint(1, 30))) for _ in range(count)]
    return (
        texts
        + [letter * rng.randint(2, 40) for letter in letters]
        + ["x<unk>a", "<unk>", "<unk><unk>", "a<unk>", "<0x41>"]
    )


def differences(model: UnigramModel, encode: Encode, texts: Sequence[str], spell: Callable[[str], str]) -> list[Any]:
    """Texts whose ids differ, with both. spell: a text as the model sees it."""
    oracle = encoder(model)
    found = []
    for text in texts:
        expected, ids = encode(text), oracle.encode(spell(text).encode())
        if ids != expected:
            found.append((text, ids, expected))
    return found
