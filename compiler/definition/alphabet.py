"""The byte-level alphabet (see gigatok_runtime/byte_level.py), read backwards.

A vocabulary entry that holds a character outside it can never be matched, since the text is made of these only.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from gigatok_runtime.byte_level import BYTE_TO_CHAR

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
