"""Steps as one machine: behaviors, look-ahead of any length, empty matches and removed text, composed and reduced, against a
chain of `gigatok_runtime`'s Splitters (which `test_fuzz.py` compares with the engine)."""

from __future__ import annotations

import dataclasses
import functools
import random
from collections.abc import Callable, Sequence

import pytest
from gigatok_compile.automaton.determinise import boundary_automaton
from gigatok_compile.bitstream.bimachine import build_bimachine
from gigatok_compile.bitstream.interpret import pieces
from gigatok_compile.bitstream.reduce import reduce_bimachine
from gigatok_compile.errors import PatternError
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.bits import And, BitProgram, Class, Cycle, Link, Not, Or, Plain, Run
from gigatok_compile.ir.definition import ByteLevelStep, SplitStep
from gigatok_compile.ir.split import SplitKernel
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import partition
from gigatok_compile.split_plan import compile_split, plan_steps
from split_oracle import (
    BEHAVIORS,
    Spans,
    all_texts,
    chain_of,
    columns_reader,
    covering_texts,
    engine_of,
    letters_of,
    machine_pieces,
    random_texts,
    sets_of,
    split_step,
    then,
)

GPT2 = load_grammar("gpt2").pattern
LLAMA3 = load_grammar("llama3").pattern
GROUPS_OF_THREE = r"(?=(\d{3})+(?!\d))"
BRACES = r"[\(\)]|([!#,])\1*"

s = split_step
CHAINS: dict[str, list[SplitStep]] = {
    "one digit, then gpt2": [s(r"\p{N}"), s(GPT2)],
    "digits, then groups of three from the right": [s(r"\p{N}+"), s(GROUPS_OF_THREE)],
    "groups of three, then gpt2": [s(r"\p{N}+"), s(GROUPS_OF_THREE), s(GPT2)],
    "look-ahead to a word boundary": [s(r"\d{1,3}(?=(?:\d{3})*\b)"), s(LLAMA3)],
    "two words, one of them looked at": [s(r"\w+(?= \w+\n)|.")],
    "look-ahead in look-ahead": [s(r"a(?=b(?!c(?=a+b)))|b")],
    "look-ahead to the end": [s(r"a(?!.*b$)|\n", "MergedWithPrevious"), s("b(?=.+c)", "MergedWithNext")],
    "blanks removed": [s(r"\s+", "Removed"), s(r"\p{P}")],
    "words kept": [s(r"\w+|[^\w\s]+", "Removed", True)],
    "words kept, then cut": [s(r"\w+|[^\w\s]+", "Removed", True), s(r"\d", "Contiguous"), s(r"_", "MergedWithNext")],
    "removed, then removed": [s("ab", "Removed"), s("ba", "Removed"), s("c", "Removed")],
    "all removed": [s(r"\O", "Removed"), s("a")],
    "the second removes all": [s("a|b"), s(r"\O+", "Removed")],
    "removed until the end": [s(r"a[^b]*(?:b|\z)", "Removed"), s("c+")],
    "after each space": [s(" ", "MergedWithPrevious"), s(r"\d+")],
    "before each blank": [s("[ _]", "MergedWithNext")],
    "runs of digits": [s(r"\d", "Contiguous")],
    "runs, then removed, then llama3": [s(r"\d|a", "Contiguous"), s("a", "Removed"), s(LLAMA3)],
    "inverted, to the previous": [s(r"\d|a", "MergedWithPrevious", True)],
    "inverted, to the next, then removed": [s(r"\d|a", "MergedWithNext", True), s("b$", "Removed")],
    "literals and repeated characters": [
        s("SPL", "Removed", is_regex=False),
        s(r"\d"),
        s(BRACES),
        s(r"\n"),
        s(GPT2),
    ],
    "deepseek": [s(pattern) for pattern in load_grammar("deepseek-v3").patterns],
    "falcon": [s(r"[\p{P}\$\+<=>\^~\|`]+", "Contiguous"), s(GPT2), s(r"\d+", "Contiguous"), s("[0-9][0-9][0-9]")],
    "empty before a, or b": [s("(?=a)|b+|")],
    "empty matches, then removed": [s("a?(?=b)", "MergedWithNext"), s("c*", "Removed")],
    "empty everywhere, then joined": [s(""), s("a", "Contiguous")],
    "empty at ends of lines": [s("$"), s("(?!a)", "MergedWithPrevious"), s("a+b")],
    "lines, then qwen": [s(r"[^\n]+|[\n]+"), s(load_grammar("qwen").pattern)],
    "word boundaries": [s(r"\d+\b|\w+?\b|a\B")],
    "the second sees pieces as texts": [s("a|b"), s(r"a\z|b$|c(?!.)")],
    "the second looks past what the first cuts": [s("ab|c"), s("a(?=bc)|b(?=c)|c(?=a)")],
    "lazy, then greedy": [s("a[^b]*?b", "MergedWithNext"), s("[ab]+?c|c+")],
    "atomic": [s("(?>a+)b|a"), s("b++c?")],
    "both dialects": [s("a++b|a{1,2}+", dialect="fancy"), s("a{1,2}+|b", "Contiguous")],
    "four steps of all kinds": [
        s("a", "MergedWithPrevious"),
        s("b", "MergedWithNext", True),
        s("ab|c", "Contiguous"),
        s("c(?=a)", "Removed", True),
    ],
    "literal, inverted": [s("aba", "Removed", True, is_regex=False), s("b", "MergedWithPrevious")],
}


