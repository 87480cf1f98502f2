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

#endif
