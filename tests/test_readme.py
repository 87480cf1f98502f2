"""What README.md and docs/ say is true: their commands are run and their Python is executed, in the order of the page.

    ```console     `$ command`, then what it prints (errors too). Python's doctest rules: `...` stands for anything.
    ```pycon       a Python session, one for the whole page
    ```json        a grammar, which goes into the file NAME.json
    other blocks   are not run

All blocks of a page share a folder. `gpt2` is compiled there by the README's own set-up command.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from gigatok_compile import driver
from gigatok_compile.automaton.interpret import tags_of_text
from gigatok_compile.bitstream.bimachine import right_automaton
from gigatok_compile.bitstream.compose import _right
from gigatok_compile.bitstream.interpret import piece_starts
from gigatok_compile.definition.cutting_steps import GPT2_PATTERN
from gigatok_compile.definition.read import read_definition
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.bits import Behind, Symbol
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.split_plan import _joint, compile_split

RULES = doctest.ELLIPSIS
MADE_HERE = ("gpt2", "dates")
"""Modules that pages compile and import."""


@dataclass(frozen=True)
class Block:
    """A fenced block: what stands after the fence, its text, and the line it begins on."""

    kind: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    found = []
    fence = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    source = page.read_text(encoding="utf-8")
    for match in fence.finditer(source):
        found.append(Block(match[1], match[2], source.count("\n", 0, match.start()) + 2))
    assert source.count("```") == 2 * len(found), f"{page.name}: a fence is not closed"
    return found


def commands(block: Block) -> Iterator[tuple[str, str]]:
    """Each `$ command` of a console block with what stands under it. A command goes on while its line ends in a backslash."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, newline = "", "\\\n"
        while part and (not command or command.endswith(newline)):
            line, _, part = part.partition("\n")
            command += line + "\n"
        yield command.rstrip("\n"), part


def environment() -> dict[str, str]:
    """Ours without switches, with this Python's commands first."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIGATOK_")}
    return kept | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}", "COLUMNS": "80"}


def run(command: str, folder: Path) -> str:
    """What a command prints. `--explain` is answered without building the module, whose line comes last there."""
    words = shlex.split(command)
    if words[0] == "gigatok-compile" and "--explain" in words:
        grammar = words[words.index("--grammar") + 1] if "--grammar" in words else None
        source, name = words[1], words[words.index("--name") + 1] if "--name" in words else None
        path = source if source == "gpt2" else str(folder / source)
        loaded = None if grammar is None else load_grammar(folder / grammar if "." in grammar else grammar)
        definition = read_definition(path, grammar=loaded, name=name)
        return driver.explain_compilation(driver.analyse(definition)) + f"\n{folder}  import {definition.name}\n"
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    return done.stdout


def same(expected: str, got: str) -> bool:
    """By doctest's rules; an end of line that is missing at the end does not count (`decode` writes none of its own)."""
    return doctest.OutputChecker().check_output(expected.rstrip("\n") + "\n", got.rstrip("\n") + "\n", RULES)


def without_figures(text: str) -> str:
    """The output of --check-grammar without what another machine or another run prints differently."""
    text = re.sub(r"^  (avx|\(the time stamp).*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\((TSC cycles|ns) a byte\)|\((avx\w+, )*swar, automaton\)", "(*)", text)
    text = re.sub(r"(?<=[ (])[\d.,]+(?=[) ]|,|$)", "#", text, flags=re.MULTILINE)
    return re.sub(r"[ ,]+", " ", text).replace("( ", "(")


def check_page(page: Path, folder: Path) -> int:
    """Run a page's blocks in order; how many examples there were."""
    session: dict[str, object] = {}
    done = 0
    for block in blocks(page):
        where = f"{page.name}:{block.line}"
        if block.kind == "console":
            for command, expected in commands(block):
                got = run(command, folder)
                if "--check-grammar" in command:
                    expected, got = without_figures(expected), without_figures(got)
                if not same(expected, got):
                    pytest.fail(f"{where}: {command}\n--- the page says\n{expected}--- it prints\n{got}", pytrace=False)
                done += 1
        elif block.kind == "json":
            (folder / f"{json.loads(block.text)['name']}.json").write_text(block.text, encoding="utf-8")
        elif block.kind == "pycon":
            test = doctest.DocTestParser().get_doctest(block.text, session, where, page.name, block.line)
            runner = doctest.DocTestRunner(verbose=False, optionflags=RULES)
            told: list[str] = []
            runner.run(test, out=told.append, clear_globs=False)
            assert runner.summarize(verbose=False).failed == 0, "".join(told)
            session |= test.globs
            done += len(test.examples)
    return done


@pytest.fixture
def page_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that is the working directory and first in sys.path."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("GIGATOK_ENGINE", "GIGATOK_ISA"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in MADE_HERE]:
        del sys.modules[name]


def set_up_commands(readme: Path) -> list[list[str]]:
    """The README's `sh` blocks of one line, cut at `&&`."""
    lines = [block.text.strip() for block in blocks(readme) if block.kind == "sh" and block.text.count("\n") == 1]
    return [line.split(" && ") for line in lines]


