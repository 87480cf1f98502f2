"""The engines and how each is called: import, load, one text, many texts, and where its ids are.

An adapter hands over the engine's own calls, unwrapped where they fit. What they return (a numpy array, a list,
an Encoding object, a flat buffer) is what is timed: no list or array is made inside a timed region that the
engine does not make by itself. `ids_of` and `flat_of` read the ids out afterwards, outside the timing.

Not supported on purpose: more than one thread, special tokens added by a post-processor, truncation, padding.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.digests import Ids, Offsets, join_ids

GPT2_PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
REFERENCE = "tokenizers"
CONTROL = "control"
OURS = "ours"


class Skip(Exception):
    """The engine cannot run this model; the message says why."""


class Adapter(NamedTuple):
    loop: Callable[[Sequence[str]], list[Any]]  # one call per text, results kept
    each: Callable[[Sequence[str]], None]  # one call per text, each result dropped at once
    batch: Callable[[list[str]], Any]  # many texts, one thread
    ids_of: Callable[[Any], Any]  # one result of `loop` -> sequence of ids
    flat_of: Callable[[Any], tuple[Ids, Offsets]]  # result of `batch` -> ids, offsets


class Engine(NamedTuple):
    name: str  # key in results
    title: str  # heading in tables
    environment: str  # "released", "hf-rc" or "own"
    distribution: str  # for the version
    modules: tuple[str, ...]  # what import time counts
    load: Callable[[str], Adapter]  # model file -> adapter
    single_returns: str
    batch_returns: str
    lazy: tuple[str, ...] = ()  # imported by the engine on first use; imported before timing a pass


LOOPS = """
def loop(texts):
    return [{call} for text in texts]

def each(texts):
    for text in texts:
        {call}
"""


def spell_loops(call: str, encode: Any) -> tuple[Callable[[Sequence[str]], list[Any]], Callable[[Sequence[str]], None]]:
    """`loop` and `each` with the call written in place: a wrapper would cost a short call a tenth of its time."""
    names: dict[str, Any] = {"encode": encode}
    exec(LOOPS.format(call=call), names)  # noqa: S102  # our own two spellings, nothing from outside
    return names["loop"], names["each"]


PLAIN = "encode(text)"
NO_SPECIAL = "encode(text, add_special_tokens=False)"


def itself(value: Any) -> Any:
    return value


# Rivals. Imports stay inside: each environment holds only some of them.


def load_tokenizers(path: str) -> Adapter:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    if hasattr(tokenizer, "no_truncation"):  # 0.x keeps both on the tokenizer; in 1.0 they are per call
        tokenizer.no_truncation()
        tokenizer.no_padding()
    batch = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)

    def ids_of(encoding: Any) -> Any:
        return encoding.ids_array if hasattr(encoding, "ids_array") else encoding.ids

    return Adapter(
        *spell_loops(NO_SPECIAL, tokenizer.encode),
        lambda texts: batch(texts, add_special_tokens=False),
        ids_of,
        lambda encodings: join_ids(ids_of(encoding) for encoding in encodings),
    )


def load_gigatoken(path: str) -> Adapter:
    import gigatoken  # type: ignore[import-not-found]

    tokenizer = gigatoken.Tokenizer(path)

    def flat_of(array: Any) -> tuple[Ids, Offsets]:
        import numpy as np

        offsets = np.asarray(array.layout.offsets.data, dtype=np.int64)
        return np.asarray(array.layout.content.data)[offsets[0] : offsets[-1]], offsets - offsets[0]

    batch = tokenizer.encode_batch
    return Adapter(*spell_loops(PLAIN, tokenizer.encode), lambda texts: batch(texts, parallel=False), itself, flat_of)


def load_fastokens(path: str) -> Adapter:
    import fastokens  # type: ignore[import-not-found]

    tokenizer = fastokens._native.Tokenizer.from_file(path)

    def flat_of(buffers: tuple[bytes, bytes]) -> tuple[Ids, Offsets]:
        import numpy as np

        return np.frombuffer(buffers[0], "<u4"), np.frombuffer(buffers[1], "<u8").astype(np.int64)

    return Adapter(
        *spell_loops(PLAIN, tokenizer.encode), tokenizer.encode_batch_flat, lambda encoding: encoding.ids, flat_of
    )


def load_tiktoken(path: str) -> Adapter:
    import tiktoken

    pattern, ranks, special = tiktoken_parts(path)
    encoding = tiktoken.Encoding("benchmark", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    batch = encoding.encode_ordinary_batch
    return Adapter(
        *spell_loops(PLAIN, encoding.encode_ordinary), lambda texts: batch(texts, num_threads=1), itself, join_ids
    )


def tiktoken_parts(path: str) -> tuple[str, dict[bytes, int], dict[str, int]]:
    """(pattern, ranks, special tokens) of a byte-level BPE tokenizer.json whose ids are merge ranks."""
    import json

    with open(path, encoding="utf-8") as file:
        definition = json.load(file)
    steps = definition["pre_tokenizer"].get("pretokenizers", [definition["pre_tokenizer"]])
    patterns = [step["pattern"].get("Regex") for step in steps if step["type"] == "Split"]
    patterns += [GPT2_PATTERN for step in steps if step["type"] == "ByteLevel" and step.get("use_regex", True)]
    if len(patterns) != 1 or not patterns[0] or any(step["type"] not in ("Split", "ByteLevel") for step in steps):
        raise Skip("tiktoken takes exactly one pattern")
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    byte_of = {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(others)}
    special = {token["content"]: token["id"] for token in definition["added_tokens"]}
    ranks = {}
    for piece, rank in definition["model"]["vocab"].items():
        if piece not in special:
            ranks[bytes(byte_of[character] for character in piece)] = rank
    last = -1
    for merge in definition["model"]["merges"]:
        pair = merge.split(" ", 1) if isinstance(merge, str) else merge
        rank = ranks.get(bytes(byte_of[character] for character in "".join(pair)), -1)
        if rank < last:
            raise Skip("ids are not merge ranks")
        last = rank
    return patterns[0], ranks, special


def load_control(path: str) -> Adapter:
    """The reference with one fault: a wrong id in single calls, a shifted boundary in the batch. Must be caught."""
    good = load_tokenizers(path)

    def flat_of(encodings: Any) -> tuple[Ids, Offsets]:
        ids, offsets = good.flat_of(encodings)
        offsets[1] += 1 if offsets[1] < offsets[-1] else -1  # the ids stay the same
        return ids, offsets

    first = [True]

    def ids_of(encoding: Any) -> Any:
        ids = list(encoding.ids)
        if first[0]:
            ids[len(ids) // 2] ^= 1
            first[0] = False
        return ids

    return good._replace(ids_of=ids_of, flat_of=flat_of)


# Ours: any importable folder that `gigatok-compile` wrote.


def load_ours(path: str) -> Adapter:
    """`path` is the module's folder, DIR/NAME."""
    folder, _, name = path.rstrip("/").rpartition("/")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    module = importlib.import_module(name)
    _ = module.tokenizer  # whatever is lazy is loaded here
    batch = module.encode_batch
    return Adapter(*spell_loops(PLAIN, module.encode), lambda texts: batch(texts, threads=1), itself, tuple_of)


