/* The characters of a str, which are 1, 2 or 4 bytes wide, to UTF-8. pyunicode.h goes the other way. Nothing here calls Python. */
#ifndef GIGATOK_PYUTF8_H
#define GIGATOK_PYUTF8_H

#include "pyfours.h"

/* The three widths of CPython's str. `out` has room for 2, 3 or 4 bytes a character (of width 1, 2, 4) and PYGT_SLACK more.
 * Each function returns the end of what was written, or NULL at a surrogate. */
enum { PYGT_SLACK = 64 };

/* One character. */
static inline uint8_t *pygt_put(uint8_t *out, uint32_t c) {
  if (c < 0x80) {
    *out++ = (uint8_t)c;
    return out;
  }
  if (c < 0x800) {
    *out++ = (uint8_t)(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      *out++ = (uint8_t)(0xE0 | c >> 12);
    } else {
      *out++ = (uint8_t)(0xF0 | c >> 18);
      *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
    }
    *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
  }
  *out++ = (uint8_t)(0x80 | (c & 0x3F));
  return out;
}

static uint8_t *pygt_utf8_from_ucs1(const Py_UCS1 *s, size_t n, uint8_t *out) {
  size_t i = 0;
  while (i < n) {
    uint64_t eight;
    if (n - i >= 8 && (memcpy(&eight, s + i, 8), !(eight & UINT64_C(0x8080808080808080)))) {
      memcpy(out, &eight, 8);
      out += 8, i += 8;
    } else {
      const size_t stop = n - i < 8 ? n : i + 8;
      while (i < stop) out = pygt_put(out, s[i++]);
    }
  }
  return out;
}

#define PYGT_UTF8(width, type)                                                       \
  static uint8_t *pygt_utf8_from_ucs##width(const type *s, size_t n, uint8_t *out) { \
    for (size_t i = 0; i < n; i++) {                                                 \
      const uint32_t c = s[i];                                                       \
      if ((c & 0xFFFFF800) == 0xD800) return NULL;                                   \
      out = pygt_put(out, c);                                                        \
    }                                                                                \
    return out;                                                                      \
  }
PYGT_UTF8(2, Py_UCS2)
PYGT_UTF8(4, Py_UCS4)
#undef PYGT_UTF8

#ifdef PYGT_FOURS
/* The same with four characters at a time, `most` at once where they are ASCII. */
#define PYGT_UTF8_FOURS(width, type, most, high)                                                                   \
  PYGT_FOURS static uint8_t *pygt_utf8_fours##width(const type *s, size_t n, uint8_t *out) {                       \
    pygt_four surrogates = pygt_no_four();                                                                         \
    size_t i = 0;                                                                                                  \
    while (n - i >= most) {                                                                                        \
      type all = 0;                                                                                                \
      for (size_t k = 0; k < most; k++) all |= s[i + k];                                                           \
      if (all < 0x80) {                                                                                            \
        for (size_t k = 0; k < most; k++) out[k] = (uint8_t)s[i + k];                                              \
        out += most, i += most;                                                                                    \
        continue;                                                                                                  \
      }                                                                                                            \
      for (size_t k = 0; k < most; k += 4, i += 4) {                                                               \
        const pygt_four c = pygt_load_four##width(s + i);                                                          \
        surrogates = pygt_four_surrogates(c, surrogates);                                                          \
        if (high && pygt_any_four(pygt_four_high(c))) {                                                            \
          for (size_t j = 0; j < 4; j++) out = pygt_put(out, s[i + j]);                                            \
        } else {                                                                                                   \
          out += pygt_put_four(out, c);                                                                            \
        }                                                                                                          \
      }                                                                                                            \
    }                                                                                                              \
    return pygt_any_four(surrogates) ? NULL : pygt_utf8_from_ucs##width(s + i, n - i, out);                        \
  }
PYGT_UTF8_FOURS(1, Py_UCS1, 8, 0)
PYGT_UTF8_FOURS(2, Py_UCS2, 8, 0)
PYGT_UTF8_FOURS(4, Py_UCS4, 4, 1)
#undef PYGT_UTF8_FOURS

static int pygt_use_fours(void) { return strcmp(gt_isa(), PYGT_FOURS_ISA) == 0; }
#endif

#if defined(__x86_64__) && defined(__GNUC__)
#define PYGT_WIDE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,popcnt,bmi2")))

