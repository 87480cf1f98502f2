/* str as UTF-8.
 *
 * ASCII str are used where they lie. Others hold no UTF-8: it is made in scratch that goes away with the call, not by
 * PyUnicode_AsUTF8AndSize, which would leave a second copy of every text inside its str for good.
 */
#ifndef GIGATOK_PYTEXT_H
#define GIGATOK_PYTEXT_H

#include "pyutf8.h"

enum { PYGT_STACK_BYTES = 4096, PYGT_BLOCK_BYTES = 1 << 18 };

/* Scratch for UTF-8 made from str: a first piece on the stack, then blocks. Pointers into it stay valid. */
typedef struct pygt_block {
  struct pygt_block *next;
} pygt_block;

typedef struct {
  uint8_t *at;
  size_t left;
  pygt_block *blocks;
} pygt_arena;

/* At least `n` bytes at arena->at. 0, or -1 when memory is out (no exception is set). */
static int pygt_arena_reserve(pygt_arena *arena, size_t n) {
  if (n <= arena->left) return 0;
  size_t bytes = n > PYGT_BLOCK_BYTES ? n : PYGT_BLOCK_BYTES;
  pygt_block *block = PyMem_RawMalloc(sizeof(pygt_block) + bytes);
  if (!block) return -1;
  block->next = arena->blocks;
  arena->blocks = block;
  arena->at = (uint8_t *)(block + 1);
  arena->left = bytes;
  return 0;
}

static void pygt_arena_free(pygt_arena *arena) {
  while (arena->blocks) {
    pygt_block *next = arena->blocks->next;
    PyMem_RawFree(arena->blocks);
    arena->blocks = next;
  }
}

/* UTF-8 of a str that is not ASCII, in the arena. 0; -1 with an exception; 1 at a surrogate. */
static int pygt_transcode(pygt_arena *arena, PyObject *text, const uint8_t **data, size_t *length) {
  size_t n = (size_t)PyUnicode_GET_LENGTH(text);
  int kind = (int)PyUnicode_KIND(text); /* the width of a character, as its name says */
  size_t most = kind == PyUnicode_1BYTE_KIND ? 2 : kind == PyUnicode_2BYTE_KIND ? 3 : 4;
  if (n > (size_t)PY_SSIZE_T_MAX / 8 || pygt_arena_reserve(arena, n * most + PYGT_SLACK) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  uint8_t *start = arena->at, *end = pygt_utf8(PyUnicode_DATA(text), kind, n, start);
  if (!end) return 1;
  *data = start;
  *length = (size_t)(end - start);
  arena->at = end;
  arena->left -= *length;
  return 0;
}

#endif
