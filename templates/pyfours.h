/* Four characters of one to three bytes at a time between UTF-8 and the units of a str, on CPUs without AVX-512 (which has
 * pygt_utf8_wide and pygt_widen_wide). One byte shuffle brings them into the lanes of a vector or back; compiler/emit/utf8_tables.py
 * has the tables, and where the method is from.
 *
 *   pygt_lead_bits   which of 64 bytes begin a character
 *   pygt_take_four   the characters at p, of whose bytes `row` tells; 16 bytes can be read
 *   pygt_put_four    four characters below U+10000, 16 bytes written; returns how many of them count */
#ifndef GIGATOK_PYFOURS_H
#define GIGATOK_PYFOURS_H

#if defined(__x86_64__)
#include <immintrin.h>
#define PYGT_FOURS __attribute__((target("avx2,bmi")))
#define PYGT_FOURS_ISA "avx2"
typedef __m128i pygt_four; /* of 32 bits */

PYGT_FOURS static inline pygt_four pygt_load_four1(const Py_UCS1 *s) {
  int32_t bytes;
  memcpy(&bytes, s, 4);
  return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(bytes));
}
PYGT_FOURS static inline pygt_four pygt_load_four2(const Py_UCS2 *s) { return _mm_cvtepu16_epi32(_mm_loadl_epi64((const __m128i *)s)); }
PYGT_FOURS static inline pygt_four pygt_load_four4(const Py_UCS4 *s) { return _mm_loadu_si128((const __m128i *)s); }
PYGT_FOURS static inline void pygt_store_four1(Py_UCS1 *out, pygt_four c) {
  const __m128i words = _mm_packus_epi32(c, c);
  const int32_t bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  memcpy(out, &bytes, 4);
}
PYGT_FOURS static inline void pygt_store_four2(Py_UCS2 *out, pygt_four c) { _mm_storel_epi64((__m128i *)out, _mm_packus_epi32(c, c)); }
PYGT_FOURS static inline void pygt_store_four4(Py_UCS4 *out, pygt_four c) { _mm_storeu_si128((__m128i *)out, c); }
PYGT_FOURS static inline pygt_four pygt_no_four(void) { return _mm_setzero_si128(); }
PYGT_FOURS static inline int pygt_any_four(pygt_four bits) { return !_mm_testz_si128(bits, bits); }
/* Bits are set in lanes above U+FFFF; in those of surrogates. */
PYGT_FOURS static inline pygt_four pygt_four_high(pygt_four c) { return _mm_srli_epi32(c, 16); }
PYGT_FOURS static inline pygt_four pygt_four_surrogates(pygt_four c, pygt_four before) {
  return _mm_or_si128(before, _mm_cmpeq_epi32(_mm_and_si128(c, _mm_set1_epi32(0xFFF800)), _mm_set1_epi32(0xD800)));
}

PYGT_FOURS static inline uint64_t pygt_lead_bits(const uint8_t *p) {
  uint64_t bits = 0;
  for (int i = 0; i < 2; i++) {
    const __m256i text = _mm256_loadu_si256((const __m256i *)(p + 32 * i));
    bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_cmpgt_epi8(text, _mm256_set1_epi8(-65))) << 32 * i; /* not 10xxxxxx */
  }
  return bits;
}

PYGT_FOURS static inline pygt_four pygt_take_four(const uint8_t *p, const uint8_t *row) {
  const __m128i lanes = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)p), _mm_load_si128((const __m128i *)row));
  const __m128i last = _mm_and_si128(lanes, _mm_set1_epi32(0x7F));
  const __m128i middle = _mm_srli_epi32(_mm_and_si128(lanes, _mm_set1_epi32(0x3F00)), 2);
  const __m128i first = _mm_srli_epi32(_mm_and_si128(lanes, _mm_set1_epi32(0x0F0000)), 4);
  return _mm_or_si128(_mm_or_si128(last, middle), first);
}

PYGT_FOURS static inline size_t pygt_put_four(uint8_t *out, pygt_four c) {
  const __m128i two = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7F)), three = _mm_cmpgt_epi32(c, _mm_set1_epi32(0x7FF));
  const __m128i last = _mm_slli_epi32(c, 16), middle = _mm_and_si128(_mm_slli_epi32(c, 2), _mm_set1_epi32(0x3F00));
  const __m128i bits = _mm_or_si128(_mm_or_si128(_mm_and_si128(last, _mm_set1_epi32(0x3F0000)), middle), _mm_srli_epi32(c, 12));
  const __m128i marks = _mm_blendv_epi8(_mm_set1_epi32(0x80C000), _mm_set1_epi32(0x8080E0), three);
  const __m128i lanes = _mm_blendv_epi8(last, _mm_or_si128(bits, marks), two);
  const int number = _mm_movemask_ps(_mm_castsi128_ps(two)) | _mm_movemask_ps(_mm_castsi128_ps(three)) << 4;
  const uint8_t *const row = gt_fours_joined + 16 * number;
  _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(lanes, _mm_load_si128((const __m128i *)row)));
  return row[15] & 0x7F;
}

