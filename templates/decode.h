/* From ids to bytes, and between single ids and their bytes.
 *
 * Tables (compiler/vocabulary/token_lookup.py): gt_token_blob, gt_token_offsets (entries 0 to GT_MAX_ID + 1; an id without bytes
 * is a gap), all ids, added tokens included, as decoding gives them; gt_decode_special, gt_token_slots, gt_token_names,
 * gt_token_name_ends, gt_token_name_ids; GT_MAX_ID, GT_TOKEN_SLOTS_LOG2, GT_TOKEN_NAMES_COUNT.
 */
#ifndef GT_DECODE_H
#define GT_DECODE_H

#include "common.h"
#include "gigatok.h"

#ifndef GT_API
#define GT_API
#endif

/* Decode from ids[0] on. Tokens are short (four bytes on average), so while there is room 16 bytes are copied whatever the
 * length; reading them must not go past the blob's end nor writing past the buffer's. Once a token does not fit whole, the
 * bytes that do are written and the rest is only counted. */
GT_INLINE int64_t gt_decode_ids(const uint32_t *ids, int64_t n, const int skip, uint8_t *bytes, int64_t capacity) {
  const uint32_t wide = gt_token_offsets[GT_MAX_ID + 1] < 16 ? 0 : gt_token_offsets[GT_MAX_ID + 1] - 15;
  int64_t total = 0, i = 0;
  for (; i < n && capacity - total >= 16; i++) {
    const uint32_t id = ids[i];
    if (GT_UNLIKELY(id > GT_MAX_ID)) continue;
    if (skip && (gt_decode_special[id >> 3] >> (id & 7) & 1)) continue;
    const uint32_t from = gt_token_offsets[id], length = gt_token_offsets[id + 1] - from;
    if (GT_LIKELY(length <= 16 && from < wide))
      memcpy(bytes + total, gt_token_blob + from, 16);
    else if (length <= (uint64_t)(capacity - total))
      memcpy(bytes + total, gt_token_blob + from, length);
    else
      break;
    total += length;
  }
  for (; i < n; i++) {
    const uint32_t id = ids[i];
    if (id > GT_MAX_ID || (skip && (gt_decode_special[id >> 3] >> (id & 7) & 1))) continue;
    const uint32_t from = gt_token_offsets[id], length = gt_token_offsets[id + 1] - from;
    if (total < capacity) {
      const int64_t room = capacity - total;
      memcpy(bytes + total, gt_token_blob + from, (size_t)(length < room ? length : room));
    }
    total += length;
  }
  return total;
}

GT_API int64_t gt_decode(const uint32_t *ids, int64_t n_ids, int32_t skip_special, uint8_t *bytes, int64_t capacity) {
  return skip_special ? gt_decode_ids(ids, n_ids, 1, bytes, capacity) : gt_decode_ids(ids, n_ids, 0, bytes, capacity);
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
