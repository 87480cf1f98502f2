"""Every pre-tokenizer that cuts, as the SplitSteps that it is read as: the same pieces as the reference's.

A step is given in its JSON form to both; ours is carried out by the runtime's Splitter over the expanded pattern.
"""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np
import pytest
import tokenizers
from gigatok_compile.definition.cutting_steps import check_user_pattern
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.pre_tokenizer import read_pre_tokenizer, read_steps
from gigatok_compile.definition_data import expanded_pattern
from gigatok_compile.errors import DefinitionError, PatternError
from gigatok_compile.ir.definition import ByteLevelStep, MetaspaceStep, SplitStep
from gigatok_compile.unicode.engine import all_scalars
from gigatok_runtime.splitting import Splitter

BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
Spans = list[tuple[int, int]]


def sequence(*steps: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


def split(pattern: Any, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}


def metaspace(scheme: str = "always", split: bool | None = True, replacement: str = "▁") -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": split}


DIGITS = {"type": "Digits", "individual_digits": True}
WHITESPACE_SPLIT = {"type": "WhitespaceSplit"}
PUNCTUATION = {"type": "Punctuation"}
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
BYTE_MAP = BYTE_LEVEL | {"use_regex": False}

SINGLE: list[dict[str, Any]] = [
    DIGITS,
    {"type": "Digits", "individual_digits": False},
    PUNCTUATION,
    *({"type": "Punctuation", "behavior": behavior} for behavior in BEHAVIORS),
    {"type": "Whitespace"},
    WHITESPACE_SPLIT,
    {"type": "BertPreTokenizer"},
    {"type": "BertPreTokenizer", "unknown": [1]},
    {"type": "UnicodeScripts"},
    {"type": "FixedLength"},
    *({"type": "FixedLength", "length": length} for length in (1, 2, 7, 1000)),
    *({"type": "CharDelimiterSplit", "delimiter": char} for char in " .中\n😀"),
    BYTE_LEVEL,
]
CHOICES: list[dict[str, Any]] = [
    *(
        split(pattern, behavior, invert)
        for pattern in ({"String": "-"}, {"String": "a."}, {"Regex": r"\p{N}{1,3}|\s"}, {"Regex": r"\b|\s+$"})
        for behavior in BEHAVIORS
        for invert in (False, True)
    ),
]
SPACES: list[dict[str, Any]] = [
    *(metaspace(scheme, split, mark) for scheme in ("always", "first", "never") for split in (True, False) for mark in "▁_"),
    metaspace(split=None),
    metaspace(replacement=" "),
    {"type": "Metaspace", "replacement": "▁"},
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "prepend_scheme": "never"},
    {"type": "Metaspace", "replacement": "▁", "add_prefix_space": False, "prepend_scheme": "never"},
    {"type": "Metaspace", "replacement": "^", "add_prefix_space": None, "str_rep": "x"},
    {"type": "Metaspace", "replacement": "]"},
]  # fmt: skip
CHAINS: list[dict[str, Any]] = [
    sequence(),
    sequence(DIGITS, sequence(PUNCTUATION, sequence()), WHITESPACE_SPLIT),
    sequence(WHITESPACE_SPLIT, metaspace()),
    sequence(WHITESPACE_SPLIT, metaspace("first")),
    sequence(PUNCTUATION, metaspace("never")),
    sequence({"type": "BertPreTokenizer"}, {"type": "FixedLength", "length": 3}),
    sequence({"type": "UnicodeScripts"}, {"type": "Whitespace"}, DIGITS),
    sequence({"type": "Punctuation", "behavior": "Contiguous"}, BYTE_LEVEL),
    sequence({"type": "FixedLength", "length": 9}, {"type": "UnicodeScripts"}, {"type": "Digits", "individual_digits": False}),
    sequence(split({"Regex": r"\p{L}+"}, "MergedWithNext"), {"type": "CharDelimiterSplit", "delimiter": " "}, DIGITS),
]  # fmt: skip


def reference(step: Any) -> tokenizers.Tokenizer:
    tokenizer = json.loads(tokenizers.Tokenizer(tokenizers.models.BPE()).to_str())
    return tokenizers.Tokenizer.from_str(json.dumps(tokenizer | {"pre_tokenizer": step}))


