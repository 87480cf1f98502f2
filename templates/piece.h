#ifndef GT_PIECE_H
#define GT_PIECE_H

/* A word for gt_merge_many: in, its bytes and room for its ids, as many as gt_merge asks for; out, how many they are. */
typedef struct {
  const uint8_t *bytes;
  uint32_t *ids;
  uint32_t length; /* at least 1 */
  uint32_t count;
} gt_piece;

#endif
