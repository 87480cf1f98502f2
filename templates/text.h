/* One text: added tokens are cut out, the rest is normalized and goes to a sink in pieces called stretches.
 *
 * The order is the reference's: added tokens with normalized=false on the raw text; the normalizer on what is between them,
 * stretch by stretch; added tokens with normalized=true on the normalized stretches; a space before what is left, if the
 * definition wants that and there is none; the kernel. */

/* What is wrong with a text, for the error message. */
typedef struct {
  int64_t byte;
  int32_t added;
} gt_fault;

/* Receives a text in order: stretches of plain text, and ids. Both return a status. A stretch may lie in `normalized` or
 * `prefixed`, which are used again after the call, unless the sink takes the memory away (and clears it there). */
typedef struct gt_sink {
  int (*stretch)(struct gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit);
  int (*id)(struct gt_sink *sink, uint32_t id);
  gt_thread *thread;
  gt_scratch *normalized, *prefixed;
  int begun; /* what comes now does not begin where the text begins; used with GT_PREFIX_FIRST */
} gt_sink;

/* What is done with the text between added tokens. */
typedef int (*gt_between_fn)(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                             const gt_call *call, gt_fault *fault);

/* Added tokens of one pass (0: raw, 1: normalized) cut out of [begin, end). Offsets in `fault` count from begin; -1 is
 * "somewhere in normalized text". */
GT_INLINE int gt_cut_added(gt_sink *sink, int pass, const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                           const gt_call *call, gt_fault *fault, gt_between_fn between) {
  gt_added_cursor cursor;
  gt_added_match match;
  if (GT_ADDED_OVERLAP && GT_ADDED_EXCLUSIVE && gt_added_forbidden(begin, end, pass, call->added_modes, &match)) {
    *fault = (gt_fault){match.start - begin, match.index};
    return GT_SPECIAL_IN_TEXT;
  }
  gt_added_begin(&cursor, begin, end);
  const uint8_t *done = begin;
  int status = GT_OK;
  while (gt_added_next(&cursor, pass, call->added_modes, &match)) {
    if (GT_UNLIKELY(match.mode == GT_ERROR)) {
      *fault = (gt_fault){match.start - begin, match.index};
      return GT_SPECIAL_IN_TEXT;
    }
    done = match.text;
    if (done < match.cut_start) status = between(sink, done, match.cut_start, limit, call, fault);
    if (status == GT_OK) status = sink->id(sink, match.id);
    sink->begun = 1;
    if (GT_UNLIKELY(status != GT_OK)) break;
  }
  if (status == GT_OK && cursor.text < end) {
    done = cursor.text;
    status = between(sink, done, end, limit, call, fault);
  }
  if (GT_UNLIKELY(status == GT_SPECIAL_IN_TEXT && fault->byte >= 0)) fault->byte += done - begin;
  return status;
}

#if GT_METASPACE
/* The first mark in [p, end), or NULL. By its first byte: memmem takes a cycle for each byte of the text. */
static const uint8_t *gt_next_mark(const uint8_t *p, const uint8_t *end) {
  while ((size_t)(end - p) >= GT_MARK_LENGTH) {
    const uint8_t *const found = memchr(p, gt_mark[0], (size_t)(end - p) - (GT_MARK_LENGTH - 1));
    if (!found || memcmp(found, gt_mark, GT_MARK_LENGTH) == 0) return found;
    p = found + 1;
  }
  return NULL;
}

/* Bytes of [begin, end) with a space for every mark, written to `out`. */
static size_t gt_marks_to_spaces(const uint8_t *begin, const uint8_t *end, uint8_t *out) {
  uint8_t *to = out;
  for (const uint8_t *p = begin; p < end;) {
    const uint8_t *const found = gt_next_mark(p, end);
    const uint8_t *const stop = found ? found : end;
    memcpy(to, p, (size_t)(stop - p));
    to += stop - p;
    if (found) *to++ = ' ';
    p = found ? found + GT_MARK_LENGTH : end;
  }
  return (size_t)(to - out);
}
#define GT_BEGINS_WITH_MARK(p, end) ((size_t)((end) - (p)) >= GT_MARK_LENGTH && memcmp(p, gt_mark, GT_MARK_LENGTH) == 0)
#else
#define GT_BEGINS_WITH_MARK(p, end) 0
#endif

/* Text between all added tokens: with Metaspace marks become spaces; where the definition wants it a space goes before. */
static int gt_plain_stretch(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit,
                            const gt_call *call GT_UNUSED, gt_fault *fault GT_UNUSED) {
#if GT_ADD_PREFIX_SPACE || GT_METASPACE
  const int prefix =
      GT_ADD_PREFIX_SPACE && !(GT_PREFIX_FIRST && sink->begun) && *begin != ' ' && !GT_BEGINS_WITH_MARK(begin, end);
  sink->begun = 1;
#if GT_METASPACE
  const int marks = gt_next_mark(begin, end) != NULL;
#else
  const int marks = 0;
#endif
  if (prefix || GT_UNLIKELY(marks)) {
    size_t length = (size_t)(end - begin);
    uint8_t *const copy = gt_scratch_reserve(sink->prefixed, length + 1);
    if (!copy) return GT_NO_MEMORY;
    copy[0] = ' ';
#if GT_METASPACE
    if (GT_UNLIKELY(marks)) length = gt_marks_to_spaces(begin, end, copy + prefix);
    else
#endif
    memcpy(copy + prefix, begin, length);
    begin = copy;
    end = limit = copy + prefix + length;
  }
#endif
  return sink->stretch(sink, begin, end, limit);
}

