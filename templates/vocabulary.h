/* What is known about the vocabulary before any text is seen: words that are entries, prefixes, and where text may be cut.
 * The tables are made by compiler/vocabulary; each file there draws its own. Every probe compares the key it finds. */
#ifndef GT_VOCABULARY_H
#define GT_VOCABULARY_H

#define GT_NONE 0xFFFFFFFFu

/* ------------------------------------------------------------------ whole words of at most 16 bytes */

/* Hash of a 16-byte key: two multiplications side by side, then the good bits folded down. Good in all bits that a table
 * takes from the top; the same on every CPU (word_table.py has it in numpy). */
GT_INLINE uint64_t gt_hash16(uint64_t lo, uint64_t hi) {
  const uint64_t mixed = lo * 0x9E3779B97F4A7C15ull + hi * 0xC2B2AE3D27D4EB4Full;
  return mixed ^ mixed >> 32;
}

GT_INLINE const uint64_t *gt_word_bucket(uint64_t hash) {
  return gt_word_buckets + 8 * ((hash >> 32) * GT_WORD_BUCKET_COUNT >> 32);
}

/* A word with this hash may be an entry. The bits stay in a near cache; most new words have none, and need no look at the table. */
GT_INLINE int gt_may_be_word(uint64_t hash) {
  const uint64_t bit = hash >> (64 - GT_SHORT_WORD_BITS);
  return gt_short_words[bit >> 3] >> (bit & 7) & 1;
}

GT_INLINE void gt_word16_prefetch(uint64_t lo, uint64_t hi) {
  const uint64_t hash = gt_hash16(lo, hi);
  __builtin_prefetch(gt_may_be_word(hash) ? gt_word_bucket(hash) : gt_word_buckets);
}

/* The id of a word by its bytes, padded with 0xFF to 16: an entry that encodes to itself, or with GT_IGNORE_MERGES any
 * entry. GT_NONE if it is neither. */
GT_INLINE uint32_t gt_word16(uint64_t lo, uint64_t hi) {
  const uint64_t hash = gt_hash16(lo, hi);
  if (!gt_may_be_word(hash)) return GT_NONE;
  for (const uint64_t *bucket = gt_word_bucket(hash);; bucket += 8) {
    /* masks, not branches: which of the three it is cannot be foreseen */
    const uint32_t first = -(uint32_t)(((bucket[0] ^ lo) | (bucket[3] ^ hi)) == 0);
    const uint32_t second = -(uint32_t)(((bucket[1] ^ lo) | (bucket[4] ^ hi)) == 0);
    const uint32_t third = -(uint32_t)(((bucket[2] ^ lo) | (bucket[5] ^ hi)) == 0);
    const uint32_t id = (first & (uint32_t)bucket[6]) | (second & (uint32_t)(bucket[6] >> 32)) |
                        (third & (uint32_t)bucket[7]) | ~(first | second | third);
    /* a word that this bucket turned away is in a later one; the last bucket turns nobody away */
    const uint32_t turned_away = (uint32_t)(bucket[7] >> (32 + (hash & 31))) & 1;
    if (GT_LIKELY(!((id == GT_NONE) & turned_away))) return id;
  }
}

/* Hash of a longer word, not 0 (word_table.py has it in Python). */
GT_INLINE uint64_t gt_hash_bytes(const uint8_t *p, size_t n) {
  /* whole words, then the last eight bytes again (multiply and fold, as wyhash does) */
  uint64_t h = n * 0xA0761D6478BD642Full;
  for (size_t i = 0; i + 8 < n; i += 8) {
    const __uint128_t m = (__uint128_t)(h ^ gt_load64(p + i)) * 0xE7037ED1A0B428DBull;
    h = (uint64_t)m ^ (uint64_t)(m >> 64);
  }
  const __uint128_t m = (__uint128_t)(h ^ gt_load64(p + n - 8)) * 0x8EBC6AF09C88C6E3ull;
  return ((uint64_t)m ^ (uint64_t)(m >> 64)) | 1;
}