/* Sixteen characters at once: each lane gets the four bytes that its character could have, the last one in the high byte,
 * and the bytes that are there are compressed together. Bytes that are not there are zero, and the last one always is. */
PYGT_WIDE static inline __mmask16 pygt_store16(__m512i c, __mmask16 lanes, uint8_t **out) {
  const __mmask16 two = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x80));
  const __mmask16 three = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x800));
  const __mmask16 four = _mm512_cmpge_epu32_mask(c, _mm512_set1_epi32(0x10000));
  const __m512i six = _mm512_set1_epi32(0x3F);
  __m512i v = _mm512_slli_epi32(_mm512_and_si512(c, six), 24);
  v = _mm512_or_si512(v, _mm512_slli_epi32(_mm512_and_si512(_mm512_srli_epi32(c, 6), six), 16));
  v = _mm512_or_si512(v, _mm512_slli_epi32(_mm512_and_si512(_mm512_srli_epi32(c, 12), six), 8));
  v = _mm512_or_si512(v, _mm512_srli_epi32(c, 18));
  __m512i marks = _mm512_mask_mov_epi32(_mm512_set1_epi32((int)0x80C00000), three, _mm512_set1_epi32((int)0x8080E000));
  marks = _mm512_mask_mov_epi32(marks, four, _mm512_set1_epi32((int)0x808080F0));
  v = _mm512_mask_or_epi32(_mm512_slli_epi32(c, 24), two, v, marks);
  const __mmask64 valid = lanes == 0xFFFF ? ~UINT64_C(0) : _pdep_u64(lanes, UINT64_C(0x1111111111111111)) * 15;
  const __mmask64 keep = (_mm512_test_epi8_mask(v, v) | UINT64_C(0x8888888888888888)) & valid;
  _mm512_storeu_si512(*out, _mm512_maskz_compress_epi8(keep, v));
  *out += __builtin_popcountll(keep);
  const __m512i high = _mm512_and_si512(c, _mm512_set1_epi32((int)0xFFFFF800));
  return _mm512_cmpeq_epi32_mask(high, _mm512_set1_epi32(0xD800)); /* surrogates */
}

/* width: 1, 2 or 4 bytes a character */
PYGT_WIDE static uint8_t *pygt_utf8_wide(const void *text, int width, size_t n, uint8_t *out) {
  const uint8_t *s = text;
  __mmask16 surrogates = 0;
  for (size_t i = 0; i < n; i += 16, s += 16 * width) {
    const __mmask16 lanes = n - i >= 16 ? 0xFFFF : (__mmask16)((1u << (n - i)) - 1);
    __m512i c;
    if (width == 1) {
      const __m128i bytes = _mm_maskz_loadu_epi8(lanes, s);
      if (lanes == 0xFFFF && !_mm_movepi8_mask(bytes)) {
        _mm_storeu_si128((__m128i *)out, bytes);
        out += 16;
        continue;
      }
      c = _mm512_cvtepu8_epi32(bytes);
    } else if (width == 2) {
      c = _mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, s));
    } else {
      c = _mm512_maskz_loadu_epi32(lanes, s);
    }
    surrogates |= pygt_store16(c, lanes, &out);
  }
  return surrogates ? NULL : out;
}

static int pygt_use_wide(void) { return strcmp(gt_isa(), "avx512") == 0; }
#else
static uint8_t *pygt_utf8_wide(const void *text, int width, size_t n, uint8_t *out) {
  (void)text, (void)width, (void)n, (void)out;
  return NULL;
}
static int pygt_use_wide(void) { return 0; }
#endif

/* UTF-8 of n characters, `width` bytes each. */
static uint8_t *pygt_utf8(const void *text, int width, size_t n, uint8_t *out) {
  if (pygt_use_wide()) return pygt_utf8_wide(text, width, n, out);
#ifdef PYGT_FOURS
  if (pygt_use_fours()) {
    if (width == 1) return pygt_utf8_fours1(text, n, out);
    return width == 2 ? pygt_utf8_fours2(text, n, out) : pygt_utf8_fours4(text, n, out);
  }
#endif
  if (width == 1) return pygt_utf8_from_ucs1(text, n, out);
  return width == 2 ? pygt_utf8_from_ucs2(text, n, out) : pygt_utf8_from_ucs4(text, n, out);
}

#endif
