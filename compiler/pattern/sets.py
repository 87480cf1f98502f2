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
from gigatok_compile.unicode.tables import property_ranges

NEWLINE = CodeSet.single(0x0A)

_ASCII_POSIX: dict[str, str] = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\x00\x7f",
    "blank": "\t\t  ",
    "cntrl": "\x00\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": "09AZaz__",
    "xdigit": "09AFaf",
}


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
    return _plain_set(node, dialect)


def _plain_set(node: ClassItem, dialect: str) -> CodeSet:
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
            named = _named_set(node, dialect)
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
            named = _named_set(node, "fancy")
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


def _named_set(node: Shorthand | Property | Posix, dialect: str) -> CodeSet:
    if isinstance(node, Shorthand):
        return CodeSet(property_ranges("\\" + node.letter, dialect))
    if isinstance(node, Posix) and dialect == "fancy":
        ends = list(map(ord, _ASCII_POSIX[node.name]))
        return CodeSet.of(zip(ends[::2], ends[1::2], strict=True))
    return CodeSet(property_ranges(node.name, dialect))
