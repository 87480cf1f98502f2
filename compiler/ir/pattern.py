"""PatternAst: a regex as written, faithful to the text, and printable back to an equivalent pattern.

Nothing is interpreted here: flags are groups, case is not folded, `{n,m}+` is stored as its dialect reads it. The
printer writes one spelling of everything, so `parse(str(ast))` equals `ast` up to spans (tested).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gigatok_compile.ir.tags import Span

_META = frozenset("\\^$.|?*+()[]{}")
_CLASS_META = frozenset("\\^-[]&~:")
_CONTROL = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\v": "\\v"}


@dataclass(frozen=True, slots=True)
class Literal:
    """One character that stands for itself, however it was escaped."""

    code_point: int
    span: Span


@dataclass(frozen=True, slots=True)
class Dot:
    """`.`, whose newline depends on the flags; `\\N`, never a newline; `\\O`, any character."""

    kind: str  # ".", "N" or "O"
    span: Span


@dataclass(frozen=True, slots=True)
class Shorthand:
    """`\\s`, `\\d`, `\\w`, `\\h` (a hexadecimal digit) and their upper-case negations."""

    letter: str
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Property:
    """`\\p{name}`; `negated` after both `\\P` and `^` are counted."""

    name: str
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Posix:
    """`[:name:]` inside a class."""

    name: str
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class ClassRange:
    low: int
    high: int
    span: Span


@dataclass(frozen=True, slots=True)
class CharClass:
    """`[..]`. operands: unions of items, joined from left to right by `operators` ("&&", "--" or "~~")."""

    negated: bool
    operands: tuple[tuple[ClassItem, ...], ...]
    operators: tuple[str, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Group:
    """kind: "plain" `(?:`, "capture" `(`, "atomic" `(?>`. name: of a named capture."""

    kind: str
    name: str | None
    item: PatternNode
    span: Span


@dataclass(frozen=True, slots=True)
class Flags:
    """`(?on-off:item)`; an inline `(?i)` is one of these over what it governs in its dialect."""

    on: str
    off: str
    item: PatternNode
    span: Span


@dataclass(frozen=True, slots=True)
class Look:
    ahead: bool
    negated: bool
    item: PatternNode
    span: Span


@dataclass(frozen=True, slots=True)
class Anchor:
    """kind: one of `^ $ A z Z b B G K` (the letters with a backslash)."""

    kind: str
    span: Span


@dataclass(frozen=True, slots=True)
class Backreference:
    """`\\1`, `\\k<name>`; `call` is True for `\\g<name>`, which runs the group's pattern again."""

    name: str
    call: bool
    span: Span


@dataclass(frozen=True, slots=True)
class LineBreak:
    """`\\R`: CR LF as one, or one vertical space character."""

    span: Span


@dataclass(frozen=True, slots=True)
class Quantified:
    """mode: "greedy", "lazy" or "possessive", as the dialect reads the suffix; high None: no limit."""

    item: PatternNode
    low: int
    high: int | None
    mode: str
    span: Span


