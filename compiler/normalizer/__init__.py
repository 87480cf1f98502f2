"""Normalizers: data, what they do to text at compile time, and the passes and tables of their C."""

from gigatok_compile.normalizer.data import form_arrays, load_nfc_data
from gigatok_compile.normalizer.steps import (
    content_function,
    normalize_function,
    normalizer_arrays,
    normalizer_entries,
)

__all__ = [
    "content_function",
    "form_arrays",
    "load_nfc_data",
    "normalize_function",
    "normalizer_arrays",
    "normalizer_entries",
]
