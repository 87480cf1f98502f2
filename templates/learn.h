/* Words that no cache knows, many at a time: merging several words side by side is two to three times as fast as one after
 * the other (see merge.h), and their look-ups in the baked tables overlap.
 *
 *   find     the rest of the line's group, the arena, the baked words; then the stretches between safe cuts, each looked up
 *            like a word; what is left becomes parts: those stretches, or the whole word
 *   merge    the parts that are still unknown, all together
 *   gather   parts to words, words to values, both kept */
#ifndef GT_LEARN_H
#define GT_LEARN_H

GT_INLINE void gt_make_hot(gt_thread *t, size_t n, uint64_t lo, gt_value value) {
  if (n <= 8 && gt_value_kind(value.first) <= 2) *gt_hot_place(t, lo) = (gt_hot_slot){lo, value.first};
}

/* Ids of a value of at most four, where there is room for four; their number. */
GT_INLINE size_t gt_store_inline(gt_value value, uint32_t *ids) {
  gt_store64(ids, value.first & GT_VALUE_IDS);
  gt_store64(ids + 2, value.second);
  return gt_value_kind(value.first);
}

/* Ids of a part of at most 16 bytes that `parts` does not know, if `words` or the baked words do. */
GT_NOINLINE size_t gt_look_up_part(gt_thread *t, const uint8_t *p, size_t n, gt_part_slot *slot, uint32_t *ids) {
  uint64_t lo, hi;
  gt_word_key(p, n, &lo, &hi);
  gt_value value;
  const gt_word_slot *const known = gt_find_word(t, lo, hi);
  if (known && !gt_value_whole_only(known->value.first)) {
    if (gt_value_kind(known->value.first) > GT_VALUE_INLINE) return gt_copy_ids(t, known->value, ids);
    value = known->value;
  } else {
    const uint32_t id = gt_word16(lo, hi);
    if (id == GT_NONE || gt_whole_only(id)) return 0;
    value = gt_inline_value(&id, 1);
  }
  if (n <= 8) *slot = (gt_part_slot){lo, value};
  return gt_store_inline(value, ids);
}

/* Ids of a part of at most 16 bytes, if they are known: to `ids`, where there is room for four, their number returned; else
 * 0. 64 bytes can be read after a batch's text. */
GT_INLINE size_t gt_find_part(gt_thread *t, const uint8_t *p, size_t n, uint32_t *ids) {
  const uint64_t key = gt_hot_key(p, n);
  gt_part_slot *const slot = t->parts + (key * 0x9E3779B97F4A7C15ull >> (64 - GT_PART_BITS));
  if (GT_LIKELY(slot->key == key && slot->value.first)) return gt_store_inline(slot->value, ids);
  return gt_look_up_part(t, p, n, slot, ids);
}

/* Ids of a word whose parts are all known, to side[side_used]. Their number, or 0. `cut` is its first safe cut. */
static size_t gt_find_parts(gt_thread *t, const uint8_t *p, const uint8_t *end, const uint8_t *cut) {
  uint32_t *const ids = t->side + t->side_used;
  for (size_t count = 0;; cut = gt_next_cut(p, end)) {
    const size_t length = (size_t)(cut - p);
    const size_t more = GT_LIKELY(length <= 16) ? gt_find_part(t, p, length, ids + count) : 0;
    if (!more) return 0;
    count += more;
    if (cut == end) return count;
    p = cut;
  }
}

/* Ids of a part that have to be merged first. */
GT_INLINE void gt_wait_for_part(gt_thread *t, const uint8_t *p, size_t n, gt_word_part *part) {
  *part = (gt_word_part){t->part_ids + t->part_ids_used, 0, (int32_t)t->piece_count};
  t->pieces[t->piece_count++] = (gt_piece){p, part->ids, (uint32_t)n, 0};
  t->part_ids_used += GT_MOST_IDS(n, 1);
}

/* Parts of a word some of which have to be merged. */
static void gt_add_parts(gt_thread *t, const uint8_t *p, const uint8_t *end, const uint8_t *cut) {
  for (;; cut = gt_next_cut(p, end)) {
    const size_t length = (size_t)(cut - p);
    gt_word_part *const part = &t->word_parts[t->part_count++];
    uint32_t *const ids = t->part_ids + t->part_ids_used;
    const size_t count = length <= 16 ? gt_find_part(t, p, length, ids) : 0;
    if (count) {
      *part = (gt_word_part){ids, (uint32_t)count, -1};
      t->part_ids_used += count;
    } else {
      gt_wait_for_part(t, p, length, part);
    }
    if (cut == end) return;
    p = cut;
  }
}

/* A new word's ids, kept; its value. They may lie anywhere but in the arena. */
static gt_value gt_settle_word(gt_thread *t, const gt_miss *miss, const uint8_t *p, size_t n, const uint32_t *ids, size_t count) {
  if (n > 16) gt_keep_long(t, p, n, miss->lo, ids, count);
  else gt_keep_word(t, miss->lo, miss->hi, ids, count);
  if (count <= GT_VALUE_INLINE) {
    const gt_value value = gt_inline_value(ids, count);
    gt_make_hot(t, n, miss->lo, value);
    return value;
  }
  if (ids != t->side + t->side_used) memcpy(t->side + t->side_used, ids, count * sizeof *ids);
  return gt_side_value(t, count);
}

