"""Bimachine -> Predicates: the boundary bit as a small system of equations over sets of states.

Problem: a table walk answers one character at a time. We want the answer for 64 at once, from masks that say which
characters have which tag.

Idea: never ask "which state?", only "is the state in this set?". With
    B[i]   a piece starts before character i
    P_A[i] the left state after character i is in the set A
    Q_Y[i] the right state before character i is in the set Y
the two automata give, for tags t and right states r,
    B[i]   = OR over (t, r) of  T_t[i] & (r is the right state at i+1) & P_X[i-1],  X = {q : a piece starts}
    P_A[i] = OR over (t, r) of  T_t[i] & (r is the right state at i+1) & P_X[i-1],  X = {q : next(q, t, r) in A}
    Q_Y[i] = OR over t      of  T_t[i] & Q_X[i+1],                                  X = {r : right(t, r) in Y}
where P of no state is 0 and P of all states is 1. Only few sets are ever asked for. (They are states of the reversed
automata; Brzozowski 1963.) A set matters only on the states that can occur in its place, and this freedom is what makes
the system small: sets that agree there are the same, so most right contexts and most tags fall together.

A predicate that depends on itself describes a run; one that depends on itself through others counts (the position in
a digit run modulo 3). Both stay exact: the former is one addition, the latter a short loop (see lower.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gigatok_compile.errors import CompileError
from gigatok_compile.ir.bimachine import START, Bimachine

ALWAYS = -1  # pseudo predicate number
MAX_PREDICATES = 64  # on a side; a kernel with more would be slower than the automaton


@dataclass(frozen=True, slots=True)
class Context:
    """A condition on one character and what follows it: its tag is in `tags` and predicate `right` holds one later.

    `right` is an index into Predicates.right (negated when `negate`), or ALWAYS.
    """

    tags: frozenset[int]
    right: int
    negate: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """OR of contexts, and (if not ALWAYS) a predicate on the state before this character.

    `before` is an index into Predicates.left, negated when `negate`.
    """

    contexts: tuple[Context, ...]
    before: int
    negate: bool = False


@dataclass(frozen=True, slots=True)
class LeftPredicate:
    """P_A as an OR of terms. `initially` is its value before the first character."""

    terms: tuple[Term, ...]
    initially: bool


@dataclass(frozen=True, slots=True)
class RightPredicate:
    """Q_Y as an OR of contexts; False at the end of the text."""

    contexts: tuple[Context, ...]


@dataclass(frozen=True, slots=True)
class Predicates:
    """The system. `starts` is B for pieces that are kept; predicates refer to each other by index. stops: where such a piece
    ends (None if every piece is kept). right_sets[i]: bit r says that right predicate i holds in right state r."""

    tag_count: int
    starts: tuple[Term, ...]
    stops: tuple[Term, ...] | None
    left: tuple[LeftPredicate, ...]
    right: tuple[RightPredicate, ...]
    right_sets: tuple[int, ...]

    def __str__(self) -> str:
        def context(c: Context) -> str:
            tags = "{" + " ".join(map(str, sorted(c.tags))) + "}"
            return tags if c.right == ALWAYS else f"{tags}.{'~' if c.negate else ''}q{c.right}"

        def term(t: Term) -> str:
            text = " | ".join(context(c) for c in t.contexts)
            if t.before == ALWAYS:
                return f"({text})"
            return f"({text}) & {'~' if t.negate else ''}p{t.before}[-1]"

        lines = [f"starts = {' | '.join(map(term, self.starts))}"]
        if self.stops is not None:
            lines.append(f"stops = {' | '.join(map(term, self.stops))}")
        lines += [
            f"p{i} ({int(p.initially)}) = {' | '.join(map(term, p.terms)) or '0'}" for i, p in enumerate(self.left)
        ]
        lines += [f"q{i} = {' | '.join(map(context, q.contexts)) or '0'}" for i, q in enumerate(self.right)]
        return "\n".join(lines)


def derive_predicates(machine: Bimachine) -> Predicates:
    """The sets that the boundary bit asks for, transitively.

    Raises:
        CompileError: more than 64 predicates on a side (counted repeats far beyond those of known patterns).
    """
    return _Derivation(machine).run()


@dataclass(slots=True)
class _Group:
    """Symbols (tag, right state) that ask for the same set `want` where states in `valid` can occur."""

    symbols: list[tuple[int, int]]
    valid: int
    want: int

    def agrees(self, valid: int, want: int) -> bool:
        return (self.want ^ want) & self.valid & valid == 0

    def take(self, symbols: Iterable[tuple[int, int]], valid: int, want: int) -> None:
        self.symbols.extend(symbols)
        self.valid |= valid
        self.want |= want


class _Derivation:
    def __init__(self, machine: Bimachine) -> None:
        self.machine = machine
        self.all_right = (1 << machine.right_count) - 1
        self.columns: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
        for (state, tag, after), (target, cut) in machine.left.items():
            self.columns.setdefault((tag, after), []).append((state, target, cut))
        self.valid = {symbol: _bits(s for s, _, _ in column) for symbol, column in self.columns.items()}
        # states that a character of this tag can leave behind
        self.image = [0] * machine.tag_count
        for (_, tag, _), (target, _) in machine.left.items():
            self.image[tag] |= 1 << target
        self.left_sets: list[int] = []
        self.right_sets: list[int] = []
        self.symbol_sets: list[frozenset[tuple[int, int]]] = []

    def run(self) -> Predicates:
        kept = self.machine.kept
        starts = self.terms(
            {symbol: _bits(s for s, to, cut in column if cut and kept[to]) for symbol, column in self.columns.items()}
        )
        stops = None
        if self.machine.removes:
            stops = self.terms(
                {symbol: _bits(s for s, _, cut in column if cut and kept[s]) for symbol, column in self.columns.items()}
            )
        left: list[LeftPredicate] = []
        while len(left) < len(self.left_sets):
            wanted = self.left_sets[len(left)]
            left.append(
                LeftPredicate(
                    self.terms(
                        {
                            symbol: _bits(s for s, target, _ in column if wanted >> target & 1)
                            for symbol, column in self.columns.items()
                        }
                    ),
                    bool(wanted >> START & 1),
                )
            )
        right: list[RightPredicate] = []
        while len(right) < len(self.right_sets):
            wanted = self.right_sets[len(right)]
            right.append(RightPredicate(self.right_contexts(wanted)))
        return Predicates(self.machine.tag_count, starts, stops, tuple(left), tuple(right), tuple(self.right_sets))

    def terms(self, wants: dict[tuple[int, int], int]) -> tuple[Term, ...]:
        """Group the symbols whose wanted sets agree; each group becomes a term."""
        groups: list[_Group] = []
        for tag in range(self.machine.tag_count):
            # first the right states behind one tag, so that no right context is asked for without need
            own: list[_Group] = []
            for after in range(self.machine.right_count):
                symbol = (tag, after)
                if symbol not in wants:
                    continue
                valid, want = self.valid[symbol], wants[symbol]
                for group in own:
                    if group.agrees(valid, want):
                        group.take([symbol], valid, want)
                        break
                else:
                    own.append(_Group([symbol], valid, want))
            for part in own:
                # constant groups only join constant groups: a term without a predicate is the cheapest
                for group in groups:
                    if _kind(group) == _kind(part) and group.agrees(part.valid, part.want):
                        group.take(part.symbols, part.valid, part.want)
                        break
                else:
                    groups.append(part)
        terms = []
        for group in sorted(groups, key=lambda g: (_kind(g) == 2, min(g.symbols))):
            if group.want == 0:
                continue
            if group.want == group.valid:
                symbols = self.symbol_set(frozenset(group.symbols), frozenset(group.symbols))
                terms.append(Term(self.contexts(symbols), ALWAYS))
            else:
                before, negate = self.left_predicate(group.valid, group.want)
                states = ~self.left_sets[before] if negate else self.left_sets[before]
                allowed = frozenset(s for s, want in wants.items() if states & self.valid[s] & ~want == 0)
                needed = frozenset(s for s in group.symbols if wants[s])
                terms.append(Term(self.contexts(self.symbol_set(needed, allowed)), before, negate))
        return tuple(terms)

    def symbol_set(
        self, needed: frozenset[tuple[int, int]], allowed: frozenset[tuple[int, int]]
    ) -> list[tuple[int, int]]:
        """A set between the two: one that another term uses (or its complement), or a new one.

        A term may also hold where another term of its predicate holds anyway, or where the state before is never in the set
        it asks for. So sets that differ there only can be the same.
        """
        for known in self.symbol_sets:
            if needed <= known <= allowed:
                return sorted(known)
        every = frozenset(self.columns)
        for known in self.symbol_sets:
            if needed <= every - known <= allowed:
                return sorted(every - known)
        self.symbol_sets.append(needed)
        return sorted(needed)

    def left_predicate(self, valid: int, want: int) -> tuple[int, bool]:
        """A predicate that equals `want` on `valid`: a known one, the negation of a known one, or a new one."""
        for index, known in enumerate(self.left_sets):
            if known & valid == want:
                return index, False
        for index, known in enumerate(self.left_sets):
            if ~known & valid == want:
                return index, True
        if len(self.left_sets) == MAX_PREDICATES:
            raise CompileError(f"the pattern needs more than {MAX_PREDICATES} left streams")
        self.left_sets.append(self.extend(want, valid))
        return len(self.left_sets) - 1, False

    def extend(self, want: int, valid: int) -> int:
        """Add states that do not matter where that makes the set depend on the last tag alone."""
        for image in self.image:
            if image & valid and image & valid & ~want == 0:
                want |= image & ~valid
        return want

    def contexts(self, symbols: list[tuple[int, int]]) -> tuple[Context, ...]:
        """`symbols` as an OR of (tag set, right predicate), tags with the same right states together."""
        by_tag: dict[int, int] = {}
        for tag, after in symbols:
            by_tag[tag] = by_tag.get(tag, 0) | 1 << after
        by_right: dict[int, list[int]] = {}
        for tag, rights in by_tag.items():
            by_right.setdefault(rights, []).append(tag)
        return self.grouped(by_right)

    def grouped(self, by_right: dict[int, list[int]]) -> tuple[Context, ...]:
        """`{right states: tags}` as contexts, in the order of the tags."""
        ordered = sorted(by_right.items(), key=lambda item: min(item[1]))
        return tuple(Context(frozenset(tags), *self.right_predicate(rights)) for rights, tags in ordered)

    def right_predicate(self, wanted: int) -> tuple[int, bool]:
        """Index and negation; of a set and its complement, the one without the end of the text is kept."""
        if wanted == self.all_right:
            return ALWAYS, False
        negate = bool(wanted & 1)
        if negate:
            wanted ^= self.all_right
        if wanted not in self.right_sets:
            if len(self.right_sets) == MAX_PREDICATES:
                raise CompileError(f"the pattern needs more than {MAX_PREDICATES} right streams")
            self.right_sets.append(wanted)
        return self.right_sets.index(wanted), negate

    def right_contexts(self, wanted: int) -> tuple[Context, ...]:
        """Q of `wanted`: for every tag, the right states after it that lead into the set."""
        by_right: dict[int, list[int]] = {}
        for tag, row in enumerate(self.machine.right):
            rights = _bits(after for after, before in enumerate(row) if wanted >> before & 1)
            if rights:
                by_right.setdefault(rights, []).append(tag)
        return self.grouped(by_right)


def _bits(values: Iterable[int]) -> int:
    result = 0
    for value in values:
        result |= 1 << value
    return result


def _kind(group: _Group) -> int:
    """0: never, 1: always, 2: depends on the state before."""
    return 0 if group.want == 0 else 1 if group.want == group.valid else 2
