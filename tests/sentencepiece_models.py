"""Made-up SentencePiece models for tests, and their engines: what gigatok reads from them, and the reference."""

from __future__ import annotations

import json
import random
import struct
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sentencepiece
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.definition.read import read_definition
from gigatok_compile.definition_data import write_definition_data
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.manifest import build_manifest, manifest_text
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.regex_engine import RegexEngine

Piece = tuple[str | bytes, float, int]
META: list[Piece] = [("<unk>", 0.0, proto.UNKNOWN), ("<s>", 0.0, proto.CONTROL), ("</s>", 0.0, proto.CONTROL)]
BYTES: list[Piece] = [(f"<0x{byte:02X}>", 0.0, proto.BYTE) for byte in range(256)]
IDENTITY = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}


def model_bytes(
    pieces: Iterable[Piece], normalizer: Mapping[str, Any] = IDENTITY, trainer: Mapping[str, Any] | None = None
) -> bytes:
    """A `.model`, BPE unless `trainer` says another model_type; `normalizer` and `trainer` set fields of the specs."""
    model = proto.model_class()()
    for text, score, kind in pieces:
        model.pieces.add(piece=text.encode() if isinstance(text, str) else text, score=score, type=kind)
    model.trainer_spec.model_type = proto.BPE
    for spec, values in ((model.normalizer_spec, normalizer), (model.trainer_spec, trainer or {})):
        for name, value in values.items():
            setattr(spec, name, value)
    return bytes(model.SerializeToString())


def reference(data: bytes) -> sentencepiece.SentencePieceProcessor:
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(data)
    return processor


def read(data: bytes) -> TokenizerDefinition:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "made.model"
        file.write_bytes(data)
        return read_definition(str(file))


def engine(definition: TokenizerDefinition) -> RegexEngine:
    """The plain-Python engine, by way of the files of a package."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "definition.npz").write_bytes(write_definition_data(definition))
        return RegexEngine(json.loads(manifest_text(build_manifest(definition))), read_definition_data(Path(folder)))


def charsmap(rules: Mapping[str, str]) -> bytes:
    """Compiled rules: a double array, built the plainest way."""
    replacements = b""
    places: dict[str, int] = {}
    for key, value in rules.items():
        places[key] = len(replacements)
        replacements += value.encode() + b"\0"
    tree: dict[Any, Any] = {}
    for key, place in places.items():
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node[None] = place
    units: dict[int, int] = {0: 0}
    free = 1  # blocks of 256 units: the children of each node have one of their own
    pending = [(0, 0, tree)]
    while pending:
        at, label, node = pending.pop()
        block, free = free << 8, free + 1
        offset = at ^ block  # children lie at at ^ offset ^ label
        shifted = (offset >> 8) << 10 | 1 << 9 if offset & 0xFF == 0 else offset << 10
        units[at] = shifted | label | (1 << 8 if None in node else 0)
        for byte, child in node.items():
            if byte is None:
                units[block] = 1 << 31 | child
            else:
                units[block | byte] = 0
                pending.append((block | byte, byte, child))
    size = free << 8
    # A unit that is not there must not have a label that fits: bit 31 makes it a value.
    data = b"".join(struct.pack("<I", units.get(at, 1 << 31)) for at in range(size))
    return struct.pack("<I", len(data)) + data + replacements


def every_kind_of_piece() -> bytes:
    """A Unigram `.model`: every kind of piece, rules that make text longer and shorter, bytes for what is unknown."""
    texts = [
        *"aBxyzq=中é\u2581",
        "xx",
        "x" * 40,
        "hello",
        "\u2581world",
        "inter",
        "nation",
        "al",
        "中文",
        "文字符",
        " a",
        "'s",
        "\u2581\u2581",
    ]
    entries: list[Piece] = [(text, -1.5 - k / 4, proto.NORMAL) for k, text in enumerate(texts)]
    entries += [
        ("<|endoftext|>", 0.0, proto.CONTROL),
        ("xyz", -1.0, proto.UNUSED),
        ("ll", -1.0, proto.USER_DEFINED),
        ("\u2581x", -1.0, proto.USER_DEFINED),
    ]
    rules = charsmap({"é": "e\u0301e", "\n": " ", "😀": "", "ſ": "s", "中\u0301": "a" * 20, "\u00a0": "\u2581 "})
    normalizer = {"precompiled_charsmap": rules, "remove_extra_whitespaces": False}
    trainer = {"model_type": proto.UNIGRAM, "byte_fallback": True}
    return model_bytes([*META, *entries, *BYTES], normalizer, trainer)  # fmt: skip


def random_model(rng: random.Random, model_type: int = proto.BPE) -> tuple[bytes, str]:
    """A small model with everything that can be in one, and the alphabet to make texts of."""
    letters = [*rng.sample("abcdeAé中😀x.", rng.randint(3, 8)), "▁"]
    known = [letter for letter in letters if rng.random() < 0.9]
    texts = dict.fromkeys(known)
    pool = list(letters)
    for _ in range(rng.randint(0, 40)):
        joined = rng.choice(pool) + rng.choice(pool)
        if len(joined) < 9:
            pool.append(joined)
            texts[joined] = None
    near = [-0.1, -0.2, -0.3, -1.1, -3.3, 3.7, -16777216.0] if model_type == proto.UNIGRAM else []
    scores: Sequence[float] = [rng.choice([0.0, -0.0, -1.5, -2.0, -3.25, *near, float(-k)]) for k in range(len(texts))]
    kinds = [rng.choices([proto.NORMAL, proto.UNUSED, proto.USER_DEFINED], [20, 1, 2])[0] for _ in texts]
    pieces = [*META, *zip(texts, scores, kinds, strict=True)]
    if rng.random() < 0.3:
        pieces += [
            (text, 0.0, proto.USER_DEFINED)
            for text in ("  ", "<a b>", "\u2581\u2581\u2581\u2581\u2581")
            if rng.random() < 0.6
        ]
    if rng.random() < 0.3:
        pieces.append(("q", 0.0, rng.choice([proto.CONTROL, proto.UNUSED])))
    byte_fallback = rng.random() < 0.5
    if byte_fallback:
        pieces += BYTES
    flags = {
        flag: rng.random() < 0.5 for flag in ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
    }
    normalizer: dict[str, Any] = flags | {"escape_whitespaces": flags["escape_whitespaces"] or rng.random() < 0.7}
    if rng.random() < 0.6:
        spaces = [" ", "  ", "", "\u2581", " a", "a "]
        keys = [rng.choice([*letters, "\t", "q", " "]) for _ in range(8)]
        keys += [key + rng.choice([*letters, " ", "́"]) for key in keys]
        rules = {key: rng.choice([*spaces, *letters, "ab"]) for key in keys if rng.random() < 0.5}
        if rules:
            normalizer["precompiled_charsmap"] = charsmap(rules)
    trainer = {
        "byte_fallback": byte_fallback,
        "treat_whitespace_as_suffix": rng.random() < 0.3,
        "model_type": model_type,
    }
    return model_bytes(pieces, normalizer, trainer), "".join(letters) + "  \t\u0301zq<>b"
