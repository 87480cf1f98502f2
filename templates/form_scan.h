/* Where a text may not be in a normalization form. See normalize.h, which says what a form is and puts such places right.
 *
 * A character is *inert* when it is a starter that neither changes nor composes with anything before it (flags 0);
 * nothing crosses a point before an inert character. The scan looks for the first place where a character that is not inert
 * can matter, 64 or 32 bytes a step where a vector unit is there (ASCII at the speed of memory, other inert text through six
 * nibble lookups), else a character at a time. Marks in the right order and marks that compose with nothing are told apart
 * exactly, so that Thai, Hindi, Hebrew or Tamil in NFC is not copied.
 *
 * Text is well-formed UTF-8. Nothing outside [p, p + n) is read even when it is not. */
#ifndef GT_FORM_SCAN_H
#define GT_FORM_SCAN_H

#include "characters.h"

enum { GT_NFC_CLASS = 0x3F, GT_NFC_MAYBE = 0x40, GT_NFC_NO = 0x80, GT_NFC_SIMPLE = 0x81 };

typedef struct {
  const uint8_t *blocks, *flags;      /* of each code point, 64 a row: class rank, GT_NFC_MAYBE, GT_NFC_NO, GT_NFC_SIMPLE */
  const uint8_t *leads, *finder;      /* bytes that lead characters with flags; what finds them (nfc_finder) */
  const uint8_t *split_blocks;
  const uint16_t *split_index;        /* where in `splits` its decomposition begins, 0: none */
  const uint32_t *splits;             /* code point | flags << 24 of each part, bit 31: the last one */
  uint32_t parts, bytes;              /* at most so many parts for two bytes of text, and so many bytes for one */
  uint32_t composes;
} gt_form;

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

static inline uint8_t gt_nfc_flags_of(const gt_form *form, uint32_t c) {
  return form->flags[(size_t)form->blocks[c >> 6] * 64 + (c & 63)];
}

