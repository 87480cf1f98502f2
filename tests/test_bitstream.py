"""Bimachine and bit program: the piece starts that the automaton gives, on all short strings, all short windows, and
generated ones; and nothing but the pattern's meaning shows in the kernel and its tables."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from gigatok_compile.automaton.interpret import split_automaton, split_program, tags_of_text
from gigatok_compile.bitstream.interpret import piece_starts
from gigatok_compile.emit.boundary import render_boundary
from gigatok_compile.emit.module import kernel_tables
from gigatok_compile.emit.tag_tables import check_kernel_limits
from gigatok_compile.errors import Unsupported
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.bits import And, BitProgram, Cycle, Link, Not, Or, Plain, Run
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.split import StepKernel
from gigatok_compile.split_plan import compile_split, compose_steps
from gigatok_compile.verify.texts import de_bruijn
from hypothesis import example, given, settings
from hypothesis import strategies as st

FOLDED = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = load_grammar("llama3").pattern
OLMO = load_grammar("cl100k_hf").pattern

# name -> (pattern, dialect)
PATTERNS: dict[str, tuple[str, str]] = {
    **{
        name: (load_grammar(name).pattern, load_grammar(name).dialect)
        for name in ("gpt2", "r50k", "cl100k", "llama3", "qwen", "o200k", "tekken", "kimi")
    },
    "qwen3.5": (load_grammar("qwen3.6").pattern, "oniguruma"),
    "olmo2": (OLMO, "oniguruma"),
    "digits in pairs": (LLAMA3.replace("{1,3}", "{1,2}"), "oniguruma"),
    "digits in any number": (LLAMA3.replace("{1,3}", "+"), "oniguruma"),
    "nanochat": (LLAMA3.replace(FOLDED, r"'(?i:[sdmt]|ll|ve|re)").replace("{1,3}", "{1,2}"), "oniguruma"),
    "with gaps": (r"\p{L}+|\d", "oniguruma"),
    "gaps after long matches": (r"a[bc]*d|\d{2}", "oniguruma"),
    "lazy": (r"\p{L}+?\d|\p{L}{2,}?|\s+?\n|.", "oniguruma"),
    "lazy, then greedy": (r"'[^']*?'|\w+|.|\n", "oniguruma"),
    "at the end of the text": (r"\s+$|\p{L}+(?=\s|$)|\s|\S", "oniguruma"),
    "possessive": (r"\s++$|\p{N}{1,3}+|\p{L}++\d|.|\n", "fancy"),
    "one character": (r"(?m:.)", "oniguruma"),
    "the whole text": (r"(?s:.)+", "fancy"),
    "counting to seven": (r"a{7}|a{1,3}|[^a]+", "oniguruma"),
    "two counts": (r"a{2}|b{3}|(?:ab){2}|.|\n", "oniguruma"),
}

SAME_MEANING = [{"gpt2", "r50k"}, {"llama3", "olmo2"}, {"digits in pairs", "nanochat"}]


@functools.cache
def kernel_of(pattern: str, dialect: str = "oniguruma") -> StepKernel:
    return compile_split(SplitStep(pattern, dialect, "test"))  # type: ignore[arg-type]


def bits_of(kernel: StepKernel) -> BitProgram:
    assert kernel.bits is not None
    return kernel.bits


def machine_of(kernel: StepKernel) -> Bimachine:
    return kernel.machine


def letters_of(kernel: StepKernel) -> list[str]:
    """One character of every column."""
    return [chr(tag.ranges[0][0]) for tag in kernel.alphabet]


def text_of(kernel: StepKernel, columns: Sequence[int]) -> str:
    letters = letters_of(kernel)
    return "".join(letters[column] for column in columns)


def oracle_starts(kernel: StepKernel, columns: Sequence[int]) -> list[int]:
    """By the automaton, a match at a time."""
    text = text_of(kernel, columns)
    return [start for start, _, _ in split_automaton(kernel.automaton, kernel.tags, text, kernel.look)]


def machine_starts(machine: Bimachine, columns: Sequence[int]) -> list[int]:
    """By the pair of automata: one pass from the right, one from the left."""
    after = [0]
    for column in reversed(columns):
        after.append(machine.right[column][after[-1]])
    after.reverse()
    starts, state = [], START
    for position, column in enumerate(columns):
        state, here = machine.left[state, column, after[position + 1]]
        if here:
            starts.append(position)
    return starts


def all_strings(letters: int, limit: int = 6000) -> list[tuple[int, ...]]:
    """Every string over 0..letters-1, shorter ones first, up to the length that has at most `limit` of them."""
    found: list[tuple[int, ...]] = [()]
    length = 1
    while letters**length <= limit and length <= 10:
        found += itertools.product(range(letters), repeat=length)
        length += 1
    return found


def all_windows(letters: int, limit: int = 170_000, text: int = 1500) -> list[list[int]]:
    """Texts in which every string of some length, the longest with at most `limit` of them, occurs."""
    length = 1
    while letters ** (length + 1) <= limit and length < 12:
        length += 1
    whole = [ord(letter) for letter in de_bruijn([chr(i) for i in range(letters)], length)]
    return [whole[at : at + text + length] for at in range(0, len(whole), text)]


@pytest.mark.parametrize("name", PATTERNS)
def test_bits_and_bimachine_agree_with_the_automaton_on_all_short_strings(name: str) -> None:
    kernel = kernel_of(*PATTERNS[name])
    bits, machine = bits_of(kernel), machine_of(kernel)
    for columns in all_strings(machine.tag_count):
        expected = oracle_starts(kernel, columns)
        assert machine_starts(machine, columns) == expected, text_of(kernel, columns)
        assert piece_starts(bits, columns) == expected, text_of(kernel, columns)


@pytest.mark.parametrize("name", PATTERNS)
def test_bits_and_bimachine_agree_with_backtracking_on_short_strings(name: str) -> None:
    kernel = kernel_of(*PATTERNS[name])
    bits, machine = bits_of(kernel), machine_of(kernel)
    for columns in all_strings(machine.tag_count, 700):
        text = text_of(kernel, columns)
        expected = [start for start, _, _ in split_program(kernel.tags, text)]
        assert machine_starts(machine, columns) == expected == piece_starts(bits, columns), text


@pytest.mark.parametrize("name", PATTERNS)
def test_bits_and_bimachine_agree_with_the_automaton_on_all_windows(name: str) -> None:
    """Every string of four to twelve characters, in the middle of a long text."""
    kernel = kernel_of(*PATTERNS[name])
    bits, machine = bits_of(kernel), machine_of(kernel)
    for columns in all_windows(machine.tag_count):
        expected = oracle_starts(kernel, columns)
        assert machine_starts(machine, columns) == expected
        assert piece_starts(bits, columns) == expected


@pytest.mark.parametrize("name", PATTERNS)
def test_bits_and_bimachine_agree_with_the_automaton_on_generated_strings(name: str) -> None:
    """Runs of one column and short changes, any length; every tag of a column in turn."""
    kernel = kernel_of(*PATTERNS[name])
    bits, machine = bits_of(kernel), machine_of(kernel)
    column = st.integers(0, machine.tag_count - 1)
    run = st.builds(lambda c, n: [c] * n, column, st.integers(1, 12))
    parts = st.lists(st.one_of(run, st.lists(column, max_size=6)), max_size=12)

    @settings(max_examples=40)
    @given(parts)
    @example([list(range(machine.tag_count)) * 3])
    def check(parts: list[list[int]]) -> None:
        columns = [c for part in parts for c in part]
        expected = oracle_starts(kernel, columns)
        assert machine_starts(machine, columns) == expected
        assert piece_starts(bits, columns) == expected

    check()


@pytest.mark.parametrize("name", PATTERNS)
def test_any_character_of_a_column_stands_for_it(name: str) -> None:
    """The columns of the automaton are unions of tags: each tag's first and last character gives the same pieces."""
    kernel = kernel_of(*PATTERNS[name])
    bits = bits_of(kernel)
    tags = kernel.tags.tags

    @settings(max_examples=40)
    @given(st.lists(st.tuples(st.integers(0, len(tags) - 1), st.booleans()), max_size=20))
    def check(chosen: list[tuple[int, bool]]) -> None:
        text = "".join(chr(tags[tag].ranges[-1][1] if last else tags[tag].ranges[0][0]) for tag, last in chosen)
        expected = [start for start, _, _ in split_program(kernel.tags, text)]
        assert piece_starts(bits, [kernel.automaton.columns[tag] for tag, _ in chosen]) == expected

    check()


