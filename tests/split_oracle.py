"""Chains of split steps by three readings: `gigatok_runtime`'s Splitters, the engine, and a composed bimachine walked plainly."""

from __future__ import annotations

import itertools
import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

import regex
from gigatok_compile.bitstream.compose import compose
from gigatok_compile.bitstream.reduce import reduce_bimachine
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.definition import Behavior, Dialect, SplitStep
from gigatok_compile.ir.tags import Tag
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import coarsest_partition
from gigatok_compile.verify.expand import to_regex_package
from gigatok_runtime.splitting import Splitter

Spans = list[tuple[int, int]]
Alphabet = Sequence[CodeSet]

BEHAVIORS: tuple[Behavior, ...] = ("Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous")


def split_step(
    pattern: str,
    behavior: Behavior = "Isolated",
    invert: bool = False,
    dialect: Dialect = "oniguruma",
    is_regex: bool = True,
) -> SplitStep:
    return SplitStep(pattern, dialect, "test", behavior, invert, is_regex)


def splitter_of(step: SplitStep) -> Splitter:
    """Raises Unsupported for what the `regex` package cannot say."""
    pattern = (
        to_regex_package(parse_pattern(step.pattern, step.dialect, "test"))
        if step.is_regex
        else regex.escape(step.pattern)
    )
    return Splitter(pattern, step.behavior, step.invert)


def chain_of(steps: Sequence[SplitStep]) -> Callable[[str], Spans]:
    """The steps one after another, each over the pieces of the one before."""
    splitters = [splitter_of(step) for step in steps]

    def run(text: str) -> Spans:
        spans = [(0, len(text))] if text else []
        for splitter in splitters:
            spans = [(a + start, a + end) for a, b in spans for start, end in splitter.spans(text[a:b])]
        return spans

    return run


def engine_of(steps: Sequence[SplitStep]) -> Callable[[str], Spans]:
    """The same by tokenizers 0.23.3, for steps in Oniguruma's dialect. Raises ValueError for a pattern that it refuses."""
    from tokenizers import Regex, pre_tokenizers

    names = {"MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next"}
    splits = []
    for step in steps:
        try:
            pattern = Regex(step.pattern) if step.is_regex else step.pattern
        except Exception as error:
            raise ValueError(str(error)) from error
        splits.append(pre_tokenizers.Split(pattern, names.get(step.behavior, step.behavior.lower()), step.invert))
    sequence = pre_tokenizers.Sequence(splits)

    def run(text: str) -> Spans:
        spans: Spans = [span for _, span in sequence.pre_tokenize_str(text)]
        return [(start, end) for start, end in spans if start < end]

    return run


def machine_pieces(machine: Bimachine, columns: Sequence[int]) -> Spans:
    """One pass from the right, one from the left."""
    after = [0]
    for column in reversed(columns):
        after.append(machine.right[column][after[-1]])
    after.reverse()
    found: Spans = []
    state, start = START, None
    for position, column in enumerate(columns):
        target, cut = machine.left[state, column, after[position + 1]]
        if cut:
            if start is not None and machine.kept[state]:
                found.append((start, position))
            start = position if machine.kept[target] else None
        state = target
    if start is not None:
        found.append((start, len(columns)))
    return found


def sets_of(alphabet: Sequence[Tag]) -> list[CodeSet]:
    return [CodeSet(tag.ranges) for tag in alphabet]


def columns_reader(alphabet: Alphabet) -> Callable[[str], list[int]]:
    """Text to columns."""
    ranges = sorted((low, number) for number, code_set in enumerate(alphabet) for low, _ in code_set.ranges)
    lows = [low for low, _ in ranges]
    return lambda text: [ranges[bisect_right(lows, ord(char)) - 1][1] for char in text]


def letters_of(alphabet: Alphabet) -> list[str]:
    """One character of every column."""
    return [chr(code_set.ranges[0][0]) for code_set in alphabet]


def all_texts(letters: Sequence[str], limit: int) -> Iterator[str]:
    """Every string, shorter ones first, of each length that has at most `limit` of them (and at most nine)."""
    length = 0
    while len(letters) ** length <= limit and length < 10:
        yield from map("".join, itertools.product(letters, repeat=length))
        length += 1


def random_texts(letters: Sequence[str], count: int, chooser: random.Random, longest: int = 30) -> Iterator[str]:
    """Over a few of the letters each."""
    for _ in range(count):
        few = chooser.sample(letters, chooser.randint(1, min(len(letters), 5)))
        yield "".join(chooser.choices(few, k=chooser.randint(1, longest)))


def then(
    first: tuple[Bimachine, Alphabet], second: tuple[Bimachine, Alphabet], reduced: bool = True
) -> tuple[Bimachine, Alphabet]:
    """Both machines as one, over the cells that their alphabets make together."""
    (one, sets_one), (two, sets_two) = first, second
    pairs, sets = [], []
    for mask, ranges in coarsest_partition([*sets_one, *sets_two]):
        low, high = (number for number in range(len(sets_one) + len(sets_two)) if mask >> number & 1)
        pairs.append((low, high - len(sets_one)))
        sets.append(CodeSet(ranges))
    machine = compose(one, two, pairs)
    if not reduced:
        return machine, sets
    machine, column_of = reduce_bimachine(machine)
    merged = [
        CodeSet.of(r for old, new in enumerate(column_of) if new == column for r in sets[old].ranges)
        for column in range(machine.tag_count)
    ]
    return machine, merged


def covering_texts(machine: Bimachine, letters: Sequence[str], chooser: random.Random, each: int = 2) -> Iterator[str]:
    """For every transition of the left side texts that take it: a shortest way there, then some way on to the end."""
    before: list[list[tuple[int, int]]] = [[] for _ in range(machine.right_count)]  # (column, state after) by state
    for column, row in enumerate(machine.right):
        for after, state in enumerate(row):
            before[state].append((column, after))
    endings = {0: ""}
    work = [0]
    for after in work:  # grows while we walk it
        for column, row in enumerate(machine.right):
            if row[after] not in endings:
                endings[row[after]] = letters[column] + endings[after]
                work.append(row[after])

    def ending(state: int, steps: int) -> str:
        text = ""
        for _ in range(steps):
            if not before[state]:
                break
            column, state = chooser.choice(before[state])
            text += letters[column]
        return text + endings[state]

    ways = {(START, state): "" for state in range(machine.right_count)}
    places = list(ways)
    for state, here in places:  # grows while we walk it
        way = ways[state, here]
        for column, after in before[here]:
            target, _ = machine.left[state, column, after]
            if (target, after) not in ways:
                ways[target, after] = way + letters[column]
                places.append((target, after))
            for steps in range(each):
                yield way + letters[column] + ending(after, steps * 3)
