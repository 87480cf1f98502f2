"""The calls of a generated package, over the made-up core: inputs, options, errors, results. Both engines alike."""

from __future__ import annotations

import array
import gc
import mmap
import pickle
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from gigatok_runtime import Encoded, InvalidUtf8Error, SpecialTokenError, SurrogateError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

TEXTS = [
    "",
    "a",
    "Hello world",
    "naïve",
    "日本語のテキスト",
    "😀 mixed é 中 x",
    "a" * 5000,
    "中" * 3000,
    "é" * 3000,
    "😀" * 2000,
]
relaxed = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)


def expected(text: str) -> list[int]:
    return list(text.encode())


@pytest.mark.parametrize("text", TEXTS, ids=lambda t: f"{len(t)}-{t[:3]!a}")
def test_encode_gives_ids_of_every_kind_of_str(either: ModuleType, text: str) -> None:
    ids = either.encode(text)
    assert isinstance(ids, np.ndarray) and ids.dtype == np.uint32 and ids.ndim == 1 and ids.flags.writeable
    assert ids.tolist() == expected(text)
    assert either.count(text) == len(ids)
    assert either.decode(ids) == text
    assert either.decode_bytes(ids) == text.encode()


@relaxed
@given(
    text=st.text()
    | st.text(st.sampled_from("a\0\x7fé\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"), max_size=200)
)
def test_every_width_of_str_becomes_utf8(stub: ModuleType, text: str) -> None:
    engine = stub._module.engine
    for isa in engine.isas:
        engine.set_isa(isa)
        for made in (text, text * 40, text[:1] * 33, text + "\U0010ffff"):
            assert stub.encode(made).tolist() == expected(made)
    engine.set_isa(engine.isas[0])


@pytest.mark.parametrize("at", [0, 1, 15, 16, 17, 100])
@pytest.mark.parametrize("rest", ["é", "中", "😀"])
def test_surrogates_are_found_anywhere(stub: ModuleType, at: int, rest: str) -> None:
    engine = stub._module.engine
    for isa in engine.isas:
        engine.set_isa(isa)
        for surrogate in ("\ud800", "\udfff"):
            with pytest.raises(SurrogateError, match=f"at character {at};"):
                stub.encode(rest * at + surrogate + rest * 20)
    engine.set_isa(engine.isas[0])


def buffers(data: bytes) -> dict[str, Any]:
    mapping = mmap.mmap(-1, max(1, len(data)))
    mapping.write(data or b"\0")
    return {
        "bytes": data,
        "bytearray": bytearray(data),
        "memoryview": memoryview(data),
        "slice": memoryview(b"xx" + data + b"yy")[2 : 2 + len(data)],
        "array": array.array("B", data),
        "numpy": np.frombuffer(data, np.uint8),
        "numpy slice": np.frombuffer(b"xx" + data, np.uint8)[2:],
        "int8": np.frombuffer(data, np.int8),
        "readonly mmap": mapping if data else data,
    }


@pytest.mark.parametrize("text", TEXTS, ids=lambda t: f"{len(t)}-{t[:3]!a}")
def test_buffers_are_texts_too(either: ModuleType, text: str) -> None:
    for kind, buffer in buffers(text.encode()).items():
        assert either.encode(buffer).tolist() == expected(text), kind
        assert either.encode_batch([buffer]).ids.tolist() == expected(text), kind
        assert either.count(buffer) == len(expected(text)), kind


@relaxed
@given(texts=st.lists(st.text() | st.binary().map(lambda b: b.decode("latin-1").encode()), max_size=20))
def test_batch_is_the_single_calls_in_a_row(either: ModuleType, texts: list[Any]) -> None:
    encoded = either.encode_batch(texts)
    ids, offsets = encoded
    assert isinstance(encoded, Encoded) and ids.dtype == np.uint32 and offsets.dtype == np.int64
    assert len(offsets) == len(texts) + 1 and offsets[0] == 0 and offsets[-1] == len(ids)
    for i, text in enumerate(texts):
        assert ids[offsets[i] : offsets[i + 1]].tolist() == either.encode(text).tolist()


def test_batch_takes_any_iterable(either: ModuleType) -> None:
    for texts in (("a", "b"), iter(["a", "b"]), {"a": 1, "b": 2}, np.array(["a", "b"], object), (t for t in "ab")):
        assert either.encode_batch(texts).ids.tolist() == [97, 98]
    assert either.encode_batch([]).offsets.tolist() == [0]


def test_results_outlive_the_call_and_each_other(stub: ModuleType) -> None:
    ids, offsets = stub.encode_batch(["abc"] * 1000)
    kept = stub.encode("x" * (2 << 20))
    del offsets
    gc.collect()
    assert ids.tolist() == [97, 98, 99] * 1000
    assert kept.base is not None and (kept == 120).all()
    ids[0] = 5
    assert ids[0] == 5