/* What the caches or the baked tables know of a missed piece; `first` is zero if nothing. */
static gt_value gt_find_missed(gt_thread *t, const gt_miss *miss, const uint8_t *p, size_t n) {
  if (n > 16) {
    const gt_value value = gt_find_long(t, p, n, miss->lo);
    if (value.first || n > GT_LONGEST_ENTRY) return value;
    const uint32_t id = gt_trie_exact(p, n);
    if (id == GT_NONE) return value;
    gt_keep_long(t, p, n, miss->lo, &id, 1);
    return gt_inline_value(&id, 1);
  }
  const gt_value value = gt_fetch_word(t, miss->lo, miss->hi);
  if (value.first) return value;
  const uint32_t id = gt_word16(miss->lo, miss->hi == GT_LONG_KEY ? 0 : miss->hi); /* sixteen NULs, see gt_look */
  if (id == GT_NONE) return value;
  gt_value entry = gt_inline_value(&id, 1);
  if (gt_whole_only(id)) entry.first |= GT_VALUE_WHOLE_ONLY;
  gt_keep_value(t, miss->lo, miss->hi, entry);
  return entry;
}

/* Ids of the words with new parts: joined, kept, and their values set. */
static void gt_gather_parts(gt_thread *t, const uint8_t *text, size_t words) {
  for (size_t w = 0; w < words; w++) {
    const gt_new_word *const word = &t->new_words[w];
    const gt_miss *const miss = &t->misses[word->miss];
    const uint8_t *const p = text + t->starts[miss->index];
    const size_t n = GT_PIECE_STOP(t, miss->index) - t->starts[miss->index];
    uint32_t *const ids = t->side + t->side_used;
    size_t count = 0;
    for (uint32_t i = word->first_part; i < word->end_part; i++) {
      const gt_word_part *const part = &t->word_parts[i];
      const gt_piece *const piece = part->piece < 0 ? NULL : &t->pieces[part->piece];
      const uint32_t more = piece ? piece->count : part->count;
      memcpy(ids + count, part->ids, more * sizeof *ids);
      count += more;
      if (piece && piece->length <= 16 && word->end_part - word->first_part > 1) {
        uint64_t lo, hi;
        gt_word_key(piece->bytes, piece->length, &lo, &hi);
        /* kept words answer for whole pre-tokens too: not where such a one is an entry that merging does not make */
        if (!GT_IGNORE_MERGES || gt_word16(lo, hi) == GT_NONE) gt_keep_word(t, lo, hi, part->ids, more);
      }
    }
    t->values[miss->index] = gt_settle_word(t, miss, p, n, ids, count);
  }
}

/* Values of the pieces that t->misses[t->missed[0 .. unknown)] tell of. 64 bytes can be read after the text. 0 without
 * memory. */
GT_NOINLINE int gt_learn(gt_thread *t, const uint8_t *text, const uint8_t *limit, size_t unknown) {
  if (GT_UNLIKELY(!t->parts) && !(t->parts = calloc((size_t)1 << GT_PART_BITS, sizeof *t->parts))) return 0;
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    if (miss->hi == GT_LONG_KEY) gt_long_prefetch(t, miss->lo);
    else {
      gt_word16_prefetch(miss->lo, miss->hi);
      __builtin_prefetch(t->words + (miss->line ^ 2), 1); /* its neighbour in the group */
    }
  }
  size_t words = 0;
  t->part_count = t->piece_count = t->part_ids_used = 0;
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    const uint32_t at = t->starts[miss->index];
    const size_t n = GT_PIECE_STOP(t, miss->index) - at;
    gt_value value;
    if (GT_UNLIKELY(n > GT_LONG_WORD)) {
      const size_t count = gt_pretoken_ids(t, text + at, n, limit, t->side + t->side_used);
      if (count == SIZE_MAX) return 0;
      value = gt_side_value(t, count);
    } else {
      value = gt_find_missed(t, miss, text + at, n);
      if (value.first) {
        gt_make_hot(t, n, miss->lo, value);
      } else {
        const uint8_t *const p = text + at, *const end = p + n;
        const uint8_t *const cut = gt_first_cut(p, end);
        const size_t count = cut < end ? gt_find_parts(t, p, end, cut) : 0;
        if (!count) {
          gt_new_word *const word = &t->new_words[words++];
          *word = (gt_new_word){t->missed[u], (uint32_t)t->part_count, 0};
          if (cut < end) gt_add_parts(t, p, end, cut);
          else gt_wait_for_part(t, p, n, &t->word_parts[t->part_count++]);
          word->end_part = (uint32_t)t->part_count;
          continue;
        }
        value = gt_settle_word(t, miss, p, n, t->side + t->side_used, count);
      }
    }
    t->values[miss->index] = value;
  }
  if (!words) return 1;
  if (!gt_merge_many(t->pieces, t->piece_count, &t->merge)) return 0;
  gt_gather_parts(t, text, words);
  return 1;
}

#endif
