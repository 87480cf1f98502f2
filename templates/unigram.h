/* The Unigram model: the pieces of a text with the highest sum of scores (Viterbi on a trie).
 *
 * From every character on, each entry that the text goes on with offers a sum for the place where it ends. A higher sum replaces a
 * lower one, an equal one does not. So of every place it must be known: the best sum, but only as far ahead as the longest entry
 * reaches (a ring on the stack), and the piece that ends there, which `out` holds until the ids replace it:
 *
 *            31        21 20              0
 *           +------------+-----------------+
 *    out[e - 1]  length  |       id        |   the last piece of the best way to place e; its length in bytes
 *           +------------+-----------------+
 *
 * Walking back from the end, the pieces of the best way are moved to the end of `out` (there are no more pieces than bytes), then
 * forward to its beginning. Time is linear in the text, whatever it holds, and there is no memory but `out`.
 *
 * The tables are made by compiler/vocabulary/unigram_tables.py. gigatok_runtime/unigram.py says the same in plain Python, and
 * what the two reference engines do differently:
 * GT_UNIGRAM_F32: sums are float, and taken back to zero when they grow large (sentencepiece); else double (tokenizers).
 * GT_UNIGRAM_RUN_IS_TEXT: neighbouring unknown pieces are one text, which may be an entry (tokenizers). */
#ifndef GT_UNIGRAM_H
#define GT_UNIGRAM_H

#define GT_UNIGRAM_ID_BITS 21
#define GT_UNIGRAM_ID_MASK ((1u << GT_UNIGRAM_ID_BITS) - 1)
#define GT_UNIGRAM_NO_UNK SIZE_MAX /* unknown text, and the model has no id for that */

enum { GT_UNIGRAM_ENTRY = 1 << 9, GT_UNIGRAM_LEAF = 1 << 10, GT_UNIGRAM_SHIFT = 11 };

#if GT_UNIGRAM_F32
typedef float gt_unigram_sum;
#define GT_UNIGRAM_RESET 100000.0f
#else
typedef double gt_unigram_sum;
#endif

/* The id of exactly these bytes (n >= 1), GT_UNIGRAM_ID_MASK if they are no entry. */
static inline uint32_t gt_unigram_entry(const uint8_t *p, size_t n) {
  uint32_t offset = GT_UNIGRAM_ROOT;
  for (size_t i = 0;; i++) {
    const uint32_t unit = gt_unigram_units[offset + p[i]];
    if ((unit & 0x1FF) != p[i]) return GT_UNIGRAM_ID_MASK;
    offset = unit >> GT_UNIGRAM_SHIFT;
    if (i + 1 == n) {
      if (!(unit & GT_UNIGRAM_ENTRY)) return GT_UNIGRAM_ID_MASK;
      return unit & GT_UNIGRAM_LEAF ? offset : gt_unigram_units[offset + 256] >> GT_UNIGRAM_SHIFT;
    }
    if (unit & GT_UNIGRAM_LEAF) return GT_UNIGRAM_ID_MASK;
  }
}

/* The ids of unknown text, at most n (n >= 1). */
GT_NOINLINE size_t gt_unigram_unknown(const uint8_t *p, size_t n, uint32_t *out) {
  if (GT_UNIGRAM_RUN_IS_TEXT && n <= GT_UNIGRAM_LONGEST) {
    const uint32_t id = gt_unigram_entry(p, n);
    if (id != GT_UNIGRAM_ID_MASK) {
      *out = id;
      return 1;
    }
  }
  int all = GT_UNIGRAM_FALLBACK;
  for (size_t i = 0; all && i < n; i++) all = gt_unigram_bytes[p[i]] != GT_NONE;
  if (!all) {
    *out = GT_UNIGRAM_UNK;
    return 1;
  }
  for (size_t i = 0; i < n; i++) out[i] = gt_unigram_bytes[p[i]];
  return n;
}

