"""The grammar files: their examples against the reference engines and against our regex engine, and the tool for them."""

from __future__ import annotations

import functools
import json
import lzma
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.pre_tokenizer import read_steps
from gigatok_compile.definition_data import expanded_pattern
from gigatok_compile.errors import CompileError, DefinitionError
from gigatok_compile.grammars import examples
from gigatok_compile.grammars.registry import Grammar, grammar_names, load_grammar
from gigatok_compile.ir.definition import ByteLevelStep, MetaspaceStep, SplitStep
from gigatok_runtime.byte_level import bytes_to_alphabet
from gigatok_runtime.splitting import Splitter

# Variants that are functions of their own, or spellings of the row that is named by the number.
VARIANTS = {"1t", "3b", "4b", "22l"}


def grammar_file(root: Path, name: str) -> Path:
    return root / "grammars" / load_grammar(name).where


def contents(root: Path, name: str) -> dict[str, Any]:
    return json.loads(grammar_file(root, name).read_text("utf-8"))


def wrong_examples(grammar: dict[str, Any]) -> list[str]:
    """The texts of a file whose pieces are not those of the reference engine."""
    texts = [text for text, _ in grammar["examples"]]
    pieces = examples.pieces_of(grammar, texts)
    return [text for (text, old), new in zip(grammar["examples"], pieces, strict=True) if old != new]


@functools.cache
def splitter(step: SplitStep) -> Splitter:
    return Splitter(expanded_pattern(step), step.behavior, step.invert)


def split_by_steps(grammar: Grammar, text: str) -> list[str]:
    """The pieces of `text`, step by step; what steps put in does not show. No step may cut a character in two."""
    pieces = [(text, 0)] if text else []  # a piece, and how many characters at its front are not of the text
    for step in grammar.steps:
        match step:
            case SplitStep(on_bytes=True):
                assert all(put_in == 0 for _, put_in in pieces)
                data = [(piece.encode(), bytes_to_alphabet(piece.encode())) for piece, _ in pieces]
                pieces = [
                    (piece[start:end].decode(), 0)
                    for piece, mapped in data
                    for start, end in splitter(step).spans(mapped)
                ]
            case SplitStep():
                pieces = [
                    (piece[start:end], max(0, put_in - start))
                    for piece, put_in in pieces
                    for start, end in splitter(step).spans(piece)
                ]
            case ByteLevelStep(add_prefix_space=True):
                pieces = [(piece, 0) if piece[0] == " " else (f" {piece}", 1) for piece, _ in pieces]
            case ByteLevelStep() | MetaspaceStep():
                after = grammar.steps[grammar.steps.index(step) + 1 :]
                assert all(isinstance(other, SplitStep) and other.on_bytes for other in after)
    return [piece[put_in:] for piece, put_in in pieces if piece[put_in:]]


@pytest.mark.parametrize("name", grammar_names())
def test_examples_are_what_the_reference_says(name: str, root: Path) -> None:
    assert wrong_examples(contents(root, name)) == []


@pytest.mark.parametrize("name", grammar_names())
def test_examples_are_what_the_regex_engine_says(name: str) -> None:
    grammar = load_grammar(name)
    for example in grammar.examples:
        assert split_by_steps(grammar, example.text) == list(example.pieces), example.text


@pytest.mark.parametrize("name", ["cl100k", "starcoder", "bert", "none"])
def test_a_wrong_example_is_found(name: str, root: Path) -> None:
    grammar = contents(root, name)
    place = next(i for i, (text, _) in enumerate(grammar["examples"]) if "world" in text)
    text, pieces = grammar["examples"][place]
    grammar["examples"][place] = [text, ["".join(pieces[:2]), *pieces[2:]] if len(pieces) > 1 else [text[:2], text[2:]]]
    assert wrong_examples(grammar) == [text]


@pytest.mark.parametrize("name", grammar_names())
def test_pieces_are_parts_of_the_text_in_order(name: str) -> None:
    grammar = load_grammar(name)
    assert 15 <= len(grammar.examples) <= 25
    assert len({example.text for example in grammar.examples}) == len(grammar.examples)
    for example in grammar.examples:
        position = 0
        for piece in example.pieces:
            assert piece
            position = example.text.index(piece, position) + len(piece)


