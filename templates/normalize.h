/* The normalization forms NFC, NFD, NFKC and NFKD, exactly as the reference engine does them (its tables are older than
 * today's Unicode). A gt_form says which one; what is said of NFC holds for the others, where nothing composes (NFD, NFKD) or
 * more is decomposed (NFKC, NFKD).
 *
 * Nearly all text is in NFC already, so the work is to be sure of that quickly (form_scan.h) and to touch only what may change:
 * the stretch from the inert character before such a place to the next one is normalized, the rest is copied.
 *
 * In NFKC much text has characters that are simply others in it: wide forms, a space that does not break. Such a character
 * (GT_NFC_SIMPLE) becomes text that neither composes nor moves, so where an inert or simple one follows it is put in place
 * without more ado.
 *
 * Tables (compiler/normalizer/tables.py): those of gt_form, and gt_nfc_pairs; GT_NFC_PAIR_SLOTS_LOG2.
 */
#ifndef GT_NORMALIZE_H
#define GT_NORMALIZE_H

#include "form_scan.h"

/* ---- the stretches that change: arrays of code point | flags << 24 (class rank, GT_NFC_MAYBE) ---- */

static inline unsigned gt_nfc_rank(uint32_t entry) { return entry >> 24 & GT_NFC_CLASS; }

/* Put the full decomposition of [p, end) in `to`; how many entries there are. With to NULL, count only. */
static size_t gt_nfc_split(const gt_form *form, const uint8_t *p, const uint8_t *end, uint32_t *to) {
  const uint32_t maybe = form->composes ? (uint32_t)GT_NFC_MAYBE << 24 : 0;
  size_t count = 0;
  while (p < end) {
    unsigned length;
    if (*p < 0x80) {
      if (to) to[count] = *p;
      count++;
      p++;
      continue;
    }
    uint32_t c = gt_nfc_decode(p, end, &length);
    p += length;
    const uint32_t *parts = gt_nfc_split_of(form, c);
    if (parts) {
      do {
        if (to) to[count] = *parts & 0x7FFFFFFF;
        count++;
      } while (!(*parts++ >> 31));
    } else if (c - GT_HANGUL_S < GT_HANGUL_NS) {
      uint32_t syllable = c - GT_HANGUL_S, tail = syllable % GT_HANGUL_NT;
      if (to) {
        to[count] = GT_HANGUL_L + syllable / (GT_HANGUL_NV * GT_HANGUL_NT);
        to[count + 1] = (GT_HANGUL_V + syllable / GT_HANGUL_NT % GT_HANGUL_NV) | maybe;
        if (tail) to[count + 2] = (GT_HANGUL_T + tail) | maybe;
      }
      count += tail ? 3 : 2;
    } else {
      if (to) to[count] = c | (uint32_t)gt_nfc_flags_of(form, c) << 24;
      count++;
    }
  }
  return count;
}

/* Sort a run of marks by class, stably: by insertion when it is short, else by counting (there are under 64 classes), so
 * that a megabyte of marks costs no more a mark than ten do. `spare` has room for n. */
static void gt_nfc_sort(uint32_t *marks, size_t n, uint32_t *spare) {
  if (n <= 24) {
    for (size_t i = 1; i < n; i++) {
      uint32_t mark = marks[i];
      size_t j = i;
      for (; j && gt_nfc_rank(marks[j - 1]) > gt_nfc_rank(mark); j--) marks[j] = marks[j - 1];
      marks[j] = mark;
    }
    return;
  }
  size_t start[65] = {0};
  for (size_t i = 0; i < n; i++) start[gt_nfc_rank(marks[i]) + 1]++;
  for (int k = 1; k < 65; k++) start[k] += start[k - 1];
  for (size_t i = 0; i < n; i++) spare[start[gt_nfc_rank(marks[i])]++] = marks[i];
  memcpy(marks, spare, n * sizeof *marks);
}

/* Sort every run of marks. */
static void gt_nfc_order(uint32_t *v, size_t n, uint32_t *spare) {
  for (size_t i = 0; i < n; i++) {
    size_t run = i;
    while (run < n && gt_nfc_rank(v[run])) run++;
    if (run - i > 1) gt_nfc_sort(v + i, run - i, spare);
    i = run;
  }
}

/* Compose in place; how many are left. */
static size_t gt_nfc_compose(uint32_t *v, size_t n) {
  size_t count = 0, starter = SIZE_MAX; /* SIZE_MAX: marks only so far */
  unsigned last = 0;                    /* class of what stands between the starter and here, 0: nothing */
  for (size_t i = 0; i < n; i++) {
    unsigned rank = gt_nfc_rank(v[i]);
    if (v[i] >> 24 & GT_NFC_MAYBE && starter != SIZE_MAX && (!last || last < rank)) {
      uint32_t composed = gt_nfc_pair(v[starter] & 0x1FFFFF, v[i] & 0x1FFFFF);
      if (composed) {
        v[starter] = composed;
        continue;
      }
    }
    if (!rank) starter = count;
    last = rank;
    v[count++] = v[i];
  }
  return count;
}

