/* decode, decode_bytes, decode_batch, and look-ups in the vocabulary. From the core: gt_decoder, gt_decode_begin and
 * gt_decode_some (decode.h). */
#ifndef GIGATOK_PYDECODE_H
#define GIGATOK_PYDECODE_H

#include <sys/mman.h>

#include "pyunicode.h"

enum { PYGT_RELEASE_IDS = 1 << 12 }; /* fewer ids are decoded without giving the GIL away */

/* Ids of a call, as uint32 in a row: those of a uint32 array where they lie, those of a list copied. */
typedef struct {
  const uint32_t *ids;
  int64_t n;
  PyObject *kept;
  uint32_t *copied;
  uint32_t small[256];
} pygt_ids;

/* 1 done, 0 not a list of small whole numbers, -1 failed */
static int pygt_ids_from_list(pygt_ids *in, PyObject *list) {
  Py_ssize_t n = PyList_GET_SIZE(list);
  uint32_t *ids = in->small;
  if (n > (Py_ssize_t)(sizeof in->small / sizeof *in->small)) {
    ids = in->copied = PyMem_RawMalloc((size_t)n * sizeof *ids);
    if (!ids) {
      PyErr_NoMemory();
      return -1;
    }
  }
  /* PyLong_AsLongLong of an exact int runs no Python code, so the list cannot change under us while we hold the GIL. */
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = i < PyList_GET_SIZE(list) ? PyList_GET_ITEM(list, i) : NULL;
    if (!item || !PyLong_CheckExact(item)) return 0;
    int overflow;
    long long id = PyLong_AsLongLongAndOverflow(item, &overflow);
    if (overflow || id < 0 || id > UINT32_MAX) return 0;
    ids[i] = (uint32_t)id;
  }
  in->ids = ids;
  in->n = n;
  return 1;
}

static void pygt_ids_close(pygt_ids *in) {
  Py_CLEAR(in->kept);
  PyMem_RawFree(in->copied);
  in->copied = NULL;
}

static int pygt_ids_open(pygt_ids *in, PyObject *ids) {
  in->kept = NULL;
  in->copied = NULL;
  if (PyList_CheckExact(ids)) {
    int done = pygt_ids_from_list(in, ids);
    if (done) return done < 0 ? -1 : 0;
    pygt_ids_close(in);
  }
  PyObject *array = ids;
  PyArrayObject *given = (PyArrayObject *)ids;
  int ready = PyArray_Check(ids) && PyArray_TYPE(given) == NPY_UINT32 && PyArray_NDIM(given) == 1 && PyArray_ISCARRAY_RO(given);
  if (ready) {
    Py_INCREF(array);
  } else if (pygt_state.as_ids) {
    array = PyObject_CallFunctionObjArgs(pygt_state.as_ids, ids, NULL);
    if (!array) return -1;
  } else {
    PyErr_SetString(PyExc_RuntimeError, "configure() has not been called");
    return -1;
  }
  in->kept = array;
  in->ids = PyArray_DATA((PyArrayObject *)array);
  in->n = (int64_t)PyArray_SIZE((PyArrayObject *)array);
  return 0;
}

/* How many units a whole text takes if its ids go on as those before did; a little more, since it ends in the middle of
 * a piece. */
static size_t pygt_guess(const gt_decoder *d, size_t units) {
  const double left = (double)(d->n - d->at) / (double)(d->at ? d->at : 1);
  return units + (size_t)((double)units * left * 1.02) + 2 * PYGT_PIECE_BYTES;
}

/* Fresh memory for large results costs a page fault every 4 KiB, as much as writing it; huge pages take that away. */
static void *pygt_prefer_huge_pages(void *p, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t huge = 2u << 20, from = ((uintptr_t)p + huge - 1) & ~(huge - 1), to = ((uintptr_t)p + bytes) & ~(huge - 1);
  if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
#else
  (void)bytes;
#endif
  return p;
}

