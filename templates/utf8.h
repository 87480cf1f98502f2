/* Is a buffer well-formed UTF-8, and if not, where does it first go wrong?
 *
 * gt_validate answers with the offset of the lead byte of the first ill-formed sequence (the start of the maximal
 * subpart, as Python's decoder reports it in UnicodeDecodeError.start), or -1.
 *
 * Several ways, chosen at run time, one answer:
 *   AVX-512, AVX2,   the lookup algorithm of Keiser and Lemire, "Validating UTF-8 in less than one instruction per
 *   NEON             byte" (2021): three 16-entry lookups whose AND names the error, 64 or 32 bytes a step.
 *   portable         ASCII 64 bytes a step; the rest through a shift automaton (Per Vognsen): one table row and one
 *                    shift a byte, no branch that depends on the text.
 * All of them only say "something is wrong in this block"; gt_utf8_locate, plain and slow, says where.
 *
 * Nothing outside [p, p + n) is read.
 */
#ifndef GT_UTF8_H
#define GT_UTF8_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common.h"

#ifndef GT_X86 /* 0: do without the vector code of x86-64 */
#if defined(__x86_64__) && defined(__GNUC__)
#define GT_X86 1
#else
#define GT_X86 0
#endif
#endif
#if GT_X86
#include <immintrin.h>
#endif
#if defined(__aarch64__) && defined(__GNUC__)
#define GT_NEON 1
#include <arm_neon.h>
#else
#define GT_NEON 0
#endif

/* Which vector unit the scanners of utf8.h, normalize.h and added.h may use: 0 none, 1 NEON, 2 AVX2, 3 AVX-512 BW.
 * A module with its own dispatch defines GT_VECTOR_LEVEL (an expression) before it includes this. */
#ifndef GT_VECTOR_LEVEL
#if GT_X86
#define GT_VECTOR_LEVEL \
  (__builtin_cpu_supports("avx512bw") ? 3 : __builtin_cpu_supports("avx2") ? 2 : 0)
#else
#define GT_VECTOR_LEVEL GT_NEON
#endif
#endif

#define GT_HIGH_BITS UINT64_C(0x8080808080808080)

/* How many ASCII bytes [p, end) begins with, in whole steps only: the byte at the result may still be ASCII when fewer
 * than 8 bytes are left or when a non-ASCII byte follows within the step. */
static inline size_t gt_ascii_steps(const uint8_t *p, const uint8_t *end) {
  const uint8_t *from = p;
  while (end - p >= 64) {
    uint64_t any = gt_load64(p) | gt_load64(p + 8) | gt_load64(p + 16) | gt_load64(p + 24);
    any |= gt_load64(p + 32) | gt_load64(p + 40) | gt_load64(p + 48) | gt_load64(p + 56);
    if (any & GT_HIGH_BITS) break;
    p += 64;
  }
  while (end - p >= 8 && !(gt_load64(p) & GT_HIGH_BITS)) p += 8;
  return (size_t)(p - from);
}

