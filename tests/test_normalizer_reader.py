"""The `normalizer` of a tokenizer.json is read and refused as tokenizers 0.23.3 does both."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

import pytest
import tokenizers
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.normalizer import read_normalizer
from gigatok_compile.errors import DefinitionError, PatternError
from gigatok_compile.normalizer import normalize_function
from gigatok_compile.normalizer.charsmap import Charsmap

STRIP = {"strip_left": True, "strip_right": True}
BERT = {"clean_text": True, "handle_chinese_chars": True, "lowercase": True}
REPLACE = {"pattern": {"String": "a"}, "content": "b"}
REGEX = {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "$1\\0"}


def charsmap(units: list[int], texts: bytes = b"\0", size: int | None = None) -> str:
    """The base64 of a map."""
    raw = struct.pack(f"<I{len(units)}I", 4 * len(units) if size is None else size, *units) + texts
    return base64.b64encode(raw).decode()


def trie(keys: dict[bytes, int]) -> list[int]:
    """A double array of keys, none of which is another one's prefix; values are places of texts. The children of each node
    have a block of 256 units to themselves, which is not how one saves room."""
    prefixes = sorted({key[:size] for key in keys for size in range(len(key) + 1)})
    block = {prefix: 256 * (index + 1) for index, prefix in enumerate(prefixes)}
    units = [0] * (256 * (len(prefixes) + 2))
    for prefix in prefixes:
        at = block[prefix[:-1]] ^ prefix[-1] if prefix else 0
        units[at] = (at ^ block[prefix]) << 10 | (prefix in keys) << 8 | (prefix[-1] if prefix else 0)
        if prefix in keys:
            units[block[prefix]] = keys[prefix] | 1 << 31
    return units


def reference(normalizer: Any) -> Any:
    definition = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
                  "pre_tokenizer": None, "post_processor": None, "decoder": None,
                  "model": {"type": "BPE", "vocab": {"a": 0}, "merges": []}}  # fmt: skip
    return tokenizers.Tokenizer.from_str(json.dumps(definition)).normalizer


def read(normalizer: Any) -> Any:
    return read_normalizer(Fields.of(normalizer, "normalizer"))


ACCEPTED: list[dict[str, Any]] = [
    {"type": "NFC", "unknown": 1},
    {"type": "NFC", "prepend": "x"},
    {"type": "Lowercase", "y": None},
    {"normalizers": []},
    {"normalizers": [{"type": "NFD"}, {"normalizers": [{"type": "Nmt"}]}]},
    {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}]},
    STRIP,
    {"type": "Strip", **STRIP, "type2": 1},
    {"type": "Strip", "strip_left": False, "strip_right": False},
    REPLACE,
    {"type": "Replace", **REPLACE},
    {"type": "Replace", "pattern": {"String": ""}, "content": "b"},
    REGEX,
    {"prepend": "x"},
    {"type": "Prepend", "prepend": ""},
    {"type": "Nope", "prepend": "x"},
    {"type": None, "prepend": "x"},
    {"type": 3, "prepend": "x"},
    {"type": "BertNormalizer", "prepend": "x"},
    BERT,
    {"type": "Bert", **BERT},
    {"type": "BertNormalizer", **BERT},
    {"type": "BertNormalizer", **BERT, "strip_accents": None},
    {"type": "BertNormalizer", **BERT, "lowercase": False, "strip_accents": True},
    {**STRIP, "prepend": "x"},
    {**REPLACE, "prepend": "x"},
    {**BERT, **STRIP},
    {**STRIP, "normalizers": []},
    {"normalizers": [], **REPLACE},
    {"strip_left": 1, "strip_right": True, "normalizers": []},
    {"normalizers": [{"type": "Foo"}], **REPLACE},
    {"type": "Precompiled", "precompiled_charsmap": charsmap(trie({b"b": 0, "é".encode(): 2}), b"X\0yy\0")},
    {"type": "Precompiled", "precompiled_charsmap": charsmap(trie({b"b": 0}), b"X\0").rstrip("=")},
]
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "normalizer"),
    ({"type": "nfc"}, "normalizer.type"),
    ({"type": "Metaspace"}, "normalizer.type"),
    ({"type": "Nope"}, "normalizer.type"),
    ({"type": "Sequence"}, "normalizer.normalizers"),
    ({"type": "Sequence", "normalizers": None}, "normalizer.normalizers"),
    ({"type": "Sequence", "normalizers": [None]}, "normalizer.normalizers[0]"),
    ({"normalizers": [{"type": "Foo"}]}, "normalizer.normalizers[0].type"),
    ({"type": "Strip"}, "normalizer.strip_left"),
    ({"type": "Strip", "strip_left": 1, "strip_right": True}, "normalizer.strip_left"),
    ({"type": "Strip", "strip_left": True, "strip_right": None}, "normalizer.strip_right"),
    ({"type": "Replace", "pattern": "a", "content": "b"}, "normalizer.pattern"),
    ({"type": "Replace", "pattern": ["String", "a"], "content": "b"}, "normalizer.pattern"),
    ({"type": "Replace", "pattern": {}, "content": "b"}, "normalizer.pattern"),
    ({"type": "Replace", "pattern": {"Regex": "a", "String": "b"}, "content": "b"}, "normalizer.pattern"),
    ({"type": "Replace", "pattern": {"regex": "a"}, "content": "b"}, "normalizer.pattern"),
    ({"type": "Replace", "pattern": {"String": "a"}}, "normalizer.content"),
    ({"type": "Replace", "pattern": {"String": "a"}, "content": None}, "normalizer.content"),
    ({"type": "Prepend"}, "normalizer.prepend"),
    ({"type": "Prepend", "prepend": None}, "normalizer.prepend"),
    ({"type": "Prepend", "normalizers": []}, "normalizer.prepend"),
    ({"type": "BertNormalizer"}, "normalizer.clean_text"),
    ({**BERT, "clean_text": None}, "normalizer.clean_text"),
    ({"type": "BertNormalizer", **BERT, "strip_accents": 1}, "normalizer.strip_accents"),
    ({"type": "Precompiled"}, "normalizer.precompiled_charsmap"),
    ({"precompiled_charsmap": charsmap([0])}, "normalizer"),
    *(
        ({"type": "Precompiled", "precompiled_charsmap": text}, "normalizer.precompiled_charsmap")
        for text in (
            None,
            "",
            "AAAA",
            "!!",
            "AAAAAB==",
            "AAAAA",
            "AAAA-A==",
            "AAAAAA==AAAA",
            "AAAAAA===",
            [1],
            charsmap([0], b"\xff"),
            charsmap([0], b"", 8),
        )
    ),
]
PANICS = [
    "AAAAAA==",  # no trie at all
    "AAAAAA=",
    charsmap([0]),
    charsmap([0], b"ab", 6),
    charsmap(trie({b"b": 0})[:300]),  # cut off
    charsmap(trie({b"b": 9}), b"X\0"),  # its text is past the end
    charsmap(trie({b"b": 1}), "é\0".encode()),  # begins inside a character
]
"""The reference loads them, and panics when it meets some text."""
TEXTS = ["", "a", " Ab\tcé  ", "aab ÀÉ\u0301 中b", "b", "é"]


@pytest.mark.parametrize("normalizer", ACCEPTED, ids=lambda n: json.dumps(n)[:60])
def test_what_the_reference_reads_is_read_the_same(normalizer: dict[str, Any]) -> None:
    theirs, ours = reference(normalizer), normalize_function(read(normalizer))
    for text in TEXTS:
        assert ours(text) == theirs.normalize_str(text)


@pytest.mark.parametrize(("normalizer", "where"), REFUSED, ids=lambda n: str(n)[:60])
def test_what_the_reference_refuses_is_refused_by_its_path(normalizer: dict[str, Any], where: str) -> None:
    with pytest.raises(BaseException, match=r"."):  # a panic is no Exception
        reference(normalizer)
    with pytest.raises(DefinitionError) as caught:
        read(normalizer)
    assert caught.value.where == where


@pytest.mark.parametrize("text", PANICS)
def test_maps_that_the_reference_panics_on_are_refused(text: str) -> None:
    loaded = reference({"type": "Precompiled", "precompiled_charsmap": text})
    with pytest.raises(BaseException, match=r"out of|boundary|bounds") as panic:
        loaded.normalize_str("".join(map(chr, range(1, 0x180))))
    assert not isinstance(panic.value, Exception)
    with pytest.raises(DefinitionError, match=r".") as caught:
        read({"type": "Precompiled", "precompiled_charsmap": text})
    assert caught.value.where == "normalizer.precompiled_charsmap"


def test_a_regex_that_does_not_parse_is_refused() -> None:
    with pytest.raises(Exception, match="parenthesis"):
        reference({"type": "Replace", "pattern": {"Regex": "("}, "content": ""})
    with pytest.raises(PatternError):
        normalize_function(read({"type": "Replace", "pattern": {"Regex": "("}, "content": ""}))
    with pytest.raises(PatternError):
        read({"type": "Replace", "pattern": {"Regex": r"\p{hf:numeric}"}, "content": ""})


def test_steps_are_flat_and_know_their_paths() -> None:
    steps = read(
        {"normalizers": [{"type": "NFC"}, {"type": "Sequence", "normalizers": [BERT | {"strip_accents": None}]}]}
    )
    assert [(step.kind, step.where) for step in steps] == [
        ("NFC", "normalizer.normalizers[0]"),
        ("BertNormalizer", "normalizer.normalizers[1].normalizers[0]"),
    ]
    assert steps[1].options["strip_accents"] is True
    assert read_normalizer(None) == ()


def test_a_charsmap_is_characters_and_short_clusters() -> None:
    keys = {b"b": 0, "e\u0301".encode(): 2, b"toolong": 4, "中".encode()[:2]: 2}
    (step,) = read({"type": "Precompiled", "precompiled_charsmap": charsmap(trie(keys), b"X\0yy\0z\0")})
    found = step.options["precompiled_charsmap"]
    assert isinstance(found, Charsmap)
    assert found.clusters == {"e\u0301".encode(): "yy"}
    assert found.characters == {ord("b"): "X", **dict.fromkeys(range(19968, 20032), "yy")}
    assert "characters" not in repr(found)
