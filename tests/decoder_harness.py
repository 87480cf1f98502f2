"""Decoders for tests: JSON, the reference's decoder over any list of tokens, and ours in Python and in C.

Loaded with `runpy.run_path`, like kernel_harness.py.
"""

from __future__ import annotations

import ctypes
import json
import runpy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gigatok_compile.decoder.entries import decoder_entries
from gigatok_compile.decoder.plan import DecodePlan, plan_decoder
from gigatok_compile.definition.decoder import read_decoder
from gigatok_compile.definition.fields import Fields
from gigatok_compile.vocabulary.token_lookup import plan_token_lookup
from gigatok_runtime.decoding import decoder_steps, run_steps

vocabularies = runpy.run_path(str(Path(__file__).with_name("vocabulary_harness.py")))

Words = Sequence[str | None]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
FUSE, BYTES = {"type": "Fuse"}, {"type": "ByteFallback"}


def replace(pattern: str, content: str, kind: str = "String") -> dict[str, Any]:
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def strip(start: int, stop: int = 0, content: str = " ") -> dict[str, Any]:
    return {"type": "Strip", "content": content, "start": start, "stop": stop}


def metaspace(scheme: str = "always", replacement: str = "▁") -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": replacement, "prepend_scheme": scheme, "split": True}


def word_piece(prefix: str = "##", cleanup: bool = True) -> dict[str, Any]:
    return {"type": "WordPiece", "prefix": prefix, "cleanup": cleanup}


def bpe(suffix: str = "</w>") -> dict[str, Any]:
    return {"type": "BPEDecoder", "suffix": suffix}


def ctc(pad: str = "<pad>", delimiter: str = "|", cleanup: bool = True) -> dict[str, Any]:
    return {"type": "CTC", "pad_token": pad, "word_delimiter_token": delimiter, "cleanup": cleanup}


def sequence(*decoders: Any) -> dict[str, Any]:
    return {"type": "Sequence", "decoders": list(decoders)}


SPACES = replace("▁", " ")
NATIVE: dict[str, Any] = {
    "none": None,
    "byte level": BYTE_LEVEL,
    "fuse": FUSE,
    "empty sequence": sequence(),
    "nested": sequence(sequence(SPACES, sequence()), FUSE),
    "metaspace": metaspace(),
    "metaspace first": metaspace("first"),
    "metaspace never": metaspace("never", "a"),
    "word piece": word_piece(),
    "word piece, no cleanup": word_piece(cleanup=False),
    "word piece, no prefix": word_piece(""),
    "bpe": bpe(),
    "bpe, no suffix": bpe(""),
    "ctc": ctc(),
    "ctc, no cleanup": ctc(cleanup=False),
    "ctc, empty": ctc("", "", True),
    "ctc, replace": sequence(ctc(), replace("a", "é")),
    "replace": replace("a", "$0▁"),
    "replace, empty": replace("", "x"),
    "replace, regex": replace("[ab]+|▁$", "-", "Regex"),
    "replace, regex that matches nothing": replace("b*", "é", "Regex"),
    "bytes": BYTES,
    "bytes, fused": sequence(BYTES, FUSE, FUSE),
    "gemma": sequence(SPACES, BYTES, FUSE),
    "llama": sequence(SPACES, BYTES, FUSE, strip(1)),
    "strip many": sequence(SPACES, BYTES, FUSE, strip(4)),
    "strip letters": sequence(BYTES, FUSE, strip(3, 0, "a")),
    "strip of tokens": sequence(strip(2, 0, "a"), strip(1, 0, "b")),
    "metaspace, bytes": sequence(metaspace(), BYTES, FUSE, strip(2)),
    "byte level, strip": sequence(BYTE_LEVEL, strip(2)),
    "bpe, metaspace, word piece": sequence(bpe("b"), metaspace(), word_piece("a")),
    "metaspace, byte level": sequence(metaspace("always", "a"), BYTE_LEVEL),
}
PYTHON: dict[str, Any] = {
    "replace after bytes": sequence(BYTES, SPACES, FUSE),
    "metaspace after bytes": sequence(BYTES, metaspace()),
    "replace after fuse": sequence(FUSE, replace("ab", "-")),
    "metaspace after fuse": sequence(FUSE, metaspace()),
    "bytes after fuse": sequence(FUSE, BYTES),
    "byte level after fuse": sequence(FUSE, BYTE_LEVEL),
    "byte level after bytes": sequence(BYTES, BYTE_LEVEL),
    "ctc after word piece": sequence(word_piece(), ctc()),
    "ctc after bytes": sequence(BYTES, ctc()),
    "word piece after ctc": sequence(ctc(), word_piece()),
    "strip what is not ASCII": sequence(FUSE, strip(2, 0, "é")),
    "strip after strip": sequence(FUSE, strip(1), strip(1, 0, "a")),
    "strip after ctc": sequence(ctc(), FUSE, strip(1)),
    "byte tokens by place, word piece": sequence(word_piece(), BYTES),
    "byte tokens by place": sequence(metaspace("always", "|"), BYTES),
}
"""Decoders, and those whose chain has no tables. What `PYTHON` lacks of ids in "byte tokens by place" is in `WORDS`."""

