"""tekken.json: the reader, and a module built from it against tiktoken over its ranks."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import compile_definition
from gigatok_compile.errors import CompileError

tiktoken = pytest.importorskip("tiktoken")


def small(**changes: Any) -> dict[str, Any]:
    """256 bytes, "ab" and "abc", 10 special tokens; `config_NAME` changes a field of config, ... takes a field out."""
    tokens = [bytes((byte,)) for byte in range(256)] + [b"ab", b"abc"]
    value: dict[str, Any] = {
        "config": {
            "pattern": r"\p{L}+|[^\p{L}]",
            "num_vocab_tokens": 258,
            "default_vocab_size": 267,
            "default_num_special_tokens": 10,
            "version": "v11",
        },
        "vocab": [
            {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for rank, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": rank, "token_str": name, "is_control": True} for rank, name in enumerate(("<unk>", "<s>", "</s>"))
        ],
    }
    for key, change in changes.items():
        place = value["config"] if key.startswith("config_") else value
        key = key.removeprefix("config_")
        if change is ...:
            del place[key]
        else:
            place[key] = change(place[key]) if callable(change) else change
    return value


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Any], str]:
    def save(value: Any) -> str:
        path = tmp_path / "tekken.json"
        path.write_text(json.dumps(value), "utf-8")
        return str(path)

    return save


def test_what_the_definition_says(write: Any) -> None:
    definition = read_definition(write(small()))
    assert (definition.source_format, definition.name) == ("tekken.json", "tekken")
    assert definition.model.tokens[:10] == (None,) * 10
    assert definition.model.tokens[10 + ord("a")] == b"a"
    # Only default_vocab_size - default_num_special_tokens ranks are used: "abc" is not.
    assert definition.model.tokens[266:] == (b"ab",)
    assert [token.content for token in definition.added_tokens] == [
        *("<unk>", "<s>", "</s>"),
        *(f"<SPECIAL_{i}>" for i in range(3, 10)),
    ]
    assert not any(token.matched for token in definition.added_tokens)
    assert definition.roles == {"unk": 0, "bos": 1, "eos": 2}
    assert definition.model.ignore_merges


def test_old_files_have_the_special_tokens_of_their_version(shared: Any) -> None:
    definition = read_definition(str(shared.model_file("tekken_240911")))
    names = [token.content for token in definition.added_tokens]
    assert names[:4] == ["<unk>", "<s>", "</s>", "[INST]"] and names[11] == "<pad>" and names[20] == "<SPECIAL_20>"
    assert len(names) == 1000 and len(definition.model.tokens) == 131072


def entry(index: int, **changes: Any) -> Callable[[list[dict[str, Any]]], list[dict[str, Any]]]:
    return lambda entries: [{**e, **changes} if i == index else e for i, e in enumerate(entries)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"config_version": "3"}, "config.version: unknown version '3'"),
        ({"config_version": ...}, "config.version: this field is missing"),
        ({"config_pattern": 3}, "config.pattern: expected a string"),
        ({"config_pattern": "a("}, "config.pattern"),
        ({"config_default_vocab_size": 2**30}, "config.default_vocab_size: 1073741824 is above"),
        ({"config_default_vocab_size": 300}, "vocab: 258 tokens, where config.default_vocab_size asks for 290"),
        ({"config_default_num_special_tokens": 260}, "config.default_num_special_tokens: 260 leave no room"),
        (
            {"config_default_num_special_tokens": 2, "config_default_vocab_size": 259},
            "special_tokens: 3 special tokens, and",
        ),
        ({"vocab": entry(7, rank=8)}, "vocab[7].rank: expected 7, found 8"),
        ({"vocab": entry(7, token_bytes="AA==")}, "vocab[7].token_bytes: the first 256 tokens are the single bytes"),
        ({"vocab": entry(256, token_bytes="AA==")}, "vocab[256].token_bytes: the token b'\\x00' stands at vocab[0]"),
        ({"vocab": entry(256, token_bytes="!")}, "vocab[256].token_bytes: '!' is not base64"),
        ({"vocab": entry(256, token_bytes="")}, "vocab[256].token_bytes: '' is not base64, or empty"),
        ({"vocab": entry(256, token_bytes=None)}, "vocab[256].token_bytes: expected a string"),
        ({"special_tokens": ...}, "special_tokens: a file of version v11 must have them"),
        ({"special_tokens": entry(1, rank=0)}, "special_tokens[1].rank: '<unk>' and '<s>' both have rank 0"),
        ({"special_tokens": entry(1, rank=9)}, "special_tokens: the ranks of special tokens have gaps"),
        ({"special_tokens": entry(1, token_str="<unk>")}, "special_tokens: the special token '<unk>' occurs twice"),
        ({"special_tokens": entry(1, token_str="<SPECIAL_5>")}, "the special token '<SPECIAL_5>' occurs twice"),
    ],
)
def test_what_is_refused(write: Any, changes: dict[str, Any], message: str) -> None:
    path = write(small(**changes))
    with pytest.raises(CompileError) as caught:
        read_definition(path)
        compile_definition(path, out_dir=Path(path).parent, verify=False)  # a pattern is parsed later
    assert message in str(caught.value)


def test_a_module_gives_tiktokens_ids(shared: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "tekken_240718"
    data = json.loads(shared.model_bytes(name))
    config, specials = data["config"], data["config"]["default_num_special_tokens"]
    used = data["vocab"][: config["default_vocab_size"] - specials]
    ranks = {base64.b64decode(token["token_bytes"]): token["rank"] for token in used}
    reference = tiktoken.Encoding(name, pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    compile_definition(str(shared.model_file(name)), out_dir=folder, name=f"{name}_test", verify_seconds=1)
    monkeypatch.syspath_prepend(str(folder))
    module = __import__(f"{name}_test")
    try:
        for corpus in shared.corpus_names():
            text = shared.corpus(corpus)[:100_000].decode("utf-8", "ignore")
            ids = [rank + specials for rank in reference.encode_ordinary(text)]
            assert module.encode(text).tolist() == ids, corpus
            assert module.decode(ids) == text, corpus
        case = shared.faults["tekken-ids"]
        assert [module.encode(text).tolist() for text in case["input"]] == case["expected"]
        case = shared.faults["tekken-nonutf8-pieces"]
        assert {i: module.tokenizer.id_to_token(int(i)).hex() for i in case["expected"]} == case["expected"]
        # Special tokens are not matched, even when they are named; a lone surrogate is U+FFFD, as in tiktoken.
        for special in (None, "match", {"<s>"}, "error"):
            assert 1 not in module.encode("<s>a</s>", special=special).tolist()
        assert module.encode("a\ud800").tolist() == module.encode("a\ufffd").tolist()
        assert module.decode([1, 1097, 2]) == "<s>a</s>"
        assert module.decode([1, 1097, 2], skip_special_tokens=True) == "a"
    finally:
        sys.modules.pop(f"{name}_test", None)
