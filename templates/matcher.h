/* Matches of a regular expression for text: two automata, see compiler/normalizer/matcher.py.
 *
 * Between matches the finder leads from one character before which anything can happen to the next. What happens there may
 * depend on the text behind it: the right state after a character is known from the `ahead` characters after it, or (ahead 0)
 * only from the end of the text. Then it is followed once from there, noted every GT_MATCHER_CHUNK bytes, and followed again
 * chunk by chunk when it is asked for. A match that is its own replacement is no change, and most places that the finder finds
 * are settled by two characters (`pairs`).
 */
#ifndef GT_MATCHER_H
#define GT_MATCHER_H

#include "characters.h"

typedef struct {
  gt_finder finder;
  const uint16_t *blocks; /* row of `tags` of every 64 code points */
  const uint8_t *tags;
  const uint16_t *right, *symbols; /* [state after a character][its tag] */
  const uint16_t *left;            /* [state before a character][its symbol]: state after it << 3 | what happens before it */
  const uint8_t *end;              /* what happens at the end of the text, by state */
  const uint8_t *pairs;            /* [ASCII][ASCII after it]: GT_PAIR_CALM, GT_PAIR_ALONE, or unknown */
  uint32_t tag_count, symbol_count, ahead;
  uint32_t anchored;               /* matches begin nowhere but at the start of the text */
  const uint8_t *content;
  uint32_t content_length;
} gt_matcher;

enum { GT_MATCH_ENDS = 1, GT_MATCH_EMPTY = 2, GT_MATCH_BEGINS = 4, GT_BETWEEN_MATCHES = 1 };
enum { GT_MATCHER_CHUNK = 4096 };
/* Between matches, at a character before another: nothing changes; or it is a match by itself. The other one is between
 * matches either way. */
enum { GT_PAIR_CALM = 1, GT_PAIR_ALONE = 2 };

/* Right states from the end of the text. */
typedef struct {
  const gt_matcher *matcher;
  const uint8_t *begin, *end;
  uint16_t *notes;                      /* state at the first character at or after begin + i * GT_MATCHER_CHUNK */
  size_t chunk;                         /* that `states` holds, SIZE_MAX: none */
  uint16_t states[GT_MATCHER_CHUNK];    /* state before the character that begins at each byte */
} gt_right_states;

GT_INLINE unsigned gt_matcher_tag(const gt_matcher *m, const uint8_t *p, const uint8_t *end, unsigned *length) {
  const uint32_t c = gt_character_at(p, end, length);
  return m->tags[(size_t)m->blocks[c >> 6] * 64 + (c & 63)];
}

/* The state before the characters of [from, to), by that after them; into states[byte - from], if it is given. */
static unsigned gt_matcher_back(const gt_matcher *m, const uint8_t *from, const uint8_t *to, const uint8_t *end, unsigned right,
                                uint16_t *states) {
  for (const uint8_t *p = to; p > from;) {
    do p--;
    while (p > from && (*p & 0xC0) == 0x80);
    unsigned length;
    right = m->right[(size_t)right * m->tag_count + gt_matcher_tag(m, p, end, &length)];
    if (states) states[p - from] = (uint16_t)right;
  }
  return right;
}

/* Where the characters of a chunk begin. */
static const uint8_t *gt_matcher_chunk(const gt_right_states *r, size_t chunk) {
  if (chunk > (size_t)(r->end - r->begin) / GT_MATCHER_CHUNK) return r->end;
  const uint8_t *p = r->begin + chunk * GT_MATCHER_CHUNK;
  while (p < r->end && (*p & 0xC0) == 0x80) p++;
  return p;
}

/* The notes of [begin, end); 0 without memory. */
static int gt_right_states_begin(gt_right_states *r, const gt_matcher *m, const uint8_t *begin, const uint8_t *end) {
  const size_t chunks = (size_t)(end - begin) / GT_MATCHER_CHUNK + 2;
  r->matcher = m;
  r->begin = begin;
  r->end = end;
  r->chunk = SIZE_MAX;
  r->notes = NULL;
  if (!(r->notes = malloc(chunks * sizeof *r->notes))) return 0;
  r->notes[chunks - 1] = 0;
  for (size_t i = chunks - 1; i-- > 0;)
    r->notes[i] = (uint16_t)gt_matcher_back(m, gt_matcher_chunk(r, i), gt_matcher_chunk(r, i + 1), end, r->notes[i + 1], NULL);
  return 1;
}

/* The state before the character at p, or at the end of the text. */
static unsigned gt_right_state_at(gt_right_states *r, const uint8_t *p) {
  if (p >= r->end) return 0;
  const size_t chunk = (size_t)(p - r->begin) / GT_MATCHER_CHUNK;
  const uint8_t *const from = gt_matcher_chunk(r, chunk);
  if (p < from) return 0; /* inside a character: broken text only */
  if (chunk != r->chunk) {
    gt_matcher_back(r->matcher, from, gt_matcher_chunk(r, chunk + 1), r->end, r->notes[chunk + 1], r->states);
    r->chunk = chunk;
  }
  return r->states[p - from];
}

