"""PatternAst -> a tree over numbered character sets, in which only the seven nodes of `ir.tags` are left.

A possessive or atomic repeat of one set X says "X may not follow unless the count is exhausted", which one character
of look-ahead expresses exactly:

    X*+ = X*(?!X)    X++ = X+(?!X)    X?+ = X|(?!X)    X{n,m}+ = X{m}|X{n,m-1}(?!X)

Look-ahead at one character, `$`, `\\z` and most of `\\b` become `Next`, other look-ahead `Look`. What is not regular, or looks
back out of the match, is `Unsupported`, with the span of the construct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

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
    PatternAst,
    PatternNode,
    Property,
    Quantified,
    Shorthand,
    walk_pattern,
)
from gigatok_compile.ir.pattern import Look as LookAround
from gigatok_compile.ir.tags import Alt, Chars, Look, Next, Node, Repeat, Seq, Span
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.sets import NEWLINE, character_set
from gigatok_compile.unicode.tables import expansions, fold_orbit, property_ranges

_ANCHOR_NAMES = {
    "^": "a start-of-line anchor",
    "A": "a start-of-text anchor",
    "Z": "the anchor \\Z (the end, or a newline before it) looks two characters ahead and",
    "b": "a word boundary among other look-aheads",
    "B": "a word boundary among other look-aheads",
    "G": "the anchor \\G",
    "K": "\\K",
}

MAX_BOUND = 64
"""Characters in a group that a back-reference may refer to; for groups within reach of each other, the product."""

LINE_BREAKS = CodeSet.of([(0x0A, 0x0D), (0x85, 0x85), (0x2028, 0x2029)])


class Desugar:
    """Lowers one pattern. `sets[n]` is the character set that `Chars` and `Next` call n in their `tags`."""

    def __init__(self, ast: PatternAst) -> None:
        self.ast = ast
        self.sets: list[CodeSet] = []
        self._numbers: dict[CodeSet, int] = {}
        self.before: CodeSet | None = None  # the last character may be any of these; None: it may be outside the match
        self.bound: dict[str, CodeSet] = {}  # capture groups whose character is known
        self.bound_ways = 1  # choices of these characters
        self.group_names = group_names(ast)

    def run(self) -> Node:
        """The whole pattern.

        Raises:
            Unsupported: for a construct outside the automaton tier.
        """
        return self.lower(self.ast.root, frozenset())

    def unsupported(self, construct: str, span: Span) -> Unsupported:
        return Unsupported(
            f"{construct} is not compiled to an automaton",
            tier="automaton",
            pattern=self.ast.text,
            start=span.start,
            end=span.end,
        )

    def number(self, code_set: CodeSet) -> int:
        if code_set not in self._numbers:
            self._numbers[code_set] = len(self.sets)
            self.sets.append(code_set)
        return self._numbers[code_set]

    def chars(self, code_set: CodeSet, span: Span) -> Chars:
        return Chars(frozenset({self.number(code_set)}), span)

    def next(self, code_set: CodeSet, at_end: bool, span: Span) -> Next:
        return Next(frozenset({self.number(code_set)}), at_end, span)

    def set_of(self, node: Chars | Next) -> CodeSet:
        (number,) = node.tags
        return self.sets[number]

    def lower(self, node: PatternNode, flags: frozenset[str]) -> Node:
        match node:
            case Literal() | Dot() | Shorthand() | Property() | CharClass():
                code_set = character_set(node, self.ast.dialect, flags)
                self.check_single_fold(node, code_set, flags)
                self.before = code_set
                return self.chars(code_set, node.span)
            case Flags():
                item = self.lower(node.item, (flags | set(node.on)) - set(node.off))
                return replace(item, span=node.span)
            case Concat():
                self.check_sequence_folds(node, flags)
                return self.concatenation(node, flags)
            case Alternation():
                entry, options, after = self.before, [], []
                for option in node.options:
                    self.before = entry
                    options.append(self.lower(option, flags))
                    after.append(self.before)
                self.before = either(after)
                return self.choice(options, node.span)
            case Group():
                item = self.lower(node.item, flags)
                item = self.make_atomic(item, node.span) if node.kind == "atomic" else item
                return replace(item, span=node.span)
            case Anchor(kind="b" | "B"):
                return self.word_boundary(node)
            case LookAround() | Anchor():
                return self.look(node, flags)
            case LineBreak():
                self.before = LINE_BREAKS
                return self.line_break(node.span)
            case Quantified():
                return self.repeat(node, flags)
            case Backreference() if node.name in self.bound and not node.call and "i" not in flags:
                self.before = self.bound[node.name]
                return self.chars(self.before, node.span)
            case Backreference():
                raise self.unsupported("a group call" if node.call else "a back-reference", node.span)

    def concatenation(self, node: Concat, flags: frozenset[str]) -> Node:
        """The items in order. `([!-/])\\1*` becomes a choice between `!!*`, `""*` and so on: with one character out of few
        in the group, a back-reference is regular."""
        for number, item in enumerate(node.items):
            name = self.group_names.get(item.span, "") if isinstance(item, Group) and item.kind == "capture" else ""
            if not name or name in self.bound or not any(refers_to(other, name) for other in node.items[number + 1 :]):
                continue
            if any(refers_to(other, name) for other in node.items[:number]):  # there the group is not set yet
                continue
            code_set = self.single_set(item, flags)
            if code_set is None or len(code_set) * self.bound_ways > MAX_BOUND:
                continue
            entry, options, after, ways = self.before, [], [], self.bound_ways
            self.bound_ways *= len(code_set)
            for code_point in code_set:
                self.before, self.bound[name] = entry, CodeSet.single(code_point)
                options.append(self.concatenation(node, flags))
                after.append(self.before)
                del self.bound[name]
            self.bound_ways = ways
            self.before = either(after)
            return Alt(tuple(options), node.span)
        items = []
        for item in node.items:
            known = self.bound.get(self.group_names.get(item.span, "")) if isinstance(item, Group) else None
            if known is not None:
                self.before = known
            items.append(self.lower(item, flags) if known is None else self.chars(known, item.span))
        return sequence(items, node.span)

    def single_set(self, node: PatternNode, flags: frozenset[str]) -> CodeSet | None:
        """The set of `node` if it is one character in any number of plain groups."""
        while isinstance(node, Group):
            node = node.item
        if "i" in flags or not isinstance(node, Literal | Shorthand | Property | CharClass):
            return None
        return character_set(node, self.ast.dialect, flags)

    def choice(self, options: list[Node], span: Span) -> Node:
        """An ordered choice; between single characters the order does not matter, so they become one set."""
        if len(options) > 1 and all(isinstance(option, Chars) for option in options):
            ranges = [r for option in options if isinstance(option, Chars) for r in self.set_of(option).ranges]
            return self.chars(CodeSet.of(ranges), span)
        return Alt(tuple(options), span)

    # Repeats

    def repeat(self, node: Quantified, flags: frozenset[str]) -> Node:
        first = entry = self.before
        while True:  # what comes before the item may be the item itself
            item = self.lower(node.item, flags)
            again = either([entry, self.before])
            if node.high == 1 or again == entry:
                break
            self.before = entry = again
        if node.low == 0:
            self.before = either([first, self.before])
        if node.high == 0:
            return Seq((), node.span)
        if node.high != 1 and matches_empty(item):
            raise self.unsupported("a repeat of something that can be empty", node.span)
        if node.mode == "possessive":
            return self.possessive(item, node.low, node.high, node.span)
        if (node.low, node.high) == (1, 1):
            return item
        return Repeat(item, node.low, node.high, node.mode == "greedy", node.span)

    def possessive(self, item: Node, low: int, high: int | None, span: Span) -> Node:
        if not isinstance(item, Chars):
            raise self.unsupported("a possessive repeat of more than one character", span)
        stop = self.next(self.set_of(item).complement(), True, span)
        if high is None:
            return Seq((Repeat(item, low, None, True, span), stop), span)
        full = repeat_exactly(item, high, span)
        if low == high:
            return full
        short = sequence([] if high == 1 else [Repeat(item, low, high - 1, True, span)], span)
        return Alt((full, sequence([short, stop], span)), span)

    def make_atomic(self, item: Node, span: Span) -> Node:
        """`(?>item)` where its first match is decided by one character of look-ahead."""
        match item:
            case Chars() | Next():
                return item
            case Seq() if all(isinstance(part, Chars | Next) for part in item.items):
                return item
            case Seq() if item.items and all(isinstance(part, Chars | Next) for part in item.items[:-1]):
                return sequence([*item.items[:-1], self.make_atomic(item.items[-1], span)], span)
            case Repeat(item=Chars() as inner) if item.greedy:
                return self.possessive(inner, item.low, item.high, span)
            case Repeat(item=Chars() as inner):
                return repeat_exactly(inner, item.low, span)  # a lazy atomic repeat never takes more than it must
            case _:
                raise self.unsupported("an atomic group of this form", span)

    def line_break(self, span: Span) -> Node:
        """`\\R` is `(?>\\r\\n|[\\n-\\r\\x85\\u2028\\u2029])`: a CR stands alone only where no LF follows."""
        carriage_return = self.chars(CodeSet.single(0x0D), span)
        others = LINE_BREAKS - CodeSet.single(0x0D)
        return Alt(
            (
                Seq((carriage_return, self.chars(NEWLINE, span)), span),
                Seq((carriage_return, self.next(NEWLINE.complement(), True, span)), span),
                self.chars(others, span),
            ),
            span,
        )

    # Look-ahead

    def look(self, node: PatternNode, flags: frozenset[str]) -> Node:
        """A test of the next character where that is enough, else of what follows."""
        try:
            code_set, at_end = self.next_test(node, flags)
        except Unsupported:
            if not (isinstance(node, LookAround) and node.ahead):
                raise
            before = self.before
            item = self.lower(node.item, flags)
            self.before = before
            return Look(item, node.negated, node.span)
        return self.next(code_set, at_end, node.span)

    def word_boundary(self, node: Anchor) -> Node:
        """`\\b` and `\\B` where it is known whether the character before is a word character."""
        word = CodeSet.of(property_ranges("\\w", self.ast.dialect))
        if self.before is None:
            raise self.unsupported("a word boundary where a match begins", node.span)
        if self.before & word and self.before - word:
            raise self.unsupported("a word boundary after what may or may not be a word character", node.span)
        word_next = bool(self.before & word) != (node.kind == "b")
        return self.next(word if word_next else word.complement(), not word_next, node.span)

    def next_test(self, node: PatternNode, flags: frozenset[str]) -> tuple[CodeSet, bool]:
        """(set, at_end) such that `node`, tested without consuming, means "next in set, or at the end if at_end"."""
        match node:
            case Literal() | Dot() | Shorthand() | Property() | CharClass():
                code_set = character_set(node, self.ast.dialect, flags)
                self.check_single_fold(node, code_set, flags)
                return code_set, False
            case Flags():
                return self.next_test(node.item, (flags | set(node.on)) - set(node.off))
            case Group():
                return self.next_test(node.item, flags)
            case Alternation():
                tests = [self.next_test(option, flags) for option in node.options]
                return CodeSet.of(r for code_set, _ in tests for r in code_set.ranges), any(end for _, end in tests)
            case Quantified(low=1, high=high) if high is None or high == 1 or not looks(node.item):
                return self.next_test(node.item, flags)
            case LookAround(ahead=True):
                code_set, at_end = self.next_test(node.item, flags)
                return (code_set.complement(), not at_end) if node.negated else (code_set, at_end)
            case LookAround():
                raise self.unsupported("look-behind", node.span)
            case Anchor(kind="z"):
                return CodeSet.empty(), True
            case Anchor(kind="$"):
                line_end = self.ast.dialect == "oniguruma" or "m" in flags
                return NEWLINE if line_end else CodeSet.empty(), True
            case Anchor():
                raise self.unsupported(_ANCHOR_NAMES[node.kind], node.span)
            case Backreference():
                raise self.unsupported("a back-reference", node.span)
            case _:
                raise self.unsupported("look-ahead at more than one character", node.span)

    # Case folding to several characters, which only Oniguruma does

    def check_single_fold(self, node: PatternNode, code_set: CodeSet, flags: frozenset[str]) -> None:
        if self.ast.dialect != "oniguruma" or "i" not in flags or isinstance(node, Dot | Shorthand | Property):
            return
        if isinstance(node, CharClass) and node.negated:
            return
        if any(code_point in code_set for code_point in expansions()):
            raise self.unsupported("case-insensitive matching of a character that folds to several", node.span)

    def check_sequence_folds(self, node: Concat, flags: frozenset[str]) -> None:
        if self.ast.dialect != "oniguruma" or "i" not in flags:
            return
        run: list[Literal] = []
        for item in (*node.items, None):
            literals = literal_run(item) if item is not None else None
            if literals is not None:
                run += literals
                continue
            for start in range(len(run)):
                for folded in expansions().values():
                    window = run[start : start + len(folded)]
                    if len(window) == len(folded) and all(
                        literal.code_point in fold_orbit(wanted) for literal, wanted in zip(window, folded, strict=True)
                    ):
                        span = Span(window[0].span.start, window[-1].span.end)
                        raise self.unsupported("case-insensitive matching of letters that one character folds to", span)
            run = []


def group_names(ast: PatternAst) -> dict[Span, str]:
    """What back-references call each capture group, by its span; without groups that share a name."""
    captures = [n for n in walk_pattern(ast.root) if isinstance(n, Group) and n.kind == "capture"]
    captures.sort(key=lambda group: group.span.start)
    # Where groups have names, Oniguruma does not count those without.
    if ast.dialect == "oniguruma" and any(group.name for group in captures):
        captures = [group for group in captures if group.name]
    counts = Counter(group.name for group in captures)
    return {
        group.span: group.name or str(number)
        for number, group in enumerate(captures, 1)
        if not group.name or counts[group.name] == 1
    }


def refers_to(node: PatternNode, name: str) -> bool:
    return any(isinstance(n, Backreference) and n.name == name and not n.call for n in walk_pattern(node))


def looks(node: PatternNode) -> bool:
    return any(isinstance(n, LookAround | Anchor) for n in walk_pattern(node))


def either(sets: Sequence[CodeSet | None]) -> CodeSet | None:
    """The union; None if any is None."""
    known = [code_set for code_set in sets if code_set is not None]
    return None if len(known) < len(sets) else CodeSet.of(r for code_set in known for r in code_set.ranges)


def literal_run(node: PatternNode) -> list[Literal] | None:
    """The literals of a node that is only a string of them, else None."""
    match node:
        case Literal():
            return [node]
        case Group(kind="plain" | "capture"):
            return literal_run(node.item)
        case Quantified(low=low, high=high) if low == high and 0 < low <= 3:
            run = literal_run(node.item)  # Oniguruma unrolls small exact counts into the string
            return None if run is None else run * low
        case Concat():
            parts = [literal_run(item) for item in node.items]
            return None if None in parts else [literal for part in parts if part is not None for literal in part]
        case _:
            return None


def sequence(items: list[Node], span: Span) -> Node:
    """The items one after another, nested sequences flattened."""
    flat: list[Node] = []
    for item in items:
        flat += item.items if isinstance(item, Seq) else [item]
    return flat[0] if len(flat) == 1 else Seq(tuple(flat), span)


def repeat_exactly(item: Node, count: int, span: Span) -> Node:
    if count == 0:
        return Seq((), span)
    return item if count == 1 else Repeat(item, count, count, True, span)


def matches_empty(node: Node) -> bool:
    match node:
        case Chars():
            return False
        case Next() | Look():
            return True
        case Seq():
            return all(matches_empty(item) for item in node.items)
        case Alt():
            return any(matches_empty(option) for option in node.options)
        case Repeat():
            return node.low == 0 or matches_empty(node.item)
