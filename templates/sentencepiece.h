/* SentencePiece's own normalizer: the rules of the model's charsmap, user-defined pieces left alone, extra spaces, the dummy prefix.
 *
 * The output is respelled: where SentencePiece puts its mark U+2581 for a space, a space stands here, and a mark in the text becomes one
 * too. What text is made of are *units*: at each place the longest user-defined piece, else what the longest rule puts in its place,
 * else one character. Nearly all units are characters that stay what they are, so a scan looks for the first that may not
 * (flags, compiler/normalizer/sentencepiece.py), and what lies before it is copied in one go. It finds
 *   - characters with a rule of their own, the mark, and those with which a user-defined piece begins;
 *   - characters that go on a rule: it may have begun at the character before;
 *   - two spaces in a row, where extra ones are removed.
 * Where a model has no rules and keeps its spaces, only the mark is looked for.
 *
 * Text is well-formed UTF-8. Nothing outside [p, p + n) is read even when it is not. Every place is looked at a bounded number
 * of times; a rule is as long as the model says.
 *
 * Tables: gt_sp_units, gt_sp_replacements, gt_sp_own_units, gt_sp_blocks, gt_sp_flags, gt_sp_leads, gt_sp_finder; GT_SP_PREFIX,
 * GT_SP_SUFFIX, GT_SP_REMOVE_EXTRA, GT_SP_ESCAPE, GT_SP_RULES, GT_SP_OWN, GT_SP_RULES_ROOT, GT_SP_OWN_ROOT.
 */
#ifndef GT_SENTENCEPIECE_H
#define GT_SENTENCEPIECE_H

#include "scratch.h"
#include "utf8.h"

enum { GT_SP_ALONE = 1, GT_SP_SECOND = 2, GT_SP_OWNED = 4, GT_SP_MARK = 8 };
#define GT_SP_MARK_ONLY (!GT_SP_RULES && !GT_SP_REMOVE_EXTRA)

/* What comes in place of the `taken` bytes at a place. With taken 0 there is no unit but a plain character. */
typedef struct {
  const uint8_t *text;
  size_t length, taken;
} gt_sp_unit;

