/* Passes of the normalizer that look at one character at a time, or at literal text. They are templates over descriptors that
 * normalizer.inc.h has, one for each pass of the module.
 *
 * Each has the form  gt_outcome gt_pass(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length):
 * the text p[0..n) is not changed by it (GT_SAME, and nothing is copied), or its result is at out->memory. Clean stretches
 * are copied with memcpy, what is between them is worked on. Text is well-formed UTF-8; nothing outside [p, p + n) is read.
 */
#ifndef GT_CHARACTERS_H
#define GT_CHARACTERS_H

#include "finder.h"
#include "scratch.h"

typedef enum { GT_SAME, GT_CHANGED, GT_STOPPED, GT_NORMALIZE_NO_MEMORY } gt_outcome; /* GT_STOPPED: what it wrote counts for nothing */

/* A text that is being written. */
typedef struct {
  gt_scratch *scratch;
  uint8_t *to; /* the end of what is written */
} gt_writer;

enum { GT_WRITER_SLACK = 32 }; /* bytes that may be written past the end of what counts */

/* Room for `bytes` more; 0 when there is no memory. */
GT_INLINE int gt_writer_reserve(gt_writer *w, size_t bytes) {
  uint8_t *const begin = w->scratch->memory;
  const size_t used = begin ? (size_t)(w->to - begin) : 0;
  if (GT_LIKELY(begin != NULL && w->scratch->capacity - used >= bytes + GT_WRITER_SLACK)) return 1;
  if (bytes > SIZE_MAX / 4 - used) return 0;
  uint8_t *const memory = gt_scratch_reserve(w->scratch, used + bytes + GT_WRITER_SLACK);
  if (!memory) return 0;
  w->to = memory + used;
  return 1;
}

/* [from, to) of a text that ends at `end` into the room there is; short stretches without a call. */
GT_INLINE void gt_writer_copy(gt_writer *w, const uint8_t *from, const uint8_t *to, const uint8_t *end) {
  const size_t length = (size_t)(to - from);
  if (GT_LIKELY(length <= 64 && end - from >= 80)) {
    memcpy(w->to, from, 16);
    for (size_t i = 16; i < length; i += 16) memcpy(w->to + i, from + i, 16);
  } else if (length) {
    memcpy(w->to, from, length);
  }
  w->to += length;
}

/* The last clean stretch, and the length of the whole. A writer is handed on by value: one whose address is known would be
 * read again after every byte that is stored. */
static gt_outcome gt_writer_finish(gt_writer w, const uint8_t *done, const uint8_t *end, size_t *length) {
  const size_t clean = done < end ? (size_t)(end - done) : 0;
  *length = 0;
  if (!gt_writer_reserve(&w, clean)) return GT_NORMALIZE_NO_MEMORY;
  if (clean) memcpy(w.to, done, clean);
  w.to += clean;
  *length = (size_t)(w.to - (uint8_t *)w.scratch->memory);
  return GT_CHANGED;
}

