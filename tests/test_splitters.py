"""Every shipped grammar's kernels on real text, against the reference engine itself.

The splitter libraries of `--check-grammar` (no vocabulary) cut parts of every corpus; tokenizers 0.23.3 says where pieces
are, for grammars in tiktoken's dialect the `regex` package with the tables written out. GIGATOK_FULL=1 takes the corpora
whole. (Short strings, windows, phases and random strings are in test_check_grammar.py.)
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
import sys
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.check.chain import StepChain
from gigatok_compile.check.grammar import build_splitter
from gigatok_compile.check.library import SplitterLibrary
from gigatok_compile.grammars.registry import grammar_names, load_grammar
from gigatok_compile.ir.definition import SplitStep
from gigatok_compile.split_plan import plan_pre_tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import modules

FULL = bool(os.environ.get("GIGATOK_FULL"))
PART = 12_000  # bytes of each corpus


def functions() -> list[str]:
    """One grammar of each set that is written alike."""
    seen: dict[Any, str] = {}
    for name in grammar_names():
        grammar = load_grammar(name)
        key = (grammar.patterns, grammar.dialect, json.dumps(grammar.pre_tokenizer, sort_keys=True))
        seen.setdefault(key, name)
    return list(seen.values())


@functools.cache
def splitter(name: str, folder: Path) -> SplitterLibrary:
    kernel = plan_pre_tokenizer(load_grammar(name).steps).kernel
    assert kernel is not None
    home = folder / f"splitter-{name}"
    home.mkdir(exist_ok=True)
    built = home / "built"
    with modules.locked(folder / f"{name}.splitter"):
        if not built.exists():  # another worker may have it loaded: a library is never written over
            built.write_text(str(build_splitter(load_grammar(name), kernel, home)))
    return SplitterLibrary(Path(built.read_text()))


def engine_spans(name: str) -> Any:
    """text -> spans in bytes, by tokenizers, or by the regex package for tiktoken's dialect."""
    grammar = load_grammar(name)
    no_engine = grammar.dialect == "fancy" or (grammar.pre_tokenizer is None and not grammar.patterns)
    # pieces that begin inside a character have no offsets in the engine (their ids are compared in test_bytes_mode.py)
    if no_engine or any(isinstance(step, SplitStep) and step.on_bytes for step in grammar.steps):
        return StepChain(grammar.steps).byte_spans
    from tokenizers import Regex, Tokenizer
    from tokenizers.pre_tokenizers import Sequence, Split

    if grammar.patterns:
        engine: Any = Sequence([Split(Regex(pattern), "isolated") for pattern in grammar.patterns])
    else:
        model = {"type": "BPE", "vocab": {}, "merges": []}
        whole = {"added_tokens": [], "pre_tokenizer": grammar.pre_tokenizer, "model": model}
        engine = Tokenizer.from_str(json.dumps(whole)).pre_tokenizer

    def spans(text: str) -> list[tuple[int, int]]:
        found = [span for _, span in engine.pre_tokenize_str(text) if span[0] < span[1]]
        # what a step puts in can be a piece of its own, with the offsets of what it stands before
        found = [span for span, after in pairwise([*found, (-1, -1)]) if span != after]
        offsets = [0, *accumulate(len(char.encode()) for char in text)]
        return [(offsets[start], offsets[stop]) for start, stop in found]

    return spans


@pytest.mark.parametrize("name", functions())
def test_kernels_cut_every_corpus_as_the_engine_does(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = modules.session_folder(tmp_path_factory)
    library, expected_spans = splitter(name, folder), engine_spans(name)
    for corpus in modules.corpus_names():
        text, _ = modules.first_documents(modules.corpus(corpus, folder), None if FULL else PART)
        step = 2_000_000 if FULL else len(text) + 1
        for at in range(0, len(text), step):
            part = text[at : at + step]
            expected, data = expected_spans(part), part.encode()
            for isa in library.isas:
                got = library.spans(data, isa)
                if got != expected:
                    place = next(i for i, pair in enumerate(zip(got, expected, strict=False)) if pair[0] != pair[1])
                    start = max(0, expected[place][0] - 30)
                    pytest.fail(
                        f"{name}, {corpus}, {isa}: got {got[place]}, expected {expected[place]} in"
                        f" {data[start : expected[place][1] + 30].decode(errors='replace')!r}"
                    )


@pytest.mark.parametrize("name", functions())
def test_words_end_right_where_nothing_rare_is_in_them(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Words of bits that hold one class but for the character before their end and two after it.

    Kernels leave a cycle early where a word has no character that needs another round. What such a word hands on to the next
    one has to be right all the same: kimi's did not in ". ̀." over the end of a word, since a step used another's old value.
    """
    folder = modules.session_folder(tmp_path_factory)
    library, grammar = splitter(name, folder), load_grammar(name)
    kernel = plan_pre_tokenizer(grammar.steps).kernel
    assert kernel is not None
    chars = [chr(tag.ranges[0][0]) for tag in kernel.alphabet if tag.ranges]
    oracle, generator = StepChain(grammar.steps), random.Random(name)
    for filler, size in itertools.product(chars, (64, 256, 512)):
        units = [generator.choices(chars, k=3) for _ in range(12 if size == 64 else 4)]
        text = "".join(after + then + filler * (size - 3) + last for after, then, last in units)
        expected = oracle.byte_spans(text)
        for isa in library.isas:
            assert library.spans(text.encode(), isa) == expected, (isa, filler, size, units)


def test_a_cycle_uses_new_values_as_soon_as_there_are_any(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The text on which `--check-grammar kimi --cases 1000000` found that."""
    library = splitter("kimi", modules.session_folder(tmp_path_factory))
    oracle = StepChain(load_grammar("kimi").steps)
    for length in (63, 127, 255, 511, 1023):
        text = "L" * length + ".\u0301."
        for isa in library.isas:
            assert library.spans(text.encode(), isa) == oracle.byte_spans(text), (isa, length)
