/* The per-ISA vocabulary, portable version: eight bytes in a uint64_t. Any CPU, no intrinsics.
 *
 *   GT_ISA(classify)      tags of n bytes' characters, one a character; their number. leads[b]: which of the 64 bytes of block b
 *                         begin a character. Up to GT_PAST bytes past the text are read, up to 64 past the tags written
 *   GT_ISA(class_masks)   of 64 tags; masks[k], bit i: tag i is in class k. Room for 8 * GT_CODE_BYTES masks
 *   GT_ISA(GT_LANES)      blocks of 64 in a vector; where that is more than one also GT_ISA(word), (on), (back), (run_on) and
 *                         (any), see boundary.inc.h, and
 *   GT_ISA(class_words)   as class_masks for that many blocks, a word a class
 *   GT_ISA(deposit)       the low bits of the first argument in the places of the set bits of the second, in order
 *   GT_ISA(flatten)       positions of set bits, plus `base`, appended to `out`; may write 64 entries past the end (common.h)
 *   GT_ISA(push_zero)     bits * 2 + (x == 0) (common.h)
 *   GT_ISA(wide_cuts)     where there is a cut between two characters of three bytes (wide_cuts.h)
 */
#define GT_LANES_swar 1
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
#if GT_BYTES
      for (unsigned i = 0; i < 64; i++) out[i] = gt_ascii_tags[block[i] & 127];
      gt_tag_wide_bytes(block, non_ascii, out);
      leads[b] = inside;
      out += here;
#else
      leads[b] = ~gt_continuation_swar(block) & inside;
      for (uint64_t left = leads[b]; left; left &= left - 1) {
        const uint8_t *const c = block + __builtin_ctzll(left);
        *out++ = *c < 0x80 ? gt_ascii_tags[*c] : gt_wide_tag(c);
      }
#endif
    }
  }
  return (unsigned)(out - tags);
}

/* Warren, Hacker's Delight, 7-5. */
GT_INLINE uint64_t gt_deposit_swar(uint64_t bits, uint64_t places) {
  if (places == ~0ull) return bits;
  uint64_t moves[6], left = places, below = ~places << 1;
  for (unsigned i = 0; i < 6; i++) { /* bits that have to move by 1, 2, 4, ... */
    uint64_t odd = below ^ below << 1;
    odd ^= odd << 2;
    odd ^= odd << 4;
    odd ^= odd << 8;
    odd ^= odd << 16;
    odd ^= odd << 32;
    moves[i] = odd & left;
    left = (left ^ moves[i]) | moves[i] >> (1 << i);
    below &= ~odd;
  }
  for (unsigned i = 6; i-- > 0;) bits ^= (bits ^ bits << (1 << i)) & moves[i];
  return bits & places;
}

#if GT_BITSTREAM
/* Rows and columns of an 8 x 8 matrix of bits, a byte a row, change places (Warren, Hacker's Delight, 7-3). */
GT_INLINE uint64_t gt_transpose_swar(uint64_t x) {
  uint64_t t = (x ^ x >> 7) & 0x00AA00AA00AA00AAull;
  x ^= t ^ t << 7;
  t = (x ^ x >> 14) & 0x0000CCCC0000CCCCull;
  x ^= t ^ t << 14;
  t = (x ^ x >> 28) & 0x00000000F0F0F0F0ull;
  return x ^ t ^ t << 28;
}

GT_INLINE void gt_class_masks_swar(const uint8_t *tags, uint64_t *masks) {
  uint8_t *const bytes = (uint8_t *)masks; /* byte w of a mask speaks of tags 8w to 8w + 7 */
  for (unsigned c = 0; c < GT_CODE_BYTES; c++)
    for (unsigned w = 0; w < 8; w++) {
      uint64_t codes = 0;
      for (unsigned b = 0; b < 8; b++) codes |= (uint64_t)gt_tag_codes[64 * c + tags[8 * w + b]] << (8 * b);
      codes = gt_transpose_swar(codes);
      for (unsigned k = 0; k < 8; k++) bytes[64 * c + 8 * k + w] = (uint8_t)(codes >> (8 * k));
    }
}
#endif
