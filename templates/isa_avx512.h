/* The per-ISA vocabulary (see isa_swar.h) for AVX-512 with VBMI2 and GFNI: 64 bytes in one register. */
/* One permute looks up all 128 ASCII entries; the index ignores bit 7. */
GT_INLINE __m512i gt_ascii_look_up_avx512(__m512i bytes) {
  return _mm512_permutex2var_epi8(_mm512_load_si512(gt_ascii_tags), bytes, _mm512_load_si512(gt_ascii_tags + 64));
}

/* Tags of characters of two bytes and more.
 *
 * Most lead bytes, and of the others most pairs of first and second byte, stand for code points of one tag alone, which one
 * permute looks up (gt_lead_tags, gt_pair_tags; GT_TAG_MIXED where it is not so). Of what is left a text has few *prefixes*,
 * the bytes but the last: the characters of a prefix take their tags from one row of gt_tag_blocks, permuted by the six bits
 * of the last byte. The rows used last are kept and tried on each block, which takes no branch; a new one takes the place of
 * the oldest. */
enum { GT_ROWS = 6 };
typedef struct {
  __m512i first[GT_ROWS], second[GT_ROWS], row[GT_ROWS]; /* the prefix's bytes, 64 times */
  unsigned next;
} gt_rows_avx512;

#define GT_ALL(byte) _mm512_set1_epi8((char)(byte))
GT_INLINE __m512i gt_tag_row_avx512(unsigned block) {
  return _mm512_load_si512(gt_tag_blocks + 64u * gt_tag_block_of[block]);
}

/* Of two bytes: `todo` where they begin. The prefix is one byte. */
GT_INLINE __m512i gt_two_bytes_avx512(const uint8_t *p, __m512i bytes, __m512i second, __m512i tags, uint64_t todo,
                                      gt_rows_avx512 *rows) {
#pragma GCC unroll 6
  for (unsigned k = 0; k < GT_ROWS; k++) {
    const uint64_t same = _mm512_cmpeq_epi8_mask(bytes, rows->first[k]);
    tags = _mm512_mask_permutexvar_epi8(tags, same, second, rows->row[k]);
  }
  while (GT_UNLIKELY(todo = _mm512_mask_cmpeq_epi8_mask(todo, tags, GT_ALL(GT_TAG_MIXED)))) {
    const uint8_t *const c = p + _tzcnt_u64(todo);
    const unsigned k = rows->next++ % GT_ROWS;
    rows->first[k] = GT_ALL(c[0]);
    rows->row[k] = gt_tag_row_avx512(c[0] & 0x1F);
    const uint64_t same = _mm512_mask_cmpeq_epi8_mask(todo, bytes, rows->first[k]);
    tags = _mm512_mask_permutexvar_epi8(tags, same, second, rows->row[k]);
  }
  return tags;
}

/* Of three bytes: a prefix of two. */
GT_INLINE __m512i gt_three_bytes_avx512(const uint8_t *p, __m512i bytes, __m512i second, __m512i tags, uint64_t todo,
                                        gt_rows_avx512 *rows) {
  const __m512i third = _mm512_loadu_si512(p + 2);
#pragma GCC unroll 6
  for (unsigned k = 0; k < GT_ROWS; k++) {
    uint64_t same = _mm512_cmpeq_epi8_mask(bytes, rows->first[k]);
    same = _mm512_mask_cmpeq_epi8_mask(same, second, rows->second[k]);
    tags = _mm512_mask_permutexvar_epi8(tags, same, third, rows->row[k]);
  }
  while (GT_UNLIKELY(todo = _mm512_mask_cmpeq_epi8_mask(todo, tags, GT_ALL(GT_TAG_MIXED)))) {
    const uint8_t *const c = p + _tzcnt_u64(todo);
    const unsigned k = rows->next++ % GT_ROWS;
    rows->first[k] = GT_ALL(c[0]);
    rows->second[k] = GT_ALL(c[1]);
    rows->row[k] = gt_tag_row_avx512((c[0] & 0x0Fu) << 6 | (c[1] & 0x3F));
    uint64_t same = _mm512_mask_cmpeq_epi8_mask(todo, bytes, rows->first[k]);
    same = _mm512_mask_cmpeq_epi8_mask(same, second, rows->second[k]);
    tags = _mm512_mask_permutexvar_epi8(tags, same, third, rows->row[k]);
  }
  return tags;
}