def read(step: Any) -> tuple[Any, ...]:
    return read_steps(Fields.of(step, "pre_tokenizer"))


def splitters_of(step: Any) -> list[Splitter]:
    return [Splitter(expanded_pattern(s), s.behavior, s.invert) for s in read(step) if isinstance(s, SplitStep)]


def cut(splitters: list[Splitter], text: str) -> Spans:
    spans = [(0, len(text))] if text else []
    for splitter in splitters:
        spans = [(start + a, start + b) for start, end in spans for a, b in splitter.spans(text[start:end])]
    return spans


def check(step: Any, texts: list[str]) -> None:
    theirs, ours = reference(step).pre_tokenizer, splitters_of(step)
    for text in texts:
        # An empty text that no step sees stays there as an empty piece, which no model makes anything of.
        expected = [(start, end) for _, (start, end) in theirs.pre_tokenize_str(text) if start < end]
        assert cut(ours, text) == expected, ascii(text)


POOL = [
    *"aZé_ß'\"-$+<=>^`|~!.,;:()[]#&*/\\@%{}09 \t\n\r",
    *"½²Ⅷ〇四๓٣",  # numbers, and Han that is none
    *"\U00011de0\U00011de9\U00016ff4",  # digits of Unicode 17
    *"«»、。¿·\u2e42\u166d\U000111c9",  # punctuation of Unicode 8, two of which are none any more
    *"\u2e43\u2e5d\u061d\U00011a3f",  # punctuation of later versions
    *"\x0b\x0c\x1c\x1f\x85\xa0\u1680\u180e\u2000\u200a\u200b\u200c\u200d\u2028\u2029\u202f\u205f\u2060\u3000\ufeff",
    *"αЖאبकไ中漢あアー한ｱᚠ\U0001e900\U00011d00",  # scripts; the last is of Unicode 10
    *"\u0301\u0345\u1ace\u0898\u3099\u20dd\u0903",  # marks
    *"\u0378\u20ff\ue000\ufffd\ufffe\U000e0001\U0010ffff\x00\x7f",  # unassigned, private, no characters
    *"▁▂😀👍🏽€©\u1c89\ua7ce\ua7cb",
]  # fmt: skip
TEXTS = [
    "", " ", "  ", "a", "1", ".", "a b", "  a  b  ", "it's a$b «c»", "Hey, 123.45!! x--y", "the-final--countdown-", "a.a..a.",
    "こんにちは、世界！カタカナー123 한국어 text", "  \u0378a", "\u0378 \u0301", "ab\u0378中 \u0301あ", "中 a 中", "1中 a", "▁a ▁b▁",
    "▁", "_a_ b", " ▁ ▁", "a\n\n b\r\n", "x\u200by\ufeffz", "😀😀 👍🏽", "12345 67", "½²Ⅷ〇四\U00011de0\U00016ff4",
    "\u061d\u2e42\u2e43\u166d\U000111c9", "a\u0301b\u1acec", "don't 'll", "a^b]c", "".join(POOL),
]  # fmt: skip


def random_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    texts = []
    for _ in range(count):
        few = rng.sample(POOL, rng.choice((2, 4, 10, len(POOL))))
        texts.append("".join(rng.choices(few, k=rng.randrange(1, 30))))
    return texts


@pytest.mark.parametrize("step", [*SINGLE, *CHOICES, *SPACES, *CHAINS], ids=lambda step: json.dumps(step)[:90])
def test_pieces_are_the_reference_pieces(step: Any) -> None:
    check(step, TEXTS)
    check(step, random_texts(300, seed=len(json.dumps(step))))


IN_ORDER = [step for step in SINGLE if step != BYTE_LEVEL]
SHUFFLED = [DIGITS, PUNCTUATION, {"type": "Whitespace"}, WHITESPACE_SPLIT, {"type": "BertPreTokenizer"}]


@pytest.mark.parametrize("step", [*IN_ORDER, metaspace("never"), metaspace("first")], ids=str)
def test_all_scalar_values_in_order(step: Any) -> None:
    check(step, [all_scalars()])


