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
  c_punctuation_symbol_and_4_more = 0, /* punctuation_symbol letter letter_2 letter_3 u_2018_and_9_more */
  c_u_3000 = 1, /* u_3000 */
  c_letter_and_2_more = 2, /* letter letter_2 letter_3 */
  c_rest_and_3_more = 3, /* rest number rest_2 number_2 */
  c_tab_and_5_more_or_other_space = 4, /* tab_and_5_more other_space */
  c_tab_and_5_more_and_4_more = 5, /* tab_and_5_more newline other_space u_3000 end */
  c_punctuation_symbol_or_u_2018_and_9_more = 6, /* punctuation_symbol u_2018_and_9_more */
  c_letter = 7, /* letter */
  c_rest_and_4_more = 8, /* rest number letter rest_2 number_2 */
  c_rest_or_tab_and_5_more = 9, /* rest tab_and_5_more */
  c_tab_and_5_more = 10, /* tab_and_5_more */
  c_tab_and_5_more_or_punctuation_symbol = 11, /* tab_and_5_more punctuation_symbol */
  c_number = 12, /* number */
  c_tab_and_5_more_or_letter = 13, /* tab_and_5_more letter */
  c_tab_and_5_more_or_letter_2 = 14, /* tab_and_5_more letter_2 */
  c_rest_2_or_other_space = 15, /* rest_2 other_space */
  c_other_space = 16, /* other_space */
  c_number_2 = 17, /* number_2 */
  c_letter_3_or_other_space = 18, /* letter_3 other_space */
  c_other_space_and_2_more = 19, /* other_space u_2018_and_9_more u_3000 */
  c_other_space_or_u_3000 = 20, /* other_space u_3000 */
  c_newline = 21, /* newline */
  c_rest = 22, /* rest */
  c_punctuation_symbol = 23, /* punctuation_symbol */
  c_letter_2 = 24, /* letter_2 */
  c_rest_2 = 25, /* rest_2 */
  c_letter_3 = 26, /* letter_3 */
  c_u_2018_and_9_more = 27, /* u_2018_and_9_more */
  joint_32 = 32,
  joint_33 = 33,
  joint_34 = 34,
  joint_35 = 35,
  joint_36 = 36,
  joint_37 = 37,
  joint_38 = 38,
  joint_39 = 39,
  joint_40 = 40,
  joint_41 = 41,
  joint_42 = 42,
  joint_43 = 43,
  joint_44 = 44,
  joint_45 = 45,
  joint_46 = 46,
  joint_47 = 47,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_letter_and_2_more] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_punctuation_symbol_and_4_more] | (s[c_u_3000] & ~ahead_q0) | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD stay_q2 = s[c_tab_and_5_more_or_other_space];
  GT_WORD q2 = s[c_rest_and_3_more] | pad[2];
  q2 |= GT_V(gt_back)(q2, after[2]) & stay_q2; /* runs are short: two characters back without a branch */
  q2 |= GT_V(gt_back)(q2, after[2]) & stay_q2;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q2, after[2]) & stay_q2 & ~q2);) q2 |= more;
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  const GT_WORD q3 = ~s[c_tab_and_5_more_and_4_more] | (s[c_tab_and_5_more_or_other_space] & ahead_q2) |
      (s[c_u_3000] & ~ahead_q0) | pad[3];
  const GT_WORD ahead_q3 = GT_V(gt_back)(q3, after[3]);
  after[3] = q3;
  const GT_WORD stay_q4 = s[c_u_3000];
  GT_WORD q4 = s[c_punctuation_symbol_or_u_2018_and_9_more] | pad[4];
  q4 |= GT_V(gt_back)(q4, after[4]) & stay_q4; /* runs are short: two characters back without a branch */
  q4 |= GT_V(gt_back)(q4, after[4]) & stay_q4;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q4, after[4]) & stay_q4 & ~q4);) q4 |= more;
  const GT_WORD ahead_q4 = GT_V(gt_back)(q4, after[4]);
  after[4] = q4;
  const GT_WORD q5 = s[c_punctuation_symbol_and_4_more] | (s[c_u_3000] & ahead_q4) | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD q6 = s[c_letter] | pad[6];
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = s[c_rest_and_4_more] | (s[c_tab_and_5_more_or_other_space] & ahead_q2) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  s[joint_32] = ~s[c_tab_and_5_more] | ahead_q2;
  s[joint_33] = ~s[c_tab_and_5_more_or_punctuation_symbol] | (s[c_tab_and_5_more] & ahead_q2);
  s[joint_34] = ~s[c_tab_and_5_more_or_letter] | (s[c_tab_and_5_more] & ahead_q2);
  s[joint_35] = ~s[c_tab_and_5_more_or_letter_2] | (s[c_tab_and_5_more] & ahead_q2);
  s[joint_36] = ~s[c_rest_2_or_other_space] | (s[c_other_space] & ahead_q6);
  s[joint_37] = ~s[c_letter_3_or_other_space] | (s[c_other_space] & ahead_q7);
  s[joint_38] = ~s[c_other_space] | ahead_q7;
  s[joint_39] = ~s[c_other_space_and_2_more] | (s[c_other_space] & ahead_q2);
  s[joint_40] = ~s[c_other_space_or_u_3000] | (s[c_other_space] & ahead_q2) | (s[c_u_3000] & ahead_q4);
  s[joint_41] = (s[c_tab_and_5_more_or_other_space] & ahead_q1) | s[c_newline] | (s[c_u_3000] & ahead_q0);
  s[joint_42] = s[c_rest] | (s[c_tab_and_5_more] & ahead_q2);
  s[joint_43] = s[c_tab_and_5_more] & ~ahead_q3;
  s[joint_44] = s[c_rest_2] | (s[c_other_space] & ahead_q2);
  s[joint_45] = s[c_other_space] & ~ahead_q3;
  s[joint_46] = s[c_u_2018_and_9_more] | (s[c_u_3000] & ahead_q4);
  s[joint_47] = s[c_u_3000] & ~ahead_q5;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_rest_or_tab_and_5_more];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = s[joint_32];
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = s[joint_33];
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = ~s[c_number];
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD p4 = s[joint_34];
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  const GT_WORD p5 = s[joint_35];
  const GT_WORD behind_p5 = GT_V(gt_on)(p5, before[5]);
  before[5] = p5;
  const GT_WORD p6 = s[joint_36];
  const GT_WORD behind_p6 = GT_V(gt_on)(p6, before[6]);
  before[6] = p6;
  const GT_WORD p7 = ~s[c_number_2];
  const GT_WORD behind_p7 = GT_V(gt_on)(p7, before[7]);
  before[7] = p7;
  const GT_WORD p8 = s[joint_37];
  const GT_WORD behind_p8 = GT_V(gt_on)(p8, before[8]);
  before[8] = p8;
  const GT_WORD p9 = s[joint_38];
  const GT_WORD behind_p9 = GT_V(gt_on)(p9, before[9]);
  before[9] = p9;
  const GT_WORD p10 = s[joint_39];
  const GT_WORD behind_p10 = GT_V(gt_on)(p10, before[10]);
  before[10] = p10;
  const GT_WORD p11 = s[joint_40];
  const GT_WORD behind_p11 = GT_V(gt_on)(p11, before[11]);
  before[11] = p11;
  const GT_WORD starts = s[joint_41] | (s[joint_42] & behind_p0) | (s[joint_43] & behind_p1) |
      (s[c_punctuation_symbol] & behind_p2) | (s[c_number] & behind_p3) | (s[c_letter] & behind_p4) | (s[c_letter_2]
      & behind_p5) | (s[joint_44] & behind_p6) | (s[c_number_2] & behind_p7) | (s[c_letter_3] & behind_p8) |
      (s[joint_45] & behind_p9) | (s[joint_46] & behind_p10) | (s[joint_47] & behind_p11);
  return starts;
}
