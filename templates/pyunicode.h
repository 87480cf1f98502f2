/* From UTF-8 to the characters of a str, which are 1, 2 or 4 bytes wide. pyutf8.h goes the other way. Nothing here calls Python. */
#ifndef GIGATOK_PYUNICODE_H
#define GIGATOK_PYUNICODE_H

#include "pyutf8.h"

enum {
  PYGT_PIECE_BYTES = 1 << 14, /* of UTF-8 at a time: with what it becomes it fits the second cache, mostly the first */
  PYGT_PIECE_SLACK = 64       /* bytes that may be read after it */
};

/* How many of the n bytes are whole characters: all but the first bytes of a character that goes on later. */
static size_t pygt_whole_characters(const uint8_t *p, size_t n) {
  for (size_t back = 1; back <= 3 && back <= n; back++) {
    const uint8_t byte = p[n - back];
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
    return length > back ? n - back : n;
  }
  return n;
}

static size_t pygt_count_characters(const uint8_t *p, size_t n) {
  size_t count = 0;
  for (size_t i = 0; i < n; i++) count += (p[i] & 0xC0) != 0x80;
  return count;
}

/* One character, whose first byte is no ASCII; its length in bytes. */
static inline unsigned pygt_take(const uint8_t *p, uint32_t *c) {
  uint32_t w;
  memcpy(&w, p, 4);
  if ((w & 0xFF) < 0xE0) {
    *c = (w & 0x1F) << 6 | (w >> 8 & 0x3F);
    return 2;
  }
  if ((w & 0xFF) < 0xF0) {
    *c = (w & 0x0F) << 12 | (w >> 2 & 0xFC0) | (w >> 16 & 0x3F);
    return 3;
  }
  *c = (w & 0x07) << 18 | (w << 4 & 0x3F000) | (w >> 10 & 0xFC0) | (w >> 24 & 0x3F);
  return 4;
}

/* The loop for each width: sixteen ASCII characters at a time where there are as many, others one by one. `p` is well-formed;
 * PYGT_PIECE_SLACK bytes after it can be read; there is room for `room` characters. How many there are, or SIZE_MAX if there is
 * no room. */
#define PYGT_WIDEN(name, type)                                                                                       \
  static size_t name(const uint8_t *p, size_t n, type *out, size_t room) {                                           \
    const uint8_t *const end = p + n;                                                                                \
    type *const first = out, *const last = out + room;                                                               \
    while (p < end) {                                                                                                \
      if (*p < 0x80) {                                                                                               \
        while (end - p >= 16 && last - out >= 16) {                                                                  \
          uint64_t a, b;                                                                                             \
          memcpy(&a, p, 8);                                                                                          \
          memcpy(&b, p + 8, 8);                                                                                      \
          if ((a | b) & UINT64_C(0x8080808080808080)) break;                                                         \
          for (int i = 0; i < 16; i++) out[i] = p[i];                                                                \
          p += 16, out += 16;                                                                                        \
        }                                                                                                            \
        while (p < end && *p < 0x80) {                                                                               \
          if (out == last) return SIZE_MAX;                                                                          \
          *out++ = *p++;                                                                                             \
        }                                                                                                            \
        continue;                                                                                                    \
      }                                                                                                              \
      while (p < end && *p >= 0x80) {                                                                                \
        if (out == last) return SIZE_MAX;                                                                            \
        uint32_t c;                                                                                                  \
        p += pygt_take(p, &c);                                                                                       \
        *out++ = (type)c;                                                                                            \
      }                                                                                                              \
    }                                                                                                                \
    return (size_t)(out - first);                                                                                    \
  }
PYGT_WIDEN(pygt_widen1, Py_UCS1)
PYGT_WIDEN(pygt_widen2, Py_UCS2)
PYGT_WIDEN(pygt_widen4, Py_UCS4)
#undef PYGT_WIDEN

#ifdef PYGT_FOURS
/* The same with four characters at a time. Where characters begin is found for 64 bytes at once, so that the next four do not wait
 * for what these are: four bits are cleared, and the lowest left is where they begin. */
