"""check_grammar: everything that can be said of a grammar without a vocabulary, section by section."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gigatok_compile.build import build_library
from gigatok_compile.check.chain import StepChain
from gigatok_compile.check.examples import (
    ReferenceEngine,
    WrongExample,
    reference_engine,
    wrong_by_oracle,
    wrong_by_reference,
)
from gigatok_compile.check.library import SplitterLibrary
from gigatok_compile.check.speed import Speed, kernel_speeds, regex_speeds, sample_texts, speed_table
from gigatok_compile.emit.module import render_splitter
from gigatok_compile.errors import VerifyError
from gigatok_compile.explain import split_lines
from gigatok_compile.grammars.registry import Grammar, in_file, load_grammar
from gigatok_compile.ir.split import SplitKernel, SplitPlan
from gigatok_compile.split_plan import plan_pre_tokenizer
from gigatok_compile.verify.texts import byte_alphabet, edge_characters, make_alphabet
from gigatok_compile.verify.verify import run_job

SECONDS = 5.0
SHOWN_EXAMPLES = 10
PATTERN_WIDTH = 100
Say = Callable[[str], None]
Report = Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class GrammarCheck:
    """A grammar that was found right. cases: for each check of the kernels, how many there were; empty on the regex tier."""

    grammar: Grammar
    split: SplitPlan
    cases: dict[str, int]
    isas: tuple[str, ...]
    speeds: tuple[Speed, ...]


def check_grammar(
    name_or_path: str,
    *,
    seconds: float = SECONDS,
    cases: int | None = None,
    text: Path | None = None,
    timing: bool = True,
    keep_c: Path | None = None,
    seed: int = 0,
    say: Say = lambda text: None,
    report: Report = lambda stage, detail: None,
) -> GrammarCheck:
    """Compile a grammar without a vocabulary, verify it, and measure it. What is found out is told as soon as it is known.

    Args:
        name_or_path: a grammar of the package, or a `.json` file.
        seconds: about how long the kernels are compared with the oracle.
        cases: how many random strings are among that; None for what fits into `seconds`.
        text: a file to measure the speed on, in place of the samples inside.
        timing: measure the speed.
        keep_c: a folder that gets the C sources.
        seed: of the random texts.
        say: called with the text of each section.
        report: called with (stage, detail) as the work goes on, and with ("warning", message).

    Raises:
        CompileError: the file, a field, a pattern (with a caret), a wrong example, or a kernel that disagrees.
    """
    samples = sample_texts(text) if timing else {}
    report("read", name_or_path)
    grammar = load_grammar(name_or_path)
    with in_file(grammar.where):
        steps = grammar.steps
        report("split", f"{len(steps)} steps")
        split = plan_pre_tokenizer(steps)
        oracle = StepChain(steps)
    say("\n".join(about(grammar)))
    say("\n".join(split_lines(split, PATTERN_WIDTH)))
    report("examples", f"{len(grammar.examples)}")
    say(check_examples(grammar, oracle))
    if split.kernel is None:
        report("warning", f"{grammar.name} runs on the regex tier, which is complete and slow")
        speeds = regex_speeds(oracle, samples)
        if speeds:
            say("\n".join(speed_table(speeds)))
        return GrammarCheck(grammar, split, {}, ("regex",), tuple(speeds))
    with tempfile.TemporaryDirectory(prefix="gigatok-check-") as folder:
        report("build", "compiling C")
        path = build_splitter(grammar, split.kernel, Path(folder), keep_c)
        report("verify", "comparing with the regex engine")
        outcome = run_job(
            _job(name_or_path, grammar, split.kernel, path, seconds, cases, seed),
            what="grammar",
            timeout=60 + 20 * seconds + (cases or 0) / 100,
        )
        found: dict[str, int] = outcome["cases"]
        isas = tuple(outcome["isas"])
        each = ", ".join(f"{kind.replace('_', ' ')} {number:,}" for kind, number in found.items())
        say(f"kernels: {sum(found.values()):,} cases agree with the regex engine ({', '.join(isas)})\n  {each}")
        speeds = []
        if timing:
            report("speed", "measuring")
            speeds = [*kernel_speeds(SplitterLibrary(path), samples), *regex_speeds(oracle, samples)]
            say("\n".join(speed_table(speeds)))
    return GrammarCheck(grammar, split, found, isas, tuple(speeds))


def about(grammar: Grammar) -> Iterator[str]:
    """What the file says for people."""
    yield f"grammar {grammar.name}" + (f" ({', '.join(grammar.aliases)})" if grammar.aliases else "")
    yield f"  file      {grammar.where}"
    if grammar.models:
        yield f"  models    {', '.join(grammar.models)}"
    kind = f"patterns in the dialect {grammar.dialect}" if grammar.patterns else "a pre_tokenizer"
    yield f"  kind      {kind}; examples with Unicode {grammar.unicode}"
    if grammar.notes:
        yield f"  notes     {grammar.notes}"


def check_examples(grammar: Grammar, oracle: StepChain) -> str:
    """One line about the examples.

    Raises:
        VerifyError: those that are wrong, with what is right.
    """
    if not grammar.examples:
        return "examples: none, so nothing says that this is what was meant"
    engine = reference_engine(grammar)
    wrong = wrong_by_oracle(grammar, oracle)
    by_reference = [] if engine.absent else wrong_by_reference(grammar, engine)
    if isinstance(by_reference, str):
        engine, by_reference = replace(engine, absent=by_reference), []
    if wrong or by_reference:
        raise _wrong_examples(grammar, engine, wrong, by_reference)
    one = len(grammar.examples) == 1
    right = f"examples: {len(grammar.examples)} {'is' if one else 'are'} right"
    if engine.absent:
        return f"{right} on the regex tier; not compared with {engine}\n  ({engine.absent})"
    return f"{right} on the regex tier and in {engine}"


def _wrong_examples(
    grammar: Grammar, engine: ReferenceEngine, wrong: list[WrongExample], by_reference: list[WrongExample]
) -> VerifyError:
    """The error for them. Where both engines agree that the file is wrong, it is told once."""
    agreed = {(each.index, each.got) for each in wrong} & {(each.index, each.got) for each in by_reference}
    told = wrong + [each for each in by_reference if (each.index, each.got) not in agreed]
    lines = [str(each) for each in told[:SHOWN_EXAMPLES]]
    if len(told) > SHOWN_EXAMPLES:
        lines.append(f"... and {len(told) - SHOWN_EXAMPLES} more")
    differs = not engine.absent and {(each.index, each.got) for each in wrong} != {
        (each.index, each.got) for each in by_reference
    }
    hint = (
        f"{engine} and gigatok-compile read this grammar differently: please report it"
        if differs
        else f"if the pieces are right now: python -m gigatok_compile.grammars.examples {grammar.where}"
    )
    count = len({each.index for each in told})
    return VerifyError(
        "\n".join((f"{count} example{'s are' if count > 1 else ' is'} wrong", *lines)), where=grammar.where, hint=hint
    )


def build_splitter(grammar: Grammar, kernel: SplitKernel, folder: Path, keep_c: Path | None = None) -> Path:
    """The grammar's kernels as a library in `folder`; `keep_c` gets the sources."""
    files = render_splitter(grammar.name, kernel)
    if keep_c is not None:
        keep_c.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            (keep_c / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    library = folder / "splitter.so"
    build_library(files, library)
    return library


def _job(
    name_or_path: str,
    grammar: Grammar,
    kernel: SplitKernel,
    library: Path,
    seconds: float,
    cases: int | None,
    seed: int,
) -> dict[str, object]:
    steps = [step.tags.tags for step in kernel.steps]
    return {
        "child": "gigatok_compile.check.child",
        "name": grammar.name,
        "grammar": name_or_path,
        "library": str(library),
        "alphabet": [*make_alphabet([kernel.alphabet], steps), *byte_alphabet(kernel.continuation)],
        "edges": edge_characters([kernel.alphabet, *steps], kernel.continuation is not None),
        "examples": [example.text for example in grammar.examples],
        "budget": seconds,
        "cases": cases,
        "seed": seed,
    }
