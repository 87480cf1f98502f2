"""Steps after ByteLevel: characters are cut in two, in every kernel, on the regex engine, and in ids.

Oracle: tokenizers 0.23.3. Its pieces are written in the byte-level alphabet, so their lengths are those in bytes.
"""

from __future__ import annotations

import json
import lzma
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tokenizers
from gigatok_compile.bitstream.byte_tags import CONTINUATION, joint_with_bytes
from gigatok_compile.check import grammar as check
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.pre_tokenizer import read_steps
from gigatok_compile.errors import VerifyError
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.split_plan import compile_split, plan_pre_tokenizer
from gigatok_compile.verify.texts import byte_alphabet, edge_characters
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.manifest import read_manifest
from gigatok_runtime.regex_engine import RegexEngine

sys.path.insert(0, str(Path(__file__).parent))
import modules

Json = dict[str, Any]
FALCON: Json = dict(load_grammar("falcon").pre_tokenizer or {})
GPT2 = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
MAP = GPT2 | {"use_regex": False}
DIGITS = {"type": "Digits", "individual_digits": True}


def sequence(*steps: Json) -> Json:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def split(pattern: str, behavior: str = "Isolated", invert: bool = False, kind: str = "Regex") -> Json:
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


CHAINS: dict[str, Json] = {
    "falcon": FALCON,
    "digits": sequence(MAP, DIGITS),  # nothing before the map
    "punctuation": sequence(GPT2, {"type": "Punctuation", "behavior": "MergedWithNext"}, DIGITS),
    "lengths": sequence(split("中+"), MAP, {"type": "FixedLength", "length": 3}),
    "ahead": sequence(split(r"\s+(?!\S)|\S+"), MAP, split(r"[^¼½]+(?=¼[^½]*½)|Ġ", "MergedWithPrevious")),
    "literal": sequence(GPT2, split("Ã¼", kind="String"), split("ä¸", "Contiguous")),
    "letters": sequence(MAP, split(r"\p{L}+| ?\p{Lu}|\d", invert=True)),
    "end": sequence(split(" ", "MergedWithPrevious"), MAP, split(r"[\x{A1}-\x{FF}]$|Ã\z")),
}
"""They remove nothing, so that the lengths of the reference's pieces say where they lie."""

REMOVING: dict[str, Json] = {
    "before": sequence(split("é|中", "Removed"), MAP, DIGITS),
    "after": sequence(GPT2, split("[¼ÃĠ]", "Removed")),
    "both": sequence({"type": "WhitespaceSplit"}, MAP, split(r"\p{L}|\d", "Removed", True), DIGITS),
}

ALL = CHAINS | REMOVING
LETTERS = [
    "a",
    "B",
    "7",
    " ",
    "\n",
    "'s",
    "!",
    "é",
    "ü",
    "²",
    "½",
    "¼½",
    "中",
    "㼲",
    "世",
    "\u3000",
    "¹",
    "😀",
    "𲼲",
    "\u0301",
]
MERGES = [("Ã", "¼"), ("ä", "¸"), ("ä¸", "Ń"), ("¼", "Ã"), ("¼", "½"), ("¸", "Ń"), ("Â", "²"), ("7", "7"), ("Ġ", "a")]


def built(name: str, toy_definition: Any, folder: Path) -> modules.Built:
    """A module of 256 bytes and merges, some of them of parts of characters."""
    vocab = toy_definition()["model"]["vocab"]
    pairs = [(left, right) for left, right in MERGES if left in vocab or len(left) > 1]
    changes: dict[str, Any] = {
        "pre_tokenizer": ALL[name],
        "model.merges": ["a b", *(f"{left} {right}" for left, right in pairs)],
        "model.vocab": vocab | {left + right: 257 + i for i, (left, right) in enumerate(pairs)},
    }
    return modules.build_toy(f"bytes_{name}", toy_definition(changes), folder)


def reference_of(name: str, folder: Path) -> Any:
    return tokenizers.Tokenizer.from_file(str(folder / f"bytes_{name}.json"))


def reference_spans(engine: Any, text: str) -> list[tuple[int, int]]:
    at, found = 0, []
    for piece, _ in engine.pre_tokenizer.pre_tokenize_str(text):
        found.append((at, at + len(piece)))
        at += len(piece)
    assert at == len(text.encode())
    return found