def test_large_texts_do_not_depend_on_threads(stub: ModuleType) -> None:
    text = "word é " * 300_000
    plain = stub.encode(text)
    assert plain.tolist() == expected(text)
    for threads in (1, 2, None):
        assert (stub.encode(text, threads=threads) == plain).all()
        assert (stub.encode_batch([text, text], threads).ids == np.concatenate([plain, plain])).all()


def test_add_special_tokens(either: ModuleType) -> None:
    assert either.encode("ab", add_special_tokens=True).tolist() == [256, 97, 98]
    assert either.encode_batch(["a", ""], add_special_tokens=True).ids.tolist() == [256, 97, 256]
    assert either.count("ab", add_special_tokens=True) == 3


SPECIALS: list[tuple[Any, list[int] | None]] = [
    (None, [256, 257, 120]),
    ("match", [256, 257, 120]),
    ("text", [*b"<|end|>", 257, 120]),
    ("error", None),
    (set(), [*b"<|end|>", 257, 120]),
    ({"<|end|>"}, [256, 257, 120]),
    (["<|end|>", "<tool>"], [256, 257, 120]),
    ({"<tool>": "text"}, [256, *b"<tool>", 120]),
    ({"<tool>": "text", "<|end|>": "text"}, list(b"<|end|><tool>x")),
    ({"<|end|>": "error"}, None),
]


@pytest.mark.parametrize(("special", "ids"), SPECIALS, ids=lambda v: str(v)[:40])
def test_special_tokens_in_text(either: ModuleType, special: Any, ids: list[int] | None) -> None:
    text = "<|end|><tool>x"
    if ids is None:
        for call in (either.encode, either.count):
            with pytest.raises(SpecialTokenError) as caught:
                call("é" + text, special=special)
            assert (caught.value.token, caught.value.offset, caught.value.index) == ("<|end|>", 2, None)
        with pytest.raises(SpecialTokenError, match=r"'<\|end\|>' \(texts\[1\] at byte 2\)"):
            either.encode_batch(["fine", "é" + text], special=special)
    else:
        assert either.encode(text, special=special).tolist() == ids
        assert either.encode_batch([text, "<|en"], special=special).ids.tolist() == ids + list(b"<|en")
        assert either.count(text, special=special) == len(ids)


@pytest.mark.parametrize(
    ("special", "error", "match"),
    [
        ("all", ValueError, "special must be one of 'text', 'match', 'error'"),
        ({"<|end>"}, ValueError, r"'<\|end>', which is no added token of this tokenizer \(did you mean '<\|end\|>'"),
        ({"<tool>": "maybe"}, ValueError, r"special\['<tool>'\] must be one of"),
        (7, TypeError, "special must be a str, a set or a mapping of names, not int"),
        (b"match", TypeError, "not bytes"),
    ],
)
def test_special_that_makes_no_sense(either: ModuleType, special: Any, error: type[Exception], match: str) -> None:
    for call, text in ((either.encode, "a"), (either.encode_batch, ["a"]), (either.count, "a")):
        with pytest.raises(error, match=match):
            call(text, special=special)


BAD_UTF8 = [
    (b"ab\xffcd", 2),
    (b"\xc3", 0),
    (b"x\xed\xa0\x80", 1),
    ("é".encode() * 700 + b"\x80", 1400),
    (b"a" * 30_000 + b"\xf5", 30_000),
]


@pytest.mark.parametrize(("data", "offset"), BAD_UTF8, ids=lambda v: str(v)[:12])
def test_ill_formed_utf8_names_the_byte(either: ModuleType, data: bytes, offset: int) -> None:
    for call in (either.encode, either.count):
        with pytest.raises(InvalidUtf8Error, match=f"text is not well-formed UTF-8 at byte {offset}") as caught:
            call(data)
        assert isinstance(caught.value, UnicodeDecodeError) and caught.value.offset == caught.value.start == offset
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with pytest.raises(InvalidUtf8Error, match=rf"texts\[2\] is not well-formed UTF-8 at byte {offset}"):
        either.encode_batch(["é", b"ok", data])
    replaced = expected(data.decode("utf-8", "replace"))
    assert either.encode(data, errors="replace").tolist() == replaced
    assert either.encode_batch([data, "é"], errors="replace").ids.tolist() == replaced + expected("é")
    assert either.count(bytearray(data), errors="replace") == len(replaced)


def test_ill_formed_utf8_in_a_large_text(stub: ModuleType) -> None:
    with pytest.raises(InvalidUtf8Error, match="text is not well-formed UTF-8 at byte 3000000"):
        stub.encode(b"a" * 3_000_000 + b"\xf5")


