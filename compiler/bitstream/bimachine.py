"""Nfa -> Bimachine: one pass from the right that looks ahead, one from the left that never backtracks.

Problem: a greedy, ordered match depends on what comes later (`\\s*[\\r\\n]+`, `(?!\\S)`), so "does a piece start
here?" is no function of the text on the left alone.

Idea: let R[i] be the set of nodes from which a match can still be completed reading the text from position i on.
R[i] is a function of the character at i and of R[i+1]: a deterministic automaton that reads from the *right*. Given R,
a backtracking matcher never has to back out: at every choice it takes the first option that is in R. So the matcher
becomes a deterministic automaton that reads from the *left*, one node at a time, over characters labelled with R.
The pair is a bimachine (Schützenberger 1961; Elgot and Mezei 1965), and every leftmost-first match of a regular
pattern with one-character look-ahead is one: exact, with no window, no back-tracking and no special cases.

The search is folded in: where a match ends the next one starts at once, and characters where none can start form a gap
piece. So the left automaton runs over the whole text and says before which characters a piece starts.
"""

from __future__ import annotations

from gigatok_compile.automaton.nfa import Accept, Choose, Consume, Nfa, Test
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.bimachine import GAP, START, Bimachine

MAX_STATES = 2000


def build_bimachine(nfa: Nfa) -> Bimachine:
    """Both automata, reachable states only.

    Raises:
        CompileError: more than 2000 states on a side (no known pattern comes near), or the empty match is possible.
    """
    right_sets, right = _right_automaton(nfa)
    left: dict[tuple[int, int, int], tuple[int, bool]] = {}
    states: dict[int, int] = {}  # node after the consumed character -> left state
    sources: dict[int, list[tuple[int, int]]] = {}  # right state -> (tag, right state after) that lead to it
    for tag, row in enumerate(right):
        for after, before in enumerate(row):
            sources.setdefault(before, []).append((tag, after))

    def follow(node: int, can: frozenset[int]) -> int | None:
        """The node reached by consuming the character, or None if the match ends before it."""
        seen: set[int] = set()
        while True:
            seen.add(node)
            match nfa.nodes[node]:
                case Accept():
                    return None
                case Consume(next=after):
                    return after
                case Test(next=after):
                    node = after
                case Choose(options=options):
                    node = next(option for option in options if option in can and option not in seen)

    def begin(tag: int, after: int) -> int:
        """Left state after the character when a match may start before it."""
        can = right_sets[right[tag][after]]
        if nfa.start not in can:
            return GAP
        node = follow(nfa.start, can)
        if node is None:
            raise CompileError("the pattern matches the empty string")
        return states.setdefault(node, len(states) + 2)

    nodes_of: dict[int, int] = {}
    reached = {(START, r) for r in range(len(right_sets))}
    work = sorted(reached)
    while work:
        state, before = work.pop()
        for tag, after in sources.get(before, ()):
            can = right_sets[before]
            node = None if state in (START, GAP) else follow(nodes_of[state], can)
            if node is not None:
                target, starts = states.setdefault(node, len(states) + 2), False
            else:
                target = begin(tag, after)
                starts = not (state == GAP and target == GAP)
            if len(states) > MAX_STATES:
                raise CompileError(f"the pattern needs more than {MAX_STATES} states")
            nodes_of = {index: n for n, index in states.items()} if len(nodes_of) != len(states) else nodes_of
            left[(state, tag, after)] = (target, starts)
            if (target, after) not in reached:
                reached.add((target, after))
                work.append((target, after))
    covers = all(target != GAP for target, _ in left.values())
    return Bimachine(nfa.tag_count, right, len(right_sets), left, len(states) + 2, covers)


def _right_automaton(nfa: Nfa) -> tuple[list[frozenset[int]], tuple[tuple[int, ...], ...]]:
    """Sets of nodes that can still complete a match, and the transition table over them."""
    end = _can_complete(nfa, nfa.tag_count, frozenset())
    sets, index = [end], {end: 0}
    rows: list[list[int]] = [[] for _ in range(nfa.tag_count)]
    done = 0
    while done < len(sets):
        for tag in range(nfa.tag_count):
            before = _can_complete(nfa, tag, sets[done])
            if before not in index:
                if len(sets) >= MAX_STATES:
                    raise CompileError(f"the pattern needs more than {MAX_STATES} states")
                index[before] = len(sets)
                sets.append(before)
            rows[tag].append(index[before])
        done += 1
    return sets, tuple(tuple(row) for row in rows)


def _can_complete(nfa: Nfa, symbol: int, after: frozenset[int]) -> frozenset[int]:
    """Nodes from which a match completes, when `symbol` is next and `after` is that set one character later.

    A least fixed point: a cycle of choices that consumes nothing completes nothing by itself.
    """
    can: set[int] = set()
    changed = True
    while changed:
        changed = False
        for index, node in enumerate(nfa.nodes):
            if index in can:
                continue
            match node:
                case Accept():
                    ok = True
                case Consume(tags=tags, next=target):
                    ok = symbol in tags and target in after
                case Test(symbols=symbols, next=target):
                    ok = symbol in symbols and target in can
                case Choose(options=options):
                    ok = any(option in can for option in options)
            if ok:
                can.add(index)
                changed = True
    return frozenset(can)