def texts() -> list[str]:
    """Short ones, every phase of a block, and around the ends of chunks."""
    rng = random.Random(5)

    def some(size: int) -> str:
        return "".join(rng.choice(LETTERS) for _ in range(size))

    found = ["", *LETTERS, *(a + b for a in LETTERS for b in LETTERS)]
    found += [some(rng.randrange(1, 40)) for _ in range(500)]
    sample = some(60)
    found += [filler * phase + sample for phase in range(64) for filler in ("a", "7", "ü", "中")]
    found += [(char * 3000)[:size] for char in LETTERS for size in (63, 64, 65)]
    found += [(char * 3000)[:size] for char in "ü中" for size in (1365, 1366, 2047, 2048, 2049)]
    for char in (
        "é",
        "ü",
        "½",
        "中",
        "㼲",
        "😀",
        "𲼲",
    ):  # every byte of a character is once the first of a chunk, where that is between characters
        found += ["q" * (4096 - before) + char + some(6) for before in range(6)]
        found += ["7" * 4090 + char * before + "¼" * 2100 + some(6) for before in range(1, 4)]
    found += [some(size) for size in (3000, 9000)]
    found.append("".join(chr(point) for point in range(0x20, 0x1000)))
    found.append(" ".join(chr(rng.randrange(0x10000, 0x110000)) for _ in range(800)))
    return found


@pytest.mark.parametrize("name", CHAINS)
def test_pieces_are_those_of_the_reference(name: str, toy_definition: Any, folder: Path) -> None:
    module = built(name, toy_definition, folder)
    reference = reference_of(name, folder)
    regex = RegexEngine(read_manifest(module.package), read_definition_data(module.package))
    inside = 0
    for text in texts():
        data = text.encode()
        expected = reference_spans(reference, text)
        inside += sum(data[start] & 0xC0 == 0x80 for start, _ in expected)
        for isa in (*module.isas, "automaton"):
            assert list(map(tuple, module.spans(data, isa).tolist())) == expected, (isa, text)
        if len(text) < 500:
            assert regex.spans(text) == expected, text
            assert regex.split(text) == [data[start:stop] for start, stop in expected]
    assert inside > 500, "hardly any character was cut in two"


@pytest.mark.parametrize("name", ALL)
def test_ids_are_those_of_the_reference(name: str, toy_definition: Any, folder: Path) -> None:
    module = built(name, toy_definition, folder)
    reference = reference_of(name, folder)
    regex = RegexEngine(read_manifest(module.package), read_definition_data(module.package))
    some = texts()
    expected = [encoding.ids for encoding in reference.encode_batch(some)]
    short = [i for i, text in enumerate(some) if len(text) < 100]
    for i, ids in zip(short, lists(regex.encode_batch([some[i] for i in short])), strict=True):
        assert ids == expected[i], some[i]
    for isa in module.isas:
        with module.isa(isa):
            for text, ids, right in zip(some, lists(module.module.encode_batch(some)), expected, strict=True):
                assert ids == right, (isa, text)


def lists(encoded: Any) -> list[list[int]]:
    """The ids of each text."""
    return [encoded.ids[a:b].tolist() for a, b in pairwise(encoded.offsets.tolist())]


def gpt2_with_falcon() -> Json:
    data = (files("gigatok_compile.definition") / "gpt2.tokenizer.json.xz").read_bytes()
    return dict(json.loads(lzma.decompress(data)) | {"pre_tokenizer": FALCON})


def falcon(shared: Any, pre_tokenizer: Json | None) -> Json:
    """The model's own file, or with Digits. 28 bytes are no entries of it (control characters among them), which is not
    compiled: they get one."""
    data = (shared.root / "models" / "falcon" / "tokenizer.json.xz").read_bytes()
    definition: Json = json.loads(lzma.decompress(data))
    vocab = definition["model"]["vocab"]
    missing = [char for char in byte_characters() if char not in vocab]
    assert len(missing) == 28
    vocab |= {char: max(vocab.values()) + 1 + i for i, char in enumerate(missing)}
    return definition if pre_tokenizer is None else definition | {"pre_tokenizer": pre_tokenizer}


def byte_characters() -> Sequence[str]:
    return tokenizers.pre_tokenizers.ByteLevel.alphabet()


def check_corpora(name: str, definition: Json, folder: Path) -> None:
    """Every corpus, each instruction set; one long text cut over threads."""
    module = modules.build_toy(name, definition, folder)
    reference = modules.reference(name, folder / f"{name}.json")
    for corpus in modules.corpus_names():
        _, documents = modules.first_documents(modules.corpus(corpus, folder), 60_000)
        ids, offsets = reference.flat(documents)
        for isa in module.isas:
            with module.isa(isa):
                got = module.module.encode_batch(documents, 1, **reference.options)
                assert np.array_equal(got.ids, ids), (
                    corpus,
                    isa,
                    modules.first_difference(got.ids, ids, reference.engine.decode),
                )
                assert np.array_equal(got.offsets, offsets)
    text = modules.mixed_text(folder, 1_300_000)
    expected = reference.encode(text)
    for threads in (1, 2, 5):
        assert np.array_equal(module.module.encode(text, threads=threads, **reference.options), expected)


def test_ids_of_real_text_with_gpt2s_vocabulary(folder: Path) -> None:
    check_corpora("bytes_gpt2", gpt2_with_falcon(), folder)


@pytest.mark.parametrize("digits", [False, True])
def test_ids_of_real_text_with_falcons_vocabulary(digits: bool, shared: Any, folder: Path) -> None:
    check_corpora(f"bytes_model_{int(digits)}", falcon(shared, FALCON if digits else None), folder)


