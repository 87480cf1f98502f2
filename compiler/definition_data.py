"""TokenizerDefinition -> definition.npz, what the regex engine of the generated package works with."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from gigatok_compile.definition.alphabet import alphabet_to_bytes
from gigatok_compile.ir.definition import AddedToken, BpeModel, SplitStep, TokenizerDefinition
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.normalizer import content_function, normalizer_arrays
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.verify.expand import format_set, to_regex_package
from gigatok_runtime.definition_data import pack_strings


def write_definition_data(definition: TokenizerDefinition) -> bytes:
    """The bytes of definition.npz (read by gigatok_runtime.definition_data); equal definitions give equal bytes.

    Raises:
        Unsupported: a pattern that not even the regex engine can run exactly.
    """
    model = definition.model
    arrays: dict[str, Any] = {
        **pack_strings("token", list(model.tokens)),
        **pack_strings("content", [None if text is None else text.encode() for text in definition.contents]),
        **pack_strings("added", [added_token_bytes(token, definition) for token in definition.added_tokens]),
        **pack_strings("added_name", [decoded_name(token, definition).encode() for token in definition.added_tokens]),
        "added_hidden": np.array(hidden_added_tokens(definition), np.bool_),
        **pack_strings("pattern", [pattern.encode() for pattern in expanded_patterns(definition)]),
    }
    if isinstance(model, BpeModel):
        arrays |= _merge_arrays(model)
    if isinstance(model, UnigramModel):
        arrays["scores"] = np.ascontiguousarray(model.scores, np.float64)
        arrays["byte_ids"] = np.ascontiguousarray(model.byte_ids, np.int32)
    if definition.sentencepiece is not None:
        arrays |= pack_strings("shown", list(definition.sentencepiece.shown))
        arrays["shown_kinds"] = definition.sentencepiece.kinds
    arrays |= normalizer_arrays(definition.normalizer)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _merge_arrays(model: BpeModel) -> dict[str, Any]:
    arrays: dict[str, Any] = {
        "merges": np.ascontiguousarray(model.merges, np.int32).reshape(-1, 3),
        "ranks": np.ascontiguousarray(model.ranks, np.int32),
        "byte_ids": np.ascontiguousarray(model.byte_ids, np.int32),
    }
    if model.affixes is not None:
        arrays["affixes"] = np.ascontiguousarray(model.affixes, np.uint8)
        arrays["affix_marks"] = np.array(model.marks, np.uint8)
    if model.hidden:
        arrays["hidden_ids"] = np.array([symbol.id for symbol in model.hidden], np.int32)
        arrays |= pack_strings("hidden_text", [symbol.text for symbol in model.hidden])
        arrays |= pack_strings("hidden_become", [np.array(symbol.ids, np.int32).tobytes() for symbol in model.hidden])
    return arrays


def added_token_bytes(token: AddedToken, definition: TokenizerDefinition) -> bytes:
    """The bytes of an added token.

    Through a ByteLevel decoder it goes like any other: when all its characters are in the byte alphabet, each stands for a
    byte ("é" is the byte E9); else it is its own UTF-8. A user-defined piece of a `.model` is spelled as other pieces are.
    """
    if definition.sentencepiece is not None:
        respelled = token.normalized and definition.mark
        return (token.content.replace(definition.mark, " ") if respelled else token.content).encode()
    text = decoded_name(token, definition)
    byte_level = any(step.kind == "ByteLevel" for step in definition.decoder or ())
    mapped = alphabet_to_bytes(text) if byte_level else None
    return text.encode() if mapped is None else mapped


def looked_up_tokens(definition: TokenizerDefinition) -> list[bytes | None]:
    """What each id is called by its bytes: those of the text it stands for or, if no text becomes it, its name in the file."""
    tokens = list(definition.model.tokens)
    for number, content in enumerate(definition.contents):
        if tokens[number] is None and content:
            tokens[number] = content.encode("utf-8", "surrogatepass")
    return tokens


def hidden_added_tokens(definition: TokenizerDefinition) -> list[bool]:
    """Which added tokens decode(skip_special_tokens=True) leaves out.

    The reference compares what decoding names a token with the *contents* of special tokens. So a special token that
    normalization changes is not left out, and one that is not special may be (measured).
    """
    special = {token.content for token in definition.added_tokens if token.special}
    return [decoded_name(token, definition) in special for token in definition.added_tokens]


def decoded_name(token: AddedToken, definition: TokenizerDefinition) -> str:
    """What decoders see of an added token: the normalized content if it has normalized=true (measured), with marks as the
    definition has them."""
    if not token.normalized:
        return token.content
    normalized = content_function(definition.normalizer)(token.content)
    return normalized.replace(" ", definition.mark) if definition.marks_in_normalizer else normalized


def expanded_patterns(definition: TokenizerDefinition) -> list[str]:
    """The pattern of each split step, in order, for the `regex` package."""
    return [expanded_pattern(step) for step in definition.pre_tokenizer if isinstance(step, SplitStep)]


def expanded_pattern(step: SplitStep) -> str:
    """One step's pattern for the `regex` package. Raises Unsupported, with the step's field path."""
    if not step.is_regex:
        return "".join(format_set(CodeSet.single(ord(char))) for char in step.pattern)
    return to_regex_package(parse_pattern(step.pattern, step.dialect, step.where))
