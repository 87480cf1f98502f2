/* From ids to bytes, and between single ids and their bytes.
 *
 * What an id becomes in a text is worked out at compile time (compiler/decoder/plan.py): an entry of 16 bytes an id.
 *
 *   byte   0 .. 13            14      15
 *        | text, zeros after | flags | length |  a text of at most 14 bytes
 *        | where u32 | length u32 | - | flags | - |  a longer one, which lies in gt_decode_blob
 *
 * So one line of memory is read for a token, whatever its length, and 16 bytes are stored; what is stored too much is
 * overwritten by the next token. Of what kind the characters are comes out on the way. There are GT_DECODE_SIZE ids; the entry after the last is that of all larger ones: a gap.
 *
 * A decoder may have other texts for the first token and the last one (GT_DECODE_POSITIONS: sorted ids and their entries), leave out a token
 * that is the one before it again (GT_DECODE_CTC), take `GT_DECODE_TRIM` bytes GT_DECODE_TRIM_BYTE off the front
 * of the whole, and have byte tokens, whose runs are UTF-8 or else one U+FFFD a byte (GT_DECODE_BYTE_FALLBACK), or of
 * which each byte that is no part of a character is one (GT_DECODE_BYTE_EACH as well).
 *
 * SentencePiece drops the mark, one byte, of tokens that begin a text (GT_DECODE_MARKS: 1 of the first one that is marked, 2
 * of every one until something shows). gt_decode_marked has a bit for each id: whether its text begins with a mark.
 *
 * Names of tokens (compiler/vocabulary/token_lookup.py): gt_token_blob, gt_token_offsets (entries 0 to GT_MAX_ID + 1; an id
 * without bytes is a gap), gt_token_slots, gt_token_names, gt_token_name_ends, gt_token_name_ids; GT_TOKEN_SLOTS_LOG2,
 * GT_TOKEN_NAMES_COUNT.
 */
#ifndef GT_DECODE_H
#define GT_DECODE_H

#include "common.h"
#include "gigatok.h"

#ifndef GT_API
#define GT_API
#endif

/* Flags of an entry; those of all tokens of a text together say what text it is. */
enum {
  GT_NOT_ASCII = 1,
  GT_NOT_WHOLE = 2, /* by itself no UTF-8: a part of a character */
  GT_ABOVE_FF = 4,  /* a character from U+0100 on, or the first byte of one */
  GT_ABOVE_FFFF = 8,
  GT_GAP = 16,
  GT_HIDDEN = 32, /* left out with skip_special */
  GT_BYTE = 64,   /* a byte token */
  GT_LONG = 128
};

typedef struct {
  const uint32_t *ids;
  int64_t n, at;       /* at: the id that comes next */
  size_t offset;       /* so many bytes of it are out already */
  int64_t first, last; /* with GT_DECODE_POSITIONS: where the first and the last token stand, or n */
  int64_t run_end;     /* with GT_DECODE_BYTE_FALLBACK: up to there the run of byte tokens, or a part, is known ... */
  int run_bad;         /* ... to be no UTF-8 */
  uint32_t before;     /* with GT_DECODE_CTC: class of the token before */
  uint32_t skip;       /* tokens with these flags are left out */
  int raw;             /* byte tokens are bytes, whatever they are together */
  uint32_t flags;      /* of all tokens so far; whoever asks may set them to 0 in between */
} gt_decoder;

typedef struct {
  const uint8_t *text;
  uint32_t length, flags;
} gt_spelled;

GT_INLINE uint32_t gt_entry_index(uint32_t id) { return id < GT_DECODE_SIZE ? id : GT_DECODE_SIZE; }
GT_INLINE uint32_t gt_entry_flags(const uint64_t *entry) { return (uint32_t)(entry[1] >> 48) & 0xFF; }

GT_INLINE gt_spelled gt_spell(const uint64_t *entry) {
  const uint32_t flags = gt_entry_flags(entry);
  if (GT_UNLIKELY(flags & GT_LONG))
    return (gt_spelled){gt_decode_blob + (uint32_t)entry[0], (uint32_t)(entry[0] >> 32), flags};
  return (gt_spelled){(const uint8_t *)entry, (uint32_t)(entry[1] >> 56), flags};
}

