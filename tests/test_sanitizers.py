"""The generated C under AddressSanitizer and UndefinedBehaviorSanitizer, over inputs that lie at the very end of memory."""

from __future__ import annotations

import json
import lzma
import random
import struct
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.build import find_compiler
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import analyse
from gigatok_compile.emit.module import render_module
from gigatok_compile.grammars.registry import load_grammar

sys.path.insert(0, str(Path(__file__).parent))
import modules
import sentencepiece_models

HARNESS = r"""
#include "gigatok.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every text in a block of its own size, so that one byte too far is seen. */
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], "rb");
  static uint8_t *texts[100000];
  static size_t lengths[100000];
  int64_t count = 0;
  uint32_t size;
  while (fread(&size, 4, 1, file) == 1) {
    texts[count] = malloc(size);
    lengths[count] = size;
    if (size && fread(texts[count], 1, size, file) != size) return 2;
    count++;
  }
  fclose(file);
  char names[64], *rest = names;
  strcpy(names, gt_isas());
  int64_t first = -1;
  for (char *isa; (isa = strtok_r(rest, " ", &rest));) {
    if (gt_set_isa(isa)) return 3;
    for (int check = 0; check < 2; check++) {
      int64_t ids = 0, bad = 0;
      for (int64_t i = 0; i < count; i++) {
        const gt_call call = {NULL, 0, 1, check};
        if (!check && gt_validate_utf8(texts[i], lengths[i]) >= 0) continue; /* unchecked text has to be valid */
        gt_output out;
        const int status = gt_encode_many((const uint8_t *const *)&texts[i], &lengths[i], 1, &call, &out);
        bad += status == GT_BAD_UTF8;
        if (status != GT_OK) continue;
        ids += out.n_ids;
        if (gt_count(texts[i], lengths[i], &call) != out.n_ids) return 4;
        const int64_t bytes = gt_decode(out.ids, out.n_ids, 0, NULL, 0);
        uint8_t *const back = malloc((size_t)bytes);
        if (gt_decode(out.ids, out.n_ids, 0, back, bytes) != bytes) return 5;
        /* a normalizer changes the text, a step may remove some */
        if (argc == 2 && (bytes != (int64_t)lengths[i] || (bytes && memcmp(back, texts[i], lengths[i])))) return 6;
        free(back);
        gt_output_free(&out);
      }
      if (first < 0) first = ids;
      if (ids != first) return 7;
      printf("%s check %d: %lld ids, %lld refused\n", isa, check, (long long)ids, (long long)bad);
    }
  }
  /* all valid texts at once, over threads */
  int64_t valid = 0;
  for (int64_t i = 0; i < count; i++)
    if (gt_validate_utf8(texts[i], lengths[i]) < 0) {
      uint8_t *const text = texts[i];
      const size_t length = lengths[i];
      texts[i] = texts[valid], lengths[i] = lengths[valid];
      texts[valid] = text, lengths[valid++] = length;
    }
  const gt_call call = {NULL, 0, 4, 0};
  gt_output out;
  if (gt_encode_many((const uint8_t *const *)texts, lengths, valid, &call, &out)) return 8;
  if (out.n_ids != first) return 9;
  gt_output_free(&out);
  uint32_t wild[4096];
  for (unsigned i = 0; i < 4096; i++) wild[i] = i * 2654435761u;
  uint8_t few[7];
  gt_decode(wild, 4096, 1, few, 7);
  for (int64_t i = 0; i < count; i++) free(texts[i]);
  gt_release_thread();
  return 0;
}
"""


def hostile_texts() -> list[bytes]:
    """Texts that end inside everything: runs, characters of each length, words of each length, broken sequences."""
    rng = random.Random(20)
    letters = [
        "a",
        "B",
        "7",
        " ",
        "\n",
        "\t",
        "'",
        "'s",
        "'ll",
        "!",
        "é",
        "ſ",
        "中",
        "あ",
        "😀",
        "\u0301",
        "\u00a0",
        "\0",
        "<|",
    ]
    texts = [b"", b"<|endoftext|>", b"<|endoftext", b"a<|endoftext|>b" * 50]
    for size in [*range(1, 70), 127, 128, 129, 4095, 4096, 4097, 8191, 8192, 8193, 20_000]:
        texts += ["".join(rng.choice(letters) for _ in range(size)).encode() for _ in range(6)]
        texts += [(letter * size).encode() for letter in letters]
    words = ["hello", " world", " internationalization", "=" * 40, "中文字符", " перевод", "xyzzyq"]
    texts += ["".join(rng.choice(words) for _ in range(rng.randrange(400))).encode() for _ in range(150)]
    texts.append(("x" * 3_000_000 + "\n" + "中文，" * 200_000).encode())  # cut over threads
    for _ in range(600):  # broken UTF-8
        text = bytearray(rng.choice(texts[:800]) or b"a")
        for _ in range(rng.randrange(1, 4)):
            text[rng.randrange(len(text))] = rng.randrange(128, 256)
        texts.append(bytes(text))
    return texts