def test_surrogates_are_an_error_of_this_format(either: ModuleType) -> None:
    for text, start, name in (("a\udc4db", 1, "U+DC4D"), ("😀\ud83d", 1, "U+D83D"), ("\ud83d\udc4d", 0, "U+D83D")):
        with pytest.raises(SurrogateError, match=f"text holds the surrogate U\\{name[1:]} at character {start}"):
            either.encode(text)
        with pytest.raises(SurrogateError, match=r"texts\[1\] holds"):
            either.encode_batch(["", text])
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        assert either.encode(text, errors="replace").tolist() == expected(joined)


NOT_TEXTS = [None, 7, 1.5, ["a"], ("a",), {"a": 1}, np.zeros(3, np.float64), np.zeros((2, 2), np.uint8), np.str_]


@pytest.mark.parametrize("value", NOT_TEXTS, ids=repr)
def test_wrong_types_are_named(either: ModuleType, value: Any) -> None:
    name = "type" if value is np.str_ else type(value).__name__
    for call in (either.encode, either.count):
        with pytest.raises(TypeError, match=f"^text must be str, bytes or .* not (numpy.)?{name}$"):
            call(value)
    with pytest.raises(TypeError, match=rf"^texts\[1\] must be str, bytes or .* not (numpy.)?{name}$"):
        either.encode_batch(["a", value])


def test_arrays_with_gaps_are_refused(either: ModuleType) -> None:
    with pytest.raises(TypeError, match="one-dimensional C-contiguous buffer of bytes"):
        either.encode(np.zeros(6, np.uint8)[::2])


def test_batch_of_one_text_is_a_mistake(either: ModuleType) -> None:
    for text in ("abc", b"abc", bytearray(b"abc"), memoryview(b"abc")):
        with pytest.raises(TypeError, match=f"texts must be a list of texts, not one {type(text).__name__}"):
            either.encode_batch(text)
    with pytest.raises(TypeError, match="texts must be a list of texts, not int"):
        either.encode_batch(7)


def test_iterators_may_fail(either: ModuleType) -> None:
    def texts() -> Any:
        yield "a"
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        either.encode_batch(texts())


@pytest.mark.parametrize(
    ("threads", "error"),
    [(0, ValueError), (-1, ValueError), (-(10**30), ValueError), ("2", TypeError), (1.5, TypeError)],
)
def test_threads_that_make_no_sense(either: ModuleType, threads: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="threads must be"):
        either.encode_batch(["a"], threads=threads)
    with pytest.raises(error, match="threads must be"):
        either.encode("a", threads=threads)


def test_any_sensible_number_of_threads(either: ModuleType) -> None:
    for threads in (1, 3, True, np.int64(2), 10**30, None):
        assert either.encode_batch(["a"], threads=threads).ids.tolist() == [97]


def test_arguments_are_checked_like_those_of_python_functions(either: ModuleType) -> None:
    assert either.encode(text="a").tolist() == [97]
    assert either.encode_batch(texts=["a"], threads=1).ids.tolist() == [97]
    for call in (
        lambda: either.encode(),
        lambda: either.encode("a", "b"),
        lambda: either.encode("a", text="a"),
        lambda: either.encode("a", nonsense=1),
        lambda: either.encode("a", skip_special_tokens=True),
        lambda: either.encode_batch(["a"], 1, True),
        lambda: either.decode(),
    ):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError, match="errors must be 'strict' or 'replace', not 'ignore'"):
        either.encode("a", errors="ignore")


def test_decode_takes_any_ids(either: ModuleType) -> None:
    ids = [72, 105, 256, 33]
    kinds: list[Any] = [
        ids,
        tuple(ids),
        iter(ids),
        np.array(ids),
        np.array(ids, np.uint32),
        np.array(ids, np.int16),
        np.array([0, *ids] * 2, np.uint32)[1:5],
        np.repeat(np.array(ids, np.uint32), 2)[::2],
        [np.int64(i) for i in ids],
        memoryview(np.array(ids, np.uint32)),
    ]
    for kind in kinds:
        assert either.decode(kind) == "Hi<|end|>!"
    assert either.decode(ids, skip_special_tokens=True) == "Hi!"
    assert either.decode(ids, True) == "Hi!"
    assert either.decode_bytes(np.array(ids), True) == b"Hi!"
    assert either.decode([]) == "" and either.decode_bytes(np.array([], np.uint32)) == b""
    assert either.decode(np.array([])) == ""


def test_decode_skips_ids_that_no_token_has(either: ModuleType) -> None:
    assert either.decode([72, 258, 4_000_000_000, 105]) == "Hi"


def test_decode_reads_replacement_characters_for_ill_formed_bytes(either: ModuleType) -> None:
    data = b"a\xf0\x9f\x98b\xe4\xb8\xc3\xa9\xff"
    assert either.decode(list(data)) == data.decode("utf-8", "replace") == "a\ufffdb\ufffdé\ufffd"
    assert either.decode_bytes(list(data)) == data


