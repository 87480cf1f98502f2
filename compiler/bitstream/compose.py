"""Two bimachines -> one: the second step's texts are the first step's pieces.

Problem: steps of a Sequence are applied in order, and each sees a piece of the step before as a whole text: look-ahead and
anchors end there. Run one after another they take a pass each, and the second's look-ahead needs the first's cuts of text
to come.

Idea: functions that bimachines compute are closed under composition (Elgot and Mezei 1965). From the left that is a pair of
states, the second put back to its start wherever the first cuts. From the right the second's state depends on where the
first will cut, which depends on the first's *left* state. So the right state is the first's, and for each left state of the
first the state that the second will then have ("at the end of the text" where the first cuts). Such functions are few,
since most places cut or do not whatever came before.

In text that the first step removes the second has nothing to do; its states are fixed there.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.errors import CompileError
from gigatok_compile.ir.bimachine import START, Bimachine

MAX_STATES = 4096
MAX_TRANSITIONS = 2_000_000
UNUSED = -1

RightState = tuple[int, tuple[int, ...]]  # the first's state; the second's, by the first's left state


def compose(first: Bimachine, second: Bimachine, tags: Sequence[tuple[int, int]]) -> Bimachine:
    """The machine of `first`, then `second`, over tags that are pairs (tag of `first`, tag of `second`).

    Raises:
        CompileError: more than 4096 states on a side.
    """
    right_states, right = _right(first, second, tags)
    sources: dict[int, list[tuple[int, int]]] = {}
    for tag, row in enumerate(right):
        for after, before in enumerate(row):
            sources.setdefault(before, []).append((tag, after))
    pairs, index = [(START, START)], {(START, START): 0}
    left: dict[tuple[int, int, int], tuple[int, bool]] = {}
    kept = [False]
    reached = {(0, r) for r in range(len(right_states))}
    work = sorted(reached)
    while work:
        state, before = work.pop()
        one, two = pairs[state]
        for tag, after in sources.get(before, ()):
            tag_one, tag_two = tags[tag]
            after_one, after_two = right_states[after]
            move = first.left.get((one, tag_one, after_one))
            if move is None:  # the right state was reached with another left state
                continue
            next_one, cut = move
            next_two = START
            if first.kept[next_one]:
                key = (START if cut else two, tag_two, after_two[next_one])
                next_two, cut_two = second.left[key]
                cut = cut or cut_two
            target = (next_one, next_two)
            if target not in index:
                if len(pairs) >= MAX_STATES or len(left) > MAX_TRANSITIONS:
                    raise CompileError(f"the steps together need more than {MAX_STATES} left states")
                index[target] = len(pairs)
                pairs.append(target)
                kept.append(first.kept[next_one] and second.kept[next_two])
            left[state, tag, after] = (index[target], cut)
            if (index[target], after) not in reached:
                reached.add((index[target], after))
                work.append((index[target], after))
    return Bimachine(len(tags), right, len(right_states), left, tuple(kept))


def _right(
    first: Bimachine, second: Bimachine, tags: Sequence[tuple[int, int]]
) -> tuple[list[RightState], tuple[tuple[int, ...], ...]]:
    """The right states that occur and the moves between them."""
    end: RightState = (0, (0,) * first.left_count)
    states, index = [end], {end: 0}
    rows: list[list[int]] = [[] for _ in tags]
    for after_one, after_two in states:  # grows while we walk it
        for row, (tag_one, tag_two) in zip(rows, tags, strict=True):
            row_two = second.right[tag_two]
            by_left = [UNUSED] * first.left_count
            for one in range(first.left_count):
                move = first.left.get((one, tag_one, after_one))
                if move is not None:
                    target, cut = move
                    by_left[one] = 0 if cut or not first.kept[target] else row_two[after_two[target]]
            before = (first.right[tag_one][after_one], tuple(by_left))
            if before not in index:
                if len(states) >= MAX_STATES:
                    raise CompileError(f"the steps together need more than {MAX_STATES} right states")
                index[before] = len(states)
                states.append(before)
            row.append(index[before])
    return states, tuple(map(tuple, rows))
