/* Normalization form C, exactly as the reference engine does it (its tables are older than today's Unicode).
 *
 * Nearly all text is in NFC already, so the work is to be sure of that quickly and to touch only what may change.
 * A character is *inert* when it is a starter that neither changes nor composes with anything before it (flags 0);
 * nothing crosses a point before an inert character. The scan looks for the first place where a character that is not inert
 * can matter; what has to be normalized is the stretch from the inert character before it to the next one. The rest is copied.
 *
 * The scan goes 64 or 32 bytes a step where a vector unit is there (ASCII at the speed of memory, other inert text
 * through six nibble lookups), else a character at a time. Marks in the right order and marks that compose with nothing
 * are told apart exactly, so Thai, Hindi, Hebrew or Tamil in NFC is not copied either.
 *
 * Text is well-formed UTF-8. Nothing outside [p, p + n) is read even when it is not.
 *
 * Tables (compiler/normalizer/tables.py): gt_nfc_blocks, gt_nfc_flags, gt_nfc_split_blocks, gt_nfc_split_index, gt_nfc_splits,
 * gt_nfc_pairs, gt_nfc_finder; GT_NFC_PAIR_SLOTS_LOG2.
 */
#ifndef GT_NORMALIZE_H
#define GT_NORMALIZE_H

#include "scratch.h"
#include "utf8.h"

enum { GT_NFC_CLASS = 0x3F, GT_NFC_MAYBE = 0x40, GT_NFC_NO = 0x80 };
enum {
  GT_HANGUL_S = 0xAC00, GT_HANGUL_L = 0x1100, GT_HANGUL_V = 0x1161, GT_HANGUL_T = 0x11A7,
  GT_HANGUL_NL = 19, GT_HANGUL_NV = 21, GT_HANGUL_NT = 28, GT_HANGUL_NS = 19 * 21 * 28
};

/* The code point at p (p < end) and its length. What breaks off at the end or is too large is taken byte by byte, as
 * U+FFFD, which is inert: that is for safety only, such text has no right answer. */