@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_fit_the_kernel(name: str) -> None:
    """gpt2, cl100k, llama3 and qwen2 have to; so do the others."""
    kernel = kernel_of(*PATTERNS[name])
    check_kernel_limits(bits_of(kernel), machine_of(kernel))


@pytest.mark.parametrize("name", PATTERNS)
def test_text_between_matches_can_be_removed_exactly_where_there_is_any(name: str) -> None:
    kernel = kernel_of(*PATTERNS[name])
    pattern, dialect = PATTERNS[name]
    removing = compile_split(SplitStep(pattern, dialect, "test", "Removed", invert=True))  # type: ignore[arg-type]
    gaps = any(
        not match
        for columns in all_strings(len(kernel.alphabet), 700)
        for _, _, match in split_program(kernel.tags, text_of(kernel, columns))
    )
    assert removing.machine.removes == (bits_of(removing).stops is not None) == gaps
    assert not kernel.machine.removes


@pytest.mark.parametrize("pattern", [r"\p{N}{1,2}", "a{2}", "a{2,}?", r"(?:ab?){2}|.|\n", "aa|a$", "(?:a|bb){1,2}"])
def test_counting_to_two(pattern: str) -> None:
    """The smallest patterns in which a stream is carried on by its own opposite."""
    kernel = kernel_of(pattern)
    for columns in all_strings(len(kernel.alphabet), 600):
        expected = oracle_starts(kernel, columns)
        assert machine_starts(machine_of(kernel), columns) == expected == piece_starts(bits_of(kernel), columns)


