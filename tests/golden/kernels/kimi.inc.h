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
  c_letters_dmst_or_letters_dmst_2 = 1, /* letters_dmst letters_dmst_2 */
  c_upper_letter_l_or_letter_l = 2, /* upper_letter_l letter_l */
  c_letters_rv_or_letters_rv_2 = 3, /* letters_rv letters_rv_2 */
  c_other_space_and_2_more = 4, /* other_space space end */
  c_other_space_or_space = 5, /* other_space space */
  c_newline = 6, /* newline */
  c_lower_and_6_more = 7, /* lower letters_dmst_2 letter_e letter_l letters_rv_2 other_letter mark */
  c_upper_and_4_more = 8, /* upper letters_dmst upper_letter_e upper_letter_l letters_rv */
  c_upper_letter_e_or_letter_e = 9, /* upper_letter_e letter_e */
  c_rest_and_4_more = 10, /* rest space apostrophe mark han */
  c_mark = 11, /* mark */
  c_han = 12, /* han */
  c_rest_and_6_more = 13, /* rest other_space newline space apostrophe mark han */
  c_other_space_and_4_more = 14, /* other_space newline number other_letter_2 han_2 */
  c_letters_dmst_and_3_more = 15, /* letters_dmst upper_letter_e letters_dmst_2 letter_e */
  c_number_or_han_2 = 16, /* number han_2 */
  c_number = 17, /* number */
  c_han_2 = 18, /* han_2 */
  c_newline_and_9_more = 19,
    /* newline number lower letters_dmst_2 letter_e other_letter mark han other_letter_2 han_2 */
  c_rest_or_apostrophe = 20, /* rest apostrophe */
  c_lower_and_5_more = 21, /* lower letters_dmst_2 letter_e letter_l letters_rv_2 other_letter */
  c_newline_and_7_more = 22, /* newline number lower letters_dmst_2 letter_e han other_letter_2 han_2 */
  c_letter_l_or_letters_rv_2 = 23, /* letter_l letters_rv_2 */
  c_newline_and_4_more = 24, /* newline number han other_letter_2 han_2 */
  c_newline_and_3_more = 25, /* newline number other_letter_2 han_2 */
  c_rest_and_6_more_x = 26, /* rest space apostrophe mark han other_letter_2 han_2 */
  c_han_and_2_more = 27, /* han other_letter_2 han_2 */
  c_number_and_3_more = 28, /* number han other_letter_2 han_2 */
  c_rest_and_3_more = 29, /* rest apostrophe mark han */
  c_apostrophe = 30, /* apostrophe */
  c_lower_or_letters_rv_2 = 31, /* lower letters_rv_2 */
  c_letters_dmst_2_and_2_more = 32, /* letters_dmst_2 letter_e letter_l */
  c_other_letter_or_mark = 33, /* other_letter mark */
  c_rest_and_2_more = 34, /* rest apostrophe han */
  c_upper_and_4_more_x = 35, /* upper letters_rv lower letters_rv_2 other_letter */
  c_letters_dmst_and_5_more = 36, /* letters_dmst upper_letter_e upper_letter_l letters_dmst_2 letter_e letter_l */
  c_apostrophe_and_4_more = 37, /* apostrophe upper_letter_l letters_rv letter_l letters_rv_2 */
  c_rest = 38, /* rest */
  c_other_letter_2 = 39, /* other_letter_2 */
  joint_40 = 40,
  joint_41 = 41,
  joint_42 = 42,
  joint_43 = 43,
  joint_44 = 44,
  joint_45 = 45,
  joint_46 = 46,
  joint_47 = 47,
  joint_48 = 48,
  joint_49 = 49,
  joint_50 = 50,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = ~s[c_other_space_and_3_more] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_upper_letter_e_or_letter_e] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = s[c_upper_letter_l_or_letter_l] | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  const GT_WORD q3 = s[c_letters_dmst_or_letters_dmst_2] | (s[c_upper_letter_l_or_letter_l] & ahead_q2) |
      (s[c_letters_rv_or_letters_rv_2] & ahead_q1) | pad[3];
  const GT_WORD ahead_q3 = GT_V(gt_back)(q3, after[3]);
  after[3] = q3;
  const GT_WORD stay_q4 = s[c_other_space_or_space];
  GT_WORD q4 = s[c_newline] | pad[4];
  q4 |= GT_V(gt_back)(q4, after[4]) & stay_q4; /* runs are short: two characters back without a branch */
  q4 |= GT_V(gt_back)(q4, after[4]) & stay_q4;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q4, after[4]) & stay_q4 & ~q4);) q4 |= more;
  const GT_WORD ahead_q4 = GT_V(gt_back)(q4, after[4]);
  after[4] = q4;
  const GT_WORD q5 = ~s[c_other_space_and_2_more] | (s[c_other_space_or_space] & ahead_q4) | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD stay_q6 = s[c_upper_and_4_more];
  GT_WORD q6 = s[c_lower_and_6_more] | pad[6];
  q6 |= GT_V(gt_back)(q6, after[6]) & stay_q6; /* runs are short: two characters back without a branch */
  q6 |= GT_V(gt_back)(q6, after[6]) & stay_q6;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q6, after[6]) & stay_q6 & ~q6);) q6 |= more;
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  s[joint_40] = s[c_other_space_or_space] & ~ahead_q5;
  s[joint_41] = s[c_other_space_or_space] & ahead_q4;
  s[joint_42] = ~s[c_apostrophe] | ~ahead_q3;
  s[joint_43] = s[c_apostrophe] & ahead_q3;
  s[joint_44] = s[c_letters_rv_or_letters_rv_2] & ahead_q1;
  s[joint_45] = s[c_upper_letter_l_or_letter_l] & ahead_q2;
  s[joint_46] = ~s[c_apostrophe_and_4_more] | (s[c_apostrophe] & ~ahead_q3);
  s[joint_47] = s[c_other_space_or_space] & ahead_q0;
  s[joint_48] = s[c_rest] | (s[c_apostrophe] & ~ahead_q3);
  s[joint_49] = s[c_upper_and_4_more] & ~ahead_q6;
  s[joint_50] = s[c_upper_and_4_more] & ahead_q6;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_other_space_and_2_more];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  GT_WORD p1, p2, p3, p4, p5, p6, p7, p8, p9;
  GT_WORD behind_p1, behind_p2, behind_p4, behind_p5, behind_p6, behind_p8;
  GT_WORD behind_p3 = GT_V(gt_on)(GT_NOWHERE, before[3]);
  GT_WORD behind_p7 = GT_V(gt_on)(GT_NOWHERE, before[7]);
  GT_WORD behind_p9 = GT_V(gt_on)(GT_NOWHERE, before[9]);
  const GT_WORD again1 = s[c_mark] | s[c_han] | s[joint_43];
  for (;;) {
    const GT_WORD stay_p1 = s[c_newline];
    p1 = s[c_rest_or_apostrophe] | (s[c_mark] & ~behind_p7) | (s[c_han] & ~behind_p3);
    p1 |= GT_V(gt_run_on)(GT_V(gt_on)(p1, before[1]), stay_p1);
    behind_p1 = GT_V(gt_on)(p1, before[1]);
    p2 = ~s[c_other_space_and_3_more] | (s[c_newline] & behind_p1);
    behind_p2 = GT_V(gt_on)(p2, before[2]);
    const GT_WORD stay_p3 = s[c_han];
    p3 = ~s[c_rest_and_4_more] | (s[joint_40] & ~behind_p0) | (s[joint_41] & ~behind_p2) | (s[c_mark] & behind_p7);
    p3 |= GT_V(gt_run_on)(GT_V(gt_on)(p3, before[3]), stay_p3);
    const GT_WORD old3 = behind_p3;
    behind_p3 = GT_V(gt_on)(p3, before[3]);
    const GT_WORD stay_p4 = s[joint_44];
    p4 = s[joint_43] & behind_p9;
    p4 |= GT_V(gt_run_on)(GT_V(gt_on)(p4, before[4]), stay_p4);
    behind_p4 = GT_V(gt_on)(p4, before[4]);
    p5 = s[joint_45] & behind_p4;
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    p6 = s[c_other_space_and_4_more] | (s[joint_40] & ~behind_p0) | (s[joint_41] & ~behind_p2) |
        (s[c_letters_dmst_and_3_more] & behind_p4) | (~s[c_rest_and_4_more] & behind_p5) | (s[c_han] & behind_p3);
    behind_p6 = GT_V(gt_on)(p6, before[6]);
    const GT_WORD stay_p7 = s[c_mark];
    p7 = ~s[c_rest_and_3_more] | (s[joint_42] & behind_p3) | (s[joint_43] & behind_p6);
    p7 |= GT_V(gt_run_on)(GT_V(gt_on)(p7, before[7]), stay_p7);
    const GT_WORD old7 = behind_p7;
    behind_p7 = GT_V(gt_on)(p7, before[7]);
    p8 = s[joint_46] | (s[joint_43] & ~behind_p9) | (~s[c_rest_and_4_more] & ~behind_p4);
    behind_p8 = GT_V(gt_on)(p8, before[8]);
    p9 = s[c_upper_and_4_more_x] | (s[c_letters_dmst_and_5_more] & behind_p8) | (s[c_mark] & behind_p7);
    const GT_WORD old9 = behind_p9;
    behind_p9 = GT_V(gt_on)(p9, before[9]);
    const GT_WORD changed = (old3 ^ behind_p3) | (old7 ^ behind_p7) | (old9 ^ behind_p9);
    if (!GT_V(gt_any)(again1) || !GT_V(gt_any)(changed)) break;
  }
  before[1] = p1;
  before[2] = p2;
  before[3] = p3;
  before[4] = p4;
  before[5] = p5;
  before[6] = p6;
  before[7] = p7;
  before[8] = p8;
  before[9] = p9;
  const GT_WORD p10 = ~s[c_rest_and_6_more] | (s[c_mark] & behind_p7) | (s[c_han] & behind_p3);
  const GT_WORD behind_p10 = GT_V(gt_on)(p10, before[10]);
  before[10] = p10;
  GT_WORD p11, p12, p13;
  GT_WORD behind_p11, behind_p12;
  GT_WORD behind_p13 = GT_V(gt_on)(GT_NOWHERE, before[13]);
  const GT_WORD again11 = s[c_number];
  for (;;) {
    p11 = ~s[c_number] | ~behind_p13;
    behind_p11 = GT_V(gt_on)(p11, before[11]);
    p12 = s[c_number_or_han_2] & ~behind_p11;
    behind_p12 = GT_V(gt_on)(p12, before[12]);
    p13 = ~s[c_number_or_han_2] | (s[c_number] & behind_p12) | (s[c_han_2] & behind_p11);
    const GT_WORD old13 = behind_p13;
    behind_p13 = GT_V(gt_on)(p13, before[13]);
    const GT_WORD changed = (old13 ^ behind_p13);
    if (!GT_V(gt_any)(again11) || !GT_V(gt_any)(changed)) break;
  }
  before[11] = p11;
  before[12] = p12;
  before[13] = p13;
  const GT_WORD p14 = s[c_newline_and_9_more] | (s[c_rest_or_apostrophe] & ~behind_p3) |
      (s[c_letters_dmst_and_3_more] & behind_p4) | (~s[c_rest_and_4_more] & behind_p5) | (s[c_lower_and_5_more] &
      ~behind_p4);
  const GT_WORD behind_p14 = GT_V(gt_on)(p14, before[14]);
  before[14] = p14;
  const GT_WORD stay_p15 = s[c_other_letter_or_mark];
  GT_WORD p15 = s[c_lower_or_letters_rv_2] | (s[joint_44] & behind_p4) | (s[c_letters_dmst_2_and_2_more] &
      behind_p8);
  p15 |= GT_V(gt_run_on)(GT_V(gt_on)(p15, before[15]), stay_p15);
  const GT_WORD behind_p15 = GT_V(gt_on)(p15, before[15]);
  before[15] = p15;
  const GT_WORD stay_p16 = s[c_mark];
  GT_WORD p16 = s[c_lower_or_letters_rv_2] | (s[c_rest_and_2_more] & ~behind_p3) | (s[joint_44] & behind_p4) |
      (s[c_letters_dmst_2_and_2_more] & behind_p8) | (s[c_other_letter_or_mark] & behind_p15);
  p16 |= GT_V(gt_run_on)(GT_V(gt_on)(p16, before[16]), stay_p16);
  const GT_WORD behind_p16 = GT_V(gt_on)(p16, before[16]);
  before[16] = p16;
  const GT_WORD p17 = s[c_newline_and_7_more] | (s[c_rest_or_apostrophe] & ~behind_p3) |
      (s[c_letters_dmst_and_3_more] & behind_p4) | (~s[c_rest_and_4_more] & behind_p5) |
      (s[c_letter_l_or_letters_rv_2] & ~behind_p4) | (s[c_lower_and_5_more] & behind_p15) | (s[c_mark] &
      behind_p16);
  const GT_WORD behind_p17 = GT_V(gt_on)(p17, before[17]);
  before[17] = p17;
  const GT_WORD p18 = s[c_newline_and_4_more] | (s[c_rest_or_apostrophe] & ~behind_p3) |
      (s[c_letters_dmst_and_3_more] & behind_p4) | (~s[c_rest_and_4_more] & behind_p5) | (s[c_mark] & ~behind_p7);
  const GT_WORD behind_p18 = GT_V(gt_on)(p18, before[18]);
  before[18] = p18;
  const GT_WORD p19 = s[c_newline_and_3_more] | (s[c_letters_dmst_and_3_more] & behind_p4) | (~s[c_rest_and_4_more]
      & behind_p5) | (s[c_han] & behind_p3);
  const GT_WORD behind_p19 = GT_V(gt_on)(p19, before[19]);
  before[19] = p19;
  const GT_WORD p20 = ~s[c_rest_and_6_more_x] | (s[joint_40] & ~behind_p0) | (s[joint_41] & ~behind_p2) | (s[c_mark]
      & behind_p7) | (s[c_han_2] & ~behind_p13);
  const GT_WORD behind_p20 = GT_V(gt_on)(p20, before[20]);
  before[20] = p20;
  const GT_WORD p21 = ~s[c_han_and_2_more] | (s[c_han] & ~behind_p3) | (s[c_han_2] & ~behind_p13);
  const GT_WORD behind_p21 = GT_V(gt_on)(p21, before[21]);
  before[21] = p21;
  const GT_WORD p22 = ~s[c_number_and_3_more] | (s[c_number_or_han_2] & behind_p12) | (s[c_han] & ~behind_p3);
  const GT_WORD behind_p22 = GT_V(gt_on)(p22, before[22]);
  before[22] = p22;
  const GT_WORD starts = s[joint_47] | (s[joint_48] & behind_p3) | (s[joint_40] & behind_p0) | (s[joint_41] &
      behind_p2) | (s[c_newline] & behind_p10) | (s[joint_43] & behind_p6) | (s[c_number] & behind_p13) |
      (s[joint_49] & behind_p14) | (s[joint_50] & behind_p17) | (s[c_lower_and_5_more] & behind_p18) | (s[c_mark] &
      behind_p19) | (s[c_han] & behind_p20) | (s[c_other_letter_2] & behind_p21) | (s[c_han_2] & behind_p22);
  return starts;
}
