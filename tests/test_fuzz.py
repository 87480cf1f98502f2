"""Random patterns of all that is supported, and random chains of steps, compiled and compared with the `regex` package and
with the engines on random text. Whatever tier they reach, the splits are equal.

GIGATOK_FUZZ_SECONDS=600 runs for that long on examples that differ each time (docs/testing.md).
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from gigatok_compile.automaton.interpret import split_automaton, split_program
from gigatok_compile.bitstream.interpret import pieces
from gigatok_compile.errors import CompileError, PatternError, Unsupported
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.definition import Dialect, SplitStep
from gigatok_compile.ir.tags import Tag
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.split_plan import compile_split, plan_steps
from gigatok_compile.unicode.engine import split
from gigatok_runtime.splitting import Splitter
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from patterns import CHARACTERS, patterns, steps, texts
from split_oracle import (
    Spans,
    all_texts,
    chain_of,
    columns_reader,
    engine_of,
    letters_of,
    machine_pieces,
    sets_of,
    split_step,
    splitter_of,
)

SECONDS = float(os.environ.get("GIGATOK_FUZZ_SECONDS", "0"))
SEEDS = st.integers(0, 2**32)
STRICTER = re.compile("(?i)target of repeat|undefined name|invalid group name|invalid back ?ref")
"""The engines refuse to repeat a look-around, even in a group, and names before their group."""

reached: Counter[str] = Counter()
Split = Callable[[str], Spans]


def same(what: str, subject: Split, oracle: Split, over: Sequence[str], shown: object) -> None:
    """Compare on every text; a difference is reported for the shortest text that a few cuts lead to."""
    for text in over:
        if subject(text) == oracle(text):
            continue
        at = 0
        while at < len(text):
            shorter = text[:at] + text[at + 1 :]
            if subject(shorter) != oracle(shorter):
                text = shorter
            else:
                at += 1
        raise AssertionError(f"{what} of {shown} on {text!r}: {subject(text)}, not {oracle(text)}")


def texts_for(alphabet: Sequence[Tag] | None, text_seed: int, count: int) -> list[str]:
    letters = letters_of(sets_of(alphabet)) if alphabet else CHARACTERS
    few = letters if len(letters) <= 6 else letters[text_seed % (len(letters) - 5) :][:6]
    return [*all_texts(few, 50), *texts(letters, text_seed, count)]


def by_machine(machine: Bimachine, alphabet: Sequence[Tag]) -> Split:
    columns_of = columns_reader(sets_of(alphabet))
    return lambda text: machine_pieces(machine, columns_of(text))


def by_bits(bits: BitProgram, alphabet: Sequence[Tag]) -> Split:
    columns_of = columns_reader(sets_of(alphabet))
    return lambda text: pieces(bits, columns_of(text))


def empty_at(splitter: Splitter, text: str, at: int) -> bool:
    match = splitter.compiled.match(text, at)
    return match is not None and match.end() == at


def check_pattern(pattern: str, dialect: Dialect, text_seed: int, engine: bool = True, count: int = 15) -> None:
    """One step: the plain interpreter, the automaton, the machine, the bit program, the `regex` package, the engine."""
    step = split_step(pattern, dialect=dialect)
    parse_pattern(pattern, dialect)
    try:
        engine_split = engine_of([step]) if engine and dialect == "oniguruma" else None
    except ValueError as error:
        assert STRICTER.search(str(error)), (pattern, error)
        return
    try:
        kernel = compile_split(step)
    except CompileError as error:
        assert isinstance(error, Unsupported) or not isinstance(error, PatternError)
        kernel = None
    reached[kernel.tier if kernel else "regex"] += 1
    over = texts_for(kernel.alphabet if kernel else None, text_seed, count)
    try:
        oracle = splitter_of(step)
    except Unsupported:
        assert kernel is None, "what is compiled the package can say, too"
        reached["none"] += 1
        return
    if engine_split is not None:
        same("the regex package", oracle.spans, engine_split, over, pattern)
    elif engine and (kernel is not None or r"\b" not in pattern.lower()):  # that helper cuts texts apart
        clear = [text for text in over if not any(empty_at(oracle, text, at) for at in range(len(text) + 1))]
        try:
            by_engine = split(pattern, dialect, clear)
        except ValueError as error:
            assert STRICTER.search(str(error)), (pattern, error)
            return
        for text, expected in zip(clear, by_engine, strict=True):
            assert oracle.spans(text) == [(start, end) for start, end, _ in expected], (pattern, text)
    if kernel is None:
        return
    for text in over:
        expected = list(oracle._runs(text))
        expected = [run for run in expected if run[0] < run[1]]
        assert split_program(kernel.tags, text) == expected, (pattern, text)
        assert split_automaton(kernel.automaton, kernel.tags, text, kernel.look) == expected, (pattern, text)
    same("machine", by_machine(kernel.machine, kernel.alphabet), oracle.spans, over, pattern)
    if kernel.bits is not None:
        same("bits", by_bits(kernel.bits, kernel.alphabet), oracle.spans, over, pattern)


def check_chain(chain: list[SplitStep], text_seed: int, count: int = 20) -> None:
    try:
        oracle = chain_of(chain)
    except Unsupported:
        return
    plan = plan_steps(chain)
    kernel = plan.kernel
    reached[f"chain {plan.tier}"] += 1
    over = texts_for(kernel.alphabet if kernel else None, text_seed, count)
    if all(step.dialect == "oniguruma" for step in chain):
        try:
            same("the regex package", oracle, engine_of(chain), over, chain)
        except ValueError:  # see above
            return
    if kernel is not None:
        same("machine", by_machine(kernel.machine, kernel.alphabet), oracle, over, chain)
        if kernel.bits is not None:
            same("bits", by_bits(kernel.bits, kernel.alphabet), oracle, over, chain)


def chains(dialects: Sequence[Dialect], small: bool) -> st.SearchStrategy[list[SplitStep]]:
    return st.sampled_from(dialects).flatmap(lambda dialect: st.lists(steps(dialect, 2, small), min_size=1, max_size=4))


def one(dialect: Dialect, small: bool, engine: bool, count: int) -> st.SearchStrategy[tuple]:  # type: ignore[type-arg]
    depth = 4 if small else 3
    return st.tuples(patterns(dialect, depth, small), st.just(dialect), SEEDS, st.just(engine), st.just(count))


CHECKS = {
    "oniguruma": (one("oniguruma", False, True, 15), check_pattern),
    "oniguruma, few characters": (one("oniguruma", True, True, 10), check_pattern),
    "fancy": (one("fancy", False, False, 15), check_pattern),
    "fancy, few characters": (one("fancy", True, False, 10), check_pattern),
    "tiktoken": (one("fancy", False, True, 5), check_pattern),
    "tiktoken, few characters": (one("fancy", True, True, 5), check_pattern),
    "chains": (st.tuples(chains(["oniguruma", "fancy"], False), SEEDS), check_chain),
    "chains, few characters": (st.tuples(chains(["oniguruma"], True), SEEDS), check_chain),
}
EXAMPLES = {"oniguruma": 300, "fancy": 250, "tiktoken": 150, "chains": 200}
EXAMPLES |= {f"{name}, few characters": 2 * count for name, count in EXAMPLES.items()}


def fuzz(name: str, max_examples: int, first_seed: int | None = None) -> None:
    strategy, check = CHECKS[name]

    @given(strategy)
    def example(arguments) -> None:  # type: ignore[no-untyped-def]
        check(*arguments)

    chosen = settings(max_examples=max_examples, suppress_health_check=list(HealthCheck), report_multiple_bugs=False)
    if first_seed is not None:
        chosen, example = settings(chosen, derandomize=False), seed(first_seed)(example)
    chosen(example)()


@pytest.mark.parametrize("name", CHECKS)
def test_random_patterns_are_split_as_by_the_regex_package_and_the_engine(name: str) -> None:
    before = Counter(reached)
    fuzz(name, EXAMPLES[name])
    tiers = reached - before
    assert tiers.total() >= EXAMPLES[name] // 2, "the engine refuses too many"
    assert tiers["bitstream"] + tiers["chain bitstream"] >= tiers.total() // 3, tiers


@pytest.mark.skipif(not SECONDS, reason="a long run on demand: GIGATOK_FUZZ_SECONDS")
def test_for_as_long_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Rounds of each kind in turn, every one with a seed of its own."""
    end = time.monotonic() + SECONDS
    first = time.time_ns() % 2**32
    for number in itertools.count():
        if time.monotonic() > end:
            break
        fuzz(list(CHECKS)[number % len(CHECKS)], 150, first + number)
    with capsys.disabled():
        print(f"\nseeds {first} to {first + number - 1}: {dict(reached)}")


