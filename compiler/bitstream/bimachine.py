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

Both automata are over the columns of the boundary automaton, which is minimal: patterns that mean the same give the same
bimachine, however they are spelt.
"""

from __future__ import annotations

from gigatok_compile.errors import CompileError
from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.bimachine import GAP, START, Bimachine

MAX_STATES = 254  # of the automaton, and of the right one: what a kernel's tables hold


def build_bimachine(automaton: BoundaryAutomaton) -> Bimachine:
    """Both automata, reachable states only. The automaton's start accepts nothing (no empty matches).

    Raises:
        CompileError: more than 254 states (counted repeats in the hundreds).
    """
    if automaton.state_count > MAX_STATES:
        raise CompileError(f"the pattern's automaton has more than {MAX_STATES} states")
    moves = automaton.moves.tolist()
    accepts = automaton.accepts.tolist()
    right_sets, right = _right_automaton(automaton)
    sources: dict[int, list[tuple[int, int]]] = {}  # right state -> (column, right state after) that lead to it
    for column, row in enumerate(right):
        for after, before in enumerate(row):
            sources.setdefault(before, []).append((column, after))

    def begin(column: int, after: int) -> int:
        """Left state after the character when a match may start before it."""
        target = moves[automaton.start][column]
        return numbers.setdefault(target, len(numbers) + 2) if target in right_sets[after] else GAP

    numbers: dict[int, int] = {}  # automaton state -> left state
    left: dict[tuple[int, int, int], tuple[int, bool]] = {}
    state_of: dict[int, int] = {}
    reached = {(START, r) for r in range(len(right_sets))}
    work = sorted(reached)
    while work:
        state, before = work.pop()
        for column, after in sources.get(before, ()):
            inside = state not in (START, GAP)
            target_state = moves[state_of[state]][column] if inside else DEAD
            if inside and target_state in right_sets[after]:  # the match goes on: it will accept later
                target, starts = numbers.setdefault(target_state, len(numbers) + 2), False
            else:
                assert not inside or accepts[state_of[state]][column]
                target = begin(column, after)
                starts = not (state == GAP and target == GAP)
            state_of = {number: s for s, number in numbers.items()} if len(state_of) != len(numbers) else state_of
            left[(state, column, after)] = (target, starts)
            if (target, after) not in reached:
                reached.add((target, after))
                work.append((target, after))
    covers = all(target != GAP for target, _ in left.values())
    return Bimachine(automaton.column_count, right, len(right_sets), left, len(numbers) + 2, covers)


def _right_automaton(automaton: BoundaryAutomaton) -> tuple[list[frozenset[int]], tuple[tuple[int, ...], ...]]:
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
