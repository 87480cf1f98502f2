/* Pieces to ids, in counted phases over the pieces of one chunk. Included once for each ISA.
 *
 *   probe    the hot table by the word's first eight bytes; what misses it is listed, no branch taken
 *   look     keys and hashes of the missed, their cache lines prefetched
 *   settle   the words table
 *   learn    what it does not know: the baked tables and merging (learn.h)
 *   emit     four ids stored a piece, advanced by their number
 *
 * Phases instead of one loop: each is branch-free or nearly so, and the loads of many pieces overlap. */

GT_INLINE size_t GT_ISA(gt_probe)(gt_thread *t, const uint8_t *text, size_t pieces) {
  uint32_t *missed = t->missed;
  for (size_t begin = 0; begin < pieces; begin += 64) {
    const size_t n = pieces - begin < 64 ? pieces - begin : 64;
    const uint32_t *const starts = t->starts + begin;
    gt_value *const values = t->values + begin;
    uint64_t hits = 0; /* as bits: a list would take a store and its address a piece */
#if !GT_REMOVES
    uint32_t next = starts[n];
#endif
    for (size_t i = n; i-- > 0;) { /* from the end, so that the bits come in the order of the pieces */
      const uint32_t at = starts[i];
#if GT_REMOVES
      const uint32_t next = GT_STOPS(t)[begin + i];
#endif
      const uint64_t key = gt_hot_key(text + at, next - at);
      const gt_hot_slot *const slot = gt_hot_place(t, key);
#if !GT_REMOVES
      next = at;
#endif
      values[i].first = slot->first; /* at most two ids are hot: `second` does not matter */
      hits = GT_ISA(gt_push_zero)(hits, slot->key ^ key);
    }
    missed = GT_ISA(gt_flatten)(~hits & ~0ull >> (64 - n), (uint32_t)begin, missed);
  }
  return (size_t)(missed - t->missed);
}

GT_INLINE void GT_ISA(gt_look)(gt_thread *t, const uint8_t *text, size_t missed) {
  for (size_t m = 0; m < missed; m++) {
    gt_miss *const miss = &t->misses[m];
    const uint32_t i = t->missed[m], at = t->starts[i];
    const size_t n = GT_PIECE_STOP(t, i) - at;
    miss->index = i;
    if (GT_LIKELY(n <= 16)) {
      gt_word_key(text + at, n, &miss->lo, &miss->hi);
      const gt_word_slot *const line = gt_word_line(t, gt_hash16(miss->lo, miss->hi));
      miss->line = (uint32_t)(line - t->words);
      __builtin_prefetch(line);
      /* sixteen NULs have the key of an empty slot: they get one that no other word has */
      if (GT_UNLIKELY((miss->lo | miss->hi) == 0)) miss->hi = GT_LONG_KEY;
    } else {
      /* no word has this key, so that settling leaves it to the slow part */
      miss->hi = GT_LONG_KEY;
      miss->line = 0;
      if (n > GT_LONG_WORD) continue;
      miss->lo = gt_hash_bytes(text + at, n);
      __builtin_prefetch(gt_long_line(t, miss->lo));
    }
  }
}

/* What `words` knows of the missed; returns how many it did not know, whose numbers are left in t->missed. */
GT_INLINE size_t GT_ISA(gt_settle)(gt_thread *t, size_t missed) {
  const gt_word_slot *const words = t->words;
  size_t unknown = 0;
  for (size_t begin = 0; begin < missed; begin += 64) {
    const gt_miss *const misses = t->misses + begin;
    const size_t n = missed - begin < 64 ? missed - begin : 64;
    uint64_t installs = 0;
    for (size_t i = 0; i < n; i++) {
      const gt_miss *const miss = &misses[i];
      const uint64_t lo = miss->lo, hi = miss->hi;
      const gt_word_slot *const line = words + miss->line;
      const unsigned second = (line[1].lo == lo) & (line[1].hi == hi);
      const unsigned known = second | ((line[0].lo == lo) & (line[0].hi == hi));
      const gt_value value = line[second].value;
      t->values[miss->index] = value;
      t->missed[unknown] = (uint32_t)(begin + i);
      unknown += !known;
      /* short words with one or two ids become hot; a key of at most 8 bytes ends in eight 0xFF. Not here: a store whose
       * address waits for the words table would hold up the loads behind it */
      installs |= (uint64_t)(known & (hi == ~0ull) & (gt_value_kind(value.first) <= 2)) << i;
    }
    for (; installs; installs &= installs - 1) {
      const gt_miss *const miss = &misses[__builtin_ctzll(installs)];
      *gt_hot_place(t, miss->lo) = (gt_hot_slot){miss->lo, t->values[miss->index].first};
    }
  }
  return unknown;
}

/* Ids of `pieces` pieces of the chunk at text. 0 without memory. */
static int GT_ISA(gt_encode_batch)(gt_thread *t, const uint8_t *text, const uint8_t *limit, size_t pieces, gt_ids *ids) {
  gt_keep_bounded(t);
  t->side_used = 0;
  if (!gt_ids_reserve(ids, GT_MOST_IDS(GT_PIECE_STOP(t, pieces - 1) - t->starts[0], pieces))) return 0;
  const size_t missed = GT_ISA(gt_probe)(t, text, pieces);
  GT_ISA(gt_look)(t, text, missed);
  const size_t unknown = GT_ISA(gt_settle)(t, missed);
  if (unknown && GT_UNLIKELY(!gt_learn(t, text, limit, unknown))) return 0;
  uint32_t *out = ids->p + ids->n;
  for (size_t i = 0; i < pieces; i++) out = gt_emit(t, &t->values[i], out);
  ids->n = (size_t)(out - ids->p);
  return 1;
}
