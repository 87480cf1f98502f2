"""Numbers of a JSON file are what the reference reads, to the last bit."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path

import pytest
from gigatok_compile.definition.json_number import read_float, read_integer
from gigatok_compile.definition.json_text import parse_json
from gigatok_compile.errors import DefinitionError
from tokenizers import Tokenizer

MODELS = Path(__file__).parents[2] / "shared" / "models"
EMPTY = dict.fromkeys(["truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"])


def reference(texts: list[str]) -> list[float | None]:
    """What tokenizers reads, written back by it; None where it refuses."""
    definition = json.dumps({"version": "1.0", **EMPTY, "added_tokens": [], "model": {"type": "Unigram", "vocab": "V"}})
    try:
        pairs = ",".join(f'["{number}",{text}]' for number, text in enumerate(texts))
        written = Tokenizer.from_str(definition.replace('"V"', f"[{pairs}]")).to_str()
    except Exception:  # noqa: BLE001 - tokenizers raises nothing more special
        return [None] if len(texts) == 1 else [value for text in texts for value in reference([text])]
    return [float(score) for _, score in json.loads(written)["model"]["vocab"]]


def ours(text: str) -> float | None:
    try:
        return read_float(text) if any(c in text for c in ".eE") else read_integer(int(text))
    except DefinitionError:
        return None


def random_number(rng: random.Random) -> str:
    def digits(most: int) -> str:
        return "".join(rng.choice("0123456789") for _ in range(rng.randint(1, most)))

    def whole(most: int) -> str:
        return str(int(digits(most)))

    limit = "18446744073709551615"
    number = [
        lambda: repr(abs(rng.gauss(0, 10))),
        lambda: f"{whole(30)}.{digits(40)}",
        lambda: whole(30) + rng.choice("eE") + rng.choice(["", "+", "-"]) + str(rng.randrange(330)),
        lambda: "0." + "0" * rng.randrange(400) + digits(25),
        lambda: whole(320),
        lambda: limit[: rng.randint(18, 20)] + rng.choice("0569") * rng.randrange(3) + "." + digits(4),
        lambda: f"{whole(1)}.{digits(17)}e-{rng.randrange(280, 400)}",
        lambda: rng.choice(["0", "1", "0.0", "5"]) + "e" + rng.choice(["", "-"]) + rng.choice(["2147483647", "2147483648", "99999999999", "309", "308"]),
    ]  # fmt: skip
    return rng.choice(["", "-"]) + rng.choice(number)()


def test_random_numbers_are_what_the_reference_reads() -> None:
    rng = random.Random(1)
    texts = [random_number(rng) for _ in range(6000)]
    expected = [value for text in texts for value in reference([text])]
    wrong = [(t, e, ours(t)) for t, e in zip(texts, expected, strict=True) if e != ours(t)]
    assert not wrong, wrong[:5]
    assert sum(e is None for e in expected) > 50
    # The negative control: Python's own reading is another one.
    assert sum(e is not None and float(t) != e for t, e in zip(texts, expected, strict=True)) > 300


@pytest.mark.parametrize(("name", "inexact"), [("t5_base", 0), ("pegasus", 25_530), ("xlm_roberta", 65_856)])
def test_scores_of_a_model_are_those_of_the_reference(name: str, inexact: int) -> None:
    data = lzma.decompress((MODELS / name / "tokenizer.json.xz").read_bytes())
    expected = json.loads(Tokenizer.from_buffer(data).to_str())["model"]["vocab"]
    read = parse_json(data)["model"]["vocab"]
    assert [[text, float(score)] for text, score in read] == expected
    nearest = json.loads(data)["model"]["vocab"]
    assert sum(a != b for (_, a), (_, b) in zip(read, nearest, strict=True)) == inexact


def test_a_number_out_of_range_is_refused() -> None:
    with pytest.raises(DefinitionError, match="1e400 is out of range"):
        parse_json(b'{"a": 1e400}')
    assert parse_json(b'{"a": 1e-400, "b": 0e400}') == {"a": 0.0, "b": 0.0}
