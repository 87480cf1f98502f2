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
  c_letter_l = 0, /* letter_l */
  c_letter_e = 1, /* letter_e */
  c_letter_n = 2, /* letter_n */
  c_letter_t = 3, /* letter_t */
  c_letter_d = 4, /* letter_d */
  c_letter_a = 5, /* letter_a */
  c_letter_o = 6, /* letter_o */
  c_letter_r = 7, /* letter_r */
  c_letter_f = 8, /* letter_f */
  c_letter_x = 9, /* letter_x */
  c_bar = 10, /* bar */
  c_greater = 11, /* greater */
  c_rest_and_4_more = 12, /* rest apostrophe less greater bar */
  c_rest_and_6_more = 13, /* rest space apostrophe number less greater bar */
  c_letter_d_and_3_more = 14, /* letter_d letter_m letter_s letter_t */
  c_number = 15, /* number */
  c_rest_and_5_more = 16, /* rest space number less greater bar */
  c_rest_and_5_more_x = 17, /* rest space apostrophe less greater bar */
  c_space = 18, /* space */
  c_rest_and_5_more_x_x = 19, /* rest apostrophe number less greater bar */
  c_rest_and_4_more_x = 20, /* rest number less greater bar */
  c_apostrophe = 21, /* apostrophe */
  c_letter_r_or_letter_v = 22, /* letter_r letter_v */
  c_letter_and_6_more = 23, /* letter letter_a letter_e letter_f letter_n letter_o letter_x */
  c_letter_s = 24, /* letter_s */
  c_less = 25, /* less */
  c_space_or_number = 26, /* space number */
  joint_32 = 32,
  joint_33 = 33,
  joint_34 = 34,
  joint_35 = 35,
  joint_36 = 36,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_letter_l] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_letter_e] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = s[c_greater] | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  const GT_WORD q3 = (s[c_bar] & ahead_q2) | pad[3];
  const GT_WORD ahead_q3 = GT_V(gt_back)(q3, after[3]);
  after[3] = q3;
  const GT_WORD q4 = (s[c_letter_t] & ahead_q3) | pad[4];
  const GT_WORD ahead_q4 = GT_V(gt_back)(q4, after[4]);
  after[4] = q4;
  const GT_WORD q5 = (s[c_letter_x] & ahead_q4) | pad[5];
  const GT_WORD ahead_q5 = GT_V(gt_back)(q5, after[5]);
  after[5] = q5;
  const GT_WORD q6 = (s[c_letter_e] & ahead_q5) | pad[6];
  const GT_WORD ahead_q6 = GT_V(gt_back)(q6, after[6]);
  after[6] = q6;
  const GT_WORD q7 = (s[c_letter_t] & ahead_q6) | pad[7];
  const GT_WORD ahead_q7 = GT_V(gt_back)(q7, after[7]);
  after[7] = q7;
  const GT_WORD q8 = (s[c_letter_f] & ahead_q7) | pad[8];
  const GT_WORD ahead_q8 = GT_V(gt_back)(q8, after[8]);
  after[8] = q8;
  const GT_WORD q9 = (s[c_letter_o] & ahead_q8) | pad[9];
  const GT_WORD ahead_q9 = GT_V(gt_back)(q9, after[9]);
  after[9] = q9;
  const GT_WORD q10 = (s[c_letter_d] & ahead_q9) | pad[10];
  const GT_WORD ahead_q10 = GT_V(gt_back)(q10, after[10]);
  after[10] = q10;
  const GT_WORD q11 = (s[c_letter_n] & ahead_q10) | pad[11];
  const GT_WORD ahead_q11 = GT_V(gt_back)(q11, after[11]);
  after[11] = q11;
  const GT_WORD q12 = (s[c_letter_t] & ahead_q9) | pad[12];
  const GT_WORD ahead_q12 = GT_V(gt_back)(q12, after[12]);
  after[12] = q12;
  const GT_WORD q13 = (s[c_letter_r] & ahead_q12) | pad[13];
  const GT_WORD ahead_q13 = GT_V(gt_back)(q13, after[13]);
  after[13] = q13;
  const GT_WORD q14 = (s[c_letter_a] & ahead_q13) | pad[14];
  const GT_WORD ahead_q14 = GT_V(gt_back)(q14, after[14]);
  after[14] = q14;
  const GT_WORD q15 = (s[c_letter_t] & ahead_q14) | pad[15];
  const GT_WORD ahead_q15 = GT_V(gt_back)(q15, after[15]);
  after[15] = q15;
  s[joint_32] = (s[c_letter_l] & ahead_q0) | (s[c_letter_r_or_letter_v] & ahead_q1);
  s[joint_33] = s[c_letter_d_and_3_more] | (s[c_letter_l] & ahead_q0) | (s[c_letter_r_or_letter_v] & ahead_q1);
  s[joint_34] = s[c_letter_and_6_more] | (s[c_letter_l] & ~ahead_q0) | (s[c_letter_r_or_letter_v] & ~ahead_q1);
  s[joint_35] = s[c_letter_e] & ahead_q11;
  s[joint_36] = s[c_letter_s] & ahead_q15;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  GT_WORD p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, p10, p11, p12, p13, p14;
  GT_WORD behind_p0, behind_p1, behind_p2, behind_p3, behind_p4, behind_p5, behind_p6, behind_p7, behind_p8,
      behind_p10, behind_p12, behind_p13;
  GT_WORD behind_p9 = GT_V(gt_on)(GT_NOWHERE, before[9]);
  GT_WORD behind_p11 = GT_V(gt_on)(GT_NOWHERE, before[11]);
  GT_WORD behind_p14 = GT_V(gt_on)(GT_NOWHERE, before[14]);
  const GT_WORD again0 = s[joint_33] | s[c_rest_and_4_more];
  for (;;) {
    p0 = s[joint_33] & behind_p14;
    behind_p0 = GT_V(gt_on)(p0, before[0]);
    p1 = s[joint_33] & behind_p11;
    behind_p1 = GT_V(gt_on)(p1, before[1]);
    p2 = s[c_rest_and_4_more] & behind_p9;
    behind_p2 = GT_V(gt_on)(p2, before[2]);
    p3 = ~s[c_rest_and_4_more] | behind_p2;
    behind_p3 = GT_V(gt_on)(p3, before[3]);
    p4 = s[c_less] & behind_p3;
    behind_p4 = GT_V(gt_on)(p4, before[4]);
    p5 = s[c_bar] & behind_p4;
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    p6 = s[joint_36] & behind_p5;
    behind_p6 = GT_V(gt_on)(p6, before[6]);
    p7 = s[joint_34] & behind_p1;
    behind_p7 = GT_V(gt_on)(p7, before[7]);
    p8 = s[joint_34] & behind_p7;
    behind_p8 = GT_V(gt_on)(p8, before[8]);
    p9 = s[joint_33] & behind_p8;
    const GT_WORD old9 = behind_p9;
    behind_p9 = GT_V(gt_on)(p9, before[9]);
    p10 = s[joint_34] & behind_p0;
    behind_p10 = GT_V(gt_on)(p10, before[10]);
    p11 = s[joint_34] & behind_p10;
    const GT_WORD old11 = behind_p11;
    behind_p11 = GT_V(gt_on)(p11, before[11]);
    p12 = s[joint_33] & behind_p6;
    behind_p12 = GT_V(gt_on)(p12, before[12]);
    p13 = (s[joint_34] & behind_p12) | (s[joint_35] & behind_p5);
    behind_p13 = GT_V(gt_on)(p13, before[13]);
    p14 = s[joint_34] & behind_p13;
    const GT_WORD old14 = behind_p14;
    behind_p14 = GT_V(gt_on)(p14, before[14]);
    const GT_WORD changed = (old9 ^ behind_p9) | (old11 ^ behind_p11) | (old14 ^ behind_p14);
    if (!GT_V(gt_any)(again0) || !GT_V(gt_any)(changed)) break;
  }
  before[0] = p0;
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
  before[11] = p11;
  before[12] = p12;
  before[13] = p13;
  before[14] = p14;
  const GT_WORD p15 = s[c_apostrophe] & behind_p3;
  const GT_WORD behind_p15 = GT_V(gt_on)(p15, before[15]);
  before[15] = p15;
  const GT_WORD p16 = s[joint_32] & behind_p15;
  const GT_WORD behind_p16 = GT_V(gt_on)(p16, before[16]);
  before[16] = p16;
  const GT_WORD p17 = s[c_rest_and_6_more] | (s[c_letter_d_and_3_more] & behind_p15) | (~s[c_number] & behind_p16);
  const GT_WORD behind_p17 = GT_V(gt_on)(p17, before[17]);
  before[17] = p17;
  const GT_WORD p18 = s[c_rest_and_5_more] | (s[c_rest_and_4_more] & ~behind_p3) | (s[c_letter_d_and_3_more] &
      behind_p15) | (~s[c_number] & behind_p16);
  const GT_WORD behind_p18 = GT_V(gt_on)(p18, before[18]);
  before[18] = p18;
  const GT_WORD p19 = ~s[c_rest_and_5_more_x] | (s[c_rest_and_4_more] & behind_p2);
  const GT_WORD behind_p19 = GT_V(gt_on)(p19, before[19]);
  before[19] = p19;
  const GT_WORD p20 = ~s[c_space];
  const GT_WORD behind_p20 = GT_V(gt_on)(p20, before[20]);
  before[20] = p20;
  const GT_WORD p21 = s[c_rest_and_5_more_x_x] | (s[c_letter_d_and_3_more] & behind_p15) | (~s[c_rest_and_5_more_x]
      & behind_p16);
  const GT_WORD behind_p21 = GT_V(gt_on)(p21, before[21]);
  before[21] = p21;
  const GT_WORD p22 = s[c_rest_and_4_more_x] | (s[c_rest_and_4_more] & ~behind_p3) | (s[c_letter_d_and_3_more] &
      behind_p15) | (~s[c_rest_and_5_more_x] & behind_p16);
  const GT_WORD behind_p22 = GT_V(gt_on)(p22, before[22]);
  before[22] = p22;
  *stops = (s[c_rest_and_4_more] & behind_p19) | (s[c_space_or_number] & behind_p20) | (s[joint_34] & behind_p21) |
      (s[joint_33] & behind_p22);
  const GT_WORD starts = s[c_number] | (s[c_rest_and_4_more] & behind_p3) | (s[joint_34] & behind_p17) |
      (s[joint_33] & behind_p18);
  return starts;
}
