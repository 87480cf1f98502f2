/* The per-ISA vocabulary (see isa_swar.h) for NEON, which every aarch64 has: 64 bytes in four registers. */

/* Which bits of a byte are set, from the lowest on, a byte each: what the last ones are does not matter. */
#define GT_NTH(m, k) ((uint64_t)((m) >> (k) & 1) * (k) << 8 * __builtin_popcount((m) & ((1u << (k)) - 1)))
#define GT_SET(m) (GT_NTH(m, 1) | GT_NTH(m, 2) | GT_NTH(m, 3) | GT_NTH(m, 4) | GT_NTH(m, 5) | GT_NTH(m, 6) | GT_NTH(m, 7))
#define GT_SET_4(m) GT_SET(m), GT_SET((m) + 1), GT_SET((m) + 2), GT_SET((m) + 3)
#define GT_SET_16(m) GT_SET_4(m), GT_SET_4((m) + 4), GT_SET_4((m) + 8), GT_SET_4((m) + 12)
#define GT_SET_64(m) GT_SET_16(m), GT_SET_16((m) + 16), GT_SET_16((m) + 32), GT_SET_16((m) + 48)
static const uint64_t gt_set_bits[256] __attribute__((aligned(64))) = {
  GT_SET_64(0u), GT_SET_64(64u), GT_SET_64(128u), GT_SET_64(192u)};

/* One bit a byte, of bytes that are 0 or 0xFF. */
GT_INLINE uint64_t gt_mask_neon(uint8x16_t a, uint8x16_t b, uint8x16_t c, uint8x16_t d) {
  const uint8x16_t place = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
  const uint8x16_t ab = vpaddq_u8(vandq_u8(a, place), vandq_u8(b, place));
  const uint8x16_t cd = vpaddq_u8(vandq_u8(c, place), vandq_u8(d, place));
  const uint8x16_t all = vpaddq_u8(ab, cd);
  return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(all, all)), 0);
}

/* Tags of the characters at `todo`, whose lead bytes do not say them (GT_TAG_MIXED), into the 64 at `tags`. Characters that
 * begin alike have theirs in one row of 64, by the six bits of the byte that follows: of gt_pair_tags, where the second byte
 * of three says it, or of gt_tag_blocks, by the last byte. All that a row holds are looked up at once, as long as many are
 * left and that turns out to be more than one. */
GT_NOINLINE void gt_mixed_tags_neon(const uint8_t *p, uint8_t *tags, uint64_t todo) {
  for (uint64_t settled = ~0ull; __builtin_popcountll(todo) > 8 && settled & (settled - 1); todo &= ~settled) {
    const uint8_t *const c = p + __builtin_ctzll(todo);
    unsigned alike = gt_sequence_length(*c) - 1; /* bytes that have to be the same */
    const uint8_t *row = gt_pair_tags + 64 * (*c & 0x0F);
    if (alike == 2 && row[c[1] & 0x3F] != GT_TAG_MIXED) {
      alike = 1;
    } else {
      uint32_t low;
      row = gt_tag_blocks + 64u * gt_tag_block_of[gt_code_point_block(c, &low)];
    }
    const uint8x16x4_t entries = vld1q_u8_x4(row);
    uint8x16_t known[4];
    for (unsigned i = 0; i < 4; i++) {
      uint8x16_t same = vceqq_u8(vld1q_u8(p + 16 * i), vdupq_n_u8(c[0]));
      if (alike > 1) same = vandq_u8(same, vceqq_u8(vld1q_u8(p + 16 * i + 1), vdupq_n_u8(c[1])));
      if (alike > 2) same = vandq_u8(same, vceqq_u8(vld1q_u8(p + 16 * i + 2), vdupq_n_u8(c[2])));
      const uint8x16_t found = vqtbl4q_u8(entries, vandq_u8(vld1q_u8(p + 16 * i + alike), vdupq_n_u8(0x3F)));
      known[i] = vbicq_u8(same, vceqq_u8(found, vdupq_n_u8(GT_TAG_MIXED)));
      vst1q_u8(tags + 16 * i, vbslq_u8(known[i], found, vld1q_u8(tags + 16 * i)));
    }
    settled = gt_mask_neon(known[0], known[1], known[2], known[3]);
  }
  for (; todo; todo &= todo - 1) {
    const unsigned at = (unsigned)__builtin_ctzll(todo);
    tags[at] = gt_wide_tag(p + at);
  }
}

