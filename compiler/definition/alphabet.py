"""The byte-level alphabet: one printable character for each byte, as GPT-2 chose them.

Bytes that are printable in Latin-1 stand for themselves; the other 68 take U+0100 onwards in byte order.
A vocabulary entry that holds any other character can never be matched, since the text is made of these only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

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


BYTE_TO_CHAR = _byte_to_char()
"""`BYTE_TO_CHAR[b]` is the character that stands for byte `b`."""

# For str.translate: alphabet characters become the Latin-1 character of their byte. Latin-1 characters that are not
# in the alphabet (space, controls, U+00A0, U+00AD) become U+FFFF, so that encoding to Latin-1 fails for them too.
_TO_LATIN1 = dict.fromkeys(range(256), "\uffff") | {ord(c): chr(b) for b, c in enumerate(BYTE_TO_CHAR)}

UTF8_BYTES = frozenset(range(256)) - {0xC0, 0xC1} - frozenset(range(0xF5, 0x100))
"""The bytes that occur in some valid UTF-8 text."""


def alphabet_to_bytes(text: str) -> bytes | None:
    """The bytes that `text` stands for; None if a character of it is outside the alphabet."""
    try:
        return text.translate(_TO_LATIN1).encode("latin-1")
    except UnicodeEncodeError:
        return None


def missing_bytes(byte_ids: npt.NDArray[np.int32], noun: str) -> str | None:
    """A sentence that names the bytes of valid UTF-8 that have no id, or None if all have one."""
    missing = [byte for byte in sorted(UTF8_BYTES) if byte_ids[byte] < 0]
    if not missing:
        return None
    shown = ", ".join(f"0x{byte:02X}" for byte in missing[:8]) + (", ..." if len(missing) > 8 else "")
    return f"{len(missing)} {'byte has' if len(missing) == 1 else 'bytes have'} no {noun}: {shown}"
