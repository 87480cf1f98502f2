"""BitProgram -> the boundary kernel's C text: one statement a step, in the program's order.

For every right stream q the kernel holds `ahead_q`, its value at the next character; for every left stream p it holds
`behind_p`, its value at the previous one. In the wide copy a character is several bytes: the value of its first byte is
carried over the others (at most three), so that the neighbour is again one byte away.
"""

from __future__ import annotations

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
            right_lines=_right_lines(program),
            symbol_lines=[
                line for i, expr in enumerate(program.symbols) for line in _code(f"s[{i}] = {_c(expr, program)};")
            ],
            left_lines=_left_lines(program),
            start_lines=_code(f"const uint64_t starts = {_c(program.starts, program)};"),
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


def _right_lines(program: BitProgram) -> list[str]:
    """Statements that define `ahead_q*`; each stream is shifted towards the start of the text, the carry comes in at `top`."""
    lines: list[str] = []
    for step in program.right:
        match step:
            case Plain(stream=i, expr=expr):
                lines += _code(f"uint64_t q{i} = {_c(expr, program)};")
                lines.append(f"  if (wide) GT_CARRY_BACK(q{i}, continuation, carry[{i}], top);")
            case Run(stream=i, enter=enter, stay=stay):
                lines += _code(f"uint64_t q{i} = {_c(enter, program)}, stay_q{i} = {_c(stay, program)};")
                lines.append(f"  if (wide) q{i} &= ~continuation, stay_q{i} |= continuation;")
                lines.append(f"  q{i} |= carry[{i}] << top & stay_q{i};")
                lines.append(
                    f"  for (uint64_t more = q{i}; more;) {{ /* one character back each time; runs are short */"
                )
                lines.append(f"    more = q{i} >> 1 & stay_q{i} & ~q{i};")
                lines.append(f"    q{i} |= more;")
                lines.append("  }")
            case Link(stream=i, enter=enter, stay=stay):
                lines += _code(f"uint64_t q{i} = {_c(enter, program)};")
                lines.append(f"  if (wide) GT_CARRY_BACK(q{i}, continuation, carry[{i}], top);")
                lines += _code(f"q{i} |= ({_c(stay, program)}) & GT_SHIFT_BACK(q{i}, carry[{i}], top);")
                lines.append(f"  if (wide) GT_CARRY_BACK(q{i}, continuation, carry[{i}], top);")
            case Cycle():
                lines += _cycle(step, program, "q", "ahead_q", "GT_SHIFT_BACK({0}, carry[{1}], top)")
                continue
        lines.append(f"  const uint64_t ahead_q{i} = GT_SHIFT_BACK(q{i}, carry[{i}], top);")
        lines.append(f"  carry[{i}] = q{i} & 1;")
    return lines


def _left_lines(program: BitProgram) -> list[str]:
    """Statements that define `behind_p*`; each stream is shifted towards the end of the text, the carry comes in at bit 0."""
    lines: list[str] = []
    for step in program.left:
        match step:
            case Plain(stream=i, expr=expr):
                lines += _code(f"uint64_t p{i} = {_c(expr, program)};")
                lines.append(f"  if (wide) GT_CARRY_ON(p{i}, continuation, carry[{i}]);")
            case Run(stream=i, enter=enter, stay=stay):
                lines += _code(f"uint64_t p{i} = {_c(enter, program)}, stay_p{i} = {_c(stay, program)};")
                lines.append(f"  if (wide) p{i} &= ~continuation, stay_p{i} |= continuation;")
                lines.append("  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */")
                lines.append(f"    const uint64_t in = GT_SHIFT_ON(p{i}, carry[{i}]);")
                lines.append(f"    p{i} |= ((((in & stay_p{i}) + stay_p{i}) ^ stay_p{i}) | in) & stay_p{i};")
                lines.append("  }")
            case Link(stream=i, enter=enter, stay=stay):
                lines += _code(f"uint64_t p{i} = {_c(enter, program)};")
                lines.append(f"  if (wide) GT_CARRY_ON(p{i}, continuation, carry[{i}]);")
                lines += _code(f"p{i} |= ({_c(stay, program)}) & GT_SHIFT_ON(p{i}, carry[{i}]);")
                lines.append(f"  if (wide) GT_CARRY_ON(p{i}, continuation, carry[{i}]);")
            case Cycle():
                lines += _cycle(step, program, "p", "behind_p", "GT_SHIFT_ON({0}, carry[{1}])")
                continue
        lines.append(f"  const uint64_t behind_p{i} = GT_SHIFT_ON(p{i}, carry[{i}]);")
        lines.append(f"  carry[{i}] = p{i} >> 63;")
    return lines


def _cycle(step: Cycle, program: BitProgram, letter: str, neighbour: str, shift: str) -> list[str]:
    """Repeat the steps until nothing changes; only the first is watched in a ring."""
    streams = [plain.stream for plain in step.steps]
    lines = [f"  uint64_t {', '.join(f'{letter}{i} = 0' for i in streams)};"]
    shifted = {i: shift.format(f"{letter}{i}", i) for i in streams}
    lines += _code(f"uint64_t {', '.join(f'{neighbour}{i} = {shifted[i]}' for i in streams)};")
    lines.append("  for (uint64_t changed = 1; changed;) {")
    watched = streams[:1] if step.ring else streams
    lines.append(f"    const uint64_t {', '.join(f'old{i} = {letter}{i}' for i in watched)};")
    for plain in step.steps:
        i = plain.stream
        lines += _code(f"{letter}{i} = {_c(plain.expr, program)};", 4)
        carry = f"GT_CARRY_ON({letter}{i}, continuation, carry[{i}])"
        if letter == "q":
            carry = f"GT_CARRY_BACK({letter}{i}, continuation, carry[{i}], top)"
        lines.append(f"    if (wide) {carry};")
        lines.append(f"    {neighbour}{i} = {shifted[i]};")
        if plain is step.steps[0] and step.ring:
            lines.append(f"    if (changed == 2 && {letter}{i} == old{i}) break; /* the rest follows from this one */")
    if step.ring:
        lines.append("    changed = 2;")
    else:
        lines.append(f"    changed = {' | '.join(f'({letter}{i} ^ old{i})' for i in watched)};")
    lines.append("  }")
    for i in streams:
        lines.append(f"  carry[{i}] = {letter}{i} {'& 1' if letter == 'q' else '>> 63'};")
    return lines
