"""definition.npz of a generated package: the vocabulary, the merges, and what else the regex engine works with."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

_NORMALIZER = re.compile(r"nfc_|norm_|step\d+_")


class DefinitionData(NamedTuple):
    """tokens: bytes of each model entry by id, None for gaps and for added tokens that are no model entry.

    contents: the entries as the vocabulary of the file spells them, which decoders see; empty for a rank file.
    added_bytes: the bytes of each added token, in manifest order. added_names: what decoders see of it.
    added_hidden: whether decoding leaves it out when special tokens are to be skipped.
    merges (m, 3), ranks (m,), byte_ids (256,): int32, as in gigatok_runtime.bpe; no rows and all -1 for other
        models. affixes: (n,) uint8 or None. marks: which affixes there are, the same bits.
    scores: (n,) float64, of Unigram; else empty.
    patterns: for each split step in order, its pattern for the `regex` package with properties written out as ranges.
    normalizer: arrays for gigatok_runtime.normalizers, those that the definition's normalizers need.
    hidden: (id, text, ids) of symbols of BPE over characters that are never given out.
    shown, kinds: as gigatok_runtime.sentencepiece decodes each id; empty for other models.
    """

    tokens: list[bytes | None]
    contents: list[str | None]
    added_bytes: list[bytes]
    added_names: list[str]
    added_hidden: list[bool]
    merges: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    byte_ids: npt.NDArray[np.int32]
    affixes: npt.NDArray[np.uint8] | None
    marks: int
    scores: npt.NDArray[np.float64]
    patterns: list[str]
    normalizer: dict[str, npt.NDArray[Any]]
    hidden: list[tuple[int, bytes, list[int]]]
    shown: list[bytes]
    kinds: list[int]


def read_definition_data(directory: Path) -> DefinitionData:
    """The arrays of definition.npz in `directory`.

    Raises:
        ImportError: the file is missing or damaged.
    """
    path = directory / "definition.npz"
    try:
        with np.load(path, allow_pickle=False) as arrays:
            return DefinitionData(
                tokens=_unpack(arrays, "token"),
                contents=[None if item is None else item.decode() for item in _unpack(arrays, "content")],
                added_bytes=[item or b"" for item in _unpack(arrays, "added")],
                added_names=[(item or b"").decode() for item in _unpack(arrays, "added_name")],
                added_hidden=arrays["added_hidden"].tolist(),
                merges=arrays["merges"] if "merges" in arrays.files else np.zeros((0, 3), np.int32),
                ranks=arrays["ranks"] if "ranks" in arrays.files else np.zeros(0, np.int32),
                byte_ids=arrays["byte_ids"] if "byte_ids" in arrays.files else np.full(256, -1, np.int32),
                scores=arrays["scores"] if "scores" in arrays.files else np.zeros(0, np.float64),
                affixes=arrays["affixes"] if "affixes" in arrays.files else None,
                marks=_marks(arrays),
                patterns=[(item or b"").decode() for item in _unpack(arrays, "pattern")],
                normalizer={name: arrays[name] for name in arrays.files if _NORMALIZER.match(name)},
                hidden=_unpack_hidden(arrays) if "hidden_ids" in arrays else [],
                shown=[item or b"" for item in _unpack(arrays, "shown")] if "shown_kinds" in arrays else [],
                kinds=arrays["shown_kinds"].tolist() if "shown_kinds" in arrays else [],
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ImportError(f"{path} cannot be read ({error}); compile the module again") from error


def _marks(arrays: Any) -> int:
    """Modules compiled before there was such an array have affixes that entries have."""
    if "affix_marks" in arrays.files:
        return int(arrays["affix_marks"])
    return int(np.bitwise_or.reduce(arrays["affixes"])) if "affixes" in arrays.files else 0


def pack_strings(prefix: str, items: list[bytes | None]) -> dict[str, npt.NDArray[Any]]:
    """Byte strings as arrays: `<prefix>_bytes` uint8, `<prefix>_lengths` int32 with -1 for None."""
    return {
        f"{prefix}_bytes": np.frombuffer(b"".join(item or b"" for item in items), np.uint8),
        f"{prefix}_lengths": np.array([-1 if item is None else len(item) for item in items], np.int32),
    }


def _unpack_hidden(arrays: Any) -> list[tuple[int, bytes, list[int]]]:
    texts, become = _unpack(arrays, "hidden_text"), _unpack(arrays, "hidden_become")
    return [
        (number, text or b"", np.frombuffer(ids or b"", np.int32).tolist())
        for number, text, ids in zip(arrays["hidden_ids"].tolist(), texts, become, strict=True)
    ]


def _unpack(arrays: Any, prefix: str) -> list[bytes | None]:
    blob = arrays[f"{prefix}_bytes"].tobytes()
    items: list[bytes | None] = []
    at = 0
    for length in arrays[f"{prefix}_lengths"].tolist():
        items.append(None if length < 0 else blob[at : at + length])
        at += max(length, 0)
    if at != len(blob):
        raise ValueError(f"{prefix}_bytes has {len(blob)} bytes, its lengths say {at}")
    return items
