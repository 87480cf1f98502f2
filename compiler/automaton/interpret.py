"""Plain-Python interpreters: what a TagProgram means, and what its automaton says. Slow on purpose, easy to trust.

`split_program` backtracks over the tree as a regex engine does and knows nothing of automata, so the two functions
check each other. Positions are code points.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.lookahead import LookAhead
from gigatok_compile.ir.tags import Alt, Chars, Look, Next, Node, Repeat, Seq, TagProgram

Piece = tuple[int, int, bool]  # start, end, is it a match


def tags_of_text(program: TagProgram, text: str) -> list[int]:
    """The tag of every character, then `program.end`.

    Raises:
        ValueError: for a lone surrogate, which has no tag.
    """
    lows, starts = _tag_table(program)
    tags: list[int] = []
    for position, char in enumerate(text):
        low, high, tag = starts[bisect_right(lows, ord(char)) - 1]
        if not low <= ord(char) <= high:
            raise ValueError(f"the character at {position} is a lone surrogate")
        tags.append(tag)
    return [*tags, program.end]


_last_table: tuple[TagProgram, list[int], list[tuple[int, int, int]]] | None = None


def _tag_table(program: TagProgram) -> tuple[list[int], list[tuple[int, int, int]]]:
    """(range starts, (low, high, tag)), remembered for the last program: hashing one costs as much as sorting it."""
    global _last_table
    if _last_table is None or _last_table[0] is not program:
        starts = sorted((low, high, tag.index) for tag in program.tags for low, high in tag.ranges)
        _last_table = (program, [low for low, _, _ in starts], starts)
    return _last_table[1], _last_table[2]


def split_program(program: TagProgram, text: str) -> list[Piece]:
    """Pieces of `text` by backtracking over the tree of `program`: the definition of its meaning."""
    tags = tags_of_text(program, text)
    return _pieces(len(text), lambda start: next(_ends(program.root, tags, start, program.end), None))


def split_automaton(
    automaton: BoundaryAutomaton, program: TagProgram, text: str, look: LookAhead | None = None
) -> list[Piece]:
    """Pieces of `text` by running `automaton`, which was made from `program` (and `look`, if it looks ahead far)."""
    tags = tags_of_text(program, text)[:-1]
    symbols = [automaton.columns[s] for s in (tags if look is None else label_tags(look, tags))]
    symbols.append(automaton.end_column)
    moves, accepts = automaton.moves.tolist(), automaton.accepts.tolist()

    def match_end(start: int) -> int | None:
        state, position, end = automaton.start, start, None
        while state != DEAD:
            symbol = symbols[position]
            if accepts[state][symbol]:
                end = position
            state = moves[state][symbol]
            position += 1
        return end

    return _pieces(len(text), match_end)


def label_tags(look: LookAhead, tags: Sequence[int]) -> list[int]:
    """The symbol of every character."""
    state, symbols = 0, []
    for tag in reversed(tags):
        symbols.append(look.symbols[tag][state])
        state = look.moves[tag][state]
    return symbols[::-1]


def _pieces(length: int, match_end: Callable[[int], int | None]) -> list[Piece]:
    """Matches from left to right, and what lies between them. An empty match ends what lies between, and no more."""
    pieces: list[Piece] = []
    gap = start = 0
    while start < length:
        end = match_end(start)
        if end is not None and gap < start:
            pieces.append((gap, start, False))
            gap = start
        if end is None or end == start:
            start += 1
            continue
        pieces.append((start, end, True))
        gap = start = end
    if gap < length:
        pieces.append((gap, length, False))
    return pieces


def _ends(node: Node, tags: Sequence[int], start: int, end_tag: int) -> Iterator[int]:
    """Positions where a match of `node` from `start` may end, the preferred one first."""
    match node:
        case Chars():
            if tags[start] in node.tags:
                yield start + 1
        case Next():
            if tags[start] in node.tags or (node.at_end and tags[start] == end_tag):
                yield start
        case Look():
            if (next(_ends(node.item, tags, start, end_tag), None) is None) == node.negated:
                yield start
        case Seq():
            yield from _sequence_ends(node.items, tags, start, end_tag)
        case Alt():
            for option in node.options:
                yield from _ends(option, tags, start, end_tag)
        case Repeat(item=Chars(tags=wanted)):
            # Runs of one set are what patterns are made of; without recursion they may be long.
            limit = start
            most = len(tags) if node.high is None else min(len(tags), start + node.high)
            while limit < most and tags[limit] in wanted:
                limit += 1
            stops = range(start + node.low, limit + 1)
            yield from reversed(stops) if node.greedy else stops
        case Repeat():
            yield from _repeat_ends(node, 0, tags, start, end_tag)


def _sequence_ends(items: Sequence[Node], tags: Sequence[int], start: int, end_tag: int) -> Iterator[int]:
    if not items:
        yield start
        return
    for middle in dict.fromkeys(_ends(items[0], tags, start, end_tag)):  # what failed once fails again
        yield from _sequence_ends(items[1:], tags, middle, end_tag)


def _repeat_ends(node: Repeat, done: int, tags: Sequence[int], start: int, end_tag: int) -> Iterator[int]:
    if done >= node.low and not node.greedy:
        yield start
    if node.high is None or done < node.high:
        for middle in dict.fromkeys(_ends(node.item, tags, start, end_tag)):
            yield from _repeat_ends(node, done + 1, tags, middle, end_tag)
    if done >= node.low and node.greedy:
        yield start