static PyObject *pygt_decode_to_bytes(gt_decoder *d) {
  uint8_t piece[PYGT_PIECE_BYTES];
  size_t used = gt_decode_some(d, piece, sizeof piece);
  if (d->at == d->n) return PyBytes_FromStringAndSize((const char *)piece, (Py_ssize_t)used);
  size_t capacity = pygt_guess(d, used);
  PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)capacity);
  if (!result) return NULL;
  memcpy(pygt_prefer_huge_pages(PyBytes_AS_STRING(result), capacity), piece, used);
  while (d->at < d->n) {
    if (used == capacity) {
      capacity = pygt_guess(d, used);
      if (_PyBytes_Resize(&result, (Py_ssize_t)capacity) < 0) return NULL;
    }
    uint8_t *const bytes = (uint8_t *)PyBytes_AS_STRING(result);
    Py_BEGIN_ALLOW_THREADS
    used += gt_decode_some(d, bytes + used, capacity - used);
    Py_END_ALLOW_THREADS
  }
  _PyBytes_Resize(&result, (Py_ssize_t)used);
  return result;
}

/* A str that is being written. */
typedef struct {
  gt_decoder d;
  PyObject *str;
  uint8_t *data;         /* its characters */
  int width;             /* bytes each; 0: all ASCII, one byte each */
  size_t used, capacity; /* characters */
  size_t have;           /* bytes in `piece`, the first `whole` of them whole characters that are not in `str` yet */
  size_t whole;
  int check;             /* the piece holds tokens that are parts of characters */
  uint32_t flags;        /* of all tokens so far */
  uint8_t piece[PYGT_PIECE_BYTES + PYGT_PIECE_SLACK];
} pygt_writing;

enum { PYGT_DONE, PYGT_MORE, PYGT_ILL_FORMED };

static int pygt_width(uint32_t flags) {
  return flags & GT_ABOVE_FFFF ? 4 : flags & GT_ABOVE_FF ? 2 : flags & GT_NOT_ASCII ? 1 : 0;
}

/* Is the piece the last one? Then the size is known. */
static int pygt_is_last(const pygt_writing *w) { return w->d.at == w->d.n && w->whole == w->have; }

/* Write until the text ends, or until there is no room or the characters are too wide for it (PYGT_MORE). Everything else
 * goes by way of a piece of UTF-8 that stays in the nearest caches; ASCII is written where it stays. Needs no GIL. */
static int pygt_write_on(pygt_writing *w) {
  gt_decoder *const d = &w->d;
  for (;;) {
    if (!w->whole) {
      if (d->at == d->n) return w->have ? PYGT_ILL_FORMED : PYGT_DONE;
      const int in_place = !w->width && w->capacity - w->used >= PYGT_PIECE_BYTES;
      d->flags = 0;
      if (in_place) {
        uint8_t *const place = w->data + w->used;
        const size_t size = gt_decode_some(d, place, PYGT_PIECE_BYTES);
        if (!(d->flags & GT_NOT_ASCII)) {
          w->used += size;
          continue;
        }
        memcpy(w->piece, place, size);
        w->have = size;
        w->check = 0;
      } else {
        w->check = w->check && w->have;
        w->have += gt_decode_some(d, w->piece + w->have, PYGT_PIECE_BYTES - w->have);
      }
      w->flags |= d->flags;
      w->check |= (d->flags & GT_NOT_WHOLE) != 0;
      w->whole = w->flags & GT_NOT_ASCII ? pygt_whole_characters(w->piece, w->have) : w->have;
      if (w->check && gt_validate_utf8(w->piece, w->whole) >= 0) return PYGT_ILL_FORMED;
      if (!w->whole) continue;
    }
    const size_t needed = pygt_is_last(w) ? pygt_count_characters(w->piece, w->whole) : w->whole;
    if (pygt_width(w->flags) > w->width || needed > w->capacity - w->used || !w->str) return PYGT_MORE;
    const size_t made = pygt_widen(w->piece, w->whole, w->width ? w->width : 1,
                                   w->data + w->used * (size_t)(w->width ? w->width : 1), w->capacity - w->used);
    if (made == SIZE_MAX) return PYGT_ILL_FORMED;
    w->used += made;
    w->have -= w->whole;
    memmove(w->piece, w->piece + w->whole, w->have);
    w->whole = 0;
  }
}

