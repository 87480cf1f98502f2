/* What belongs to one thread: batch arrays and bounded caches of words. None of it is needed for correctness.
 *
 * A word is one pre-token, or a part of one between safe cuts. Three tables, all with exact keys:
 *
 *   hot    words of at most 8 bytes and 2 ids      16-byte slots, direct-mapped, the newest wins; meant to stay in L2
 *   words  words of at most 16 bytes               32-byte slots, two a cache line; ids past the fourth are in the arena
 *   longs  words of 17 to GT_LONG_WORD bytes       hash, place in the arena, length; bytes compared in the arena
 *   parts  stretches of at most 16 bytes           32-byte slots, direct-mapped: clauses without spaces are made of few of them
 *
 * Keys are the word's bytes padded with 0xFF, which is in no UTF-8 text.
 */
#ifndef GT_THREAD_H
#define GT_THREAD_H

#include <pthread.h>
#include <sys/mman.h>

/* Ids of a word. The top byte of `first` is their number, if it is at most four: then the first two are in bits 0-23 and
 * 32-55 of `first`, the others the two halves of `second`. Else it says where they are: bits 0-31 an index there, bits
 * 32-55 their number. Zero: no memory. */
typedef struct { uint64_t first, second; } gt_value;
#define GT_VALUE_IDS 0x00FFFFFF00FFFFFFull
/* A single id that is right for a whole pre-token but is not what merging makes of these bytes inside a longer one. */
#define GT_VALUE_WHOLE_ONLY (1ull << 31)
enum { GT_VALUE_INLINE = 4, GT_VALUE_SIDE = 0xFF, GT_VALUE_ARENA = 0xFE };
GT_INLINE unsigned gt_value_kind(uint64_t first) { return (unsigned)(first >> 56); }
GT_INLINE uint32_t gt_value_count(uint64_t first) { return (uint32_t)(first >> 32 & 0xFFFFFF); }
GT_INLINE int gt_value_whole_only(uint64_t first) { return GT_IGNORE_MERGES && gt_value_kind(first) == 1 && (first & GT_VALUE_WHOLE_ONLY); }
GT_INLINE uint64_t gt_value_first(unsigned kind, uint64_t high, uint64_t low) { return (uint64_t)kind << 56 | high << 32 | low; }

typedef struct { uint64_t key, first; } gt_hot_slot;
typedef struct { uint64_t lo, hi; gt_value value; } gt_word_slot; /* value.first 0: empty */
typedef struct { uint64_t hash; uint32_t at, length; } gt_long_slot; /* length 0: empty */
#define GT_SEEN_ONCE 0xFFFFFFFFu /* `at` of a long word that came once: nothing is kept of it yet */

#define GT_PART_BITS 13 /* 256 KiB */
#define GT_RECENT_BITS 10
/* GT_WORD_BITS_FIRST is a constant of the module: `words` begins with the contents of gt_words_first and grows */
#define GT_WORD_BITS_LAST 19  /* 16 MiB */
#define GT_LONG_BITS_FIRST 12 /* 64 KiB */
#define GT_LONG_BITS_LAST 18  /* 4 MiB */
#define GT_ARENA_FIRST (1u << 14) /* entries of 4 bytes: 64 KiB */
#ifndef GT_ARENA_LAST /* a test makes it small */
#define GT_ARENA_LAST (3u << 20) /* 12 MiB */
#endif
#define GT_ARENA_BYTES(entries) (((entries) + 4) * sizeof(uint32_t)) /* ids are copied four at a time */
#define GT_SCRATCH_KEPT ((size_t)4 << 20)
#define GT_LONG_KEY (~1ull) /* no text has 0xFE, no padded key ends like this: upper half of the key of a word too long for one (the lower half is its hash, not 0) */

/* At most so many ids come of `bytes` bytes in `pieces` pieces: a mark that is put before a piece can be an id of its own. */
#define GT_MOST_IDS(bytes, pieces) ((bytes) + GT_MARKED_PIECES * (pieces))
#define GT_SIDE (GT_MOST_IDS(GT_CHUNK, GT_CHUNK) + GT_LONG_WORD + 64) /* ids of one batch, or of one long word, that are kept nowhere */
#define GT_MERGED (GT_MOST_IDS(GT_CHUNK, GT_CHUNK) + 64) /* ids of the pieces of one batch that are merged */

