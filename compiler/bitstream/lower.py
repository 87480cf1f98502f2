"""Predicates -> BitProgram: name the classes, order the streams, tell runs from chains.

A right or left predicate that refers to itself is a Run, unless the self-reference can never happen twice in a row
(`\\p{L}` demanded next, punctuation now): then it is a Link. Predicates that refer to each other, or to their own
negation (every second digit), form a Cycle.
Everything else is evaluated once, in dependency order.

Classes: each tag set that an expression asks for becomes a class; a set and its complement share one. The
pseudo-tag "past the end" is in no set that a left expression needs (nothing there is looked at), so it goes wherever
it makes two sets equal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from gigatok_compile.bitstream.predicates import ALWAYS, Context, Predicates, Term
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import (
    Ahead,
    And,
    Behind,
    BitProgram,
    CharacterClass,
    Class,
    Cycle,
    Expr,
    Link,
    Not,
    Or,
    Plain,
    Run,
    Step,
    Symbol,
)


def lower_predicates(
    predicates: Predicates,
    machine: Bimachine,
    *,
    pattern: str,
    tag_names: Sequence[str],
    weights: Sequence[float],
) -> BitProgram:
    """The program that computes `predicates.starts`, which came from `machine`.

    weights: how common each tag is; only the order within cycles depends on it.
    """
    return _Lowering(predicates, machine, tuple(tag_names), weights).run(pattern)


@dataclass(frozen=True, slots=True)
class _Use:
    """A predicate's term that refers to `source` where `guard` holds."""

    source: int
    guard: Expr
    weight: float