def kernel_of(steps: Sequence[SplitStep]) -> SplitKernel:
    return _kernel_of(tuple(steps))


@functools.cache
def _kernel_of(steps: tuple[SplitStep, ...]) -> SplitKernel:
    plan = plan_steps(steps)
    assert plan.kernel is not None, plan.reason
    return plan.kernel


def texts_for(letters: Sequence[str], short: int = 1500, others: int = 600) -> list[str]:
    return [*all_texts(letters, short), *random_texts(letters, others, random.Random(1))]


def texts_of(kernel: SplitKernel, each: int = 2) -> list[str]:
    """Short ones, random ones, some for every transition of the machine, and one of many pieces."""
    letters = letters_of(sets_of(kernel.alphabet))
    covering = covering_texts(kernel.machine, letters, random.Random(4), each)
    return [*texts_for(letters), *covering, "".join(random.Random(5).choices(letters, k=1500))]


def check(kernel: SplitKernel, oracle: Callable[[str], Spans], texts: Sequence[str]) -> None:
    columns_of = columns_reader(sets_of(kernel.alphabet))
    for text in texts:
        expected, columns = oracle(text), columns_of(text)
        assert machine_pieces(kernel.machine, columns) == expected, text
        if kernel.bits is not None:
            assert pieces(kernel.bits, columns) == expected, text


@pytest.mark.parametrize("name", CHAINS)
def test_steps_as_one_machine_are_the_steps_one_after_another(name: str) -> None:
    kernel = kernel_of(CHAINS[name])
    assert kernel.bits is not None, kernel.reason
    check(kernel, chain_of(CHAINS[name]), texts_of(kernel))


@pytest.mark.parametrize("name", [name for name in CHAINS if name != "both dialects"])
def test_steps_as_one_machine_are_what_the_engine_does(name: str) -> None:
    steps = CHAINS[name]
    kernel = kernel_of(steps)
    check(kernel, engine_of(steps), texts_for(letters_of(sets_of(kernel.alphabet)), 200, 150))


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("invert", [False, True])
@pytest.mark.parametrize("pattern", ["a", "a+", "a|b", "ab?", "a*", "(?=a)|b", "a(?=a*b)|b", "$", "", r"\O", "(?!)"])
def test_behaviors(pattern: str, behavior, invert: bool) -> None:  # type: ignore[no-untyped-def]
    """Alone, and before and after a step that cuts elsewhere."""
    step = split_step(pattern, behavior, invert)
    for steps in ([step], [split_step("b+"), step], [step, split_step("b|aa")]):
        kernel = kernel_of(steps)
        texts = [*all_texts("ab\n", 250), *all_texts("abc", 90)]
        check(kernel, chain_of(steps), texts)
        engine = engine_of(steps)
        assert all(chain_of(steps)(text) == engine(text) for text in texts[:130])


# ------------------------------------------------------------------ shipped grammars


GRAMMARS = [name for name in grammar_names() if name != "falcon"]  # reads bytes: test_bytes_mode.py