#if GT_DECODE_POSITIONS
static const uint64_t *gt_other_entry(const uint32_t *ids, const uint64_t *entries, size_t count, uint32_t index) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (ids[middle] < index) low = middle + 1;
    else high = middle;
  }
  return low < count && ids[low] == index ? entries + 2 * low : gt_decode_entries + 2 * (size_t)index;
}
#endif

/* The entry of the id at `i`, where it stands. */
GT_INLINE const uint64_t *gt_entry_at(const gt_decoder *d GT_UNUSED, int64_t i) {
  const uint32_t index = gt_entry_index(d->ids[i]);
#if GT_DECODE_POSITIONS
  if (GT_UNLIKELY(i == d->first && i == d->last))
    return gt_other_entry(gt_decode_only_ids, gt_decode_only_entries, GT_DECODE_ONLY_COUNT, index);
  if (GT_UNLIKELY(i == d->first))
    return gt_other_entry(gt_decode_first_ids, gt_decode_first_entries, GT_DECODE_FIRST_COUNT, index);
  if (GT_UNLIKELY(i == d->last))
    return gt_other_entry(gt_decode_last_ids, gt_decode_last_entries, GT_DECODE_LAST_COUNT, index);
#endif
  return gt_decode_entries + 2 * (size_t)index;
}

/* Is the token, which is not left out otherwise, the one before it again? */
GT_INLINE int gt_decode_again(gt_decoder *d GT_UNUSED, int64_t i GT_UNUSED) {
#if GT_DECODE_CTC
  const uint32_t class = gt_decode_classes[gt_entry_index(d->ids[i])];
  if (class == d->before) return 1;
  d->before = class;
#endif
  return 0;
}

#if GT_DECODE_BYTE_FALLBACK
/* The run of byte tokens that begins at i: where it ends, and whether its bytes are UTF-8. Tokens that are left out do not
 * end it. With GT_DECODE_BYTE_EACH only its first character, or its first byte if that begins none. Few tokens are looked at
 * twice then: what stops the search for the rest of a character is a bad byte by itself, or begins the next search. */
static void gt_decode_run(gt_decoder *d, int64_t i) {
  const int64_t begin = i;
  unsigned needed = 0, low = 0x80, high = 0xBF; /* continuation bytes, and the range of the next one */
  int bad = 0;
  for (; i < d->n; i++) {
    const uint64_t *const entry = gt_entry_at(d, i);
    const uint32_t flags = gt_entry_flags(entry);
    if (flags & d->skip) continue;
    if (!(flags & GT_BYTE)) break;
    const unsigned byte = (unsigned)entry[0] & 0xFF;
    if (needed) {
      bad |= byte < low || byte > high;
      needed--;
      low = 0x80, high = 0xBF;
    } else if (byte >= 0x80) {
      bad |= byte < 0xC2 || byte > 0xF4;
      needed = byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : 3;
      low = byte == 0xE0 ? 0xA0 : byte == 0xF0 ? 0x90 : 0x80;
      high = byte == 0xED ? 0x9F : byte == 0xF4 ? 0x8F : 0xBF;
    }
    if (GT_DECODE_BYTE_EACH && (bad || !needed)) {
      i++;
      break;
    }
  }
  d->run_bad = bad || needed;
  d->run_end = GT_DECODE_BYTE_EACH && d->run_bad ? begin + 1 : i;
}

/* Does the byte token at i become U+FFFD? */
GT_INLINE int gt_decode_bad_byte(gt_decoder *d, int64_t i) {
  if (d->raw) return 0;
  if (i >= d->run_end) gt_decode_run(d, i);
  return d->run_bad;
}
#endif

#if GT_DECODE_TRIM
/* Step over what is taken off the front. (GT_DECODE_CTC is not compiled together with this.) */
static void gt_decode_trim(gt_decoder *d) {
  for (uint32_t left = GT_DECODE_TRIM; d->at < d->n && left; d->at++) {
    const gt_spelled token = gt_spell(gt_entry_at(d, d->at));
    if (token.flags & d->skip) continue;
#if GT_DECODE_BYTE_FALLBACK
    if (token.flags & GT_BYTE && gt_decode_bad_byte(d, d->at)) return;
#endif
    uint32_t off = 0;
    while (off < token.length && left && token.text[off] == GT_DECODE_TRIM_BYTE) off++, left--;
    d->offset = off;
    if (off < token.length) return;
    d->offset = 0;
  }
}
#endif

