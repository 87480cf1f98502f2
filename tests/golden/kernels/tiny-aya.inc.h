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
  /* other_space newline space digit end */
  const uint64_t c_other_space_and_4_more = GT_ISA(gt_class_mask)(t, 0);
  /* digit */
  const uint64_t c_digit = GT_ISA(gt_class_mask)(t, 1);
  /* letters_dmst letters_dmst_2 */
  const uint64_t c_letters_dmst_or_letters_dmst_2 = GT_ISA(gt_class_mask)(t, 2);
  /* upper_letter_l letter_l */
  const uint64_t c_upper_letter_l_or_letter_l = GT_ISA(gt_class_mask)(t, 3);
  /* letters_rv letters_rv_2 */
  const uint64_t c_letters_rv_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 4);
  /* other_space space digit end */
  const uint64_t c_other_space_and_3_more = GT_ISA(gt_class_mask)(t, 5);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 6);
  /* newline */
  const uint64_t c_newline = GT_ISA(gt_class_mask)(t, 7);
  /* rest other_space newline space apostrophe slash digit number_2 end */
  const uint64_t c_rest_and_8_more = GT_ISA(gt_class_mask)(t, 8);
  /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter mark */
  const uint64_t c_lower_and_6_more = GT_ISA(gt_class_mask)(t, 9);
  /* upper letters_dmst upper_letter_e upper_letter_l letters_rv */
  const uint64_t c_upper_and_4_more = GT_ISA(gt_class_mask)(t, 10);
  /* upper_letter_e letter_e */
  const uint64_t c_upper_letter_e_or_letter_e = GT_ISA(gt_class_mask)(t, 11);
  /* rest space apostrophe slash symbol mark */
  const uint64_t c_rest_and_5_more = GT_ISA(gt_class_mask)(t, 12);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 13);
  /* slash */
  const uint64_t c_slash = GT_ISA(gt_class_mask)(t, 14);
  /* mark */
  const uint64_t c_mark = GT_ISA(gt_class_mask)(t, 15);
  /* other_space newline space */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 16);
  /* rest other_space newline space apostrophe slash symbol mark */
  const uint64_t c_rest_and_7_more = GT_ISA(gt_class_mask)(t, 17);
  /* other_space newline digit number number_2 */
  const uint64_t c_other_space_and_4_more_x = GT_ISA(gt_class_mask)(t, 18);
  /* letters_dmst upper_letter_e letters_dmst_2 letter_e */
  const uint64_t c_letters_dmst_and_3_more = GT_ISA(gt_class_mask)(t, 19);
  /* rest newline space apostrophe slash symbol mark */
  const uint64_t c_rest_and_6_more = GT_ISA(gt_class_mask)(t, 20);
  /* digit number number_2 */
  const uint64_t c_digit_and_2_more = GT_ISA(gt_class_mask)(t, 21);
  /* number number_2 */
  const uint64_t c_number_or_number_2 = GT_ISA(gt_class_mask)(t, 22);
  /* newline digit lower letters_dmst_2 letter_e letter number mark number_2 */
  const uint64_t c_newline_and_8_more = GT_ISA(gt_class_mask)(t, 23);
  /* rest apostrophe symbol */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 24);
  /* letters_dmst upper_letter_e */
  const uint64_t c_letters_dmst_or_upper_letter_e = GT_ISA(gt_class_mask)(t, 25);
  /* upper_letter_l */
  const uint64_t c_upper_letter_l = GT_ISA(gt_class_mask)(t, 26);
  /* letter_l letters_rv_2 */
  const uint64_t c_letter_l_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 27);
  /* newline digit lower letters_dmst_2 letter_e number number_2 */
  const uint64_t c_newline_and_6_more = GT_ISA(gt_class_mask)(t, 28);
  /* letter */
  const uint64_t c_letter = GT_ISA(gt_class_mask)(t, 29);
  /* newline digit number number_2 */
  const uint64_t c_newline_and_3_more = GT_ISA(gt_class_mask)(t, 30);
  /* rest apostrophe slash symbol mark */
  const uint64_t c_rest_and_4_more = GT_ISA(gt_class_mask)(t, 31);
  /* rest slash symbol */
  const uint64_t c_rest_and_2_more_x = GT_ISA(gt_class_mask)(t, 32);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 33);
  /* rest apostrophe slash symbol */
  const uint64_t c_rest_and_3_more = GT_ISA(gt_class_mask)(t, 34);
  /* lower letters_rv_2 */
  const uint64_t c_lower_or_letters_rv_2 = GT_ISA(gt_class_mask)(t, 35);
  /* letters_rv */
  const uint64_t c_letters_rv = GT_ISA(gt_class_mask)(t, 36);
  /* letters_dmst_2 letter_e letter_l */
  const uint64_t c_letters_dmst_2_and_2_more = GT_ISA(gt_class_mask)(t, 37);
  /* letter mark */
  const uint64_t c_letter_or_mark = GT_ISA(gt_class_mask)(t, 38);
  /* upper letters_rv lower letters_rv_2 letter */
  const uint64_t c_upper_and_4_more_x = GT_ISA(gt_class_mask)(t, 39);
  /* letters_dmst upper_letter_e upper_letter_l letters_dmst_2 letter_e letter_l */
  const uint64_t c_letters_dmst_and_5_more = GT_ISA(gt_class_mask)(t, 40);
  /* apostrophe upper_letter_l letters_rv letter_l letters_rv_2 */
  const uint64_t c_apostrophe_and_4_more = GT_ISA(gt_class_mask)(t, 41);
  /* upper_letter_l letters_rv letter_l letters_rv_2 */
  const uint64_t c_upper_letter_l_and_3_more = GT_ISA(gt_class_mask)(t, 42);
  /* rest symbol */
  const uint64_t c_rest_or_symbol = GT_ISA(gt_class_mask)(t, 43);
  /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter */
  const uint64_t c_lower_and_5_more = GT_ISA(gt_class_mask)(t, 44);
  uint64_t q0 = ~c_rest_and_8_more, stay_q0 = c_digit;
  if (wide) q0 &= ~continuation, stay_q0 |= continuation;
  q0 |= carry[0] << top & stay_q0;
  for (uint64_t more = q0; more;) { /* one character back each time; runs are short */
    more = q0 >> 1 & stay_q0 & ~q0;
    q0 |= more;
  }
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = ~c_other_space_and_4_more | (c_digit & ahead_q0);
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = 0, q3 = 0, q4 = 0;
  uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top), ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top), ahead_q4 =
      GT_SHIFT_BACK(q4, carry[4], top);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old2 = q2;
    q2 = c_digit & ahead_q4;
    if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
    ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
    if (changed == 2 && q2 == old2) break; /* the rest follows from this one */
    q3 = (c_digit & ~ahead_q2) | ~c_rest_and_8_more;
    if (wide) GT_CARRY_BACK(q3, continuation, carry[3], top);
    ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
    q4 = c_digit & ~ahead_q3;
    if (wide) GT_CARRY_BACK(q4, continuation, carry[4], top);
    ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
    changed = 2;
  }
  carry[2] = q2 & 1;
  carry[3] = q3 & 1;
  carry[4] = q4 & 1;
  uint64_t q5 = c_upper_letter_l_or_letter_l;
  if (wide) GT_CARRY_BACK(q5, continuation, carry[5], top);
  const uint64_t ahead_q5 = GT_SHIFT_BACK(q5, carry[5], top);
  carry[5] = q5 & 1;
  uint64_t q6 = c_upper_letter_e_or_letter_e;
  if (wide) GT_CARRY_BACK(q6, continuation, carry[6], top);
  const uint64_t ahead_q6 = GT_SHIFT_BACK(q6, carry[6], top);
  carry[6] = q6 & 1;
  uint64_t q7 = c_letters_dmst_or_letters_dmst_2 | (c_upper_letter_l_or_letter_l & ahead_q5) |
      (c_letters_rv_or_letters_rv_2 & ahead_q6);
  if (wide) GT_CARRY_BACK(q7, continuation, carry[7], top);
  const uint64_t ahead_q7 = GT_SHIFT_BACK(q7, carry[7], top);
  carry[7] = q7 & 1;
  uint64_t q8 = c_newline, stay_q8 = c_other_space_or_space;
  if (wide) q8 &= ~continuation, stay_q8 |= continuation;
  q8 |= carry[8] << top & stay_q8;
  for (uint64_t more = q8; more;) { /* one character back each time; runs are short */
    more = q8 >> 1 & stay_q8 & ~q8;
    q8 |= more;
  }
  const uint64_t ahead_q8 = GT_SHIFT_BACK(q8, carry[8], top);
  carry[8] = q8 & 1;
  uint64_t q9 = ~c_other_space_and_3_more | (c_other_space_or_space & ahead_q8) | (c_digit & ahead_q0);
  if (wide) GT_CARRY_BACK(q9, continuation, carry[9], top);
  const uint64_t ahead_q9 = GT_SHIFT_BACK(q9, carry[9], top);
  carry[9] = q9 & 1;
  uint64_t q10 = 0, q11 = 0, q12 = 0;
  uint64_t ahead_q10 = GT_SHIFT_BACK(q10, carry[10], top), ahead_q11 = GT_SHIFT_BACK(q11, carry[11], top), ahead_q12
      = GT_SHIFT_BACK(q12, carry[12], top);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old10 = q10;
    q10 = (c_digit & ahead_q12) | ~c_rest_and_8_more;
    if (wide) GT_CARRY_BACK(q10, continuation, carry[10], top);
    ahead_q10 = GT_SHIFT_BACK(q10, carry[10], top);
    if (changed == 2 && q10 == old10) break; /* the rest follows from this one */
    q11 = c_digit & ~ahead_q10;
    if (wide) GT_CARRY_BACK(q11, continuation, carry[11], top);
    ahead_q11 = GT_SHIFT_BACK(q11, carry[11], top);
    q12 = (c_digit & ~ahead_q11) | ~c_rest_and_8_more;
    if (wide) GT_CARRY_BACK(q12, continuation, carry[12], top);
    ahead_q12 = GT_SHIFT_BACK(q12, carry[12], top);
    changed = 2;
  }
  carry[10] = q10 & 1;
  carry[11] = q11 & 1;
  carry[12] = q12 & 1;
  uint64_t q13 = c_lower_and_6_more, stay_q13 = c_upper_and_4_more;
  if (wide) q13 &= ~continuation, stay_q13 |= continuation;
  q13 |= carry[13] << top & stay_q13;
  for (uint64_t more = q13; more;) { /* one character back each time; runs are short */
    more = q13 >> 1 & stay_q13 & ~q13;
    q13 |= more;
  }
  const uint64_t ahead_q13 = GT_SHIFT_BACK(q13, carry[13], top);
  carry[13] = q13 & 1;
  s[0] = c_rest_and_5_more;
  s[1] = c_space & ~ahead_q9;
  s[2] = c_space & ahead_q8;
  s[3] = c_slash;
  s[4] = c_mark;
  s[5] = c_other_space_or_space;
  s[6] = c_other_space_and_2_more;
  s[7] = c_newline;
  s[8] = c_rest_and_7_more;
  s[9] = c_other_space_and_4_more_x;
  s[10] = c_letters_dmst_and_3_more;
  s[11] = c_upper_letter_l_or_letter_l;
  s[12] = c_rest_and_6_more;
  s[13] = ~c_digit | ahead_q0;
  s[14] = ~c_digit_and_2_more | (c_digit & ~ahead_q0);
  s[15] = (c_digit & ahead_q0) | c_number_or_number_2;
  s[16] = c_newline_and_8_more;
  s[17] = c_rest_and_2_more;
  s[18] = c_letters_dmst_or_upper_letter_e;
  s[19] = c_upper_letter_l;
  s[20] = c_letter_l_or_letters_rv_2;
  s[21] = c_newline_and_6_more;
  s[22] = c_letter;
  s[23] = c_newline_and_3_more;
  s[24] = c_rest_and_4_more;
  s[25] = c_rest_and_2_more_x | (c_apostrophe & ~ahead_q7);
  s[26] = c_apostrophe & ahead_q7;
  s[27] = c_rest_and_3_more;
  s[28] = c_letters_rv_or_letters_rv_2;
  s[29] = c_lower_or_letters_rv_2;
  s[30] = c_letters_rv;
  s[31] = c_letters_dmst_2_and_2_more;
  s[32] = c_letter_or_mark;
  s[33] = c_upper_and_4_more_x;
  s[34] = c_letters_dmst_and_5_more;
  s[35] = ~c_apostrophe_and_4_more | (c_apostrophe & ~ahead_q7);
  s[36] = c_upper_letter_l_and_3_more;
  s[37] = (c_other_space_or_space & ahead_q1) | (c_digit & ahead_q2);
  s[38] = c_rest_or_symbol | (c_apostrophe & ~ahead_q7);
  s[39] = c_other_space_or_space & ~ahead_q9;
  s[40] = c_other_space_or_space & ahead_q8;
  s[41] = c_digit & ~ahead_q10;
  s[42] = c_upper_and_4_more & ~ahead_q13;
  s[43] = c_upper_and_4_more & ahead_q13;
  s[44] = c_lower_and_5_more;
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
    p2 = ~s[24] | (s[25] & behind_p1) | (s[26] & behind_p5) | (s[4] & behind_p2);
    if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
    behind_p2 = GT_SHIFT_ON(p2, carry[2]);
    p3 = s[27] | (s[7] & behind_p3) | (s[4] & ~behind_p2);
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
    p7 = (s[26] & behind_p9) | (s[28] & behind_p7);
    if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    p8 = s[11] & behind_p7;
    if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
    behind_p8 = GT_SHIFT_ON(p8, carry[8]);
    p9 = s[33] | (s[34] & behind_p10) | (s[4] & behind_p2);
    if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
    behind_p9 = GT_SHIFT_ON(p9, carry[9]);
    p10 = s[35] | (s[26] & ~behind_p9) | (s[36] & ~behind_p7);
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
  uint64_t p13 = s[13];
  if (wide) GT_CARRY_ON(p13, continuation, carry[13]);
  const uint64_t behind_p13 = GT_SHIFT_ON(p13, carry[13]);
  carry[13] = p13 >> 63;
  uint64_t p14 = 0, p15 = 0, p16 = 0;
  uint64_t behind_p14 = GT_SHIFT_ON(p14, carry[14]), behind_p15 = GT_SHIFT_ON(p15, carry[15]), behind_p16 =
      GT_SHIFT_ON(p16, carry[16]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old14 = p14;
    p14 = s[14] | (s[15] & behind_p16);
    if (wide) GT_CARRY_ON(p14, continuation, carry[14]);
    behind_p14 = GT_SHIFT_ON(p14, carry[14]);
    if (changed == 2 && p14 == old14) break; /* the rest follows from this one */
    p15 = s[15] & behind_p14;
    if (wide) GT_CARRY_ON(p15, continuation, carry[15]);
    behind_p15 = GT_SHIFT_ON(p15, carry[15]);
    p16 = s[15] & behind_p15;
    if (wide) GT_CARRY_ON(p16, continuation, carry[16]);
    behind_p16 = GT_SHIFT_ON(p16, carry[16]);
    changed = 2;
  }
  carry[14] = p14 >> 63;
  carry[15] = p15 >> 63;
  carry[16] = p16 >> 63;
  uint64_t p17 = s[16] | (s[17] & ~behind_p1) | (s[3] & ~behind_p12) | (s[18] & behind_p7) | (s[19] & behind_p8) |
      (s[20] & ~behind_p7);
  if (wide) GT_CARRY_ON(p17, continuation, carry[17]);
  const uint64_t behind_p17 = GT_SHIFT_ON(p17, carry[17]);
  carry[17] = p17 >> 63;
  uint64_t p18 = s[29] | (s[30] & behind_p7) | (s[31] & behind_p10), stay_p18 = s[32];
  if (wide) p18 &= ~continuation, stay_p18 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p18, carry[18]);
    p18 |= ((((in & stay_p18) + stay_p18) ^ stay_p18) | in) & stay_p18;
  }
  const uint64_t behind_p18 = GT_SHIFT_ON(p18, carry[18]);
  carry[18] = p18 >> 63;
  uint64_t p19 = s[29] | (s[27] & ~behind_p1) | (s[30] & behind_p7) | (s[31] & behind_p10) | (s[22] & behind_p18),
      stay_p19 = s[4];
  if (wide) p19 &= ~continuation, stay_p19 |= continuation;
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p19, carry[19]);
    p19 |= ((((in & stay_p19) + stay_p19) ^ stay_p19) | in) & stay_p19;
  }
  const uint64_t behind_p19 = GT_SHIFT_ON(p19, carry[19]);
  carry[19] = p19 >> 63;
  uint64_t p20 = s[21] | (s[17] & ~behind_p1) | (s[3] & ~behind_p12) | (s[18] & behind_p7) | (s[19] & behind_p8) |
      (s[20] & ~behind_p7) | (s[22] & behind_p18) | (s[4] & behind_p19);
  if (wide) GT_CARRY_ON(p20, continuation, carry[20]);
  const uint64_t behind_p20 = GT_SHIFT_ON(p20, carry[20]);
  carry[20] = p20 >> 63;
  uint64_t p21 = s[23] | (s[17] & ~behind_p1) | (s[3] & ~behind_p12) | (s[10] & behind_p7) | (s[11] & behind_p8) |
      (s[4] & ~behind_p2);
  if (wide) GT_CARRY_ON(p21, continuation, carry[21]);
  const uint64_t behind_p21 = GT_SHIFT_ON(p21, carry[21]);
  carry[21] = p21 >> 63;
  uint64_t p22 = s[23] | (s[3] & behind_p6) | (s[10] & behind_p7) | (s[11] & behind_p8);
  if (wide) GT_CARRY_ON(p22, continuation, carry[22]);
  const uint64_t behind_p22 = GT_SHIFT_ON(p22, carry[22]);
  carry[22] = p22 >> 63;
  const uint64_t starts = s[37] | (s[38] & behind_p1) | (s[39] & behind_p0) | (s[40] & behind_p4) | (s[7] &
      behind_p11) | (s[26] & behind_p5) | (s[3] & behind_p12) | (s[41] & behind_p13) | (s[15] & behind_p14) | (s[42]
      & behind_p17) | (s[43] & behind_p20) | (s[44] & behind_p21) | (s[4] & behind_p22);
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
