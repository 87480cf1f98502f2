"""The tool that makes the examples of grammar files: `python -m gigatok_compile.grammars.examples FILE...`.

Every example of a file is split anew by the reference engine, and the file is written back if anything differs. To add an
example, put the bare text among the `examples` of a file and run the tool. The engines (the tokenizers and tiktoken
wheels) come with the `test` extra.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

from gigatok_compile.unicode.engine import split


def pieces_of(grammar: Mapping[str, Any], texts: Sequence[str]) -> list[list[str]]:
    """The pieces of every text by the reference engine, `grammar` being the contents of a grammar file.

    Pieces are cut out of the text itself: what a step puts in or maps does not show, what it removes is in no piece.

    Raises:
        ValueError: when the engine refuses the grammar, or pieces are not parts of the text: after a cut inside a
            character, or where what a step put in became a piece of its own.
    """
    if "pre_tokenizer" in grammar:
        return _by_pre_tokenizer(grammar["pre_tokenizer"], texts)
    patterns = [grammar["pattern"]] if isinstance(grammar["pattern"], str) else grammar["pattern"]
    pieces = [[text] if text else [] for text in texts]
    for pattern in patterns:
        flat = [piece for each in pieces for piece in each]
        spans = iter(split(pattern, grammar["dialect"], flat))
        pieces = [[piece[start:end] for piece in each for start, end, _ in next(spans)] for each in pieces]
    return pieces


def _by_pre_tokenizer(pre_tokenizer: Mapping[str, Any] | None, texts: Sequence[str]) -> list[list[str]]:
    from tokenizers import Tokenizer

    if pre_tokenizer is None:
        return [[text] if text else [] for text in texts]
    model = {"type": "BPE", "vocab": {}, "merges": []}
    try:
        tokenizer = Tokenizer.from_str(json.dumps({"added_tokens": [], "pre_tokenizer": pre_tokenizer, "model": model}))
    except Exception as error:  # noqa: BLE001 - the wheel raises bare Exceptions
        raise ValueError(f"the reference refuses the pre_tokenizer: {error}") from None
    result = []
    for text in texts:
        spans = [span for _, span in tokenizer.pre_tokenizer.pre_tokenize_str(text) if span[0] < span[1]]
        for (_, end), (start, _) in pairwise(spans):
            if start < end:
                raise ValueError(f"{text!r}: two pieces share a character, so they are not parts of the text")
        result.append([text[start:end] for start, end in spans])
    return result


def refresh(path: Path) -> list[str]:
    """Bring the examples of one grammar file up to date; what changed, one line each.

    Raises:
        ValueError: for a file that is not a grammar, or what `pieces_of` refuses.
    """
    old = path.read_text(encoding="utf-8")
    grammar = json.loads(old)
    examples = [example if isinstance(example, list) else [example] for example in grammar["examples"]]
    pieces = pieces_of(grammar, [example[0] for example in examples])
    changes = []
    for example, new in zip(examples, pieces, strict=True):
        if len(example) == 1:
            changes.append(f"{example[0]!r}: new, {new}")
        elif example[1] != new:
            changes.append(f"{example[0]!r}: {example[1]} is now {new}")
        example[1:] = [new]
    grammar["examples"] = examples
    if (text := format_grammar(grammar)) != old:
        path.write_text(text, encoding="utf-8")
        changes = changes or ["the layout only"]
    return changes


def format_grammar(grammar: Mapping[str, Any]) -> str:
    """A grammar file as text: ASCII, one example or pre-tokenizer step a line."""
    fields = []
    for key, value in grammar.items():
        if key == "examples":
            text = _one_a_line(value)
        elif key == "pre_tokenizer" and value is not None and value["type"] == "Sequence":
            text = f'{{"type": "Sequence", "pretokenizers": {_one_a_line(value["pretokenizers"])}}}'
        elif key == "pre_tokenizer":
            text = json.dumps(value)
        else:
            text = json.dumps(value, indent=1).replace("\n", "\n ")
        fields.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _one_a_line(values: Sequence[Any]) -> str:
    return "[\n" + ",\n".join(f"  {json.dumps(value)}" for value in values) + "\n ]"


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; 0 when every file could be read and is now up to date."""
    parser = argparse.ArgumentParser(prog="python -m gigatok_compile.grammars.examples", description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a grammar file")
    files = parser.parse_args(arguments).files
    missing = [name for name in ("tokenizers", "tiktoken") if find_spec(name) is None]
    if missing:
        print(f"not installed: {', '.join(missing)}; pip install 'gigatok-compile[test]'", file=sys.stderr)
        return 1
    failed = False
    for path in files:
        try:
            changes = refresh(path)
        except (OSError, ValueError, KeyError, TypeError) as error:
            print(f"{path}: {error if isinstance(error, (OSError, ValueError)) else repr(error)}", file=sys.stderr)
            failed = True
            continue
        print(f"{path}: " + ("up to date" if not changes else "\n  ".join((f"{len(changes)} changed", *changes))))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