class _Lowering:
    def __init__(
        self,
        predicates: Predicates,
        machine: Bimachine,
        tag_names: tuple[str, ...],
        weights: Sequence[float],
    ) -> None:
        self.weights = (*weights, 0.0)
        self.predicates = predicates
        self.machine = machine
        self.tag_names = tag_names
        self.end = predicates.tag_count
        self.all = frozenset(range(predicates.tag_count + 1))
        self.class_sets: list[frozenset[int]] = []
        self.symbols: list[Expr] = []

    def run(self, pattern: str) -> BitProgram:
        right_steps = self.order(
            [self.right_parts(i) for i in range(len(self.predicates.right))],
            self.right_uses,
            lambda i: any(c.right == i and c.negate for c in self.predicates.right[i].contexts),
            self.right_loops,
        )
        left_steps = self.order(
            [self.left_parts(i) for i in range(len(self.predicates.left))],
            self.left_uses,
            lambda i: any(t.before == i and t.negate for t in self.predicates.left[i].terms),
            self.left_loops,
        )
        starts = _or(self.term(t) for t in self.predicates.starts)
        stops = None if self.predicates.stops is None else _or(self.term(t) for t in self.predicates.stops)
        program = BitProgram(
            pattern=pattern,
            tag_names=(*self.tag_names, "end"),
            classes=self.name_classes(),
            right=right_steps,
            symbols=tuple(self.symbols),
            left=left_steps,
            starts=starts,
            initially=tuple(p.initially for p in self.predicates.left),
            right_table=self.machine.right,
            right_values=tuple(
                sum((members >> state & 1) << i for i, members in enumerate(self.predicates.right_sets))
                for state in range(self.machine.right_count)
            ),
            stops=stops,
        )
        return _renumber(program)

    # ------------------------------------------------------------------ expressions

    def character_class(self, tags: frozenset[int], end: bool | None) -> Expr:
        """The class of `tags`; `end` says whether the end of the text is in it (None: either way)."""
        wanted = [tags, tags | {self.end}] if end is None else [tags | {self.end} if end else tags]
        for choice in wanted:
            if choice == self.all:
                return Not(Or(()))
            for index, known in enumerate(self.class_sets):
                if known == choice:
                    return Class(index)
                if self.all - known == choice:
                    return Not(Class(index))
        choice = wanted[0]
        if len(choice) * 2 > len(self.all):
            choice = self.all - (choice | {self.end} if end is None else choice)
            self.class_sets.append(choice)
            return Not(Class(len(self.class_sets) - 1))
        self.class_sets.append(choice)
        return Class(len(self.class_sets) - 1)

    def context(self, context: Context, end: bool | None) -> Expr:
        tags = self.character_class(context.tags, end)
        if context.right == ALWAYS:
            return tags
        ahead: Expr = Ahead(context.right)
        return _and((tags, Not(ahead) if context.negate else ahead))

    def symbol(self, contexts: tuple[Context, ...]) -> Expr:
        """The contexts as one symbol stream; negations of a class stay outside, so that both share the stream."""
        expr = _or(self.context(c, None) for c in contexts)
        negate = isinstance(expr, Not)
        if isinstance(expr, Not):
            expr = expr.item
        if expr == Or(()):
            return Not(expr) if negate else expr
        if expr not in self.symbols:
            self.symbols.append(expr)
        result: Expr = Symbol(self.symbols.index(expr))
        return Not(result) if negate else result

    def term(self, term: Term) -> Expr:
        if term.before == ALWAYS:
            return self.symbol(term.contexts)
        before: Expr = Behind(term.before)
        return _and((self.symbol(term.contexts), Not(before) if term.negate else before))

    # ------------------------------------------------------------------ steps

    def right_parts(self, index: int) -> tuple[Expr, Expr, Expr]:
        """(whole expression, part that does not refer to itself, condition of the self-reference)."""
        contexts = self.predicates.right[index].contexts
        stay = [c for c in contexts if c.right == index and not c.negate]
        # the end of the text satisfies no right predicate
        enter = _or(self.context(c, False) for c in contexts if c not in stay)
        loop = _or(self.character_class(c.tags, False) for c in stay)
        return _or(self.context(c, False) for c in contexts), enter, loop

    def left_parts(self, index: int) -> tuple[Expr, Expr, Expr]:
        terms = self.predicates.left[index].terms
        stay = [t for t in terms if t.before == index and not t.negate]
        enter = _or(self.term(t) for t in terms if t not in stay)
        loop = _or(self.symbol(t.contexts) for t in stay)
        return _or(self.term(t) for t in terms), enter, loop

    def right_loops(self, index: int) -> bool:
        return any(c.right == index for c in self.predicates.right[index].contexts)

    def left_loops(self, index: int) -> bool:
        """Whether the self-reference can hold for two characters in a row."""
        stay = [c for t in self.predicates.left[index].terms if t.before == index for c in t.contexts]
        return any(self.can_follow(first, second) for first in stay for second in stay)

    def can_follow(self, first: Context, second: Context) -> bool:
        """Whether a character in context `first` can be followed by one with a tag of `second`."""
        if first.right == ALWAYS or first.negate:
            return True
        allowed: frozenset[int] = frozenset().union(*(c.tags for c in self.predicates.right[first.right].contexts))
        return bool(allowed & second.tags)

    def right_uses(self, index: int) -> list[_Use]:
        return [
            _Use(c.right, self.character_class(c.tags, False), sum(self.weights[t] for t in c.tags))
            for c in self.predicates.right[index].contexts
            if c.right != ALWAYS
        ]

    def left_uses(self, index: int) -> list[_Use]:
        return [
            _Use(t.before, self.symbol(t.contexts), sum(self.context_weight(c) for c in t.contexts))
            for t in self.predicates.left[index].terms
            if t.before != ALWAYS
        ]

    def context_weight(self, context: Context) -> float:
        """A right context is taken to hold one time in ten."""
        return sum(self.weights[tag] for tag in context.tags) * (1 if context.right == ALWAYS else 0.1)

    def order(
        self,
        parts: list[tuple[Expr, Expr, Expr]],
        uses: Callable[[int], list[_Use]],
        alternates: Callable[[int], bool],
        loops: Callable[[int], bool],
    ) -> tuple[Step, ...]:
        steps: list[Step] = []
        used = [uses(i) for i in range(len(parts))]
        sources = [{use.source for use in of} for of in used]
        for component in _components(len(parts), lambda i: sources[i]):
            if len(component) > 1 or alternates(component[0]):
                steps.append(_cycle(component, parts, used, alternates))
                continue
            whole, enter, stay = parts[component[0]]
            if component[0] not in sources[component[0]]:
                steps.append(Plain(component[0], whole))
            elif loops(component[0]):
                steps.append(Run(component[0], enter, stay))
            else:
                steps.append(Link(component[0], enter, stay))
        return tuple(steps)

    def name_classes(self) -> tuple[CharacterClass, ...]:
        """Names from the tags: the only one, `a_or_b` of two, `a_and_N_more` of others; `_x` is added until each is unique."""
        names: list[str] = []
        for tags in self.class_sets:
            words = [(*self.tag_names, "end")[t] for t in sorted(tags)]
            name = "_or_".join(words) if len(words) <= 2 else f"{words[0]}_and_{len(words) - 1}_more"
            while name in names:
                name += "_x"
            names.append(name)
        return tuple(CharacterClass(name, tags) for name, tags in zip(names, self.class_sets, strict=True))