#define PYGT_WIDEN_FOURS(width, type)                                                                                \
  PYGT_FOURS static size_t pygt_widen_fours##width(const uint8_t *p, size_t n, type *out, size_t room) {             \
    const uint8_t *const end = p + n;                                                                                \
    type *const first = out, *const last = out + room;                                                               \
    while (end - p >= 64 && last - out >= 64) {                                                                      \
      const uint64_t leads = pygt_lead_bits(p);                                                                      \
      if (leads == ~UINT64_C(0) && p[63] < 0x80) { /* all of them ASCII: the last byte could begin a character, too */ \
        for (int i = 0; i < 64; i++) out[i] = p[i];                                                                  \
        p += 64, out += 64;                                                                                          \
        continue;                                                                                                    \
      }                                                                                                              \
      unsigned at = 0;                                                                                               \
      for (uint64_t left = leads; at <= 64 - 13;) {                                                                  \
        const uint8_t row = gt_fours_of_leads[leads >> at >> 1 & 0xFFF];                                             \
        if (row == GT_FOURS_NONE) {                                                                                  \
          uint32_t c = p[at];                                                                                        \
          at += c < 0x80 ? 1 : pygt_take(p + at, &c);                                                                \
          *out++ = (type)c;                                                                                          \
          left &= left - 1;                                                                                          \
          continue;                                                                                                  \
        }                                                                                                            \
        pygt_store_four##width(out, pygt_take_four(p + at, gt_fours_apart + 16 * row));                              \
        out += 4;                                                                                                    \
        for (int i = 0; i < 4; i++) left &= left - 1;                                                                \
        at = (unsigned)__builtin_ctzll(left);                                                                        \
      }                                                                                                              \
      p += at;                                                                                                       \
    }                                                                                                                \
    const size_t rest = pygt_widen##width(p, (size_t)(end - p), out, (size_t)(last - out));                          \
    return rest == SIZE_MAX ? rest : (size_t)(out - first) + rest;                                                   \
  }
PYGT_WIDEN_FOURS(1, Py_UCS1)
PYGT_WIDEN_FOURS(2, Py_UCS2)
PYGT_WIDEN_FOURS(4, Py_UCS4)
#undef PYGT_WIDEN_FOURS
#endif

#if defined(__x86_64__) && defined(__GNUC__)
/* 64 bytes a step. The places of bytes that begin a character are compressed together; the bytes at them, and one, two and
 * three places on, are looked up, and become as many lanes with one character each. Characters that go on after the 64
 * bytes are left to the next step. No lane is stored past `room`. */
PYGT_WIDE static inline __m512i pygt_lanes16(__m512i text, __m512i places) {
  const __m512i six = _mm512_set1_epi16(0x3F);
  const __m512i b0 = _mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_permutexvar_epi8(places, text)));
  const __m512i next = _mm512_add_epi8(places, _mm512_set1_epi8(1));
  const __m512i b1 = _mm512_and_si512(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_permutexvar_epi8(next, text))), six);
  const __m512i last = _mm512_add_epi8(places, _mm512_set1_epi8(2));
  const __m512i b2 = _mm512_and_si512(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(_mm512_permutexvar_epi8(last, text))), six);
  const __mmask32 two = _mm512_cmpge_epu16_mask(b0, _mm512_set1_epi16(0xC0));
  const __mmask32 three = _mm512_cmpge_epu16_mask(b0, _mm512_set1_epi16(0xE0));
  const __m512i c2 = _mm512_or_si512(_mm512_slli_epi16(_mm512_and_si512(b0, _mm512_set1_epi16(0x1F)), 6), b1);
  const __m512i c3 = _mm512_or_si512(_mm512_or_si512(_mm512_slli_epi16(b0, 12), _mm512_slli_epi16(b1, 6)), b2);
  return _mm512_mask_mov_epi16(_mm512_mask_mov_epi16(b0, two, c2), three, c3);
}

PYGT_WIDE static inline __m512i pygt_lanes32(__m512i text, __m128i places) {
  const __m512i six = _mm512_set1_epi32(0x3F), wide = _mm512_castsi128_si512(places);
  __m512i b[4];
  for (int i = 0; i < 4; i++)
    b[i] = _mm512_cvtepu8_epi32(
        _mm512_castsi512_si128(_mm512_permutexvar_epi8(_mm512_add_epi8(wide, _mm512_set1_epi8((char)i)), text)));
  const __mmask16 two = _mm512_cmpge_epu32_mask(b[0], _mm512_set1_epi32(0xC0));
  const __mmask16 three = _mm512_cmpge_epu32_mask(b[0], _mm512_set1_epi32(0xE0));
  const __mmask16 four = _mm512_cmpge_epu32_mask(b[0], _mm512_set1_epi32(0xF0));
  for (int i = 1; i < 4; i++) b[i] = _mm512_and_si512(b[i], six);
  const __m512i c2 = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(b[0], _mm512_set1_epi32(0x1F)), 6), b[1]);
  const __m512i c3 = _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(b[0], _mm512_set1_epi32(0x0F)), 12),
                                     _mm512_or_si512(_mm512_slli_epi32(b[1], 6), b[2]));
  const __m512i c4 = _mm512_or_si512(
      _mm512_or_si512(_mm512_slli_epi32(_mm512_and_si512(b[0], _mm512_set1_epi32(0x07)), 18), _mm512_slli_epi32(b[1], 12)),
      _mm512_or_si512(_mm512_slli_epi32(b[2], 6), b[3]));
  return _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(_mm512_mask_mov_epi32(b[0], two, c2), three, c3), four, c4);
}

