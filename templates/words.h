/* Words to ids: the slow half of a probe. What the caches do not know is looked up in the baked tables, cut at safe places,
 * merged, and put into the caches. See thread.h for the caches' layout. */
#ifndef GT_WORDS_H
#define GT_WORDS_H

/* OR of these pads a word of n bytes (0-16) to its 16-byte key. */
#define GT_PAD8(n) ((n) >= 8 ? 0ull : ~0ull << (8 * (n)))
#define GT_PADS(n) {GT_PAD8(n), (n) <= 8 ? ~0ull : GT_PAD8((n) - 8)}
static const uint64_t gt_pads[18][2] __attribute__((aligned(64))) = {
  GT_PADS(0),  GT_PADS(1),  GT_PADS(2),  GT_PADS(3),  GT_PADS(4),  GT_PADS(5),  GT_PADS(6),  GT_PADS(7), GT_PADS(8),
  GT_PADS(9),  GT_PADS(10), GT_PADS(11), GT_PADS(12), GT_PADS(13), GT_PADS(14), GT_PADS(15), GT_PADS(16),
  {~0ull, ~0ull}}; /* of what is too long: no word has this key */
/* For the hot table, which holds words of at most 8 bytes: longer ones become a key that is never stored. A piece of a batch
 * has at most GT_CHUNK bytes, so that its length need not be clamped; of the table only the first lines are ever looked at. */
static const uint64_t gt_hot_pads[GT_CHUNK + 1] __attribute__((aligned(64))) = {
  GT_PAD8(0), GT_PAD8(1), GT_PAD8(2), GT_PAD8(3), GT_PAD8(4), GT_PAD8(5), GT_PAD8(6), GT_PAD8(7), GT_PAD8(8),
  [9 ... GT_CHUNK] = ~0ull};

GT_INLINE uint64_t gt_hot_key(const uint8_t *p, size_t n) { return gt_load64(p) | gt_hot_pads[n]; }
GT_INLINE gt_hot_slot *gt_hot_place(const gt_thread *t, uint64_t key) {
  /* a byte offset: the slots are 16 bytes */
  return (gt_hot_slot *)((uint8_t *)t->hot + (key * 0x9E3779B97F4A7C15ull >> (64 - GT_HOT_BITS - 4) & ~15ull));
}

/* The key of a word of at most 16 bytes (n 17: of what is longer, which is no word's); reads 16 bytes at p. */
GT_INLINE void gt_word_key(const uint8_t *p, size_t n, uint64_t *lo, uint64_t *hi) {
  *lo = gt_load64(p) | gt_pads[n][0];
  *hi = gt_load64(p + 8) | gt_pads[n][1];
}

/* The same, reading no byte at or after `limit`. */
GT_INLINE void gt_word_key_bounded(const uint8_t *p, size_t n, const uint8_t *limit, uint64_t *lo, uint64_t *hi) {
  uint8_t copy[16];
  if ((size_t)(limit - p) >= 16) {
    gt_word_key(p, n, lo, hi);
    return;
  }
  memset(copy, 0, sizeof copy);
  memcpy(copy, p, n);
  gt_word_key(copy, n, lo, hi);
}

GT_INLINE gt_word_slot *gt_word_line(const gt_thread *t, uint64_t hash) {
  return t->words + (hash >> (64 - t->word_bits) & ~1ull);
}

/* The four lines that hold a line's words when it is full: any word of any of them may be anywhere in there. */
enum { GT_GROUP = 8 };
GT_INLINE gt_word_slot *gt_word_group(const gt_thread *t, const gt_word_slot *line) {
  return t->words + ((size_t)(line - t->words) & ~(size_t)(GT_GROUP - 1));
}

GT_INLINE gt_long_slot *gt_long_line(const gt_thread *t, uint64_t hash) {
  return t->longs + (hash >> (64 - t->long_bits) & ~3ull);
}

GT_INLINE void gt_long_prefetch(const gt_thread *t, uint64_t hash) {
  const gt_long_slot *const line = gt_long_line(t, hash);
  for (unsigned k = 0; k < 4; k++)
    if (line[k].hash == hash && line[k].at != GT_SEEN_ONCE)
      for (unsigned i = 0; i < 3; i++) __builtin_prefetch(t->arena + line[k].at + 16 * i); /* most have no more lines */
}

/* ------------------------------------------------------------------ finding, placing, growing */

