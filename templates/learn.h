/* Words that no cache knows, many at a time: merging several words side by side is two to three times as fast as one after
 * the other (see merge.h), and look-ups overlap. Counted phases, as in encode.inc.h:
 *
 *   find     the rest of the line's group, the arena, the baked words
 *   cut      what is left, and for the first time in the batch, into stretches between safe cuts (or a word that has none waits to
 *            be merged)
 *   probe    the `parts` table by the stretch's bytes; what misses it is listed, no branch taken
 *   look up  `words` and the baked words for the missed, which else wait to be merged
 *   merge    all that waits, together
 *   join     stretches to words, words to values, both kept */
#ifndef GT_LEARN_H
#define GT_LEARN_H

GT_INLINE void gt_make_hot(gt_thread *t, size_t n, uint64_t lo, gt_value value) {
  if (n <= 8 && gt_value_kind(value.first) <= 2) *gt_hot_place(t, lo) = (gt_hot_slot){lo, value.first};
}

/* A new word's ids, kept; its value. More than four lie in `side`. */
static gt_value gt_settle_word(gt_thread *t, const gt_miss *miss, const uint8_t *p, size_t n, const uint32_t *ids, size_t count) {
  if (n > 16) gt_keep_long(t, p, n, miss->lo, ids, count);
  else gt_keep_word(t, miss->lo, miss->hi, ids, count);
  const gt_value value = gt_value_of(t, ids, count);
  gt_make_hot(t, n, miss->lo, value);
  return value;
}