/* The bytes whose bits are set, one after the other: in groups of eight, whose places the counts of bits add up to. */
GT_INLINE uint8_t *gt_compress_neon(uint8x16x4_t bytes, uint64_t keep, uint8_t *out) {
  const uint64_t counts = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(keep))), 0);
  const uint64_t after = counts * 0x0101010101010101ull; /* byte w: bits in groups 0 to w */
#pragma GCC unroll 4
  for (unsigned i = 0; i < 4; i++) {
    const uint8x8_t first = vcreate_u8(gt_set_bits[keep >> 16 * i & 0xFF]);
    const uint8x8_t second = vcreate_u8(gt_set_bits[keep >> (16 * i + 8) & 0xFF]);
    vst1_u8(out + (i ? after >> (16 * i - 8) & 0xFF : 0), vqtbl1_u8(bytes.val[i], first));
    vst1_u8(out + (after >> 16 * i & 0xFF), vqtbl1_u8(bytes.val[i], vadd_u8(second, vdup_n_u8(8))));
  }
  return out + (after >> 56);
}

GT_INLINE unsigned gt_classify_neon(const uint8_t *p, unsigned n, uint8_t *tags, uint64_t *leads) {
  uint8_t *out = tags;
  /* 64 entries in four registers; an index past them gives zero, or with a `tbx` leaves what was there */
  const uint8x16x4_t low = vld1q_u8_x4(gt_ascii_tags), high = vld1q_u8_x4(gt_ascii_tags + 64);
  for (unsigned b = 0; 64 * b < n; b++) {
    const uint8_t *const block = p + 64 * b;
    const unsigned here = n - 64 * b < 64 ? n - 64 * b : 64;
    const uint64_t inside = ~0ull >> (64 - here);
    const uint8x16x4_t bytes = vld1q_u8_x4(block);
    uint8x16x4_t found;
    for (unsigned i = 0; i < 4; i++)
      found.val[i] = vqtbx4q_u8(vqtbl4q_u8(low, bytes.val[i]), high, veorq_u8(bytes.val[i], vdupq_n_u8(0x40)));
    const uint8x16_t any = vorrq_u8(vorrq_u8(bytes.val[0], bytes.val[1]), vorrq_u8(bytes.val[2], bytes.val[3]));
    if (GT_LIKELY(vmaxvq_u8(any) < 0x80)) {
      vst1q_u8_x4(out, found);
      leads[b] = inside;
      out += here;
      continue;
    }
    const uint8x16x4_t of_lead = vld1q_u8_x4(gt_lead_tags);
    uint8x16_t lead[4], mixed[4];
    for (unsigned i = 0; i < 4; i++) {
      found.val[i] = vqtbx4q_u8(found.val[i], of_lead, veorq_u8(bytes.val[i], vdupq_n_u8(0xC0)));
      lead[i] = vcgeq_s8(vreinterpretq_s8_u8(bytes.val[i]), vdupq_n_s8(-64)); /* 10xxxxxx is below, signed */
      mixed[i] = vceqq_u8(found.val[i], vdupq_n_u8(GT_TAG_MIXED));
    }
    const uint64_t here_leads GT_UNUSED = gt_mask_neon(lead[0], lead[1], lead[2], lead[3]) & inside;
    const uint64_t todo = gt_mask_neon(mixed[0], mixed[1], mixed[2], mixed[3]) & inside;
    if (todo) {
      uint8_t all[64] __attribute__((aligned(64)));
      vst1q_u8_x4(all, found);
      gt_mixed_tags_neon(block, all, todo);
      found = vld1q_u8_x4(all);
    }
#if GT_BYTES
    const uint8x16x4_t of_continuation = vld1q_u8_x4(gt_continuation_tags);
    for (unsigned i = 0; i < 4; i++)
      found.val[i] = vqtbx4q_u8(found.val[i], of_continuation, veorq_u8(bytes.val[i], vdupq_n_u8(0x80)));
    vst1q_u8_x4(out, found);
    leads[b] = inside;
    out += here;
#else
    leads[b] = here_leads;
    out = gt_compress_neon(found, here_leads, out);
#endif
  }
  return (unsigned)(out - tags);
}

