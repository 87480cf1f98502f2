"""TokenizerDefinition -> definition.npz, what the regex engine of the generated package works with."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from gigatok_compile.definition.alphabet import alphabet_to_bytes
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import AddedToken, SplitStep, TokenizerDefinition
from gigatok_compile.normalizer import content_function, nfc_data_for_runtime
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.verify.expand import format_set, to_regex_package
from gigatok_runtime.definition_data import pack_strings


def write_definition_data(definition: TokenizerDefinition) -> bytes:
    """The bytes of definition.npz (read by gigatok_runtime.definition_data); equal definitions give equal bytes.

    Raises:
        Unsupported: a pattern that not even the regex engine can run exactly.
    """
    if definition.decoder not in ("ByteLevel", "SentencePiece"):
        raise DefinitionError(f"the decoder {definition.decoder} has no regex engine", where="decoder")
    model = definition.model
    arrays: dict[str, Any] = {
        **pack_strings("token", list(model.tokens)),
        **pack_strings("added", [added_token_bytes(token, definition) for token in definition.added_tokens]),
        "added_hidden": np.array(hidden_added_tokens(definition), np.bool_),
        **pack_strings("pattern", [pattern.encode() for pattern in expanded_patterns(definition)]),
        "merges": np.ascontiguousarray(model.merges, np.int32).reshape(-1, 3),
        "ranks": np.ascontiguousarray(model.ranks, np.int32),
        "byte_ids": np.ascontiguousarray(model.byte_ids, np.int32),
    }
    if model.hidden:
        arrays["hidden_ids"] = np.array([symbol.id for symbol in model.hidden], np.int32)
        arrays |= pack_strings("hidden_text", [symbol.text for symbol in model.hidden])
        arrays |= pack_strings("hidden_become", [np.array(symbol.ids, np.int32).tobytes() for symbol in model.hidden])
    for step in definition.normalizer:
        if step.kind == "SentencePiece":
            arrays["charsmap"] = np.frombuffer(step.options["charsmap"], np.uint8)
    if definition.sentencepiece is not None:
        arrays |= pack_strings("shown", list(definition.sentencepiece.shown))
        arrays["shown_kinds"] = definition.sentencepiece.kinds
    if any(step.kind == "NFC" for step in definition.normalizer):
        arrays |= nfc_data_for_runtime()
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def added_token_bytes(token: AddedToken, definition: TokenizerDefinition) -> bytes:
    """What decoding makes of an added token.

    In a tokenizer.json it goes through the ByteLevel decoder like any other: when all its characters are in the byte
    alphabet, each stands for a byte ("é" is the byte E9); else it is its own UTF-8. What goes in is the normalized content
    of a token with normalized=true (measured, tokenizers 0.23.3).
    """
    if definition.sentencepiece is not None:
        return definition.sentencepiece.shown[token.id]
    text = _decoded_name(token, definition)
    mapped = alphabet_to_bytes(text) if definition.source_format == "tokenizer.json" else None
    return text.encode() if mapped is None else mapped


def hidden_added_tokens(definition: TokenizerDefinition) -> list[bool]:
    """Which added tokens decode(skip_special_tokens=True) leaves out.

    The reference compares what decoding names a token with the *contents* of special tokens. So a special token that
    normalization changes is not left out, and one that is not special may be (measured).
    """
    special = {token.content for token in definition.added_tokens if token.special}
    return [_decoded_name(token, definition) in special for token in definition.added_tokens]


def _decoded_name(token: AddedToken, definition: TokenizerDefinition) -> str:
    return content_function(definition.normalizer)(token.content) if token.normalized else token.content


def expanded_patterns(definition: TokenizerDefinition) -> list[str]:
    """The pattern of each split step, in order, for the `regex` package."""
    return [expanded_pattern(step) for step in definition.pre_tokenizer if isinstance(step, SplitStep)]


def expanded_pattern(step: SplitStep) -> str:
    """One step's pattern for the `regex` package. Raises Unsupported, with the step's field path."""
    if not step.is_regex:
        return "".join(format_set(CodeSet.single(ord(char))) for char in step.pattern)
    return to_regex_package(parse_pattern(step.pattern, step.dialect, step.where))
