/* WordPiece of one pre-token: the longest entry that it begins with, then the longest that continues it, to its end. A
 * pre-token that no such entries cover, or that has too many characters, is one unknown word. WordLevel is this without
 * entries that continue.
 *
 * Entries that continue a word are spelled with a prefix, so they lie below one node of the trie: GT_CONTINUING_ROOT. Each
 * walk reads on as far as any entry goes, then the next one begins where the last entry ended; that is at most
 * GT_LONGEST_ENTRY bytes for each id. */
#ifndef GT_WORDPIECE_H
#define GT_WORDPIECE_H

/* 1 if the valid UTF-8 at p has more characters than a word may have. */
GT_INLINE int gt_too_long(const uint8_t *p, size_t n) {
  if (!GT_WORD_LIMITED || n <= GT_WORD_CHARACTERS) return 0;
  size_t characters = 0;
  for (size_t i = 0; i < n && characters <= GT_WORD_CHARACTERS; i++) characters += (p[i] & 0xC0) != 0x80;
  return characters > GT_WORD_CHARACTERS;
}

/* Ids of one pre-token. `out` has room for n ids, n >= 1; returns how many they are. No memory is taken. */
static inline size_t gt_merge(const uint8_t *p, size_t n, uint32_t *out, gt_scratch *scratch GT_UNUSED) {
  if (GT_LIKELY(!gt_too_long(p, n))) {
    uint32_t value = 0, root = GT_TRIE_ROOT;
    size_t count = 0;
    for (size_t at = 0, length; (length = gt_trie_walk_from(root, p + at, n - at, &value));) {
      out[count++] = value >> 1;
      at += length;
      if (at == n) return count;
      if (!GT_CONTINUING) break;
      root = GT_CONTINUING_ROOT;
    }
  }
  out[0] = GT_UNK_ID;
  return 1;
}

#endif