/* The slot of a word in its line, or in its group if the line is full (a line that is full stays full), or NULL. */
GT_INLINE gt_word_slot *gt_find_word(const gt_thread *t, uint64_t lo, uint64_t hi) {
  gt_word_slot *const line = gt_word_line(t, gt_hash16(lo, hi)), *const group = gt_word_group(t, line);
  for (unsigned k = 0; k < 2; k++) {
    if (!line[k].value.first) return NULL;
    if (line[k].lo == lo && line[k].hi == hi) return &line[k];
  }
  for (unsigned k = 0; k < GT_GROUP; k++)
    if (group[k].lo == lo && group[k].hi == hi && group[k].value.first) return &group[k];
  return NULL;
}

/* A word that is not there yet: in its line, else where the group has room, else instead of its line's older one. */
static void gt_place_word(gt_thread *t, const gt_word_slot *slot) {
  gt_word_slot *const line = gt_word_line(t, gt_hash16(slot->lo, slot->hi)), *const group = gt_word_group(t, line);
  gt_word_slot *place = line[0].value.first ? line + 1 : line;
  for (unsigned k = 0; place->value.first && k < GT_GROUP; k++)
    if (!group[k].value.first) place = &group[k];
  if (place->value.first) line[0] = line[1];
  else t->word_count++;
  *place = *slot;
}

/* Twice as many slots, where the table lies: hashes name slots by their top bits, so what is in group g goes to the groups 2g
 * and 2g + 1, of which nothing else is left when they are filled from the last one on. The first time, four times as many,
 * elsewhere. A cache need not grow. */
static void gt_grow_words(gt_thread *t) {
  gt_word_slot *const old = t->words;
  size_t at = (size_t)1 << t->word_bits;
  const int moves = !gt_words_grown(t);
  if (moves && !gt_thread_grown(t)) return;
  t->word_bits += moves ? 2 : 1;
  t->word_count = 0;
  if (moves) t->words = (gt_word_slot *)t->grown;
  while (at) {
    gt_word_slot group[GT_GROUP];
    at -= GT_GROUP;
    memcpy(group, old + at, sizeof group);
    memset(old + at, 0, sizeof group);
    for (unsigned k = 0; k < GT_GROUP; k++)
      if (group[k].value.first) gt_place_word(t, &group[k]);
  }
}

/* The same with lines of four. */
static void gt_grow_longs(gt_thread *t) {
  gt_long_slot *const old = t->longs;
  size_t at = (size_t)1 << t->long_bits;
  const int moves = !gt_longs_grown(t);
  if (moves && !gt_thread_grown(t)) return;
  t->long_bits += moves ? 2 : 1;
  if (moves) t->longs = (gt_long_slot *)(t->grown + GT_GROWN_WORDS);
  while (at) {
    gt_long_slot line[4];
    at -= 4;
    memcpy(line, old + at, sizeof line);
    memset(old + at, 0, sizeof line);
    for (unsigned i = 0; i < 4; i++) {
      if (!line[i].length) continue;
      gt_long_slot *const place = gt_long_line(t, line[i].hash);
      unsigned k = 0;
      while (k < 3 && place[k].length) k++;
      place[k] = line[i];
    }
  }
}

/* Place for `count` entries in the arena, or NULL (then the word is simply not kept). */
static uint32_t *gt_arena_take(gt_thread *t, size_t count) {
  if (GT_UNLIKELY(t->arena_used + count > GT_ARENA_FIRST)) {
    if (t->arena_used + count > GT_ARENA_LAST || !gt_thread_grown(t)) return NULL;
    if (!gt_arena_grown(t)) t->arena = memcpy(t->grown + GT_GROWN_TABLES, t->arena, GT_ARENA_BYTES(GT_ARENA_FIRST));
  }
  uint32_t *const place = t->arena + t->arena_used;
  t->arena_used += count;
  return place;
}

/* Between batches, when no value points into the arena. */
GT_INLINE void gt_keep_bounded(gt_thread *t) {
  if (GT_UNLIKELY(t->arena_used > GT_ARENA_LAST / 8 * 7)) gt_thread_empty_arena(t);
}

/* ------------------------------------------------------------------ merging */

#if GT_IGNORE_MERGES
/* Entries that merging does not reach: they are the ids of whole pre-tokens only. */
GT_INLINE int gt_whole_only(uint32_t id) { return gt_whole_only_bits[id >> 3] >> (id & 7) & 1; }
#else
GT_INLINE int gt_whole_only(uint32_t id) { (void)id; return 0; }
#endif

/* A pre-token may have a safe cut inside. In byte-level vocabularies short words of ASCII letters have none, and looking for one
 * costs more than it saves. What is unknown has a say in its neighbours (dropped, they touch; fused, they are one), so a
 * pre-token with any of that is not cut. */
