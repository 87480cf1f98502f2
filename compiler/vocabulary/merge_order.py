"""order_merges: ids that sort by rank.

While it merges, the C code names tokens by *order ids*: the pair with the lowest merged order id is the pair with the
lowest rank, so one number is the result of a merge and its priority. After `derive_entries` every token is made by one
merge only, so such a numbering exists for every vocabulary. In nearly all of them the ids themselves are in order (the
trainer numbers entries as it makes them), and then order ids are ids. Where they are not (RoBERTa's fairseq order),
bytes come first, by byte, then tokens by rank, and results go through a table at the end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary.self_encoding import Derivations


@dataclass(frozen=True, slots=True)
class MergeOrder:
    """The merges that can happen, over order ids.

    pairs: (m, 3) int64 rows (left, right, merged), strictly ascending in merged.
    atoms: (256,) int64, the order id of each byte, -1 where the vocabulary has none.
    size: order ids are below it.
    to_id: (size,) uint32, order id to id, or None where they are the same.
    """

    pairs: npt.NDArray[np.int64]
    atoms: npt.NDArray[np.int64]
    size: int
    to_id: npt.NDArray[np.uint32] | None


def order_merges(model: BpeModel, derivations: Derivations) -> MergeOrder:
    """Keep the merges that can happen and number tokens by rank.

    Raises:
        DefinitionError: two different results at one rank, which leaves the order of merges open.
    """
    rows = np.unique(derivations.last_merge[derivations.last_merge >= 0])
    rows = rows[np.argsort(model.ranks[rows], kind="stable")]
    ranks, pairs = model.ranks[rows], model.merges[rows].astype(np.int64)
    same = np.flatnonzero(np.diff(ranks) == 0)
    if len(same):
        first, second = (int(pairs[same[0] + k, 2]) for k in (0, 1))
        raise DefinitionError(
            f"ids {first} and {second} are both made at rank {int(ranks[same[0]])}", where="model.merges"
        )
    atoms = model.byte_ids.astype(np.int64)
    if (np.diff(pairs[:, 2]) > 0).all():
        return MergeOrder(pairs, atoms, int(max(pairs.max(initial=0), atoms.max(initial=0))) + 1, None)
    bytes_with_ids = np.flatnonzero(atoms >= 0)
    to_id = np.concatenate([atoms[bytes_with_ids], pairs[:, 2]])
    order = np.full(len(model.tokens), -1, dtype=np.int64)
    order[to_id] = np.arange(len(to_id))
    return MergeOrder(order[pairs], np.where(atoms >= 0, order[atoms], -1), len(to_id), to_id.astype(np.uint32))
