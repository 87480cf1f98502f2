/* The per-ISA vocabulary (see isa_swar.h) for AVX-512 with VBMI2: 64 bytes in one register, a mask is the uint64_t. */
typedef struct { __m512i codes[GT_CODE_BYTES]; } gt_tags_avx512;

GT_INLINE uint64_t gt_non_ascii_avx512(const uint8_t *p) { return _mm512_movepi8_mask(_mm512_loadu_si512(p)); }

GT_INLINE uint64_t gt_continuation_avx512(const uint8_t *p) {
  return _mm512_cmplt_epi8_mask(_mm512_loadu_si512(p), _mm512_set1_epi8(-64));
}

/* One permute looks up all 128 ASCII entries; the index ignores bit 7. */
GT_INLINE __m512i gt_ascii_look_up_avx512(__m512i bytes) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(gt_ascii_tags), bytes, _mm512_load_si512(gt_ascii_tags + 64));
}

GT_INLINE gt_tags_avx512 gt_codes_avx512(__m512i tags, unsigned n) {
  gt_tags_avx512 t;
  if (GT_UNLIKELY(n < 64)) tags = _mm512_mask_mov_epi8(_mm512_set1_epi8(GT_TAG_END), _bzhi_u64(~0ull, n), tags);
  for (unsigned c = 0; c < GT_CODE_BYTES; c++)
    t.codes[c] = _mm512_permutexvar_epi8(tags, _mm512_load_si512(gt_tag_codes + 64 * c));
  return t;
}

GT_INLINE gt_tags_avx512 gt_load_ascii_avx512(const uint8_t *p, unsigned n) {
  return gt_codes_avx512(gt_ascii_look_up_avx512(_mm512_loadu_si512(p)), n);
}

GT_INLINE gt_tags_avx512 gt_load_painted_avx512(const uint8_t *p, const uint8_t *painted, unsigned n) {
  const __m512i bytes = _mm512_loadu_si512(p);
  const __m512i wide = _mm512_loadu_si512(painted);
  return gt_codes_avx512(_mm512_mask_mov_epi8(gt_ascii_look_up_avx512(bytes), _mm512_movepi8_mask(bytes), wide), n);
}

GT_INLINE uint64_t gt_class_mask_avx512(const gt_tags_avx512 *t, unsigned k) {
  return _mm512_test_epi8_mask(t->codes[k >> 3], _mm512_set1_epi8((char)(1u << (k & 7))));
}

GT_INLINE uint32_t *gt_flatten_avx512(uint64_t mask, uint32_t base, uint32_t *out) {
  const __m512i iota = _mm512_load_si512(gt_iota);
  const __m512i at = _mm512_maskz_compress_epi8(mask, iota);
  const unsigned count = (unsigned)__builtin_popcountll(mask);
  const __m512i from = _mm512_set1_epi32((int)base);
  _mm512_storeu_si512(out, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at))));
  if (GT_UNLIKELY(count > 16)) {
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 1))));
    _mm512_storeu_si512(out + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 2))));
    _mm512_storeu_si512(out + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 3))));
  }
  return out + count;
}

/* Two instructions; gcc makes three or four of the portable version. */
GT_INLINE uint64_t gt_push_zero_avx512(uint64_t bits, uint64_t x) {
  __asm__("cmp $1, %1\n\tadc %0, %0" : "+r"(bits) : "r"(x) : "cc");
  return bits;
}
