"""A model -> the "model" entry of manifest.json."""

from __future__ import annotations

from typing import Any

from gigatok_compile.ir.definition import Model, WordPieceModel


def model_entry(model: Model) -> dict[str, Any]:
    """What there is to know of a model besides the arrays of definition.npz."""
    if isinstance(model, WordPieceModel):
        prefix = None if model.prefix is None else model.prefix.decode()
        return {"kind": "WordPiece", "prefix": prefix, "unk_id": model.unk_id, "max_characters": model.max_characters}
    return {"kind": "BPE", "atoms": model.atoms, "unk_id": model.unk_id, "fuse_unk": model.fuse_unk}
