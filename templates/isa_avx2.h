/* The per-ISA vocabulary (see isa_swar.h) for AVX2: 64 bytes in two 32-byte registers. */
typedef struct { __m256i codes[GT_CODE_BYTES][2]; } gt_tags_avx2;

GT_INLINE uint64_t gt_sign_bits_avx2(__m256i a, __m256i b) {
  return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

GT_INLINE uint64_t gt_non_ascii_avx2(const uint8_t *p) {
  return gt_sign_bits_avx2(_mm256_loadu_si256((const __m256i *)p), _mm256_loadu_si256((const __m256i *)(p + 32)));
}

GT_INLINE uint64_t gt_continuation_avx2(const uint8_t *p) {
  /* signed: 0x80..0xBF is -128..-65 */
  const __m256i limit = _mm256_set1_epi8(-64);
  return gt_sign_bits_avx2(_mm256_cmpgt_epi8(limit, _mm256_loadu_si256((const __m256i *)p)),
                           _mm256_cmpgt_epi8(limit, _mm256_loadu_si256((const __m256i *)(p + 32))));
}

/* 128-entry look-up in eight 16-entry ones: row h answers only where the high nibble is h, since saturation sets the
 * top bit elsewhere and the shuffle then gives zero. Bytes >= 0x80 give zero. */
GT_INLINE __m256i gt_ascii_look_up_avx2(__m256i bytes) {
  __m256i tags = _mm256_setzero_si256();
  for (unsigned h = 0; h < 8; h++) {
    const __m256i row = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_ascii_tags + 16 * h)));
    const __m256i index = _mm256_adds_epu8(_mm256_xor_si256(bytes, _mm256_set1_epi8((char)(h << 4))), _mm256_set1_epi8(0x70));
    tags = _mm256_or_si256(tags, _mm256_shuffle_epi8(row, index));
  }
  return tags;
}

GT_INLINE __m256i gt_keep_avx2(__m256i tags, unsigned first, unsigned n) {
  static const uint8_t iota[32] __attribute__((aligned(32))) = {
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
  const __m256i at = _mm256_add_epi8(_mm256_load_si256((const __m256i *)iota), _mm256_set1_epi8((char)first));
  return _mm256_blendv_epi8(_mm256_set1_epi8(GT_TAG_END), tags, _mm256_cmpgt_epi8(_mm256_set1_epi8((char)n), at));
}

GT_INLINE void gt_codes_avx2(gt_tags_avx2 *t, unsigned half, __m256i tags) {
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    const __m256i low = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_tag_codes + 64 * c)));
    __m256i codes = _mm256_shuffle_epi8(low, tags);
#if GT_TAGS > 16
    const __m256i high = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_tag_codes + 64 * c + 16)));
    codes = _mm256_blendv_epi8(codes, _mm256_shuffle_epi8(high, tags), _mm256_cmpgt_epi8(tags, _mm256_set1_epi8(15)));
#endif
#if GT_TAGS > 32
    const __m256i third = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_tag_codes + 64 * c + 32)));
    codes = _mm256_blendv_epi8(codes, _mm256_shuffle_epi8(third, tags), _mm256_cmpgt_epi8(tags, _mm256_set1_epi8(31)));
    const __m256i fourth = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_tag_codes + 64 * c + 48)));
    codes = _mm256_blendv_epi8(codes, _mm256_shuffle_epi8(fourth, tags), _mm256_cmpgt_epi8(tags, _mm256_set1_epi8(47)));
#endif
    t->codes[c][half] = codes;
  }
}

GT_INLINE gt_tags_avx2 gt_load_ascii_avx2(const uint8_t *p, unsigned n) {
  gt_tags_avx2 t;
  for (unsigned half = 0; half < 2; half++) {
    __m256i tags = gt_ascii_look_up_avx2(_mm256_loadu_si256((const __m256i *)(p + 32 * half)));
    if (GT_UNLIKELY(n < 64)) tags = gt_keep_avx2(tags, 32 * half, n);
    gt_codes_avx2(&t, half, tags);
  }
  return t;
}

GT_INLINE gt_tags_avx2 gt_load_painted_avx2(const uint8_t *p, const uint8_t *painted, unsigned n) {
  gt_tags_avx2 t;
  for (unsigned half = 0; half < 2; half++) {
    const __m256i bytes = _mm256_loadu_si256((const __m256i *)(p + 32 * half));
    const __m256i wide = _mm256_loadu_si256((const __m256i *)(painted + 32 * half));
    __m256i tags = _mm256_blendv_epi8(gt_ascii_look_up_avx2(bytes), wide, bytes);
    if (GT_UNLIKELY(n < 64)) tags = gt_keep_avx2(tags, 32 * half, n);
    gt_codes_avx2(&t, half, tags);
  }
  return t;
}

GT_INLINE uint64_t gt_class_mask_avx2(const gt_tags_avx2 *t, unsigned k) {
  /* bit k of every byte to the sign bit; bits that cross a byte's edge land below it */
  const int shift = 7 - (int)(k & 7);
  return gt_sign_bits_avx2(_mm256_slli_epi64(t->codes[k >> 3][0], shift), _mm256_slli_epi64(t->codes[k >> 3][1], shift));
}

GT_INLINE uint32_t *gt_flatten_avx2(uint64_t mask, uint32_t base, uint32_t *out) {
  const unsigned count = (unsigned)__builtin_popcountll(mask);
  uint32_t *const end = out + count;
  /* eight at a time without a branch each: ctz of 0 is masked by the final pointer */
  for (;;) {
    for (unsigned i = 0; i < 8; i++) {
      out[i] = base + (uint32_t)_tzcnt_u64(mask);
      mask = _blsr_u64(mask);
    }
    out += 8;
    if (GT_LIKELY(out >= end)) return end;
  }
}

/* Two instructions; gcc makes three or four of the portable version. */
GT_INLINE uint64_t gt_push_zero_avx2(uint64_t bits, uint64_t x) {
  __asm__("cmp $1, %1\n\tadc %0, %0" : "+r"(bits) : "r"(x) : "cc");
  return bits;
}
