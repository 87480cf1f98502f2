"""manifest.json of a generated package: what it is, where it came from, and what its Python side needs to know."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypedDict, cast

FORMAT = 3
"""The value of the "gigatok" key; a package with another one was made for another runtime."""


class AddedTokenEntry(TypedDict):
    """An added token. Their order is the order of the mode bytes in the C interface."""

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool
    matched: bool


class DecoderEntry(TypedDict):
    """One step of a decoder: its `type` in a tokenizer.json, or "Bytes"; and what gigatok_runtime.decoding needs for it."""

    kind: str
    options: dict[str, Any]


Template = list[tuple[str | int, int]]
"""Places of a template, each a pair: "A" or "B" for all ids of a text, or an id; and the type id there."""


class Templates(TypedDict):
    """What a post-processor makes of one text and of a pair of texts, with its own ids and (plain) without. None: refused."""

    single: Template
    pair: Template | None
    plain_single: Template
    plain_pair: Template | None


class Manifest(TypedDict):
    """gigatok: FORMAT. version: of the package. engine: "native" or "regex", what runs unless GIGATOK_ENGINE says otherwise.

    tiers: one of "bitstream", "automaton", "regex" for each pre-tokenizer step that cuts. vocabulary_size: entries, added
    tokens included. max_id: the largest id. roles: ids of "bos", "eos", "unk", "pad" and others, as far as the definition
    names them. settings: "model_max_length" and "padding_side" of a tokenizer_config.json. word_ranges: inclusive ranges of the
    code points that `single_word` takes for word characters; empty when no token asks. model: kind "BPE" with
    atoms ("bytes" or "characters"), unk_id (-1: none), fuse_unk; or "WordPiece" with prefix, unk_id, max_characters as in
    gigatok_runtime.wordpiece; or "Unigram" with engine, unk_id, unk_score, space as in gigatok_runtime.unigram. verification: what was checked at compile time, or None.
    """

    gigatok: int
    name: str
    version: str
    definition_sha256: str
    source_format: str
    reference: str
    versions: dict[str, str]
    engine: str
    tiers: list[dict[str, Any]]
    vocabulary_size: int
    max_id: int
    eot_token: int | None
    special_tokens: dict[str, int]
    added_tokens: list[AddedTokenEntry]
    roles: dict[str, int]
    settings: dict[str, Any]
    normalizer: list[dict[str, Any]]
    pre_tokenizer: list[dict[str, Any]]
    ignore_merges: bool
    model: dict[str, Any]
    post_processor: Templates
    decoder: list[DecoderEntry] | None
    decoder_engine: str
    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None
    word_ranges: list[list[int]]
    warnings: list[str]
    verification: dict[str, Any] | None


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the package in `directory`.

    Raises:
        ImportError: there is none, it is damaged, or it is of another format.
    """
    path = directory / "manifest.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ImportError(f"{path} cannot be read ({error}); compile the module again") from error
    found = data.get("gigatok") if isinstance(data, dict) else None
    if found != FORMAT:
        raise ImportError(f"{path} has format {found!r}, this gigatok_runtime reads {FORMAT}; compile the module again")
    return cast(Manifest, data)
