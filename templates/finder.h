/* Where may a character of a set begin? The scan that lets the passes of the normalizer leave alone what they do not change.
 *
 * It is the "Teddy" search of Hyperscan over the first three bytes of a character's UTF-8, as in added.h: 8 or 16 buckets,
 * two look-ups by nibble for each byte. Every character of the set is found; of ASCII nothing else is, of other characters
 * some (compiler/normalizer/finder.py keeps common scripts free of mistakes). Where the set is in ASCII the first byte is
 * all that is looked at.
 *
 * Nothing outside [p, end) is read.
 */
#ifndef GT_FINDER_H
#define GT_FINDER_H

#include "utf8.h"

typedef struct {
  const uint8_t *masks; /* [groups][3 bytes of a character][low, high nibble][16] -> a bit for each bucket */
  const uint8_t *leads; /* 256 bytes: 1 for the first bytes of characters of the set */
  uint8_t groups;       /* of 8 buckets: 1 or 2 */
  uint8_t positions;    /* bytes to look at: 1 or 3 */
  uint8_t ascii;        /* the set has ASCII characters */
} gt_finder;

/* Blocks of up to 64 bytes by the table of first bytes. The first block at or after p that has candidates, bit i of *mask
 * being the byte i of it; `end` when there is none. */
static const uint8_t *gt_find_portable(const gt_finder *f, const uint8_t *p, const uint8_t *end, uint64_t *mask) {
  while (p < end) {
    if (!f->ascii && *p < 0x80) p += gt_ascii_steps(p, end);
    const size_t count = end - p < 64 ? (size_t)(end - p) : 64;
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++) found |= (uint64_t)f->leads[p[i]] << i;
    if (found) {
      *mask = found;
      return p;
    }
    p += count;
  }
  return end;
}

#if GT_X86
#define GT_FINDER_LOOK(i) _mm_loadu_si128((const __m128i *)(const void *)(f->masks + (i)*16))

__attribute__((target("avx2"))) static inline uint32_t gt_find_in_avx2(const gt_finder *f, const uint8_t *p) {
  const __m256i half = _mm256_set1_epi8(0x0F), zero = _mm256_setzero_si256();
  __m256i any = zero;
  for (int g = 0; g < f->groups; g++) {
    __m256i found = _mm256_set1_epi8((char)0xFF);
    for (int i = 0; i < f->positions; i++) {
      const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
      const __m256i low = _mm256_broadcastsi128_si256(GT_FINDER_LOOK(6 * g + 2 * i));
      const __m256i high = _mm256_broadcastsi128_si256(GT_FINDER_LOOK(6 * g + 2 * i + 1));
      found = _mm256_and_si256(found, _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, half)),
                                                       _mm256_shuffle_epi8(high, _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half))));
    }
    any = _mm256_or_si256(any, found);
  }
  return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(any, zero));
}

__attribute__((target("avx2"))) static const uint8_t *gt_find_avx2(const gt_finder *f, const uint8_t *p, const uint8_t *end,
                                                                   uint64_t *mask) {
  for (; end - p >= 66; p += 64) {
    if (!f->ascii) { /* over ASCII at the speed of memory */
      const __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)p);
      const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(p + 32));
      if (!_mm256_movemask_epi8(_mm256_or_si256(a, b))) continue;
    }
    const uint64_t found = gt_find_in_avx2(f, p) | (uint64_t)gt_find_in_avx2(f, p + 32) << 32;
    if (found) {
      *mask = found;
      return p;
    }
  }
  return gt_find_portable(f, p, end, mask);
}

