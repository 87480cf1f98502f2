/* What a splitter has beside gt_boundaries, gt_isas and the like. */

/* How many pieces the kernel of `isa` finds: cutting alone, with the places of each chunk written where encoding would read
 * them. Negative: there is no such kernel. */
GT_API int64_t gt_count_pieces(const uint8_t *text, size_t length, const char *isa) {
  const gt_kernel *const kernel = gt_kernel_named(isa);
  return kernel ? kernel->count_pieces(text, length) : GT_BAD_ARGUMENT;
}

/* The time stamp counter, which goes on at one fixed rate whatever the core's clock is; 0 where there is none. */
GT_API uint64_t gt_ticks(void) {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return 0;
#endif
}
