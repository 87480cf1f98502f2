"""What every test may ask for: the shared models, corpora and cases, and small made-up definitions.

The shared folder lies beside the checkout, or where GIGATOK_SHARED says. It is not in the repository (vocabularies carry
their vendors' terms), so tests that need it skip where it is absent. Test modules cannot import each other
(`--import-mode=importlib`); helpers are fixtures.
"""

from __future__ import annotations

import copy
import functools
import itertools
import json
import lzma
import os
import runpy
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from gigatok_compile.emit.utf8_tables import utf8_tables
from gigatok_compile.ir.definition import BpeModel

sys.path.insert(0, str(Path(__file__).parent))
import modules

ROOT = Path(__file__).resolve().parent.parent

# CI runs the same examples every time; elsewhere each run looks at new ones. Never fix a seed in a test.
hypothesis.settings.register_profile("ci", derandomize=True, deadline=None)
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@dataclass(frozen=True)
class Shared:
    """The shared folder: `models/NAME/*.xz`, `corpora/NAME.txt.xz`, `cases/`."""

    root: Path

    def model_file(self, name: str) -> Path:
        """The one definition of a model, still compressed."""
        (file,) = (self.root / "models" / name).glob("*.xz")
        return file

    @functools.lru_cache(maxsize=4)  # noqa: B019 - one instance a session
    def model_bytes(self, name: str) -> bytes:
        return lzma.decompress(self.model_file(name).read_bytes())

    @functools.lru_cache(maxsize=4)  # noqa: B019
    def corpus(self, name: str) -> bytes:
        """The whole text of a corpus ("english", "zh", ...), UTF-8."""
        return lzma.decompress((self.root / "corpora" / f"{name}.txt.xz").read_bytes())

    def corpus_names(self) -> list[str]:
        return sorted(path.name.removesuffix(".txt.xz") for path in (self.root / "corpora").glob("*.txt.xz"))

    @functools.cached_property
    def faults(self) -> dict[str, dict[str, Any]]:
        """The known-hard cases by id."""
        cases = json.loads((self.root / "cases" / "faults.json").read_text("utf-8"))
        return {case["id"]: case for case in (cases["cases"] if isinstance(cases, dict) else cases)}

    @property
    def configs(self) -> Path:
        return self.root / "cases" / "configs"


def shared_root() -> Path | None:
    """The shared folder, or None where it is absent."""
    override = os.environ.get("GIGATOK_SHARED")
    root = Path(override) if override else ROOT.parent / "shared"
    return root if (root / "models").is_dir() else None


@pytest.fixture(scope="session")
def shared() -> Shared:
    root = shared_root()
    if root is None:
        pytest.skip("needs the shared models: set GIGATOK_SHARED")
    return Shared(root)


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


def byte_alphabet() -> list[str]:
    """Byte to character as GPT-2's byte-level alphabet has it, written out apart from the code under test."""
    printable = [b for b in range(256) if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
    others = [b for b in range(256) if b not in printable]
    return [chr(b) if b in printable else chr(256 + others.index(b)) for b in range(256)]


@pytest.fixture(scope="session")
def alphabet() -> list[str]:
    return byte_alphabet()


ToyDefinition = Callable[..., dict[str, Any]]


@pytest.fixture(scope="session")
def toy_definition() -> ToyDefinition:
    """A maker of small byte-level definitions: 256 bytes, then "ab" with its merge; one piece a text.

    `toy_definition({"model.dropout": 0.5, "decoder": ...})` changes fields by path; an Ellipsis takes the field out.
    """
    alphabet = byte_alphabet()
    base = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": False,
            "vocab": {alphabet[b]: b for b in range(256)} | {"ab": 256},
            "merges": ["a b"],
        },
    }

    def make(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
        definition = copy.deepcopy(base)
        for path, value in (changes or {}).items():
            *parents, key = path.split(".")
            place: Any = definition
            for parent in parents:
                place = place[parent]
            if value is ...:
                del place[key]
            else:
                place[key] = copy.deepcopy(value)
        return definition

    return make


class NaiveBpe:
    """BPE as the textbook has it: merge the best pair, leftmost first, until there is none."""

    def __init__(self, model: BpeModel) -> None:
        merges = model.merges.tolist()
        self.rows = {
            (left, right): (rank, row[2])
            for row, rank in zip(merges, model.ranks.tolist(), strict=True)
            for left, right in [row[:2]]
        }
        self.whole = {token: i for i, token in enumerate(model.tokens) if token} if model.ignore_merges else {}
        self.byte_ids = model.byte_ids.tolist()

    def encode(self, piece: bytes) -> list[int]:
        if piece in self.whole:
            return [self.whole[piece]]
        ids = [self.byte_ids[byte] for byte in piece]
        while True:
            found = [(self.rows[pair][0], at) for at, pair in enumerate(itertools.pairwise(ids)) if pair in self.rows]
            if not found:
                return ids
            _, at = min(found)
            ids[at : at + 2] = [self.rows[ids[at], ids[at + 1]][1]]


@pytest.fixture(scope="session")
def naive_bpe() -> type[NaiveBpe]:
    return NaiveBpe


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where modules are built once for all tests of a session."""
    return modules.session_folder(tmp_path_factory)


@pytest.fixture(scope="module", params=modules.PARITY_MODELS)
def pair(request: pytest.FixtureRequest, folder: Path) -> tuple[modules.Built, modules.Reference]:
    """A built module and its reference engine."""
    model = request.param
    return modules.build_model(model, folder), modules.reference(model, modules.definition_file(model, folder))


@pytest.fixture(scope="session")
def fours_as_c() -> str:
    """The tables of templates/pyfours.h as C text, for programs that include it without a module's tables."""
    harness = runpy.run_path(str(Path(__file__).with_name("kernel_harness.py")))
    return str(harness["table_source"](utf8_tables()))
