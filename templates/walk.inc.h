/* Stage two of a chunk by the walk (walk.h). Included once for each kernel that has it. */

typedef struct { uint32_t entry; } GT_ISA(gt_left);

GT_INLINE void GT_ISA(gt_left_begin)(GT_ISA(gt_left) *left) { left->entry = 0; }

GT_INLINE void GT_ISA(gt_cut)(const uint8_t *tags, unsigned count, unsigned right, GT_ISA(gt_left) *left, gt_masks *masks) {
  gt_walk(tags, count, right, &left->entry, masks);
}
