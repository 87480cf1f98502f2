"""The `gigatok-compile` command. Exit codes: 0, 1 (refused, failed, or disagrees with the oracle), 2 (usage)."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import gigatok_compile
from gigatok_compile.errors import CompileError
from gigatok_compile.names import check_name
from gigatok_compile.progress import WARNING, shown, silent

if TYPE_CHECKING:
    from gigatok_compile.driver import CompileResult

OK, FAILED, INTERRUPTED = 0, 1, 130

_EPILOG = """\
examples:
  gigatok-compile gpt2                                  GPT-2, whose definition is inside; then: import gpt2
  gigatok-compile llama3/tokenizer.json --name llama3
  gigatok-compile cl100k_base.tiktoken --grammar cl100k -o modules
  gigatok-compile gpt2 --dump bits                      print a stage of the compiler and write nothing
  gigatok-compile --check-grammar mine.json             is a grammar right, what runs it, how fast is it
"""


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gigatok-compile",
        description="Compile a tokenizer definition to an importable Python package with a C library of its own.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "definition",
        metavar="DEFINITION",
        nargs="?",
        help="a tokenizer.json, tekken.json, SentencePiece .model or tiktoken rank file (plain or .xz), a folder, or the word gpt2",
    )
    parser.add_argument(
        "-o", "--out", metavar="DIR", type=Path, default=Path(), help="where the package goes (default: here)"
    )
    parser.add_argument("--name", help="name of the package (default: from the file's name)")
    parser.add_argument("--grammar", metavar="NAME|FILE", help="the pattern of a rank file, which does not hold it")
    parser.add_argument(
        "--install", action="store_true", help="also install it into the running environment, as a wheel"
    )
    parser.add_argument("--dump", metavar="STAGE", help="print a stage of the compiler, write nothing")
    parser.add_argument("--explain", action="store_true", help="say how each part is run, and why")
    parser.add_argument(
        "--no-verify", dest="verify", action="store_false", help="do not compare the module with the oracle"
    )
    parser.add_argument(
        "--verify-seconds",
        "--seconds",
        dest="seconds",
        metavar="S",
        type=_positive,
        help="about how long to compare with the oracle (default: 6, of a grammar 5); less checks fewer texts",
    )
    parser.add_argument("--keep-c", metavar="DIR", type=Path, help="keep the C sources there")
    parser.add_argument("--quiet", action="store_true", help="print warnings and errors only")
    grammar = parser.add_argument_group(
        "a grammar by itself", "In place of DEFINITION; nothing is written. --seconds, --keep-c and --quiet go with it."
    )
    grammar.add_argument(
        "--check-grammar",
        metavar="NAME|FILE",
        help="say what runs each step and why, verify its examples and its kernels, and measure their speed",
    )
    grammar.add_argument("--cases", metavar="N", type=_count, help="random strings to verify (default: what fits)")
    grammar.add_argument("--text", metavar="FILE", type=Path, help="measure the speed on this text (UTF-8)")
    parser.add_argument("--version", action="version", version=f"gigatok-compile {gigatok_compile.__version__}")
    return parser


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return value


def _count(text: str) -> int:
    value = int(text.replace("_", "").replace(",", ""))
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text} is negative")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns the exit code. Usage errors leave through SystemExit(2), as argparse does."""
    parser = build_parser()
    arguments = parser.parse_args(argv)
    _check_usage(parser, arguments)
    if arguments.check_grammar is not None:
        return _ended_well(lambda: _check_grammar(arguments))
    from gigatok_compile import driver  # not for --help and usage errors: it takes numpy and cffi along

    if arguments.dump is not None:
        if arguments.dump not in driver.STAGES:
            parser.error(f"argument --dump: there is no stage {arguments.dump!r}; one of {', '.join(driver.STAGES)}")
        if arguments.install or arguments.keep_c or arguments.explain:
            parser.error("argument --dump: it writes no module, so --install, --keep-c and --explain do not go with it")
    warnings: tuple[str, ...] = ()
    if arguments.name is not None:
        try:
            warnings = check_name(arguments.name)
        except CompileError as error:
            parser.error(f"argument --name: {error.message} ({error.hint})")
    return _ended_well(lambda: _dump(arguments) if arguments.dump is not None else _compile(arguments, warnings))


def _check_usage(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> None:
    """What goes with --check-grammar and what does not; leaves through parser.error."""
    if arguments.check_grammar is None:
        if arguments.definition is None:
            parser.error("the following arguments are required: DEFINITION (or --check-grammar)")
        for name in ("cases", "text"):
            if getattr(arguments, name) is not None:
                parser.error(f"argument --{name}: it goes with --check-grammar only")
        return
    if arguments.definition is not None:
        parser.error("argument --check-grammar: it takes the place of DEFINITION; with a rank file, say --grammar")
    for name in ("name", "grammar", "install", "dump", "explain"):
        if getattr(arguments, name):
            parser.error(f"argument --check-grammar: it writes no module, so --{name} does not go with it")
    if not arguments.verify or arguments.out != Path():
        parser.error("argument --check-grammar: it writes no module, so --out and --no-verify do not go with it")


def _check_grammar(arguments: argparse.Namespace) -> None:
    from gigatok_compile.check.grammar import SECONDS, check_grammar

    with contextlib.nullcontext(silent) if arguments.quiet else shown(sys.stderr) as report:
        check_grammar(
            arguments.check_grammar,
            seconds=arguments.seconds or SECONDS,
            cases=arguments.cases,
            text=arguments.text,
            timing=not arguments.quiet or arguments.text is not None,
            keep_c=arguments.keep_c,
            say=(lambda text: None) if arguments.quiet else (lambda text: print(text, end="\n\n", flush=True)),
            report=report,
        )


def _ended_well(command: Callable[[], None]) -> int:
    """Run `command` and turn the ways it can end into an exit code."""
    try:
        command()
        sys.stdout.flush()
    except CompileError as error:
        print(f"gigatok-compile: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("gigatok-compile: interrupted, nothing was written", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # `... --dump tags | head`: the reader has had enough. Python would complain once more on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return OK


def _dump(arguments: argparse.Namespace) -> None:
    from gigatok_compile import driver

    text = driver.dump(arguments.definition, arguments.dump, grammar=arguments.grammar, name=arguments.name)
    print(text.rstrip("\n"))


def _compile(arguments: argparse.Namespace, warnings: Sequence[str]) -> None:
    from gigatok_compile import driver

    with contextlib.nullcontext(silent) if arguments.quiet else shown(sys.stderr) as report:
        for warning in warnings:
            report(WARNING, warning)
        result = driver.compile_definition(
            arguments.definition,
            out_dir=arguments.out,
            name=arguments.name,
            grammar=arguments.grammar,
            verify=arguments.verify,
            verify_seconds=arguments.seconds,
            install=arguments.install,
            keep_c=arguments.keep_c,
            report=report,
        )
    if arguments.explain:
        print(result.explanation.rstrip("\n"))
    if not arguments.quiet:
        print(last_line(result, installed=arguments.install))


def last_line(result: CompileResult, *, installed: bool) -> str:
    """Where the module is and how to import it."""
    place = result.package.resolve()
    if installed:
        how = f"installed; import {result.name}"
    elif place.parent == Path.cwd():
        how = f"import {result.name}"
    else:
        how = f"with {place.parent} in sys.path (or PYTHONPATH): import {result.name}"
    return f"{place}  ({result.seconds:.1f} s, {result.verified})  {how}"


if __name__ == "__main__":
    sys.exit(main())
