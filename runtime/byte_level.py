"""The byte-level alphabet: one printable character for each byte, as GPT-2 chose them.

Bytes that are printable in Latin-1 stand for themselves; the other 68 take U+0100 onwards in byte order.
"""

from __future__ import annotations

from typing import Final

_PRINTABLE = (*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100))


def _byte_to_char() -> tuple[str, ...]:
    chars = [""] * 256
    for byte in _PRINTABLE:
        chars[byte] = chr(byte)
    shifted = 0x100
    for byte in range(256):
        if not chars[byte]:
            chars[byte] = chr(shifted)
            shifted += 1
    return tuple(chars)


BYTE_TO_CHAR: Final = _byte_to_char()
"""`BYTE_TO_CHAR[b]` is the character that stands for byte `b`."""

_FROM_LATIN1 = "".join(BYTE_TO_CHAR)


def bytes_to_alphabet(data: bytes) -> str:
    """What the ByteLevel pre-tokenizer makes of these bytes of UTF-8: a character a byte."""
    return data.decode("latin-1").translate(_FROM_LATIN1)
