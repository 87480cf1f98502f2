/* A Replace whose pattern is one ASCII character so many times or more, ` {2,}` in most definitions that have one. What matcher.h
 * does for any regex takes two automata and some loads a character; this takes a comparison for eight.
 */
#ifndef GT_RUNS_H
#define GT_RUNS_H

#include "characters.h"

typedef struct {
  gt_finder finder; /* of the character, two or three times where the least number is so many */
  uint8_t byte;
  uint32_t least; /* at least 1 */
  const uint8_t *content;
  uint32_t content_length;
} gt_run;

/* Where the run of `byte` that p is in ends. */
GT_INLINE const uint8_t *gt_run_end(const uint8_t *p, const uint8_t *end, uint8_t byte) {
  const uint64_t all = byte * UINT64_C(0x0101010101010101);
  for (; end - p >= 8; p += 8) {
    const uint64_t differs = gt_load64(p) ^ all;
    if (differs) return p + (__builtin_ctzll(differs) >> 3);
  }
  while (p < end && *p == byte) p++;
  return p;
}

GT_UNUSED static gt_outcome gt_replace_runs(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_run *const m = pass;
  const uint8_t *const end = p + n, *done = p, *after = p;
  gt_writer w = {out, out->memory};
  gt_candidates at = {p, p, 0};
  const uint8_t *q;
  int changed = 0;
  while ((q = gt_candidate(&m->finder, &at, end))) {
    if (q < after || *q != m->byte) continue;
    after = gt_run_end(q, end, m->byte);
    if (after >= at.next) at.mask = 0; /* the candidates that are left lie in the run */
    else at.mask &= ~0ull << (after - at.block);
    const size_t run = (size_t)(after - q);
    if (run < m->least || (run == m->content_length && memcmp(q, m->content, run) == 0)) continue;
    if (!gt_writer_reserve(&w, (size_t)(q - done) + m->content_length)) return GT_NORMALIZE_NO_MEMORY;
    gt_writer_copy(&w, done, q, end);
    memcpy(w.to, m->content, m->content_length);
    w.to += m->content_length;
    done = after;
    changed = 1;
  }
  if (!changed) return GT_SAME;
  return gt_writer_finish(w, done, end, length);
}

#endif
