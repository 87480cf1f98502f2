"""PatternAst -> a pattern for the `regex` package that means the same there.

The package's own Unicode tables are newer than the reference engines', and its anchors, case folding and class syntax
differ, so nothing is left to it: every one-character construct becomes the explicit set of what it matches, flags are
applied here, and anchors are written with look-around. Compile the result with `regex.VERSION1`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.errors import Unsupported
from gigatok_compile.ir.pattern import (
    Alternation,
    Anchor,
    Backreference,
    CharClass,
    Concat,
    Dot,
    Flags,
    Group,
    LineBreak,
    Literal,
    Look,
    PatternAst,
    PatternNode,
    Property,
    Quantified,
    Shorthand,
    walk_pattern,
)
from gigatok_compile.ir.tags import Range, Span
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.desugar import Desugar
from gigatok_compile.pattern.sets import character_set
from gigatok_compile.unicode.tables import property_ranges

_LEAF = 24  # ranges in the innermost sets
_LINE_BREAKS = CodeSet.of([(0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029)])


def to_regex_package(ast: PatternAst) -> str:
    """A pattern with the matches of `ast`, for `regex.compile(.., regex.VERSION1)`.

    Raises:
        Unsupported: (tier "regex") for what cannot be said there exactly.
    """
    return _Expander(ast).expand(ast.root, frozenset())


class _Expander:
    def __init__(self, ast: PatternAst) -> None:
        self.ast = ast
        self.folds = Desugar(ast)  # knows where Oniguruma folds one character to several
        captures = [n for n in walk_pattern(ast.root) if isinstance(n, Group) and n.kind == "capture"]
        # Where groups have names, Oniguruma does not count those without.
        named = ast.dialect == "oniguruma" and any(group.name for group in captures)
        captures.sort(key=lambda group: group.span.start)
        self.captures = [group for group in captures if group.name or not named]

    def unsupported(self, construct: str, span: Span) -> Unsupported:
        return Unsupported(
            f"{construct} has no exact counterpart in the regex package",
            tier="regex",
            pattern=self.ast.text,
            start=span.start,
            end=span.end,
        )

    def expand(self, node: PatternNode, flags: frozenset[str]) -> str:
        match node:
            case Literal() | Dot() | Shorthand() | Property() | CharClass():
                code_set = character_set(node, self.ast.dialect, flags)
                self.check_folds(node, code_set, flags)
                return format_set(code_set)
            case Concat():
                self.check_folds(node, None, flags)
                return "".join(self.expand_part(item, flags) for item in node.items)
            case Alternation():
                return "|".join(self.expand(option, flags) for option in node.options)
            case Flags():
                return f"(?:{self.expand(node.item, (flags | set(node.on)) - set(node.off))})"
            case Group():
                return f"{self.group_head(node)}{self.expand(node.item, flags)})"
            case Look():
                head = ("?" if node.ahead else "?<") + ("!" if node.negated else "=")
                return f"({head}{self.expand(node.item, flags)})"
            case Anchor():
                return self.anchor(node, flags)
            case LineBreak():
                return f"(?>\\r\\n|{format_set(_LINE_BREAKS)})"
            case Quantified():
                return self.quantified(node, flags)
            case Backreference():
                return self.backreference(node, flags)

    def expand_part(self, node: PatternNode, flags: frozenset[str]) -> str:
        text = self.expand(node, flags)
        return f"(?:{text})" if isinstance(node, Alternation) else text

    def check_folds(self, node: PatternNode, code_set: CodeSet | None, flags: frozenset[str]) -> None:
        """Refuse `(?i:..)` where Oniguruma would match one character for several, or the other way round."""
        try:
            if isinstance(node, Concat):
                self.folds.check_sequence_folds(node, flags)
            elif code_set is not None:
                self.folds.check_single_fold(node, code_set, flags)
        except Unsupported as error:
            raise self.unsupported("case folding of one character to several", Span(error.start, error.end)) from None

    def group_head(self, node: Group) -> str:
        if node.kind == "atomic":
            return "(?>"
        number = next((i for i, group in enumerate(self.captures) if group is node), None)
        return "(?:" if number is None else f"(?P<g{number}>"

    def backreference(self, node: Backreference, flags: frozenset[str]) -> str:
        if node.call:
            raise self.unsupported("a group call", node.span)
        if "i" in flags:
            raise self.unsupported("a case-insensitive back-reference", node.span)
        numbers = [i for i, g in enumerate(self.captures) if node.name in (g.name, str(i + 1))]
        if len(numbers) != 1:
            raise self.unsupported("a back-reference to several groups", node.span)
        return f"(?P=g{numbers[0]})"

    def quantified(self, node: Quantified, flags: frozenset[str]) -> str:
        suffix = {"greedy": "", "lazy": "?", "possessive": "+"}[node.mode]
        simple = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((node.low, node.high))
        count = simple or f"{{{node.low},{'' if node.high is None else node.high}}}"
        if simple is None and node.high != 1 and self.can_be_empty(node.item):
            # Oniguruma leaves a counted loop after an empty round, or unrolls it; the package has rules of its own.
            raise self.unsupported("a counted repeat of something that can be empty", node.span)
        item = self.expand(node.item, flags)
        one = isinstance(node.item, Literal | Dot | Shorthand | Property | CharClass | Group | Flags)
        return f"{item if one else f'(?:{item})'}{count}{suffix}"

    def can_be_empty(self, node: PatternNode, outer: tuple[PatternNode, ...] = ()) -> bool:
        match node:
            case Look() | Anchor():
                return True
            case Backreference():
                groups = [g for i, g in enumerate(self.captures) if node.name in (g.name, str(i + 1))]
                return any(group in outer or self.can_be_empty(group, (*outer, group)) for group in groups)
            case Concat():
                return all(self.can_be_empty(item, outer) for item in node.items)
            case Alternation():
                return any(self.can_be_empty(option, outer) for option in node.options)
            case Group() | Flags():
                return self.can_be_empty(node.item, outer)
            case Quantified():
                return node.low == 0 or self.can_be_empty(node.item, outer)
            case _:
                return False

    def anchor(self, node: Anchor, flags: frozenset[str]) -> str:
        """Oniguruma's `^` and `$` are those of lines, but an empty line after the last newline has no start."""
        lines = self.ast.dialect == "oniguruma"
        match node.kind:
            case "A":
                return r"\A"
            case "z":
                return r"\Z"
            case "^":
                if lines:
                    return r"(?:\A|(?<=\n)(?!\Z))"
                return r"(?:\A|(?<=\n))" if "m" in flags else r"\A"
            case "$":
                return r"(?=\n|\Z)" if lines or "m" in flags else r"\Z"
            case "Z":
                return r"(?=\n?\Z)" if lines else r"(?=\n*\Z)"
            case "b" | "B":
                word = format_set(CodeSet(property_ranges("\\w", self.ast.dialect)))
                same = node.kind == "B"
                first, second = ("=", "!") if same else ("!", "=")
                return f"(?:(?<={word})(?{first}{word})|(?<!{word})(?{second}{word}))"
            case "G":
                return r"\G"
            case _:
                raise self.unsupported(f"the anchor \\{node.kind}", node.span)


def format_set(code_set: CodeSet) -> str:
    """A set as a class; nested halves keep a test of one character short, for the package tries ranges one by one."""
    ranges = code_set.ranges
    if not ranges:
        return "(?!)"
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return _escape(ranges[0][0])
    return _nested(ranges)


def _nested(ranges: Sequence[Range]) -> str:
    if len(ranges) <= _LEAF:
        return "[" + "".join(map(_range, ranges)) + "]"
    middle = len(ranges) // 2
    halves = (ranges[:middle], ranges[middle:])
    return "[" + "".join(f"[[{_range((half[0][0], half[-1][1]))}]&&{_nested(half)}]" for half in halves) + "]"


def _range(pair: Range) -> str:
    low, high = pair
    return _escape(low) if low == high else f"{_escape(low)}-{_escape(high)}"


def _escape(code_point: int) -> str:
    char = chr(code_point)
    if char.isascii() and char.isalnum():
        return char
    if code_point < 0x100:
        return f"\\x{code_point:02X}"
    return f"\\u{code_point:04X}" if code_point < 0x10000 else f"\\U{code_point:08X}"