/* Bytes of the well-formed sequence at p, or 0 (Unicode standard, table 3-7). */
static inline size_t gt_utf8_sequence(const uint8_t *p, const uint8_t *end) {
  uint8_t lead = p[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if ((size_t)(end - p) < length) return 0;
  uint8_t low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  uint8_t high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (p[1] < low || p[1] > high) return 0;
  for (size_t i = 2; i < length; i++)
    if ((p[i] & 0xC0) != 0x80) return 0;
  return length;
}

/* Offset of the first ill-formed sequence at or after `from`, which must be where a sequence begins, or -1. */
GT_UNUSED static int64_t gt_utf8_locate(const uint8_t *p, size_t n, size_t from) {
  while (from < n) {
    size_t length = gt_utf8_sequence(p + from, p + n);
    if (!length) return (int64_t)from;
    from += length;
  }
  return -1;
}

/* Where to look from, when p[0..at) is well-formed but for a sequence that may reach past `at`: the lead of that
 * sequence, at most three bytes back, or `at`. */
static inline size_t gt_utf8_back(const uint8_t *p, size_t at) {
  for (size_t back = 1; back <= 3 && back <= at; back++) {
    if (p[at - back] >= 0xC0) return at - back;
    if (p[at - back] < 0x80) break;
  }
  return at;
}

/* ---- portable: a shift automaton ------------------------------------------------------------------------------
 * A state is a shift count. row[byte] holds, at each state's count, the count of the next state, so that a step is
 * state = row[byte] >> (state & 63). The error state is 0 and its field is 0 in every row: errors stay. */
enum {
  GT_U8_ERROR = 0,
  GT_U8_START = 6,
  GT_U8_LAST1 = 12, /* one continuation byte to come */
  GT_U8_LAST2 = 18, /* two */
  GT_U8_LAST3 = 24, /* three */
  GT_U8_AFTER_E0 = 30,
  GT_U8_AFTER_ED = 36,
  GT_U8_AFTER_F0 = 42,
  GT_U8_AFTER_F4 = 48
};
#define GT_U8_GO(state, next) ((uint64_t)(next) << (state))
#define GT_U8_TAIL                                                                                             \
  (GT_U8_GO(GT_U8_LAST1, GT_U8_START) | GT_U8_GO(GT_U8_LAST2, GT_U8_LAST1) | GT_U8_GO(GT_U8_LAST3, GT_U8_LAST2))

static const uint64_t gt_u8_rows[256] = {
    [0x00 ... 0x7F] = GT_U8_GO(GT_U8_START, GT_U8_START),
    [0x80 ... 0x8F] =
        GT_U8_TAIL | GT_U8_GO(GT_U8_AFTER_ED, GT_U8_LAST1) | GT_U8_GO(GT_U8_AFTER_F4, GT_U8_LAST2),
    [0x90 ... 0x9F] =
        GT_U8_TAIL | GT_U8_GO(GT_U8_AFTER_ED, GT_U8_LAST1) | GT_U8_GO(GT_U8_AFTER_F0, GT_U8_LAST2),
    [0xA0 ... 0xBF] =
        GT_U8_TAIL | GT_U8_GO(GT_U8_AFTER_E0, GT_U8_LAST1) | GT_U8_GO(GT_U8_AFTER_F0, GT_U8_LAST2),
    [0xC2 ... 0xDF] = GT_U8_GO(GT_U8_START, GT_U8_LAST1),
    [0xE0] = GT_U8_GO(GT_U8_START, GT_U8_AFTER_E0),
    [0xE1 ... 0xEC] = GT_U8_GO(GT_U8_START, GT_U8_LAST2),
    [0xED] = GT_U8_GO(GT_U8_START, GT_U8_AFTER_ED),
    [0xEE ... 0xEF] = GT_U8_GO(GT_U8_START, GT_U8_LAST2),
    [0xF0] = GT_U8_GO(GT_U8_START, GT_U8_AFTER_F0),
    [0xF1 ... 0xF3] = GT_U8_GO(GT_U8_START, GT_U8_LAST3),
    [0xF4] = GT_U8_GO(GT_U8_START, GT_U8_AFTER_F4),
};

GT_UNUSED static int64_t gt_validate_portable(const uint8_t *p, size_t n) {
  size_t i = 0;
  uint64_t state = GT_U8_START;
  while (i < n) {
    if ((state & 63) == GT_U8_START) {
      i += gt_ascii_steps(p + i, p + n);
      if (i == n) break;
    }
    size_t stop = n - i < 48 ? n : i + 48, from = i;
    for (; stop - i >= 8; i += 8) {
      state = gt_u8_rows[p[i]] >> (state & 63);
      state = gt_u8_rows[p[i + 1]] >> (state & 63);
      state = gt_u8_rows[p[i + 2]] >> (state & 63);
      state = gt_u8_rows[p[i + 3]] >> (state & 63);
      state = gt_u8_rows[p[i + 4]] >> (state & 63);
      state = gt_u8_rows[p[i + 5]] >> (state & 63);
      state = gt_u8_rows[p[i + 6]] >> (state & 63);
      state = gt_u8_rows[p[i + 7]] >> (state & 63);
    }
    for (; i < stop; i++) state = gt_u8_rows[p[i]] >> (state & 63);
    if ((state & 63) == GT_U8_ERROR) return gt_utf8_locate(p, n, gt_utf8_back(p, from));
  }
  if ((state & 63) == GT_U8_START) return -1;
  return gt_utf8_locate(p, n, gt_utf8_back(p, n));
}

#if GT_X86 || GT_NEON
/* ---- AVX2, AVX-512 and NEON: Keiser and Lemire ----------------------------------------------------------------
 * Each bit is one way in which two neighbouring bytes can be wrong; a pair is wrong when the three lookups (high and
 * low half of the first byte, high half of the second) agree on a bit. TWO_CONTS is an error unless the byte two or
 * three back is a lead that wants it, which the last line of a step settles. */
enum {
  GT_KL_SHORT = 1 << 0,      /* a lead, then no continuation */
  GT_KL_LONG = 1 << 1,       /* ASCII, then a continuation */
  GT_KL_OVER3 = 1 << 2,      /* E0 80..9F */
  GT_KL_LARGE = 1 << 3,      /* F4 90.., F5.. */
  GT_KL_SURROGATE = 1 << 4,  /* ED A0.. */
  GT_KL_OVER2 = 1 << 5,      /* C0, C1 */
  GT_KL_LARGE_8 = 1 << 6,    /* F5.. 80..8F */
  GT_KL_OVER4 = 1 << 6,      /* F0 80..8F */
  GT_KL_CONTS = 1 << 7,      /* two continuations */
  GT_KL_CARRY = GT_KL_SHORT | GT_KL_LONG | GT_KL_CONTS
};
static const uint8_t gt_kl_first_high[16] = {
    GT_KL_LONG, GT_KL_LONG, GT_KL_LONG, GT_KL_LONG, GT_KL_LONG, GT_KL_LONG, GT_KL_LONG, GT_KL_LONG,
    GT_KL_CONTS, GT_KL_CONTS, GT_KL_CONTS, GT_KL_CONTS,
    GT_KL_SHORT | GT_KL_OVER2, GT_KL_SHORT, GT_KL_SHORT | GT_KL_OVER3 | GT_KL_SURROGATE,
    GT_KL_SHORT | GT_KL_LARGE | GT_KL_LARGE_8 | GT_KL_OVER4};
#define GT_KL_BIG (GT_KL_CARRY | GT_KL_LARGE | GT_KL_LARGE_8)
static const uint8_t gt_kl_first_low[16] = {
    GT_KL_CARRY | GT_KL_OVER3 | GT_KL_OVER2 | GT_KL_OVER4, GT_KL_CARRY | GT_KL_OVER2, GT_KL_CARRY, GT_KL_CARRY,
    GT_KL_CARRY | GT_KL_LARGE, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG, GT_KL_BIG,
    GT_KL_BIG | GT_KL_SURROGATE, GT_KL_BIG, GT_KL_BIG};
static const uint8_t gt_kl_second_high[16] = {
    GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT,
    GT_KL_LONG | GT_KL_OVER2 | GT_KL_CONTS | GT_KL_OVER3 | GT_KL_LARGE_8 | GT_KL_OVER4,
    GT_KL_LONG | GT_KL_OVER2 | GT_KL_CONTS | GT_KL_OVER3 | GT_KL_LARGE,
    GT_KL_LONG | GT_KL_OVER2 | GT_KL_CONTS | GT_KL_SURROGATE | GT_KL_LARGE,
    GT_KL_LONG | GT_KL_OVER2 | GT_KL_CONTS | GT_KL_SURROGATE | GT_KL_LARGE,
    GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT, GT_KL_SHORT};
#endif

#if GT_X86
/* Non-zero when the 32 bytes at p hold an error, counting sequences that began in the 3 bytes before p (readable). */
__attribute__((target("avx2"))) static inline int gt_kl_bad_avx2(const uint8_t *p, __m256i input) {
  const __m256i half = _mm256_set1_epi8(0x0F);
  const __m256i first_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)gt_kl_first_high));
  const __m256i first_low = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)gt_kl_first_low));
  const __m256i second_high = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)gt_kl_second_high));
  __m256i one = _mm256_loadu_si256((const __m256i *)(p - 1));
  __m256i two = _mm256_loadu_si256((const __m256i *)(p - 2));
  __m256i three = _mm256_loadu_si256((const __m256i *)(p - 3));
  __m256i pair = _mm256_and_si256(
      _mm256_and_si256(_mm256_shuffle_epi8(first_high, _mm256_and_si256(_mm256_srli_epi16(one, 4), half)),
                       _mm256_shuffle_epi8(first_low, _mm256_and_si256(one, half))),
      _mm256_shuffle_epi8(second_high, _mm256_and_si256(_mm256_srli_epi16(input, 4), half)));
  __m256i third = _mm256_subs_epu8(two, _mm256_set1_epi8((char)(0xE0 - 0x80)));
  __m256i fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((char)(0xF0 - 0x80)));
  __m256i wanted = _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8((char)0x80));
  __m256i error = _mm256_xor_si256(wanted, pair);
  return !_mm256_testz_si256(error, error);
}