GT_INLINE uint32_t *gt_flatten_neon(uint64_t mask, uint32_t base, uint32_t *out) {
  const uint64_t counts = vget_lane_u64(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(mask))), 0);
  const uint64_t after = counts * 0x0101010101010101ull; /* byte w: bits in bytes 0 to w */
  uint32_t *const end = out + (after >> 56);
  if (after >> 56 <= 8) { /* one by one takes less; eight whatever their number */
    uint64_t left; /* the lowest bit is the highest here, where `clz` finds it */
    __asm__("rbit %0, %1" : "=r"(left) : "r"(mask));
#pragma GCC unroll 8
    for (unsigned i = 0; i < 8; i++) {
      const unsigned at = left ? (unsigned)__builtin_clzll(left) : 64; /* as the instruction says */
      out[i] = base + at;
      left &= ~(1ull << 63 >> (at & 63));
    }
    return end;
  }
#pragma GCC unroll 8
  for (unsigned w = 0; w < 8; w++) {
    uint32_t *const to = out + (w ? after >> (8 * w - 8) & 0xFF : 0);
    const uint16x8_t at = vmovl_u8(vcreate_u8(gt_set_bits[mask >> 8 * w & 0xFF]));
    const uint32x4_t from = vdupq_n_u32(base + 8 * w);
    vst1q_u32(to, vaddw_u16(from, vget_low_u16(at)));
    vst1q_u32(to + 4, vaddw_high_u16(from, at));
  }
  return end;
}

#define gt_deposit_neon gt_deposit_swar
#define gt_push_zero_neon gt_push_zero_swar /* three instructions, as `eor`, `cmp`, `adc` would be */
#define gt_wide_cuts_neon gt_wide_cuts_swar

#if GT_BITSTREAM
/* gt_tag_codes; a look-up in one register takes one step, in four it takes up to four. */
GT_INLINE uint8x16_t gt_codes_neon(unsigned c, uint8x16_t tags) {
  const uint8_t *const codes = gt_tag_codes + 64 * c;
#if GT_TAGS <= 16
  return vqtbl1q_u8(vld1q_u8(codes), tags);
#elif GT_TAGS <= 32
  return vqtbl2q_u8(vld1q_u8_x2(codes), tags);
#else
  return vqtbl4q_u8(vld1q_u8_x4(codes), tags);
#endif
}

/* Bytes of a pair of registers as rows of bits: the columns with bit `s` set of one change places with those with bit `s`
 * clear of the other. `m` has the columns where it is clear. */
#define GT_SWAP(a, b, s, m)                                                        \
  do {                                                                             \
    const uint8x16_t old = a;                                                      \
    a = vbslq_u8(vdupq_n_u8(m), old, vshlq_n_u8(b, s));                            \
    b = vbslq_u8(vdupq_n_u8(m), vshrq_n_u8(old, s), b);                            \
  } while (0)

/* Eight classes at a time: 64 code bytes, tag by class, have to become eight masks, class by tag. The three bits of the class
 * are those of a bit's place in a byte; they change places with the lowest three of the tag's number. The load puts tag
 * 4i + j into byte i of register j, so two of these tell registers apart, and an exchange of bits between two registers is
 * all it takes. The third tells neighbouring bytes apart, until `uzp` sorts them into registers too; what is left in order
 * then are the masks. Per class that is three and a half instructions, where testing a bit and gathering it takes eleven. */