@dataclass(frozen=True, slots=True)
class Concat:
    items: tuple[PatternNode, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Alternation:
    options: tuple[PatternNode, ...]
    span: Span


ClassItem = Literal | ClassRange | Shorthand | Property | Posix | CharClass
PatternNode = (
    Literal
    | Dot
    | Shorthand
    | Property
    | CharClass
    | Group
    | Flags
    | Look
    | Anchor
    | Backreference
    | LineBreak
    | Quantified
    | Concat
    | Alternation
)


@dataclass(frozen=True, slots=True)
class PatternAst:
    """text: as given. dialect: "oniguruma" or "fancy". `str()` prints an equivalent pattern of the same dialect."""

    text: str
    dialect: str
    root: PatternNode

    def __str__(self) -> str:
        return format_pattern(self.root, self.dialect)


def format_pattern(node: PatternNode, dialect: str) -> str:
    """The node as a pattern; what needs a group to stay whole gets `(?:..)`."""
    match node:
        case Literal():
            return _format_literal(node.code_point, _META)
        case Dot():
            return "." if node.kind == "." else "\\" + node.kind
        case Shorthand() | Property() | Posix() | ClassRange() | CharClass():
            return format_item(node)
        case Group():
            named = f"(?<{node.name}>"
            head = {"plain": "(?:", "atomic": "(?>", "capture": named if node.name else "("}[node.kind]
            return f"{head}{format_pattern(node.item, dialect)})"
        case Flags():
            off = f"-{node.off}" if node.off else ""
            return f"(?{node.on}{off}:{format_pattern(node.item, dialect)})"
        case Look():
            head = ("?" if node.ahead else "?<") + ("!" if node.negated else "=")
            return f"({head}{format_pattern(node.item, dialect)})"
        case Anchor():
            return node.kind if node.kind in "^$" else "\\" + node.kind
        case Backreference():
            return f"\\{'g' if node.call else 'k'}<{node.name}>"
        case LineBreak():
            return "\\R"
        case Quantified():
            return _format_quantified(node, dialect)
        case Concat():
            return "".join(format_pattern(item, dialect) for item in node.items)
        case Alternation():
            return "|".join(format_pattern(option, dialect) for option in node.options)


def format_item(node: ClassItem) -> str:
    match node:
        case Literal():
            return _format_literal(node.code_point, _CLASS_META)
        case ClassRange():
            return f"{_format_literal(node.low, _CLASS_META)}-{_format_literal(node.high, _CLASS_META)}"
        case Shorthand():
            return "\\" + (node.letter.upper() if node.negated else node.letter)
        case Property():
            return f"\\{'P' if node.negated else 'p'}{{{node.name}}}"
        case Posix():
            return f"[:{'^' if node.negated else ''}{node.name}:]"
        case CharClass():
            parts = ["".join(map(format_item, items)) for items in node.operands]
            body = parts[0] + "".join(op + part for op, part in zip(node.operators, parts[1:], strict=True))
            return f"[{'^' if node.negated else ''}{body}]"


def _format_literal(code_point: int, special: frozenset[str]) -> str:
    char = chr(code_point)
    if char in _CONTROL:
        return _CONTROL[char]
    if char in special:
        return "\\" + char
    return char if char.isprintable() else f"\\x{{{code_point:X}}}"


def _format_quantified(node: Quantified, dialect: str) -> str:
    suffix = {"greedy": "", "lazy": "?", "possessive": "+"}[node.mode]
    simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high))
    if simple is None:
        # Oniguruma reads {n}? as (?:{n})?, so a lazy exact count is spelled with both bounds.
        exact = node.low == node.high and not (dialect == "oniguruma" and node.mode == "lazy")
        high = "" if node.high is None else str(node.high)
        simple = f"{{{node.low}}}" if exact else f"{{{node.low},{high}}}"
    inner = format_pattern(node.item, dialect)
    if isinstance(node.item, Quantified) and node.item.mode != "possessive":
        # A repeated repeat, Oniguruma only: written with braces, after which a sign starts a new quantifier.
        low, limit = node.item.low, "" if node.item.high is None else str(node.item.high)
        bounds = f"{{{low}}}" if limit == str(low) and node.item.mode == "greedy" else f"{{{low},{limit}}}"
        inner = f"{format_pattern(node.item.item, dialect)}{bounds}{'?' if node.item.mode == 'lazy' else ''}"
    return f"{inner}{simple}{suffix}"


def children(node: PatternNode) -> tuple[PatternNode, ...]:
    match node:
        case Group() | Flags() | Look() | Quantified():
            return (node.item,)
        case Concat():
            return node.items
        case Alternation():
            return node.options
        case _:
            return ()


def walk_pattern(node: PatternNode) -> Iterator[PatternNode]:
    """`node` and everything under it outside classes, parents first."""
    yield node
    for child in children(node):
        yield from walk_pattern(child)