/* Where to stop normalizing a stretch that begins at `from`: before an inert character, and rather one that others follow, since
 * decomposed text has something to compose in every word. */
static const uint8_t *gt_nfc_stretch_end(const gt_form *form, const uint8_t *from, const uint8_t *issue, const uint8_t *end) {
  enum { CALM = 16, LONG = 1 << 16 };
  const uint8_t *p = issue, *stop = end;
  unsigned length, inert = 0; /* inert characters in a row before p, the first of them at `stop` */
  for (; p < end && inert < CALM; p += length) {
    if (gt_nfc_flags_of(form, gt_nfc_decode(p, end, &length))) {
      inert = 0;
      stop = end;
    } else if (inert++ == 0) {
      stop = p;
      if (p - from > LONG) break;
    }
  }
  return stop;
}

/* Simple characters from `issue` on, and only those, each put in place: where the first other character begins, or NULL if
 * it is not inert, so that nothing may be settled. Written is memory[*used..). */
static const uint8_t *gt_nfc_simple(const gt_form *form, const uint8_t *issue, const uint8_t *end, gt_scratch *out, size_t *used) {
  const uint8_t *p = issue;
  size_t at = *used;
  while (p < end) {
    unsigned length;
    const uint32_t c = gt_nfc_decode(p, end, &length);
    const unsigned flags = gt_nfc_flags_of(form, c);
    if (!flags) break;
    if (flags != GT_NFC_SIMPLE) { /* a mark may belong to the last of them: all but that one are settled */
      return NULL;
    }
    uint8_t *q = gt_scratch_reserve(out, at + length * (size_t)form->bytes + 4);
    if (!q) return NULL;
    q += at;
    const uint32_t *parts = gt_nfc_split_of(form, c);
    do q = gt_nfc_put(q, *parts & 0x1FFFFF);
    while (!(*parts++ >> 31));
    at = (size_t)(q - (uint8_t *)out->memory);
    p += length;
    if (p - issue > 256) break; /* settled so far: a simple character begins what follows */
  }
  *used = at;
  return p;
}

/* The normalized text of p[0..n) at out->memory; its length, or SIZE_MAX when there is no memory. The scratch holds the
 * text, at most form->bytes * n bytes, and behind it the stretch that is worked on: 8 bytes for a part of it. */
GT_UNUSED static size_t gt_nfc(const gt_form *form, const uint8_t *p, size_t n, gt_scratch *out) {
  const uint8_t *end = p + n;
  size_t used = 0;
  if (!gt_scratch_reserve(out, n + n / 8 + 64)) return SIZE_MAX;
  while (p < end) {
    unsigned first;
    const uint8_t *issue = gt_nfc_issue(form, p, end);
    if (issue && gt_nfc_flags_of(form, gt_nfc_decode(issue, end, &first)) == GT_NFC_SIMPLE) {
      /* what is before it is settled: a simple character composes with nothing there */
      size_t copied = (size_t)(issue - p), at = used + copied;
      uint8_t *memory = gt_scratch_reserve(out, at + 8);
      if (!memory) return SIZE_MAX;
      memcpy(memory + used, p, copied);
      const uint8_t *next = gt_nfc_simple(form, issue, end, out, &at);
      if (next) {
        p = next;
        used = at;
        continue;
      }
    }
    const uint8_t *from = issue ? gt_nfc_stretch_begin(form, p, issue) : end, *to = end;
    if (issue) to = gt_nfc_stretch_end(form, from, issue, end);
    size_t copied = (size_t)(from - p), length = (size_t)(to - from);
    size_t count = length <= 1 << 14 ? length * form->parts / 2 + 1 : gt_nfc_split(form, from, to, NULL);
    size_t room = 4 * count < form->bytes * length ? 4 * count : form->bytes * length;
    size_t work = (used + copied + room + 7) & ~(size_t)7;
    uint8_t *memory = gt_scratch_reserve(out, work + 8 * count);
    if (!memory) return SIZE_MAX;
    memcpy(memory + used, p, copied);
    uint32_t *v = (uint32_t *)(void *)(memory + work), *spare = v + count;
    count = gt_nfc_split(form, from, to, v);
    gt_nfc_order(v, count, spare);
    if (form->composes) count = gt_nfc_compose(v, count);
    uint8_t *q = memory + used + copied;
    for (size_t i = 0; i < count; i++) q = gt_nfc_put(q, v[i] & 0x1FFFFF);
    used = (size_t)(q - memory);
    p = to;
  }
  return used;
}

/* The pass of a form: see characters.h. */
GT_UNUSED static gt_outcome gt_normalize_form(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length) {
  if (!gt_nfc_issue(pass, p, p + n)) return GT_SAME;
  const size_t made = gt_nfc(pass, p, n, out);
  if (made == SIZE_MAX) return GT_NORMALIZE_NO_MEMORY;
  *length = made;
  return GT_CHANGED;
}

#endif
