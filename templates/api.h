/* The public functions of gigatok.h. */

GT_API void gt_output_free(gt_output *out) {
  free(out->ids);
  free(out->offsets);
  free(out->type_ids);
  *out = (gt_output){0};
}

static int gt_encode_serial(gt_thread *t, const uint8_t *const *texts, const size_t *lengths, int64_t n_texts, size_t bytes,
                            const gt_call *call, gt_output *out) {
  gt_ids ids = {0};
  gt_fault fault = {-1, -1};
  int status = gt_ids_reserve(&ids, bytes / 3 + 64) ? GT_OK : GT_NO_MEMORY;
  for (int64_t i = 0; i < n_texts && status == GT_OK; i++) {
    status = gt_encode_text(t, texts[i], lengths[i], call, &ids, &fault);
    out->offsets[i + 1] = (int64_t)ids.n;
    out->error_text = i;
  }
  out->error_byte = fault.byte;
  out->error_added = fault.added;
  out->ids = ids.p;
  out->n_ids = (int64_t)ids.n;
  return status;
}

GT_API int gt_encode_many(const uint8_t *const *texts, const size_t *lengths, int64_t n_texts, const gt_call *call,
                          gt_output *out) {
  *out = (gt_output){.n_texts = n_texts, .error_text = -1, .error_byte = -1, .error_added = -1};
  gt_thread *const t = gt_thread_self();
  if (!t) return GT_NO_MEMORY;
  size_t bytes = 0;
  for (int64_t i = 0; i < n_texts; i++) bytes += lengths[i];
  if (!(out->offsets = malloc(((size_t)n_texts + 1) * sizeof *out->offsets))) return GT_NO_MEMORY;
  out->offsets[0] = 0;
  const int threads = bytes < GT_LARGE_TEXT ? 1 : gt_thread_count(call->threads);
  const int status = threads == 1 ? gt_encode_serial(t, texts, lengths, n_texts, bytes, call, out)
                                  : gt_encode_parallel(t, texts, lengths, n_texts, threads, call, out);
  if (status == GT_OK) return GT_OK;
  free(out->ids);
  free(out->offsets);
  out->ids = NULL;
  out->offsets = NULL;
  return status;
}

GT_API int gt_encode_separated(const uint8_t *data, size_t length, const uint8_t *separator, size_t separator_length,
                               const gt_call *call, gt_output *out) {
  if (separator_length == 0) return gt_encode_many(&data, &length, 1, call, out);
  *out = (gt_output){.error_text = -1, .error_byte = -1, .error_added = -1};
  const uint8_t **texts = NULL;
  size_t *lengths = NULL;
  size_t count = 0, text_capacity = 0, length_capacity = 0;
  int status = GT_OK;
  for (const uint8_t *p = data, *const end = data + length; p < end;) {
    const uint8_t *const found = memmem(p, (size_t)(end - p), separator, separator_length);
    if (!gt_grow((void **)&texts, &text_capacity, count + 1, sizeof *texts) ||
        !gt_grow((void **)&lengths, &length_capacity, count + 1, sizeof *lengths)) {
      status = GT_NO_MEMORY;
      break;
    }
    texts[count] = p;
    lengths[count++] = (size_t)((found ? found : end) - p);
    p = found ? found + separator_length : end;
  }
  if (status == GT_OK) status = gt_encode_many(texts, lengths, (int64_t)count, call, out);
  /* the offset within the whole buffer says more than that within one of its texts */
  if (status < 0 && out->error_text >= 0 && out->error_byte >= 0)
    out->error_byte += texts[out->error_text] - data;
  free(texts);
  free(lengths);
  return status;
}

/* ------------------------------------------------------------------ counting */
typedef struct {
  gt_encoding_sink encoding;
  int64_t count;
} gt_counting_sink;

static int gt_count_stretch(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit) {
  gt_counting_sink *const c = (gt_counting_sink *)sink;
  while (begin < end) { /* in parts, so that the list of ids stays small */
    const uint8_t *stop = NULL;
    if ((size_t)(end - begin) > 2 * (size_t)GT_TASK_BYTES) stop = gt_next_sync(begin + GT_TASK_BYTES, end);
    if (!stop) stop = end;
    if (!gt_active->encode_span(sink->thread, begin, stop, end, limit, c->encoding.ids)) return GT_NO_MEMORY;
    c->count += (int64_t)c->encoding.ids->n;
    c->encoding.ids->n = 0;
    begin = stop;
  }
  return GT_OK;
}

static int gt_count_id(gt_sink *sink, uint32_t id GT_UNUSED) {
  ((gt_counting_sink *)sink)->count++;
  return GT_OK;
}

GT_API int64_t gt_count(const uint8_t *text, size_t length, const gt_call *call) {
  gt_thread *const t = gt_thread_self();
  if (!t) return GT_NO_MEMORY;
  gt_ids ids = {t->ids, 0, t->id_capacity};
  gt_counting_sink sink = {{{gt_count_stretch, gt_count_id, t, &t->normalized, &t->prefixed, 0}, &ids}, 0};
  gt_fault fault;
  const int status = gt_walk_text(&sink.encoding.sink, text, length, call, &fault);
  t->ids = ids.p;
  t->id_capacity = ids.capacity;
  gt_thread_trim(t);
  return status == GT_OK ? sink.count : status;
}

GT_API int64_t gt_validate_utf8(const uint8_t *text, size_t length) { return gt_validate(text, length); }

GT_API void gt_release_thread(void) {
  gt_thread *const t = gt_own_thread;
  if (!t) return;
  gt_own_thread = NULL;
  pthread_setspecific(gt_thread_key, NULL);
  gt_thread_free(t);
}

GT_API int64_t gt_thread_bytes(void) { return gt_own_thread ? (int64_t)gt_thread_size(gt_own_thread) : 0; }
