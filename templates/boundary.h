/* What the boundary kernels of all ISAs share: tags of non-ASCII characters, and the state at a chunk's end. */

#define GT_RIGHT_UNKNOWN 255

/* 0..63, for positions of set bits. */
static const uint8_t gt_iota[64] __attribute__((aligned(64), unused)) = {
  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
  32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

/* Tag of the non-ASCII character at p; equal blocks are stored once. Up to 3 bytes past the character are read. */
GT_INLINE uint8_t gt_wide_tag(const uint8_t *p) {
  uint32_t low;
  const uint32_t block = gt_code_point_block(p, &low);
  return gt_tag_blocks[64u * gt_tag_block_of[block] + low];
}

/* Write the tag of every non-ASCII character of the block at p over all its bytes: painted[8 + i] for byte i. The first
 * character may begin before the block. Four bytes are written for each, in order, so that each is cut by the next one;
 * ASCII positions are not looked at afterwards. */
GT_INLINE void gt_paint_tags(const uint8_t *p, uint64_t leads, uint64_t continuation, uint8_t *painted) {
  if (continuation & 1) {
    int back = -1;
    while ((p[back] & 0xC0) == 0x80) back--;
    gt_store32(painted + 8 + back, gt_wide_tag(p + back) * 0x01010101u);
  }
  while (leads) {
    const unsigned i = (unsigned)__builtin_ctzll(leads);
    gt_store32(painted + 8 + i, gt_wide_tag(p + i) * 0x01010101u);
    leads &= leads - 1;
  }
}

/* Right streams at a chunk's end inside a text.
 *
 * They depend on the text after it, usually on a character or two: maps from "state after what was read" to "state at p"
 * are composed until the map is constant. A run (a megabyte of spaces) can postpone that for long, so the way back notes
 * the state at each of the following chunk ends (gt_right_memo), and the whole stays linear. */

GT_INLINE const uint8_t *gt_next_character(const uint8_t *p, const uint8_t *end) {
  do p++; while (p < end && (*p & 0xC0) == 0x80);
  return p;
}

/* As gt_tag_at, for a character that may be the last before `end`. */
GT_INLINE uint8_t gt_tag_before(const uint8_t *p, const uint8_t *end) {
  if (*p < 0x80) return gt_ascii_tags[*p];
  if (end - p >= 4) return gt_wide_tag(p);
  uint8_t copy[4] = {0, 0, 0, 0};
  memcpy(copy, p, (size_t)(end - p));
  return gt_wide_tag(copy);
}

/* Note the states at chunk ends between p and `far`, going back from `far`. At the text's end the state is known; elsewhere
 * it is not, and what every state there makes of the text before it is followed until they agree. Without memory nothing is
 * noted. */
GT_NOINLINE void gt_note_right_states(const uint8_t *p, const uint8_t *far, const uint8_t *end, gt_right_memo *memo) {
  const size_t count = (size_t)(far - p) / GT_CHUNK + 1;
  memo->count = 0;
  if (count > memo->capacity) {
    uint8_t *const grown = realloc(memo->states, count);
    if (!grown) return;
    memo->states = grown;
    memo->capacity = count;
  }
  uint8_t states[GT_RIGHT_STATES];
  for (unsigned r = 0; r < GT_RIGHT_STATES; r++) states[r] = far == end ? 0 : (uint8_t)r;
  unsigned alike = far == end;
  const uint8_t *q = far;
  for (size_t i = count; i-- > 0;) {
    const uint8_t *const stop = p + i * GT_CHUNK;
    while (q > stop) {
      const uint8_t *lead = q - 1;
      while ((*lead & 0xC0) == 0x80) lead--;
      if (lead < stop) break; /* the chunk ends inside this character: the state is the one after it */
      q = lead;
      const uint8_t *const row = gt_right_table + (unsigned)gt_tag_before(q, end) * GT_RIGHT_STATES;
      if (alike) {
        states[0] = row[states[0]];
        continue;
      }
      alike = 1;
      for (unsigned r = 0; r < GT_RIGHT_STATES; r++) {
        states[r] = row[states[r]];
        alike &= states[r] == states[0];
      }
    }
    memo->states[i] = alike ? states[0] : GT_RIGHT_UNKNOWN;
  }
  memo->first = p;
  memo->count = count;
}

/* The right state before the first character that starts at p or later. */
static unsigned gt_right_state(const uint8_t *p, const uint8_t *end, gt_right_memo *memo) {
  if (memo->count && p >= memo->first && (size_t)(p - memo->first) < memo->count * (size_t)GT_CHUNK &&
      (size_t)(p - memo->first) % GT_CHUNK == 0) {
    const unsigned noted = memo->states[(size_t)(p - memo->first) / GT_CHUNK];
    if (noted != GT_RIGHT_UNKNOWN) return noted;
  }
  const uint8_t *q = p;
  while (q < end && (*q & 0xC0) == 0x80) q++;
  uint8_t map[GT_RIGHT_STATES];
  for (unsigned r = 0; r < GT_RIGHT_STATES; r++) map[r] = (uint8_t)r;
  int last_tag = -1;
  unsigned state = 0;
  for (;;) {
    if (q >= end) {
      state = map[0];
      break;
    }
    const int tag = gt_tag_before(q, end);
    if (tag != last_tag) {
      uint8_t next[GT_RIGHT_STATES];
      unsigned same = 1, unchanged = 1;
      for (unsigned r = 0; r < GT_RIGHT_STATES; r++) {
        next[r] = map[gt_right_table[(unsigned)tag * GT_RIGHT_STATES + r]];
        same &= next[r] == next[0];
        unchanged &= next[r] == map[r];
      }
      memcpy(map, next, sizeof map);
      if (same) {
        state = map[0];
        break;
      }
      last_tag = unchanged ? tag : -1; /* more of the same tag change nothing */
    }
    q = gt_next_character(q, end);
  }
  /* the character at q was read too, and it is what decided */
  if (GT_UNLIKELY((size_t)(q - p) > GT_CHUNK)) gt_note_right_states(p, q < end ? gt_next_character(q, end) : end, end, memo);
  return state;
}

/* Neighbouring characters. `on` is towards the end of the text (bit 0 takes the carry), `back` towards its start. */
#define GT_SHIFT_ON(x, carry) ((x) << 1 | (carry))
#define GT_SHIFT_BACK(x, carry, top) ((x) >> 1 | (carry) << (top))

/* Give all bytes of a character the value of its first (on) or of the character after it (back): three steps, since a
 * character has at most three continuation bytes. */
#define GT_CARRY_ON(x, continuation, carry)                  \
  do {                                                       \
    (x) &= ~(continuation);                                  \
    for (int gt_i = 0; gt_i < 3; gt_i++)                     \
      (x) |= GT_SHIFT_ON(x, carry) & (continuation);         \
  } while (0)
#define GT_CARRY_BACK(x, continuation, carry, top)           \
  do {                                                       \
    (x) &= ~(continuation);                                  \
    for (int gt_i = 0; gt_i < 3; gt_i++)                     \
      (x) |= GT_SHIFT_BACK(x, carry, top) & (continuation);  \
  } while (0)
