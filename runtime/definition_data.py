"""definition.npz of a generated package: the vocabulary, the merges, and what else the regex engine works with."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt


class DefinitionData(NamedTuple):
    """tokens: bytes of each model entry by id, None for gaps and for added tokens that are no model entry.

    added_bytes: what decoding makes of each added token, in manifest order.
    added_hidden: whether decoding leaves it out when special tokens are to be skipped.
    merges (m, 3), ranks (m,), byte_ids (256,): int32, as in gigatok_runtime.bpe.
    patterns: for each split step in order, its pattern for the `regex` package with properties written out as ranges.
    nfc: arrays for gigatok_runtime.nfc, empty when no normalizer needs them.
    hidden: (id, text, ids) of symbols of BPE over characters that are never given out.
    charsmap: compiled rules of a SentencePiece normalizer. shown, kinds: as gigatok_runtime.sentencepiece decodes each id;
        empty for other models.
    """

    tokens: list[bytes | None]
    added_bytes: list[bytes]
    added_hidden: list[bool]
    merges: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    byte_ids: npt.NDArray[np.int32]
    patterns: list[str]
    nfc: dict[str, npt.NDArray[Any]]
    hidden: list[tuple[int, bytes, list[int]]]
    charsmap: bytes
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
                added_bytes=[item or b"" for item in _unpack(arrays, "added")],
                added_hidden=arrays["added_hidden"].tolist(),
                merges=arrays["merges"],
                ranks=arrays["ranks"],
                byte_ids=arrays["byte_ids"],
                patterns=[(item or b"").decode() for item in _unpack(arrays, "pattern")],
                nfc={name: arrays[name] for name in arrays.files if name.startswith("nfc_")},
                hidden=_unpack_hidden(arrays) if "hidden_ids" in arrays else [],
                charsmap=arrays["charsmap"].tobytes() if "charsmap" in arrays else b"",
                shown=[item or b"" for item in _unpack(arrays, "shown")] if "shown_kinds" in arrays else [],
                kinds=arrays["shown_kinds"].tolist() if "shown_kinds" in arrays else [],
            )
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ImportError(f"{path} cannot be read ({error}); compile the module again") from error


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
