"""BitProgram: where pieces start, as straight-line code over masks.

Bit i of a stream speaks of character i of a word, which may have any number of bits. Two passes over a stretch of text:
`right` streams go from its end to its start and answer what comes later; `symbols` join classes with them; `left` streams
go from start to end; `starts` (of the pieces that are kept) is the answer, with `stops` where pieces can be removed. All
that a word has to know of the next one is a stream's value at the neighbouring character.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Class:
    """Characters of class `index` of the program."""

    index: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """Symbol stream `index`, made in the pass from the right."""

    index: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Right stream `index` at the next character (what follows this one)."""

    index: int


@dataclass(frozen=True, slots=True)
class Behind:
    """Left stream `index` at the previous character."""

    index: int


@dataclass(frozen=True, slots=True)
class Not:
    item: Expr


@dataclass(frozen=True, slots=True)
class And:
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """No items: nowhere."""

    items: tuple[Expr, ...]


Expr = Class | Symbol | Ahead | Behind | Not | And | Or


@dataclass(frozen=True, slots=True)
class Plain:
    """stream = expr."""

    stream: int
    expr: Expr


@dataclass(frozen=True, slots=True)
class Run:
    """stream = enter, carried on from neighbour to neighbour while `stay` holds (a run of characters)."""

    stream: int
    enter: Expr
    stay: Expr


@dataclass(frozen=True, slots=True)
class Link:
    """stream = enter, or `stay` where the neighbour has `enter`: a run that can only be one character long."""

    stream: int
    enter: Expr
    stay: Expr


@dataclass(frozen=True, slots=True)
class Cycle:
    """Streams that depend on each other (a position in a run, modulo some number): repeated until nothing changes.

    A bit depends only on bits of neighbouring characters on one side, so each repetition settles at least one more of
    them, and where nothing changes the answer is the only one. `later` are the streams that a step uses before they are
    computed; only they have to be watched. They are used under `guard` only: in a block where it is nowhere set, one
    round is enough.
    """

    steps: tuple[Plain | Run, ...]
    later: tuple[int, ...]
    guard: Expr


Step = Plain | Run | Link | Cycle


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """A set of tags with a stream of its own. `name` is a C identifier."""

    name: str
    tags: frozenset[int]


@dataclass(frozen=True, slots=True)
class BitProgram:
    """classes: what the kernel classifies; tag `tag_count` is "past the end of the text".
    right, left: steps in the order of evaluation; streams are numbered in that order, 0 up.
    initially: value of each left stream before the first character. Right streams are False at the text's end.
    right_table[tag][r]: the automaton that reads from the right (state 0 at the text's end), for a stretch that ends
        inside a text; right_values[r]: bit i is right stream i in state r.
    """

    pattern: str
    tag_names: tuple[str, ...]
    classes: tuple[CharacterClass, ...]
    right: tuple[Step, ...]
    symbols: tuple[Expr, ...]
    left: tuple[Step, ...]
    starts: Expr
    initially: tuple[bool, ...]
    right_table: tuple[tuple[int, ...], ...]
    right_values: tuple[int, ...]
    stops: Expr | None  # where a kept piece ends; None: every piece is kept, so where the next one starts

    @property
    def right_count(self) -> int:
        return sum(len(step.steps) if isinstance(step, Cycle) else 1 for step in self.right)

    @property
    def operations(self) -> int:
        """Boolean operations a block costs, classification and shifts left out."""
        return _operations(self.right, self.symbols) + _operations(self.left, [self.starts, self.stops])

    def __str__(self) -> str:
        names = [c.name for c in self.classes]
        lines = [f"bit program of {self.pattern!r}", f"  {self.operations} operations a block, {len(names)} classes"]
        lines.append(f"  {'pieces tile every text' if self.stops is None else 'some text is removed'}")
        for c in self.classes:
            lines.append(f"  class {c.name} = {' '.join(self.tag_names[t] for t in sorted(c.tags))}")
        for step in self.right:
            lines += ["  right " + line for line in format_step(step, "q", names)]
        for index, expr in enumerate(self.symbols):
            lines.append(f"  symbol s{index} = {format_expr(expr, names)}")
        for step in self.left:
            lines += ["  left  " + line for line in format_step(step, "p", names)]
        lines.append(f"  starts = {format_expr(self.starts, names)}")
        if self.stops is not None:
            lines.append(f"  stops = {format_expr(self.stops, names)}")
        lines.append(f"  initially {' '.join(f'p{i}={int(v)}' for i, v in enumerate(self.initially))}")
        return "\n".join(lines)


def step_exprs(steps: Iterable[Step]) -> list[Expr]:
    """Every expression of `steps`."""
    exprs: list[Expr] = []
    for step in steps:
        for part in step.steps if isinstance(step, Cycle) else [step]:
            exprs += [part.expr] if isinstance(part, Plain) else [part.enter, part.stay]
        if isinstance(step, Cycle):
            exprs.append(step.guard)
    return exprs


def walk_expr(expr: Expr) -> Iterator[Expr]:
    """`expr` and everything in it."""
    yield expr
    match expr:
        case Not(item=item):
            yield from walk_expr(item)
        case And(items=items) | Or(items=items):
            for item in items:
                yield from walk_expr(item)
        case _:
            pass


def _operations(steps: Iterable[Step], exprs: Iterable[Expr | None]) -> int:
    return sum(operation_count(expr) for expr in [*step_exprs(steps), *exprs] if expr is not None)


def operation_count(expr: Expr) -> int:
    match expr:
        case Not(item=item):
            return 1 + operation_count(item)
        case And(items=items) | Or(items=items):
            return max(0, len(items) - 1) + sum(map(operation_count, items))
        case _:
            return 0


def format_expr(expr: Expr, names: list[str]) -> str:
    match expr:
        case Class(index=index):
            return names[index]
        case Symbol(index=index):
            return f"s{index}"
        case Ahead(index=index):
            return f"ahead(q{index})"
        case Behind(index=index):
            return f"behind(p{index})"
        case Not(item=item):
            return f"~{format_expr(item, names)}"
        case And(items=items):
            return "(" + " & ".join(format_expr(item, names) for item in items) + ")"
        case Or(items=items):
            return "(" + " | ".join(format_expr(item, names) for item in items) + ")" if items else "0"


def format_step(step: Step, letter: str, names: list[str]) -> list[str]:
    match step:
        case Plain():
            return [f"{letter}{step.stream} = {format_expr(step.expr, names)}"]
        case Run():
            return [
                f"{letter}{step.stream} = run({format_expr(step.enter, names)} while {format_expr(step.stay, names)})"
            ]
        case Link():
            return [
                f"{letter}{step.stream} = link({format_expr(step.enter, names)} then {format_expr(step.stay, names)})"
            ]
        case Cycle():
            lines = ["cycle " + line for part in step.steps for line in format_step(part, letter, names)]
            later = " ".join(f"{letter}{stream}" for stream in step.later)
            return [*lines, f"cycle again where {format_expr(step.guard, names)} has used an old {later}"]
