/* Stage two of a chunk (see chunk.inc.h) as a walk over the tables of the bimachine, a character a step: what runs where there
 * is no bit program, and the ground truth of those that there are. See compiler/bitstream/bimachine.py.
 *
 * From the chunk's end to its start the right state is followed. It and the tag say which *symbol* the character is (classes
 * of what the left automaton cannot tell apart), and that is stored. From start to end the left state is followed over the
 * symbols.
 *
 * Either pass is a chain of look-ups, each of which waits for the one before. So a chunk is walked in four parts side by side:
 * three begin with a guess of the state there, made by walking some characters up to it, which nearly always is enough to
 * forget what came before. Where a part ends with another state than the next one began with, the next is walked again. */

enum { GT_WALK_PARTS = 4, GT_WALK_LEAST = 8, GT_WALK_GUESS = 24 }; /* blocks from which on there are parts; characters */

/* Entries are a cell's offset, so that no step multiplies: gt_walk_right[r * GT_TAGS + tag] holds the offset of the state
 * before the character (bits 12 up) and its symbol; gt_walk_left[q * GT_WALK_SYMBOLS + symbol] that of the state after it
 * (bits 2 up), 1 if a kept piece starts before the character, 2 if one stops there. */
#define GT_WALK_BACK(entry, tag) gt_walk_right[((entry) >> 12) + (tag)]
#define GT_WALK_ON(entry, symbol) gt_walk_left[((entry) >> 2) + (symbol)]

/* One chain each, over [from, to): symbols of the characters, cuts before them. */
GT_INLINE uint32_t gt_walk_back(const uint8_t *tags, unsigned from, unsigned to, uint32_t entry, uint16_t *symbols) {
  for (unsigned i = to; i-- > from;) {
    entry = GT_WALK_BACK(entry, tags[i]);
    symbols[i] = entry & 0xFFF;
  }
  return entry;
}
GT_INLINE uint32_t gt_walk_on(const uint16_t *symbols, unsigned from, unsigned to, uint32_t entry, uint8_t *cuts) {
  for (unsigned i = from; i < to; i++) {
    entry = GT_WALK_ON(entry, symbols[i]);
    cuts[i] = (uint8_t)entry;
  }
  return entry;
}

/* Parts k of [k * part, (k + 1) * part), the last one to `count`. `entry` is that of the character after the last. */
static void gt_walk_all_back(const uint8_t *tags, unsigned count, unsigned part, uint32_t entry, uint16_t *symbols) {
  uint32_t at[GT_WALK_PARTS], guess[GT_WALK_PARTS];
  for (unsigned k = 0; k + 1 < GT_WALK_PARTS; k++) {
    uint32_t e = 0;
    for (unsigned i = GT_WALK_GUESS; i-- > 0;) e = GT_WALK_BACK(e, tags[(k + 1) * part + i]);
    at[k] = guess[k] = e >> 12;
  }
  uint32_t a = at[0] << 12, b = at[1] << 12, c = at[2] << 12;
  uint32_t d = gt_walk_back(tags, GT_WALK_PARTS * part, count, entry, symbols);
  for (unsigned i = part; i-- > 0;) {
    a = GT_WALK_BACK(a, tags[i]);
    b = GT_WALK_BACK(b, tags[part + i]);
    c = GT_WALK_BACK(c, tags[2 * part + i]);
    d = GT_WALK_BACK(d, tags[3 * part + i]);
    symbols[i] = a & 0xFFF;
    symbols[part + i] = b & 0xFFF;
    symbols[2 * part + i] = c & 0xFFF;
    symbols[3 * part + i] = d & 0xFFF;
  }
  at[0] = a, at[1] = b, at[2] = c, at[3] = d;
  for (unsigned k = GT_WALK_PARTS - 1; k-- > 0;)
    if (GT_UNLIKELY(at[k + 1] >> 12 != guess[k])) at[k] = gt_walk_back(tags, k * part, (k + 1) * part, at[k + 1], symbols);
}

static uint32_t gt_walk_all_on(const uint16_t *symbols, unsigned count, unsigned part, uint32_t entry, uint8_t *cuts) {
  uint32_t at[GT_WALK_PARTS], guess[GT_WALK_PARTS];
  for (unsigned k = 1; k < GT_WALK_PARTS; k++) {
    uint32_t e = 0;
    for (unsigned i = 0; i < GT_WALK_GUESS; i++) e = GT_WALK_ON(e, symbols[k * part - GT_WALK_GUESS + i]);
    guess[k] = e >> 2;
  }
  uint32_t a = entry, b = guess[1] << 2, c = guess[2] << 2, d = guess[3] << 2;
  for (unsigned i = 0; i < part; i++) {
    a = GT_WALK_ON(a, symbols[i]);
    b = GT_WALK_ON(b, symbols[part + i]);
    c = GT_WALK_ON(c, symbols[2 * part + i]);
    d = GT_WALK_ON(d, symbols[3 * part + i]);
    cuts[i] = (uint8_t)a;
    cuts[part + i] = (uint8_t)b;
    cuts[2 * part + i] = (uint8_t)c;
    cuts[3 * part + i] = (uint8_t)d;
  }
  at[0] = a, at[1] = b, at[2] = c, at[3] = d;
  for (unsigned k = 1; k < GT_WALK_PARTS; k++)
    if (GT_UNLIKELY(at[k - 1] >> 2 != guess[k])) at[k] = gt_walk_on(symbols, k * part, (k + 1) * part, at[k - 1], cuts);
  return gt_walk_on(symbols, GT_WALK_PARTS * part, count, at[GT_WALK_PARTS - 1], cuts);
}

/* Bit i of the bytes of a block, as a mask. */
GT_INLINE uint64_t gt_gather_bits(const uint8_t *bytes, unsigned i) {
  uint64_t mask = 0;
  for (unsigned w = 0; w < 8; w++) mask |= gt_gather_swar(gt_load64(bytes + 8 * w) >> i & GT_LOW_BITS) << (8 * w);
  return mask;
}

/* The cuts among `count` characters; `right` is the state after them, *left the entry before them. */
GT_NOINLINE void gt_walk(const uint8_t *tags, unsigned count, unsigned right, uint32_t *left, gt_masks *masks) {
  uint16_t symbols[GT_CHUNK];
  uint8_t cuts[GT_CHUNK];
  const unsigned blocks = (count + 63) / 64;
  const uint32_t entry = right * GT_TAGS << 12;
  if (GT_LIKELY(blocks >= GT_WALK_LEAST)) {
    const unsigned part = count / GT_WALK_PARTS;
    gt_walk_all_back(tags, count, part, entry, symbols);
    *left = gt_walk_all_on(symbols, count, part, *left, cuts);
  } else {
    gt_walk_back(tags, 0, count, entry, symbols);
    *left = gt_walk_on(symbols, 0, count, *left, cuts);
  }
  for (unsigned b = 0; b < blocks; b++) {
    masks->starts[b] = gt_gather_bits(cuts + 64 * b, 0);
#if GT_REMOVES
    masks->stops[b] = gt_gather_bits(cuts + 64 * b, 1);
#endif
  }
}
