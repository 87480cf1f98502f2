/* Many words one after the other, for models that gain nothing from several side by side (wordpiece.h, unigram.h): what learn.h and
 * words.h ask of a model. merge.h has its own. */
#ifndef GT_EACH_WORD_H
#define GT_EACH_WORD_H

#include "piece.h"

/* Whether a pre-token can be cut at safe cuts; these models have none. */
GT_INLINE int gt_has_atoms(const uint8_t *p GT_UNUSED, size_t n GT_UNUSED) { return 1; }

/* Ids of many words. Always 1. */
static inline int gt_merge_many(gt_piece *pieces, size_t count, gt_scratch *scratch) {
  for (size_t i = 0; i < count; i++) {
    pieces[i].count = (uint32_t)gt_merge(pieces[i].bytes, pieces[i].length, pieces[i].ids, scratch);
  }
  return 1;
}

#endif
