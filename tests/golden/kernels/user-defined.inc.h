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
  c_letter_s = 0, /* letter_s */
  c_letter_g = 1, /* letter_g */
  c_greater = 2, /* greater */
  c_letter_e = 3, /* letter_e */
  c_upper_letter_m = 4, /* upper_letter_m */
  c_letter_p = 5, /* letter_p */
  c_upper_letter_a = 6, /* upper_letter_a */
  c_upper_letter_s = 7, /* upper_letter_s */
  c_upper_letter_k = 8, /* upper_letter_k */
  c_right_bracket = 9, /* right_bracket */
  c_plus = 10, /* plus */
  c_greater_or_right_bracket = 11, /* greater right_bracket */
  c_plus_and_2_more = 12, /* plus less left_bracket */
  c_less = 13, /* less */
  c_left_bracket = 14, /* left_bracket */
  joint_16 = 16,
  joint_17 = 17,
  joint_18 = 18,
  joint_19 = 19,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_greater] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = (s[c_letter_p] & ahead_q0) | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = s[c_greater] | (s[c_letter_e] & ahead_q1) | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  const GT_WORD q3 = (s[c_letter_s] & ahead_q2) | pad[3];
  const GT_WORD ahead_q3 = GT_V(gt_back)(q3, after[3]);
  after[3] = q3;
  const GT_WORD q4 = s[c_right_bracket] | pad[4];
  const GT_WORD ahead_q4 = GT_V(gt_back)(q4, after[4]);
  after[4] = q4;
  const GT_WORD q5 = (s[c_upper_letter_k] & ahead_q4) | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD q6 = (s[c_upper_letter_s] & ahead_q5) | pad[6];
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = (s[c_upper_letter_a] & ahead_q6) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  const GT_WORD q8 = (s[c_upper_letter_m] & ahead_q7) | pad[8];
  const GT_WORD ahead_q8 = GT_V(gt_back)(q8, after[8]);
  after[8] = q8;
  const GT_WORD q9 = (s[c_letter_g] & ahead_q8) | pad[9];
  const GT_WORD ahead_q9 = GT_V(gt_back)(q9, after[9]);
  after[9] = q9;
  s[joint_16] = ~s[c_plus_and_2_more] | (s[c_less] & ~ahead_q3) | (s[c_left_bracket] & ~ahead_q9);
  s[joint_17] = s[c_less] & ahead_q3;
  s[joint_18] = s[c_left_bracket] & ahead_q9;
  s[joint_19] = s[c_plus] | (s[c_less] & ahead_q3) | (s[c_left_bracket] & ahead_q9);
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = s[joint_18];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = s[joint_16] & behind_p0;
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = s[joint_17] | (s[joint_16] & behind_p1);
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = s[joint_16] & behind_p2;
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD p4 = s[joint_17] | (~s[c_greater_or_right_bracket] & behind_p3);
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  const GT_WORD p5 = s[joint_16] & behind_p4;
  const GT_WORD behind_p5 = GT_V(gt_on)(p5, before[5]);
  before[5] = p5;
  const GT_WORD p6 = s[c_plus] | (s[c_greater_or_right_bracket] & behind_p5);
  const GT_WORD behind_p6 = GT_V(gt_on)(p6, before[6]);
  before[6] = p6;
  const GT_WORD starts = s[joint_19] | (s[joint_16] & behind_p6);
  return starts;
}