def tuple_of(pair: Sequence[Any]) -> tuple[Ids, Offsets]:
    ids, offsets = pair
    return ids, offsets


ARRAY = "numpy uint32"
FLAT = "numpy uint32 + offsets"
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(OURS, "compiled", "own", "", (), load_ours, ARRAY, FLAT),
        Engine(
            "gigatoken", "gigatoken", "released", "gigatoken", ("gigatoken",), load_gigatoken, ARRAY, "awkward array",
            lazy=("awkward",),
        ),
        Engine(
            "tokenizers-rc", "tokenizers", "hf-rc", "tokenizers", ("tokenizers",), load_tokenizers, "Encoding",
            "list of Encoding",
        ),
        Engine(
            "fastokens", "fastokens", "released", "fastokens", ("fastokens",), load_fastokens, "Encoding",
            "flat u32 and offset bytes",
        ),
        Engine(
            "tiktoken", "tiktoken", "released", "tiktoken", ("tiktoken",), load_tiktoken, "list of int",
            "list of lists",
        ),
        Engine(
            REFERENCE, "tokenizers", "released", "tokenizers", ("tokenizers",), load_tokenizers, "Encoding",
            "list of Encoding",
        ),
        Engine(CONTROL, "negative control", "released", "tokenizers", ("tokenizers",), load_control, "", ""),
    )
}  # fmt: skip


def find_engine(name: str) -> Engine:
    """`ours-avx2` and the like are the compiled module with GIGATOK_ISA=avx2."""
    base, _, isa = name.partition("-")
    if base == OURS and isa:
        return ENGINES[OURS]._replace(name=name, title=f"compiled ({isa})")
    if name not in ENGINES:
        raise KeyError(f"no engine {name!r}; there are {', '.join(ENGINES)} and {OURS}-ISA")
    return ENGINES[name]


def forced_isa(name: str) -> str | None:
    base, _, isa = name.partition("-")
    return isa if base == OURS and isa else None
