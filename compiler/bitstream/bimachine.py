"""BoundaryAutomaton -> Bimachine: one pass from the right that looks ahead, one from the left that never backtracks.

Problem: where a match ends depends on what comes later (`\\s*[\\r\\n]+`, `(?!\\S)`): the automaton runs on past a place
where a match may end, and only when it is dead is it known which such place was the last. So "does a piece start here?" is
no function of the text on the left alone.

Idea: let R[i] be the set of automaton states that will still accept when they read the text from position i on. R[i] is
a function of the character at i and of R[i+1]: a deterministic automaton that reads from the *right*. Given R, the match
ends at the first place that accepts and after which the state is not in R, known at once. So the search becomes a
deterministic automaton that reads from the *left*, over characters labelled with R. The pair is a bimachine
(Schützenberger 1961; Elgot and Mezei 1965), exact, with no window, no backtracking and no special cases.

The search is folded in: where a match ends the next one starts at once, and characters where none can start form a gap
piece. So the left automaton runs over the whole text and says before which characters a piece starts.

Look-ahead of any length is an automaton from the right too (ir/lookahead.py), so the right state is a pair of states, and
its labels are what the boundary automaton reads. An empty match cuts and takes nothing: the character after it is in a
gap.
"""

from __future__ import annotations

from collections.abc import Callable

from gigatok_compile.errors import CompileError
from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.bimachine import GAP, START, Bimachine
from gigatok_compile.ir.definition import Behavior
from gigatok_compile.ir.lookahead import LookAhead

MAX_STATES = 4096  # of the automaton, and of the right one
MAX_TRANSITIONS = 1_000_000  # a few seconds, and some hundred megabytes

Behave = Callable[[bool, bool], bool]


def build_bimachine(
    automaton: BoundaryAutomaton, look: LookAhead, behavior: Behavior = "Isolated", invert: bool = False
) -> Bimachine:
    """Over the tags that `look` reads, reachable states only.

    Raises:
        CompileError: more than 4096 states on a side, or more than a million transitions.
    """
    if automaton.state_count > MAX_STATES:
        raise CompileError(f"the pattern's automaton has more than {MAX_STATES} states")
    moves = automaton.moves.tolist()
    accepts = automaton.accepts.tolist()
    start = automaton.start
    right_sets, column_right = right_automaton(automaton)
    labels, right = with_labels(column_right, automaton, look)
    sources: dict[int, list[tuple[int, int]]] = {}  # right state -> (tag, right state after) that lead to it
    for tag, row in enumerate(right):
        for after, before in enumerate(row):
            sources.setdefault(before, []).append((tag, after))
    column_of = {
        (tag, label): automaton.columns[s] for tag, row in enumerate(look.symbols) for label, s in enumerate(row)
    }

    numbers: dict[int, int] = {}  # automaton state -> left state
    states = [DEAD, DEAD]  # left state -> automaton state
    left: dict[tuple[int, int, int], tuple[int, bool]] = {}
    reached = {(START, r) for r in range(len(labels))}
    work = sorted(reached)

    def number(state: int) -> int:
        if state not in numbers:
            numbers[state] = len(states)
            states.append(state)
        return numbers[state]

    while work:
        state, before = work.pop()
        if len(left) > MAX_TRANSITIONS:
            raise CompileError(f"the pattern needs more than {MAX_TRANSITIONS} transitions")
        for tag, after in sources.get(before, ()):
            label, set_index = labels[after]
            column, will_accept = column_of[tag, label], right_sets[set_index]
            inside = moves[states[state]][column] if state not in (START, GAP) else DEAD
            if inside in will_accept:  # the match goes on: it will accept later
                target, cut = number(inside), False
            else:
                assert state in (START, GAP) or accepts[states[state]][column]
                begins = moves[start][column] in will_accept
                target = number(moves[start][column]) if begins else GAP
                cut = begins or state != GAP or bool(accepts[start][column])
            left[(state, tag, after)] = (target, cut)
            if (target, after) not in reached:
                reached.add((target, after))
                work.append((target, after))
    return apply_behavior(left, len(states), right, len(labels), behavior, invert)


def apply_behavior(
    left: dict[tuple[int, int, int], tuple[int, bool]],
    left_count: int,
    right: tuple[tuple[int, ...], ...],
    right_count: int,
    behavior: Behavior,
    invert: bool,
) -> Bimachine:
    """Join or remove pieces as the step says (runtime/splitting.py has the same over lists of pieces).

    Whether neighbouring pieces join depends on which of them are matches. Two gaps are neighbours where an empty match cuts
    between them, and stay apart under every behavior.
    """
    matches = [state > GAP for state in range(left_count)]
    flags = [match != invert for match in matches]

    def joins(first: int, second: int) -> bool:
        if first == START or matches[first] == matches[second] is False:
            return False
        match behavior:
            case "Contiguous":
                return flags[first] == flags[second]
            case "MergedWithPrevious":
                return flags[second] and not flags[first]
            case "MergedWithNext":
                return flags[first] and not flags[second]
        return False

    kept = [state != START and not (behavior == "Removed" and flags[state]) for state in range(left_count)]
    joined = {key: (target, cut and not joins(key[0], target)) for key, (target, cut) in left.items()}
    return Bimachine(len(right), right, right_count, joined, tuple(kept))


def with_labels(
    column_right: tuple[tuple[int, ...], ...], automaton: BoundaryAutomaton, look: LookAhead
) -> tuple[list[tuple[int, int]], tuple[tuple[int, ...], ...]]:
    """Pairs (state of `look`, right state over columns) that occur, and the moves between them over tags."""
    pairs, index = [(0, 0)], {(0, 0): 0}
    rows: list[list[int]] = [[] for _ in look.moves]
    for label, after in pairs:  # grows while we walk it
        for tag, row in enumerate(rows):
            column = automaton.columns[look.symbols[tag][label]]
            before = (look.moves[tag][label], column_right[column][after])
            if before not in index:
                if len(pairs) >= MAX_STATES:
                    raise CompileError(f"the pattern needs more than {MAX_STATES} right states")
                index[before] = len(pairs)
                pairs.append(before)
            row.append(index[before])
    return pairs, tuple(map(tuple, rows))


def right_automaton(automaton: BoundaryAutomaton) -> tuple[list[frozenset[int]], tuple[tuple[int, ...], ...]]:
    """Sets of states that will accept, and the transition table over them. Set 0 is that of the text's end."""
    moves = automaton.moves.tolist()
    accepts = automaton.accepts.tolist()
    states = range(1, automaton.state_count)
    end = frozenset(s for s in states if accepts[s][automaton.end_column])
    sets, index = [end], {end: 0}
    rows: list[list[int]] = [[] for _ in range(automaton.column_count)]
    done = 0
    while done < len(sets):
        for column, row in enumerate(rows):
            before = frozenset(s for s in states if accepts[s][column] or moves[s][column] in sets[done])
            if before not in index:
                if len(sets) >= MAX_STATES:
                    raise CompileError(f"the pattern needs more than {MAX_STATES} right states")
                index[before] = len(sets)
                sets.append(before)
            row.append(index[before])
        done += 1
    return sets, tuple(tuple(row) for row in rows)