/* Flags of the character at p (p < end), and its length; what breaks off at the end has none. */
static inline unsigned gt_sp_flags_at(const uint8_t *p, const uint8_t *end, unsigned *length) {
  uint32_t c = *p;
  *length = 1;
  if (c >= 0x80) {
    const unsigned want = gt_sequence_length(*p);
    if ((size_t)(end - p) < want) return 0;
    if (want == 2)
      c = (c & 0x1F) << 6 | (p[1] & 0x3F);
    else if (want == 3)
      c = (c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
    else if (want == 4)
      c = (c & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
    if (c > 0x10FFFF) return 0;
    *length = want;
  }
  return gt_sp_flags[(size_t)gt_sp_blocks[c >> 6] * 64 + (c & 63)];
}

static inline int gt_sp_is_mark(const uint8_t *p, const uint8_t *end) {
  return end - p >= 3 && p[0] == 0xE2 && p[1] == 0x96 && p[2] == 0x81;
}

/* The longest user-defined piece at p: its length or 0. */
GT_UNUSED static size_t gt_sp_own(const uint8_t *p, const uint8_t *end) {
  size_t length = 0;
  uint32_t offset = GT_SP_OWN_ROOT;
  for (const uint8_t *q = p; q < end; q++) {
    const uint32_t unit = gt_sp_own_units[offset + *q];
    if ((unit & 0x1FF) != *q) break;
    if (unit & 1 << 9) length = (size_t)(q + 1 - p);
    if (unit & 1 << 10) break;
    offset = unit >> 11;
  }
  return length;
}

/* The longest rule at p. The compiler has seen to it that no walk leaves the trie. */
GT_UNUSED static gt_sp_unit gt_sp_rule(const uint8_t *p, const uint8_t *end) {
  gt_sp_unit found = {p, 0, 0};
  uint32_t place = GT_SP_RULES_ROOT;
  for (const uint8_t *q = p; q < end && *q; q++) {
    const uint32_t unit = gt_sp_units[place ^ *q];
    if ((unit & 0x800000FF) != *q) break;
    place = place ^ *q ^ (unit >> 10) << ((unit & 1 << 9) >> 6);
    if (unit & 1 << 8) {
      found.text = gt_sp_replacements + (gt_sp_units[place] & 0x7FFFFFFF);
      found.taken = (size_t)(q + 1 - p);
    }
  }
  if (found.taken) found.length = strlen((const char *)found.text);
  return found;
}

/* The unit at p, if it is none of the characters that are copied. */
static gt_sp_unit gt_sp_unit_at(const uint8_t *p, const uint8_t *end) {
#if GT_SP_OWN
  const size_t own = gt_sp_own(p, end);
  if (own) return (gt_sp_unit){p, own, own};
#endif
#if GT_SP_RULES
  const gt_sp_unit rule = gt_sp_rule(p, end);
  if (rule.taken) return rule;
#endif
  if (GT_SP_ESCAPE && gt_sp_is_mark(p, end)) return (gt_sp_unit){p, 3, 3};
  return (gt_sp_unit){p, 0, 0};
}

/* ---- the scan: the first byte of [p, end) with which something in question may begin, or end ---- */

GT_UNUSED static const uint8_t *gt_sp_find_portable(const uint8_t *p, const uint8_t *end) {
  const uint8_t *const leads = gt_sp_leads;
  while (end - p >= 4 && !(leads[p[0]] | leads[p[1]] | leads[p[2]] | leads[p[3]])) p += 4;
  while (p < end && !leads[*p]) p++;
  return p;
}

#if GT_X86 && !GT_SP_MARK_ONLY
#define GT_SP_LOOK(i) _mm_loadu_si128((const __m128i *)(const void *)(gt_sp_finder + (i)*16))

/* 32 bytes a step: six lookups in each of two groups of buckets find every place, and few others. */
__attribute__((target("avx2"))) static const uint8_t *gt_sp_find_avx2(const uint8_t *p, const uint8_t *end) {
  const __m256i half = _mm256_set1_epi8(0x0F);
  __m256i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm256_broadcastsi128_si256(GT_SP_LOOK(i));
  for (; end - p >= 34; p += 32) {
    __m256i found = _mm256_set1_epi8((char)0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
      const __m256i low = _mm256_and_si256(bytes, half), high = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half);
      found = _mm256_and_si256(found, _mm256_and_si256(_mm256_shuffle_epi8(look[2 * i], low),
                                                       _mm256_shuffle_epi8(look[2 * i + 1], high)));
      other = _mm256_and_si256(other, _mm256_and_si256(_mm256_shuffle_epi8(look[2 * i + 6], low),
                                                       _mm256_shuffle_epi8(look[2 * i + 7], high)));
    }
    const __m256i none = _mm256_cmpeq_epi8(_mm256_or_si256(found, other), _mm256_setzero_si256());
    const uint32_t at = ~(uint32_t)_mm256_movemask_epi8(none);
    if (at) return p + __builtin_ctz(at);
  }
  return gt_sp_find_portable(p, end);
}

/* The same, 64 bytes a step. */
__attribute__((target("avx512f,avx512bw"))) static const uint8_t *gt_sp_find_avx512(const uint8_t *p, const uint8_t *end) {
  const __m512i half = _mm512_set1_epi8(0x0F);
  __m512i look[12];
  for (int i = 0; i < 12; i++) look[i] = _mm512_broadcast_i32x4(GT_SP_LOOK(i));
  for (; end - p >= 66; p += 64) {
    __m512i found = _mm512_set1_epi8((char)0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      const __m512i bytes = _mm512_loadu_si512(p + i);
      const __m512i low = _mm512_and_si512(bytes, half), high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
      found = _mm512_ternarylogic_epi64(found, _mm512_shuffle_epi8(look[2 * i], low),
                                        _mm512_shuffle_epi8(look[2 * i + 1], high), 0x80);
      other = _mm512_ternarylogic_epi64(other, _mm512_shuffle_epi8(look[2 * i + 6], low),
                                        _mm512_shuffle_epi8(look[2 * i + 7], high), 0x80);
    }
    found = _mm512_or_si512(found, other);
    const uint64_t at = _mm512_test_epi8_mask(found, found);
    if (at) return p + __builtin_ctzll(at);
  }
  return gt_sp_find_portable(p, end);
}
#undef GT_SP_LOOK
#endif

#if GT_NEON && !GT_SP_MARK_ONLY
/* The same, 16 bytes a step. */
static const uint8_t *gt_sp_find_neon(const uint8_t *p, const uint8_t *end) {
  const uint8x16_t half = vdupq_n_u8(0x0F);
  uint8x16_t look[12];
  for (int i = 0; i < 12; i++) look[i] = vld1q_u8(gt_sp_finder + 16 * i);
  for (; end - p >= 18; p += 16) {
    uint8x16_t found = vdupq_n_u8(0xFF), other = found;
#pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
      const uint8x16_t bytes = vld1q_u8(p + i);
      const uint8x16_t low = vandq_u8(bytes, half), high = vshrq_n_u8(bytes, 4);
      found = vandq_u8(found, vandq_u8(vqtbl1q_u8(look[2 * i], low), vqtbl1q_u8(look[2 * i + 1], high)));
      other = vandq_u8(other, vandq_u8(vqtbl1q_u8(look[2 * i + 6], low), vqtbl1q_u8(look[2 * i + 7], high)));
    }
    found = vorrq_u8(found, other);
    const uint64_t at = gt_nibbles_neon(vtstq_u8(found, found));
    if (at) return p + __builtin_ctzll(at) / 4;
  }
  return gt_sp_find_portable(p, end);
}
#endif