/* Room for the piece, and for what is likely to come; characters as wide as they have to be. 0, or -1 with an exception. */
static int pygt_make_room(pygt_writing *w) {
  const int width = pygt_width(w->flags);
  const size_t chars = w->used + pygt_count_characters(w->piece, w->whole);
  w->capacity = pygt_is_last(w) ? chars : pygt_guess(&w->d, chars);
  static const Py_UCS4 highest[5] = {0x7F, 0xFF, 0xFFFF, 0, 0x10FFFF};
  if (w->str && width == w->width) {
    if (PyUnicode_Resize(&w->str, (Py_ssize_t)w->capacity) < 0) return -1;
  } else {
    PyObject *const wider = PyUnicode_New((Py_ssize_t)w->capacity, highest[width]);
    if (!wider) return -1;
    uint8_t *const to = PyUnicode_DATA(wider);
    for (size_t i = 0; i < w->used; i++) {
      const Py_UCS4 c = w->width == 2 ? ((Py_UCS2 *)(void *)w->data)[i] : w->data[i];
      if (width == 1) to[i] = (Py_UCS1)c;
      else if (width == 2) ((Py_UCS2 *)(void *)to)[i] = (Py_UCS2)c;
      else ((Py_UCS4 *)(void *)to)[i] = c;
    }
    Py_XDECREF(w->str);
    w->str = wider;
    w->width = width;
  }
  w->data = pygt_prefer_huge_pages(PyUnicode_DATA(w->str), w->capacity * (size_t)(width ? width : 1));
  return 0;
}

/* Ill-formed UTF-8, whose length nobody knows before it is read. */
static PyObject *pygt_decode_ill_formed(const gt_decoder *start) {
  gt_decoder d = *start;
  PyObject *const bytes = pygt_decode_to_bytes(&d);
  if (!bytes) return NULL;
  PyObject *const result = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes), "replace");
  Py_DECREF(bytes);
  return result;
}

static PyObject *pygt_decode_to_str(const gt_decoder *start) {
  pygt_writing w; /* the piece is not cleared: it is large */
  w.d = *start;
  w.str = NULL;
  w.data = NULL;
  w.width = w.check = 0;
  w.used = w.capacity = w.have = w.whole = 0;
  w.flags = 0;
  int status;
  do {
    if (start->n < PYGT_RELEASE_IDS) {
      status = pygt_write_on(&w);
    } else {
      Py_BEGIN_ALLOW_THREADS
      status = pygt_write_on(&w);
      Py_END_ALLOW_THREADS
    }
    if (status == PYGT_MORE && pygt_make_room(&w) < 0) {
      Py_XDECREF(w.str);
      return NULL;
    }
  } while (status == PYGT_MORE);
  if (status == PYGT_ILL_FORMED) {
    Py_XDECREF(w.str);
    return pygt_decode_ill_formed(start);
  }
  if (!w.str) return PyUnicode_New(0, 0);
  if (w.used != w.capacity && PyUnicode_Resize(&w.str, (Py_ssize_t)w.used) < 0) return NULL;
  return w.str;
}

static PyObject *pygt_decode_ids(PyObject *ids, int skip, int raw) {
  pygt_ids in;
  if (pygt_ids_open(&in, ids) < 0) return NULL;
  gt_decoder d;
  gt_decode_begin(&d, in.ids, in.n, skip, raw);
  PyObject *const result = raw ? pygt_decode_to_bytes(&d) : pygt_decode_to_str(&d);
  pygt_ids_close(&in);
  return result;
}

/* Arguments of a decoding call: whether to leave special tokens out, or -1. */
static int pygt_decode_arguments(const pygt_signature *signature, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                                 PyObject **ids) {
  pygt_arguments a;
  if (pygt_parse(signature, args, nargs, names, &a) < 0) return -1;
  *ids = a.values[PYGT_IDS];
  return a.values[PYGT_SKIP_SPECIAL] ? PyObject_IsTrue(a.values[PYGT_SKIP_SPECIAL]) : 0;
}