__attribute__((target("avx2"))) static int64_t gt_validate_avx2(const uint8_t *p, size_t n) {
  uint8_t edge[64];
  size_t i = 0;
  int clean = 0; /* the block before was all ASCII, so nothing reaches into this one */
  memset(edge, 0, 32);
  while (n - i >= 32) {
    __m256i input = _mm256_loadu_si256((const __m256i *)(p + i));
    if (_mm256_movemask_epi8(input) == 0) {
      if (clean || i == 0) {
        clean = 1;
        i += 32;
        while (n - i >= 128) { /* four at a time while it lasts */
          __m256i a = _mm256_loadu_si256((const __m256i *)(p + i));
          __m256i b = _mm256_loadu_si256((const __m256i *)(p + i + 32));
          __m256i c = _mm256_loadu_si256((const __m256i *)(p + i + 64));
          __m256i d = _mm256_loadu_si256((const __m256i *)(p + i + 96));
          if (_mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d)))) break;
          i += 128;
        }
        continue;
      }
      clean = 1;
    } else {
      clean = 0;
    }
    int bad;
    if (i == 0) { /* there are no three bytes before the text */
      memcpy(edge + 32, p, 32);
      bad = gt_kl_bad_avx2(edge + 32, input);
    } else {
      bad = gt_kl_bad_avx2(p + i, input);
    }
    if (bad) return gt_utf8_locate(p, n, gt_utf8_back(p, i));
    i += 32;
  }
  /* What is left, with zeros after it: they count as ASCII, so a sequence that breaks off is caught. */
  memset(edge, 0, 64);
  if (i) memcpy(edge + 29, p + i - 3, 3);
  if (n > i) memcpy(edge + 32, p + i, n - i);
  if (gt_kl_bad_avx2(edge + 32, _mm256_loadu_si256((const __m256i *)(edge + 32))))
    return gt_utf8_locate(p, n, gt_utf8_back(p, i));
  return -1;
}

