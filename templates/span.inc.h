/* A scan with its pieces encoded. Included once for each kernel, after scan.inc.h and encode.inc.h. */

/* Ids of [begin, stop), appended; see gt_scan for stop, end and limit. 0 without memory. */
static int GT_ISA(gt_encode_span)(gt_thread *t, const uint8_t *begin, const uint8_t *stop, const uint8_t *end,
                                  const uint8_t *limit, gt_ids *ids) {
  GT_ISA(gt_scan) scan;
  GT_ISA(gt_scan_open)(&scan, begin, stop, end, limit, &t->memo, t->tail);
  const uint8_t *pending = GT_REMOVES ? NULL : begin, *chunk = begin; /* the piece that goes on in the next chunk */
  const uint8_t *text;
  gt_places places = {.starts = t->starts, .cut_long = 1};
  unsigned n;
  /* past the chunk GT_PAST bytes can be read, of the text or of its copy */
#if GT_REMOVES
  for (;; chunk += n) {
    /* the stop of the pending piece would come first: it goes before the list, so that stops[i] is that of starts[i] */
    places.stops = GT_STOPS(t) - (pending != NULL);
    if ((n = GT_ISA(gt_scan_next)(&scan, &text, &places)) == 0) break;
    if (pending) {
      if (places.stops_end < GT_STOPS(t)) continue;
      const size_t length = (size_t)(chunk + t->stop_list[0] - pending);
      if (GT_UNLIKELY(!gt_append_pretoken(t, pending, length, limit, ids))) return 0;
      pending = NULL;
    }
    size_t count = (size_t)(places.stops_end - GT_STOPS(t));
    if (count < (size_t)(places.starts_end - t->starts)) { /* the last piece is open */
      if (chunk + n == stop) GT_STOPS(t)[count++] = n;
      else pending = chunk + t->starts[count];
    }
    if (count && GT_UNLIKELY(!GT_ISA(gt_encode_batch)(t, text, text + n + GT_PAST, count, ids))) return 0;
  }
  return !pending || gt_append_pretoken(t, pending, (size_t)(stop - pending), limit, ids);
#else
  for (; (n = GT_ISA(gt_scan_next)(&scan, &text, &places)) != 0; chunk += n) {
    size_t count = (size_t)(places.starts_end - t->starts);
#if GT_CUTS_WIDE
    t->uncut = places.wide ? 16 : 0; /* of what is not cut, that which the tables of words take */
#endif
    if (count == 0) continue;
    const uint8_t *const first = chunk + t->starts[0];
    if (pending < first && GT_UNLIKELY(!gt_append_pretoken(t, pending, (size_t)(first - pending), limit, ids))) return 0;
    if (chunk + n == stop) {
      t->starts[count] = n;
      pending = stop;
    } else {
      count--;
      pending = chunk + t->starts[count];
    }
    if (count && GT_UNLIKELY(!GT_ISA(gt_encode_batch)(t, text, text + n + GT_PAST, count, ids))) return 0;
  }
  return pending == stop || gt_append_pretoken(t, pending, (size_t)(stop - pending), limit, ids);
#endif
}