def split_steps(name: str) -> list[SplitStep]:
    return [step for step in load_grammar(name).steps if isinstance(step, SplitStep)]


@pytest.mark.parametrize("name", [name for name in GRAMMARS if split_steps(name)])
def test_grammars(name: str) -> None:
    steps = split_steps(name)
    kernel, oracle = kernel_of(steps), chain_of(steps)
    examples = [example.text for example in load_grammar(name).examples]
    letters = sorted({chr(c) for tag in kernel.alphabet for r in (tag.ranges[0], tag.ranges[-1]) for c in r})
    check(kernel, oracle, [*examples, *random_texts(letters, 200, random.Random(2), 40)])
    if kernel.machine.left_count <= 100:
        covering = covering_texts(kernel.machine, letters_of(sets_of(kernel.alphabet)), random.Random(4), 1)
        check(kernel, oracle, list(covering))


def test_grammars_give_their_examples() -> None:
    """Where no step puts characters in."""
    compared = 0
    for name in GRAMMARS:
        others = [step for step in load_grammar(name).steps if not isinstance(step, SplitStep)]
        if not split_steps(name) or any(not isinstance(o, ByteLevelStep) or o.add_prefix_space for o in others):
            continue
        kernel = kernel_of(split_steps(name))
        columns_of = columns_reader(sets_of(kernel.alphabet))
        for example in load_grammar(name).examples:
            spans = machine_pieces(kernel.machine, columns_of(example.text))
            if load_grammar(name).dialect != "fancy":
                assert [example.text[a:b] for a, b in spans] == list(example.pieces), (name, example.text)
                compared += 1
    assert compared > 100


# ------------------------------------------------------------------ reduction, and the order of composition


@pytest.mark.parametrize("name", CHAINS)
def test_reduction_changes_nothing_that_can_be_seen(name: str) -> None:
    steps = [compile_split(step) for step in CHAINS[name]]
    whole = (steps[0].machine, sets_of(steps[0].alphabet))
    for step in steps[1:]:
        whole = then(whole, (step.machine, sets_of(step.alphabet)), reduced=False)
    machine, sets = whole
    small, column_of = reduce_bimachine(machine)
    assert small.left_count <= machine.left_count and small.right_count <= machine.right_count
    again, same = reduce_bimachine(small)
    assert (again, same) == (small, tuple(range(small.tag_count)))
    columns_in = columns_reader(sets)
    for text in texts_for(letters_of(sets), 300, 300):
        columns = columns_in(text)
        assert machine_pieces(small, [column_of[c] for c in columns]) == machine_pieces(machine, columns), text


@pytest.mark.parametrize("pattern", ["a*b|c", "(?=a+b)|b+c", GPT2, LLAMA3])
@pytest.mark.parametrize("behavior", BEHAVIORS)
def test_reduction_of_one_step(pattern: str, behavior) -> None:  # type: ignore[no-untyped-def]
    tags = partition(parse_pattern(pattern, "oniguruma"))
    look, automaton = boundary_automaton(tags)
    machine = build_bimachine(automaton, look, behavior)
    small, column_of = reduce_bimachine(machine)
    columns_of = columns_reader(sets_of(tags.tags))
    for text in texts_for(letters_of(sets_of(tags.tags)), 600, 300):
        columns = columns_of(text)
        assert machine_pieces(small, [column_of[c] for c in columns]) == machine_pieces(machine, columns), text


@pytest.mark.parametrize("name", [name for name, steps in CHAINS.items() if len(steps) >= 3])
def test_steps_may_be_composed_in_any_grouping(name: str) -> None:
    """(a b) c and a (b c), and four or more from the right."""
    kernel = kernel_of(CHAINS[name])
    parts = [(step.machine, sets_of(step.alphabet)) for step in kernel.steps]
    machine, sets = functools.reduce(lambda second, first: then(first, second), reversed(parts))
    of_kernel, of_other = columns_reader(sets_of(kernel.alphabet)), columns_reader(sets)
    for text in texts_for(letters_of(sets), 400, 500):
        assert machine_pieces(machine, of_other(text)) == machine_pieces(kernel.machine, of_kernel(text)), text


# ------------------------------------------------------------------ the comparison can fail


