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
  c_punctuation_and_3_more = 0, /* punctuation other_letter other_letter_2 punctuation_2 */
  c_rest_or_tab_and_5_more = 1, /* rest tab_and_5_more */
  c_tab_and_5_more_or_punctuation = 2, /* tab_and_5_more punctuation */
  c_tab_and_5_more = 3, /* tab_and_5_more */
  c_tab_and_5_more_or_other_letter = 4, /* tab_and_5_more other_letter */
  c_other_letter_2_or_other_space = 5, /* other_letter_2 other_space */
  c_other_space = 6, /* other_space */
  c_rest_2_or_other_space = 7, /* rest_2 other_space */
  c_punctuation_2_or_other_space = 8, /* punctuation_2 other_space */
  c_tab_and_5_more_or_other_space = 9, /* tab_and_5_more other_space */
  c_number = 10, /* number */
  c_rest = 11, /* rest */
  c_punctuation = 12, /* punctuation */
  c_other_letter = 13, /* other_letter */
  c_other_letter_2 = 14, /* other_letter_2 */
  c_rest_2 = 15, /* rest_2 */
  c_punctuation_2 = 16, /* punctuation_2 */
  joint_24 = 24,
  joint_25 = 25,
  joint_26 = 26,
  joint_27 = 27,
  joint_28 = 28,
  joint_29 = 29,
  joint_30 = 30,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_punctuation_and_3_more] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  s[joint_24] = ~s[c_tab_and_5_more_or_punctuation] | (s[c_tab_and_5_more] & ~ahead_q0);
  s[joint_25] = ~s[c_tab_and_5_more_or_other_letter] | (s[c_tab_and_5_more] & ~ahead_q0);
  s[joint_26] = ~s[c_other_letter_2_or_other_space] | (s[c_other_space] & ~ahead_q0);
  s[joint_27] = ~s[c_punctuation_2_or_other_space] | (s[c_other_space] & ~ahead_q0);
  s[joint_28] = (s[c_tab_and_5_more_or_other_space] & ahead_q0) | s[c_number];
  s[joint_29] = s[c_rest] | (s[c_tab_and_5_more] & ~ahead_q0);
  s[joint_30] = s[c_rest_2] | (s[c_other_space] & ~ahead_q0);
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_rest_or_tab_and_5_more];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = s[joint_24];
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = s[joint_25];
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = s[joint_26];
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD p4 = ~s[c_rest_2_or_other_space];
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  const GT_WORD p5 = s[joint_27];
  const GT_WORD behind_p5 = GT_V(gt_on)(p5, before[5]);
  before[5] = p5;
  const GT_WORD starts = s[joint_28] | (s[joint_29] & behind_p0) | (s[c_punctuation] & behind_p1) |
      (s[c_other_letter] & behind_p2) | (s[c_other_letter_2] & behind_p3) | (s[joint_30] & behind_p4) |
      (s[c_punctuation_2] & behind_p5);
  return starts;
}