__attribute__((target("avx512f,avx512bw"))) static const uint8_t *gt_find_avx512(const gt_finder *f, const uint8_t *p,
                                                                                 const uint8_t *end, uint64_t *mask) {
  const __m512i half = _mm512_set1_epi8(0x0F);
  const int one = f->positions == 1, two = f->groups == 2;
  __m512i look[12];
  for (int i = 0; i < (one ? 2 : two ? 12 : 6); i++) look[i] = _mm512_broadcast_i32x4(GT_FINDER_LOOK(i));
  for (; end - p >= 66; p += 64) {
    const __m512i a = _mm512_loadu_si512(p);
    if (!f->ascii && !_mm512_movepi8_mask(a)) continue;
    __m512i found = _mm512_and_si512(_mm512_shuffle_epi8(look[0], _mm512_and_si512(a, half)),
                                     _mm512_shuffle_epi8(look[1], _mm512_and_si512(_mm512_srli_epi16(a, 4), half)));
    if (!one) {
      __m512i other = _mm512_setzero_si512();
      if (two)
        other = _mm512_and_si512(_mm512_shuffle_epi8(look[6], _mm512_and_si512(a, half)),
                                 _mm512_shuffle_epi8(look[7], _mm512_and_si512(_mm512_srli_epi16(a, 4), half)));
#pragma GCC unroll 2
      for (int i = 1; i < 3; i++) {
        const __m512i bytes = _mm512_loadu_si512(p + i);
        const __m512i low = _mm512_and_si512(bytes, half), high = _mm512_and_si512(_mm512_srli_epi16(bytes, 4), half);
        found = _mm512_ternarylogic_epi64(found, _mm512_shuffle_epi8(look[2 * i], low),
                                          _mm512_shuffle_epi8(look[2 * i + 1], high), 0x80);
        if (two)
          other = _mm512_ternarylogic_epi64(other, _mm512_shuffle_epi8(look[2 * i + 6], low),
                                            _mm512_shuffle_epi8(look[2 * i + 7], high), 0x80);
      }
      found = _mm512_or_si512(found, other);
    }
    const uint64_t bits = _mm512_test_epi8_mask(found, found);
    if (bits) {
      *mask = bits;
      return p;
    }
  }
  return gt_find_portable(f, p, end, mask);
}
#undef GT_FINDER_LOOK
#endif

#if GT_NEON
static const uint8_t *gt_find_neon(const gt_finder *f, const uint8_t *p, const uint8_t *end, uint64_t *mask) {
  const uint8x16_t half = vdupq_n_u8(0x0F);
  for (; end - p >= 66; p += 64) {
    if (!f->ascii) {
      const uint8x16_t ab = vorrq_u8(vld1q_u8(p), vld1q_u8(p + 16)), cd = vorrq_u8(vld1q_u8(p + 32), vld1q_u8(p + 48));
      if (vmaxvq_u8(vorrq_u8(ab, cd)) < 0x80) continue;
    }
    uint64_t bits = 0;
    for (int block = 0; block < 64; block += 16) {
      uint8x16_t any = vdupq_n_u8(0);
      for (int g = 0; g < f->groups; g++) {
        uint8x16_t found = vdupq_n_u8(0xFF);
        for (int i = 0; i < f->positions; i++) {
          const uint8x16_t bytes = vld1q_u8(p + block + i), low = vld1q_u8(f->masks + 16 * (6 * g + 2 * i));
          const uint8x16_t high = vld1q_u8(f->masks + 16 * (6 * g + 2 * i + 1));
          found = vandq_u8(found, vandq_u8(vqtbl1q_u8(low, vandq_u8(bytes, half)), vqtbl1q_u8(high, vshrq_n_u8(bytes, 4))));
        }
        any = vorrq_u8(any, found);
      }
      uint64_t nibbles = gt_nibbles_neon(vtstq_u8(any, any));
      for (; nibbles; nibbles &= nibbles - 1) bits |= (uint64_t)1 << (block + __builtin_ctzll(nibbles) / 4);
    }
    if (bits) {
      *mask = bits;
      return p;
    }
  }
  return gt_find_portable(f, p, end, mask);
}
#endif

/* The first block of up to 64 bytes at or after p with a byte where a character of the set may begin, and the mask of
 * these bytes; `end` when there is none. A byte inside a character may be found too: see gt_is_lead. */
static inline const uint8_t *gt_find(const gt_finder *f, const uint8_t *p, const uint8_t *end, uint64_t *mask) {
#if GT_X86
  if (end - p >= 66) {
    const int level = GT_VECTOR_LEVEL;
    if (level >= 3) return gt_find_avx512(f, p, end, mask);
    if (level >= 2) return gt_find_avx2(f, p, end, mask);
  }
#elif GT_NEON
  if (end - p >= 66 && GT_VECTOR_LEVEL) return gt_find_neon(f, p, end, mask);
#endif
  return gt_find_portable(f, p, end, mask);
}

#endif