/* The unit that the character at p, of n bytes, leads to from the root; a leaf that is no entry if no entry begins with it. */
GT_INLINE uint32_t gt_unigram_first(const uint8_t *p, size_t n) {
  if (n == 1) return gt_unigram_characters[p[0] & 0x7F];
  if (n == 2) return gt_unigram_characters[(p[0] & 0x1Fu) << 6 | (p[1] & 0x3F)];
  if (n == 3) return gt_unigram_characters[(p[0] & 0x0Fu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3F)];
  uint32_t unit = (uint32_t)GT_UNIGRAM_ROOT << GT_UNIGRAM_SHIFT;
  for (size_t i = 0; i < n; i++) {
    if (unit & GT_UNIGRAM_LEAF) return GT_UNIGRAM_LEAF;
    unit = gt_unigram_units[(unit >> GT_UNIGRAM_SHIFT) + p[i]];
    if ((unit & 0x1FF) != p[i]) return GT_UNIGRAM_LEAF;
  }
  return unit;
}

/* The entry that `unit` is, from byte i to `end`, offers itself. */
GT_INLINE void gt_unigram_offer(uint32_t unit, size_t i, size_t end, gt_unigram_sum sum, gt_unigram_sum *sums, uint32_t *out) {
  const uint32_t below = unit >> GT_UNIGRAM_SHIFT;
  const uint32_t id = unit & GT_UNIGRAM_LEAF ? below : gt_unigram_units[below + 256] >> GT_UNIGRAM_SHIFT;
  const gt_unigram_sum offer = sum + gt_unigram_scores[id];
  gt_unigram_sum *const best = &sums[end & (GT_UNIGRAM_RING - 1)];
  if (offer > *best) {
    *best = offer;
    out[end - 1] = id | (uint32_t)(end - i) << GT_UNIGRAM_ID_BITS;
  }
}

/* The character at p + at (at < n) and what its walk begins with. */
typedef struct {
  size_t length;   /* in bytes */
  uint32_t first;  /* the unit that the character leads to */
  uint32_t second; /* the unit of the byte after it, if `first` is no leaf and there is one */
} gt_unigram_start;

GT_INLINE gt_unigram_start gt_unigram_start_at(const uint8_t *p, size_t n, size_t at) {
  gt_unigram_start start = {gt_sequence_length(p[at]), 0, 0};
  if (GT_UNLIKELY(start.length > n - at)) start.length = n - at;
  start.first = gt_unigram_first(p + at, start.length);
  const size_t next = at + start.length < n ? at + start.length : at;
  const uint32_t below = start.first & GT_UNIGRAM_LEAF ? GT_UNIGRAM_ROOT : start.first >> GT_UNIGRAM_SHIFT;
  start.second = gt_unigram_units[below + p[next]];
  return start;
}

/* The last piece of the best way to every character's end, into out[end - 1]. 0: some character is unknown, and there is no id
 * for that. n >= 1. The loads that a walk begins with are under way while the walk before it goes on. */
GT_INLINE int gt_unigram_forward(const uint8_t *p, size_t n, uint32_t *out) {
  enum { MASK = GT_UNIGRAM_RING - 1 };
  gt_unigram_sum sums[GT_UNIGRAM_RING];
  const gt_unigram_sum none = (gt_unigram_sum)-__builtin_inf();
  const size_t used = n < MASK ? n : MASK;
  for (size_t i = 1; i <= used; i++) sums[i] = none;
  sums[0] = 0;
  gt_unigram_start next = gt_unigram_start_at(p, n, 0);
  for (size_t i = 0; i < n;) {
    const gt_unigram_start start = next;
    size_t end = i + start.length;
    if (GT_LIKELY(end < n)) next = gt_unigram_start_at(p, n, end);
#if GT_UNIGRAM_F32
    if (GT_UNLIKELY(sums[i & MASK] > GT_UNIGRAM_RESET || sums[i & MASK] < -GT_UNIGRAM_RESET)) {
      const gt_unigram_sum offset = sums[i & MASK];
      for (size_t k = 0; k <= used; k++) sums[k] -= offset; /* what has no sum yet stays at minus infinity */
    }
#endif
    const gt_unigram_sum sum = sums[i & MASK];
    sums[i & MASK] = none;
    if (GT_LIKELY(start.first & GT_UNIGRAM_ENTRY)) {
      gt_unigram_offer(start.first, i, end, sum, sums, out);
    } else {
      const gt_unigram_sum offer = sum + gt_unigram_scores[GT_UNIGRAM_UNK_SCORE];
      if (offer > sums[end & MASK]) {
        if (GT_UNIGRAM_UNK == GT_UNIGRAM_ID_MASK) return 0;
        sums[end & MASK] = offer;
        out[end - 1] = GT_UNIGRAM_UNK | (uint32_t)start.length << GT_UNIGRAM_ID_BITS;
      }
    }
    i = end;
    if (start.first & GT_UNIGRAM_LEAF || end == n) continue;
    const size_t begin = end - start.length;
    for (uint32_t unit = start.second; (unit & 0x1FF) == p[end]; unit = gt_unigram_units[(unit >> GT_UNIGRAM_SHIFT) + p[end]]) {
      end++;
      if (unit & GT_UNIGRAM_ENTRY) gt_unigram_offer(unit, begin, end, sum, sums, out);
      if (unit & GT_UNIGRAM_LEAF || end == n) break;
    }
  }
  return 1;
}

