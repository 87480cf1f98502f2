/* The per-ISA vocabulary (see isa_swar.h) for AVX2: 64 bytes in two 32-byte registers. */
GT_INLINE uint64_t gt_sign_bits_avx2(__m256i a, __m256i b) {
  return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
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

#if GT_BYTES
/* The same for bytes 0x80 to 0xBF. */
GT_INLINE __m256i gt_continuation_look_up_avx2(__m256i bytes) {
  __m256i tags = _mm256_setzero_si256();
  for (unsigned h = 0; h < 4; h++) {
    const __m256i row = _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)(gt_continuation_tags + 16 * h)));
    const __m256i place = _mm256_xor_si256(bytes, _mm256_set1_epi8((char)(0x80 | h << 4)));
    tags = _mm256_or_si256(tags, _mm256_shuffle_epi8(row, _mm256_adds_epu8(place, _mm256_set1_epi8(0x70))));
  }
  return tags;
}

/* Tags of all 64 bytes of a block, those of ASCII given. */
GT_INLINE void gt_tag_bytes_avx2(const uint8_t *block, uint64_t inside, __m256i low_tags, __m256i high_tags, uint8_t *out) {
  const __m256i low = _mm256_loadu_si256((const __m256i *)block), high = _mm256_loadu_si256((const __m256i *)(block + 32));
  const __m256i limit = _mm256_set1_epi8(-65); /* signed: 0x80..0xBF is -128..-65 */
  const uint64_t leads = gt_sign_bits_avx2(_mm256_cmpgt_epi8(low, limit), _mm256_cmpgt_epi8(high, limit));
  _mm256_storeu_si256((__m256i *)out, _mm256_or_si256(low_tags, gt_continuation_look_up_avx2(low)));
  _mm256_storeu_si256((__m256i *)(out + 32), _mm256_or_si256(high_tags, gt_continuation_look_up_avx2(high)));
  gt_tag_wide_bytes(block, leads & gt_sign_bits_avx2(low, high) & inside, out);
}
#endif

/* Characters of a block with non-ASCII ones: those of ASCII are in `ascii` already and are copied run by run. */
GT_INLINE uint8_t *gt_classify_wide_avx2(const uint8_t *block, uint64_t leads, uint64_t non_ascii, unsigned here,
                                        const uint8_t *ascii, uint8_t *out) {
  unsigned done = (unsigned)_tzcnt_u64(leads); /* the block may begin inside a character */
  for (uint64_t wide = leads & non_ascii; wide; wide &= wide - 1) {
    const unsigned at = (unsigned)_tzcnt_u64(wide);
    if (at > done) {
      _mm256_storeu_si256((__m256i *)out, _mm256_loadu_si256((const __m256i *)(ascii + done)));
      _mm256_storeu_si256((__m256i *)(out + 32), _mm256_loadu_si256((const __m256i *)(ascii + done + 32)));
      out += at - done;
    }
    *out++ = gt_wide_tag(block + at);
    done = at + gt_sequence_length(block[at]);
  }
  if (here > done) {
    memcpy(out, ascii + done, 64);
    out += here - done;
  }
  return out;
}

GT_INLINE unsigned gt_classify_avx2(const uint8_t *p, unsigned n, uint8_t *tags, uint64_t *leads) {
  uint8_t *out = tags;
  for (unsigned b = 0; 64 * b < n; b++) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t inside = ~0ull >> (64 - here);
    const __m256i low = _mm256_loadu_si256((const __m256i *)block), high = _mm256_loadu_si256((const __m256i *)(block + 32));
    const __m256i low_tags = gt_ascii_look_up_avx2(low), high_tags = gt_ascii_look_up_avx2(high);
    const uint64_t non_ascii = gt_sign_bits_avx2(low, high) & inside;
    if (GT_LIKELY(non_ascii == 0)) {
      _mm256_storeu_si256((__m256i *)out, low_tags);
      _mm256_storeu_si256((__m256i *)(out + 32), high_tags);
      leads[b] = inside;
      out += here;
    } else {
#if GT_BYTES
      gt_tag_bytes_avx2(block, inside, low_tags, high_tags, out);
      leads[b] = inside;
      out += here;
#else
      uint8_t ascii[128] __attribute__((aligned(32))); /* 64 bytes are copied from any place in its first half */
      _mm256_store_si256((__m256i *)ascii, low_tags);
      _mm256_store_si256((__m256i *)(ascii + 32), high_tags);
      const __m256i limit = _mm256_set1_epi8(-64); /* signed: 0x80..0xBF is -128..-65 */
      leads[b] = ~gt_sign_bits_avx2(_mm256_cmpgt_epi8(limit, low), _mm256_cmpgt_epi8(limit, high)) & inside;
      out = gt_classify_wide_avx2(block, leads[b], non_ascii, here, ascii, out);
#endif
    }
  }
  return (unsigned)(out - tags);
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

