/* The automaton kernel: a walk over a table, one character a step. The ground truth of the others, and what runs where a
 * pattern has no bit program. See compiler/ir/automaton.py for how the tables are read. */

/* Column of the character at p < end. */
GT_INLINE uint32_t gt_column_at(const uint8_t *p, const uint8_t *end) {
  if (*p < 0x80) return gt_ascii_columns[*p];
  uint8_t copy[4] = {0, 0, 0, 0};
  if (GT_UNLIKELY(end - p < 4)) {
    memcpy(copy, p, (size_t)(end - p));
    p = copy;
  }
  uint32_t low;
  const uint32_t block = gt_code_point_block(p, &low);
  return gt_column_blocks[64u * gt_column_block_of[block] + low];
}

/* End of the match that starts at p, or NULL. A cell holds the next state and, in its top bit, "a match may end here". */
GT_INLINE const uint8_t *gt_match_end(const uint8_t *p, const uint8_t *end) {
  const uint8_t *found = NULL;
  uint32_t state = GT_AUTOMATON_START;
  while (state) {
    const uint32_t column = p < end ? gt_column_at(p, end) : GT_AUTOMATON_COLUMNS;
    const uint16_t cell = gt_automaton_cells[state * (GT_AUTOMATON_COLUMNS + 1) + column];
    if (cell & 0x8000) found = p;
    state = cell & 0x7FFF;
    if (p >= end) break;
    p += gt_sequence_length(*p);
  }
  return found;
}

/* End of the piece that starts at p < end: a match, or the characters before the next match. */
GT_INLINE const uint8_t *gt_piece_end(const uint8_t *p, const uint8_t *end) {
  const uint8_t *const match = gt_match_end(p, end);
  if (GT_LIKELY(match != NULL && match > p)) return match;
  do p += gt_sequence_length(*p);
  while (p < end && !gt_match_end(p, end));
  return p < end ? p : end;
}

static int64_t gt_boundaries_automaton(const uint8_t *text, size_t length, uint64_t *starts, int64_t capacity) {
  int64_t found = 0;
  for (const uint8_t *p = text, *end = text + length; p < end; p = gt_piece_end(p, end), found++)
    if (found < capacity) starts[found] = (uint64_t)(p - text);
  return found;
}

static int gt_encode_span_automaton(gt_thread *t, const uint8_t *begin, const uint8_t *stop, const uint8_t *end,
                                    const uint8_t *limit, gt_ids *ids) {
  for (const uint8_t *p = begin; p < stop;) {
    /* pieces that fit a chunk go through the batch, with 64 readable bytes after them */
    const uint8_t *const first = p;
    size_t count = 0;
    const uint8_t *next = p;
    while (p < stop && (next = gt_piece_end(p, end)) - first <= GT_CHUNK && limit - next >= 64) {
      t->starts[count++] = (uint32_t)(p - first);
      p = next;
    }
    if (count) {
      t->starts[count] = (uint32_t)(p - first);
      if (!gt_encode_batch_plain(t, first, limit, count, ids)) return 0;
    } else {
      if (!gt_append_pretoken(t, p, (size_t)(next - p), limit, ids)) return 0;
      p = next;
    }
  }
  return 1;
}