/* Of four bytes, which are rare: one prefix of three after the other. */
GT_NOINLINE __m512i gt_four_bytes_avx512(const uint8_t *p, __m512i bytes, __m512i second, __m512i tags, uint64_t todo) {
  const __m512i third = _mm512_loadu_si512(p + 2), fourth = _mm512_loadu_si512(p + 3);
  while (todo) {
    const uint8_t *const c = p + _tzcnt_u64(todo);
    uint64_t same = _mm512_mask_cmpeq_epi8_mask(todo, bytes, GT_ALL(c[0]));
    same = _mm512_mask_cmpeq_epi8_mask(_mm512_mask_cmpeq_epi8_mask(same, second, GT_ALL(c[1])), third, GT_ALL(c[2]));
    const unsigned block = (c[0] & 0x07u) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3F);
    tags = _mm512_mask_permutexvar_epi8(tags, same, fourth, gt_tag_row_avx512(block));
    todo &= ~same;
  }
  return tags;
}

/* Characters that begin at `wide`; `tags` has those of ASCII. */
GT_INLINE __m512i gt_wide_tags_avx512(const uint8_t *p, __m512i bytes, __m512i tags, uint64_t wide, gt_rows_avx512 *rows) {
  tags = _mm512_mask_permutexvar_epi8(tags, wide, bytes, _mm512_load_si512(gt_lead_tags));
  wide = _mm512_mask_cmpeq_epi8_mask(wide, tags, GT_ALL(GT_TAG_MIXED));
  if (wide == 0) return tags;
  const __m512i second = _mm512_loadu_si512(p + 1);
  const uint64_t two = _mm512_mask_cmplt_epu8_mask(wide, bytes, GT_ALL(0xE0));
  if (two) tags = gt_two_bytes_avx512(p, bytes, second, tags, two, &rows[0]);
  if (two == wide) return tags;
#pragma GCC unroll 16
  for (unsigned lead = 0; lead < 16; lead++)
    if (GT_MIXED_LEADS >> lead & 1) {
      const uint64_t same = _mm512_cmpeq_epi8_mask(bytes, GT_ALL(0xE0 | lead));
      tags = _mm512_mask_permutexvar_epi8(tags, same, second, _mm512_load_si512(gt_pair_tags + 64 * lead));
    }
  wide = _mm512_mask_cmpeq_epi8_mask(wide, tags, GT_ALL(GT_TAG_MIXED));
  if (wide == 0) return tags;
  const uint64_t three = _mm512_mask_cmplt_epu8_mask(wide, bytes, GT_ALL(0xF0));
  if (three) tags = gt_three_bytes_avx512(p, bytes, second, tags, three, &rows[1]);
  if (three != wide) tags = gt_four_bytes_avx512(p, bytes, second, tags, wide & ~three);
  return tags;
}

GT_INLINE unsigned gt_classify_avx512(const uint8_t *p, unsigned n, uint8_t *tags, uint64_t *leads) {
  uint8_t *out = tags;
  gt_rows_avx512 rows[2]; /* of two bytes, of three */
  int rows_ready = 0;
  for (unsigned b = 0; 64 * b < n; b++) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t inside = _bzhi_u64(~0ull, here);
    const __m512i bytes = _mm512_loadu_si512(block);
    const __m512i ascii = gt_ascii_look_up_avx512(bytes);
    const uint64_t non_ascii = _mm512_movepi8_mask(bytes) & inside;
    if (GT_LIKELY(non_ascii == 0)) {
      leads[b] = inside;
      _mm512_storeu_si512(out, ascii);
      out += here;
    } else {
      if (!rows_ready) {
        memset(rows, 0xFF, sizeof rows); /* no text has that byte */
        rows_ready = 1;
      }
      const uint64_t here_leads = _mm512_cmpge_epi8_mask(bytes, _mm512_set1_epi8(-64)) & inside; /* 10xxxxxx is below, signed */
      __m512i all = gt_wide_tags_avx512(block, bytes, ascii, non_ascii & here_leads, rows);
#if GT_BYTES
      all = _mm512_mask_permutexvar_epi8(all, non_ascii & ~here_leads, bytes, _mm512_load_si512(gt_continuation_tags));
      leads[b] = inside;
      _mm512_storeu_si512(out, all);
      out += here;
#else
      leads[b] = here_leads;
      _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(here_leads, all));
      out += __builtin_popcountll(here_leads);
#endif
    }
  }
  return (unsigned)(out - tags);
}

