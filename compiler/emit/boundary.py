"""BitProgram -> the boundary kernel's C text: one statement a step, in the program's order.

For every right stream q the kernel holds `ahead_q`, its value at the next character; for every left stream p it holds
`behind_p`, its value at the previous one. Bits are characters, so the neighbour is one shift away.
"""

from __future__ import annotations

from dataclasses import dataclass

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
)


def render_boundary(program: BitProgram) -> str:
    """Text of boundary.inc.h."""
    return (
        make_environment()
        .get_template("boundary.inc.h.j2")
        .render(
            program=program,
            classes=[
                {"name": c.name, "comment": " ".join(program.tag_names[t] for t in sorted(c.tags))}
                for c in program.classes
            ],
            right_lines=_step_lines(program, program.right, _BACK),
            symbol_lines=[
                line for i, expr in enumerate(program.symbols) for line in _code(f"s[{i}] = {_c(expr, program)};")
            ],
            left_lines=_step_lines(program, program.left, _ON),
            start_lines=_code(f"const uint64_t starts = {_c(program.starts, program)};"),
            stop_lines=[] if program.stops is None else _code(f"*stops = {_c(program.stops, program)};"),
        )
    )


def _c(expr: Expr, program: BitProgram, outer: bool = True) -> str:
    match expr:
        case Class(index=i):
            return f"c_{program.classes[i].name}"
        case Symbol(index=i):
            return f"s[{i}]"
        case Ahead(index=i):
            return f"ahead_q{i}"
        case Behind(index=i):
            return f"behind_p{i}"
        case Not(item=Or(items=())):
            return "~0ull"
        case Not(item=item):
            return f"~{_c(item, program, False)}"
        case Or(items=()):
            return "0ull"
        case And(items=items):
            text = " & ".join(_c(item, program, False) for item in items)
        case Or(items=items):
            text = " | ".join(_c(item, program, False) for item in items)
    return text if outer else f"({text})"


def _code(line: str, indent: int = 2) -> list[str]:
    return wrap_code(line, indent)


@dataclass(frozen=True, slots=True)
class _Direction:
    """How one pass is written: the letter of its streams, the name of their value at the neighbour, and the C, both of a
    stream's name and number, for moving a stream by one character (`shift`) and for the bit that the next block needs, in
    the place where it needs it (`carry`)."""

    letter: str
    neighbour: str
    shift: str
    carry: str


_BACK = _Direction("q", "ahead_q", "GT_SHIFT_BACK({0}, carry[{1}])", "{0} << 63")
_ON = _Direction("p", "behind_p", "GT_SHIFT_ON({0}, carry[{1}])", "{0} >> last")


def _step_lines(program: BitProgram, steps: tuple[Step, ...], direction: _Direction) -> list[str]:
    """Statements that define `ahead_q*` or `behind_p*`, each stream's value at the neighbouring character."""
    lines: list[str] = []
    for step in steps:
        if isinstance(step, Cycle):
            lines += _cycle(step, program, direction)
            continue
        i = step.stream
        name = f"{direction.letter}{i}"
        shifted = direction.shift.format(name, i)
        match step:
            case Plain(expr=expr):
                lines += _code(f"const uint64_t {name} = {_c(expr, program)};")
            case Run(enter=enter, stay=stay):
                lines += _code(f"const uint64_t stay_{name} = {_c(stay, program)};")
                lines += _code(f"uint64_t {name} = {_c(enter, program)};")
                lines += _run_back(name, i) if direction is _BACK else _run_on(name, shifted)
            case Link(enter=enter, stay=stay):
                lines += _code(f"uint64_t {name} = {_c(enter, program)};")
                lines += _code(f"{name} |= ({_c(stay, program)}) & {shifted};")
        lines.append(f"  const uint64_t {direction.neighbour}{i} = {shifted};")
        lines.append(f"  carry[{i}] = {direction.carry.format(name)};")
    return lines


def _run_back(name: str, stream: int) -> list[str]:
    return [
        f"  {name} |= carry[{stream}] & stay_{name};",
        f"  for (uint64_t more = {name}; more;) {{ /* one character back each time; runs are short */",
        f"    more = {name} >> 1 & stay_{name} & ~{name};",
        f"    {name} |= more;",
        "  }",
    ]


def _run_on(name: str, shifted: str) -> list[str]:
    return [
        "  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */",
        f"    const uint64_t in = {shifted};",
        f"    {name} |= ((((in & stay_{name}) + stay_{name}) ^ stay_{name}) | in) & stay_{name};",
        "  }",
    ]


def _cycle(step: Cycle, program: BitProgram, direction: _Direction) -> list[str]:
    """Repeat the steps until nothing changes; only the first is watched in a ring."""
    letter, neighbour = direction.letter, direction.neighbour
    streams = [plain.stream for plain in step.steps]
    lines = [f"  uint64_t {', '.join(f'{letter}{i} = 0' for i in streams)};"]
    shifted = {i: direction.shift.format(f"{letter}{i}", i) for i in streams}
    lines += _code(f"uint64_t {', '.join(f'{neighbour}{i} = {shifted[i]}' for i in streams)};")
    lines.append("  for (uint64_t changed = 1; changed;) {")
    watched = streams[:1] if step.ring else streams
    lines.append(f"    const uint64_t {', '.join(f'old{i} = {letter}{i}' for i in watched)};")
    for plain in step.steps:
        i = plain.stream
        lines += _code(f"{letter}{i} = {_c(plain.expr, program)};", 4)
        lines.append(f"    {neighbour}{i} = {shifted[i]};")
        if plain is step.steps[0] and step.ring:
            lines.append(f"    if (changed == 2 && {letter}{i} == old{i}) break; /* the rest follows from this one */")
    if step.ring:
        lines.append("    changed = 2;")
    else:
        lines.append(f"    changed = {' | '.join(f'({letter}{i} ^ old{i})' for i in watched)};")
    lines.append("  }")
    for i in streams:
        lines.append(f"  carry[{i}] = {direction.carry.format(f'{letter}{i}')};")
    return lines