#elif defined(__aarch64__)
#include <arm_neon.h>
#define PYGT_FOURS
#define PYGT_FOURS_ISA "neon"
typedef uint32x4_t pygt_four;

static inline pygt_four pygt_load_four1(const Py_UCS1 *s) {
  uint32_t bytes;
  memcpy(&bytes, s, 4);
  return vmovl_u16(vget_low_u16(vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(bytes)))));
}
static inline pygt_four pygt_load_four2(const Py_UCS2 *s) { return vmovl_u16(vld1_u16(s)); }
static inline pygt_four pygt_load_four4(const Py_UCS4 *s) { return vld1q_u32(s); }
static inline void pygt_store_four1(Py_UCS1 *out, pygt_four c) {
  const uint16x4_t words = vmovn_u32(c);
  const uint32_t bytes = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
  memcpy(out, &bytes, 4);
}
static inline void pygt_store_four2(Py_UCS2 *out, pygt_four c) { vst1_u16(out, vmovn_u32(c)); }
static inline void pygt_store_four4(Py_UCS4 *out, pygt_four c) { vst1q_u32(out, c); }
static inline pygt_four pygt_no_four(void) { return vdupq_n_u32(0); }
static inline int pygt_any_four(pygt_four bits) { return vmaxvq_u32(bits) != 0; }
static inline pygt_four pygt_four_high(pygt_four c) { return vshrq_n_u32(c, 16); }
static inline pygt_four pygt_four_surrogates(pygt_four c, pygt_four before) {
  return vorrq_u32(before, vceqq_u32(vandq_u32(c, vdupq_n_u32(0xFFF800)), vdupq_n_u32(0xD800)));
}

static inline uint64_t pygt_lead_bits(const uint8_t *p) {
  const uint8x16_t weights = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  uint8x16_t sums[4];
  for (int i = 0; i < 4; i++) sums[i] = vandq_u8(vcgtq_s8(vreinterpretq_s8_u8(vld1q_u8(p + 16 * i)), vdupq_n_s8(-65)), weights);
  /* sums of neighbours, three times: the eight bits of each eight bytes in one */
  const uint8x16_t fours = vpaddq_u8(vpaddq_u8(sums[0], sums[1]), vpaddq_u8(sums[2], sums[3]));
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(fours, fours)), 0);
}

static inline pygt_four pygt_take_four(const uint8_t *p, const uint8_t *row) {
  const uint32x4_t lanes = vreinterpretq_u32_u8(vqtbl1q_u8(vld1q_u8(p), vld1q_u8(row)));
  const uint32x4_t middle = vshrq_n_u32(vandq_u32(lanes, vdupq_n_u32(0x3F00)), 2);
  const uint32x4_t first = vshrq_n_u32(vandq_u32(lanes, vdupq_n_u32(0x0F0000)), 4);
  return vorrq_u32(vorrq_u32(vandq_u32(lanes, vdupq_n_u32(0x7F)), middle), first);
}

static inline size_t pygt_put_four(uint8_t *out, pygt_four c) {
  const uint32x4_t two = vcgtq_u32(c, vdupq_n_u32(0x7F)), three = vcgtq_u32(c, vdupq_n_u32(0x7FF));
  const uint32x4_t last = vshlq_n_u32(c, 16), middle = vandq_u32(vshlq_n_u32(c, 2), vdupq_n_u32(0x3F00));
  const uint32x4_t bits = vorrq_u32(vorrq_u32(vandq_u32(last, vdupq_n_u32(0x3F0000)), middle), vshrq_n_u32(c, 12));
  const uint32x4_t marks = vbslq_u32(three, vdupq_n_u32(0x8080E0), vdupq_n_u32(0x80C000));
  const uint32x4_t lanes = vbslq_u32(two, vorrq_u32(bits, marks), last);
  const uint32x4_t weights = {1, 2, 4, 8};
  const unsigned number = vaddvq_u32(vandq_u32(two, weights)) | vaddvq_u32(vandq_u32(three, weights)) << 4;
  const uint8_t *const row = gt_fours_joined + 16 * number;
  vst1q_u8(out, vqtbl1q_u8(vreinterpretq_u8_u32(lanes), vld1q_u8(row)));
  return row[15] & 0x7F;
}
#endif

#endif
