/* A scan with its pieces encoded, and a scan alone. Included once for each ISA, after scan.inc.h and encode.inc.h. */

/* Ids of [begin, stop), appended; see gt_scan for stop, end and limit. 0 without memory. */
static int GT_ISA(gt_encode_span)(gt_thread *t, const uint8_t *begin, const uint8_t *stop, const uint8_t *end,
                                  const uint8_t *limit, gt_ids *ids) {
  GT_ISA(gt_scan) scan;
  GT_ISA(gt_scan_open)(&scan, begin, stop, end, limit, &t->memo, t->tail);
  const uint8_t *pending = begin, *chunk = begin; /* the piece that goes on in the next chunk */
  const uint8_t *text;
  uint32_t *last;
  unsigned n;
  while ((n = GT_ISA(gt_scan_next)(&scan, &text, t->starts, &last)) != 0) {
    size_t count = (size_t)(last - t->starts);
    if (count) {
      const uint8_t *const first = chunk + t->starts[0];
      if (pending < first && GT_UNLIKELY(!gt_append_pretoken(t, pending, (size_t)(first - pending), limit, ids))) return 0;
      if (chunk + n == stop) {
        t->starts[count] = n;
        pending = stop;
      } else {
        count--;
        pending = chunk + t->starts[count];
      }
      /* past the chunk 64 bytes can be read, of the text or of its copy */
      if (count && GT_UNLIKELY(!GT_ISA(gt_encode_batch)(t, text, text + n + 64, count, ids))) return 0;
    }
    chunk += n;
  }
  if (pending < stop) return gt_append_pretoken(t, pending, (size_t)(stop - pending), limit, ids);
  return 1;
}

/* gt_boundaries for one ISA. */
static int64_t GT_ISA(gt_boundaries)(const uint8_t *text, size_t length, uint64_t *starts, int64_t capacity) {
  gt_thread *const t = gt_thread_self();
  if (!t) return GT_NO_MEMORY;
  GT_ISA(gt_scan) scan;
  const uint8_t *const end = text + length;
  GT_ISA(gt_scan_open)(&scan, text, end, end, end, &t->memo, t->tail);
  int64_t found = 0;
  uint64_t chunk = 0;
  const uint8_t *bytes;
  uint32_t *last;
  unsigned n;
  while ((n = GT_ISA(gt_scan_next)(&scan, &bytes, t->starts, &last)) != 0) {
    for (const uint32_t *at = t->starts; at < last; at++, found++)
      if (found < capacity) starts[found] = chunk + *at;
    chunk += n;
  }
  return found;
}
