/* One pass over a text, chunk by chunk. Included once for each kernel, after chunk.inc.h.
 *
 * A scan covers [begin, stop). `end` is where the text ends for look-ahead; stop is `end`, or a place where a piece is
 * certain to start (see gt_next_sync). `limit` is where readable memory ends. */
typedef struct {
  const uint8_t *next, *stop, *end, *limit;
  gt_right_memo *memo;
  uint8_t *tail; /* GT_TAIL bytes: the last chunk is copied here when less than GT_PAST readable bytes follow it */
  GT_ISA(gt_left) left;
} GT_ISA(gt_scan);

GT_INLINE void GT_ISA(gt_scan_open)(GT_ISA(gt_scan) *s, const uint8_t *begin, const uint8_t *stop, const uint8_t *end,
                                    const uint8_t *limit, gt_right_memo *memo, uint8_t *tail) {
  s->next = begin;
  s->stop = stop;
  s->end = end;
  s->limit = limit;
  s->memo = memo;
  s->tail = tail;
  memo->count = memo->next = 0;
  GT_ISA(gt_left_begin)(&s->left);
}

/* The next chunk: its length (0 at the end), through *text where its bytes can be read with GT_PAST more after them, and its
 * cuts (offsets from the chunk's start). */
GT_INLINE unsigned GT_ISA(gt_scan_next)(GT_ISA(gt_scan) *s, const uint8_t **text, gt_places *places) {
  const uint8_t *const p = s->next;
  if (p == s->stop) return 0;
  const uint8_t *const after = gt_chunk_end(p, s->stop);
  const unsigned n = (unsigned)(after - p);
  const unsigned right = after == s->end ? 0 : gt_right_state(after, s->end, s->memo);
  *text = p;
  if (GT_UNLIKELY((size_t)(s->limit - after) < GT_PAST)) {
    const size_t more = (size_t)(s->limit - after);
    memcpy(s->tail, p, n + more);
    memset(s->tail + n + more, 0, GT_PAST - more);
    *text = s->tail;
  }
  GT_ISA(gt_cut_chunk)(*text, n, right, &s->left, places);
  s->next = after;
  return n;
}
