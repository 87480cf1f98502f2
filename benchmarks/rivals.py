"""Engines by the kind of definition that they read: what a process of `who_worker.py` loads and calls.

A definition is one of four kinds: `json` (tokenizer.json), `ranks` (*.tiktoken), `tekken` (tekken.json), `sentencepiece`
(*.model). Ids are those without special tokens put round a text. Added tokens typed in the text are matched where the
reference matches them: in a tokenizer.json. A rank file, a tekken.json and a `.model` have none to match, so there each
engine is told not to.

Imports stay inside: each environment holds only some of the engines.
"""

from __future__ import annotations

import base64
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Encode = Callable[[str], Sequence[int]]


class NoReader(Exception):
    """The engine has nothing to read this kind of file with; the message says what it reads."""


class Job(NamedTuple):
    """What one process is to load. `pattern` and `encoding` go with rank files, which carry neither; `module` is where ours is
    compiled to, and `grammar` what it is compiled with."""

    engine: str
    path: str
    kind: str
    pattern: str = ""
    encoding: str = ""
    scheme: str = ""
    grammar: str = ""
    module: str = ""


def kind_of(path: Path) -> str:
    if path.suffix == ".model":
        return "sentencepiece"
    if path.suffix == ".tiktoken":
        return "ranks"
    return "tekken" if path.name.startswith("tekken") else "json"


def rank_table(job: Job) -> dict[bytes, int]:
    """Bytes -> rank, of a rank file or of the part of a tekken.json that is not special tokens."""
    data = Path(job.path).read_bytes()
    if job.kind == "tekken":
        file = json.loads(data)
        used = file["config"]["default_vocab_size"] - file["config"]["default_num_special_tokens"]
        return {base64.b64decode(token["token_bytes"]): token["rank"] for token in file["vocab"][:used]}
    lines = [line.split() for line in data.splitlines() if line.strip() and not line.startswith(b"=")]
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def reference(job: Job) -> Encode:
    """tokenizers of a tokenizer.json, sentencepiece of a `.model`, tiktoken of ranks."""
    if job.kind == "json":
        return tokenizers(job)
    if job.kind == "sentencepiece":
        import sentencepiece  # type: ignore[import-untyped, unused-ignore]

        processor = sentencepiece.SentencePieceProcessor(model_file=job.path)
        return lambda text: list(processor.encode(text))
    import tiktoken

    pattern, offset = job.pattern, 0
    if job.kind == "tekken":
        config = json.loads(Path(job.path).read_bytes())["config"]
        pattern, offset = config["pattern"], config["default_num_special_tokens"]
    encoding = tiktoken.Encoding("model", pat_str=pattern, mergeable_ranks=rank_table(job), special_tokens={})
    return lambda text: [rank + offset for rank in encoding.encode_ordinary(text)]


def tokenizers(job: Job) -> Encode:
    if job.kind != "json":
        raise NoReader("reads tokenizer.json only")
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(job.path)
    if hasattr(tokenizer, "no_truncation"):  # 0.x keeps what the file says of both on the tokenizer
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return lambda text: tokenizer.encode(text, add_special_tokens=False).ids
    return lambda text: tokenizer.encode(text, add_special_tokens=False, truncation=None, padding=None).ids


def gigatoken(job: Job) -> Encode:
    import gigatoken  # type: ignore[import-not-found, unused-ignore]

    read = gigatoken.Tokenizer
    if job.kind == "json":
        tokenizer = read(job.path)
    elif job.kind == "sentencepiece":
        tokenizer = read.from_sentencepiece(job.path)
    elif job.kind == "ranks":
        tokenizer = read.from_tiktoken(job.path, pretokenizer=job.scheme)
    else:
        raise NoReader("reads tokenizer.json, rank files and .model")
    return lambda text: tokenizer.encode(text)


def fastokens(job: Job) -> Encode:
    from fastokens import _native  # type: ignore[import-not-found, unused-ignore]

    if job.kind == "json":
        tokenizer = _native.Tokenizer.from_file(job.path)
    elif job.kind == "ranks":
        tokenizer = _native.Tokenizer.from_tiktoken(job.path, pattern=job.pattern, special_tokens={})
    else:
        raise NoReader("reads tokenizer.json and rank files")
    return lambda text: tokenizer.encode(text).ids


