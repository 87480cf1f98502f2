"""Do the files of a package say what the definition says? Both engines work from them, so they are checked first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gigatok_compile.errors import VerifyError
from gigatok_compile.ir.definition import BpeModel, Model, Template, TokenizerDefinition
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.model_entry import model_entry
from gigatok_runtime.definition_data import DefinitionData, read_definition_data
from gigatok_runtime.manifest import read_manifest


def check_files(package_dir: Path, definition: TokenizerDefinition) -> int:
    """Compare manifest.json and definition.npz, as read back, with `definition`; the number of things compared.

    Raises:
        VerifyError: naming what differs.
    """
    model, post = definition.model, definition.post_processor
    try:
        data, manifest = read_definition_data(package_dir), read_manifest(package_dir)
    except ImportError as error:
        raise VerifyError(str(error), where=package_dir.name) from error
    templates: dict[str, Any] = dict(manifest["post_processor"])
    flags = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special", "matched")
    equal = {
        "tokens": data.tokens == list(model.tokens),
        "model": manifest["model"] == model_entry(model),
        "merges": _same_merges(data, model),
        "decoding": definition.sentencepiece is None
        or (
            data.shown == list(definition.sentencepiece.shown) and data.kinds == definition.sentencepiece.kinds.tolist()
        ),
        "digest": manifest["definition_sha256"] == definition.sha256,
        "added tokens": [tuple(token.values()) for token in manifest["added_tokens"]]
        == [tuple(getattr(token, flag) for flag in flags) for token in definition.added_tokens],
        "contents": data.contents == list(definition.contents),
        "post-processor": [templates[name] for name in ("single", "pair", "plain_single", "plain_pair")]
        == [_places(template) for template in (post.single, post.pair, post.plain_single, post.plain_pair)],
        "decoder": [entry["kind"] for entry in manifest["decoder"] or ()]
        == [step.kind for step in definition.decoder or ()],
        "steps": len(manifest["pre_tokenizer"]) == len(definition.pre_tokenizer)
        and [step["kind"] for step in manifest["normalizer"]] == [step.kind for step in definition.normalizer],
    }
    wrong = [name for name, same in equal.items() if not same]
    if wrong:
        raise VerifyError(
            f"the package's files and the definition differ in: {', '.join(wrong)}", where=package_dir.name
        )
    return len(equal)


def _same_merges(data: DefinitionData, model: Model) -> bool:
    """What lies in definition.npz for one kind of model."""
    if isinstance(model, UnigramModel):
        return np.array_equal(data.scores, model.scores) and np.array_equal(data.byte_ids, model.byte_ids)
    if not isinstance(model, BpeModel):
        return not len(data.merges) and not data.hidden and data.affixes is None
    same_affixes = (
        np.array_equal(data.affixes, model.affixes)
        if data.affixes is not None and model.affixes is not None
        else data.affixes is model.affixes
    )
    hidden = [(number, text, tuple(ids)) for number, text, ids in data.hidden]
    return (
        np.array_equal(data.merges, model.merges.reshape(-1, 3))
        and np.array_equal(data.ranks, model.ranks)
        and np.array_equal(data.byte_ids, model.byte_ids)
        and same_affixes
        and data.marks == model.marks
        and hidden == [(symbol.id, symbol.text, symbol.ids) for symbol in model.hidden]
    )


def _places(template: Template | None) -> list[list[str | int]] | None:
    """As the manifest has them."""
    return None if template is None else [[piece.source or piece.id, piece.type_id] for piece in template]
