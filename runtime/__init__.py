"""What a generated module needs in Python. Imports nothing of the compiler.

A generated package calls `open_module`; people meet `Tokenizer` (as `NAME.tokenizer`), `Encoded`, and the exceptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gigatok_runtime.encoded import Encoded
    from gigatok_runtime.errors import InvalidUtf8Error, SpecialTokenError, SurrogateError
    from gigatok_runtime.tokenizer import Tokenizer

__all__ = ["Tokenizer", "Encoded", "InvalidUtf8Error", "SpecialTokenError", "SurrogateError"]

_HOMES = {
    "Tokenizer": "tokenizer",
    "Encoded": "encoded",
    "InvalidUtf8Error": "errors",
    "SpecialTokenError": "errors",
    "SurrogateError": "errors",
}


def __getattr__(name: str) -> Any:
    """Names are imported when first asked for: `import NAME` must stay cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
