"""BitProgram -> the same with a shorter pass from the left for blocks without rare characters.

Contractions, combining marks, letters without case and the like take many operations and occur in few blocks. A symbol
that is nowhere set in a block makes its terms vanish, streams that were zero before the block and can only begin with such a
symbol stay zero, and what is left is half as long. It is partial evaluation (Jones, Gomard, Sestoft 1993) for one
value, zero, with one test a block for whether it applies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gigatok_compile.ir.bits import (
    And,
    Behind,
    BitProgram,
    CommonLeft,
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

RARE = 0.12
"""Percent of characters: a symbol this rare is in one block of thirteen."""
WORTH = 0.9
"""Share of the operations above which a second copy is not worth its text."""

ZERO, ONE = Or(()), Not(Or(()))


def with_common_left(program: BitProgram, symbol_weights: Sequence[float]) -> BitProgram:
    """`program` with `common` set where that saves operations.

    symbol_weights: percent of characters (ASCII ones) that each symbol holds for.
    """
    absent = frozenset(i for i, weight in enumerate(symbol_weights) if weight <= RARE)
    still = frozenset(range(len(program.initially)))
    while True:  # the greatest set of streams that nothing begins when none of them has begun
        begins = {
            part.stream
            for step in program.left
            for part in (step.steps if isinstance(step, Cycle) else [step])
            if _without(part.expr if isinstance(part, Plain) else part.enter, absent, still) != ZERO
        }
        if not begins & still:
            break
        still -= begins
    common = CommonLeft(
        tuple(sorted(absent)),
        tuple(sorted(still)),
        tuple(step for old in program.left for step in _step_without(old, absent, still)),
        _without(program.starts, absent, still),
        None if program.stops is None else _without(program.stops, absent, still),
    )
    found = replace(program, common=common)
    return found if found.common_operations <= WORTH * program.operations else program


def _step_without(step: Step, absent: frozenset[int], still: frozenset[int]) -> list[Step]:
    """What is left of a step; a cycle in which nothing is used early any more is a plain sequence."""
    if isinstance(step, Cycle):
        parts = [part for old in step.steps for part in _step_without(old, absent, still)]
        guard = _without(step.guard, absent, still)
        later = tuple(stream for stream in step.later if stream not in still)
        if guard == ZERO or not later:
            return parts
        return [Cycle(tuple(part for part in parts if isinstance(part, Plain | Run)), later, guard)]
    if step.stream in still:
        return []
    match step:
        case Plain():
            return [Plain(step.stream, _without(step.expr, absent, still))]
        case Run() | Link():
            enter, stay = _without(step.enter, absent, still), _without(step.stay, absent, still)
            return [Plain(step.stream, enter) if stay == ZERO else replace(step, enter=enter, stay=stay)]


def _without(expr: Expr, absent: frozenset[int], still: frozenset[int]) -> Expr:
    """`expr` with absent symbols and still streams taken for zero."""
    match expr:
        case Symbol(index=i):
            return ZERO if i in absent else expr
        case Behind(index=i):
            return ZERO if i in still else expr
        case Not(item=item):
            inner = _without(item, absent, still)
            return inner.item if isinstance(inner, Not) else Not(inner)
        case And(items=items):
            parts = [p for p in (_without(item, absent, still) for item in items) if p != ONE]
            if ZERO in parts:
                return ZERO
            return ONE if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
        case Or(items=items):
            parts = [p for p in (_without(item, absent, still) for item in items) if p != ZERO]
            if ONE in parts:
                return ONE
            return ZERO if not parts else parts[0] if len(parts) == 1 else Or(tuple(parts))
        case _:
            return expr