GT_INLINE int gt_may_cut(const uint8_t *p, size_t n) {
  if (!GT_SAFE_CUTS) return 0;
  if (!GT_CHARACTERS && n <= 16) {
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++) any |= p[i];
    if (!(any >> 7)) return 0;
  }
  return GT_LIKELY(gt_has_atoms(p, n));
}

/* [begin, begin + n) of the text as stretches between safe cuts, from `out` on: their number. The caller knows that it is no short
 * word of ASCII letters (see gt_may_cut). Whether there is a cut cannot be foreseen, so it is no branch. Four bytes can be read after the text. See gt_next_cut, which finds one at a time. */
GT_INLINE uint32_t gt_cut_word(const uint8_t *text, uint32_t begin, size_t n, gt_stretch *out) {
  const uint8_t *const end = text + begin + n, *p = text + begin;
  gt_stretch *stretch = out;
  uint32_t from = begin;
  if (GT_SAFE_CUTS && GT_LIKELY(gt_has_atoms(p, n))) {
#if GT_BYTES
    while (p < end && (*p & 0xC0) == 0x80) p++;
#endif
    unsigned length;
    uint32_t left = gt_cut_character_ahead(p, &length);
    for (p += length; p < end; p += length) {
      const uint32_t at = (uint32_t)(p - text), right = gt_cut_character_ahead(p, &length);
      const int cut = gt_cut_between(left, right, p[-1], *p);
      *stretch = (gt_stretch){from, at - from};
      stretch += cut;
      from = cut ? at : from;
      left = right;
    }
  }
  *stretch++ = (gt_stretch){from, begin + (uint32_t)n - from};
  return (uint32_t)(stretch - out);
}

static void gt_keep_word(gt_thread *t, uint64_t lo, uint64_t hi, const uint32_t *ids, size_t count);

/* The ids of a value to `out`, where there is room for one more than there are. */
static size_t gt_copy_ids(const gt_thread *t, gt_value value, uint32_t *out) {
  const unsigned kind = gt_value_kind(value.first);
  if (kind > GT_VALUE_INLINE) {
    const uint32_t count = gt_value_count(value.first);
    memcpy(out, (kind == GT_VALUE_SIDE ? t->side : t->arena) + (uint32_t)value.first, count * sizeof *out);
    return count;
  }
  gt_store64(out, value.first & GT_VALUE_IDS);
  if (kind > 2) gt_store64(out + 2, value.second);
  return kind;
}

/* Ids of a part of a pre-token, by merging alone. Parts of at most 16 bytes are kept like words: their keys are in no
 * vocabulary, so as whole pre-tokens they would give the same. SIZE_MAX without memory. */
static size_t gt_part_ids(gt_thread *t, const uint8_t *p, size_t n, const uint8_t *limit, uint32_t *out) {
  if (n > 16) return gt_merge(p, n, out, &t->merge);
  uint64_t lo, hi;
  gt_word_key_bounded(p, n, limit, &lo, &hi);
  const uint32_t id = gt_word16(lo, hi);
  if (GT_LIKELY(id != GT_NONE)) {
    if (GT_UNLIKELY(gt_whole_only(id))) return gt_merge(p, n, out, &t->merge);
    out[0] = id;
    return 1;
  }
  const gt_word_slot *const known = gt_find_word(t, lo, hi);
  if (known && !gt_value_whole_only(known->value.first)) return gt_copy_ids(t, known->value, out);
  const size_t count = gt_merge(p, n, out, &t->merge);
  if (count != SIZE_MAX) gt_keep_word(t, lo, hi, out, count);
  return count;
}

/* Ids of a pre-token that is no entry: cut where no entry can cross, then merged. `out` has room for GT_MOST_IDS(n, 1) ids. */
static size_t gt_merge_cut(gt_thread *t, const uint8_t *p, size_t n, const uint8_t *limit, uint32_t *out) {
  const uint8_t *const end = p + n;
  const uint8_t *cut = gt_may_cut(p, n) ? gt_next_cut(p, end) : end;
  if (cut == end) return gt_merge(p, n, out, &t->merge);
  size_t count = 0;
  for (const uint8_t *from = p;; from = cut, cut = gt_next_cut(from, end)) {
    const size_t more = gt_part_ids(t, from, (size_t)(cut - from), limit, out + count);
    if (GT_UNLIKELY(more == SIZE_MAX)) return SIZE_MAX;
    count += more;
    if (cut == end) return count;
  }
}

