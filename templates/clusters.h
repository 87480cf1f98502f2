/* Precompiled, as Hugging Face has it: text in grapheme clusters. One of several characters and less than six bytes is looked up
 * as a whole: if its first character is in the map, that character's text replaces all of it; else the shortest key that it
 * begins with does. Otherwise each character is looked up by itself.
 *
 * The finder looks for characters at which a lookup may hit: those of the map, and second ones of keys. Around such a place
 * clusters are found from the last point before it where one begins for certain (gt_grapheme_sure), never before what is
 * settled, so that no character is cut twice.
 *
 * Control characters but CR are clusters by themselves. Those that become one and the same ASCII character, as newlines and tabs
 * do, are not looked for but changed where clean text is copied (map.low, map.blanks; what else lies in that range is looked
 * for): text has many.
 */
#ifndef GT_CLUSTERS_H
#define GT_CLUSTERS_H

#include "characters.h"

typedef struct {
  gt_character_map map;   /* `ascii`, `prefix`, `count` and `rest` are not used */
  const uint64_t *keys;   /* length << 56 | bytes of keys longer than a character, open addressing; 0: empty */
  const uint64_t *values; /* place << 32 | length of the text */
  const uint8_t *texts;
  const uint32_t *seconds; /* ranges of characters that can be the second one of a key */
  uint32_t slots_log2, second_count;
} gt_cluster_map;

enum { GT_LONGEST_CLUSTER = 5, GT_CLUSTER_BEGINS = 0x80, GT_GRAPHEME_CLASSES = 17 };

GT_INLINE unsigned gt_grapheme_class(const uint8_t *p, const uint8_t *end, unsigned *length) {
  const uint32_t c = gt_character_at(p, end, length);
  return gt_grapheme_classes[(size_t)gt_grapheme_blocks[c >> 6] * 64 + (c & 63)];
}

/* The text of the key that is p[0..length), or NULL. */
static const uint8_t *gt_cluster_key(const gt_cluster_map *m, const uint8_t *p, unsigned length, size_t *text_length) {
  uint64_t key = (uint64_t)length << 56;
  for (unsigned i = 0; i < length; i++) key |= (uint64_t)p[i] << 8 * i;
  const size_t last = ((size_t)1 << m->slots_log2) - 1;
  for (size_t at = (size_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - m->slots_log2));; at = (at + 1) & last) {
    if (!m->keys[at]) return NULL;
    if (m->keys[at] != key) continue;
    *text_length = (size_t)(m->values[at] & 0xFFFFFFFF);
    return m->texts + (m->values[at] >> 32);
  }
}

/* Can the character at q be the second one of a key? */
static int gt_cluster_second(const gt_cluster_map *m, const uint8_t *q, const uint8_t *end) {
  unsigned length;
  const uint32_t c = gt_character_at(q, end, &length);
  uint32_t low = 0, high = m->second_count;
  while (low < high) { /* ranges [first, last] in order */
    const uint32_t middle = (low + high) / 2;
    if (c > m->seconds[2 * middle + 1]) low = middle + 1;
    else high = middle;
  }
  return low < m->second_count && c >= m->seconds[2 * low];
}

typedef struct {
  gt_writer w;
  const uint8_t *done; /* what follows is clean */
  int changed;
} gt_clustering;

GT_BYTE_LOOP(gt_any_in_range, int, (const uint8_t *p, size_t n, uint8_t first, uint8_t count), {
  uint8_t any = 0;
  for (size_t i = 0; i < n; i++) any |= (uint8_t)(p[i] - first) < count;
  return any;
})

/* Replace [from, to) by text `number` of the map. */
static int gt_put_cluster(gt_clustering *r, const gt_cluster_map *m, const uint8_t *from, const uint8_t *to, unsigned number,
                          const uint8_t *end) {
  const size_t room = (size_t)(from - r->done) + (m->map.starts[number + 1] - m->map.starts[number]) * (size_t)4;
  unsigned first;
  if (!gt_writer_reserve(&r->w, room)) return 0;
  gt_writer_clean(&r->w, &m->map, r->done, from, end);
  gt_character_at(from, end, &first);
  gt_writer_text(&r->w, &m->map, number, from, first);
  r->done = to;
  r->changed = 1;
  return 1;
}