/* Raw text between added tokens of the first pass. */
static int gt_raw_stretch(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit, const gt_call *call,
                          gt_fault *fault) {
#if GT_SENTENCEPIECE
  const int normalized = GT_SP_PREFIX || GT_SP_SUFFIX || gt_sentencepiece_first(begin, (size_t)(end - begin)) >= 0;
  if (normalized) {
    const size_t length = gt_sentencepiece(begin, (size_t)(end - begin), sink->normalized);
    if (length == SIZE_MAX) return GT_NO_MEMORY;
    begin = sink->normalized->memory;
    end = limit = begin + length;
  }
#elif GT_PASS_COUNT
  const int where = gt_normalize(sink->normalized, &sink->thread->spare, &begin, &end);
  if (GT_UNLIKELY(where == GT_TEXT_NO_MEMORY)) return GT_NO_MEMORY;
  if (where == GT_TEXT_IN_SCRATCH) limit = end;
  const int normalized = where != GT_TEXT_SAME;
#endif
#if GT_SENTENCEPIECE || GT_PASS_COUNT
  if (begin == end) {
    sink->begun = 1;
    return GT_OK;
  }
#endif
  const int status = GT_ADDED1_COUNT ? gt_cut_added(sink, 1, begin, end, limit, call, fault, gt_plain_stretch)
                                     : gt_plain_stretch(sink, begin, end, limit, call, fault);
#if GT_SENTENCEPIECE || GT_PASS_COUNT
  if (status == GT_SPECIAL_IN_TEXT && normalized) fault->byte = -1;
#endif
  return status;
}

static int gt_give_ids(gt_sink *sink, const uint32_t *ids, size_t count) {
  int status = GT_OK;
  for (size_t i = 0; i < count && status == GT_OK; i++) status = sink->id(sink, ids[i]);
  return status;
}

/* A whole text into the sink. */
static int gt_walk_text(gt_sink *sink, const uint8_t *text, size_t length, const gt_call *call, gt_fault *fault) {
  const uint8_t *const end = text + length;
  fault->byte = -1;
  fault->added = -1;
  if (call->check_utf8) {
    const int64_t bad = gt_validate(text, length);
    if (GT_UNLIKELY(bad >= 0)) {
      fault->byte = bad;
      return GT_BAD_UTF8;
    }
  }
  int status = GT_OK;
  if (call->add_special_tokens) status = gt_give_ids(sink, gt_prefix_ids, GT_PREFIX_COUNT);
  if (status == GT_OK && length) {
    if (GT_ADDED0_COUNT)
      status = gt_cut_added(sink, gt_added_raw_pass(call->added_modes), text, end, end, call, fault, gt_raw_stretch);
    else status = gt_raw_stretch(sink, text, end, end, call, fault);
  }
  if (call->add_special_tokens && status == GT_OK) status = gt_give_ids(sink, gt_suffix_ids, GT_SUFFIX_COUNT);
  return status;
}

/* ------------------------------------------------------------------ the sink that encodes at once */
typedef struct {
  gt_sink sink;
  gt_ids *ids;
} gt_encoding_sink;

static int gt_encode_stretch(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit) {
  return gt_active->encode_span(sink->thread, begin, end, end, limit, ((gt_encoding_sink *)sink)->ids) ? GT_OK : GT_NO_MEMORY;
}

static int gt_encode_id(gt_sink *sink, uint32_t id) {
  gt_ids *const ids = ((gt_encoding_sink *)sink)->ids;
  if (!gt_ids_reserve(ids, 1)) return GT_NO_MEMORY;
  ids->p[ids->n++] = id;
  return GT_OK;
}

/* Ids of one text, appended. */
static int gt_encode_text(gt_thread *t, const uint8_t *text, size_t length, const gt_call *call, gt_ids *ids, gt_fault *fault) {
  gt_encoding_sink sink = {{gt_encode_stretch, gt_encode_id, t, &t->normalized, &t->prefixed, 0}, ids};
  const int status = gt_walk_text(&sink.sink, text, length, call, fault);
  gt_thread_trim(t);
  return status;
}

/* One text on this thread; its ids stay in the thread's scratch until its next call. Their number, or a status. */
GT_UNUSED static int64_t gt_encode_into(gt_thread *t, const uint8_t *text, size_t length, const gt_call *call, uint32_t **ids) {
  gt_ids list = {t->ids, 0, t->id_capacity};
  gt_fault fault;
  const int status = gt_encode_text(t, text, length, call, &list, &fault);
  t->ids = list.p;
  t->id_capacity = list.capacity;
  *ids = list.p;
  return status == GT_OK ? (int64_t)list.n : status;
}
