"""Damaged definitions: whatever is in the file, the answer is a definition or a DefinitionError, and soon."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gigatok_compile.definition import read_definition
from gigatok_compile.errors import DefinitionError
from hypothesis import given
from hypothesis import strategies as st

GRAMMAR = SimpleNamespace(patterns=(r"\S+",), dialect="fancy", special_tokens={"<eot>": 300})
RICH = {
    "added_tokens": [
        {
            "id": 9,
            "content": "<x>",
            "single_word": False,
            "lstrip": False,
            "rstrip": True,
            "normalized": False,
            "special": True,
        }
    ],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]},
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Split", "pattern": {"Regex": "a+"}, "behavior": "Isolated", "invert": False},
            {"type": "Digits", "individual_digits": True},
            {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
        ],
    },
    "post_processor": {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
    },
    "truncation": {"max_length": 5, "strategy": "LongestFirst", "stride": 0},
    "padding": {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"},
}
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", "Sequence", "ByteLevel", "Split", "NFC", "a b", "A", "é", "\u2581", "\x00", "9" * 40]),
    st.just([]),
    st.just({}),
    st.just([[]]),
    st.just({"type": "Sequence"}),
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged") / "toy"


def read_or_refuse(place: Path, data: bytes, grammar: Any = None) -> None:
    place.write_bytes(data)
    try:
        read_definition(str(place), grammar=grammar)
    except DefinitionError as error:
        assert str(place) in str(error)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every node but the vocabulary's entries."""
    found = [path] if path else []
    if isinstance(value, dict) and len(value) < 100:
        return found + [p for key, item in value.items() for p in paths_of(item, (*path, key))]
    if isinstance(value, list):
        return found + [p for index, item in enumerate(value) for p in paths_of(item, (*path, index))]
    return found


@given(data=st.data())
def test_any_node_replaced(place: Path, toy_definition: Any, data: st.DataObject) -> None:
    definition = toy_definition(RICH)
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(paths_of(definition)))
        node = definition
        for key in path[:-1]:
            node = node[key]
        if isinstance(node, dict) and data.draw(st.booleans()):
            del node[path[-1]]
        else:
            node[path[-1]] = copy.deepcopy(data.draw(ODD))
    read_or_refuse(place, json.dumps(definition).encode())


@given(cut=st.integers(0, 6000), flip=st.integers(0, 6000), byte=st.integers(0, 255), truncate=st.booleans())
def test_any_byte_damaged(place: Path, toy_definition: Any, cut: int, flip: int, byte: int, truncate: bool) -> None:
    raw = bytearray(json.dumps(toy_definition(RICH), ensure_ascii=False).encode())
    raw[flip % len(raw)] = byte
    read_or_refuse(place, bytes(raw[: cut % len(raw)] if truncate else raw))


@given(
    st.lists(
        st.sampled_from([b"QQ== 0", b"Qg== 1", b"QUI= 2", b"=", b" ", b"\n", b"\r\n", b"= 3", b"\xff", b"5", b"-"])
    )
)
def test_any_lines_of_a_rank_file(place: Path, parts: list[bytes]) -> None:
    read_or_refuse(place, b"".join(parts), GRAMMAR)


@given(st.binary(max_size=200))
def test_any_bytes(place: Path, data: bytes) -> None:
    read_or_refuse(place, data)
    read_or_refuse(place, data, GRAMMAR)