/* A longer word with this hash may be an entry. */
GT_INLINE int gt_may_be_entry(uint64_t hash) {
  const uint64_t bit = hash >> (64 - GT_LONG_WORD_BITS);
  return gt_long_words[bit >> 3] >> (bit & 7) & 1;
}

/* ------------------------------------------------------------------ all entries, by walking their bytes */

enum { GT_UNIT_ENTRY = 1 << 9, GT_UNIT_LEAF = 1 << 10, GT_UNIT_SHIFT = 11 };

/* The longest entry below a node that the n bytes at p begin with: its length, 0 if there is none. `offset` is where the
 * node's children lie. *value: id << 1 | "as a whole pre-token the entry encodes to itself". */
GT_INLINE size_t gt_trie_walk_from(uint32_t offset, const uint8_t *p, size_t n, uint32_t *value) {
  uint32_t at = 0;
  size_t length = 0;
  for (size_t i = 0; i < n; i++) {
    const uint32_t unit = gt_trie_units[offset + p[i]];
    if ((unit & 0x1FF) != p[i]) break;
    if (unit & GT_UNIT_ENTRY) {
      length = i + 1;
      at = offset + p[i];
    }
    if (unit & GT_UNIT_LEAF) break;
    offset = unit >> GT_UNIT_SHIFT;
  }
  if (!length) return 0;
  const uint32_t unit = gt_trie_units[at];
  *value = (unit & GT_UNIT_LEAF ? unit : gt_trie_units[(unit >> GT_UNIT_SHIFT) + 256]) >> GT_UNIT_SHIFT;
  return length;
}

/* The longest entry that the n bytes at p begin with. */
GT_INLINE size_t gt_trie_walk(const uint8_t *p, size_t n, uint32_t *value) {
  return gt_trie_walk_from(GT_TRIE_ROOT, p, n, value);
}

/* The longest entry that the n bytes at p begin with, reachable by merging or not: its length, 0 if there is none. */
static inline size_t gt_trie_longest(const uint8_t *p, size_t n, uint32_t *id) {
  uint32_t value = 0;
  const size_t length = gt_trie_walk(p, n, &value);
  if (length) *id = value >> 1;
  return length;
}

/* The id of exactly these bytes (n >= 1), whether or not BPE makes it of them; GT_NONE if they are no entry. */
static inline uint32_t gt_trie_entry(const uint8_t *p, size_t n) {
  uint32_t value = 0;
  return gt_trie_walk(p, n, &value) == n ? value >> 1 : GT_NONE;
}

/* The same for a whole pre-token, of any length: GT_NONE if the id is not what it encodes to. */
static inline uint32_t gt_trie_exact(const uint8_t *p, size_t n) {
  uint32_t value = 0;
  return gt_trie_walk(p, n, &value) == n && (GT_IGNORE_MERGES || value & 1) ? value >> 1 : GT_NONE;
}

/* ------------------------------------------------------------------ where text may be cut
 *
 * Characters are compared as numbers, their bytes in reading order: "é" is 0xC3A9. */

#define GT_CUT_MULTIPLIER ((uint64_t)GT_CUT_MULTIPLIER_HIGH << 32 | GT_CUT_MULTIPLIER_LOW)

/* Some entry holds these two whole characters, one after the other, not both ASCII. */
GT_INLINE int gt_cut_pair_inside(uint64_t pair) {
  uint64_t h = pair * GT_CUT_MULTIPLIER;
  h = (h ^ h >> 32) * 0xD6E8FEB86659FD93ull;
  const uint32_t place = (uint32_t)(h >> (64 - GT_CUT_BUCKET_BITS - GT_CUT_PLACE_BITS)) + gt_cut_pilots[h >> (64 - GT_CUT_BUCKET_BITS)];
  return gt_cut_pairs[place & ((1u << GT_CUT_PLACE_BITS) - 1)] == pair;
}

