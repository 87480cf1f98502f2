/* Growing scratch memory. It belongs to one thread at a time and keeps what it holds when it grows. */
#ifndef GT_SCRATCH_H
#define GT_SCRATCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define GT_HUGE ((size_t)2 << 20)

/* From 2 MiB on memory is put on huge pages where the system grants them: random probes then miss the TLB less, and fresh
 * memory takes fewer page faults. */
static void gt_want_huge_pages(void *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t from = ((uintptr_t)p + GT_HUGE - 1) & ~(GT_HUGE - 1), to = ((uintptr_t)p + bytes) & ~(GT_HUGE - 1);
  if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
  (void)p, (void)bytes;
#endif
}

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
  if (grown >= GT_HUGE) gt_want_huge_pages(memory, grown);
  s->memory = memory;
  s->capacity = grown;
  return memory;
}

#endif
