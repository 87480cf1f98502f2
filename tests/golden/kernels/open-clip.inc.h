/* Where pieces start. Included once for each ISA; GT_ISA(x) names the functions.
 *
 * Bit i of a mask speaks of byte i of a 64-byte block; bytes of one character share its class. A chunk is passed over
 * twice. From its end to its start: `ahead_q` tells whether stream q holds at the next character, and the symbols join
 * that with the character's class. From start to end: `behind_p` tells whether stream p holds at the previous
 * character. One carry bit a stream links neighbouring blocks. `wide` is a constant in each of the two inlined copies:
 * without non-ASCII bytes the next character is the next byte.
 */

/* Right streams of one block, and its symbols. `top` is the last position of the block that holds text. */
GT_INLINE void GT_ISA(gt_right_block)(const GT_ISA(gt_tags) *t, uint64_t continuation GT_UNUSED, unsigned top GT_UNUSED,
                                      uint64_t *carry GT_UNUSED, uint64_t *s, const int wide GT_UNUSED) {
  /* letter_l */
  const uint64_t c_letter_l = GT_ISA(gt_class_mask)(t, 0);
  /* letter_e */
  const uint64_t c_letter_e = GT_ISA(gt_class_mask)(t, 1);
  /* letter_n */
  const uint64_t c_letter_n = GT_ISA(gt_class_mask)(t, 2);
  /* letter_t */
  const uint64_t c_letter_t = GT_ISA(gt_class_mask)(t, 3);
  /* letter_d */
  const uint64_t c_letter_d = GT_ISA(gt_class_mask)(t, 4);
  /* letter_a */
  const uint64_t c_letter_a = GT_ISA(gt_class_mask)(t, 5);
  /* letter_o */
  const uint64_t c_letter_o = GT_ISA(gt_class_mask)(t, 6);
  /* letter_r */
  const uint64_t c_letter_r = GT_ISA(gt_class_mask)(t, 7);
  /* letter_f */
  const uint64_t c_letter_f = GT_ISA(gt_class_mask)(t, 8);
  /* letter_x */
  const uint64_t c_letter_x = GT_ISA(gt_class_mask)(t, 9);
  /* bar */
  const uint64_t c_bar = GT_ISA(gt_class_mask)(t, 10);
  /* greater */
  const uint64_t c_greater = GT_ISA(gt_class_mask)(t, 11);
  /* rest apostrophe less greater bar */
  const uint64_t c_rest_and_4_more = GT_ISA(gt_class_mask)(t, 12);
  /* rest space apostrophe number less greater bar */
  const uint64_t c_rest_and_6_more = GT_ISA(gt_class_mask)(t, 13);
  /* letter_d letter_m letter_s letter_t */
  const uint64_t c_letter_d_and_3_more = GT_ISA(gt_class_mask)(t, 14);
  /* letter_e letter_l */
  const uint64_t c_letter_e_or_letter_l = GT_ISA(gt_class_mask)(t, 15);
  /* rest space number less greater bar */
  const uint64_t c_rest_and_5_more = GT_ISA(gt_class_mask)(t, 16);
  /* apostrophe */
  const uint64_t c_apostrophe = GT_ISA(gt_class_mask)(t, 17);
  /* rest space apostrophe less greater bar */
  const uint64_t c_rest_and_5_more_x = GT_ISA(gt_class_mask)(t, 18);
  /* space */
  const uint64_t c_space = GT_ISA(gt_class_mask)(t, 19);
  /* rest apostrophe number less greater bar */
  const uint64_t c_rest_and_5_more_x_x = GT_ISA(gt_class_mask)(t, 20);
  /* rest number less greater bar */
  const uint64_t c_rest_and_4_more_x = GT_ISA(gt_class_mask)(t, 21);
  /* letter_r letter_v */
  const uint64_t c_letter_r_or_letter_v = GT_ISA(gt_class_mask)(t, 22);
  /* letter_d letter_t */
  const uint64_t c_letter_d_or_letter_t = GT_ISA(gt_class_mask)(t, 23);
  /* letter_n letter_r */
  const uint64_t c_letter_n_or_letter_r = GT_ISA(gt_class_mask)(t, 24);
  /* letter_s */
  const uint64_t c_letter_s = GT_ISA(gt_class_mask)(t, 25);
  /* less */
  const uint64_t c_less = GT_ISA(gt_class_mask)(t, 26);
  /* number */
  const uint64_t c_number = GT_ISA(gt_class_mask)(t, 27);
  /* letter letter_a letter_e letter_f letter_n letter_o letter_x */
  const uint64_t c_letter_and_6_more = GT_ISA(gt_class_mask)(t, 28);
  /* space number */
  const uint64_t c_space_or_number = GT_ISA(gt_class_mask)(t, 29);
  uint64_t q0 = c_letter_l;
  if (wide) GT_CARRY_BACK(q0, continuation, carry[0], top);
  const uint64_t ahead_q0 = GT_SHIFT_BACK(q0, carry[0], top);
  carry[0] = q0 & 1;
  uint64_t q1 = c_letter_e;
  if (wide) GT_CARRY_BACK(q1, continuation, carry[1], top);
  const uint64_t ahead_q1 = GT_SHIFT_BACK(q1, carry[1], top);
  carry[1] = q1 & 1;
  uint64_t q2 = c_greater;
  if (wide) GT_CARRY_BACK(q2, continuation, carry[2], top);
  const uint64_t ahead_q2 = GT_SHIFT_BACK(q2, carry[2], top);
  carry[2] = q2 & 1;
  uint64_t q3 = c_bar & ahead_q2;
  if (wide) GT_CARRY_BACK(q3, continuation, carry[3], top);
  const uint64_t ahead_q3 = GT_SHIFT_BACK(q3, carry[3], top);
  carry[3] = q3 & 1;
  uint64_t q4 = c_letter_t & ahead_q3;
  if (wide) GT_CARRY_BACK(q4, continuation, carry[4], top);
  const uint64_t ahead_q4 = GT_SHIFT_BACK(q4, carry[4], top);
  carry[4] = q4 & 1;
  uint64_t q5 = c_letter_x & ahead_q4;
  if (wide) GT_CARRY_BACK(q5, continuation, carry[5], top);
  const uint64_t ahead_q5 = GT_SHIFT_BACK(q5, carry[5], top);
  carry[5] = q5 & 1;
  uint64_t q6 = c_letter_e & ahead_q5;
  if (wide) GT_CARRY_BACK(q6, continuation, carry[6], top);
  const uint64_t ahead_q6 = GT_SHIFT_BACK(q6, carry[6], top);
  carry[6] = q6 & 1;
  uint64_t q7 = c_letter_t & ahead_q6;
  if (wide) GT_CARRY_BACK(q7, continuation, carry[7], top);
  const uint64_t ahead_q7 = GT_SHIFT_BACK(q7, carry[7], top);
  carry[7] = q7 & 1;
  uint64_t q8 = c_letter_f & ahead_q7;
  if (wide) GT_CARRY_BACK(q8, continuation, carry[8], top);
  const uint64_t ahead_q8 = GT_SHIFT_BACK(q8, carry[8], top);
  carry[8] = q8 & 1;
  uint64_t q9 = c_letter_o & ahead_q8;
  if (wide) GT_CARRY_BACK(q9, continuation, carry[9], top);
  const uint64_t ahead_q9 = GT_SHIFT_BACK(q9, carry[9], top);
  carry[9] = q9 & 1;
  uint64_t q10 = c_letter_d & ahead_q9;
  if (wide) GT_CARRY_BACK(q10, continuation, carry[10], top);
  const uint64_t ahead_q10 = GT_SHIFT_BACK(q10, carry[10], top);
  carry[10] = q10 & 1;
  uint64_t q11 = c_letter_n & ahead_q10;
  if (wide) GT_CARRY_BACK(q11, continuation, carry[11], top);
  const uint64_t ahead_q11 = GT_SHIFT_BACK(q11, carry[11], top);
  carry[11] = q11 & 1;
  uint64_t q12 = c_letter_t & ahead_q9;
  if (wide) GT_CARRY_BACK(q12, continuation, carry[12], top);
  const uint64_t ahead_q12 = GT_SHIFT_BACK(q12, carry[12], top);
  carry[12] = q12 & 1;
  uint64_t q13 = c_letter_r & ahead_q12;
  if (wide) GT_CARRY_BACK(q13, continuation, carry[13], top);
  const uint64_t ahead_q13 = GT_SHIFT_BACK(q13, carry[13], top);
  carry[13] = q13 & 1;
  uint64_t q14 = c_letter_a & ahead_q13;
  if (wide) GT_CARRY_BACK(q14, continuation, carry[14], top);
  const uint64_t ahead_q14 = GT_SHIFT_BACK(q14, carry[14], top);
  carry[14] = q14 & 1;
  uint64_t q15 = c_letter_t & ahead_q14;
  if (wide) GT_CARRY_BACK(q15, continuation, carry[15], top);
  const uint64_t ahead_q15 = GT_SHIFT_BACK(q15, carry[15], top);
  carry[15] = q15 & 1;
  s[0] = c_rest_and_4_more;
  s[1] = c_greater;
  s[2] = c_rest_and_6_more;
  s[3] = c_letter_d_and_3_more;
  s[4] = c_letter_e_or_letter_l;
  s[5] = c_rest_and_5_more;
  s[6] = c_apostrophe;
  s[7] = c_rest_and_5_more_x;
  s[8] = c_space;
  s[9] = c_rest_and_5_more_x_x;
  s[10] = c_rest_and_4_more_x;
  s[11] = c_bar;
  s[12] = (c_letter_l & ahead_q0) | (c_letter_r_or_letter_v & ahead_q1);
  s[13] = c_letter_t;
  s[14] = c_letter_x;
  s[15] = c_letter_e;
  s[16] = c_letter_f;
  s[17] = c_letter_o;
  s[18] = c_letter_d_or_letter_t;
  s[19] = c_letter_n_or_letter_r;
  s[20] = c_letter_a;
  s[21] = c_letter_e & ahead_q11;
  s[22] = c_letter_s & ahead_q15;
  s[23] = c_less;
  s[24] = c_number;
  s[25] = c_letter_and_6_more | (c_letter_l & ~ahead_q0) | (c_letter_r_or_letter_v & ~ahead_q1);
  s[26] = c_letter_d_and_3_more | (c_letter_l & ahead_q0) | (c_letter_r_or_letter_v & ahead_q1);
  s[27] = c_space_or_number;
}

