"""Bimachine -> the same with fewer states and tags: merge what no text tells apart.

Moore's refinement on either side, then tags whose every move is the same. Repeated until nothing merges, since fewer left
states make right states alike and the other way round. A combination that cannot occur is taken for different from all
others, so the result is not the smallest; predicates.py uses that freedom later.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.bimachine import START, Bimachine

Array = npt.NDArray[np.int64]


def reduce_bimachine(machine: Bimachine) -> tuple[Bimachine, tuple[int, ...]]:
    """(the smaller machine, its tag for each old tag). Tags are numbered by the lowest old one; START and the right state at
    the text's end stay 0. A cut between two removed pieces is dropped: nobody sees it."""
    shape = (machine.left_count, machine.tag_count, machine.right_count)
    targets = np.full(shape, -1, dtype=np.int64)
    cuts = np.zeros(shape, dtype=np.int64)
    for key, (target, cut) in machine.left.items():
        targets[key] = target
        cuts[key] = cut and (key[0] == START or machine.kept[key[0]] or machine.kept[target])
    right = np.array(machine.right, dtype=np.int64).reshape(machine.tag_count, machine.right_count)
    kept = np.array(machine.kept, dtype=np.int64)
    kept[START] = 2  # by itself
    tag_of = np.arange(machine.tag_count)
    size = 0
    while size != targets.size:
        size = targets.size
        symbols = _first(_numbers(_moves(np.arange(len(kept)), targets, cuts).reshape(len(kept), -1).T))
        to, cut_to = (a.reshape(len(kept), -1)[:, symbols] for a in (targets, cuts))
        classes = _refine(kept, lambda c, t=to, u=cut_to: _moves(c, t, u))
        first = _first(classes)
        targets, cuts, kept = np.where(targets < 0, -1, classes[targets])[first], cuts[first], kept[first]

        whole = _moves(np.arange(len(kept)), targets, cuts).transpose(2, 0, 1).reshape(targets.shape[2], -1)
        classes = _refine(_numbers(whole), lambda c, r=right: c[r].T)
        first = _first(classes)
        targets, cuts, right = targets[:, :, first], cuts[:, :, first], classes[right][:, first]

        whole = _moves(np.arange(len(kept)), targets, cuts).transpose(1, 0, 2).reshape(targets.shape[1], -1)
        classes = _numbers(np.concatenate([whole, right], axis=1))
        first = _first(classes)
        targets, cuts, right, tag_of = targets[:, first], cuts[:, first], right[first], classes[tag_of]
    left = {(q, t, r): (int(targets[q, t, r]), bool(cuts[q, t, r])) for q, t, r in np.argwhere(targets >= 0).tolist()}
    reduced = Bimachine(
        right.shape[0],
        tuple(map(tuple, right.tolist())),
        right.shape[1],
        left,
        tuple(state != START and bool(k) for state, k in enumerate(kept.tolist())),
    )
    return reduced, tuple(tag_of.tolist())


def _moves(classes: Array, targets: Array, cuts: Array) -> Array:
    """One number for a move: where to and whether it cuts; -1 where there is none."""
    return np.where(targets < 0, -1, classes[targets] * 2 + cuts)


def _numbers(rows: Array) -> Array:
    """A number for each row, equal rows the same, in the order in which they first occur."""
    known: dict[bytes, int] = {}
    return np.array([known.setdefault(row.tobytes(), len(known)) for row in np.ascontiguousarray(rows)], dtype=np.int64)


def _refine(classes: Array, signature) -> Array:  # type: ignore[no-untyped-def]
    """Split classes until members agree on `signature(classes)`, an array with a row a member."""
    classes = _numbers(classes.reshape(len(classes), -1))
    while True:
        finer = _numbers(np.concatenate([classes[:, None], signature(classes)], axis=1))
        if finer.max() == classes.max():
            return finer
        classes = finer


def _first(classes: Array) -> Array:
    """The first member of each class."""
    return np.unique(classes, return_index=True)[1]
