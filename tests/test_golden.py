"""What the passes make of four known patterns, as reviewed text: a change of a pass shows its diff here.

GIGATOK_REWRITE_GOLDEN=1 writes the files anew; read the diff before you commit it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from gigatok_compile.emit.boundary import render_boundary
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.split_plan import compile_split

GOLDEN = Path(__file__).parent / "golden"
GRAMMARS = ("gpt2", "llama3", "qwen", "cl100k")


def stages(name: str) -> dict[str, str]:
    """File name to text: the tag program, the automaton, the bit program and the kernel of a named grammar."""
    grammar = load_grammar(name)
    kernel = compile_split(SplitStep(grammar.pattern, grammar.dialect, "grammar"))  # type: ignore[arg-type]
    assert kernel.bits is not None
    return {
        f"{name}.tags.txt": f"{kernel.tags}\n",
        f"{name}.automaton.txt": f"{kernel.automaton}\n",
        f"{name}.bits.txt": f"{kernel.bits}\n",
        f"{name}.boundary.inc.h": render_boundary(kernel.bits),
    }


@pytest.mark.parametrize("name", GRAMMARS)
def test_passes_give_the_reviewed_text(name: str) -> None:
    for file_name, text in stages(name).items():
        path = GOLDEN / file_name
        if os.environ.get("GIGATOK_REWRITE_GOLDEN"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; GIGATOK_REWRITE_GOLDEN=1 rewrites it"


def test_output_depends_on_neither_hash_seed_nor_locale() -> None:
    def dump(seed: str, locale: str) -> bytes:
        command = [sys.executable, "-m", "gigatok_compile", "gpt2", "--dump", "c"]
        environment = os.environ | {"PYTHONHASHSEED": seed, "LC_ALL": locale}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert dump("1", "C") == dump("2", "C.UTF-8")


def test_generated_c_is_ascii_and_at_most_120_columns_wide() -> None:
    for path in GOLDEN.glob("*.inc.h"):
        text = path.read_text(encoding="utf-8")
        assert text.isascii(), path
        assert max(map(len, text.splitlines())) <= 120 or "pattern" in max(text.splitlines(), key=len), path
        assert not any(line != line.rstrip() for line in text.splitlines()), path
