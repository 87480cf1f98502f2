"""Spellings of tokenizer.json that are not today's: what the reference loads is read, what it refuses is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.errors import DefinitionError

tokenizers = pytest.importorskip("tokenizers")

TOKEN = {
    "id": 97,
    "content": "a",
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}
BYTE_LEVEL = {"add_prefix_space": False, "trim_offsets": True}
SPELLINGS: list[dict[str, Any]] = [
    # A pre-tokenizer is told by its type and by nothing else.
    *({"pre_tokenizer": value} for value in (BYTE_LEVEL, {}, "", "ByteLevel", {"type": None, **BYTE_LEVEL})),
    {"pre_tokenizer": {"pretokenizers": [{"type": "ByteLevel", **BYTE_LEVEL}]}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"individual_digits": True}]}},
    {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel", **BYTE_LEVEL}]}},
    {"pre_tokenizer": {"type": "ByteLevel", **BYTE_LEVEL}},
    {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}},
    # An added token has all of its fields.
    *({"added_tokens": [{key: value for key, value in TOKEN.items() if key != dropped}]} for dropped in TOKEN),
    *({"added_tokens": [{**TOKEN, key: None}]} for key in TOKEN),
    {"added_tokens": [{**TOKEN, "more": 1}]},
    {"added_tokens": [{**TOKEN, "id": "97"}]},
    {"added_tokens": None},
    {"added_tokens": ...},
    # Parts may be missing or null, and are never an empty string.
    *({key: ...} for key in ("version", "truncation", "padding", "normalizer", "post_processor")),
    *({key: ""} for key in ("version", "truncation", "padding", "normalizer", "post_processor", "decoder")),
    *({key: {}} for key in ("truncation", "padding", "normalizer")),
    {"version": None},
    # The model: without a type, merges in both spellings, prefixes that are empty.
    {"model.type": ...},
    {"model.merges": [["a", "b"]]},
    {"model.merges": [["a", "b"], "a b"]},
    {"model.continuing_subword_prefix": "", "model.end_of_word_suffix": ""},
    {"model.dropout": ..., "model.unk_token": ..., "model.fuse_unk": ..., "model.byte_fallback": ...},
    {"model.fuse_unk": None, "model.byte_fallback": None, "model.ignore_merges": None},
]


@pytest.mark.parametrize(
    "changes", SPELLINGS, ids=lambda changes: json.dumps({k: repr(v) for k, v in changes.items()})[:70]
)
def test_what_loads_in_the_reference_loads_here(changes: dict[str, Any], toy_definition: Any, tmp_path: Path) -> None:
    text = json.dumps(toy_definition(changes))
    file = tmp_path / "tokenizer.json"
    file.write_text(text, "utf-8")
    try:
        tokenizers.Tokenizer.from_str(text)
    except Exception:  # noqa: BLE001 - what the reference raises has no class of its own
        with pytest.raises(DefinitionError):
            read_definition(str(file))
    else:
        read_definition(str(file))
