"""order_merges: ids that sort by rank.

While it merges, the C code names tokens by *order ids*: the pair with the lowest merged order id is the pair with the
lowest rank, so one number is the result of a merge and its priority. After `derive_entries` every token is made by one
merge only, so such a numbering exists for every vocabulary. In nearly all of them the ids themselves are in order (the
trainer numbers entries as it makes them), and then order ids are ids. Where they are not (RoBERTa's fairseq order),
atoms come first, bytes by byte and characters by code point, then tokens by rank, and results go through a table at the
end. What a character without an entry falls back to, and the id of what is unknown, are atoms that merge with nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
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


def unmergeable(model: BpeModel, derivations: Derivations) -> str:
    """Why the merges of a model have no such order, "" if they have one. Only SentencePiece models are of that kind: equal scores
    of different pieces leave the choice to the place in the text, and symbols may merge that are never given out."""
    if model.hidden:
        return (
            "some symbols merge and are taken apart again in the end (unused pieces, or characters that are no piece)"
        )
    if model.atoms == "bytes":
        return ""  # order_merges refuses what is wrong with such a model
    rows = _live_rows(derivations)
    tied = _tied_rows(model, rows)
    if not len(tied) or _is_one_run(model, tied, derivations):
        return ""
    one, other = (model.tokens[int(model.merges[row, 2])] for row in tied[:2])
    return f"{one!r} and {other!r} have a score that others have too, so which merges first depends on where they stand"


def _live_rows(derivations: Derivations) -> npt.NDArray[np.int64]:
    """The merges that can happen."""
    rows: npt.NDArray[np.int64] = np.unique(derivations.last_merge[derivations.last_merge >= 0])
    return rows


def _tied_rows(model: BpeModel, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Those of them that share their rank with another one."""
    _, which, counts = np.unique(model.ranks[rows], return_inverse=True, return_counts=True)
    tied: npt.NDArray[np.int64] = rows[counts[which] > 1]
    return tied


Merges = dict[tuple[int, int], int]
_LONGEST_RUN = 300  # characters of a run on which the two orders are compared


def _is_one_run(model: BpeModel, tied: npt.NDArray[np.int64], derivations: Derivations) -> bool:
    """All tied merges make runs of one character (Mistral's of 2 to 16 spaces), and the longest first is the leftmost first.

    Nothing else happens in such a run meanwhile: no merge of that rank or a better one has a run of two or more in it. So
    it is enough to look at runs alone, and to try: after some of the longest runs both orders go on as at the beginning.
    """
    texts = [model.tokens[number] or b"" for number in model.merges[tied].reshape(-1).tolist()]
    first = texts[0].decode()[:1].encode()
    if len(np.unique(model.ranks[tied])) > 1 or any(text.replace(first, b"") for text in texts):
        return False
    length = {
        int(number): len(text) // len(first) for number, text in zip(model.merges[tied].reshape(-1), texts, strict=True)
    }
    grown = [number for number, size in length.items() if size > 1]
    others = np.setdiff1d(_live_rows(derivations), tied)
    early = others[model.ranks[others] <= model.ranks[tied[0]]]
    if np.isin(model.merges[early, :2], grown).any():
        return False
    found = {(int(left), int(right)): int(merged) for left, right, merged in model.merges[tied]}
    atoms = [number for number, size in length.items() if size == 1]
    if len(atoms) != 1 or not set(grown) <= set(found.values()):
        return False
    for size in range(2, min(_LONGEST_RUN, 20 * max(length.values())) + 1):
        leftmost = _run(found, atoms * size, lambda at, merged: (0, at))
        if leftmost != _run(found, atoms * size, lambda at, merged: (-length[merged], at)):
            return False
    return True


def _run(found: Merges, ids: list[int], priority: Callable[[int, int], tuple[int, int]]) -> list[int]:
    """Merge the pair that comes first by `priority`(place, what it makes) until none is left."""
    while True:
        candidates = [(at, found[pair]) for at, pair in enumerate(itertools.pairwise(ids)) if pair in found]
        if not candidates:
            return ids
        at, merged = min(candidates, key=lambda candidate: priority(*candidate))
        ids = [*ids[:at], merged, *ids[at + 2 :]]


def order_merges(model: BpeModel, derivations: Derivations) -> MergeOrder:
    """Keep the merges that can happen and number tokens by rank.

    Raises:
        DefinitionError: two different results at one rank, which leaves the order of merges open.
    """
    rows = _live_rows(derivations)
    rows = rows[np.argsort(model.ranks[rows], kind="stable")]
    tied = _tied_rows(model, rows)
    if len(tied) and model.atoms == "characters":  # a run (see unmergeable): the longest first
        lengths = np.array([len(model.tokens[number] or b"") for number in model.merges[rows, 2].tolist()])
        rows = rows[np.lexsort((-lengths, model.ranks[rows]))]
    ranks, pairs = model.ranks[rows], model.merges[rows].astype(np.int64)
    same = np.flatnonzero(np.diff(ranks) == 0)
    if len(same) and model.atoms == "bytes":
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
