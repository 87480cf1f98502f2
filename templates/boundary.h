/* What the boundary kernels of all ISAs share: tags of characters, and the state at a chunk's end.
 *
 * Where steps see bytes (GT_BYTES, compiler/bitstream/byte_tags.py), every byte is a character here: the first one of a
 * UTF-8 sequence has the tag of the code point, each other one its own. */

/* 0..63, for positions of set bits. */
static const uint8_t gt_iota[64] __attribute__((aligned(64), unused)) = {
  0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,
  32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

#if GT_BITSTREAM
/* For permutes: eight bytes in reverse, eight times; and byte j of word q to byte q of word j. */
#define GT_EIGHT(q) 8 * (q) + 7, 8 * (q) + 6, 8 * (q) + 5, 8 * (q) + 4, 8 * (q) + 3, 8 * (q) + 2, 8 * (q) + 1, 8 * (q)
static const uint8_t gt_reverse_eights[64] __attribute__((aligned(64), unused)) = {
  GT_EIGHT(0), GT_EIGHT(1), GT_EIGHT(2), GT_EIGHT(3), GT_EIGHT(4), GT_EIGHT(5), GT_EIGHT(6), GT_EIGHT(7)};
#define GT_COLUMN(j) j, 8 + (j), 16 + (j), 24 + (j), 32 + (j), 40 + (j), 48 + (j), 56 + (j)
static const uint8_t gt_transpose_bytes[64] __attribute__((aligned(64), unused)) = {
  GT_COLUMN(0), GT_COLUMN(1), GT_COLUMN(2), GT_COLUMN(3), GT_COLUMN(4), GT_COLUMN(5), GT_COLUMN(6), GT_COLUMN(7)};
#endif

/* Cuts of one chunk: a bit a character, then as offsets from its start. Pieces that are removed have none; a kept one that
 * is open at the chunk's end has its stop in a later chunk. Without removal a piece stops where the next one starts. */
typedef struct {
  uint64_t starts[GT_CHUNK / 64 + GT_PAD_TAGS / 64];
#if GT_REMOVES
  uint64_t stops[GT_CHUNK / 64 + GT_PAD_TAGS / 64];
#endif
} gt_masks;
typedef struct {
  uint32_t *starts, *starts_end; /* room for GT_CHUNK + 64 */
  uint32_t *stops, *stops_end;   /* the same; not touched unless GT_REMOVES */
  int cut_long;                  /* asked for: long pieces cut where no entry lies across (wide_cuts.h) */
  int wide;                      /* they are, in this chunk */
} gt_places;

/* Where the chunk at p ends: between two characters. */
GT_INLINE const uint8_t *gt_chunk_end(const uint8_t *p, const uint8_t *stop) {
  if ((size_t)(stop - p) <= GT_CHUNK) return stop;
  const uint8_t *q = p + GT_CHUNK;
  for (unsigned i = 0; i < 3 && (*q & 0xC0) == 0x80; i++) q--;
  return q;
}

/* Tag of the non-ASCII character at p; equal blocks are stored once. Up to 3 bytes past the character are read. */
GT_INLINE uint8_t gt_wide_tag(const uint8_t *p) {
  uint32_t low;
  const uint32_t block = gt_code_point_block(p, &low);
  return gt_tag_blocks[64u * gt_tag_block_of[block] + low];
}

/* Tag of any character, which may be the last before `end`. */
GT_INLINE uint8_t gt_tag_before(const uint8_t *p, const uint8_t *end) {
  if (*p < 0x80) return gt_ascii_tags[*p];
#if GT_BYTES
  if (*p < 0xC0) return gt_continuation_tags[*p & 0x3F];
#endif
  if (end - p >= 4) return gt_wide_tag(p);
  uint8_t copy[4] = {0, 0, 0, 0};
  memcpy(copy, p, (size_t)(end - p));
  return gt_wide_tag(copy);
}

/* Whether the byte at p belongs to the character before it; the bytes of the one that begins at p. */
GT_INLINE int gt_is_inside(const uint8_t *p) { return !GT_BYTES && (*p & 0xC0) == 0x80; }
GT_INLINE unsigned gt_tagged_length(const uint8_t *p) { return GT_BYTES ? 1 : gt_sequence_length(*p); }

#if GT_BYTES
/* Tags of the bytes at `wide`, which are not ASCII, into those of a block. */
GT_INLINE void gt_tag_wide_bytes(const uint8_t *block, uint64_t wide, uint8_t *tags) {
  for (; wide; wide &= wide - 1) {
    const unsigned at = (unsigned)__builtin_ctzll(wide);
    tags[at] = block[at] < 0xC0 ? gt_continuation_tags[block[at] & 0x3F] : gt_wide_tag(block + at);
  }
}
#endif

/* The right state at a chunk's end inside a text.
 *
 * It depends on the text after it, usually on a character or two: maps from "state after what was read" to "state at p"
 * are composed until the map is constant. A run (a megabyte of spaces) can postpone that for long, so the way back notes
 * the state at each of the following chunk ends (gt_right_memo), and the whole stays linear. */
#if GT_RIGHT_STATES > 256
typedef uint16_t gt_right;
#else
typedef uint8_t gt_right;
#endif
#define GT_RIGHT_UNKNOWN UINT32_MAX

/* Note the states at chunk ends from p on and before `far`, going back from there. At the text's end the state is known;
 * elsewhere it is not, and what every state there makes of the text before it is followed until they agree. Without memory
 * nothing is noted. */
GT_NOINLINE void gt_note_right_states(const uint8_t *p, const uint8_t *far, const uint8_t *end, gt_right_memo *memo) {
  const size_t most = (size_t)(far - p) / (GT_CHUNK - 3) + 1;
  memo->count = memo->next = 0;
  if (most > memo->capacity) {
    gt_right_note *const grown = realloc(memo->notes, most * sizeof *grown);
    if (!grown) return;
    memo->notes = grown;
    memo->capacity = most;
  }
  for (const uint8_t *at = p; at < far; at = gt_chunk_end(at, end)) memo->notes[memo->count++].at = at;
  gt_right states[GT_RIGHT_STATES];
  for (unsigned r = 0; r < GT_RIGHT_STATES; r++) states[r] = far == end ? 0 : (gt_right)r;
  unsigned alike = far == end;
  const uint8_t *q = far;
  for (size_t i = memo->count; i-- > 0;) {
    gt_right_note *const note = &memo->notes[i];
    while (q > note->at) {
      do q--; while (gt_is_inside(q));
      const gt_right *const row = gt_right_table + (size_t)gt_tag_before(q, end) * GT_RIGHT_STATES;
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
    note->state = alike ? states[0] : GT_RIGHT_UNKNOWN;
  }
}

/* The right state before the character at p < end. */
static unsigned gt_right_state(const uint8_t *p, const uint8_t *end, gt_right_memo *memo) {
  while (memo->next < memo->count && memo->notes[memo->next].at < p) memo->next++;
  if (memo->next < memo->count && memo->notes[memo->next].at == p && memo->notes[memo->next].state != GT_RIGHT_UNKNOWN)
    return memo->notes[memo->next].state;
  const uint8_t *q = p;
  gt_right map[GT_RIGHT_STATES];
  for (unsigned r = 0; r < GT_RIGHT_STATES; r++) map[r] = (gt_right)r;
  int last_tag = -1;
  for (unsigned same = GT_RIGHT_STATES == 1; q < end && !same;) {
    const int tag = gt_tag_before(q, end);
    q += gt_tagged_length(q);
    if (tag == last_tag) continue;
    gt_right next[GT_RIGHT_STATES];
    unsigned unchanged = 1;
    same = 1;
    for (unsigned r = 0; r < GT_RIGHT_STATES; r++) {
      next[r] = map[gt_right_table[(size_t)tag * GT_RIGHT_STATES + r]];
      same &= next[r] == next[0];
      unchanged &= next[r] == map[r];
    }
    memcpy(map, next, sizeof map);
    last_tag = unchanged ? tag : -1; /* more of the same tag change nothing */
  }
  /* map[0] is the answer if all are the same, and if the text ends at q */
  if (GT_UNLIKELY((size_t)(q - p) > GT_CHUNK)) gt_note_right_states(p, q < end ? q : end, end, memo);
  return map[0];
}

/* The word of one block (see boundary.inc.h). */
typedef uint64_t gt_word_one;
#define GT_NOWHERE (GT_WORD){0}
GT_INLINE uint64_t gt_on_one(uint64_t x, uint64_t before) { return x << 1 | before >> 63; }
GT_INLINE uint64_t gt_back_one(uint64_t x, uint64_t after) { return x >> 1 | after << 63; }
GT_INLINE int gt_any_one(uint64_t x) { return x != 0; }
/* MatchStar: the addition runs through every stretch of `stay` that is entered. */
GT_INLINE uint64_t gt_run_on_one(uint64_t in, uint64_t stay) { return ((((in & stay) + stay) ^ stay) | in) & stay; }