# ------------------------------------------------------------------ what it found


@pytest.mark.parametrize(
    ("pattern", "dialects"),
    [
        (r"\1([ab])", 1),  # a group that is not set yet; it was compiled as if it were
        (r"(?:\1|c)([ab])\1", 2),
        (r"(?:(?:\1)*([ab]))+", 2),
        (r"([ab])\1(?:\1|c)", 2),
        (r"(?<n>[ab])(?<n>[cd])\k<n>", 1),  # two groups of a name; the last was compiled as the first
        (r"(?:(?=[^\n]a)[^\n]{0,2}){2}", 2),  # a counted repeat that may be empty: the package has other rules
        (r"(?:(?:ab|a)??){1,3}b", 2),
        (r"(?:(?=.a).{0,2}){2,}b", 2),
        (r"([a&&b])\1", 2),
    ],
)
def test_found(pattern: str, dialects: int) -> None:
    for dialect in ("oniguruma", "fancy")[:dialects]:
        check_pattern(pattern, dialect, 1, count=60)  # type: ignore[arg-type]


@pytest.mark.parametrize("pattern", [r"\1([ab])", r"(?:\1|c)([ab])\1", r"(?<n>[ab])(?<n>[cd])\k<n>"])
def test_back_references_to_what_is_not_known_are_not_compiled(pattern: str) -> None:
    with pytest.raises(Unsupported, match="back-reference"):
        compile_split(split_step(pattern))


