"""Generated packages to test the Python side with: one over a made-up C core, and real ones without a library."""

from __future__ import annotations

import importlib
import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from gigatok_compile.build import build_module
from gigatok_compile.definition import read_definition
from gigatok_compile.definition_data import write_definition_data
from gigatok_compile.emit.package import render_package_files
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.manifest import build_manifest
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.manifest import read_manifest
from gigatok_runtime.regex_engine import RegexEngine

HEADERS = (
    "gigatok.h",
    "pycall.h",
    "pyfours.h",
    "pytext.h",
    "pyutf8.h",
    "pyarguments.h",
    "pyoutput.h",
    "pydecode.h",
    "pyunicode.h",
    "pymodule.h",
    "pairs.h",
)


def write_package(directory: Path, definition: TokenizerDefinition, engine: str = "native") -> Path:
    """All of a generated package but its library."""
    package = directory / definition.name
    package.mkdir(parents=True)
    manifest = build_manifest(definition, engine=engine)
    for name, text in render_package_files(manifest).items():
        (package / name).write_text(text, encoding="utf-8")
    (package / "definition.npz").write_bytes(write_definition_data(definition))
    return package


def declarations() -> str:
    """gigatok.h as cffi reads it."""
    text = (files("gigatok_compile.templates") / "gigatok.h").read_text()
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


@pytest.fixture(scope="session")
def stub_definition(toy_definition: Callable[..., dict[str, Any]], tmp_path_factory: Any) -> TokenizerDefinition:
    """The definition that stub_core.c implements."""
    vocab = {char: i for i, char in enumerate(bytes_to_alphabet())}
    added = [("<|end|>", 256, True), ("<tool>", 257, False)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    made = toy_definition(
        {
            "model.vocab": vocab,
            "model.merges": [],
            "added_tokens": [{"id": i, "content": c, "special": s, **flags} for c, i, s in added],
            "pre_tokenizer": {
                "type": "Sequence",
                "pretokenizers": [
                    {"type": "Split", "pattern": {"Regex": "[\\s\\S]"}, "behavior": "Isolated", "invert": False},
                    {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
                ],
            },
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [{"SpecialToken": {"id": "<|end|>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
                "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {"<|end|>": {"id": "<|end|>", "ids": [256], "tokens": ["<|end|>"]}},
            },
        }
    )
    path = tmp_path_factory.mktemp("stub") / "stub.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    return read_definition(str(path), name="stub_tok")


def bytes_to_alphabet() -> list[str]:
    from gigatok_runtime.byte_level import BYTE_TO_CHAR

    return list(BYTE_TO_CHAR)


@pytest.fixture(scope="session")
def build_stub(fours_as_c: str) -> Callable[..., Path]:
    """A maker of the library around stub_core.c: build_stub(package_dir, *flags)."""
    core = (Path(__file__).parent / "stub_core.c").read_text(encoding="utf-8")
    headers = {name: (files("gigatok_compile.templates") / name).read_text() for name in HEADERS}

    def build(package: Path, *flags: str) -> Path:
        sources = {"module.c": core, "fours.h": fours_as_c, **headers}
        warnings = ("-Werror", "-Wconversion", "-Wno-sign-conversion")
        return build_module(
            sources, package, f"{package.name}._native", declarations(), extra_flags=(*warnings, *flags)
        )

    return build


@pytest.fixture(scope="session")
def stub_directory(
    tmp_path_factory: Any, stub_definition: TokenizerDefinition, build_stub: Callable[..., Path]
) -> Path:
    """The folder that holds the package stub_tok."""
    directory = Path(tmp_path_factory.mktemp("packages"))
    build_stub(write_package(directory, stub_definition))
    return directory


ImportAfresh = Callable[..., ModuleType]


@pytest.fixture
def import_afresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportAfresh]:
    """import_afresh(directory, name, **environment): the package, imported as in a new process."""
    imported: list[str] = []

    def load(directory: Path, name: str, **environment: str) -> ModuleType:
        for variable in ("GIGATOK_ENGINE", "GIGATOK_ISA"):
            monkeypatch.delenv(variable, raising=False)
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        monkeypatch.syspath_prepend(str(directory))
        sys.modules.pop(name, None)
        imported.append(name)
        return importlib.import_module(name)

    yield load
    for name in imported:
        sys.modules.pop(name, None)


@pytest.fixture
def stub(stub_directory: Path, import_afresh: ImportAfresh) -> ModuleType:
    """The stub package with its native engine."""
    return import_afresh(stub_directory, "stub_tok")


@pytest.fixture(params=["native", "regex"])
def either(request: pytest.FixtureRequest, stub_directory: Path, import_afresh: ImportAfresh) -> ModuleType:
    """The stub package, once with each engine: they must not differ in what a user sees."""
    return import_afresh(stub_directory, "stub_tok", GIGATOK_ENGINE=request.param)


@pytest.fixture(scope="session")
def regex_engine(tmp_path_factory: Any) -> Callable[[TokenizerDefinition], RegexEngine]:
    """The regex engine of a definition, by way of the files of a package."""

    def make(definition: TokenizerDefinition) -> RegexEngine:
        package = write_package(Path(tmp_path_factory.mktemp("regex")), definition, "regex")
        try:
            return RegexEngine(read_manifest(package), read_definition_data(package))
        finally:
            shutil.rmtree(package)

    return make


@pytest.fixture(scope="session")
def read_definition_dict(tmp_path_factory: Any) -> Callable[..., TokenizerDefinition]:
    """read_definition of a tokenizer.json given as a dict."""

    def read(made: dict[str, Any], name: str = "made") -> TokenizerDefinition:
        path = Path(tmp_path_factory.mktemp("definition")) / "tokenizer.json"
        path.write_text(json.dumps(made), encoding="utf-8")
        return read_definition(str(path), name=re.sub(r"\W", "_", name))

    return read
