/* The C interface of every module that gigatok-compile writes. Plain C; needs neither Python nor us.
 *
 * Text is UTF-8. `str` input is valid by construction; other input is checked first (gt_validate_utf8).
 * All functions are safe from any number of threads. Scratch memory belongs to the calling thread, is bounded,
 * and is only a cache.
 */
#ifndef GIGATOK_H
#define GIGATOK_H

#include <stddef.h>
#include <stdint.h>

/* Status codes; negative is failure. */
enum {
  GT_OK = 0,
  GT_NO_MEMORY = -1,
  GT_SPECIAL_IN_TEXT = -2, /* an added token with mode GT_ERROR occurs: output.error_* say where */
  GT_BAD_UTF8 = -3,        /* output.error_byte is the offset of the first bad byte */
  GT_BAD_ARGUMENT = -4,
  GT_NO_PAIRS = -5 /* the definition's way with a pair loses a text: output.error_text is the pair */
};

/* What to do with an added token found in the text, one byte an added token (in manifest order). */
enum { GT_AS_TEXT = 0, GT_MATCH = 1, GT_ERROR = 2 };

typedef struct {
  const uint8_t *added_modes; /* NULL: match all of them */
  int32_t add_special_tokens; /* the post-processor's prefix and suffix ids around every text */
  int32_t threads;            /* 0: as many as there are CPUs */
  int32_t check_utf8;         /* 1: validate the input first */
} gt_call;

/* Flat result of many texts. Free with gt_output_free. */
typedef struct {
  uint32_t *ids;    /* n_ids entries */
  int64_t *offsets; /* n_texts + 1 entries */
  int64_t n_ids;
  int64_t n_texts;
  uint32_t *type_ids;  /* n_ids entries, or NULL (gt_encode_pairs) */
  int64_t error_text;  /* which text */
  int64_t error_byte;  /* where in it */
  int32_t error_added; /* which added token, or -1 */
} gt_output;

/* Ids of many texts: texts[i] holds lengths[i] bytes. */
int gt_encode_many(const uint8_t *const *texts, const size_t *lengths, int64_t n_texts, const gt_call *call, gt_output *out);

/* Ids of single texts and of pairs, through the post-processor's templates: item i is the next text, or the next two where
 * paired[i] is 1; offsets are those of items. type_ids 1: output.type_ids as well. */
int gt_encode_pairs(const uint8_t *const *texts, const size_t *lengths, const uint8_t *paired, int64_t n_items,
                    const gt_call *call, int32_t type_ids, gt_output *out);

/* Ids of the pieces of one buffer between separators (a separator belongs to no piece; the piece after the last separator
 * is dropped when it is empty). separator_length 0: the whole buffer is one text. */
int gt_encode_separated(const uint8_t *data, size_t length, const uint8_t *separator, size_t separator_length,
                        const gt_call *call, gt_output *out);

/* How many ids gt_encode_many would give one text; no ids are stored. Negative: a status code. */
int64_t gt_count(const uint8_t *text, size_t length, const gt_call *call);

void gt_output_free(gt_output *out);

/* Bytes of ids: returns how many bytes there are, writes at most `capacity` of them. Ids outside the vocabulary are
 * skipped, as the reference does; skip_special drops special tokens. The bytes of byte-level and byte tokens come out as they
 * are, UTF-8 or not. (A definition whose decoder runs in Python gives nothing here; --explain says so.) */
int64_t gt_decode(const uint32_t *ids, int64_t n_ids, int32_t skip_special, uint8_t *bytes, int64_t capacity);

/* The bytes of one id (length through *length), or NULL for an id the vocabulary does not hold. */
const uint8_t *gt_token_bytes(uint32_t id, int64_t *length);

/* The id whose bytes these are, or -1. Model entries and added tokens. */
int64_t gt_token_id(const uint8_t *bytes, size_t length);

/* Where pre-tokens start and stop (byte offsets) in text with no added tokens, after no normalization, as the kernel of `isa`
 * finds them; returns their number and writes at most `capacity` to either array (stops may be NULL). isa NULL: the active
 * one; "automaton" is the table walk. */
int64_t gt_boundaries(const uint8_t *text, size_t length, const char *isa, uint64_t *starts, uint64_t *stops, int64_t capacity);

/* Offset of the first byte that is not well-formed UTF-8, or -1. */
int64_t gt_validate_utf8(const uint8_t *text, size_t length);

const char *gt_isa(void);              /* the kernel set in use: "avx512", "avx2", "neon", "swar" or "automaton" */
int gt_set_isa(const char *name);      /* GT_OK, or GT_BAD_ARGUMENT if this CPU or build lacks it */
const char *gt_isas(void);             /* those this CPU can run, space separated, best first */
void gt_release_thread(void);          /* give back the calling thread's caches */
int64_t gt_thread_bytes(void);         /* bytes of scratch and caches the calling thread holds */

#endif
