"""Exceptions of the calls. Each names the text, the place in it, and the thing at fault."""

from __future__ import annotations

from typing import Any


def name_text(index: int | None) -> str:
    """How messages call a text: "text", or "texts[3]" in a batch."""
    return "text" if index is None else f"texts[{index}]"


class InvalidUtf8Error(UnicodeDecodeError):
    """Bytes that are not well-formed UTF-8.

    offset: of the first bad byte, in bytes (also as `start`). index: of the text in a batch, or None.
    """

    def __init__(self, offset: int, index: int | None = None) -> None:
        super().__init__("utf-8", b"", offset, offset + 1, "not well-formed")
        self.offset = offset
        self.index = index

    def __str__(self) -> str:
        return (
            f"{name_text(self.index)} is not well-formed UTF-8 at byte {self.offset};"
            " errors='replace' reads U+FFFD for what is ill-formed"
        )

    def moved(self, bytes_before: int) -> InvalidUtf8Error:
        """The same fault in the buffer that holds this text after so many bytes."""
        return InvalidUtf8Error(self.offset + bytes_before)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.offset, self.index)


class SurrogateError(UnicodeEncodeError):
    """A str that holds a surrogate, which no UTF-8 has. start: its place, in characters. index: as above."""

    def __init__(self, text: str, index: int | None = None) -> None:
        start = next(i for i, c in enumerate(text) if "\ud800" <= c <= "\udfff")
        super().__init__("utf-8", text, start, start + 1, "surrogates not allowed")
        self.index = index

    def __str__(self) -> str:
        return (
            f"{name_text(self.index)} holds the surrogate U+{ord(self.object[self.start]):04X} at character {self.start};"
            " errors='replace' joins pairs and reads U+FFFD for single ones"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.object, self.index)


class SpecialTokenError(ValueError):
    """A special token occurs in a text where it is not allowed.

    token: its name. offset: where in the text, in bytes, or None where normalization hides it. index: as above.
    """

    def __init__(self, token: str, offset: int | None = None, index: int | None = None) -> None:
        super().__init__(token, offset, index)
        self.token = token
        self.offset = offset
        self.index = index

    def moved(self, bytes_before: int) -> SpecialTokenError:
        """The same fault in the buffer that holds this text after so many bytes."""
        return SpecialTokenError(self.token, None if self.offset is None else self.offset + bytes_before)

    def __str__(self) -> str:
        place = "" if self.offset is None else f" at byte {self.offset}"
        return (
            f"Encountered text corresponding to disallowed special token {self.token!r}"
            f" ({name_text(self.index)}{place}).\n"
            f"If it should be encoded as that token, pass special='match' or name it: special={{{self.token!r}, ...}}.\n"
            "If it should be encoded as ordinary text, pass special='text'."
        )


def no_pairs(index: int | None) -> ValueError:
    """For a pair where the definition's post-processor loses a text of it, or crashes the reference."""
    return ValueError(f"{name_text(index)} is a pair, and this definition cannot put a pair of texts together")


def wrong_type(value: object, index: int | None) -> TypeError:
    """For a text that is none."""
    return TypeError(
        f"{name_text(index)} must be str, bytes or a one-dimensional C-contiguous buffer of bytes, not {type(value).__name__}"
    )
