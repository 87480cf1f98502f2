"""Writing the str that `decode` returns: kinds that change on the way, pieces, ill-formed bytes; on the real module of gpt2.

The right text is that of CPython's decoder over the joined bytes, whose U+FFFD are those of the reference.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)

PIECE = 1 << 14  # PYGT_PIECE_BYTES
BLOCKS = [
    "a",
    "hello world ",
    "é",
    "ÿ",
    "Ā",
    "日",
    "\uffff",
    "👍",
    "x" * 500,
    "éé " * 90,
    "日本語" * 70,
    "👍a" * 60,
    " " * 3000,
]


@pytest.fixture(scope="module", params=["avx512", "avx2", "neon", "swar"])
def gpt2(request: pytest.FixtureRequest, folder: Path) -> Iterator[Any]:
    """Each way of writing characters, as far as the CPU has it: the best one else."""
    built = modules.build_model("gpt2", folder)
    with built.isa(request.param if request.param in built.isas else built.isas[0]):
        yield built.module


def byte_ids(module: Any) -> list[int]:
    return [module.tokenizer.token_to_id(bytes([byte])) for byte in range(256)]


def check(module: Any, ids: Any) -> None:
    array = np.asarray(ids, np.uint32)
    data = b"".join(module.tokenizer.id_to_token(number) for number in array.tolist())
    right = data.decode("utf-8", "replace")
    text = module.decode(array)
    assert text == right
    assert sys.getsizeof(text) == sys.getsizeof("".join(right)), "not of the smallest kind"
    assert hash(text) == hash(right) and text.encode() == right.encode()
    assert module.decode_bytes(array) == data


def test_texts_around_the_ends_of_pieces(gpt2: Any) -> None:
    wide = {char: gpt2.encode(char).tolist() for char in ("é", "日", "👍", "ÿ")}
    letter = gpt2.encode("a").tolist()
    for size in (*range(PIECE - 5, PIECE + 6), *range(2 * PIECE - 3, 2 * PIECE + 4), 3 * PIECE + 1):
        check(gpt2, letter * size)
        for ids in wide.values():
            check(gpt2, letter * size + ids)
            check(gpt2, letter * (size - 3) + ids + letter * 50)
            check(gpt2, ids + letter * size + ids[:-1])


def test_kinds_that_change_on_the_way(gpt2: Any) -> None:
    rng = random.Random(3)
    for _ in range(40):
        text = "".join(rng.choice(BLOCKS) * rng.randrange(1, 40) for _ in range(rng.randrange(1, 25)))
        check(gpt2, gpt2.encode(text))
    grown = "a" * 100_000 + "é" * 50_000 + "日" * 50_000 + "👍" * 50_000 + "a" * 100_000
    check(gpt2, gpt2.encode(grown))
    check(gpt2, gpt2.encode(grown[::-1]))


def test_ill_formed_bytes_anywhere(gpt2: Any) -> None:
    ids_of = byte_ids(gpt2)
    rng = random.Random(4)
    for _ in range(60):
        data = bytearray("".join(rng.choice(BLOCKS) for _ in range(rng.randrange(1, 300))).encode())
        for _ in range(rng.randrange(4)):
            data[rng.randrange(len(data))] = rng.choice((0x80, 0xC0, 0xC3, 0xE0, 0xED, 0xF0, 0xF5, 0xFF, 0xBF))
        check(gpt2, [ids_of[byte] for byte in data[: rng.randrange(len(data) + 1)]])


def test_a_head_that_ends_a_piece_and_is_followed_by_whole_tokens(gpt2: Any) -> None:
    letter = gpt2.encode("a").tolist()
    for head in ([0xE6], [0xE6, 0x97], [0xF0, 0x9F], [0xC3]):
        broken = [byte_ids(gpt2)[byte] for byte in head]
        for before in range(PIECE - 4, PIECE + 3):
            check(gpt2, letter * before + broken + letter * 20)
            check(gpt2, gpt2.encode("é").tolist() + letter * (before - 2) + broken + letter * 2 * PIECE)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_random_ids(gpt2: Any, data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 50256), max_size=60))
    check(gpt2, ids)
    assert gpt2.decode_batch([ids, [], np.array(ids, np.uint32)]) == [gpt2.decode(ids), "", gpt2.decode(ids)]


def test_batches_and_streams(gpt2: Any) -> None:
    texts = ["", "Hello world", "日本語 👍🏽", "é" * 5000]
    ids = [gpt2.encode(text) for text in texts]
    assert gpt2.decode_batch(ids) == gpt2.tokenizer.decode_batch(ids) == texts
    assert gpt2.decode_batch(iter(ids)) == texts
    assert gpt2.decode_batch([]) == []
    end = gpt2.tokenizer.eot_token
    assert gpt2.decode_batch([[end, 64], [64]], skip_special_tokens=True) == ["a", "a"]
    with pytest.raises(ValueError, match="ids"):
        gpt2.decode_batch([[1], [-1]])
    with pytest.raises(TypeError):
        gpt2.decode_batch(3)
    stream = gpt2.tokenizer.decode_stream(skip_special_tokens=True)
    parts = [stream.step(number) for number in [*gpt2.encode(texts[2]).tolist(), end]]
    assert parts[-1] is None and None in parts[:-1]
    assert "".join(part for part in parts if part) == texts[2]


SPACES = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
CHAINS: dict[str, list[dict[str, Any]] | None] = {
    "native": [
        SPACES,
        {"type": "ByteFallback"},
        {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0},
    ],
    "python": [{"type": "ByteFallback"}, SPACES, {"type": "Fuse"}],
    "none": None,
}
EXTRA = ["▁a", "▁", "日本", "👍", "", *(f"<0x{byte:02X}>" for byte in (0xE2, 0x96, 0x81, 0xC3, 0xA9, 0x41, 0x20, 0xFF))]


@pytest.fixture(scope="module", params=[(name, engine) for name in CHAINS for engine in ("native", "regex")], ids=str)
def other_decoder(request: pytest.FixtureRequest, toy_definition: Any, folder: Path) -> tuple[Any, Any]:
    """A module of a small definition with another decoder, and the reference."""
    name, engine = request.param
    chain = CHAINS[name]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    made = toy_definition(
        {
            "decoder": None if chain is None else {"type": "Sequence", "decoders": chain},
            "added_tokens": [{"id": 300, "content": "<s>", "special": True, **flags}],
        }
    )
    made["model"]["vocab"] |= {content: 257 + number for number, content in enumerate(EXTRA)}
    built = modules.build_toy(f"decoder_{name}", made, folder)
    assert built.module.manifest["decoder_engine"] == ("python" if name == "python" else "native")
    module = built.module._module
    chosen = module.engine if engine == "native" else module._open_regex_engine()
    return chosen, pytest.importorskip("tokenizers").Tokenizer.from_str(json.dumps(made))


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=st.lists(st.integers(250, 275) | st.integers(0, 280), max_size=20), skip=st.booleans())
def test_other_decoders_in_whole_modules(other_decoder: Any, ids: list[int], skip: bool) -> None:
    ours, theirs = other_decoder
    right = theirs.decode(ids, skip_special_tokens=skip)
    assert ours.decode(ids, skip) == right
    assert ours.decode(np.array(ids, np.uint32), skip_special_tokens=skip) == right
    assert ours.decode_batch([ids, ids], skip) == [right, right]
    long = ids * 900
    assert ours.decode(long, skip) == theirs.decode(long, skip_special_tokens=skip)


def test_raw_bytes_of_other_decoders(other_decoder: Any) -> None:
    ours, _ = other_decoder
    euro = [257 + EXTRA.index(f"<0x{byte:02X}>") for byte in (0xE2, 0x96)]
    if ours.decode([33, 34]) == '! "':  # no decoder: the tokens themselves
        assert ours.decode_bytes(euro) == b"<0xE2> <0x96>"
    else:
        assert ours.decode_bytes(euro) == b"\xe2\x96"
        assert ours.decode(euro) == "\ufffd\ufffd"
