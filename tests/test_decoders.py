"""Every decoder of a tokenizer.json, in Python and as tables, gives the reference's text."""

from __future__ import annotations

import functools
import random
import runpy
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.decoder import read_decoder
from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError, PatternError
from gigatok_runtime.decoding import DecodeStream, byte_of
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("tokenizers")
harness = runpy.run_path(str(Path(__file__).with_name("decoder_harness.py")))
Decoding, reference, WORDS = harness["Decoding"], harness["reference"], harness["WORDS"]
NATIVE, PYTHON = harness["NATIVE"], harness["PYTHON"]
strip, sequence, FUSE, BYTES = harness["strip"], harness["sequence"], harness["FUSE"], harness["BYTES"]

SPECIAL = ("<s>", "</s>", "a</w>")
HIDDEN = [WORDS.index(content) for content in SPECIAL]
IDS = st.lists(
    st.integers(0, len(WORDS) + 2) | st.sampled_from([len(WORDS) + 5000, 0xFFFFFFFF]) | st.sampled_from(HIDDEN),
    max_size=40,
)
BYTE_IDS = [number for number, word in enumerate(WORDS) if word and byte_of(word) is not None]


@functools.cache
def made(name: str) -> tuple[Any, Any]:
    """Our decoder over WORDS, and the reference's."""
    decoder = {**NATIVE, **PYTHON}[name]
    return Decoding(decoder, WORDS, HIDDEN), reference(decoder, WORDS, SPECIAL)


def check(name: str, ids: list[int], steps: tuple[int, ...] = (1 << 20,)) -> None:
    ours, theirs = made(name)
    for skip in (False, True):
        right = theirs.decode(ids, skip_special_tokens=skip)
        assert ours.python(ids, skip) == right
        if name in PYTHON:
            continue
        raw = ours.python_bytes(ids, skip)
        for step in steps:
            assert ours.compiled(ids, skip, step=step).decode("utf-8", "replace") == right
            assert ours.compiled(ids, skip, raw=True, step=step) == raw


@pytest.mark.parametrize("name", [*NATIVE, *PYTHON])
def test_which_chains_have_tables(name: str) -> None:
    plan = made(name)[0].plan
    assert plan.engine == ("native" if name in NATIVE else "python")
    assert str(plan).startswith("decoder: native" if name in NATIVE else "decoder: plain Python, because")
    assert bool(plan.reason) == (name in PYTHON)


@pytest.mark.parametrize("name", [*NATIVE, *PYTHON])
def test_every_token_alone_in_pairs_and_in_threes(name: str) -> None:
    check(name, [])
    for first in range(len(WORDS)):
        check(name, [first])
    for seed in range(4):
        order = random.Random(seed).sample(range(len(WORDS)), len(WORDS))
        for at in range(0, len(order), 2):
            check(name, order[at : at + 2])
            check(name, order[at : at + 3])
        check(name, order, (1, 2, 3, 7, 16, 17, 31))


@pytest.mark.parametrize("name", [*NATIVE, *PYTHON])
@settings(max_examples=60)
@given(ids=IDS, step=st.integers(1, 70))
def test_random_ids(name: str, ids: list[int], step: int) -> None:
    check(name, ids, (step, 1 << 20))


@pytest.mark.parametrize(
    "name", [name for name in NATIVE if "bytes" in name or name in ("gemma", "llama", "strip many")]
)
@settings(max_examples=150)
@given(ids=st.lists(st.sampled_from(BYTE_IDS) | st.sampled_from([0, 9, *HIDDEN]), max_size=14), step=st.integers(1, 9))
def test_runs_of_byte_tokens(name: str, ids: list[int], step: int) -> None:
    check(name, ids, (step,))


