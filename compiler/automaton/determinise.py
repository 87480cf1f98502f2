"""TagProgram -> BoundaryAutomaton: the leftmost-first subset construction with one character of look-ahead.

Look-ahead beyond that is in the symbols already (see automaton/lookahead.py).

Problem: the alternatives are ordered, so a set of NFA nodes is not enough. Idea: a state is the *ordered* list of
threads, before following the moves that consume nothing. On the next symbol those moves are followed with the symbol
known, so every `Test` is decided on the spot; reaching `Accept` says "a match may end before this symbol" and drops
all threads of lower preference; the threads that can consume the symbol form the next state.

Cost: one closure per state and tag. Counted repeats multiply states, hence the limit. Sources: Cox 2007 (ordered
thread lists); the look-ahead by delaying the closure one symbol is what lazy DFAs (RE2, rust regex) do for `\\b`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gigatok_compile.automaton.lookahead import build_lookahead
from gigatok_compile.automaton.nfa import Accept, Ahead, Choose, Consume, Nfa, Test, build_nfa
from gigatok_compile.errors import Unsupported
from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.lookahead import LookAhead
from gigatok_compile.ir.tags import TagProgram

MAX_STATES = 16_384

Threads = tuple[int, ...]


def boundary_automaton(program: TagProgram) -> tuple[LookAhead, BoundaryAutomaton]:
    """What `program` looks ahead at, and its automaton over symbols that hold the answer.

    Raises:
        Unsupported: too many states, or counted repeats that expand too far.
    """
    nfa = build_nfa(program)
    look = build_lookahead(nfa)
    return look, determinise(program, nfa, look)


def determinise(program: TagProgram, nfa: Nfa, look: LookAhead) -> BoundaryAutomaton:
    """The minimal automaton of `program`, over the symbols of `look`.

    Raises:
        Unsupported: when it has more than 16,384 states before minimisation.
    """
    described = [*look.described, (nfa.tag_count, look.end_bits)]
    numbers: dict[Threads, int] = {(): DEAD, (nfa.start,): 1}
    order: list[Threads] = [(), (nfa.start,)]
    moves: list[list[int]] = []
    accepts: list[list[bool]] = []
    symbols = len(described)
    for threads in order:  # grows while we walk it
        move_row, accept_row = [DEAD] * symbols, [False] * symbols
        for symbol in range(symbols):
            target, accept_row[symbol] = step(nfa, threads, *described[symbol])
            if target not in numbers:
                if len(order) >= MAX_STATES:
                    raise Unsupported(
                        f"the pattern needs more than {MAX_STATES} automaton states",
                        tier="automaton",
                        pattern=program.pattern,
                        start=0,
                        end=len(program.pattern),
                    )
                numbers[target] = len(order)
                order.append(target)
            move_row[symbol] = numbers[target]
        moves.append(move_row)
        accepts.append(accept_row)
    return minimise(np.array(moves, dtype=np.int64), np.array(accepts, dtype=np.bool_))


def step(nfa: Nfa, threads: Threads, symbol: int, looks: int) -> tuple[Threads, bool]:
    """(threads after consuming `symbol`, may a match end before it). The text end, `tag_count`, is consumed by none.

    looks: bit k says that look-ahead k holds before the symbol.
    """
    seen: set[int] = set()
    survivors: dict[int, None] = {}  # ordered and without repeats: the first, preferred, occurrence counts
    stack = list(reversed(threads))
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        match nfa.nodes[number]:
            case Accept():
                return tuple(survivors), True
            case Choose(options):
                stack.extend(reversed(options))
            case Test(wanted, after):
                if symbol in wanted:
                    stack.append(after)
            case Ahead(look, negated, after):
                if bool(looks >> look & 1) != negated:
                    stack.append(after)
            case Consume(tags, after):
                if symbol in tags:
                    survivors.setdefault(after)
    return tuple(survivors), False


def surely_accepting(moves: npt.NDArray[np.int64], accepts: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """States from which every text sees a match end before the automaton is dead.

    An `accepts` that leads into one of these is always overruled. Dropping it makes the minimal automaton depend on
    what the pattern means only: `X{1,3}` and possessive `X{1,3}+` alone are the same machine. The greatest fixpoint is
    right, as a text cannot go round for ever: it ends, and the text end leads to the dead state.
    """
    sure = np.ones(moves.shape[0], dtype=np.bool_)
    sure[DEAD] = False
    while True:
        still = sure & (accepts | sure[moves]).all(axis=1)
        if np.array_equal(still, sure):
            return sure
        sure = still


def minimise(moves: npt.NDArray[np.int64], accepts: npt.NDArray[np.bool_]) -> BoundaryAutomaton:
    """Merge states that no text tells apart (Moore), then tags that no state tells apart; number what is left.

    moves, accepts: (states, tags + 1), state 0 dead, state 1 the start, the last column the text end.
    """
    accepts = accepts & ~surely_accepting(moves, accepts)[moves]
    # Refinement, one symbol at a time: a class is split until its members agree on what they accept and on the
    # classes they move to. One-dimensional keys keep long counted chains cheap, which take many rounds.
    _, classes = np.unique(accepts, axis=0, return_inverse=True)
    classes = classes.reshape(-1).astype(np.int64)
    count, unchanged, symbol = int(classes.max()) + 1, 0, 0
    while unchanged < moves.shape[1]:
        _, classes = np.unique(classes * count + classes[moves[:, symbol]], return_inverse=True)
        classes = classes.reshape(-1).astype(np.int64)
        grown = int(classes.max()) + 1
        unchanged = unchanged + 1 if grown == count else 0
        count = grown
        symbol = (symbol + 1) % moves.shape[1]
    _, representatives = np.unique(classes, return_index=True)
    small_moves, small_accepts = classes[moves[representatives]], accepts[representatives]

    tag_count = moves.shape[1] - 1
    columns: list[int] = []
    kept: list[int] = []
    keys: dict[bytes, int] = {}
    for tag in range(tag_count):
        key = small_moves[:, tag].tobytes() + small_accepts[:, tag].tobytes()
        if key not in keys:
            keys[key] = len(kept)
            kept.append(tag)
        columns.append(keys[key])
    kept.append(tag_count)  # the text end keeps its own column
    small_moves, small_accepts = small_moves[:, kept], small_accepts[:, kept]

    dead, start = int(classes[DEAD]), int(classes[1])
    order = [dead] if start == dead else [dead, start]
    placed = set(order)
    for state in order:  # breadth first; grows while we walk it, and the dead state leads nowhere
        for target in small_moves[state].tolist():
            if target not in placed:
                placed.add(target)
                order.append(target)
    renumber = np.zeros(count, dtype=np.int64)
    renumber[order] = np.arange(len(order))
    final_moves = renumber[small_moves[order]].astype(np.uint16)
    final_accepts = np.ascontiguousarray(small_accepts[order])
    final_moves.setflags(write=False)
    final_accepts.setflags(write=False)
    return BoundaryAutomaton(tuple(columns), final_moves, final_accepts, int(renumber[start]))
