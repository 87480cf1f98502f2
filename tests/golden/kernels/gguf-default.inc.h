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
  c_rest_and_3_more = 0, /* rest digits_0123456789 letter number */
  c_digits_0123456789 = 1, /* digits_0123456789 */
  c_rest_or_space = 2, /* rest space */
  c_other_space_or_space = 3, /* other_space space */
  c_punctuation = 4, /* punctuation */
  c_digits_0123456789_or_number = 5, /* digits_0123456789 number */
  c_number = 6, /* number */
  c_space_or_letter = 7, /* space letter */
  c_rest = 8, /* rest */
  c_letter = 9, /* letter */
  joint_16 = 16,
  joint_17 = 17,
  joint_18 = 18,
  joint_19 = 19,
  joint_20 = 20,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  const GT_WORD q0 = s[c_rest_and_3_more] | pad[0];
  const GT_WORD ahead_q0 = GT_V(gt_back)(q0, after[0]);
  after[0] = q0;
  const GT_WORD q1 = s[c_digits_0123456789] | pad[1];
  const GT_WORD ahead_q1 = GT_V(gt_back)(q1, after[1]);
  after[1] = q1;
  const GT_WORD q2 = (s[c_digits_0123456789] & ahead_q1) | pad[2];
  const GT_WORD ahead_q2 = GT_V(gt_back)(q2, after[2]);
  after[2] = q2;
  s[joint_16] = s[c_other_space_or_space] & ~ahead_q0;
  s[joint_17] = (s[c_digits_0123456789] & ~ahead_q2) | s[c_number];
  s[joint_18] = s[c_digits_0123456789] & ahead_q2;
  s[joint_19] = ~s[c_digits_0123456789] | ~ahead_q2;
  s[joint_20] = s[c_other_space_or_space] & ahead_q0;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = ~s[c_other_space_or_space];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = ~s[c_rest_or_space] | (s[joint_16] & ~behind_p0);
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD p2 = ~s[c_punctuation];
  const GT_WORD behind_p2 = GT_V(gt_on)(p2, before[2]);
  before[2] = p2;
  GT_WORD p3, p4, p5;
  GT_WORD behind_p3, behind_p4;
  GT_WORD behind_p5 = GT_V(gt_on)(GT_NOWHERE, before[5]);
  const GT_WORD again3 = s[joint_18];
  for (;;) {
    p3 = s[joint_19] | (s[joint_18] & ~behind_p5);
    behind_p3 = GT_V(gt_on)(p3, before[3]);
    p4 = ~s[c_rest_or_space] & ~behind_p3;
    behind_p4 = GT_V(gt_on)(p4, before[4]);
    p5 = ~s[c_digits_0123456789] | (s[joint_17] & behind_p3) | (s[joint_18] & behind_p4);
    const GT_WORD old5 = behind_p5;
    behind_p5 = GT_V(gt_on)(p5, before[5]);
    const GT_WORD changed = (old5 ^ behind_p5);
    if (!GT_V(gt_any)(again3) || !GT_V(gt_any)(changed)) break;
  }
  before[3] = p3;
  before[4] = p4;
  before[5] = p5;
  const GT_WORD p6 = ~s[c_digits_0123456789_or_number] | (~s[c_rest_or_space] & behind_p4);
  const GT_WORD behind_p6 = GT_V(gt_on)(p6, before[6]);
  before[6] = p6;
  const GT_WORD p7 = ~s[c_space_or_letter] | (s[joint_16] & ~behind_p0);
  const GT_WORD behind_p7 = GT_V(gt_on)(p7, before[7]);
  before[7] = p7;
  const GT_WORD starts = s[joint_20] | (s[c_rest] & behind_p1) | (s[joint_16] & behind_p0) | (s[c_punctuation] &
      behind_p2) | (s[joint_17] & behind_p6) | (s[joint_18] & behind_p5) | (s[c_letter] & behind_p7);
  return starts;
}
