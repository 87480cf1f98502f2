/* Counts calls of the allocator in one process: LD_PRELOAD this, register the code of a library, read the counters.
 *
 * "Inside" are calls that the registered code makes itself; all others, those of Python, numpy and libc, are only in the
 * total. Needs glibc, whose own functions stand behind the ones here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

enum { RANGES = 64 };
static struct { uintptr_t from, to; } ranges[RANGES];
static volatile int range_count;
static struct { uint64_t calls, inside, bytes, bytes_inside; } counted;

static void count(size_t bytes, const void *caller) {
  const uintptr_t at = (uintptr_t)caller;
  __atomic_fetch_add(&counted.calls, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&counted.bytes, bytes, __ATOMIC_RELAXED);
  for (int i = 0; i < range_count; i++)
    if (at >= ranges[i].from && at < ranges[i].to) {
      __atomic_fetch_add(&counted.inside, 1, __ATOMIC_RELAXED);
      __atomic_fetch_add(&counted.bytes_inside, bytes, __ATOMIC_RELAXED);
      return;
    }
}
#define COUNT(bytes) count(bytes, __builtin_return_address(0))

/* For the caller: 0, or -1 when there are too many. */
int alloc_counter_add_range(uint64_t from, uint64_t to) {
  if (range_count == RANGES) return -1;
  ranges[range_count].from = (uintptr_t)from;
  ranges[range_count].to = (uintptr_t)to;
  range_count++;
  return 0;
}

/* calls, calls from inside, bytes, bytes from inside */
void alloc_counter_read(uint64_t out[4]) {
  out[0] = counted.calls;
  out[1] = counted.inside;
  out[2] = counted.bytes;
  out[3] = counted.bytes_inside;
}

void *malloc(size_t bytes) {
  COUNT(bytes);
  return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes) {
  COUNT(n * bytes);
  return __libc_calloc(n, bytes);
}

void *realloc(void *old, size_t bytes) {
  COUNT(bytes);
  return __libc_realloc(old, bytes);
}

void *memalign(size_t alignment, size_t bytes) {
  COUNT(bytes);
  return __libc_memalign(alignment, bytes);
}

void *aligned_alloc(size_t alignment, size_t bytes) {
  COUNT(bytes);
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void **out, size_t alignment, size_t bytes) {
  COUNT(bytes);
  if (alignment < sizeof(void *) || (alignment & (alignment - 1))) return EINVAL;
  void *const p = __libc_memalign(alignment, bytes);
  if (!p) return ENOMEM;
  *out = p;
  return 0;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset) {
  COUNT(bytes);
  return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, off64_t offset) {
  COUNT(bytes);
  return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

void *mremap(void *old, size_t old_bytes, size_t bytes, int flags, ...) {
  __builtin_va_list rest;
  __builtin_va_start(rest, flags);
  void *const at = flags & MREMAP_FIXED ? __builtin_va_arg(rest, void *) : NULL;
  __builtin_va_end(rest);
  COUNT(bytes);
  return (void *)syscall(SYS_mremap, old, old_bytes, bytes, flags, at);
}