__attribute__((target("avx512f,avx512bw"))) static inline int gt_kl_bad_avx512(__m512i one, __m512i two, __m512i three,
                                                                            __m512i input) {
  const __m512i half = _mm512_set1_epi8(0x0F);
  const __m512i first_high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)gt_kl_first_high));
  const __m512i first_low = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)gt_kl_first_low));
  const __m512i second_high = _mm512_broadcast_i32x4(_mm_loadu_si128((const __m128i *)gt_kl_second_high));
  __m512i pair = _mm512_and_si512(
      _mm512_and_si512(_mm512_shuffle_epi8(first_high, _mm512_and_si512(_mm512_srli_epi16(one, 4), half)),
                       _mm512_shuffle_epi8(first_low, _mm512_and_si512(one, half))),
      _mm512_shuffle_epi8(second_high, _mm512_and_si512(_mm512_srli_epi16(input, 4), half)));
  __m512i third = _mm512_subs_epu8(two, _mm512_set1_epi8((char)(0xE0 - 0x80)));
  __m512i fourth = _mm512_subs_epu8(three, _mm512_set1_epi8((char)(0xF0 - 0x80)));
  __m512i wanted = _mm512_and_si512(_mm512_or_si512(third, fourth), _mm512_set1_epi8((char)0x80));
  return _mm512_test_epi8_mask(_mm512_xor_si512(wanted, pair), _mm512_set1_epi8((char)0xFF)) != 0;
}

