"""The boundary kernels of built modules, for each instruction set: where pieces start and stop, against the reference engine.

Subject: `gt_boundaries`. Oracle: `Split` of tokenizers 0.23.3 with the same patterns. GPT-2's module is the real one; the
others have a small vocabulary and the steps of a well-known model, or steps that show what those do not.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import functools
import itertools
import mmap
import platform
import random
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import SplitStep
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex
from tokenizers.pre_tokenizers import Sequence, Split

sys.path.insert(0, str(Path(__file__).parent))
import modules


def isolated(name: str) -> list[modules.Split]:
    return [(pattern, "Isolated", False) for pattern in load_grammar(name).patterns]


STEPS: dict[str, list[modules.Split]] = {
    "gpt2": isolated("gpt2"),
    "llama3": isolated("llama3"),
    "o200k": isolated("o200k"),
    "gaps": [(r"\p{L}+|\d", "Isolated", False)],
    "deepseek": isolated("deepseek-v3"),  # three steps, one program
    "clip": [(s.pattern, s.behavior, s.invert) for s in load_grammar("clip").steps if isinstance(s, SplitStep)][:1],
    "removed": [
        (r"\s+", "Removed", False),
        (r"\p{N}", "Contiguous", False),
        ("'|\u00e9\u00e9", "MergedWithPrevious", False),
    ],
    "counted": [(r"\p{L}+| {1,70}|\p{N}{1,3}|\s+(?!\S)|\n", "Isolated", False)],  # no bit program: the walk
}
ISAS = ("avx512", "avx2", "neon", "swar", "automaton")
CHUNK = 4096
Spans = npt.NDArray[np.uint64]  # (pieces, 2)


# ------------------------------------------------------------------ subject and oracle


@pytest.fixture(scope="module", params=STEPS)
def subject(request: pytest.FixtureRequest, tmp_path_factory: Any, toy_definition: Any) -> modules.Built:
    folder = modules.session_folder(tmp_path_factory)
    if request.param == "gpt2":
        return modules.build("gpt2", "gpt2", folder)
    changes = modules.toy_changes(STEPS[request.param])
    return modules.build_toy(f"toy_{request.param}", toy_definition(changes), folder)


BEHAVIORS = {
    "Isolated": "isolated",
    "Removed": "removed",
    "Contiguous": "contiguous",
    "MergedWithPrevious": "merged_with_previous",
}


@functools.cache
def splitter(name: str) -> Any:
    return Sequence([Split(Regex(regex), BEHAVIORS[behavior], invert) for regex, behavior, invert in STEPS[name]])


def steps_of(built: modules.Built) -> str:
    return built.name.removeprefix("toy_")


def byte_offsets(text: str) -> npt.NDArray[np.int64]:
    """Where each character begins in UTF-8, and the end."""
    points = np.frombuffer(text.encode("utf-32-le"), np.uint32)
    lengths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return np.concatenate([[0], np.cumsum(lengths)])


def expected_spans(name: str, text: str) -> Spans:
    pieces = splitter(name).pre_tokenize_str(text)
    spans = np.array([span for _, span in pieces], np.int64).reshape(-1, 2)
    return byte_offsets(text)[spans].astype(np.uint64)


def compare(built: modules.Built, text: str) -> None:
    """All instruction sets of this CPU against the oracle."""
    data = text.encode()
    expected = expected_spans(steps_of(built), text)
    for isa in built.isas:
        got = built.spans(data, isa)
        if not np.array_equal(got, expected):
            pytest.fail(f"{isa}: {difference(data, got, expected)}")


def difference(data: bytes, got: Spans, expected: Spans) -> str:
    right = set(map(tuple, expected.tolist()))
    wrong = sorted(set(map(tuple, got.tolist())) ^ right)
    start, stop = wrong[0]
    kind = "is missing" if wrong[0] in right else "is wrong"
    around = data[max(0, start - 12) : start + 12]
    return f"the piece {start}:{stop} of {len(data)} {kind} (of {len(wrong)} differences), around it {around!r}"


def letters_of(built: modules.Built) -> list[str]:
    """Characters that the patterns tell apart, of every length in UTF-8."""
    return list("aAsld'r \n\t1.-é\u00a0½中３，\u2003\u0301😀𝐀\U0001d7d8\u2028")


# ------------------------------------------------------------------ the tests


def test_all_instruction_sets_of_this_processor_are_there(subject: modules.Built) -> None:
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    expected = {"swar", "automaton"}
    expected |= {"neon"} if platform.machine() in ("aarch64", "arm64") else set()
    expected |= {"avx2"} if " avx2 " in flags and " bmi2 " in flags else set()
    expected |= {"avx512"} if "avx512vbmi2" in flags.replace("_", "") or "avx512_vbmi2" in flags else set()
    assert set(subject.isas) == expected
    assert subject.isas == tuple(isa for isa in ISAS if isa in expected), "best first"
    assert subject.ffi.string(subject.lib.gt_isa()).decode() == subject.isas[0]


def test_an_unknown_instruction_set_is_an_error(subject: modules.Built) -> None:
    out = subject.ffi.new("uint64_t[4]")
    assert subject.lib.gt_boundaries(b"a b", 3, b"mmx", out, out, 4) < 0
    assert subject.lib.gt_set_isa(b"") < 0 and subject.lib.gt_set_isa(b"sse") < 0


def test_more_pieces_than_room_are_counted_but_not_written(subject: modules.Built) -> None:
    text = b"a b c\n\nd 12 e" * 9
    for isa in subject.isas:
        whole = subject.spans(text, isa)
        for capacity in (0, 1, 5, len(whole) - 1):
            out = np.full((2, len(whole) + 1), 7777, np.uint64)
            starts, stops = (subject.ffi.cast("uint64_t *", subject.ffi.from_buffer(row)) for row in out)
            for pointer in (stops, subject.ffi.NULL):
                assert subject.lib.gt_boundaries(text, len(text), isa.encode(), starts, pointer, capacity) == len(whole)
            assert np.array_equal(out[:, :capacity].T, whole[:capacity]) and (out[:, capacity:] == 7777).all()


def test_the_empty_text_has_no_pieces(subject: modules.Built) -> None:
    for isa in subject.isas:
        assert len(subject.spans(b"", isa)) == 0


EDGES = [
    "it's I'LL we'Ve 'tis o'clock 'ſ x'sy don''t '' 's's 'd'll",
    "a  b", "a   b", " a", "a ", "  ", "   ", "a \n b", "a\n\n b \n\n", "\r\n\r\n x", "x \r\n\ty", "end  \n  ", "\n \n",
    "12345678 1 12 123 1234", "½⅓ ٣٤٥٦ 一二三 Ⅷ", "a1b22c333d4444", "3.14159,26", "x²y³",
    "!!! ... ?!\n\n -- \n", " .\n .", ".'s", "....  ....", "(a) [b] {c}", "a_b __c__", "@user #tag $5.00", "//\n/x",
    "naïve café Zürich", "e\u0301e\u0301 \u0301\u0301", "中文字 中 文", "日本語テキスト、です。", "한국어 조사", "ภาษาไทย",
    "हिन्दी में", "\u05e9\u05c1\u05dc\u05d5\u05dd", "👍🏽👩‍👩‍👧 😀😀", "𝐀𝐁𝐂 𝟘𝟙𝟚𝟛", "\U0010ffff\U000e0001", "\ufeffa",
    "q\u00a0\u00a0r", "\u3000\u3000起", "a \u00a0b", "\u2009\u200ax", "\u1680x\u202f1\u205f", "a\u0085\u0085b", "\u2028\u2029",
    "a\x00b", "\x00\x00", "\x7f", "\x1c\x1d\x1e\x1f a", "\x0b\x0c\n", "ABCdef GHIjkl", "HTTPServer", "iPhone's",
    "ʼs 's ’s", "ﬁ ﬂ", "ǅ ǆ", "İi ıI", "K k", "a\u200db", "\u180e x", "AʕB Lo ªº",
]  # fmt: skip


@pytest.mark.parametrize("text", EDGES)
def test_edge_cases(subject: modules.Built, text: str) -> None:
    """By themselves, twice, between other text, and every prefix and suffix."""
    compare(subject, text)
    compare(subject, text + text)
    compare(subject, f"abc {text} def\n{text}12{text}")
    for cut in range(1, len(text)):
        compare(subject, text[:cut])
        compare(subject, text[cut:])


def test_all_strings_of_three_characters(subject: modules.Built) -> None:
    """Each as a text of its own: ends matter."""
    for letters in itertools.product("a'l 1\n.é\u00a0", repeat=3):
        text = "".join(letters)
        expected = expected_spans(steps_of(subject), text).tolist()
        data = text.encode()
        for isa in subject.isas:
            assert subject.spans(data, isa).tolist() == expected, (isa, text)


@functools.cache
def scalars() -> list[str]:
    """All 1,112,064 scalar values."""
    found = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    assert len(found) == 1_112_064
    return found


@functools.cache
def scalar_text(kind: str) -> str:
    match kind:
        case "after each other":
            return "".join(scalars())
        case "on lines":
            return "\n".join(scalars())
        case "between letters":
            return "x".join(scalars())
        case "between blanks":
            return " ".join(scalars())
        case "between digits":
            return "1".join(scalars())
        case "twice, between signs":
            return ".".join(char + char for char in scalars())
        case _:
            raise ValueError(kind)


KINDS = ["after each other", "on lines", "between letters", "between blanks", "between digits", "twice, between signs"]


@pytest.mark.parametrize("kind", KINDS)
def test_all_scalar_values(subject: modules.Built, kind: str) -> None:
    if subject.name not in ("gpt2", "toy_llama3") and kind not in KINDS[:2]:
        return  # the classes of the others are mostly the same
    compare(subject, scalar_text(kind))


def test_each_scalar_value_is_a_text_of_one_piece(subject: modules.Built) -> None:
    """A text of one character is one piece, whatever the character, or none where it is removed; 2 MB of answers are not
    looked at twice."""
    starts, stops = subject.ffi.new("uint64_t[4]"), subject.ffi.new("uint64_t[4]")
    boundaries = subject.lib.gt_boundaries
    step = 1 if modules.FULL else 7
    removes = any(behavior == "Removed" for _, behavior, _ in STEPS[steps_of(subject)])
    for isa in (name.encode() for name in subject.isas):
        for char in scalars()[::step]:
            data = char.encode()
            found = boundaries(data, len(data), isa, starts, stops, 4)
            assert (found == 1 and (starts[0], stops[0]) == (0, len(data))) or (found == 0 and removes), (isa, char)


def some_text(rng: random.Random, size: int, letters: list[str]) -> str:
    """Characters of all classes, in short runs."""
    out: list[str] = []
    length = 0
    while length < size:
        part = rng.choice(letters) * rng.choice((1, 1, 1, 2, 3, 7))
        out.append(part)
        length += len(part)
    return "".join(out)[:size]


def test_every_phase_of_a_block(subject: modules.Built) -> None:
    rng = random.Random(1)
    text = some_text(rng, 700, letters_of(subject)) + " it's we'll 1234  \n\n x" * 3
    for shift in range(64):
        for filler in ("a", " ", "é"):
            compare(subject, filler * shift + text)


def test_texts_of_every_length_to_200(subject: modules.Built) -> None:
    rng = random.Random(2)
    for size in range(201):
        compare(subject, some_text(rng, size, letters_of(subject)))
        compare(subject, some_text(rng, size, ["a", " ", "\n", "1", "'s"])[:size])


@pytest.mark.parametrize("letter", list("a'l \n1.\ré\u00a0中３，😀𝟘"))
def test_runs_of_lengths_to_70(subject: modules.Built, letter: str) -> None:
    """Every run length, at three phases, before every class of character."""
    after = letters_of(subject)
    parts = []
    for length in range(71):
        for phase in (0, 31, 63):
            parts.append("ab" * phase + letter * length + after[(length + phase) % len(after)] + "x")
    compare(subject, "".join(parts))
    for length in range(71):
        compare(subject, letter * length + after[length % len(after)])


@pytest.mark.parametrize("letter", ["a", " ", "\n", "1", ".", "é", "中", "😀", "\u3000"])
def test_runs_that_end_around_a_chunk_end(subject: modules.Built, letter: str) -> None:
    """Chunks are of 4096 bytes."""
    width = len(letter.encode())
    for size in range(CHUNK - 6, CHUNK + 5):
        filler = "b" * (size % width)
        for after in ("x", " ", "\nx", "1", ".", "é", ""):
            compare(subject, filler + letter * (size // width) + after)
    compare(subject, "x " + letter * (CHUNK // width) + " y" + letter * (CHUNK // width) + "z")


@pytest.mark.parametrize("char", ["é", "中", "😀", "\u00a0", "\u3000", "\U0001d7d8"])
def test_characters_across_block_and_chunk_edges(subject: modules.Built, char: str) -> None:
    """The character begins 0 to 4 bytes before the edge, after and before each class."""
    for edge in (64, 128, 1024, CHUNK, 2 * CHUNK):
        for before in range(len(char.encode()) + 1):
            for left, right in itertools.product("a \n1.", repeat=2):
                compare(subject, "q" * (edge - before - 1) + left + char + right + "tail")
            for n in (2, 3, 40):
                compare(subject, "q" * (edge - before - 1) + " " + char * n + "'s")


@pytest.mark.parametrize(
    "text", ["'s", "'ll", "'LL", "1234567", " \n \n ", "  a", "\r\n\r\n", " .\n", "a'", "''", "ABc"]
)
def test_constructs_across_chunk_edges(subject: modules.Built, text: str) -> None:
    for before in range(len(text) + 2):
        for filler in ("word ", "中", "\n"):
            head = (filler * CHUNK).encode()[: CHUNK - before - 9].decode(errors="ignore")
            head += "k" * (CHUNK - before - len(head.encode()))
            compare(subject, head + text + "x")
            compare(subject, head + text)
            compare(subject, head + head + text + "\n")


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        " " * MEGABYTE, "\n" * MEGABYTE, "\t \n" * (MEGABYTE // 3), " \u3000\u00a0" * (MEGABYTE // 6), "a" * MEGABYTE,
        "1" * MEGABYTE, "." * MEGABYTE, "中" * (MEGABYTE // 3), "'" * MEGABYTE, "\r\n" * (MEGABYTE // 2),
        " " * MEGABYTE + "x", "\n" + " " * MEGABYTE + "\n", "x" + " " * MEGABYTE + "\nx" + " " * MEGABYTE,
        "".join(" " * n + "x" for n in range(4000, 4200)), "".join("\n" * n + " " for n in range(4050, 4150)),
    ],
    ids=lambda text: f"{text[:3]!r}*{len(text)}",
)  # fmt: skip
def test_a_megabyte_of_one_class(subject: modules.Built, text: str) -> None:
    compare(subject, text)


@pytest.mark.parametrize("text", [" ", "\n", "a", "A", "1", "中", " \u3000", "x\n"])
@pytest.mark.parametrize("after", ["", "x", "\nx", " 1"])
def test_time_is_linear_in_the_length_of_a_run(subject: modules.Built, text: str, after: str) -> None:
    """4 MB of one class: what comes after a run has to be looked for once, not once a chunk. A linear pass takes some
    hundredths of a second, one that looks again at each chunk ten seconds."""
    data = (text * (4_000_000 // len(text.encode())) + after).encode()
    for isa in subject.isas:
        before = time.process_time()
        subject.spans(data, isa)
        assert time.process_time() - before < 1.5, isa


def test_generated_text(subject: modules.Built) -> None:
    chars = st.one_of(st.sampled_from(letters_of(subject)), st.characters(exclude_categories=["Cs"]))
    parts = st.lists(st.builds(lambda c, n: c * n, chars, st.sampled_from([1, 1, 2, 3, 63, 64, 65])), max_size=30)

    @settings(max_examples=60)
    @given(parts)
    def check(parts: list[str]) -> None:
        compare(subject, "".join(parts))

    check()


def test_random_text_of_several_chunks(subject: modules.Built) -> None:
    rng = random.Random(3)
    for _ in range(30):
        compare(subject, some_text(rng, rng.randrange(1000, 15_000), letters_of(subject)))


def test_jais2_runs_on_the_walk(tmp_path_factory: Any, toy_definition: Any) -> None:
    """It cuts runs of whitespace at powers of two up to 512."""
    STEPS["jais2"] = isolated("jais2")
    folder = modules.session_folder(tmp_path_factory)
    built = modules.build_toy("toy_jais2", toy_definition(modules.toy_changes(STEPS["jais2"])), folder)
    texts = [
        *EDGES,
        *(" " * n + "x" for n in range(0, 1100, 7)),
        "\n".join("\t" * n for n in range(0, 600, 11)),
        " " * 200_000,
    ]
    for text in texts:
        compare(built, text)
        assert len(built.module.encode(text, threads=4)) == built.module.count(text)


def test_a_large_text_is_cut_over_threads_on_every_tier(subject: modules.Built) -> None:
    """The parts end where a piece is certain to start."""
    rng = random.Random(6)
    parts = [some_text(rng, 500, letters_of(subject)) for _ in range(40)]
    text = "".join(rng.choice(parts) for _ in range(5000))
    expected = subject.module.encode(text, threads=1, special="match")
    for isa in subject.isas:
        with subject.isa(isa):
            assert np.array_equal(subject.module.encode(text, threads=3, special="match"), expected), isa


def test_ids_are_those_of_the_pieces(subject: modules.Built) -> None:
    """What is removed has none; a piece that goes over several chunks has its own."""
    rng = random.Random(7)
    texts = [some_text(rng, size, letters_of(subject)) for size in (0, 1, 5, 50, 500, 5000, 20_000)]
    texts += [letter * size + " b" for letter in ("a", " ", "é", "1") for size in (4095, 4096, 9000)]
    for text in texts:
        data = text.encode()
        spans = expected_spans(steps_of(subject), text).tolist()
        whole = b"".join(data[start:stop] for start, stop in spans)
        for isa in subject.isas:
            with subject.isa(isa):
                assert subject.module.decode_bytes(subject.module.encode(text, special="text")) == whole, isa


# ------------------------------------------------------------------ memory


class Guarded:
    """Pages of memory between two that must not be touched."""

    def __init__(self, pages: int) -> None:
        self.size = pages * mmap.PAGESIZE
        self.map = mmap.mmap(-1, self.size + 2 * mmap.PAGESIZE)
        self.view = (ctypes.c_char * len(self.map)).from_buffer(self.map)
        self.address = ctypes.addressof(self.view) + mmap.PAGESIZE
        libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
        for page in (self.address - mmap.PAGESIZE, self.address + self.size):
            if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), 0):
                raise OSError(ctypes.get_errno(), "mprotect")

    def at_end(self, data: bytes) -> int:
        return self._put(self.size - len(data), data)

    def at_start(self, data: bytes) -> int:
        return self._put(0, data)

    def _put(self, offset: int, data: bytes) -> int:
        ctypes.memset(self.address, 0xBF, self.size)  # continuation bytes: a kernel that looks back would go far
        ctypes.memmove(self.address + offset, data, len(data))
        return self.address + offset


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    yield Guarded(4)


def memory_texts() -> list[bytes]:
    rng = random.Random(4)
    letters = letters_of(None)  # type: ignore[arg-type]
    sizes = [*range(140), 255, 256, 257, *range(4090, 4103), 8191, 8192, 8193, 12_000]
    found = [some_text(rng, size, letters).encode() for size in sizes]
    for tail in ("a", " ", "é", "中", "😀", "'", "'l", "1", "\n"):
        found += [(head + tail).encode() for head in ("", "x" * 63, "x" * 64, "中" * 21, "x" * 4095, "é" * 2048)]
    return [data for data in found if len(data) <= 4 * mmap.PAGESIZE]


def test_nothing_is_read_beyond_a_text(subject: modules.Built, guarded: Guarded) -> None:
    """Texts that end, or begin, next to a page that cannot be read: a byte too far kills the process."""
    for data in memory_texts():
        expected = expected_spans(steps_of(subject), data.decode())
        for place in (guarded.at_end, guarded.at_start):
            pointer = subject.ffi.cast("uint8_t *", place(data))
            for isa in subject.isas:
                assert np.array_equal(subject.spans(pointer, isa, len(data)), expected), (isa, data)


def call_many(built: modules.Built, pointer: Any, length: int, threads: int) -> list[int]:
    ffi, lib = built.ffi, built.lib
    call, out = ffi.new("gt_call *"), ffi.new("gt_output *")
    call.threads, call.check_utf8 = threads, 1
    texts, lengths = ffi.new("uint8_t *[1]", [pointer]), ffi.new("size_t[1]", [length])
    assert lib.gt_encode_many(ffi.cast("uint8_t **", texts), lengths, 1, call, out) == 0
    ids = [int(i) for i in ffi.unpack(out.ids, out.n_ids)]
    assert lib.gt_count(pointer, length, call) == len(ids)
    lib.gt_output_free(out)
    return ids


def test_encoding_reads_nothing_beyond_a_text(subject: modules.Built, guarded: Guarded) -> None:
    for data in memory_texts():
        expected = subject.module.encode(data.decode(), special="match").tolist()
        for place in (guarded.at_end, guarded.at_start):
            pointer = subject.ffi.cast("uint8_t *", place(data))
            for isa in subject.isas:
                with subject.isa(isa):
                    assert call_many(subject, pointer, len(data), 1) == expected, (isa, data)


def test_texts_of_the_same_bytes_at_any_address(subject: modules.Built, guarded: Guarded) -> None:
    """Nothing depends on alignment, nor on what lies around a text."""
    data = some_text(random.Random(5), 5000, letters_of(subject)).encode()
    expected = expected_spans(steps_of(subject), data.decode())
    for around in (b"\x00", b" ", b"a", b"\xff"):
        buffer = bytearray(around * (len(data) + 256))
        for shift in (*range(64), 65, 127):
            buffer[:] = around * len(buffer)
            buffer[shift : shift + len(data)] = data
            pointer = subject.ffi.from_buffer(buffer) + shift
            for isa in subject.isas if shift < 4 else subject.isas[:1]:
                assert np.array_equal(subject.spans(pointer, isa, len(data)), expected), (isa, shift)


def test_the_comparison_notices_a_wrong_piece() -> None:
    """What `compare` would say."""
    right = np.array([[0, 3], [3, 5], [5, 7]], np.uint64)
    assert "0:3 of 7 is missing" in difference(b"abc de.", np.array([[0, 5], [5, 7]], np.uint64), right)
    assert "3:4 of 7 is wrong" in difference(b"abc de.", np.array([[0, 3], [3, 4], [4, 5], [5, 7]], np.uint64), right)
    make: Callable[[str, str], Spans] = expected_spans
    assert make("gpt2", "é it's  ok").tolist() == [[0, 2], [2, 5], [5, 7], [7, 8], [8, 11]]
    assert make("clip", "é  it's").tolist() == [[0, 2], [4, 6], [6, 8]]
