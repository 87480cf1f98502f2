"""order_merges: ids that sort by rank.

While it merges, the C code names tokens by *order ids*: the pair with the lowest merged order id is the pair with the
lowest rank, so one number is the result of a merge and its priority. After `derive_entries` every token is made by one
merge only, so such a numbering exists for every vocabulary. In nearly all of them the ids themselves are in order (the
trainer numbers entries as it makes them), and then order ids are ids. Where they are not (RoBERTa's fairseq order),
atoms come first, bytes by byte and characters by code point, then tokens by rank, and results go through a table at the
end. What a character without an entry falls back to, and the id of what is unknown, are atoms that merge with nothing.
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
    of: (n,) int64, the order id of each id, -1 for what merging neither begins with nor makes.
    size: order ids are below it.
    to_id: (size,) uint32, order id to id, or None where they are the same.
    """

    pairs: npt.NDArray[np.int64]
    of: npt.NDArray[np.int64]
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
    atoms = derivations.atoms.ids
    spare = [int(i) for i in (*model.byte_ids, model.unk_id) if i >= 0]
    atoms = list(dict.fromkeys([*atoms, *spare]))
    of = np.full(len(model.tokens), -1, dtype=np.int64)
    if (np.diff(pairs[:, 2]) > 0).all():
        of[[*atoms, *pairs.reshape(-1).tolist()]] = [*atoms, *pairs.reshape(-1).tolist()]
        return MergeOrder(pairs, of, int(of.max(initial=0)) + 1, None)
    to_id = np.concatenate([np.array(atoms, dtype=np.int64), pairs[:, 2]])
    of[to_id] = np.arange(len(to_id))
    return MergeOrder(of[pairs], of, len(to_id), to_id.astype(np.uint32))