GT_INLINE uint8x16x4_t gt_class_bits_neon(unsigned c, uint8x16x4_t tags) {
  uint8x16_t v0 = gt_codes_neon(c, tags.val[0]), v1 = gt_codes_neon(c, tags.val[1]);
  uint8x16_t v2 = gt_codes_neon(c, tags.val[2]), v3 = gt_codes_neon(c, tags.val[3]);
  GT_SWAP(v0, v2, 2, 0x33);
  GT_SWAP(v1, v3, 2, 0x33);
  GT_SWAP(v0, v1, 1, 0x55);
  GT_SWAP(v2, v3, 1, 0x55);
  return (uint8x16x4_t){{v0, v1, v2, v3}};
}
#undef GT_SWAP

GT_INLINE void gt_class_masks_neon(const uint8_t *tags, uint64_t *masks) {
  const uint8x16x4_t of = vld4q_u8(tags);
  uint8_t *const out = (uint8_t *)masks;
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    const uint8x16x4_t v = gt_class_bits_neon(c, of);
    for (unsigned j = 0; j < 4; j += 2) {
      const uint8x16_t even = vuzp1q_u8(v.val[j], v.val[j + 1]), odd = vuzp2q_u8(v.val[j], v.val[j + 1]);
      vst1q_u8(out + 64 * c + 8 * j, vsliq_n_u8(even, odd, 4)); /* classes j and j + 1 */
      vst1q_u8(out + 64 * c + 8 * j + 32, vsriq_n_u8(odd, even, 4));
    }
  }
}

/* Words of two blocks. */
#define GT_LANES_neon 2
typedef uint64_t gt_word_neon __attribute__((vector_size(16)));

GT_INLINE gt_word_neon gt_on_neon(gt_word_neon x, gt_word_neon before) {
  const uint64x2_t lower = vextq_u64((uint64x2_t)before, (uint64x2_t)x, 1);
  return (gt_word_neon)vsliq_n_u64(vshrq_n_u64(lower, 63), (uint64x2_t)x, 1);
}
GT_INLINE gt_word_neon gt_back_neon(gt_word_neon x, gt_word_neon after) {
  const uint64x2_t upper = vextq_u64((uint64x2_t)x, (uint64x2_t)after, 1);
  return (gt_word_neon)vsriq_n_u64(vshlq_n_u64(upper, 63), (uint64x2_t)x, 1);
}
GT_INLINE int gt_any_neon(gt_word_neon x) { return vmaxvq_u32((uint32x4_t)x) != 0; }

/* MatchStar with a sum of 128 bits: the lower lane carries into the upper one. */
GT_INLINE gt_word_neon gt_run_on_neon(gt_word_neon in, gt_word_neon stay) {
  const uint64x2_t sum = (uint64x2_t)((in & stay) + stay);
  const uint64x2_t carry = vextq_u64(vdupq_n_u64(0), vcltq_u64(sum, (uint64x2_t)stay), 1); /* -1 where there is one */
  return (((gt_word_neon)vsubq_u64(sum, carry) ^ stay) | in) & stay;
}

/* As gt_class_masks for two blocks; the last step joins the blocks instead of two classes. */
GT_INLINE void gt_class_words_neon(const uint8_t *tags, gt_word_neon *words) {
  const uint8x16x4_t first = vld4q_u8(tags), second = vld4q_u8(tags + 64);
  for (unsigned c = 0; c < GT_CODE_BYTES; c++) {
    const uint8x16x4_t v = gt_class_bits_neon(c, first), w = gt_class_bits_neon(c, second);
    for (unsigned j = 0; j < 4; j++) {
      const uint8x16_t even = vuzp1q_u8(v.val[j], w.val[j]), odd = vuzp2q_u8(v.val[j], w.val[j]);
      words[8 * c + j] = (gt_word_neon)vsliq_n_u8(even, odd, 4);
      words[8 * c + j + 4] = (gt_word_neon)vsriq_n_u8(odd, even, 4);
    }
  }
}
#endif
