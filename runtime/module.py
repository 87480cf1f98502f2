"""What the `__init__.py` of a generated package calls. Kept small: `import NAME` pays for all that is imported here.

GIGATOK_ENGINE=native|regex selects the engine, GIGATOK_ISA=avx512|avx2|neon|swar|automaton the kernels of the native one.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

from gigatok_runtime.native_engine import NativeEngine

if TYPE_CHECKING:
    from gigatok_runtime.encoded import Encoded
    from gigatok_runtime.engine import Engine
    from gigatok_runtime.manifest import Manifest
    from gigatok_runtime.special import Special
    from gigatok_runtime.texts import Errors
    from gigatok_runtime.tokenizer import Tokenizer


class Module:
    """A generated package at work: its engine now, its manifest and tokenizer when asked for."""

    def __init__(
        self,
        name: str,
        directory: str,
        *,
        engine: str,
        special: bytes,
        default_error: bool,
        join_surrogates: bool,
        python_decoder: bool = False,
    ) -> None:
        self.name = name
        self.directory = directory
        self._lock = threading.RLock()
        self._manifest: Manifest | None = None
        self._tokenizer: Tokenizer | None = None
        self.engine: Engine
        if _chosen_engine(engine) == "regex":
            self.engine = self._open_regex_engine()
        else:
            native = NativeEngine(
                name,
                directory,
                special=special,
                default_error=default_error,
                join_surrogates=join_surrogates,
                python_decoder=python_decoder,
                manifest=self._read_manifest,
            )
            isa = os.environ.get("GIGATOK_ISA")
            if isa:
                _force_isa(native, isa)
            self.engine = native

    def _open_regex_engine(self) -> Engine:
        from pathlib import Path

        from gigatok_runtime.definition_data import read_definition_data
        from gigatok_runtime.regex_engine import RegexEngine

        return RegexEngine(self.manifest, read_definition_data(Path(self.directory)))

    def _read_manifest(self) -> Manifest:
        with self._lock:
            if self._manifest is None:
                from pathlib import Path

                from gigatok_runtime.manifest import read_manifest

                self._manifest = read_manifest(Path(self.directory))
            return self._manifest

    @property
    def manifest(self) -> Manifest:
        return self._read_manifest()

    @property
    def tokenizer(self) -> Tokenizer:
        with self._lock:
            if self._tokenizer is None:
                from gigatok_runtime.tokenizer import Tokenizer

                self._tokenizer = Tokenizer(self.name, self.engine, self.manifest)
            return self._tokenizer

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickled as a reference to its package, so that its bound methods can go to other processes."""
        return _module_of, (self.name,)

    def encode_file(
        self,
        path: str | os.PathLike[str],
        separator: str | bytes | None = None,
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        """Ids of a file of UTF-8 text: Encoded(ids uint32, offsets int64). See Tokenizer.encode_separated for `separator`."""
        return self.tokenizer.encode_file(
            path, separator, threads, add_special_tokens=add_special_tokens, special=special, errors=errors
        )

    def attribute(self, name: str) -> Any:
        """For the package's `__getattr__`: what is made when first asked for."""
        if name == "tokenizer":
            return self.tokenizer
        if name == "manifest":
            return self.manifest
        raise AttributeError(f"module {self.name!r} has no attribute {name!r}")


def open_module(name: str, file: str, **settings: Any) -> Module:
    """The Module of the package `name` whose `__init__.py` is `file`; the settings are those of Module.

    Raises:
        ImportError: no library for this platform. ValueError: GIGATOK_ENGINE or GIGATOK_ISA names what is not there.
    """
    return Module(name, os.path.dirname(os.path.abspath(file)), **settings)


def _chosen_engine(default: str) -> str:
    chosen = os.environ.get("GIGATOK_ENGINE") or default
    if chosen not in ("native", "regex"):
        raise ValueError(f"GIGATOK_ENGINE is {chosen!r}; it must be 'native' or 'regex'")
    return chosen


def _force_isa(engine: NativeEngine, isa: str) -> None:
    try:
        engine.set_isa(isa)
    except ValueError as error:
        raise ValueError(f"GIGATOK_ISA: {error}") from None


def _module_of(name: str) -> Module:
    """The Module of the generated package of that name."""
    import importlib

    module: Module = importlib.import_module(name)._module
    return module
