"""templates/decode.h: ids to bytes into buffers of any size, single ids, special tokens, gaps, and back from bytes."""

from __future__ import annotations

import ctypes
import random
import runpy
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from gigatok_compile.decoder.entries import decoder_entries
from gigatok_compile.decoder.plan import plan_decoder
from gigatok_compile.ir.definition import AddedToken, DecoderStep
from gigatok_compile.ir.plan import TableSet
from gigatok_compile.vocabulary.token_lookup import plan_token_lookup, token_hash
from hypothesis import given
from hypothesis import strategies as st

tokenizers = pytest.importorskip("tokenizers")
harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))

RNG = random.Random(9)
MODEL: list[bytes | None] = [bytes([i]) for i in range(256)]
MODEL += [RNG.randbytes(RNG.choice([2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 40])) for _ in range(400)]
MODEL[300] = MODEL[301] = MODEL[-1] = None  # gaps
MODEL[310] = MODEL[309]  # two entries with the same bytes: the lower id is the answer
ADDED = [
    AddedToken(700, "<|end|>", special=True),
    AddedToken(65, "A", special=False),  # also a model entry
    AddedToken(703, "é", special=True),  # decodes to the byte E9
    AddedToken(704, "<tool>", special=False),
]
ADDED_BYTES = [b"<|end|>", b"A", b"\xe9", b"<tool>"]
MAX_ID = 704
BYTES_STEP = (DecoderStep("Bytes", "decoder"),)


def tables_of(model: Sequence[bytes | None], added: Sequence[AddedToken], added_bytes: Sequence[bytes]) -> TableSet:
    """Names and texts of bytes: decoding joins them."""
    names: list[str | bytes | None] = [*model]
    names += [None] * (max((token.id for token in added), default=-1) + 1 - len(names))
    for token, value in zip(added, added_bytes, strict=True):
        names[token.id] = value
    hidden = [token.id for token in added if token.special]
    plan = plan_decoder(BYTES_STEP, decoder_entries(BYTES_STEP), names, hidden)
    assert plan.engine == "native"
    return plan_token_lookup(model, added, added_bytes) | plan.tables


TABLES = tables_of(MODEL, ADDED, ADDED_BYTES)
SOURCE = harness["table_source"](TABLES) + '#define GT_API\n#include <stdlib.h>\n#include "decode.h"\n'
BYTES_OF = {i: token for i, token in enumerate(MODEL) if token} | {
    t.id: b for t, b in zip(ADDED, ADDED_BYTES, strict=True)
}
SPECIAL = {t.id for t in ADDED if t.special}


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    built: ctypes.CDLL = harness["build"](SOURCE)
    built.gt_decode.restype = built.gt_token_id.restype = ctypes.c_int64
    built.gt_decode.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64]
    built.gt_token_id.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    built.gt_token_bytes.restype = ctypes.c_void_p
    built.gt_token_bytes.argtypes = [ctypes.c_uint32, ctypes.c_void_p]
    return built


def expected(ids: Sequence[int], skip: bool) -> bytes:
    return b"".join(BYTES_OF.get(i, b"") for i in ids if not (skip and i in SPECIAL))


def decode(library: ctypes.CDLL, ids: Sequence[int], skip: bool, capacity: int) -> tuple[bytes, int]:
    """The bytes written and the number returned; bytes behind the buffer must stay as they are."""
    array = np.array(ids, np.uint32)
    buffer = np.full(capacity + 64, 0xAA, np.uint8)
    total = library.gt_decode(array.ctypes.data, len(ids), skip, buffer.ctypes.data, capacity)
    assert (buffer[capacity:] == 0xAA).all()
    return buffer[: min(total, capacity)].tobytes(), total


ids = st.lists(st.integers(0, MAX_ID + 3) | st.sampled_from([300, 700, 703, 704, MAX_ID + 1, 0xFFFFFFFF]), max_size=60)


@given(ids, st.booleans(), st.integers(-40, 40))
def test_any_ids_into_a_buffer_of_any_size(library: ctypes.CDLL, ids: list[int], skip: bool, slack: int) -> None:
    right = expected(ids, skip)
    for capacity in (len(right), max(0, len(right) + slack), 0):
        written, total = decode(library, ids, skip, capacity)
        assert total == len(right)
        assert written == right[:capacity]


