/* A made-up core behind gigatok.h, for the tests of the Python side: the id of a byte is the byte.
 *
 * Added tokens: 0 "<|end|>" (id 256, special), 1 "<tool>" (id 257, not special). The post-processor puts 256 in front.
 * A pre-token is one character. Faults on purpose: WRONG_AT=n loses the boundary before a newline at byte n of a block of
 * 64; WRONG_ID gives 'q' the id of 'r' after an 'a'; CRASH aborts, and HANG does not return, at "\n1" in a text to encode.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "gigatok.h"
#include "fours.h" /* made by conftest.py: tables of pyfours.h */

enum { STUB_ADDED = 2, STUB_FIRST = 256 };
static const char *const added[STUB_ADDED] = {"<|end|>", "<tool>"};
static const char *stub_isa;

typedef struct gt_thread {
  uint32_t *ids;
  size_t capacity;
} gt_thread;

static _Thread_local gt_thread self;

static gt_thread *gt_thread_self(void) { return &self; }

int64_t gt_validate_utf8(const uint8_t *s, size_t n) {
  size_t i = 0;
  while (i < n) {
    uint8_t c = s[i];
    size_t k = c < 0x80 ? 1 : c < 0xC2 ? 0 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : c < 0xF5 ? 4 : 0;
    if (!k || i + k > n) return (int64_t)i;
    for (size_t j = 1; j < k; j++)
      if ((s[i + j] & 0xC0) != 0x80) return (int64_t)i;
    if ((c == 0xE0 && s[i + 1] < 0xA0) || (c == 0xED && s[i + 1] >= 0xA0)) return (int64_t)i;
    if ((c == 0xF0 && s[i + 1] < 0x90) || (c == 0xF4 && s[i + 1] >= 0x90)) return (int64_t)i;
    i += k;
  }
  return -1;
}

/* Ids of one text into `ids` (room for length + 1). error[0] is the byte, error[1] the added token. */
static int64_t stub_encode(const uint8_t *text, size_t length, const gt_call *call, uint32_t *ids, int64_t error[2]) {
  error[0] = error[1] = -1;
  if (call->check_utf8 && (error[0] = gt_validate_utf8(text, length)) >= 0) return GT_BAD_UTF8;
  int64_t n = 0;
  if (call->add_special_tokens) ids[n++] = STUB_FIRST;
  for (size_t i = 0; i < length;) {
    size_t step = 1;
    uint32_t id = text[i];
    for (int a = 0; a < STUB_ADDED; a++) {
      size_t k = strlen(added[a]);
      if (k > length - i || memcmp(text + i, added[a], k) != 0) continue;
      int mode = call->added_modes ? call->added_modes[a] : GT_MATCH;
      if (mode == GT_ERROR) {
        error[0] = (int64_t)i;
        error[1] = a;
        return GT_SPECIAL_IN_TEXT;
      }
      if (mode == GT_MATCH) {
        id = (uint32_t)(STUB_FIRST + a);
        step = k;
      }
    }
#ifdef WRONG_ID
    if (id == 'q' && i && text[i - 1] == 'a') id = 'r';
#endif
#if defined(CRASH) || defined(HANG)
    while (id == '1' && i && text[i - 1] == '\n') {
#ifdef CRASH
      abort();
#endif
    }
#endif
    ids[n++] = id;
    i += step;
  }
  return n;
}

static int64_t gt_encode_into(gt_thread *t, const uint8_t *text, size_t length, const gt_call *call, uint32_t **ids) {
  if (t->capacity < length + 1) {
    uint32_t *more = realloc(t->ids, (length + 1) * sizeof *more);
    if (!more) return GT_NO_MEMORY;
    t->ids = more;
    t->capacity = length + 1;
  }
  int64_t error[2];
  *ids = t->ids;
  return stub_encode(text, length, call, t->ids, error);
}

int gt_encode_many(const uint8_t *const *texts, const size_t *lengths, int64_t n_texts, const gt_call *call, gt_output *out) {
  size_t total = 1;
  for (int64_t i = 0; i < n_texts; i++) total += lengths[i] + 1;
  memset(out, 0, sizeof *out);
  out->ids = malloc(total * sizeof *out->ids);
  out->offsets = malloc(((size_t)n_texts + 1) * sizeof *out->offsets);
  if (!out->ids || !out->offsets) {
    gt_output_free(out);
    return GT_NO_MEMORY;
  }
  out->n_texts = n_texts;
  out->offsets[0] = 0;
  for (int64_t i = 0; i < n_texts; i++) {
    int64_t error[2], n = stub_encode(texts[i], lengths[i], call, out->ids + out->n_ids, error);
    if (n < 0) {
      gt_output_free(out);
      out->error_text = i;
      out->error_byte = error[0];
      out->error_added = (int32_t)error[1];
      return (int)n;
    }
    out->offsets[i + 1] = out->n_ids += n;
  }
  return GT_OK;
}

int gt_encode_separated(const uint8_t *data, size_t length, const uint8_t *separator, size_t separator_length,
                        const gt_call *call, gt_output *out) {
  if (!separator_length) return gt_encode_many(&data, &length, 1, call, out);
  const uint8_t **texts = malloc((length + 1) * sizeof *texts);
  size_t *lengths = malloc((length + 1) * sizeof *lengths);
  int64_t n = 0;
  const uint8_t *at = data, *end = data + length;
  while (at < end) {
    const uint8_t *cut = memmem(at, (size_t)(end - at), separator, separator_length);
    texts[n] = at;
    lengths[n++] = (size_t)((cut ? cut : end) - at);
    at = cut ? cut + separator_length : end;
  }
  int status = gt_encode_many(texts, lengths, n, call, out);
  if (status < 0 && out->error_text >= 0 && out->error_byte >= 0) out->error_byte += texts[out->error_text] - data;
  free(texts);
  free(lengths);
  return status;
}

