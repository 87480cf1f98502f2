/* Words that no cache knows, many at a time: merging several words side by side is two to three times as fast as one after
 * the other (see merge.h), and their look-ups in the baked tables overlap.
 *
 *   find     the other line of the pair, the arena, the baked words; what is left becomes parts: the whole word, or its
 *            stretches between safe cuts, each looked up like a word
 *   merge    the parts that are still unknown, all together
 *   gather   parts to words, words to values, both kept */
#ifndef GT_LEARN_H
#define GT_LEARN_H

GT_INLINE void gt_make_hot(gt_thread *t, size_t n, uint64_t lo, gt_value value) {
  if (n <= 8 && gt_value_kind(value.first) <= 2) t->hot[gt_hot_index(lo)] = (gt_hot_slot){lo, value.first};
}

/* Ids of a part of at most 16 bytes, if they are known: appended to part_ids. A value that holds for whole pre-tokens only
 * is not taken. 64 bytes can be read after a batch's text. */
GT_INLINE int gt_find_part(gt_thread *t, const uint8_t *p, size_t n) {
  uint32_t *const ids = t->part_ids + t->part_ids_used;
  const uint64_t key = gt_hot_key(p, n);
  const gt_hot_slot *const hot = t->hot + gt_hot_index(key);
  if (GT_LIKELY(hot->key == key && !gt_value_whole_only(hot->first))) {
    gt_store64(ids, hot->first & GT_VALUE_IDS);
    t->part_ids_used += gt_value_kind(hot->first);
    return 1;
  }
  uint64_t lo, hi;
  gt_word_key(p, n, &lo, &hi);
  const gt_word_slot *const known = gt_find_word(t, lo, hi);
  if (known && !gt_value_whole_only(known->value.first)) {
    gt_make_hot(t, n, lo, known->value);
    t->part_ids_used += gt_copy_ids(t, known->value, ids);
    return 1;
  }
  const uint32_t id = gt_word16(lo, hi);
  if (id == GT_NONE || gt_whole_only(id)) return 0;
  gt_make_hot(t, n, lo, gt_inline_value(&id, 1));
  *ids = id;
  t->part_ids_used++;
  return 1;
}

/* Ids of a part that have to be merged first. */
GT_INLINE void gt_wait_for_part(gt_thread *t, const uint8_t *p, size_t n, gt_word_part *part) {
  *part = (gt_word_part){t->part_ids + t->part_ids_used, 0, (int32_t)t->piece_count};
  t->pieces[t->piece_count++] = (gt_piece){p, part->ids, (uint32_t)n, 0};
  t->part_ids_used += n;
}

/* Parts of a word that nothing knows. 1 if all of them are known: then their ids lie one after the other in part_ids. */
static int gt_add_parts(gt_thread *t, const uint8_t *p, size_t n) {
  const uint8_t *const end = p + n;
  const uint8_t *cut = n > 16 || gt_worth_cutting(p, n) ? gt_next_cut(p, end) : end;
  if (cut == end) {
    gt_wait_for_part(t, p, n, &t->word_parts[t->part_count++]);
    return 0;
  }
  const size_t waiting = t->piece_count;
  for (;; cut = gt_next_cut(p, end)) {
    const size_t length = (size_t)(cut - p), before = t->part_ids_used;
    gt_word_part *const part = &t->word_parts[t->part_count++];
    if (GT_LIKELY(length <= 16) && gt_find_part(t, p, length))
      *part = (gt_word_part){t->part_ids + before, (uint32_t)(t->part_ids_used - before), -1};
    else gt_wait_for_part(t, p, length, part);
    if (cut == end) return t->piece_count == waiting;
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
  const uint32_t id = gt_word16(miss->lo, miss->hi);
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
    const size_t n = t->starts[miss->index + 1] - t->starts[miss->index];
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
        gt_keep_word(t, lo, hi, part->ids, more);
      }
    }
    t->values[miss->index] = gt_settle_word(t, miss, p, n, ids, count);
  }
}

/* Values of the pieces that t->misses[t->missed[0 .. unknown)] tell of. 64 bytes can be read after the text. 0 without
 * memory. */
GT_NOINLINE int gt_learn(gt_thread *t, const uint8_t *text, const uint8_t *limit, size_t unknown) {
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    if (miss->hi == GT_LONG_KEY) gt_long_prefetch(t, miss->lo);
    else gt_word16_prefetch(miss->lo, miss->hi);
  }
  size_t words = 0;
  t->part_count = t->piece_count = t->part_ids_used = 0;
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    const uint32_t at = t->starts[miss->index];
    const size_t n = t->starts[miss->index + 1] - at;
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
        const size_t first_part = t->part_count, ids_before = t->part_ids_used;
        if (!gt_add_parts(t, text + at, n)) {
          t->new_words[words++] = (gt_new_word){t->missed[u], (uint32_t)first_part, (uint32_t)t->part_count};
          continue;
        }
        value = gt_settle_word(t, miss, text + at, n, t->part_ids + ids_before, t->part_ids_used - ids_before);
        t->part_count = first_part;
        t->part_ids_used = ids_before;
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
