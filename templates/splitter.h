/* What takes the place of thread.h where there is no vocabulary: the cuts of one chunk. One thread only. */
typedef struct {
  gt_right_memo memo;
  uint32_t starts[GT_CHUNK + 128];
#if GT_REMOVES
  uint32_t stop_list[1 + GT_CHUNK + 128];
#endif
  uint8_t tail[GT_TAIL];
} gt_thread;
#if GT_REMOVES
#define GT_STOPS(t) ((t)->stop_list + 1)
#endif

static gt_thread gt_only_thread;
GT_INLINE gt_thread *gt_thread_self(void) { return &gt_only_thread; }

static int gt_vector_level GT_UNUSED; /* of passes that a splitter has not */