/* The code point at p (p < end) and its length. What breaks off at the end is taken byte by byte: for safety only. */
GT_INLINE uint32_t gt_character_at(const uint8_t *p, const uint8_t *end, unsigned *length) {
  const uint32_t c = p[0];
  *length = 1;
  if (c < 0x80) return c;
  const unsigned want = gt_sequence_length(p[0]);
  if (c < 0xC0 || (size_t)(end - p) < want) return 0xFFFD;
  *length = want;
  if (want == 2) return (c & 0x1F) << 6 | (p[1] & 0x3F);
  if (want == 3) return (c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
  const uint32_t wide = (c & 0x07) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
  return wide <= 0x10FFFF ? wide : 0xFFFD;
}

/* Loops over bytes that the compiler makes vectors of, for each level of the CPU's. `from` and `to` do not overlap. */
#define GT_BYTE_LOOP(name, result, parameters, body)                                                                       \
  GT_UNUSED __attribute__((optimize("tree-vectorize"))) static result name##_portable parameters body                     \
  GT_BYTE_LOOP_X86(name, result, parameters, body)
#if GT_X86
#define GT_BYTE_LOOP_X86(name, result, parameters, body)                                                                   \
  GT_UNUSED __attribute__((target("avx2"), optimize("tree-vectorize"))) static result name##_avx2 parameters body          \
  GT_UNUSED __attribute__((target("avx512f,avx512bw,avx512vl"), optimize("tree-vectorize"))) static result                 \
      name##_avx512 parameters body
#define GT_BYTE_LOOP_CALL(name, ...)                                                                                       \
  (GT_VECTOR_LEVEL >= 3 ? name##_avx512(__VA_ARGS__) : GT_VECTOR_LEVEL >= 2 ? name##_avx2(__VA_ARGS__) : name##_portable(__VA_ARGS__))
#else
#define GT_BYTE_LOOP_X86(name, result, parameters, body)
#define GT_BYTE_LOOP_CALL(name, ...) name##_portable(__VA_ARGS__)
#endif

/* Where a search with a finder is: candidates are left at `block`, the next block begins at `next`. */
typedef struct {
  const uint8_t *block, *next;
  uint64_t mask;
} gt_candidates;

/* The next candidate, or NULL. */
GT_INLINE const uint8_t *gt_candidate(const gt_finder *finder, gt_candidates *at, const uint8_t *end) {
  if (!at->mask) {
    if (at->next >= end) return NULL;
    at->block = gt_find(finder, at->next, end, &at->mask);
    if (at->block >= end) {
      at->next = end;
      at->mask = 0;
      return NULL;
    }
    at->next = at->block + (end - at->block < 64 ? end - at->block : 64);
  }
  const uint8_t *const q = at->block + __builtin_ctzll(at->mask);
  at->mask &= at->mask - 1;
  return q;
}

/* ------------------------------------------------------------------ a map of characters */
typedef struct {
  gt_finder finder;
  const uint16_t *blocks;  /* row of `texts_of` of every 64 code points */
  const uint16_t *text_of; /* number of the text of each code point; 0: it stays */
  const uint32_t *starts;  /* text i is texts[starts[i]..starts[i + 1]); 0xFF in it: the character itself */
  const uint8_t *texts;
  const uint64_t *ascii;   /* text of each ASCII character in the low seven bytes, its length in the top one; 0xFF: too long */
  const uint8_t *prefix;   /* put before the text */
  uint32_t plain;          /* texts from this number on hold the character itself */
  uint32_t prefix_length;
  uint32_t growth;         /* at most so many bytes for one */
  uint8_t prefix_alone;    /* the prefix stands even where the text becomes empty */
  uint8_t first, count, shift; /* ASCII [first, first + count) becomes itself + shift, */
  uint8_t low, blanks, blank;  /* and [low, low + blanks) becomes `blank`, where clean text is copied */
  gt_finder rest;          /* if there is such ASCII: of all other characters of the map */
} gt_character_map;

enum { GT_STOP = 0xFFFF }; /* the number of no text: the map is not right for texts with this character */

/* Clean text, of which a map changes some ASCII as it is copied. */
GT_BYTE_LOOP(gt_clean_bytes, void,
             (uint8_t *restrict to, const uint8_t *restrict from, size_t n, uint8_t first, uint8_t count, uint8_t shift, uint8_t low,
              uint8_t blanks, uint8_t blank),
             {
               for (size_t i = 0; i < n; i++) {
                 const uint8_t shifted = (uint8_t)(from[i] + ((uint8_t)(from[i] - first) < count ? shift : 0));
                 to[i] = (uint8_t)(from[i] - low) < blanks ? blank : shifted;
               }
             })
GT_INLINE int gt_cleans(const gt_character_map *map) { return (map->count | map->blanks) != 0; }

typedef uint8_t gt_bytes16 __attribute__((vector_size(16)));
/* [from, to) of a text that ends at `end`, into the room there is. */
GT_INLINE void gt_writer_clean(gt_writer *w, const gt_character_map *map, const uint8_t *from, const uint8_t *to, const uint8_t *end) {
  const size_t n = (size_t)(to - from);
  if (!gt_cleans(map)) {
    gt_writer_copy(w, from, to, end);
    return;
  }
  if (GT_LIKELY(n <= 64 && end - from >= 80)) { /* short stretches without a call */
    for (size_t i = 0; i < n; i += 16) {
      gt_bytes16 bytes;
      memcpy(&bytes, from + i, 16);
      const gt_bytes16 blank = (gt_bytes16)(bytes - map->low < map->blanks);
      bytes += (gt_bytes16)(bytes - map->first < map->count) & map->shift;
      bytes = (bytes & ~blank) | (blank & map->blank);
      memcpy(w->to + i, &bytes, 16);
    }
  } else {
    GT_BYTE_LOOP_CALL(gt_clean_bytes, w->to, from, n, map->first, map->count, map->shift, map->low, map->blanks, map->blank);
  }
  w->to += n;
}

/* The last clean stretch, and the length of the whole. */
GT_UNUSED static gt_outcome gt_writer_finish_clean(gt_writer w, const gt_character_map *map, const uint8_t *done, const uint8_t *end,
                                                   size_t *length) {
  if (!gt_writer_reserve(&w, (size_t)(end - done))) return GT_NORMALIZE_NO_MEMORY;
  gt_writer_clean(&w, map, done, end, end);
  *length = (size_t)(w.to - (uint8_t *)w.scratch->memory);
  return GT_CHANGED;
}

GT_INLINE unsigned gt_text_of(const gt_character_map *map, uint32_t c) {
  return map->text_of[(size_t)map->blocks[c >> 6] * 64 + (c & 63)];
}

/* The text of the character at p, which has `length` bytes. */
GT_INLINE void gt_writer_text(gt_writer *w, const gt_character_map *map, unsigned number, const uint8_t *p, unsigned length) {
  const uint8_t *t = map->texts + map->starts[number], *const stop = map->texts + map->starts[number + 1];
  if (GT_LIKELY(number < map->plain && stop - t <= 16)) { /* most have a few bytes; more may be written, and read */
    memcpy(w->to, t, 16);
    w->to += stop - t;
    return;
  }
  if (GT_LIKELY(length == 3 && stop - t == 3 && t[1] == 0xFF)) { /* BERT's " 中 " */
    w->to[0] = t[0];
    memcpy(w->to + 1, p, 3);
    w->to[4] = t[2];
    w->to += 5;
    return;
  }
  for (; t < stop; t++) {
    if (*t != 0xFF) {
      *w->to++ = *t;
    } else {
      for (unsigned i = 0; i < length; i++) *w->to++ = p[i];
    }
  }
}

/* The map where some ASCII changes as it is copied, from `done` on. */
static gt_outcome gt_map_clean(const gt_character_map *map, gt_writer w, const uint8_t *done, const uint8_t *end, size_t *length) {
  gt_candidates at = {done, done, 0};
  const uint8_t *q;
  while ((q = gt_candidate(&map->rest, &at, end))) {
    unsigned size;
    if ((*q & 0xC0) == 0x80 || q < done) continue;
    const unsigned number = gt_text_of(map, gt_character_at(q, end, &size));
    if (!number) continue;
    if (GT_UNLIKELY(number == GT_STOP)) return GT_STOPPED;
    if (!gt_writer_reserve(&w, (size_t)(q - done) + size * (size_t)map->growth)) return GT_NORMALIZE_NO_MEMORY;
    gt_writer_clean(&w, map, done, q, end);
    gt_writer_text(&w, map, number, q, size);
    done = q + size;
  }
  return gt_writer_finish_clean(w, map, done, end, length);
}

GT_UNUSED static gt_outcome gt_map_characters(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_character_map *const map = pass;
  const uint8_t *const end = p + n, *done = p, *block = p;
  gt_writer w = {out, out->memory};
  int changed = 0;
  if (!n) return GT_SAME;
  if (map->prefix_length) {
    if (!gt_writer_reserve(&w, map->prefix_length)) return GT_NORMALIZE_NO_MEMORY;
    memcpy(w.to, map->prefix, map->prefix_length);
    w.to += map->prefix_length;
    changed = 1;
  }
  if (gt_cleans(map)) {
    gt_candidates at = {p, p, 0};
    while (!changed) { /* nothing is copied before it is certain that something changes */
      unsigned size;
      const uint8_t *const q = gt_candidate(&map->finder, &at, end);
      if (!q) return GT_SAME;
      changed = (*q & 0xC0) != 0x80 && gt_text_of(map, gt_character_at(q, end, &size));
    }
    const gt_outcome outcome = gt_map_clean(map, w, p, end, length);
    if (*length == map->prefix_length && !map->prefix_alone) *length = 0;
    return outcome;
  }
  while (block < end) {
    uint64_t mask = 0;
    block = gt_find(&map->finder, block, end, &mask);
    if (block >= end) break;
    const size_t clean = done < block ? (size_t)(block - done) : 0;
    if (!gt_writer_reserve(&w, clean + 68 * (size_t)map->growth)) return GT_NORMALIZE_NO_MEMORY;
    for (; mask; mask &= mask - 1) {
      const uint8_t *const q = block + __builtin_ctzll(mask);
      if (GT_UNLIKELY(q < done)) continue; /* broken text only */
      if (*q < 0x80) {
        const uint64_t text = map->ascii[*q];
        gt_writer_copy(&w, done, q, end);
        if (GT_LIKELY(text >> 56 != 0xFF)) {
          gt_store64(w.to, text);
          w.to += text >> 56;
        } else {
          gt_writer_text(&w, map, gt_text_of(map, *q), q, 1);
        }
        done = q + 1;
        changed = 1;
      } else if ((*q & 0xC0) != 0x80) {
        unsigned size;
        const unsigned number = gt_text_of(map, gt_character_at(q, end, &size));
        if (!number) continue;
        if (GT_UNLIKELY(number == GT_STOP)) return GT_STOPPED;
        gt_writer_copy(&w, done, q, end);
        gt_writer_text(&w, map, number, q, size);
        done = q + size;
        changed = 1;
      }
    }
    block += end - block < 64 ? end - block : 64;
  }
  if (!changed) return GT_SAME;
  const gt_outcome outcome = gt_writer_finish(w, done, end, length);
  if (*length == map->prefix_length && !map->prefix_alone) *length = 0;
  return outcome;
}

/* ------------------------------------------------------------------ bytes as characters of the byte-level alphabet */
typedef struct {
  const uint32_t *of; /* for each byte, its character's UTF-8 in the low bytes and its length in the top one */
  gt_finder finder;   /* of bytes that do not stand for themselves */
} gt_byte_map;

GT_UNUSED static gt_outcome gt_map_bytes(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_byte_map *const map = pass;
  const uint8_t *const end = p + n, *done = p, *block = p;
  gt_writer w = {out, out->memory};
  int changed = 0;
  while (block < end) {
    uint64_t mask = 0;
    block = gt_find(&map->finder, block, end, &mask);
    if (block >= end) break;
    changed = 1;
    if (!gt_writer_reserve(&w, (size_t)(block - done) + 2 * 68)) return GT_NORMALIZE_NO_MEMORY;
    for (; mask; mask &= mask - 1) {
      const uint8_t *const q = block + __builtin_ctzll(mask);
      gt_writer_copy(&w, done, q, end);
      const uint32_t text = map->of[*q];
      gt_store32(w.to, text);
      w.to += text >> 24;
      done = q + 1;
    }
    block += end - block < 64 ? end - block : 64;
  }
  if (!changed) return GT_SAME;
  return gt_writer_finish(w, done, end, length);
}

/* ------------------------------------------------------------------ literal text for literal text */
typedef struct {
  gt_finder finder; /* of the pattern's first character */
  const uint8_t *pattern, *content;
  uint32_t pattern_length, content_length;
} gt_literal;

enum { GT_SHORT_PATTERN = 16 }; /* longer ones are compared at fewer places: memmem takes linear time */

/* The first place of the pattern at or after p, or NULL. */
static const uint8_t *gt_literal_next(const gt_literal *literal, const uint8_t *p, const uint8_t *end, gt_candidates *at) {
  const size_t size = literal->pattern_length;
  if (size > GT_SHORT_PATTERN) return memmem(p, (size_t)(end - p), literal->pattern, size);
  const uint8_t *q;
  while ((q = gt_candidate(&literal->finder, at, end)))
    if (q >= p && (size_t)(end - q) >= size && !memcmp(q, literal->pattern, size)) return q;
  return NULL;
}

GT_UNUSED static gt_outcome gt_replace_literal(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_literal *const literal = pass;
  const uint8_t *const end = p + n, *done = p;
  gt_candidates at = {p, p, 0};
  const uint8_t *q = gt_literal_next(literal, p, end, &at);
  if (!q) return GT_SAME;
  gt_writer w = {out, out->memory};
  do {
    if (!gt_writer_reserve(&w, (size_t)(q - done) + literal->content_length)) return GT_NORMALIZE_NO_MEMORY;
    gt_writer_copy(&w, done, q, end);
    memcpy(w.to, literal->content, literal->content_length);
    w.to += literal->content_length;
    done = q + literal->pattern_length;
  } while ((q = gt_literal_next(literal, done, end, &at)));
  return gt_writer_finish(w, done, end, length);
}

/* ------------------------------------------------------------------ text before a text that is not empty */
typedef struct {
  const uint8_t *prefix;
  uint32_t prefix_length;
} gt_prefix;

GT_UNUSED static gt_outcome gt_put_before(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_prefix *const prefix = pass;
  if (!n) return GT_SAME;
  uint8_t *const memory = gt_scratch_reserve(out, prefix->prefix_length + n);
  if (!memory) return GT_NORMALIZE_NO_MEMORY;
  memcpy(memory, prefix->prefix, prefix->prefix_length);
  memcpy(memory + prefix->prefix_length, p, n);
  *length = prefix->prefix_length + n;
  return GT_CHANGED;
}

/* ------------------------------------------------------------------ no blanks at the ends */

/* Bytes of the blank that ends at `end`, or 0. White_Space: 9-13, 32, 85, A0, 1680, 2000-200A, 2028, 2029, 202F, 205F, 3000;
 * the numbers are checked against the reference's set when the module is compiled (compiler/normalizer/passes.py). */
GT_INLINE unsigned gt_blank(uint32_t c, unsigned length) {
  const int blank = c - 9 < 5 || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || c - 0x2000 < 11 || c - 0x2028 < 2 ||
                    c == 0x202F || c == 0x205F || c == 0x3000;
  return blank ? length : 0;
}

GT_UNUSED static void gt_strip(const uint8_t **begin, const uint8_t **end, int left, int right) {
  unsigned length;
  while (left && *begin < *end) {
    const uint32_t c = gt_character_at(*begin, *end, &length);
    if (!gt_blank(c, length)) break;
    *begin += length;
  }
  while (right && *begin < *end) {
    const uint8_t *p = *end;
    do p--;
    while (p > *begin && *end - p < 4 && (*p & 0xC0) == 0x80);
    const uint32_t c = gt_character_at(p, *end, &length);
    if (p + length != *end || !gt_blank(c, length)) break;
    *end = p;
  }
}

#endif