def altered_machines(machine: Bimachine) -> list[Bimachine]:
    """With one cut more or less where it can be seen."""
    found = []
    for key, (target, cut) in machine.left.items():
        if key[0] != START and (machine.kept[key[0]] or machine.kept[target]):
            found.append(dataclasses.replace(machine, left={**machine.left, key: (target, not cut)}))
    return found


def misled_machines(machine: Bimachine) -> list[Bimachine]:
    """With one move to another state; what follows may be the same from there, so not all can be told apart."""
    found = []
    for key, (target, cut) in machine.left.items():
        for other in range(1, machine.left_count):
            if other != target:
                found.append(dataclasses.replace(machine, left={**machine.left, key: (other, cut)}))
    return found


def altered_programs(bits: BitProgram) -> list[BitProgram]:
    """With one thing changed."""
    found = [dataclasses.replace(bits, starts=Not(bits.starts))]
    if bits.stops is not None:
        found += [dataclasses.replace(bits, stops=None), dataclasses.replace(bits, stops=Not(bits.stops))]
    for number, c in enumerate(bits.classes):
        other = dataclasses.replace(c, tags=c.tags ^ {min(c.tags)})
        found.append(dataclasses.replace(bits, classes=(*bits.classes[:number], other, *bits.classes[number + 1 :])))
    for number, expr in enumerate(bits.symbols):
        shorter = type(expr)(expr.items[1:]) if isinstance(expr, And | Or) and expr.items else Or(())
        symbols = (*bits.symbols[:number], shorter, *bits.symbols[number + 1 :])
        found.append(dataclasses.replace(bits, symbols=symbols))
    for side in ("right", "left"):
        steps = getattr(bits, side)
        for number, step in enumerate(steps):
            match step:
                case Plain(stream=stream, expr=expr):
                    other = Plain(stream, Or(()) if expr != Or(()) else Class(0))
                case Run(stream=stream, enter=enter) | Link(stream=stream, enter=enter):
                    other = Plain(stream, enter)
                case Cycle(steps=parts):
                    other = dataclasses.replace(step, steps=(Plain(parts[0].stream, Or(())), *parts[1:]))
            found.append(dataclasses.replace(bits, **{side: (*steps[:number], other, *steps[number + 1 :])}))
    return found


@pytest.mark.parametrize(
    "name",
    [
        "groups of three, then gpt2",
        "words kept, then cut",
        "inverted, to the next, then removed",
        "empty matches, then removed",
        "the second sees pieces as texts",
        "deepseek",
    ],
)
def test_an_altered_machine_or_program_is_caught(name: str) -> None:
    kernel, oracle = kernel_of(CHAINS[name]), chain_of(CHAINS[name])
    assert kernel.bits is not None
    sets = sets_of(kernel.alphabet)
    columns_of = columns_reader(sets)
    cases = [(columns_of(text), oracle(text)) for text in texts_of(kernel, 4)]

    def unnoticed(subject, run) -> bool:  # type: ignore[no-untyped-def]
        try:
            return all(run(subject, columns) == expected for columns, expected in cases)
        except KeyError:  # led to where it cannot be
            return False

    def few(machines: list[Bimachine]) -> list[Bimachine]:
        return random.Random(3).sample(machines, min(60, len(machines)))

    assert not any(unnoticed(machine, machine_pieces) for machine in few(altered_machines(kernel.machine)))
    misled = few(misled_machines(kernel.machine))
    assert sum(unnoticed(machine, machine_pieces) for machine in misled) <= len(misled) * 2 // 3
    programs = altered_programs(kernel.bits)
    assert sum(unnoticed(program, pieces) for program in programs) <= len(programs) // 10


def test_too_many_states_run_on_the_regex_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limits of the passes are no reason to refuse a definition; a pattern that does not parse is."""
    monkeypatch.setattr("gigatok_compile.bitstream.bimachine.MAX_STATES", 8)
    plan = plan_steps([SplitStep(r"a{30}|b", "oniguruma", "test")])
    assert plan.kernel is None and plan.tier == plan.steps[0].tier == "regex"
    assert "more than 8 states" in plan.reason
    with pytest.raises(PatternError):
        plan_steps([SplitStep("(", "oniguruma", "test")])
