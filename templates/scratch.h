/* Growing scratch memory. It belongs to one thread at a time and keeps what it holds when it grows. */
#ifndef GT_SCRATCH_H
#define GT_SCRATCH_H

#include <stddef.h>
#include <stdlib.h>

typedef struct {
  void *memory;
  size_t capacity;
} gt_scratch;

/* At least `bytes` bytes, the old contents first; NULL when there is no memory (and nothing has changed). */
static inline void *gt_scratch_reserve(gt_scratch *s, size_t bytes) {
  if (bytes <= s->capacity && s->memory) return s->memory;
  size_t grown = s->capacity + s->capacity / 2;
  if (grown < bytes) grown = bytes;
  if (grown < 4096) grown = 4096;
  void *memory = realloc(s->memory, grown);
  if (!memory) return NULL;
  s->memory = memory;
  s->capacity = grown;
  return memory;
}

#endif
