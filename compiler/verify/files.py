"""Do the files of a package say what the definition says? Both engines work from them, so they are checked first."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from gigatok_compile.errors import VerifyError
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.manifest import read_manifest


def check_files(package_dir: Path, definition: TokenizerDefinition) -> int:
    """Compare manifest.json and definition.npz, as read back, with `definition`; the number of things compared.

    Raises:
        VerifyError: naming what differs.
    """
    model = definition.model
    try:
        data, manifest = read_definition_data(package_dir), read_manifest(package_dir)
    except ImportError as error:
        raise VerifyError(str(error), where=package_dir.name) from error
    flags = ("id", "content", "single_word", "lstrip", "rstrip", "normalized", "special", "matched")
    equal = {
        "tokens": data.tokens == list(model.tokens),
        "merges": np.array_equal(data.merges, model.merges.reshape(-1, 3)),
        "ranks": np.array_equal(data.ranks, model.ranks),
        "byte ids": np.array_equal(data.byte_ids, model.byte_ids),
        "unknown characters": (manifest["atoms"], manifest["unk_id"], manifest["fuse_unk"])
        == (model.atoms, model.unk_id, model.fuse_unk),
        "hidden symbols": [(number, text, tuple(ids)) for number, text, ids in data.hidden]
        == [(symbol.id, symbol.text, symbol.ids) for symbol in model.hidden],
        "decoding": definition.sentencepiece is None
        or (
            data.shown == list(definition.sentencepiece.shown)
            and data.kinds == definition.sentencepiece.kinds.tolist()
            and manifest["decoder"] == {"kind": "SentencePiece", "strip": definition.sentencepiece.strip}
        ),
        "digest": manifest["definition_sha256"] == definition.sha256,
        "added tokens": [tuple(token.values()) for token in manifest["added_tokens"]]
        == [tuple(getattr(token, flag) for flag in flags) for token in definition.added_tokens],
        "post-processor": manifest["post_processor"]
        == {"prefix": [*definition.post_processor.prefix], "suffix": [*definition.post_processor.suffix]},
        "steps": len(manifest["pre_tokenizer"]) == len(definition.pre_tokenizer)
        and [step["kind"] for step in manifest["normalizer"]] == [step.kind for step in definition.normalizer],
    }
    wrong = [name for name, same in equal.items() if not same]
    if wrong:
        raise VerifyError(
            f"the package's files and the definition differ in: {', '.join(wrong)}", where=package_dir.name
        )
    return len(equal)
