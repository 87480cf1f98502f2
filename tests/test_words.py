"""The tables of words that belong to a thread: no word is in them twice, lines fill from the front, and growing keeps them all."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

from gigatok_compile.build import find_compiler
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import analyse
from gigatok_compile.emit.module import render_module

HARNESS = r"""
#include "module.c"
#include <stdio.h>

#define LONG_WORDS 12000

/* Two passes over a text, then a look at the table of words. */
int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], "rb");
  static uint8_t text[1 << 23];
  const size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  gt_thread *const t = gt_thread_self();
  const gt_call call = {NULL, 0, 1, 0};
  uint32_t *ids;
  for (int pass = 0; pass < 2; pass++)
    if (gt_encode_into(t, text, length, &call, &ids) < 0) return 2;
  const size_t slots = (size_t)1 << t->word_bits;
  size_t used = 0;
  for (size_t i = 0; i < slots; i++) {
    if (!t->words[i].value.first) continue;
    used++;
    if (i % 2 == 1 && !t->words[i - 1].value.first) return 3; /* the front of the line is empty */
    for (size_t k = i + 1; k < (i | (GT_GROUP - 1)) + 1; k++)
      if (t->words[k].value.first && t->words[k].lo == t->words[i].lo && t->words[k].hi == t->words[i].hi) return 4; /* twice */
  }
  printf("%zu words, %zu counted\n", used, t->word_count);
  if (used != t->word_count || used <= 10000) return 5;
  size_t longs = 0, seen_once = 0;
  for (size_t i = 0; i < (size_t)1 << t->long_bits; i++) {
    const gt_long_slot *const slot = &t->longs[i];
    if (!slot->length) continue;
    longs++;
    if (i % 4 && !slot[-1].length) return 6;
    if (gt_long_line(t, slot->hash) != &t->longs[i & ~(size_t)3]) return 7;
    for (size_t k = i + 1; k < (i | 3) + 1; k++)
      if (t->longs[k].length == slot->length && t->longs[k].hash == slot->hash) return 8;
    seen_once += slot->at == GT_SEEN_ONCE; /* every one came twice: its line had no room */
  }
  printf("%zu long words, %zu counted, %zu seen once, %u and %u bits\n", longs, t->long_count, seen_once, t->word_bits, t->long_bits);
  if (longs != t->long_count || longs < LONG_WORDS * 99 / 100 || seen_once > LONG_WORDS / 100) return 10;
  return t->word_bits > GT_WORD_BITS_FIRST + 2 && t->long_bits > GT_LONG_BITS_FIRST + 2 ? 0 : 11; /* moved, and grown there */
}
"""


def test_words_learnt_twice_in_a_batch_are_kept_once(tmp_path: Path) -> None:
    definition = read_definition("gpt2")
    compilation = analyse(definition)
    assert compilation.split.kernel is not None and compilation.tables is not None
    for name, content in render_module(definition, compilation.split.kernel, compilation.tables).items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "main.c").write_text(HARNESS)
    command = [*find_compiler(), "-O1", "-std=gnu11", "-pthread", "-DGT_NO_PYTHON", "main.c", "-o", "harness"]
    subprocess.run(command, cwd=tmp_path, check=True)
    rng = random.Random(7)
    words = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(3, 14))) for _ in range(40_000)]
    text = "".join(f" {word}" * rng.choice([1, 2, 3]) for word in words)  # many come again in the chunk they came first
    long = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randrange(17, 60))) for _ in range(12_000)]
    text += "".join(f" {word}" * rng.choice([1, 2]) for word in long)
    (tmp_path / "text").write_text(text)
    ran = subprocess.run([tmp_path / "harness", tmp_path / "text"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stdout}{ran.stderr}"