static inline const uint32_t *gt_nfc_split_of(const gt_form *form, uint32_t c) {
  unsigned at = form->split_index[(size_t)form->split_blocks[c >> 6] * 64 + (c & 63)];
  return at ? form->splits + at : NULL;
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
static int gt_nfc_may_compose(const gt_form *form, const uint8_t *begin, const uint8_t *p, const uint8_t *end, uint32_t c) {
  while (p > begin) {
    unsigned length;
    p = gt_nfc_before(begin, p);
    uint32_t first = gt_nfc_decode(p, end, &length);
    if (gt_nfc_flags_of(form, first) & GT_NFC_CLASS && !(gt_nfc_flags_of(form, first) & GT_NFC_NO)) continue;
    if (gt_nfc_split_of(form, first)) return 1; /* its own marks would take part */
    return gt_nfc_pair(first, c) != 0;
  }
  return 0;
}

/* Does the character with these flags, at p, make it uncertain that the text is in NFC? `last` is the class of the mark before
 * it, 0 after a starter. */
GT_NOINLINE int gt_nfc_is_issue(const gt_form *form, const uint8_t *begin, const uint8_t *p, const uint8_t *end, unsigned flags, unsigned last) {
  unsigned rank = flags & GT_NFC_CLASS, length;
  if (flags & GT_NFC_NO || (rank && rank < last)) return 1;
  if (!(flags & GT_NFC_MAYBE) || (last && rank <= last)) return 0; /* the second: blocked */
  return gt_nfc_may_compose(form, begin, p, end, gt_nfc_decode(p, end, &length));
}

/* Where a scan is. `last` is the class of the character that ends at `known`, if it has one; all else before is settled. */
typedef struct {
  const gt_form *form;
  const uint8_t *begin, *end, *known;
  unsigned last;
} gt_nfc_scan;

/* Look at the character at p; 1 when it is an issue. Characters between scan->known and p are inert. */
GT_INLINE int gt_nfc_look(gt_nfc_scan *scan, const uint8_t *p) {
  unsigned length, block, trail;
  if (GT_LIKELY(scan->end - p >= 4 && *p < 0xF0)) {
    if (*p >= 0xE0) {
      block = (*p & 0x0Fu) << 6 | (p[1] & 0x3F);
      trail = p[2];
      length = 3;
    } else if (*p >= 0x80) {
      block = *p & 0x1F;
      trail = p[1];
      length = 2;
    } else {
      return 0;
    }
  } else {
    uint32_t c = gt_nfc_decode(p, scan->end, &length);
    block = c >> 6;
    trail = c;
  }
  unsigned flags = scan->form->flags[(size_t)scan->form->blocks[block] * 64 + (trail & 63)], rank = flags & GT_NFC_CLASS;
  unsigned last = p == scan->known ? scan->last : 0;
  if (GT_UNLIKELY((flags > GT_NFC_CLASS) | ((rank != 0) & (rank < last))) &&
      gt_nfc_is_issue(scan->form, scan->begin, p, scan->end, flags, last))
    return 1;
  scan->known = p + length;
  scan->last = rank;
  return 0;
}

/* Look at every character that begins in [p, stop), p being where one begins; the issue or NULL. Branches only on how long
 * characters are, since marks come in no pattern that a processor could learn. */
static const uint8_t *gt_nfc_look_all(gt_nfc_scan *scan, const uint8_t *p, const uint8_t *stop) {
  const uint8_t *whole = scan->end - p < 4 ? p : stop < scan->end - 3 ? stop : scan->end - 3;
  unsigned last = p == scan->known ? scan->last : 0;
  while (p < whole) { /* a character that begins here is all there */
    unsigned length, block, trail;
    if (*p < 0x80) {
      p++;
      last = 0;
      continue;
    }
    if (*p < 0xE0) {
      block = *p & 0x1F;
      trail = p[1];
      length = 2;
    } else if (*p < 0xF0) {
      block = (*p & 0x0Fu) << 6 | (p[1] & 0x3F);
      trail = p[2];
      length = 3;
    } else {
      uint32_t c = gt_nfc_decode(p, scan->end, &length);
      block = c >> 6;
      trail = c;
    }
    unsigned flags = scan->form->flags[(size_t)scan->form->blocks[block] * 64 + (trail & 63)], rank = flags & GT_NFC_CLASS;
    if (GT_UNLIKELY((flags > GT_NFC_CLASS) | ((rank != 0) & (rank < last))) &&
        gt_nfc_is_issue(scan->form, scan->begin, p, scan->end, flags, last))
      return p;
    p += length;
    last = rank;
  }
  scan->known = p;
  scan->last = last;
  for (; p < stop; p = scan->known > p ? scan->known : p + 1) /* the last bytes of the text */
    if (gt_nfc_look(scan, p)) return p;
  return NULL;
}

/* From scan.known, which begins a character, to the first issue or NULL: eight bytes at a time while they lead only inert
 * characters (trail bytes included), ASCII faster, else a character at a time. */
static const uint8_t *gt_nfc_issue_portable(gt_nfc_scan scan) {
  const uint8_t *p = scan.known, *end = scan.end, *lead = scan.form->leads;
  ptrdiff_t patience = 32; /* how far to look at every character before stretches are tried again */
  while (p < end) {
    const uint8_t *from = p;
    if (*p < 0x80) p += gt_ascii_steps(p, end);
    while (end - p >= 8 && !(lead[p[0]] | lead[p[1]] | lead[p[2]] | lead[p[3]] | lead[p[4]] | lead[p[5]] | lead[p[6]] | lead[p[7]])) {
      p += 8;
      if (end - p >= 8 && !(gt_load64(p) & GT_HIGH_BITS)) p += gt_ascii_steps(p, end);
    }
    patience = p - from >= 24 ? 32 : patience < 512 ? patience * 2 : patience;
    while (p < end && (*p & 0xC0) == 0x80) p++; /* the rest of a character that the stretch ended in */
    const uint8_t *stop = end - p < patience ? end : p + patience, *issue = gt_nfc_look_all(&scan, p, stop);
    if (issue) return issue;
    p = scan.known > stop ? scan.known : stop;
  }
  return NULL;
}

#if GT_X86
#define GT_NFC_LOOK(i) _mm_loadu_si128((const __m128i *)(const void *)(scan.form->finder + (i)*16))

/* Blocks of 32 bytes: ASCII, or six lookups in each of two groups of buckets, which find every character with flags and few
 * others (nfc_finder in compiler/normalizer/tables.py). */
__attribute__((target("avx2"))) static const uint8_t *gt_nfc_issue_avx2(gt_nfc_scan scan) {
  const __m256i half = _mm256_set1_epi8(0x0F);
  const uint8_t *p = scan.known, *end = scan.end;
  __m256i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm256_broadcastsi128_si256(GT_NFC_LOOK(i));
  while (end - p >= 34) {
    __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
    if (!_mm256_movemask_epi8(a)) {
      for (p += 32; end - p >= 128; p += 128) {
        __m256i any = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (int i = 0; i < 128; i += 32) any = _mm256_or_si256(any, _mm256_loadu_si256((const __m256i *)(const void *)(p + i)));
        if (_mm256_movemask_epi8(any)) break;
      }
      continue;
    }
    __m256i found = _mm256_set1_epi8((char)0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      __m256i bytes = i ? _mm256_loadu_si256((const __m256i *)(const void *)(p + i)) : a;
      __m256i low = _mm256_and_si256(bytes, half), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
      found = _mm256_and_si256(found, _mm256_and_si256(_mm256_shuffle_epi8(look[2 * i], low),
                                                       _mm256_shuffle_epi8(look[2 * i + 1], high)));
      other = _mm256_and_si256(other, _mm256_and_si256(_mm256_shuffle_epi8(look[2 * i + 6], low),
                                                       _mm256_shuffle_epi8(look[2 * i + 7], high)));
    }
    uint32_t at = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_or_si256(found, other), _mm256_setzero_si256()));
    if (__builtin_popcount(at) >= 6) { /* a script full of marks */
      const uint8_t *issue = gt_nfc_look_all(&scan, p + __builtin_ctz(at), end - p < 512 ? end : p + 512);
      if (issue) return issue;
      p = scan.known;
      continue;
    }
    for (; at; at &= at - 1) {
      const uint8_t *q = p + __builtin_ctz(at);
      if (gt_nfc_look(&scan, q)) return q;
    }
    p += 32;
  }
  while (p < end && (*p & 0xC0) == 0x80) p++; /* the rest of a character that began in the last block */
  if (scan.known != p) scan = (gt_nfc_scan){scan.form, scan.begin, end, p, 0};
  return gt_nfc_issue_portable(scan);
}