/* The ids of the n bytes at p, valid UTF-8, into out, which has room for n; how many. GT_UNIGRAM_NO_UNK: a character is unknown, and
 * there is no id for that. */
static size_t gt_unigram(const uint8_t *p, size_t n, uint32_t *out) {
  if (!n) return 0;
  if (!gt_unigram_forward(p, n, out)) return GT_UNIGRAM_NO_UNK;
  size_t first = n; /* the pieces come to lie at out + first .. out + n */
  for (size_t end = n; end;) {
    const uint32_t piece = out[end - 1];
    out[--first] = piece;
    end -= piece >> GT_UNIGRAM_ID_BITS;
  }
  /* `at` bytes make at most `at` ids, and the pieces after them lie behind out + at, so nothing is overwritten that is needed */
  size_t count = 0, at = 0;
  for (size_t i = first; i < n;) {
    const uint32_t piece = out[i++], id = piece & GT_UNIGRAM_ID_MASK;
    size_t end = at + (piece >> GT_UNIGRAM_ID_BITS);
    if (GT_LIKELY(id != GT_UNIGRAM_UNK)) {
      out[count++] = id;
    } else {
      for (; i < n && (out[i] & GT_UNIGRAM_ID_MASK) == GT_UNIGRAM_UNK; i++) end += out[i] >> GT_UNIGRAM_ID_BITS;
      count += gt_unigram_unknown(p + at, end - at, out + count);
    }
    at = end;
  }
  return count;
}

#ifndef GT_UNIGRAM_ALONE
#if GT_MARKED_PIECES
/* The n bytes of a pre-token as the model reads them, written to `to`, where there is room for n + 1: marks as spaces and, with
 * GT_PREFIXED_PIECES, a space before what does not begin with one. Their number. */
GT_INLINE size_t gt_piece_text(const uint8_t *p, size_t n, uint8_t *to) {
  const uint8_t *const begin = to, *const end = p + n;
  const int marked = n >= GT_MARK_LENGTH && memcmp(p, gt_mark, GT_MARK_LENGTH) == 0;
  if (GT_PREFIXED_PIECES && *p != ' ' && !marked) *to++ = ' ';
  while (p < end) {
    if (GT_UNLIKELY(*p == gt_mark[0]) && (size_t)(end - p) >= GT_MARK_LENGTH && memcmp(p, gt_mark, GT_MARK_LENGTH) == 0) {
      *to++ = ' ';
      p += GT_MARK_LENGTH;
    } else {
      *to++ = *p++;
    }
  }
  return (size_t)(to - begin);
}
#endif

/* The same as words.h and learn.h ask for it: the ids of a pre-token, in room for n + GT_MARKED_PIECES. There is an id for what is
 * unknown (the reader sees to that). SIZE_MAX without memory, never for n <= GT_LONG_WORD. */
static inline size_t gt_merge(const uint8_t *p, size_t n, uint32_t *out, gt_scratch *scratch GT_UNUSED) {
#if GT_MARKED_PIECES
  uint8_t word[GT_LONG_WORD + 1];
  uint8_t *const text = n <= GT_LONG_WORD ? word : gt_scratch_reserve(scratch, n + 1);
  if (GT_UNLIKELY(!text)) return SIZE_MAX;
  return gt_unigram(text, gt_piece_text(p, n, text), out);
#else
  return gt_unigram(p, n, out);
#endif
}
#endif

#endif
