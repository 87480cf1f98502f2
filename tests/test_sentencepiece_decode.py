"""Decoding of SentencePiece `.model` files: tables, plain Python and sentencepiece 0.2.3 give the same text."""

from __future__ import annotations

import itertools
import random
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile import driver
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_runtime.decoding import DecodeStream
from gigatok_runtime.sentencepiece import SentencePieceDecoder

pytest.importorskip("sentencepiece")
sys.path.insert(0, str(Path(__file__).parent))
import sentencepiece_models as models

sys.path.remove(str(Path(__file__).parent))
harness = runpy.run_path(str(Path(__file__).with_name("decoder_harness.py")))

BPE_MODELS = ("mistral_v1", "mistral_v3", "mistral_v7", "sp_bpe_test")
STRIPS: dict[str, dict[str, bool]] = {
    "none": {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    "first": {"add_dummy_prefix": True, "remove_extra_whitespaces": False},
    "every": {"add_dummy_prefix": False, "remove_extra_whitespaces": True},
    "every, prefix": {"add_dummy_prefix": True, "remove_extra_whitespaces": True},
}
"""Flags of a normalizer; the name begins with the strip that they mean."""
OUTSIDE = 0xFFFFFFFF
STEPS = (1, 2, 3, 5, 17)


class Model:
    """A `.model` in C, in Python and in the reference; `check` compares them."""

    def __init__(self, data: bytes) -> None:
        self.reference = models.reference(data)
        self.definition = models.read(data)
        decoding = self.definition.sentencepiece
        assert decoding is not None
        self.size = len(decoding.shown)
        self.python = SentencePieceDecoder(decoding.shown, decoding.kinds.tolist(), decoding.strip)
        self.hidden = [token.id for token in self.definition.added_tokens if token.special]
        self.tables = harness["Compiled"](driver.plan_definition_decoder(self.definition))

    def right(self, ids: Sequence[int], skip: bool = False) -> str:
        """The reference's text. It raises for ids outside the vocabulary, which are passed over here."""
        kept = [number for number in ids if number < self.size and not (skip and number in self.hidden)]
        return str(self.reference.decode(kept))

    def check(self, ids: Sequence[int], *, steps: Sequence[int] = ()) -> None:
        for skip in (False, True):
            hidden = self.hidden if skip else ()
            right = self.right(ids, skip)
            assert self.python.decode(ids, hidden) == right, (ids, skip)
            raw = self.python.decode_bytes(ids, hidden)
            for step in (1 << 20, *steps):
                assert self.tables.compiled(ids, skip, step=step).decode() == right, (ids, skip, step)
                assert self.tables.compiled(ids, skip, raw=True, step=step) == raw, (ids, skip, step)


@pytest.fixture(scope="module", params=BPE_MODELS)
def model(request: pytest.FixtureRequest, shared: Any) -> Model:
    return Model(shared.model_bytes(request.param))


def made(flags: str, *, byte_fallback: bool = True) -> Model:
    """A model with everything that is told from something else at the beginning of a text."""
    texts = ["\u2581", "\u2581\u2581", "\u2581a", "a", "\u2581\u2581b", "a\u2581", "\u2581日本", "\u2581" + "long" * 5]
    pieces: list[models.Piece] = [*models.META, *((text, -1.0, proto.NORMAL) for text in texts)]
    pieces += [("  ", 0.0, proto.USER_DEFINED), (" a", 0.0, proto.USER_DEFINED), ("\u2581u", 0.0, proto.USER_DEFINED)]
    pieces += [("\u2581c", 0.0, proto.CONTROL), ("\u2581n", -1.0, proto.UNUSED)]
    return Model(
        models.model_bytes(
            [*pieces, *(models.BYTES if byte_fallback else [])],
            {**STRIPS[flags], "escape_whitespaces": True},
            {"byte_fallback": byte_fallback},
        )
    )


# ------------------------------------------------------------------ real models


@pytest.mark.parametrize("name", ["mistral_v3", "sp_bpe_test"])
def test_every_id_alone_in_pairs_and_in_threes(name: str, shared: Any) -> None:
    model = Model(shared.model_bytes(name))
    rng = random.Random(name)
    groups = [[number] for number in range(model.size)]
    for size in (2, 3):
        order = rng.sample(range(model.size), model.size)
        groups += [order[at : at + size] for at in range(0, model.size, size)]
    for ids, right in zip(groups, model.reference.decode(groups), strict=True):
        assert model.tables.compiled(ids).decode() == right == model.python.decode(ids), ids
        assert model.tables.compiled(ids, raw=True) == model.python.decode_bytes(ids), ids


def test_all_ids_in_any_order(model: Model) -> None:
    order = list(range(model.size))
    model.check(order, steps=(1, 16, 17, 1000))
    random.Random(1).shuffle(order)
    model.check(order, steps=(1, 16, 17, 1000))


def test_random_ids(model: Model) -> None:
    rng = random.Random(2)
    low = range(min(model.size, 1100))  # control ids and bytes
    for _ in range(400):
        ids = rng.choices(rng.choice([low, range(model.size)]), k=rng.randrange(14))
        if rng.random() < 0.3:
            ids.insert(rng.randrange(len(ids) + 1), rng.choice([model.size, model.size + 5000, OUTSIDE]))
        model.check(ids, steps=[rng.choice(STEPS)])


def test_corpora(model: Model, shared: Any) -> None:
    for corpus in shared.corpus_names():
        text = shared.corpus(corpus)[:15_000].decode("utf-8", "ignore")
        model.check(model.reference.encode(text), steps=(100,))
        for line in text.split("\n")[:20]:
            model.check(model.reference.encode(line), steps=(7,))


# ------------------------------------------------------------------ the beginning of a text


@pytest.mark.parametrize("flags", STRIPS)
def test_the_marks_that_are_dropped(flags: str) -> None:
    """All lists of up to three ids, and random longer ones: marks alone, unknown, control, spaces that are no marks, bytes."""
    model = made(flags)
    assert model.definition.sentencepiece is not None
    assert model.definition.sentencepiece.strip == flags.partition(",")[0]
    first_byte = model.size - 256
    ids = [*range(first_byte), first_byte + ord(" "), first_byte + 0xE2, model.size]
    for size in range(4):
        for some in itertools.product(ids, repeat=size):
            model.check(some)
    rng = random.Random(flags)
    marks = [number for number in ids if number < model.size and model.python.shown[number] in (b" ", b"")]
    for _ in range(1500):
        begin = rng.choices([*marks, model.size], k=rng.randrange(8))
        model.check(begin + rng.choices(ids, k=rng.randrange(6)), steps=[rng.choice(STEPS)])


@pytest.mark.parametrize("flags", STRIPS)
def test_a_model_without_byte_pieces(flags: str) -> None:
    model = made(flags, byte_fallback=False)
    for size in range(4):
        for some in itertools.product(range(model.size + 1), repeat=size):
            model.check(some)


def test_made_up_models() -> None:
    seen = set()
    for seed in range(12):
        rng = random.Random(seed + 70)
        data, alphabet = models.random_model(rng)
        model = Model(data)
        seen.add(model.python.strip)
        for _ in range(150):
            model.check(rng.choices(range(model.size + 1), k=rng.randrange(9)), steps=[rng.choice(STEPS)])
            text = "".join(rng.choices(alphabet, k=rng.randrange(20)))
            model.check(model.reference.encode(text), steps=[rng.choice(STEPS)])
    assert seen == {"none", "first", "every"}


# ------------------------------------------------------------------ runs of bytes

EDGES = bytes.fromhex("41 7f 80 8f 90 9f a0 bf c0 c1 c2 df e0 e1 ec ed ee ef f0 f1 f3 f4 f5 ff")
"""Of every kind of byte that UTF-8 tells apart, the first and the last one."""


@pytest.mark.parametrize("flags", ["none", "every"])
def test_runs_of_bytes(flags: str) -> None:
    model = made(flags)
    first_byte = model.size - 256
    runs: list[list[int]] = []
    for size in (1, 2, 3):
        runs += [[first_byte + byte for byte in run] for run in itertools.product(EDGES, repeat=size)]
    for lead, second in itertools.product(range(0xE0, 0xF6), range(0x7F, 0xC1)):
        runs += [[first_byte + byte for byte in (lead, second, 0x80, 0xBF, 0x41)]]
    for ids, right in zip(runs, model.reference.decode(runs), strict=True):
        assert model.tables.compiled(ids).decode() == right == model.python.decode(ids), ids
        assert model.tables.compiled(ids, raw=True) == bytes(number - first_byte for number in ids)


def test_what_stands_between_bytes() -> None:
    """Ids that are left out do not end a run; ids that show nothing, and texts, do."""
    model = made("first")
    first_byte = model.size - 256
    between = [*range(first_byte), model.size, OUTSIDE]
    euro = [first_byte + byte for byte in "€".encode()]
    for number in between:
        model.check([euro[0], number, *euro[1:]], steps=STEPS)
        model.check([*euro[:2], number, number, euro[2], *euro], steps=STEPS)
    assert model.right([euro[0], 1, *euro[1:]]) == "\ufffd" * 3
    assert model.right([euro[0], 1, *euro[1:]], skip=True) == model.right([euro[0], OUTSIDE, *euro[1:]]) == "€"
    rng = random.Random(3)
    whole = [first_byte + byte for byte in "é€👍\ufffd".encode()]
    for _ in range(3000):
        ids: list[int] = []
        for _ in range(rng.randrange(1, 5)):
            at = rng.randrange(len(whole))
            ids += whole[at : at + rng.randrange(1, 9)]
            ids += rng.choices([first_byte + byte for byte in EDGES], k=rng.choice([0, 0, 1, 2]))
            ids += rng.choices(between, k=rng.choice([0, 0, 1, 2]))
        model.check(ids, steps=[rng.choice(STEPS)])


def test_long_stretches_that_are_left_out_within_a_character() -> None:
    model = made("first")
    first_byte = model.size - 256
    ids = [first_byte + 0xF0, *[OUTSIDE] * 50_000] * 4
    ids += [first_byte + 0x9F, first_byte + 0x91, *[OUTSIDE] * 50_000, first_byte + 0x8D, first_byte + 0xE2]
    assert model.tables.compiled(ids).decode() == model.python.decode(ids) == "\ufffd\ufffd\ufffd👍\ufffd"


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("flags", STRIPS)
def test_nothing_outside_the_buffers_is_read_or_written(flags: str) -> None:
    model = made(flags)
    rng = random.Random(flags)
    first_byte = model.size - 256
    records, right = [], []
    for _ in range(400):
        ids = rng.choices(range(model.size + 2), k=rng.randrange(30))
        if rng.random() < 0.5:
            ids = rng.choices([*range(first_byte), *(first_byte + byte for byte in EDGES)], k=rng.randrange(12))
        skip, raw = rng.random() < 0.5, rng.random() < 0.5
        options = bytes([rng.choice([0, 1, 5, 16, 40]), skip, raw, rng.choice([0, 1, 20, 200])])
        records.append(options + b"".join(number.to_bytes(4, "little") for number in ids))
        hidden = model.hidden if skip else ()
        right.append(model.python.decode_bytes(ids, hidden) if raw else model.python.decode(ids, hidden).encode())
    assert model.tables.sanitized(records) == right


# ------------------------------------------------------------------ in a module


@pytest.mark.parametrize("name", ["sp_bpe_test", "mistral_v3"])
def test_in_a_module(name: str, shared: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of many pieces of output, batches, streams; nothing is left to Python."""
    data = shared.model_bytes(name)
    file = tmp_path / f"{name}_text.model"
    file.write_bytes(data)
    result = driver.compile_definition(str(file), out_dir=tmp_path, verify_seconds=2)
    assert "agree with the regex engine" in result.verified
    monkeypatch.syspath_prepend(str(tmp_path))
    module = __import__(f"{name}_text")
    assert module.manifest["decoder_engine"] == "native"
    model = Model(data)
    assert str(model.tables.plan).startswith("decoder: native")

    def check(ids: list[int], skips: Sequence[bool] = (False, True)) -> None:
        for skip in skips:
            right = model.right(ids, skip)
            assert module.decode(ids, skip) == right
            assert module.decode(np.array(ids, np.uint32), skip_special_tokens=skip) == right
            assert module.decode_batch([ids, [], ids], skip) == [right, "", right]
            raw = model.python.decode_bytes(ids, model.hidden if skip else ())
            assert module.decode_bytes(ids, skip) == raw

    rng = random.Random(4)
    for corpus in shared.corpus_names():
        ids = model.reference.encode(shared.corpus(corpus)[:60_000].decode("utf-8", "ignore"))
        check(ids, [False])
        for _ in range(20):
            ids[rng.randrange(len(ids))] = rng.randrange(model.size)
        check(ids)
    byte_ids = [number for number, kind in enumerate(model.python.kinds) if kind == 0]
    letter = model.reference.encode("a")[-1:]
    for length in range((1 << 14) - 4, (1 << 14) + 1):  # characters that lie across the ends of pieces of output
        for char in ("é", "€", "👍"):
            run = [byte_ids[byte] for byte in char.encode()] if byte_ids else model.reference.encode(char)
            check(letter * length + run + letter * 40 + run[:-1], [False])
    check(rng.choices(byte_ids or range(model.size), k=60_000))
    check(rng.choices(range(model.size), k=60_000))
    for _ in range(30):
        ids = rng.choices(rng.choice([range(model.size), byte_ids or [0], model.reference.encode("x y é 日本")]), k=40)
        stream, expected = module.tokenizer.decode_stream(), DecodeStream(lambda ids, _: model.python.decode(ids))
        assert [stream.step(number) for number in ids] == [expected.step(number) for number in ids]