/* Left streams of one block, and the characters before which a piece starts. */
GT_INLINE uint64_t GT_ISA(gt_left_block)(const uint64_t *s, uint64_t continuation GT_UNUSED, uint64_t *carry GT_UNUSED,
                                         const int wide GT_UNUSED) {
  uint64_t p0 = 0, p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0, p8 = 0, p9 = 0, p10 = 0, p11 = 0, p12 = 0, p13 = 0, p14 = 0;
  uint64_t behind_p0 = GT_SHIFT_ON(p0, carry[0]), behind_p1 = GT_SHIFT_ON(p1, carry[1]), behind_p2 = GT_SHIFT_ON(p2,
      carry[2]), behind_p3 = GT_SHIFT_ON(p3, carry[3]), behind_p4 = GT_SHIFT_ON(p4, carry[4]), behind_p5 =
      GT_SHIFT_ON(p5, carry[5]), behind_p6 = GT_SHIFT_ON(p6, carry[6]), behind_p7 = GT_SHIFT_ON(p7, carry[7]),
      behind_p8 = GT_SHIFT_ON(p8, carry[8]), behind_p9 = GT_SHIFT_ON(p9, carry[9]), behind_p10 = GT_SHIFT_ON(p10,
      carry[10]), behind_p11 = GT_SHIFT_ON(p11, carry[11]), behind_p12 = GT_SHIFT_ON(p12, carry[12]), behind_p13 =
      GT_SHIFT_ON(p13, carry[13]), behind_p14 = GT_SHIFT_ON(p14, carry[14]);
  for (uint64_t changed = 1; changed;) {
    const uint64_t old0 = p0, old1 = p1, old2 = p2, old3 = p3, old4 = p4, old5 = p5, old6 = p6, old7 = p7, old8 = p8, old9 = p9, old10 = p10, old11 = p11, old12 = p12, old13 = p13, old14 = p14;
    p0 = ~s[0] | (s[1] & behind_p12);
    if (wide) GT_CARRY_ON(p0, continuation, carry[0]);
    behind_p0 = GT_SHIFT_ON(p0, carry[0]);
    p1 = s[23] & behind_p0;
    if (wide) GT_CARRY_ON(p1, continuation, carry[1]);
    behind_p1 = GT_SHIFT_ON(p1, carry[1]);
    p2 = s[11] & behind_p1;
    if (wide) GT_CARRY_ON(p2, continuation, carry[2]);
    behind_p2 = GT_SHIFT_ON(p2, carry[2]);
    p3 = (s[20] & behind_p13) | (s[21] & behind_p2);
    if (wide) GT_CARRY_ON(p3, continuation, carry[3]);
    behind_p3 = GT_SHIFT_ON(p3, carry[3]);
    p4 = s[19] & behind_p3;
    if (wide) GT_CARRY_ON(p4, continuation, carry[4]);
    behind_p4 = GT_SHIFT_ON(p4, carry[4]);
    p5 = s[18] & behind_p4;
    if (wide) GT_CARRY_ON(p5, continuation, carry[5]);
    behind_p5 = GT_SHIFT_ON(p5, carry[5]);
    p6 = s[17] & behind_p5;
    if (wide) GT_CARRY_ON(p6, continuation, carry[6]);
    behind_p6 = GT_SHIFT_ON(p6, carry[6]);
    p7 = s[16] & behind_p6;
    if (wide) GT_CARRY_ON(p7, continuation, carry[7]);
    behind_p7 = GT_SHIFT_ON(p7, carry[7]);
    p8 = s[13] & behind_p7;
    if (wide) GT_CARRY_ON(p8, continuation, carry[8]);
    behind_p8 = GT_SHIFT_ON(p8, carry[8]);
    p9 = s[15] & behind_p8;
    if (wide) GT_CARRY_ON(p9, continuation, carry[9]);
    behind_p9 = GT_SHIFT_ON(p9, carry[9]);
    p10 = s[14] & behind_p9;
    if (wide) GT_CARRY_ON(p10, continuation, carry[10]);
    behind_p10 = GT_SHIFT_ON(p10, carry[10]);
    p11 = s[13] & behind_p10;
    if (wide) GT_CARRY_ON(p11, continuation, carry[11]);
    behind_p11 = GT_SHIFT_ON(p11, carry[11]);
    p12 = s[11] & behind_p11;
    if (wide) GT_CARRY_ON(p12, continuation, carry[12]);
    behind_p12 = GT_SHIFT_ON(p12, carry[12]);
    p13 = s[13] & behind_p14;
    if (wide) GT_CARRY_ON(p13, continuation, carry[13]);
    behind_p13 = GT_SHIFT_ON(p13, carry[13]);
    p14 = s[22] & behind_p2;
    if (wide) GT_CARRY_ON(p14, continuation, carry[14]);
    behind_p14 = GT_SHIFT_ON(p14, carry[14]);
    changed = (p0 ^ old0) | (p1 ^ old1) | (p2 ^ old2) | (p3 ^ old3) | (p4 ^ old4) | (p5 ^ old5) | (p6 ^ old6) | (p7 ^ old7) | (p8 ^ old8) | (p9 ^ old9) | (p10 ^ old10) | (p11 ^ old11) | (p12 ^ old12) | (p13 ^ old13) | (p14 ^ old14);
  }
  carry[0] = p0 >> 63;
  carry[1] = p1 >> 63;
  carry[2] = p2 >> 63;
  carry[3] = p3 >> 63;
  carry[4] = p4 >> 63;
  carry[5] = p5 >> 63;
  carry[6] = p6 >> 63;
  carry[7] = p7 >> 63;
  carry[8] = p8 >> 63;
  carry[9] = p9 >> 63;
  carry[10] = p10 >> 63;
  carry[11] = p11 >> 63;
  carry[12] = p12 >> 63;
  carry[13] = p13 >> 63;
  carry[14] = p14 >> 63;
  uint64_t p15 = s[6] & behind_p0;
  if (wide) GT_CARRY_ON(p15, continuation, carry[15]);
  const uint64_t behind_p15 = GT_SHIFT_ON(p15, carry[15]);
  carry[15] = p15 >> 63;
  uint64_t p16 = s[12] & behind_p15;
  if (wide) GT_CARRY_ON(p16, continuation, carry[16]);
  const uint64_t behind_p16 = GT_SHIFT_ON(p16, carry[16]);
  carry[16] = p16 >> 63;
  uint64_t p17 = s[2] | (s[3] & behind_p15) | (s[4] & behind_p16);
  if (wide) GT_CARRY_ON(p17, continuation, carry[17]);
  const uint64_t behind_p17 = GT_SHIFT_ON(p17, carry[17]);
  carry[17] = p17 >> 63;
  uint64_t p18 = s[5] | (s[6] & ~behind_p0) | (s[3] & behind_p15) | (s[4] & behind_p16);
  if (wide) GT_CARRY_ON(p18, continuation, carry[18]);
  const uint64_t behind_p18 = GT_SHIFT_ON(p18, carry[18]);
  carry[18] = p18 >> 63;
  uint64_t p19 = ~s[7] | (s[1] & behind_p12);
  if (wide) GT_CARRY_ON(p19, continuation, carry[19]);
  const uint64_t behind_p19 = GT_SHIFT_ON(p19, carry[19]);
  carry[19] = p19 >> 63;
  uint64_t p20 = ~s[8];
  if (wide) GT_CARRY_ON(p20, continuation, carry[20]);
  const uint64_t behind_p20 = GT_SHIFT_ON(p20, carry[20]);
  carry[20] = p20 >> 63;
  uint64_t p21 = s[9] | (s[3] & behind_p15) | (s[4] & behind_p16);
  if (wide) GT_CARRY_ON(p21, continuation, carry[21]);
  const uint64_t behind_p21 = GT_SHIFT_ON(p21, carry[21]);
  carry[21] = p21 >> 63;
  uint64_t p22 = s[10] | (s[6] & ~behind_p0) | (s[3] & behind_p15) | (s[4] & behind_p16);
  if (wide) GT_CARRY_ON(p22, continuation, carry[22]);
  const uint64_t behind_p22 = GT_SHIFT_ON(p22, carry[22]);
  carry[22] = p22 >> 63;
  const uint64_t starts = s[24] | (s[0] & behind_p0) | (s[25] & behind_p17) | (s[26] & behind_p18);
  return wide ? starts & ~continuation : starts;
}

