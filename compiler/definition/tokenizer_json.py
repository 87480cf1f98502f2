"""tokenizer.json (Hugging Face tokenizers, version "1.0") to a TokenizerDefinition."""

from __future__ import annotations

from collections.abc import Mapping

from gigatok_compile.definition.added_tokens import read_added_tokens
from gigatok_compile.definition.bpe_model import Spelling, guess_model_type, read_bpe_model, read_vocab
from gigatok_compile.definition.decoder import read_decoder
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.json_text import parse_json
from gigatok_compile.definition.normalizer import read_normalizer
from gigatok_compile.definition.post_processor import read_post_processor
from gigatok_compile.definition.pre_tokenizer import read_pre_tokenizer
from gigatok_compile.definition.respell import Respelling, respell
from gigatok_compile.definition.truncation import read_padding, read_truncation
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    ByteLevelStep,
    MetaspaceStep,
    NormalizerStep,
    PreTokenizerStep,
    TokenizerDefinition,
)

_MAY_TAKE_AWAY = ("Strip", "StripAccents", "Replace", "Nmt", "Precompiled", "BertNormalizer", "Bert")
REFERENCE = "tokenizers 0.23.3"

_TOP_LEVEL = (
    "version",
    "truncation",
    "padding",
    "added_tokens",
    "normalizer",
    "pre_tokenizer",
    "post_processor",
    "decoder",
    "model",
)


def read_tokenizer_json(data: bytes, *, name: str, sha256: str) -> TokenizerDefinition:
    """Read the bytes of a tokenizer.json.

    Raises:
        DefinitionError: malformed, or something that is not compiled; names the field's path.
    """
    return read_parsed_json(parse_json(data), name=name, sha256=sha256)


def read_parsed_json(value: object, *, name: str, sha256: str) -> TokenizerDefinition:
    """The same for a file that is parsed already."""
    fields = Fields.of(value, "")
    _check_top_level(fields)
    # The parts that are cheap to read come first: a definition is refused before its vocabulary is looked at.
    model = fields.child("model")
    kind = guess_model_type(model)
    if kind != "BPE":
        model.fail("type", f"the model {kind} is not compiled", "what compiles: BPE")
    normalizer = read_normalizer(fields.optional_child("normalizer"))
    pre_tokenizer = read_pre_tokenizer(fields.optional_child("pre_tokenizer"))
    post_processor, post_warnings = read_post_processor(fields.optional_child("post_processor"))
    decoder = read_decoder(fields.optional_child("decoder"))
    special_count = len(post_processor.prefix) + len(post_processor.suffix)
    truncation = read_truncation(fields.optional_child("truncation"), special_count)
    padding = read_padding(fields.optional_child("padding"))

    vocab = read_vocab(model)
    added_tokens, added_warnings = read_added_tokens(fields, vocab)
    byte_level = any(isinstance(step, ByteLevelStep) for step in pre_tokenizer)
    # a token that takes whitespace around it would take spaces where the file has marks, which are none
    strips = any(token.normalized and (token.lstrip or token.rstrip) for token in added_tokens)
    written = byte_level or strips
    spelled = Respelling(normalizer, pre_tokenizer) if written else respell(normalizer, pre_tokenizer)
    contents = {token.content for token in added_tokens}
    bpe, model_warnings = read_bpe_model(model, vocab, contents, Spelling(byte_level, spelled.entry))
    return TokenizerDefinition(
        name=name,
        source_format="tokenizer.json",
        reference=REFERENCE,
        sha256=sha256,
        normalizer=spelled.normalizer,
        pre_tokenizer=spelled.pre_tokenizer,
        mark=spelled.mark,
        model=bpe,
        added_tokens=added_tokens,
        post_processor=post_processor,
        decoder=decoder,
        truncation=truncation,
        padding=padding,
        warnings=post_warnings + added_warnings + model_warnings,
        contents=_contents(vocab),
    )


def _contents(vocab: Mapping[str, int]) -> tuple[str | None, ...]:
    """The vocabulary by id, as the file spells it."""
    contents: list[str | None] = [None] * (max(vocab.values(), default=-1) + 1)
    for text, number in vocab.items():
        contents[number] = text
    return tuple(contents)


def _refuse_first_after_removal(
    pre_tokenizer: tuple[PreTokenizerStep, ...], normalizer: tuple[NormalizerStep, ...]
) -> None:
    """prepend_scheme "first" asks whether a piece begins at offset 0 of the *original* text. Where a normalizer takes the first
    characters away, none does."""
    takes = next((step for step in normalizer if step.kind in _MAY_TAKE_AWAY), None)
    for step in pre_tokenizer:
        if isinstance(step, MetaspaceStep) and step.prepend_scheme == "first" and takes is not None:
            raise DefinitionError(
                f'prepend_scheme "first" behind the normalizer {takes.kind}, which can remove the first characters, is not compiled',
                where=step.where,
                hint='"always" or "never"',
            )


def _check_top_level(fields: Fields) -> None:
    for key in fields.values:
        if key not in _TOP_LEVEL:
            raise DefinitionError(
                "unknown field; the reference does not load this file",
                where=key,
                hint=f"known: {', '.join(_TOP_LEVEL)}",
            )
    if "model" not in fields.values:
        raise DefinitionError(
            "no model in this file", where="model", hint="a tokenizer.json is wanted, not a config.json"
        )
    if "version" in fields.values and fields.string("version") != "1.0":
        fields.fail("version", f"unknown version {fields.values['version']!r}", 'what compiles: "1.0"')
