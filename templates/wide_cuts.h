/* Long pieces are cut where no entry lies across, between characters of three bytes, before they are looked up: see
 * compiler/vocabulary/wide_cuts.py, which makes the tables and says why the ids are the same. What follows is what the kernels
 * share; places of pieces, with these cuts among them, are made by wide_cuts.inc.h. */
#ifndef GT_WIDE_CUTS_H
#define GT_WIDE_CUTS_H

/* Not where unknown characters have a say in their neighbours, nor where text between pieces is removed. */
#define GT_CUTS_WIDE (GT_WIDE_CUTS && !GT_REMOVES && !GT_MARKED_PIECES && !GT_MERGE_MISSING)

#if GT_CUTS_WIDE
#define GT_WIDE_LEFT 0x9E3779B1u /* multipliers of the hashes */
#define GT_WIDE_RIGHT 0x85EBCA77u
#define GT_WIDE_END 0xC2B2AE3Du
enum { GT_WIDE_PLACES = GT_WIDE_KEEPS ? 16 : 32 }; /* in a word of gt_wide_pairs: with a second bit for each where it is needed */

/* Masks of two blocks, so that a shift takes in the bits of the next one. */
typedef unsigned __int128 gt_mask128;
GT_INLINE gt_mask128 gt_two_blocks(uint64_t here, uint64_t next) { return (gt_mask128)next << 64 | here; }

/* Of the characters of three bytes that begin at todo[b] in each block, each with another one before it: at which there is a cut.
 * kept[b]: those that stay with the one before, and these two as they are (GT_WIDE_KEEPS). */
GT_INLINE void gt_wide_cuts_swar(const uint8_t *p, unsigned blocks, const uint64_t *todo, uint64_t *cuts, uint64_t *kept GT_UNUSED) {
  for (unsigned b = 0; b < blocks; b++) {
    uint64_t found = 0, stay GT_UNUSED = 0;
    for (uint64_t left_to_do = todo[b]; left_to_do; left_to_do &= left_to_do - 1) {
      const unsigned at = (unsigned)__builtin_ctzll(left_to_do);
      const uint64_t both = gt_load64(p + 64 * b + at - 3); /* six bytes of it */
      const uint32_t left = (uint32_t)both & 0xFFFFFF, right = (uint32_t)(both >> 24) & 0xFFFFFF;
      const uint32_t pair = (left * GT_WIDE_LEFT + right * GT_WIDE_RIGHT) >> (32 - GT_WIDE_PAIR_BITS);
      const uint32_t word = gt_wide_pairs[pair / GT_WIDE_PLACES] >> pair % GT_WIDE_PLACES;
#if GT_WIDE_HAS_ENDS
      const uint32_t end = ((uint32_t)(both >> 8) & 0xFFFFFF00) * GT_WIDE_END >> (32 - GT_WIDE_END_BITS);
      const uint64_t apart = ~(word | gt_wide_ends[end / 32] >> end % 32) & 1;
#else
      const uint64_t apart = ~word & 1;
#endif
      found |= apart << at;
#if GT_WIDE_KEEPS
      stay |= (uint64_t)(word >> GT_WIDE_PLACES & 1) << at;
#endif
    }
    cuts[b] = found;
#if GT_WIDE_KEEPS
    kept[b] |= stay;
#endif
  }
}
#endif

#endif