def tiktoken(job: Job) -> Encode:
    """A tokenizer.json whose ids are merge ranks, by a conversion of ours: tiktoken has no reader for it."""
    if job.kind != "json":
        raise NoReader("the reference")
    import tiktoken

    from benchmarks.engines import Skip, tiktoken_parts

    definition = json.loads(Path(job.path).read_bytes())
    affixes = ("end_of_word_suffix", "continuing_subword_prefix")
    if definition.get("normalizer") or any(definition["model"].get(affix) for affix in affixes):
        raise NoReader("no normalizer and no affixes in tiktoken")
    if not keeps_pieces(definition.get("pre_tokenizer") or {}):
        raise NoReader("pieces are what the pattern matches, no others")
    try:
        pattern, ranks, special = tiktoken_parts(job.path)
    except (Skip, KeyError, AttributeError, TypeError) as error:
        raise NoReader("not one pattern and ids that are merge ranks") from error
    if any(bytes([byte]) not in ranks for byte in range(256)):
        raise NoReader("not every byte is a token")
    encoding = tiktoken.Encoding("model", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
    return lambda text: encoding.encode(text, allowed_special="all", disallowed_special=())


def keeps_pieces(step: dict[str, Any]) -> bool:
    """Whether pieces are the matches of Split patterns, as in tiktoken: not those of another behavior, and no space in front."""
    split = step.get("behavior", "Isolated"), bool(step.get("invert"))
    kept = split in (("Isolated", False), ("Removed", True)) and not step.get("add_prefix_space")
    return kept and all(keeps_pieces(part) for part in step.get("pretokenizers", []))


def tokie(job: Job) -> Encode:
    if job.kind != "json":
        raise NoReader("reads tokenizer.json only")
    import tokie as engine  # type: ignore[import-not-found, unused-ignore]

    tokenizer = engine.Tokenizer.from_json(job.path)
    return lambda text: ids_of(tokenizer.encode(text, add_special_tokens=False))


def iree(job: Job) -> Encode:
    """Its lists: its arrays come from the same call."""
    from iree import tokenizer as engine  # type: ignore[import-not-found, unused-ignore]

    if job.kind == "json":
        tokenizer = engine.Tokenizer.from_file(job.path)
    elif job.kind == "ranks":
        tokenizer = engine.Tokenizer.from_tiktoken(job.path, job.encoding)
    else:
        raise NoReader("reads tokenizer.json and rank files")
    return lambda text: tokenizer.encode(text, add_special_tokens=False)


def kitoken(job: Job) -> Encode:
    """`encode_specials` is its word for tokens that are typed in the text."""
    from kitoken import Kitoken  # type: ignore[import-not-found, unused-ignore]

    readers = {
        "json": Kitoken.from_tokenizers_file,
        "ranks": Kitoken.from_tiktoken_file,
        "tekken": Kitoken.from_tekken_file,
        "sentencepiece": Kitoken.from_sentencepiece_file,
    }
    tokenizer = readers[job.kind](job.path)
    typed = job.kind == "json"
    return lambda text: tokenizer.encode(text, typed)


def ours(job: Job) -> Encode:
    """Compiled first, unless the module is there already; not verified, so that nothing is refused for wrong ids."""
    folder, _, name = job.module.rpartition("/")
    if not Path(job.module).exists():
        from gigatok_compile.driver import compile_definition

        compile_definition(job.path, out_dir=Path(folder), name=name, grammar=job.grammar or None, verify=False)
    sys.path.insert(0, folder)
    module: Any = importlib.import_module(name)
    options = {"json": {"special": "match"}, "sentencepiece": {}}.get(job.kind, {"special": "text"})
    return lambda text: module.encode(text, add_special_tokens=False, **options)


def ids_of(encoding: Any) -> Sequence[int]:
    ids: Sequence[int] = encoding.ids if hasattr(encoding, "ids") else encoding
    return ids


class Rival(NamedTuple):
    title: str
    environment: str  # "released", "hf-rc" of peers.py, or "own"
    distribution: str
    load: Callable[[Job], Encode]


REFERENCE = "reference"
OURS = "ours"
RIVALS: dict[str, Rival] = {
    OURS: Rival("compiled", "own", "gigatok-compile", ours),
    "tokenizers-rc": Rival("tokenizers 1.0rc", "hf-rc", "tokenizers", tokenizers),
    "gigatoken": Rival("gigatoken", "released", "gigatoken", gigatoken),
    "fastokens": Rival("fastokens", "released", "fastokens", fastokens),
    "kitoken": Rival("kitoken", "released", "kitoken", kitoken),
    "tokie": Rival("tokie", "released", "tokie", tokie),
    "iree": Rival("iree-tokenizer", "released", "iree-tokenizer", iree),
    "tiktoken": Rival("tiktoken", "released", "tiktoken", tiktoken),
}
