"""TagProgram: the pattern over tags, the coarsest partition of code points that no set in it can tell apart.

A tag is a set of code points; every code point has exactly one tag. The regex becomes a small tree over tag sets
in which order means preference (leftmost-first). `END` is the pseudo-tag of the end of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

Range = tuple[int, int]  # inclusive code point range, surrogates are in no tag


@dataclass(frozen=True, slots=True)
class Span:
    """Half-open range of characters of the pattern text."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Tag:
    """One cell of the partition. `name` is a C identifier made from what the cell holds ("letter", "apostrophe")."""

    index: int
    name: str
    ranges: tuple[Range, ...]  # sorted, disjoint, not adjacent


@dataclass(frozen=True, slots=True)
class Chars:
    """One character whose tag is in `tags`."""

    tags: frozenset[int]
    span: Span


@dataclass(frozen=True, slots=True)
class Next:
    """Zero-width test of the next character: its tag is in `tags`, or the text ends and `at_end` is True.

    Carries look-ahead of one character in either sense, `$`, `\\z`, and what possessive quantifiers leave behind
    (`X*+` is `X*(?!X)`).
    """

    tags: frozenset[int]
    at_end: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Look:
    """Zero-width test of what follows, of any length: `item` matches there, or (negated) does not."""

    item: Node
    negated: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Seq:
    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Alt:
    """Ordered choice: earlier options are preferred."""

    options: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Repeat:
    """`item` from `low` to `high` times (`high` None: without limit); greedy prefers more."""

    item: Node
    low: int
    high: int | None
    greedy: bool
    span: Span


Node = Chars | Next | Look | Seq | Alt | Repeat


@dataclass(frozen=True, slots=True)
class TagProgram:
    """A pattern over tags.

    pattern: the text it came from. dialect: how that text was read.
    tags: the partition; `tags[i].index == i`. Numbered by lowest code point, so equal programs print the same.
    root: the whole pattern as a tree; the top-level alternatives are its rules.
    """

    pattern: str
    dialect: str
    tags: tuple[Tag, ...]
    root: Node

    @property
    def end(self) -> int:
        """The pseudo-tag of the end of the text."""
        return len(self.tags)

    def rules(self) -> tuple[Node, ...]:
        return self.root.options if isinstance(self.root, Alt) else (self.root,)

    def __str__(self) -> str:
        lines = [f"tag program of {self.pattern!r} ({self.dialect})", f"  {len(self.tags)} tags"]
        for tag in self.tags:
            size = sum(hi - lo + 1 for lo, hi in tag.ranges)
            head = " ".join(f"{lo:X}" if lo == hi else f"{lo:X}-{hi:X}" for lo, hi in tag.ranges[:6])
            lines.append(
                f"  {tag.index:3} {tag.name:<16} {size:7} code points  {head}{' ...' if len(tag.ranges) > 6 else ''}"
            )
        for number, rule in enumerate(self.rules()):
            text = self.pattern[rule.span.start : rule.span.end]
            lines.append(f"  rule {number}: {text!r}  [{rule.span.start}:{rule.span.end}]")
            lines.append(f"    {format_node(rule, self.tags)}")
        return "\n".join(lines)


def format_tags(tags: frozenset[int], all_tags: tuple[Tag, ...]) -> str:
    """`{a b}`, or `~{c}` when that is shorter."""
    if len(tags) > len(all_tags) // 2 + 1:
        rest = [t.name for t in all_tags if t.index not in tags]
        return "any" if not rest else "~{" + " ".join(rest) + "}"
    return "{" + " ".join(all_tags[t].name for t in sorted(tags)) + "}"


def format_node(node: Node, tags: tuple[Tag, ...]) -> str:
    match node:
        case Chars():
            return format_tags(node.tags, tags)
        case Next():
            return f"(next {format_tags(node.tags, tags)}{' or end' if node.at_end else ''})"
        case Look():
            return f"({'not ' if node.negated else ''}ahead {format_node(node.item, tags)})"
        case Seq():
            return " ".join(format_node(item, tags) for item in node.items) or "()"
        case Alt():
            return "(" + " | ".join(format_node(option, tags) for option in node.options) + ")"
        case Repeat():
            high = "" if node.high is None else str(node.high)
            return f"{format_node(node.item, tags)}{{{node.low},{high}}}{'' if node.greedy else '?'}"


def walk(node: Node) -> Iterator[Node]:
    """`node` and everything under it, parents first."""
    yield node
    match node:
        case Seq():
            for item in node.items:
                yield from walk(item)
        case Alt():
            for option in node.options:
                yield from walk(option)
        case Repeat() | Look():
            yield from walk(node.item)
        case _:
            pass
