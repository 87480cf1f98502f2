"""read_definition on whole files: formats, real models against the reference engines, and what is said about bad files."""

from __future__ import annotations

import base64
import json
import lzma
import re
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tiktoken
import tokenizers
from gigatok_compile.definition import read_definition
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import ByteLevelStep, SplitStep

GPT2_PATTERN = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GRAMMAR = SimpleNamespace(patterns=(r"\S+|\s+",), dialect="fancy", special_tokens={})


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any, str], str]:
    def write_file(content: Any, name: str = "toy.json") -> str:
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write_file


def refused(path: str, **options: Any) -> DefinitionError:
    with pytest.raises(DefinitionError) as caught:
        read_definition(path, **options)
    return caught.value


# --- formats and names ---------------------------------------------------------------------------------------------------


def test_gpt2_is_embedded_and_is_the_published_definition() -> None:
    definition = read_definition("gpt2")
    assert (definition.name, definition.source_format, definition.reference) == (
        "gpt2",
        "tokenizer.json",
        "tokenizers 0.23.3",
    )
    assert len(definition.model.tokens) == 50257
    assert definition.model.merges.shape == (50000, 3)
    assert definition.model.tokens[15496] == b"Hello"
    assert definition.pre_tokenizer == (
        SplitStep(GPT2_PATTERN, "oniguruma", "pre_tokenizer.use_regex", component="ByteLevel(use_regex=true)"),
        ByteLevelStep(False, "pre_tokenizer"),
    )
    (end,) = definition.added_tokens
    assert (end.id, end.content, end.special, end.normalized) == (50256, "<|endoftext|>", True, False)
    assert definition.warnings == ()


def test_embedded_gpt2_is_the_shared_one(shared: Any) -> None:
    assert read_definition("gpt2").sha256 == read_definition(str(shared.model_file("gpt2"))).sha256


def test_xz_is_read_like_the_plain_file(write: Any, toy_definition: Any) -> None:
    data = json.dumps(toy_definition()).encode()
    plain = read_definition(write(data, "My-Model 2.json"))
    packed = read_definition(write(lzma.compress(data), "My-Model 2.json.xz"))
    assert plain.name == packed.name == "my_model_2"
    assert plain.sha256 == packed.sha256


def test_a_name_is_taken_as_given(write: Any, toy_definition: Any) -> None:
    assert read_definition(write(toy_definition()), name="mine").name == "mine"


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        (b"", "a.json", "the file is empty"),
        (b"\xfd7zXZ\x00cut", "a.json.xz", "not a complete .xz file"),
        (lzma.compress(b"{}" * 10000)[:-30], "a.json.xz", "not a complete .xz file"),
        (b"<html>not found</html>", "tokenizer.json", "neither a JSON object nor a tiktoken rank file"),
        (b"[1]", "a.json", "expected an object, found a list"),
        (
            b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\x00\x00\x18\x02",
            "tokenizer.model",
            "no piece that text can match",
        ),
        (b'{"config": {}, "vocab": [], "special_tokens": []}', "tekken.json", "config.version: this field is missing"),
        (b"QUI= 0\n", "a.tiktoken", "does not hold its pattern"),
        (b"QUI= 0\n", "ranks.txt", "does not hold its pattern"),
    ],
)
def test_what_is_no_definition_is_refused(write: Any, content: bytes, name: str, message: str) -> None:
    path = write(content, name)
    error = refused(path)
    assert message in str(error)
    assert str(error).startswith(path)


def test_missing_files_and_folders(tmp_path: Path) -> None:
    assert "no such file" in str(refused(str(tmp_path / "none.json")))
    assert "no tokenizer definition is in this folder" in str(refused(str(tmp_path)))
    (tmp_path / "tokenizer.json").write_text("{}")
    assert str(refused(str(tmp_path))).startswith(f"{tmp_path / 'tokenizer.json'}: model: no model")


def test_grammar_is_for_rank_files_only(write: Any, toy_definition: Any) -> None:
    assert "leave --grammar out" in str(refused(write(toy_definition()), grammar=GRAMMAR))


# --- malformed JSON ------------------------------------------------------------------------------------------------------