PYGT_WIDE static size_t pygt_widen_wide(const uint8_t *p, size_t n, int width, uint8_t *out, size_t room) {
  const __m512i counting = _mm512_set_epi64(0x3F3E3D3C3B3A3938, 0x3736353433323130, 0x2F2E2D2C2B2A2928, 0x2726252423222120,
                                            0x1F1E1D1C1B1A1918, 0x1716151413121110, 0x0F0E0D0C0B0A0908, 0x0706050403020100);
  size_t made = 0;
  while (n) {
    const size_t size = n < 64 ? n : 64;
    const __mmask64 there = size == 64 ? ~UINT64_C(0) : (UINT64_C(1) << size) - 1;
    const __m512i text = _mm512_maskz_loadu_epi8(there, p);
    __mmask64 begins = ~_mm512_movepi8_mask(text) & there;
    size_t taken = size;
    if (begins == ~UINT64_C(0) && room - made >= 64) { /* 64 ASCII characters */
      if (width == 2) {
        _mm512_storeu_si512(out + 2 * made, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(text)));
        _mm512_storeu_si512(out + 2 * made + 64, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(text, 1)));
      } else if (width == 1) {
        _mm512_storeu_si512(out + made, text);
      } else {
        for (int i = 0; i < 4; i++)
          _mm512_storeu_si512(out + 4 * made + 64 * i, _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(p + 16 * i))));
      }
      p += 64, n -= 64, made += 64;
      continue;
    }
    begins |= _mm512_cmpge_epu8_mask(text, _mm512_set1_epi8((char)0xC0)) & there;
    if (size == 64 && n > 64) { /* the last character may go on: it begins the next step */
      const size_t last = 63 - (size_t)__builtin_clzll(begins);
      begins &= ~(UINT64_C(1) << last);
      taken = last;
    }
    const size_t count = (size_t)__builtin_popcountll(begins);
    if (count > room - made) return SIZE_MAX;
    __m512i places = _mm512_maskz_compress_epi8(begins, counting);
    for (size_t done = 0; done < count; done += width == 4 ? 16 : 32) {
      const size_t left = count - done;
      if (width == 4) {
        const __mmask16 lanes = left >= 16 ? 0xFFFF : (__mmask16)((1u << left) - 1);
        _mm512_mask_storeu_epi32(out + 4 * (made + done), lanes, pygt_lanes32(text, _mm512_castsi512_si128(places)));
        places = _mm512_alignr_epi64(places, places, 2);
      } else {
        const __mmask32 lanes = left >= 32 ? 0xFFFFFFFF : (1u << left) - 1;
        const __m512i c = pygt_lanes16(text, places);
        if (width == 2) _mm512_mask_storeu_epi16(out + 2 * (made + done), lanes, c);
        else _mm256_mask_storeu_epi8(out + made + done, lanes, _mm512_cvtepi16_epi8(c));
        places = _mm512_alignr_epi64(places, places, 4);
      }
    }
    p += taken, n -= taken, made += count;
  }
  return made;
}
#else
static size_t pygt_widen_wide(const uint8_t *p, size_t n, int width, uint8_t *out, size_t room) {
  (void)p, (void)n, (void)width, (void)out;
  return room;
}
#endif

/* Characters of n bytes of well-formed UTF-8 into `out`, `width` bytes each. */
static size_t pygt_widen(const uint8_t *p, size_t n, int width, void *out, size_t room) {
  if (pygt_use_wide()) return pygt_widen_wide(p, n, width, out, room);
#ifdef PYGT_FOURS
  if (pygt_use_fours()) {
    if (width == 1) return pygt_widen_fours1(p, n, out, room);
    return width == 2 ? pygt_widen_fours2(p, n, out, room) : pygt_widen_fours4(p, n, out, room);
  }
#endif
  if (width == 1) return pygt_widen1(p, n, out, room);
  return width == 2 ? pygt_widen2(p, n, out, room) : pygt_widen4(p, n, out, room);
}

#endif