# ------------------------------------------------------------------ tags


def falcon_kernel() -> Any:
    kernel = plan_pre_tokenizer(load_grammar("falcon").steps).kernel
    assert kernel is not None and kernel.continuation is not None and kernel.bits is not None
    return kernel


def test_first_bytes_are_a_partition_of_code_points_and_others_have_tags_of_their_own() -> None:
    kernel = falcon_kernel()
    assert sum(high - low + 1 for tag in kernel.alphabet for low, high in tag.ranges) == 1_112_064
    numbers = {0xB2, 0xB3, 0xB9, 0xBC, 0xBD, 0xBE}
    by_tag: dict[int, set[int]] = {}
    for byte, tag in zip(CONTINUATION, kernel.continuation, strict=True):
        by_tag.setdefault(tag, set()).add(byte)
    assert sorted(by_tag.values(), key=len) == [numbers, set(CONTINUATION) - numbers]
    assert all(not kernel.alphabet[tag].ranges for tag in by_tag)
    assert {kernel.alphabet[tag].name for tag in by_tag} == {"byte_80_and_57_more", "byte_B2_and_5_more"}


def test_what_a_first_byte_says_is_known_from_the_code_point() -> None:
    step = compile_split(SplitStep("[ÃäðÅ]", "oniguruma", "test", on_bytes=True))
    pairs, sets, places = joint_with_bytes([CodeSet.everything(), CodeSet.empty()], (1,) * 64, step.alphabet)
    assert set(places) == {pairs.index((1, 0))} and sets[places[0]] == CodeSet.empty()
    (found,) = (code_set for (column, tag), code_set in zip(pairs, sets, strict=True) if (column, tag) == (0, 1))
    expected = [chr(point).encode()[0] in (0xC3, 0xE4, 0xF0, 0xC5) for point in found]
    assert all(expected) and len(found) == 64 + 64 + 4096 + (0x40000 - 0x10000)


def test_texts_of_a_check_have_every_continuation_byte_and_every_mix_of_their_tags() -> None:
    kernel = falcon_kernel()
    edges = edge_characters([], in_bytes=True)
    assert {byte for char in edges for byte in char.encode()[1:]} == set(CONTINUATION)
    chars = [char for chars in byte_alphabet(kernel.continuation) for char in chars]
    mixes = {tuple(kernel.continuation[byte - 0x80] for byte in char.encode()[1:]) for char in chars}
    assert len(mixes) == 2 + 4 + 8
    assert byte_alphabet(None) == []


@pytest.mark.parametrize("byte", [0x80, 0xA5, 0xB3, 0xBF])
def test_a_wrong_tag_of_a_byte_is_caught(byte: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = check.render_splitter

    def wrong(name: str, kernel: Any) -> Any:
        tags = list(kernel.continuation)
        (other,) = set(tags) - {tags[byte - 0x80]}
        tags[byte - 0x80] = other
        return original(name, replace(kernel, continuation=tuple(tags)))

    monkeypatch.setattr(check, "render_splitter", wrong)
    with pytest.raises(VerifyError, match="the compiled grammar is wrong"):
        check.check_grammar("falcon", seconds=0.5, timing=False)


def test_characters_are_what_other_kernels_read() -> None:
    for name in ("gpt2", "llama3", "bert", "falcon-llamacpp"):
        kernel = plan_pre_tokenizer(load_grammar(name).steps).kernel
        assert kernel is not None and kernel.continuation is None
        names = [str(each["name"]) for each in tables_of(kernel)]
        assert "continuation_tags" not in names


def tables_of(kernel: Any) -> list[dict[str, object]]:
    from gigatok_compile.emit.module import kernel_tables

    tables = kernel_tables(kernel)
    assert tables.constants["bytes"] == 0
    return [{"name": table.name} for table in tables.tables]


def test_steps_on_bytes_are_told_apart_in_the_manifest(toy_definition: Any, folder: Path) -> None:
    """A runtime that does not know them refuses the package."""
    module = built("falcon", toy_definition, folder)
    steps = read_manifest(module.package)["pre_tokenizer"]
    assert [step["kind"] for step in steps] == ["Split", "Split", "ByteLevel", "ByteSplit", "ByteSplit"]
    assert all("on_bytes" not in step for step in steps)
    with pytest.raises(ValueError, match="'Soup' is unknown"):
        RegexEngine(
            read_manifest(module.package) | {"pre_tokenizer": [{"kind": "Soup"}]},  # type: ignore[arg-type]
            read_definition_data(module.package),
        )


def test_steps_are_those_of_the_model(shared: Any) -> None:
    """Falcon-7B's file has no Digits."""
    steps = read_steps(Fields(dict(falcon(shared, None)["pre_tokenizer"]), "pre_tokenizer"))
    ours = [step for step in load_grammar("falcon").steps if "Digits" not in getattr(step, "component", "")]
    assert [replace(step, where="") for step in steps] == [replace(step, where="") for step in ours]