PyDoc_STRVAR(decode_doc,
"decode($module, ids, skip_special_tokens=False)\n--\n\n"
"Text of ids (any sequence or array of whole numbers). Ill-formed UTF-8 becomes U+FFFD; ids that the vocabulary does\n"
"not hold are skipped, as the reference does.");

static PyObject *py_decode(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"decode", 1, 2, {PYGT_IDS, PYGT_SKIP_SPECIAL}};
  PyObject *ids;
  const int skip = pygt_decode_arguments(&signature, args, nargs, names, &ids);
  return skip < 0 ? NULL : pygt_decode_ids(ids, skip, 0);
}

PyDoc_STRVAR(decode_bytes_doc,
"decode_bytes($module, ids, skip_special_tokens=False)\n--\n\n"
"Bytes of ids: UTF-8 of what `decode` gives, but for bytes that are no UTF-8, which come out as they are.");

static PyObject *py_decode_bytes(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"decode_bytes", 1, 2, {PYGT_IDS, PYGT_SKIP_SPECIAL}};
  PyObject *ids;
  const int skip = pygt_decode_arguments(&signature, args, nargs, names, &ids);
  return skip < 0 ? NULL : pygt_decode_ids(ids, skip, 1);
}

PyDoc_STRVAR(decode_batch_doc,
"decode_batch($module, ids, skip_special_tokens=False)\n--\n\n"
"A list with the text of each item of `ids`, which are ids as `decode` takes them.");

static PyObject *py_decode_batch(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"decode_batch", 1, 2, {PYGT_IDS, PYGT_SKIP_SPECIAL}};
  PyObject *ids;
  const int skip = pygt_decode_arguments(&signature, args, nargs, names, &ids);
  if (skip < 0) return NULL;
  PyObject *const items = PySequence_Tuple(ids); /* so that no one can take an item away */
  PyObject *result = items ? PyList_New(PyTuple_GET_SIZE(items)) : NULL;
  for (Py_ssize_t i = 0; result && i < PyTuple_GET_SIZE(items); i++) {
    PyObject *const text = pygt_decode_ids(PyTuple_GET_ITEM(items, i), skip, 0);
    if (text) PyList_SET_ITEM(result, i, text);
    else Py_CLEAR(result);
  }
  Py_XDECREF(items);
  return result;
}

PyDoc_STRVAR(token_bytes_doc,
"token_bytes($module, id, /)\n--\n\nThe bytes of one id, or None for an id the vocabulary does not hold.");

static PyObject *py_token_bytes(PyObject *self, PyObject *number) {
  (void)self;
  PyObject *index = PyNumber_Index(number);
  if (!index) return NULL;
  int overflow;
  long long id = PyLong_AsLongLongAndOverflow(index, &overflow);
  Py_DECREF(index);
  int64_t length = 0;
  const uint8_t *bytes = overflow || id < 0 || id > UINT32_MAX ? NULL : gt_token_bytes((uint32_t)id, &length);
  if (!bytes) Py_RETURN_NONE;
  return PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)length);
}

PyDoc_STRVAR(token_id_doc, "token_id($module, token, /)\n--\n\nThe id of a token given as str or bytes, or None.");

static PyObject *py_token_id(PyObject *self, PyObject *token) {
  (void)self;
  uint8_t stack[PYGT_STACK_BYTES];
  pygt_inputs in;
  pygt_inputs_open(&in, stack, sizeof stack);
  const uint8_t *data;
  size_t length;
  int64_t id = -1;
  int failed = pygt_input(&in, token, -1, 0, &data, &length) < 0;
  if (!failed) id = gt_token_id(data, length);
  pygt_inputs_close(&in);
  if (failed) return NULL;
  if (id < 0) Py_RETURN_NONE;
  return PyLong_FromLongLong(id);
}

#endif
