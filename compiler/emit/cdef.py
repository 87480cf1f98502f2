"""gigatok.h -> the declarations cffi parses. One source of truth: the header itself, its comments and directives left out."""

from __future__ import annotations

import re

from gigatok_compile.emit.environment import template_text


def cffi_declarations() -> str:
    """Types, constants and functions of gigatok.h in cffi's subset of C."""
    text = re.sub(r"/\*.*?\*/", "", template_text("gigatok.h"), flags=re.DOTALL)
    lines = [line.rstrip() for line in text.splitlines() if not line.lstrip().startswith("#")]
    return "\n".join(line for line in lines if line) + "\n"
