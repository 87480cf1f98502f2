/* The kernels of this build and the choice among them at run time. */

typedef struct {
  const char *name;
#ifdef GT_SPLITTER
  int64_t (*count_pieces)(const uint8_t *text, size_t length);
#else
  int (*encode_span)(gt_thread *t, const uint8_t *begin, const uint8_t *stop, const uint8_t *end, const uint8_t *limit,
                     gt_ids *ids);
#endif
  int64_t (*boundaries)(const uint8_t *text, size_t length, uint64_t *starts, uint64_t *stops, int64_t capacity);
  int (*supported)(void);
} gt_kernel;

static int gt_always(void) { return 1; }
#if defined(__x86_64__)
static int gt_has_avx2(void) {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("popcnt");
}
static int gt_has_avx512(void) {
  return gt_has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") &&
         __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("gfni");
}
#endif

#ifdef GT_SPLITTER
#define GT_KERNEL(isa, supported) {#isa, gt_count_pieces_##isa, gt_boundaries_##isa, supported}
#else
#define GT_KERNEL(isa, supported) {#isa, gt_encode_span_##isa, gt_boundaries_##isa, supported}
#endif
static const gt_kernel gt_kernels[] = { /* best first */
#if defined(__x86_64__)
  GT_KERNEL(avx512, gt_has_avx512),
  GT_KERNEL(avx2, gt_has_avx2),
#elif defined(__aarch64__)
  GT_KERNEL(neon, gt_always),
#endif
  GT_KERNEL(swar, gt_always),
  GT_KERNEL(automaton, gt_always),
};
enum { GT_KERNELS = sizeof gt_kernels / sizeof *gt_kernels };

static const gt_kernel *gt_active;

static void gt_use_kernel(const gt_kernel *kernel) {
  gt_active = kernel;
#if defined(__x86_64__)
  gt_vector_level = strcmp(kernel->name, "avx512") == 0 ? 3 : strcmp(kernel->name, "avx2") == 0 ? 2 : 0;
#elif defined(__aarch64__)
  gt_vector_level = strcmp(kernel->name, "neon") == 0;
#endif
}

static const gt_kernel *gt_kernel_named(const char *name) {
  for (unsigned i = 0; i < GT_KERNELS; i++)
    if (strcmp(gt_kernels[i].name, name) == 0 && gt_kernels[i].supported()) return &gt_kernels[i];
  return NULL;
}

__attribute__((constructor)) static void gt_choose_kernel(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#endif
  for (unsigned i = GT_KERNELS; i-- > 0;)
    if (gt_kernels[i].supported()) gt_use_kernel(&gt_kernels[i]);
}

GT_API const char *gt_isa(void) { return gt_active->name; }

GT_API int gt_set_isa(const char *name) {
  const gt_kernel *const kernel = gt_kernel_named(name);
  if (!kernel) return GT_BAD_ARGUMENT;
  gt_use_kernel(kernel);
  return GT_OK;
}

GT_API const char *gt_isas(void) {
  static char names[64];
  if (!names[0]) {
    char text[64] = "";
    for (unsigned i = 0; i < GT_KERNELS; i++) {
      if (!gt_kernels[i].supported()) continue;
      if (text[0]) strcat(text, " ");
      strcat(text, gt_kernels[i].name);
    }
    memcpy(names, text, sizeof names);
  }
  return names;
}

GT_API int64_t gt_boundaries(const uint8_t *text, size_t length, const char *isa, uint64_t *starts, uint64_t *stops,
                             int64_t capacity) {
  const gt_kernel *const kernel = isa ? gt_kernel_named(isa) : gt_active;
  return kernel ? kernel->boundaries(text, length, starts, stops, capacity) : GT_BAD_ARGUMENT;
}
