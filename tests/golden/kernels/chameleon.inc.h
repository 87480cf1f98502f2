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
  /* rest_2 other_space space digits_0123456789 colon less greater upper_letter_i end */
  const uint64_t c_rest_2_and_8_more = GT_ISA(gt_class_mask)(t, 0);
  /* upper_letter_i */
  const uint64_t c_upper_letter_i = GT_ISA(gt_class_mask)(t, 1);
  /* upper_letter_m */
  const uint64_t c_upper_letter_m = GT_ISA(gt_class_mask)(t, 2);
  /* rest_2 other_space digits_0123456789 colon less greater upper_letter_i end */
  const uint64_t c_rest_2_and_7_more = GT_ISA(gt_class_mask)(t, 3);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 4);
  /* upper_letter_g */
  const uint64_t c_upper_letter_g = GT_ISA(gt_class_mask)(t, 5);
  /* letters_abcdefh upper_letter_g upper_letter_i */
  const uint64_t c_letters_abcdefh_and_2_more = GT_ISA(gt_class_mask)(t, 6);
  /* upper_letter_z */
  const uint64_t c_upper_letter_z = GT_ISA(gt_class_mask)(t, 7);
  /* rest space */
  const uint64_t c_rest_or_space = GT_ISA(gt_class_mask)(t, 8);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 9);
  /* rest rest_2 other_space digits_0123456789 colon less greater */
  const uint64_t c_rest_and_6_more = GT_ISA(gt_class_mask)(t, 10);
  /* other_space */
  const uint64_t c_other_space = GT_ISA(gt_class_mask)(t, 11);
  /* letters_abcdefh upper_letter_g upper_letter_i upper_letter_m */
  const uint64_t c_letters_abcdefh_and_3_more = GT_ISA(gt_class_mask)(t, 12);
  /* upper_letter_g upper_letter_i upper_letter_m */
  const uint64_t c_upper_letter_g_and_2_more = GT_ISA(gt_class_mask)(t, 13);
  /* upper_letter_g upper_letter_m */
  const uint64_t c_upper_letter_g_or_upper_letter_m = GT_ISA(gt_class_mask)(t, 14);
  /* rest_2 digits_0123456789 colon less greater */
  const uint64_t c_rest_2_and_4_more = GT_ISA(gt_class_mask)(t, 15);
  /* rest */
  const uint64_t c_rest = GT_ISA(gt_class_mask)(t, 16);
  /* rest rest_2 other_space space digits_0123456789 colon less greater upper_letter_i */
  const uint64_t c_rest_and_8_more = GT_ISA(gt_class_mask)(t, 17);
  uint64_t q0 = c_upper_letter_z;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = (c_letters_abcdefh_and_2_more & ahead_q0) | c_upper_letter_z;
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = (c_letters_abcdefh_and_2_more & ahead_q1) | c_upper_letter_z;
  if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  uint64_t q3 = (c_letters_abcdefh_and_2_more & ahead_q2) | c_upper_letter_z;
  if (wide) GT_CARRY_BACK(q3, continuation, carry[3], top);
  const uint64_t ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
  carry[3] = q3 & 1;
  uint64_t q4 = c_letters_abcdefh_and_2_more & ahead_q3;
  if (wide) GT_CARRY_BACK(q4, continuation, carry[4], top);
  const uint64_t ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
  carry[4] = q4 & 1;
  uint64_t q5 = c_upper_letter_g & ahead_q4;
  if (wide) GT_CARRY_BACK(q5, continuation, carry[5], top);
  const uint64_t ahead_q5 = GT_SHIFT_BACK(q5, carry[5], top);
  carry[5] = q5 & 1;
  uint64_t q6 = c_upper_letter_m & ahead_q5;
  if (wide) GT_CARRY_BACK(q6, continuation, carry[6], top);
  const uint64_t ahead_q6 = GT_SHIFT_BACK(q6, carry[6], top);
  carry[6] = q6 & 1;
  uint64_t q7 = c_upper_letter_i & ahead_q6;
  if (wide) GT_CARRY_BACK(q7, continuation, carry[7], top);
  const uint64_t ahead_q7 = GT_SHIFT_BACK(q7, carry[7], top);
  carry[7] = q7 & 1;
  uint64_t q8 = c_upper_letter_g & ahead_q7;
  if (wide) GT_CARRY_BACK(q8, continuation, carry[8], top);
  const uint64_t ahead_q8 = GT_SHIFT_BACK(q8, carry[8], top);
  carry[8] = q8 & 1;
  uint64_t q9 = c_upper_letter_m & ahead_q8;
  if (wide) GT_CARRY_BACK(q9, continuation, carry[9], top);
  const uint64_t ahead_q9 = GT_SHIFT_BACK(q9, carry[9], top);
  carry[9] = q9 & 1;
  uint64_t q10 = ~c_rest_2_and_8_more | (c_upper_letter_i & ~ahead_q9);
  if (wide) GT_CARRY_BACK(q10, continuation, carry[10], top);
  const uint64_t ahead_q10 = GT_SHIFT_BACK(q10, carry[10], top);
  carry[10] = q10 & 1;
  uint64_t q11 = ~c_rest_2_and_7_more | (c_upper_letter_i & ~ahead_q9);
  if (wide) GT_CARRY_BACK(q11, continuation, carry[11], top);
  const uint64_t ahead_q11 = GT_SHIFT_BACK(q11, carry[11], top);
  carry[11] = q11 & 1;
  uint64_t q12 = c_space;
  if (wide) GT_CARRY_BACK(q12, continuation, carry[12], top);
  const uint64_t ahead_q12 = GT_SHIFT_BACK(q12, carry[12], top);
  carry[12] = q12 & 1;
  s[0] = c_rest_or_space;
  s[1] = c_space & ~ahead_q11;
  s[2] = c_space & ahead_q11;
  s[3] = c_other_space_or_space;
  s[4] = c_space;
  s[5] = c_rest_and_6_more;
  s[6] = (c_space & ahead_q11) | c_upper_letter_z;
  s[7] = c_other_space;
  s[8] = c_space & ahead_q12;
  s[9] = c_letters_abcdefh_and_2_more;
  s[10] = c_letters_abcdefh_and_3_more;
  s[11] = c_upper_letter_g_and_2_more;
  s[12] = c_upper_letter_i & ahead_q9;
  s[13] = c_upper_letter_g_or_upper_letter_m | (c_upper_letter_i & ~ahead_q9);
  s[14] = c_upper_letter_g_or_upper_letter_m;
  s[15] = c_rest_2_and_4_more | (c_other_space & ahead_q10) | (c_upper_letter_i & ahead_q9);
  s[16] = c_rest;
  s[17] = (c_other_space & ~ahead_q10) | (c_space & ~ahead_q11);
  s[18] = c_space & ahead_q10;
  s[19] = ~c_rest_and_8_more | (c_upper_letter_i & ~ahead_q9);
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = 0, p1 = 0;
  uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]), behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old0 = p0, old1 = p1;
    p0 = ~s[3] | (s[4] & ~behind_p1);
    if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
    behind_p0 = GT_SHIFT_ON(p0, carry[0]);
    p1 = ~s[4] | (s[1] & ~behind_p0) | (s[2] & ~behind_p1);
    if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
    behind_p1 = GT_SHIFT_ON(p1, carry[1]);
    changed = (p0 ^ old0) | (p1 ^ old1);
  }
  carry[0] = p0 >> 63;
  carry[1] = p1 >> 63;
  uint64_t p2 = ~s[0] | (s[1] & ~behind_p0) | (s[2] & ~behind_p1);
  if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> 63;
  uint64_t p3 = s[7], stay_p3 = s[1];
  if (wide) p3 &= ~continuation, stay_p3 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p3, carry[3]);
    p3 |= ((((in & stay_p3) + stay_p3) ^ stay_p3) | in) & stay_p3;
  }
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> 63;
  uint64_t p4 = 0, p5 = 0, p6 = 0, p7 = 0, p8 = 0;
  uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]), behind_p5 = GT_SHIFT_ON(p5, carry[5]), behind_p6 = GT_SHIFT_ON(p6,
      carry[6]), behind_p7 = GT_SHIFT_ON(p7, carry[7]), behind_p8 = GT_SHIFT_ON(p8, carry[8]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old4 = p4, old5 = p5, old6 = p6, old7 = p7, old8 = p8;
    p4 = ~s[4] | (s[1] & behind_p7) | (s[2] & behind_p8);
    if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
    behind_p4 = GT_SHIFT_ON(p4, carry[4]);
    p5 = s[8] & behind_p4;
    if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
    behind_p5 = GT_SHIFT_ON(p5, carry[5]);
    p6 = s[4] & behind_p5;
    if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
    behind_p6 = GT_SHIFT_ON(p6, carry[6]);
    p7 = s[7] | (s[1] & behind_p3) | (s[8] & behind_p6);
    if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    p8 = s[8] & behind_p6;
    if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
    behind_p8 = GT_SHIFT_ON(p8, carry[8]);
    changed = (p4 ^ old4) | (p5 ^ old5) | (p6 ^ old6) | (p7 ^ old7) | (p8 ^ old8);
  }
  carry[4] = p4 >> 63;
  carry[5] = p5 >> 63;
  carry[6] = p6 >> 63;
  carry[7] = p7 >> 63;
  carry[8] = p8 >> 63;
  uint64_t p9 = s[12], stay_p9 = s[14];
  if (wide) p9 &= ~continuation, stay_p9 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p9, carry[9]);
    p9 |= ((((in & stay_p9) + stay_p9) ^ stay_p9) | in) & stay_p9;
  }
  const uint64_t behind_p9 = GT_SHIFT_ON(p9, carry[9]);
  carry[9] = p9 >> 63;
  uint64_t p10 = s[12] | (s[13] & behind_p9);
  if (wide) GT_CARRY_ON(p10, continuation, carry[10]);
  const uint64_t behind_p10 = GT_SHIFT_ON(p10, carry[10]);
  carry[10] = p10 >> 63;
  uint64_t p11 = s[11] & behind_p10;
  if (wide) GT_CARRY_ON(p11, continuation, carry[11]);
  const uint64_t behind_p11 = GT_SHIFT_ON(p11, carry[11]);
  carry[11] = p11 >> 63;
  uint64_t p12 = s[11] & behind_p11;
  if (wide) GT_CARRY_ON(p12, continuation, carry[12]);
  const uint64_t behind_p12 = GT_SHIFT_ON(p12, carry[12]);
  carry[12] = p12 >> 63;
  uint64_t p13 = s[10] & behind_p12;
  if (wide) GT_CARRY_ON(p13, continuation, carry[13]);
  const uint64_t behind_p13 = GT_SHIFT_ON(p13, carry[13]);
  carry[13] = p13 >> 63;
  uint64_t p14 = s[10] & behind_p13;
  if (wide) GT_CARRY_ON(p14, continuation, carry[14]);
  const uint64_t behind_p14 = GT_SHIFT_ON(p14, carry[14]);
  carry[14] = p14 >> 63;
  uint64_t p15 = s[9] & behind_p14;
  if (wide) GT_CARRY_ON(p15, continuation, carry[15]);
  const uint64_t behind_p15 = GT_SHIFT_ON(p15, carry[15]);
  carry[15] = p15 >> 63;
  uint64_t p16 = (s[8] & behind_p1) | (s[9] & behind_p15);
  if (wide) GT_CARRY_ON(p16, continuation, carry[16]);
  const uint64_t behind_p16 = GT_SHIFT_ON(p16, carry[16]);
  carry[16] = p16 >> 63;
  uint64_t p17 = s[5] | (s[1] & ~behind_p0) | (s[6] & behind_p16);
  if (wide) GT_CARRY_ON(p17, continuation, carry[17]);
  const uint64_t behind_p17 = GT_SHIFT_ON(p17, carry[17]);
  carry[17] = p17 >> 63;
  const uint64_t starts = s[15] | (s[16] & behind_p2) | (s[17] & behind_p0) | (s[18] & behind_p1) | (s[8] &
      behind_p4) | (s[19] & behind_p17);
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
