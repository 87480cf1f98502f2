"""RegexPass -> Matcher: two deterministic automata that say where matches begin and end, in one pass and without backtracking.

It is the construction of bitstream/bimachine.py, with other outputs: not "does a piece start here" but what happens before a
character: a match ends there, an empty one lies there, one begins there. Successive matches by Oniguruma's rules: an empty
match right after another match does not count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from gigatok_compile.automaton.determinise import boundary_automaton
from gigatok_compile.bitstream.bimachine import right_automaton, with_labels
from gigatok_compile.errors import CompileError
from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.lookahead import LookAhead
from gigatok_compile.ir.normalizer import RegexPass
from gigatok_compile.ir.pattern import Anchor, Concat, PatternAst
from gigatok_compile.ir.tags import Range, TagProgram
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import partition

START, GAP = 0, 1  # left states: before the text, and between matches
ENDS, EMPTY, BEGINS = 1, 2, 4
UNKNOWN, CALM, ALONE = 0, 1, 2
MAX_STATES = 4096
MAX_CELLS = 1 << 21  # of each table
MOST_FOLLOWERS = 8
MOST_AHEAD = 3  # characters that are looked at one by one rather than from the end of the text

Cells = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Matcher:
    """Reading it: R is the right state after a character (`right`, from the end of the text, where it is 0), q the left state
    before it. left[q, symbols[R, tag]] is the left state after the character << 3 and what happens before it: ENDS 1, EMPTY
    2, BEGINS 4. At the end of the text end[q] says what happens there.

    tags: ranges of each tag. right, symbols: (states, tags). left: (states, symbols). end: (states,).
    ahead: so many characters on, R is known whatever comes later; 0: more than MOST_AHEAD may be needed.
    prefixes: UTF-8 at which, between matches, anything can happen, up to three bytes; after an ASCII character the first byte of
        the next one, where few characters can follow for anything to happen.
    pairs: (128, 128) uint8, what happens between matches at an ASCII character before another one, whatever follows: CALM,
        nothing changes; ALONE, the first one is a match by itself; either way the second is between matches. Or UNKNOWN.
    anchored: matches begin nowhere but at the start of the text.
    """

    tags: tuple[tuple[Range, ...], ...]
    right: Cells
    symbols: Cells
    left: Cells
    end: Cells
    ahead: int
    prefixes: tuple[bytes, ...]
    pairs: npt.NDArray[np.uint8]
    anchored: bool

    def __str__(self) -> str:
        looks = f"{self.ahead} characters ahead" if self.ahead else "from the end of the text"
        return f"by {self.left.shape[0]} left and {self.right.shape[0]} right states, {looks}"


def compile_matcher(work: RegexPass) -> Matcher:
    """The matcher of a pattern.

    Raises:
        PatternError: it does not parse. Unsupported: it is not regular. CompileError: it has too many states.
    """
    ast, anchored = _without_anchor(parse_pattern(work.pattern, "oniguruma", work.where))
    program = partition(ast)
    look, automaton = boundary_automaton(program)
    return build_matcher(program, look, automaton, work.content, anchored)


def _without_anchor(ast: PatternAst) -> tuple[PatternAst, bool]:
    """The pattern without an anchor `\\A` that it begins with, and whether there is one: such a pattern matches once at most."""
    root = ast.root
    match root:
        case Concat(items=(Anchor(kind="A"), *rest)):
            return replace(ast, root=Concat(tuple(rest), root.span)), True
        case Anchor(kind="A"):
            return replace(ast, root=Concat((), root.span)), True
    return ast, False


def build_matcher(
    program: TagProgram, look: LookAhead, automaton: BoundaryAutomaton, content: str, anchored: bool = False
) -> Matcher:
    """Over the tags of `program`, reachable states only. anchored: matches begin nowhere but at the start of the text.

    Raises:
        CompileError: too many states.
    """
    if automaton.state_count > MAX_STATES:
        raise CompileError(f"the pattern's automaton has more than {MAX_STATES} states")
    moves, accepts, start = automaton.moves.tolist(), automaton.accepts.tolist(), automaton.start
    right_sets, column_right = right_automaton(automaton)
    labels, right_rows = with_labels(column_right, automaton, look)
    right = np.array(right_rows, np.int64).T  # [state after, tag] -> state before
    rights, tags = right.shape
    if right.size > MAX_CELLS:
        raise CompileError(f"the pattern needs {rights} right states for {tags} tags, more than a table holds")
    numbers: dict[int, int] = {}
    states = [DEAD, DEAD]  # left state -> automaton state
    rows: list[Cells] = []
    begins_at = np.array(
        [[moves[start][automaton.columns[look.symbols[tag][label]]] for label, _ in labels] for tag in range(tags)]
    )
    while len(rows) < len(states):  # grows while we walk it
        state = len(rows)
        between = state in (START, GAP)
        row = np.zeros((rights, tags), np.int64)
        for after in range(rights):
            label, set_index = labels[after]
            will_accept = right_sets[set_index]
            for tag in range(tags):
                column = automaton.columns[look.symbols[tag][label]]
                inside = DEAD if between else moves[states[state]][column]
                if inside in will_accept:  # the match goes on: it will accept later
                    row[after, tag] = _number(inside, numbers, states) << 3
                    continue
                happens = 0 if between else ENDS
                begin = int(begins_at[tag, after])
                if anchored and state != START:
                    row[after, tag] = GAP << 3 | happens
                elif begin in will_accept:
                    row[after, tag] = _number(begin, numbers, states) << 3 | happens | BEGINS
                else:
                    if between and accepts[start][column]:
                        happens |= EMPTY
                    row[after, tag] = GAP << 3 | happens
        rows.append(row)
        if len(states) > MAX_STATES:
            raise CompileError(f"the pattern needs more than {MAX_STATES} left states")
        if len(states) * right.size > MAX_CELLS:
            raise CompileError("the pattern needs more transitions than a table holds")
    left = np.stack(rows)
    columns, symbol_of = np.unique(left.reshape(len(rows), -1), axis=1, return_inverse=True)
    end_column = automaton.end_column
    empty_end = EMPTY if accepts[start][end_column] else 0
    end = np.array([empty_end, 0 if anchored else empty_end, *([ENDS] * (len(rows) - 2))], np.int64)
    happening = (left[:2] != GAP << 3).any(axis=(0, 1))
    ranges = sorted(r for tag in program.tags if happening[tag.index] for r in tag.ranges)
    known = _known_pairs(right, left)
    calm = (known == CALM) & (left[START, right, :] == GAP << 3).all(axis=0).T  # also where the text begins
    return Matcher(
        tuple(tag.ranges for tag in program.tags),
        right,
        symbol_of.reshape(rights, tags),
        columns,
        end,
        _ahead(right),
        _prefixes(program, calm, ranges),
        _pairs(program, known, content),
        anchored,
    )


def _known_pairs(right: Cells, left: Cells) -> npt.NDArray[np.uint8]:
    """(tags, tags): what is known of a character of one tag before one of another, whatever follows. left: (states, rights, tags)."""
    rights, tags = right.shape
    ever = np.arange(rights)
    known = np.full((tags, tags), UNKNOWN, np.uint8)
    for first in range(tags):
        for second in range(tags):
            move = left[GAP, right[:, second], first]  # by the right state after the second
            after = left[move >> 3, ever, second]
            calm_after = left[GAP, ever, second] == GAP << 3
            if ((move == GAP << 3) & (after == GAP << 3)).all():
                known[first, second] = CALM
            elif ((move & 7 == BEGINS) & (after == GAP << 3 | ENDS) & calm_after).all():
                known[first, second] = ALONE
    return known


def _prefixes(program: TagProgram, calm: npt.NDArray[np.bool_], candidates: Sequence[Range]) -> tuple[bytes, ...]:
    """calm: (tags, tags), nothing happens at a character of one tag before one of another."""
    leads = [_leads(tag.ranges) for tag in program.tags]
    found: set[bytes] = set()
    for point in (c for low, high in candidates for c in range(low, high + 1)):
        text = chr(point).encode("utf-8", "surrogatepass")
        if len(text) > 1:
            found.add(text[:3])
            continue
        first = _tag_of(program, point)
        followers = {lead for second in range(len(leads)) if not calm[first, second] for lead in leads[second]}
        found |= {text + bytes([lead]) for lead in followers} if len(followers) <= MOST_FOLLOWERS else {text}
    return tuple(sorted(found))


def _tag_of(program: TagProgram, point: int) -> int:
    return next(tag.index for tag in program.tags if any(a <= point <= b for a, b in tag.ranges))


def _leads(ranges: Sequence[Range]) -> set[int]:
    """The first bytes of these characters' UTF-8."""
    return {
        lead
        for low, high in ranges
        for lead in range(
            chr(low).encode("utf-8", "surrogatepass")[0], chr(high).encode("utf-8", "surrogatepass")[0] + 1
        )
    }


def _pairs(program: TagProgram, known: npt.NDArray[np.uint8], content: str) -> npt.NDArray[np.uint8]:
    """A match that is its own content is no change."""
    tag_of = [_tag_of(program, c) for c in range(128)]
    pairs: npt.NDArray[np.uint8] = known[np.ix_(tag_of, tag_of)]
    if content.isascii() and len(content) == 1:
        row = pairs[ord(content)]
        row[row == ALONE] = CALM
    return pairs


def _number(state: int, numbers: dict[int, int], states: list[int]) -> int:
    if state not in numbers:
        numbers[state] = len(states)
        states.append(state)
    return numbers[state]


def _ahead(right: Cells) -> int:
    """The least number of characters that make every right state the same one; 0 for more than MOST_AHEAD."""
    sets = {frozenset(range(len(right)))}
    for length in range(MOST_AHEAD + 1):
        if all(len(members) == 1 for members in sets):
            return max(1, length)
        sets = {frozenset(column[list(members)].tolist()) for members in sets for column in right.T}
        if len(sets) > 4096:
            return 0
    return 0
