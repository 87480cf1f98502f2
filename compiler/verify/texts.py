"""Texts to check a module on, made from one or a few characters of each tag and from the vocabulary."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from random import Random

from gigatok_compile.ir.tags import Range, Tag
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.partition import coarsest_partition

Alphabet = Sequence[Sequence[str]]  # for each tag a few characters, the simplest first

# Around the sizes of machine words, vector registers, blocks of 64 bytes and pairs of them.
RUN_LENGTHS = (*range(1, 10), 15, 16, 17, 31, 32, 33, *range(61, 68), *range(125, 132), 191, 192, 193, 255, 256, 257)
CHUNK = 4096  # GT_CHUNK of templates/common.h: kernels take a text in chunks of so many bytes
MOST_PAIRS = 16  # of tags of bytes before a last one
_UTF8_ENDS = (0x7F, 0x7FF, 0xFFFF, 0x10FFFF)
_TYPICAL = "ab \n1.!'-/ABé½\u0301\u00a0中٣…\u3000😀𝐀"  # what a reader of a report would write


def make_alphabet(partitions: Sequence[Sequence[Tag]], finer: Sequence[Sequence[Tag]] = ()) -> list[list[str]]:
    """For each cell that the partitions together make of Unicode: one character of each UTF-8 length, then one of each part
    of it that `finer` partitions tell apart."""
    cells = coarsest_partition([CodeSet(tag.ranges) for tags in partitions for tag in tags])
    alphabet = [_representatives(ranges) for _, ranges in cells]
    for _, part in coarsest_partition([CodeSet(tag.ranges) for tags in (*partitions, *finer) for tag in tags]):
        char = _representatives(part)[0]
        cell = next(i for i, (_, ranges) in enumerate(cells) if any(lo <= ord(char) <= hi for lo, hi in ranges))
        if char not in alphabet[cell]:
            alphabet[cell].append(char)
    return alphabet or [["a"], [" "], ["\n"], ["1"], ["."], ["é"]]


def byte_alphabet(continuation: Sequence[int] | None) -> list[list[str]]:
    """For a kernel that reads bytes, more of an alphabet: for each tag of a continuation byte, characters of each UTF-8
    length that end in it, after every other such tag. continuation: see SplitKernel."""
    if continuation is None:
        return []
    seconds = {tag: 0x80 + continuation.index(tag) for tag in dict.fromkeys(continuation)}
    found = []
    for last in seconds.values():
        chars = [bytes((0xC3, last)).decode()]  # à to ÿ
        chars += [bytes((0xE4, first, last)).decode() for first in seconds.values()]  # Chinese
        pairs = list(itertools.product(seconds.values(), repeat=2))[:MOST_PAIRS]
        chars += [bytes((0xF1, *pair, last)).decode() for pair in pairs]
        found.append(chars)
    return found


def edge_characters(partitions: Sequence[Sequence[Tag]], in_bytes: bool = False) -> str:
    """ASCII, the first and the last character of every range of every tag, and their neighbours: where a table of code points
    would be wrong if it is. in_bytes: also every continuation byte."""
    points = set(range(0x80)) | (set(range(0xC0, 0x100)) if in_bytes else set())
    for tags in partitions:
        for tag in tags:
            for low, high in tag.ranges:
                points |= {low - 1, low, high, high + 1}
    return "".join(chr(c) for c in sorted(points) if 0 <= c <= 0x10FFFF and not 0xD800 <= c <= 0xDFFF)


def _representatives(ranges: Sequence[Range]) -> list[str]:
    """Characters of each UTF-8 length in the set; typical ones before printable ones before others."""
    found: list[str] = []
    low_end = 0
    for high_end in _UTF8_ENDS:
        inside = [
            (max(low, low_end), min(high, high_end)) for low, high in ranges if low <= high_end and high >= low_end
        ]
        if inside:
            typical = next((c for c in _TYPICAL if any(low <= ord(c) <= high for low, high in inside)), None)
            points = [c for low, high in inside[:40] for c in range(low, min(high, low + 40) + 1)]
            found.append(typical or min(map(chr, points), key=lambda c: (not c.isprintable(), c)))
        low_end = high_end + 1
    return found


def simplest(alphabet: Alphabet) -> list[str]:
    """One character a tag."""
    return [chars[0] for chars in alphabet]


def short_strings(chars: Sequence[str], random: Random, limit: int = 1 << 16) -> Iterator[str]:
    """Every string over `chars` of lengths that have at most `limit`, shorter ones first; then random ones without end."""
    longest = 1
    while len(chars) ** longest <= limit and longest < 16:
        for combination in itertools.product(chars, repeat=longest):
            yield "".join(combination)
        longest += 1
    while True:
        yield "".join(random.choices(chars, k=random.randint(longest, longest + 8)))


def de_bruijn(chars: Sequence[str], length: int) -> str:
    """A text in which every string of `length` over `chars` occurs: the Lyndon words whose length divides `length`, in
    order (Fredricksen and Maiorana), and the beginning once more."""
    k = len(chars)
    word, out = [-1], []
    while word:
        word[-1] += 1
        if length % len(word) == 0:
            out += word
        size = len(word)
        while len(word) < length:
            word.append(word[-size])
        while word and word[-1] == k - 1:
            word.pop()
    return "".join(chars[i] for i in itertools.islice(itertools.cycle(out), len(out) + length - 1))


def runs(alphabet: Alphabet, random: Random) -> Iterator[str]:
    """Runs of characters at lengths where blocks end, at every phase, without end."""
    chars = [char for tag in alphabet for char in tag]
    simple = simplest(alphabet)
    for char, length, after in itertools.product(simple, RUN_LENGTHS, simple):
        yield simple[0] * random.randrange(3) + char * length + after
    while True:
        parts = [random.choice(simple) * random.randrange(64)]
        parts += [random.choice(chars) * random.choice(RUN_LENGTHS) for _ in range(random.randint(1, 5))]
        yield "".join(parts)


def edges(characters: str, alphabet: Alphabet) -> Iterator[str]:
    """Every one of `characters` by itself after each simple character; then twice."""
    for simple, times in itertools.product(simplest(alphabet), (1, 2)):
        yield "".join(simple + char * times for char in characters)


def chunk_ends(alphabet: Alphabet, random: Random, chunks: int = 16) -> Iterator[str]:
    """Texts in which some characters of any width lie around the end of every chunk, the rest being runs; without end."""
    chars = [char for tag in alphabet for char in tag]
    simple = [char for char in simplest(alphabet) if char.isascii()] or ["a"]
    while True:
        data, start = bytearray(), 0  # of the chunk
        for _ in range(chunks):
            window = random.choices(chars, k=random.randint(2, 8))
            before = len("".join(window[: random.randint(1, len(window))]).encode())
            run = random.choice(simple) * max(0, start + CHUNK - before - random.randrange(3) - len(data))
            data += (run + "".join(window)).encode()
            start += CHUNK
            while start < len(data) and data[start] & 0xC0 == 0x80:  # a chunk ends between characters
                start -= 1
        yield data.decode()


def word_ends(alphabet: Alphabet, random: Random) -> Iterator[str]:
    """Texts that are words of bits full of one class, but for the character before each end and two after it; without end.

    A kernel leaves a cycle early where a word has no character that needs another round; what it hands on to the next word
    has to be right all the same. 64, 128, 256 and 512 are the characters of a word of each kernel.
    """
    chars = simplest(alphabet)
    while True:
        for filler, size in itertools.product(chars, (64, 128, 256, 512)):
            units = [random.choices(chars, k=3) for _ in range(1024 // size)]
            yield "".join(after + then + filler * (size - 3) + last for after, then, last in units)


def random_text(alphabet: Alphabet, random: Random, length: int) -> str:
    """Tags uniform, with some runs of one tag."""
    out: list[str] = []
    while len(out) < length:
        tag = random.choice(alphabet)
        out += random.choices(tag, k=1 if random.random() < 0.8 else random.choice(RUN_LENGTHS[:20]))
    return "".join(out[:length])


def words(tokens: Sequence[str], alphabet: Alphabet, random: Random) -> Iterator[str]:
    """Texts out of vocabulary entries: each by itself, then joined, cut short, and mixed with single characters."""
    order = list(tokens)
    random.shuffle(order)
    yield from order
    chars = [char for tag in alphabet for char in tag]
    while True:
        parts = random.choices(tokens, k=random.randint(1, 12)) if tokens else [random.choice(chars)]
        for i, part in enumerate(parts):
            chance = random.random()
            if chance < 0.15:
                parts[i] = part[: random.randint(0, len(part))]
            elif chance < 0.3:
                parts[i] = part + random.choice(chars)
            elif chance < 0.35:
                parts[i] = part.swapcase()
        yield "".join(parts)


def long_pieces(tokens: Sequence[str], alphabet: Alphabet, random: Random, length: int) -> list[str]:
    """Texts that a pattern hardly cuts, to be merged as one piece."""
    simple = simplest(alphabet)
    letters = [token for token in tokens if token.isalpha()] or simple
    texts = [char * length for char in simple]
    texts += [(random.choice(simple) + random.choice(simple)) * (length // 2) for _ in range(4)]
    texts += ["".join(random.choices(letters, k=max(1, length // 6))) for _ in range(4)]
    return texts


def added_token_texts(contents: Sequence[str], alphabet: Alphabet, random: Random) -> Iterator[str]:
    """Added tokens whole and broken, next to each other, to blanks, and to characters of every tag, without end."""
    chars = [char for tag in alphabet for char in tag] + [" ", "  ", "\n", "a", "A", "_", "1"]
    while True:
        parts = []
        for _ in range(random.randint(1, 8)):
            content = random.choice(contents)
            chance = random.random()
            if chance < 0.5:
                parts.append(content)
            elif chance < 0.65:
                cut = random.randint(0, len(content))
                parts.append(content[:cut] if random.random() < 0.5 else content[cut:])
            else:
                parts.append(random.choice(chars) * random.randint(1, 3))
        yield "".join(parts)


def changing_characters(
    normalize: Callable[[str], str], others: Sequence[str], random: Random, most: int = 300
) -> list[str]:
    """Of the characters that often change, those that a normalizer does change, at most so many; and `others`."""
    points = (
        *range(0x2600),
        *range(0x2E80, 0x3400),
        *range(0xAC00, 0xAC40),
        *range(0xF900, 0xFFFE),
        *range(0x1D15E, 0x1D7FF, 7),
    )
    changed = [chr(c) for c in points if not 0xD800 <= c < 0xE000 and normalize(chr(c)) != chr(c)]
    few = [char for char in changed if char.isascii()]
    return [*few, *random.sample(changed, min(most, len(changed))), *filter(None, others)]


def marked_text(alphabet: Alphabet, random: Random, length: int, changing: Sequence[str] = ()) -> str:
    """Letters with combining marks and Hangul parts, and what a normalizer changes, for normalizers."""
    marks = [
        chr(c) for c in (*range(0x300, 0x345), 0x323, 0x327, 0x345, 0x5B0, 0x5B4, 0x64B, 0x651, 0xE38, 0x3099, 0x302E)
    ]
    hangul = [chr(c) for c in (0x1100, 0x1112, 0x1161, 0x1175, 0x11A8, 0x11C2, 0xAC00, 0xAC01, 0xD7A3)]
    bases = [
        *"aeiouAcnY",
        "é",
        "ǭ",
        "が",
        "は",
        "\u0958",
        "\u212b",
        "\u2126",
        "\u1e9b",
        *(c for tag in alphabet for c in tag),
    ]
    pools = [bases, bases, marks, marks, hangul, *([changing, changing] if changing else [])]
    return "".join(random.choice(random.choice(pools)) for _ in range(length))
