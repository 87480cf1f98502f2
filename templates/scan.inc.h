/* One pass over a text, chunk by chunk. Included once for each ISA, after boundary.inc.h.
 *
 * A scan covers [begin, stop). `end` is where the text ends for look-ahead; stop is `end`, or a place where a piece is
 * certain to start (see gt_next_sync). `limit` is where readable memory ends. */
typedef struct {
  const uint8_t *begin, *next, *stop, *end, *limit;
  gt_right_memo *memo;
  uint8_t *tail; /* GT_TAIL bytes: the last chunk is copied here when less than 64 readable bytes follow it */
  uint64_t carry[GT_LEFT + 1];
} GT_ISA(gt_scan);

GT_INLINE void GT_ISA(gt_scan_open)(GT_ISA(gt_scan) *s, const uint8_t *begin, const uint8_t *stop, const uint8_t *end,
                                    const uint8_t *limit, gt_right_memo *memo, uint8_t *tail) {
  s->begin = s->next = begin;
  s->stop = stop;
  s->end = end;
  s->limit = limit;
  s->memo = memo;
  s->tail = tail;
  memo->count = 0;
  for (unsigned i = 0; i < GT_LEFT; i++) s->carry[i] = gt_left_initial[i];
}

/* The next chunk: its length (0 at the end), through *text where its bytes can be read with 64 more after them, through
 * *last the end of the piece starts (offsets from the chunk's start) written to `starts`. */
GT_INLINE unsigned GT_ISA(gt_scan_next)(GT_ISA(gt_scan) *s, const uint8_t **text, uint32_t *starts, uint32_t **last) {
  const uint8_t *const p = s->next;
  const size_t left = (size_t)(s->stop - p);
  if (left == 0) return 0;
  const unsigned n = left < GT_CHUNK ? (unsigned)left : GT_CHUNK;
  const uint64_t right = p + n == s->end ? gt_right_values[0] : gt_right_values[gt_right_state(p + n, s->end, s->memo)];
  *text = p;
  if ((size_t)(s->limit - p) < (size_t)n + 64) {
    /* a character that began before the chunk is looked back at */
    const size_t back = (size_t)(p - s->begin) < 3 ? (size_t)(p - s->begin) : 3;
    const size_t more = (size_t)(s->limit - p) - n;
    memcpy(s->tail + 8 - back, p - back, back + n + more);
    memset(s->tail + 8 + n + more, 0, 64 - more);
    *text = s->tail + 8;
  }
  *last = GT_ISA(gt_chunk_starts)(*text, n, right, s->carry, 0, starts);
  s->next = p + n;
  return n;
}
