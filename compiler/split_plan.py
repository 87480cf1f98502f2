"""TokenizerDefinition -> SplitPlan: all pre-tokenizer steps as one machine, and the fastest tier that runs it, with the reason.

    bitstream   64 characters a step; needs the machine's equations and the kernel's limits to hold
    automaton   a table walk over the machine, one character a step
    regex       the `regex` package in gigatok_runtime; complete, slow

A step is compiled by itself (parse, partition, determinise, bimachine), then composed with those before it. If one step is
not regular the whole module runs on the regex tier, and the plan says what stood in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gigatok_compile.automaton.determinise import boundary_automaton
from gigatok_compile.bitstream.bimachine import build_bimachine
from gigatok_compile.bitstream.byte_tags import continuation_names, joint_with_bytes, lift_to_bytes
from gigatok_compile.bitstream.compose import compose
from gigatok_compile.bitstream.frequency import tag_weight
from gigatok_compile.bitstream.lower import lower_predicates
from gigatok_compile.bitstream.predicates import derive_predicates
from gigatok_compile.bitstream.reduce import reduce_bimachine
from gigatok_compile.emit.tag_tables import check_kernel_limits
from gigatok_compile.emit.walk_tables import check_walk_limits
from gigatok_compile.errors import CompileError, PatternError, Unsupported
from gigatok_compile.ir.bimachine import Bimachine
from gigatok_compile.ir.bits import BitProgram
from gigatok_compile.ir.definition import (
    ByteLevelStep,
    MetaspaceStep,
    PreTokenizerStep,
    SplitStep,
    TokenizerDefinition,
)
from gigatok_compile.ir.split import SplitKernel, SplitPlan, StepKernel, StepTier
from gigatok_compile.ir.tags import Tag, TagProgram
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.names import tag_names
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.pattern.partition import coarsest_partition, literal_program, partition

WHOLE_TEXT = r"[\x{0}-\x{10FFFF}]+"
"""What cuts nothing: the pattern of a definition without a splitting step."""

NO_STEP = SplitStep(WHOLE_TEXT, "oniguruma", "pre_tokenizer")

MAX_STATES = 254
"""Left states from which equations are derived: beyond, they would be more than a kernel holds, and take minutes to find."""


def plan_split(definition: TokenizerDefinition) -> SplitPlan:
    """Compile every splitting step, then decide what runs the module.

    A module does what Metaspace does before it cuts, as a normalizer would, and so only where it is respelled
    (definition/respell.py); cutting alone, as a grammar is checked, is the same either way.
    """
    plan = plan_pre_tokenizer(definition.pre_tokenizer)
    for step in definition.pre_tokenizer:
        if plan.kernel is not None and isinstance(step, MetaspaceStep) and not step.respelled:
            return replace(plan, kernel=None, reason=f"{step.where}: Metaspace after a splitting step is not compiled")
    return plan


def plan_pre_tokenizer(steps: Sequence[PreTokenizerStep]) -> SplitPlan:
    """The plan of all steps, those included that put something into the text."""
    plan = plan_steps([step for step in steps if isinstance(step, SplitStep)])
    if plan.kernel is None:
        return plan
    for number, step in enumerate(steps):
        # before every cut the space goes before the text, after one before every piece
        if isinstance(step, ByteLevelStep) and step.add_prefix_space and _splits(steps[:number]):
            reason = f"{step.where}: add_prefix_space after a splitting step is not compiled"
            return replace(plan, kernel=None, reason=reason)
        if isinstance(step, MetaspaceStep) and not step.respelled and _splits(steps[number + 1 :]):
            reason = f"{step.where}: a step after Metaspace sees its marks, which is not compiled yet"
            return replace(plan, kernel=None, reason=reason)
    return plan


def _splits(steps: Sequence[PreTokenizerStep]) -> bool:
    return any(isinstance(step, SplitStep) for step in steps)


def plan_steps(steps: Sequence[SplitStep]) -> SplitPlan:
    """Every step by itself, then all of them as one; without a step nothing is cut."""
    tiers = tuple(_plan_step(step) for step in steps or [NO_STEP])
    kernels = []
    for tier in tiers:
        if tier.kernel is None:
            return SplitPlan(tiers, None, tier.reason)
        kernels.append(tier.kernel)
    try:
        return SplitPlan(tiers, compose_steps(kernels))
    except CompileError as error:
        return SplitPlan(tiers, None, error.message)


def compile_split(step: SplitStep) -> StepKernel:
    """One step by itself, as far as it goes.

    Raises:
        PatternError: the pattern does not parse.
        Unsupported: it is not regular. CompileError: it has too many states. Either way not even the automaton can run it.
    """
    tags = (
        partition(parse_pattern(step.pattern, step.dialect, step.where))
        if step.is_regex
        else literal_program(step.pattern)
    )
    if step.swapped:
        tags = _swap(tags, ord(" "), ord(step.swapped))
    look, automaton = boundary_automaton(tags)
    machine, alphabet, _ = _reduced(
        build_bimachine(automaton, look, step.behavior, step.invert), [CodeSet.of(tag.ranges) for tag in tags.tags]
    )
    bits, reason = compile_bits(machine, alphabet, step.pattern)
    return StepKernel(step, tags, look, automaton, alphabet, machine, bits, reason)


def compose_steps(steps: Sequence[StepKernel]) -> SplitKernel:
    """One machine for `steps` in order; those on bytes come last.

    Raises:
        CompileError: together they have too many states, or more than the walk's tables hold.
    """
    on_text = [step for step in steps if not step.step.on_bytes]
    on_bytes = steps[len(on_text) :]
    first = on_text[0] if on_text else compile_split(NO_STEP)
    if len(steps) == 1 and not on_bytes:
        check_walk_limits(first.machine)
        return SplitKernel((first,), first.alphabet, first.machine, first.bits, first.reason)
    machine, alphabet = first.machine, first.alphabet
    for step in on_text[1:]:
        pairs, sets = _joint(alphabet, step.alphabet)
        machine, alphabet, _ = _reduced(compose(machine, step.machine, pairs), sets)
    continuation: tuple[int, ...] | None = None
    if on_bytes:
        continuation = (machine.tag_count,) * 64
        machine, alphabet = lift_to_bytes(machine), (*alphabet, Tag(machine.tag_count, "inside", ()))
    for step in on_bytes:
        assert continuation is not None
        pairs, sets, places = joint_with_bytes([CodeSet(tag.ranges) for tag in alphabet], continuation, step.alphabet)
        machine, alphabet, tag_of = _reduced(compose(machine, step.machine, pairs), sets)
        continuation = tuple(tag_of[place] for place in places)
    if continuation is not None:
        names = continuation_names(continuation)
        alphabet = tuple(tag if tag.ranges else replace(tag, name=names[tag.index]) for tag in alphabet)
    check_walk_limits(machine)
    bits, reason = compile_bits(machine, alphabet, "  then  ".join(step.step.pattern for step in steps))
    return SplitKernel(tuple(steps), alphabet, machine, bits, reason, continuation)


def compile_bits(machine: Bimachine, alphabet: Sequence[Tag], pattern: str) -> tuple[BitProgram | None, str]:
    """(the bit program, ""), or (None, what stood in the way)."""
    if machine.left_count > MAX_STATES:
        return (
            None,
            f"the pattern needs {machine.left_count} left states, and a bit program is made of at most {MAX_STATES}",
        )
    try:
        bits = lower_predicates(
            derive_predicates(machine),
            machine,
            pattern=pattern,
            tag_names=[tag.name for tag in alphabet],
            weights=[tag_weight(tag.ranges) for tag in alphabet],
        )
        check_kernel_limits(bits, machine)
    except CompileError as error:
        return None, error.message
    return bits, ""


def _reduced(machine: Bimachine, sets: Sequence[CodeSet]) -> tuple[Bimachine, tuple[Tag, ...], tuple[int, ...]]:
    """The reduced machine, the code points of its tags, and its tag for each old one. Tags are named from their code points
    alone: how patterns are spelt does not show."""
    machine, tag_of = reduce_bimachine(machine)
    merged = [
        CodeSet.of(r for old, new in enumerate(tag_of) if new == tag for r in sets[old].ranges)
        for tag in range(machine.tag_count)
    ]
    names = tag_names(merged)
    return machine, tuple(Tag(i, names[i], code_set.ranges) for i, code_set in enumerate(merged)), tag_of


def _swap(program: TagProgram, one: int, other: int) -> TagProgram:
    """The same program for a text in which two characters are swapped."""
    both = CodeSet.of([(one, one), (other, other)])
    sets = []
    for tag in program.tags:
        held = CodeSet(tag.ranges)
        back = [c for c, d in ((one, other), (other, one)) if d in held]
        sets.append((held - both) | CodeSet.of((c, c) for c in back))
    names = tag_names(sets)
    tags = tuple(Tag(tag.index, names[tag.index], sets[tag.index].ranges) for tag in program.tags)
    return replace(program, tags=tags)


def _joint(first: Sequence[Tag], second: Sequence[Tag]) -> tuple[list[tuple[int, int]], list[CodeSet]]:
    """Pairs of tags that share code points, and these code points."""
    cells = coarsest_partition([CodeSet(tag.ranges) for tag in (*first, *second)])
    pairs = []
    for mask, _ in cells:
        numbers = [number for number in range(len(first) + len(second)) if mask >> number & 1]
        pairs.append((numbers[0], numbers[1] - len(first)))
    return pairs, [CodeSet(ranges) for _, ranges in cells]


def _plan_step(step: SplitStep) -> StepTier:
    try:
        kernel = compile_split(step)
    except Unsupported as error:
        return StepTier(step.where, step.pattern, "regex", str(error))
    except PatternError:
        raise
    except CompileError as error:  # too many states: regular, and yet nothing but the regex tier can run it
        return StepTier(step.where, step.pattern, "regex", error.message)
    return StepTier(step.where, step.pattern, kernel.tier, kernel.reason, kernel)