/* The bytes `back` before each of the 64 at p + i; those outside the text read as zero. `left` bytes are left at p + i. */
__attribute__((target("avx512f,avx512bw"))) static inline __m512i gt_kl_before(const uint8_t *p, size_t i, size_t left,
                                                                               unsigned back) {
  __mmask64 inside = ~(__mmask64)0;
  if (i == 0) inside <<= back;
  if (left + back < 64) inside &= ((__mmask64)1 << (left + back)) - 1;
  return _mm512_maskz_loadu_epi8(inside, (const uint8_t *)((uintptr_t)p + i - back));
}

/* 64 bytes a step; masked loads make the first and the last block need no buffer. */
__attribute__((target("avx512f,avx512bw"))) static int64_t gt_validate_avx512(const uint8_t *p, size_t n) {
  size_t i = 0;
  int clean = 1; /* the block before was all ASCII, so nothing reaches into this one */
  for (;; i += 64) {
    size_t left = n - i;
    int inner = i && left >= 64, bad;
    __m512i input = left >= 64 ? _mm512_loadu_si512(p + i) : gt_kl_before(p, i, left, 0);
    if (_mm512_movepi8_mask(input) == 0) {
      if (clean) {
        if (left <= 64) return -1;
        for (; n - i >= 64 + 256; i += 256) { /* four at a time while it lasts */
          __m512i ab = _mm512_or_si512(_mm512_loadu_si512(p + i + 64), _mm512_loadu_si512(p + i + 128));
          __m512i cd = _mm512_or_si512(_mm512_loadu_si512(p + i + 192), _mm512_loadu_si512(p + i + 256));
          if (_mm512_movepi8_mask(_mm512_or_si512(ab, cd))) break;
        }
        continue;
      }
      clean = 1;
    } else {
      clean = 0;
    }
    if (inner)
      bad = gt_kl_bad_avx512(_mm512_loadu_si512(p + i - 1), _mm512_loadu_si512(p + i - 2),
                             _mm512_loadu_si512(p + i - 3), input);
    else
      bad = gt_kl_bad_avx512(gt_kl_before(p, i, left, 1), gt_kl_before(p, i, left, 2), gt_kl_before(p, i, left, 3), input);
    if (bad) return gt_utf8_locate(p, n, gt_utf8_back(p, i));
    /* When fewer than 64 were left, a zero followed the text and what breaks off was seen; when just 64 were left, one
     * more round over an empty block sees it. */
    if (left < 64) return -1;
  }
}
#endif