def _components(count: int, uses: Callable[[int], set[int]]) -> list[list[int]]:
    """Strongly connected components, dependencies first (Tarjan 1972)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    found: list[list[int]] = []

    def visit(node: int) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in sorted(uses(node)):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            position = stack.index(node)
            found.append(sorted(stack[position:]))
            del stack[position:]

    for node in range(count):
        if node not in index:
            visit(node)
    return found


def _cycle(
    component: list[int],
    parts: list[tuple[Expr, Expr, Expr]],
    used: list[list[_Use]],
    alternates: Callable[[int], bool],
) -> Cycle:
    """The streams of a component in an order in which what uses a later one is rare.

    A stream's use of itself is a run, unless it uses its own negation.
    """

    def back(order: list[int]) -> list[_Use]:
        place = {node: at for at, node in enumerate(order)}
        return [
            use
            for node in order
            for use in used[node]
            if place.get(use.source, -1) > place[node] or (use.source == node and alternates(node))
        ]

    def cost(order: list[int]) -> tuple[float, int]:
        uses = back(order)
        return sum(use.weight for use in uses), len(uses)

    order = list(component)
    best = cost(order)
    improved = True
    while improved:  # move one stream at a time to where it is best
        improved = False
        for node in component:
            rest = [other for other in order if other != node]
            for at in range(len(order)):
                candidate = [*rest[:at], node, *rest[at:]]
                if (found := cost(candidate)) < best:
                    order, best, improved = candidate, found, True
    steps: list[Plain | Run] = []
    for node in order:
        whole, enter, stay = parts[node]
        loop = any(use.source == node for use in used[node]) and not alternates(node)
        steps.append(Run(node, enter, stay) if loop else Plain(node, whole))
    guards = dict.fromkeys(use.guard for use in back(order))
    return Cycle(tuple(steps), tuple(sorted({use.source for use in back(order)})), _or(guards))


def _renumber(program: BitProgram) -> BitProgram:
    """Number the streams in the order of evaluation."""
    new_right = {old: new for new, old in enumerate(_streams(program.right))}
    new_left = {old: new for new, old in enumerate(_streams(program.left))}

    def expr(e: Expr) -> Expr:
        match e:
            case Ahead(index=i):
                return Ahead(new_right[i])
            case Behind(index=i):
                return Behind(new_left[i])
            case Not(item=item):
                return Not(expr(item))
            case And(items=items):
                return And(tuple(map(expr, items)))
            case Or(items=items):
                return Or(tuple(map(expr, items)))
            case _:
                return e

    def step(s: Step, numbers: dict[int, int]) -> Step:
        match s:
            case Plain():
                return Plain(numbers[s.stream], expr(s.expr))
            case Run():
                return Run(numbers[s.stream], expr(s.enter), expr(s.stay))
            case Link():
                return Link(numbers[s.stream], expr(s.enter), expr(s.stay))
            case Cycle():
                parts = tuple(step(part, numbers) for part in s.steps)
                return Cycle(parts, tuple(sorted(numbers[i] for i in s.later)), expr(s.guard))  # type: ignore[arg-type]

    initially = [False] * len(program.initially)
    for old, new in new_left.items():
        initially[new] = program.initially[old]
    return replace(
        program,
        right=tuple(step(s, new_right) for s in program.right),
        symbols=tuple(map(expr, program.symbols)),
        left=tuple(step(s, new_left) for s in program.left),
        starts=expr(program.starts),
        stops=None if program.stops is None else expr(program.stops),
        initially=tuple(initially),
        right_values=tuple(
            sum((bits >> old & 1) << new for old, new in new_right.items()) for bits in program.right_values
        ),
    )


def _streams(steps: Iterable[Step]) -> list[int]:
    return [p for s in steps for p in ([q.stream for q in s.steps] if isinstance(s, Cycle) else [s.stream])]


def _or(items: Iterable[Expr]) -> Expr:
    flat = tuple(item for item in items if item != Or(()))
    for item in flat:  # ~x | (x & y) is ~x | y
        inverse = item.item if isinstance(item, Not) else Not(item)
        flat = tuple(
            _and(i for i in other.items if i != inverse) if isinstance(other, And) and inverse in other.items else other
            for other in flat
        )
    return flat[0] if len(flat) == 1 else Or(flat)


def _and(items: Iterable[Expr]) -> Expr:
    flat = tuple(item for item in items if item != Not(Or(())))
    return flat[0] if len(flat) == 1 else And(flat)
