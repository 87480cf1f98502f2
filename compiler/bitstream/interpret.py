"""The meaning of a BitProgram in plain Python, over one text as a list of tags.

Streams are Python integers, bit i for character i, so a text is one block of any length and a character one bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.ir.bits import (
    Ahead,
    And,
    Behind,
    BitProgram,
    Class,
    Cycle,
    Expr,
    Link,
    Not,
    Or,
    Plain,
    Run,
    Step,
    Symbol,
)


def piece_starts(program: BitProgram, tags: Sequence[int]) -> list[int]:
    """Indices of the characters before which a piece starts (index 0 included when there is a character)."""
    return _evaluate(program, tags)[0]


def pieces(program: BitProgram, tags: Sequence[int]) -> list[tuple[int, int]]:
    """Start and end of every piece that is kept."""
    starts, stops = _evaluate(program, tags)
    if program.stops is None:
        stops = starts[1:]
    return list(zip(starts, [*stops, len(tags)], strict=False))  # a piece at the text's end ends with it


def _evaluate(program: BitProgram, tags: Sequence[int]) -> tuple[list[int], list[int]]:
    """(starts, stops) as indices."""
    length = len(tags)
    if length == 0:
        return [], []
    everywhere = (1 << length) - 1
    classes = [sum(1 << i for i, tag in enumerate(tags) if tag in c.tags) for c in program.classes]
    right = [0] * program.right_count
    left = [0] * len(program.initially)
    symbols: list[int] = []

    def value(expr: Expr) -> int:
        match expr:
            case Class(index=i):
                return classes[i]
            case Symbol(index=i):
                return symbols[i]
            case Ahead(index=i):
                return right[i] >> 1
            case Behind(index=i):
                return (left[i] << 1 | program.initially[i]) & everywhere
            case Not(item=item):
                return everywhere & ~value(item)
            case And(items=items):
                result = everywhere
                for item in items:
                    result &= value(item)
                return result
            case Or(items=items):
                result = 0
                for item in items:
                    result |= value(item)
                return result

    def run_step(step: Step, streams: list[int], neighbour: type[Ahead | Behind]) -> None:
        match step:
            case Plain():
                streams[step.stream] = value(step.expr)
            case Link():
                streams[step.stream] = enter = value(step.enter)
                streams[step.stream] = enter | value(step.stay) & value(neighbour(step.stream))
            case Run():
                streams[step.stream] = enter = value(step.enter)
                stay = value(step.stay)
                previous = -1
                while streams[step.stream] != previous:
                    previous = streams[step.stream]
                    streams[step.stream] = enter | stay & value(neighbour(step.stream))
            case Cycle():
                for stream in step.later:
                    streams[stream] = 0
                again = True
                while again:
                    before = [streams[stream] for stream in step.later]
                    for part in step.steps:
                        run_step(part, streams, neighbour)
                    again = before != [streams[stream] for stream in step.later] and value(step.guard) != 0

    def run_steps(steps: Sequence[Step], streams: list[int], neighbour: type[Ahead | Behind]) -> None:
        for step in steps:
            run_step(step, streams, neighbour)

    run_steps(program.right, right, Ahead)
    for expr in program.symbols:
        symbols.append(value(expr))
    run_steps(program.left, left, Behind)
    starts = value(program.starts)
    stops = 0 if program.stops is None else value(program.stops)
    return [i for i in range(length) if starts >> i & 1], [i for i in range(length) if stops >> i & 1]