WORDS: list[str | None] = [
    *(
        "a",
        "b",
        "ab",
        "aab",
        "▁a",
        "▁",
        "▁▁",
        "▁a▁b▁",
        "a▁",
        "",
        " ",
        "  ",
        " a",
        "a ",
        "é",
        "Ġ",
        "Ā",
        "Ġa",
        "日本",
        "👍",
        "ÿ",
    ),
    *(
        "##b",
        "####b",
        "##",
        "##'s",
        "a</w>",
        "</w>",
        "b</w>b</w>",
        "|",
        "||",
        "<pad>",
        "a<pad>b",
        " .",
        ".",
        "do not",
        "n't",
        "not",
    ),
    *(
        "<0xE2>",
        "<0x96>",
        "<0x81>",
        "<0xF0>",
        "<0x9F>",
        "<0x91>",
        "<0x8D>",
        "<0x20>",
        "<0x61>",
        "<0x0A>",
        "<0xc3>",
        "<0xA9>",
    ),
    *(
        "<0xED>",
        "<0xA0>",
        "<0xC0>",
        "<0xFF>",
        "<0x+1>",
        "<0x-1>",
        "<0x1>",
        "<0xGG>",
        "<0xé>",
        "0xE2>",
        "|<0x41>",
        "<0x41>|",
        "<0x|1>",
    ),
    *(
        "â",
        "ĸ",
        "ģ",
        "ðŁ",
        "ĳ",
        "į",
        "x" * 13,
        "x" * 14,
        "日" * 4,
        "日" * 5,
        "é" * 300,
        " " * 20,
        "<s>",
        "</s>",
        None,
        "\u0391",
        "ñ",
    ),
]


class Compiled:
    """The tables of a plan, compiled by themselves."""

    def __init__(self, plan: DecodePlan) -> None:
        self.plan = plan
        self._library: ctypes.CDLL | None = None

    def compiled(self, ids: Sequence[int], skip: bool = False, *, raw: bool = False, step: int = 1 << 20) -> bytes:
        """What the tables give, written `step` bytes at a time. Text that may be ill-formed comes as it is."""
        if self._library is None:
            self._library = _build(self.plan)
        array = np.array(ids, np.uint32)
        size = self._library.left(array.ctypes.data, len(array), skip, raw)
        out = np.full(size + 64, 0xAA, np.uint8)
        flags = np.zeros(1, np.int64)
        written = self._library.write(
            array.ctypes.data, len(array), skip, raw, out.ctypes.data, step, size, flags.ctypes.data
        )
        assert written == size, (written, size)
        assert (out[size:] == 0xAA).all(), "more is written than counted"
        data = out[:size].tobytes()
        self._check_flags(data, int(flags[0]), raw)
        return data

    def sanitized(self, records: list[bytes]) -> list[bytes]:
        """What is written under the sanitizers for each record (see HANDLE)."""
        tables = self.plan.tables | plan_token_lookup([], [], [])
        kernels = vocabularies["kernels"]
        source = kernels["table_source"](tables) + "#include <stdlib.h>\n" + FUNCTIONS + HANDLE
        found: list[bytes] = kernels["run_sanitized"](source, records, 0)
        return found

    def _check_flags(self, data: bytes, flags: int, raw: bool) -> None:
        """That the kind of text is known before it is seen."""
        try:
            text = data.decode()
        except UnicodeDecodeError:
            assert flags & 2
            return
        assert bool(flags & 1) == (not text.isascii())
        assert bool(flags & 4) == (max(text, default="") > "\u00ff")
        assert bool(flags & 8) == (max(text, default="") > "\uffff")
        assert raw or flags & 2 == 0 or self.plan.lossy


