/* The normalizer of the module: its passes one after the other (gt_passes, from normalizer.inc.h), each over what the one before
 * it left. A text that no pass changes is never copied. */

/* What became of a text: it is as it was, a part of it is left where it lies, it is in scratch memory now. */
enum { GT_TEXT_SAME, GT_TEXT_PART, GT_TEXT_IN_SCRATCH, GT_TEXT_NO_MEMORY };

/* Normalize *begin..*end. What is written lies in `result` at the end; `spare` is for results between passes. */
static int gt_normalize(gt_scratch *result, gt_scratch *spare, const uint8_t **begin, const uint8_t **end) {
  gt_scratch *target = result, *other = spare;
  int where = GT_TEXT_SAME;
  for (unsigned i = 0; i < GT_PASS_COUNT; i++) {
    const gt_pass *const pass = &gt_passes[i];
    if (!pass->run) {
      const uint8_t *const from = *begin, *const to = *end;
      gt_strip(begin, end, pass->strip & 1, pass->strip & 2);
      if (where == GT_TEXT_SAME && (*begin != from || *end != to)) where = GT_TEXT_PART;
      continue;
    }
    size_t length = 0;
    const gt_outcome outcome = pass->run(pass->pass, *begin, (size_t)(*end - *begin), target, &length);
    if (outcome == GT_NORMALIZE_NO_MEMORY) return GT_TEXT_NO_MEMORY;
    if (outcome == GT_STOPPED) continue;
    i += pass->stands_for;
    if (GT_LIKELY(outcome == GT_SAME)) continue;
    *begin = target->memory;
    *end = *begin + length;
    where = GT_TEXT_IN_SCRATCH;
    gt_scratch *const written = target;
    target = other;
    other = written;
  }
  if (where == GT_TEXT_IN_SCRATCH && other == spare) { /* the last result is in `spare` */
    const gt_scratch swapped = *spare;
    *spare = *result;
    *result = swapped;
  }
  return where;
}
