"""The tables of words that belong to a thread: no word is in them twice, lines fill from the front, and growing keeps them all."""

from __future__ import annotations

import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from gigatok_compile.build import find_compiler
from gigatok_compile.definition.read import read_definition
from gigatok_compile.driver import analyse
from gigatok_compile.emit.module import render_module

HARNESS = r"""
#include "module.c"
#include <stdio.h>

/* Passes over a text, a look at the tables after each; its ids to stdout.
 * 3 to 5: words of at most 16 bytes; 6 to 8: longer ones; 9: the ids of two passes differ. */
static int look(const gt_thread *t) {
  size_t used = 0, longs = 0, seen_once = 0, in_arena = 0;
  for (size_t i = 0; i < (size_t)1 << t->word_bits; i++) {
    if (!t->words[i].value.first) continue;
    used++;
    in_arena += gt_value_kind(t->words[i].value.first) == GT_VALUE_ARENA;
    if (i % 2 == 1 && !t->words[i - 1].value.first) return 3; /* the front of the line is empty */
    for (size_t k = i + 1; !EMPTIED && k < (i | (GT_GROUP - 1)) + 1; k++) /* what was in another line may come again after it was emptied */
      if (t->words[k].value.first && t->words[k].lo == t->words[i].lo && t->words[k].hi == t->words[i].hi) return 4; /* twice */
  }
  if (used != t->word_count) return 5;
  for (size_t i = 0; i < (size_t)1 << t->long_bits; i++) {
    const gt_long_slot *const slot = &t->longs[i];
    if (!slot->length) continue;
    longs++;
    if (i % 4 && !slot[-1].length) return 6;
    if (gt_long_line(t, slot->hash) != &t->longs[i & ~(size_t)3]) return 7;
    for (size_t k = i + 1; k < (i | 3) + 1; k++)
      if (t->longs[k].length == slot->length && t->longs[k].hash == slot->hash) return 8;
    seen_once += slot->at == GT_SEEN_ONCE;
  }
  if (longs != t->long_count) return 8;
  fprintf(stderr, "words %zu, in the arena %zu, long words %zu, seen once %zu, arena %zu, bits %u %u, last batch: new %u again %u\n", used,
          in_arena, longs, seen_once, t->arena_used, t->word_bits, t->long_bits, t->new_count, t->again_count);
  return 0;
}

int main(int argc, char **argv) {
  FILE *file = fopen(argv[argc - 1], "rb");
  static uint8_t text[1 << 23];
  const size_t length = fread(text, 1, sizeof text, file);
  fclose(file);
  gt_thread *const t = gt_thread_self();
  const gt_call call = {NULL, 0, 1, 0};
  uint32_t *ids, *first = NULL;
  int64_t count = 0;
  for (int pass = 0; pass < 3; pass++) {
    const int64_t n = gt_encode_into(t, text, length, &call, &ids);
    if (n < 0) return 2;
    if (!first) first = memcpy(malloc(n * 4), ids, n * 4), count = n;
    if (n != count || memcmp(first, ids, n * 4)) return 9;
    const int wrong = look(t);
    if (wrong) return wrong;
  }
  fwrite(first, 4, count, stdout);
  return 0;
}
"""
LONG_WORDS = 12_000


@dataclass(frozen=True)
class Look:
    """What the tables hold after a pass."""

    words: int
    in_arena: int
    longs: int
    seen_once: int
    arena: int
    word_bits: int
    long_bits: int
    new: int  # words that the last batch learnt
    again: int  # pieces of it that are one of these, come again


