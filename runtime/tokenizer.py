"""Tokenizer: the object behind a generated package, `NAME.tokenizer`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from gigatok_runtime.decoding import DecodeStream
from gigatok_runtime.encoded import Encoded, EncodedWithTypeIds
from gigatok_runtime.engine import Engine
from gigatok_runtime.files import mapped, separator_bytes
from gigatok_runtime.manifest import Manifest
from gigatok_runtime.special import Special
from gigatok_runtime.texts import Buffer, Errors, Ids, Text


class Tokenizer:
    """A compiled tokenizer: texts to ids, ids to texts, and what its vocabulary holds.

    One object serves all threads, and forked processes. Options that the encoding calls share:

    add_special_tokens: put the post-processor's ids around every text.
    special: what to do with special tokens that occur in a text. None: as the reference engine does by default (a
        tokenizer.json matches them, a rank file makes them an error). "match", "text" or "error": for all of them. A set
        of names: those match, the others are text. A mapping from names to modes: those, and the default for the others.
        Added tokens that are not special always match, unless named in a mapping.
    errors: for bytes-like texts. "strict": ill-formed UTF-8 raises; "replace": it is read as U+FFFD.
    threads: None for as many as there are CPUs. Ids never depend on it.

    Texts are str, bytes, or any one-dimensional C-contiguous buffer of bytes (bytearray, memoryview, mmap, numpy uint8),
    which is used in place. Exceptions: TypeError for what is no text, InvalidUtf8Error, SurrogateError and
    SpecialTokenError (all of them ValueErrors), each naming the text and the place.
    """

    def __init__(self, name: str, engine: Engine, manifest: Manifest) -> None:
        self.name = name
        self.manifest = manifest
        self._engine = engine

    @property
    def engine(self) -> str:
        """ "native" or "regex"."""
        return self._engine.engine

    @property
    def isa(self) -> str:
        """The kernel set in use: "avx512", "avx2", "neon", "swar", "automaton"; "regex" for the regex engine."""
        return self._engine.isa

    def encode(
        self,
        text: Text,
        *,
        pair: Text | None = None,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
        threads: int | None = 1,
    ) -> npt.NDArray[np.uint32]:
        """Ids of one text, (n,) uint32. `NAME.encode` is the same with less overhead. threads: for a large text.

        pair: a second text; the ids are those of the pair as the post-processor puts it together. ValueError where the
            definition's template loses a text of a pair.
        """
        return self._engine.encode(
            text, pair=pair, add_special_tokens=add_special_tokens, special=special, errors=errors, threads=threads
        )

    def encode_batch(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        """Ids of many texts: Encoded(ids uint32, offsets int64 of len(texts) + 1 entries). A tuple of two texts is a pair."""
        return self._engine.encode_batch(
            texts, threads, add_special_tokens=add_special_tokens, special=special, errors=errors
        )

    def encode_batch_with_type_ids(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> EncodedWithTypeIds:
        """`encode_batch`, and the type id of every id: EncodedWithTypeIds(ids, offsets, type_ids uint32)."""
        return self._engine.encode_batch_with_type_ids(
            texts, threads, add_special_tokens=add_special_tokens, special=special, errors=errors
        )

    def encode_separated(
        self,
        data: Buffer,
        separator: str | bytes | None = None,
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        """Ids of the documents in one buffer of UTF-8 text.

        separator: what stands between documents, itself part of none; what follows the last one counts unless it is
            empty. None: the whole buffer is one document. With errors="replace" a buffer that is ill-formed is copied.
        """
        return self._engine.encode_separated(
            data,
            separator_bytes(separator),
            threads,
            add_special_tokens=add_special_tokens,
            special=special,
            errors=errors,
        )

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
        """`encode_separated` of a file, which is mapped into memory, not read. Raises OSError too."""
        between = separator_bytes(separator)
        with mapped(path) as data:
            return self.encode_separated(
                cast(Buffer, data),  # mmap has the buffer protocol, which types cannot say before 3.12
                between,
                threads,
                add_special_tokens=add_special_tokens,
                special=special,
                errors=errors,
            )

    def count(
        self, text: Text, *, add_special_tokens: bool = False, special: Special = None, errors: Errors = "strict"
    ) -> int:
        """How many ids `encode` gives, without making them."""
        return self._engine.count(text, add_special_tokens=add_special_tokens, special=special, errors=errors)

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str:
        """Text of ids. Ill-formed UTF-8 becomes U+FFFD; ids that the vocabulary does not hold are skipped."""
        return self._engine.decode(ids, skip_special_tokens)

    def decode_batch(self, ids: Iterable[Ids], skip_special_tokens: bool = False) -> list[str]:
        """`decode` of each item of `ids`."""
        return self._engine.decode_batch(ids, skip_special_tokens)

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes:
        """Bytes of ids: the UTF-8 of what `decode` gives, but for bytes that are no UTF-8 (parts of characters in byte-level
        tokens, runs of byte tokens such as <0xE2>), which come out as they are."""
        return self._engine.decode_bytes(ids, skip_special_tokens)

    def decode_stream(self, skip_special_tokens: bool = False) -> DecodeStream:
        """For ids that come one by one: `step(id)` gives the text that is new, or None while a character is not whole."""
        return DecodeStream(self._engine.decode, skip_special_tokens)

    def token_to_id(self, token: str | bytes) -> int | None:
        """The id of a token given by its bytes (a str: its UTF-8), or None. Added tokens come before model entries."""
        return self._engine.token_id(token)

    def id_to_token(self, id: int) -> bytes | None:
        """The bytes of an id, or None for an id the vocabulary does not hold."""
        return self._engine.token_bytes(id)

    def vocabulary(self) -> Iterator[tuple[int, bytes]]:
        """All ids with their bytes, in order of id."""
        for number in range(self.max_id + 1):
            token = self._engine.token_bytes(number)
            if token is not None:
                yield number, token

    def __len__(self) -> int:
        """How many ids the vocabulary holds, added tokens included."""
        return self.manifest["vocabulary_size"]

    @property
    def n_vocab(self) -> int:
        """max_id + 1: the rows of an embedding table (tiktoken's meaning). len(tokenizer) does not count gaps."""
        return self.manifest["max_id"] + 1

    @property
    def max_id(self) -> int:
        """The largest id."""
        return self.manifest["max_id"]

    @cached_property
    def special_tokens(self) -> dict[str, int]:
        """Special tokens and their ids."""
        return dict(self.manifest["special_tokens"])

    @property
    def eot_token(self) -> int | None:
        """The id of the token that ends a text, or None where the definition has none."""
        return self.manifest["eot_token"]

    def __repr__(self) -> str:
        made_from = f"{self.manifest['source_format']}, sha256 {self.manifest['definition_sha256'][:12]}"
        return f"<Tokenizer {self.name}: {len(self)} tokens, engine {self.engine}, {self.isa} ({made_from})>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as a reference to its package, which must be importable where it is unpickled."""
        return _tokenizer_of, (self.name,)


def _tokenizer_of(name: str) -> Any:
    return import_module(name).tokenizer
