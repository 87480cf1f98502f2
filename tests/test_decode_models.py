"""Decoding with the vocabularies and decoders of real models: tables and Python against the reference, without encoding.

The vocabulary of a definition and its decoder are enough for that, so models whose encoder does not compile are here too.
"""

from __future__ import annotations

import json
import lzma
import random
import runpy
from pathlib import Path
from typing import Any

import pytest
from gigatok_runtime.decoding import DecodeStream

tokenizers = pytest.importorskip("tokenizers")
harness = runpy.run_path(str(Path(__file__).with_name("decoder_harness.py")))

MODELS = (
    *(
        "llama2",
        "gemma1",
        "gemma3",
        "mistral_v0_1_hf",
        "moonshine",
        "claude",
        "clip",
        "deepseek_v3",
        "falcon",
        "pix2tex",
    ),
    *("gpt2", "llama3", "qwen3", "bert_base_uncased", "t5_base", "xlm_roberta", "command_r", "gpt_oss", "pegasus"),
)


class Model:
    """Our decoder and the reference's. `ids`: all that there are."""

    def __init__(self, data: bytes) -> None:
        self.engine = tokenizers.Tokenizer.from_buffer(data)
        definition = json.loads(data)
        vocab = definition["model"]["vocab"]
        if isinstance(vocab, list):
            vocab = {entry[0]: number for number, entry in enumerate(vocab)}
        words: dict[int, str] = {number: word for word, number in vocab.items()}
        special = set()
        names = {}
        for token in definition.get("added_tokens", []):
            content = token["content"]
            number = self.engine.token_to_id(content)
            if token["special"]:
                special.add(content)
            if token["normalized"] and self.engine.normalizer is not None:
                content = self.engine.normalizer.normalize_str(content)
            names[number] = content
        words |= names
        self.ids = sorted(words)
        size = max(words) + 1
        hidden = [number for number, name in names.items() if name in special]
        self.ours = harness["Decoding"](
            definition.get("decoder"), [words.get(number) for number in range(size)], hidden
        )

    def check(self, ids: list[int], *, python: bool = True) -> None:
        for skip in (False, True):
            right = self.engine.decode(ids, skip_special_tokens=skip)
            assert self.ours.compiled(ids, skip).decode("utf-8", "replace") == right
            if python:
                assert self.ours.python(ids, skip) == right
                assert self.ours.compiled(ids, skip, raw=True, step=37) == self.ours.python_bytes(ids, skip)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, shared: Any) -> Model:
    if not (shared.root / "models" / request.param).is_dir():
        pytest.fail(f"{request.param} is not in the shared folder")
    return Model(lzma.decompress((shared.root / "models" / request.param / "tokenizer.json.xz").read_bytes()))


def test_every_id_alone(model: Model) -> None:
    """In one call where the text does not depend on the place, else in many; a sample of large vocabularies."""
    assert model.ours.plan.engine == "native"
    ids = model.ids if len(model.ids) < 40_000 else random.Random(1).sample(model.ids, 40_000)
    right = model.engine.decode_batch([[number] for number in ids], skip_special_tokens=False)
    for number, text in zip(ids, right, strict=True):
        assert model.ours.compiled([number]).decode("utf-8", "replace") == text


def test_all_ids_in_any_order(model: Model) -> None:
    order = list(model.ids)
    for seed in range(2):
        model.check(order)
        random.Random(seed).shuffle(order)


def test_random_ids(model: Model) -> None:
    rng = random.Random(5)
    low = [number for number in model.ids if number < 600]  # special tokens, bytes and punctuation
    for _ in range(300):
        ids = rng.choices(rng.choice([low, model.ids]), k=rng.randrange(12))
        if rng.random() < 0.2:
            ids.insert(rng.randrange(len(ids) + 1), rng.choice([model.ids[-1] + 1, 0xFFFFFFFF]))
        model.check(ids)


def test_streams(model: Model) -> None:
    from tokenizers.decoders import DecodeStream as Theirs

    rng = random.Random(6)
    low = [number for number in model.ids if number < 600]
    for trial in range(40):
        skip = bool(trial % 2)
        ours, theirs = DecodeStream(model.ours.python, skip), Theirs(skip_special_tokens=skip)
        for _ in range(25):
            number = rng.choice(rng.choice([low, model.ids]))
            try:
                right = theirs.step(model.engine, number)
            except Exception as error:  # noqa: BLE001 - the reference has no class of its own for it
                assert "Invalid prefix" in str(error)
                break
            assert ours.step(number) == right


def test_corpora(model: Model, shared: Any) -> None:
    for name in ("english", "zh", "emoji", "code"):
        text = shared.corpus(name)[:40_000].decode(errors="ignore")
        model.check(model.engine.encode(text, add_special_tokens=True).ids)


def test_known_hard_cases(shared: Any) -> None:
    """Of faults.json, those of decoding and of streams whose model is here."""
    done = 0
    for case in shared.faults.values():
        where, call = case["model_or_config"], case["call"]
        if call["op"] not in ("decode_each", "decode_stream") or not isinstance(where, str):
            continue
        path = shared.root / "cases" / where
        model = Model(path.read_bytes() if path.exists() else shared.model_bytes(where.removeprefix("model:")))
        skip = call["skip_special_tokens"]
        if call["op"] == "decode_each":
            for ids, right in zip(case["input"], case["expected"], strict=True):
                assert model.ours.compiled(ids, skip).decode("utf-8", "replace") == right
                assert model.ours.python(ids, skip) == right
        elif case["input"]["prompt_ids"] is None:
            stream = DecodeStream(model.ours.python, skip)
            assert [stream.step(number) for number in case["input"]["ids"]] == case["expected"]
        else:
            continue
        done += 1
    assert done >= 12
