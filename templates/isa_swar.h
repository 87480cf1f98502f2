/* The per-ISA vocabulary, portable version: eight bytes in a uint64_t. Any CPU, no intrinsics.
 *
 *   GT_ISA(tags)          tags of 64 characters' bytes, ready for class_mask
 *   GT_ISA(non_ascii)     which of 64 bytes are >= 0x80
 *   GT_ISA(continuation)  which are 10xxxxxx
 *   GT_ISA(load_ascii)    tags of 64 bytes by gt_ascii_tags; bytes >= 0x80 get any tag
 *   GT_ISA(load_painted)  the same, but bytes >= 0x80 take their tag from `painted`
 *   GT_ISA(class_mask)    bit i: the tag of byte i is in class k
 *   GT_ISA(flatten)       positions of set bits, plus `base`, appended to `out`; may write 64 entries past the end (common.h)
 *   GT_ISA(push_zero)     bits * 2 + (x == 0) (common.h)
 */
typedef struct { uint64_t codes[GT_CODE_BYTES][8]; } gt_tags_swar;

#define GT_LOW_BITS 0x0101010101010101ull

/* Bit 0 of each of eight bytes, gathered: the multiply moves bit 8k to bit 56+k. */
GT_INLINE uint64_t gt_gather_swar(uint64_t bits) { return (bits * 0x0102040810204080ull) >> 56; }

GT_INLINE uint64_t gt_non_ascii_swar(const uint8_t *p) {
  uint64_t mask = 0;
  for (unsigned w = 0; w < 8; w++) mask |= gt_gather_swar(gt_load64(p + 8 * w) >> 7 & GT_LOW_BITS) << (8 * w);
  return mask;
}

GT_INLINE uint64_t gt_continuation_swar(const uint8_t *p) {
  uint64_t mask = 0;
  for (unsigned w = 0; w < 8; w++) {
    const uint64_t v = gt_load64(p + 8 * w);
    mask |= gt_gather_swar(v >> 7 & ~(v >> 6) & GT_LOW_BITS) << (8 * w);
  }
  return mask;
}

GT_INLINE void gt_codes_swar(gt_tags_swar *t, const uint8_t *tags) {
  for (unsigned w = 0; w < 8; w++)
    for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
      uint64_t v = 0;
      for (unsigned b = 0; b < 8; b++) v |= (uint64_t)gt_tag_codes[c * 64 + tags[8 * w + b]] << (8 * b);
      t->codes[c][w] = v;
    }
}

GT_INLINE gt_tags_swar gt_load_ascii_swar(const uint8_t *p, unsigned n) {
  uint8_t tags[64];
  gt_tags_swar t;
  for (unsigned i = 0; i < 64; i++) tags[i] = i < n ? gt_ascii_tags[p[i] & 127] : GT_TAG_END;
  gt_codes_swar(&t, tags);
  return t;
}

GT_INLINE gt_tags_swar gt_load_painted_swar(const uint8_t *p, const uint8_t *painted, unsigned n) {
  uint8_t tags[64];
  gt_tags_swar t;
  for (unsigned i = 0; i < 64; i++) tags[i] = i >= n ? GT_TAG_END : p[i] < 0x80 ? gt_ascii_tags[p[i]] : painted[i];
  gt_codes_swar(&t, tags);
  return t;
}

GT_INLINE uint64_t gt_class_mask_swar(const gt_tags_swar *t, unsigned k) {
  uint64_t mask = 0;
  for (unsigned w = 0; w < 8; w++)
    mask |= gt_gather_swar(t->codes[k >> 3][w] >> (k & 7) & GT_LOW_BITS) << (8 * w);
  return mask;
}
