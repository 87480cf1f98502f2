/* Texts and pairs of texts through the post-processor's templates.
 *
 * gt_encode_many puts the ids of a template around single texts by itself. Here texts are encoded without them, then put
 * together, which is what pairs and type ids need. Tables (compiler/emit/module.py): gt_template_pieces, three words a piece
 * (0, or 1 and 2 for the texts; the id where it is 0; the type id); gt_template_starts, where the pieces of each of the four
 * templates begin (one text, a pair; the same without special tokens) and end; GT_PAIRS, whether pairs are possible.
 */
#ifndef GT_PAIRS_H
#define GT_PAIRS_H

#include <stdlib.h>
#include <string.h>

#include "gigatok.h"

#ifndef GT_API
#define GT_API
#endif

enum { GT_ONE_TEXT, GT_PAIR, GT_PLAIN }; /* GT_PLAIN is added to the first two */

/* One item's ids, and type ids unless they are NULL; returns how many. ids NULL: counts only. */
static int64_t gt_fill_template(int template, const gt_output *flat, int64_t text, uint32_t *ids, uint32_t *types) {
  int64_t total = 0;
  for (uint32_t i = gt_template_starts[template]; i < gt_template_starts[template + 1]; i++) {
    const uint32_t *const piece = gt_template_pieces + 3 * (size_t)i;
    const int64_t from = piece[0] ? flat->offsets[text + piece[0] - 1] : 0;
    const int64_t count = piece[0] ? flat->offsets[text + piece[0]] - from : 1;
    if (ids && count) memcpy(ids + total, piece[0] ? flat->ids + from : piece + 1, (size_t)count * sizeof *ids);
    if (types)
      for (int64_t j = 0; j < count; j++) types[total + j] = piece[2];
    total += count;
  }
  return total;
}

GT_API int gt_encode_pairs(const uint8_t *const *texts, const size_t *lengths, const uint8_t *paired, int64_t n_items,
                           const gt_call *call, int32_t type_ids, gt_output *out) {
  *out = (gt_output){.n_texts = n_items, .error_text = -1, .error_byte = -1, .error_added = -1};
  int64_t n_texts = 0;
  for (int64_t i = 0; i < n_items; i++) {
    n_texts += 1 + (paired[i] != 0);
    if (paired[i] && !GT_PAIRS) return out->error_text = i, GT_NO_PAIRS;
  }
  gt_call plain = *call;
  plain.add_special_tokens = 0;
  gt_output flat;
  const int status = gt_encode_many(texts, lengths, n_texts, &plain, &flat);
  if (status != GT_OK) {
    int64_t item = 0;
    for (int64_t text = 0; item < n_items && (text += 1 + (paired[item] != 0)) <= flat.error_text;) item++;
    out->error_text = flat.error_text < 0 ? -1 : item;
    out->error_byte = flat.error_byte;
    out->error_added = flat.error_added;
    return status;
  }
  const int base = call->add_special_tokens ? 0 : GT_PLAIN;
  out->offsets = malloc(((size_t)n_items + 1) * sizeof *out->offsets);
  int64_t total = 0;
  for (int64_t i = 0, text = 0; i < n_items && out->offsets; text += 1 + (paired[i] != 0), i++) {
    out->offsets[i] = total;
    total += gt_fill_template(base + (paired[i] != 0), &flat, text, NULL, NULL);
  }
  out->ids = malloc(((size_t)total + 1) * sizeof *out->ids);
  if (type_ids) out->type_ids = malloc(((size_t)total + 1) * sizeof *out->type_ids);
  if (!out->offsets || !out->ids || (type_ids && !out->type_ids)) {
    gt_output_free(&flat);
    gt_output_free(out);
    out->error_text = out->error_byte = out->error_added = -1;
    return GT_NO_MEMORY;
  }
  out->offsets[n_items] = out->n_ids = total;
  for (int64_t i = 0, text = 0; i < n_items; text += 1 + (paired[i] != 0), i++)
    gt_fill_template(base + (paired[i] != 0), &flat, text, out->ids + out->offsets[i],
                     type_ids ? out->type_ids + out->offsets[i] : NULL);
  gt_output_free(&flat);
  return GT_OK;
}

#endif
