/* Added tokens ("<|endoftext|>") in a text: leftmost, then longest, as the reference engine's Aho-Corasick finds them.
 *
 * Pass 0 looks for tokens with normalized=false in raw text, pass 1 for the others in the normalized text between them. A
 * cursor goes over one segment:
 *
 *     gt_added_cursor cursor;
 *     gt_added_match match;
 *     gt_added_begin(&cursor, begin, end);
 *     while (gt_added_next(&cursor, 0, modes, &match)) {
 *       plain text: [match.text, match.cut_start), often empty;  then the token match.id, unless match.mode is GT_ERROR
 *     }
 *     plain text: [cursor.text, end)
 *
 * Rules of the reference that are easy to get wrong, all measured:
 *   - a match that single_word rejects is used up: the search goes on after it, no shorter token is tried. So is a match of a
 *     token that is to be text (GT_AS_TEXT), except under tiktoken's rules, where such a token is not looked for at all
 *     (GT_ADDED_EXCLUSIVE) and a shorter one may be found instead;
 *   - lstrip takes whitespace before the token, but none that the token before took; rstrip takes whitespace after it, even
 *     where the next match begins in it: that match still counts, and the text goes on after *it*, so whitespace can come
 *     out twice;
 *   - a token left empty by that is dropped.
 *
 * Pass 2 is pass 0 without the tokens that the model makes just so (GT_ADDED_RUN, see compiler/vocabulary/run_tokens.py). They are
 * runs of one byte; what it looks for is a run of one byte more than the longest, of which that many are taken.
 *
 * The search never backs up over a match, whitespace is scanned once, and a failed candidate costs at most the longest token.
 * Text is well-formed UTF-8. Nothing outside [begin, end) is read.
 *
 * Tables (compiler/vocabulary/added_tokens.py): gt_added_ids, gt_added_flags, gt_added_words, and for P = 0, 1 gt_addedP_finder, _root,
 * _children, _labels, _tokens; GT_ADDED_COUNT, GT_ADDED_WORDS_COUNT, GT_ADDED_EXCLUSIVE, GT_ADDED_OVERLAP, GT_ADDED0_COUNT, GT_ADDED1_COUNT.
 */
#ifndef GT_ADDED_H
#define GT_ADDED_H

#include "gigatok.h"
#include "utf8.h"

enum { GT_ADDED_SINGLE_WORD = 1, GT_ADDED_LSTRIP = 2, GT_ADDED_RSTRIP = 4, GT_ADDED_SPECIAL = 8, GT_ADDED_RUN = 16 };

typedef struct {
  const uint8_t *text;                 /* plain text before the token begins here ... */
  const uint8_t *cut_start, *cut_stop; /* ... and ends here; the token with the whitespace it takes */
  const uint8_t *start, *stop;         /* its own bytes */
  int32_t index;                       /* which added token */
  uint32_t id;
  uint8_t mode; /* GT_MATCH or GT_ERROR */
} gt_added_match;

typedef struct {
  const uint8_t *begin, *end;
  const uint8_t *text;                       /* end of the last token, whitespace included: plain text goes on here */
  const uint8_t *resume;                     /* where the search goes on */
  const uint8_t *spaces_start, *spaces_stop; /* whitespace seen by rstrip, so that it is scanned only once */
} gt_added_cursor;

typedef struct {
  uint32_t count; /* tokens of the pass */
  const uint8_t *finder; /* six tables of 16 bytes; [96] 1: all tokens begin with the byte [97] */
  const uint32_t *root, *children;
  const uint8_t *labels;
  const int32_t *tokens;
} gt_added_set;

static const gt_added_set gt_added_sets[] = {
    {GT_ADDED0_COUNT, gt_added0_finder, gt_added0_root, gt_added0_children, gt_added0_labels, gt_added0_tokens},
    {GT_ADDED1_COUNT, gt_added1_finder, gt_added1_root, gt_added1_children, gt_added1_labels, gt_added1_tokens},
#if GT_ADDED_RUNS
    {GT_ADDED2_COUNT, gt_added2_finder, gt_added2_root, gt_added2_children, gt_added2_labels, gt_added2_tokens},
#endif
};

