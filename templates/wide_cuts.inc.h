/* Places of pieces, the long ones cut (wide_cuts.h). Included once for each kernel, by chunk.inc.h.
 *
 *   starts    1 . . . . . . . . . . . . . . . . . . . . 1 . .    a bit a byte; the first piece has 21 bytes
 *   longs     1 . . . . . . . . . . . . . . . . . . . . . . .    no start among the next 8
 *   inside    . 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 . . .
 *   three     1 . . 1 . . 1 . . 1 . . 1 . . 1 . . 1 . . 1 . .    a character of three bytes begins
 *   follows   . . . 1 . . 1 . . 1 . . 1 . . 1 . . 1 . . 1 . .    the same, and the one before has three bytes too
 *
 * `inside` and `follows`: there may be a cut, and the vocabulary is asked. */

/* Masks of one chunk, a bit a byte; of some blocks a word more than the chunk has, for what comes after. */
typedef struct {
  uint64_t starts[GT_CHUNK / 64 + 1], begins[GT_CHUNK / 64 + 1]; /* of pieces, of characters */
  uint64_t follows[GT_CHUNK / 64], cuts[GT_CHUNK / 64];
#if GT_WIDE_KEEPS
  uint64_t kept[GT_CHUNK / 64 + 2]; /* see gt_wide_cuts_swar; from the block before the first */
#endif
} GT_ISA(gt_wide_masks);

/* Starts and characters of the chunk from a bit a character. `leads` as in chunk.inc.h. */
GT_INLINE void GT_ISA(gt_spread)(const uint8_t *p GT_UNUSED, const uint64_t *mask, const uint64_t *leads, unsigned n,
                                 GT_ISA(gt_wide_masks) *m) {
  const unsigned blocks = (n + 63) / 64;
  for (unsigned b = 0, at = 0; b < blocks; b++) {
    m->starts[b] = GT_ISA(gt_at_bytes)(mask, leads[b], &at);
#if GT_BYTES
    m->begins[b] = ~gt_continuation_swar(p + 64 * b);
#else
    m->begins[b] = leads[b];
#endif
  }
#if GT_BYTES
  m->begins[blocks - 1] &= ~0ull >> (63 - (n - 1) % 64);
#endif
  m->starts[blocks] = m->begins[blocks] = 0;
  m->begins[n / 64] |= 1ull << n % 64; /* the chunk ends between two characters */
}

/* `follows`; in how many blocks there are any. */
GT_INLINE unsigned GT_ISA(gt_wide_pairs_in)(unsigned blocks, GT_ISA(gt_wide_masks) *m) {
  uint64_t before = 0;
  unsigned count = 0;
  for (unsigned b = 0; b < blocks; b++) {
    const gt_mask128 next = gt_two_blocks(m->begins[b], m->begins[b + 1]);
    const uint64_t three = m->begins[b] & ~(uint64_t)(next >> 1 | next >> 2) & (uint64_t)(next >> 3);
    m->follows[b] = three & (three << 3 | before >> 61);
    count += m->follows[b] != 0;
    before = three;
  }
  return count;
}

/* `cuts`; of `follows` what is inside of long pieces is left. A piece that began in an earlier chunk counts as long. */
GT_INLINE void GT_ISA(gt_cut_long)(const uint8_t *p, unsigned n, GT_ISA(gt_wide_masks) *m) {
  const unsigned blocks = (n + 63) / 64;
  uint64_t open = 1, *kept = NULL;
#if GT_WIDE_KEEPS
  /* it is not known which characters beyond the chunk's ends stay with the first and the last one */
  memset(m->kept, 0, sizeof m->kept);
  kept = m->kept + 1;
  kept[0] = 1;
  kept[n / 64] |= 1ull << n % 64;
#endif
  for (unsigned b = 0; b < blocks; b++) {
    gt_mask128 near = gt_two_blocks(m->starts[b], m->starts[b + 1]);
    near |= near >> 1;
    near |= near >> 2;
    near |= near >> 4;
    const uint64_t longs = m->starts[b] & ~(uint64_t)(near >> 1);
    const uint64_t inside = gt_run_on_one(longs << 1 | open, ~m->starts[b]);
    open = (longs | inside) >> 63;
    m->follows[b] &= inside;
  }
  GT_ISA(gt_wide_cuts)(p, blocks, m->follows, m->cuts, kept);
#if GT_WIDE_KEEPS
  for (unsigned b = 0; b < blocks; b++) {
    const uint64_t first = (uint64_t)(gt_two_blocks(kept[b], kept[b + 1]) >> 3); /* of two that stay, the left one begins here */
    const uint64_t behind = (uint64_t)(gt_two_blocks(m->kept[b], kept[b]) >> 61); /* what comes after them does */
    m->cuts[b] &= ~(first | behind);
  }
#endif
}

/* As gt_places, with the cuts of long pieces. Returns the end of the list; *wide: whether any were looked for. */
GT_NOINLINE uint32_t *GT_ISA(gt_wide_places)(const uint8_t *p, const uint64_t *mask, const uint64_t *leads, unsigned n, uint32_t *out,
                                            int *wide) {
  const unsigned blocks = (n + 63) / 64;
  GT_ISA(gt_wide_masks) m;
  GT_ISA(gt_spread)(p, mask, leads, n, &m);
  *wide = 8 * GT_ISA(gt_wide_pairs_in)(blocks, &m) >= blocks; /* not for a few */
  if (*wide) GT_ISA(gt_cut_long)(p, n, &m);
  for (unsigned b = 0; b < blocks; b++) {
    out = GT_ISA(gt_flatten)(*wide ? m.starts[b] | m.cuts[b] : m.starts[b], 64 * b, out);
  }
  return out;
}
