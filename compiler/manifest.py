"""TokenizerDefinition -> manifest.json, the generated package's description of itself."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import gigatok_compile
from gigatok_compile.decoder.entries import decoder_entries
from gigatok_compile.ir.definition import (
    BpeModel,
    ByteLevelStep,
    MetaspaceStep,
    NormalizerStep,
    PostProcessor,
    PreTokenizerStep,
    Template,
    TokenizerDefinition,
)
from gigatok_compile.model_entry import model_entry
from gigatok_compile.normalizer import normalizer_entries
from gigatok_compile.unicode.tables import UNICODE_VERSION, property_ranges
from gigatok_runtime.manifest import FORMAT, AddedTokenEntry, Manifest, Templates

END_OF_TEXT = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>")
"""Names of the token that ends a text, the first that is there counts."""


def build_manifest(
    definition: TokenizerDefinition,
    *,
    tiers: Sequence[Mapping[str, Any]] = (),
    engine: str = "native",
    decoder_engine: str = "native",
    verification: Mapping[str, Any] | None = None,
) -> Manifest:
    """The manifest.

    Args:
        tiers: for each split step, at least its `where` and `tier`.
        engine: what runs by default, "native" or "regex".
        decoder_engine: what a native module decodes with, "native" or "python".
        verification: a report (`VerifyReport.as_dict()`), None when verification was skipped.
    """
    ids = {i for i, token in enumerate(definition.model.tokens) if token is not None}
    ids |= {i for i, content in enumerate(definition.contents) if content is not None}
    ids |= {token.id for token in definition.added_tokens}
    if definition.sentencepiece is not None:
        ids |= set(range(len(definition.sentencepiece.shown)))
    special = {token.content: token.id for token in definition.added_tokens if token.special}
    added: list[AddedTokenEntry] = [
        {
            "id": token.id,
            "content": token.content,
            "single_word": token.single_word,
            "lstrip": token.lstrip,
            "rstrip": token.rstrip,
            "normalized": token.normalized,
            "special": token.special,
            "matched": token.matched,
        }
        for token in definition.added_tokens
    ]
    return {
        "gigatok": FORMAT,
        "name": definition.name,
        "version": module_version(definition),
        "definition_sha256": definition.sha256,
        "source_format": definition.source_format,
        "reference": definition.reference,
        "versions": {
            "gigatok-compile": gigatok_compile.__version__,
            "unicode": UNICODE_VERSION,
            "python": platform.python_version(),
        },
        "engine": engine,
        "tiers": [dict(tier) for tier in tiers],
        "vocabulary_size": len(ids),
        "max_id": max(ids, default=-1),
        "eot_token": definition.roles.get(
            "eos", next((special[name] for name in END_OF_TEXT if name in special), None)
        ),
        "special_tokens": special,
        "added_tokens": added,
        "roles": dict(definition.roles),
        "settings": dict(definition.settings),
        "normalizer": normalizer_entries(definition.normalizer),
        "pre_tokenizer": [_step_entry(step) for step in definition.pre_tokenizer],
        "ignore_merges": isinstance(definition.model, BpeModel) and definition.model.ignore_merges,
        "model": model_entry(definition.model),
        "post_processor": templates_entry(definition.post_processor),
        "decoder": decoder_entries(definition.decoder),
        "decoder_engine": decoder_engine,
        "truncation": definition.truncation,
        "padding": definition.padding,
        "word_ranges": _word_ranges(definition),
        "warnings": list(definition.warnings),
        "verification": None if verification is None else dict(verification),
    }


def templates_entry(post_processor: PostProcessor) -> Templates:
    """The templates of a post-processor."""

    def places(template: Template | None) -> Any:
        return None if template is None else [[piece.source or piece.id, piece.type_id] for piece in template]

    return {
        "single": places(post_processor.single),
        "pair": places(post_processor.pair),
        "plain_single": places(post_processor.plain_single),
        "plain_pair": places(post_processor.plain_pair),
    }


def module_version(definition: TokenizerDefinition) -> str:
    """Version of the package, valid as a wheel's: the compiler's, and the definition's digest as its local part."""
    return f"{gigatok_compile.__version__}+{definition.sha256[:12]}"


def manifest_text(manifest: Manifest) -> str:
    """The file's text. Stable: no dates, keys in the order of `Manifest`."""
    return json.dumps(manifest, indent=1, ensure_ascii=True) + "\n"


def _plain_options(step: NormalizerStep) -> dict[str, Any]:
    """Options that JSON can hold; data in bytes is in definition.npz."""
    return {key: value for key, value in step.options.items() if not isinstance(value, bytes)}


def _step_entry(step: PreTokenizerStep) -> dict[str, Any]:
    if isinstance(step, ByteLevelStep):
        return {"kind": "ByteLevel", "add_prefix_space": step.add_prefix_space, "where": step.where}
    if isinstance(step, MetaspaceStep):
        return {"kind": "Metaspace", **asdict(step)}
    fields = asdict(step)
    return {"kind": "ByteSplit" if fields.pop("on_bytes") else "Split", **fields}


def _word_ranges(definition: TokenizerDefinition) -> list[list[int]]:
    """What `single_word` takes for word characters: `\\w` of Rust's regex crate."""
    if not any(token.single_word for token in definition.added_tokens):
        return []
    return [list(pair) for pair in property_ranges("\\w", "fancy")]