class Decoding(Compiled):
    """One decoder over one list of tokens, in every engine. hidden: ids left out when special tokens are skipped."""

    def __init__(self, decoder: Any, words: Words, hidden: Sequence[int] = ()) -> None:
        self.decoder = decoder
        self.words = words
        self.hidden = frozenset(hidden)
        steps = read_decoder(None if decoder is None else Fields.of(decoder, "decoder"))
        self.entries = decoder_entries(steps)
        super().__init__(plan_decoder(steps, self.entries, words, list(hidden)))
        self.steps = decoder_steps(self.entries or ())

    def tokens(self, ids: Sequence[int], skip: bool) -> list[str]:
        found = [self.words[i] for i in ids if i < len(self.words) and not (skip and i in self.hidden)]
        return [word for word in found if word is not None]

    def python(self, ids: Sequence[int], skip: bool = False) -> str:
        joint = " " if self.decoder is None else ""
        return joint.join(run_steps(self.steps, self.tokens(ids, skip)))

    def python_bytes(self, ids: Sequence[int], skip: bool = False) -> bytes:
        joint = " " if self.decoder is None else ""
        text = joint.join(run_steps(self.steps, self.tokens(ids, skip), "surrogateescape"))
        return text.encode("utf-8", "surrogateescape")


FUNCTIONS = r"""
#define GT_API
#include "decode.h"
int64_t left(const uint32_t *ids, int64_t n, int skip, int raw) {
  gt_decoder d;
  gt_decode_begin(&d, ids, n, skip, raw);
  return gt_decode_left(&d);
}
int64_t write(const uint32_t *ids, int64_t n, int skip, int raw, uint8_t *out, int64_t step, int64_t size, int64_t *flags) {
  gt_decoder d;
  gt_decode_begin(&d, ids, n, skip, raw);
  int64_t total = 0;
  while (d.at < d.n) {
    int64_t room = size - total < step ? size - total : step;
    if (!room) room = 1; /* tokens without bytes may follow */
    total += (int64_t)gt_decode_some(&d, out + total, (size_t)room);
  }
  *flags = d.flags;
  return total;
}
"""


HANDLE = r"""
static size_t handle(const uint8_t *p, size_t n, uint8_t **out) { /* a step and three options, then ids */
  uint32_t *const ids = malloc(n);
  if (n > 4) memcpy(ids, p + 4, n - 4);
  const int64_t count = n > 4 ? (int64_t)(n - 4) / 4 : 0;
  const int64_t size = left(ids, count, p[1], p[2]);
  int64_t flags, room = size - (p[3] < size ? p[3] : size);
  *out = malloc(size ? (size_t)size : 1); /* not a byte more */
  write(ids, count, p[1], p[2], *out, p[0] ? p[0] : 1000, size, &flags);
  uint8_t *const few = malloc(room ? (size_t)room : 1);
  if (gt_decode(ids, count, p[1], few, room) != left(ids, count, p[1], 1)) abort();
  free(few);
  free(ids);
  return (size_t)size;
}
"""


def _build(plan: DecodePlan, flags: Sequence[str] = ()) -> ctypes.CDLL:
    tables = plan.tables | plan_token_lookup([], [], [])
    source = vocabularies["incbin_source"](tables, {}) + FUNCTIONS
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    path = vocabularies["kernels"]["_compile"](source, ["-O2", "-fPIC", "-shared", *warnings, *flags], ".so")
    library = ctypes.CDLL(str(path))
    pointer, i64, i32 = ctypes.c_void_p, ctypes.c_int64, ctypes.c_int
    library.left.argtypes, library.left.restype = [pointer, i64, i32, i32], i64
    library.write.argtypes = [pointer, i64, i32, i32, pointer, i64, i64, pointer]
    library.write.restype = i64
    return library


def reference(decoder: Any, words: Words, special: Sequence[str] = ()) -> Any:
    """The reference engine with these tokens; only `decode` is of use."""
    import tokenizers

    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    added = [{"id": words.index(content), "content": content, "special": True, **flags} for content in special]
    definition = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": decoder,
        "model": {
            "type": "WordLevel",
            "vocab": {word: number for number, word in enumerate(words) if word is not None},
            "unk_token": "",
        },
    }
    return tokenizers.Tokenizer.from_str(json.dumps(definition))
