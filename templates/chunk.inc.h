/* One chunk of text to the places where its pieces start. Included once for each kernel.
 *
 *   classify   bytes to tags, one a character, so that what follows knows nothing of UTF-8
 *   cut        tags to masks, a bit a character: the bit program (bits.inc.h) or the walk (walk.inc.h)
 *   places     masks to byte offsets
 *
 *   bytes      n  C3 A9 20 31       "né 1"
 *   leads      1  1  .  1  1        bit i: a character begins at byte i of the block
 *   tags       n  é  20 31          four characters
 *   starts     1  .  1  1
 *   deposited  1  .  .  1  1        the bits of `starts` in the places of those of `leads`
 */

/* The bits of the next block's characters, from number *at of `mask` on, at the bytes where they begin. */
GT_INLINE uint64_t GT_ISA(gt_at_bytes)(const uint64_t *mask, uint64_t leads, unsigned *at) {
  const uint64_t *const word = mask + *at / 64;
  const uint64_t bits = word[0] >> *at % 64 | word[1] << 1 << (63 - *at % 64);
  *at += (unsigned)__builtin_popcountll(leads);
  return GT_ISA(gt_deposit)(bits, leads);
}

/* Offsets from the chunk's start of the characters whose bits are set in `mask`, appended to `out`. */
GT_INLINE uint32_t *GT_ISA(gt_places)(const uint64_t *mask, const uint64_t *leads, unsigned n, unsigned count, uint32_t *out) {
  const unsigned blocks = (n + 63) / 64;
  if (GT_LIKELY(count == n)) { /* every byte is a character */
    for (unsigned b = 0; b < blocks; b++) out = GT_ISA(gt_flatten)(mask[b], 64 * b, out);
    return out;
  }
  unsigned at = 0; /* characters before block b */
  for (unsigned b = 0; b < blocks; b++) out = GT_ISA(gt_flatten)(GT_ISA(gt_at_bytes)(mask, leads[b], &at), 64 * b, out);
  return out;
}

#if GT_CUTS_WIDE
#include "wide_cuts.inc.h"
#endif

/* Cuts in n <= GT_CHUNK bytes at p, whole characters. `right` is the right state after them, `left` what the pass from the
 * left knows before them (updated). GT_PAST bytes past them can be read. */
GT_NOINLINE void GT_ISA(gt_cut_chunk)(const uint8_t *p, unsigned n, unsigned right, GT_ISA(gt_left) *left, gt_places *places) {
  uint8_t tags[GT_CHUNK + GT_PAD_TAGS] __attribute__((aligned(64)));
  uint64_t leads[GT_CHUNK / 64];
  gt_masks masks;
  const unsigned count = GT_ISA(gt_classify)(p, n, tags, leads);
  memset(tags + count, GT_TAG_END, GT_PAD_TAGS);
  GT_ISA(gt_cut)(tags, count, right, left, &masks);
  /* the last block's bits past the end, and the word after it, which is looked at but does not matter */
  const uint64_t inside = ~0ull >> (63 - (count - 1) % 64);
  masks.starts[(count - 1) / 64] &= inside;
  masks.starts[(count - 1) / 64 + 1] = 0;
#if GT_CUTS_WIDE
  places->wide = 0;
  if (places->cut_long && (GT_BYTES || 32 * count < 31 * n)) {
    places->starts_end = GT_ISA(gt_wide_places)(p, masks.starts, leads, n, places->starts, &places->wide);
    return;
  }
#endif
  places->starts_end = GT_ISA(gt_places)(masks.starts, leads, n, count, places->starts);
#if GT_REMOVES
  masks.stops[(count - 1) / 64] &= inside;
  masks.stops[(count - 1) / 64 + 1] = 0;
  places->stops_end = GT_ISA(gt_places)(masks.stops, leads, n, count, places->stops);
#endif
}