/* One cluster; 0 without memory. */
static int gt_map_cluster(gt_clustering *r, const gt_cluster_map *m, const uint8_t *from, const uint8_t *to, const uint8_t *end) {
  unsigned length;
  unsigned number = gt_text_of(&m->map, gt_character_at(from, end, &length));
  if (to - from > (ptrdiff_t)length && to - from <= GT_LONGEST_CLUSTER) {
    if (number) return gt_put_cluster(r, m, from, to, number, end);
    for (unsigned size = 2; size <= (unsigned)(to - from); size++) {
      size_t text_length = 0;
      const uint8_t *const text = gt_cluster_key(m, from, size, &text_length);
      if (!text) continue;
      if (!gt_writer_reserve(&r->w, (size_t)(from - r->done) + text_length)) return 0;
      gt_writer_clean(&r->w, &m->map, r->done, from, end);
      memcpy(r->w.to, text, text_length);
      r->w.to += text_length;
      r->done = to;
      r->changed = 1;
      return 1;
    }
  }
  for (const uint8_t *p = from; p < to; p += length) {
    number = gt_text_of(&m->map, gt_character_at(p, end, &length));
    if (number && !gt_put_cluster(r, m, p, p + length, number, end)) return 0;
  }
  return 1;
}

GT_UNUSED static gt_outcome gt_map_clusters(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_cluster_map *const m = pass;
  const uint8_t *const end = p + n, *settled = p;
  gt_clustering r = {{out, out->memory}, p, 0};
  gt_candidates at = {p, p, 0};
  const uint8_t *q;
  while ((q = gt_candidate(&m->map.finder, &at, end))) {
    if (q < settled || (*q & 0xC0) == 0x80) continue;
    unsigned size;
    const uint8_t *from = q;
    if (*q >= 0x80 && !gt_text_of(&m->map, gt_character_at(q, end, &size)) && !gt_cluster_second(m, q, end)) continue;
    /* a character between two of ASCII is a cluster, but for CR LF */
    if (*q < 0x80 && (q == settled || (q[-1] < 0x80 && !(q[-1] == '\r' && *q == '\n'))) && q + 1 < end && q[1] < 0x80 &&
        !(*q == '\r' && q[1] == '\n')) {
      if (!gt_map_cluster(&r, m, q, q + 1, end)) return GT_NORMALIZE_NO_MEMORY;
      settled = q + 1;
      continue;
    }
    unsigned now = gt_grapheme_class(from, end, &size);
    while (from > settled) {
      const uint8_t *before = from;
      do before--;
      while (before > settled && (*before & 0xC0) == 0x80);
      const unsigned last = gt_grapheme_class(before, end, &size);
      if (gt_grapheme_sure[last * GT_GRAPHEME_CLASSES + now]) break;
      from = before;
      now = last;
    }
    /* clusters from there on, until the one with q is over */
    unsigned state = gt_grapheme_moves[gt_grapheme_class(from, end, &size)] & ~GT_CLUSTER_BEGINS;
    for (const uint8_t *to = from + size; settled <= q; to += size) {
      unsigned move = GT_CLUSTER_BEGINS;
      if (to < end) move = gt_grapheme_moves[state * GT_GRAPHEME_CLASSES + gt_grapheme_class(to, end, &size)];
      state = move & ~GT_CLUSTER_BEGINS;
      if (!(move & GT_CLUSTER_BEGINS)) continue;
      if (!gt_map_cluster(&r, m, from, to, end)) return GT_NORMALIZE_NO_MEMORY;
      settled = from = to;
    }
  }
  if (!r.changed && !(m->map.blanks && GT_BYTE_LOOP_CALL(gt_any_in_range, p, n, m->map.low, m->map.blanks))) return GT_SAME;
  return gt_writer_finish_clean(r.w, &m->map, r.done, end, length);
}

#endif
