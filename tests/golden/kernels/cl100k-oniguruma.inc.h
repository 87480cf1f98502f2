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
  /* other_space newline space end */
  const uint64_t c_other_space_and_3_more = GT_ISA(gt_class_mask)(t, 0);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 1);
  /* rest space apostrophe */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 2);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 3);
  /* newline */
  const uint64_t c_newline = GT_ISA(gt_class_mask)(t, 4);
  /* number letter letters_dmst letter_e letter_l letters_rv */
  const uint64_t c_number_and_5_more = GT_ISA(gt_class_mask)(t, 5);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 6);
  /* newline number */
  const uint64_t c_newline_or_number = GT_ISA(gt_class_mask)(t, 7);
  /* rest apostrophe */
  const uint64_t c_rest_or_apostrophe = GT_ISA(gt_class_mask)(t, 8);
  /* letters_dmst */
  const uint64_t c_letters_dmst = GT_ISA(gt_class_mask)(t, 9);
  /* letter_e */
  const uint64_t c_letter_e = GT_ISA(gt_class_mask)(t, 10);
  /* letter_l */
  const uint64_t c_letter_l = GT_ISA(gt_class_mask)(t, 11);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 12);
  /* letters_rv */
  const uint64_t c_letters_rv = GT_ISA(gt_class_mask)(t, 13);
  /* letter letters_dmst letter_e letter_l letters_rv */
  const uint64_t c_letter_and_4_more = GT_ISA(gt_class_mask)(t, 14);
  uint64_t q0 = ~c_other_space_and_3_more;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = ~c_other_space_and_3_more, stay_q1 = c_other_space_or_space;
  if (wide) q1 &= ~continuation, stay_q1 |= continuation;
  q1 |= carry[1] << top & stay_q1;
  for (uint64_t more = q1; more;) { /* one character back each time; runs are short */
    more = q1 >> 1 & stay_q1 & ~q1;
    q1 |= more;
  }
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = c_other_space_or_space & ahead_q1;
  if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  s[0] = c_rest_and_2_more;
  s[1] = c_space & ~ahead_q1;
  s[2] = c_space & ahead_q2;
  s[3] = c_other_space_and_3_more;
  s[4] = c_newline;
  s[5] = c_other_space_or_space;
  s[6] = c_number_and_5_more;
  s[7] = c_number;
  s[8] = c_newline_or_number;
  s[9] = c_rest_or_apostrophe;
  s[10] = c_letters_dmst;
  s[11] = c_letter_e;
  s[12] = c_letter_l;
  s[13] = c_apostrophe;
  s[14] = c_letters_rv;
  s[15] = c_other_space_or_space & ahead_q0;
  s[16] = c_other_space_or_space & ~ahead_q1;
  s[17] = c_other_space_or_space & ahead_q2;
  s[18] = c_letter_and_4_more;
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = s[9], stay_p0 = s[4];
  if (wide) p0 &= ~continuation, stay_p0 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p0, carry[0]);
    p0 |= ((((in & stay_p0) + stay_p0) ^ stay_p0) | in) & stay_p0;
  }
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> 63;
  uint64_t p1 = ~s[3] | (s[4] & behind_p0);
  if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> 63;
  uint64_t p2 = ~s[5];
  if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> 63;
  uint64_t p3 = ~s[0] | (s[1] & ~behind_p1) | (s[2] & ~behind_p2);
  if (wide) GT_CARRY_ON(p3, continuation, carry[3]);
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> 63;
  uint64_t p4 = s[6];
  if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
  const uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]);
  carry[4] = p4 >> 63;
  uint64_t p5 = ~s[7];
  if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
  const uint64_t behind_p5 = GT_SHIFT_ON(p5, carry[5]);
  carry[5] = p5 >> 63;
  uint64_t p6 = s[13] & behind_p3;
  if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
  const uint64_t behind_p6 = GT_SHIFT_ON(p6, carry[6]);
  carry[6] = p6 >> 63;
  uint64_t p7 = s[14] & behind_p6;
  if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
  const uint64_t behind_p7 = GT_SHIFT_ON(p7, carry[7]);
  carry[7] = p7 >> 63;
  uint64_t p8 = s[12] & behind_p6;
  if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
  const uint64_t behind_p8 = GT_SHIFT_ON(p8, carry[8]);
  carry[8] = p8 >> 63;
  uint64_t p9 = s[8] | (s[9] & ~behind_p3) | (s[10] & behind_p6) | (s[11] & behind_p7) | (s[12] & behind_p8);
  if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
  const uint64_t behind_p9 = GT_SHIFT_ON(p9, carry[9]);
  carry[9] = p9 >> 63;
  const uint64_t starts = s[15] | (s[9] & behind_p3) | (s[16] & behind_p1) | (s[17] & behind_p2) | (s[4] &
      behind_p4) | (s[7] & behind_p5) | (s[18] & behind_p9);
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