static inline const uint8_t *gt_sp_find(const uint8_t *p, const uint8_t *end) {
#if GT_SP_MARK_ONLY
  if (!GT_SP_ESCAPE || p == end) return end;
  const uint8_t *const mark = memchr(p, 0xE2, (size_t)(end - p));
  return mark ? mark : end;
#else
#if GT_X86
  if (end - p >= 66) {
    const int level = GT_VECTOR_LEVEL;
    if (level >= 3) return gt_sp_find_avx512(p, end);
    if (level >= 2) return gt_sp_find_avx2(p, end);
  }
#elif GT_NEON
  if (end - p >= 66 && GT_VECTOR_LEVEL) return gt_sp_find_neon(p, end);
#endif
  return gt_sp_find_portable(p, end);
#endif
}

/* The same, the next `near` bytes one by one: what is in question comes in crowds (Thai vowels, East Asian punctuation), where
 * a step of the vector code for each would be slow. */
GT_UNUSED static const uint8_t *gt_sp_find_from(const uint8_t *p, const uint8_t *end, ptrdiff_t near) {
  const uint8_t *const stop = end - p < near ? end : p + near, *const at = gt_sp_find_portable(p, stop);
  return at < stop ? at : gt_sp_find(stop, end);
}

/* Is this unit, at p, just the text that stands there, with no space or mark to care about? So are most user-defined pieces. */
GT_UNUSED static inline int gt_sp_is_copied(const gt_sp_unit *unit, const uint8_t *p) {
  if (unit->text != p) return 0;
  for (size_t i = 0; i < unit->length; i++)
    if (p[i] == ' ' || p[i] == 0xE2) return 0;
  return 1;
}

/* From p, where a unit begins: the end of the text that is copied as it is. There begins *unit, or, with unit->taken 0, the second of
 * two spaces, or it is the end of the text. */
static const uint8_t *gt_sp_stop(const uint8_t *p, const uint8_t *end, gt_sp_unit *unit) {
  unit->taken = 0;
#if GT_SP_MARK_ONLY
  for (const uint8_t *at = p; (at = gt_sp_find(at, end)) < end; at++)
    if (gt_sp_is_mark(at, end)) {
      *unit = (gt_sp_unit){at, 3, 3};
      return at;
    }
#else
  ptrdiff_t near = 8;
  const uint8_t *from = p; /* no unit that is not settled begins before it */
  for (const uint8_t *at = p; (at = gt_sp_find_from(at, end, near)) < end;) {
    unsigned length;
    const unsigned flags = gt_sp_flags_at(at, end, &length);
    if (flags & GT_SP_SECOND && at > from) {
      const uint8_t *before = at - 1;
      while (before > from && (*before & 0xC0) == 0x80) before--;
      *unit = gt_sp_unit_at(before, end);
      if (unit->taken) return before;
    }
    if (flags) {
      *unit = gt_sp_unit_at(at, end);
      if (GT_SP_OWN && unit->taken && gt_sp_is_copied(unit, at)) {
        from = at += unit->taken;
        unit->taken = 0;
        continue;
      }
      if (unit->taken) return at;
    }
    if (GT_SP_REMOVE_EXTRA && *at == ' ' && end - at >= 2 && at[1] == ' ') return at + 1;
    at += length;
    near = flags ? 64 : 8;
  }
#endif
  return end;
}

