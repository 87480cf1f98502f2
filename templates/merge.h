/* BPE of one pre-token: merge the best pair, leftmost of equals, until no pair merges.
 *
 * A token is a 64-bit word: its order id plus one, and its base (compiler/vocabulary/pair_table.py draws it; order ids are
 * ids that sort by rank). gt_merge_pairs has one place for every pair, base of the left + number of the right; what lies
 * there is xored with the left's number, so that for a pair that merges only the merged token is left, and the lowest of
 * such words is the pair of the best rank. With the pair's position in its low five bits, equal ranks go leftmost first.
 *
 * A word begins as its atoms: bytes, or with GT_CHARACTERS the characters that are entries. A character that is none falls
 * back to tokens for its bytes. With GT_AFFIXES an atom's token depends on whether it is the word's first or its last.
 *
 *   n <= 3      by hand
 *   n <= 32     the keys of all pairs in an array, their minimum taken each step; tokens in a linked list. In gt_merge_many
 *               twelve words advance together, without branches: alone, each step waits for the one before.
 *   longer      a tree of minima over the pairs: n log n, no recursion (merge_long.h)
 *
 * Figures, and what was tried and dropped: docs/merge.md. */
#ifndef GT_MERGE_H
#define GT_MERGE_H

#include "piece.h"

#if GT_MERGE_MARKER && defined(__SSE2__)
#include <emmintrin.h>
#endif

#define GT_POSITIONS (1u << GT_MERGE_POSITION_BITS)
#define GT_NUMBER_SHIFT (GT_MERGE_POSITION_BITS + GT_MERGE_BASE_BITS)
#define GT_CHECK_SHIFT (GT_NUMBER_SHIFT + GT_MERGE_ID_BITS)
#define GT_BASE_MASK ((1u << GT_MERGE_BASE_BITS) - 1)
#define GT_KEY_MARKER ((uint64_t)GT_MERGE_MARKER << 61)
/* Keys from here on are no pairs: the check did not come out as 0. */
#define GT_NO_PAIR (1ull << GT_CHECK_SHIFT | GT_KEY_MARKER)
#define GT_TOKEN_MASK ((1ull << GT_CHECK_SHIFT) - GT_POSITIONS)
/* Above every pair; positive and finite as a double. */
#define GT_KEY_NONE (GT_MERGE_MARKER ? (1ull << 61 | ((1ull << 61) - 1)) : ~0ull)

GT_INLINE uint32_t gt_token_number(uint64_t token) { return (uint32_t)(token >> GT_NUMBER_SHIFT); }

/* What the pair makes, as a key without position; GT_NO_PAIR or more if it does not merge. Token 0 merges with nothing:
 * no entry has 0 for its left or its right. The index is inside: the table has a place for every base and number. */
GT_INLINE const uint64_t *gt_pair_place(uint64_t left, uint64_t right) {
  const uint32_t base = (uint32_t)(left >> GT_MERGE_POSITION_BITS) & GT_BASE_MASK;
  return gt_merge_pairs + (base + gt_token_number(right));
}
GT_INLINE uint64_t gt_pair_key(uint64_t left, uint64_t right) {
  const uint64_t number = left >> GT_NUMBER_SHIFT;
  return *gt_pair_place(left, right) ^ number << GT_CHECK_SHIFT;
}

/* The id of a token; GT_NONE for token 0. */
GT_INLINE uint32_t gt_token_id_of(uint64_t token) {
#if GT_MERGE_MAPPED
  return gt_merge_ids[gt_token_number(token)];
#else
  return gt_token_number(token) - 1;
#endif
}