@pytest.mark.parametrize("step", SHUFFLED, ids=str)
def test_all_scalar_values_shuffled(step: Any) -> None:
    codes = [ord(char) for char in all_scalars()]
    check(step, ["".join(map(chr, np.random.default_rng(3).permutation(codes).tolist()))])


# --- what the steps say --------------------------------------------------------------------------------------------------


def test_steps_name_their_component_and_place() -> None:
    steps = read(
        sequence(
            split({"String": "x"}),
            DIGITS,
            PUNCTUATION,
            {"type": "BertPreTokenizer"},
            {"type": "CharDelimiterSplit", "delimiter": "'"},
            {"type": "FixedLength"},
            metaspace(),
            BYTE_LEVEL,
        )
    )
    at = "pre_tokenizer.pretokenizers"
    named = [(step.component, step.where) for step in steps if isinstance(step, SplitStep)]
    assert named == [
        ("Split", f"{at}[0].pattern.String"),
        ("Digits(individual_digits=true)", f"{at}[1].individual_digits"),
        ("Punctuation(behavior=Isolated)", f"{at}[2]"),
        ("BertPreTokenizer", f"{at}[3]"),
        ("BertPreTokenizer", f"{at}[3]"),
        ('CharDelimiterSplit(delimiter="\'")', f"{at}[4].delimiter"),
        ("FixedLength(length=5)", f"{at}[5].length"),
        ("Metaspace(replacement='▁', split=true)", f"{at}[6]"),
        ("ByteLevel(use_regex=true)", f"{at}[7].use_regex"),
    ]
    assert [step for step in steps if not isinstance(step, SplitStep)] == [
        MetaspaceStep("▁", "always", True, f"{at}[6]"),
        ByteLevelStep(False, f"{at}[7]"),
    ]


def marked(step: MetaspaceStep, piece: str, start: int) -> str:
    """What MetaspaceStep says is done to a piece that begins at `start` of the original text."""
    piece = piece.replace(" ", step.replacement)
    prefix = step.prepend_scheme == "always" or (step.prepend_scheme == "first" and start == 0)
    return step.replacement + piece if prefix and not piece.startswith(step.replacement) else piece


@pytest.mark.parametrize("step", [*SPACES, *CHAINS[2:5]], ids=str)
def test_metaspace_after_its_cut_gives_the_reference_pieces(step: Any) -> None:
    """Replacing and prepending piece by piece comes to the same as doing it before the cut."""
    theirs, ours = reference(step).pre_tokenizer, splitters_of(step)
    (mark,) = (s for s in read(step) if isinstance(s, MetaspaceStep))
    for text in [*TEXTS, *random_texts(200, 8)]:
        pieces = [marked(mark, text[start:end], start) for start, end in cut(ours, text)]
        assert pieces == [piece for piece, _ in theirs.pre_tokenize_str(text)], ascii(text)


# --- refused -------------------------------------------------------------------------------------------------------------

MALFORMED: list[tuple[dict[str, Any], str, str]] = [
    ({"type": "Digits", "individual_digits": None}, "individual_digits", "expected true or false, found null"),
    ({"type": "Punctuation", "behavior": "isolated"}, "behavior", "unknown behavior"),
    ({"type": "Punctuation", "behavior": None}, "behavior", "expected a string, found null"),
    ({"type": "CharDelimiterSplit"}, "delimiter", "missing"),
    ({"type": "CharDelimiterSplit", "delimiter": "ab"}, "delimiter", "expected one character, found 'ab'"),
    ({"type": "CharDelimiterSplit", "delimiter": ""}, "delimiter", "expected one character, found ''"),
    ({"type": "FixedLength", "length": -1}, "length", "expected a whole number"),
    ({"type": "FixedLength", "length": 5.0}, "length", "expected a whole number"),
    ({"type": "FixedLength", "length": None}, "length", "expected a whole number"),
    ({"type": "Metaspace"}, "replacement", "missing"),
    (metaspace(replacement="▁▁"), "replacement", "expected one character, found '▁▁'"),
    (metaspace("Always"), "prepend_scheme", "unknown scheme 'Always'"),
    (metaspace() | {"prepend_scheme": None}, "prepend_scheme", "expected a string, found null"),
    (metaspace() | {"add_prefix_space": False}, "add_prefix_space", "false does not go with prepend_scheme always"),
    ({"type": "Metaspace", "replacement": "▁", "add_prefix_space": False}, "add_prefix_space", "prepend_scheme always"),
    (metaspace("first") | {"add_prefix_space": False}, "add_prefix_space", "prepend_scheme first"),
    (metaspace() | {"add_prefix_space": 1}, "add_prefix_space", "expected true or false"),
    (metaspace() | {"str_rep": 1}, "str_rep", "expected a string, found the number 1"),
    (metaspace() | {"split": "yes"}, "split", "expected true or false"),
    ({"type": "Sequence"}, "pretokenizers", "missing"),
]