static inline uint32_t gt_nfc_decode(const uint8_t *p, const uint8_t *end, unsigned *length) {
  uint32_t c = p[0];
  *length = 1;
  if (c < 0x80) return c;
  unsigned want = gt_sequence_length(p[0]);
  if ((size_t)(end - p) < want) return 0xFFFD;
  if (want == 2)
    c = (c & 0x1F) << 6 | (p[1] & 0x3F);
  else if (want == 3)
    c = (c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
  else
    c = (c & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
  if (c > 0x10FFFF) return 0xFFFD;
  *length = want;
  return c;
}

static inline uint8_t *gt_nfc_put(uint8_t *q, uint32_t c) {
  if (c < 0x80) {
    *q++ = (uint8_t)c;
  } else if (c < 0x800) {
    *q++ = (uint8_t)(0xC0 | c >> 6);
    *q++ = (uint8_t)(0x80 | (c & 0x3F));
  } else if (c < 0x10000) {
    *q++ = (uint8_t)(0xE0 | c >> 12);
    *q++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    *q++ = (uint8_t)(0x80 | (c & 0x3F));
  } else {
    *q++ = (uint8_t)(0xF0 | c >> 18);
    *q++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    *q++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
    *q++ = (uint8_t)(0x80 | (c & 0x3F));
  }
  return q;
}

static inline uint8_t gt_nfc_flags_of(uint32_t c) { return gt_nfc_flags[(size_t)gt_nfc_blocks[c >> 6] * 64 + (c & 63)]; }

static inline const uint32_t *gt_nfc_split_of(uint32_t c) {
  unsigned at = gt_nfc_split_index[(size_t)gt_nfc_split_blocks[c >> 6] * 64 + (c & 63)];
  return at ? gt_nfc_splits + at : NULL;
}

/* What first and second compose to, or 0. */
static inline uint32_t gt_nfc_pair(uint32_t first, uint32_t second) {
  if (first - GT_HANGUL_L < GT_HANGUL_NL && second - GT_HANGUL_V < GT_HANGUL_NV)
    return GT_HANGUL_S + ((first - GT_HANGUL_L) * GT_HANGUL_NV + (second - GT_HANGUL_V)) * GT_HANGUL_NT;
  if (first - GT_HANGUL_S < GT_HANGUL_NS && (first - GT_HANGUL_S) % GT_HANGUL_NT == 0 &&
      second - GT_HANGUL_T - 1 < GT_HANGUL_NT - 1)
    return first + (second - GT_HANGUL_T);
  uint64_t key = (uint64_t)first << 21 | second;
  uint32_t slot = (first * 0x9E3779B1u ^ second * 0x85EBCA6Bu) >> (32 - GT_NFC_PAIR_SLOTS_LOG2);
  for (;; slot = (slot + 1) & ((1u << GT_NFC_PAIR_SLOTS_LOG2) - 1)) {
    uint64_t entry = gt_nfc_pairs[slot];
    if (!entry) return 0;
    if (entry >> 21 == key) return (uint32_t)(entry & 0x1FFFFF);
  }
}

/* Start of the character before p (begin < p). */
static inline const uint8_t *gt_nfc_before(const uint8_t *begin, const uint8_t *p) {
  do p--;
  while (p > begin && (*p & 0xC0) == 0x80);
  return p;
}

/* Could c, at p, compose with the last starter before it? Nothing between them blocks it. May say 1 in doubt. The walk
 * back passes marks of strictly lower class only where classes rise, so all walks over a run of n marks stay under 64 n. */
static int gt_nfc_may_compose(const uint8_t *begin, const uint8_t *p, const uint8_t *end, uint32_t c) {
  while (p > begin) {
    unsigned length;
    p = gt_nfc_before(begin, p);
    uint32_t first = gt_nfc_decode(p, end, &length);
    if (gt_nfc_flags_of(first) & GT_NFC_CLASS) continue;
    if (gt_nfc_split_of(first)) return 1; /* its own marks would take part */
    return gt_nfc_pair(first, c) != 0;
  }
  return 0;
}

#if GT_X86
/* How far from p every character is surely inert: up to the first that may not be, or to within 66 bytes of the end (the
 * result may then lie inside a character, which is inert). See nfc_finder in compiler/normalizer/tables.py. */
#define GT_NFC_LOOK(group, byte, nibble) \
  _mm_loadu_si128((const __m128i *)(const void *)(gt_nfc_finder + (((group)*3 + (byte)) * 2 + (nibble)) * 16))

__attribute__((target("avx2"))) static size_t gt_nfc_inert_avx2(const uint8_t *p, size_t n) {
  const __m256i half = _mm256_set1_epi8(0x0F);
  __m256i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm256_broadcastsi128_si256(GT_NFC_LOOK(i / 6, i % 6 / 2, i % 2));
  size_t i = 0;
  while (n - i >= 34) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(p + i));
    if (!_mm256_movemask_epi8(a)) {
      i += 32;
      while (n - i >= 128) {
        __m256i ab = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(p + i)),
                                     _mm256_loadu_si256((const __m256i *)(p + i + 32)));
        __m256i cd = _mm256_or_si256(_mm256_loadu_si256((const __m256i *)(p + i + 64)),
                                     _mm256_loadu_si256((const __m256i *)(p + i + 96)));
        if (_mm256_movemask_epi8(_mm256_or_si256(ab, cd))) break;
        i += 128;
      }
      continue;
    }
    __m256i b = _mm256_loadu_si256((const __m256i *)(p + i + 1)), c = _mm256_loadu_si256((const __m256i *)(p + i + 2));
    __m256i a_low = _mm256_and_si256(a, half), a_high = _mm256_and_si256(_mm256_srli_epi16(a, 4), half);
    __m256i b_low = _mm256_and_si256(b, half), b_high = _mm256_and_si256(_mm256_srli_epi16(b, 4), half);
    __m256i c_low = _mm256_and_si256(c, half), c_high = _mm256_and_si256(_mm256_srli_epi16(c, 4), half);