@dataclass(frozen=True)
class Tree:
    """gpt2's C tree, to be built with the harness."""

    folder: Path

    def run(self, text: str, *flags: str) -> tuple[bytes, list[Look]]:
        """The ids of a text, and what the tables hold after each of three passes over it."""
        command = [
            *find_compiler(),
            "-O1",
            "-std=gnu11",
            "-pthread",
            "-DGT_NO_PYTHON",
            *flags,
            "main.c",
            "-o",
            "harness",
        ]
        subprocess.run(command, cwd=self.folder, check=True)
        (self.folder / "text").write_text(text, encoding="utf-8")
        ran = subprocess.run([self.folder / "harness", self.folder / "text"], capture_output=True, check=False)
        assert ran.returncode == 0, f"exit {ran.returncode}: {ran.stderr.decode()}"
        lines = ran.stderr.decode().splitlines()
        return ran.stdout, [Look(*map(int, re.findall(r"\d+", line))) for line in lines]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    compilation = analyse(definition := read_definition("gpt2"))
    assert compilation.split.kernel is not None and compilation.tables is not None
    for name, content in render_module(definition, compilation.split.kernel, compilation.tables).items():
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (tmp_path / "main.c").write_text(HARNESS)
    return Tree(tmp_path)


def made_up(rng: random.Random, count: int, shortest: int, longest: int) -> list[str]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randrange(shortest, longest))) for _ in range(count)]


def test_words_learnt_twice_in_a_batch_are_kept_once(tree: Tree) -> None:
    rng = random.Random(7)
    # many come again in the chunk they came first
    text = "".join(f" {word}" * rng.choice([1, 2, 3]) for word in made_up(rng, 40_000, 3, 14))
    text += "".join(f" {word}" * rng.choice([1, 2]) for word in made_up(rng, LONG_WORDS, 17, 60))
    _, looks = tree.run(text, "-DEMPTIED=0")
    assert looks[0].words > 10_000 and looks[0].word_bits > 14 + 2 and looks[0].long_bits > 12 + 2, (
        "moved, and grown there"
    )
    assert looks[0].longs > LONG_WORDS * 99 // 100, "lines without room"
    assert looks[0].seen_once == 0, "there was room"
    assert looks[2].words < looks[0].words * 1.01, "nearly all were known: some groups of lines are full"


def test_words_that_come_again_in_their_batch_are_merged_once(tree: Tree) -> None:
    rng = random.Random(10)
    words = [*made_up(rng, 20, 6, 16), *made_up(rng, 20, 20, 30)]
    words += [words[-1][:-1], words[-1] + "s"]
    text = "".join(f" {word}" for word in rng.sample(words, len(words)) * 3)
    assert len(text) < 4096, "one batch"
    _, looks = tree.run(text, "-DEMPTIED=0")
    assert (looks[0].new, looks[0].again) == (42, 2 * 42)


def test_long_words_wait_for_their_second_time_where_half_of_the_arena_is_used(tree: Tree) -> None:
    rng = random.Random(8)
    text = "".join(f" {word}" for word in made_up(rng, 3_000, 17, 32))
    _, looks = tree.run(text, "-DEMPTIED=1", "-DGT_ARENA_LAST=(1u<<16)")
    assert 1_000 < looks[0].seen_once < 2_500 and looks[0].arena > 1 << 15
    _, whole = tree.run(text, "-DEMPTIED=0")
    assert whole[0].seen_once == 0


def test_an_arena_that_is_emptied_changes_no_ids_and_leaves_the_words_that_are_not_in_it(tree: Tree) -> None:
    rng = random.Random(9)
    words = made_up(rng, 20_000, 3, 16) + made_up(rng, 8_000, 17, 60)
    rng.shuffle(words)
    text = "".join(f" {word}" for word in words)
    right, looks = tree.run(text, "-DEMPTIED=0")
    ids, emptied = tree.run(text, "-DEMPTIED=1", "-DGT_ARENA_LAST=(1u<<15)")
    assert ids == right
    for whole, small in zip(looks, emptied, strict=True):
        assert small.arena < 1 << 15 < whole.arena
        assert small.in_arena < whole.in_arena / 2 and small.longs < whole.longs / 2
        assert small.words - small.in_arena >= (whole.words - whole.in_arena) * 0.99
