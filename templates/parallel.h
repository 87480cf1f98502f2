/* Many texts, or one large one, over threads.
 *
 * Work is cut into tasks whose order is the order of the output: ranges of whole texts, or parts of a large text that end
 * where a piece is certain to start. Each has its own list of ids; at the end the lists are joined. So neither the number
 * of threads nor the size of the parts shows in the ids. */

enum {
  GT_TASK_BYTES = 1 << 19,  /* about so much text a task */
  GT_LARGE_TEXT = 1 << 20,  /* texts from here on are cut */
  GT_THREADS_LAST = 256
};

/* Part of a text: [begin, stop) in [.., end), or an id (begin NULL). */
typedef struct {
  const uint8_t *begin, *stop, *end, *limit;
  uint32_t id;
} gt_part;

typedef struct {
  int64_t first_text, end_text; /* whole texts, or (first_text alone) the text that the parts belong to */
  size_t first_part, end_part;
  gt_ids ids;
  gt_fault fault;
  int64_t fault_text;
  int status;
} gt_task;

typedef struct {
  const uint8_t *const *texts;
  const size_t *lengths;
  const gt_call *call;
  int64_t *counts; /* ids of each text */
  gt_part *parts;
  size_t part_count, part_capacity;
  gt_task *tasks;
  size_t task_count, task_capacity;
  size_t next_task;   /* taken with an atomic add */
  void **owned;       /* normalized and prefixed copies that parts point into */
  size_t owned_count, owned_capacity;
} gt_work;

/* Doubling growth of the arrays above; 0 without memory. */
static int gt_grow(void **p, size_t *capacity, size_t needed, size_t size) {
  if (needed <= *capacity) return 1;
  size_t grown = *capacity * 2 < needed ? needed + 16 : *capacity * 2;
  void *q = realloc(*p, grown * size);
  if (!q) return 0;
  *p = q;
  *capacity = grown;
  return 1;
}

static gt_task *gt_add_task(gt_work *w, int64_t first_text, int64_t end_text) {
  if (!gt_grow((void **)&w->tasks, &w->task_capacity, w->task_count + 1, sizeof *w->tasks)) return NULL;
  gt_task *const task = &w->tasks[w->task_count++];
  *task = (gt_task){.first_text = first_text, .end_text = end_text, .first_part = w->part_count, .end_part = w->part_count};
  return task;
}

/* The first place at or after p, and before end, where a piece starts whatever comes before: between two characters
 * whose tags always part. NULL if there is none. */
static const uint8_t *gt_next_sync(const uint8_t *p, const uint8_t *end) {
  while (p < end && (*p & 0xC0) == 0x80) p++;
  if (p >= end) return NULL;
  unsigned before = gt_tag_before(p, end);
  for (;;) {
    p += gt_tagged_length(p);
    if (p >= end) return NULL;
    const unsigned tag = gt_tag_before(p, end);
    if (gt_sync_pairs[before * GT_TAGS + tag]) return p;
    before = tag;
  }
}

/* ------------------------------------------------------------------ cutting a large text */
typedef struct {
  gt_sink sink;
  gt_work *work;
  int64_t text;
  size_t bytes; /* in the last task */
} gt_cutting_sink;

static int gt_cut_part(gt_cutting_sink *c, gt_part part, size_t bytes) {
  gt_work *const w = c->work;
  if (c->bytes >= GT_TASK_BYTES) {
    if (!gt_add_task(w, c->text, c->text)) return GT_NO_MEMORY;
    c->bytes = 0;
  }
  if (!gt_grow((void **)&w->parts, &w->part_capacity, w->part_count + 1, sizeof *w->parts)) return GT_NO_MEMORY;
  w->parts[w->part_count++] = part;
  w->tasks[w->task_count - 1].end_part = w->part_count;
  c->bytes += bytes;
  return GT_OK;
}

static int gt_cut_stretch(gt_sink *sink, const uint8_t *begin, const uint8_t *end, const uint8_t *limit) {
  gt_cutting_sink *const c = (gt_cutting_sink *)sink;
  gt_work *const w = c->work;
  /* what lies in scratch memory is needed until the end */
  const uint8_t *const normalized = sink->normalized->memory, *const prefixed = sink->prefixed->memory;
  const int in_normalized = normalized && begin >= normalized && begin < normalized + sink->normalized->capacity;
  if (in_normalized || ((GT_ADD_PREFIX_SPACE || GT_METASPACE) && begin == prefixed)) {
    if (!gt_grow((void **)&w->owned, &w->owned_capacity, w->owned_count + 1, sizeof *w->owned)) return GT_NO_MEMORY;
    if (in_normalized) { /* more stretches may lie there */
      w->owned[w->owned_count++] = sink->normalized->memory;
      *sink->normalized = (gt_scratch){0};
    } else { /* there can be many, and short ones */
      const size_t length = (size_t)(end - begin);
      uint8_t *const copy = malloc(length);
      if (!copy) return GT_NO_MEMORY;
      w->owned[w->owned_count++] = memcpy(copy, begin, length);
      begin = copy;
      end = limit = copy + length;
    }
  }
  while (begin < end) {
    const uint8_t *stop = end;
    if ((size_t)(end - begin) > 2 * (size_t)GT_TASK_BYTES) {
      const uint8_t *const sync = gt_next_sync(begin + GT_TASK_BYTES, end);
      if (sync) stop = sync;
    }
    const int status = gt_cut_part(c, (gt_part){begin, stop, end, limit, 0}, (size_t)(stop - begin));
    if (status != GT_OK) return status;
    begin = stop;
  }
  return GT_OK;
}

static int gt_cut_id(gt_sink *sink, uint32_t id) { return gt_cut_part((gt_cutting_sink *)sink, (gt_part){.id = id}, 8); }