/* Which tokens the search sees: those whose mode is not `unseen`, or when `only` is set, those whose mode is just that. */
typedef struct {
  const uint8_t *modes; /* NULL: all */
  uint8_t mode;
  uint8_t only;
} gt_added_view;

/* The longest token seen that begins at p (p < end), or -1. */
static int32_t gt_added_walk(const gt_added_set *set, const gt_added_view *view, const uint8_t *p, const uint8_t *end,
                             const uint8_t **stop) {
  int32_t found = -1;
  uint32_t node = set->root[*p++];
  while (node) {
    int32_t token = set->tokens[node];
    if (token >= 0 && (!view->modes || (view->modes[token] == view->mode) == view->only)) {
      found = token;
      *stop = p;
    }
    if (p == end) break;
    uint32_t child = set->children[node], last = set->children[node + 1];
    uint8_t byte = *p++;
    node = 0;
    if (last - child > 8) { /* labels are sorted: halve */
      while (last - child > 1) {
        uint32_t middle = child + (last - child) / 2;
        if (set->labels[middle] <= byte)
          child = middle;
        else
          last = middle;
      }
      if (set->labels[child] == byte) node = child;
    } else {
      for (; child < last; child++)
        if (set->labels[child] == byte) node = child;
    }
  }
  return found;
}

typedef struct {
  const uint8_t *start, *stop;
  int32_t token; /* -1: none */
} gt_added_hit;

static gt_added_hit gt_added_find_portable(const gt_added_set *set, const gt_added_view *view, const uint8_t *p,
                                           const uint8_t *end) {
  gt_added_hit hit = {end, end, -1};
  const uint32_t *root = set->root;
  for (;;) {
    if (set->finder[96]) {
      if (p == end || !(p = memchr(p, set->finder[97], (size_t)(end - p)))) return hit;
    } else {
      while (end - p >= 4 && !(root[p[0]] | root[p[1]] | root[p[2]] | root[p[3]])) p += 4;
      while (p < end && !root[*p]) p++;
      if (p == end) return hit;
    }
    hit.token = gt_added_walk(set, view, p, end, &hit.stop);
    if (hit.token >= 0) {
      hit.start = p;
      return hit;
    }
    p++;
  }
}

#if GT_X86
#define GT_ADDED_LOOK(i) _mm_loadu_si128((const __m128i *)(const void *)(set->finder + (i)*16))

/* Where three bytes in a row all pass the lookups of one bucket, a token may begin ("Teddy", from Hyperscan). When all tokens
 * begin with the same byte, stretches without it are passed over first. The last bytes, too few for a step, are left to the
 * portable search. */
__attribute__((target("avx2"))) static gt_added_hit gt_added_find_avx2(const gt_added_set *set, const gt_added_view *view,
                                                                       const uint8_t *p, const uint8_t *end) {
  const __m256i half = _mm256_set1_epi8(0x0F), zero = _mm256_setzero_si256(), lone = _mm256_set1_epi8((char)set->finder[97]);
  __m256i look[6];
  for (int i = 0; i < 6; i++) look[i] = _mm256_broadcastsi128_si256(GT_ADDED_LOOK(i));
  while (end - p >= 34) {
    const uint8_t *stop = end - 34; /* the last place where a step can be made */
    if (set->finder[96]) {
      for (; end - p >= 128; p += 128) {
        __m256i any = zero;
#pragma GCC unroll 4
        for (int i = 0; i < 128; i += 32)
          any = _mm256_or_si256(any, _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *)(const void *)(p + i)), lone));
        if (_mm256_movemask_epi8(any)) break;
      }
      if (stop - p > 127) stop = p + 127;
    }
    for (; p <= stop; p += 32) {
      __m256i pass = _mm256_set1_epi8((char)0xFF);
#pragma GCC unroll 3
      for (int i = 0; i < 3; i++) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(p + i));
        __m256i low = _mm256_shuffle_epi8(look[2 * i], _mm256_and_si256(bytes, half));
        __m256i high = _mm256_shuffle_epi8(look[2 * i + 1], _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
        pass = _mm256_and_si256(pass, _mm256_and_si256(low, high));
      }
      uint32_t candidates = ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(pass, zero));
      for (; candidates; candidates &= candidates - 1) {
        gt_added_hit hit = {p + __builtin_ctz(candidates), end, -1};
        hit.token = gt_added_walk(set, view, hit.start, end, &hit.stop);
        if (hit.token >= 0) return hit;
      }
    }
  }
  return gt_added_find_portable(set, view, p, end);
}

