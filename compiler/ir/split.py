"""SplitPlan: what each splitting step of a definition was compiled to, and what the module runs."""

from __future__ import annotations

from dataclasses import dataclass

from gigatok_compile.ir.automaton import BoundaryAutomaton
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.ir.tags import TagProgram


@dataclass(frozen=True, slots=True)
class SplitKernel:
    """One pattern compiled as far as it goes. `bits` and `machine` are None where only the automaton is reached; `reason` then
    says what stood in the way."""

    step: SplitStep
    tags: TagProgram
    automaton: BoundaryAutomaton
    machine: Bimachine | None
    bits: BitProgram | None
    reason: str = ""

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
    kernel: SplitKernel | None = None


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """steps: one entry for each splitting step. kernel: what a native module runs, or None with `reason` for the regex tier."""

    steps: tuple[StepTier, ...]
    kernel: SplitKernel | None
    reason: str = ""
