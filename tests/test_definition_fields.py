"""Every field of a tokenizer.json: what is read, what is refused and by which path. The oracle is the reference's loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tokenizers
from gigatok_compile.definition import read_definition
from gigatok_compile.definition.cutting_steps import GPT2_PATTERN, NUMERIC
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    AddedToken,
    ByteLevelStep,
    DecoderStep,
    NormalizerStep,
    PostProcessor,
    SplitStep,
    TokenizerDefinition,
)
from hypothesis import given
from hypothesis import strategies as st

MAP = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
OFFSETS = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False}
SPLIT = {"type": "Split", "pattern": {"Regex": r"\s+"}, "behavior": "Removed", "invert": True}


def token(content: str, number: int = 257, **flags: bool) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": number, "content": content, **plain, **flags}


def special(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}


def text(name: str = "A") -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": 0}}


def template(*single: Any) -> dict[str, Any]:
    ids = {
        "<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]},
        "<m>": {"id": "<m>", "ids": [7, 8], "tokens": ["x", "y"]},
    }
    return {"type": "TemplateProcessing", "single": list(single), "pair": [text(), text("B")], "special_tokens": ids}


@pytest.fixture
def read(tmp_path: Path, toy_definition: Any) -> Any:
    """Read the toy definition with changes."""

    def read_changed(changes: dict[str, Any]) -> TokenizerDefinition:
        path = tmp_path / "toy.json"
        path.write_text(json.dumps(toy_definition(changes)))
        return read_definition(str(path))

    return read_changed


@pytest.fixture
def reference(toy_definition: Any) -> Any:
    """The reference's tokenizer of the toy definition with changes."""
    return lambda changes: tokenizers.Tokenizer.from_str(json.dumps(toy_definition(changes)))