#if GT_DECODE_MARKS
/* Step over marks that are dropped. What a token shows after its mark is left to be written. */
static void gt_decode_marks(gt_decoder *d) {
  for (; d->at < d->n; d->at++) {
    const uint32_t index = gt_entry_index(d->ids[d->at]);
    const gt_spelled token = gt_spell(gt_entry_at(d, d->at));
    if (token.flags & d->skip || !token.length) continue;
    if (!(gt_decode_marked[index >> 3] >> (index & 7) & 1)) return;
    if (token.length > 1) {
      d->offset = 1;
      return;
    }
    if (GT_DECODE_MARKS == 1) {
      d->at++;
      return;
    }
  }
}
#endif

/* A decoder for `n` ids. */
static void gt_decode_begin(gt_decoder *d, const uint32_t *ids, int64_t n, int skip_special, int raw) {
  *d = (gt_decoder){.ids = ids, .n = n, .first = n, .last = n, .raw = raw, .before = UINT32_MAX};
  d->skip = GT_GAP | (skip_special ? GT_HIDDEN : 0);
#if GT_DECODE_POSITIONS
  int64_t first = 0, last = n - 1;
  while (first < n && gt_entry_flags(gt_entry_at(d, first)) & d->skip) first++;
  while (last >= first && gt_entry_flags(gt_entry_at(d, last)) & d->skip) last--;
  d->at = d->first = first;
  d->last = first < n ? last : n;
#endif
#if GT_DECODE_TRIM
  gt_decode_trim(d);
#endif
#if GT_DECODE_MARKS
  gt_decode_marks(d);
#endif
}

/* The token at d->at, as it is written; length 0 and no flags if it is left out. `whole`: nothing of it is out yet. */
GT_INLINE gt_spelled gt_decode_next(gt_decoder *d, int whole) {
  const gt_spelled none = {NULL, 0, 0}, token = gt_spell(gt_entry_at(d, d->at));
  if (token.flags & d->skip || (whole && gt_decode_again(d, d->at))) return none;
#if GT_DECODE_BYTE_FALLBACK
  if (token.flags & GT_BYTE && gt_decode_bad_byte(d, d->at))
    return (gt_spelled){(const uint8_t *)"\xEF\xBF\xBD", 3, GT_NOT_ASCII | GT_ABOVE_FF};
  if (token.flags & GT_BYTE && !d->raw) return (gt_spelled){token.text, 1, token.flags & ~GT_NOT_WHOLE};
#endif
  return token;
}

/* Write the token at d->at, or as much of it as there is room for. Returns the bytes written; d->at stays where it is when
 * there was no room for all. */
static size_t gt_write_one(gt_decoder *d, uint8_t *out, size_t room) {
  const gt_spelled token = gt_decode_next(d, d->offset == 0);
  const size_t left = token.length - d->offset, size = left < room ? left : room;
  if (size) memcpy(out, token.text + d->offset, size);
  d->flags |= token.flags;
  if (size == left) d->offset = 0, d->at++;
  else d->offset += size;
  return size;
}

enum { GT_DECODE_AHEAD = 64 }; /* ids between a token and the entry that is fetched meanwhile */

/* Tokens that are only to be stored, 16 bytes at a time, up to the id at `stop` or while `total` is at most `wide`; ends at a
 * token that takes more. `ahead`: there are GT_DECODE_AHEAD more ids after `stop`, whose entries are fetched early. */