/* The 64 bytes at p of which only `left` may be read; zeros for the others. */
__attribute__((target("avx512f,avx512bw"))) static inline __m512i gt_added_load(const uint8_t *p, size_t left) {
  return _mm512_maskz_loadu_epi8(left >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << left) - 1, p);
}

/* The same, 64 bytes a step; masked loads take the last bytes. */
__attribute__((target("avx512f,avx512bw"))) static gt_added_hit gt_added_find_avx512(const gt_added_set *set,
                                                                                    const gt_added_view *view,
                                                                                    const uint8_t *p, const uint8_t *end) {
  const __m512i half = _mm512_set1_epi8(0x0F), lone = _mm512_set1_epi8((char)set->finder[97]);
  gt_added_hit hit = {end, end, -1};
  __m512i look[6];
  for (int i = 0; i < 6; i++) look[i] = _mm512_broadcast_i32x4(GT_ADDED_LOOK(i));
  while (p < end) {
    const uint8_t *stop = end;
    if (set->finder[96]) {
      for (; end - p >= 256; p += 256) {
        __mmask64 any = 0;
#pragma GCC unroll 4
        for (int i = 0; i < 256; i += 64) any |= _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(p + i), lone);
        if (any) break;
      }
      if (end - p > 256) stop = p + 256;
    }
    for (; p < stop; p += 64) {
      size_t left = (size_t)(end - p);
      __m512i bytes[3];
      if (left >= 66) {
        for (int i = 0; i < 3; i++) bytes[i] = _mm512_loadu_si512(p + i);
      } else {
        bytes[0] = gt_added_load(p, left);
        bytes[1] = gt_added_load(p + 1, left - 1);
        bytes[2] = left < 2 ? _mm512_setzero_si512() : gt_added_load(p + 2, left - 2);
      }
      __m512i pass = _mm512_set1_epi8((char)0xFF);
#pragma GCC unroll 3
      for (int i = 0; i < 3; i++) {
        __m512i low = _mm512_shuffle_epi8(look[2 * i], _mm512_and_si512(bytes[i], half));
        __m512i high = _mm512_shuffle_epi8(look[2 * i + 1], _mm512_and_si512(_mm512_srli_epi16(bytes[i], 4), half));
        pass = _mm512_ternarylogic_epi64(pass, low, high, 0x80);
      }
      uint64_t candidates = _mm512_test_epi8_mask(pass, pass);
      if (left < 64) candidates &= ((uint64_t)1 << left) - 1;
      for (; candidates; candidates &= candidates - 1) {
        const uint8_t *start = p + __builtin_ctzll(candidates);
        hit.token = gt_added_walk(set, view, start, end, &hit.stop);
        if (hit.token >= 0) {
          hit.start = start;
          return hit;
        }
      }
      if (left <= 64) return hit;
    }
  }
  return hit;
}
#undef GT_ADDED_LOOK
#endif

#if GT_NEON
/* The same, 16 bytes a step. */
static gt_added_hit gt_added_find_neon(const gt_added_set *set, const gt_added_view *view, const uint8_t *p, const uint8_t *end) {
  const uint8x16_t half = vdupq_n_u8(0x0F), lone = vdupq_n_u8(set->finder[97]);
  uint8x16_t look[6];
  for (int i = 0; i < 6; i++) look[i] = vld1q_u8(set->finder + 16 * i);
  while (end - p >= 18) {
    const uint8_t *stop = end - 18; /* the last place where a step can be made */
    if (set->finder[96]) {
      for (; end - p >= 64; p += 64) {
        uint8x16_t any = vdupq_n_u8(0);
#pragma GCC unroll 4
        for (int i = 0; i < 64; i += 16) any = vorrq_u8(any, vceqq_u8(vld1q_u8(p + i), lone));
        if (vmaxvq_u8(any)) break;
      }
      if (stop - p > 63) stop = p + 63;
    }
    for (; p <= stop; p += 16) {
      uint8x16_t pass = vdupq_n_u8(0xFF);
#pragma GCC unroll 3
      for (int i = 0; i < 3; i++) {
        const uint8x16_t bytes = vld1q_u8(p + i);
        const uint8x16_t low = vqtbl1q_u8(look[2 * i], vandq_u8(bytes, half));
        pass = vandq_u8(pass, vandq_u8(low, vqtbl1q_u8(look[2 * i + 1], vshrq_n_u8(bytes, 4))));
      }
      uint64_t candidates = gt_nibbles_neon(vtstq_u8(pass, pass));
      for (; candidates; candidates &= candidates - 1) {
        gt_added_hit hit = {p + __builtin_ctzll(candidates) / 4, end, -1};
        hit.token = gt_added_walk(set, view, hit.start, end, &hit.stop);
        if (hit.token >= 0) return hit;
      }
    }
  }
  return gt_added_find_portable(set, view, p, end);
}
#endif