def test_every_single_id_and_back(library: ctypes.CDLL) -> None:
    length = ctypes.c_int64()
    for number in [*range(MAX_ID + 3), 0xFFFFFFFF]:
        at = library.gt_token_bytes(number, ctypes.byref(length))
        assert (ctypes.string_at(at, length.value) if at else None) == BYTES_OF.get(number)
    # Names: model entries by their lowest id, then what added tokens are called, whatever they decode to.
    names = {token: i for i, token in reversed(list(enumerate(MODEL))) if token}
    names |= {t.content.encode(): t.id for t in ADDED}
    for name, number in names.items():
        assert library.gt_token_id(name, len(name)) == number
    for other in (b"", b"<|end|", b"<|end|>>", "è".encode(), b"no such token", b"\x00" * 9):
        assert library.gt_token_id(other, len(other)) == names.get(other, -1)


def test_random_names_that_are_not_there(library: ctypes.CDLL) -> None:
    names = {token for token in MODEL if token} | {t.content.encode() for t in ADDED}
    rng = random.Random(1)
    for _ in range(3000):
        name = rng.randbytes(rng.randrange(1, 24))
        if name not in names:
            assert library.gt_token_id(name, len(name)) == -1


def test_hash_depends_on_every_byte_and_on_the_length() -> None:
    assert len({token_hash(b"\0" * n) for n in range(30)}) == 30
    word = bytes(range(20))
    assert len({token_hash(word[:i] + b"\xff" + word[i + 1 :]) for i in range(20)}) == 20


def test_empty_vocabulary() -> None:
    tables = tables_of([], [], [])
    library = harness["build"](harness["table_source"](tables) + '#define GT_API\n#include "decode.h"\n')
    library.gt_token_id.restype = library.gt_decode.restype = ctypes.c_int64
    assert library.gt_token_id(b"a", ctypes.c_size_t(1)) == -1
    one = np.zeros(1, np.uint32)
    assert library.gt_decode(ctypes.c_void_p(one.ctypes.data), ctypes.c_int64(1), 0, None, ctypes.c_int64(0)) == 0


def test_same_bytes_as_tokenizers(library: ctypes.CDLL) -> None:
    """The reference's ByteLevel decoder over the same tokens, special tokens dropped or not, unknown ids skipped."""
    alphabet = _byte_alphabet()
    vocab = {"".join(alphabet[b] for b in token): i for i, token in reversed(list(enumerate(MODEL))) if token}
    engine = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocab, merges=[]))
    engine.decoder = tokenizers.decoders.ByteLevel()
    engine.add_special_tokens(
        [tokenizers.AddedToken("<|end|>", special=True), tokenizers.AddedToken("é", special=True)]
    )
    added = [AddedToken(engine.token_to_id(c), c, special=True) for c in ("<|end|>", "é")]
    own = tables_of([None if i == 310 else t for i, t in enumerate(MODEL)], added, [b"<|end|>", b"\xe9"])
    built: ctypes.CDLL = harness["build"](harness["table_source"](own) + '#define GT_API\n#include "decode.h"\n')
    built.gt_decode.restype = ctypes.c_int64
    built.gt_decode.argtypes = library.gt_decode.argtypes
    rng = random.Random(2)
    for _ in range(300):
        chosen = [rng.randrange(MAX_ID + 5) for _ in range(rng.randrange(40))] + [added[0].id, added[1].id]
        rng.shuffle(chosen)
        for skip in (False, True):
            total = decode(built, chosen, skip, 0)[1]
            text = decode(built, chosen, skip, total)[0].decode("utf-8", "replace")
            assert text == engine.decode(chosen, skip_special_tokens=skip)


def _byte_alphabet() -> list[str]:
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(rest)) for b in range(256)]


HANDLE = r"""
extern size_t handle(const uint8_t *p, size_t n, uint8_t **out);
size_t handle(const uint8_t *p, size_t n, uint8_t **out) { /* capacity, then ids */
  uint32_t capacity, *ids = malloc(n);
  memcpy(&capacity, p, 4);
  memcpy(ids, p + 4, n - 4);
  *out = malloc(capacity ? capacity : 1);
  int64_t total = gt_decode(ids, (int64_t)(n - 4) / 4, 0, *out, capacity);
  gt_token_id(p, n);
  free(ids);
  return total < capacity ? (size_t)total : capacity;
}
"""


def test_reads_and_writes_nothing_outside_the_buffers() -> None:
    rng = random.Random(3)
    records, right = [], []
    for _ in range(400):
        chosen = [rng.randrange(MAX_ID + 2) for _ in range(rng.randrange(30))]
        whole = expected(chosen, False)
        capacity = rng.choice([len(whole), rng.randrange(len(whole) + 20)])
        records.append(capacity.to_bytes(4, "little") + np.array(chosen, np.uint32).tobytes())
        right.append(whole[:capacity])
    assert harness["run_sanitized"](SOURCE + HANDLE, records, 0) == right
