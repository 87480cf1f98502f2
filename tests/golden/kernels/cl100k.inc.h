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
  c_other_space_and_3_more = 0, /* other_space newline space end */
  c_other_space_or_space = 1, /* other_space space */
  c_rest_and_2_more = 2, /* rest space apostrophe */
  c_newline = 3, /* newline */
  c_number_and_5_more = 4, /* number letter letters_dmst letter_e letter_l letters_rv */
  c_number = 5, /* number */
  c_newline_or_number = 6, /* newline number */
  c_rest_or_apostrophe = 7, /* rest apostrophe */
  c_letters_dmst = 8, /* letters_dmst */
  c_letter_e = 9, /* letter_e */
  c_letter_l = 10, /* letter_l */
  c_apostrophe = 11, /* apostrophe */
  c_letters_rv = 12, /* letters_rv */
  c_letter_and_4_more = 13, /* letter letters_dmst letter_e letter_l letters_rv */
  joint_16 = 16,
  joint_17 = 17,
  joint_18 = 18,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = ~s[c_other_space_and_3_more] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD stay_q1 = s[c_other_space_or_space];
  GT_WORD q1 = ~s[c_other_space_and_3_more] | pad[1];
  q1 |= GT_V(gt_back)(q1, after[1]) & stay_q1; /* runs are short: two characters back without a branch */
  q1 |= GT_V(gt_back)(q1, after[1]) & stay_q1;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q1, after[1]) & stay_q1 & ~q1);) q1 |= more;
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = (s[c_other_space_or_space] & ahead_q1) | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  s[joint_16] = s[c_other_space_or_space] & ~ahead_q1;
  s[joint_17] = s[c_other_space_or_space] & ahead_q2;
  s[joint_18] = s[c_other_space_or_space] & ahead_q0;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD stay_p0 = s[c_newline];
  GT_WORD p0 = s[c_rest_or_apostrophe];
  p0 |= GT_V(gt_run_on)(GT_V(gt_on)(p0, before[0]), stay_p0);
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = ~s[c_other_space_and_3_more] | (s[c_newline] & behind_p0);
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = ~s[c_other_space_or_space];
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD p3 = ~s[c_rest_and_2_more] | (s[joint_16] & ~behind_p1) | (s[joint_17] & ~behind_p2);
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  const GT_WORD p4 = s[c_number_and_5_more];
  const GT_WORD behind_p4 = GT_V(gt_on)(p4, before[4]);
  before[4] = p4;
  GT_WORD p5, p6, p7;
  GT_WORD behind_p5, behind_p6;
  GT_WORD behind_p7 = GT_V(gt_on)(GT_NOWHERE, before[7]);
  const GT_WORD again5 = s[c_number];
  for (;;) {
    p5 = s[c_number] & behind_p7;
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    p6 = ~s[c_number] | behind_p5;
    behind_p6 = GT_V(gt_on)(p6, before[6]);
    p7 = s[c_number] & behind_p6;
    const GT_WORD old7 = behind_p7;
    behind_p7 = GT_V(gt_on)(p7, before[7]);
    const GT_WORD changed = (old7 ^ behind_p7);
    if (!GT_V(gt_any)(again5) || !GT_V(gt_any)(changed)) break;
  }
  before[5] = p5;
  before[6] = p6;
  before[7] = p7;
  const GT_WORD p8 = s[c_apostrophe] & behind_p3;
  const GT_WORD behind_p8 = GT_V(gt_on)(p8, before[8]);
  before[8] = p8;
  const GT_WORD p9 = s[c_letters_rv] & behind_p8;
  const GT_WORD behind_p9 = GT_V(gt_on)(p9, before[9]);
  before[9] = p9;
  const GT_WORD p10 = s[c_letter_l] & behind_p8;
  const GT_WORD behind_p10 = GT_V(gt_on)(p10, before[10]);
  before[10] = p10;
  const GT_WORD p11 = s[c_newline_or_number] | (s[c_rest_or_apostrophe] & ~behind_p3) | (s[c_letters_dmst] &
      behind_p8) | (s[c_letter_e] & behind_p9) | (s[c_letter_l] & behind_p10);
  const GT_WORD behind_p11 = GT_V(gt_on)(p11, before[11]);
  before[11] = p11;
  const GT_WORD starts = s[joint_18] | (s[c_rest_or_apostrophe] & behind_p3) | (s[joint_16] & behind_p1) |
      (s[joint_17] & behind_p2) | (s[c_newline] & behind_p4) | (s[c_number] & behind_p6) | (s[c_letter_and_4_more] &
      behind_p11);
  return starts;
}
