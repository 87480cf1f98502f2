/* Stage two of a chunk (see chunk.inc.h) by the bit program. Included once for each ISA.
 *
 * Where the ISA has words of several blocks (GT_LANES > 1), most of a chunk is taken in these; what is left at its end, and a
 * short text, in words of one block. */

#define GT_V(x) x##_one
#define GT_B(x) GT_ISA(x##_one)
#define GT_WORD uint64_t
#include "boundary.inc.h"
#undef GT_V
#undef GT_B
#undef GT_WORD
#if GT_ISA(GT_LANES) > 1
#define GT_V(x) GT_ISA(x)
#define GT_B(x) GT_ISA(x)
#define GT_WORD GT_ISA(gt_word)
#include "boundary.inc.h"
#undef GT_V
#undef GT_B
#undef GT_WORD
#endif

/* Left streams at the character before the next one, each in bit 63. */
typedef struct { uint64_t streams[GT_LEFT + 1]; } GT_ISA(gt_left);

GT_INLINE void GT_ISA(gt_left_begin)(GT_ISA(gt_left) *left) {
  for (int i = 0; i < GT_LEFT; i++) left->streams[i] = (uint64_t)gt_left_initial[i] << 63;
}

/* The cuts among `count` characters, whose tags are followed by GT_PAD_TAGS times GT_TAG_END. `right` is the state after them. */
GT_INLINE void GT_ISA(gt_cut)(const uint8_t *tags, unsigned count, unsigned right, GT_ISA(gt_left) *left, gt_masks *masks) {
  enum { LANES = GT_ISA(GT_LANES) };
  const unsigned blocks = (count + 63) / 64;
  unsigned wide = LANES > 1 ? blocks / LANES * LANES : 0; /* blocks in words of several */
  if (LANES > 1 && blocks - wide > LANES / 2) wide += LANES;
  uint64_t symbols[GT_CHUNK / 64 * GT_SYMBOLS] __attribute__((aligned(64)));
  /* streams beside the word at hand: after it in the first pass, before it in the second; one lane, then several */
  uint64_t beside[GT_STREAMS + 1], pad[GT_RIGHT + 1];
  for (int i = 0; i < GT_RIGHT; i++) {
    const uint64_t value = gt_right_values[right] >> i & 1;
    beside[i] = count % 64 ? 0 : value;
    pad[i] = count % 64 ? value << count % 64 : 0;
  }
  (void)right;
  for (unsigned b = blocks; b-- > wide;) {
    uint64_t *const s = symbols + b * GT_SYMBOLS;
    GT_ISA(gt_class_masks)(tags + 64 * b, s);
    GT_ISA(gt_right_block_one)(s, beside, pad);
    for (int i = 0; i < GT_RIGHT; i++) pad[i] = 0;
  }
#if GT_ISA(GT_LANES) > 1
  GT_ISA(gt_word) beside_wide[GT_STREAMS + 1], pad_wide[GT_RIGHT + 1];
  if (wide) {
    const unsigned lane = wide < blocks || count == 64 * wide ? LANES : count / 64 % LANES; /* of the character after them */
    for (int i = 0; i < GT_RIGHT; i++) {
      pad_wide[i] = beside_wide[i] = (GT_ISA(gt_word)){0};
      if (lane < LANES) pad_wide[i][lane] = pad[i] | (count % 64 ? 0 : beside[i]);
      else beside_wide[i][0] = beside[i];
    }
    for (unsigned b = wide; b; b -= LANES) {
      GT_ISA(gt_word) *const s = (GT_ISA(gt_word) *)(symbols + (b - LANES) * GT_SYMBOLS);
      GT_ISA(gt_class_words)(tags + 64 * (b - LANES), s);
      GT_ISA(gt_right_block)(s, beside_wide, pad_wide);
      if (lane < LANES)
        for (int i = 0; i < GT_RIGHT; i++) pad_wide[i] = (GT_ISA(gt_word)){0};
    }
    for (int i = 0; i < GT_LEFT; i++) beside_wide[i][LANES - 1] = left->streams[i];
    for (unsigned b = 0; b < wide; b += LANES) {
      const GT_ISA(gt_word) *const s = (const GT_ISA(gt_word) *)(symbols + b * GT_SYMBOLS);
      GT_ISA(gt_word) stops GT_UNUSED;
      const GT_ISA(gt_word) starts = GT_ISA(gt_left_block)(s, beside_wide, &stops);
      memcpy(masks->starts + b, &starts, sizeof starts);
#if GT_REMOVES
      memcpy(masks->stops + b, &stops, sizeof stops);
#endif
    }
    for (int i = 0; i < GT_LEFT; i++) left->streams[i] = beside_wide[i][wide < blocks ? LANES - 1 : (blocks - 1) % LANES];
  }
#endif
  for (int i = 0; i < GT_LEFT; i++) beside[i] = left->streams[i];
  for (unsigned b = wide; b < blocks; b++) {
    uint64_t stops GT_UNUSED;
    masks->starts[b] = GT_ISA(gt_left_block_one)(symbols + b * GT_SYMBOLS, beside, &stops);
#if GT_REMOVES
    masks->stops[b] = stops;
#endif
  }
  for (int i = 0; i < GT_LEFT; i++) left->streams[i] = beside[i] << (63 - (count - 1) % 64);
}
