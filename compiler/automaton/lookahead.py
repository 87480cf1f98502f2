"""Nfa -> LookAhead: which look-aheads hold before each character, by one pass from the right.

Problem: `\\d{1,3}(?=(?:\\d{3})*\\b)` asks about text of any length after the match.

Idea: a node of the NFA is *alive* at a place of the text if the accepting node can be reached from it there. Which nodes are
alive is a function of the character and of the nodes alive after it, so a deterministic automaton that reads from the
right finds them, and look-ahead k holds where its first node is alive. (Any regular look-ahead can be labelled that
way; Schützenberger 1961.) A node that consumes nothing is alive if one that it leads to is.
"""

from __future__ import annotations

from gigatok_compile.automaton.nfa import Accept, Ahead, Choose, Consume, Nfa, Test
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.lookahead import LookAhead

MAX_STATES = 4096


def build_lookahead(nfa: Nfa) -> LookAhead:
    """The labelling automaton; one state when the pattern has no look-ahead.

    Raises:
        CompileError: more than 4096 states.
    """
    end = nfa.tag_count
    needed = _reachable(nfa)
    alive, end_bits = _alive(nfa, needed, end, frozenset())
    states, index = [alive], {alive: 0}
    moves: list[list[int]] = [[] for _ in range(nfa.tag_count)]
    symbols: list[list[int]] = [[] for _ in range(nfa.tag_count)]
    numbers: dict[tuple[int, int], int] = {}
    if not nfa.looks:
        numbers = {(tag, 0): tag for tag in range(nfa.tag_count)}
    for after in states:  # grows while we walk it
        for tag in range(nfa.tag_count):
            before, bits = _alive(nfa, needed, tag, after)
            if before not in index:
                if len(states) == MAX_STATES:
                    raise CompileError(f"the look-aheads need more than {MAX_STATES} states")
                index[before] = len(states)
                states.append(before)
            moves[tag].append(index[before])
            symbols[tag].append(numbers.setdefault((tag, bits), len(numbers)))
    return LookAhead(tuple(map(tuple, moves)), tuple(map(tuple, symbols)), tuple(numbers), end_bits)


def _reachable(nfa: Nfa) -> frozenset[int]:
    """Nodes after a consuming one of a look-ahead's body: what has to be known about the next place."""
    seen: set[int] = set()
    work = list(nfa.looks)
    while work:
        number = work.pop()
        if number in seen:
            continue
        seen.add(number)
        match nfa.nodes[number]:
            case Choose(options):
                work += options
            case Consume(next=after) | Test(next=after) | Ahead(next=after):
                work.append(after)
    return frozenset(node.next for n in seen if isinstance(node := nfa.nodes[n], Consume))


def _alive(nfa: Nfa, needed: frozenset[int], symbol: int, after: frozenset[int]) -> tuple[frozenset[int], int]:
    """(the needed nodes that are alive before `symbol`, which look-aheads hold there)."""
    known: dict[int, bool] = {}

    def alive(number: int) -> bool:
        if number not in known:
            known[number] = False  # a loop that consumes nothing leads nowhere
            match nfa.nodes[number]:
                case Accept():
                    known[number] = True
                case Choose(options):
                    known[number] = any(alive(option) for option in options)
                case Test(wanted, then):
                    known[number] = symbol in wanted and alive(then)
                case Ahead(look, negated, then):
                    known[number] = bool(bits >> look & 1) != negated and alive(then)
                case Consume(tags, then):
                    known[number] = symbol in tags and then in after
        return known[number]

    bits = 0
    for look, start in enumerate(nfa.looks):
        bits |= alive(start) << look
    return frozenset(number for number in needed if alive(number)), bits
