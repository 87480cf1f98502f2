"""The pre-tokenizer that a vocabulary implies, and the respelling of marks: ids are the same without them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import random
from typing import Any

import pytest
import regex
from gigatok_compile.bitstream.interpret import pieces
from gigatok_compile.definition.respell import respell
from gigatok_compile.definition.tokenizer_json import read_tokenizer_json
from gigatok_compile.ir.definition import MetaspaceStep, NormalizerStep, SplitStep, TokenizerDefinition
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.split_plan import plan_split
from gigatok_compile.verify.expand import to_regex_package
from gigatok_compile.vocabulary.cut_pattern import find_kinds
from gigatok_compile.vocabulary.implied_cuts import imply_cuts
from gigatok_compile.vocabulary.run_tokens import find_run_tokens
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_runtime.bpe import BytePairEncoder

MARK = "▁"
REPLACE = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}
ALPHABET = "abcxyz123,.;>\n\té日本語中👍 "


def pieces_of(pattern: str, text: str) -> list[str]:
    expanded = to_regex_package(parse_pattern(pattern, "oniguruma", "test"))
    found = [m.group() for m in regex.finditer(expanded, text, regex.VERSION1)]
    assert "".join(found) == text
    return found


def random_tokens(generator: random.Random, count: int) -> list[str]:
    """Tokens of neighbours in one sort of characters, some with a space before, few that go over a border."""
    sorts = ["abcxyzé", ",.;>", "日本語中", "\n", "123"]
    found = []
    for _ in range(count):
        chars = generator.choices(generator.choice(sorts), k=generator.randint(2, 4))
        found.append(generator.choice(["", "", " ", "  "]) + "".join(chars))
    found += ["".join(generator.choices(ALPHABET, k=2)) for _ in range(generator.choice((0, 0, 1, 3)))]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_cut_goes_through_a_token(seed: int) -> None:
    generator = random.Random(seed)
    tokens = random_tokens(generator, generator.randint(1, 30))
    for joins_spaces in (False, True):
        kinds = find_kinds(tokens, None, joins_spaces)
        held = {pair for token in tokens for pair in itertools.pairwise(token)}
        for _ in range(60):
            text = "".join(generator.choices(ALPHABET, k=generator.randint(1, 40)))
            for left, right in itertools.pairwise(pieces_of(kinds.pattern, text)):
                assert (left[-1], right[0]) not in held, (text, tokens, kinds.pattern)


def test_kinds_are_cut_from_each_other_and_take_their_spaces() -> None:
    kinds = find_kinds(["ab", "bc", ",.", " a", "日本", "> <"], None, True)
    assert pieces_of(kinds.pattern, "abc,. ab  cab日本a") == ["abc", ",.", " ab", "  cab", "日本", "a"]
    assert pieces_of(kinds.pattern, "11 2 ") == ["1", "1", " 2", " "]
    assert pieces_of(kinds.pattern, "ab> <ab >> ") == ["ab", "> <", "ab", " >> "]
    assert kinds.before_space == CodeSet.single(ord(">"))


def test_rare_kinds_in_the_rows_of_a_common_one_join_it() -> None:
    """A row of 64 code points with characters of one kind alone becomes of that kind; a rare kind would keep it mixed."""
    sorts = ["ab", "αβ", "бв", "אב", "กข", "アイ"]  # common: many tokens each
    common = ["".join(pair) for sort in sorts for pair in itertools.product(sort, repeat=2)]
    assert pieces_of(find_kinds([*common, "丁七", "丁七"], None, False).pattern, "丁七万") == [
        "丁七万"
    ]  # a kind of its own
    rare = ["ウエ", "丈三", "丈一", "ёъ", "ab"]
    kinds = find_kinds([*common * 2, *rare], None, False)
    assert len(kinds.kinds) == 7  # the six, and what is left of the rare ones
    katakana = next(kind for kind in kinds.kinds if ord("ア") in kind)
    assert ord("ウ") in katakana and ord("オ") in katakana  # the whole row
    ideographs = next(kind for kind in kinds.kinds if ord("丈") in kind)
    assert ord("ア") not in ideographs and ord("万") in ideographs
    # not what lies in the rows of two: it stays with the rare ones
    assert len(find_kinds([*common * 2, "ウб"], None, False).kinds) == 6  # one kind then


def test_unknown_characters_stay_together_where_they_are_fused() -> None:
    unknown = CodeSet.of([(ord("q"), ord("r"))])
    assert pieces_of(find_kinds(["ab"], unknown, False).pattern, "abqrqab1") == ["ab", "qrq", "ab", "1"]


# ---------------------------------------------------------------------- definitions


def definition(entries: list[str], merges: list[tuple[str, str]], **more: Any) -> TokenizerDefinition:
    names = [f"<0x{byte:02X}>" for byte in range(256)]
    vocab = {entry: i for i, entry in enumerate([*names, *entries])}
    model = {
        "type": "BPE",
        "vocab": vocab,
        "merges": [list(pair) for pair in merges],
        "byte_fallback": True,
        "unk_token": None,
        "fuse_unk": True,
    }
    file = {"version": "1.0", "added_tokens": [], "normalizer": REPLACE, "pre_tokenizer": None, "model": model} | more
    return read_tokenizer_json(json.dumps(file).encode(), name="toy", sha256="0" * 64)


def encoder_of(toy: TokenizerDefinition) -> BytePairEncoder:
    model = toy.model
    return BytePairEncoder(model.tokens, model.merges, model.ranks, model.byte_ids, False, characters=True)


@pytest.mark.parametrize("seed", range(25))
def test_merging_piece_by_piece_is_merging_the_whole(seed: int) -> None:
    """With random merges, so that tokens go over any border, spaces among them."""
    generator = random.Random(100 + seed)
    chars = [MARK if c == " " else c for c in ALPHABET if c not in "\t中"]
    entries = list(chars)
    merges: list[tuple[str, str]] = []
    for _ in range(generator.randint(3, 40)):
        left, right = generator.choice(entries), generator.choice(entries)
        if left + right not in entries:
            entries.append(left + right)
            merges.append((left, right))
    toy = definition(entries, merges)
    derived = derive_entries(toy.model)
    implied = imply_cuts(toy, derived)
    (step,) = implied.pre_tokenizer
    assert isinstance(step, SplitStep) and step.derived
    encoder = encoder_of(toy)
    for _ in range(80):
        text = "".join(generator.choices(ALPHABET, k=generator.randint(1, 60)))
        parts = [encoder.merge(piece.encode()) for piece in pieces_of(step.pattern, text)]
        assert [i for part in parts for i in part] == encoder.merge(text.encode()), (text, merges)


def test_nothing_is_implied_where_it_could_change_ids() -> None:
    toy = definition(["a", "b", "ab"], [("a", "b")])
    derived = derive_entries(toy.model)
    assert len(imply_cuts(toy, derived).pre_tokenizer) == 1
    dropping = dataclasses.replace(toy.model, byte_ids=toy.model.byte_ids * 0 - 1)
    for model in (
        dropping,  # what is unknown is dropped, its neighbours touch
        dataclasses.replace(toy.model, ignore_merges=True),
    ):
        changed = dataclasses.replace(toy, model=model)
        assert imply_cuts(changed, derive_entries(model)) is changed
    split = SplitStep("x", "oniguruma", "pre_tokenizer")
    cutting = dataclasses.replace(toy, pre_tokenizer=(split,))
    assert imply_cuts(cutting, derived) is cutting


def test_a_step_that_never_cuts_makes_room_for_the_implied_one() -> None:
    """Gemma 3 splits at spaces, after all spaces have become marks."""
    split = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}
    toy = definition(["a", "b", "ab"], [("a", "b")], pre_tokenizer=split)
    implied = imply_cuts(toy, derive_entries(toy.model))
    assert [isinstance(step, SplitStep) and step.derived for step in implied.pre_tokenizer] == [True]


# ---------------------------------------------------------------------- respelling


def test_marks_become_spaces() -> None:
    prepend = NormalizerStep("Prepend", "n[0]", {"prepend": MARK})
    replace = NormalizerStep("Replace", "n[1]", {"string": " ", "content": MARK})
    split = SplitStep(MARK, "oniguruma", "p", is_regex=False)
    found = respell([prepend, replace], [split])
    assert [step.options for step in found.normalizer] == [
        {"prepend": " "},
        {"string": MARK, "content": " "},
    ]
    assert found.pre_tokenizer == (dataclasses.replace(split, swapped=MARK),)
    assert (found.mark, found.entry("▁a▁"), found.entry("a b")) == (MARK, " a ", None)


def test_a_swapped_step_cuts_where_it_did() -> None:
    """The step sees marks; the machine reads spaces."""
    written = SplitStep(f"{MARK}?[a-z]+|[ ]", "oniguruma", "p")
    toy = definition(["a"], [], pre_tokenizer=None)
    spelled = SplitStep(f" ?[a-z]+|[{MARK}]", "oniguruma", "p")
    kernels = [
        plan_split(dataclasses.replace(toy, pre_tokenizer=(step,))).kernel
        for step in (dataclasses.replace(written, swapped=MARK), spelled)
    ]
    for text in map("".join, itertools.product(["a", "b", " ", MARK, "1"], repeat=5)):
        found = []
        for kernel in kernels:
            assert kernel is not None and kernel.bits is not None
            tags = [next(t.index for t in kernel.alphabet if ord(c) in CodeSet(t.ranges)) for c in text]
            found.append(pieces(kernel.bits, tags))
        assert found[0] == found[1], text


def test_metaspace_goes_first_and_its_cut_stays() -> None:
    metaspace = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}
    toy = definition(["a", "▁", "▁a"], [("▁", "a")], normalizer=None, pre_tokenizer=metaspace)
    first, cut = toy.pre_tokenizer
    assert isinstance(first, MetaspaceStep) and first.respelled
    assert isinstance(cut, SplitStep) and (cut.pattern, cut.behavior) == (" ", "MergedWithNext")
    assert toy.model.tokens[-1] == b" a"
    implied = imply_cuts(toy, derive_entries(toy.model))
    assert implied.pre_tokenizer[:2] == toy.pre_tokenizer and len(implied.pre_tokenizer) == 3


@pytest.mark.parametrize(
    "normalizer",
    [
        REPLACE | {"content": "▁▁"},
        REPLACE | {"content": " "},
        REPLACE | {"pattern": {"String": "x"}},
        {"type": "Sequence", "normalizers": [REPLACE, {"type": "Prepend", "prepend": MARK}]},
    ],
)
def test_other_replacements_are_left_alone(normalizer: dict[str, Any]) -> None:
    toy = definition(["a"], [], normalizer=normalizer)
    assert toy.mark == ""


# ---------------------------------------------------------------------- runs of added tokens


def with_runs(longest: int, **changes: Any) -> TokenizerDefinition:
    runs = ["\n" * n for n in range(1, longest + 1)]
    halves = [("\n" * (n // 2), "\n" * (n // 2)) for n in (2, 4) if n <= longest]
    merges = [*halves, *[("\n" * (n - 1), "\n") for n in (3,) if n <= longest]]
    tokens = [
        {"id": 256 + i, "content": run, "normalized": False, "special": False}
        | dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
        | changes
        for i, run in enumerate(runs)
    ]
    return definition([*runs, "a", "ab", "b"], [*merges, ("a", "b")], added_tokens=tokens)


def test_runs_that_merging_makes_need_not_be_looked_for() -> None:
    toy = with_runs(4)
    derived = derive_entries(toy.model)
    (run,) = find_run_tokens(imply_cuts(toy, derived), derived)
    assert (run.byte, run.numbers) == (10, (0, 1, 2, 3))


@pytest.mark.parametrize("change", [{"special": True}, {"normalized": True}, {"lstrip": True}, {"single_word": True}])
def test_runs_that_could_make_a_difference_are_looked_for(change: dict[str, bool]) -> None:
    toy = with_runs(4, **change)
    derived = derive_entries(toy.model)
    assert find_run_tokens(imply_cuts(toy, derived), derived) == ()


def test_a_run_that_is_joined_to_something_is_looked_for() -> None:
    toy = with_runs(2)
    joined = definition(
        ["\n", "\n\n", "a", "\na"],
        [("\n", "\n"), ("\n", "a")],
        added_tokens=[dataclasses.asdict(token) for token in toy.added_tokens],
    )
    derived = derive_entries(joined.model)
    assert find_run_tokens(imply_cuts(joined, derived), derived) == ()
