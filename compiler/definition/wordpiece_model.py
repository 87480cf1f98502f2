"""The `model` of a tokenizer.json: WordPiece, and WordLevel."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gigatok_compile.definition.fields import Fields, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import WordPieceModel

NO_LIMIT = 2**24
"""A larger max_input_chars_per_word limits nothing that fits in memory together with its ids."""


def read_wordpiece_model(
    kind: str, fields: Fields, vocab: Mapping[str, int], entry: Callable[[str], str | None], byte_level: bool
) -> WordPieceModel:
    """The model.

    Args:
        kind: "WordPiece" or "WordLevel".
        fields: the `model` object.
        vocab: what `read_vocab` returned.
        entry: what an entry is in the text that the model sees, None if no text can become it.
        byte_level: the pre-tokenizer turns text into the byte alphabet.

    Raises:
        DefinitionError: a field that is missing or wrong, or text that would have no ids.
    """
    if byte_level:
        fields.fail("type", "words behind a ByteLevel pre-tokenizer are not compiled", "what compiles behind it: BPE")
    unk_token = fields.string("unk_token")
    prefix = _prefix(fields, entry) if kind == "WordPiece" else None
    most = _most_characters(fields) if kind == "WordPiece" else None
    if unk_token not in vocab:
        fields.fail(
            "unk_token",
            f"{unk_token!r} is not in the vocabulary",
            "the reference fails on the first text that needs it",
        )
    tokens: list[bytes | None] = [None] * (max(vocab.values()) + 1)
    for text, number in vocab.items():
        respelled = entry(text)
        tokens[number] = respelled.encode("utf-8", "surrogatepass") if respelled else None
    return WordPieceModel(tuple(tokens), prefix, vocab[unk_token], most)


def _prefix(fields: Fields, entry: Callable[[str], str | None]) -> bytes:
    prefix = fields.string("continuing_subword_prefix")
    if prefix and entry(prefix) != prefix:
        raise DefinitionError(
            f"the prefix {prefix!r} holds what stands for a space; this is not compiled",
            where=fields.path("continuing_subword_prefix"),
        )
    return prefix.encode()


def _most_characters(fields: Fields) -> int | None:
    most = fields.required("max_input_chars_per_word")
    if isinstance(most, bool) or not isinstance(most, int) or not 0 <= most < 2**64:
        fields.fail("max_input_chars_per_word", f"expected a whole number of 0 or more, found {json_name(most)}")
    return most if most < NO_LIMIT else None
