"""TokenizerDefinition -> SplitPlan: for every pre-tokenizer step the fastest tier that reproduces it, and why.

    bitstream   64 bytes a step; needs the pattern's bimachine, its equations and the kernel's limits to hold
    automaton   a table walk, one character a step
    regex       the `regex` package in gigatok_runtime; complete, slow

A module runs natively when its whole pre-tokenizer is one pattern whose matches are pieces (`Isolated`, or `Removed` with
`invert` where matches tile every text) and whose text reaches the byte map as it is. Everything else runs on the regex
tier for now, and the plan says what stood in the way.
"""

from __future__ import annotations

from gigatok_compile.automaton.determinise import determinise
from gigatok_compile.bitstream.bimachine import build_bimachine
from gigatok_compile.bitstream.lower import lower_predicates
from gigatok_compile.bitstream.predicates import derive_predicates
from gigatok_compile.emit.tag_tables import check_kernel_limits
from gigatok_compile.errors import CompileError, Unsupported
from gigatok_compile.ir.automaton import BoundaryAutomaton
from gigatok_compile.ir.definition import ByteLevelStep, SplitStep, TokenizerDefinition
from gigatok_compile.ir.split import SplitKernel, SplitPlan, StepTier
from gigatok_compile.ir.tags import TagProgram
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.names import tag_names
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import literal_program, partition

WHOLE_TEXT = r"[\x{0}-\x{10FFFF}]+"
"""What cuts nothing: the pattern of a definition without a splitting step."""


def plan_split(definition: TokenizerDefinition) -> SplitPlan:
    """Compile every splitting step, then decide what runs the module."""
    splits = [step for step in definition.pre_tokenizer if isinstance(step, SplitStep)]
    if not splits:
        dialect = "fancy" if definition.source_format == "tiktoken" else "oniguruma"
        splits = [SplitStep(WHOLE_TEXT, dialect, "pre_tokenizer")]  # type: ignore[arg-type]
    steps = tuple(_plan_step(step) for step in splits)
    reason = _why_not_native(definition, steps)
    return SplitPlan(steps, None if reason else steps[0].kernel, reason)


def compile_split(step: SplitStep) -> SplitKernel:
    """As far as the pattern goes.

    Raises:
        PatternError: the pattern does not parse. Unsupported: it is not regular, so not even the automaton can run it.
    """
    tags = (
        partition(parse_pattern(step.pattern, step.dialect, step.where))
        if step.is_regex
        else literal_program(step.pattern)
    )
    automaton = determinise(tags)
    try:
        machine = build_bimachine(automaton)
        bits = lower_predicates(
            derive_predicates(machine), machine, pattern=step.pattern, tag_names=column_names(automaton, tags)
        )
        check_kernel_limits(bits, machine)
    except CompileError as error:
        return SplitKernel(step, tags, automaton, None, None, error.message)
    return SplitKernel(step, tags, automaton, machine, bits)


def column_names(automaton: BoundaryAutomaton, tags: TagProgram) -> list[str]:
    """A C identifier for each column, from its code points alone, so that it does not show how the pattern is spelt."""
    return tag_names(
        [
            CodeSet.of(r for tag in automaton.tags_of(column) for r in tags.tags[tag].ranges)
            for column in range(automaton.column_count)
        ]
    )


def _plan_step(step: SplitStep) -> StepTier:
    try:
        kernel = compile_split(step)
    except Unsupported as error:
        return StepTier(step.where, step.pattern, "regex", str(error))
    return StepTier(step.where, step.pattern, kernel.tier, kernel.reason, kernel)


def _why_not_native(definition: TokenizerDefinition, steps: tuple[StepTier, ...]) -> str:
    """What keeps the module from running natively, or ""."""
    for byte_level in definition.pre_tokenizer:
        if isinstance(byte_level, ByteLevelStep) and byte_level.add_prefix_space:
            return f"{byte_level.where}: add_prefix_space is not compiled yet"
    if len(steps) > 1:
        return f"{steps[1].where}: a second splitting step is not compiled yet"
    kernel = steps[0].kernel
    if kernel is None:
        return steps[0].reason
    step = kernel.step
    covers = kernel.automaton.covers_everything
    if step.behavior == "Isolated" and not step.invert:
        # tiktoken drops what lies between matches, tokenizers keeps it
        if definition.source_format == "tiktoken" and not covers:
            return f"{step.where}: text between matches is dropped, which is not compiled yet"
        return ""
    if step.behavior == "Removed" and step.invert:
        return "" if covers else f"{step.where}: text between matches is removed, which is not compiled yet"
    return f"{step.where}: behavior {step.behavior}{' with invert' if step.invert else ''} is not compiled yet"
