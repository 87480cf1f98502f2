/* Many words one after the other, for models that work on one word at a time (wordpiece.h, unigram.h): what learn.h and words.h
 * ask of a model. */
#ifndef GT_PIECE_H
#define GT_PIECE_H

/* Whether a pre-token can be cut at safe cuts; these models have none. */
GT_INLINE int gt_has_atoms(const uint8_t *p GT_UNUSED, size_t n GT_UNUSED) { return 1; }

/* A word for gt_merge_many: in, its bytes and room for `length` ids; out, how many they are. */
typedef struct {
  const uint8_t *bytes;
  uint32_t *ids;
  uint32_t length; /* at least 1 */
  uint32_t count;
} gt_piece;

/* Ids of many words. Always 1. */
static inline int gt_merge_many(gt_piece *pieces, size_t count, gt_scratch *scratch) {
  for (size_t i = 0; i < count; i++) {
    pieces[i].count = (uint32_t)gt_merge(pieces[i].bytes, pieces[i].length, pieces[i].ids, scratch);
  }
  return 1;
}

#endif