GT_INLINE uint32_t *gt_flatten_avx512(uint64_t mask, uint32_t base, uint32_t *out) {
  const __m512i iota = _mm512_load_si512(gt_iota);
  const __m512i at = _mm512_maskz_compress_epi8(mask, iota);
  const unsigned count = (unsigned)__builtin_popcountll(mask);
  const __m512i from = _mm512_set1_epi32((int)base);
  _mm512_storeu_si512(out, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(at))));
  if (GT_UNLIKELY(count > 16)) {
    _mm512_storeu_si512(out + 16, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 1))));
    _mm512_storeu_si512(out + 32, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 2))));
    _mm512_storeu_si512(out + 48, _mm512_add_epi32(from, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(at, 3))));
  }
  return out + count;
}

GT_INLINE uint64_t gt_deposit_avx512(uint64_t bits, uint64_t places) { return _pdep_u64(bits, places); }

/* Two instructions; gcc makes three or four of the portable version. */
GT_INLINE uint64_t gt_push_zero_avx512(uint64_t bits, uint64_t x) {
  __asm__("cmp $1, %1\n\tadc %0, %0" : "+r"(bits) : "r"(x) : "cc");
  return bits;
}

#if GT_BITSTREAM
/* Eight classes at a time: a permute turns tags to code bytes, bit k of which is class k. Then the 64 x 8 bits have to change
 * rows and columns. An affine transform of the identity by eight bytes transposes them as an 8 x 8 matrix of bits (with its
 * rows in reverse, so the tags are reversed in groups of eight beforehand); the last permute puts the bytes of a class side by
 * side. Per class that is half an instruction, where testing a bit and moving the mask takes two. */
GT_INLINE void gt_class_masks_avx512(const uint8_t *tags, uint64_t *masks) {
  const __m512i identity = _mm512_set1_epi64(0x8040201008040201);
  const __m512i here = _mm512_permutexvar_epi8(_mm512_load_si512(gt_reverse_eights), _mm512_load_si512(tags));
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    const __m512i codes = _mm512_permutexvar_epi8(here, _mm512_load_si512(gt_tag_codes + 64 * c));
    const __m512i bits = _mm512_gf2p8affine_epi64_epi8(identity, codes, 0);
    _mm512_store_si512(masks + 8 * c, _mm512_permutexvar_epi8(_mm512_load_si512(gt_transpose_bytes), bits));
  }
}

/* Words of eight blocks. */
#define GT_LANES_avx512 8
typedef uint64_t gt_word_avx512 __attribute__((vector_size(64)));

GT_INLINE gt_word_avx512 gt_on_avx512(gt_word_avx512 x, gt_word_avx512 before) {
  return (gt_word_avx512)_mm512_shldi_epi64((__m512i)x, _mm512_alignr_epi64((__m512i)x, (__m512i)before, 7), 1);
}
GT_INLINE gt_word_avx512 gt_back_avx512(gt_word_avx512 x, gt_word_avx512 after) {
  return (gt_word_avx512)_mm512_shrdi_epi64((__m512i)x, _mm512_alignr_epi64((__m512i)after, (__m512i)x, 1), 1);
}
GT_INLINE int gt_any_avx512(gt_word_avx512 x) { return _mm512_test_epi64_mask((__m512i)x, (__m512i)x) != 0; }

/* MatchStar with a 512-bit sum: lanes that overflow carry into the next, through lanes that are all ones. Adding the
 * overflows, moved on, to the lanes of ones makes one carry run through them, as in the sum itself. */
