"""A model -> the "model" entry of manifest.json."""

from __future__ import annotations

from typing import Any

from gigatok_compile.ir.definition import Model, WordPieceModel
from gigatok_compile.ir.unigram import UnigramModel


def model_entry(model: Model) -> dict[str, Any]:
    """What there is to know of a model besides the arrays of definition.npz."""
    if isinstance(model, UnigramModel):
        return {
            "kind": "Unigram",
            "engine": model.engine,
            "unk_id": model.unk_id,
            "unk_score": model.unk_score,
            "space": model.space.decode(),
        }
    if isinstance(model, WordPieceModel):
        prefix = None if model.prefix is None else model.prefix.decode()
        return {"kind": "WordPiece", "prefix": prefix, "unk_id": model.unk_id, "max_characters": model.max_characters}
    return {"kind": "BPE", "atoms": model.atoms, "unk_id": model.unk_id, "fuse_unk": model.fuse_unk}
