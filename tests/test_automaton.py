"""The boundary automaton: equal for all spellings of a pattern, minimal, and right on all short strings."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from itertools import product

import numpy as np
import pytest
from gigatok_compile.automaton.determinise import boundary_automaton
from gigatok_compile.automaton.interpret import split_automaton, split_program, tags_of_text
from gigatok_compile.errors import Unsupported
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.automaton import DEAD, BoundaryAutomaton
from gigatok_compile.ir.tags import TagProgram
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import literal_program, partition
from hypothesis import given
from hypothesis import strategies as st


def program_of(pattern: str, dialect: str = "oniguruma") -> TagProgram:
    return partition(parse_pattern(pattern, dialect))


def meaning(pattern: str, dialect: str = "oniguruma") -> tuple[BoundaryAutomaton, list[CodeSet]]:
    """The automaton with columns for tags, and the characters of every column: all that a spelling may not change."""
    program = program_of(pattern, dialect)
    automaton = boundary_automaton(program)[1]
    columns = [
        CodeSet.of(r for tag in automaton.tags_of(column) for r in program.tags[tag].ranges)
        for column in range(automaton.column_count)
    ]
    return replace(automaton, columns=tuple(range(automaton.column_count))), columns


def shortest_texts(program: TagProgram, automaton: BoundaryAutomaton, limit: int = 4000):
    """All strings over one character of every column, up to the length where there are more than `limit` of them."""
    length = 1
    while automaton.column_count ** (length + 1) <= limit and length < 6:
        length += 1
    letters = [chr(program.tags[automaton.tags_of(c)[0]].ranges[0][0]) for c in range(automaton.column_count)]
    for size in range(length + 1):
        yield from map("".join, product(letters, repeat=size))


@pytest.mark.parametrize("name", [name for name in grammar_names() if load_grammar(name).patterns])
def test_all_short_strings_mean_what_the_program_means(name):
    grammar = load_grammar(name)
    for pattern in grammar.patterns:
        program = program_of(pattern, grammar.dialect)
        automaton = boundary_automaton(program)[1]
        for text in shortest_texts(program, automaton):
            assert split_automaton(automaton, program, text) == split_program(program, text)


SPELLINGS = [
    (r"\p{N}{1,3}", r"\p{N}\p{N}?\p{N}?", r"(?:\p{N}){1,3}", r"[\p{N}]{1}\p{N}{0,2}", r"\p{N}(?:\p{N}(?:\p{N})?)?"),
    (r"[\r\n]+", r"[\n\r]+", r"(?:\r|\n)+", r"(?:\n|\r)(?:\r|\n)*", r"[\x{A}\x{D}]+", "[\r\n]+", r"(?<nl>[\r\n])+"),
    (r"(?i:'s|'t)", r"'(?i:[st])", r"'(?i:[ts])", r"'[sStTſ]", r"'s|'S|'t|'ſ|'T", r"(?<a>'s|'S)|(?<b>'ſ|'t|'T)"),
    (r"\s+(?!\S)|\s", r"\s++(?!\S)|\s|\s\s", r"(?:\s+(?=\s|\z))|\s", r"(?<ws>\s)+(?=\s|\z)|\s", r"\s+?\s*(?!\S)|\s"),
    (r"a*+b|a", r"a*b|a", r"a*(?!a)b|a"),
    (r"[a-cx-z]", r"[x-za-c]", r"[xyzabc]", r"a|b|c|[x-z]", r"[a-z&&[^d-w]]", r"[[a-c][x-z]]"),
    (r"x|xy", r"x", r"x(?:|y)??", r"x{1,3}?"),
    (r"\d{2}", r"\d\d", r"\d{2,2}", r"[0-9\D&&\d]\d|\d\d"),
]


@pytest.mark.parametrize("spellings", SPELLINGS, ids=lambda spellings: spellings[0])
def test_spelling_does_not_matter(spellings):
    if spellings[0] == r"\s+(?!\S)|\s":
        # Taking all the whitespace at once (possessive) is another function, so it is no spelling of the first.
        assert meaning(spellings[1]) != meaning(spellings[0])
        spellings = (spellings[0], *spellings[2:])
    first = meaning(spellings[0])
    for other in spellings[1:]:
        assert meaning(other) == first, other


def mutations(pattern: str) -> list[str]:
    """Other spellings of a whole shipped pattern."""
    classes = {r"[^\r\n\p{L}\p{N}]": r"[^\p{N}\n\p{L}\r]", r"[^\s\p{L}\p{N}]": r"[^\p{L}\p{N}\s]", r"[\r\n]": r"[\n\r]"}
    reordered = pattern
    for old, new in classes.items():
        reordered = reordered.replace(old, new)
    return [
        reordered,
        f"(?:{pattern})",
        f"(?<whole>{pattern})",
        pattern.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?i:'d|'ll|'m|'ve|'re|'t|'s)"),
        pattern.replace("(?i:'s|'t|'re|'ve|'m|'ll|'d)", "(?<c>'(?i:[sdmt]|ll|ve|re))"),
        pattern.replace(r"\p{N}{1,3}", r"\p{N}\p{N}?\p{N}?"),
        pattern.replace(r"\s+(?!\S)", r"\s+(?=\s|\z)"),
        pattern.replace(r"\p{L}+", r"\p{Letter}{1,}"),
    ]


RESPELLED = ["gpt2", "llama3", "qwen", "qwen3.6", "o200k", "tekken", "kimi", "seed-coder", "ufakzeka"]


@pytest.mark.parametrize("name", RESPELLED)
def test_respelled_grammars_compile_to_the_same_automaton(name):
    pattern = load_grammar(name).pattern
    expected = meaning(pattern)
    changed = [other for other in mutations(pattern) if other != pattern]
    assert len(changed) >= 4
    for other in changed:
        assert meaning(other) == expected, other


def test_grammars_that_are_equal_as_functions_have_equal_automata():
    assert meaning(load_grammar("gpt2").pattern) == meaning(load_grammar("r50k").pattern, "fancy")
    assert meaning(load_grammar("llama3").pattern) == meaning(load_grammar("cl100k_hf").pattern)
    assert meaning(load_grammar("llama3").pattern) != meaning(load_grammar("cl100k").pattern, "fancy")
    assert meaning(load_grammar("cl100k").pattern, "fancy") != meaning(load_grammar("cl100k").pattern, "oniguruma")


def test_the_counted_possessive_depends_on_the_dialect():
    assert meaning(r"\p{N}{1,3}+", "oniguruma") == meaning(r"\p{N}+", "oniguruma")
    assert meaning(r"\p{N}{1,3}+", "fancy") == meaning(r"\p{N}{1,3}", "fancy")
    assert meaning(r"\p{N}{1,3}+a|\p{N}", "fancy") == meaning(r"(?>\p{N}{1,3})a|\p{N}", "oniguruma")


def test_automata_are_minimal():
    """No two states accept and move alike, and no two columns are equal."""
    for name in grammar_names():
        for pattern in load_grammar(name).patterns:
            automaton = boundary_automaton(program_of(pattern, load_grammar(name).dialect))[1]
            rows = np.concatenate([automaton.moves, automaton.accepts], axis=1)
            assert len(np.unique(rows, axis=0)) == automaton.state_count
            columns = np.concatenate([automaton.moves, automaton.accepts])[:, :-1]
            assert len(np.unique(columns, axis=1).T) == automaton.column_count
            assert not automaton.moves[DEAD].any() and not automaton.accepts[DEAD].any()
            assert not automaton.moves[:, automaton.end_column].any()
            first_seen = [state for state in dict.fromkeys(automaton.moves[1:].ravel().tolist()) if state > 1]
            assert first_seen == sorted(first_seen)


@pytest.mark.parametrize(
    ("pattern", "covers"),
    [
        (r"\S+", False), (r"\S+|\s+", True), (r"\S+|\s+(?!\S)", False), (r"a+b|[^a]", False), (r"a*b|[^b]", True),
        (r"a+$|[^a]|a", True), (r"(?:a(?=b))|[^a]", False), (r".", False), (r"\O", True), (r"[a&&b]", False),
    ],
)  # fmt: skip
def test_covers_everything_is_true_exactly_when_there_can_be_no_gap(pattern, covers):
    program = program_of(pattern)
    automaton = boundary_automaton(program)[1]
    assert automaton.covers_everything == covers
    gap = any(not ok for text in shortest_texts(program, automaton, 700) for _, _, ok in split_program(program, text))
    assert gap != covers


def test_shipped_grammars_without_gaps_are_known_as_such():
    with_gaps = {name for name in grammar_names() for p in load_grammar(name).patterns
                 if not boundary_automaton(program_of(p, load_grammar(name).dialect))[1].covers_everything}  # fmt: skip
    assert with_gaps == {"bloom", "poro", "non-whitespace", "deepseek-v3"}


def test_a_gap_is_one_piece_up_to_the_next_match():
    program = program_of(r"\p{N}{1,3}")
    assert split_automaton(boundary_automaton(program)[1], program, "ab 1234c") == [
        (0, 3, False), (3, 6, True), (6, 7, True), (7, 8, False),
    ]  # fmt: skip


def test_a_literal_program_finds_its_text():
    program = literal_program("aab")
    automaton = boundary_automaton(program)[1]
    assert split_automaton(automaton, program, "aaab.aab") == [(0, 1, False), (1, 4, True), (4, 5, False), (5, 8, True)]
    assert split_program(program, "aaab.aab") == split_automaton(automaton, program, "aaab.aab")


NEEDLE = st.text(st.sampled_from("ab (|*.\\["), min_size=1, max_size=4)


@given(NEEDLE, st.text(st.sampled_from("ab (|*.\\["), max_size=12))
def test_a_literal_program_splits_as_str_find(needle, text):
    program = literal_program(needle)
    expected, position = [], 0
    while (at := text.find(needle, position)) >= 0:
        expected += [(position, at, False)] if at > position else []
        expected.append((at, at + len(needle), True))
        position = at + len(needle)
    expected += [(position, len(text), False)] if position < len(text) else []
    assert split_automaton(boundary_automaton(program)[1], program, text) == expected


ATOMS = ["a", "b", "[ab]", "[^a]", "ab", "(?!b)", "(?=a)", "$", "c"]
POSSESSIVE = ["++", "*+", "?+", "{1,2}+", "{2,}+"]
REPEATS = ["*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}"]


@given(st.data())
def test_random_patterns_mean_what_their_program_means(data):
    """Small random trees of choices, repeats (greedy, lazy, possessive) and look-ahead."""

    def pattern(depth: int) -> str:
        kinds = ["atom", "atom", "concat", "choice", "repeat", "possessive"]
        kind = data.draw(st.sampled_from(kinds)) if depth else "atom"
        if kind == "atom":
            return data.draw(st.sampled_from(ATOMS))
        if kind == "possessive":
            return data.draw(st.sampled_from("ab")) + data.draw(st.sampled_from(POSSESSIVE))
        if kind == "repeat":
            return f"(?:{pattern(depth - 1)})" + data.draw(st.sampled_from(REPEATS))
        return f"(?:{pattern(depth - 1)}{'|' if kind == 'choice' else ''}{pattern(depth - 1)})"

    text_pattern = "a?" + pattern(3) + data.draw(st.sampled_from(["a", "b", "c", "[abc]"]))
    try:
        program = program_of(text_pattern, "fancy")
    except Unsupported:
        return
    automaton = boundary_automaton(program)[1]
    for text in map("".join, product("abc", repeat=5)):
        assert split_automaton(automaton, program, text) == split_program(program, text), text_pattern


def test_too_many_states_are_refused():
    with pytest.raises(Unsupported, match="states"):
        boundary_automaton(program_of("(?:a|b)*a(?:a|b){15}"))
    with pytest.raises(Unsupported, match="nodes"):
        boundary_automaton(program_of("a{5000}"))


def test_automata_are_frozen_printable_and_hashable():
    automaton = boundary_automaton(program_of(r"\p{N}{1,3}"))[1]
    assert "4 states" not in str(automaton) and "5 states, 2 columns" in str(automaton)
    assert hash(automaton) == hash(boundary_automaton(program_of(r"\p{N}{1,3}"))[1])
    with pytest.raises(FrozenInstanceError):
        automaton.start = 3  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        automaton.moves[0, 0] = 1


def test_lone_surrogates_have_no_tag():
    with pytest.raises(ValueError, match="surrogate"):
        tags_of_text(program_of("a"), "a\ud800")
