"""tokenizer: a tokenizer compiled by gigatok-compile. Do not edit.

Ids are those of tokenizers 0.23.3 for the definition with sha256
19a57dcc34c9491ae5049f69d49db9081ecf2556f728b31f24aafadfdc2025de.

    import tokenizer
    tokenizer.encode("Hello world")        # numpy uint32 array
    tokenizer.encode_batch(texts)          # ids and offsets of many texts
    tokenizer.tokenizer                    # all of it, with vocabulary and special tokens
"""

from __future__ import annotations

from typing import TYPE_CHECKING as _TYPE_CHECKING

from gigatok_runtime.module import open_module as _open_module

if _TYPE_CHECKING:
    from gigatok_runtime.manifest import Manifest
    from gigatok_runtime.tokenizer import Tokenizer

    tokenizer: Tokenizer
    manifest: Manifest

_module = _open_module(
    __name__,
    __file__,
    engine="native",
    special=b"\x01\x01\x01\x01\x01",
    default_error=False,
    join_surrogates=False,
    python_decoder=False,
)
encode = _module.engine.encode
encode_batch = _module.engine.encode_batch
encode_file = _module.encode_file
count = _module.engine.count
decode = _module.engine.decode
decode_batch = _module.engine.decode_batch
decode_bytes = _module.engine.decode_bytes
__version__ = "0.1.0+19a57dcc34c9"
__all__ = [
    "encode",
    "encode_batch",
    "encode_file",
    "count",
    "decode",
    "decode_batch",
    "decode_bytes",
    "tokenizer",
    "manifest",
]


def __getattr__(name: str) -> object:
    """`tokenizer` and `manifest`, made when first asked for."""
    return _module.attribute(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