GT_INLINE uint64_t gt_deposit_avx2(uint64_t bits, uint64_t places) { return _pdep_u64(bits, places); }

/* Two instructions; gcc makes three or four of the portable version. */
GT_INLINE uint64_t gt_push_zero_avx2(uint64_t bits, uint64_t x) {
  __asm__("cmp $1, %1\n\tadc %0, %0" : "+r"(bits) : "r"(x) : "cc");
  return bits;
}

#define gt_wide_cuts_avx2 gt_wide_cuts_swar

#if GT_BITSTREAM
GT_INLINE __m256i gt_codes_avx2(unsigned c, __m256i tags) {
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
  return codes;
}

GT_INLINE void gt_class_masks_avx2(const uint8_t *tags, uint64_t *masks) {
  const __m256i low = _mm256_load_si256((const __m256i *)tags), high = _mm256_load_si256((const __m256i *)(tags + 32));
#pragma GCC unroll 8
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    __m256i a = gt_codes_avx2(c, low), b = gt_codes_avx2(c, high);
#pragma GCC unroll 8
    for (unsigned k = 8; k-- > 0;) { /* the highest class is in the sign bits; adding moves the next one there */
      if ((int)(8 * c + k) < GT_CLASSES) masks[8 * c + k] = gt_sign_bits_avx2(a, b);
      a = _mm256_add_epi8(a, a);
      b = _mm256_add_epi8(b, b);
    }
  }
}

/* Words of four blocks. */
#define GT_LANES_avx2 4
typedef uint64_t gt_word_avx2 __attribute__((vector_size(32)));

GT_INLINE gt_word_avx2 gt_on_avx2(gt_word_avx2 x, gt_word_avx2 before) {
  const __m256i joint = _mm256_permute2x128_si256((__m256i)before, (__m256i)x, 0x21);
  return (x + x) | ((gt_word_avx2)_mm256_alignr_epi8((__m256i)x, joint, 8) >> 63);
}
GT_INLINE gt_word_avx2 gt_back_avx2(gt_word_avx2 x, gt_word_avx2 after) {
  const __m256i joint = _mm256_permute2x128_si256((__m256i)x, (__m256i)after, 0x21);
  return (x >> 1) | ((gt_word_avx2)_mm256_alignr_epi8(joint, (__m256i)x, 8) << 63);
}
GT_INLINE int gt_any_avx2(gt_word_avx2 x) { return !_mm256_testz_si256((__m256i)x, (__m256i)x); }

/* MatchStar with a 256-bit sum: lanes that overflow carry into the next, through lanes that are all ones. Adding the
 * overflows, moved on, to the lanes of ones makes one carry run through them, as in the sum itself. */
GT_INLINE gt_word_avx2 gt_run_on_avx2(gt_word_avx2 in, gt_word_avx2 stay) {
  static const gt_word_avx2 lanes[16] = {
    {0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {0, 0, 1, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0},
    {0, 0, 0, 1}, {1, 0, 0, 1}, {0, 1, 0, 1}, {1, 1, 0, 1}, {0, 0, 1, 1}, {1, 0, 1, 1}, {0, 1, 1, 1}, {1, 1, 1, 1}};
  const gt_word_avx2 sum = (in & stay) + stay;
  const unsigned over = (unsigned)_mm256_movemask_pd((__m256d)(sum < stay));
  const unsigned full = (unsigned)_mm256_movemask_pd((__m256d)(sum == ~(gt_word_avx2){0}));
  return (((sum + lanes[((2 * over + full) ^ full) & 15]) ^ stay) | in) & stay;
}

GT_INLINE void gt_class_words_avx2(const uint8_t *tags, gt_word_avx2 *words) {
  uint64_t masks[8 * GT_CODE_BYTES];
  for (unsigned b = 0; b < 4; b++) {
    gt_class_masks_avx2(tags + 64 * b, masks);
    for (int k = 0; k < GT_CLASSES; k++) ((uint64_t *)words)[4 * k + b] = masks[k];
  }
}
#endif