/* A piece that missed the hot table: its number, key (or hash, if it is longer than 16 bytes) and line in `words`. */
typedef struct {
  uint64_t lo, hi;
  uint32_t index, line;
} gt_miss;

/* Words being learnt (see learn.h): stretches [first, end), or, with `end` 0, the piece `first` that is merged. */
typedef struct {
  uint32_t miss, first, end;
} gt_new_word;
typedef struct {
  uint32_t at, length;
} gt_stretch;

/* A piece, and the new word of its batch that it is. */
typedef struct {
  uint32_t index, word;
} gt_again;

typedef struct gt_thread {
  gt_hot_slot *hot;
  gt_word_slot *words;
  gt_long_slot *longs;
  gt_word_slot *parts;
  uint8_t *grown; /* room for the largest tables and arena; NULL before the first of them grows */
  uint32_t *arena;
  unsigned word_bits, long_bits;
  size_t word_count, long_count, arena_used, arena_most; /* arena_most: used before it was emptied */
  gt_scratch merge, normalized;
  gt_scratch spare;    /* a text between two passes of the normalizer */
  gt_scratch prefixed; /* a stretch with a space before it, if GT_ADD_PREFIX_SPACE */
  gt_right_memo memo;
  uint32_t *ids; /* result of gt_encode_into */
  size_t id_capacity;
  struct gt_thread *next_free;
  uint16_t recent[1 << GT_RECENT_BITS]; /* numbers of the batch's new words, by their hashes */
  size_t uncut;                         /* pieces of the batch of so many bytes or fewer have no safe cuts that are worth it */
  /* one batch: the pieces of a chunk */
  uint32_t starts[GT_CHUNK + 128];
#if GT_REMOVES
  uint32_t stop_list[1 + GT_CHUNK + 128]; /* see GT_STOPS */
#endif
  gt_value values[GT_CHUNK + 16];
  uint32_t missed[GT_CHUNK + 128]; /* numbers of pieces */
  gt_miss misses[GT_CHUNK + 16];
  uint32_t side[GT_SIDE + GT_MERGED]; /* behind the batch's ids those of the pieces that are merged */
  size_t side_used, merged_used;
  uint8_t tail[GT_TAIL];
  gt_new_word new_words[GT_CHUNK + 16];
  gt_stretch stretches[GT_CHUNK + 16];
  gt_value part_values[GT_CHUNK + 16];
  gt_again again[GT_CHUNK + 16];
  gt_piece pieces[GT_CHUNK + 16];
  uint32_t new_count, again_count, stretch_count, piece_count;
} gt_thread;

/* Where piece i of the batch stops. Text that is removed lies between pieces; without it they tile the text. */
#if GT_REMOVES
#define GT_STOPS(t) ((t)->stop_list + 1) /* before them, the stop of a piece that began in an earlier chunk */
#define GT_PIECE_STOP(t, i) GT_STOPS(t)[i]
#else
#define GT_PIECE_STOP(t, i) (t)->starts[(i) + 1]
#endif

/* Memory that is a multiple of GT_HUGE and aligned to it; freed with free. */
static void *gt_aligned(size_t bytes) {
  void *p = NULL;
  if (posix_memalign(&p, GT_HUGE, bytes)) return NULL;
  gt_want_huge_pages(p, bytes);
  return p;
}