def toy(make: Any) -> dict[str, Any]:
    """What GPT-2 has not: another pattern, NFC, entries that only a whole piece can be, and added tokens of all kinds."""
    alphabet = list(make()["model"]["vocab"])[:256]
    words = ["xyz", "xyzx", "中文", "e\u0301", " world", "aaaa"]
    entries = ["".join(alphabet[byte] for byte in word.encode()) for word in words]
    contents = ["<|endoftext|>", "<|e|>", "xy", "é", "\u0301"]
    return dict(
        make(
            {
                **modules.toy_changes(load_grammar("llama3").pattern, [("ab", "ab"), ("abab", "abab")]),
                "normalizer": {"type": "NFC"},
                "model.ignore_merges": True,
                "model.vocab": {char: i for i, char in enumerate(alphabet)}
                | {token: 256 + i for i, token in enumerate(["ab", "abab", "abababab", *entries])},
                "added_tokens": [
                    {"id": 300 + i, "content": content, "special": i < 2, "single_word": i == 2, "lstrip": i == 1,
                     "rstrip": i == 1, "normalized": i >= 3}
                    for i, content in enumerate(contents)
                ],
            }
        )
    )  # fmt: skip


def words() -> dict[str, Any]:
    """WordPiece: entries that end at a word's end, words of one entry, too long ones, characters of every length."""
    entries = [
        "[UNK]",
        "<|endoftext|>",
        "hello",
        "inter",
        "##nation",
        "##al",
        "##ization",
        "x",
        "##x",
        "##xxxxxxxxxxxxxxxx",
    ]
    entries += [
        "a",
        "##a",
        "##aaaaaaaaaaaa",
        "b",
        "中",
        "##中",
        "é",
        "##é",
        "😀",
        "##😀",
        "=",
        "'",
        "s",
        "!",
        "##\u0301",
        "7",
    ]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
                       "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": None,
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": False},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": {entry: i for i, entry in enumerate(entries)}},
    }  # fmt: skip


def marked() -> dict[str, Any]:
    """Unigram with a mark before every piece, so that a byte can be two ids; unknown characters, ties, entries of every length."""
    entries = [
        "<unk>",
        "<|endoftext|>",
        "▁",
        "▁hello",
        "▁inter",
        "nation",
        "al",
        "x",
        "xx",
        "▁=",
        "=",
        "======",
        "中",
        "中文",
        "é",
        "▁é",
        "😀",
        "a",
        "7",
        "▁7",
        "77",
        "́",
    ]
    entries.append("a" * 20)
    scores = [-0.1, -0.2, -0.30000000000000004, -1.0]
    punctuation = {"type": "Punctuation", "behavior": "Isolated"}
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [punctuation, metaspace]},
        "post_processor": None,
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": 0, "vocab": [[entry, scores[i % 4]] for i, entry in enumerate(entries)]},
    }


STEPS: dict[str, list[modules.Split]] = {
    "removed": [(r"\s+", "Removed", False), ("'", "MergedWithPrevious", False)],
    "walk": [(r"\p{L}+| {1,70}|\p{N}{1,3}|\s+", "Isolated", False)],  # has no bit program
}


@pytest.mark.parametrize("name", ["gpt2", "toy", "bytes", "words", "pieces", "marked", *STEPS])
def test_no_sanitizer_complains_about_hostile_texts(name: str, tmp_path: Path, toy_definition: Any) -> None:
    source = "gpt2"
    if name == "bytes":  # GPT-2's vocabulary; pieces begin and end inside characters
        source = str(tmp_path / "gpt2.json")
        data = (files("gigatok_compile.definition") / "gpt2.tokenizer.json.xz").read_bytes()
        made = json.loads(lzma.decompress(data))
        made["pre_tokenizer"] = load_grammar("falcon").pre_tokenizer
        Path(source).write_text(json.dumps(made), encoding="utf-8")
    elif name == "pieces":
        source = str(tmp_path / "toy.model")
        Path(source).write_bytes(sentencepiece_models.every_kind_of_piece())
    elif name != "gpt2":
        if name in ("words", "marked"):
            made = words() if name == "words" else marked()
        else:
            made = toy(toy_definition) if name == "toy" else toy_definition(modules.toy_changes(STEPS[name]))
        source = str(tmp_path / "toy.json")
        Path(source).write_text(json.dumps(made), encoding="utf-8")
    definition = read_definition(source)
    compilation = analyse(definition)
    assert compilation.split.kernel is not None and compilation.tables is not None
    for file_name, content in render_module(definition, compilation.split.kernel, compilation.tables).items():
        (tmp_path / file_name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "main.c").write_text(HARNESS)
    warnings = ["-Wall", "-Wextra", "-Werror"]  # of every family
    flags = ["-O1", "-g", "-std=gnu11", "-pthread", *warnings, "-DGT_NO_PYTHON", "-fsanitize=address,undefined"]
    command = [*find_compiler(), *flags, "-fno-sanitize-recover=all", "module.c", "main.c", "-o", "harness"]
    subprocess.run(command, cwd=tmp_path, check=True)
    with (tmp_path / "texts").open("wb") as file:
        for text in hostile_texts():
            file.write(struct.pack("<I", len(text)) + text)
    arguments = [
        str(tmp_path / "harness"),
        *(["changed"] if name in ("toy", "removed", "words", "pieces", "marked") else []),
        str(tmp_path / "texts"),
    ]
    ran = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"exit {ran.returncode}\n{ran.stdout}\n{ran.stderr[-4000:]}"
    assert ran.stdout.count("check 1") >= 2 and " 0 refused" not in ran.stdout.splitlines()[1]
