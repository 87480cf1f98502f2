"""Small made-up vocabularies. Loaded with `runpy.run_path`, like kernel_harness.py."""

from __future__ import annotations

import functools
import itertools
import lzma
import random
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from gigatok_compile.ir.definition import BpeModel

BYTES = tuple(bytes([byte]) for byte in range(256))


def trained(text: bytes, merges: int, *, ignore_merges: bool = False) -> BpeModel:
    """Bytes, then tokens that BPE training on `text` (one word a space) makes, in that order: a usual vocabulary."""
    words = [list(word) for word in text.split()]
    tokens, rows = list(BYTES), []
    for _ in range(merges):
        counts: dict[tuple[int, int], int] = {}
        for word in words:
            for pair in itertools.pairwise(word):
                counts[pair] = counts.get(pair, 0) + 1
        if not counts:
            break
        left, right = max(counts, key=lambda pair: (counts[pair], pair))
        new = len(tokens)
        rows.append((left, right, new))
        tokens.append(tokens[left] + tokens[right])
        for word in words:
            at = 0
            while at + 1 < len(word):
                if (word[at], word[at + 1]) == (left, right):
                    word[at : at + 2] = [new]
                at += 1
    return model(tokens, rows, range(len(rows)), ignore_merges=ignore_merges)


def ranked(words: Iterable[bytes], *, first_id: int = 0) -> BpeModel:
    """A rank file: every split of an entry into two entries merges, at the entry's rank. Ranks need not grow with the
    parts', and entries may be unreachable."""
    tokens = list(dict.fromkeys([*BYTES, *words]))
    ids = {token: number + first_id for number, token in enumerate(tokens)}
    rows = [
        (ids[token[:cut]], ids[token[cut:]], ids[token])
        for token in tokens
        for cut in range(1, len(token))
        if token[:cut] in ids and token[cut:] in ids
    ]
    padded = [None] * first_id + tokens
    return model(padded, rows, [row[2] for row in rows], ignore_merges=True)


def shuffled(source: BpeModel, seed: int) -> BpeModel:
    """The same vocabulary with its ids in another order, so that ids do not sort by rank."""
    to = list(range(len(source.tokens)))
    random.Random(seed).shuffle(to)
    new_id = np.array(to, dtype=np.int32)
    tokens: list[bytes | None] = [None] * len(to)
    for old, new in enumerate(to):
        tokens[new] = source.tokens[old]
    return BpeModel(
        tuple(tokens),
        new_id[source.merges],
        source.ranks,
        new_id[source.byte_ids].astype(np.int32),
        source.ignore_merges,
    )


def model(
    tokens: Iterable[bytes | None],
    rows: Iterable[tuple[int, int, int]],
    ranks: Iterable[int],
    *,
    ignore_merges: bool = False,
    missing: Iterable[int] = (),
) -> BpeModel:
    tokens = tuple(tokens)
    ids = {token: number for number, token in enumerate(tokens)}
    byte_ids = np.array([-1 if byte in set(missing) else ids[bytes([byte])] for byte in range(256)], dtype=np.int32)
    return BpeModel(
        tokens,
        np.array(list(rows), dtype=np.int32).reshape(-1, 3),
        np.array(list(ranks), dtype=np.int32),
        byte_ids,
        ignore_merges,
    )


TEXT = (
    "the there other another bother mother then these hello yellow fellow mellow lower slower aaaaaa aaaa baba abab "
    "日本語 日本人 本日 中国人 中国 国人 привет при ответ naïve café … 👍👍🏽 👩‍👩‍👧 é ê"
).encode() * 2


def made_up() -> dict[str, BpeModel]:
    """One of each kind, by name."""
    generator = random.Random(7)
    odd = [bytes(generator.choices(b"ab", k=generator.randint(2, 9))) for _ in range(90)]
    odd += [w[i : i + 3] for w in ("日本語中国人".encode(),) for i in range(0, 16, 2)]
    return {
        "trained": trained(TEXT, 120),
        "ranked": ranked(odd),
        "ranked, ids from 1000": ranked(odd, first_id=1000),
        "shuffled": shuffled(trained(TEXT, 120), 3),
        "no merges": model(BYTES, [], []),
    }


@functools.cache
def samples(shared: Path) -> dict[str, str]:
    """The first megabyte of every corpus of the shared folder."""
    texts = {}
    for path in sorted((shared / "corpora").glob("*.txt.xz")):
        with lzma.open(path) as file:
            texts[path.name.removesuffix(".txt.xz")] = file.read(1_000_000).decode(errors="ignore")
    return texts
