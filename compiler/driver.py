"""The compiler, stage by stage. Everything below is a flat list of passes; `--dump STAGE` prints any of them.

definition   read_definition            the definition file, defaults filled in, ids resolved, spaces respelled
             derive_entries, imply_cuts which entries merging makes, and the cuts that follow
pattern      parse_pattern              the pattern's syntax tree
tags         partition                  the pattern over the coarsest partition of code points
automaton    boundary_automaton         look-ahead from the right, leftmost-first automaton: the ground truth
steps        build_bimachine            each step's automaton pair that never backtracks, behavior applied
bimachine    compose                    all steps as one such pair
predicates   derive_predicates          the boundary bit as equations over sets of states
bits         lower_predicates           the bit program
vocabulary   build_vocabulary_tables    facts and tables of the vocabulary
tables       TableSet                   every table of the module
c            render_module              the kernel's C text
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from gigatok_compile.atomic import atomic_package
from gigatok_compile.bitstream.predicates import derive_predicates
from gigatok_compile.build import build_module
from gigatok_compile.decoder.entries import decoder_entries
from gigatok_compile.decoder.plan import DecodePlan, plan_decoder, token_names
from gigatok_compile.definition.read import read_definition
from gigatok_compile.definition_data import (
    added_token_bytes,
    decoded_name,
    hidden_added_tokens,
    looked_up_tokens,
    write_definition_data,
)
from gigatok_compile.emit.cdef import cffi_declarations
from gigatok_compile.emit.module import definition_tables, kernel_tables, render_module
from gigatok_compile.emit.normalizer import NormalizerCode, compile_normalizer
from gigatok_compile.emit.package import render_package_files
from gigatok_compile.errors import CompileError, DefinitionError, PatternError, Unsupported
from gigatok_compile.explain import explain
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import BpeModel, MetaspaceStep, SplitStep, TokenizerDefinition, WordPieceModel
from gigatok_compile.ir.plan import TableSet
from gigatok_compile.ir.split import SplitPlan, StepTier
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.manifest import build_manifest
from gigatok_compile.names import check_name
from gigatok_compile.normalizer.passes import plan_passes
from gigatok_compile.normalizer.sentencepiece import build_sentencepiece_tables, own_pieces
from gigatok_compile.normalizer.steps import content_function
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.split_plan import plan_split
from gigatok_compile.verify.report import VerifyReport
from gigatok_compile.verify.verify import BUDGET_SECONDS, verify_module
from gigatok_compile.vocabulary.added_tokens import AddedTokenPlan, plan_added_tokens
from gigatok_compile.vocabulary.double_array import build_trie
from gigatok_compile.vocabulary.implied_cuts import imply_cuts
from gigatok_compile.vocabulary.merge_order import unmergeable
from gigatok_compile.vocabulary.run_tokens import find_run_tokens
from gigatok_compile.vocabulary.self_encoding import Derivations, derive_entries
from gigatok_compile.vocabulary.tables import VocabularyFacts, build_vocabulary_tables
from gigatok_compile.vocabulary.token_lookup import plan_token_lookup
from gigatok_compile.vocabulary.unigram_tables import UnigramFacts, build_unigram_tables
from gigatok_compile.vocabulary.wordpiece_tables import WordPieceFacts, build_wordpiece_tables

STAGES = (
    "definition",
    "pattern",
    "tags",
    "automaton",
    "steps",
    "bimachine",
    "predicates",
    "bits",
    "vocabulary",
    "tables",
    "c",
)
Report = Callable[[str, str], None]
Facts = VocabularyFacts | WordPieceFacts | UnigramFacts


@dataclass(frozen=True, slots=True)
class CompileResult:
    """package: the folder written. explanation: the text of --explain. verified: what was checked, one line."""

    package: Path
    name: str
    explanation: str
    seconds: float
    verified: str


@dataclass(frozen=True, slots=True)
class Compilation:
    """All that is known before C is written. `definition` has the cuts that its vocabulary implies among its steps; `tables` is
    None on the regex tier. normalizer: what its passes became."""

    definition: TokenizerDefinition
    split: SplitPlan
    added: AddedTokenPlan
    vocabulary: Facts | None
    tables: TableSet | None
    decoder: DecodePlan
    normalizer: tuple[str, ...] = ()


def compile_definition(
    source: str,
    *,
    out_dir: Path,
    name: str | None = None,
    grammar: str | None = None,
    verify: bool = True,
    verify_seconds: float | None = None,
    install: bool = False,
    keep_c: Path | None = None,
    report: Report = lambda stage, detail: None,
) -> CompileResult:
    """Definition in, importable package `out_dir/NAME` out; nothing is left behind on failure.

    Args:
        source: a path, or the word `gpt2`.
        grammar: name or file of the grammar of a rank file.
        verify: compare the built module with the plain-Python engine before it is put in place.
        verify_seconds: about how long that may take; None for the usual time.
        install: also install it into the running environment, as a wheel.
        keep_c: a folder that gets the C sources.
        report: called with (stage, detail) as the work goes on.

    Raises:
        CompileError: the definition is refused, the build failed, or the module disagrees with the oracle.
    """
    began = time.perf_counter()
    if name is not None:
        check_name(name)
    report("read", source)
    compilation = analyse(_read(source, grammar, name), report)
    definition = compilation.definition
    for warning in (*definition.warnings, *compilation.added.warnings, *slow_tiers(compilation)):
        report("warning", warning)
    files = None
    if compilation.tables is not None and compilation.split.kernel is not None:
        files = render_module(definition, compilation.split.kernel, compilation.tables)
        if keep_c is not None:
            _write_sources(files, keep_c)
    with atomic_package(out_dir, definition.name) as package:
        if files is not None:
            report("build", "compiling C")
            build_module(files, package, f"{definition.name}._native", cffi_declarations())
        (package / "definition.npz").write_bytes(write_definition_data(definition))
        write_package_files(package, compilation, None)
        checked: VerifyReport | None = None
        if verify:
            report("verify", "comparing with the plain-Python engine")
            kernel = compilation.split.kernel
            tags = [step.kernel.tags.tags for step in compilation.split.steps if step.kernel is not None]
            checked = verify_module(
                package,
                definition,
                tags if kernel is None else [kernel.alphabet],
                finer=tags,
                continuation=None if kernel is None else kernel.continuation,
                budget_seconds=BUDGET_SECONDS if verify_seconds is None else verify_seconds,
            )
            write_package_files(package, compilation, checked)
    target = out_dir / definition.name
    if install:
        from gigatok_compile.install import install_package

        report("install", definition.name)
        install_package(target)
    verified = "not verified" if checked is None else str(checked)
    return CompileResult(
        target, definition.name, explain_compilation(compilation), time.perf_counter() - began, verified
    )


def analyse(definition: TokenizerDefinition, report: Report = lambda stage, detail: None) -> Compilation:
    """Every pass that needs no C compiler."""
    report("vocabulary", f"{sum(token is not None for token in definition.model.tokens)} entries")
    definition, derivations = _with_implied_cuts(definition)
    report("split", "compiling the pre-tokenizer")
    split = plan_split(definition)
    model = definition.model
    if isinstance(model, BpeModel) and derivations is not None and (reason := unmergeable(model, derivations)):
        split = replace(split, kernel=None, reason=reason)
    report("added tokens", f"{len(definition.added_tokens)}")
    added = plan_added_tokens(
        definition.added_tokens,
        content_function(definition.normalizer),
        exclusive=definition.source_format == "tiktoken",
        runs=() if derivations is None else find_run_tokens(definition, derivations),
    )
    report("decoder", ", ".join(step.kind for step in definition.decoder or ()) or "none")
    decoder = plan_definition_decoder(definition)
    split, normalizer = _with_normalizer(definition, split)
    if split.kernel is None or normalizer is None:
        return Compilation(definition, split, added, None, None, decoder)
    report("tables", "laying out the vocabulary")
    vocabulary_tables, facts = _model_tables(definition, derivations)
    lookup = plan_token_lookup(
        looked_up_tokens(definition),
        definition.added_tokens,
        [added_token_bytes(token, definition) for token in definition.added_tokens],
    )
    tables = kernel_tables(split.kernel) | definition_tables(definition) | added.tables | vocabulary_tables
    tables |= lookup | decoder.tables | normalizer.tables
    for step in definition.normalizer:
        if step.kind == "SentencePiece":
            own = build_trie(dict.fromkeys(own_pieces(step), 0))
            tables |= build_sentencepiece_tables(step, own.units, own.root)
    return Compilation(definition, split, added, facts, tables, decoder, normalizer.lines)


def _with_implied_cuts(definition: TokenizerDefinition) -> tuple[TokenizerDefinition, Derivations | None]:
    """The definition with the cuts that its vocabulary implies, and what merging makes; None where nothing merges."""
    if not isinstance(definition.model, BpeModel):
        return definition, None
    derivations = derive_entries(definition.model)
    return imply_cuts(definition, derivations), derivations


def _model_tables(definition: TokenizerDefinition, derivations: Derivations | None) -> tuple[TableSet, Facts]:
    """Tables of the model, and facts about it."""
    model = definition.model
    if isinstance(model, UnigramModel):
        metaspace = next((step for step in definition.pre_tokenizer if isinstance(step, MetaspaceStep)), None)
        if metaspace is None or not metaspace.by_piece:
            return build_unigram_tables(model)
        return build_unigram_tables(model, "prefixed" if metaspace.prepend_scheme == "always" else "marked")
    if isinstance(model, WordPieceModel):
        return build_wordpiece_tables(model)
    assert derivations is not None
    return build_vocabulary_tables(model, derivations)


def _with_normalizer(definition: TokenizerDefinition, split: SplitPlan) -> tuple[SplitPlan, NormalizerCode | None]:
    """The passes of the normalizer. Where one of them needs the regex tier the whole module runs there."""
    try:
        return split, compile_normalizer(plan_passes(definition.normalizer))
    except Unsupported as error:
        reason = str(error)
    except PatternError:
        raise
    except CompileError as error:  # more states than tables hold
        reason = error.message
    return replace(split, kernel=None, reason=f"the normalizer cannot run natively: {reason}"), None


def plan_definition_decoder(definition: TokenizerDefinition) -> DecodePlan:
    """How ids become text. Raises DefinitionError for a decoder on which the reference crashes."""
    added = definition.added_tokens
    as_bytes = [step.kind for step in definition.decoder or ()] == ["Bytes"]
    names = token_names(
        definition.contents,
        [(token.id, decoded_name(token, definition)) for token in added],
        definition.model.tokens,
        as_bytes,
    )
    hidden = [token.id for token, hide in zip(added, hidden_added_tokens(definition), strict=True) if hide]
    return plan_decoder(
        definition.decoder, decoder_entries(definition.decoder), names, hidden, definition.sentencepiece
    )


def slow_tiers(compilation: Compilation) -> list[str]:
    """What keeps the module from the fastest tier: a person should not find that out by the clock."""
    slow_decoder = [str(compilation.decoder)] if compilation.decoder.engine == "python" else []
    return _slow_split(compilation.split) + slow_decoder


def _slow_split(split: SplitPlan) -> list[str]:
    if split.kernel is not None:
        return [f"the pre-tokenizer is on the automaton tier: {split.kernel.reason}"] if split.kernel.reason else []
    found = [f"{step.where} is on the {step.tier} tier: {step.reason}" for step in split.steps if step.tier == "regex"]
    return found or [f"the module runs on the regex tier: {split.reason}"]


def write_package_files(package: Path, compilation: Compilation, checked: VerifyReport | None) -> None:
    """manifest.json, __init__.py and __main__.py."""
    manifest = build_manifest(
        compilation.definition,
        tiers=[
            {"where": step.where, "pattern": step.pattern, "tier": compilation.split.tier, "reason": step.reason}
            for step in compilation.split.steps
        ],
        engine="regex" if compilation.tables is None else "native",
        decoder_engine=compilation.decoder.engine,
        verification=None if checked is None else checked.as_dict(),
    )
    for file_name, text in render_package_files(manifest).items():
        (package / file_name).write_text(text, encoding="utf-8")


def dump(source: str, stage: str, *, grammar: str | None = None, name: str | None = None) -> str:
    """The text of one stage of `STAGES`."""
    definition = _read(source, grammar, name)
    if stage == "definition":
        return str(definition)
    if stage in ("pattern", "tags", "automaton", "steps", "bimachine", "predicates", "bits"):
        implied, _ = _with_implied_cuts(definition)
        if stage == "pattern":
            steps = [step for step in implied.pre_tokenizer if isinstance(step, SplitStep)]
            return "\n".join(repr(parse_pattern(step.pattern, step.dialect, step.where)) for step in steps)
        return "\n".join(_dump_split(plan_split(implied), stage))
    compilation = analyse(definition)
    if compilation.tables is None or compilation.split.kernel is None:
        raise DefinitionError(f"there is no stage {stage!r}: {compilation.split.reason}")
    if stage == "vocabulary":
        return str(compilation.vocabulary)
    if stage == "tables":
        return str(compilation.tables)
    files = render_module(compilation.definition, compilation.split.kernel, compilation.tables)
    return str(files["boundary.inc.h"])


def _dump_split(plan: SplitPlan, stage: str) -> list[str]:
    """Stages of single steps, then those of all steps together."""
    if stage in ("tags", "automaton", "steps"):
        return [_dump_step(step, stage) for step in plan.steps]
    kernel = plan.kernel
    if kernel is None:
        return [f"all steps: the regex tier, {plan.reason}"]
    if stage == "bimachine":
        return [str(kernel.machine), *(f"  {tag.index:3} {tag.name}" for tag in kernel.alphabet)]
    if kernel.bits is None:
        return [f"all steps: the automaton tier, {kernel.reason}"]
    return [str(derive_predicates(kernel.machine) if stage == "predicates" else kernel.bits)]


def _dump_step(step: StepTier, stage: str) -> str:
    kernel = step.kernel
    if kernel is None:
        return f"{step.where}: {step.tier}, {step.reason}"
    if stage == "tags":
        return str(kernel.tags)
    if stage == "automaton":
        return f"{kernel.look}\n{kernel.automaton}" if kernel.look.state_count > 1 else str(kernel.automaton)
    return f"{step.where}: {kernel.machine}"


def explain_compilation(compilation: Compilation) -> str:
    """The text of --explain."""
    return explain(
        compilation.definition,
        compilation.split,
        compilation.added,
        compilation.decoder,
        compilation.vocabulary,
        compilation.tables,
        compilation.normalizer,
    )


def _read(source: str, grammar: str | None, name: str | None) -> TokenizerDefinition:
    return read_definition(source, grammar=None if grammar is None else load_grammar(grammar), name=name)


def _write_sources(files: dict[str, str | bytes], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