def test_malformed_json_names_the_place(write: Any, toy_definition: Any) -> None:
    good = json.dumps(toy_definition())
    for bad, message in [
        ("\ufeff" + good, "byte-order mark (offset 0)"),
        (good + " x", f"more text follows, at line 1 column {len(good) + 2} (offset {len(good) + 1})"),
        (good[:200], "(offset "),
        (good.replace(": 256", ": NaN"), "NaN is not a JSON number"),
        (good.replace('"ab"', '"\\ud800"'), "lone surrogate"),
        (good.replace("false", "False", 1), "Expecting value"),
        ('{"version": "1.0", "extra": 1, "model": {}}', "extra: unknown field"),
        ('{"version": "2.0", "model": {}}', "version: unknown version '2.0'"),
        ('{"version": "1.0"}', "model: no model"),
        ("{" * 100_000, "offset"),
        ('{"model": ' + "[" * 100_000, "nested too deeply"),
        ('{"model": ' + "9" * 5000 + "}", "thousands of digits"),
    ]:
        error = refused(write(bad.encode()))
        assert message in str(error), (bad[:60], str(error))


def test_bytes_that_are_not_utf8_name_the_offset(write: Any, toy_definition: Any) -> None:
    data = json.dumps(toy_definition()).encode()
    assert "byte 0xFF at offset 50" in str(refused(write(data[:50] + b"\xff" + data[50:])))


def test_shared_load_cases_are_refused_where_the_reference_refuses(shared: Any) -> None:
    """Every configuration that the reference does not load, we do not load either."""
    for case_id in ("load-file", "load-models", "load-merges"):
        case = shared.faults[case_id]
        for config in case["model_or_config"]:
            key = Path(config).stem.removeprefix("load_")
            path = str(shared.root / "cases" / config)
            if "error" in case["expected"][key]:
                assert refused(path).hint is not None or refused(path).where is not None, key


# --- real models against the reference -----------------------------------------------------------------------------------

HF_MODELS = [
    "gpt2",
    "llama3",
    "qwen3",
    "olmo2_dolma2",
    "gpt_neox",
    "deepseek_coder",
    "deepseek_v3",
    "gpt4o",
    "gpt_oss",
    "command_r",
]


def words_of(text: str, count: int) -> list[str]:
    """Distinct lower-case ASCII words, each a single piece with a space before it in every pattern we know."""
    return list(dict.fromkeys(re.findall(r"(?<= )[a-z]{2,}(?= )", text)))[:count]


@pytest.mark.parametrize("name", HF_MODELS)
def test_real_models_agree_with_tokenizers(shared: Any, naive_bpe: Any, name: str) -> None:
    reference = tokenizers.Tokenizer.from_buffer(shared.model_bytes(name))
    started = time.process_time()
    definition = read_definition(str(shared.model_file(name)))
    assert time.process_time() - started < 3
    model = definition.model

    added = {t.id: t for t in definition.added_tokens}
    assert {i: vars_of(t) for i, t in reference.get_added_tokens_decoder().items()} == {
        i: vars_of(t) for i, t in added.items()
    }
    for text, number in reference.get_vocab().items():
        if number in added:
            assert added[number].content == text
        else:
            # One token by itself decodes to U+FFFD when it is part of a character; compare what can be.
            token = model.tokens[number]
            assert token is not None
            assert reference.decode([number], skip_special_tokens=False) == token.decode("utf-8", "replace")

    assert model.merges.dtype == model.ranks.dtype == model.byte_ids.dtype == np.int32
    assert (np.diff(model.ranks) > 0).all()
    naive = naive_bpe(model)
    for word in words_of(shared.corpus("english")[:400_000].decode("utf-8", "ignore"), 1000):
        assert naive.encode(b" " + word.encode()) == reference.encode(" " + word, add_special_tokens=False).ids


def vars_of(token: Any) -> dict[str, Any]:
    return {key: getattr(token, key) for key in ("content", "single_word", "lstrip", "rstrip", "normalized", "special")}


@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base"])
def test_rank_files_agree_with_tiktoken(shared: Any, naive_bpe: Any, name: str) -> None:
    ranks = dict(rank_lines(shared.model_bytes(name)))
    encoding = tiktoken.Encoding(name, pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens={})
    started = time.process_time()
    definition = read_definition(str(shared.model_file(name)), grammar=GRAMMAR)  # type: ignore[arg-type]
    assert time.process_time() - started < 3
    model = definition.model
    assert {token: i for i, token in enumerate(model.tokens) if token is not None} == ranks
    assert (np.diff(model.ranks) >= 0).all()
    assert (model.ranks == model.merges[:, 2]).all()
    naive = naive_bpe(model)
    words = words_of(shared.corpus("english")[:400_000].decode("utf-8", "ignore"), 300)
    for word in [*words, "中文字符", "übergrößenträger", "aaaaaaaaaaaaa", "    "]:
        for piece in (word.encode(), word.encode() * 3):
            assert naive.encode(piece) == encoding._core_bpe.encode_single_piece(piece)


def rank_lines(data: bytes) -> list[tuple[bytes, int]]:
    return [
        (base64.b64decode(token), int(rank)) for token, rank in (line.split() for line in data.splitlines() if line)
    ]