ATOMS = ["a", "b", "[ab]", "[^a]", "ab", "(?!b)", "(?=a)", "$", "c", "(?=b|$)"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}", "{3}", "{1,3}", "{2,}"]
POSSESSIVE = ["++", "*+", "?+", "{1,2}+", "{2,}+"]


@st.composite
def random_patterns(draw: st.DrawFn, depth: int = 3) -> str:
    """Small trees of choices, repeats (greedy, lazy, possessive), look-ahead and text ends."""
    kind = draw(st.sampled_from(["atom", "atom", "concat", "choice", "repeat", "possessive"])) if depth else "atom"
    match kind:
        case "atom":
            return draw(st.sampled_from(ATOMS))
        case "possessive":
            return draw(st.sampled_from("abc")) + draw(st.sampled_from(POSSESSIVE))
        case "repeat":
            return f"(?:{draw(random_patterns(depth - 1))})" + draw(st.sampled_from(REPEATS))
        case _:
            left, right = draw(random_patterns(depth - 1)), draw(random_patterns(depth - 1))
            return f"(?:{left}{'|' if kind == 'choice' else ''}{right})"


ABC_STRINGS = ["".join(letters) for size in range(1, 6) for letters in itertools.product("abc", repeat=size)]
ABC_STRINGS += ["a" * 20, "ab" * 12, "aab" * 9, "abcc" * 7, "b" * 9 + "a", "c" * 13]


@settings(max_examples=150)
@given(random_patterns(), st.sampled_from(["a", "b", "c", "[abc]"]), st.sampled_from(["", "|[abc]", "|c"]))
@example("(?:a{2})+", "b", "|[abc]")
def test_random_patterns(middle: str, last: str, otherwise: str) -> None:
    """Any pattern that compiles, on all strings over three letters up to five of them, and some longer ones."""
    try:
        kernel = compile_split(SplitStep(f"{middle}{last}{otherwise}", "fancy", "test"))
    except Unsupported:
        return
    if kernel.bits is None or kernel.machine is None:
        return
    column_of = [kernel.automaton.columns[tag] for tag in tags_of_text(kernel.tags, "abc")[:3]]
    for text in ABC_STRINGS:
        expected = [start for start, _, _ in split_program(kernel.tags, text)]
        columns = [column_of[ord(letter) - ord("a")] for letter in text]
        assert machine_starts(kernel.machine, columns) == expected, text
        assert piece_starts(kernel.bits, columns) == expected, text


# ------------------------------------------------------------------ nothing but the meaning shows


def rendered(kernel: StepKernel) -> str:
    """The kernel's C, without the comment that quotes the pattern."""
    lines = render_boundary(bits_of(kernel)).splitlines()
    assert sum("pattern  " in line for line in lines) == 1
    return "\n".join(line for line in lines if not line.startswith(" * pattern  "))


@functools.cache
def table_values(pattern: str, dialect: str) -> dict[str, object]:
    tables = kernel_tables(compose_steps([kernel_of(pattern, dialect)]))
    arrays = {table.name: (table.data.dtype.str, table.data.shape, table.data.tobytes()) for table in tables.tables}
    return {**arrays, **tables.constants}


def same_kernel(one: tuple[str, str], other: tuple[str, str]) -> bool:
    return rendered(kernel_of(*one)) == rendered(kernel_of(*other)) and table_values(*one) == table_values(*other)


