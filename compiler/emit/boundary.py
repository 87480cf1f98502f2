"""BitProgram -> the boundary kernel's C text: one statement a step, in the program's order.

For every right stream q the kernel holds `ahead_q`, its value at the next character; for every left stream p it holds
`behind_p`, its value at the previous one. Bits are characters, so the neighbour is one shift away.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from gigatok_compile.emit.environment import make_environment, wrap_code
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
    step_exprs,
    walk_expr,
)


def render_boundary(program: BitProgram) -> str:
    """Text of boundary.inc.h."""
    return (
        make_environment()
        .get_template("boundary.inc.h.j2")
        .render(
            program=program,
            name_lines=_name_lines(program),
            right_lines=_step_lines(program, program.right, _BACK, program.symbols),
            symbol_lines=[
                line
                for i, expr in enumerate(program.symbols)
                if not isinstance(expr, Class)
                for line in _code(f"{_c(Symbol(i), program)} = {_c(expr, program)};")
            ],
            left_lines=_left_lines(program, program.left, program.starts, program.stops),
        )
    )


def _name_lines(program: BitProgram) -> list[str]:
    """Enumerators for the places of classes, with their tags, and of the other symbols."""
    lines: list[str] = []
    for number, c in enumerate(program.classes):
        line, tags = f"  c_{c.name} = {number},", " ".join(program.tag_names[tag] for tag in sorted(c.tags))
        if len(line) + len(tags) <= 110:
            lines.append(f"{line} /* {tags} */")
        else:
            lines += [line, *textwrap.wrap(f"{tags} */", 110, initial_indent="    /* ", subsequent_indent="       ")]
    for place, expr in zip(symbol_places(program), program.symbols, strict=True):
        if not isinstance(expr, Class):
            lines.append(f"  joint_{place} = {place},")
    return lines or ["  c_none"]


def _left_lines(program: BitProgram, left: tuple[Step, ...], starts: Expr, stops: Expr | None) -> list[str]:
    lines = _step_lines(program, left, _ON, [expr for expr in (starts, stops) if expr is not None])
    if stops is not None:
        lines += _code(f"*stops = {_c(stops, program)};")
    return [*lines, *_code(f"const GT_WORD starts = {_c(starts, program)};"), "  return starts;"]


def symbol_places(program: BitProgram) -> list[int]:
    """Where each symbol lies in `s`: classes first, in eights; a symbol that is a class is that class."""
    following = count(8 * code_bytes(program))
    return [expr.index if isinstance(expr, Class) else next(following) for expr in program.symbols]


def code_bytes(program: BitProgram) -> int:
    """Bytes of a tag's code, which has a bit a class."""
    return max(1, (len(program.classes) + 7) // 8)


def _c(expr: Expr, program: BitProgram, outer: bool = True) -> str:
    match expr:
        case Class(index=i):
            return f"s[c_{program.classes[i].name}]"
        case Symbol(index=i):
            symbol = program.symbols[i]
            return _c(symbol, program) if isinstance(symbol, Class) else f"s[joint_{symbol_places(program)[i]}]"
        case Ahead(index=i):
            return f"ahead_q{i}"
        case Behind(index=i):
            return f"behind_p{i}"
        case Not(item=Or(items=())):
            return "~GT_NOWHERE"
        case Not(item=item):
            return f"~{_c(item, program, False)}"
        case Or(items=()):
            return "GT_NOWHERE"
        case And(items=items):
            text = " & ".join(_c(item, program, False) for item in items)
        case Or(items=items):
            text = " | ".join(_c(item, program, False) for item in items)
    return text if outer else f"({text})"


def _code(line: str, indent: int = 2) -> list[str]:
    return wrap_code(line, indent)


@dataclass(frozen=True, slots=True)
class _Direction:
    """How one pass is written: the letter of its streams, the name of their value at the neighbour, C (of a stream's name and
    number) for moving a stream by one character, and the array that holds each stream of the block next to this one."""

    letter: str
    neighbour: str
    shift: str
    edge: str


_BACK = _Direction("q", "ahead_q", "GT_V(gt_back)({0}, after[{1}])", "after")
_ON = _Direction("p", "behind_p", "GT_V(gt_on)({0}, before[{1}])", "before")


def _step_lines(
    program: BitProgram, steps: tuple[Step, ...], direction: _Direction, results: Sequence[Expr]
) -> list[str]:
    """Statements that define `ahead_q*` or `behind_p*`, each stream's value at the neighbouring character, where steps or
    `results` use it."""
    lines: list[str] = []
    used = {node for expr in [*results, *step_exprs(steps)] for node in walk_expr(expr)}
    neighbour = Ahead if direction is _BACK else Behind
    for step in steps:
        if isinstance(step, Cycle):
            lines += _cycle(step, program, direction)
            continue
        lines += _stream_lines(step, program, direction)
        name, shifted = _stream(step.stream, direction)
        if neighbour(step.stream) in used:
            lines.append(f"  const GT_WORD {direction.neighbour}{step.stream} = {shifted};")
        lines.append(f"  {direction.edge}[{step.stream}] = {name};")
    return lines


def _stream(stream: int, direction: _Direction) -> tuple[str, str]:
    """(its name, C for its value at the neighbouring character)."""
    name = f"{direction.letter}{stream}"
    return name, direction.shift.format(name, stream)


def _stream_lines(
    step: Plain | Run | Link, program: BitProgram, direction: _Direction, declare: bool = True
) -> list[str]:
    """Statements that give a stream its value; declared elsewhere in a cycle."""
    name, shifted = _stream(step.stream, direction)
    kind = "GT_WORD " if declare else ""
    pad = f" | pad[{step.stream}]" if direction is _BACK else ""
    match step:
        case Plain(expr=expr):
            text = _c(expr, program, outer=not pad or isinstance(expr, Or))
            return _code(f"{'const ' if declare else ''}{kind}{name} = {text}{pad};")
        case Run(enter=enter, stay=stay):
            lines = _code(f"const GT_WORD stay_{name} = {_c(stay, program)};")
            lines += _code(f"{kind}{name} = {_c(enter, program, outer=not pad or isinstance(enter, Or))}{pad};")
            return lines + (_run_back(name, shifted) if direction is _BACK else _run_on(name, shifted))
        case Link(enter=enter, stay=stay):
            lines = _code(f"{kind}{name} = {_c(enter, program, outer=not pad or isinstance(enter, Or))}{pad};")
            return lines + _code(f"{name} |= ({_c(stay, program)}) & {shifted};")


def _run_back(name: str, shifted: str) -> list[str]:
    step = f"{name} |= {shifted} & stay_{name};"
    return [
        f"  {step} /* runs are short: two characters back without a branch */",
        f"  {step}",
        f"  for (GT_WORD more; GT_V(gt_any)(more = {shifted} & stay_{name} & ~{name});) {name} |= more;",
    ]


def _run_on(name: str, shifted: str) -> list[str]:
    return [f"  {name} |= GT_V(gt_run_on)({shifted}, stay_{name});"]


def _cycle(step: Cycle, program: BitProgram, direction: _Direction) -> list[str]:
    """One round, and more where a stream that is used before it is computed has been used and then changed.

    What comes after a stream in the round uses its new value: only before it, under the guard, is the old one used.
    """
    neighbour = direction.neighbour
    streams = [part.stream for part in step.steps]
    names = {i: _stream(i, direction) for i in streams}
    lines = _code(f"GT_WORD {', '.join(names[i][0] for i in streams)};")
    first = [i for i in streams if i not in step.later]
    if first:
        lines += _code(f"GT_WORD {', '.join(f'{neighbour}{i}' for i in first)};")
    for i in step.later:
        lines.append(f"  GT_WORD {neighbour}{i} = {direction.shift.format('GT_NOWHERE', i)};")
    lines += _code(f"const GT_WORD again{streams[0]} = {_c(step.guard, program)};")
    lines.append("  for (;;) {")
    for part in step.steps:
        lines += ["  " + line for line in _stream_lines(part, program, direction, declare=False)]
        if part.stream in step.later:
            lines.append(f"    const GT_WORD old{part.stream} = {neighbour}{part.stream};")
        lines.append(f"    {neighbour}{part.stream} = {names[part.stream][1]};")
    changed = " | ".join(f"(old{i} ^ {neighbour}{i})" for i in step.later)
    lines += _code(f"const GT_WORD changed = {changed};", 4)
    lines.append(f"    if (!GT_V(gt_any)(again{streams[0]}) || !GT_V(gt_any)(changed)) break;")
    lines.append("  }")
    for i in streams:
        lines.append(f"  {direction.edge}[{i}] = {names[i][0]};")
    return lines
