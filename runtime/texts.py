"""Arguments of the calls, for what is done in Python: texts as str, buffers as memoryview, ids as uint32."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Literal, cast

import numpy as np
import numpy.typing as npt
from gigatok_runtime.errors import InvalidUtf8Error, SurrogateError, wrong_type

Buffer = bytes | bytearray | memoryview | npt.NDArray[np.uint8]  # and mmap, array: anything with the buffer protocol
Text = str | Buffer
Errors = Literal["strict", "replace"]
Ids = npt.NDArray[np.integer] | Iterable[int]


def as_str(text: Text, errors: Errors, join_surrogates: bool, index: int | None = None) -> str:
    """`text` without surrogates. index: its place in a batch, for messages.

    Raises:
        TypeError, InvalidUtf8Error, SurrogateError.
    """
    if isinstance(text, str):
        return _without_surrogates(text, errors == "replace" or join_surrogates, index)
    data = as_bytes(text, index)
    try:
        return data.decode("utf-8", errors)
    except UnicodeDecodeError as error:
        raise InvalidUtf8Error(error.start, index) from None


def as_bytes(buffer: Buffer, index: int | None = None) -> bytes:
    """The bytes of a buffer (copied unless they are `bytes`). Raises TypeError for anything else."""
    if isinstance(buffer, bytes):
        return buffer
    try:
        view = memoryview(cast(bytes, buffer))
    except (TypeError, BufferError):
        raise wrong_type(buffer, index) from None
    if (
        view.ndim > 1
        or view.itemsize != 1
        or view.format.lstrip("@=<>!") not in ("B", "b", "c")
        or not view.c_contiguous
    ):
        raise wrong_type(buffer, index)
    return view.tobytes()


def _without_surrogates(text: str, join: bool, index: int | None) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        if not join:
            raise SurrogateError(text, index) from None
        # As tiktoken does: pairs become one character, single ones U+FFFD.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def check_errors(errors: str) -> Errors:
    if errors not in ("strict", "replace"):
        raise ValueError(f"errors must be 'strict' or 'replace', not {errors!r}")
    return cast(Errors, errors)


def check_threads(threads: int | None) -> int:
    """The number for the C interface: 0 for None."""
    if threads is None:
        return 0
    try:
        number = operator.index(threads)
    except TypeError:
        raise TypeError(f"threads must be a whole number or None, not {type(threads).__name__}") from None
    if number < 1:
        raise ValueError(f"threads must be at least 1 (None: one a CPU), not {number}")
    return min(number, 1024)


def as_ids(ids: Ids) -> npt.NDArray[np.uint32]:
    """Ids as a C-contiguous one-dimensional uint32 array.

    Raises:
        TypeError: not whole numbers. ValueError: an array of more than one dimension, or a number no uint32 holds.
    """
    if hasattr(ids, "__array__"):
        array = np.asarray(ids)
        if array.ndim != 1:
            raise ValueError(f"ids must have one dimension, not {array.ndim}")
        if array.dtype.kind not in "iu" and array.size:
            raise TypeError(f"ids must be whole numbers, not {array.dtype}")
    else:
        array = _ids_from_numbers(ids)
    bad = np.flatnonzero((array < 0) | (array > 0xFFFFFFFF)) if array.dtype != np.uint32 else np.empty(0, np.intp)
    if bad.size:
        raise ValueError(f"ids[{bad[0]}] is {array[bad[0]]}; ids are whole numbers from 0 to 4294967295")
    return np.ascontiguousarray(array, np.uint32)


def _ids_from_numbers(ids: Iterable[int]) -> npt.NDArray[np.generic]:
    if isinstance(ids, str | bytes):
        raise TypeError(f"ids must be whole numbers, not {type(ids).__name__}")
    try:
        items = list(ids)
    except TypeError:
        raise TypeError(f"ids must be a sequence of whole numbers, not {type(ids).__name__}") from None
    numbers = []
    for i, item in enumerate(items):
        try:
            numbers.append(operator.index(item))
        except TypeError:
            raise TypeError(f"ids[{i}] must be a whole number, not {type(item).__name__}") from None
    out_of_range = next((i for i, n in enumerate(numbers) if not 0 <= n <= 0xFFFFFFFF), None)
    if out_of_range is not None:
        raise ValueError(f"ids[{out_of_range}] is {numbers[out_of_range]}; ids are whole numbers from 0 to 4294967295")
    return np.array(numbers, np.uint32)