#define GT_NFC_GROUP(g)                                                                                            \
  _mm256_and_si256(                                                                                                \
      _mm256_and_si256(_mm256_and_si256(_mm256_shuffle_epi8(look[g], a_low), _mm256_shuffle_epi8(look[g + 1], a_high)),     \
                       _mm256_and_si256(_mm256_shuffle_epi8(look[g + 2], b_low), _mm256_shuffle_epi8(look[g + 3], b_high))), \
      _mm256_and_si256(_mm256_shuffle_epi8(look[g + 4], c_low), _mm256_shuffle_epi8(look[g + 5], c_high)))
    __m256i found = _mm256_or_si256(GT_NFC_GROUP(0), GT_NFC_GROUP(6));
#undef GT_NFC_GROUP
    uint32_t none = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(found, _mm256_setzero_si256()));
    if (~none) return i + (unsigned)__builtin_ctz(~none);
    i += 32;
  }
  return i;
}

__attribute__((target("avx512f,avx512bw"))) static size_t gt_nfc_inert_avx512(const uint8_t *p, size_t n) {
  const __m512i half = _mm512_set1_epi8(0x0F);
  __m512i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm512_broadcast_i32x4(GT_NFC_LOOK(i / 6, i % 6 / 2, i % 2));
  size_t i = 0;
  while (n - i >= 66) {
    __m512i a = _mm512_loadu_si512(p + i);
    if (!_mm512_movepi8_mask(a)) {
      i += 64;
      while (n - i >= 256) {
        __m512i ab = _mm512_or_si512(_mm512_loadu_si512(p + i), _mm512_loadu_si512(p + i + 64));
        __m512i cd = _mm512_or_si512(_mm512_loadu_si512(p + i + 128), _mm512_loadu_si512(p + i + 192));
        if (_mm512_movepi8_mask(_mm512_or_si512(ab, cd))) break;
        i += 256;
      }
      continue;
    }
    __m512i b = _mm512_loadu_si512(p + i + 1), c = _mm512_loadu_si512(p + i + 2);
    __m512i a_low = _mm512_and_si512(a, half), a_high = _mm512_and_si512(_mm512_srli_epi16(a, 4), half);
    __m512i b_low = _mm512_and_si512(b, half), b_high = _mm512_and_si512(_mm512_srli_epi16(b, 4), half);
    __m512i c_low = _mm512_and_si512(c, half), c_high = _mm512_and_si512(_mm512_srli_epi16(c, 4), half);
#define GT_NFC_AND3(x, y, z) _mm512_ternarylogic_epi64(x, y, z, 0x80)
#define GT_NFC_GROUP(g)                                                                                          \
  GT_NFC_AND3(_mm512_and_si512(_mm512_shuffle_epi8(look[g], a_low), _mm512_shuffle_epi8(look[g + 1], a_high)),       \
              _mm512_and_si512(_mm512_shuffle_epi8(look[g + 2], b_low), _mm512_shuffle_epi8(look[g + 3], b_high)), \
              _mm512_and_si512(_mm512_shuffle_epi8(look[g + 4], c_low), _mm512_shuffle_epi8(look[g + 5], c_high)))
    __m512i found = _mm512_or_si512(GT_NFC_GROUP(0), GT_NFC_GROUP(6));
#undef GT_NFC_GROUP
#undef GT_NFC_AND3
    uint64_t some = _mm512_test_epi8_mask(found, found);
    if (some) return i + (unsigned)__builtin_ctzll(some);
    i += 64;
  }
  return i;
}
#undef GT_NFC_LOOK
#endif

static inline size_t gt_nfc_inert(const uint8_t *p, size_t n, int level) {
#if GT_X86
  if (level >= 3) return gt_nfc_inert_avx512(p, n);
  if (level >= 2) return gt_nfc_inert_avx2(p, n);
#else
  (void)level;
#endif
  return gt_ascii_steps(p, p + n);
}

/* The first character that may have to change or move, or to be composed with one before it; NULL when there is none. The
 * text must begin at `begin` or be in NFC before it with an inert character at `begin`. */
