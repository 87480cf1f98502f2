"""The regex dialect: what parses, what it prints back to, what is refused and where."""

from __future__ import annotations

import re

import pytest
from gigatok_compile.errors import PatternError, Unsupported
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.pattern import CharClass, Literal, PatternAst, Quantified
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import literal_program, partition


def patterns() -> list[tuple[str, str, str]]:
    """(grammar and step, dialect, pattern) of every shipped pattern we know of, each once."""
    found: dict[tuple[str, str], str] = {}
    for name in grammar_names():
        for number, step in enumerate(load_grammar(name).steps):
            if isinstance(step, SplitStep) and step.is_regex:
                found.setdefault((step.dialect, step.pattern), f"{name} {number}")
    return [(name, dialect, pattern) for (dialect, pattern), name in found.items()]


def without_spans(ast: PatternAst) -> str:
    return re.sub(r"span=Span\(start=\d+, end=\d+\)", "", repr(ast.root))


@pytest.mark.parametrize(("name", "dialect", "pattern"), patterns())
def test_known_patterns_parse_and_print_back(name, dialect, pattern):
    for each in (dialect, "oniguruma", "fancy"):
        ast = parse_pattern(pattern, each)
        assert without_spans(parse_pattern(str(ast), each)) == without_spans(ast)


@pytest.mark.parametrize(("name", "dialect", "pattern"), patterns())
def test_known_patterns_partition(name, dialect, pattern):
    tags = partition(parse_pattern(pattern, dialect)).tags
    assert sum(high - low + 1 for tag in tags for low, high in tag.ranges) == 1_112_064
    assert [tag.ranges[0][0] for tag in tags] == sorted(tag.ranges[0][0] for tag in tags)
    assert len({tag.name for tag in tags}) == len(tags)
    assert all(re.fullmatch("[a-z_][a-z0-9_]*", tag.name, re.IGNORECASE) for tag in tags)