def respelled(pattern: str) -> dict[str, str]:
    """Other spellings of a cl100k-like or GPT-2-like pattern, by what was done."""
    letters = r"(?:'s|'t|'re|'ve|'m|'ll|'d)"
    changes = {
        "a group": f"(?:{pattern})",
        "a named group": f"(?<pre_token>{pattern})",
        "groups around the options": "|".join(f"(?:{option})" for option in top_options(pattern)),
        "renamed groups": "|".join(f"(?<option{i}>{option})" for i, option in enumerate(top_options(pattern))),
        "classes in another order": pattern.replace(r"[^\r\n\p{L}\p{N}]", r"[^\p{N}\p{L}\n\r]")
        .replace(r"[^\s\p{L}\p{N}]", r"[^\p{N}\s\p{L}]")
        .replace(r"[\r\n]", r"[\n\r]"),
        "classes by intersection": pattern.replace(r"[^\s\p{L}\p{N}]", r"[\S&&\P{L}&&[^\p{N}]]"),
        "one class as options": pattern.replace(r"[\r\n]+", r"(?:\r|\n)+"),
        "long names of properties": pattern.replace(r"\p{L}", r"\p{Letter}").replace(r"\p{N}", r"\p{Number}"),
        "a count as optionals": pattern.replace(r"\p{N}{1,3}", r"\p{N}\p{N}?\p{N}?"),
        "a count as nested optionals": pattern.replace(r"\p{N}{1,3}", r"\p{N}(?:\p{N}(?:\p{N})?)?"),
        "a count of two parts": pattern.replace(r"\p{N}{1,3}", r"\p{N}{1}\p{N}{0,2}"),
        "plus as a star": pattern.replace(r"\p{L}+", r"\p{L}\p{L}*"),
        "contractions as a class": pattern.replace(FOLDED, "'(?i:[sdmt]|ll|ve|re)"),
        "contractions in another order": pattern.replace(FOLDED, "(?i:'ll|'d|'m|'ve|'re|'t|'s)"),
        "contractions written out": pattern.replace(FOLDED, "'[sSſ]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD]"),
        "plain contractions as a class": pattern.replace(letters[3:-1], "'(?:[sdmt]|ll|ve|re)"),
        "look-ahead the other way round": pattern.replace(r"\s+(?!\S)", r"\s+(?=\s|\z)"),
        "a last newline or all of them": pattern.replace(r"\s*[\r\n]+", r"\s*[\r\n]"),
        "lazy where nothing else fits": pattern.replace(r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\p{L}\p{N}]??"),
        "code points": pattern.replace(" ?", r"\x20?").replace(r"[\r\n]", r"[\x{D}\x{A}]"),
    }
    return {what: other for what, other in changes.items() if other != pattern}


def top_options(pattern: str) -> list[str]:
    """The options of a pattern, cut at bars outside of groups and classes."""
    options, depth, at, escaped = [""], 0, 0, False
    for at, char in enumerate(pattern):  # noqa: B007
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "|" and depth == 0:
            options.append("")
            continue
        options[-1] += char
    return options


def respellings() -> list[tuple[str, str]]:
    return [(name, what) for name in ("gpt2", "llama3", "qwen") for what in respelled(PATTERNS[name][0])]


@pytest.mark.parametrize(("name", "what"), respellings())
def test_spelling_does_not_show_in_the_kernel(name: str, what: str) -> None:
    pattern, dialect = PATTERNS[name]
    other = respelled(pattern)[what]
    assert rendered(kernel_of(other, dialect)) == rendered(kernel_of(pattern, dialect))
    assert table_values(other, dialect) == table_values(pattern, dialect)


def test_enough_spellings_are_tried() -> None:
    counts = {name: sum(other == name for other, _ in respellings()) for name in ("gpt2", "llama3", "qwen")}
    assert counts["gpt2"] >= 8 and counts["llama3"] >= 14 and counts["qwen"] >= 10


def test_patterns_of_other_dialects_and_models_that_mean_the_same_share_a_kernel() -> None:
    for group in SAME_MEANING:
        for name, other in itertools.combinations(sorted(group), 2):
            assert same_kernel(PATTERNS[name], PATTERNS[other]), (name, other)