GT_INLINE uint64_t gt_min64(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ------------------------------------------------------------------ atoms */

/* Which of the four tokens of an atom stands at byte i of a word of n bytes. */
GT_INLINE size_t gt_atom_variant(const uint8_t *p, size_t i, size_t n) {
  const int last = GT_ENDS && i + (GT_CHARACTERS ? gt_sequence_length(p[i]) : 1) == n;
  return (size_t)((GT_CONTINUES && i > 0) | last << 1);
}

#if GT_CHARACTERS
/* The code point at p (valid UTF-8) and the length of its character. */
GT_INLINE uint32_t gt_atom_code_point(const uint8_t *p, size_t *length) {
  const uint32_t a = p[0];
  const size_t n = *length = a < 0x80 ? 1 : a < 0xE0 ? 2 : a < 0xF0 ? 3 : 4;
  if (n == 1) return a;
  if (n == 2) return (a & 0x1F) << 6 | (p[1] & 0x3F);
  if (n == 3) return (a & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
  return (a & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
}

/* The token of the character at p, 0 if it is no entry. */
GT_INLINE uint64_t gt_atom(const uint8_t *p, size_t variant, size_t *length) {
  if (GT_LIKELY(p[0] < 0x80)) {
    *length = 1;
    return gt_merge_atoms[variant << 8 | p[0]];
  }
  const uint32_t c = gt_atom_code_point(p, length);
  const size_t page = gt_atom_page_of[variant * (0x110000 >> GT_ATOM_PAGE_BITS) + (c >> GT_ATOM_PAGE_BITS)];
  return gt_atom_pages[page << GT_ATOM_PAGE_BITS | (c & ((1u << GT_ATOM_PAGE_BITS) - 1))];
}
#else
GT_INLINE uint64_t gt_atom(const uint8_t *p, size_t variant, size_t *length) {
  *length = 1;
  return gt_merge_atoms[variant << 8 | p[0]];
}
#endif

/* All bytes of a character have a token to fall back to: how many these are, or 0. */
GT_INLINE size_t gt_atom_fallback(const uint8_t *p, size_t length, uint64_t *tokens) {
#if GT_CHARACTERS
  for (size_t k = 0; k < length; k++) {
    tokens[k] = gt_merge_bytes[p[k]];
    if (GT_MERGE_MISSING && !tokens[k]) return 0;
  }
  return length;
#else
  (void)p, (void)length, (void)tokens;
  return 0;
#endif
}

/* Tokens of a word's atoms, at most n; their number. For words in which everything is an atom or falls back to some. */
GT_INLINE size_t gt_atoms(const uint8_t *p, size_t n, uint64_t *tokens) {
  size_t count = 0;
  for (size_t i = 0, length; i < n; i += length) {
    const uint64_t token = gt_atom(p + i, gt_atom_variant(p, i, n), &length);
    if (GT_LIKELY(token)) tokens[count++] = token;
    else count += gt_atom_fallback(p + i, length, tokens + count);
  }
  return count;
}

/* The same for all words, as the reference goes about it: what is unknown is one id each, or for a stretch of them
 * (GT_FUSE_UNKNOWN), which comes before the next atom that is known, so *after* bytes that were fallen back to between. */
GT_NOINLINE size_t gt_atoms_unknown(const uint8_t *p, size_t n, uint64_t *tokens) {
  size_t count = 0;
#if GT_HAS_UNKNOWN
  int pending = 0;
#endif
  for (size_t i = 0, length; i < n; i += length) {
    const uint64_t token = gt_atom(p + i, gt_atom_variant(p, i, n), &length);
    const size_t fallen = token ? 0 : gt_atom_fallback(p + i, length, tokens + count);
    count += fallen;
#if GT_HAS_UNKNOWN
    if (pending && (token || (!fallen && !GT_FUSE_UNKNOWN))) {
      tokens[count++] = gt_merge_unknown[0];
      pending = 0;
    }
    pending |= !token && !fallen;
#endif
    if (token) tokens[count++] = token;
  }
#if GT_HAS_UNKNOWN
  if (pending) tokens[count++] = gt_merge_unknown[0];
#endif
  return count;
}

/* ------------------------------------------------------------------ up to three bytes */

/* Ids of up to three tokens, which may be merged. */
GT_INLINE size_t gt_merge_few(uint64_t a, uint64_t b, const uint64_t c, size_t n, uint32_t *out) {
  if (n == 1) {
    out[0] = gt_token_id_of(a);
    return 1;
  }
  if (n == 3) {
    const uint64_t ab = gt_pair_key(a, b), bc = gt_pair_key(b, c);
    if (ab <= bc && ab < GT_NO_PAIR) { /* equal: the same pair twice, the left one goes first */
      a = ab & GT_TOKEN_MASK;
      b = c;
    } else if (bc < GT_NO_PAIR) {
      b = bc & GT_TOKEN_MASK;
    } else {
      out[0] = gt_token_id_of(a);
      out[1] = gt_token_id_of(b);
      out[2] = gt_token_id_of(c);
      return 3;
    }
  }
  const uint64_t ab = gt_pair_key(a, b);
  if (ab < GT_NO_PAIR) {
    out[0] = gt_token_id_of(ab & GT_TOKEN_MASK);
    return 1;
  }
  out[0] = gt_token_id_of(a);
  out[1] = gt_token_id_of(b);
  return 2;
}

/* Ids of 1 to 3 bytes, everything in which is an atom or falls back to some. */
GT_INLINE size_t gt_merge_tiny(const uint8_t *p, size_t n, uint32_t *out) {
#if GT_CHARACTERS || GT_AFFIXES
  uint64_t tokens[4] = {0, 0, 0, 0};
  n = gt_atoms(p, n, tokens);
  return gt_merge_few(tokens[0], tokens[1], tokens[2], n, out);
#else
  return gt_merge_few(gt_merge_atoms[p[0]], n > 1 ? gt_merge_atoms[p[1]] : 0, n > 2 ? gt_merge_atoms[p[2]] : 0, n, out);
#endif
}

/* ------------------------------------------------------------------ up to 32 bytes */

#define GT_LANE_BYTES 32 /* positions 1 to 31 are pairs, in five bits */

/* One word being merged.
 *
 *   token     0  t  h  e  r  e  0     token[0] and the one after the last are "no token"
 *   position  0  1  2  3  4  5  6
 *   key       -  th he er re -  -     key[i]: the pair of token i and its right neighbour
 *
 * A merge at i puts the new token there and takes its right neighbour out of the list. Position 0 is also where a word
 * with nothing left to do keeps "merging": its list is a loop (next[0] = previous[0] = 0), its token 0, its keys no pairs. */
typedef struct {
  uint64_t key[GT_LANE_BYTES] __attribute__((aligned(64)));
  uint64_t token[GT_LANE_BYTES + 2];
  uint8_t next[40], previous[40];
  size_t count;
  /* a merge that is begun: the positions of the new token and of the one before it, and where the keys of their new pairs are */
  size_t at, before;
  const uint64_t *place_at, *place_before;
} gt_lane;

static const uint8_t gt_lane_next[40] = {0,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
                                         21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 0};
static const uint8_t gt_lane_previous[40] = {0,  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18,
                                             19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38};

/* A word of n <= size bytes; size is 8, 16 or 32 and known to the compiler. */
GT_INLINE void gt_lane_begin(gt_lane *lane, const uint8_t *p, size_t n, size_t size) {
  for (size_t i = 0; i < size; i++) lane->key[i] = GT_KEY_NONE;
  memcpy(lane->next, gt_lane_next, size + 8);
  memcpy(lane->previous, gt_lane_previous, size + 8);
  lane->token[0] = 0;
#if GT_CHARACTERS || GT_AFFIXES
  n = gt_atoms(p, n, lane->token + 1);
  for (size_t i = 1; i < n; i++) lane->key[i] = gt_pair_key(lane->token[i], lane->token[i + 1]) | i;
#else
  uint64_t left = gt_merge_atoms[p[0]];
  lane->token[1] = left;
  for (size_t i = 1; i < n; i++) {
    const uint64_t right = gt_merge_atoms[p[i]];
    lane->token[i + 1] = right;
    lane->key[i] = gt_pair_key(left, right) | i;
    left = right;
  }
#endif
  lane->token[n + 1] = 0;
  lane->next[n + 1] = (uint8_t)(n + 1); /* gt_lane_ids may step past the end */
  lane->count = n;
}

/* The lowest of `size` keys. As doubles positive numbers sort like their bits. The marker keeps them all normal (so that
 * a caller who has set flush-to-zero changes nothing) and below infinity. */
GT_INLINE uint64_t gt_lane_best(const gt_lane *lane, size_t size) {
#if GT_MERGE_MARKER && defined(__SSE2__)
  const __m128d *const keys = (const __m128d *)(const void *)lane->key; /* __m128d may alias */
  __m128d even = keys[0], odd = keys[1];
  for (size_t i = 2; i < size / 2; i += 2) {
    even = _mm_min_pd(even, keys[i]);
    odd = _mm_min_pd(odd, keys[i + 1]);
  }
  even = _mm_min_pd(even, odd);
  return (uint64_t)_mm_cvtsi128_si64(_mm_castpd_si128(_mm_min_sd(even, _mm_unpackhi_pd(even, even))));
#else
  uint64_t low[4];
  for (size_t k = 0; k < 4; k++) low[k] = gt_min64(lane->key[k], lane->key[k + 4]);
  for (size_t i = 8; i < size; i += 4) {
    for (size_t k = 0; k < 4; k++) low[k] = gt_min64(low[k], lane->key[i + k]);
  }
  return gt_min64(gt_min64(low[0], low[1]), gt_min64(low[2], low[3]));
#endif
}

/* Merge the pair whose key is `best`; nothing happens if that is no pair. No branches. The keys of the new pairs are left to
 * gt_lane_keys, so that they can be fetched meanwhile. */
GT_INLINE void gt_lane_merge(gt_lane *lane, uint64_t best) {
  const uint64_t merges = -(uint64_t)(best < GT_NO_PAIR);
  const size_t at = best & (GT_POSITIONS - 1) & merges;
  const uint64_t token = best & GT_TOKEN_MASK & merges;
  const size_t gone = lane->next[at], before = lane->previous[at], after = lane->next[gone];
  lane->next[at] = (uint8_t)after;
  lane->previous[after] = (uint8_t)at;
  lane->token[at] = token;
  lane->count += merges; /* minus one */
  lane->key[gone % GT_POSITIONS] = GT_KEY_NONE;
  /* position 0 comes here with token 0 on one side, so it stays no pair */
  lane->at = at;
  lane->before = before;
  lane->place_before = gt_pair_place(lane->token[before], token);
  lane->place_at = gt_pair_place(token, lane->token[after]);
}

GT_INLINE void gt_lane_keys(gt_lane *lane) {
  const size_t at = lane->at, before = lane->before;
  lane->key[before] = (*lane->place_before ^ lane->token[before] >> GT_NUMBER_SHIFT << GT_CHECK_SHIFT) | before;
  lane->key[at] = (*lane->place_at ^ lane->token[at] >> GT_NUMBER_SHIFT << GT_CHECK_SHIFT) | at;
}

/* The ids of a word of at least 4 bytes. Four are stored at once: most words have two or three. */
GT_INLINE size_t gt_lane_ids(const gt_lane *lane, uint32_t *out) {
  size_t at = 1;
  for (size_t i = 0; i < 4; i++) {
    out[i] = gt_token_id_of(lane->token[at]);
    at = lane->next[at];
  }
  for (size_t i = 4; i < lane->count; i++) {
    out[i] = gt_token_id_of(lane->token[at]);
    at = lane->next[at];
  }
  return lane->count;
}

GT_INLINE size_t gt_merge_one(const uint8_t *p, size_t n, uint32_t *out, size_t size) {
  gt_lane lane;
  gt_lane_begin(&lane, p, n, size);
  for (;;) {
    const uint64_t best = gt_lane_best(&lane, size);
    if (best >= GT_NO_PAIR) break;
    gt_lane_merge(&lane, best);
    gt_lane_keys(&lane);
  }
  return gt_lane_ids(&lane, out);
}

#include "merge_long.h"

/* ------------------------------------------------------------------ one word, many words */

/* Everything in a word is an atom or falls back to some. */
GT_INLINE int gt_has_atoms(const uint8_t *p, size_t n) {
#if !GT_MERGE_MISSING
  (void)p, (void)n;
  return 1;
#else
  for (size_t i = 0, length; i < n; i += length) {
    uint64_t fallen[4];
    if (!gt_atom(p + i, gt_atom_variant(p, i, n), &length) && !gt_atom_fallback(p + i, length, fallen)) return 0;
  }
  return 1;
#endif
}

/* Ids of one pre-token, or of a part of one between safe cuts. `out` has room for n ids, n >= 1; returns how many they are,
 * or SIZE_MAX when memory is out (never for n <= 32). */
static inline size_t gt_merge(const uint8_t *p, size_t n, uint32_t *out, gt_scratch *scratch) {
  if (n > GT_LANE_BYTES || GT_UNLIKELY(!gt_has_atoms(p, n))) return gt_merge_long(p, n, out, scratch);
  if (n <= 3) return gt_merge_tiny(p, n, out);
  if (n <= 8) return gt_merge_one(p, n, out, 8);
  return n <= 16 ? gt_merge_one(p, n, out, 16) : gt_merge_one(p, n, out, 32);
}

#define GT_LANES 12

/* lanes + w, so that the compiler sees a pointer and no array: its own addresses take a fifth more instructions. */
GT_INLINE gt_lane *gt_lane_at(gt_lane *lanes, size_t w) {
  gt_lane *lane = lanes + w;
  __asm__("" : "+r"(lane));
  return lane;
}

/* Up to GT_LANES words of 4 to `size` bytes; `which` are indices into `pieces`. */
GT_INLINE void gt_merge_lanes(gt_piece *pieces, const uint8_t *which, size_t count, size_t size) {
  gt_lane lanes[GT_LANES];
  for (size_t w = 0; w < count; w++) {
    gt_lane_begin(gt_lane_at(lanes, w), pieces[which[w]].bytes, pieces[which[w]].length, size);
  }
  uint64_t any;
  do {
    any = ~0ull;
    for (size_t w = 0; w < count; w++) {
      gt_lane *const lane = gt_lane_at(lanes, w);
      const uint64_t best = gt_lane_best(lane, size);
      any = gt_min64(any, best);
      gt_lane_merge(lane, best);
      __builtin_prefetch(lane->place_before);
      __builtin_prefetch(lane->place_at);
    }
    for (size_t w = 0; w < count; w++) gt_lane_keys(gt_lane_at(lanes, w));
  } while (any < GT_NO_PAIR);
  for (size_t w = 0; w < count; w++) {
    pieces[which[w]].count = (uint32_t)gt_lane_ids(gt_lane_at(lanes, w), pieces[which[w]].ids);
  }
}

GT_NOINLINE void gt_merge_lanes8(gt_piece *pieces, const uint8_t *which, size_t count) {
  gt_merge_lanes(pieces, which, count, 8);
}
GT_NOINLINE void gt_merge_lanes16(gt_piece *pieces, const uint8_t *which, size_t count) {
  gt_merge_lanes(pieces, which, count, 16);
}
GT_NOINLINE void gt_merge_lanes32(gt_piece *pieces, const uint8_t *which, size_t count) {
  gt_merge_lanes(pieces, which, count, 32);
}

#define GT_MANY 256 /* pieces sorted by length at a time, so that those that advance together take about as long */

/* At most GT_MANY pieces. 0 when memory is out. */
static int gt_merge_sorted(gt_piece *pieces, size_t count, gt_scratch *scratch) {
  size_t ends[GT_LANE_BYTES + 1] = {0}; /* by length; 0 for those that no lane takes */
  uint8_t sorted[GT_MANY], lengths[GT_MANY];
  for (size_t i = 0; i < count; i++) {
    gt_piece *const piece = &pieces[i];
    const size_t n = piece->length;
    lengths[i] = n <= 3 || n > GT_LANE_BYTES || GT_UNLIKELY(!gt_has_atoms(piece->bytes, n)) ? 0 : (uint8_t)n;
    ends[lengths[i]]++;
    if (lengths[i]) continue;
    const size_t ids = gt_merge(piece->bytes, n, piece->ids, scratch);
    if (ids == SIZE_MAX) return 0;
    piece->count = (uint32_t)ids;
  }
  for (size_t n = 1; n <= GT_LANE_BYTES; n++) ends[n] += ends[n - 1];
  const size_t end8 = ends[8], end16 = ends[16];
  size_t at = ends[0];
  for (size_t i = count; i-- > 0;) sorted[--ends[lengths[i]]] = (uint8_t)i;
  for (; at < end8; at += GT_LANES) gt_merge_lanes8(pieces, sorted + at, end8 - at < GT_LANES ? end8 - at : GT_LANES);
  for (at = end8; at < end16; at += GT_LANES) {
    gt_merge_lanes16(pieces, sorted + at, end16 - at < GT_LANES ? end16 - at : GT_LANES);
  }
  for (at = end16; at < count; at += GT_LANES) {
    gt_merge_lanes32(pieces, sorted + at, count - at < GT_LANES ? count - at : GT_LANES);
  }
  return 1;
}

/* Ids of many words: two to three times as fast as one after the other. 0 when memory is out. */
static inline int gt_merge_many(gt_piece *pieces, size_t count, gt_scratch *scratch) {
  for (size_t at = 0; at < count; at += GT_MANY) {
    if (!gt_merge_sorted(pieces + at, count - at < GT_MANY ? count - at : GT_MANY, scratch)) return 0;
  }
  return 1;
}

#endif