def test_the_readme(root: Path, page_folder: Path) -> None:
    """Its set-up command (but for the environment that it makes), and then everything on the page."""
    first = set_up_commands(root / "README.md")[0]
    assert first[:3] == ["python3 -m venv .venv", ". .venv/bin/activate", "pip install -e ."]
    assert first[3] == "cd generated"
    got = run(" && ".join(first[4:]), page_folder)
    shown = next(block.text for block in blocks(root / "README.md") if block.kind == "text")
    assert "import gpt2" in shown
    assert got.splitlines()[-1] == shown.splitlines()[-1] == "[15496   995]"
    figures = re.compile(
        r"^\S+/gpt2  \([\d.]+ s, [\d,]+ cases agree with the regex engine \([\w, ]+; [\d.]+ s\)\)  import gpt2$"
    )
    assert figures.match(got.splitlines()[-2])
    assert figures.match(shown.splitlines()[-2])
    assert check_page(root / "README.md", page_folder) > 20


def test_continuous_integration_runs_the_commands_of_the_readme(root: Path) -> None:
    script = (root / ".ci" / "run").read_text("utf-8")
    first, second = set_up_commands(root / "README.md")[:2]
    assert second == [*first[:2], "pip install -e '.[test]'", "python -m pytest"]
    assert first[4] == "gigatok-compile gpt2"
    assert f"{first[4]} && " in script
    assert '"$python" -m pytest\n' in script
    assert "pip install" in script
    assert "--editable '.[test,dev]'" in script


def test_the_derivation(root: Path, page_folder: Path) -> None:
    assert check_page(root / "docs" / "bitstream.md", page_folder) > 5


def test_right_states_in_the_docs(root: Path) -> None:
    sets, _ = right_automaton(compile_split(SplitStep(GPT2_PATTERN, "oniguruma", "x")).automaton)
    page = (root / "docs" / "bitstream.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| ([\d ]+) \|", page, re.MULTILINE)
    assert [(int(number), frozenset(map(int, states.split()))) for number, states in rows] == list(enumerate(sets))


def test_composed_right_states_in_the_docs(root: Path) -> None:
    page = (root / "docs" / "bitstream.md").read_text("utf-8")
    patterns = re.findall(
        r'^>>> \w+ = compile_split\(SplitStep\(r"(.*)", "oniguruma", "(?:first|second)"\)\)$', page, re.MULTILINE
    )
    first, second = (compile_split(SplitStep(pattern, "oniguruma", "x")) for pattern in patterns[:2])
    states, _ = _right(first.machine, second.machine, _joint(first.alphabet, second.alphabet)[0])
    rows = re.findall(r"^\| (\d+) \| `([\d ]+)` \|", page, re.MULTILINE)
    assert [(int(number), (0, tuple(map(int, of.split())))) for number, of in rows] == list(enumerate(states))


def test_streams_in_the_docs(root: Path) -> None:
    grammar = load_grammar("llama3")
    program = str(compile_split(SplitStep(grammar.pattern, grammar.dialect, "x")).bits)
    page = (root / "docs" / "bitstream.md").read_text("utf-8")
    steps = re.findall(r"^left  (?:cycle )?p\d+ = .*?(?=   |$)", page, re.MULTILINE)
    assert len(steps) == 4
    assert [step for step in steps if f"  {step}\n" not in program] == []


def test_the_drawing_in_the_readme(root: Path) -> None:
    page = (root / "README.md").read_text("utf-8")
    (pattern,) = re.findall(r'^\{"name": "small", "dialect": "fancy", "pattern": (".*")\}$', page, re.MULTILINE)
    kernel = compile_split(SplitStep(json.loads(pattern), "fancy", "x"))
    text, *rows = re.findall(r"^(?:text|s\d \w+(?: \w+)?|behind\(p\d\)|starts) {2,}(\S.{9})", page, re.MULTILINE)
    columns = [kernel.automaton.columns[tag] for tag in tags_of_text(kernel.tags, text)[:-1]]
    assert kernel.bits is not None
    streams = [Symbol(0), Symbol(2), Behind(0), Behind(1), kernel.bits.starts]
    starts = [piece_starts(replace(kernel.bits, starts=stream), columns) for stream in streams]
    assert ["".join("1" if i in at else "." for i in range(len(text))) for at in starts] == rows


def test_links_lead_somewhere(root: Path) -> None:
    for page in (
        root / "README.md",
        root / "CHANGELOG.md",
        root / "generated" / "README.md",
        *(root / "docs").glob("*.md"),
    ):
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
            assert target.startswith("https:") or (page.parent / target).exists(), f"{page.name}: {target}"


def test_every_test_is_in_the_docs(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text("utf-8")
    named = re.findall(r"`(?:test_runtime/)?(test_[\w*]+\.py)`", page)
    files = {path.name for path in (root / "tests").rglob("test_*.py")}
    assert {file for file in files if not any(fnmatch(file, name) for name in named)} == set()


def test_pages_name_no_machine(root: Path) -> None:
    """No paths of the machines they were written on, no package mirrors."""
    for page in (root / "README.md", root / "CHANGELOG.md", *(root / "docs").glob("*.md")):
        found = re.findall(r"/(?:tmp|work|root|home)/\S*|https?://(?!github\.com)\S+", page.read_text("utf-8"))
        assert found == [], f"{page.name}: {found}"
