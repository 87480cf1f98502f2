"""TagProgram -> Nfa: Thompson's construction with ordered choices.

A node either consumes one character, chooses between ordered successors, tests the next character, or accepts.
The order of a choice is the preference of a backtracking matcher, so "the first option that can succeed" is
leftmost-first semantics. Source: Thompson 1968; Cox, "Regular Expression Matching: the Virtual Machine Approach".
"""

from __future__ import annotations

from dataclasses import dataclass

from gigatok_compile.errors import Unsupported
from gigatok_compile.ir.tags import Alt, Chars, Look, Next, Node, Repeat, Seq, TagProgram

MAX_NODES = 4096


@dataclass(frozen=True, slots=True)
class Consume:
    """Consumes one character whose tag is in `tags`, then goes to `next`."""

    tags: frozenset[int]
    next: int


@dataclass(frozen=True, slots=True)
class Choose:
    """Ordered choice; no option consumes anything by itself."""

    options: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """Goes to `next` if the next symbol is in `symbols` (tags, and `program.end` for the end of the text)."""

    symbols: frozenset[int]
    next: int


@dataclass(frozen=True, slots=True)
class Ahead:
    """Goes to `next` if look-ahead number `look` holds here (or, negated, does not)."""

    look: int
    negated: bool
    next: int


@dataclass(frozen=True, slots=True)
class Accept:
    """The match ends here."""


NfaNode = Consume | Choose | Test | Ahead | Accept


@dataclass(frozen=True, slots=True)
class Nfa:
    """`nodes[start]` is where a match begins; node 0 is the only one that accepts.

    looks[k]: where the body of look-ahead k begins; it holds if node 0 can be reached from there. A body refers to
    look-aheads of lower numbers only.
    """

    nodes: tuple[NfaNode, ...]
    start: int
    looks: tuple[int, ...]
    tag_count: int  # symbols are 0..tag_count-1 and tag_count for the end of the text


def build_nfa(program: TagProgram) -> Nfa:
    """Expand counted repeats and number the nodes.

    Raises:
        Unsupported: when counted repeats expand to more than 4096 nodes.
    """
    nodes: list[NfaNode | None] = [Accept()]
    looks: list[int] = []

    def add(node: NfaNode | None, source: Node) -> int:
        if len(nodes) >= MAX_NODES:
            raise Unsupported(
                f"the pattern expands to more than {MAX_NODES} automaton nodes",
                tier="automaton",
                pattern=program.pattern,
                start=source.span.start,
                end=source.span.end,
            )
        nodes.append(node)
        return len(nodes) - 1

    def compile_node(node: Node, after: int) -> int:
        """The entry of `node` when `after` follows it."""
        match node:
            case Chars():
                return add(Consume(node.tags, after), node)
            case Next():
                symbols = node.tags | {program.end} if node.at_end else node.tags
                return add(Test(frozenset(symbols), after), node)
            case Look():
                body = compile_node(node.item, 0)
                looks.append(body)
                return add(Ahead(len(looks) - 1, node.negated, after), node)
            case Seq():
                for item in reversed(node.items):
                    after = compile_node(item, after)
                return after
            case Alt():
                return add(Choose(tuple(compile_node(option, after) for option in node.options)), node)
            case Repeat():
                return compile_repeat(node, after)

    def compile_repeat(node: Repeat, after: int) -> int:
        if node.high is None:
            loop = add(None, node)
            body = compile_node(node.item, loop)
            nodes[loop] = Choose((body, after) if node.greedy else (after, body))
            entry = loop
        else:
            entry = after
            for _ in range(node.high - node.low):  # x{0,2} is (x(x)?)?
                body = compile_node(node.item, entry)
                entry = add(Choose((body, after) if node.greedy else (after, body)), node)
        for _ in range(node.low):
            entry = compile_node(node.item, entry)
        return entry

    start = compile_node(program.root, 0)
    done = tuple(node for node in nodes if node is not None)
    assert len(done) == len(nodes)
    return Nfa(done, start, tuple(looks), len(program.tags))
