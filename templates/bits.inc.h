/* Stage two of a chunk (see chunk.inc.h) by the bit program, 64 characters a step. Included once for each ISA, after
 * boundary.inc.h. */

/* Left streams before the next character, each in bit 0. */
typedef struct { uint64_t carry[GT_LEFT + 1]; } GT_ISA(gt_left);

GT_INLINE void GT_ISA(gt_left_begin)(GT_ISA(gt_left) *left) {
  for (unsigned i = 0; i < GT_LEFT; i++) left->carry[i] = gt_left_initial[i];
}

/* The cuts among `count` characters, whose tags are followed by 64 times GT_TAG_END. `right` is the state after them. */
GT_INLINE void GT_ISA(gt_cut)(const uint8_t *tags, unsigned count, unsigned right, GT_ISA(gt_left) *left, gt_masks *masks) {
  uint64_t symbols[GT_CHUNK / 64][GT_SYMBOLS];
  uint64_t carry[(GT_RIGHT > GT_LEFT ? GT_RIGHT : GT_LEFT) + 1];
  const unsigned blocks = (count + 63) / 64;
  const unsigned last = (count - 1) & 63; /* of the last block */

#if GT_RIGHT
  for (unsigned i = 0; i < GT_RIGHT; i++) carry[i] = (gt_right_values[right] >> i & 1) << last;
#else
  (void)right;
#endif
  for (unsigned b = blocks; b-- > 0;) {
    const GT_ISA(gt_tags) t = GT_ISA(gt_load_tags)(tags + 64 * b);
    GT_ISA(gt_right_block)(&t, carry, symbols[b]);
  }

  for (unsigned i = 0; i < GT_LEFT; i++) carry[i] = left->carry[i];
  for (unsigned b = 0; b < blocks; b++) {
    uint64_t stops GT_UNUSED = 0;
    masks->starts[b] = GT_ISA(gt_left_block)(symbols[b], carry, b + 1 < blocks ? 63 : last, &stops);
#if GT_REMOVES
    masks->stops[b] = stops;
#endif
  }
  for (unsigned i = 0; i < GT_LEFT; i++) left->carry[i] = carry[i] & 1; /* above it lies what is past the end */
}
