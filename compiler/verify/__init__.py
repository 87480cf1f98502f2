"""Verification at compile time: the built module against the regex engine, before anyone gets to see it."""

from gigatok_compile.verify.expand import to_regex_package
from gigatok_compile.verify.module import verify_module
from gigatok_compile.verify.report import VerifyReport

__all__ = ["VerifyReport", "to_regex_package", "verify_module"]
