"""Errors of the compiler. Every one says what was wrong, where, and what to do.

`CompileError` is the base; the command line prints `str(error)` and exits with 1. `Unsupported` means
"this construct has no faster tier": the driver alone decides whether that is a fallback or a refusal.
"""

from __future__ import annotations


class CompileError(Exception):
    """A definition that cannot be compiled.

    Args:
        message: what is wrong, one sentence, no full stop.
        where: field path (`pre_tokenizer.pretokenizers[0].pattern.Regex`) or file, if known.
        hint: what the user can do.
    """

    def __init__(self, message: str, *, where: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text}\n  hint: {self.hint}" if self.hint else text


class DefinitionError(CompileError):
    """A tokenizer definition that is malformed or asks for something we do not have."""


class PatternError(CompileError):
    """A regex that does not parse, with the offset (in characters) and a caret line."""

    def __init__(
        self,
        message: str,
        *,
        pattern: str,
        start: int,
        end: int | None = None,
        where: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, where=where, hint=hint)
        self.pattern = pattern
        self.start = start
        self.end = max(start + 1, end if end is not None else start + 1)

    def __str__(self) -> str:
        return caret_text(super().__str__(), self.pattern, self.start, self.end)


class Unsupported(PatternError):
    """A construct that parses but does not reach a tier; `tier` says which ("automaton", "bitstream")."""

    def __init__(self, message: str, *, tier: str, pattern: str, start: int, end: int | None = None) -> None:
        super().__init__(message, pattern=pattern, start=start, end=end)
        self.tier = tier


class BuildError(CompileError):
    """The C compiler, the Python headers, or the disk failed us."""


class VerifyError(CompileError):
    """The compiled thing disagrees with the oracle; nothing is written."""


def caret_text(message: str, pattern: str, start: int, end: int, width: int = 72) -> str:
    """`message`, then the part of `pattern` around [start, end) and a caret line under it."""
    left = max(0, min(start - width // 2, len(pattern) - width))
    shown = (
        pattern[left : left + width]
        .replace("\n", "\N{SYMBOL FOR LINE FEED}")
        .replace("\r", "\N{SYMBOL FOR CARRIAGE RETURN}")
    )
    carets = "^" + "~" * (min(end, left + width) - start - 1)
    return f"{message}\n  {shown}\n  {' ' * (start - left)}{carets}"
