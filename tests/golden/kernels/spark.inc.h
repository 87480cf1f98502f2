/* Where pieces start: the bit program. Included for each ISA, once for words of one block of 64 characters and, where
 * there are vectors, once for words of several blocks. GT_B(x) names the functions, GT_V(x) what they are made of:
 *
 *   GT_WORD                a bit a character, in order
 *   GT_V(gt_on)(x, b)      each bit moved on to the next character; the first bit is the last one of b
 *   GT_V(gt_back)(x, a)    each bit moved back to the character before; the last bit is the first one of a
 *   GT_V(gt_run_on)(i, s)  runs of s that are entered at i, from there to their end
 *   GT_V(gt_any)(x)        whether a bit is set
 *
 * A chunk is passed over twice. From its end to its start: `ahead_q` tells whether stream q holds at the next
 * character, and the symbols join that with the character's class. From start to end: `behind_p` tells whether stream p
 * holds at the previous character. */

#ifndef GT_SYMBOLS_NAMED
#define GT_SYMBOLS_NAMED
enum { /* in `s`: the classes, then what joins a class with what comes after it */
  c_letter_or_other_letter = 0, /* letter other_letter */
  c_rest_and_5_more = 1, /* rest ascii_punctuation letter symbol other_letter rest_2 */
  c_other_letter_2 = 2, /* other_letter_2 */
  c_rest = 3, /* rest */
  c_other_space_and_2_more = 4, /* other_space newline space */
  c_newline = 5, /* newline */
  c_space_and_2_more = 6, /* space ascii_punctuation symbol */
  c_newline_and_6_more = 7, /* newline number symbol u_3040_u_3097_u_3098 other_letter_2 u_309B_and_3_more rest_2 */
  c_ascii_punctuation_or_symbol = 8, /* ascii_punctuation symbol */
  c_rest_and_4_more = 9, /* rest other_space space letter other_letter */
  c_letter = 10, /* letter */
  c_u_3040_u_3097_u_3098 = 11, /* u_3040_u_3097_u_3098 */
  c_u_3040_u_3097_u_3098_or_other_letter_2 = 12, /* u_3040_u_3097_u_3098 other_letter_2 */
  c_u_309B_and_3_more = 13, /* u_309B_and_3_more */
  c_ascii_punctuation = 14, /* ascii_punctuation */
  c_number_or_rest_2 = 15, /* number rest_2 */
  c_other_letter = 16, /* other_letter */
  joint_24 = 24,
  joint_25 = 25,
  joint_26 = 26,
  joint_27 = 27,
  joint_28 = 28,
  joint_29 = 29,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_letter_or_other_letter] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_rest_and_5_more] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = s[c_other_letter_2] | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  s[joint_24] = ~s[c_other_space_and_2_more] | (s[c_newline] & ahead_q1);
  s[joint_25] = s[c_newline] & ~ahead_q1;
  s[joint_26] = s[c_other_space_and_2_more] & ~ahead_q1;
  s[joint_27] = (s[c_rest] & ahead_q0) | (s[c_other_space_and_2_more] & ahead_q1) | s[c_number_or_rest_2] |
      (s[c_u_3040_u_3097_u_3098] & ahead_q2);
  s[joint_28] = s[c_rest] & ~ahead_q0;
  s[joint_29] = s[c_u_3040_u_3097_u_3098] & ~ahead_q2;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_rest];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD stay_p1 = s[joint_25];
  GT_WORD p1 = s[joint_24];
  p1 |= GT_V(gt_run_on)(GT_V(gt_on)(p1, before[1]), stay_p1);
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = ~s[c_space_and_2_more] | (s[joint_26] & ~behind_p1);
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = s[c_newline_and_6_more] | (s[joint_26] & ~behind_p1) | (s[c_ascii_punctuation_or_symbol] &
      ~behind_p2);
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD stay_p4 = s[c_letter];
  GT_WORD p4 = s[c_ascii_punctuation] & behind_p2;
  p4 |= GT_V(gt_run_on)(GT_V(gt_on)(p4, before[4]), stay_p4);
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  const GT_WORD p5 = ~s[c_rest_and_4_more] | (s[joint_26] & ~behind_p1) | (s[c_letter] & behind_p4);
  const GT_WORD behind_p5 = GT_V(gt_on)(p5, before[5]);
  before[5] = p5;
  const GT_WORD p6 = ~s[c_u_3040_u_3097_u_3098];
  const GT_WORD behind_p6 = GT_V(gt_on)(p6, before[6]);
  before[6] = p6;
  const GT_WORD p7 = ~s[c_u_3040_u_3097_u_3098_or_other_letter_2];
  const GT_WORD behind_p7 = GT_V(gt_on)(p7, before[7]);
  before[7] = p7;
  const GT_WORD p8 = ~s[c_u_309B_and_3_more];
  const GT_WORD behind_p8 = GT_V(gt_on)(p8, before[8]);
  before[8] = p8;
  const GT_WORD starts = s[joint_27] | (s[joint_28] & behind_p0) | (s[joint_26] & behind_p1) |
      (s[c_ascii_punctuation_or_symbol] & behind_p2) | (s[c_letter] & behind_p3) | (s[c_other_letter] & behind_p5) |
      (s[joint_29] & behind_p6) | (s[c_other_letter_2] & behind_p7) | (s[c_u_309B_and_3_more] & behind_p8);
  return starts;
}
