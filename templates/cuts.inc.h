/* A scan alone. Included once for each kernel, after scan.inc.h. */

/* gt_boundaries for one kernel. */
static int64_t GT_ISA(gt_boundaries)(const uint8_t *text, size_t length, uint64_t *starts, uint64_t *stops, int64_t capacity) {
  gt_thread *const t = gt_thread_self();
  if (!t) return GT_NO_MEMORY;
  GT_ISA(gt_scan) scan;
  const uint8_t *const end = text + length;
  GT_ISA(gt_scan_open)(&scan, text, end, end, end, &t->memo, t->tail);
  int64_t found = 0, stopped = 0;
  uint64_t chunk = 0;
  const uint8_t *bytes;
  gt_places places = {.starts = t->starts};
#if GT_REMOVES
  places.stops = GT_STOPS(t);
#endif
  for (unsigned n; (n = GT_ISA(gt_scan_next)(&scan, &bytes, &places)) != 0; chunk += n) {
    const uint32_t *at = t->starts;
#if GT_REMOVES
    if (stops)
      for (const uint32_t *to = GT_STOPS(t); to < places.stops_end && stopped < capacity; to++) stops[stopped++] = chunk + *to;
#else
    if (stops) /* each but the first of all stops the piece before */
      for (const uint32_t *to = at + (found == 0); to < places.starts_end && stopped < capacity; to++)
        stops[stopped++] = chunk + *to;
#endif
    for (; at < places.starts_end; at++, found++)
      if (found < capacity) starts[found] = chunk + *at;
  }
  if (stops && stopped < found && stopped < capacity) stops[stopped] = length; /* open at the end */
  return found;
}

#ifdef GT_SPLITTER
/* gt_count_pieces for one kernel: all that encoding spends on cutting, and no more. */
static int64_t GT_ISA(gt_count_pieces)(const uint8_t *text, size_t length) {
  gt_thread *const t = gt_thread_self();
  GT_ISA(gt_scan) scan;
  const uint8_t *const end = text + length;
  GT_ISA(gt_scan_open)(&scan, text, end, end, end, &t->memo, t->tail);
  int64_t found = 0;
  const uint8_t *bytes;
  gt_places places = {.starts = t->starts};
#if GT_REMOVES
  places.stops = GT_STOPS(t);
#endif
  while (GT_ISA(gt_scan_next)(&scan, &bytes, &places)) found += places.starts_end - t->starts;
  return found;
}
#endif
