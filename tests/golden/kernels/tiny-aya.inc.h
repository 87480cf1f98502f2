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
  c_other_space_and_4_more = 0, /* other_space newline space digit end */
  c_digit = 1, /* digit */
  c_letters_dmst_or_letters_dmst_2 = 2, /* letters_dmst letters_dmst_2 */
  c_upper_letter_l_or_letter_l = 3, /* upper_letter_l letter_l */
  c_letters_rv_or_letters_rv_2 = 4, /* letters_rv letters_rv_2 */
  c_other_space_and_3_more = 5, /* other_space space digit end */
  c_other_space_or_space = 6, /* other_space space */
  c_newline = 7, /* newline */
  c_rest_and_8_more = 8, /* rest other_space newline space apostrophe slash digit number_2 end */
  c_lower_and_6_more = 9, /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter mark */
  c_upper_and_4_more = 10, /* upper letters_dmst upper_letter_e upper_letter_l letters_rv */
  c_upper_letter_e_or_letter_e = 11, /* upper_letter_e letter_e */
  c_rest_and_5_more = 12, /* rest space apostrophe slash symbol mark */
  c_slash = 13, /* slash */
  c_mark = 14, /* mark */
  c_other_space_and_2_more = 15, /* other_space newline space */
  c_rest_and_7_more = 16, /* rest other_space newline space apostrophe slash symbol mark */
  c_other_space_and_4_more_x = 17, /* other_space newline digit number number_2 */
  c_letters_dmst_and_3_more = 18, /* letters_dmst upper_letter_e letters_dmst_2 letter_e */
  c_rest_and_6_more = 19, /* rest newline space apostrophe slash symbol mark */
  c_digit_and_2_more = 20, /* digit number number_2 */
  c_number_or_number_2 = 21, /* number number_2 */
  c_newline_and_8_more = 22, /* newline digit lower letters_dmst_2 letter_e letter number mark number_2 */
  c_rest_and_2_more = 23, /* rest apostrophe symbol */
  c_lower_and_5_more = 24, /* lower letters_dmst_2 letter_e letter_l letters_rv_2 letter */
  c_newline_and_6_more = 25, /* newline digit lower letters_dmst_2 letter_e number number_2 */
  c_letter_l_or_letters_rv_2 = 26, /* letter_l letters_rv_2 */
  c_newline_and_3_more = 27, /* newline digit number number_2 */
  c_rest_and_4_more = 28, /* rest apostrophe slash symbol mark */
  c_apostrophe = 29, /* apostrophe */
  c_rest_and_3_more = 30, /* rest apostrophe slash symbol */
  c_lower_or_letters_rv_2 = 31, /* lower letters_rv_2 */
  c_letters_dmst_2_and_2_more = 32, /* letters_dmst_2 letter_e letter_l */
  c_letter_or_mark = 33, /* letter mark */
  c_upper_and_4_more_x = 34, /* upper letters_rv lower letters_rv_2 letter */
  c_letters_dmst_and_5_more = 35, /* letters_dmst upper_letter_e upper_letter_l letters_dmst_2 letter_e letter_l */
  c_apostrophe_and_4_more = 36, /* apostrophe upper_letter_l letters_rv letter_l letters_rv_2 */
  c_rest_or_symbol = 37, /* rest symbol */
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
  joint_51 = 51,
  joint_52 = 52,
  joint_53 = 53,
  joint_54 = 54,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD stay_q0 = s[c_digit];
  GT_WORD q0 = ~s[c_rest_and_8_more] | pad[0];
  q0 |= GT_V(gt_back)(q0, after[0]) & stay_q0; /* runs are short: two characters back without a branch */
  q0 |= GT_V(gt_back)(q0, after[0]) & stay_q0;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q0, after[0]) & stay_q0 & ~q0);) q0 |= more;
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = ~s[c_other_space_and_4_more] | (s[c_digit] & ahead_q0) | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  GT_WORD q2, q3, q4;
  GT_WORD ahead_q2, ahead_q3;
  GT_WORD ahead_q4 = GT_V(gt_back)(GT_NOWHERE, after[4]);
  const GT_WORD again2 = s[c_digit];
  for (;;) {
    q2 = (s[c_digit] & ~ahead_q4) | pad[2];
    ahead_q2 = GT_V(gt_back)(q2, after[2]);
    q3 = (s[c_digit] & ahead_q2) | pad[3];
    ahead_q3 = GT_V(gt_back)(q3, after[3]);
    q4 = (s[c_digit] & ~ahead_q3) | ~s[c_rest_and_8_more] | pad[4];
    const GT_WORD old4 = ahead_q4;
    ahead_q4 = GT_V(gt_back)(q4, after[4]);
    const GT_WORD changed = (old4 ^ ahead_q4);
    if (!GT_V(gt_any)(again2) || !GT_V(gt_any)(changed)) break;
  }
  after[2] = q2;
  after[3] = q3;
  after[4] = q4;
  const GT_WORD q5 = s[c_upper_letter_e_or_letter_e] | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD q6 = s[c_upper_letter_l_or_letter_l] | pad[6];
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = s[c_letters_dmst_or_letters_dmst_2] | (s[c_upper_letter_l_or_letter_l] & ahead_q6) |
      (s[c_letters_rv_or_letters_rv_2] & ahead_q5) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  const GT_WORD stay_q8 = s[c_other_space_or_space];
  GT_WORD q8 = s[c_newline] | pad[8];
  q8 |= GT_V(gt_back)(q8, after[8]) & stay_q8; /* runs are short: two characters back without a branch */
  q8 |= GT_V(gt_back)(q8, after[8]) & stay_q8;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q8, after[8]) & stay_q8 & ~q8);) q8 |= more;
  const GT_WORD ahead_q8 = GT_V(gt_back)(q8, after[8]);
  after[8] = q8;
  const GT_WORD q9 = ~s[c_other_space_and_3_more] | (s[c_other_space_or_space] & ahead_q8) | (s[c_digit] & ahead_q0)
      | pad[9];
  const GT_WORD ahead_q9 = GT_V(gt_back)(q9, after[9]);
  after[9] = q9;
  GT_WORD q10, q11, q12;
  GT_WORD ahead_q10, ahead_q11;
  GT_WORD ahead_q12 = GT_V(gt_back)(GT_NOWHERE, after[12]);
  const GT_WORD again10 = s[c_digit];
  for (;;) {
    q10 = (s[c_digit] & ~ahead_q12) | ~s[c_rest_and_8_more] | pad[10];
    ahead_q10 = GT_V(gt_back)(q10, after[10]);
    q11 = (s[c_digit] & ahead_q10) | ~s[c_rest_and_8_more] | pad[11];
    ahead_q11 = GT_V(gt_back)(q11, after[11]);
    q12 = (s[c_digit] & ~ahead_q11) | pad[12];
    const GT_WORD old12 = ahead_q12;
    ahead_q12 = GT_V(gt_back)(q12, after[12]);
    const GT_WORD changed = (old12 ^ ahead_q12);
    if (!GT_V(gt_any)(again10) || !GT_V(gt_any)(changed)) break;
  }
  after[10] = q10;
  after[11] = q11;
  after[12] = q12;
  const GT_WORD stay_q13 = s[c_upper_and_4_more];
  GT_WORD q13 = s[c_lower_and_6_more] | pad[13];
  q13 |= GT_V(gt_back)(q13, after[13]) & stay_q13; /* runs are short: two characters back without a branch */
  q13 |= GT_V(gt_back)(q13, after[13]) & stay_q13;
  for (GT_WORD more; GT_V(gt_any)(more = GT_V(gt_back)(q13, after[13]) & stay_q13 & ~q13);) q13 |= more;
  const GT_WORD ahead_q13 = GT_V(gt_back)(q13, after[13]);
  after[13] = q13;
  s[joint_40] = s[c_other_space_or_space] & ~ahead_q9;
  s[joint_41] = s[c_other_space_or_space] & ahead_q8;
  s[joint_42] = ~s[c_digit] | ahead_q0;
  s[joint_43] = ~s[c_digit_and_2_more] | (s[c_digit] & ~ahead_q0);
  s[joint_44] = (s[c_digit] & ahead_q0) | s[c_number_or_number_2];
  s[joint_45] = ~s[c_apostrophe] | ~ahead_q7;
  s[joint_46] = s[c_apostrophe] & ahead_q7;
  s[joint_47] = s[c_letters_rv_or_letters_rv_2] & ahead_q5;
  s[joint_48] = s[c_upper_letter_l_or_letter_l] & ahead_q6;
  s[joint_49] = ~s[c_apostrophe_and_4_more] | (s[c_apostrophe] & ~ahead_q7);
  s[joint_50] = (s[c_other_space_or_space] & ahead_q1) | (s[c_digit] & ahead_q3);
  s[joint_51] = s[c_rest_or_symbol] | (s[c_apostrophe] & ~ahead_q7);
  s[joint_52] = s[c_digit] & ~ahead_q11;
  s[joint_53] = s[c_upper_and_4_more] & ~ahead_q13;
  s[joint_54] = s[c_upper_and_4_more] & ahead_q13;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_other_space_or_space];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  GT_WORD p1, p2, p3, p4, p5, p6, p7, p8, p9, p10;
  GT_WORD behind_p1, behind_p2, behind_p3, behind_p4, behind_p5, behind_p6, behind_p7, behind_p9;
  GT_WORD behind_p8 = GT_V(gt_on)(GT_NOWHERE, before[8]);
  GT_WORD behind_p10 = GT_V(gt_on)(GT_NOWHERE, before[10]);
  const GT_WORD again1 = s[c_mark] | s[joint_46];
  for (;;) {
    const GT_WORD stay_p1 = s[c_newline];
    p1 = s[c_rest_and_3_more] | (s[c_mark] & ~behind_p8);
    p1 |= GT_V(gt_run_on)(GT_V(gt_on)(p1, before[1]), stay_p1);
    behind_p1 = GT_V(gt_on)(p1, before[1]);
    const GT_WORD stay_p2 = s[c_slash];
    p2 = s[c_newline] & behind_p1;
    p2 |= GT_V(gt_run_on)(GT_V(gt_on)(p2, before[2]), stay_p2);
    behind_p2 = GT_V(gt_on)(p2, before[2]);
    p3 = ~s[c_other_space_and_2_more] | (s[c_newline] & behind_p1);
    behind_p3 = GT_V(gt_on)(p3, before[3]);
    p4 = ~s[c_rest_and_5_more] | (s[joint_40] & ~behind_p0) | (s[joint_41] & ~behind_p3) | (s[c_slash] & behind_p2) |
        (s[c_mark] & behind_p8);
    behind_p4 = GT_V(gt_on)(p4, before[4]);
    const GT_WORD stay_p5 = s[joint_47];
    p5 = s[joint_46] & behind_p10;
    p5 |= GT_V(gt_run_on)(GT_V(gt_on)(p5, before[5]), stay_p5);
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    p6 = s[joint_48] & behind_p5;
    behind_p6 = GT_V(gt_on)(p6, before[6]);
    p7 = s[c_other_space_and_4_more_x] | (s[joint_40] & ~behind_p0) | (s[joint_41] & ~behind_p3) | (s[c_slash] &
        behind_p2) | (s[c_letters_dmst_and_3_more] & behind_p5) | (~s[c_rest_and_5_more] & behind_p6);
    behind_p7 = GT_V(gt_on)(p7, before[7]);
    const GT_WORD stay_p8 = s[c_mark];
    p8 = ~s[c_rest_and_4_more] | (s[joint_45] & behind_p4) | (s[joint_46] & behind_p7);
    p8 |= GT_V(gt_run_on)(GT_V(gt_on)(p8, before[8]), stay_p8);
    const GT_WORD old8 = behind_p8;
    behind_p8 = GT_V(gt_on)(p8, before[8]);
    p9 = s[joint_49] | (s[joint_46] & ~behind_p10) | (~s[c_rest_and_5_more] & ~behind_p5);
    behind_p9 = GT_V(gt_on)(p9, before[9]);
    p10 = s[c_upper_and_4_more_x] | (s[c_letters_dmst_and_5_more] & behind_p9) | (s[c_mark] & behind_p8);
    const GT_WORD old10 = behind_p10;
    behind_p10 = GT_V(gt_on)(p10, before[10]);
    const GT_WORD changed = (old8 ^ behind_p8) | (old10 ^ behind_p10);
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
  before[10] = p10;
  const GT_WORD p11 = ~s[c_rest_and_7_more] | (s[c_mark] & behind_p8);
  const GT_WORD behind_p11 = GT_V(gt_on)(p11, before[11]);
  before[11] = p11;
  const GT_WORD p12 = ~s[c_rest_and_6_more] | (s[c_newline] & ~behind_p1) | (s[joint_40] & ~behind_p0) |
      (s[joint_41] & ~behind_p3) | (s[c_mark] & behind_p8);
  const GT_WORD behind_p12 = GT_V(gt_on)(p12, before[12]);
  before[12] = p12;
  const GT_WORD p13 = s[joint_42];
  const GT_WORD behind_p13 = GT_V(gt_on)(p13, before[13]);
  before[13] = p13;
  GT_WORD p14, p15, p16;
  GT_WORD behind_p14, behind_p15;
  GT_WORD behind_p16 = GT_V(gt_on)(GT_NOWHERE, before[16]);
  const GT_WORD again14 = s[joint_44];
  for (;;) {
    p14 = s[joint_44] & behind_p16;
    behind_p14 = GT_V(gt_on)(p14, before[14]);
    p15 = s[joint_43] | (s[joint_44] & behind_p14);
    behind_p15 = GT_V(gt_on)(p15, before[15]);
    p16 = s[joint_44] & behind_p15;
    const GT_WORD old16 = behind_p16;
    behind_p16 = GT_V(gt_on)(p16, before[16]);
    const GT_WORD changed = (old16 ^ behind_p16);
    if (!GT_V(gt_any)(again14) || !GT_V(gt_any)(changed)) break;
  }
  before[14] = p14;
  before[15] = p15;
  before[16] = p16;
  const GT_WORD p17 = s[c_newline_and_8_more] | (s[c_rest_and_2_more] & ~behind_p4) | (s[c_slash] & ~behind_p12) |
      (s[c_letters_dmst_and_3_more] & behind_p5) | (~s[c_rest_and_5_more] & behind_p6) | (s[c_lower_and_5_more] &
      ~behind_p5);
  const GT_WORD behind_p17 = GT_V(gt_on)(p17, before[17]);
  before[17] = p17;
  const GT_WORD stay_p18 = s[c_letter_or_mark];
  GT_WORD p18 = s[c_lower_or_letters_rv_2] | (s[joint_47] & behind_p5) | (s[c_letters_dmst_2_and_2_more] &
      behind_p9);
  p18 |= GT_V(gt_run_on)(GT_V(gt_on)(p18, before[18]), stay_p18);
  const GT_WORD behind_p18 = GT_V(gt_on)(p18, before[18]);
  before[18] = p18;
  const GT_WORD stay_p19 = s[c_mark];
  GT_WORD p19 = s[c_lower_or_letters_rv_2] | (s[c_rest_and_3_more] & ~behind_p4) | (s[joint_47] & behind_p5) |
      (s[c_letters_dmst_2_and_2_more] & behind_p9) | (s[c_letter_or_mark] & behind_p18);
  p19 |= GT_V(gt_run_on)(GT_V(gt_on)(p19, before[19]), stay_p19);
  const GT_WORD behind_p19 = GT_V(gt_on)(p19, before[19]);
  before[19] = p19;
  const GT_WORD p20 = s[c_newline_and_6_more] | (s[c_rest_and_2_more] & ~behind_p4) | (s[c_slash] & ~behind_p12) |
      (s[c_letters_dmst_and_3_more] & behind_p5) | (~s[c_rest_and_5_more] & behind_p6) |
      (s[c_letter_l_or_letters_rv_2] & ~behind_p5) | (s[c_lower_and_5_more] & behind_p18) | (s[c_mark] &
      behind_p19);
  const GT_WORD behind_p20 = GT_V(gt_on)(p20, before[20]);
  before[20] = p20;
  const GT_WORD p21 = s[c_newline_and_3_more] | (s[c_rest_and_2_more] & ~behind_p4) | (s[c_slash] & ~behind_p12) |
      (s[c_letters_dmst_and_3_more] & behind_p5) | (~s[c_rest_and_5_more] & behind_p6) | (s[c_mark] & ~behind_p8);
  const GT_WORD behind_p21 = GT_V(gt_on)(p21, before[21]);
  before[21] = p21;
  const GT_WORD p22 = s[c_newline_and_3_more] | (s[c_slash] & behind_p2) | (s[c_letters_dmst_and_3_more] &
      behind_p5) | (~s[c_rest_and_5_more] & behind_p6);
  const GT_WORD behind_p22 = GT_V(gt_on)(p22, before[22]);
  before[22] = p22;
  const GT_WORD starts = s[joint_50] | (s[joint_51] & behind_p4) | (s[joint_40] & behind_p0) | (s[joint_41] &
      behind_p3) | (s[c_newline] & behind_p11) | (s[joint_46] & behind_p7) | (s[c_slash] & behind_p12) |
      (s[joint_52] & behind_p13) | (s[joint_44] & behind_p15) | (s[joint_53] & behind_p17) | (s[joint_54] &
      behind_p20) | (s[c_lower_and_5_more] & behind_p21) | (s[c_mark] & behind_p22);
  return starts;
}