@settings(max_examples=300)
@given(data=st.data())
def test_random_vocabularies(data: st.DataObject) -> None:
    """Python against the reference; tables are made as well, and must be refused nowhere the reference works."""
    pieces = st.text("ab▁ |#Ġéâ<>0x</w日", max_size=5) | st.integers(0, 255).map("<0x{:02X}>".format)
    words: list[str | None] = data.draw(st.lists(pieces, min_size=1, max_size=12, unique=True))
    decoder = data.draw(st.sampled_from([*NATIVE.values(), *PYTHON.values()]))
    ids = data.draw(st.lists(st.integers(0, len(words)), max_size=12))
    assert Decoding(decoder, words).python(ids) == reference(decoder, words).decode(ids, skip_special_tokens=False)


@pytest.mark.parametrize("seed", range(8))
def test_tables_of_random_vocabularies(seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice([*NATIVE])
    words = list({"".join(rng.choices("ab▁ |#Ġé日👍", k=rng.randrange(20))) for _ in range(60)})
    words += [f"<0x{byte:02X}>" for byte in range(256)]
    rng.shuffle(words)
    ours, theirs = Decoding(NATIVE[name], words), reference(NATIVE[name], words)
    for _ in range(200):
        ids = rng.choices(range(len(words) + 1), k=rng.randrange(30))
        right = theirs.decode(ids, skip_special_tokens=False)
        assert ours.python(ids) == right
        assert ours.compiled(ids, step=rng.choice([1, 5, 16, 100])).decode("utf-8", "replace") == right
        assert ours.compiled(ids, raw=True) == ours.python_bytes(ids)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("decoder", "words"),
    [
        (strip(1, 1), ["ab", " "]),
        (strip(0, 3), ["ab", " "]),
        (strip(0, 1), ["ab", ""]),
        (strip(2, 2, "a"), ["aaa"]),
        (sequence(FUSE, strip(0, 1)), ["a"]),
        (sequence(harness["BYTE_LEVEL"], strip(1, 1)), ["a"]),
    ],
)
def test_a_strip_that_crashes_the_reference_is_refused(decoder: Any, words: list[str]) -> None:
    with pytest.raises(DefinitionError, match="the reference crashes") as caught:
        Decoding(decoder, words)
    assert str(caught.value.where).endswith(".stop")
    engine = reference(decoder, words)
    with pytest.raises(BaseException, match="index"):
        for ids in ([], *([number] for number in range(len(words)))):
            engine.decode(ids, skip_special_tokens=False)


def test_a_strip_of_ends_that_never_crashes_is_compiled() -> None:
    words = ["a ", "b", "ab  ", " a"]
    decoder = strip(1, 1)
    ours, theirs = Decoding(decoder, words), reference(decoder, words)
    for ids in ([0], [1], [2], [3], [0, 1, 2, 3]):
        assert ours.compiled(ids).decode() == theirs.decode(ids) == ours.python(ids)


MALFORMED: list[tuple[Any, str]] = [
    ({"type": "Nope"}, "decoder"),
    ({}, "decoder.type"),
    ({"decoders": [FUSE]}, "decoder.type"),
    ({"replacement": "▁", "prepend_scheme": "always", "split": True}, "decoder.type"),
    ({"add_prefix_space": False, "trim_offsets": False}, "decoder.type"),
    ({"type": "ByteLevel"}, "decoder.add_prefix_space"),
    ({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": 3}, "decoder.use_regex"),
    ({"type": "Metaspace"}, "decoder.replacement"),
    ({"type": "Metaspace", "replacement": "▁▁"}, "decoder.replacement"),
    ({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "First"}, "decoder.prepend_scheme"),
    ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}, "decoder.add_prefix_space"),
    ({"type": "WordPiece"}, "decoder.prefix"),
    ({"type": "WordPiece", "prefix": "##"}, "decoder.cleanup"),
    ({"type": "BPEDecoder"}, "decoder.suffix"),
    ({"type": "CTC", "pad_token": "x", "word_delimiter_token": "|"}, "decoder.cleanup"),
    ({"type": "Replace", "pattern": "a", "content": "b"}, "decoder.pattern"),
    ({"type": "Replace", "pattern": {"String": "a", "Regex": "b"}, "content": "b"}, "decoder.pattern"),
    ({"type": "Replace", "pattern": {"Regex": "a(b"}, "content": "b"}, "decoder.pattern.Regex"),
    ({"type": "Strip", "content": " ", "start": 1}, "decoder.stop"),
    ({"type": "Strip", "content": "ab", "start": 1, "stop": 0}, "decoder.content"),
    ({"type": "Strip", "content": " ", "start": -1, "stop": 0}, "decoder.start"),
    (sequence(FUSE, {"type": "Nope"}), "decoder.decoders[1]"),
    ({"type": "Sequence"}, "decoder.decoders"),
]


