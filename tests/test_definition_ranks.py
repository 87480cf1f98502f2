"""tiktoken rank files: lines, special tokens, and the merges that joined bytes imply."""

from __future__ import annotations

import base64
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiktoken
from gigatok_compile.definition import read_definition
from gigatok_compile.definition.tiktoken_ranks import all_splits
from gigatok_compile.errors import DefinitionError
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import AddedToken, ByteLevelStep, SplitStep
from hypothesis import given
from hypothesis import strategies as st

BYTES = b"".join(base64.b64encode(bytes((byte,))) + b" %d\n" % byte for byte in range(256))


@pytest.fixture
def read(tmp_path: Path) -> Any:
    def read_ranks(data: bytes, **special_tokens: int) -> Any:
        path = tmp_path / "ranks.tiktoken"
        path.write_bytes(data)
        grammar = SimpleNamespace(patterns=(r"\S+|\s+",), dialect="fancy", special_tokens=special_tokens)
        return read_definition(str(path), grammar=grammar)  # type: ignore[arg-type]

    return read_ranks


def test_a_rank_file_becomes_a_definition(read: Any) -> None:
    definition = read(BYTES + b"QUI= 256\n", eot=300, fim=299)
    assert (definition.name, definition.source_format, definition.reference) == ("ranks", "tiktoken", "tiktoken 0.14.0")
    assert definition.pre_tokenizer == (
        SplitStep(r"\S+|\s+", "fancy", "grammar.pattern", "Removed", invert=True),
        ByteLevelStep(False, "grammar"),
    )
    assert definition.added_tokens == (AddedToken(300, "eot"), AddedToken(299, "fim"))
    assert definition.model.tokens[256] == b"AB"
    assert definition.model.merges.tolist() == [[65, 66, 256]]
    assert definition.model.ranks.tolist() == [256]
    assert definition.model.ignore_merges


@pytest.mark.parametrize(
    "data",
    [
        BYTES.replace(b"\n", b"\r\n"),
        BYTES.rstrip(b"\n"),
        BYTES.replace(b"\n", b"\n\n", 3),
        b"\n" + BYTES + b"  \n\n",
        b"\xef\xbb\xbf" + BYTES,
        BYTES.replace(b"= ", b"=\t"),
        BYTES.replace(b"\n", b" \n"),
    ],
)
def test_blank_lines_and_line_ends_are_tolerated(read: Any, data: bytes) -> None:
    assert read(data).model.tokens == tuple(bytes((byte,)) for byte in range(256))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"QU I= 256", "expected a base64 token, a space and a rank"),
        (b"QUI=", "expected a base64 token, a space and a rank"),
        (b"QUI= 256 x", "expected a base64 token, a space and a rank"),
        (b"QUI= -1", "expected a base64 token, a space and a rank"),
        (b"QUI= 1_0", "expected a base64 token, a space and a rank"),
        (b"QUI= 99999999999999999999", "expected a base64 token, a space and a rank"),
        (b"QUI= 4294967295", "the rank 4294967295 is above the largest taken"),
        (b"<html>404</html>", "expected a base64 token, a space and a rank"),
        (b"QU*I= 256", "'QU*I=' is not base64"),
        (b"QUI 256", "'QUI' is not base64"),
        (b"QUJ= 256", "'QUJ=' is not base64"),  # decodes, but no encoder writes it
        (b"QU\xe9= 256", "is not base64"),
        (b"QUI= 65", "the rank 65 stands on line 66 already"),
        (b"QQ== 300", "the token b'A' stands on line 66 already"),
    ],
)
def test_bad_lines_are_named(read: Any, line: bytes, message: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(BYTES + b"\n" + line + b"\n")
    assert str(caught.value.where).endswith("ranks.tiktoken: line 258")
    assert message in caught.value.message


def test_an_absent_byte_or_an_empty_file_is_refused(read: Any) -> None:
    with pytest.raises(DefinitionError, match="1 byte has no rank: 0x41"):
        read(BYTES.replace(b"QQ== 65\n", b""))
    with pytest.raises(DefinitionError, match="2 bytes have no rank: 0x42, 0x43"):
        read(BYTES.replace(b"Qg== 66\nQw== 67\n", b""))
    with pytest.raises(DefinitionError, match="holds no tokens"):
        read(b"\n= 0\n")


@pytest.mark.parametrize(
    ("model", "grammar", "special"),
    [
        ("r50k_base", "r50k", {"<|endoftext|>": 50256}),
        ("cl100k_base", "cl100k", {"<|endoftext|>": 100257, "<|endofprompt|>": 100276}),
        ("o200k_base", "o200k", {"<|endoftext|>": 199999}),
        ("qwen3_6", "qwen3.6", {}),
        ("llama4", "llama4", {}),
        ("whisper_multilingual", "whisper", {}),
    ],
)
def test_named_grammars_fit_their_files(shared: Any, model: str, grammar: str, special: dict[str, int]) -> None:
    definition = read_definition(str(shared.model_file(model)), grammar=load_grammar(grammar))
    added = {token.content: token.id for token in definition.added_tokens}
    assert special.items() <= added.items()
    assert all(token.special and not token.normalized for token in definition.added_tokens)


def test_a_dialect_that_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "a.tiktoken").write_bytes(BYTES)
    grammar = SimpleNamespace(patterns=("x",), dialect="pcre", special_tokens={})
    with pytest.raises(DefinitionError, match="dialect 'pcre'"):
        read_definition(str(tmp_path / "a.tiktoken"), grammar=grammar)