/* Zeroed memory, a multiple of GT_HUGE and aligned to it, of which the system gives what is touched; NULL if there is none. */
static void *gt_map(size_t bytes) {
  uint8_t *const p = mmap(NULL, bytes + GT_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return NULL;
  const size_t before = -(uintptr_t)p & (GT_HUGE - 1);
  if (before) munmap(p, before);
  if (before < GT_HUGE) munmap(p + before + bytes, GT_HUGE - before);
  gt_want_huge_pages(p + before, bytes);
  return p + before;
}

/* Growing list of ids. */
typedef struct {
  uint32_t *p;
  size_t n, capacity;
} gt_ids;

/* Room for `more` ids past the end (and 8 beyond, since four are stored at a time); 0 when there is no memory. */
static int gt_ids_reserve(gt_ids *ids, size_t more) {
  if (GT_LIKELY(ids->capacity - ids->n >= more + 8 && ids->p)) return 1;
  size_t grown = ids->capacity + ids->capacity / 2;
  if (grown < ids->n + more + 8) grown = ids->n + more + 8;
  uint32_t *p;
  if (ids->n < ids->capacity / 2) { /* realloc would copy all of it, and touch what was never used */
    p = malloc(grown * sizeof *p);
    if (!p) return 0;
    if (ids->n) memcpy(p, ids->p, ids->n * sizeof *p);
    free(ids->p);
  } else {
    p = realloc(ids->p, grown * sizeof *p);
    if (!p) return 0;
  }
  gt_want_huge_pages(p, grown * sizeof *p);
  ids->p = p;
  ids->capacity = grown;
  return 1;
}

/* An arena that is full is emptied: long words are forgotten, and of the others those whose ids lie there. What stays in a line moves to
 * its front. */
static void gt_thread_empty_arena(gt_thread *t) {
  t->word_count = 0;
  for (gt_word_slot *line = t->words, *const end = t->words + ((size_t)1 << t->word_bits); line < end; line += 2) {
    const gt_word_slot slots[2] = {line[0], line[1]};
    memset(line, 0, sizeof slots);
    unsigned stay = 0;
    for (unsigned k = 0; k < 2; k++)
      if (slots[k].value.first && gt_value_kind(slots[k].value.first) != GT_VALUE_ARENA) line[stay++] = slots[k];
    t->word_count += stay;
  }
  memset(t->longs, 0, sizeof *t->longs << t->long_bits);
  t->long_count = 0;
  if (t->arena_most < t->arena_used) t->arena_most = t->arena_used;
  t->arena_used = 0;
}

/* What every batch goes through lies together, on one huge page: the state itself and the tables as they begin. What grows
 * moves to `grown`, the room of the largest, and goes on growing where it lies: its pages are touched once. */
#define GT_HOT_AT ((sizeof(gt_thread) + 4095) & ~(size_t)4095)
#define GT_WORDS_AT (GT_HOT_AT + (sizeof(gt_hot_slot) << GT_HOT_BITS))
#define GT_LONGS_AT (GT_WORDS_AT + (sizeof(gt_word_slot) << GT_WORD_BITS_FIRST))
#define GT_PARTS_AT (GT_LONGS_AT + (sizeof(gt_long_slot) << GT_LONG_BITS_FIRST))
#define GT_ARENA_AT (GT_PARTS_AT + (sizeof(gt_word_slot) << GT_PART_BITS))
#define GT_THREAD_BYTES ((GT_ARENA_AT + GT_ARENA_BYTES(GT_ARENA_FIRST) + GT_HUGE - 1) & ~(GT_HUGE - 1))
#define GT_GROWN_WORDS (sizeof(gt_word_slot) << GT_WORD_BITS_LAST)
#define GT_GROWN_TABLES (GT_GROWN_WORDS + (sizeof(gt_long_slot) << GT_LONG_BITS_LAST))
#define GT_GROWN_BYTES ((GT_GROWN_TABLES + GT_ARENA_BYTES(GT_ARENA_LAST) + GT_HUGE - 1) & ~(GT_HUGE - 1))

/* Where grown tables lie, words first, longs, then the arena; NULL if there is no memory. */
static uint8_t *gt_thread_grown(gt_thread *t) {
  if (!t->grown) t->grown = gt_map(GT_GROWN_BYTES);
  return t->grown;
}

static int gt_words_grown(const gt_thread *t) { return t->word_bits != GT_WORD_BITS_FIRST; }
static int gt_longs_grown(const gt_thread *t) { return t->long_bits != GT_LONG_BITS_FIRST; }
static int gt_arena_grown(const gt_thread *t) { return t->grown && t->arena == (uint32_t *)(t->grown + GT_GROWN_TABLES); }

static void gt_thread_free(gt_thread *t) {
  if (!t) return;
  if (t->grown) munmap(t->grown, GT_GROWN_BYTES);
  free(t->merge.memory);
  free(t->normalized.memory);
  free(t->spare.memory);
  free(t->prefixed.memory);
  free(t->memo.notes);
  free(t->ids);
  free(t);
}

static gt_thread *gt_thread_new(void) {
  uint8_t *const p = gt_aligned(GT_THREAD_BYTES); /* from malloc, so that a leak checker sees what the state points to */
  if (!p) return NULL;
  gt_thread *const t = (gt_thread *)p;
  memset(t, 0, offsetof(gt_thread, starts));
  memset(p + GT_LONGS_AT, 0, GT_PARTS_AT + (sizeof(gt_word_slot) << GT_PART_BITS) - GT_LONGS_AT);
  t->side_used = 0;
  t->word_bits = GT_WORD_BITS_FIRST;
  t->long_bits = GT_LONG_BITS_FIRST;
  t->hot = (gt_hot_slot *)(p + GT_HOT_AT);
  t->words = (gt_word_slot *)(p + GT_WORDS_AT);
  t->longs = (gt_long_slot *)(p + GT_LONGS_AT);
  t->parts = (gt_word_slot *)(p + GT_PARTS_AT);
  t->arena = (uint32_t *)(p + GT_ARENA_AT);
  memcpy(t->hot, gt_hot_first, sizeof *t->hot << GT_HOT_BITS);
  memcpy(t->words, gt_words_first, sizeof *t->words << GT_WORD_BITS_FIRST);
  t->word_count = GT_WORDS_FIRST_COUNT;
  return t;
}

/* ------------------------------------------------------------------ the calling thread's own
 * States of ended threads go to a free list, so that short-lived threads find warm caches. A fork copies them all:
 * nothing here is shared with another process or needs a lock that another thread might hold in the child, but for the
 * list's, which the child makes anew. */
static pthread_mutex_t gt_free_lock = PTHREAD_MUTEX_INITIALIZER;
static gt_thread *gt_free_threads;
static unsigned gt_free_count;
static pthread_key_t gt_thread_key;
static pthread_once_t gt_thread_once = PTHREAD_ONCE_INIT;
static __thread gt_thread *gt_own_thread;
enum { GT_FREE_LAST = 64 };

static void gt_thread_give(gt_thread *t) {
  pthread_mutex_lock(&gt_free_lock);
  const int keep = gt_free_count < GT_FREE_LAST;
  if (keep) {
    t->next_free = gt_free_threads;
    gt_free_threads = t;
    gt_free_count++;
  }
  pthread_mutex_unlock(&gt_free_lock);
  if (!keep) gt_thread_free(t);
}

static gt_thread *gt_thread_take(void) {
  pthread_mutex_lock(&gt_free_lock);
  gt_thread *t = gt_free_threads;
  if (t) {
    gt_free_threads = t->next_free;
    gt_free_count--;
  }
  pthread_mutex_unlock(&gt_free_lock);
  return t ? t : gt_thread_new();
}

static void gt_thread_ended(void *t) { gt_thread_give(t); }
static void gt_before_fork(void) { pthread_mutex_lock(&gt_free_lock); }
static void gt_after_fork(void) { pthread_mutex_unlock(&gt_free_lock); }
static void gt_thread_setup(void) {
  pthread_key_create(&gt_thread_key, gt_thread_ended);
  pthread_atfork(gt_before_fork, gt_after_fork, gt_after_fork);
}

GT_NOINLINE gt_thread *gt_thread_first(void) {
  pthread_once(&gt_thread_once, gt_thread_setup);
  gt_thread *t = gt_thread_take();
  if (t) {
    gt_own_thread = t;
    pthread_setspecific(gt_thread_key, t);
  }
  return t;
}

/* NULL when memory is out. */
static inline gt_thread *gt_thread_self(void) { return GT_LIKELY(gt_own_thread != NULL) ? gt_own_thread : gt_thread_first(); }

/* Give back what one huge pre-token or text took; scratch of a common size is kept. */
static void gt_thread_trim(gt_thread *t) {
  gt_scratch *const scratches[4] = {&t->merge, &t->normalized, &t->spare, &t->prefixed};
  for (unsigned i = 0; i < 4; i++) {
    if (GT_LIKELY(scratches[i]->capacity <= GT_SCRATCH_KEPT)) continue;
    free(scratches[i]->memory);
    *scratches[i] = (gt_scratch){0};
  }
}

static size_t gt_thread_size(const gt_thread *t) {
  const size_t arena = gt_arena_grown(t) ? GT_ARENA_BYTES(t->arena_most > t->arena_used ? t->arena_most : t->arena_used) : 0;
  return GT_THREAD_BYTES + (gt_words_grown(t) ? sizeof *t->words << t->word_bits : 0) +
         (gt_longs_grown(t) ? sizeof *t->longs << t->long_bits : 0) + arena + t->merge.capacity +
         t->normalized.capacity + t->spare.capacity + t->prefixed.capacity + t->memo.capacity * sizeof *t->memo.notes +
         t->id_capacity * 4;
}

#endif
