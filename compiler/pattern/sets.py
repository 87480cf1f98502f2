"""The set of characters that a one-character construct matches, under the flags in force.

Case folding meets negation differently in the two engines (measured). Oniguruma folds a class once, outermost, before
the outer negation, and never folds a bare `\\p{..}`: `(?i:\\p{Lu})` does not match "a", `(?i:[\\p{Lu}])` does. The Rust
crate folds every part before it is negated or combined.
"""

from __future__ import annotations

from gigatok_compile.ir.pattern import (
    CharClass,
    ClassItem,
    ClassRange,
    Dot,
    Literal,
    Posix,
    Property,
    Shorthand,
)
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.unicode.components import named_ranges
from gigatok_compile.unicode.names import loose
from gigatok_compile.unicode.tables import property_ranges

NEWLINE = CodeSet.single(0x0A)


def character_set(node: ClassItem | Dot, dialect: str, flags: frozenset[str]) -> CodeSet:
    """Every scalar value that `node` matches. flags: the letters in force ("i", "m", "s")."""
    ignore_case = "i" in flags
    if isinstance(node, Dot):
        with_newline = node.kind == "O" or (node.kind == "." and ("m" if dialect == "oniguruma" else "s") in flags)
        return CodeSet.everything() if with_newline else NEWLINE.complement()
    if isinstance(node, Literal):
        single = CodeSet.single(node.code_point)
        return single.fold() if ignore_case else single
    if dialect == "fancy":
        return _rust_set(node, ignore_case)
    if isinstance(node, CharClass):
        inner = _plain_operands(node)
        inner = inner.fold() if ignore_case else inner
        return inner.complement() if node.negated else inner
    return _plain_set(node, dialect, in_class=False)


def _plain_set(node: ClassItem, dialect: str, in_class: bool = True) -> CodeSet:
    """The set without any folding."""
    match node:
        case Literal():
            return CodeSet.single(node.code_point)
        case ClassRange():
            return CodeSet.of([(node.low, node.high)])
        case CharClass():
            inner = _plain_operands(node)
            return inner.complement() if node.negated else inner
        case Shorthand() | Property() | Posix():
            named = _named_set(node, dialect, in_class)
            return named.complement() if node.negated else named


def _plain_operands(node: CharClass) -> CodeSet:
    """Oniguruma: the class before its own negation, nothing folded."""
    result = CodeSet.empty()
    for index, items in enumerate(node.operands):
        operand = CodeSet.of(r for item in items for r in _plain_set(item, "oniguruma").ranges)
        result = operand if index == 0 else result & operand
    return result


def _rust_set(node: ClassItem, ignore_case: bool) -> CodeSet:
    match node:
        case Literal() | ClassRange():
            plain = _plain_set(node, "fancy")
            return plain.fold() if ignore_case else plain
        case Shorthand():
            return _plain_set(node, "fancy")
        case Property() | Posix():
            named = _named_set(node, "fancy", True)
            named = named.fold() if ignore_case else named
            return named.complement() if node.negated else named
        case CharClass():
            result = CodeSet.empty()
            for index, items in enumerate(node.operands):
                operand = CodeSet.of(r for item in items for r in _rust_set(item, ignore_case).ranges)
                operand = operand.fold() if ignore_case else operand
                result = operand if index == 0 else _combine(node.operators[index - 1], result, operand)
            return result.complement() if node.negated else result


def _combine(operator: str, left: CodeSet, right: CodeSet) -> CodeSet:
    match operator:
        case "&&":
            return left & right
        case "--":
            return left - right
        case _:
            return (left | right) - (left & right)


def _named_set(node: Shorthand | Property | Posix, dialect: str, in_class: bool) -> CodeSet:
    if isinstance(node, Posix):
        return CodeSet(property_ranges(f"[:{node.name}:]", dialect))
    name = "\\" + node.letter if isinstance(node, Shorthand) else node.name
    if in_class and dialect == "oniguruma" and loose(name) in ("\\w", "word"):
        name = "[:word:]"  # inside a class Oniguruma's \w lacks B2, B3, B9, BC, BD and BE
    return CodeSet(named_ranges(name, dialect))
