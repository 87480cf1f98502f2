/* Where pieces start: the bit program. Included once for each ISA; GT_ISA(x) names the functions.
 *
 * pattern  's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
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
  /* other_space space end */
  const uint64_t c_other_space_and_2_more = GT_ISA(gt_class_mask)(t, 0);
  /* letter_l */
  const uint64_t c_letter_l = GT_ISA(gt_class_mask)(t, 1);
  /* letter_e */
  const uint64_t c_letter_e = GT_ISA(gt_class_mask)(t, 2);
  /* rest space apostrophe */
  const uint64_t c_rest_and_2_more = GT_ISA(gt_class_mask)(t, 3);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 4);
  /* space number */
  const uint64_t c_space_or_number = GT_ISA(gt_class_mask)(t, 5);
  /* rest other_space apostrophe number */
  const uint64_t c_rest_and_3_more = GT_ISA(gt_class_mask)(t, 6);
  /* letters_dmst */
  const uint64_t c_letters_dmst = GT_ISA(gt_class_mask)(t, 7);
  /* letter_e letter_l */
  const uint64_t c_letter_e_or_letter_l = GT_ISA(gt_class_mask)(t, 8);
  /* rest other_space number */
  const uint64_t c_rest_and_2_more_x = GT_ISA(gt_class_mask)(t, 9);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 10);
  /* letters_rv */
  const uint64_t c_letters_rv = GT_ISA(gt_class_mask)(t, 11);
  /* rest apostrophe */
  const uint64_t c_rest_or_apostrophe = GT_ISA(gt_class_mask)(t, 12);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 13);
  /* letter letter_e */
  const uint64_t c_letter_or_letter_e = GT_ISA(gt_class_mask)(t, 14);
  const uint64_t q0 = ~c_other_space_and_2_more;
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0]);
  carry[0] = q0 << 63;
  const uint64_t q1 = c_letter_l;
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1]);
  carry[1] = q1 << 63;
  const uint64_t q2 = c_letter_e;
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2]);
  carry[2] = q2 << 63;
  s[0] = c_rest_and_2_more;
  s[1] = c_space & ~ahead_q0;
  s[2] = c_other_space_and_2_more;
  s[3] = c_space_or_number;
  s[4] = c_rest_and_3_more;
  s[5] = c_letters_dmst;
  s[6] = c_letter_e_or_letter_l;
  s[7] = c_rest_and_2_more_x;
  s[8] = c_apostrophe;
  s[9] = (c_letter_l & ahead_q1) | (c_letters_rv & ahead_q2);
  s[10] = c_other_space_and_2_more & ahead_q0;
  s[11] = c_rest_or_apostrophe;
  s[12] = c_other_space_and_2_more & ~ahead_q0;
  s[13] = c_number;
  s[14] = c_letter_or_letter_e | (c_letter_l & ~ahead_q1) | (c_letters_rv & ~ahead_q2);
  s[15] = c_letters_dmst | (c_letter_l & ahead_q1) | (c_letters_rv & ahead_q2);
}

/* Left streams of one block, and the characters before which a piece starts (and those before which a kept one stops).
 * `last`: the block's last character. carry[i]: stream i just before the block, in bit 0. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         unsigned last GT_UNUSED, uint64_t *stops GT_UNUSED) {
  const uint64_t p0 = ~s[2];
  const uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]);
  carry[0] = p0 >> last;
  const uint64_t p1 = ~s[0] | (s[1] & ~behind_p0);
  const uint64_t behind_p1 = GT_SHIFT_ON(p1, carry[1]);
  carry[1] = p1 >> last;
  const uint64_t p2 = ~s[3] | (s[1] & ~behind_p0);
  const uint64_t behind_p2 = GT_SHIFT_ON(p2, carry[2]);
  carry[2] = p2 >> last;
  const uint64_t p3 = s[8] & behind_p1;
  const uint64_t behind_p3 = GT_SHIFT_ON(p3, carry[3]);
  carry[3] = p3 >> last;
  const uint64_t p4 = s[9] & behind_p3;
  const uint64_t behind_p4 = GT_SHIFT_ON(p4, carry[4]);
  carry[4] = p4 >> last;
  const uint64_t p5 = s[4] | (s[1] & ~behind_p0) | (s[5] & behind_p3) | (s[6] & behind_p4);
  const uint64_t behind_p5 = GT_SHIFT_ON(p5, carry[5]);
  carry[5] = p5 >> last;
  const uint64_t p6 = s[7] | (s[1] & ~behind_p0) | (s[8] & ~behind_p1) | (s[5] & behind_p3) | (s[6] & behind_p4);
  const uint64_t behind_p6 = GT_SHIFT_ON(p6, carry[6]);
  carry[6] = p6 >> last;
  const uint64_t starts = s[10] | (s[11] & behind_p1) | (s[12] & behind_p0) | (s[13] & behind_p2) | (s[14] &
      behind_p5) | (s[15] & behind_p6);
  return starts;
}
