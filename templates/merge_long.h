/* BPE of a word of any length. Included by merge.h, whose tokens and pairs it uses.
 *
 * Symbols are numbered by their first byte; leaves[i] is the key of the pair of symbol i and its right neighbour, as
 * merged number << 32 | i. Each level above holds the minima of eight below, so the root is the next pair to merge, and
 * a change costs eight comparisons a level. Nothing grows: 25.2 bytes of scratch a byte of input. */

#ifndef GT_MERGE_LONG_H
#define GT_MERGE_LONG_H

#define GT_TREE_LEVELS 12 /* 8^11 > 2^32 */

typedef struct {
  uint64_t *level[GT_TREE_LEVELS];
  unsigned top; /* level[top] is the root */
} gt_tree;

typedef struct {
  uint64_t token;
  uint32_t next, previous;
} gt_symbol;

GT_INLINE uint64_t gt_min8(const uint64_t *k) {
  return gt_min64(gt_min64(gt_min64(k[0], k[1]), gt_min64(k[2], k[3])), gt_min64(gt_min64(k[4], k[5]), gt_min64(k[6], k[7])));
}

static inline void gt_tree_set(gt_tree *tree, size_t i, uint64_t key) {
  tree->level[0][i] = key;
  for (unsigned l = 0; l < tree->top; l++) {
    i /= 8;
    const uint64_t best = gt_min8(tree->level[l] + 8 * i);
    if (tree->level[l + 1][i] == best) return;
    tree->level[l + 1][i] = best;
  }
}

GT_INLINE uint64_t gt_tree_key(uint64_t left, uint64_t right, size_t at) {
  const uint64_t key = gt_pair_key(left, right);
  return key < GT_NO_PAIR ? (key & GT_TOKEN_MASK) >> GT_NUMBER_SHIFT << 32 | at : ~0ull;
}

/* Any n; what is unknown is dropped, or the id that stands for that. SIZE_MAX if there is no memory, or 2^32 - 1 bytes or more. */
static size_t gt_merge_long(const uint8_t *p, size_t n, uint32_t *out, gt_scratch *scratch) {
  if (n >= UINT32_MAX) return SIZE_MAX;
  size_t sizes[GT_TREE_LEVELS], keys = 0;
  gt_tree tree = {.top = 0};
  for (size_t below = n;; below = (below + 7) / 8) {
    sizes[tree.top] = below == 1 ? 1 : (below + 7) / 8 * 8;
    keys += sizes[tree.top];
    if (below == 1) break;
    tree.top++;
  }
  uint64_t *const memory = gt_scratch_reserve(scratch, keys * 8 + n * 16);
  if (!memory) return SIZE_MAX;
  gt_symbol *const symbol = (gt_symbol *)(memory + keys);
  tree.level[0] = memory;
  for (unsigned l = 0; l < tree.top; l++) tree.level[l + 1] = tree.level[l] + sizes[l];

  /* the leaves are made of the symbols later: until then their memory holds the tokens */
  size_t count = GT_MERGE_MISSING ? gt_atoms_unknown(p, n, tree.level[0]) : gt_atoms(p, n, tree.level[0]);
  for (size_t i = 0; i < count; i++) {
    symbol[i] = (gt_symbol){tree.level[0][i], (uint32_t)i + 1, (uint32_t)i - 1};
  }
  const size_t symbols = count; /* `symbols` as a neighbour means the end */
  for (size_t i = 0; i < sizes[0]; i++) {
    tree.level[0][i] = i + 1 < symbols ? gt_tree_key(symbol[i].token, symbol[i + 1].token, i) : ~0ull;
  }
  for (unsigned l = 0; l < tree.top; l++) {
    for (size_t i = 0; i < sizes[l + 1]; i++) tree.level[l + 1][i] = i < sizes[l] / 8 ? gt_min8(tree.level[l] + 8 * i) : ~0ull;
  }
  for (;;) {
    const uint64_t best = tree.level[tree.top][0];
    if (best == ~0ull) break;
    const size_t at = (uint32_t)best, gone = symbol[at].next, after = symbol[gone].next;
    const uint64_t merged = gt_pair_key(symbol[at].token, symbol[gone].token) & GT_TOKEN_MASK;
    symbol[at].token = merged;
    symbol[at].next = (uint32_t)after;
    gt_tree_set(&tree, gone, ~0ull);
    if (after < symbols) {
      symbol[after].previous = (uint32_t)at;
      gt_tree_set(&tree, at, gt_tree_key(merged, symbol[after].token, at));
    } else {
      gt_tree_set(&tree, at, ~0ull);
    }
    if (at > 0) {
      const size_t before = symbol[at].previous;
      gt_tree_set(&tree, before, gt_tree_key(symbol[before].token, merged, before));
    }
    count--;
  }
  for (size_t i = 0, at = 0; i < count; i++) {
    out[i] = gt_token_id_of(symbol[at].token);
    at = symbol[at].next;
  }
  return count;
}

#endif
