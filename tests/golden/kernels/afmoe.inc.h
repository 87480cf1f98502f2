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
  c_rest_and_4_more = 1, /* rest ascii_punctuation letter symbol other_letter */
  c_number_or_number_2 = 2, /* number number_2 */
  c_other_letter_2 = 3, /* other_letter_2 */
  c_rest_and_5_more = 4, /* rest newline ascii_punctuation letter symbol other_letter */
  c_other_space_or_space = 5, /* other_space space */
  c_newline = 6, /* newline */
  c_rest = 7, /* rest */
  c_other_space_and_2_more = 8, /* other_space newline space */
  c_other_space_and_4_more = 9, /* other_space newline space ascii_punctuation symbol */
  c_space_and_2_more = 10, /* space ascii_punctuation symbol */
  c_number = 11, /* number */
  c_newline_and_6_more = 12, /* newline number symbol other_letter_2 symbol_2 number_2 rest_2 */
  c_ascii_punctuation_or_symbol = 13, /* ascii_punctuation symbol */
  c_rest_and_4_more_x = 14, /* rest other_space space letter other_letter */
  c_letter = 15, /* letter */
  c_other_letter_2_or_rest_2 = 16, /* other_letter_2 rest_2 */
  c_symbol_2 = 17, /* symbol_2 */
  c_number_2 = 18, /* number_2 */
  c_rest_2 = 19, /* rest_2 */
  c_ascii_punctuation = 20, /* ascii_punctuation */
  c_other_letter = 21, /* other_letter */
  joint_24 = 24,
  joint_25 = 25,
  joint_26 = 26,
  joint_27 = 27,
  joint_28 = 28,
  joint_29 = 29,
  joint_30 = 30,
  joint_31 = 31,
  joint_32 = 32,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_letter_or_other_letter] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_rest_and_4_more] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  GT_WORD q2, q3, q4;
  GT_WORD ahead_q2, ahead_q3;
  GT_WORD ahead_q4 = GT_V(gt_back)(GT_NOWHERE, after[4]);
  const GT_WORD again2 = s[c_number_or_number_2];
  for (;;) {
    q2 = (s[c_number_or_number_2] & ~ahead_q4) | pad[2];
    ahead_q2 = GT_V(gt_back)(q2, after[2]);
    q3 = (s[c_number_or_number_2] & ahead_q2) | pad[3];
    ahead_q3 = GT_V(gt_back)(q3, after[3]);
    q4 = (s[c_number_or_number_2] & ~ahead_q3) | pad[4];
    const GT_WORD old4 = ahead_q4;
    ahead_q4 = GT_V(gt_back)(q4, after[4]);
    const GT_WORD changed = (old4 ^ ahead_q4);
    if (!GT_V(gt_any)(again2) || !GT_V(gt_any)(changed)) break;
  }
  after[2] = q2;
  after[3] = q3;
  after[4] = q4;
  const GT_WORD q5 = s[c_other_letter_2] | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD stay_q6 = s[c_other_space_or_space];
  GT_WORD q6 = s[c_newline] | pad[6];
  q6 |= GT_V(gt_back)(q6, after[6]) & stay_q6; /* runs are short: two characters back without a branch */
  q6 |= GT_V(gt_back)(q6, after[6]) & stay_q6;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q6, after[6]) & stay_q6 & ~q6);) q6 |= more;
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = s[c_rest_and_5_more] | (s[c_other_space_or_space] & ahead_q6) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  s[joint_24] = s[c_other_space_or_space] & ~ahead_q7;
  s[joint_25] = s[c_other_space_or_space] & ahead_q6;
  s[joint_26] = s[c_number] & ~ahead_q3;
  s[joint_27] = s[c_number_2] & ~ahead_q3;
  s[joint_28] = s[c_number_or_number_2] & ~ahead_q3;
  s[joint_29] = s[c_number_or_number_2] & ahead_q3;
  s[joint_30] = (s[c_rest] & ahead_q0) | (s[c_other_space_or_space] & ahead_q1) | (s[c_number_or_number_2] &
      ahead_q3) | (s[c_rest_2] & ahead_q5);
  s[joint_31] = s[c_rest] & ~ahead_q0;
  s[joint_32] = s[c_rest_2] & ~ahead_q5;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_rest];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = ~s[c_other_space_or_space];
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD stay_p2 = s[c_newline];
  GT_WORD p2 = s[c_ascii_punctuation_or_symbol];
  p2 |= GT_V(gt_run_on)(GT_V(gt_on)(p2, before[2]), stay_p2);
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = ~s[c_other_space_and_2_more] | (s[c_newline] & behind_p2);
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD p4 = ~s[c_other_space_and_4_more];
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  const GT_WORD p5 = ~s[c_space_and_2_more] | (s[joint_24] & ~behind_p1) | (s[joint_25] & ~behind_p3);
  const GT_WORD behind_p5 = GT_V(gt_on)(p5, before[5]);
  before[5] = p5;
  const GT_WORD p6 = ~s[c_number_or_number_2];
  const GT_WORD behind_p6 = GT_V(gt_on)(p6, before[6]);
  before[6] = p6;
  const GT_WORD p7 = s[joint_29] | (s[joint_28] & behind_p6);
  const GT_WORD behind_p7 = GT_V(gt_on)(p7, before[7]);
  before[7] = p7;
  const GT_WORD p8 = s[joint_28] & behind_p7;
  const GT_WORD behind_p8 = GT_V(gt_on)(p8, before[8]);
  before[8] = p8;
  const GT_WORD p9 = ~s[c_number] | (s[joint_26] & behind_p8);
  const GT_WORD behind_p9 = GT_V(gt_on)(p9, before[9]);
  before[9] = p9;
  const GT_WORD p10 = s[c_newline_and_6_more] | (s[c_ascii_punctuation_or_symbol] & ~behind_p5);
  const GT_WORD behind_p10 = GT_V(gt_on)(p10, before[10]);
  before[10] = p10;
  const GT_WORD stay_p11 = s[c_letter];
  GT_WORD p11 = s[c_ascii_punctuation] & behind_p5;
  p11 |= GT_V(gt_run_on)(GT_V(gt_on)(p11, before[11]), stay_p11);
  const GT_WORD behind_p11 = GT_V(gt_on)(p11, before[11]);
  before[11] = p11;
  const GT_WORD p12 = ~s[c_rest_and_4_more_x] | (s[c_letter] & behind_p11);
  const GT_WORD behind_p12 = GT_V(gt_on)(p12, before[12]);
  before[12] = p12;
  const GT_WORD p13 = ~s[c_other_letter_2_or_rest_2];
  const GT_WORD behind_p13 = GT_V(gt_on)(p13, before[13]);
  before[13] = p13;
  const GT_WORD p14 = ~s[c_symbol_2];
  const GT_WORD behind_p14 = GT_V(gt_on)(p14, before[14]);
  before[14] = p14;
  const GT_WORD p15 = ~s[c_number_2] | (s[joint_27] & behind_p8);
  const GT_WORD behind_p15 = GT_V(gt_on)(p15, before[15]);
  before[15] = p15;
  const GT_WORD p16 = ~s[c_rest_2];
  const GT_WORD behind_p16 = GT_V(gt_on)(p16, before[16]);
  before[16] = p16;
  const GT_WORD starts = s[joint_30] | (s[joint_31] & behind_p0) | (s[joint_24] & behind_p1) | (s[joint_25] &
      behind_p3) | (s[c_newline] & behind_p4) | (s[c_ascii_punctuation_or_symbol] & behind_p5) | (s[joint_26] &
      behind_p9) | (s[c_letter] & behind_p10) | (s[c_other_letter] & behind_p12) | (s[c_other_letter_2] &
      behind_p13) | (s[c_symbol_2] & behind_p14) | (s[joint_27] & behind_p15) | (s[joint_32] & behind_p16);
  return starts;
}