int64_t gt_count(const uint8_t *text, size_t length, const gt_call *call) {
  uint32_t *ids;
  return gt_encode_into(gt_thread_self(), text, length, call, &ids);
}

void gt_output_free(gt_output *out) {
  free(out->ids);
  free(out->offsets);
  free(out->type_ids);
  memset(out, 0, sizeof *out);
}

/* The core's side of decoding, a token at a time. */
enum { GT_NOT_ASCII = 1, GT_NOT_WHOLE = 2, GT_ABOVE_FF = 4, GT_ABOVE_FFFF = 8 };

typedef struct {
  const uint32_t *ids;
  int64_t n, at;
  uint32_t flags;
  size_t offset;
  int skip;
} gt_decoder;

static void gt_decode_begin(gt_decoder *d, const uint32_t *ids, int64_t n, int skip_special, int raw) {
  (void)raw;
  *d = (gt_decoder){ids, n, 0, 0, 0, skip_special};
}

static size_t gt_decode_some(gt_decoder *d, uint8_t *out, size_t capacity) {
  size_t total = 0;
  while (d->at < d->n && total < capacity) {
    int64_t length;
    const uint8_t *token = gt_token_bytes(d->ids[d->at], &length);
    if (!token || (d->skip && d->ids[d->at] == STUB_FIRST)) {
      d->at++;
      continue;
    }
    const uint8_t byte = token[d->offset];
    out[total++] = byte;
    if (byte >= 0x80) d->flags |= GT_NOT_ASCII | GT_NOT_WHOLE;
    if (byte >= 0xC4) d->flags |= GT_ABOVE_FF;
    if (byte >= 0xF0) d->flags |= GT_ABOVE_FFFF;
    if (++d->offset == (size_t)length) d->offset = 0, d->at++;
  }
  return total;
}

int64_t gt_decode(const uint32_t *ids, int64_t n_ids, int32_t skip_special, uint8_t *bytes, int64_t capacity) {
  int64_t n = 0;
  for (int64_t i = 0; i < n_ids; i++) {
    int64_t length;
    const uint8_t *token = gt_token_bytes(ids[i], &length);
    if (!token || (skip_special && ids[i] == STUB_FIRST)) continue;
    for (int64_t j = 0; j < length; j++, n++)
      if (n < capacity) bytes[n] = token[j];
  }
  return n;
}

const uint8_t *gt_token_bytes(uint32_t id, int64_t *length) {
  static uint8_t all[256];
  if (id >= STUB_FIRST + STUB_ADDED) return NULL;
  if (id >= STUB_FIRST) {
    *length = (int64_t)strlen(added[id - STUB_FIRST]);
    return (const uint8_t *)added[id - STUB_FIRST];
  }
  all[id] = (uint8_t)id;
  *length = 1;
  return all + id;
}

int64_t gt_token_id(const uint8_t *bytes, size_t length) {
  for (int a = 0; a < STUB_ADDED; a++)
    if (strlen(added[a]) == length && memcmp(added[a], bytes, length) == 0) return STUB_FIRST + a;
  return length == 1 ? bytes[0] : -1;
}

int64_t gt_boundaries(const uint8_t *text, size_t length, const char *isa, uint64_t *starts, uint64_t *stops, int64_t capacity) {
  int64_t n = 0;
  (void)isa;
  for (size_t i = 0; i < length; i++) {
    if ((text[i] & 0xC0) == 0x80) continue;
#ifdef WRONG_AT
    if (i % 64 == WRONG_AT && text[i] == '\n') continue;
#endif
    if (n < capacity) starts[n] = i;
    if (n < capacity) stops[n] = length;
    if (n > 0 && n <= capacity) stops[n - 1] = i;
    n++;
  }
  return n;
}

/* those that the transcoding of str looks at, and one that it does not know */
static const char *const stub_names[] = {"avx512", "avx2", "neon", "slow"};
static int stub_has(int k) {
#if defined(__x86_64__)
  return k == 0 ? __builtin_cpu_supports("avx512vbmi2") : k == 1 ? __builtin_cpu_supports("avx2") : k == 3;
#elif defined(__aarch64__)
  return k >= 2;
#else
  return k == 3;
#endif
}
const char *gt_isas(void) {
  static char names[32];
  if (!names[0])
    for (int k = 0; k < 4; k++)
      if (stub_has(k)) strcat(strcat(names, names[0] ? " " : ""), stub_names[k]);
  return names;
}
const char *gt_isa(void) {
  for (int k = 0; !stub_isa; k++)
    if (stub_has(k)) stub_isa = stub_names[k];
  return stub_isa;
}
int gt_set_isa(const char *name) {
  for (int k = 0; k < 4; k++)
    if (stub_has(k) && strcmp(name, stub_names[k]) == 0) {
      stub_isa = stub_names[k];
      return GT_OK;
    }
  return GT_BAD_ARGUMENT;
}
void gt_release_thread(void) {
  free(self.ids);
  self.ids = NULL;
  self.capacity = 0;
}
int64_t gt_thread_bytes(void) { return (int64_t)(self.capacity * sizeof(uint32_t)); }

/* one text: 256, the text; a pair: both texts */
#define GT_PAIRS 1
static const uint32_t gt_template_pieces[] = {0, 256, 0, 1, 0, 0, 1, 0, 0, 2, 0, 1, 1, 0, 0, 1, 0, 0, 2, 0, 1};
static const uint32_t gt_template_starts[] = {0, 2, 4, 5, 7};
#include "pairs.h"
#include "pycall.h"