static inline gt_added_hit gt_added_find(const gt_added_set *set, const gt_added_view *view, const uint8_t *p,
                                         const uint8_t *end) {
#if GT_X86
  int level = GT_VECTOR_LEVEL;
  if (level >= 3) return gt_added_find_avx512(set, view, p, end);
  if (level >= 2) return gt_added_find_avx2(set, view, p, end);
#elif GT_NEON
  if (GT_VECTOR_LEVEL) return gt_added_find_neon(set, view, p, end);
#endif
  return gt_added_find_portable(set, view, p, end);
}

/* ---- whitespace (White_Space, 25 characters, as Rust's \s) and word characters ---- */

/* Bytes of the whitespace character at p, 0 if it is none. */
static inline unsigned gt_added_space(const uint8_t *p, const uint8_t *end) {
  if (p == end) return 0;
  if (*p < 0x80) return *p == ' ' || (*p >= 0x09 && *p <= 0x0D);
  if (*p == 0xC2) return end - p >= 2 && (p[1] == 0x85 || p[1] == 0xA0) ? 2 : 0;
  if (end - p < 3 || (*p & 0xF0) != 0xE0) return 0;
  uint32_t c = (uint32_t)(p[0] & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
  int is = (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000 || c == 0x1680;
  return is ? 3 : 0;
}

static const uint8_t *gt_added_skip_spaces(const uint8_t *p, const uint8_t *end) {
  for (unsigned length; (length = gt_added_space(p, end)); p += length) {
  }
  return p;
}

/* Start of the character that ends at p (begin < p). */
static inline const uint8_t *gt_added_before(const uint8_t *begin, const uint8_t *p) {
  do p--;
  while (p > begin && (*p & 0xC0) == 0x80);
  return p;
}

static const uint8_t *gt_added_skip_spaces_back(const uint8_t *begin, const uint8_t *p) {
  while (p > begin) {
    const uint8_t *before = gt_added_before(begin, p);
    if (!gt_added_space(before, p)) break;
    p = before;
  }
  return p;
}

/* Is the character at p (p < end) one of Rust's \w? */
static int gt_added_is_word(const uint8_t *p, const uint8_t *end) {
  uint32_t c = *p;
  unsigned length = gt_sequence_length(*p);
  if ((size_t)(end - p) < length) return 0;
  if (length == 2) c = (c & 0x1F) << 6 | (p[1] & 0x3F);
  if (length == 3) c = (c & 0x0F) << 12 | (uint32_t)(p[1] & 0x3F) << 6 | (p[2] & 0x3F);
  if (length == 4) c = (c & 7) << 18 | (uint32_t)(p[1] & 0x3F) << 12 | (uint32_t)(p[2] & 0x3F) << 6 | (p[3] & 0x3F);
  size_t low = 0, high = GT_ADDED_WORDS_COUNT; /* the last range that begins at or before c is in [low, high) */
  while (high - low > 1) {
    size_t middle = low + (high - low) / 2;
    if (gt_added_words[2 * middle] <= c)
      low = middle;
    else
      high = middle;
  }
  return high > low && gt_added_words[2 * low] <= c && c <= gt_added_words[2 * low + 1];
}

static int gt_added_stands_alone(const gt_added_cursor *cursor, const uint8_t *start, const uint8_t *stop) {
  if (start > cursor->begin && gt_added_is_word(gt_added_before(cursor->begin, start), start)) return 0;
  return stop == cursor->end || !gt_added_is_word(stop, cursor->end);
}

/* ---- the cursor ---- */

GT_UNUSED static inline void gt_added_begin(gt_added_cursor *cursor, const uint8_t *begin, const uint8_t *end) {
  *cursor = (gt_added_cursor){begin, end, begin, begin, begin, begin};
}

/* The pass to make over raw text: with all tokens if one of those that change nothing is not to match. */
GT_UNUSED static int gt_added_raw_pass(const uint8_t *modes) {
#if GT_ADDED_RUNS
  if (modes)
    for (size_t i = 0; i < GT_ADDED_COUNT; i++)
      if (gt_added_flags[i] & GT_ADDED_RUN && modes[i] != GT_MATCH) return 0;
  return 2;
#else
  (void)modes;
  return 0;
#endif
}

/* The next token of `pass` in 1, or 0 when there is none left. modes: GT_AS_TEXT, GT_MATCH or GT_ERROR for each added token of
 * the module; NULL: GT_MATCH. */
GT_UNUSED static int gt_added_next(gt_added_cursor *cursor, int pass, const uint8_t *modes, gt_added_match *match) {
  const gt_added_set *set = &gt_added_sets[pass];
  if (!set->count) return 0;
  const gt_added_view view = {GT_ADDED_EXCLUSIVE ? modes : NULL, GT_AS_TEXT, 0};
  while (cursor->resume < cursor->end) {
    gt_added_hit hit = gt_added_find(set, &view, cursor->resume, cursor->end);
    if (hit.token < 0) {
      cursor->resume = cursor->end;
      return 0;
    }
    if (GT_ADDED_RUNS && pass == 2 && gt_added_flags[hit.token] & GT_ADDED_RUN) hit.stop--;
    cursor->resume = hit.stop;
    uint8_t flags = gt_added_flags[hit.token], mode = modes ? modes[hit.token] : (uint8_t)GT_MATCH;
    if (mode == GT_AS_TEXT) continue;
    if (flags & GT_ADDED_SINGLE_WORD && !gt_added_stands_alone(cursor, hit.start, hit.stop)) continue;
    const uint8_t *cut_start = hit.start, *cut_stop = hit.stop;
    if (flags & GT_ADDED_LSTRIP)
      cut_start = cursor->text > hit.start ? cursor->text : gt_added_skip_spaces_back(cursor->text, hit.start);
    if (flags & GT_ADDED_RSTRIP) {
      if (!(cursor->spaces_start <= hit.stop && hit.stop <= cursor->spaces_stop)) {
        cursor->spaces_start = hit.stop;
        cursor->spaces_stop = gt_added_skip_spaces(hit.stop, cursor->end);
      }
      cut_stop = cursor->spaces_stop;
    }
    /* Nothing is left of a token that lies in whitespace another has taken. (Where it would be less than nothing the
     * reference panics; then the whitespace stays taken.) */
    if (cut_start >= cut_stop) continue;
    const uint8_t *text = cursor->text < cut_start ? cursor->text : cut_start;
    *match = (gt_added_match){text, cut_start, cut_stop, hit.start, hit.stop, hit.token, gt_added_ids[hit.token], mode};
    cursor->text = cut_stop;
    return 1;
  }
  return 0;
}

/* The first token with mode GT_ERROR in [begin, end) whatever else it shares bytes with, as tiktoken looks for specials that are
 * not allowed before it encodes. Only start, stop, index, id and mode of *match are set. gt_added_next finds the same ones unless
 * tokens can overlap, so only a module with GT_ADDED_OVERLAP && GT_ADDED_EXCLUSIVE has to call it. */
GT_UNUSED static int gt_added_forbidden(const uint8_t *begin, const uint8_t *end, int pass, const uint8_t *modes,
                                        gt_added_match *match) {
  const gt_added_set *set = &gt_added_sets[pass];
  if (!set->count || !modes || begin == end) return 0;
  const gt_added_view view = {modes, GT_ERROR, 1};
  gt_added_hit hit = gt_added_find(set, &view, begin, end);
  if (hit.token < 0) return 0;
  match->start = hit.start;
  match->stop = hit.stop;
  match->index = hit.token;
  match->id = gt_added_ids[hit.token];
  match->mode = GT_ERROR;
  return 1;
}

#endif
