"""derive_entries: which entries does BPE make, and by which last merge?

Problem: an entry may be baked as "this word -> this id" only if BPE of its bytes gives just that id. Some published
vocabularies hold entries that merging cannot reach (588 in Llama 3's, 201 in Qwen 3.5's).

Idea: run BPE on every entry, all entries of one length at a time, one merge a step in every row (a matrix of ids that
loses a column a step). GPT-2 takes 0.2 s, a vocabulary of 250,000 entries 0.8 s.

What falls out besides: the merge that came last. If two tokens l and r stand side by side while BPE runs on a text, no
merge has crossed the ends of l+r so far, so the merges inside it were those of BPE run on l+r alone, in the same order
(the order is total: rank, then position). Hence that run too passes through the state [l, r], and if l+r is an entry, the
merge of l and r is the last of its run. So each entry is made by one merge only, always the same, and every other row of
the merge table that gives this entry can be dropped: of the 280,147 merges that Llama 3's tokenizer.json lists, and of
the 446,189 splits of o200k's entries, 127,156 and 199,742 can ever happen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import BpeModel
from gigatok_compile.vocabulary.atoms import Atoms, entry_atoms, find_atoms

NO_RANK = np.int32(2**31 - 1)
_EXACT_LENGTHS = 24  # longer entries share a matrix with those up to 7 atoms shorter


@dataclass(frozen=True, slots=True)
class Derivations:
    """What BPE makes of each entry; index = id.

    reachable: (n,) bool, BPE of the entry's bytes is its id and nothing else.
    last_merge: (n,) int64, the row of `model.merges` that made it; -1 for atoms and what is not reachable.
    atoms: what merging begins with.
    """

    reachable: npt.NDArray[np.bool_]
    last_merge: npt.NDArray[np.int64]
    atoms: Atoms


class PairRows:
    """Rows of the merge table by pair, for whole arrays of pairs: a sorted array and binary search."""

    def __init__(self, merges: npt.NDArray[np.int32]) -> None:
        keys = _pair_keys(merges[:, 0], merges[:, 1])
        self._order = np.argsort(keys)
        self._keys = keys[self._order]

    def find(self, left: npt.NDArray[np.int32], right: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
        """The row of each pair, -1 where there is none (ids of -1 are in no pair)."""
        if not len(self._keys):
            return np.full(left.shape, -1, dtype=np.int64)
        keys = _pair_keys(left, right)
        at = np.searchsorted(self._keys, keys)
        at[at == len(self._keys)] = 0
        return np.where(self._keys[at] == keys, self._order[at], -1)


def derive_entries(model: BpeModel) -> Derivations:
    """Run BPE on every entry.

    Entries that hold a byte or character without an entry are not reachable.

    Raises:
        DefinitionError: a merge whose result is not its two parts joined.
    """
    n = len(model.tokens)
    atoms = find_atoms(model)
    result = Derivations(np.zeros(n, dtype=np.bool_), np.full(n, -1, dtype=np.int64), atoms)
    if model.hidden:  # their numbers are no ids; such a model runs in plain Python (merge_order.unmergeable)
        return result
    _check_merges(model)
    rows = PairRows(model.merges)
    of_entry = entry_atoms(model, atoms)
    lengths, flat = of_entry.lengths, np.append(of_entry.ids, np.int32(-1))
    widths = np.where(lengths <= _EXACT_LENGTHS, lengths, (lengths + 7) // 8 * 8)
    for width in np.unique(widths[widths > 0]):
        entries = np.flatnonzero(widths == width)
        inside = np.arange(width) < lengths[entries, None]
        first = of_entry.ends[entries] - lengths[entries]
        ids = flat[np.where(inside, first[:, None] + np.arange(width), len(flat) - 1)]
        encodable = ((ids >= 0) | ~inside).all(axis=1)
        _run(model, rows, entries[encodable], ids[encodable], result)
    return result


def _run(
    model: BpeModel,
    rows: PairRows,
    entries: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int32],
    result: Derivations,
) -> None:
    """BPE on one matrix: `ids[i]` are the symbols of `entries[i]`, -1 after its end."""

    rank_of_row = np.append(model.ranks, NO_RANK)  # row -1 is the last

    last = np.full(len(entries), -1, dtype=np.int64)
    found = rows.find(ids[:, :-1], ids[:, 1:])
    ranks = rank_of_row[found]
    while True:
        # rows without a merge left are done: reachable if the second symbol is past the end
        if ranks.shape[1]:
            best = ranks.argmin(axis=1)  # the first of equals, so the leftmost
            done = ranks[np.arange(len(best)), best] == NO_RANK
        else:
            best = np.zeros(len(entries), dtype=np.int64)
            done = np.ones(len(entries), dtype=np.bool_)
        alone = done & (ids[:, 0] == entries) & (ids[:, 1:2] < 0).all(axis=1)
        result.reachable[entries[alone]] = True
        result.last_merge[entries[alone]] = last[alone]
        if done.all():
            return
        if done.any():
            keep = ~done
            entries, ids, found, ranks, best = (x[keep] for x in (entries, ids, found, ranks, best))
        row = np.arange(len(entries))
        last = found[row, best]
        ids[row, best] = model.merges[last, 2]
        # the column after the merged one goes; so does the pair that was merged
        column = np.arange(ids.shape[1] - 1)
        ids = np.take_along_axis(ids, column + (column > best[:, None]), axis=1)
        pair = column[:-1] + (column[:-1] >= best[:, None])
        found, ranks = np.take_along_axis(found, pair, axis=1), np.take_along_axis(ranks, pair, axis=1)
        for at in (best - 1, best):  # the two pairs that the new symbol is in
            exists = (at >= 0) & (at < ranks.shape[1])
            r, c = row[exists], at[exists]
            found[r, c] = rows.find(ids[r, c], ids[r, c + 1])
            ranks[r, c] = rank_of_row[found[r, c]]


def _pair_keys(left: npt.NDArray[np.int32], right: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    return left.astype(np.int64) << 32 | (right.astype(np.int64) & 0xFFFFFFFF)


def _check_merges(model: BpeModel) -> None:
    tokens = model.tokens
    for row, (left, right, merged) in enumerate(model.merges.tolist()):
        a, b = tokens[left], tokens[right]
        if a is not None and b is not None and tokens[merged] != a + b:
            raise DefinitionError(
                f"merge {row} makes {tokens[merged]!r} (id {merged}) of {a!r} and {b!r}", where="model.merges"
            )