/* The same in blocks of 64. */
__attribute__((target("avx512f,avx512bw"))) static const uint8_t *gt_nfc_issue_avx512(gt_nfc_scan scan) {
  const __m512i half = _mm512_set1_epi8(0x0F);
  const uint8_t *p = scan.known, *end = scan.end;
  __m512i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm512_broadcast_i32x4(GT_NFC_LOOK(i));
  while (end - p >= 66) {
    __m512i a = _mm512_loadu_si512(p);
    if (!_mm512_movepi8_mask(a)) {
      for (p += 64; end - p >= 256; p += 256) {
        __m512i any = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (int i = 0; i < 256; i += 64) any = _mm512_or_si512(any, _mm512_loadu_si512(p + i));
        if (_mm512_movepi8_mask(any)) break;
      }
      continue;
    }
    __m512i found = _mm512_set1_epi8((char)0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      __m512i bytes = i ? _mm512_loadu_si512(p + i) : a;
      __m512i low = _mm512_and_si512(bytes, half), high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
      found = _mm512_ternarylogic_epi64(found, _mm512_shuffle_epi8(look[2 * i], low),
                                        _mm512_shuffle_epi8(look[2 * i + 1], high), 0x80);
      other = _mm512_ternarylogic_epi64(other, _mm512_shuffle_epi8(look[2 * i + 6], low),
                                        _mm512_shuffle_epi8(look[2 * i + 7], high), 0x80);
    }
    found = _mm512_or_si512(found, other);
    uint64_t at = _mm512_test_epi8_mask(found, found);
    if (__builtin_popcountll(at) >= 12) {
      const uint8_t *issue = gt_nfc_look_all(&scan, p + __builtin_ctzll(at), end - p < 512 ? end : p + 512);
      if (issue) return issue;
      p = scan.known;
      continue;
    }
    for (; at; at &= at - 1) {
      const uint8_t *q = p + __builtin_ctzll(at);
      if (gt_nfc_look(&scan, q)) return q;
    }
    p += 64;
  }
  while (p < end && (*p & 0xC0) == 0x80) p++;
  if (scan.known != p) scan = (gt_nfc_scan){scan.form, scan.begin, end, p, 0};
  return gt_nfc_issue_portable(scan);
}
#undef GT_NFC_LOOK
#endif