@pytest.mark.parametrize("pattern", ["(?:a?){2}", "(?:(?=a)|b){1,3}", r"(a?)(?:\1){2}", "(?:$){2,}"])
def test_counted_repeats_of_what_can_be_empty_are_not_said_to_the_package(pattern: str) -> None:
    with pytest.raises(Unsupported, match="counted repeat"):
        splitter_of(split_step(pattern))
    splitter_of(split_step(pattern.replace("{2}", "*").replace("{1,3}", "+").replace("{2,}", "*")))


@pytest.mark.parametrize("pattern", [".*a.{9}b", r"(\h)(?:(\h)K(?:\1)){1,3}(?:\1)", r"(\h)(\h)(\h)(\h)\1\2\3\4"])
def test_patterns_that_grow_beyond_bounds_are_given_up_soon(pattern: str) -> None:
    before = time.perf_counter()
    with pytest.raises(CompileError):
        compile_split(split_step(pattern))
    assert time.perf_counter() - before < 60


# ------------------------------------------------------------------ the comparison can fail


def test_a_wrong_machine_is_noticed() -> None:
    """One cut more or less in the machine of a random pattern, on the texts that a round compares."""
    noticed: list[bool] = []

    @settings(max_examples=60, suppress_health_check=list(HealthCheck), database=None)
    @given(patterns("oniguruma", 3, True), SEEDS)
    def example(pattern: str, number: int) -> None:
        try:
            kernel = compile_split(split_step(pattern))
        except CompileError:
            return
        keys = sorted(key for key in kernel.machine.left if key[0] != START)
        key = keys[number % len(keys)]
        target, cut = kernel.machine.left[key]
        wrong = dataclasses.replace(kernel.machine, left={**kernel.machine.left, key: (target, not cut)})
        right, other = (by_machine(machine, kernel.alphabet) for machine in (kernel.machine, wrong))
        noticed.append(any(right(text) != other(text) for text in texts_for(kernel.alphabet, number, 10)))

    example()
    assert sum(noticed) >= 0.6 * len(noticed) and len(noticed) > 25, (sum(noticed), len(noticed))
