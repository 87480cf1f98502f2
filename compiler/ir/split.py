"""SplitPlan: what each splitting step of a definition was compiled to, and what the module runs."""

from __future__ import annotations

from dataclasses import dataclass

from gigatok_compile.ir.automaton import BoundaryAutomaton
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.lookahead import LookAhead
from gigatok_compile.ir.tags import Tag, TagProgram


@dataclass(frozen=True, slots=True)
class StepKernel:
    """One step by itself. `machine` is the step's, behavior and invert applied; `automaton` finds the pattern's matches.

    bits: None where the step alone would not reach the bitstream tier; `reason` then says what stood in the way.
    """

    step: SplitStep
    tags: TagProgram
    look: LookAhead
    automaton: BoundaryAutomaton
    alphabet: tuple[Tag, ...]
    machine: Bimachine
    bits: BitProgram | None
    reason: str = ""

    @property
    def tier(self) -> str:
        return "automaton" if self.bits is None else "bitstream"


@dataclass(frozen=True, slots=True)
class SplitKernel:
    """All steps as one machine: what a native module runs.

    alphabet: one entry for each column of the machine; together they are all code points. continuation: None, except where
    steps see bytes; there a byte is what the machine reads, `alphabet` speaks of the first bytes of characters, and this is
    the column of each other byte, 0x80 to 0xBF. bits: None on the automaton tier, and then `reason` says why.
    """

    steps: tuple[StepKernel, ...]
    alphabet: tuple[Tag, ...]
    machine: Bimachine
    bits: BitProgram | None
    reason: str = ""
    continuation: tuple[int, ...] | None = None

    @property
    def tier(self) -> str:
        return "automaton" if self.bits is None else "bitstream"


@dataclass(frozen=True, slots=True)
class StepTier:
    """What a step got. `reason` says what kept it from a faster tier; empty on the fastest."""

    where: str
    pattern: str
    tier: str
    reason: str = ""
    kernel: StepKernel | None = None


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """steps: one entry for each splitting step. kernel: what a native module runs, or None with `reason` for the regex tier."""

    steps: tuple[StepTier, ...]
    kernel: SplitKernel | None
    reason: str = ""

    @property
    def tier(self) -> str:
        """What runs the module's pre-tokenizer."""
        return "regex" if self.kernel is None else self.kernel.tier