GT_INLINE gt_word_avx512 gt_run_on_avx512(gt_word_avx512 in, gt_word_avx512 stay) {
  const __m512i ones = _mm512_set1_epi64(-1);
  const __m512i sum = (__m512i)((in & stay) + stay);
  const unsigned over = _mm512_cmplt_epu64_mask(sum, (__m512i)stay), full = _mm512_cmpeq_epi64_mask(sum, ones);
  const gt_word_avx512 all = (gt_word_avx512)_mm512_mask_sub_epi64(sum, (__mmask8)((2 * over + full) ^ full), sum, ones);
  return ((all ^ stay) | in) & stay;
}

/* As gt_class_masks for eight blocks: word k of block b goes to lane b of word k, an 8 x 8 transposition in three rounds. */
GT_INLINE void gt_class_words_avx512(const uint8_t *tags, gt_word_avx512 *words) {
  const __m512i identity = _mm512_set1_epi64(0x8040201008040201), transpose = _mm512_load_si512(gt_transpose_bytes);
  __m512i here[8], m[8], t[8];
  for (unsigned b = 0; b < 8; b++)
    here[b] = _mm512_permutexvar_epi8(_mm512_load_si512(gt_reverse_eights), _mm512_load_si512(tags + 64 * b));
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    const __m512i table = _mm512_load_si512(gt_tag_codes + 64 * c);
    for (unsigned b = 0; b < 8; b++)
      m[b] = _mm512_permutexvar_epi8(transpose, _mm512_gf2p8affine_epi64_epi8(identity, _mm512_permutexvar_epi8(here[b], table), 0));
    for (unsigned b = 0; b < 8; b += 2) {
      t[b] = _mm512_unpacklo_epi64(m[b], m[b + 1]);
      t[b + 1] = _mm512_unpackhi_epi64(m[b], m[b + 1]);
    }
    for (unsigned b = 0; b < 8; b += 4)
      for (unsigned i = 0; i < 2; i++) {
        m[b + i] = _mm512_shuffle_i64x2(t[b + i], t[b + i + 2], 0x88);
        m[b + i + 2] = _mm512_shuffle_i64x2(t[b + i], t[b + i + 2], 0xDD);
      }
    for (unsigned i = 0; i < 4; i++) {
      _mm512_store_si512(words + 8 * c + (i & 1) + 2 * (i >> 1), _mm512_shuffle_i64x2(m[i], m[i + 4], 0x88));
      _mm512_store_si512(words + 8 * c + 4 + (i & 1) + 2 * (i >> 1), _mm512_shuffle_i64x2(m[i], m[i + 4], 0xDD));
    }
  }
}
#endif

#if GT_CUTS_WIDE
/* The words of a table at sixteen places, of which there are `in_word` in one, the place's bit moved to the lowest. */
GT_INLINE __m512i gt_bits_avx512(const uint32_t *table, __m512i place, unsigned in_word) {
  const __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(place, in_word == 16 ? 4 : 5), table, 4);
  return _mm512_srlv_epi32(words, _mm512_and_si512(place, _mm512_set1_epi32((int)in_word - 1)));
}