# Accepted: the reference loads these, and nothing in them can change an id.
ACCEPTED: list[dict[str, Any]] = [
    {"version": ...},
    {"truncation": ..., "padding": ..., "added_tokens": ..., "normalizer": ..., "post_processor": ..., "decoder": ...},
    {"model.type": ...},
    {"model.dropout": 0},
    {"model.dropout": 0.0},
    {"model.unk_token": ""},
    {"model.unk_token": "<unk>", "model.fuse_unk": True, "model.byte_fallback": True},
    {"model.fuse_unk": None, "model.byte_fallback": None, "model.ignore_merges": None},
    {
        "model.fuse_unk": ...,
        "model.byte_fallback": ...,
        "model.ignore_merges": ...,
        "model.dropout": ...,
        "model.unk_token": ...,
    },
    {"model.continuing_subword_prefix": "", "model.end_of_word_suffix": ""},
    {"model.extra": 1, "decoder.extra": 1, "pre_tokenizer.extra": 1},
    {"model.merges": [["a", "b"]]},
    {"model.merges": ["#version: 0.2", "a b", "#version again"]},
    {"normalizer": {"type": "Sequence", "normalizers": []}},
    {"post_processor": {"type": "Sequence", "processors": []}},
    {"post_processor": OFFSETS},
    {"post_processor": {"type": "RobertaProcessing", "sep": ["b", 2], "cls": ["a", 1]}},
    {"post_processor": {"single": [text()], "pair": [text(), text("B")], "special_tokens": {}}},
    {"truncation": {"max_length": 9, "strategy": "LongestFirst", "stride": 8}},
    {"truncation": {"max_length": 9, "strategy": "OnlyFirst", "stride": 0, "direction": "Left"}},
    {"padding": {"strategy": {"Fixed": 3}, "direction": "Left", "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}},
]


@pytest.mark.parametrize("changes", ACCEPTED, ids=str)
def test_accepted_and_loaded_by_the_reference(read: Any, reference: Any, changes: dict[str, Any]) -> None:
    definition = read(changes)
    assert definition.model.merges.tolist() == [[97, 98, 256]]
    theirs = reference(changes)
    theirs.no_padding()
    assert theirs.encode("ab", add_special_tokens=False).ids == [256]


# Refused, and refused by the reference too: (changes, path, what the message says).
MALFORMED: list[tuple[dict[str, Any], str, str]] = [
    ({"version": None}, "version", "expected a string, found null"),
    ({"added_tokens": None}, "added_tokens", "expected a list, found null"),
    ({"added_tokens": [{"id": 257, "content": "x"}]}, "added_tokens[0].single_word", "missing"),
    ({"added_tokens": [token("x", -1)]}, "added_tokens[0].id", "expected a whole number"),
    ({"added_tokens": [token("x") | {"special": 1}]}, "added_tokens[0].special", "expected true or false"),
    ({"normalizer": {}}, "normalizer", "no type, and the fields of no normalizer"),
    ({"normalizer": "NFC"}, "normalizer", "expected an object, found a string"),
    ({"normalizer": {"type": "Nope"}}, "normalizer.type", "there is no normalizer 'Nope'"),
    ({"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}}, "pre_tokenizer.trim_offsets", "missing"),
    ({"pre_tokenizer": {"type": "ByteLevel"}}, "pre_tokenizer.add_prefix_space", "missing"),
    ({"pre_tokenizer.use_regex": None}, "pre_tokenizer.use_regex", "expected true or false, found null"),
    ({"pre_tokenizer": SPLIT | {"pattern": "a"}}, "pre_tokenizer.pattern", "expected an object"),
    ({"pre_tokenizer": SPLIT | {"pattern": {}}}, "pre_tokenizer.pattern", "expected one key"),
    (
        {"pre_tokenizer": SPLIT | {"pattern": {"String": "a", "Regex": "b"}}},
        "pre_tokenizer.pattern",
        "found String, Regex",
    ),
    ({"pre_tokenizer": SPLIT | {"behavior": "isolated"}}, "pre_tokenizer.behavior", "unknown behavior 'isolated'"),
    ({"pre_tokenizer": {k: v for k, v in SPLIT.items() if k != "invert"}}, "pre_tokenizer.invert", "missing"),
    ({"pre_tokenizer": {"type": "Digits"}}, "pre_tokenizer.individual_digits", "missing"),
    ({"post_processor": {"type": "ByteLevel"}}, "post_processor.add_prefix_space", "missing"),
    ({"post_processor": {"type": "Nope"}}, "post_processor", "the post-processor Nope is not compiled"),
    (
        {"post_processor": {"type": "BertProcessing", "sep": ["x", 6], "cls": ["y"]}},
        "post_processor.cls",
        "a token and its id",
    ),
    ({"decoder": {"type": "ByteLevel"}}, "decoder.add_prefix_space", "missing"),
    ({"decoder": {"type": "Nope"}}, "decoder", "unknown decoder Nope"),
    ({"truncation": {"max_length": 5}}, "truncation.stride", "missing"),
    ({"truncation": {"max_length": 5, "strategy": "Nope", "stride": 0}}, "truncation.strategy", "unknown name 'Nope'"),
    ({"truncation": {"max_length": -5, "strategy": "OnlyFirst", "stride": 0}}, "truncation.max_length", "whole number"),
    ({"padding": {"strategy": "BatchLongest"}}, "padding.direction", "missing"),
    ({"model.vocab": ...}, "model.vocab", "missing"),
    ({"model.vocab": None}, "model.vocab", "expected an object, found null"),
    ({"model.vocab.q": -1}, "model.vocab", "the id of 'q'"),
    ({"model.vocab.q": 1.0}, "model.vocab", "the id of 'q'"),
    ({"model.merges": None}, "model.merges", "expected a list, found null"),
    ({"model.merges": ["a b", "ab"]}, "model.merges[1]", "two tokens with one space between them, found 'ab'"),
    ({"model.merges": ["a b c"]}, "model.merges[0]", "found 'a b c'"),
    ({"model.merges": ["a b", ["a", "b"]]}, "model.merges[0]", "expected a pair of tokens"),
    ({"model.merges": [["a", "b", "c"]]}, "model.merges[0]", "expected a pair of tokens"),
    ({"model.merges": [["a", 1]]}, "model.merges[0]", "expected a pair of tokens"),
    ({"model.merges": ["#version: 0.2", "a b", "a zz"]}, "model.merges[2]", "'zz' is not in the vocabulary"),
    ({"model.merges": ["b a"]}, "model.merges[0]", "'ba' is not in the vocabulary"),
    ({"model.merges": [["#version: 0.2", "x"]]}, "model.merges[0]", "'#version: 0.2' is not in the vocabulary"),
    ({"model.dropout": 1.5}, "model.dropout", "expected null or a number from 0 to 1"),
    ({"model.dropout": "x"}, "model.dropout", "expected null or a number"),
    ({"model.ignore_merges": 1}, "model.ignore_merges", "expected true or false"),
    ({"model": ...}, "model", "no model in this file"),
]


@pytest.mark.parametrize(("changes", "where", "message"), MALFORMED, ids=lambda value: str(value)[:60])
def test_malformed_fields_are_named(
    read: Any, reference: Any, changes: dict[str, Any], where: str, message: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(changes)
    assert str(caught.value.where).endswith(f"toy.json: {where}")
    assert message in caught.value.message
    with pytest.raises(BaseException):  # noqa: B017 - pyo3 has its own panic class
        reference(changes)


# Refused although the reference loads them: they are not compiled, or the reference crashes or is random later.
REFUSED: list[tuple[dict[str, Any], str, str]] = [
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Metaspace", "replacement": "_"}, MAP]}},
        "pre_tokenizer.pretokenizers[0]",
        "Metaspace is not compiled before ByteLevel",
    ),
    (
        {"pre_tokenizer": {"type": "Sequence", "pretokenizers": [MAP, MAP]}},
        "pre_tokenizer.pretokenizers[1]",
        "after ByteLevel",
    ),
    ({"pre_tokenizer": SPLIT | {"pattern": {"String": ""}}}, "pre_tokenizer.pattern.String", "is empty"),
    ({"post_processor": template(special("<s>"))}, "post_processor", "comes out never"),
    ({"post_processor": template(text(), text())}, "post_processor", "comes out again"),
    ({"post_processor": template(text("B"))}, "post_processor.single[0].Sequence.id", "Sequence A, and not B"),
    (
        {"post_processor": template(special("<x>"), text())},
        "post_processor.single[0].SpecialToken.id",
        "'<x>' is not in",
    ),
    (
        {
            "post_processor": {
                "type": "Sequence",
                "processors": [template(special("<s>"), text(), special("<s>")), template(text())],
            }
        },
        "post_processor.processors[1]",
        "on which the reference crashes",
    ),
    ({"model.dropout": 0.1}, "model.dropout", "random"),
    (
        {"model.byte_fallback": True, "pre_tokenizer": None, "model.end_of_word_suffix": "</w>"},
        "model.byte_fallback",
        "together with a subword prefix or suffix",
    ),
    ({"model.vocab.q1": 0}, "model.vocab", "both have id 0"),
    ({"model.vocab.q1": 2**32 - 1}, "model.vocab", "the largest taken is"),
    ({"model.vocab.x": ..., "model.byte_fallback": True}, "model.byte_fallback", "a byte-level vocabulary that lacks"),
    ({"model.vocab.x": ..., "model.unk_token": "<u>"}, "model.unk_token", "'<u>' is not in the vocabulary"),
    (
        {"model.vocab.é": 300, "model.vocab.你": 301, "model.ignore_merges": True},
        "model.vocab",
        "'你' is not written in the byte alphabet",
    ),
    (
        {"added_tokens": [token("<x>"), token("<x>", lstrip=True)]},
        "added_tokens[1].content",
        "twice with different settings",
    ),
    (
        {"truncation": {"max_length": 9, "strategy": "LongestFirst", "stride": 9}},
        "truncation.stride",
        "must be below 9",
    ),
]


@pytest.mark.parametrize(("changes", "where", "message"), REFUSED, ids=lambda value: str(value)[:60])
def test_what_is_not_compiled_is_refused_by_path(
    read: Any, reference: Any, changes: dict[str, Any], where: str, message: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(changes)
    assert str(caught.value.where).endswith(f"toy.json: {where}")
    assert message in caught.value.message
    reference(changes)


def test_the_stride_counts_the_special_tokens(read: Any) -> None:
    changes = {
        "truncation": {"max_length": 9, "strategy": "LongestFirst", "stride": 8},
        "post_processor": template(special("<s>"), text()),
    }
    with pytest.raises(DefinitionError, match=r"truncation.stride: must be below 8"):
        read(changes)
    # Below the count of special tokens the reference does not cut at all, so no stride can hurt.
    assert (
        read(changes | {"truncation": {"max_length": 0, "strategy": "LongestFirst", "stride": 8}}).truncation["stride"]
        == 8
    )


# --- what the fields become ----------------------------------------------------------------------------------------------


def test_pre_tokenizer_steps_are_flat(read: Any) -> None:
    inner = {"type": "Sequence", "pretokenizers": [SPLIT, {"type": "Digits", "individual_digits": True}]}
    literal = {"type": "Split", "pattern": {"String": "a.b"}, "behavior": "MergedWithNext", "invert": False}
    digits = {"type": "Digits", "individual_digits": False}
    steps = read({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [inner, literal, digits, MAP]}}).pre_tokenizer
    at = "pre_tokenizer.pretokenizers"
    assert steps == (
        SplitStep(r"\s+", "oniguruma", f"{at}[0].pretokenizers[0].pattern.Regex", "Removed", True, True, "Split"),
        SplitStep(
            NUMERIC,
            "oniguruma",
            f"{at}[0].pretokenizers[1].individual_digits",
            component="Digits(individual_digits=true)",
        ),
        SplitStep("a.b", "oniguruma", f"{at}[1].pattern.String", "MergedWithNext", False, False, "Split"),
        SplitStep(
            NUMERIC + "+", "oniguruma", f"{at}[2].individual_digits", component="Digits(individual_digits=false)"
        ),
        ByteLevelStep(False, f"{at}[3]"),
    )


def test_the_prefix_space_comes_before_the_pattern(read: Any, reference: Any) -> None:
    changes = {"pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True}}
    assert read(changes).pre_tokenizer == (
        ByteLevelStep(True, "pre_tokenizer"),
        SplitStep(GPT2_PATTERN, "oniguruma", "pre_tokenizer.use_regex", component="ByteLevel(use_regex=true)"),
    )
    pieces = reference(changes).pre_tokenizer.pre_tokenize_str("'ve")
    assert [piece for piece, _ in pieces] == ["Ġ'", "ve"]  # cut first, the prefix would give "Ġ've"


@pytest.mark.parametrize(
    ("processor", "prefix", "suffix"),
    [
        (None, (), ()),
        (OFFSETS, (), ()),
        (template(special("<s>"), text(), special("<m>")), (1,), (7, 8)),
        ({"type": "Sequence", "processors": [OFFSETS, template(special("<s>"), text())]}, (1,), ()),
        ({"type": "Sequence", "processors": [template(text(), special("<s>")), OFFSETS]}, (), (1,)),
        ({"type": "BertProcessing", "sep": ["x", 5], "cls": ["y", 6]}, (6,), (5,)),
        ({"type": "RobertaProcessing", "sep": ["x", 5], "cls": ["y", 6], "trim_offsets": True}, (6,), (5,)),
    ],
    ids=str,
)
def test_post_processors_become_ids_around_the_text(
    read: Any, reference: Any, processor: Any, prefix: tuple[int, ...], suffix: tuple[int, ...]
) -> None:
    found = read({"post_processor": processor}).post_processor
    assert (found.prefix, found.suffix) == (prefix, suffix)
    assert found.single == PostProcessor.around(prefix, suffix).single
    assert reference({"post_processor": processor}).encode("ab").ids == [*prefix, 256, *suffix]


def test_normalizers_are_flat(read: Any) -> None:
    inner = {"type": "Sequence", "normalizers": [{"type": "NFC"}]}
    steps = read({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, inner]}}).normalizer
    assert steps == (
        NormalizerStep("NFC", "normalizer.normalizers[0]"),
        NormalizerStep("NFC", "normalizer.normalizers[1].normalizers[0]"),
    )


def test_decoders_are_flat(read: Any) -> None:
    assert read({"decoder": None}).decoder is None
    inner = {"type": "Sequence", "decoders": [OFFSETS]}
    found = read({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"}, inner]}}).decoder
    assert found == (
        DecoderStep("Fuse", "decoder.decoders[0]"),
        DecoderStep("ByteLevel", "decoder.decoders[1].decoders[0]"),
    )


def test_truncation_and_padding_are_kept_as_they_are(read: Any) -> None:
    truncation = {"max_length": 9, "strategy": "LongestFirst", "stride": 0, "direction": "Right"}
    padding = {
        "strategy": "BatchLongest",
        "direction": "Right",
        "pad_to_multiple_of": 8,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "x",
    }
    definition = read({"truncation": truncation, "padding": padding})
    assert (definition.truncation, definition.padding) == (truncation, padding)


# --- the model and added tokens --------------------------------------------------------------------------------------------


def test_of_a_merge_twice_the_last_counts(read: Any, reference: Any) -> None:
    changes = {"model.vocab.bc": 257, "model.vocab.abc": 258, "model.merges": ["a b", "b c", "a b"]}
    model = read(changes).model
    assert model.merges.tolist() == [[98, 99, 257], [97, 98, 256]]
    assert model.ranks.tolist() == [1, 2]
    assert reference(changes).encode("abc").ids == [97, 257]


def test_bytes_that_text_cannot_hold_may_be_missing(read: Any, alphabet: list[str]) -> None:
    model = read({f"model.vocab.{alphabet[byte]}": ... for byte in (0xC0, 0xFF)}).model
    assert model.byte_ids[[0xC0, 0xFF, 0xC3]].tolist() == [-1, -1, 0xC3]
    assert model.tokens[0xFF] is None


def test_entries_outside_the_byte_alphabet_keep_their_utf8_and_never_merge(
    read: Any, reference: Any, toy_definition: Any
) -> None:
    changes = {
        "model.vocab": toy_definition()["model"]["vocab"] | {"你": 257, "你a": 258, "": 259, "<你>": 260},
        "model.merges": [["你", "a"], ["a", "b"], ["", "a"]],
        "added_tokens": [token("<你>", 260)],
    }
    definition = read(changes)
    assert definition.model.tokens[257:] == ("你".encode(), "你a".encode(), None, None)
    assert definition.model.merges.tolist() == [[97, 98, 256]]
    assert definition.model.ranks.tolist() == [1]
    assert definition.added_tokens == (AddedToken(260, "<你>"),)
    assert "2 entries such as '你'" in definition.warnings[-1]
    theirs = reference(changes)
    assert theirs.encode("你ab<你>").ids == [*"你".encode(), 256, 260]
    assert theirs.decode([257, 258], skip_special_tokens=False) == "你你a"


@pytest.mark.parametrize(
    ("vocab", "added"),
    [
        ({}, [token("<x>", 9), token("ab", 3), token("<y>", 4), token("", 5), token("<x>", 6), token("<z>", 7)]),
        ({"zz": 300}, [token("<x>", 1), token("zz", 2), token("<y>", 3), token("<z>", 9)]),
        ({"zz": 259}, [token("<x>", 258), token("<y>", 259)]),  # <y> gets zz's id
        ({"zz": 5000}, [token("zz", 5000), token("<y>", 5001)]),
        ({}, [token("é", 257), token("a b", 258, normalized=True, special=False)]),
    ],
    ids=str,
)
def test_added_tokens_get_the_reference_ids(read: Any, reference: Any, vocab: Any, added: Any) -> None:
    changes = {f"model.vocab.{text}": number for text, number in vocab.items()} | {"added_tokens": added}
    definition = read(changes)
    theirs = reference(changes).get_added_tokens_decoder()
    assert {t.id: t.content for t in definition.added_tokens} == {number: t.content for number, t in theirs.items()}
    moved = [t for t in added if t["content"] and t["id"] != reference(changes).token_to_id(t["content"])]
    assert (
        sum("as in the reference, the file says" in w for w in definition.warnings)
        >= len({t["content"] for t in moved}) - 1
    )


def test_an_id_taken_twice_is_said(read: Any) -> None:
    definition = read({"model.vocab.zz": 259, "added_tokens": [token("<x>", 258), token("<y>", 259)]})
    assert [t.id for t in definition.added_tokens] == [258, 259]
    assert any("'<y>' gets id 259, which another entry has too" in warning for warning in definition.warnings)


@given(data=st.data())
def test_random_merges_agree_with_the_reference(
    toy_definition: Any, naive_bpe: Any, tmp_path_factory: Any, data: st.DataObject
) -> None:
    """Random merge lists, repeated pairs included: naive BPE over what was read gives the reference's ids."""
    definition = toy_definition({"model.merges": []})
    vocab, pool = definition["model"]["vocab"], ["a", "b", "c"]
    del vocab["ab"]
    merges = []
    for _ in range(data.draw(st.integers(0, 12))):
        left, right = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        if len(left + right) > 8:
            continue
        merges.append([left, right])
        if left + right not in vocab:
            vocab[left + right] = len(vocab)
            pool.append(left + right)
    definition["model"]["merges"] = merges
    definition["model"]["ignore_merges"] = data.draw(st.booleans())
    path = tmp_path_factory.mktemp("merges") / "toy.json"
    path.write_text(json.dumps(definition))
    model = read_definition(str(path)).model
    theirs = tokenizers.Tokenizer.from_str(json.dumps(definition))
    for piece in data.draw(st.lists(st.text("abc", max_size=12), max_size=5)):
        assert naive_bpe(model).encode(piece.encode()) == theirs.encode(piece).ids
