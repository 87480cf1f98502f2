"""plan_token_lookup: tables of templates/decode.h, from single ids to their bytes and back.

- token_blob, token_offsets: the bytes of every id one after the other, and where each begins;
- token_slots: from the bytes of a token to its id, an open-addressed table whose hits are verified against token_blob;
- token_names: the few added tokens that decode to something other than their content (in a ByteLevel tokenizer.json
  "é" decodes to the byte E9), found by content.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import AddedToken
from gigatok_compile.ir.plan import Table, TableSet

_MASK = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15


def plan_token_lookup(
    model_tokens: Sequence[bytes | None],
    added: Sequence[AddedToken],
    added_bytes: Sequence[bytes],
) -> TableSet:
    """The tables above.

    Args:
        model_tokens: bytes of every model entry, index = id, None for gaps.
        added: the added tokens, ids resolved. Where one is called as a model entry or an earlier added token is, the
            content of the added token that comes first counts, as in the reference's token_to_id.
        added_bytes: the bytes of each of them.

    The constant GT_MAX_ID is the largest id of all.
    """
    decoded = {number: token for number, token in enumerate(model_tokens) if token is not None}
    decoded |= {token.id: value for token, value in zip(added, added_bytes, strict=True)}
    max_id = max(decoded, default=0)
    by_id = [decoded.get(number, b"") for number in range(max_id + 1)]
    offsets = np.cumsum([0, *map(len, by_id)])
    if offsets[-1] >= 1 << 32:
        raise DefinitionError(f"the tokens take {offsets[-1]} bytes together, over 4 GiB", where="model.vocab")

    ids: dict[bytes, int] = {}
    for number, name in enumerate(model_tokens):
        if name:
            ids.setdefault(name, number)
    ids |= {token.content.encode(): token.id for token in reversed(added) if token.content}
    names = {name: number for name, number in ids.items() if by_id[number] != name}
    slots, log2 = _slots({name: number for name, number in ids.items() if name not in names})
    ends = np.cumsum([len(name) for name in names], dtype=np.uint32)
    return TableSet(
        (
            Table("token_blob", np.frombuffer(b"".join(by_id), np.uint8), "bytes of all ids"),
            Table("token_offsets", offsets.astype(np.uint32), "where the bytes of each id begin, and the end"),
            Table("token_slots", slots, "id + 1 of the token whose hash leads here, 0: none"),
            Table(
                "token_names", np.frombuffer(b"".join(names), np.uint8), "added tokens that decode to something else"
            ),
            Table("token_name_ends", ends, "where each of them ends"),
            Table("token_name_ids", np.array(list(names.values()), np.uint32), "their ids"),
        ),
        {"max_id": max_id, "token_slots_log2": log2, "token_names_count": len(names)},
    )


def _slots(words: dict[bytes, int]) -> tuple[npt.NDArray[np.uint32], int]:
    """The hash table, at most half full, and the logarithm of its size."""
    log2 = max(4, (2 * len(words)).bit_length())
    slots = [0] * (1 << log2)
    for name, number in words.items():
        at = token_hash(name) >> (64 - log2)
        while slots[at]:
            at = (at + 1) & ((1 << log2) - 1)
        slots[at] = number + 1
    return np.array(slots, np.uint32), log2


def token_hash(token: bytes) -> int:
    """64-bit hash whose high bits are the home slot; gt_token_hash computes the same."""
    value = len(token)
    for at in range(0, len(token), 8):
        value = (value ^ int.from_bytes(token[at : at + 8], "little")) * _MULTIPLIER & _MASK
        value ^= value >> 29
    return value * _MULTIPLIER & _MASK
