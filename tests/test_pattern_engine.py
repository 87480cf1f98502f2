"""The meaning of patterns: both interpreters against the reference engines, on small experiments, hard cases,
generated strings and real text."""

from __future__ import annotations

import functools
import json
import random
from pathlib import Path

import pytest
from gigatok_compile.automaton.determinise import boundary_automaton
from gigatok_compile.automaton.interpret import Piece, split_automaton, split_program
from gigatok_compile.errors import PatternError, Unsupported
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.tags import TagProgram
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import partition
from gigatok_compile.unicode.engine import split
from hypothesis import given, settings
from hypothesis import strategies as st

SHARED_CASES = Path(__file__).resolve().parents[2] / "shared" / "cases" / "edge_splits.json"


cached_automaton = functools.lru_cache(maxsize=64)(boundary_automaton)


def ours(program: TagProgram, texts: list[str]) -> list[list[Piece]]:
    """Pieces by the automaton, which must be those by backtracking."""
    look, automaton = cached_automaton(program)
    result = []
    for text in texts:
        pieces = split_automaton(automaton, program, text, look)
        assert pieces == split_program(program, text), text
        result.append(pieces)
    return result


EXPERIMENTS = [
    ("a{2}+", "aaaaa"), ("a{1,2}+a", "aaaaa"), ("a{2,}+", "aaaaaa"), ("[[:alpha:]]+", "abé1"), (r"\h+", "09afg"),
    (r"\pL", "apL"), (r"\p{^L}+", "ab12"), ("a{", "a{"), ("a{x}", "a{x}"), ("a{1", "a{1"), (r"\x{41}", "A"),
    (r"\R", "x\r\n\r\r\n\n\x85"), ("[a-z&&[^b]]+", "abc"), ("[a-z--b]+", "abc-"), ("[a-z~~b]+", "abz"), ("[]a]+",
    ")]a"),
    ("[^]a]+", "bcd"), ("[a-]+", "a-"), ("[-a]+", "a-"), (r"[a\-z]+", "a-z"), ("[[a-c]d]+", "abcd"), (".+", "ab\rc"),
    ("(?m:.)+", "a\nb"), ("(?s:.)+", "a\nb"), ("(?i)ab|c", "ABC"), ("a(?i)b|c", "aBaC"), ("a(?i)b|c", "aBC"),
    ("a**", "b"),
    ("xa+?", "xaaa"), ("a??b", "ab"), ("ba{2}??", "baab"), ("xa{2}?", "xaaxx"), ("a{1,2}?", "aaa"), ("xa?+", "xaax"),
    ("a$", "a\na"), (r"a\z", "xa"), ("(?m:a$)", "a\na"), ("(?>a{1,2})b|a", "aabab"), ("a{1,2}+b|a", "aabab"),
    ("x(?>a|b)+", "xab"), ("(?i:ss)", "ssSSſs"), ("(?i:[^a])", "bB"), ("(?i:[^a])+", "bAb"), (r"(?i:\p{Lu})", "aA"),
    (r"(?i:[\p{Lu}])", "aA"), (r"(?i:[^\p{Lu}])+", "a1A"), (r"(?i:\P{Lu})", "aA1"), (r"(?i:[\P{Lu}])", "aA1"),
    ("(?i:[[^a]])", "aA1"), ("(?i:[[^a]b])", "aA1bB"), ("(?i:[^a&&[^b]])", "aA1bB"), ("(?i:[a-z&&[^k]])", "kK\u212aj"),
    (r"(?i:[a-z&&[^\x{212A}]])", "kK\u212aj"), (r"[[:^alpha:]]+", "1a"), ("[a-c--e]+", "abcde-"), ("[a-c-e-g]+",
    "abc-defg"),
    ("[--a]+", "-a"), ("[+--]+", "+,-"), ("[!--]+", "!-"), ("[a&&]|b", "ba"), ("[^a&&b]", "ab"), ("[^[^a]]+", "aab"),
    (r"[\s\S]+", "a\nb"), ("[a&&&b]|a", "a&b"), (r"[\d-]+", "1-"), ("[[a]-c]+", "ac-"),
    (r"\w+", "a²b¼c\u200dd_"), (r"[\w]+", "a²b¼c\u200dd_"), (r"[^\w]+", "²¼x"), (r"\W+", "²¼-"), (r"[[:punct:]]+",
    "!$+«"),
    (r"\p{punct}+", "!$+«"), (r"[[:word:]]+", "a²"), (r"\p{word}+", "a²"), (r"[^\p{word}]+", "²-"), ("a{,2}", "aaa"),
    ("xa{,2}", "xaaa"), ("yx{,}", "yxx"), ("yx{,}", "yx{,}"), ("xa{,2}+", "xaaaa"), ("(?=a)a|b", "ab"),
    ("(?=[ab])[^b]|b", "abc"),
    ("a(?=$|b)", "aab"), (r"a(?!b|\z)", "aaba"), ("a(?=b+)", "ab"), ("a(?!(?=b))", "aab"),
    ("(?:a|ab)(?:c|bcd)", "abcd"),
    ("a|ab|abc", "abc"), ("abc|ab|a", "abcab"), ("(?:ab|a)+?b", "abab"), (r"\101", "A"), (r"[\101]", "A"),
    (r"a\x{20}b", "a b"),
    ("(?#note)a", "a"), ("a(?#note)+", "aa"), ("(?<n>a)b", "ab"), ("(?'n'a)b", "ab"), ("(?P<n>a)b", "ab"),
    (r"\N+", "a\n"),
    (r"\O+", "a\n"), ("(?i:İ)", "iİ"), ("(?i:ς)", "ςσΣ"), ("(?i:ǆ)", "ǆǅǄ"), ("(?i:µ)", "µμΜ"), ("é+", "éé"),
    (r"\s+$|\s", "a  \nb "), (r"[^\S\n]+", "a \t\n"), (r"\p{Han}+|.", "中a〇"), ("[^a-z]++.?", "ABab"),
    ("(?:a{2,3}){2}", "aaaaaaa"),
    ("(?:ab?)*?c", "aabc"), ("(?:a|b)++c", "abc"), (r"(?>\r\n?|\n)", "\r\n\n\r"),
    ("ab(?=cd)", "abcdabc"), ("a(?!b|cd)", "abacdacea"), (r"a\b", "aab a"), (r"a\B", "aab a²"), (r"\d+\b", "1a12 3²4_"),
    (r"[!#]\b|.", "!a!!#²#"), (r"[!#]\B|.", "!a!!#²#"), (r"([!#$])\1*", "!!##$!$$a"), (r"(?<q>[ab])\k<q>", "aabbab"),
    (r"\d{1,3}(?=(?:\d{3})*\b)", "1234567a 1234567 12"), (r"(a|b)c(?=.*\1)", "acbcab"), (r"a(?=b(?!c)|$)", "abcaba"),
    (r"a(?=(?!b)c)", "acab"), (r"([ab])(c(?=\1)|d\1)", "acabdbadb"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), EXPERIMENTS)