/* Where the tables answer for the characters at `todo` in one block, in order: as many, and up to 31 more that mean nothing. */
GT_INLINE void gt_wide_places_of_avx512(const uint8_t *block, uint64_t todo, uint32_t *pairs, uint32_t *ends GT_UNUSED) {
  /* the three bytes before the block are read only if they are of the chunk; a byte that the mask leaves out is not touched */
  const __m512i low = _mm512_maskz_loadu_epi8(todo & 7 ? ~0ull : ~7ull, block - 3);
  const __m512i high = _mm512_maskz_loadu_epi8(0x1F, block + 61);
  __m512i at = _mm512_maskz_compress_epi8(todo, _mm512_load_si512(gt_iota));
  const unsigned count = (unsigned)__builtin_popcountll(todo);
  for (unsigned done = 0; done < count; done += 16) {
    /* the bytes of the left character are at low[at], those of the right one three on */
    const __m512i first = _mm512_mullo_epi32(_mm512_cvtepu8_epi32(_mm512_castsi512_si128(at)), _mm512_set1_epi32(0x010101));
    const __m512i of_left = _mm512_add_epi8(first, _mm512_set1_epi32(0x020100));
    const __m512i of_right = _mm512_add_epi8(first, _mm512_set1_epi32(0x050403));
    const __mmask64 three = 0x7777777777777777;
    const __m512i left = _mm512_maskz_permutex2var_epi8(three, low, of_left, high);
    const __m512i right = _mm512_maskz_permutex2var_epi8(three, low, of_right, high);
    const __m512i mixed = _mm512_add_epi32(_mm512_mullo_epi32(left, _mm512_set1_epi32((int)GT_WIDE_LEFT)),
                                           _mm512_mullo_epi32(right, _mm512_set1_epi32((int)GT_WIDE_RIGHT)));
    _mm512_storeu_si512(pairs + done, _mm512_srli_epi32(mixed, 32 - GT_WIDE_PAIR_BITS));
#if GT_WIDE_HAS_ENDS
    const __m512i meet = _mm512_or_si512(_mm512_and_si512(_mm512_srli_epi32(left, 8), _mm512_set1_epi32(0xFF00)),
                                         _mm512_slli_epi32(right, 16));
    const __m512i end = _mm512_mullo_epi32(meet, _mm512_set1_epi32((int)GT_WIDE_END));
    _mm512_storeu_si512(ends + done, _mm512_srli_epi32(end, 32 - GT_WIDE_END_BITS));
#endif
    at = _mm512_castsi128_si512(_mm512_extracti32x4_epi32(at, 1));
  }
}

/* As gt_wide_cuts_swar. The tables are asked for sixteen characters at a time, of whatever blocks, since gathers take most of the time. */
GT_INLINE void gt_wide_cuts_avx512(const uint8_t *p, unsigned blocks, const uint64_t *todo, uint64_t *cuts, uint64_t *kept GT_UNUSED) {
  enum { MOST = GT_CHUNK / 3 + 1 };
  uint32_t pairs[MOST + 32], ends[MOST + 32];
  uint16_t apart[MOST / 16 + 8] = {0}; /* a bit a character, in order */
#if GT_WIDE_KEEPS
  uint16_t stay[MOST / 16 + 8] = {0};
#endif
  unsigned count = 0;
  for (unsigned b = 0; b < blocks; b++) {
    if (todo[b]) gt_wide_places_of_avx512(p + 64 * b, todo[b], pairs + count, ends + count);
    count += (unsigned)__builtin_popcountll(todo[b]);
  }
  _mm512_storeu_si512(pairs + count, _mm512_setzero_si512());
  _mm512_storeu_si512(ends + count, _mm512_setzero_si512());
  for (unsigned i = 0; i < count; i += 16) {
    const __m512i word = gt_bits_avx512(gt_wide_pairs, _mm512_loadu_si512(pairs + i), GT_WIDE_PLACES);
    __m512i joined = word;
#if GT_WIDE_HAS_ENDS
    joined = _mm512_or_si512(joined, gt_bits_avx512(gt_wide_ends, _mm512_loadu_si512(ends + i), 32));
#endif
    apart[i / 16] = _mm512_testn_epi32_mask(joined, _mm512_set1_epi32(1));
#if GT_WIDE_KEEPS
    stay[i / 16] = _mm512_test_epi32_mask(word, _mm512_set1_epi32(1 << GT_WIDE_PLACES));
#endif
  }
  for (unsigned b = 0, at = 0; b < blocks; b++) { /* at most 22 characters, so that the bits of a block are in one load */
    cuts[b] = _pdep_u64(gt_load64((const uint8_t *)apart + at / 8) >> at % 8, todo[b]);
#if GT_WIDE_KEEPS
    kept[b] |= _pdep_u64(gt_load64((const uint8_t *)stay + at / 8) >> at % 8, todo[b]);
#endif
    at += (unsigned)__builtin_popcountll(todo[b]);
  }
}
#endif