static const uint8_t *gt_nfc_issue(const uint8_t *begin, const uint8_t *end) {
  int level = end - begin < 66 ? 0 : GT_VECTOR_LEVEL;
  const uint8_t *p = begin;
  ptrdiff_t patience = 64; /* how far to go a character at a time before the vector unit is tried again */
  unsigned last = 0;       /* class of the mark before p, 0 after a starter */
  while (p < end) {
    size_t skipped = gt_nfc_inert(p, (size_t)(end - p), level);
    if (skipped) {
      p += skipped;
      while (p < end && (*p & 0xC0) == 0x80) p++;
      last = 0;
    }
    patience = skipped >= 64 ? 64 : patience < 1024 ? patience * 2 : patience;
    const uint8_t *stop = end - p < patience ? end : p + patience;
    while (p < stop) {
      unsigned lead = *p, length = 2, block = lead & 0x1F;
      if (lead < 0x80) {
        p++;
        last = 0;
        continue;
      }
      if (lead >= 0xE0) {
        if (end - p < 4) { /* near the end: with care */
          uint32_t c = gt_nfc_decode(p, end, &length);
          block = c >> 6;
        } else if (lead < 0xF0) {
          length = 3;
          block = (lead & 0x0F) << 6 | (p[1] & 0x3F);
        } else {
          uint32_t c = gt_nfc_decode(p, end, &length);
          block = c >> 6;
        }
      } else if (end - p < 2) {
        return NULL;
      }
      unsigned flags = gt_nfc_flags[(size_t)gt_nfc_blocks[block] * 64 + (p[length - 1] & 63)];
      if (GT_LIKELY(!flags)) {
        p += length;
        last = 0;
        continue;
      }
      unsigned rank = flags & GT_NFC_CLASS;
      if (flags & GT_NFC_NO || (rank && rank < last)) return p;
      if (flags & GT_NFC_MAYBE && (!last || rank > last)) {
        unsigned again;
        if (gt_nfc_may_compose(begin, p, end, gt_nfc_decode(p, end, &again))) return p;
      }
      p += length;
      last = rank;
    }
  }
  return NULL;
}

/* Start of the last inert character before `issue`, or `begin`. */
static inline const uint8_t *gt_nfc_stretch_begin(const uint8_t *begin, const uint8_t *issue) {
  const uint8_t *p = issue;
  while (p > begin) {
    unsigned length;
    p = gt_nfc_before(begin, p);
    if (!gt_nfc_flags_of(gt_nfc_decode(p, issue, &length))) break;
  }
  return p;
}

/* Is it certain that cutting before the character at p changes nothing: normalizing both sides alone gives the same text?
 * True at the end. */
GT_UNUSED static inline int gt_nfc_safe_boundary(const uint8_t *p, const uint8_t *end) {
  unsigned length;
  return p == end || !gt_nfc_flags_of(gt_nfc_decode(p, end, &length));
}

/* Offset from which normalization may change something (always a safe boundary or 0), or -1: the text is in NFC. */
GT_UNUSED static int64_t gt_nfc_first(const uint8_t *p, size_t n) {
  const uint8_t *issue = gt_nfc_issue(p, p + n);
  return issue ? gt_nfc_stretch_begin(p, issue) - p : -1;
}

/* ---- the stretches that change: arrays of code point | class rank << 24 ---- */

/* Put the full decomposition of [p, end) in `to`; how many code points there are. With to NULL, count only. */
static size_t gt_nfc_split(const uint8_t *p, const uint8_t *end, uint32_t *to) {
  size_t count = 0;
  while (p < end) {
    unsigned length;
    uint32_t c = gt_nfc_decode(p, end, &length);
    p += length;
    const uint32_t *parts = gt_nfc_split_of(c);
    if (parts) {
      do {
        if (to) to[count] = *parts & 0x7FFFFFFF;
        count++;
      } while (!(*parts++ >> 31));
    } else if (c - GT_HANGUL_S < GT_HANGUL_NS) {
      uint32_t syllable = c - GT_HANGUL_S, tail = syllable % GT_HANGUL_NT;
      if (to) {
        to[count] = GT_HANGUL_L + syllable / (GT_HANGUL_NV * GT_HANGUL_NT);
        to[count + 1] = GT_HANGUL_V + syllable / GT_HANGUL_NT % GT_HANGUL_NV;
        if (tail) to[count + 2] = GT_HANGUL_T + tail;
      }
      count += tail ? 3 : 2;
    } else {
      if (to) to[count] = c | (uint32_t)(gt_nfc_flags_of(c) & GT_NFC_CLASS) << 24;
      count++;
    }
  }
  return count;
}

