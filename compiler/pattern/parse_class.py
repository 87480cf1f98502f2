"""The items of a character class: which dashes are ranges, and what may stand at their ends.

Both engines agree that a dash is literal at the start, at the end, and right after a range (`[a-c-e]` is a-c, `-`, e),
and that a set such as `\\d` ends no range. Oniguruma refuses a POSIX bracket before a dash, which the Rust crate takes
literally. A dash before a nested class, `[a-[c]]`, is refused for both: Rust does, and Oniguruma loses the `a-`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gigatok_compile.ir.pattern import CharClass, ClassItem, ClassRange, Literal, Posix
from gigatok_compile.ir.tags import Span
from lark import Token, Tree

if TYPE_CHECKING:
    from gigatok_compile.pattern.parse import Builder

POSIX_NAMES = (
    *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper"),
    *("word", "xdigit"),
)


def build_class(builder: Builder, tree: Tree[Token], shift: int) -> CharClass:
    """The node of a `char_class` parse tree whose positions count from `shift`.

    Raises:
        PatternError: for a reversed range, a range that ends in a set, or an unknown POSIX name.
    """
    opening, *rest, _ = tree.children
    assert isinstance(opening, Token)
    start = shift + (opening.start_pos or 0)
    negated = opening.startswith("[^")
    atoms: list[ClassItem | Span] = []  # a Span is a dash that may be a range
    for offset, char in enumerate(opening[2 if negated else 1 :], start=start + (2 if negated else 1)):
        atoms.append(Literal(ord(char), Span(offset, offset + 1)))
    operands: list[tuple[ClassItem, ...]] = []
    operators: list[str] = []
    for child in rest:
        assert isinstance(child, Tree)
        if child.data == "class_tail":
            operands.append(resolve_ranges(builder, atoms))
            operator, *items = child.children
            operators.append(str(operator))
            atoms = [_class_atom(builder, item, shift) for item in items if isinstance(item, Tree)]
        else:
            atoms.append(_class_atom(builder, child, shift))
    operands.append(resolve_ranges(builder, atoms))
    span = Span(start, shift + tree.meta.end_pos)
    if not operators and not operands[0]:
        raise builder.error("the class is empty", span)
    return CharClass(negated, tuple(operands), tuple(operators), span)


def _class_atom(builder: Builder, tree: Tree[Token], shift: int) -> ClassItem | Span:
    span = Span(shift + tree.meta.start_pos, shift + tree.meta.end_pos)
    if tree.data == "char_class":
        return build_class(builder, tree, shift)
    token = tree.children[0]
    assert isinstance(token, Token)
    match str(tree.data):
        case "dash":
            return span
        case "shorthand" | "property":
            return builder.named_set(str(tree.data), token, span)
        case "posix":
            name = token[2:-2]
            if name.lstrip("^") not in POSIX_NAMES:
                raise builder.error(f"unknown POSIX bracket [:{name}:]", span, hint=", ".join(POSIX_NAMES))
            return Posix(name.lstrip("^"), name.startswith("^"), span)
        case kind:
            return Literal(builder.code_point(kind, token, span), span)


def resolve_ranges(builder: Builder, atoms: list[ClassItem | Span]) -> tuple[ClassItem, ...]:
    """Turn `x - y` into ranges and the other dashes into literals."""
    items: list[ClassItem] = []
    position = 0
    while position < len(atoms):
        here = _as_item(atoms[position])
        dash = atoms[position + 1] if position + 1 < len(atoms) else None
        after = _as_item(atoms[position + 2]) if isinstance(dash, Span) and position + 2 < len(atoms) else None
        position += 1
        if not isinstance(dash, Span) or after is None or isinstance(here, CharClass):
            items.append(here)
        elif isinstance(here, Literal) and isinstance(after, Literal):
            span = Span(here.span.start, after.span.end)
            if here.code_point > after.code_point:
                raise builder.error("the range in the class is reversed", span)
            items.append(ClassRange(here.code_point, after.code_point, span))
            position += 2
        elif isinstance(here, Posix) and builder.dialect == "fancy":
            items.append(here)
        else:
            raise builder.error("a set cannot be an end of a range", Span(here.span.start, after.span.end))
    return tuple(items)


def _as_item(atom: ClassItem | Span) -> ClassItem:
    return Literal(ord("-"), atom) if isinstance(atom, Span) else atom