@pytest.mark.parametrize(("decoder", "where"), MALFORMED, ids=str)
def test_malformed_decoders_are_named(decoder: Any, where: str) -> None:
    with pytest.raises((DefinitionError, PatternError)) as caught:
        Decoding(decoder, ["a"])
    assert caught.value.where == where
    with pytest.raises(Exception, match=r"did not match|regex|Onig|pattern"):
        reference(decoder, ["a"])


@pytest.mark.parametrize(
    ("decoder", "kind"),
    [
        ({"suffix": "b"}, "BPEDecoder"),
        ({"prefix": "##", "cleanup": True}, "WordPiece"),
        ({"pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": True}, "CTC"),
        ({"pattern": {"String": "a"}, "content": "x"}, "Replace"),
        ({"content": " ", "start": 1, "stop": 0}, "Strip"),
        ({"type": "Fuse", "extra": 1}, "Fuse"),
    ],
    ids=str,
)
def test_decoders_without_a_type(decoder: Any, kind: str) -> None:
    steps = read_decoder(Fields.of(decoder, "decoder"))
    assert steps is not None and [step.kind for step in steps] == [kind]
    ids = [0, 1, 2, 2, 5, 0]
    assert Decoding(decoder, WORDS).python(ids) == reference(decoder, WORDS).decode(ids)


# ------------------------------------------------------------------ streams


@pytest.mark.parametrize("name", [*NATIVE, *PYTHON])
@settings(max_examples=30)
@given(ids=IDS, skip=st.booleans())
def test_streams(name: str, ids: list[int], skip: bool) -> None:
    from tokenizers.decoders import DecodeStream as Theirs

    ours, theirs = made(name)
    stream, expected = DecodeStream(ours.python, skip), Theirs(skip_special_tokens=skip)
    for number in ids:
        try:
            right = expected.step(theirs, number)
        except Exception as error:  # noqa: BLE001 - the reference has no class of its own for it
            assert "Invalid prefix" in str(error)
            stream.step(number)  # goes on where the reference gives up
            return
        assert stream.step(number) == right


def test_a_stream_takes_several_ids_and_keeps_its_state_when_one_is_bad() -> None:
    ours, _ = made("gemma")
    stream = DecodeStream(ours.python)
    euro = [WORDS.index(f"<0x{byte:02X}>") for byte in "▁".encode()]
    assert stream.step(euro[:2]) is None
    with pytest.raises(ValueError, match="ids"):
        stream.step([-1])
    with pytest.raises(TypeError, match="whole number"):
        stream.step("a")  # type: ignore[arg-type]
    assert stream.step(euro[2]) == "▁"
    assert stream.step([]) is None
    assert stream.step([0, 1]) == "ab"


# ------------------------------------------------------------------ memory


@pytest.mark.parametrize("name", ["byte level", "llama", "metaspace, bytes", "word piece", "bpe", "ctc", "none"])
def test_nothing_outside_the_buffers_is_read_or_written(name: str) -> None:
    ours = made(name)[0]
    rng = random.Random(name)
    records, right = [], []
    for _ in range(300):
        ids = rng.choices(range(len(WORDS) + 2), k=rng.randrange(30))
        skip = rng.random() < 0.5
        options = bytes([rng.choice([0, 1, 5, 16, 40]), skip, 1, rng.choice([0, 1, 20, 200])])
        records.append(options + b"".join(number.to_bytes(4, "little") for number in ids))
        right.append(ours.python_bytes(ids, skip))
    assert ours.sanitized(records) == right