/* ------------------------------------------------------------------ running */
static void gt_run_task(gt_thread *t, gt_work *w, gt_task *task) {
  if (task->first_part < task->end_part) {
    for (size_t i = task->first_part; i < task->end_part && task->status == GT_OK; i++) {
      const gt_part *const part = &w->parts[i];
      if (!part->begin) {
        if (gt_ids_reserve(&task->ids, 1)) task->ids.p[task->ids.n++] = part->id;
        else task->status = GT_NO_MEMORY;
      } else if (!gt_active->encode_span(t, part->begin, part->stop, part->end, part->limit, &task->ids)) {
        task->status = GT_NO_MEMORY;
      }
    }
    gt_thread_trim(t);
    return;
  }
  for (int64_t i = task->first_text; i < task->end_text && task->status == GT_OK; i++) {
    const size_t before = task->ids.n;
    task->status = gt_encode_text(t, w->texts[i], w->lengths[i], w->call, &task->ids, &task->fault);
    task->fault_text = i;
    w->counts[i] = (int64_t)(task->ids.n - before);
  }
}

static void gt_work_on(gt_thread *t, gt_work *w) {
  size_t i;
  while ((i = __atomic_fetch_add(&w->next_task, 1, __ATOMIC_RELAXED)) < w->task_count) gt_run_task(t, w, &w->tasks[i]);
}

static void *gt_worker(void *work) {
  gt_thread *const t = gt_thread_take();
  if (t) {
    gt_work_on(t, work);
    gt_thread_give(t);
  }
  return NULL; /* without memory the others do the work */
}

static int gt_thread_count(int32_t wanted) {
  if (wanted > 0) return wanted < GT_THREADS_LAST ? wanted : GT_THREADS_LAST;
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
#endif
  return online > 0 ? (int)online : 1;
}

static void gt_work_free(gt_work *w) {
  for (size_t i = 0; i < w->task_count; i++) free(w->tasks[i].ids.p);
  for (size_t i = 0; i < w->owned_count; i++) free(w->owned[i]);
  free(w->tasks);
  free(w->parts);
  free(w->owned);
}

/* Tasks for all texts. A status; the fault's text through *text. */
static int gt_plan_work(gt_work *w, gt_thread *t, int64_t n_texts, gt_fault *fault, int64_t *text) {
  size_t bytes = 0;
  gt_task *task = NULL;
  for (int64_t i = 0; i < n_texts; i++) {
    if (w->lengths[i] >= GT_LARGE_TEXT) {
      gt_cutting_sink sink = {{gt_cut_stretch, gt_cut_id, t, &t->normalized, &t->prefixed, 0}, w, i, 0};
      if (!gt_add_task(w, i, i)) return GT_NO_MEMORY;
      w->counts[i] = 0;
      const int status = gt_walk_text(&sink.sink, w->texts[i], w->lengths[i], w->call, fault);
      *text = i;
      if (status != GT_OK) return status;
      task = NULL;
      continue;
    }
    if (!task || bytes >= GT_TASK_BYTES) {
      if (!(task = gt_add_task(w, i, i))) return GT_NO_MEMORY;
      bytes = 0;
    }
    task->end_text = i + 1;
    bytes += w->lengths[i] + 16;
  }
  return GT_OK;
}

/* The tasks' lists in order, and the offsets, into `out`. */
static int gt_join(gt_work *w, int64_t n_texts, gt_output *out) {
  size_t total = 0;
  for (size_t i = 0; i < w->task_count; i++) {
    gt_task *const task = &w->tasks[i];
    if (task->first_part < task->end_part) w->counts[task->first_text] += (int64_t)task->ids.n;
    total += task->ids.n;
  }
  if (w->task_count == 1) {
    out->ids = w->tasks[0].ids.p;
    w->tasks[0].ids.p = NULL;
  } else {
    if (!(out->ids = malloc((total + 1) * sizeof *out->ids))) return GT_NO_MEMORY;
    size_t at = 0;
    for (size_t i = 0; i < w->task_count; i++) {
      if (w->tasks[i].ids.n) memcpy(out->ids + at, w->tasks[i].ids.p, w->tasks[i].ids.n * sizeof *out->ids);
      at += w->tasks[i].ids.n;
      free(w->tasks[i].ids.p);
      w->tasks[i].ids.p = NULL;
    }
  }
  for (int64_t i = 0; i < n_texts; i++) out->offsets[i + 1] += out->offsets[i]; /* counts lie at offsets + 1 */
  out->n_ids = (int64_t)total;
  return GT_OK;
}

static int gt_encode_parallel(gt_thread *t, const uint8_t *const *texts, const size_t *lengths, int64_t n_texts, int threads,
                              const gt_call *call, gt_output *out) {
  gt_work w = {.texts = texts, .lengths = lengths, .call = call, .counts = out->offsets + 1};
  gt_fault fault = {-1, -1};
  int status = gt_plan_work(&w, t, n_texts, &fault, &out->error_text);
  if (status == GT_OK) {
    pthread_t workers[GT_THREADS_LAST];
    int started = 0;
    for (; started < threads - 1 && (size_t)started + 1 < w.task_count; started++)
      if (pthread_create(&workers[started], NULL, gt_worker, &w)) break;
    gt_work_on(t, &w);
    for (int i = 0; i < started; i++) pthread_join(workers[i], NULL);
    for (size_t i = 0; i < w.task_count && status == GT_OK; i++) {
      status = w.tasks[i].status;
      fault = w.tasks[i].fault;
      out->error_text = w.tasks[i].fault_text;
    }
  }
  if (status == GT_OK) status = gt_join(&w, n_texts, out);
  else out->error_byte = fault.byte, out->error_added = fault.added;
  gt_work_free(&w);
  return status;
}