/* What the caches or the baked tables know of a missed piece; `first` is zero if nothing. */
static gt_value gt_find_missed(gt_thread *t, const gt_miss *miss, const uint8_t *p, size_t n) {
  if (n > 16) {
    const gt_value value = gt_find_long(t, p, n, miss->lo);
    if (value.first || n > GT_LONGEST_ENTRY || !gt_may_be_entry(miss->lo)) return value;
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

/* A word often comes again in the batch that it is new in: a name, say. The number of the new word that is the same, or GT_NONE;
 * one that is overlooked is merged again. */
GT_INLINE uint32_t gt_learnt_now(gt_thread *t, const gt_miss *miss, const uint8_t *text, const uint8_t *p, size_t n) {
  uint16_t *const recent = &t->recent[gt_hash16(miss->lo, miss->hi) >> (64 - GT_RECENT_BITS)];
  const uint32_t number = *recent;
  *recent = (uint16_t)t->new_count;
  if (number >= t->new_count) return GT_NONE; /* left from a batch before */
  const gt_miss *const other = &t->misses[t->new_words[number].miss];
  if (other->lo != miss->lo || other->hi != miss->hi) return GT_NONE;
  if (n > 16) {
    const uint32_t at = t->starts[other->index];
    if (GT_PIECE_STOP(t, other->index) - at != n || memcmp(text + at, p, n) != 0) return GT_NONE;
  }
  *recent = (uint16_t)number;
  return number;
}

/* [p, p + n) is to be merged: its number among the pieces that are. */
GT_INLINE uint32_t gt_wait(gt_thread *t, const uint8_t *p, size_t n) {
  uint32_t *const ids = t->side + GT_SIDE + t->merged_used;
  t->merged_used += GT_MOST_IDS(n, 1);
  t->pieces[t->piece_count] = (gt_piece){p, ids, (uint32_t)n, 0};
  return t->piece_count++;
}

/* It is no use to look for safe cuts: the scan has cut what is long, or all is ASCII (see gt_may_cut), which the key tells. */
GT_INLINE int gt_is_one(const gt_thread *t, const gt_miss *miss, size_t n) {
  if (n <= t->uncut) return 1;
  return n <= 16 && !GT_CHARACTERS &&
         !(((miss->lo & ~gt_pads[n][0]) | (miss->hi & ~gt_pads[n][1])) & 0x8080808080808080ull);
}

/* The words of the missed pieces that t->missed[0 .. unknown) tells of: found, waiting to be merged, or cut to stretches. */
static int gt_find_or_cut(gt_thread *t, const uint8_t *text, const uint8_t *limit, size_t unknown) {
  t->new_count = t->again_count = t->stretch_count = t->piece_count = 0;
  t->merged_used = 0;
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    const uint32_t at = t->starts[miss->index];
    const size_t n = GT_PIECE_STOP(t, miss->index) - at;
    if (GT_UNLIKELY(n > GT_LONG_WORD)) {
      const size_t count = gt_pretoken_ids(t, text + at, n, limit, t->side + t->side_used);
      if (count == SIZE_MAX) return 0;
      t->values[miss->index] = gt_side_value(t, count);
      continue;
    }
    const gt_value value = gt_find_missed(t, miss, text + at, n);
    if (value.first) {
      gt_make_hot(t, n, miss->lo, value);
      t->values[miss->index] = value;
      continue;
    }
    const uint32_t same = gt_learnt_now(t, miss, text, text + at, n);
    if (same != GT_NONE) {
      t->again[t->again_count++] = (gt_again){miss->index, same};
      continue;
    }
    gt_new_word *const word = &t->new_words[t->new_count++];
    const uint32_t first = t->stretch_count;
    const uint32_t stretches = gt_is_one(t, miss, n) ? 1 : gt_cut_word(text, at, n, t->stretches + first);
    if (stretches > 1) {
      t->stretch_count += stretches;
      *word = (gt_new_word){t->missed[u], first, first + stretches};
    } else {
      *word = (gt_new_word){t->missed[u], gt_wait(t, text + at, n), 0};
    }
  }
  return 1;
}

GT_INLINE gt_word_slot *gt_part_place(const gt_thread *t, uint64_t lo, uint64_t hi) {
  return t->parts + (gt_hash16(lo, hi) >> (64 - GT_PART_BITS));
}

/* Values of the stretches that `parts` knows; the others' numbers to t->missed: how many. */
static uint32_t gt_probe_parts(gt_thread *t, const uint8_t *text) {
  uint32_t missed = 0;
  for (uint32_t i = 0; i < t->stretch_count; i++) {
    const gt_stretch stretch = t->stretches[i];
    const uint32_t n = stretch.length < 17 ? stretch.length : 17; /* what is too long has a key that is never kept */
    uint64_t lo, hi;
    gt_word_key(text + stretch.at, n, &lo, &hi);
    const gt_word_slot *const slot = gt_part_place(t, lo, hi);
    t->part_values[i] = slot->value;
    t->missed[missed] = i;
    missed += ((slot->lo ^ lo) | (slot->hi ^ hi) | (slot->value.first == 0)) != 0;
  }
  return missed;
}

/* Values of the `missed` stretches that `words` or the baked words know. The others wait to be merged: their numbers to t->missed,
 * those of their pieces to `second` of their values; how many they are. */
static uint32_t gt_look_up_parts(gt_thread *t, const uint8_t *text, uint32_t missed) {
  uint32_t waiting = 0;
  for (uint32_t m = 0; m < missed; m++) {
    const gt_stretch stretch = t->stretches[t->missed[m]];
    if (stretch.length > 16) continue;
    uint64_t lo, hi;
    gt_word_key(text + stretch.at, stretch.length, &lo, &hi);
    __builtin_prefetch(gt_word_line(t, gt_hash16(lo, hi)));
    gt_word16_prefetch(lo, hi);
  }
  for (uint32_t m = 0; m < missed; m++) {
    const uint32_t i = t->missed[m];
    const gt_stretch stretch = t->stretches[i];
    if (stretch.length <= 16) {
      uint64_t lo, hi;
      gt_word_key(text + stretch.at, stretch.length, &lo, &hi);
      const gt_word_slot *const known = gt_find_word(t, lo, hi);
      gt_value value = {0, 0};
      if (known && !gt_value_whole_only(known->value.first)) {
        value = known->value;
      } else {
        const uint32_t id = gt_word16(lo, hi);
        if (id != GT_NONE && !gt_whole_only(id)) value = gt_inline_value(&id, 1);
      }
      if (value.first) {
        t->part_values[i] = value;
        /* not what lies in the arena, which can be emptied between batches */
        if (gt_value_kind(value.first) <= GT_VALUE_INLINE) *gt_part_place(t, lo, hi) = (gt_word_slot){lo, hi, value};
        continue;
      }
    }
    t->missed[waiting++] = i;
    t->part_values[i].second = gt_wait(t, text + stretch.at, stretch.length);
  }
  return waiting;
}

/* Values of the stretches that had to wait, which are kept. */
static void gt_settle_parts(gt_thread *t, uint32_t waiting) {
  for (uint32_t m = 0; m < waiting; m++) {
    gt_value *const value = &t->part_values[t->missed[m]];
    const gt_piece *const piece = &t->pieces[value->second];
    *value = gt_value_of(t, piece->ids, piece->count);
    if (piece->length > 16) continue;
    uint64_t lo, hi;
    gt_word_key(piece->bytes, piece->length, &lo, &hi);
    if (piece->count <= GT_VALUE_INLINE) *gt_part_place(t, lo, hi) = (gt_word_slot){lo, hi, *value};
    /* kept words answer for whole pre-tokens too: not where such a one is an entry that merging does not make */
    if (!GT_IGNORE_MERGES || gt_word16(lo, hi) == GT_NONE) gt_keep_word(t, lo, hi, piece->ids, piece->count);
  }
}

/* Ids of the new words: kept, and their values set. */
static void gt_join_words(gt_thread *t, const uint8_t *text) {
  for (size_t w = 0; w < t->new_count; w++) {
    const gt_new_word *const word = &t->new_words[w];
    const gt_miss *const miss = &t->misses[word->miss];
    const uint8_t *const p = text + t->starts[miss->index];
    const size_t n = GT_PIECE_STOP(t, miss->index) - t->starts[miss->index];
    const uint32_t *ids = t->side + t->side_used;
    size_t count;
    if (word->end) {
      uint32_t *out = t->side + t->side_used;
      for (uint32_t i = word->first; i < word->end; i++) out = gt_emit(t, &t->part_values[i], out);
      count = (size_t)(out - ids);
      if (count > GT_VALUE_INLINE) t->side_used += count;
    } else {
      ids = t->pieces[word->first].ids;
      count = t->pieces[word->first].count;
    }
    t->values[miss->index] = gt_settle_word(t, miss, p, n, ids, count);
  }
  for (size_t a = 0; a < t->again_count; a++)
    t->values[t->again[a].index] = t->values[t->misses[t->new_words[t->again[a].word].miss].index];
}

/* Values of the pieces that t->misses[t->missed[0 .. unknown)] tell of. 64 bytes can be read after the text. 0 without
 * memory. */
GT_NOINLINE int gt_learn(gt_thread *t, const uint8_t *text, const uint8_t *limit, size_t unknown) {
  for (size_t u = 0; u < unknown; u++) {
    const gt_miss *const miss = &t->misses[t->missed[u]];
    if (miss->hi == GT_LONG_KEY) gt_long_prefetch(t, miss->lo);
    else {
      gt_word16_prefetch(miss->lo, miss->hi);
      __builtin_prefetch(t->words + (miss->line ^ 2), 1); /* its neighbour in the group */
    }
  }
  if (!gt_find_or_cut(t, text, limit, unknown)) return 0;
  if (!t->new_count) return 1;
  uint32_t waiting = 0;
  if (t->stretch_count) {
    waiting = gt_look_up_parts(t, text, gt_probe_parts(t, text));
  }
  if (t->piece_count && !gt_merge_many(t->pieces, t->piece_count, &t->merge)) return 0;
  gt_settle_parts(t, waiting);
  gt_join_words(t, text);
  return 1;
}

#endif
