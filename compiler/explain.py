"""The text of --explain: what runs each part of a tokenizer, why, and how large its tables are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gigatok_compile.decoder.plan import DecodePlan
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.ir.plan import TableSet
from gigatok_compile.ir.split import SplitKernel, SplitPlan, StepTier
from gigatok_compile.vocabulary.added_tokens import AddedTokenPlan

TIERS = {
    "bitstream": "64 characters a step",
    "automaton": "a table walk, one character a step",
    "regex": "the regex package: complete, slow",
}


def explain(
    definition: TokenizerDefinition,
    split: SplitPlan,
    added: AddedTokenPlan,
    decoder: DecodePlan,
    vocabulary: object | None,
    tables: TableSet | None,
    normalizer: Sequence[str] = (),
) -> str:
    """Lines for a person.

    Args:
        vocabulary: facts about the vocabulary, told by their `str`; None on the regex tier.
        tables: what the library holds; None on the regex tier.
        normalizer: what each pass of the normalizer is and which bytes its scan looks for.
    """
    about = [line for line in str(definition).splitlines() if not line.startswith("  pre-tokenizer ")]
    lines = [*about, "", *split_lines(split), "", str(added), "", str(decoder)]
    if normalizer:
        lines += ["", "normalizer: native; text without the bytes that a pass looks for is left as it lies"]
        lines += [f"  pass {number}: {line}" for number, line in enumerate(normalizer)]
    if vocabulary is not None:
        lines += ["", str(vocabulary).rstrip()]
    if tables is not None:
        lines += ["", *_table_lines(tables)]
    lines += [f"warning: {warning}" for warning in definition.warnings]
    return "\n".join(lines)


def split_lines(split: SplitPlan, width: int | None = None) -> Iterator[str]:
    """What runs the pre-tokenizer and why, as a whole and step by step; patterns shortened to `width` characters."""
    kernel = split.kernel
    if kernel is not None:
        yield f"pre-tokenizer: native, the {kernel.tier} tier ({TIERS[kernel.tier]})"
        if kernel.reason:
            yield from _hanging("because ", kernel.reason, "  ")
        together = f"{len(kernel.steps)} steps together" if len(kernel.steps) > 1 else "the step"
        yield f"  {together}: {kernel.machine}"
        if kernel.continuation is not None:
            yield "  bytes     steps after ByteLevel see them: tags are those of bytes, and a piece may start inside a character"
        if kernel.bits is not None:
            yield f"  {kernel.bits.operations} operations for 64 characters, {len(kernel.bits.classes)} classes"
            yield "  hard      0 of all positions: the bit program decides every boundary"
    else:
        yield f"pre-tokenizer: the regex tier ({TIERS['regex']})"
        yield from _hanging("because ", split.reason, "  ")
    for number, step in enumerate(split.steps):
        yield f"  step {number} ({step.where}): {_alone(step, kernel)}"
        yield f"    pattern   {_shortened(repr(step.pattern), width)}"
        yield from (f"    {line}" for line in _step_lines(step, split.reason))


def _shortened(text: str, width: int | None) -> str:
    return text if width is None or len(text) <= width else f"{text[: width - 4]} ..."


def _step_lines(step: StepTier, told: str) -> Iterator[str]:
    """What is known of a step; its reason unless that was `told` already."""
    kernel = step.kernel
    if kernel is None:
        if step.reason != told:
            yield from _hanging("why       ", step.reason)
        return
    if kernel.step.component:
        yield f"component {kernel.step.component}"
    if kernel.step.behavior != "Isolated" or kernel.step.invert:
        yield f"behavior  {kernel.step.behavior}{', inverted' if kernel.step.invert else ''}"
    if step.reason:
        yield from _hanging("why       ", step.reason)
    yield f"tags      {len(kernel.tags.tags)}"
    cover = "matches cover every text" if kernel.automaton.covers_everything else "text between matches is possible"
    yield f"automaton {kernel.automaton.state_count} states, {kernel.automaton.column_count} columns; {cover}"
    if kernel.look.state_count > 1:
        yield f"{kernel.look}"
    yield f"{kernel.machine}"


def _alone(step: StepTier, kernel: SplitKernel | None) -> str:
    if kernel is not None:
        return f"{kernel.tier}{'' if step.tier == kernel.tier else f', alone {step.tier}'}"
    return "regex" if step.tier == "regex" else f"regex, though alone it would reach {step.tier}"


def _hanging(label: str, text: str, indent: str = "") -> Iterator[str]:
    """Lines of `text` under each other, the first with a label (a caret line must stay under its pattern)."""
    first, *rest = text.splitlines() or [""]
    yield f"{indent}{label}{first}"
    yield from (f"{indent}{' ' * len(label)}{line}" for line in rest)


def _table_lines(tables: TableSet) -> Iterator[str]:
    yield f"tables: {tables.bytes:,} bytes in the library, read-only and shared by all processes"
    for table in sorted(tables.tables, key=lambda table: -table.data.nbytes):
        yield f"  {table.data.nbytes:>12,}  {table.name:<24} {table.comment}"
