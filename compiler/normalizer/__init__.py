"""Normalizers: data, what they do to text at compile time, and their tables for templates/normalize.h."""

from gigatok_compile.normalizer.data import load_nfc_data, nfc_data_for_runtime
from gigatok_compile.normalizer.steps import content_function, normalize_function
from gigatok_compile.normalizer.tables import build_nfc_tables

__all__ = ["build_nfc_tables", "content_function", "load_nfc_data", "nfc_data_for_runtime", "normalize_function"]
