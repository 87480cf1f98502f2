"""The texts of `who_loads.py`: the beginning of each corpus, and short ones that are hard.

Hard ones are those of the project's shared folder (`cases/edge_splits.json`, the plain texts of `cases/faults.json`), a list
made here (white space, NUL, marks, joined emoji, characters younger than Unicode 15, long runs), and the definition's own
added tokens, typed in the text.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.texts import cut_at_characters, split_documents

HEAD = 20_000
"""Bytes of a corpus."""
RUN = 10_000
"""Characters of a long run."""

YOUNG = "\u1c89", "\ua7ce", "\ua7cb", "\U00010d40", "\U00011bc0", "\U0001fadc", "\U0002ebf0", "\U000323b0", "\U00010d6f"
"""Characters of Unicode 15.1, 16 and 17: letters, digits, an emoji, ideographs."""
OLD_NFC = (
    "\u0344",
    "\u0958",
    "\u2126",
    "\ufb1d",
    "\U0002f800",
    "a\u0323\u0307",
    "a\u0307\u0323",
    "\u1ace\u0301",
    "\uac00\u11a8",
)
"""What the normalization forms change or reorder."""


def hostile() -> Iterator[str]:
    """Short texts and long runs."""
    yield from ("", " ", "\t", "\n", "\r", "\r\n", "\0", "a\0b", "\0\0\0", "\ufeff", "\ufffd", "\x7f\x80\x9f")
    for count in (2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 128, 300):
        yield from (" " * count, "\t" * count, "\n" * count, "x" + " " * count, " " * count + "x", " \t" * count)
        yield "a" + " " * count + "b" + "\n" * count + " c"
    yield from ("\u00a0" * 5, "\u3000" * 5, "\u2003 \u2009x", "\u200b\u200c\u200d\u2060x", "\u202e abc \u202c")
    yield from ("e\u0301", "\u0301", " \u0301", "a" + "\u0301" * 40, "\u0e01\u0e33\u0e33", "\u1112\u1161\u11ab" * 3)
    for emoji in (
        "\U0001f468\u200d\U0001f469\u200d\U0001f467",
        "\u2764\ufe0f",
        "\U0001f1e9\U0001f1ea",
        "\U0001f44d\U0001f3ff",
    ):
        yield from (emoji, f"a{emoji}b", f" {emoji} ", emoji * 20)
    for character in (*YOUNG, *OLD_NFC):
        yield from (character, f"a{character}b", f" {character} ", f"{character}{character}1")
    yield from (
        "\ue000",
        "\uffff",
        "\U0010ffff",
        "a\u0378b",
        "\U000e0041",
        "\u2581",
        "\u2581a \u2581",
        "<0x41>",
        "<unk>",
        "##a",
    )
    yield from (
        "-compile",
        "ーカー",
        "\n \n",
        "Today",
        "3.14159",
        "1" * 7,
        "1a" * 9,
        "'S'LL'x",
        "don\u2019t",
        "I'M",
        "''''s",
    )
    yield from (
        "camelCaseHTTPServer2",
        "__init__(self):\n\treturn  0\n",
        "<|im_start|>user\nhi<|im_end|>\n",
        "[CLS] a [SEP]",
    )
    for part in ("a", "ab", "_", "=", "1", " ", "\n", "\t ", "\r\n", "\u4e2d", "\u3042", "\u0430", "\u0e01\u0e34"):
        yield part * (RUN // len(part))
    for part in ("\U0001f600", "a\u0301", "\u1112\u1161\u11ab", "a ", "a\u00a0", "\x00", '{"k":"v",', "\ufb01", "'s"):
        yield part * (RUN // (2 * len(part)))


def typed(added: Sequence[str]) -> Iterator[str]:
    """Added tokens in the text, by themselves, beside others, cut short, and beside white space."""
    for token in added:
        yield from (
            token,
            f"a{token}b",
            f" {token} ",
            f"  {token}\n\n{token}x",
            token * 3,
            token[:-1] + " ",
            f"1{token}1",
        )
        yield from (token.upper(), token.lower(), f"e\u0301{token}\u0301")
    if len(added) > 1:
        yield " ".join(added) + "".join(added)


def added_tokens(path: Path, kind: str, count: int = 8) -> list[str]:
    """Some of a tokenizer.json's added tokens: the first, the last, and of each mixture of options one; else none."""
    if kind != "json":
        return []
    tokens: list[dict[str, Any]] = json.loads(path.read_bytes()).get("added_tokens") or []
    options = ("single_word", "lstrip", "rstrip", "normalized", "special")
    first_of = {tuple(token.get(option) for option in options): token["content"] for token in reversed(tokens)}
    chosen = [*first_of.values(), *(token["content"] for token in (*tokens[:3], *tokens[-2:]))]
    return [content for content in dict.fromkeys(chosen) if content][:count]


def strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


def case_texts(cases: Path) -> list[str]:
    """Plain texts of the shared folder's cases."""
    found = [case["text"] for case in json.loads((cases / "edge_splits.json").read_text())["cases"]]
    for case in json.loads((cases / "faults.json").read_text()):
        if "encode" in case["call"]["op"] and "unpaired" not in case["call"]["op"]:
            found += strings_in(case["input"])
    return found


def corpus_texts(corpora: Path, size: int = HEAD) -> list[str]:
    """The documents of the first `size` bytes of each corpus."""
    found: list[str] = []
    for packed in sorted(corpora.glob("*.txt.xz")):
        with lzma.open(packed) as file:
            head = file.read(size + 4).decode(errors="ignore")
        found += split_documents(cut_at_characters(head, size)[0])
    return found


def is_text(text: str) -> bool:
    """Not one with half a surrogate pair, which is no UTF-8."""
    return not any(0xD800 <= ord(character) < 0xE000 for character in text)
