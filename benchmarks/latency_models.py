"""The definitions of the latency benchmark: what each engine reads, and our compiled module of it."""

from __future__ import annotations

import base64
import json
import lzma
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.materials import prepare_model, shared_folder

NORMAL, UNKNOWN, CONTROL = 1, 2, 3
UNIGRAM = 1


@dataclass(frozen=True, slots=True)
class Definition:
    """files: kind of a file ("tokenizer.json", "tokenizer.model", "module") -> where it is. The first of a definition is what
    is compiled and whose reference says what is right. missing: kind -> why there is none. notes: for the tables. tier: what
    runs our module."""

    name: str
    source: str
    files: dict[str, Path] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    tier: str = "native"


def find_definition(name: str, folder: Path) -> Definition:
    """The definition of a model in the shared folder, unpacked into `folder`; `NAME=FILE` names a file instead."""
    name, _, given = name.partition("=")
    target = folder / name
    target.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    if given:
        path = Path(given).resolve()
        files["tokenizer.json" if path.suffix == ".json" else "tokenizer.model"] = path
    else:
        shared = shared_folder()
        packed = shared / "models" / name / "tokenizer.model.xz" if shared else None
        if packed is None or not packed.exists() or (packed.parent / "tokenizer.json.xz").exists():
            files["tokenizer.json"] = prepare_model(name, folder)
        if packed is not None and packed.exists():
            files["tokenizer.model"] = target / "tokenizer.model"
            files["tokenizer.model"].write_bytes(lzma.decompress(packed.read_bytes()))
    source = next(iter(files))
    if "tokenizer.json" in files:
        files["tokenizer.json"] = uncut(files["tokenizer.json"], target)
    missing = {}
    notes: tuple[str, ...] = ()
    if source == "tokenizer.model":
        missing["tokenizer.json"] = "it reads no .model"
    elif "tokenizer.model" not in files:
        made = sentencepiece_model(json.loads(files["tokenizer.json"].read_text(encoding="utf-8")))
        if made is None:
            missing["tokenizer.model"] = "there is no .model of it"
        else:
            files["tokenizer.model"] = target / "made.model"
            files["tokenizer.model"].write_bytes(made)
            notes = (
                f"{name}: there is no .model of it; sentencepiece reads one of the same pieces, scores and charsmap",
            )
    return Definition(name, source, files, missing, notes)


def uncut(path: Path, folder: Path) -> Path:
    """The definition without truncation and padding: tokenizers 1.0 would keep to them, and encode a part of a text."""
    definition = json.loads(path.read_text(encoding="utf-8"))
    if not definition.get("truncation") and not definition.get("padding"):
        return path
    folder = folder / "uncut"
    folder.mkdir(exist_ok=True)
    made = folder / "tokenizer.json"
    made.write_text(json.dumps(definition | {"truncation": None, "padding": None}), encoding="utf-8")
    return made


def compile_module(definition: Definition, folder: Path, python: str) -> Definition:
    """With our module of it, compiled into `folder` unless it is there; `missing` says why not."""
    module = folder / definition.name
    if not (module / "__init__.py").exists():
        program = "from gigatok_compile.cli import main; raise SystemExit(main())"
        command = [python, "-c", program, str(definition.files[definition.source]), "--name", definition.name]
        command += ["-o", str(folder), "--no-verify", "--quiet"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or [f"exit {done.returncode}"])[0]
            reason = reason.replace(str(definition.files[definition.source]), definition.source)
            return replace(definition, missing=definition.missing | {"module": f"not compiled: {reason}"})
    manifest = module / "manifest.json"
    facts: dict[str, Any] = json.loads(manifest.read_text(encoding="utf-8")) if manifest.exists() else {}
    tier, notes = facts.get("engine", "native"), definition.notes
    if tier != "native":
        notes += (f"{definition.name}: our module is not native but runs on the slow tier `{tier}`",)
    return replace(definition, files=definition.files | {"module": module.resolve()}, notes=notes, tier=tier)


# A SentencePiece .model out of a Unigram tokenizer.json. Written by hand: no protobuf is needed for so few fields.


def sentencepiece_model(definition: dict[str, Any]) -> bytes | None:
    """The `.model` with the same pieces, scores and charsmap, or None for what sentencepiece could not do alike.

    That is anything but a Unigram model over words that begin with "▁", with at most one charsmap.
    """
    model, pre_tokenizer = definition["model"], definition.get("pre_tokenizer") or {}
    if model.get("type") != "Unigram" or model.get("unk_id") is None or pre_tokenizer.get("type") != "Metaspace":
        return None
    steps = definition.get("normalizer") or {}
    charsmaps = [s for s in steps.get("normalizers", [steps]) if s.get("type") == "Precompiled"]
    if len(charsmaps) > 1:
        return None
    special = {token["content"] for token in definition["added_tokens"]}
    pieces: list[bytes] = []
    for index, (text, score) in enumerate(model["vocab"]):
        kind = UNKNOWN if index == model["unk_id"] else CONTROL if text in special else NORMAL
        piece = bytes_field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + number_field(3, kind)
        pieces.append(bytes_field(1, piece))
    trainer = number_field(3, UNIGRAM) + number_field(4, len(model["vocab"])) + number_field(40, model["unk_id"])
    trainer += bytes_field(45, model["vocab"][model["unk_id"]][0].encode())
    for position, (number_id, number_piece) in enumerate(((41, 46), (42, 47), (43, 48))):  # bos, eos, pad
        text = ("<s>", "</s>", "<pad>")[position]
        place = next((index for index, entry in enumerate(model["vocab"]) if entry[0] == text), None)
        trainer += number_field(number_id, -1 if place is None else place) + bytes_field(number_piece, text.encode())
    charsmap = b"".join(base64.b64decode(step["precompiled_charsmap"]) for step in charsmaps)
    normalizer = bytes_field(1, b"made") + bytes_field(2, charsmap) + b"".join(number_field(n, 1) for n in (3, 4, 5))
    return b"".join((*pieces, bytes_field(2, trainer), bytes_field(3, normalizer)))


def varint(value: int) -> bytes:
    return bytes(_varint(value & 0xFFFF_FFFF_FFFF_FFFF))


def _varint(value: int) -> Iterator[int]:
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(value)


def bytes_field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value