/* The state before the character at p, by the next few characters. */
GT_INLINE unsigned gt_right_state_near(const gt_matcher *m, const uint8_t *p, const uint8_t *end) {
  unsigned tags[4], count = 0, length, right = 0;
  for (; count < m->ahead && p < end; p += length) tags[count++] = gt_matcher_tag(m, p, end, &length);
  while (count) right = m->right[(size_t)right * m->tag_count + tags[--count]];
  return right;
}

/* A text whose matches are being replaced: clean from `done` on. */
typedef struct {
  gt_writer w;
  const uint8_t *done, *end;
  int changed;
} gt_replacing;

/* Put the content for [from, to); 0 without memory. */
static int gt_put_match(gt_replacing *r, const gt_matcher *m, const uint8_t *from, const uint8_t *to) {
  const size_t length = (size_t)(to - from);
  if (length == m->content_length && !memcmp(from, m->content, length)) return 1;
  if (!gt_writer_reserve(&r->w, (size_t)(from - r->done) + m->content_length)) return 0;
  gt_writer_copy(&r->w, r->done, from, r->end);
  memcpy(r->w.to, m->content, m->content_length);
  r->w.to += m->content_length;
  r->done = to;
  r->changed = 1;
  return 1;
}

GT_INLINE unsigned gt_matcher_pair(const gt_matcher *m, const uint8_t *p, const uint8_t *end) {
  return end - p >= 2 && (p[0] | p[1]) < 0x80 ? m->pairs[p[0] * 128 + p[1]] : 0;
}

/* The next place at or after p, between matches, where more than two characters tell what happens; `end` when there is none,
 * NULL without memory. Single characters that are matches are replaced on the way. */
static const uint8_t *gt_matcher_next(const gt_matcher *m, gt_replacing *r, gt_candidates *at, const uint8_t *p,
                                      const uint8_t *end) {
  const uint8_t *q = m->finder.leads[*p] ? p : gt_candidate(&m->finder, at, end);
  for (; q; q = gt_candidate(&m->finder, at, end)) {
    if (q < p || (*q & 0xC0) == 0x80) continue;
    const unsigned pair = gt_matcher_pair(m, q, end);
    if (!pair) return q;
    if (pair == GT_PAIR_ALONE && !gt_put_match(r, m, q, q + 1)) return NULL;
    p = q + 1;
  }
  return end;
}

/* All matches from r->done to the end; 0 without memory. */
static int gt_matcher_walk(const gt_matcher *m, gt_replacing *r, gt_right_states **far) {
  const uint8_t *const end = r->end, *p = r->done, *match = p;
  gt_candidates at = {p, p, 0};
  unsigned state = 0, length;
  while (p < end) {
    if (state == GT_BETWEEN_MATCHES && m->anchored) return 1;
    if (state == GT_BETWEEN_MATCHES) {
      const uint8_t *const next = gt_matcher_next(m, r, &at, p, end);
      if (!next) return 0;
      if ((p = next) >= end) break;
    }
    const unsigned tag = gt_matcher_tag(m, p, end, &length);
    unsigned right;
    if (m->ahead) {
      right = gt_right_state_near(m, p + length, end);
    } else {
      if (!*far && (!(*far = calloc(1, sizeof **far)) || !gt_right_states_begin(*far, m, p, end))) return 0;
      right = gt_right_state_at(*far, p + length);
    }
    const unsigned move = m->left[(size_t)state * m->symbol_count + m->symbols[(size_t)right * m->tag_count + tag]];
    if (move & (GT_MATCH_ENDS | GT_MATCH_EMPTY)) {
      if (!gt_put_match(r, m, move & GT_MATCH_EMPTY ? p : match, p)) return 0;
    }
    if (move & GT_MATCH_BEGINS) match = p;
    state = move >> 3;
    p += length;
  }
  if (m->end[state] & GT_MATCH_EMPTY) return gt_put_match(r, m, end, end);
  if (m->end[state] & GT_MATCH_ENDS) return gt_put_match(r, m, match, end);
  return 1;
}

GT_UNUSED static gt_outcome gt_replace_matches(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  const gt_matcher *const m = pass;
  const uint8_t *const end = p + n;
  uint64_t mask = 0;
  if (!n) return GT_SAME;
  if (!m->end[GT_BETWEEN_MATCHES] && gt_find(&m->finder, p, end, &mask) >= end) return GT_SAME;
  gt_replacing r = {{out, out->memory}, p, end, 0};
  gt_right_states *far = NULL;
  const int ok = gt_matcher_walk(m, &r, &far);
  if (far) free(far->notes);
  free(far);
  if (!ok) return GT_NORMALIZE_NO_MEMORY;
  if (!r.changed) return GT_SAME;
  return gt_writer_finish(r.w, r.done, end, length);
}

#endif
