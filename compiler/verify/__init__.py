"""Verification at compile time: the built module against the regex engine, before anyone gets to see it."""

from gigatok_compile.verify.expand import to_regex_package
from gigatok_compile.verify.report import VerifyReport
from gigatok_compile.verify.verify import verify_module

__all__ = ["VerifyReport", "to_regex_package", "verify_module"]
