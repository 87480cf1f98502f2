"""Pattern text -> PatternAst, with the lark grammar of the dialect. Nothing is interpreted beyond the syntax.

What a dialect reads differently is decided here and in the two terminal files, by experiment against the wheels:
`{n,m}+` and `{n}?`, `\\pL` (Oniguruma: the letters p and L), where `--` is an operator, what an inline `(?i)` governs.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from importlib.resources import files

from gigatok_compile.errors import PatternError
from gigatok_compile.ir.pattern import (
    Alternation,
    Anchor,
    Backreference,
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
from gigatok_compile.ir.tags import Span
from gigatok_compile.pattern.parse_class import build_class
from gigatok_compile.unicode.components import named_ranges
from gigatok_compile.unicode.tables import property_ranges
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

DIALECTS = ("oniguruma", "fancy")
_CONTROL = {"n": 10, "r": 13, "t": 9, "f": 12, "v": 11, "a": 7, "e": 27, "b": 8}
_FLAGS = {"oniguruma": "im", "fancy": "imsu"}
MAX_REPEAT = 100_000
MAX_DEPTH = 50  # of nested groups; keeps every recursive pass far from Python's limit


def parse_pattern(text: str, dialect: str, where: str | None = None, *, components: bool = True) -> PatternAst:
    """Parse `text` as a pattern of `dialect` ("oniguruma" or "fancy").

    Args:
        where: field path for messages.
        components: `\\p{hf:..}` names a set of a component (`gigatok_compile.unicode.components`). So it does in patterns
            that we write; in a user's pattern it is an unknown property, which the reader checks with False.

    Raises:
        PatternError: with the offset, when the engine would refuse the pattern or we do not know the construct.
    """
    if dialect not in DIALECTS:
        raise ValueError(f"dialect must be one of {DIALECTS}, not {dialect!r}")
    try:
        tree = _parser(dialect).parse(text, start="start")
    except UnexpectedInput as error:
        raise _syntax_error(error, text, where) from None
    body = tree.children[0]
    assert isinstance(body, Tree)
    root = Builder(text, dialect, where, components).alternation(body)
    ast = PatternAst(text, dialect, root)
    _check_references(ast, where)
    return ast


@lru_cache(maxsize=2)
def _parser(dialect: str) -> Lark:
    folder = files("gigatok_compile.grammars")
    names = ("regex.lark", f"regex_{dialect}.lark")
    grammar = "\n".join((folder / name).read_text(encoding="utf-8") for name in names)
    return Lark(
        grammar,
        start=["start", "char_class"],
        parser="lalr",
        lexer="contextual",
        propagate_positions=True,
        maybe_placeholders=False,
    )


def span_of(tree: Tree[Token] | Token) -> Span:
    if isinstance(tree, Token):
        return Span(tree.start_pos or 0, tree.end_pos or 0)
    return Span(tree.meta.start_pos, tree.meta.end_pos)


class Builder:
    """Builds the nodes of one pattern out of its parse tree."""

    def __init__(self, text: str, dialect: str, where: str | None, components: bool) -> None:
        self.text = text
        self.dialect = dialect
        self.where = where
        self.ranges_of = named_ranges if components else property_ranges
        self.group_count = _count_captures(text)
        self.depth = 0
        self.flags_leak = False  # directly inside a group that does not end an inline flag

    def error(self, message: str, span: Span, hint: str | None = None) -> PatternError:
        return PatternError(message, pattern=self.text, start=span.start, end=span.end, where=self.where, hint=hint)

    def alternation(self, tree: Tree[Token]) -> PatternNode:
        sequences = [child for child in tree.children if isinstance(child, Tree)]
        position = 0 if not tree.children else self._start_of(tree)
        options: list[PatternNode] = []
        carried: tuple[str, str] | None = None  # fancy: an inline flag also governs the alternatives after it
        for index, sequence in enumerate(sequences):
            if index:
                bar = tree.children[2 * index - 1]
                assert isinstance(bar, Token)
                position = bar.end_pos or 0
            items, governs = self._sequence_items(sequence.children, position)
            if governs is not None and self.dialect == "oniguruma":
                # Oniguruma: `a(?i)b|c` is `a(?i:b|c)`.
                at, on, off = governs
                rest = [self._concat(items[at:], position), *self._rest(tree, index)]
                inner = self._alternate(rest)
                options.append(self._concat([*items[:at], Flags(on, off, inner, inner.span)], position))
                return self._alternate(options)
            option = self._concat(items, position)
            if governs is not None:
                at, on, off = governs
                inner = self._concat(items[at:], position)
                option = self._concat([*items[:at], Flags(on, off, inner, inner.span)], position)
            if carried is not None:
                option = Flags(*carried, option, option.span)
            if governs is not None:
                carried = _merge_flags(carried, governs[1:])
            options.append(option)
        return self._alternate(options)

    def _rest(self, tree: Tree[Token], index: int) -> list[PatternNode]:
        """The alternatives after number `index`, as one node each."""
        tail = tree.children[2 * index + 2 :]
        if not tail:
            return []
        first = tree.children[2 * index + 1]
        assert isinstance(first, Token)
        node = self.alternation(Tree("alternation", tail, tree.meta))
        return list(node.options) if isinstance(node, Alternation) else [node]

    def _start_of(self, tree: Tree[Token]) -> int:
        return 0 if tree.meta.empty else tree.meta.start_pos

    def _alternate(self, options: list[PatternNode]) -> PatternNode:
        if len(options) == 1:
            return options[0]
        return Alternation(tuple(options), Span(options[0].span.start, options[-1].span.end))

    def _concat(self, items: list[PatternNode], position: int) -> PatternNode:
        if len(items) == 1:
            return items[0]
        span = Span(items[0].span.start, items[-1].span.end) if items else Span(position, position)
        return Concat(tuple(items), span)

    def _sequence_items(
        self, children: list[Tree[Token] | Token], position: int
    ) -> tuple[list[PatternNode], tuple[int, str, str] | None]:
        """The items of one alternative, and (index, on, off) of a flag that governs those from index on."""
        items: list[PatternNode] = []
        for number, child in enumerate(children):
            if isinstance(child, Tree):
                items.append(self.quantified(child))
            elif child.type == "INLINE_FLAGS":
                if self.flags_leak:
                    raise self.error(
                        "fancy-regex lets this flag go on after the group it stands in",
                        span_of(child),
                        hint="write (?i:..) around what the flag governs",
                    )
                on, off = self._flags(child[2:-1], span_of(child))
                rest, deeper = self._sequence_items(children[number + 1 :], position)
                if deeper is None:
                    return items + rest, (len(items), on, off)
                if deeper[0] == 0:
                    merged = _merge_flags((on, off), deeper[1:])
                    return items + rest, (len(items), *merged)
                raise self.error(
                    "two inline flag groups in one alternative are not read",
                    span_of(child),
                    hint="write (?i:..) around what the flag governs",
                )
        return items, None

    def _flags(self, text: str, span: Span) -> tuple[str, str]:
        on, _, off = text.partition("-")
        for letter in on + off:
            if letter not in _FLAGS[self.dialect]:
                raise self.error(
                    f"the flag {letter!r} is not read in this dialect",
                    span,
                    hint=f"flags that are: {' '.join(_FLAGS[self.dialect])}",
                )
        return "".join(sorted(set(on))), "".join(sorted(set(off)))

    def quantified(self, tree: Tree[Token]) -> PatternNode:
        atom, *following = tree.children
        assert isinstance(atom, Tree)
        quantifiers = [token for token in following if isinstance(token, Token) and token.type == "QUANTIFIER"]
        node = self.atom(atom)
        if self.dialect == "fancy" and len(quantifiers) > 1:
            raise self.error("nothing to repeat: a quantifier follows a quantifier", span_of(quantifiers[1]))
        for token in quantifiers:
            if isinstance(node, Look) or (isinstance(node, Anchor) and self.dialect == "oniguruma"):
                raise self.error("an anchor or look-around cannot be repeated", span_of(token))
            node = self._quantify(node, token)
        return node

    def _quantify(self, node: PatternNode, token: Token) -> Quantified:
        text, mode = str(token), "greedy"
        if len(text) > 1 and text[-1] in "?+":
            mode = "lazy" if text[-1] == "?" else "possessive"
            text = text[:-1]
        span = Span(node.span.start, span_of(token).end)
        if text in ("*", "+", "?"):
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[text]
            return Quantified(node, low, high, mode, span)
        first, comma, last = text[1:-1].partition(",")
        low = int(first or 0)
        high = low if not comma else int(last) if last else None
        if max(low, high or 0) > MAX_REPEAT:
            raise self.error(f"a repeat count above {MAX_REPEAT}", span_of(token))
        if high is not None and low > high:
            raise self.error("the repeat range is reversed", span_of(token), hint=f"{{{high},{low}}}")
        return Quantified(node, low, high, mode, span)

    def atom(self, tree: Tree[Token]) -> PatternNode:
        span = span_of(tree)
        if tree.data == "group":
            return self._group(tree)
        token = tree.children[0]
        assert isinstance(token, Token)
        if tree.data == "class_text":
            try:
                inner = _parser(self.dialect).parse(str(token), start="char_class")
            except UnexpectedInput as error:
                raise _syntax_error(error, self.text, self.where, span.start) from None
            return build_class(self, inner, span.start)
        match str(tree.data):
            case "dot":
                return Dot(token[-1], span)
            case "anchor":
                return Anchor(token[-1], span)
            case "line_break":
                return LineBreak(span)
            case "backreference":
                return self._backreference(token, span)
            case "shorthand" | "property":
                return self.named_set(str(tree.data), token, span)
            case kind:
                return Literal(self.code_point(kind, token, span), span)

    def named_set(self, kind: str, token: Token, span: Span) -> Shorthand | Property:
        """`\\s` and its kin, or `\\p{..}`, whose name must be known."""
        if kind == "shorthand":
            return Shorthand(token[-1].lower(), token[-1].isupper(), span)
        name = token[3:-1] if token[2] == "{" else token[2]
        negated = token[1] == "P"
        if name.startswith("^"):
            name, negated = name[1:], not negated
        try:
            self.ranges_of(name, self.dialect)
        except KeyError:
            raise self.error(
                f"unknown property {name!r}", span, hint="general categories, scripts and binary properties are known"
            ) from None
        return Property(name, negated, span)

    def code_point(self, kind: str, token: str, span: Span) -> int:
        """The character that a literal or escape token stands for."""
        match kind:
            case "char":
                return self._scalar(ord(token), span)
            case "control":
                return _CONTROL[token[1]]
            case "hex":
                return self._scalar(int(token[2:].strip("{}"), 16), span)
            case "octal":
                return self._scalar(int(token[1:], 8), span)
        letter = token[1]
        in_class = kind == "class_escaped"
        known = "" if self.dialect == "fancy" else _ONIGURUMA_REFUSED_CLASS if in_class else _ONIGURUMA_REFUSED
        alphanumeric = letter.isascii() and letter.isalnum()
        if alphanumeric and (self.dialect == "fancy" or letter in known):
            raise self.error(f"unknown escape \\{letter}", span)
        return self._scalar(ord(letter), span)

    def _scalar(self, code_point: int, span: Span) -> int:
        if code_point > 0x10FFFF or 0xD800 <= code_point <= 0xDFFF:
            raise self.error(f"{code_point:X} is not a Unicode scalar value", span)
        return code_point

    def _backreference(self, token: Token, span: Span) -> PatternNode:
        if token[1] in "kg":
            name = token[3:-1]
            return Backreference(name, token[1] == "g", span)
        number = int(token[1:])
        if number <= max(9, self.group_count):
            return Backreference(str(number), False, span)
        digits = token[1:]
        if self.dialect == "oniguruma" and len(digits) <= 3 and set(digits) <= set("01234567") and int(digits, 8) < 256:
            return Literal(int(digits, 8), span)
        raise self.error(f"there is no group {number}", span)

    def _group(self, tree: Tree[Token]) -> PatternNode:
        head, body, _ = tree.children
        assert isinstance(head, Token) and isinstance(body, Tree)
        span = span_of(tree)
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(f"groups are nested more than {MAX_DEPTH} deep", span_of(head))
        outer, self.flags_leak = self.flags_leak, self.dialect == "fancy" and head[-1] != ":"
        item = self.alternation(body)
        self.flags_leak = outer
        self.depth -= 1
        if not body.children or (isinstance(item, Concat) and not item.items):
            item = replace(item, span=Span(span_of(head).end, span_of(head).end))
        opening = head[1:].lstrip("?")
        if head == "(":
            return Group("capture", None, item, span)
        if opening in (":", ">"):
            return Group("plain" if opening == ":" else "atomic", None, item, span)
        if opening in ("=", "!", "<=", "<!"):
            return Look(opening[0] != "<", opening[-1] == "!", item, span)
        if opening[0] in "<'P":
            return Group("capture", opening.strip("P<>'"), item, span)
        on, off = self._flags(opening[:-1], span_of(head))
        return Flags(on, off, item, span)


_ONIGURUMA_REFUSED = "kgxuXyYCMc"  # meaningful letters whose argument is missing, or which we do not read
_ONIGURUMA_REFUSED_CLASS = "xucCM"


def _merge_flags(first: tuple[str, str] | None, second: tuple[str, str]) -> tuple[str, str]:
    """Flags of two inline groups, the second nearer to what they govern."""
    if first is None:
        return second
    on = (set(first[0]) - set(second[1])) | set(second[0])
    off = (set(first[1]) - set(second[0])) | set(second[1])
    return "".join(sorted(on)), "".join(sorted(off))


def _count_captures(text: str) -> int:
    """An upper bound of the number of capture groups, used to tell `\\12` from an octal escape."""
    opens = (text[i + 1 : i + 3] for i, char in enumerate(text) if char == "(")
    return sum(1 for after in opens if after[:1] != "?" or after[1:] in "<P'")


def _check_references(ast: PatternAst, where: str | None) -> None:
    groups = [node for node in walk_pattern(ast.root) if isinstance(node, Group) and node.kind == "capture"]
    names = {group.name for group in groups} | {str(number) for number in range(1, len(groups) + 1)}
    for node in walk_pattern(ast.root):
        if isinstance(node, Backreference) and node.name not in names:
            raise PatternError(
                f"there is no group {node.name!r}",
                pattern=ast.text,
                start=node.span.start,
                end=node.span.end,
                where=where,
            )


def _syntax_error(error: UnexpectedInput, text: str, where: str | None, offset: int = 0) -> PatternError:
    """offset: where the parsed part begins in `text`."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        start = offset + (error.token.start_pos or 0)
    elif isinstance(error, UnexpectedCharacters):
        start = offset + (error.pos_in_stream or 0)
    else:
        start = len(text)
    char = text[start : start + 1]
    if start >= len(text):
        opener = max(text.rfind("["), text.rfind("("), 0)
        return PatternError("the pattern ends inside a group or class", pattern=text, start=opener, where=where)
    reasons = {")": "unmatched )", "*": "nothing to repeat", "+": "nothing to repeat", "?": "nothing to repeat"}
    message = reasons.get(char, f"{char!r} is not understood here")
    if char == "[":
        message = "the class is not closed, or is nested more than four deep"
    if char == "(":
        message = f"a group that begins with {text[start : start + 3]!r} is not understood"
    if char == "\\":
        message = "a backslash at the end of the pattern" if start + 1 == len(text) else "this escape is not understood"
    return PatternError(message, pattern=text, start=start, where=where)
