"""The examples of a grammar against the plain-Python oracle, and against the reference engine where it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from gigatok_compile.check.chain import StepChain
from gigatok_compile.grammars.examples import pieces_of
from gigatok_compile.grammars.registry import Grammar
from gigatok_compile.ir.pattern import Anchor, Look, walk_pattern
from gigatok_compile.pattern.parse import parse_pattern


@dataclass(frozen=True, slots=True)
class WrongExample:
    """`got` is what `engine` makes of the text of `examples[index]`."""

    index: int
    text: str
    expected: tuple[str, ...]
    got: tuple[str, ...]
    engine: str

    def __str__(self) -> str:
        return (
            f"examples[{self.index}] of {self.text!a}\n"
            f"  the file says  {list(self.expected)!a}\n"
            f"  {self.engine} {list(self.got)!a}"
        )


@dataclass(frozen=True, slots=True)
class ReferenceEngine:
    """The wheel whose pieces a grammar reproduces. absent: why it is not asked, "" if it is."""

    name: str
    absent: str

    def __str__(self) -> str:
        return self.name if self.absent else f"{self.name} {version(self.name)}"


def reference_engine(grammar: Grammar) -> ReferenceEngine:
    """tiktoken for patterns in its dialect, else tokenizers."""
    name = "tiktoken" if grammar.patterns and grammar.dialect == "fancy" else "tokenizers"
    if find_spec(name) is None:
        return ReferenceEngine(name, f"{name} is not installed (pip install 'gigatok-compile[test]')")
    if name == "tiktoken" and any(map(_looks_back, grammar.patterns)):
        return ReferenceEngine(name, "tiktoken does not show its pieces, and the way round that has no look-behind")
    return ReferenceEngine(name, "")


def wrong_by_oracle(grammar: Grammar, oracle: StepChain) -> list[WrongExample]:
    """Examples that the oracle cuts otherwise."""
    return _wrong(grammar, [tuple(oracle.pieces(example.text)) for example in grammar.examples], "the steps give")


def wrong_by_reference(grammar: Grammar, engine: ReferenceEngine) -> list[WrongExample] | str:
    """Examples that the reference engine cuts otherwise, or why it refuses the grammar."""
    contents: dict[str, Any] = {"pattern": list(grammar.patterns), "dialect": grammar.dialect}
    if not grammar.patterns:
        contents = {"pre_tokenizer": None if grammar.pre_tokenizer is None else dict(grammar.pre_tokenizer)}
    try:
        pieces = pieces_of(contents, [example.text for example in grammar.examples])
    except ValueError as error:
        return f"it refuses this grammar: {error}"
    return _wrong(grammar, [tuple(each) for each in pieces], f"{engine} gives")


def _wrong(grammar: Grammar, pieces: Sequence[tuple[str, ...]], engine: str) -> list[WrongExample]:
    return [
        WrongExample(index, example.text, example.pieces, got, engine)
        for index, (example, got) in enumerate(zip(grammar.examples, pieces, strict=True))
        if example.pieces != got
    ]


def _looks_back(pattern: str) -> bool:
    """It sees what stands before a match, so a text that is cut off there is another one for it."""
    nodes = walk_pattern(parse_pattern(pattern, "fancy", "pattern").root)
    return any(
        (isinstance(node, Look) and not node.ahead) or (isinstance(node, Anchor) and node.kind not in ("$", "z", "Z"))
        for node in nodes
    )