def removes_text(grammar: Grammar) -> bool:
    kinds = {"Whitespace", "WhitespaceSplit", "BertPreTokenizer", "CharDelimiterSplit", "UnicodeScripts"}
    text = json.dumps(grammar.pre_tokenizer)
    return '"Removed"' in text or any(f'"{kind}"' in text for kind in kinds)


@pytest.mark.parametrize("name", grammar_names())
def test_only_grammars_that_remove_text_lose_some(name: str) -> None:
    grammar = load_grammar(name)
    lost = any("".join(example.pieces) != example.text for example in grammar.examples)
    assert not lost or removes_text(grammar)
    if name not in ("gpt4-hf", "gpt4o-hf"):  # Removed and invert, but their patterns leave no gaps
        assert lost == removes_text(grammar)


def test_every_row_of_the_reference_has_a_file() -> None:
    rows = {row for name in grammar_names() for row in load_grammar(name).rows}
    assert rows == {str(number) for number in range(1, 42)} | VARIANTS
    assert all(load_grammar(name).rows for name in grammar_names())


def test_names_and_aliases_are_unique_and_files_are_called_by_them(root: Path) -> None:
    names = [name for grammar in map(load_grammar, grammar_names()) for name in (grammar.name, *grammar.aliases)]
    keys = [name.lower().replace("_", "-") for name in names]
    assert sorted(keys) == sorted(set(keys))
    assert {path.stem for path in (root / "grammars").glob("*.json")} == set(grammar_names())
    for name in names:
        assert load_grammar(name.upper().replace("-", "_")).name in grammar_names()


# From the reference text, where they are measured: not made by the tool.
MEASURED = [
    ("llama3", "  12", [" ", " ", "12"]),
    ("llama3", " 's", [" '", "s"]),
    ("llama3", "!'s", ["!'", "s"]),
    ("llama3", "''s", ["''", "s"]),
    ("llama3", "a \n \n  b", ["a", " \n \n", " ", " b"]),
    ("llama3", "\t\t!", ["\t", "\t", "!"]),
    ("llama3", " \u00a0!", [" ", "\u00a0", "!"]),
    ("cl100k", "a\n  ", ["a", "\n  "]),
    ("cl100k-oniguruma", "a1234567", ["a", "1234567"]),
    ("gpt2", "  12", [" ", " 12"]),
    ("deepseek-v3", "don't", ["don", "'t"]),
    ("deepseek-v3", "\u200b\u200b!a", ["\u200b\u200b", "!a"]),
    ("deepseek-v3", "!é", ["!", "é"]),
    ("deepseek-v3", "_fooé", ["_foo", "é"]),
    ("deepseek-v3", "  12", ["  ", "12"]),
    ("kimi", "A中B", ["A", "中", "B"]),
    ("kimi", "〇1 1〇", ["〇", "1", " ", "1〇"]),
    ("o200k", "it'sx", ["it's", "x"]),
    ("o200k", "!\n/!x", ["!\n/", "!x"]),
    ("exaone-moe", "  hello big world  it's", [" ", " hello big world", " ", " it", "'s"]),
    ("seed-coder", "a;\n\n b", ["a", ";", "\n\n", " b"]),
    ("starcoder", "x 1  2", ["x", " ", "1", "  ", "2"]),
    ("superbpe", "a1234567", ["a", "1", "234", "567"]),
    ("tiny-aya", "1234567", ["1", "234", "567"]),
    ("tiny-aya", "a1234567", ["a", "1", "234", "567"]),
    ("t5", " a\n b▁c", ["a", "b", "▁c"]),
    ("metaspace", " a  b ", [" a", " ", " b", " "]),
    ("bert", "it's a$b «c»", ["it", "'", "s", "a", "$", "b", "«", "c", "»"]),
]


@pytest.mark.parametrize(("name", "text", "pieces"), MEASURED)
def test_cases_that_are_known_from_elsewhere(name: str, text: str, pieces: list[str], root: Path) -> None:
    assert examples.pieces_of(contents(root, name), [text]) == [pieces]
    assert split_by_steps(load_grammar(name), text) == pieces


# Two grammars, and a text that they cut differently; None if they are one function.
PAIRS = [
    ("llama3", "gpt4-hf", None),
    ("o200k", "gpt4o-hf", None),
    ("qwen", "bailing", None),
    ("llama3", "cl100k_hf", None),
    ("bloom", "poro", None),
    ("cl100k", "cl100k-oniguruma", "1234567"),
    ("gpt2", "gpt2-prefix", "'s"),
    ("deepseek-llm", "deepseek-llm-llamacpp", "12"),
    ("laguna", "laguna-llamacpp", "a\r\n\nb"),
    ("chameleon", "chameleon-llamacpp", "\u2e52\u2e52"),
    ("t5", "metaspace", "a\nb"),
    ("spark", "deepseek-v3", "!\n"),
]


