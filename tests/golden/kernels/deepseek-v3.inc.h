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
  /* letter other_letter */
  const uint64_t c_letter_or_other_letter = GT_ISA(gt_class_mask)(t, 0);
  /* rest ascii_punctuation letter symbol other_letter */
  const uint64_t c_rest_and_4_more = GT_ISA(gt_class_mask)(t, 1);
  /* other_letter_2 */
  const uint64_t c_other_letter_2 = GT_ISA(gt_class_mask)(t, 2);
  /* rest newline ascii_punctuation letter symbol other_letter */
  const uint64_t c_rest_and_5_more = GT_ISA(gt_class_mask)(t, 3);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 4);
  /* newline */
  const uint64_t c_newline = GT_ISA(gt_class_mask)(t, 5);
  /* rest */
  const uint64_t c_rest = GT_ISA(gt_class_mask)(t, 6);
  /* other_space newline space */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 7);
  /* other_space newline space ascii_punctuation symbol */
  const uint64_t c_other_space_and_4_more = GT_ISA(gt_class_mask)(t, 8);
  /* space ascii_punctuation symbol */
  const uint64_t c_space_and_2_more = GT_ISA(gt_class_mask)(t, 9);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 10);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 11);
  /* newline number symbol u_3040_u_3097_u_3098 other_letter_2 u_309B_and_3_more */
  const uint64_t c_newline_and_5_more = GT_ISA(gt_class_mask)(t, 12);
  /* ascii_punctuation */
  const uint64_t c_ascii_punctuation = GT_ISA(gt_class_mask)(t, 13);
  /* rest other_space space letter other_letter */
  const uint64_t c_rest_and_4_more_x = GT_ISA(gt_class_mask)(t, 14);
  /* letter */
  const uint64_t c_letter = GT_ISA(gt_class_mask)(t, 15);
  /* u_3040_u_3097_u_3098 */
  const uint64_t c_u_3040_u_3097_u_3098 = GT_ISA(gt_class_mask)(t, 16);
  /* u_3040_u_3097_u_3098 other_letter_2 */
  const uint64_t c_u_3040_u_3097_u_3098_or_other_letter_2 = GT_ISA(gt_class_mask)(t, 17);
  /* u_309B_and_3_more */
  const uint64_t c_u_309B_and_3_more = GT_ISA(gt_class_mask)(t, 18);
  /* ascii_punctuation symbol */
  const uint64_t c_ascii_punctuation_or_symbol = GT_ISA(gt_class_mask)(t, 19);
  /* other_letter */
  const uint64_t c_other_letter = GT_ISA(gt_class_mask)(t, 20);
  uint64_t q0 = c_letter_or_other_letter;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = c_rest_and_4_more;
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = c_other_letter_2;
  if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  uint64_t q3 = c_newline, stay_q3 = c_other_space_or_space;
  if (wide) q3 &= ~continuation, stay_q3 |= continuation;
  q3 |= carry[3] << top & stay_q3;
  for (uint64_t more = q3; more;) { /* one character back each time; runs are short */
    more = q3 >> 1 & stay_q3 & ~q3;
    q3 |= more;
  }
  const uint64_t ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
  carry[3] = q3 & 1;
  uint64_t q4 = c_rest_and_5_more | (c_other_space_or_space & ahead_q3);
  if (wide) GT_CARRY_BACK(q4, continuation, carry[4], top);
  const uint64_t ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
  carry[4] = q4 & 1;
  s[0] = c_rest;
  s[1] = c_other_space_or_space;
  s[2] = c_other_space_and_2_more;
  s[3] = c_newline;
  s[4] = c_other_space_and_4_more;
  s[5] = c_space_and_2_more;
  s[6] = c_space & ~ahead_q4;
  s[7] = c_space & ahead_q3;
  s[8] = c_number;
  s[9] = c_newline_and_5_more;
  s[10] = c_ascii_punctuation;
  s[11] = c_rest_and_4_more_x;
  s[12] = c_letter;
  s[13] = c_u_3040_u_3097_u_3098;
  s[14] = c_u_3040_u_3097_u_3098_or_other_letter_2;
  s[15] = c_u_309B_and_3_more;
  s[16] = c_ascii_punctuation_or_symbol;
  s[17] = (c_rest & ahead_q0) | (c_other_space_or_space & ahead_q1) | (c_u_3040_u_3097_u_3098 & ahead_q2);
  s[18] = c_rest & ~ahead_q0;
  s[19] = c_other_space_or_space & ~ahead_q4;
  s[20] = c_other_space_or_space & ahead_q3;
  s[21] = c_other_letter;
  s[22] = c_u_3040_u_3097_u_3098 & ~ahead_q2;
  s[23] = c_other_letter_2;
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = ~s[0];
  if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> 63;
  uint64_t p1 = ~s[1];
  if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> 63;
  uint64_t p2 = s[16], stay_p2 = s[3];
  if (wide) p2 &= ~continuation, stay_p2 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p2, carry[2]);
    p2 |= ((((in & stay_p2) + stay_p2) ^ stay_p2) | in) & stay_p2;
  }
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> 63;
  uint64_t p3 = ~s[2] | (s[3] & behind_p2);
  if (wide) GT_CARRY_ON(p3, continuation, carry[3]);
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> 63;
  uint64_t p4 = ~s[4];
  if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
  const uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]);
  carry[4] = p4 >> 63;
  uint64_t p5 = ~s[5] | (s[6] & ~behind_p1) | (s[7] & ~behind_p3);
  if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
  const uint64_t behind_p5 = GT_SHIFT_ON(p5, carry[5]);
  carry[5] = p5 >> 63;
  uint64_t p6 = 0, p7 = 0, p8 = 0;
  uint64_t behind_p6 = GT_SHIFT_ON(p6, carry[6]), behind_p7 = GT_SHIFT_ON(p7, carry[7]), behind_p8 = GT_SHIFT_ON(p8,
      carry[8]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old6 = p6;
    p6 = ~s[8] | behind_p8;
    if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
    behind_p6 = GT_SHIFT_ON(p6, carry[6]);
    if (changed == 2 && p6 == old6) break; /* the rest follows from this one */
    p7 = s[8] & behind_p6;
    if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    p8 = s[8] & behind_p7;
    if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
    behind_p8 = GT_SHIFT_ON(p8, carry[8]);
    changed = 2;
  }
  carry[6] = p6 >> 63;
  carry[7] = p7 >> 63;
  carry[8] = p8 >> 63;
  uint64_t p9 = s[9] | (s[10] & ~behind_p5);
  if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
  const uint64_t behind_p9 = GT_SHIFT_ON(p9, carry[9]);
  carry[9] = p9 >> 63;
  uint64_t p10 = s[10] & behind_p5, stay_p10 = s[12];
  if (wide) p10 &= ~continuation, stay_p10 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p10, carry[10]);
    p10 |= ((((in & stay_p10) + stay_p10) ^ stay_p10) | in) & stay_p10;
  }
  const uint64_t behind_p10 = GT_SHIFT_ON(p10, carry[10]);
  carry[10] = p10 >> 63;
  uint64_t p11 = ~s[11] | (s[12] & behind_p10);
  if (wide) GT_CARRY_ON(p11, continuation, carry[11]);
  const uint64_t behind_p11 = GT_SHIFT_ON(p11, carry[11]);
  carry[11] = p11 >> 63;
  uint64_t p12 = ~s[13];
  if (wide) GT_CARRY_ON(p12, continuation, carry[12]);
  const uint64_t behind_p12 = GT_SHIFT_ON(p12, carry[12]);
  carry[12] = p12 >> 63;
  uint64_t p13 = ~s[14];
  if (wide) GT_CARRY_ON(p13, continuation, carry[13]);
  const uint64_t behind_p13 = GT_SHIFT_ON(p13, carry[13]);
  carry[13] = p13 >> 63;
  uint64_t p14 = ~s[15];
  if (wide) GT_CARRY_ON(p14, continuation, carry[14]);
  const uint64_t behind_p14 = GT_SHIFT_ON(p14, carry[14]);
  carry[14] = p14 >> 63;
  const uint64_t starts = s[17] | (s[18] & behind_p0) | (s[19] & behind_p1) | (s[20] & behind_p3) | (s[3] &
      behind_p4) | (s[16] & behind_p5) | (s[8] & behind_p6) | (s[12] & behind_p9) | (s[21] & behind_p11) | (s[22] &
      behind_p12) | (s[23] & behind_p13) | (s[15] & behind_p14);
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
