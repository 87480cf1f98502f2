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
  c_rest_2_and_8_more = 0, /* rest_2 other_space space digits_0123456789 colon less greater upper_letter_i end */
  c_upper_letter_i = 1, /* upper_letter_i */
  c_upper_letter_m = 2, /* upper_letter_m */
  c_rest_2_and_7_more = 3, /* rest_2 other_space digits_0123456789 colon less greater upper_letter_i end */
  c_space = 4, /* space */
  c_upper_letter_g = 5, /* upper_letter_g */
  c_letters_abcdefh_and_2_more = 6, /* letters_abcdefh upper_letter_g upper_letter_i */
  c_upper_letter_z = 7, /* upper_letter_z */
  c_rest_or_space = 8, /* rest space */
  c_other_space = 9, /* other_space */
  c_rest = 10, /* rest */
  c_other_space_or_space = 11, /* other_space space */
  c_rest_and_6_more = 12, /* rest rest_2 other_space digits_0123456789 colon less greater */
  c_space_or_upper_letter_z = 13, /* space upper_letter_z */
  c_rest_and_8_more = 14, /* rest rest_2 other_space space digits_0123456789 colon less greater upper_letter_i */
  c_rest_2_and_4_more = 15, /* rest_2 digits_0123456789 colon less greater */
  joint_16 = 16,
  joint_17 = 17,
  joint_18 = 18,
  joint_19 = 19,
  joint_20 = 20,
  joint_21 = 21,
  joint_22 = 22,
  joint_23 = 23,
  joint_24 = 24,
  joint_25 = 25,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_upper_letter_z] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = (s[c_letters_abcdefh_and_2_more] & ahead_q0) | s[c_upper_letter_z] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = (s[c_letters_abcdefh_and_2_more] & ahead_q1) | s[c_upper_letter_z] | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  const GT_WORD q3 = (s[c_letters_abcdefh_and_2_more] & ahead_q2) | s[c_upper_letter_z] | pad[3];
  const GT_WORD ahead_q3 = GT_V(gt_back)(q3, after[3]);
  after[3] = q3;
  const GT_WORD q4 = (s[c_letters_abcdefh_and_2_more] & ahead_q3) | pad[4];
  const GT_WORD ahead_q4 = GT_V(gt_back)(q4, after[4]);
  after[4] = q4;
  const GT_WORD q5 = (s[c_upper_letter_g] & ahead_q4) | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD q6 = (s[c_upper_letter_m] & ahead_q5) | pad[6];
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = (s[c_upper_letter_i] & ahead_q6) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  const GT_WORD q8 = (s[c_upper_letter_g] & ahead_q7) | pad[8];
  const GT_WORD ahead_q8 = GT_V(gt_back)(q8, after[8]);
  after[8] = q8;
  const GT_WORD q9 = (s[c_upper_letter_m] & ahead_q8) | pad[9];
  const GT_WORD ahead_q9 = GT_V(gt_back)(q9, after[9]);
  after[9] = q9;
  const GT_WORD q10 = ~s[c_rest_2_and_8_more] | (s[c_upper_letter_i] & ~ahead_q9) | pad[10];
  const GT_WORD ahead_q10 = GT_V(gt_back)(q10, after[10]);
  after[10] = q10;
  const GT_WORD q11 = ~s[c_rest_2_and_7_more] | (s[c_upper_letter_i] & ~ahead_q9) | pad[11];
  const GT_WORD ahead_q11 = GT_V(gt_back)(q11, after[11]);
  after[11] = q11;
  const GT_WORD q12 = s[c_space] | pad[12];
  const GT_WORD ahead_q12 = GT_V(gt_back)(q12, after[12]);
  after[12] = q12;
  s[joint_16] = (s[c_other_space] & ~ahead_q10) | (s[c_space] & ~ahead_q11);
  s[joint_17] = ~s[c_rest_2_and_7_more] | (s[c_other_space] & ~ahead_q10) | (s[c_upper_letter_i] & ~ahead_q9);
  s[joint_18] = (s[c_space] & ahead_q11) | s[c_upper_letter_z];
  s[joint_19] = s[c_space] & ahead_q12;
  s[joint_20] = ~s[c_space_or_upper_letter_z] | (s[c_space] & ~ahead_q11);
  s[joint_21] = ~s[c_rest_and_8_more] | (s[c_upper_letter_i] & ~ahead_q9);
  s[joint_22] = s[c_upper_letter_i] & ahead_q9;
  s[joint_23] = (s[c_upper_letter_g] & ahead_q7) | (s[c_upper_letter_m] & ahead_q8);
  s[joint_24] = s[c_rest_2_and_4_more] | (s[c_other_space] & ahead_q10) | (s[c_upper_letter_i] & ahead_q9);
  s[joint_25] = s[c_space] & ahead_q10;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  GT_WORD p0, p1;
  GT_WORD behind_p0 = GT_V(gt_on)(GT_NOWHERE, before[0]);
  GT_WORD behind_p1 = GT_V(gt_on)(GT_NOWHERE, before[1]);
  const GT_WORD again0 = s[joint_16] | s[joint_17];
  for (;;) {
    p0 = ~s[c_space] | (s[joint_16] & ~behind_p1) | (s[joint_17] & ~behind_p0);
    const GT_WORD old0 = behind_p0;
    behind_p0 = GT_V(gt_on)(p0, before[0]);
    p1 = ~s[c_other_space_or_space] | (s[c_rest_or_space] & ~behind_p0);
    const GT_WORD old1 = behind_p1;
    behind_p1 = GT_V(gt_on)(p1, before[1]);
    const GT_WORD changed = (old0 ^ behind_p0) | (old1 ^ behind_p1);
    if (!GT_V(gt_any)(again0) || !GT_V(gt_any)(changed)) break;
  }
  before[0] = p0;
  before[1] = p1;
  const GT_WORD p2 = ~s[c_rest_or_space] | (s[joint_16] & ~behind_p1) | (~s[c_rest] & ~behind_p0);
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  const GT_WORD stay_p3 = s[joint_16];
  GT_WORD p3 = s[c_other_space];
  p3 |= GT_V(gt_run_on)(GT_V(gt_on)(p3, before[3]), stay_p3);
  const GT_WORD behind_p3 = GT_V(gt_on)(p3, before[3]);
  before[3] = p3;
  GT_WORD p4, p5, p6, p7, p8;
  GT_WORD behind_p4, behind_p5, behind_p6, behind_p7;
  GT_WORD behind_p8 = GT_V(gt_on)(GT_NOWHERE, before[8]);
  const GT_WORD again4 = s[joint_19];
  for (;;) {
    p4 = s[c_other_space] | (s[joint_16] & behind_p3) | (s[joint_19] & behind_p8);
    behind_p4 = GT_V(gt_on)(p4, before[4]);
    p5 = s[joint_19] & behind_p8;
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    p6 = ~s[c_space] | (s[joint_16] & behind_p4) | (s[joint_17] & behind_p5);
    behind_p6 = GT_V(gt_on)(p6, before[6]);
    p7 = s[joint_19] & behind_p6;
    behind_p7 = GT_V(gt_on)(p7, before[7]);
    p8 = s[joint_17] & behind_p7;
    const GT_WORD old8 = behind_p8;
    behind_p8 = GT_V(gt_on)(p8, before[8]);
    const GT_WORD changed = (old8 ^ behind_p8);
    if (!GT_V(gt_any)(again4) || !GT_V(gt_any)(changed)) break;
  }
  before[4] = p4;
  before[5] = p5;
  before[6] = p6;
  before[7] = p7;
  before[8] = p8;
  const GT_WORD stay_p9 = s[joint_23];
  GT_WORD p9 = s[joint_22];
  p9 |= GT_V(gt_run_on)(GT_V(gt_on)(p9, before[9]), stay_p9);
  const GT_WORD behind_p9 = GT_V(gt_on)(p9, before[9]);
  before[9] = p9;
  const GT_WORD p10 = s[joint_22] | (s[joint_21] & behind_p9);
  const GT_WORD behind_p10 = GT_V(gt_on)(p10, before[10]);
  before[10] = p10;
  const GT_WORD p11 = s[joint_21] & behind_p10;
  const GT_WORD behind_p11 = GT_V(gt_on)(p11, before[11]);
  before[11] = p11;
  const GT_WORD p12 = s[joint_21] & behind_p11;
  const GT_WORD behind_p12 = GT_V(gt_on)(p12, before[12]);
  before[12] = p12;
  const GT_WORD p13 = s[joint_21] & behind_p12;
  const GT_WORD behind_p13 = GT_V(gt_on)(p13, before[13]);
  before[13] = p13;
  const GT_WORD p14 = s[joint_20] & behind_p13;
  const GT_WORD behind_p14 = GT_V(gt_on)(p14, before[14]);
  before[14] = p14;
  const GT_WORD p15 = s[joint_20] & behind_p14;
  const GT_WORD behind_p15 = GT_V(gt_on)(p15, before[15]);
  before[15] = p15;
  const GT_WORD p16 = (s[joint_19] & behind_p0) | (s[joint_20] & behind_p15);
  const GT_WORD behind_p16 = GT_V(gt_on)(p16, before[16]);
  before[16] = p16;
  const GT_WORD p17 = s[c_rest_and_6_more] | (s[joint_16] & ~behind_p1) | (s[joint_18] & behind_p16);
  const GT_WORD behind_p17 = GT_V(gt_on)(p17, before[17]);
  before[17] = p17;
  const GT_WORD starts = s[joint_24] | (s[c_rest] & behind_p2) | (s[joint_16] & behind_p1) | (s[joint_25] &
      behind_p0) | (s[joint_19] & behind_p6) | (s[joint_21] & behind_p17);
  return starts;
}