/* Piece starts of a chunk of n <= GT_CHUNK bytes at p, as `base` + offset, appended to `out` (room for n + 64).
 * `right` holds the right streams just after the chunk, `carry` the left ones just before it (updated).
 * Up to 64 bytes past the chunk are read. */
GT_NOINLINE uint32_t *GT_ISA(gt_chunk_starts)(const uint8_t *p, unsigned n, uint64_t right, uint64_t *carry,
                                              uint32_t base, uint32_t *out) {
  uint64_t symbols[GT_CHUNK / 64][GT_SYMBOLS];
  uint64_t continuations[GT_CHUNK / 64];
  uint64_t right_carry[GT_RIGHT + 1];
  uint64_t left_carry[GT_LEFT + 1];
  const unsigned blocks = (n + 63) / 64;

  for (unsigned i = 0; i < GT_RIGHT; i++) right_carry[i] = right >> i & 1;
  for (unsigned b = blocks; b-- > 0;) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t non_ascii = GT_ISA(gt_non_ascii)(block) & (~0ull >> (64 - here));
    if (GT_LIKELY(non_ascii == 0)) {
      const GT_ISA(gt_tags) t = GT_ISA(gt_load_ascii)(block, here);
      continuations[b] = 0;
      GT_ISA(gt_right_block)(&t, 0, here - 1, right_carry, symbols[b], 0);
    } else {
      uint8_t painted[80];
      const uint64_t continuation = GT_ISA(gt_continuation)(block) & (~0ull >> (64 - here));
      gt_paint_tags(block, non_ascii & ~continuation, continuation, painted);
      const GT_ISA(gt_tags) t = GT_ISA(gt_load_painted)(block, painted + 8, here);
      continuations[b] = continuation;
      GT_ISA(gt_right_block)(&t, continuation, here - 1, right_carry, symbols[b], 1);
    }
  }

  for (unsigned i = 0; i < GT_LEFT; i++) left_carry[i] = carry[i];
  for (unsigned b = 0; b < blocks; b++) {
    const uint64_t continuation = continuations[b];
    uint64_t starts = GT_LIKELY(continuation == 0) ? GT_ISA(gt_left_block)(symbols[b], 0, left_carry, 0)
                                                   : GT_ISA(gt_left_block)(symbols[b], continuation, left_carry, 1);
    __builtin_prefetch(p + n + 64 * b); /* the next chunk is read backwards first, which no prefetcher expects */
    if (GT_UNLIKELY(n - 64 * b < 64)) starts &= ~(~0ull << (n - 64 * b));
    out = GT_ISA(gt_flatten)(starts, base + 64 * b, out);
  }
  for (unsigned i = 0; i < GT_LEFT; i++) carry[i] = left_carry[i];
  return out;
}