#if GT_NEON
/* The same in blocks of 16. */
static const uint8_t *gt_nfc_issue_neon(gt_nfc_scan scan) {
  const uint8x16_t half = vdupq_n_u8(0x0F);
  const uint8_t *p = scan.known, *end = scan.end;
  uint8x16_t look[12];
  for (int i = 0; i < 12; i++) look[i] = vld1q_u8(scan.form->finder + 16 * i);
  while (end - p >= 18) {
    const uint8x16_t a = vld1q_u8(p);
    if (vmaxvq_u8(a) < 0x80) {
      for (p += 16; end - p >= 64; p += 64) {
        const uint8x16_t ab = vorrq_u8(vld1q_u8(p), vld1q_u8(p + 16)), cd = vorrq_u8(vld1q_u8(p + 32), vld1q_u8(p + 48));
        if (vmaxvq_u8(vorrq_u8(ab, cd)) >= 0x80) break;
      }
      continue;
    }
    uint8x16_t found = vdupq_n_u8(0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      const uint8x16_t bytes = i ? vld1q_u8(p + i) : a;
      const uint8x16_t low = vandq_u8(bytes, half), high = vshrq_n_u8(bytes, 4);
      found = vandq_u8(found, vandq_u8(vqtbl1q_u8(look[2 * i], low), vqtbl1q_u8(look[2 * i + 1], high)));
      other = vandq_u8(other, vandq_u8(vqtbl1q_u8(look[2 * i + 6], low), vqtbl1q_u8(look[2 * i + 7], high)));
    }
    found = vorrq_u8(found, other);
    uint64_t at = gt_nibbles_neon(vtstq_u8(found, found));
    if (__builtin_popcountll(at) >= 3) { /* a script full of marks */
      const uint8_t *issue = gt_nfc_look_all(&scan, p + __builtin_ctzll(at) / 4, end - p < 512 ? end : p + 512);
      if (issue) return issue;
      p = scan.known;
      continue;
    }
    for (; at; at &= at - 1) {
      const uint8_t *q = p + __builtin_ctzll(at) / 4;
      if (gt_nfc_look(&scan, q)) return q;
    }
    p += 16;
  }
  while (p < end && (*p & 0xC0) == 0x80) p++;
  if (scan.known != p) scan = (gt_nfc_scan){scan.form, scan.begin, end, p, 0};
  return gt_nfc_issue_portable(scan);
}
#endif

/* The first character that may have to change or move, or to be composed with one before it; NULL when there is none. The
 * text must begin at `begin` or be in NFC before it with an inert character at `begin`. */
static const uint8_t *gt_nfc_issue(const gt_form *form, const uint8_t *begin, const uint8_t *end) {
  gt_nfc_scan scan = {form, begin, end, begin, 0};
#if GT_X86
  if (end - begin >= 66) {
    int level = GT_VECTOR_LEVEL;
    if (level >= 3) return gt_nfc_issue_avx512(scan);
    if (level >= 2) return gt_nfc_issue_avx2(scan);
  }
#elif GT_NEON
  if (end - begin >= 66 && GT_VECTOR_LEVEL) return gt_nfc_issue_neon(scan);
#endif
  return gt_nfc_issue_portable(scan);
}

/* Start of the last inert character before `issue`, or `begin`. */
static inline const uint8_t *gt_nfc_stretch_begin(const gt_form *form, const uint8_t *begin, const uint8_t *issue) {
  const uint8_t *p = issue;
  while (p > begin) {
    unsigned length;
    p = gt_nfc_before(begin, p);
    if (!gt_nfc_flags_of(form, gt_nfc_decode(p, issue, &length))) break;
  }
  return p;
}

/* Is it certain that cutting before the character at p changes nothing: normalizing both sides alone gives the same text?
 * True at the end. */
GT_UNUSED static inline int gt_nfc_safe_boundary(const gt_form *form, const uint8_t *p, const uint8_t *end) {
  unsigned length;
  return p == end || !gt_nfc_flags_of(form, gt_nfc_decode(p, end, &length));
}

/* Offset from which normalization may change something (always a safe boundary or 0), or -1: the text is in NFC. */
GT_UNUSED static int64_t gt_nfc_first(const gt_form *form, const uint8_t *p, size_t n) {
  const uint8_t *issue = gt_nfc_issue(form, p, p + n);
  return issue ? gt_nfc_stretch_begin(form, p, issue) - p : -1;
}

#endif