/* Sort a run of marks by class, stably: by insertion when it is short, else by counting (there are under 64 classes), so
 * that a megabyte of marks costs no more a mark than ten do. `spare` has room for n. */
static void gt_nfc_sort(uint32_t *marks, size_t n, uint32_t *spare) {
  if (n <= 24) {
    for (size_t i = 1; i < n; i++) {
      uint32_t mark = marks[i];
      size_t j = i;
      for (; j && marks[j - 1] >> 24 > mark >> 24; j--) marks[j] = marks[j - 1];
      marks[j] = mark;
    }
    return;
  }
  size_t start[65] = {0};
  for (size_t i = 0; i < n; i++) start[(marks[i] >> 24) + 1]++;
  for (int k = 1; k < 65; k++) start[k] += start[k - 1];
  for (size_t i = 0; i < n; i++) spare[start[marks[i] >> 24]++] = marks[i];
  memcpy(marks, spare, n * sizeof *marks);
}

/* Compose in place; how many are left. */
static size_t gt_nfc_compose(uint32_t *v, size_t n) {
  size_t count = 0, starter = SIZE_MAX; /* SIZE_MAX: marks only so far */
  uint32_t last = 0;                    /* class of what stands between the starter and here, 0: nothing */
  for (size_t i = 0; i < n; i++) {
    uint32_t rank = v[i] >> 24, c = v[i] & 0x1FFFFF;
    if (starter != SIZE_MAX && (!last || last < rank)) {
      uint32_t composed = gt_nfc_pair(v[starter], c);
      if (composed) {
        v[starter] = composed;
        continue;
      }
    }
    if (!rank) starter = count;
    last = rank;
    v[count++] = v[i];
  }
  return count;
}

/* The normalized text of p[0..n) at out->memory; its length, or SIZE_MAX when there is no memory. The scratch holds the
 * text, at most 3 n bytes, and behind it while a stretch is worked on 8 bytes for each of its code points. */
GT_UNUSED static size_t gt_nfc(const uint8_t *p, size_t n, gt_scratch *out) {
  const uint8_t *end = p + n;
  size_t used = 0;
  if (!gt_scratch_reserve(out, n + n / 8 + 64)) return SIZE_MAX;
  while (p < end) {
    const uint8_t *issue = gt_nfc_issue(p, end);
    const uint8_t *from = issue ? gt_nfc_stretch_begin(p, issue) : end, *to = issue ? issue : end;
    unsigned length;
    while (to < end) { /* up to the next inert character; the one at fault is none unless it leads the text */
      uint32_t c = gt_nfc_decode(to, end, &length);
      if (!gt_nfc_flags_of(c)) break;
      to += length;
    }
    size_t copied = (size_t)(from - p), count = gt_nfc_split(from, to, NULL);
    size_t work = (used + copied + 4 * count + 7) & ~(size_t)7;
    uint8_t *memory = gt_scratch_reserve(out, work + 8 * count);
    if (!memory) return SIZE_MAX;
    memcpy(memory + used, p, copied);
    uint32_t *v = (uint32_t *)(void *)(memory + work);
    gt_nfc_split(from, to, v);
    for (size_t i = 0; i < count; i++) {
      size_t run = i;
      while (run < count && v[run] >> 24) run++;
      if (run - i > 1) gt_nfc_sort(v + i, run - i, v + count);
      i = run;
    }
    count = gt_nfc_compose(v, count);
    uint8_t *q = memory + used + copied;
    for (size_t i = 0; i < count; i++) q = gt_nfc_put(q, v[i] & 0x1FFFFF);
    used = (size_t)(q - memory);
    p = to;
  }
  return used;
}

#endif