#if GT_NEON
/* Of bytes that are 0 or 0xFF, a bit each: four places apart. */
GT_INLINE uint64_t gt_nibbles_neon(uint8x16_t bytes) {
  const uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(bytes), 4);
  return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0) & UINT64_C(0x1111111111111111);
}

/* Non-zero where the 16 bytes at p are wrong after the 3 before p (readable). */
static inline uint8x16_t gt_kl_wrong_neon(const uint8_t *p, uint8x16_t input) {
  const uint8x16_t one = vld1q_u8(p - 1), two = vld1q_u8(p - 2), three = vld1q_u8(p - 3);
  const uint8x16_t first = vandq_u8(vqtbl1q_u8(vld1q_u8(gt_kl_first_high), vshrq_n_u8(one, 4)),
                                    vqtbl1q_u8(vld1q_u8(gt_kl_first_low), vandq_u8(one, vdupq_n_u8(0x0F))));
  const uint8x16_t pair = vandq_u8(first, vqtbl1q_u8(vld1q_u8(gt_kl_second_high), vshrq_n_u8(input, 4)));
  const uint8x16_t third = vqsubq_u8(two, vdupq_n_u8(0xE0 - 0x80)), fourth = vqsubq_u8(three, vdupq_n_u8(0xF0 - 0x80));
  return veorq_u8(vandq_u8(vorrq_u8(third, fourth), vdupq_n_u8(0x80)), pair);
}

/* Whether any of the 64 bytes at p is. */
static inline int gt_kl_bad_neon(const uint8_t *p, uint8x16x4_t input) {
  uint8x16_t wrong[4];
  for (unsigned k = 0; k < 4; k++) wrong[k] = gt_kl_wrong_neon(p + 16 * k, input.val[k]);
  return vmaxvq_u8(vorrq_u8(vorrq_u8(wrong[0], wrong[1]), vorrq_u8(wrong[2], wrong[3]))) != 0;
}

static int64_t gt_validate_neon(const uint8_t *p, size_t n) {
  uint8_t edge[80]; /* sixteen bytes before a block, and the block */
  size_t i = 0;
  int clean = 1; /* the block before was all ASCII, so nothing reaches into this one */
  memset(edge, 0, 16);
  for (; n - i >= 64; i += 64) {
    const uint8x16x4_t input = vld1q_u8_x4(p + i);
    const uint8x16_t any = vorrq_u8(vorrq_u8(input.val[0], input.val[1]), vorrq_u8(input.val[2], input.val[3]));
    const int ascii = vmaxvq_u8(any) < 0x80;
    if (!(ascii && clean)) {
      const uint8_t *block = p + i;
      if (i == 0) { /* there are no three bytes before the text */
        memcpy(edge + 16, p, 64);
        block = edge + 16;
      }
      if (gt_kl_bad_neon(block, input)) return gt_utf8_locate(p, n, gt_utf8_back(p, i));
    }
    clean = ascii;
  }
  /* What is left, with zeros after it: they count as ASCII, so a sequence that breaks off is caught. */
  memset(edge, 0, sizeof edge);
  if (i) memcpy(edge + 13, p + i - 3, 3);
  if (n > i) memcpy(edge + 16, p + i, n - i);
  return gt_kl_bad_neon(edge + 16, vld1q_u8_x4(edge + 16)) ? gt_utf8_locate(p, n, gt_utf8_back(p, i)) : -1;
}
#endif

/* Offset of the first ill-formed sequence of p[0..n), or -1. */
GT_UNUSED static int64_t gt_validate(const uint8_t *p, size_t n) {
#if GT_X86
  if (n >= 16) {
    int level = GT_VECTOR_LEVEL;
    if (level >= 3) return gt_validate_avx512(p, n);
    if (level >= 2) return gt_validate_avx2(p, n);
  }
#elif GT_NEON
  if (n >= 16 && GT_VECTOR_LEVEL) return gt_validate_neon(p, n);
#endif
  return gt_validate_portable(p, n);
}

#endif