/* Ids of a whole pre-token, asking no cache. */
static size_t gt_pretoken_ids(gt_thread *t, const uint8_t *p, size_t n, const uint8_t *limit, uint32_t *out) {
  if (n <= 16) {
    uint64_t lo, hi;
    gt_word_key_bounded(p, n, limit, &lo, &hi);
    const uint32_t id = gt_word16(lo, hi);
    if (id != GT_NONE) {
      out[0] = id;
      return 1;
    }
  } else if (n <= GT_LONGEST_ENTRY) {
    const uint32_t id = gt_trie_exact(p, n);
    if (id != GT_NONE) {
      out[0] = id;
      return 1;
    }
  }
  return gt_merge_cut(t, p, n, limit, out);
}

/* ------------------------------------------------------------------ keeping */

/* At most four ids as an inline value. */
GT_INLINE gt_value gt_inline_value(const uint32_t *ids, size_t count) {
  uint32_t four[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < count; i++) four[i] = ids[i];
  return (gt_value){gt_value_first((unsigned)count, four[1], four[0]), four[2] | (uint64_t)four[3] << 32};
}

/* Ids that are kept nowhere: they lie at side[side_used]. */
GT_INLINE gt_value gt_side_value(gt_thread *t, size_t count) {
  const size_t at = t->side_used;
  t->side_used += count;
  return (gt_value){gt_value_first(GT_VALUE_SIDE, count, at), 0};
}

static void gt_keep_value(gt_thread *t, uint64_t lo, uint64_t hi, gt_value value) {
  if (GT_UNLIKELY(t->word_count >= (size_t)1 << (t->word_bits - 1)) && t->word_bits < GT_WORD_BITS_LAST) gt_grow_words(t);
  const gt_word_slot slot = {lo, hi, value};
  gt_place_word(t, &slot);
}

static void gt_keep_word(gt_thread *t, uint64_t lo, uint64_t hi, const uint32_t *ids, size_t count) {
  if (GT_UNLIKELY(gt_find_word(t, lo, hi) != NULL)) return; /* a word can come twice in one batch */
  gt_value value;
  if (count <= GT_VALUE_INLINE) {
    value = gt_inline_value(ids, count);
  } else {
    uint32_t *const place = gt_arena_take(t, count);
    if (!place) return;
    memcpy(place, ids, count * sizeof *ids);
    value = (gt_value){gt_value_first(GT_VALUE_ARENA, count, (uint64_t)(place - t->arena)), 0};
  }
  gt_keep_value(t, lo, hi, value);
}

/* The value of ids that lie in `side`; more than four stay there. */
GT_INLINE gt_value gt_value_of(const gt_thread *t, const uint32_t *ids, size_t count) {
  if (count <= GT_VALUE_INLINE) return gt_inline_value(ids, count);
  return (gt_value){gt_value_first(GT_VALUE_SIDE, count, (uint64_t)(ids - t->side)), 0};
}

/* A word that its line does not hold, if its group does: it comes home, where what is asked for often stays. `first` is zero
 * if it does not. */
GT_INLINE gt_value gt_fetch_word(gt_thread *t, uint64_t lo, uint64_t hi) {
  gt_word_slot *const found = gt_find_word(t, lo, hi);
  if (!found) return (gt_value){0, 0};
  gt_word_slot *const line = gt_word_line(t, gt_hash16(lo, hi));
  const gt_word_slot word = *found;
  if (found != line && found != line + 1) { /* it may be at home: learnt for a piece before this one in the batch */
    *found = line[1];
    line[1] = word;
  }
  return word.value;
}

/* A pre-token of 17 to GT_LONG_WORD bytes, if it is known. */
static gt_value gt_find_long(const gt_thread *t, const uint8_t *p, size_t n, uint64_t hash) {
  const gt_long_slot *const line = gt_long_line(t, hash);
  for (unsigned k = 0; k < 4; k++) {
    if (line[k].hash != hash || line[k].length != n || line[k].at == GT_SEEN_ONCE) continue;
    const uint32_t *const kept = t->arena + line[k].at; /* number of ids, ids, bytes */
    if (GT_UNLIKELY(memcmp(kept + 1 + kept[0], p, n) != 0)) continue;
    if (kept[0] <= GT_VALUE_INLINE) return gt_inline_value(kept + 1, kept[0]);
    return (gt_value){gt_value_first(GT_VALUE_ARENA, kept[0], line[k].at + 1), 0};
  }
  return (gt_value){0, 0};
}

/* Long words are kept when they come for the first time while half of the arena is free, else for the second time: most never do, and
 * they fill it. */
