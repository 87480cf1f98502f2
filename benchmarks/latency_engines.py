"""The engines of the latency benchmark, and how each is called for one text.

Each returns what it returns by itself, as in `engines.py`: our module a numpy array, tokenizers an Encoding, iree-tokenizer a
numpy array, sentencepiece a list, tokie an Encoding. Truncation and padding that a definition asks for are switched off,
since a text of 4,098 tokens would be cut to 128. Special tokens are added where the caller asks for them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from benchmarks.engines import Skip, spell_loops

OURS = "ours"
REFERENCES = {"tokenizer.json": "tokenizers", "tokenizer.model": "sentencepiece"}
"""Which engine says what is right, by the kind of the definition."""


class Calls(NamedTuple):
    each: Callable[[Sequence[str]], None]  # one call per text, each result dropped at once
    ids: Callable[[str], Any]  # one text -> its ids


@dataclass(frozen=True, slots=True)
class Engine:
    """environment: "own" or a name of `peers.ENVIRONMENTS`. reads: "module", or the file of a definition. libraries: parts of
    the paths of its shared objects."""

    name: str
    title: str
    environment: str
    distribution: str
    reads: str
    modules: tuple[str, ...]
    libraries: tuple[str, ...]
    load: Callable[[str, bool], Calls]  # path of what it reads, whether special tokens are added


def load_ours(path: str, special: bool) -> Calls:
    """`path` is the module's folder, DIR/NAME."""
    import importlib

    folder, _, name = path.rstrip("/").rpartition("/")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    encode = importlib.import_module(name).encode
    call = "encode(text, add_special_tokens=True)" if special else "encode(text)"
    return Calls(spell_loops(call, encode)[1], lambda text: encode(text, add_special_tokens=special))


def load_tokenizers(path: str, special: bool) -> Calls:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(path)
    if hasattr(tokenizer, "no_truncation"):  # 0.x keeps both on the tokenizer; in 1.0 they are per call
        tokenizer.no_truncation()
        tokenizer.no_padding()
    call = f"encode(text, add_special_tokens={special})"
    return Calls(
        spell_loops(call, tokenizer.encode)[1], lambda text: tokenizer.encode(text, add_special_tokens=special).ids
    )


def load_sentencepiece(path: str, special: bool) -> Calls:
    import sentencepiece

    processor = sentencepiece.SentencePieceProcessor(model_file=path)
    if special:
        raise Skip("a .model has no post-processor")
    encode = processor.EncodeAsIds
    return Calls(spell_loops("encode(text)", encode)[1], encode)


def load_iree(path: str, special: bool) -> Calls:
    from iree.tokenizer import Tokenizer  # type: ignore[import-not-found]

    encode = Tokenizer.from_file(path).encode_to_array
    call = "encode(text, add_special_tokens=True)" if special else "encode(text)"
    return Calls(spell_loops(call, encode)[1], lambda text: encode(text, add_special_tokens=special))


def load_tokie(path: str, special: bool) -> Calls:
    import tokie  # type: ignore[import-not-found]

    tokenizer = tokie.Tokenizer.from_json(path)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    encode = tokenizer.encode
    call = f"encode(text, add_special_tokens={special})"
    return Calls(spell_loops(call, encode)[1], lambda text: encode(text, add_special_tokens=special).ids)


JSON, MODEL = REFERENCES
ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        Engine(OURS, "compiled", "own", "", "module", (), ("/_native.",), load_ours),
        Engine(
            "tokenizers", "tokenizers", "released", "tokenizers", JSON, ("tokenizers",), ("/tokenizers/",),
            load_tokenizers,
        ),
        Engine(
            "tokenizers-rc", "tokenizers", "hf-rc", "tokenizers", JSON, ("tokenizers",), ("/tokenizers/",),
            load_tokenizers,
        ),
        Engine(
            "sentencepiece", "sentencepiece", "released", "sentencepiece", MODEL, ("sentencepiece",),
            ("/sentencepiece", "/libstdc++"), load_sentencepiece,
        ),
        Engine(
            "iree-tokenizer", "iree-tokenizer", "released", "iree-tokenizer", JSON, ("iree.tokenizer",), ("/iree/",),
            load_iree,
        ),
        Engine("tokie", "tokie", "released", "tokie", JSON, ("tokie",), ("/tokie/",), load_tokie),
    )
}  # fmt: skip
RIVALS = tuple(name for name in ENGINES if name != OURS)
