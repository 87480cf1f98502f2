"""What the passes make of every shipped grammar, as reviewed text: a change of a pass shows its diff here.

`golden/grammars/NAME.txt` holds the tag program of each step, the machine of all of them and its bit program;
`golden/kernels/` the generated C, and `golden/automata/` the automata of four patterns. What grammars share is written
down once, with the first of them by name. GIGATOK_REWRITE_GOLDEN=1 writes the files anew (in one process); read the diff
before you commit it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gigatok_compile.emit.boundary import render_boundary
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.split_plan import compile_split, plan_steps

GOLDEN = Path(__file__).parent / "golden"
GRAMMARS = list(grammar_names())
AUTOMATA = ("gpt2", "llama3", "qwen", "cl100k")
AS = "as in "


def sections_of(name: str) -> dict[str, str]:
    """Title to text of a grammar."""
    plan = plan_steps([step for step in load_grammar(name).steps if isinstance(step, SplitStep)])
    found = {}
    for number, step in enumerate(plan.steps):
        behavior = (
            "" if step.kernel is None else f", {step.kernel.step.behavior}{' inverted' * step.kernel.step.invert}"
        )
        text = step.reason if step.kernel is None else str(step.kernel.tags)
        found[f"step {number}: {step.where}{behavior}"] = text
    if plan.kernel is None:
        return {**found, "all steps": plan.reason}
    tags = [
        f"  {tag.name:<16} {sum(hi - lo + 1 for lo, hi in tag.ranges):7} code points" for tag in plan.kernel.alphabet
    ]
    found["all steps"] = "\n".join([plan.tier, *filter(None, [plan.reason]), str(plan.kernel.machine), *tags])
    if plan.kernel.bits is None:
        return {**found, "bits": plan.kernel.reason}
    _, *bits = str(plan.kernel.bits).splitlines()  # the first line is the pattern
    return {**found, "bits": "\n".join(bits), "kernel": without_pattern(render_boundary(plan.kernel.bits))}


def without_pattern(text: str) -> str:
    return re.sub(r"(?m)^ \* pattern .*\n(?: \*\n)?", "", text)


def file_of(name: str, title: str) -> Path:
    return GOLDEN / "kernels" / f"{name}.inc.h" if title == "kernel" else GOLDEN / "grammars" / f"{name}.txt"


def read(name: str) -> dict[str, str]:
    """The sections of a file, those of other grammars put in."""
    parts = re.split(r"(?m)^== (.*)\n", file_of(name, "").read_text(encoding="utf-8"))
    found = {title: text.removesuffix("\n") for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    for title, text in found.items():
        if not text.startswith(AS):
            continue
        other, _, place = text.removeprefix(AS).partition(", ")
        if title == "kernel":
            found[title] = file_of(other, title).read_text(encoding="utf-8")
        else:
            found[title] = read(other)[place]
    return found


@pytest.fixture(scope="module", autouse=True)
def rewritten() -> None:
    """All files anew if that was asked for."""
    if not os.environ.get("GIGATOK_REWRITE_GOLDEN"):
        return
    shutil.rmtree(GOLDEN, ignore_errors=True)
    for folder in ("grammars", "kernels", "automata"):
        (GOLDEN / folder).mkdir(parents=True)
    known: dict[str, str] = {}  # text -> where it is written down
    for name in GRAMMARS:
        lines = []
        for title, text in sections_of(name).items():
            if text in known:
                shown = AS + known[text]
            elif title == "kernel":
                file_of(name, title).write_text(text, encoding="utf-8")
                known[text] = name
                shown = AS + name
            else:
                shown = text
                if len(text) > 200:
                    known[text] = f"{name}, {title}"
            lines.append(f"== {title}\n{shown}\n")
        file_of(name, "").write_text("".join(lines), encoding="utf-8")
    for name in AUTOMATA:
        (GOLDEN / "automata" / f"{name}.txt").write_text(automaton_of(name), encoding="utf-8")


def automaton_of(name: str) -> str:
    grammar = load_grammar(name)
    return f"{compile_split(SplitStep(grammar.pattern, grammar.dialect, 'grammar')).automaton}\n"  # type: ignore[arg-type]


@pytest.mark.parametrize("name", GRAMMARS)
def test_passes_give_the_reviewed_text(name: str) -> None:
    made, reviewed = sections_of(name), read(name)
    for title in {**made, **reviewed}:
        assert made.get(title) == reviewed.get(title), f"{name}, {title}; GIGATOK_REWRITE_GOLDEN=1 rewrites it"


@pytest.mark.parametrize("name", AUTOMATA)
def test_automata_are_the_reviewed_ones(name: str) -> None:
    assert automaton_of(name) == (GOLDEN / "automata" / f"{name}.txt").read_text(encoding="utf-8")


def test_there_is_no_file_of_another_grammar() -> None:
    for folder in ("grammars", "kernels"):
        assert {path.name.split(".")[0] for path in (GOLDEN / folder).iterdir()} <= {
            name.split(".")[0] for name in GRAMMARS
        }
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*.*")) < 800_000


DUMP = """
import hashlib, sys
sys.path.insert(0, sys.argv[1])
import test_golden
for name in test_golden.GRAMMARS:
    if name not in ("jais2", "unicode-scripts"):
        text = repr(test_golden.sections_of(name))
        print(name, len(text), hashlib.sha256(text.encode()).hexdigest())
"""


def test_output_depends_on_neither_hash_seed_nor_locale() -> None:
    def dump(seed: str, locale: str) -> bytes:
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        command = [sys.executable, "-c", DUMP, str(Path(__file__).parent)]
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    first = dump("1", "C")
    assert first == dump("2", "C.UTF-8")
    assert first.count(b"\n") > 50


def test_the_commands_output_depends_on_neither() -> None:
    def dump(seed: str, locale: str) -> bytes:
        command = [sys.executable, "-m", "gigatok_compile", "gpt2", "--dump", "c"]
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert dump("1", "C") == dump("2", "C.UTF-8")


def test_generated_c_is_ascii_and_at_most_120_columns_wide() -> None:
    for path in (GOLDEN / "kernels").iterdir():
        text = path.read_text(encoding="utf-8")
        assert text.isascii(), path
        one_of_each = re.compile(
            r" *(?:/\*|changed = |const uint64_t old|uint64_t p\d+ = 0,)"
        )  # stream of a cycle, or tag
        assert all(len(line) <= 120 or one_of_each.match(line) for line in text.splitlines()), path
        assert not any(line != line.rstrip() for line in text.splitlines()), path
