/* Small things every part needs. */
#ifndef GT_COMMON_H
#define GT_COMMON_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GT_INLINE static inline __attribute__((always_inline))
#define GT_NOINLINE static __attribute__((noinline))
#define GT_UNUSED __attribute__((unused))
#define GT_LIKELY(x) __builtin_expect(!!(x), 1)
#define GT_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Unaligned little-endian loads and stores; memcpy compiles to one instruction. */
GT_INLINE uint64_t gt_load64(const void *p) { uint64_t v; memcpy(&v, p, 8); return v; }
GT_INLINE uint32_t gt_load32(const void *p) { uint32_t v; memcpy(&v, p, 4); return v; }
GT_INLINE void gt_store64(void *p, uint64_t v) { memcpy(p, &v, 8); }
GT_INLINE void gt_store32(void *p, uint32_t v) { memcpy(p, &v, 4); }

/* Bytes in the UTF-8 sequence that a lead byte begins (text is valid). */
GT_INLINE unsigned gt_sequence_length(uint8_t lead) {
  return lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
}

/* The non-ASCII character at p: all but the last six bits of its code point, which go through *low. Tables over code
 * points are cut in blocks of 64 that way. Reads 4 bytes. */
GT_INLINE uint32_t gt_code_point_block(const uint8_t *p, uint32_t *low) {
  const uint32_t w = gt_load32(p);
  if ((w & 0xFF) < 0xE0) {
    *low = w >> 8 & 0x3F;
    return w & 0x1F;
  }
  if ((w & 0xFF) < 0xF0) {
    *low = w >> 16 & 0x3F;
    return (w & 0x0F) << 6 | (w >> 8 & 0x3F);
  }
  *low = w >> 24 & 0x3F;
  return (w & 0x07) << 12 | (w >> 8 & 0x3F) << 6 | (w >> 16 & 0x3F);
}

/* Positions of set bits plus `base`, appended to `out`: the portable version, see isa_swar.h. */
GT_INLINE uint32_t *gt_flatten_swar(uint64_t mask, uint32_t base, uint32_t *out) {
  while (mask) {
    *out++ = base + (uint32_t)__builtin_ctzll(mask);
    mask &= mask - 1;
  }
  return out;
}
#define gt_flatten_plain gt_flatten_swar

/* bits * 2 + (x == 0): the portable version, see isa_swar.h. */
GT_INLINE uint64_t gt_push_zero_swar(uint64_t bits, uint64_t x) { return bits + bits + (x == 0); }

#define GT_CHUNK 4096 /* bytes that one pass of a kernel takes; their masks and pieces stay in the nearest caches */
#define GT_LONG_WORD 1024 /* bytes of the longest pre-token that is kept (thread.h) */
#define GT_PAD_TAGS 512 /* tags past the last of a chunk, so that a word of several blocks is full */
#define GT_PAST 72    /* bytes that can be read after a chunk: a block of 64 that begins at its last byte, three bytes on */
#define GT_TAIL (GT_CHUNK + GT_PAST)

/* States that a scan has worked out ahead, in the order of the text (see boundary.h). */
typedef struct {
  const uint8_t *at;
  uint32_t state;
} gt_right_note;
typedef struct {
  gt_right_note *notes;
  size_t next, count, capacity; /* `next`: the first that is still to be asked for */
} gt_right_memo;

#endif