def test_special_tokens_must_fit(read: Any) -> None:
    with pytest.raises(DefinitionError, match=r"'eot' has id 65, which is the rank of b'A'"):
        read(BYTES, eot=65)
    with pytest.raises(DefinitionError, match=r"'a' and 'b' both have id 300"):
        read(BYTES, a=300, b=300)


def test_the_empty_token_of_whisper_is_a_gap(read: Any, shared: Any) -> None:
    model = read(shared.model_bytes("whisper_multilingual"))
    assert len(model.model.tokens) == 50257
    assert model.model.tokens[50256] is None
    assert model.warnings == ("line 50257: the empty token of rank 50256 can never match and is left out",)


def test_shared_load_cases(read: Any, shared: Any) -> None:
    """Files the reference refuses are refused; so are the two it misreads: bad base64, and a token twice."""
    for name, expected in shared.faults["tt-load-odd"]["expected"].items():
        data = (shared.configs / f"ttload_{name}.tiktoken").read_bytes()
        if "error" in expected or name in ("bad_base64", "dup_token"):
            with pytest.raises(DefinitionError):
                read(data)
        else:
            assert sum(entry is not None for entry in read(data).model.tokens) == expected["ok"]["n"]


def test_all_splits_of_the_docstring() -> None:
    rows, ranks = all_splits({b"a": 0, b"b": 1, b"ab": 2, b"aab": 3, b"aa": 4})
    assert rows.tolist() == [[0, 1, 2], [0, 2, 3], [4, 1, 3], [0, 0, 4]]
    assert ranks.tolist() == [2, 3, 3, 4]


def test_long_entries_are_cut_where_entries_can_meet() -> None:
    ranks = {b"a": 0, b"a" * 1000: 1, b"a" * 1001: 2, b"a" * 2000: 3}
    assert all_splits(ranks)[0].tolist() == [[0, 1, 2], [1, 0, 2], [1, 1, 3]]


def test_unreachable_tokens_are_found_only_whole(read: Any, naive_bpe: Any, shared: Any) -> None:
    case = shared.faults["tt-unreachable-token"]
    ranks = {bytes.fromhex(token): rank for token, rank in case["input"]["ranks_hex"].items()}
    shifted = {token: rank + 256 for token, rank in ranks.items() if len(token) > 1}
    lines = b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in shifted.items())
    naive = naive_bpe(read(BYTES + lines).model)
    ids = {rank: shifted.get(token, token[0]) for token, rank in ranks.items()}
    for text, expected in zip(case["input"]["texts"], case["expected"], strict=True):
        assert naive.encode(text.encode()) == [ids[rank] for rank in expected]


@given(
    entries=st.sets(st.text("abc", min_size=2, max_size=6), max_size=15),
    pieces=st.lists(st.text("abc", min_size=1, max_size=14), max_size=6),
)
def test_random_rank_files_agree_with_tiktoken(
    naive_bpe: Any, tmp_path_factory: Any, entries: set[str], pieces: list[str]
) -> None:
    ranks = {bytes((byte,)): byte for byte in range(256)} | {text.encode(): 256 + i for i, text in enumerate(entries)}
    encoding = tiktoken.Encoding("toy", pat_str=r"\S+", mergeable_ranks=ranks, special_tokens={})
    path = tmp_path_factory.mktemp("ranks") / "toy.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
    grammar = SimpleNamespace(patterns=(r"\S+",), dialect="fancy", special_tokens={})
    naive = naive_bpe(read_definition(str(path), grammar=grammar).model)  # type: ignore[arg-type]
    for piece in pieces:
        assert naive.encode(piece.encode()) == encoding.encode(piece)


def test_one_pattern_in_the_dialect_of_tiktoken_drops_what_it_does_not_match(tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(BYTES)
    fancy = SimpleNamespace(patterns=("a",), dialect="fancy", special_tokens={})
    step = read_definition(str(path), grammar=fancy).pre_tokenizer[0]  # type: ignore[arg-type]
    assert step == SplitStep("a", "fancy", "grammar.pattern", "Removed", invert=True)
    bloom = read_definition(str(path), grammar=load_grammar("bloom"))
    assert [step.behavior for step in bloom.pre_tokenizer if isinstance(step, SplitStep)] == ["Isolated"]
    assert [step.where for step in bloom.pre_tokenizer] == ["grammar.pattern", "grammar"]


@pytest.mark.parametrize(
    ("name", "wheres"),
    [
        ("deepseek-v3", ["grammar.pattern[0]", "grammar.pattern[1]", "grammar.pattern[2]", "grammar"]),
        ("none", ["grammar"]),
        ("bert", ["grammar.pre_tokenizer"] * 2 + ["grammar"]),
        ("gpt2-prefix", ["grammar.pre_tokenizer", "grammar.pre_tokenizer.use_regex"]),
        (
            "falcon",
            [
                f"grammar.pre_tokenizer.pretokenizers[{where}"
                for where in ("0]", "1].use_regex", "1]", "2].individual_digits", "3].pattern.Regex")
            ],
        ),
    ],
)
def test_grammars_of_several_steps(name: str, wheres: list[str], tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(BYTES)
    definition = read_definition(str(path), grammar=load_grammar(name))
    assert [step.where for step in definition.pre_tokenizer] == wheres
    assert sum(isinstance(step, ByteLevelStep) for step in definition.pre_tokenizer) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("metaspace", "grammar.pre_tokenizer: Metaspace puts marks into the text"),
    ],
)
def test_grammars_that_do_not_go_with_a_rank_file(name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tiktoken"
    path.write_bytes(BYTES)
    with pytest.raises(DefinitionError, match=message) as caught:
        read_definition(str(path), grammar=load_grammar(name))
    assert "a.tiktoken" in str(caught.value) and caught.value.hint
