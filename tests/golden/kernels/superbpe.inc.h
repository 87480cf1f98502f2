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
  c_digit = 0, /* digit */
  c_digit_or_number = 1, /* digit number */
  joint_8 = 8,
};
#endif

/* Right streams of one word, and the symbols that depend on them. s: classes, then symbols. after[i]: stream i in the
 * next word. pad[i]: what stream i is just after the text, where the word goes on past it. */
GT_INLINE void GT_B(gt_right_block)(GT_WORD *s GT_UNUSED, GT_WORD *after GT_UNUSED, const GT_WORD *pad GT_UNUSED) {
  GT_WORD q0, q1, q2;
  GT_WORD ahead_q0, ahead_q1;
  GT_WORD ahead_q2 = GT_V(gt_back)(GT_NOWHERE, after[2]);
  const GT_WORD again0 = s[c_digit];
  for (;;) {
    q0 = (s[c_digit] & ~ahead_q2) | pad[0];
    ahead_q0 = GT_V(gt_back)(q0, after[0]);
    q1 = (s[c_digit] & ahead_q0) | pad[1];
    ahead_q1 = GT_V(gt_back)(q1, after[1]);
    q2 = (s[c_digit] & ~ahead_q1) | pad[2];
    const GT_WORD old2 = ahead_q2;
    ahead_q2 = GT_V(gt_back)(q2, after[2]);
    const GT_WORD changed = (old2 ^ ahead_q2);
    if (!GT_V(gt_any)(again0) || !GT_V(gt_any)(changed)) break;
  }
  after[0] = q0;
  after[1] = q1;
  after[2] = q2;
  s[joint_8] = s[c_digit] & ahead_q1;
}

/* Left streams of one word, and the characters before which a piece starts (and those before which a kept one stops).
 * before[i]: stream i in the word before. */
GT_INLINE GT_WORD GT_B(gt_left_block)(const GT_WORD *s GT_UNUSED, GT_WORD *before GT_UNUSED, GT_WORD *stops GT_UNUSED) {
  const GT_WORD p0 = s[c_digit_or_number];
  const GT_WORD behind_p0 = GT_V(gt_on)(p0, before[0]);
  before[0] = p0;
  const GT_WORD p1 = ~s[c_digit_or_number];
  const GT_WORD behind_p1 = GT_V(gt_on)(p1, before[1]);
  before[1] = p1;
  const GT_WORD starts = s[joint_8] | (~s[c_digit_or_number] & behind_p0) | (s[c_digit_or_number] & behind_p1);
  return starts;
}