@pytest.mark.parametrize(("first", "second", "differs"), PAIRS)
def test_which_grammars_are_one_function(first: str, second: str, differs: str | None, root: Path) -> None:
    one, other = contents(root, first), contents(root, second)
    texts = sorted({text for grammar in (one, other) for text, _ in grammar["examples"]})
    if differs is None:
        assert examples.pieces_of(one, texts) == examples.pieces_of(other, texts)
    else:
        assert examples.pieces_of(one, [differs]) != examples.pieces_of(other, [differs])


# Models whose own files (or files built by hand from what is published) are at hand.
MODELS = [
    ("gpt4-hf", "gpt35turbo"),
    ("gpt4-hf", "olmo2_dolma2"),
    ("gpt4o-hf", "gpt4o"),
    ("open-clip", "clip"),
    ("starcoder", "starcoder2"),
    ("starcoder", "refact"),
    ("starcoder", "command_r"),
    ("deepseek-coder", "deepseek_coder"),
    ("gemma2", "gemma3"),
    ("none", "gemma1"),
    ("none", "llama2"),
    ("none", "mistral_v0_1_hf"),
    ("none", "moonshine"),
    ("t5", "t5_base"),
    ("t5", "pegasus"),
    ("metaspace", "xlm_roberta"),
    ("bert", "bert_base_uncased"),
    ("bert", "minilm_l6_v2"),
    ("gpt2", "gpt2"),
    ("gpt2", "mpt"),
    ("gpt2", "claude"),
    ("llama3", "llama3"),
    ("qwen", "qwen3"),
    ("qwen3.6", "qwen35_regex"),
    ("o200k", "gpt_oss"),
    ("deepseek-v3", "deepseek_v3"),
    ("deepseek-v3", "deepseek_v4"),
]


@pytest.mark.parametrize(("name", "model"), MODELS)
def test_grammars_are_what_models_have(name: str, model: str, shared: Any) -> None:
    data = lzma.decompress((shared.root / "models" / model / "tokenizer.json.xz").read_bytes())
    field = json.loads(data)["pre_tokenizer"]
    theirs = () if field is None else read_steps(Fields(field, "pre_tokenizer"))
    grammar = load_grammar(name)
    if grammar.patterns:
        splits = [step for step in theirs if isinstance(step, SplitStep)]
        assert [(step.pattern, step.behavior, step.invert, step.is_regex) for step in splits] == [
            (pattern, "Isolated", False, True) for pattern in grammar.patterns
        ]
    else:
        assert [replace(step, where="") for step in theirs] == [replace(step, where="") for step in grammar.steps]


def test_the_pattern_of_tekken_is_in_its_file(shared: Any) -> None:
    assert json.loads(shared.model_bytes("tekken_240911"))["config"]["pattern"] == load_grammar("tekken").pattern


def test_steps_name_the_field_they_come_from() -> None:
    assert [step.where for step in load_grammar("cl100k").steps] == ["pattern"]
    assert [step.where for step in load_grammar("deepseek-v3").steps] == ["pattern[0]", "pattern[1]", "pattern[2]"]
    assert load_grammar("none").steps == ()
    assert load_grammar("starcoder").steps[0].where == "pre_tokenizer.pretokenizers[0].individual_digits"
    on_bytes = [step.where for step in load_grammar("falcon").steps if isinstance(step, SplitStep) and step.on_bytes]
    assert on_bytes == [
        "pre_tokenizer.pretokenizers[2].individual_digits",
        "pre_tokenizer.pretokenizers[3].pattern.Regex",
    ]


def test_what_is_not_one_pattern_says_so() -> None:
    with pytest.raises(DefinitionError, match="'deepseek-v3' is a sequence of 3 patterns"):
        assert load_grammar("deepseek-v3").pattern
    with pytest.raises(DefinitionError, match="'starcoder' is a pre_tokenizer"):
        assert load_grammar("starcoder").pattern