def test_patterns_that_differ_in_meaning_differ_in_the_kernel() -> None:
    for name, other in itertools.combinations(PATTERNS, 2):
        if not any({name, other} <= group for group in SAME_MEANING):
            assert not same_kernel(PATTERNS[name], PATTERNS[other]), (name, other)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r"\p{N}{1,3}", r"\p{N}{1,4}"),
        (r"\p{L}+", r"[\p{L}\p{M}]+"),
        (FOLDED, "(?:'s|'t|'re|'ve|'m|'ll|'d)"),
        (FOLDED, "(?i:'s|'t|'re|'ve|'m|'ll)"),
        (r"\s*[\r\n]+", r"\s?[\r\n]+"),
        (r"\s+(?!\S)|", ""),
        (" ?[^", " {0,2}[^"),
        (r"[^\r\n\p{L}\p{N}]?", r"[^\r\n\p{L}]?"),
        (r"\s+(?!\S)", r"\s++(?!\S)"),
    ],
)
def test_a_small_change_of_meaning_shows(old: str, new: str) -> None:
    assert old in LLAMA3
    assert not same_kernel((LLAMA3, "oniguruma"), (LLAMA3.replace(old, new), "oniguruma"))


def test_names_in_the_kernel_come_from_the_characters() -> None:
    text = rendered(kernel_of(f"(?<secret>{LLAMA3})"))
    assert "secret" not in text and "c_letter" in text


# ------------------------------------------------------------------ the comparison can fail


def altered(bits: BitProgram) -> list[tuple[str, BitProgram]]:
    """Programs with one thing changed."""
    found: list[tuple[str, BitProgram]] = [("starts negated", dataclasses.replace(bits, starts=Not(bits.starts)))]
    for number, c in enumerate(bits.classes):
        for tags in {frozenset(), c.tags ^ {min(c.tags)}}:
            classes = (*bits.classes[:number], dataclasses.replace(c, tags=tags), *bits.classes[number + 1 :])
            found.append((f"class {c.name}", dataclasses.replace(bits, classes=classes)))
    for number, expr in enumerate(bits.symbols):
        symbols = (*bits.symbols[:number], Or(()), *bits.symbols[number + 1 :])
        found.append((f"symbol {number} never", dataclasses.replace(bits, symbols=symbols)))
        if isinstance(expr, And | Or) and expr.items:
            shorter = type(expr)(expr.items[1:])
            symbols = (*bits.symbols[:number], shorter, *bits.symbols[number + 1 :])
            found.append((f"symbol {number} shorter", dataclasses.replace(bits, symbols=symbols)))
    for side in ("right", "left"):
        steps = getattr(bits, side)
        for number, step in enumerate(steps):
            match step:
                case Plain(stream=stream):
                    other: object = Plain(stream, Or(()))
                case Run(stream=stream, enter=enter) | Link(stream=stream, enter=enter):
                    other = Plain(stream, enter)
                case Cycle(steps=parts):
                    other = dataclasses.replace(step, steps=(Plain(parts[0].stream, Or(())), *parts[1:]))
            changes: dict[str, Any] = {side: (*steps[:number], other, *steps[number + 1 :])}
            found.append((f"{side} step {number}", dataclasses.replace(bits, **changes)))
    return found


@pytest.mark.parametrize("name", ["gpt2", "llama3", "cl100k", "with gaps", "at the end of the text"])
def test_an_altered_program_is_caught(name: str) -> None:
    """By the short strings and windows that the tests above compare on."""
    kernel = kernel_of(*PATTERNS[name])
    strings: list[Sequence[int]] = [*all_strings(len(kernel.alphabet), 150)[1:]]
    strings += all_windows(len(kernel.alphabet))
    expected = [oracle_starts(kernel, columns) for columns in strings]
    programs = altered(bits_of(kernel))
    unnoticed = [
        what
        for what, program in programs
        if all(piece_starts(program, columns) == right for columns, right in zip(strings, expected, strict=True))
    ]
    # A few terms make no difference: what they add is never looked at.
    assert len(unnoticed) <= len(programs) // 10, unnoticed
    assert "starts negated" not in unnoticed


# ------------------------------------------------------------------ size


@pytest.mark.parametrize("count", [64, 512])
def test_long_counted_runs_are_compiled_or_handed_to_the_automaton_in_a_moment(count: int) -> None:
    """jais2 has `\\s{512}(?!\\S)`: hundreds of states, none of them worth a stream."""
    import time

    before = time.perf_counter()
    compile_split(SplitStep(rf"\s{{{count}}}(?!\S)|\s|\S+", "oniguruma", "test"))
    assert time.perf_counter() - before < 20


def test_right_values_are_those_of_the_right_streams() -> None:
    """What the kernel starts a chunk with is what the streams would hold had the pass come from the text's end."""
    for name in ("gpt2", "llama3", "cl100k", "counting to seven"):
        bits = bits_of(kernel_of(*PATTERNS[name]))
        assert bits.right_values[0] == 0, "no right stream holds at the end of the text"
        table = np.array(bits.right_table)
        assert table.shape[1] == len(bits.right_values) and table.max() < len(bits.right_values)