@pytest.mark.parametrize(("step", "where", "message"), MALFORMED, ids=str)
def test_what_the_reference_does_not_load_is_refused(step: Any, where: str, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(step)
    assert caught.value.where == f"pre_tokenizer.{where}"
    assert message in caught.value.message
    with pytest.raises(Exception, match="line 1 column"):
        reference(step)


def test_lengths_that_cannot_be_are_refused() -> None:
    for length, message in ((0, "no characters"), (100_001, "more than 100000")):
        with pytest.raises(DefinitionError, match=message):
            read({"type": "FixedLength", "length": length})
        reference({"type": "FixedLength", "length": length})


def test_what_follows_the_byte_map_may_only_cut() -> None:
    steps = read(sequence(DIGITS, BYTE_MAP, DIGITS, {"type": "BertPreTokenizer"}))
    assert [isinstance(step, SplitStep) and step.on_bytes for step in steps] == [False, False, True, True, True]
    for other in (BYTE_MAP, BYTE_LEVEL, metaspace("never"), {"type": "Soup"}):
        with pytest.raises(DefinitionError, match="comes after ByteLevel, where only a step that cuts") as caught:
            read(sequence(BYTE_MAP, DIGITS, other))
        assert caught.value.where == "pre_tokenizer.pretokenizers[2]"


def test_bytes_are_cut_where_they_are_those_of_the_text() -> None:
    for first, what in (
        ([BYTE_MAP | {"add_prefix_space": True}], "ByteLevel with add_prefix_space"),
        ([metaspace("never"), BYTE_MAP], "Metaspace and ByteLevel"),
    ):
        with pytest.raises(DefinitionError, match=f"the step Digits after {what} is not compiled") as caught:
            read(sequence(*first, DIGITS))
        assert caught.value.where == f"pre_tokenizer.pretokenizers[{len(first)}]"


def test_a_byte_level_chain_takes_every_cutting_step_but_metaspace() -> None:
    cutting = [step for step in [*SINGLE, *CHOICES] if step != BYTE_LEVEL]
    steps = read_pre_tokenizer(Fields.of(sequence(*cutting, BYTE_MAP), "pre_tokenizer"))
    assert isinstance(steps[-1], ByteLevelStep) and len(steps) > len(cutting)
    with pytest.raises(DefinitionError, match="Metaspace is not compiled before ByteLevel"):
        read_pre_tokenizer(Fields.of(sequence(DIGITS, metaspace(), BYTE_MAP), "pre_tokenizer"))


@pytest.mark.parametrize("pattern", [r"a\p{hf:numeric}", r"a[\P{^hf:numeric}]", r"a\p{hf:script=latin}"])
def test_users_cannot_name_the_sets_of_components(pattern: str) -> None:
    """As the engine refuses them; the same letters where they are no property are read."""
    with pytest.raises(PatternError, match="unknown property 'hf:") as caught:
        read(split({"Regex": pattern}))
    assert (caught.value.where, caught.value.start in (1, 2)) == ("pre_tokenizer.pattern.Regex", True)
    with pytest.raises(PatternError, match="unknown property 'hf:"):
        check_user_pattern(pattern, "fancy", "grammar.pattern")
    with pytest.raises(Exception, match="invalid character property name"):
        reference(split({"Regex": pattern}))
    for harmless in (r"\\p{hf:numeric}", "hf:numeric", "[hf:]+"):
        check(split({"Regex": harmless}), ["a\\p{hf:numeric}b 12 hf:numeric"])