/* Some entry begins inside the left character or ends inside the right one, and lies across the point between. */
GT_NOINLINE int gt_cut_fragment_inside(uint32_t left, uint32_t right) {
  const unsigned lefts = left < 0x80 ? 1 : left < 0x10000 ? 2 : left < 0x1000000 ? 3 : 4;
  const unsigned rights = right < 0x80 ? 1 : right < 0x10000 ? 2 : right < 0x1000000 ? 3 : 4;
  for (unsigned i = 1; i <= lefts; i++) {
    const uint64_t suffix = left & (~0u >> (32 - 8 * i));
    for (unsigned k = 1; k <= rights; k++) {
      const uint64_t key = suffix << 32 | right >> 8 * (rights - k);
      if (i == lefts && k == rights) continue; /* both whole */
      uint32_t at = (uint32_t)(key * 0x9E3779B97F4A7C15ull >> 40) & GT_CUT_FRAGMENT_MASK;
      while (gt_cut_fragments[at]) {
        if (gt_cut_fragments[at] == key) return 1;
        at = (at + 1) & GT_CUT_FRAGMENT_MASK;
      }
    }
  }
  return 0;
}

GT_INLINE int gt_cut_between(uint32_t left, uint32_t right, uint8_t last, uint8_t first) {
  if (!((last | first) & 0x80)) return !(gt_cut_ascii[2 * last + (first >> 6)] >> (first & 63) & 1);
  const int inside = gt_cut_pair_inside((uint64_t)left << 32 | right);
  const uint32_t at = last * 256u + first;
  const int asked = (int)(gt_cut_filter[at >> 6] >> (at & 63) & 1);
  if (GT_UNLIKELY(asked & !inside)) return !gt_cut_fragment_inside(left, right);
  return !inside;
}

/* The character at p (valid UTF-8), and how many bytes it has. */
GT_INLINE uint32_t gt_cut_character(const uint8_t *p, unsigned *length) {
  const uint32_t a = p[0];
  const unsigned n = *length = gt_sequence_length(p[0]);
  if (n == 1) return a;
  if (n == 2) return a << 8 | p[1];
  if (n == 3) return a << 16 | (uint32_t)p[1] << 8 | p[2];
  return a << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The same where four bytes can be read at p, without a branch but for "three bytes", so that in running text the next
 * character's place waits for no load. */
GT_INLINE uint32_t gt_cut_character_ahead(const uint8_t *p, unsigned *length) {
  const uint32_t bytes = __builtin_bswap32(gt_load32(p));
  if (GT_LIKELY(bytes >> 28 == 0xE)) {
    *length = 3;
    return bytes >> 8;
  }
  const unsigned n = *length = gt_sequence_length(*p);
  return bytes >> (32 - 8 * n);
}

/* 1 if no entry lies across p, a character boundary strictly inside the valid UTF-8 [begin, end): then BPE of the whole is
 * BPE of the part before p, followed by BPE of the part after it. */
static inline int gt_safe_cut(const uint8_t *p, const uint8_t *begin, const uint8_t *end) {
  (void)begin, (void)end;
  if (!GT_SAFE_CUTS) return 0;
  const uint8_t *q = p - 1;
  while ((*q & 0xC0) == 0x80) q--;
  unsigned length;
  const uint32_t left = gt_cut_character(q, &length), right = gt_cut_character(p, &length);
  return gt_cut_between(left, right, p[-1], *p);
}

/* The first such point after p, or end: p is a character boundary of the valid UTF-8 that ends at `end`, p < end. Walking a
 * pre-token from cut to cut this way reads every character once.
 *
 * With GT_BYTES a pre-token may begin and end inside a character. What is left of the first one goes with the next; of the
 * last one all is read, past `end`: no entry lies across the point before it, so none that is cut off there does. */
static inline const uint8_t *gt_next_cut(const uint8_t *p, const uint8_t *end) {
  if (!GT_SAFE_CUTS) return end;
#if GT_BYTES
  while (p < end && (*p & 0xC0) == 0x80) p++;
  if (p == end) return end;
#endif
  unsigned length;
  uint32_t left = gt_cut_character(p, &length);
  for (p += length; p < end; p += length) {
    const uint32_t right = gt_cut_character(p, &length);
    if (gt_cut_between(left, right, p[-1], *p)) return p;
    left = right;
  }
  return end;
}

#endif
