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
  /* letters_dmst letters_dmst_2 */
  const uint64_t c_letters_dmst_or_letters_dmst_2 = GT_ISA(gt_class_mask)(t, 1);
  /* upper_letter_l letter_l */
  const uint64_t c_upper_letter_l_or_letter_l = GT_ISA(gt_class_mask)(t, 2);
  /* letters_rv letters_rv_2 */
  const uint64_t c_letters_rv_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 3);
  /* other_space space end */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 4);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 5);
  /* newline */
  const uint64_t c_newline = GT_ISA(gt_class_mask)(t, 6);
  /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter mark */
  const uint64_t c_lower_and_6_more = GT_ISA(gt_class_mask)(t, 7);
  /* upper letters_dmst upper_letter_e upper_letter_l letters_rv */
  const uint64_t c_upper_and_4_more = GT_ISA(gt_class_mask)(t, 8);
  /* upper_letter_e letter_e */
  const uint64_t c_upper_letter_e_or_letter_e = GT_ISA(gt_class_mask)(t, 9);
  /* rest space apostrophe slash mark */
  const uint64_t c_rest_and_4_more = GT_ISA(gt_class_mask)(t, 10);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 11);
  /* slash */
  const uint64_t c_slash = GT_ISA(gt_class_mask)(t, 12);
  /* mark */
  const uint64_t c_mark = GT_ISA(gt_class_mask)(t, 13);
  /* rest other_space newline space apostrophe slash mark */
  const uint64_t c_rest_and_6_more = GT_ISA(gt_class_mask)(t, 14);
  /* other_space newline number */
  const uint64_t c_other_space_and_2_more_x = GT_ISA(gt_class_mask)(t, 15);
  /* letters_dmst upper_letter_e letters_dmst_2 letter_e */
  const uint64_t c_letters_dmst_and_3_more = GT_ISA(gt_class_mask)(t, 16);
  /* rest newline space apostrophe slash mark */
  const uint64_t c_rest_and_5_more = GT_ISA(gt_class_mask)(t, 17);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 18);
  /* newline number lower letters_dmst_2 letter_e letter mark */
  const uint64_t c_newline_and_6_more = GT_ISA(gt_class_mask)(t, 19);
  /* rest apostrophe */
  const uint64_t c_rest_or_apostrophe = GT_ISA(gt_class_mask)(t, 20);
  /* letters_dmst upper_letter_e */
  const uint64_t c_letters_dmst_or_upper_letter_e = GT_ISA(gt_class_mask)(t, 21);
  /* upper_letter_l */
  const uint64_t c_upper_letter_l = GT_ISA(gt_class_mask)(t, 22);
  /* letter_l letters_rv_2 */
  const uint64_t c_letter_l_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 23);
  /* newline number lower letters_dmst_2 letter_e */
  const uint64_t c_newline_and_4_more = GT_ISA(gt_class_mask)(t, 24);
  /* letter */
  const uint64_t c_letter = GT_ISA(gt_class_mask)(t, 25);
  /* newline number */
  const uint64_t c_newline_or_number = GT_ISA(gt_class_mask)(t, 26);
  /* rest apostrophe slash mark */
  const uint64_t c_rest_and_3_more = GT_ISA(gt_class_mask)(t, 27);
  /* rest slash */
  const uint64_t c_rest_or_slash = GT_ISA(gt_class_mask)(t, 28);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 29);
  /* rest apostrophe slash */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 30);
  /* lower letters_rv_2 */
  const uint64_t c_lower_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 31);
  /* letters_rv */
  const uint64_t c_letters_rv = GT_ISA(gt_class_mask)(t, 32);
  /* letters_dmst_2 letter_e letter_l */
  const uint64_t c_letters_dmst_2_and_2_more = GT_ISA(gt_class_mask)(t, 33);
  /* letter mark */
  const uint64_t c_letter_or_mark = GT_ISA(gt_class_mask)(t, 34);
  /* upper letters_rv lower letters_rv_2 letter */
  const uint64_t c_upper_and_4_more_x = GT_ISA(gt_class_mask)(t, 35);
  /* letters_dmst upper_letter_e upper_letter_l letters_dmst_2 letter_e letter_l */
  const uint64_t c_letters_dmst_and_5_more = GT_ISA(gt_class_mask)(t, 36);
  /* apostrophe upper_letter_l letters_rv letter_l letters_rv_2 */
  const uint64_t c_apostrophe_and_4_more = GT_ISA(gt_class_mask)(t, 37);
  /* upper_letter_l letters_rv letter_l letters_rv_2 */
  const uint64_t c_upper_letter_l_and_3_more = GT_ISA(gt_class_mask)(t, 38);
  /* rest */
  const uint64_t c_rest = GT_ISA(gt_class_mask)(t, 39);
  /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter */
  const uint64_t c_lower_and_5_more = GT_ISA(gt_class_mask)(t, 40);
  uint64_t q0 = ~c_other_space_and_3_more;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = c_upper_letter_l_or_letter_l;
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = c_upper_letter_e_or_letter_e;
  if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  uint64_t q3 = c_letters_dmst_or_letters_dmst_2 | (c_upper_letter_l_or_letter_l & ahead_q1) |
      (c_letters_rv_or_letters_rv_2 & ahead_q2);
  if (wide) GT_CARRY_BACK(q3, continuation, carry[3], top);
  const uint64_t ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
  carry[3] = q3 & 1;
  uint64_t q4 = c_newline, stay_q4 = c_other_space_or_space;
  if (wide) q4 &= ~continuation, stay_q4 |= continuation;
  q4 |= carry[4] << top & stay_q4;
  for (uint64_t more = q4; more;) { /* one character back each time; runs are short */
    more = q4 >> 1 & stay_q4 & ~q4;
    q4 |= more;
  }
  const uint64_t ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
  carry[4] = q4 & 1;
  uint64_t q5 = ~c_other_space_and_2_more | (c_other_space_or_space & ahead_q4);
  if (wide) GT_CARRY_BACK(q5, continuation, carry[5], top);
  const uint64_t ahead_q5 = GT_SHIFT_BACK(q5, carry[5], top);
  carry[5] = q5 & 1;
  uint64_t q6 = c_lower_and_6_more, stay_q6 = c_upper_and_4_more;
  if (wide) q6 &= ~continuation, stay_q6 |= continuation;
  q6 |= carry[6] << top & stay_q6;
  for (uint64_t more = q6; more;) { /* one character back each time; runs are short */
    more = q6 >> 1 & stay_q6 & ~q6;
    q6 |= more;
  }
  const uint64_t ahead_q6 = GT_SHIFT_BACK(q6, carry[6], top);
  carry[6] = q6 & 1;
  s[0] = c_rest_and_4_more;
  s[1] = c_space & ~ahead_q5;
  s[2] = c_space & ahead_q4;
  s[3] = c_slash;
  s[4] = c_mark;
  s[5] = c_other_space_and_2_more;
  s[6] = c_other_space_and_3_more;
  s[7] = c_newline;
  s[8] = c_rest_and_6_more;
  s[9] = c_other_space_and_2_more_x;
  s[10] = c_letters_dmst_and_3_more;
  s[11] = c_upper_letter_l_or_letter_l;
  s[12] = c_rest_and_5_more;
  s[13] = c_number;
  s[14] = c_newline_and_6_more;
  s[15] = c_rest_or_apostrophe;
  s[16] = c_letters_dmst_or_upper_letter_e;
  s[17] = c_upper_letter_l;
  s[18] = c_letter_l_or_letters_rv_2;
  s[19] = c_newline_and_4_more;
  s[20] = c_letter;
  s[21] = c_newline_or_number;
  s[22] = c_rest_and_3_more;
  s[23] = c_rest_or_slash | (c_apostrophe & ~ahead_q3);
  s[24] = c_apostrophe & ahead_q3;
  s[25] = c_rest_and_2_more;
  s[26] = c_letters_rv_or_letters_rv_2;
  s[27] = c_lower_or_letters_rv_2;
  s[28] = c_letters_rv;
  s[29] = c_letters_dmst_2_and_2_more;
  s[30] = c_letter_or_mark;
  s[31] = c_upper_and_4_more_x;
  s[32] = c_letters_dmst_and_5_more;
  s[33] = ~c_apostrophe_and_4_more | (c_apostrophe & ~ahead_q3);
  s[34] = c_upper_letter_l_and_3_more;
  s[35] = c_other_space_or_space & ahead_q0;
  s[36] = c_rest | (c_apostrophe & ~ahead_q3);
  s[37] = c_other_space_or_space & ~ahead_q5;
  s[38] = c_other_space_or_space & ahead_q4;
  s[39] = c_upper_and_4_more & ~ahead_q6;
  s[40] = c_upper_and_4_more & ahead_q6;
  s[41] = c_lower_and_5_more;
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = ~s[5];
  if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> 63;
  uint64_t p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0, p8 = 0, p9 = 0, p10 = 0;
  uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]), behind_p2 = GT_SHIFT_ON(p2, carry[2]), behind_p3 = GT_SHIFT_ON(p3,
      carry[3]), behind_p4 = GT_SHIFT_ON(p4, carry[4]), behind_p5 = GT_SHIFT_ON(p5, carry[5]), behind_p6 =
      GT_SHIFT_ON(p6, carry[6]), behind_p7 = GT_SHIFT_ON(p7, carry[7]), behind_p8 = GT_SHIFT_ON(p8, carry[8]),
      behind_p9 = GT_SHIFT_ON(p9, carry[9]), behind_p10 = GT_SHIFT_ON(p10, carry[10]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old1 = p1, old2 = p2, old3 = p3, old4 = p4, old5 = p5, old6 = p6, old7 = p7, old8 = p8, old9 = p9, old10 = p10;
    p1 = ~s[0] | (s[1] & ~behind_p0) | (s[2] & ~behind_p4) | (s[3] & behind_p6) | (s[4] & behind_p2);
    if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
    behind_p1 = GT_SHIFT_ON(p1, carry[1]);
    p2 = ~s[22] | (s[23] & behind_p1) | (s[24] & behind_p5) | (s[4] & behind_p2);
    if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
    behind_p2 = GT_SHIFT_ON(p2, carry[2]);
    p3 = s[25] | (s[7] & behind_p3) | (s[4] & ~behind_p2);
    if (wide) GT_CARRY_ON(p3, continuation, carry[3]);
    behind_p3 = GT_SHIFT_ON(p3, carry[3]);
    p4 = ~s[6] | (s[7] & behind_p3);
    if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
    behind_p4 = GT_SHIFT_ON(p4, carry[4]);
    p5 = s[9] | (s[1] & ~behind_p0) | (s[2] & ~behind_p4) | (s[3] & behind_p6) | (s[10] & behind_p7) | (s[11] &
        behind_p8);
    if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
    behind_p5 = GT_SHIFT_ON(p5, carry[5]);
    p6 = (s[7] & behind_p3) | (s[3] & behind_p6);
    if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
    behind_p6 = GT_SHIFT_ON(p6, carry[6]);
    p7 = (s[24] & behind_p9) | (s[26] & behind_p7);
    if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    p8 = s[11] & behind_p7;
    if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
    behind_p8 = GT_SHIFT_ON(p8, carry[8]);
    p9 = s[31] | (s[32] & behind_p10) | (s[4] & behind_p2);
    if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
    behind_p9 = GT_SHIFT_ON(p9, carry[9]);
    p10 = s[33] | (s[24] & ~behind_p9) | (s[34] & ~behind_p7);
    if (wide) GT_CARRY_ON(p10, continuation, carry[10]);
    behind_p10 = GT_SHIFT_ON(p10, carry[10]);
    changed = (p1 ^ old1) | (p2 ^ old2) | (p3 ^ old3) | (p4 ^ old4) | (p5 ^ old5) | (p6 ^ old6) | (p7 ^ old7) | (p8 ^ old8) | (p9 ^ old9) | (p10 ^ old10);
  }
  carry[1] = p1 >> 63;
  carry[2] = p2 >> 63;
  carry[3] = p3 >> 63;
  carry[4] = p4 >> 63;
  carry[5] = p5 >> 63;
  carry[6] = p6 >> 63;
  carry[7] = p7 >> 63;
  carry[8] = p8 >> 63;
  carry[9] = p9 >> 63;
  carry[10] = p10 >> 63;
  uint64_t p11 = ~s[8] | (s[4] & behind_p2);
  if (wide) GT_CARRY_ON(p11, continuation, carry[11]);
  const uint64_t behind_p11 = GT_SHIFT_ON(p11, carry[11]);
  carry[11] = p11 >> 63;
  uint64_t p12 = ~s[12] | (s[7] & ~behind_p3) | (s[1] & ~behind_p0) | (s[2] & ~behind_p4) | (s[4] & behind_p2);
  if (wide) GT_CARRY_ON(p12, continuation, carry[12]);
  const uint64_t behind_p12 = GT_SHIFT_ON(p12, carry[12]);
  carry[12] = p12 >> 63;
  uint64_t p13 = 0, p14 = 0, p15 = 0;
  uint64_t behind_p13 = GT_SHIFT_ON(p13, carry[13]), behind_p14 = GT_SHIFT_ON(p14, carry[14]), behind_p15 =
      GT_SHIFT_ON(p15, carry[15]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old13 = p13;
    p13 = ~s[13] | behind_p15;
    if (wide) GT_CARRY_ON(p13, continuation, carry[13]);
    behind_p13 = GT_SHIFT_ON(p13, carry[13]);
    if (changed == 2 && p13 == old13) break; /* the rest follows from this one */
    p14 = s[13] & behind_p13;
    if (wide) GT_CARRY_ON(p14, continuation, carry[14]);
    behind_p14 = GT_SHIFT_ON(p14, carry[14]);
    p15 = s[13] & behind_p14;
    if (wide) GT_CARRY_ON(p15, continuation, carry[15]);
    behind_p15 = GT_SHIFT_ON(p15, carry[15]);
    changed = 2;
  }
  carry[13] = p13 >> 63;
  carry[14] = p14 >> 63;
  carry[15] = p15 >> 63;
  uint64_t p16 = s[14] | (s[15] & ~behind_p1) | (s[3] & ~behind_p12) | (s[16] & behind_p7) | (s[17] & behind_p8) |
      (s[18] & ~behind_p7);
  if (wide) GT_CARRY_ON(p16, continuation, carry[16]);
  const uint64_t behind_p16 = GT_SHIFT_ON(p16, carry[16]);
  carry[16] = p16 >> 63;
  uint64_t p17 = s[27] | (s[28] & behind_p7) | (s[29] & behind_p10), stay_p17 = s[30];
  if (wide) p17 &= ~continuation, stay_p17 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p17, carry[17]);
    p17 |= ((((in & stay_p17) + stay_p17) ^ stay_p17) | in) & stay_p17;
  }
  const uint64_t behind_p17 = GT_SHIFT_ON(p17, carry[17]);
  carry[17] = p17 >> 63;
  uint64_t p18 = s[27] | (s[25] & ~behind_p1) | (s[28] & behind_p7) | (s[29] & behind_p10) | (s[20] & behind_p17),
      stay_p18 = s[4];
  if (wide) p18 &= ~continuation, stay_p18 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p18, carry[18]);
    p18 |= ((((in & stay_p18) + stay_p18) ^ stay_p18) | in) & stay_p18;
  }
  const uint64_t behind_p18 = GT_SHIFT_ON(p18, carry[18]);
  carry[18] = p18 >> 63;
  uint64_t p19 = s[19] | (s[15] & ~behind_p1) | (s[3] & ~behind_p12) | (s[16] & behind_p7) | (s[17] & behind_p8) |
      (s[18] & ~behind_p7) | (s[20] & behind_p17) | (s[4] & behind_p18);
  if (wide) GT_CARRY_ON(p19, continuation, carry[19]);
  const uint64_t behind_p19 = GT_SHIFT_ON(p19, carry[19]);
  carry[19] = p19 >> 63;
  uint64_t p20 = s[21] | (s[15] & ~behind_p1) | (s[3] & ~behind_p12) | (s[10] & behind_p7) | (s[11] & behind_p8) |
      (s[4] & ~behind_p2);
  if (wide) GT_CARRY_ON(p20, continuation, carry[20]);
  const uint64_t behind_p20 = GT_SHIFT_ON(p20, carry[20]);
  carry[20] = p20 >> 63;
  uint64_t p21 = s[21] | (s[3] & behind_p6) | (s[10] & behind_p7) | (s[11] & behind_p8);
  if (wide) GT_CARRY_ON(p21, continuation, carry[21]);
  const uint64_t behind_p21 = GT_SHIFT_ON(p21, carry[21]);
  carry[21] = p21 >> 63;
  const uint64_t starts = s[35] | (s[36] & behind_p1) | (s[37] & behind_p0) | (s[38] & behind_p4) | (s[7] &
      behind_p11) | (s[24] & behind_p5) | (s[3] & behind_p12) | (s[13] & behind_p13) | (s[39] & behind_p16) | (s[40]
      & behind_p19) | (s[41] & behind_p20) | (s[4] & behind_p21);
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