/* Copy bytes of text, marks respelled; where to go on. */
static uint8_t *gt_sp_put(uint8_t *q, const uint8_t *p, const uint8_t *end) {
  while (p < end) {
    if (GT_SP_ESCAPE && gt_sp_is_mark(p, end)) {
      *q++ = ' ';
      p += 3;
    } else {
      *q++ = *p++;
    }
  }
  return q;
}

/* Bytes from which on normalization changes more than to put a space before or after the text; -1: it does not. */
GT_UNUSED static int64_t gt_sentencepiece_first(const uint8_t *p, size_t n) {
  gt_sp_unit unit;
  if (!n || (GT_SP_REMOVE_EXTRA && *p == ' ')) return n ? 0 : -1;
  const uint8_t *const stop = gt_sp_stop(p, p + n, &unit);
  if (stop < p + n) return stop - p;
  return GT_SP_REMOVE_EXTRA && p[n - 1] == ' ' ? (int64_t)n - 1 : -1;
}

/* The normalized text of p[0..n) at out->memory; its length, or SIZE_MAX when there is no memory. An empty text stays empty, and
 * gets no dummy prefix. */
GT_UNUSED static size_t gt_sentencepiece(const uint8_t *p, size_t n, gt_scratch *out) {
  const uint8_t *const end = p + n;
  gt_sp_unit unit;
  if (GT_SP_REMOVE_EXTRA) { /* units at the beginning that are just a space */
    while (p < end) {
      unit = gt_sp_unit_at(p, end);
      if (unit.taken ? unit.length != 1 || *unit.text != ' ' : *p != ' ') break;
      p += unit.taken ? unit.taken : 1;
    }
  }
  if (p == end) return 0;
  uint8_t *memory = gt_scratch_reserve(out, (size_t)(end - p) + (size_t)(end - p) / 8 + 64);
  if (!memory) return SIZE_MAX;
  size_t used = 0;
  if (GT_SP_PREFIX) memory[used++] = ' ';
  int after_space = GT_SP_REMOVE_EXTRA;
  while (p < end) {
    if (GT_SP_REMOVE_EXTRA && after_space && *p == ' ') {
      unit = gt_sp_unit_at(p, end);
      if (!unit.taken) {
        p++;
        continue;
      }
    } else {
      const uint8_t *const stop = gt_sp_stop(p, end, &unit);
      const size_t copied = (size_t)(stop - p);
      if (copied) {
        memory = gt_scratch_reserve(out, used + copied + 1);
        if (!memory) return SIZE_MAX;
        memcpy(memory + used, p, copied);
        used += copied;
        after_space = GT_SP_REMOVE_EXTRA && stop[-1] == ' ';
        p = stop;
      }
      if (!unit.taken) continue;
    }
    p += unit.taken;
    const uint8_t *text = unit.text, *const stop = text + unit.length;
    if (after_space)
      while (text < stop && *text == ' ') text++;
    if (text == stop) continue;
    memory = gt_scratch_reserve(out, used + (size_t)(stop - text) + 1);
    if (!memory) return SIZE_MAX;
    used = (size_t)(gt_sp_put(memory + used, text, stop) - memory);
    after_space = GT_SP_REMOVE_EXTRA && stop[-1] == ' ';
  }
  if (GT_SP_REMOVE_EXTRA)
    while (used && memory[used - 1] == ' ') used--;
  if (GT_SP_SUFFIX) memory[used++] = ' ';
  return used;
}

#endif
