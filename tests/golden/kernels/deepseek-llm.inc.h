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
  /* punctuation_symbol letter letter_2 letter_3 u_2018_and_9_more */
  const uint64_t c_punctuation_symbol_and_4_more = GT_ISA(gt_class_mask)(t, 0);
  /* u_3000 */
  const uint64_t c_u_3000 = GT_ISA(gt_class_mask)(t, 1);
  /* letter letter_2 letter_3 */
  const uint64_t c_letter_and_2_more = GT_ISA(gt_class_mask)(t, 2);
  /* rest number rest_2 */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 3);
  /* tab_and_5_more other_space */
  const uint64_t c_tab_and_5_more_or_other_space = GT_ISA(gt_class_mask)(t, 4);
  /* tab_and_5_more newline other_space u_3000 end */
  const uint64_t c_tab_and_5_more_and_4_more = GT_ISA(gt_class_mask)(t, 5);
  /* punctuation_symbol u_2018_and_9_more */
  const uint64_t c_punctuation_symbol_or_u_2018_and_9_more = GT_ISA(gt_class_mask)(t, 6);
  /* letter */
  const uint64_t c_letter = GT_ISA(gt_class_mask)(t, 7);
  /* rest number letter rest_2 */
  const uint64_t c_rest_and_3_more = GT_ISA(gt_class_mask)(t, 8);
  /* rest tab_and_5_more */
  const uint64_t c_rest_or_tab_and_5_more = GT_ISA(gt_class_mask)(t, 9);
  /* tab_and_5_more */
  const uint64_t c_tab_and_5_more = GT_ISA(gt_class_mask)(t, 10);
  /* tab_and_5_more punctuation_symbol */
  const uint64_t c_tab_and_5_more_or_punctuation_symbol = GT_ISA(gt_class_mask)(t, 11);
  /* tab_and_5_more letter */
  const uint64_t c_tab_and_5_more_or_letter = GT_ISA(gt_class_mask)(t, 12);
  /* tab_and_5_more letter_2 */
  const uint64_t c_tab_and_5_more_or_letter_2 = GT_ISA(gt_class_mask)(t, 13);
  /* rest_2 other_space */
  const uint64_t c_rest_2_or_other_space = GT_ISA(gt_class_mask)(t, 14);
  /* other_space */
  const uint64_t c_other_space = GT_ISA(gt_class_mask)(t, 15);
  /* letter_3 other_space */
  const uint64_t c_letter_3_or_other_space = GT_ISA(gt_class_mask)(t, 16);
  /* other_space u_2018_and_9_more u_3000 */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 17);
  /* other_space u_3000 */
  const uint64_t c_other_space_or_u_3000 = GT_ISA(gt_class_mask)(t, 18);
  /* newline number */
  const uint64_t c_newline_or_number = GT_ISA(gt_class_mask)(t, 19);
  /* rest */
  const uint64_t c_rest = GT_ISA(gt_class_mask)(t, 20);
  /* punctuation_symbol */
  const uint64_t c_punctuation_symbol = GT_ISA(gt_class_mask)(t, 21);
  /* letter_2 */
  const uint64_t c_letter_2 = GT_ISA(gt_class_mask)(t, 22);
  /* rest_2 */
  const uint64_t c_rest_2 = GT_ISA(gt_class_mask)(t, 23);
  /* letter_3 */
  const uint64_t c_letter_3 = GT_ISA(gt_class_mask)(t, 24);
  /* u_2018_and_9_more */
  const uint64_t c_u_2018_and_9_more = GT_ISA(gt_class_mask)(t, 25);
  uint64_t q0 = c_letter_and_2_more;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = c_punctuation_symbol_and_4_more | (c_u_3000 & ~ahead_q0);
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = c_rest_and_2_more, stay_q2 = c_tab_and_5_more_or_other_space;
  if (wide) q2 &= ~continuation, stay_q2 |= continuation;
  q2 |= carry[2] << top & stay_q2;
  for (uint64_t more = q2; more;) { /* one character back each time; runs are short */
    more = q2 >> 1 & stay_q2 & ~q2;
    q2 |= more;
  }
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  uint64_t q3 = ~c_tab_and_5_more_and_4_more | (c_tab_and_5_more_or_other_space & ahead_q2) | (c_u_3000 &
      ~ahead_q0);
  if (wide) GT_CARRY_BACK(q3, continuation, carry[3], top);
  const uint64_t ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
  carry[3] = q3 & 1;
  uint64_t q4 = c_punctuation_symbol_or_u_2018_and_9_more, stay_q4 = c_u_3000;
  if (wide) q4 &= ~continuation, stay_q4 |= continuation;
  q4 |= carry[4] << top & stay_q4;
  for (uint64_t more = q4; more;) { /* one character back each time; runs are short */
    more = q4 >> 1 & stay_q4 & ~q4;
    q4 |= more;
  }
  const uint64_t ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
  carry[4] = q4 & 1;
  uint64_t q5 = c_punctuation_symbol_and_4_more | (c_u_3000 & ahead_q4);
  if (wide) GT_CARRY_BACK(q5, continuation, carry[5], top);
  const uint64_t ahead_q5 = GT_SHIFT_BACK(q5, carry[5], top);
  carry[5] = q5 & 1;
  uint64_t q6 = c_letter;
  if (wide) GT_CARRY_BACK(q6, continuation, carry[6], top);
  const uint64_t ahead_q6 = GT_SHIFT_BACK(q6, carry[6], top);
  carry[6] = q6 & 1;
  uint64_t q7 = c_rest_and_3_more | (c_tab_and_5_more_or_other_space & ahead_q2);
  if (wide) GT_CARRY_BACK(q7, continuation, carry[7], top);
  const uint64_t ahead_q7 = GT_SHIFT_BACK(q7, carry[7], top);
  carry[7] = q7 & 1;
  s[0] = c_rest_or_tab_and_5_more;
  s[1] = ~c_tab_and_5_more | ahead_q2;
  s[2] = ~c_tab_and_5_more_or_punctuation_symbol | (c_tab_and_5_more & ahead_q2);
  s[3] = ~c_tab_and_5_more_or_letter | (c_tab_and_5_more & ahead_q2);
  s[4] = ~c_tab_and_5_more_or_letter_2 | (c_tab_and_5_more & ahead_q2);
  s[5] = ~c_rest_2_or_other_space | (c_other_space & ahead_q6);
  s[6] = ~c_letter_3_or_other_space | (c_other_space & ahead_q7);
  s[7] = ~c_other_space | ahead_q7;
  s[8] = ~c_other_space_and_2_more | (c_other_space & ahead_q2);
  s[9] = ~c_other_space_or_u_3000 | (c_other_space & ahead_q2) | (c_u_3000 & ahead_q4);
  s[10] = (c_tab_and_5_more_or_other_space & ahead_q1) | c_newline_or_number | (c_u_3000 & ahead_q0);
  s[11] = c_rest | (c_tab_and_5_more & ahead_q2);
  s[12] = c_tab_and_5_more & ~ahead_q3;
  s[13] = c_punctuation_symbol;
  s[14] = c_letter;
  s[15] = c_letter_2;
  s[16] = c_rest_2 | (c_other_space & ahead_q2);
  s[17] = c_letter_3;
  s[18] = c_other_space & ~ahead_q3;
  s[19] = c_u_2018_and_9_more | (c_u_3000 & ahead_q4);
  s[20] = c_u_3000 & ~ahead_q5;
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = ~s[0];
  if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> 63;
  uint64_t p1 = s[1];
  if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> 63;
  uint64_t p2 = s[2];
  if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> 63;
  uint64_t p3 = s[3];
  if (wide) GT_CARRY_ON(p3, continuation, carry[3]);
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> 63;
  uint64_t p4 = s[4];
  if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
  const uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]);
  carry[4] = p4 >> 63;
  uint64_t p5 = s[5];
  if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
  const uint64_t behind_p5 = GT_SHIFT_ON(p5, carry[5]);
  carry[5] = p5 >> 63;
  uint64_t p6 = s[6];
  if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
  const uint64_t behind_p6 = GT_SHIFT_ON(p6, carry[6]);
  carry[6] = p6 >> 63;
  uint64_t p7 = s[7];
  if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
  const uint64_t behind_p7 = GT_SHIFT_ON(p7, carry[7]);
  carry[7] = p7 >> 63;
  uint64_t p8 = s[8];
  if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
  const uint64_t behind_p8 = GT_SHIFT_ON(p8, carry[8]);
  carry[8] = p8 >> 63;
  uint64_t p9 = s[9];
  if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
  const uint64_t behind_p9 = GT_SHIFT_ON(p9, carry[9]);
  carry[9] = p9 >> 63;
  const uint64_t starts = s[10] | (s[11] & behind_p0) | (s[12] & behind_p1) | (s[13] & behind_p2) | (s[14] &
      behind_p3) | (s[15] & behind_p4) | (s[16] & behind_p5) | (s[17] & behind_p6) | (s[18] & behind_p7) | (s[19] &
      behind_p8) | (s[20] & behind_p9);
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