static void gt_keep_long(gt_thread *t, const uint8_t *p, size_t n, uint64_t hash, const uint32_t *ids, size_t count) {
  if (GT_UNLIKELY(t->long_count >= (size_t)1 << (t->long_bits - 2)) && t->long_bits < GT_LONG_BITS_LAST) gt_grow_longs(t);
  gt_long_slot *const line = gt_long_line(t, hash);
  unsigned k = 0;
  while (k < 3 && line[k].length && !(line[k].hash == hash && line[k].length == n)) k++;
  const int again = line[k].hash == hash && line[k].length == n;
  if (again && line[k].at != GT_SEEN_ONCE) return; /* a word can come twice in one batch */
  uint32_t at = GT_SEEN_ONCE;
  if (again || t->arena_used < GT_ARENA_LAST / 2) {
    uint32_t *const place = gt_arena_take(t, 1 + count + (n + 3) / 4);
    if (!place) return;
    place[0] = (uint32_t)count;
    memcpy(place + 1, ids, count * sizeof *ids);
    memcpy(place + 1 + count, p, n);
    at = (uint32_t)(place - t->arena);
  }
  if (!again && !line[k].length) t->long_count++;
  else if (!again) memmove(line, line + 1, 3 * sizeof *line); /* the oldest one goes */
  line[k] = (gt_long_slot){hash, at, (uint32_t)n};
}

/* A pre-token of at most GT_LONG_WORD bytes by itself, kept: its ids lie at side[side_used]. Their number, or SIZE_MAX. */
static size_t gt_learn_one(gt_thread *t, const uint8_t *p, size_t n, const uint8_t *limit, uint64_t lo, uint64_t hi,
                           uint64_t hash) {
  uint32_t *const ids = t->side + t->side_used;
  const size_t count = gt_pretoken_ids(t, p, n, limit, ids);
  if (GT_UNLIKELY(count == SIZE_MAX)) return SIZE_MAX;
  if (n > 16) gt_keep_long(t, p, n, hash, ids, count);
  else if (count > 1 || !gt_whole_only(ids[0])) gt_keep_word(t, lo, hi, ids, count);
  return count;
}

typedef uint64_t gt_pair64 __attribute__((vector_size(16)));

/* `count` ids to `out`, four at a time: up to three more are read and written. */
GT_INLINE void gt_copy_fours(uint32_t *out, const uint32_t *from, size_t count) {
  for (size_t i = 0; i < count; i += 4) memcpy(out + i, from + i, 16);
}

/* Ids of a value, appended at `out`, where there is room for four more than there are. Returns the new end. */
GT_INLINE uint32_t *gt_emit(const gt_thread *t, const gt_value *value, uint32_t *out) {
  const unsigned kind = ((const uint8_t *)value)[7]; /* its top byte, without waiting for the vector */
  gt_pair64 ids;
  memcpy(&ids, value, sizeof ids);
  ids &= (gt_pair64){GT_VALUE_IDS, ~0ull};
  memcpy(out, &ids, sizeof ids);
  if (GT_LIKELY(kind <= GT_VALUE_INLINE)) return out + kind;
  const uint32_t count = gt_value_count(value->first);
  gt_copy_fours(out, (kind == GT_VALUE_SIDE ? t->side : t->arena) + (uint32_t)value->first, count);
  return out + count;
}

/* One pre-token of any length outside a batch, appended to `out`. 0 without memory. */
GT_NOINLINE int gt_append_pretoken(gt_thread *t, const uint8_t *p, size_t n, const uint8_t *limit, gt_ids *out) {
  if (!gt_ids_reserve(out, GT_MOST_IDS(n, 1))) return 0;
  if (n > GT_LONG_WORD) {
    const size_t count = gt_pretoken_ids(t, p, n, limit, out->p + out->n);
    if (count == SIZE_MAX) return 0;
    out->n += count;
    return 1;
  }
  t->side_used = 0;
  gt_value value = {0, 0};
  uint64_t lo = 0, hi = 0, hash = 0;
  if (n > 16) {
    hash = gt_hash_bytes(p, n);
    value = gt_find_long(t, p, n, hash);
  } else {
    gt_word_key_bounded(p, n, limit, &lo, &hi);
    const gt_word_slot *const known = gt_find_word(t, lo, hi);
    if (known) value = known->value;
  }
  if (!value.first) {
    const size_t count = gt_learn_one(t, p, n, limit, lo, hi, hash);
    if (count == SIZE_MAX) return 0;
    value = gt_value_of(t, t->side, count);
  }
  out->n = (size_t)(gt_emit(t, &value, out->p + out->n) - out->p);
  return 1;
}

#endif
