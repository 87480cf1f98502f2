"""build_token_bytes: the bytes of every id, for decoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from gigatok_compile.ir.definition import AddedToken
from gigatok_compile.ir.plan import Table, TableSet


def build_token_bytes(tokens: Sequence[bytes | None], added: Sequence[AddedToken]) -> TableSet:
    """`token_bytes`, all of them in a row, and `token_offsets` (max id + 2): id i is bytes offsets[i] to offsets[i + 1].

    An added token stands as the UTF-8 of its content, whatever the model has at its id; ids that are nothing are empty.
    """
    last = max([len(tokens) - 1, *(token.id for token in added)])
    parts = [token or b"" for token in tokens] + [b""] * (last + 1 - len(tokens))
    for token in added:
        parts[token.id] = token.content.encode()
    offsets = np.cumsum([0, *map(len, parts)]).astype(np.uint32)
    return TableSet(
        (
            Table("token_bytes", np.frombuffer(b"".join(parts), dtype=np.uint8), "bytes of every id, one after the other"),
            Table("token_offsets", offsets, "where each id's bytes begin, and the end"),
        ),
        {"max_id": last},
    )
