"""The smallest text that still shows a fault."""

from __future__ import annotations

import time
from collections.abc import Callable


def shrink(text: str, fails: Callable[[str], bool], seconds: float = 3.0) -> str:
    """Take parts out of `text`, large ones first, while `fails` still holds; stops after `seconds`."""
    end = time.monotonic() + seconds
    size = max(1, len(text) // 2)
    while size and time.monotonic() < end:
        at, shorter = 0, False
        while at < len(text) and time.monotonic() < end:
            candidate = text[:at] + text[at + size :]
            if candidate != text and fails(candidate):
                text, shorter = candidate, True
            else:
                at += size
        if not shorter or size > 1:
            size = size // 2 if size > 1 else 0
    return text