GT_INLINE size_t gt_decode_stores(gt_decoder *d, uint8_t *out, size_t total, const size_t wide, const int64_t stop,
                                  const int ahead) {
  const uint32_t *const ids = d->ids, skip = d->skip << 16;
  const uint32_t rare = skip | (uint32_t)(GT_LONG | (GT_DECODE_BYTE_FALLBACK ? GT_BYTE : 0)) << 16;
  uint32_t flags = 0;
  int64_t i = d->at;
  for (; i < stop && total <= wide; i++) {
    const uint32_t id = ids[i];
    if (ahead) __builtin_prefetch((const void *)((uintptr_t)gt_decode_entries + 16 * (uintptr_t)ids[i + GT_DECODE_AHEAD]));
    if (GT_UNLIKELY(id >= GT_DECODE_SIZE)) continue;
    const uint64_t *const entry = gt_decode_entries + 2 * (size_t)id;
    const uint32_t top = gt_load32((const uint8_t *)entry + 12); /* flags and length in the upper two bytes */
    if (GT_UNLIKELY(top & rare)) {
      if (top & skip) continue;
      break;
    }
    memcpy(out + total, entry, 16);
    total += top >> 24;
    flags |= top;
  }
  d->at = i;
  d->flags |= flags >> 16 & 0xFF;
  return total;
}

/* The next bytes, at most `capacity`, which is not 0; fewer only at the end (d->at == d->n). */
static size_t gt_decode_some(gt_decoder *d, uint8_t *const out, const size_t capacity) {
  size_t total = 0;
  while (d->at < d->n && total < capacity) {
    if (!GT_DECODE_CTC && !d->offset && d->at != d->first && capacity - total >= 16) {
      const int64_t stop = d->last < d->at ? d->n : d->last;
      total = gt_decode_stores(d, out, total, capacity - 16, stop - GT_DECODE_AHEAD, 1);
      if (capacity - total >= 16) total = gt_decode_stores(d, out, total, capacity - 16, stop, 0);
      if (d->at >= d->n || total >= capacity) break;
    }
    total += gt_write_one(d, out + total, capacity - total);
  }
  return total;
}

/* How many bytes are still to come. */
GT_UNUSED static int64_t gt_decode_left(const gt_decoder *start) {
  gt_decoder d = *start;
  int64_t total = 0;
  for (int whole = d.offset == 0; d.at < d.n; d.at++, whole = 1) total += gt_decode_next(&d, whole).length;
  return total - (int64_t)start->offset;
}

GT_API int64_t gt_decode(const uint32_t *ids, int64_t n_ids, int32_t skip_special, uint8_t *bytes, int64_t capacity) {
  gt_decoder d;
  gt_decode_begin(&d, ids, n_ids, skip_special, 1);
  int64_t total = capacity > 0 ? (int64_t)gt_decode_some(&d, bytes, (size_t)capacity) : 0;
  return d.at < d.n ? total + gt_decode_left(&d) : total;
}

GT_API const uint8_t *gt_token_bytes(uint32_t id, int64_t *length) {
  if (id > GT_MAX_ID) return NULL;
  const uint32_t from = gt_token_offsets[id], to = gt_token_offsets[id + 1];
  *length = to - from;
  return from < to ? gt_token_blob + from : NULL;
}

/* token_hash of compiler/vocabulary/token_lookup.py */
static inline uint64_t gt_token_hash(const uint8_t *p, size_t n) {
  const uint64_t multiplier = 0x9E3779B97F4A7C15u;
  uint64_t value = n;
  while (n) {
    uint64_t word = 0;
    size_t step = n < 8 ? n : 8;
    memcpy(&word, p, step);
    value = (value ^ word) * multiplier;
    value ^= value >> 29;
    p += step;
    n -= step;
  }
  return value * multiplier;
}

GT_API int64_t gt_token_id(const uint8_t *bytes, size_t length) {
  uint32_t start = 0;
  for (int i = 0; i < GT_TOKEN_NAMES_COUNT; i++) {
    uint32_t stop = gt_token_name_ends[i];
    if (stop - start == length && memcmp(gt_token_names + start, bytes, length) == 0) return gt_token_name_ids[i];
    start = stop;
  }
  if (!length) return -1;
  size_t slot = (size_t)(gt_token_hash(bytes, length) >> (64 - GT_TOKEN_SLOTS_LOG2));
  for (; gt_token_slots[slot]; slot = (slot + 1) & (((size_t)1 << GT_TOKEN_SLOTS_LOG2) - 1)) {
    uint32_t id = gt_token_slots[slot] - 1, from = gt_token_offsets[id];
    if (gt_token_offsets[id + 1] - from == length && memcmp(gt_token_blob + from, bytes, length) == 0) return id;
  }
  return -1;
}

#endif