def test_decode_of_many_ids(either: ModuleType) -> None:
    data = "häßlich 中 ".encode() * 5000
    assert either.decode_bytes(np.frombuffer(data, np.uint8)) == data
    assert either.decode(list(data)) == data.decode()
    assert either.decode([256] * 10_000) == "<|end|>" * 10_000  # longer than the first guess


@pytest.mark.parametrize(
    ("ids", "error", "match"),
    [
        ([1, -1], ValueError, r"ids\[1\] is -1; ids are whole numbers from 0 to 4294967295"),
        ([1, 1 << 32], ValueError, r"ids\[1\] is 4294967296"),
        (np.array([1, -1]), ValueError, r"ids\[1\] is -1"),
        ([1, "a"], TypeError, r"ids\[1\] must be a whole number, not str"),
        ([1.0], TypeError, r"ids\[0\] must be a whole number, not float"),
        (np.array([1.5]), TypeError, "ids must be whole numbers, not float64"),
        (np.zeros((2, 2), np.uint32), ValueError, "ids must have one dimension, not 2"),
        (7, TypeError, "ids must be a sequence of whole numbers, not int"),
        ("12", TypeError, "ids must be whole numbers, not str"),
        (None, TypeError, "not NoneType"),
    ],
    ids=repr,
)
def test_ids_that_are_none(either: ModuleType, ids: Any, error: type[Exception], match: str) -> None:
    for call in (either.decode, either.decode_bytes):
        with pytest.raises(error, match=match):
            call(ids)


def test_a_list_that_changes_while_it_is_read(stub: ModuleType) -> None:
    ids: list[Any] = [1] * 1000

    class Shrinks:
        def __index__(self) -> int:
            ids.clear()
            return 2

    ids[0] = Shrinks()
    stub.decode(ids)
    texts: list[Any] = ["a"] * 100_000
    done = threading.Event()

    def clear() -> None:
        while not done.is_set():
            texts.clear()
            texts.extend(["b" * 10] * 100_000)

    thread = threading.Thread(target=clear)
    thread.start()
    try:
        for _ in range(20):
            stub.encode_batch(texts)
    finally:
        done.set()
        thread.join()


def test_calls_from_many_threads(either: ModuleType) -> None:
    texts = [f"thread {i} says é 中 😀 " + str(i) * (i * 37) for i in range(64)]
    failures: list[str] = []

    def work(text: str) -> None:
        for _ in range(50 if either.tokenizer.engine == "native" else 2):
            if either.encode(text).tolist() != expected(text) or either.decode(list(text.encode())) != text:
                failures.append(text)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_no_memory_is_lost(stub: ModuleType) -> None:
    class Odd:
        pass

    def everything() -> None:
        for text in ("a", "é" * 10_000, b"abc" * 1000, bytearray(b"x"), np.zeros(9, np.uint8)):
            stub.encode(text, special={"<|end|>"}, add_special_tokens=True)
            stub.encode_batch([text] * 10, 1, errors="replace")
            stub.count(text)
        stub.decode([1] * 5000)
        stub.decode_bytes(np.arange(200))
        for bad in (b"\xff", "\ud800", "<|end|>", Odd()):
            for call in (stub.encode, stub.count, lambda t, **o: stub.encode_batch(["é", bytearray(b"q"), t], **o)):
                with pytest.raises((ValueError, TypeError)):
                    call(bad, special="error")

    for _ in range(30):
        everything()
    gc.collect()
    tracemalloc.start()
    try:
        everything()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(50):
            everything()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 20_000, f"{grown} bytes more after 50 rounds"


def test_reference_counts_stay(stub: ModuleType) -> None:
    text, data, texts = "é" * 50, bytearray(b"abc"), ["x", "é"]
    before = [sys.getrefcount(o) for o in (text, data, texts, texts[1])]
    for _ in range(100):
        stub.encode(text)
        stub.encode(data)
        stub.encode_batch(texts)
        stub.encode_batch(tuple(texts))
        stub.tokenizer.token_to_id(data)
    assert [sys.getrefcount(o) for o in (text, data, texts, texts[1])] == before
    data.append(1)  # no buffer is held any more


def test_forked_children_encode(stub: ModuleType, stub_directory: Path) -> None:
    code = (
        "import os, stub_tok\n"
        "stub_tok.encode('warm ' * 1000)\n"
        "pid = os.fork()\n"
        "ok = stub_tok.encode('abc' * 1000).tolist() == list(b'abc' * 1000)\n"
        "if not pid: os._exit(0 if ok else 1)\n"
        "assert ok and os.waitpid(pid, 0)[1] == 0\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=stub_directory, check=True)
