"""The jinja2 environment for C, and the one function that makes a C comment of any text.

Template dialect: `//%` statements, `@{ }` values, `/*# #*/` template comments; undefined names are errors.
"""

from __future__ import annotations

import importlib.resources
import textwrap

import jinja2


def c_comment(text: str) -> str:
    """`text` fit for the inside of a C comment: ASCII, one line, no comment end, trigraph or backslash-newline."""
    out = []
    for ch in text:
        if ch == "\\":
            out.append("\\")
        elif ch == "\n":
            out.append("<LF>")
        elif ch == "\r":
            out.append("<CR>")
        elif " " <= ch <= "~":
            out.append(ch)
        else:
            out.append(f"<U+{ord(ch):04X}>")
    safe = "".join(out).replace("*/", "*<>/").replace("/*", "/<>*").replace("??", "?<>?")
    return safe + " " if safe.endswith("\\") else safe


def make_environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("gigatok_compile.templates", ""),
        variable_start_string="@{",
        variable_end_string="}",
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        line_statement_prefix="//%",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
        autoescape=False,
    )
    environment.filters["comment"] = c_comment
    return environment


def template_text(name: str) -> str:
    """A plain C file of the templates package."""
    return (importlib.resources.files("gigatok_compile.templates") / name).read_text(encoding="utf-8")


def wrap_code(line: str, indent: int, width: int = 116) -> list[str]:
    """Break one long C statement at spaces; continuation lines are indented."""
    return textwrap.wrap(
        line,
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 4),
        break_long_words=False,
        break_on_hyphens=False,
    )
