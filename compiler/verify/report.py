"""What verification found out: how much was checked, or the smallest text on which the module is wrong."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Everything agreed.

    cases: for each kind of check, how many texts were compared. isas: kernel sets that took part. seed: of the random texts.
    """

    cases: dict[str, int]
    isas: tuple[str, ...]
    seconds: float
    seed: int

    @property
    def total(self) -> int:
        return sum(self.cases.values())

    def as_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {**asdict(self), "isas": list(self.isas), "seconds": round(self.seconds, 2)}

    def __str__(self) -> str:
        if self.isas == ("regex",):
            return f"{self.total:,} texts ran on the regex engine, which is all there is ({self.seconds:.1f} s)"
        return f"{self.total:,} cases agree with the regex engine ({', '.join(self.isas)}; {self.seconds:.1f} s)"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One text on which two engines differ. `expected` and `got` are what the check compares, as text."""

    check: str
    isa: str
    text: str
    expected: str
    got: str
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        with_options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        shown = ascii(self.text) if len(self.text) <= 300 else f"{self.text[:300]!a}... ({len(self.text)} characters)"
        return f"{self.check} ({self.isa}{with_options}) of {shown}\n  right  {_clip(self.expected)}\n  got    {_clip(self.got)}"


def _clip(text: str, limit: int = 600) -> str:
    return text if len(text) <= limit else f"{text[:limit]} ..."