@pytest.mark.parametrize(
    "pattern",
    [
        "a", "", "a|", "(?:a|b)*?c", "(a)(?<n>b)\\k<n>\\1", "[^a-z\\]\\-^]", "[]a]", "[^]a]", "[a-]", "[-a]", "[a-c-e]",
        "[[a-c][^d]]", "[a-z&&[^b]&&\\w]", "[[:alpha:][:^digit:]]", "\\p{^L}\\P{Lu}\\p{Han}", "a{2}b{2,}c{2,3}d{,4}",
        "a{", "a{x}", "a{1", "{", "}", "]", "a]", ".\\N\\O\\R", "^$\\A\\z\\Z\\b\\B\\G",
        "(?=a)(?!b)(?<=c)(?<!d)", "(?>ab)", "(?i:a)(?-i:b)(?m-i:c)", "(?i)ab|c", "a(?i)b|c|d", "a(?#comment)b",
        "a*+b++c?+", "a*?b+?c??",
        "a{2}?", "a{2,3}?", "a{2,3}+", "\\r\\n\\t\\f\\v\\a\\e\\x41\\x{1F600}\\u0041\\0",
        "'\"<>/~`@#%&_=:;,!-", "[(|.*+?$]",
        "\r\n", "[\r\n]", "é中😀", "\\é\\ \\/\\'", "[&a&]", "[a&&b]", "[\\x{41}-\\x{43}]", "[\\b]", "[!--]", "[+-\\-]",
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["oniguruma", "fancy"])
def test_printing_parses_to_the_same_tree(pattern, dialect):
    if dialect == "fancy":
        pattern = pattern.replace("\\0", "")
    ast = parse_pattern(pattern, dialect)
    assert without_spans(parse_pattern(str(ast), dialect)) == without_spans(ast)


@pytest.mark.parametrize(
    ("dialect", "pattern", "printed"),
    [
        ("oniguruma", "a{1,3}+", "a{1,3}+"),
        ("oniguruma", "a{2}?", "a{2}?"),
        ("fancy", "a{1,3}+", "a{1,3}+"),
        ("oniguruma", "a(?i)b|c", "a(?i:b|c)"),
        ("fancy", "a(?i)b|c", "a(?i:b)|(?i:c)"),
        ("fancy", "a(?i)b(?m)c|d", None),
        ("fancy", "(?im)a", "(?im:a)"),
        ("oniguruma", r"\pL", "pL"),
        ("fancy", r"\pL", r"\p{L}"),
        ("oniguruma", "a{,}", r"a\{,\}"),
        ("fancy", "a{,}", "a*"),
        ("oniguruma", "[!--]", r"[!-\-]"),
        ("fancy", "[!--]", "[!--]"),
        ("oniguruma", "[a-c--e]", r"[a-c\--e]"),
        ("oniguruma", r"\101", "A"),
    ],
)
def test_what_the_dialects_read_differently(dialect, pattern, printed):
    if printed is None:
        with pytest.raises(PatternError):
            parse_pattern(pattern, dialect)
    else:
        assert str(parse_pattern(pattern, dialect)) == printed


def test_counted_possessive_is_nested_in_oniguruma_and_possessive_in_fancy():
    nested = parse_pattern("a{1,3}+", "oniguruma").root
    assert isinstance(nested, Quantified) and isinstance(nested.item, Quantified) and nested.mode == "greedy"
    possessive = parse_pattern("a{1,3}+", "fancy").root
    assert isinstance(possessive, Quantified) and possessive.mode == "possessive"
    assert isinstance(possessive.item, Literal)


def test_spans_point_into_the_text():
    text = "ab|[c-e]+(?!x)"
    ast = parse_pattern(text, "oniguruma")
    spans = {text[node.span.start : node.span.end] for node in _all(ast.root)}
    assert {"ab", "a", "[c-e]+", "[c-e]", "(?!x)", "x", text} <= spans
    (inner,) = [node for node in _all(ast.root) if isinstance(node, CharClass)]
    (item,) = inner.operands[0]
    assert text[item.span.start : item.span.end] == "c-e"


def _all(node):
    from gigatok_compile.ir.pattern import walk_pattern

    return list(walk_pattern(node))


@pytest.mark.parametrize(
    ("dialect", "pattern", "offset", "words"),
    [
        ("oniguruma", "ab(c", 2, "ends inside"),
        ("oniguruma", "ab)c", 2, "unmatched"),
        ("oniguruma", "*a", 0, "nothing to repeat"),
        ("oniguruma", "a|+", 2, "nothing to repeat"),
        ("oniguruma", "xy[a-", 2, "class"),
        ("oniguruma", "xy[]", 2, "class"),
        ("oniguruma", "x[z-a]", 2, "reversed"),
        ("oniguruma", r"x[a-\d]", 2, "end of a range"),
        ("oniguruma", r"x\p{Nope}", 1, "unknown property"),
        ("oniguruma", "x(?P<n>a)", 1, "group"),
        ("oniguruma", "x(?s:a)", 1, "flag"),
        ("oniguruma", "x(?~ab)", 1, "group"),
        ("oniguruma", "ab\\", 2, "backslash"),
        ("oniguruma", r"a\x{110000}", 1, "scalar"),
        ("oniguruma", r"a\k<n>", 1, "no group"),
        ("oniguruma", "a{3,2}", 1, "reversed"),
        ("oniguruma", "^*a", 1, "repeated"),
        ("oniguruma", "a[[:nope:]]", 2, "POSIX"),
        ("oniguruma", "x[a-[c]]", 2, "end of a range"),
        ("fancy", "a**", 2, "nothing to repeat"),
        ("fancy", "x((?i)a)b", 2, "go on after"),
        ("fancy", r"a\Qb", 1, "escape"),
        ("fancy", r"a[\d-b]", 2, "end of a range"),
    ],
)
def test_bad_patterns_are_refused_at_their_offset(dialect, pattern, offset, words):
    with pytest.raises(PatternError) as caught:
        parse_pattern(pattern, dialect, where="pre_tokenizer.pattern.Regex")
    assert caught.value.start == offset
    assert words in caught.value.message
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("pre_tokenizer.pattern.Regex: ")
    assert any(line.strip().startswith("^") for line in lines)


@pytest.mark.parametrize(
    ("dialect", "pattern", "construct"),
    [
        ("oniguruma", r"(?<=x)b|a", "(?<=x)"),
        ("oniguruma", r"a(?<!x)b", "(?<!x)"),
        ("oniguruma", r"(\p{L})\1*", r"\1"),
        ("oniguruma", r"(ab)\1", r"\1"),
        ("oniguruma", r"(?i:([!#])\1)", r"\1"),
        ("oniguruma", r"(?<q>\w)\k<q>", r"\k<q>"),
        ("oniguruma", r"(a)\g<1>", r"\g<1>"),
        ("oniguruma", r"ab(?=(?:a?)*)", "(?:a?)*"),
        ("oniguruma", r"a(?!b|^)", "^"),
        ("oniguruma", r"a|\b", r"\b"),
        ("oniguruma", r"[a!]\b", r"\b"),
        ("oniguruma", r"(?:a|!)*\B", r"\B"),
        ("oniguruma", r"^a", "^"),
        ("oniguruma", r"\Aa", r"\A"),
        ("oniguruma", r"a\Z", r"\Z"),
        ("oniguruma", r"\Ga", r"\G"),
        ("oniguruma", r"x(?:a?)*", "(?:a?)*"),
        ("oniguruma", r"x(?>ab|c)", "(?>ab|c)"),
        ("fancy", r"x(?:ab)++", "(?:ab)++"),
        ("oniguruma", "(?i:xss)", "ss"),
        ("oniguruma", "(?i:xß)", "ß"),
        ("oniguruma", "(?i:s{1}t)", "s{1}t"),
    ],
)
def test_unsupported_constructs_are_named_with_their_span(dialect, pattern, construct):
    with pytest.raises(Unsupported) as caught:
        partition(parse_pattern(pattern, dialect))
    assert caught.value.tier == "automaton"
    if construct != "s{1}t":
        assert pattern[caught.value.start : caught.value.end] == construct


def test_deep_nesting_is_refused_and_not_a_crash():
    parse_pattern("(?:" * 50 + "a" + ")" * 50, "oniguruma")
    for depth in (51, 5000):
        with pytest.raises(PatternError, match="deep"):
            parse_pattern("(" * depth + "a" + ")" * depth, "fancy")
    with pytest.raises(PatternError):
        parse_pattern("[" * 5000 + "a" + "]" * 5000, "oniguruma")


def test_a_literal_pattern_is_not_a_regex():
    program = literal_program("a.b")
    assert [tag.name for tag in program.tags] == ["rest", "period", "letter_a", "letter_b"]
    with pytest.raises(Exception, match="empty"):
        literal_program("")


def test_a_program_prints_the_rules_with_their_text():
    text = str(partition(parse_pattern(load_grammar("llama3").pattern, "oniguruma")))
    assert r"rule 2: '\\p{N}{1,3}'" in text
    assert "{number}{1,3}" in text
    assert "newline" in text
    assert "letter_s " in text
