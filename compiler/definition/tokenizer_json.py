"""tokenizer.json (Hugging Face tokenizers, version "1.0") to a TokenizerDefinition."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

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
from gigatok_compile.definition.unigram_model import read_unigram_model, read_unigram_vocab
from gigatok_compile.definition.wordpiece_model import read_wordpiece_model
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    AddedToken,
    ByteLevelStep,
    MetaspaceStep,
    Model,
    NormalizerStep,
    PreTokenizerStep,
    SplitStep,
    TokenizerDefinition,
)

REFERENCE = "tokenizers 0.23.3"
MODELS = ("BPE", "WordPiece", "WordLevel", "Unigram")

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
    if kind not in MODELS:
        model.fail("type", f"the model {kind} is not compiled", f"what compiles: {', '.join(MODELS)}")
    normalizer = read_normalizer(fields.optional_child("normalizer"))
    pre_tokenizer = read_pre_tokenizer(fields.optional_child("pre_tokenizer"))
    post_processor, post_warnings = read_post_processor(fields.optional_child("post_processor"))
    decoder = read_decoder(fields.optional_child("decoder"))
    special_count = len(post_processor.prefix) + len(post_processor.suffix)
    truncation = read_truncation(fields.optional_child("truncation"), special_count)
    padding = read_padding(fields.optional_child("padding"))

    scored = read_unigram_vocab(model) if kind == "Unigram" else []
    vocab = {text: number for number, (text, _) in enumerate(scored)} if scored else read_vocab(model)
    added_tokens, added_warnings = read_added_tokens(fields, vocab)
    _refuse_first_where_offsets_move(pre_tokenizer, normalizer, added_tokens)
    byte_level = any(isinstance(step, ByteLevelStep) for step in pre_tokenizer)
    # a token that takes whitespace around it would take spaces where the file has marks, which are none
    strips = any(token.normalized and (token.lstrip or token.rstrip) for token in added_tokens)
    spelled = Respelling(normalizer, pre_tokenizer)
    if not byte_level:
        spelled = respell(normalizer, pre_tokenizer, marks_seen=strips, by_piece=kind == "Unigram")
    contents = {token.content for token in added_tokens}
    if scored:
        read, model_warnings = _read_unigram(model, scored, byte_level, spelled)
    else:
        read, model_warnings = _read_model(kind, model, vocab, contents, Spelling(byte_level, spelled.entry))
    return TokenizerDefinition(
        name=name,
        source_format="tokenizer.json",
        reference=REFERENCE,
        sha256=sha256,
        normalizer=spelled.normalizer,
        pre_tokenizer=spelled.pre_tokenizer,
        mark=spelled.mark,
        model=read,
        added_tokens=added_tokens,
        post_processor=post_processor,
        decoder=decoder,
        truncation=truncation,
        padding=padding,
        warnings=post_warnings + added_warnings + model_warnings,
        contents=tuple(text for text, _ in scored) if scored else _contents(vocab),
    )


def _read_model(
    kind: str, model: Fields, vocab: Mapping[str, int], added: Container[str], spelling: Spelling
) -> tuple[Model, tuple[str, ...]]:
    """The model of that kind, and warnings."""
    if kind == "BPE":
        return read_bpe_model(model, vocab, added, spelling)
    return read_wordpiece_model(kind, model, vocab, spelling.entry, spelling.byte_level), ()


def _read_unigram(
    model: Fields, vocab: Sequence[tuple[str, float]], byte_level: bool, spelled: Respelling
) -> tuple[Model, tuple[str, ...]]:
    if byte_level:
        model.fail("type", "Unigram behind a ByteLevel pre-tokenizer is not compiled", "what compiles behind it: BPE")
    read, warnings = read_unigram_model(model, vocab, spelled.entry, spelled.mark)
    if read.unk_id < 0:
        model.fail("unk_id", "there is none", "the reference fails on the first text that needs it")
    return read, warnings


def _contents(vocab: Mapping[str, int]) -> tuple[str | None, ...]:
    """The vocabulary by id, as the file spells it."""
    contents: list[str | None] = [None] * (max(vocab.values(), default=-1) + 1)
    for text, number in vocab.items():
        contents[number] = text
    return tuple(contents)


def _refuse_first_where_offsets_move(
    pre_tokenizer: Sequence[PreTokenizerStep], normalizer: Sequence[NormalizerStep], tokens: Sequence[AddedToken]
) -> None:
    """prepend_scheme "first" asks whether a piece begins at offset 0 of the *original* text. Where a normalizer takes the
    first characters away, none does; where it makes several of one, a cut between those leaves a second that does."""
    first = next((s for s in pre_tokenizer if isinstance(s, MetaspaceStep) and s.prepend_scheme == "first"), None)
    if first is None:
        return
    before = pre_tokenizer[: pre_tokenizer.index(first)]
    cuts = any(step.where != first.where for step in before if isinstance(step, SplitStep))
    contents = [token.content for token in tokens if token.normalized and token.matched]
    for step in normalizer:
        if not _keeps_the_start(step):
            problem = f"the normalizer {step.kind}, which can remove the first characters"
        elif cuts and not (step.kind == "Strip" or (step.kind == "Replace" and len(step.options["content"]) == 1)):
            problem = f"the normalizer {step.kind} and a step that can cut what it makes of one character"
        elif not all(_is_never_a_part(content, step) for content in contents):
            problem = f"the normalizer {step.kind} with normalized added tokens, which can be a part of what one character becomes"
        else:
            continue
        raise DefinitionError(
            f'prepend_scheme "first" behind {problem}, is not compiled', where=first.where, hint='"always" or "never"'
        )


def _keeps_the_start(step: NormalizerStep) -> bool:
    """What it makes of a text begins at the text's first character, as the reference counts."""
    options = step.options
    match step.kind:
        case "NFC" | "NFD" | "NFKC" | "NFKD" | "Lowercase" | "Prepend" | "ByteLevel":
            return True
        case "Strip":
            return not options["strip_left"]
        case "Replace":  # of several characters the last one's offset is left
            return len(options.get("string", "")) == 1 and bool(options["content"])
    return False


def _is_never_a_part(content: str, step: NormalizerStep) -> bool:
    """The token does not end within what the step makes of one character."""
    match step.kind:
        case "Prepend" | "Strip":
            return True  # the content has what is prepended in front of it too
        case "Replace":
            return len(step.options["content"]) == 1
        case "NFC":  # nothing becomes several characters of which the first is ASCII
            return content[:1].isascii()
        case "Lowercase":  # U+0130 becomes i and U+0307
            return content not in ("i", "I")
    return False


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