@pytest.mark.parametrize("dialect", ["oniguruma", "fancy"])
def test_experiments_mean_what_the_engine_means(pattern, text, dialect):
    """A pattern is refused by both, or not compiled and said so, or split alike."""
    try:
        expected = split(pattern, dialect, [text, text + text])
    except ValueError:
        with pytest.raises(PatternError):
            parse_pattern(pattern, dialect)
        return
    try:
        program = partition(parse_pattern(pattern, dialect))
    except Unsupported:
        assert pattern in NOT_COMPILED
        return
    assert ours(program, [text, text + text]) == expected


# Patterns that can match nothing: tiktoken drops what lies between, so only the other engine shows where it cuts.
EMPTY_EXPERIMENTS = [
    ("a*", "baac"), ("a|(?=b)", "cabb"), (r"(?=(\d{3})+(?!\d))", "1234567a123"), ("b*?", "ab"), ("(?=a)|b+|", "abba"),
    ("a?(?=b)", "abbcab"), (r"$", "a\nb"), ("|a", "aa"), ("a*(?!b)", "aabcaa"), ("(?!a)", "ab a"),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "text"), EMPTY_EXPERIMENTS)
def test_empty_matches_cut_where_the_engine_cuts(pattern, text):
    def spans(pieces):
        return [(start, end) for start, end, _ in pieces]

    texts = [text, text + text, ""]
    expected = [spans(pieces) for pieces in split(pattern, "oniguruma", texts)]
    assert [spans(pieces) for pieces in ours(partition(parse_pattern(pattern, "oniguruma")), texts)] == expected


