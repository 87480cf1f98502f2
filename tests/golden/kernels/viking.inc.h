/* Where pieces start. Included once for each ISA; GT_ISA(x) names the functions.
 *
 * Bit i of a mask speaks of byte i of a 64-byte block; bytes of one character share its class. A chunk is passed over
 * twice. From its end to its start: `ahead_q` tells whether stream q holds at the next character, and the symbols join
 * that with the character's class. From start to end: `behind_p` tells whether stream p holds at the previous
 * character. One carry bit a stream links neighbouring blocks. `wide` is a constant in each of the two inlined copies:
 * without non-ASCII bytes the next character is the next byte.
 */

/* Right streams of one block, and its symbols. `top` is the last position of the block that holds text. */
GT_INLINE void GT_ISA(gt_right_block)(const GT_ISA(gt_tags) *t, uint64_t continuation GT_UNUSED, unsigned top GT_UNUSED,
                                      uint64_t *carry GT_UNUSED, uint64_t *s, const int wide GT_UNUSED) {
  /* rest number */
  const uint64_t c_rest_or_number = GT_ISA(gt_class_mask)(t, 0);
  /* rest_2 number */
  const uint64_t c_rest_2_or_number = GT_ISA(gt_class_mask)(t, 1);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 2);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 3);
  /* rest */
  const uint64_t c_rest = GT_ISA(gt_class_mask)(t, 4);
  /* rest_2 */
  const uint64_t c_rest_2 = GT_ISA(gt_class_mask)(t, 5);
  uint64_t q0 = c_rest_or_number;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  s[0] = c_rest_2_or_number | (c_space & ~ahead_q0);
  s[1] = c_rest_or_number;
  s[2] = (c_space & ahead_q0) | c_number;
  s[3] = c_rest;
  s[4] = c_rest_2 | (c_space & ~ahead_q0);
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = s[0];
  if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> 63;
  uint64_t p1 = s[1];
  if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> 63;
  const uint64_t starts = s[2] | (s[3] & behind_p0) | (s[4] & behind_p1);
  return wide ? starts & ~continuation : starts;
}

/* Piece starts of a chunk of n <= GT_CHUNK bytes at p, as `base` + offset, appended to `out` (room for n + 64).
 * `right` holds the right streams just after the chunk, `carry` the left ones just before it (updated).
 * Up to 64 bytes past the chunk are read. */
GT_NOINLINE uint32_t *GT_ISA(gt_chunk_starts)(const uint8_t *p, unsigned n, uint64_t right, uint64_t *carry,
                                              uint32_t base, uint32_t *out) {
  uint64_t symbols[GT_CHUNK / 64][GT_SYMBOLS];
  uint64_t continuations[GT_CHUNK / 64];
  uint64_t right_carry[GT_RIGHT + 1];
  uint64_t left_carry[GT_LEFT + 1];
  const unsigned blocks = (n + 63) / 64;

  for (unsigned i = 0; i < GT_RIGHT; i++) right_carry[i] = right >> i & 1;
  for (unsigned b = blocks; b-- > 0;) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t non_ascii = GT_ISA(gt_non_ascii)(block) & (~0ull >> (64 - here));
    if (GT_LIKELY(non_ascii == 0)) {
      const GT_ISA(gt_tags) t = GT_ISA(gt_load_ascii)(block, here);
      continuations[b] = 0;
      GT_ISA(gt_right_block)(&t, 0, here - 1, right_carry, symbols[b], 0);
    } else {
      uint8_t painted[80];
      const uint64_t continuation = GT_ISA(gt_continuation)(block) & (~0ull >> (64 - here));
      gt_paint_tags(block, non_ascii & ~continuation, continuation, painted);
      const GT_ISA(gt_tags) t = GT_ISA(gt_load_painted)(block, painted + 8, here);
      continuations[b] = continuation;
      GT_ISA(gt_right_block)(&t, continuation, here - 1, right_carry, symbols[b], 1);
    }
  }

  for (unsigned i = 0; i < GT_LEFT; i++) left_carry[i] = carry[i];
  for (unsigned b = 0; b < blocks; b++) {
    const uint64_t continuation = continuations[b];
    uint64_t starts = GT_LIKELY(continuation == 0) ? GT_ISA(gt_left_block)(symbols[b], 0, left_carry, 0)
                                                   : GT_ISA(gt_left_block)(symbols[b], continuation, left_carry, 1);
    __builtin_prefetch(p + n + 64 * b); /* the next chunk is read backwards first, which no prefetcher expects */
    if (GT_UNLIKELY(n - 64 * b < 64)) starts &= ~(~0ull << (n - 64 * b));
    out = GT_ISA(gt_flatten)(starts, base + 64 * b, out);
  }
  for (unsigned i = 0; i < GT_LEFT; i++) carry[i] = left_carry[i];
  return out;
}
