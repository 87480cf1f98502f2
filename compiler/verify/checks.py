"""The checks of a module, each in its share of the time, as a list of named steps."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterable, Iterator
from random import Random
from typing import Any, Protocol

from gigatok_compile.verify import texts
from gigatok_compile.verify.subject import Subject

Check = Callable[[Subject, texts.Alphabet, Random, "Clock"], int]
CutsCheck = Callable[["Cutting", texts.Alphabet, Random, "Clock"], int]
BATCH = 256


class Cutting(Protocol):
    """What a check of cuts alone needs of its subject."""

    def check_spans(self, text: str) -> None: ...


class Clock:
    """The share of time of one check. It always gets to do a little."""

    def __init__(self, seconds: float) -> None:
        self.end = time.monotonic() + seconds

    def batches(self, items: Iterable[str], size: int) -> Iterator[list[str]]:
        """`items` in lists of `size`, at least one list, then until the time is up."""
        source = iter(items)
        while batch := list(itertools.islice(source, size)):
            yield batch
            if time.monotonic() >= self.end:
                return

    def left(self) -> bool:
        return time.monotonic() < self.end


def _each(subject: Cutting, source: Iterable[str], size: int, clock: Clock) -> int:
    """The cuts of each text by itself, `size` of them between looks at the clock; how many texts."""
    done = 0
    for batch in clock.batches(source, size):
        for text in batch:
            subject.check_spans(text)
        done += len(batch)
    return done


def short_strings(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Every short string over one character a tag, by itself; then random longer ones."""
    return _each(subject, texts.short_strings(texts.simplest(alphabet), random), BATCH, clock)


