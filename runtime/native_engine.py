"""The native engine: the compiled library of a generated package, through its CPython extension `NAME._call`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gigatok_runtime.encoded import Encoded, EncodedWithTypeIds

if TYPE_CHECKING:
    from gigatok_runtime.decoding import Decoder
    from gigatok_runtime.manifest import Manifest
    from gigatok_runtime.special import Special
    from gigatok_runtime.texts import Ids

GT_SPECIAL_IN_TEXT, GT_BAD_UTF8, GT_NO_PAIRS = -2, -3, -5  # gigatok.h


class NativeEngine:
    """An Engine (see engine.py) whose calls are C functions, bound here without a wrapper.

    Args:
        package: name of the generated package.
        directory: where it is, as a str.
        special: one byte an added token, 1 for special ones.
        default_error: special=None means "error".
        join_surrogates: surrogates in a str are joined or replaced, not an error.
        python_decoder: decode in plain Python, with a chain that the library does not run.
        manifest: reads the manifest when a message or an option needs it.

    Raises:
        ImportError: no library for this Python and platform is there.
    """

    engine = "native"

    def __init__(
        self,
        package: str,
        directory: str,
        *,
        special: bytes,
        default_error: bool,
        join_surrogates: bool,
        python_decoder: bool = False,
        manifest: Callable[[], Manifest],
    ) -> None:
        self._manifest = manifest
        self._call: Any = load_call(package, directory)
        self._call.configure(
            special, default_error, join_surrogates, Encoded, EncodedWithTypeIds, self._resolve, self._fail, _as_ids
        )
        self.encode = self._call.encode
        self.encode_batch = self._call.encode_batch
        self.encode_batch_with_type_ids = self._call.encode_batch_with_type_ids
        self.encode_separated = self._call.encode_separated
        self.count = self._call.count
        decoder = _PythonDecoder(directory, manifest) if python_decoder else self._call
        self.decode = decoder.decode
        self.decode_bytes = decoder.decode_bytes
        self.decode_batch = decoder.decode_batch
        self.token_bytes = self._call.token_bytes
        self.token_id = self._call.token_id
        self.release_thread = self._call.release_thread
        self.thread_bytes = self._call.thread_bytes

    @property
    def isa(self) -> str:
        return str(self._call.isa())

    @property
    def isas(self) -> tuple[str, ...]:
        """The kernel sets this CPU and build can run, best first."""
        return tuple(self._call.isas().split())

    def set_isa(self, name: str) -> None:
        """Use another kernel set from now on, in all threads. ValueError names those there are."""
        self._call.set_isa(name)

    def _resolve(self, special: Special) -> bytes:
        from gigatok_runtime.special import resolve_modes

        return resolve_modes(special, self._manifest())

    def _fail(self, status: int, index: int, offset: int, added: int, text: str | None) -> Exception:
        """The exception for a status that the C side gives; -1 stands for "not known"."""
        from gigatok_runtime import errors

        place = None if index < 0 else index
        if text is not None:
            return errors.SurrogateError(text, place)
        if status == GT_BAD_UTF8:
            return errors.InvalidUtf8Error(offset, place)
        if status == GT_SPECIAL_IN_TEXT:
            name = self._manifest()["added_tokens"][added]["content"] if added >= 0 else "?"
            return errors.SpecialTokenError(name, None if offset < 0 else offset, place)
        if status == GT_NO_PAIRS:
            return errors.no_pairs(place)
        return RuntimeError(f"the library failed with status {status}; please report it")


class _PythonDecoder:
    """`gigatok_runtime.decoding.Decoder` of a package, made when it is first used."""

    def __init__(self, directory: str, manifest: Callable[[], Manifest]) -> None:
        self._directory = directory
        self._manifest = manifest
        self._decoder: Decoder | None = None

    @property
    def decoder(self) -> Decoder:
        if self._decoder is None:
            from pathlib import Path

            from gigatok_runtime.decoding import Decoder
            from gigatok_runtime.definition_data import read_definition_data

            self._decoder = Decoder(self._manifest(), read_definition_data(Path(self._directory)))
        return self._decoder

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str:
        return self.decoder.decode(ids, skip_special_tokens)

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes:
        return self.decoder.decode_bytes(ids, skip_special_tokens)

    def decode_batch(self, ids: Iterable[Ids], skip_special_tokens: bool = False) -> list[str]:
        return self.decoder.decode_batch(ids, skip_special_tokens)


def load_call(package: str, directory: str) -> ModuleType:
    """`<package>._call`, the second extension inside the library `_native.<ext>` of `directory`."""
    import os
    import sys

    tried = []
    for suffix in EXTENSION_SUFFIXES:
        path = os.path.join(directory, "_native" + suffix)
        tried.append("_native" + suffix)
        if os.path.exists(path):
            name = f"{package}._call"
            spec = spec_from_loader(name, ExtensionFileLoader(name, path))
            assert spec is not None and spec.loader is not None
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            sys.modules[name] = module  # pickle finds functions by the name of their module
            return module
    raise ImportError(
        f"{package} has no library for this Python and platform: none of {', '.join(tried)} is in {directory};"
        f" compile it here, or use its regex engine with GIGATOK_ENGINE=regex"
    )


def _as_ids(ids: Any) -> Any:
    from gigatok_runtime.texts import as_ids

    return as_ids(ids)