NOT_COMPILED = {
    r"(a|b)c(?=.*\1)",
    "a{,2}",
    "xa{,2}+",
    r"(?i:[\p{Lu}])",
    "a**",
    "(?i:ss)",
    "(?i:İ)",
    "xa+?+",
    r"(?>\r\n?|\n)",
    "(?i:[[^a]])",
    "(?i:[[^a]b])",
    r"(?i:[\P{Lu}])",
}


@pytest.mark.parametrize("name", [name for name in grammar_names() if load_grammar(name).patterns])
def test_examples_of_patterns_by_automaton(name):
    grammar = load_grammar(name)
    programs = [partition(parse_pattern(pattern, grammar.dialect)) for pattern in grammar.patterns]
    for example in grammar.examples:
        pieces = [example.text]
        for program in programs:
            pieces = [piece[a:b] for piece in pieces for (a, b, _) in ours(program, [piece])[0]]
        assert pieces == list(example.pieces), example.text


@pytest.mark.skipif(not SHARED_CASES.exists(), reason="the shared cases are not part of the repository")
def test_edge_splits_of_nine_pre_tokenizers():
    data = json.loads(SHARED_CASES.read_text(encoding="utf-8"))
    programs = {
        name: [partition(parse_pattern(pattern, "oniguruma")) for pattern in patterns]
        for name, patterns in data["meta"]["patterns"].items()
    }
    checked = 0
    for case in data["cases"]:
        for name, expected in case["splits"].items():
            pieces = [case["text"]]
            for program in programs[name]:
                pieces = [piece[a:b] for piece in pieces for (a, b, _) in ours(program, [piece])[0]]
            assert pieces == expected, (name, case["text"])
            checked += 1
    assert checked >= 900


def all_programs() -> list[tuple[str, str, str]]:
    """Grammar and step, dialect, pattern: every pattern of a grammar that an automaton can run, each once."""
    found: dict[tuple[str, str], str] = {}
    for name in grammar_names():
        for number, step in enumerate(load_grammar(name).steps):
            # Sets of components have no name in the reference's patterns.
            if isinstance(step, SplitStep) and step.is_regex and r"\p{hf:" not in step.pattern:
                found.setdefault((step.dialect, step.pattern), f"{name}.{number}")
    return [(name, dialect, pattern) for (dialect, pattern), name in found.items()]


def letters_of(program: TagProgram) -> list[str]:
    """One or two characters of every tag: its first, and one from the middle of its last range."""
    found = []
    for tag in program.tags:
        low, high = tag.ranges[-1]
        found += sorted({chr(tag.ranges[0][0]), chr((low + high) // 2)})
    return found


@pytest.mark.parametrize(("name", "dialect", "pattern"), all_programs())
def test_generated_strings_are_split_as_by_the_engine(name, dialect, pattern):
    program = partition(parse_pattern(pattern, dialect))
    alphabet = letters_of(program)

    @settings(max_examples=12)
    @given(st.lists(st.text(st.sampled_from(alphabet), min_size=1, max_size=14), min_size=1, max_size=25))
    def check(texts):
        assert ours(program, texts) == split(pattern, dialect, texts)

    check()


@pytest.mark.parametrize(("name", "dialect", "pattern"), all_programs())
def test_real_text_is_split_as_by_the_engine(name, dialect, pattern, shared):
    """Slices of every corpus. tiktoken is asked with every substring in its vocabulary, hence short slices."""
    program = partition(parse_pattern(pattern, dialect))
    chooser = random.Random(7)
    length, count = (60, 2) if dialect == "fancy" else (1500, 1)
    texts = []
    for corpus in shared.corpus_names():
        text = shared.corpus(corpus)[:400_000].decode("utf-8", "ignore")
        starts = [chooser.randrange(len(text) - length) for _ in range(count)]
        texts += [text[start : start + length] for start in starts]
    assert ours(program, texts) == split(pattern, dialect, texts)
