/* Where pieces start: the bit program. Included once for each ISA; GT_ISA(x) names the functions.
 *
 * pattern  (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * Bit i of a mask speaks of character i of a block of 64. A chunk is passed over twice. From its end to its start:
 * `ahead_q` tells whether stream q holds at the next character, and the symbols join that with the character's class.
 * From start to end: `behind_p` tells whether stream p holds at the previous character. One bit a stream links
 * neighbouring blocks.
 */

/* Right streams of one block, and its symbols. carry[i]: stream i just after the block, at the place of its last
 * character. */
GT_INLINE void GT_ISA(gt_right_block)(const GT_ISA(gt_tags) *t GT_UNUSED, uint64_t *carry GT_UNUSED,
                                      uint64_t *s GT_UNUSED) {
  /* other_space newline space end */
  const uint64_t c_other_space_and_3_more = GT_ISA(gt_class_mask)(t, 0);
  /* other_space space end */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 1);
  /* other_space space */
  const uint64_t c_other_space_or_space = GT_ISA(gt_class_mask)(t, 2);
  /* newline */
  const uint64_t c_newline = GT_ISA(gt_class_mask)(t, 3);
  /* rest space apostrophe */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 4);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 5);
  /* number letter letters_dmst letter_e letter_l letters_rv */
  const uint64_t c_number_and_5_more = GT_ISA(gt_class_mask)(t, 6);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 7);
  /* newline number */
  const uint64_t c_newline_or_number = GT_ISA(gt_class_mask)(t, 8);
  /* rest apostrophe */
  const uint64_t c_rest_or_apostrophe = GT_ISA(gt_class_mask)(t, 9);
  /* letters_dmst */
  const uint64_t c_letters_dmst = GT_ISA(gt_class_mask)(t, 10);
  /* letter_e */
  const uint64_t c_letter_e = GT_ISA(gt_class_mask)(t, 11);
  /* letter_l */
  const uint64_t c_letter_l = GT_ISA(gt_class_mask)(t, 12);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 13);
  /* letters_rv */
  const uint64_t c_letters_rv = GT_ISA(gt_class_mask)(t, 14);
  /* letter letters_dmst letter_e letter_l letters_rv */
  const uint64_t c_letter_and_4_more = GT_ISA(gt_class_mask)(t, 15);
  const uint64_t q0 = ~c_other_space_and_3_more;
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0]);
  carry[0] = q0 << 63;
  const uint64_t stay_q1 = c_other_space_or_space;
  uint64_t q1 = c_newline;
  q1 |= carry[1] & stay_q1;
  for (uint64_t more = q1; more;) { /* one character back each time; runs are short */
    more = q1 >> 1 & stay_q1 & ~q1;
    q1 |= more;
  }
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1]);
  carry[1] = q1 << 63;
  const uint64_t q2 = ~c_other_space_and_2_more | (c_other_space_or_space & ahead_q1);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2]);
  carry[2] = q2 << 63;
  s[0] = c_rest_and_2_more;
  s[1] = c_space & ~ahead_q2;
  s[2] = c_space & ahead_q1;
  s[3] = c_other_space_and_2_more;
  s[4] = c_other_space_and_3_more;
  s[5] = c_newline;
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
  s[16] = c_other_space_or_space & ~ahead_q2;
  s[17] = c_other_space_or_space & ahead_q1;
  s[18] = c_letter_and_4_more;
}

/* Left streams of one block, and the characters before which a piece starts (and those before which a kept one stops).
 * `last`: the block's last character. carry[i]: stream i just before the block, in bit 0. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         unsigned last GT_UNUSED, uint64_t *stops GT_UNUSED) {
  const uint64_t p0 = ~s[3];
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> last;
  const uint64_t stay_p1 = s[5];
  uint64_t p1 = s[9];
  { /* MatchStar: the addition runs through every stretch of `stay` that is entered */
    const uint64_t in = GT_SHIFT_ON(p1, carry[1]);
    p1 |= ((((in & stay_p1) + stay_p1) ^ stay_p1) | in) & stay_p1;
  }
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> last;
  const uint64_t p2 = ~s[4] | (s[5] & behind_p1);
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> last;
  const uint64_t p3 = ~s[0] | (s[1] & ~behind_p0) | (s[2] & ~behind_p2);
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> last;
  const uint64_t p4 = s[6];
  const uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]);
  carry[4] = p4 >> last;
  uint64_t p5 = 0, p6 = 0, p7 = 0;
  uint64_t behind_p5 = GT_SHIFT_ON(p5, carry[5]), behind_p6 = GT_SHIFT_ON(p6, carry[6]), behind_p7 = GT_SHIFT_ON(p7,
      carry[7]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old5 = p5;
    p5 = ~s[7] | behind_p7;
    behind_p5 = GT_SHIFT_ON(p5, carry[5]);
    if (changed == 2 && p5 == old5) break; /* the rest follows from this one */
    p6 = s[7] & behind_p5;
    behind_p6 = GT_SHIFT_ON(p6, carry[6]);
    p7 = s[7] & behind_p6;
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    changed = 2;
  }
  carry[5] = p5 >> last;
  carry[6] = p6 >> last;
  carry[7] = p7 >> last;
  const uint64_t p8 = s[13] & behind_p3;
  const uint64_t behind_p8 = GT_SHIFT_ON(p8, carry[8]);
  carry[8] = p8 >> last;
  const uint64_t p9 = s[14] & behind_p8;
  const uint64_t behind_p9 = GT_SHIFT_ON(p9, carry[9]);
  carry[9] = p9 >> last;
  const uint64_t p10 = s[12] & behind_p8;
  const uint64_t behind_p10 = GT_SHIFT_ON(p10, carry[10]);
  carry[10] = p10 >> last;
  const uint64_t p11 = s[8] | (s[9] & ~behind_p3) | (s[10] & behind_p8) | (s[11] & behind_p9) | (s[12] &
      behind_p10);
  const uint64_t behind_p11 = GT_SHIFT_ON(p11, carry[11]);
  carry[11] = p11 >> last;
  const uint64_t starts = s[15] | (s[9] & behind_p3) | (s[16] & behind_p0) | (s[17] & behind_p2) | (s[5] &
      behind_p4) | (s[7] & behind_p5) | (s[18] & behind_p11);
  return starts;
}
