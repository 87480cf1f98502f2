"""Files as input: mapped into memory where that is possible, read where it is not (pipes, empty files)."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def mapped(path: str | os.PathLike[str]) -> Iterator[mmap.mmap | bytes]:
    """The bytes of a file, without reading it as a whole.

    Raises:
        OSError: as `open` does.
    """
    with open(path, "rb") as file:
        try:
            size = os.fstat(file.fileno()).st_size
            view = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else None
        except (OSError, ValueError):
            view = None
        if view is None:
            yield file.read()
            return
        if hasattr(view, "madvise") and hasattr(mmap, "MADV_SEQUENTIAL"):
            view.madvise(mmap.MADV_SEQUENTIAL)
        with view:
            yield view


def separator_bytes(separator: str | bytes | None) -> bytes | None:
    """A separator as bytes. Raises TypeError or ValueError."""
    if separator is None:
        return None
    if isinstance(separator, str):
        separator = separator.encode()
    if not isinstance(separator, bytes):
        raise TypeError(f"separator must be str, bytes or None, not {type(separator).__name__}")
    if not separator:
        raise ValueError("separator must not be empty (None: no separator)")
    return separator