def every_window(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Texts in which every window of n characters occurs, n growing; counted are the windows."""
    chars = texts.simplest(alphabet)
    done = 0
    for length in itertools.count(1):
        size: int = len(chars) ** length
        if size > 1 << 21 or (done and not clock.left()):
            return done
        started = time.monotonic()
        subject.check_spans(texts.de_bruijn(chars, length))
        done += size
        if (time.monotonic() - started) * len(chars) > clock.end - time.monotonic():
            return done
    return done


def every_phase(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Every window of a few characters at all 64 phases of a block, characters of every UTF-8 length among them."""
    chars = texts.simplest(alphabet)
    wide = [char for tag in alphabet for char in tag[-1:]]
    length = next(n for n in range(5, 0, -1) if len(chars) ** n <= 6000 or n == 1)
    bodies = [texts.de_bruijn(c, length) for c in (chars, wide)]
    done = 0
    for shift in range(64):
        for body in bodies:
            text = chars[shift % len(chars)] * shift + body
            subject.check_spans(text)
            done += len(body)
        if not clock.left() and shift % 8 == 7:
            # The rest of the phases on a shorter text, so that none is left out.
            bodies = [body[:200] for body in bodies]
    return done


def runs(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Runs of every class at lengths where blocks end."""
    return _each(subject, texts.runs(alphabet, random), 32, clock)


def edges(subject: Cutting, alphabet: texts.Alphabet, characters: str, clock: Clock) -> int:
    """The characters at which the tags' ranges end: that each is taken for what it is."""
    done = 0
    for batch in clock.batches(texts.edges(characters, alphabet), 1):
        for text in batch:
            subject.check_spans(text)
        done += len(characters)
    return done


def chunk_ends(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """A few characters around the ends of the chunks that kernels work in; counted are the ends."""
    chunks, done = 16, 0
    for batch in clock.batches(texts.chunk_ends(alphabet, random, chunks), 1):
        for text in batch:
            subject.check_spans(text)
        done += chunks
    return done


def word_ends(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Random characters around the ends of words of bits that hold nothing rare; counted are the texts."""
    return _each(subject, texts.word_ends(alphabet, random), 4, clock)


def random_boundaries(subject: Cutting, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    done = 0
    while True:
        subject.check_spans(texts.random_text(alphabet, random, random.randint(1, 3000)))
        done += 1
        if not clock.left():
            return done


def vocabulary_words(subject: Subject, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Ids of vocabulary entries, alone and in company."""
    done = 0
    for batch in clock.batches(texts.words(_readable_tokens(subject), alphabet, random), BATCH):
        subject.check_ids(batch, special="match")
        done += len(batch)
    return done


def random_ids(subject: Subject, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Ids of random text; where there is a normalizer, of text with marks, Hangul, and characters that it changes, too."""
    steps = subject.manifest["normalizer"]
    literal = [
        step["options"][name] for step in steps for name in ("string", "content", "prepend") if name in step["options"]
    ]
    changing = texts.changing_characters(subject.oracle.normalize, literal, random) if steps else []
    done = rounds = 0
    while True:
        lengths = [random.randint(0, 200) for _ in range(32)]
        batch = [texts.random_text(alphabet, random, length) for length in lengths]
        if steps:
            batch[::2] = [texts.marked_text(alphabet, random, length, changing) for length in lengths[::2]]
        subject.check_ids(batch, special="match", add_special_tokens=bool(rounds % 2))
        done += len(batch)
        rounds += 1
        if not clock.left():
            return done


def long_pieces(subject: Subject, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Pieces of thousands of bytes, where merging takes its other path."""
    done = 0
    for length in (70, 300, 1500, 6000):
        for batch in clock.batches(texts.long_pieces(_readable_tokens(subject), alphabet, random, length), 8):
            subject.check_ids(batch, special="match")
            done += len(batch)
        if not clock.left():
            break
    return done


def added_tokens(subject: Subject, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """Added tokens in text, in every mode."""
    contents = [token["content"] for token in subject.manifest["added_tokens"]]
    if not contents:
        return 0
    each = {content: random.choice(("match", "text")) for content in contents}
    modes: list[Any] = ["match", "text", {random.choice(contents)}, each]
    source = texts.added_token_texts(contents, alphabet, random)
    done = 0
    for number, batch in enumerate(clock.batches(source, 64)):
        subject.check_ids(batch, special=modes[number % len(modes)])
        for text in batch[:8]:
            for special in (None, "error"):
                expected = subject.outcome(subject.oracle.encode, text, special=special)
                subject.check_same("ids", text, expected, subject.native.encode, text, special=special)
        done += len(batch)
    return done


def other_calls(subject: Subject, alphabet: texts.Alphabet, random: Random, clock: Clock) -> int:
    """count, decode, files in parts, threads, and bytes that are no UTF-8."""
    native, oracle = subject.native, subject.oracle
    options: dict[str, Any] = {"special": "match"}
    whole = "\n".join(texts.random_text(alphabet, random, 400) for _ in range(60))
    expected = oracle.encode(whole, **options)
    subject.check_same("count", whole, len(expected), native.count, whole, **options)
    for threads in (1, 2, 5):
        subject.check_same("ids", whole, expected, native.encode, whole, threads=threads, **options)
    data = whole.encode()
    parts = oracle.encode_separated(data, b"\n", **options)
    subject.check_same("parts", whole, parts, native.encode_separated, data, b"\n", 2, **options)
    size = subject.manifest["max_id"] + 2
    for _ in range(20):
        ids = [random.randrange(size) for _ in range(random.randint(0, 300))]
        _check_decode(subject, ids)
    for number in range(size):
        subject.check_same("token_bytes", str(number), oracle.token_bytes(number), native.token_bytes, number)
        if number < 1000:
            _check_decode(subject, [number])
    # Every id once, in another order each time; the library must give the text of each wherever it stands.
    order = [*range(size)]
    for _ in range(2):
        _check_decode(subject, order)
        random.shuffle(order)
    _check_pairs(subject, alphabet, random)
    done = 60 + size
    while True:
        broken = bytearray(texts.random_text(alphabet, random, 200).encode())
        for _ in range(random.randint(0, 3)):
            broken[random.randrange(len(broken))] = random.choice(
                (0x80, 0xC0, 0xE0, 0xED, 0xF0, 0xF5, 0xFF, random.randrange(256))
            )
        right = subject.outcome(oracle.encode, broken, **options)
        subject.check_same("bytes", repr(bytes(broken)), right, native.encode, broken, **options)
        done += 1
        if not clock.left():
            return done


def _check_decode(subject: Subject, ids: list[int]) -> None:
    """Text and bytes of ids, with special tokens and without."""
    native, oracle = subject.native, subject.oracle
    for skip in (False, True):
        subject.check_same("decode", str(ids), oracle.decode(ids, skip), native.decode, ids, skip)
        subject.check_same("decode_bytes", str(ids), oracle.decode_bytes(ids, skip), native.decode_bytes, ids, skip)


def _check_pairs(subject: Subject, alphabet: texts.Alphabet, random: Random) -> None:
    """Ids, offsets and type ids of single texts and pairs in one batch."""
    native, oracle = subject.native, subject.oracle
    possible = subject.manifest["post_processor"]["pair"] is not None
    for add in (False, True):
        items: list[Any] = [texts.random_text(alphabet, random, random.randint(0, 60)) for _ in range(6)]
        if possible:
            items += [(items[i], items[-i]) for i in range(3)] + [("", ""), ("", items[0])]
        random.shuffle(items)
        options: dict[str, Any] = {"add_special_tokens": add, "special": "match"}
        right = oracle.encode_batch_with_type_ids(items, **options)
        subject.check_same("pairs", repr(items), right, native.encode_batch_with_type_ids, items, **options)


def _readable_tokens(subject: Subject) -> list[str]:
    """Vocabulary entries that are text by themselves."""
    found = []
    for token in subject.data.tokens:
        if token:
            try:
                found.append(token.decode())
            except UnicodeDecodeError:
                continue
    return found


EDGES_SHARE = 0.05
CHECKS: tuple[tuple[Check, float], ...] = (
    (short_strings, 0.15),
    (every_window, 0.12),
    (every_phase, 0.10),
    (runs, 0.08),
    (chunk_ends, 0.05),
    (word_ends, 0.05),
    (random_boundaries, 0.05),
    (vocabulary_words, 0.12),
    (random_ids, 0.05),
    (long_pieces, 0.06),
    (added_tokens, 0.06),
    (other_calls, 0.06),
)
"""What is run, in order, and its share of the time; `edges` comes first."""
