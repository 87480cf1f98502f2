"""A Hugging Face folder: the file that is taken, and what the files beside it add or contradict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.manifest import build_manifest

ADDED = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, **files: Any) -> Folder:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            (self.path / f"{name}.json").write_bytes(data)
        return self

    def read(self) -> TokenizerDefinition:
        return read_definition(str(self.path))

    def warnings(self, **config: Any) -> list[str]:
        """The warnings with this tokenizer_config.json."""
        return list(self.write(tokenizer_config=config).read().warnings)


@pytest.fixture
def hub(tmp_path: Path, toy_definition: Any) -> Folder:
    """A folder "My-Model" with a tokenizer.json that has <s> (256 + 1) and </s>."""
    added = [{"id": 257 + i, "content": content, **ADDED} for i, content in enumerate(("<s>", "</s>"))]
    folder = Folder(tmp_path / "My-Model")
    folder.path.mkdir()
    return folder.write(tokenizer=toy_definition({"added_tokens": added}))


def test_the_folder_names_the_module(hub: Folder) -> None:
    definition = hub.read()
    assert (definition.name, definition.warnings, dict(definition.roles), dict(definition.settings)) == (
        "my_model",
        (),
        {},
        {},
    )
    assert definition.sha256 == read_definition(str(hub.path / "tokenizer.json")).sha256


def test_roles_and_settings(hub: Folder) -> None:
    config = {
        "bos_token": "<s>",
        "eos_token": {"__type": "AddedToken", "content": "</s>", **ADDED},
        "unk_token": None,
        "pad_token": "a",
        "model_max_length": 4096,
        "padding_side": "left",
        "tokenizer_class": "Whatever",
    }
    definition = hub.write(tokenizer_config=config).read()
    assert definition.roles == {"bos": 257, "eos": 258, "pad": ord("a")}
    assert definition.settings == {"model_max_length": 4096, "padding_side": "left"}
    assert definition.warnings == ()
    manifest = build_manifest(definition)
    assert (manifest["roles"]["bos"], manifest["eot_token"], manifest["settings"]["padding_side"]) == (257, 258, "left")


def test_no_limit_is_no_setting(hub: Folder) -> None:
    for limit in (int(1e30), 1e30, "4096", True, -1, None):
        assert "model_max_length" not in hub.write(tokenizer_config={"model_max_length": limit}).read().settings


def test_the_special_tokens_map_counts_as_in_transformers(hub: Folder) -> None:
    hub.write(special_tokens_map={"eos_token": "</s>"}, tokenizer_config={"eos_token": "<s>"})
    assert hub.read().roles == {"eos": 258}
    # With a list of added tokens in the configuration the map is not looked at.
    hub.write(tokenizer_config={"eos_token": "<s>", "added_tokens_decoder": {}})
    assert hub.read().roles == {"eos": 257}


def test_contradictions_are_warnings(hub: Folder, toy_definition: Any) -> None:
    (found,) = hub.warnings(pad_token="<pad>")
    assert found.startswith("tokenizer_config.json.pad_token: '<pad>' is not in tokenizer.json")
    (found,) = hub.warnings(bos_token="<s>", add_bos_token=True)
    assert "add_bos_token is true, and the post-processor of tokenizer.json does not add the token" in found
    assert hub.warnings(bos_token="<s>", add_bos_token=False) == []
    (found,) = hub.warnings(add_prefix_space=True)
    assert "add_prefix_space is true, and pre_tokenizer says otherwise" in found
    (found,) = hub.warnings(clean_up_tokenization_spaces=True)
    assert "takes spaces before punctuation out" in found
    tokens = {
        "257": {"content": "<s>", **ADDED},
        "300": {"content": "</s>", **ADDED, "lstrip": True},
        "9": {"content": "<x>", **ADDED},
    }
    found_all = hub.warnings(added_tokens_decoder=tokens)
    assert [line.partition(": ")[2] for line in found_all] == [
        "'</s>' has id 258 in tokenizer.json, which is taken",
        "'</s>' has another lstrip in tokenizer.json, which is taken",
        "'<x>' is no added token of tokenizer.json; it is left out",
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"{", "tokenizer_config.json: not valid JSON"),
        (b"[]", "tokenizer_config.json: expected an object, found a list"),
        ({"bos_token": 3}, "tokenizer_config.json.bos_token: expected a string or an object with a content"),
        ({"bos_token": {}}, "tokenizer_config.json.bos_token.content: this field is missing"),
        ({"added_tokens_decoder": []}, "tokenizer_config.json.added_tokens_decoder: expected an object"),
    ],
)
def test_damaged_files_beside_it(hub: Folder, config: Any, message: str) -> None:
    hub.write(tokenizer_config=config)
    with pytest.raises(DefinitionError) as caught:
        hub.read()
    assert str(caught.value).startswith(f"{hub.path}: {message}")


def test_several_definitions(hub: Folder) -> None:
    (hub.path / "tokenizer.model").write_bytes(b"\n")
    (hub.path / "tekken.json").write_bytes(b"{}")
    assert hub.read().warnings == (
        "tokenizer.json is taken; also in the folder, and not read: tekken.json, tokenizer.model",
    )


def test_a_folder_with_a_sentencepiece_model_only(tmp_path: Path, shared: Any) -> None:
    (tmp_path / "tokenizer.model").write_bytes(shared.model_bytes("mistral_v1"))
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 512, "bos_token": "no such"}', "utf-8")
    definition = read_definition(str(tmp_path))
    assert (definition.source_format, definition.roles["bos"]) == ("sentencepiece", 1)
    assert (definition.settings, definition.warnings) == ({"model_max_length": 512}, ())


def test_an_error_names_the_file_in_the_folder(hub: Folder) -> None:
    hub.write(tokenizer=b"{}")
    with pytest.raises(DefinitionError) as caught:
        hub.read()
    assert str(caught.value).startswith(f"{hub.path / 'tokenizer.json'}: model: no model in this file")
