"""What an engine offers: the calls behind Tokenizer and behind the functions of a generated package."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import numpy.typing as npt
from gigatok_runtime.encoded import Encoded, EncodedWithTypeIds
from gigatok_runtime.special import Special
from gigatok_runtime.texts import Buffer, Errors, Ids, Text


class Engine(Protocol):
    """Signatures are those of templates/pycall.h, where they are documented; every engine gives the same ids."""

    @property
    def engine(self) -> str:
        """ "native" or "regex"."""

    @property
    def isa(self) -> str:
        """The kernel set in use, "regex" for the regex engine."""

    def encode(
        self,
        text: Text,
        *,
        pair: Text | None = None,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
        threads: int | None = 1,
    ) -> npt.NDArray[np.uint32]: ...

    def encode_batch(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded: ...

    def encode_batch_with_type_ids(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> EncodedWithTypeIds: ...

    def encode_separated(
        self,
        data: Buffer,
        separator: bytes | None = None,
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded: ...

    def count(
        self,
        text: Text,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> int: ...

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str: ...

    def decode_batch(self, ids: Iterable[Ids], skip_special_tokens: bool = False) -> list[str]: ...

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes: ...

    def token_bytes(self, id: int, /) -> bytes | None: ...

    def token_id(self, token: str | bytes, /) -> int | None: ...
