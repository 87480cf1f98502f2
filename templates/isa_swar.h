/* The per-ISA vocabulary, portable version: eight bytes in a uint64_t. Any CPU, no intrinsics.
 *
 *   GT_ISA(classify)      tags of n bytes' characters, one a character; their number. leads[b]: which of the 64 bytes of block b
 *                         begin a character. Up to GT_PAST bytes past the text are read, up to 64 past the tags written
 *   GT_ISA(tags)          64 tags, ready for class_mask
 *   GT_ISA(load_tags)     from memory
 *   GT_ISA(class_mask)    bit i: tag i is in class k
 *   GT_ISA(deposit)       the low bits of the first argument in the places of the set bits of the second, in order
 *   GT_ISA(flatten)       positions of set bits, plus `base`, appended to `out`; may write 64 entries past the end (common.h)
 *   GT_ISA(push_zero)     bits * 2 + (x == 0) (common.h)
 */
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

GT_INLINE unsigned gt_classify_swar(const uint8_t *p, unsigned n, uint8_t *tags, uint64_t *leads) {
  uint8_t *out = tags;
  for (unsigned b = 0; 64 * b < n; b++) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t inside = ~0ull >> (64 - here), non_ascii = gt_non_ascii_swar(block) & inside;
    if (GT_LIKELY(non_ascii == 0)) {
      for (unsigned i = 0; i < 64; i++) out[i] = gt_ascii_tags[block[i] & 127];
      leads[b] = inside;
      out += here;
    } else {
      leads[b] = ~gt_continuation_swar(block) & inside;
      for (uint64_t left = leads[b]; left; left &= left - 1) {
        const uint8_t *const c = block + __builtin_ctzll(left);
        *out++ = *c < 0x80 ? gt_ascii_tags[*c] : gt_wide_tag(c);
      }
    }
  }
  return (unsigned)(out - tags);
}

GT_INLINE uint64_t gt_deposit_swar(uint64_t bits, uint64_t places) {
  if (places == ~0ull) return bits;
  uint64_t deposited = 0;
  for (; bits && places; bits >>= 1, places &= places - 1)
    if (bits & 1) deposited |= places & -places;
  return deposited;
}

#if GT_BITSTREAM
typedef struct { uint64_t codes[GT_CODE_BYTES][8]; } gt_tags_swar;

GT_INLINE gt_tags_swar gt_load_tags_swar(const uint8_t *tags) {
  gt_tags_swar t;
  for (unsigned w = 0; w < 8; w++)
    for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
      uint64_t v = 0;
      for (unsigned b = 0; b < 8; b++) v |= (uint64_t)gt_tag_codes[c * 64 + tags[8 * w + b]] << (8 * b);
      t.codes[c][w] = v;
    }
  return t;
}

GT_INLINE uint64_t gt_class_mask_swar(const gt_tags_swar *t, unsigned k) {
  uint64_t mask = 0;
  for (unsigned w = 0; w < 8; w++)
    mask |= gt_gather_swar(t->codes[k >> 3][w] >> (k & 7) & GT_LOW_BITS) << (8 * w);
  return mask;
}
#endif