GOOD = {"name": "x", "dialect": "fancy", "pattern": "a"}
BROKEN = [
    ([], "x.json: expected an object, found a list"),
    ({"name": "x"}, "x.json: pattern: this field is missing"),
    ({"name": "x", "pattern": "a"}, "x.json: dialect: this field is missing"),
    ({**GOOD, "name": 3}, "x.json: name: expected a string, found the number 3"),
    ({**GOOD, "pattern": []}, "x.json: pattern: the list of patterns is empty"),
    ({**GOOD, "pattern": ["a", None]}, "x.json: pattern[1]: expected a string, found null"),
    ({**GOOD, "pattern": 1}, "x.json: pattern: expected a list, found the number 1"),
    ({**GOOD, "dialect": "pcre"}, "x.json: dialect: the dialect 'pcre' is not oniguruma or fancy"),
    ({**GOOD, "aliases": "y"}, "x.json: aliases: expected a list, found a string"),
    ({**GOOD, "rows": [1]}, "x.json: rows[0]: expected a string, found the number 1"),
    ({**GOOD, "examples": [["a"]]}, "x.json: examples[0]: an example is a text and the list of its pieces"),
    ({**GOOD, "examples": [["a", ["a"]], "b"]}, "x.json: examples[1]: an example is"),
    ({**GOOD, "special_tokens": {"<s>": "1"}}, "x.json: special_tokens.<s>: expected a whole number"),
    ({**GOOD, "special_token_ranges": [{"first": 1}]}, "x.json: special_token_ranges[0].last: this field is missing"),
    ({**GOOD, "pre_tokenizer": None}, "x.json: pattern: a grammar with a pre_tokenizer has no such field"),
    ({"name": "x", "pre_tokenizer": None, "dialect": "fancy"}, "x.json: dialect: a grammar with a pre_tokenizer has no"),
    ({"name": "x", "pre_tokenizer": "Split"}, "x.json: pre_tokenizer: expected an object, found a string"),
    ({"name": "x", "pre_tokenizer": {"type": "Digits"}}, "x.json: pre_tokenizer.individual_digits: this field is missing"),
    ({"name": "x", "pre_tokenizer": {"type": "Soup"}}, "x.json: pre_tokenizer: "),
]  # fmt: skip


@pytest.mark.parametrize(("data", "message"), BROKEN)
def test_errors_name_file_and_field(data: Any, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(data))
    with pytest.raises(CompileError, match="/" + re.escape(message)):
        assert load_grammar(path).steps


@pytest.mark.parametrize("name", grammar_names())
def test_files_are_laid_out_as_the_tool_writes_them(name: str, root: Path) -> None:
    text = grammar_file(root, name).read_text("utf-8")
    assert text.isascii()
    assert examples.format_grammar(json.loads(text)) == text


def test_the_tool_fills_in_and_corrects(tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = grammar_file(root, "starcoder").read_text("utf-8")
    grammar = json.loads(original)
    first, second = grammar["examples"][0][0], grammar["examples"][1][0]
    grammar["examples"][0] = first
    grammar["examples"][1] = [second, ["no"]]
    path, intact = tmp_path / "starcoder.json", tmp_path / "intact.json"
    path.write_text(json.dumps(grammar))
    intact.write_text(original)
    assert examples.main([str(path), str(intact)]) == 0
    assert path.read_text("utf-8") == intact.read_text("utf-8") == original
    output = capsys.readouterr().out
    assert (
        f"{path}: 2 changed" in output and f"{first!r}: new, [" in output and f"{second!r}: ['no'] is now [" in output
    )
    assert f"{intact}: up to date" in output


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pre_tokenizer": {"type": "Soup"}}, "the reference refuses the pre_tokenizer"),
        ({"examples": ["ü"]}, "'ü': two pieces share a character"),
        ({"examples": 1}, "TypeError"),
    ],
)
def test_the_tool_says_what_it_cannot_do(
    change: dict[str, Any], message: str, tmp_path: Path, root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "falcon.json"
    path.write_text(json.dumps(contents(root, "falcon") | change))
    before = path.read_bytes()
    assert examples.main([str(path), str(tmp_path / "absent.json")]) == 1
    assert path.read_bytes() == before
    errors = capsys.readouterr().err
    assert f"{path}: " in errors and message in errors and "absent.json: " in errors


def test_without_the_engines_the_tool_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(examples, "find_spec", lambda name: None)
    assert examples.main(["x.json"]) == 1
    assert "pip install 'gigatok-compile[test]'" in capsys.readouterr().err
