/* `NAME._call`: the Python calls in C, on CPython's and numpy's C-API, without cffi or Python code in between.
 *
 * module.c includes this last. Besides gigatok.h it needs from module.c
 *
 *   gt_thread                                the calling thread's scratch and caches
 *   static gt_thread *gt_thread_self(void)   made on first use; NULL when memory is out
 *   static int64_t gt_encode_into(gt_thread *, const uint8_t *text, size_t length, const gt_call *, uint32_t **ids)
 *                                            one text on this thread: the number of ids, which stay in the thread's scratch
 *                                            until its next call; or a status
 *
 * Between gt_encode_into and the copy of its ids no Python code can run on this thread (numpy arrays are not tracked by the
 * garbage collector), so nothing can call in again and overwrite them.
 */
#ifndef GIGATOK_PYCALL_H
#define GIGATOK_PYCALL_H

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_1_19_API_VERSION
#include <Python.h>
#include <numpy/arrayobject.h>
#include <string.h>

#include "pytext.h"
#include "pyarguments.h"
#include "pyoutput.h"

enum {
  PYGT_RELEASE_BYTES = 1 << 10, /* shorter texts take less time than giving the GIL away and waiting for it again */
  PYGT_LARGE_BYTES = 1 << 20    /* longer texts are encoded into a buffer of their own, which the array then owns */
};

/* Names the special token or the byte at fault: gt_encode_into tells only that there is one. Always -1. */
static int pygt_explain(int64_t status, const uint8_t *data, size_t length, const gt_call *call) {
  if (status == GT_BAD_UTF8) return pygt_raise(GT_BAD_UTF8, -1, (Py_ssize_t)gt_validate_utf8(data, length), -1, NULL);
  if (status != GT_SPECIAL_IN_TEXT) return pygt_raise((int)status, -1, -1, -1, NULL);
  gt_output out = {0};
  int again = gt_encode_many(&data, &length, 1, call, &out);
  if (again == GT_OK) gt_output_free(&out);
  return pygt_raise((int)status, -1, (Py_ssize_t)out.error_byte, out.error_added, NULL);
}

static PyObject *pygt_encode_large(const uint8_t *data, size_t length, const gt_call *call) {
  gt_output out = {0};
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = gt_encode_many(&data, &length, 1, call, &out);
  Py_END_ALLOW_THREADS
  if (status != GT_OK) {
    pygt_raise(status, -1, (Py_ssize_t)out.error_byte, out.error_added, NULL);
    return NULL;
  }
  return pygt_wrap_ids(&out);
}

static PyObject *pygt_encode_short(const uint8_t *data, size_t length, const gt_call *call) {
  gt_thread *thread = gt_thread_self();
  if (!thread) return PyErr_NoMemory();
  uint32_t *ids = NULL;
  int64_t n;
  if (length < PYGT_RELEASE_BYTES) {
    n = gt_encode_into(thread, data, length, call, &ids);
  } else {
    Py_BEGIN_ALLOW_THREADS
    n = gt_encode_into(thread, data, length, call, &ids);
    Py_END_ALLOW_THREADS
  }
  if (n < 0) {
    pygt_explain(n, data, length, call);
    return NULL;
  }
  return pygt_copy_ids(ids, n);
}

static PyObject *pygt_encode_text(const uint8_t *data, size_t length, const gt_call *call) {
  int large = length > PYGT_LARGE_BYTES || (call->threads != 1 && length > PYGT_RELEASE_BYTES);
  return large ? pygt_encode_large(data, length, call) : pygt_encode_short(data, length, call);
}

/* Ids of a pair; closes the options. */
static PyObject *pygt_encode_pair(PyObject *text, PyObject *pair, pygt_options *o) {
  pygt_inputs in;
  pygt_inputs_open(&in, NULL, 0);
  const uint8_t *texts[2];
  size_t lengths[2];
  PyObject *result = NULL;
  if (pygt_input(&in, text, -1, o->replace, &texts[0], &lengths[0]) == 0 &&
      pygt_input(&in, pair, -1, o->replace, &texts[1], &lengths[1]) == 0) {
    o->call.check_utf8 = in.unchecked;
    gt_output out = {0};
    int status;
    Py_BEGIN_ALLOW_THREADS
    status = gt_encode_pairs(texts, lengths, (const uint8_t[]){1}, 1, &o->call, 0, &out);
    Py_END_ALLOW_THREADS
    if (status == GT_OK) result = pygt_wrap_ids(&out);
    else pygt_raise(status, -1, (Py_ssize_t)out.error_byte, out.error_added, NULL);
  }
  pygt_inputs_close(&in);
  pygt_options_close(o);
  return result;
}

PyDoc_STRVAR(encode_doc,
"encode($module, text, *, pair=None, add_special_tokens=False, special=None, errors='strict', threads=1)\n--\n\n"
"Ids of `text`: a one-dimensional uint32 array.\n\n"
"text: str, bytes, or any C-contiguous buffer of bytes (bytearray, memoryview, mmap, numpy uint8), used in place.\n"
"pair: a second text; the ids are those of the pair as the post-processor puts it together.\n"
"add_special_tokens: put the post-processor's ids around the text.\n"
"special: what to do with special tokens in the text: None as the reference engine does by default; 'match', 'text' or\n"
"    'error'; a set of names that match, others being text; or a mapping from names to 'match', 'text' or 'error'.\n"
"errors: 'strict' raises on ill-formed UTF-8, 'replace' reads U+FFFD for it.\n"
"threads: for one large text; None for as many as there are CPUs. Ids do not depend on it.\n\n"
"Raises TypeError, UnicodeError, or ValueError for a special token that is an error.");

static PyObject *py_encode(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  if (nargs == 1 && !names && PyUnicode_Check(args[0]) && PyUnicode_IS_COMPACT_ASCII(args[0])) {
    gt_call call = {pygt_state.default_error ? pygt_state.error_modes : NULL, 0, 1, 0};
    return pygt_encode_text((const uint8_t *)PyUnicode_1BYTE_DATA(args[0]), (size_t)PyUnicode_GET_LENGTH(args[0]), &call);
  }
  static const pygt_signature signature = {
      "encode", 1, 1, {PYGT_TEXT, PYGT_ADD_SPECIAL, PYGT_SPECIAL, PYGT_ERRORS, PYGT_THREADS, PYGT_PAIR}};
  pygt_arguments a;
  if (pygt_parse(&signature, args, nargs, names, &a) < 0) return NULL;
  pygt_options o;
  if (pygt_options_open(&o, &a, 1) < 0) return NULL;
  if (a.values[PYGT_PAIR] && a.values[PYGT_PAIR] != Py_None)
    return pygt_encode_pair(a.values[PYGT_TEXT], a.values[PYGT_PAIR], &o);
  uint8_t stack[PYGT_STACK_BYTES];
  pygt_inputs in;
  pygt_inputs_open(&in, stack, sizeof stack);
  const uint8_t *data;
  size_t length;
  PyObject *result = NULL;
  if (pygt_input(&in, a.values[PYGT_TEXT], -1, o.replace, &data, &length) == 0) {
    o.call.check_utf8 = in.unchecked;
    result = pygt_encode_text(data, length, &o.call);
  }
  pygt_inputs_close(&in);
  pygt_options_close(&o);
  return result;
}

PyDoc_STRVAR(count_doc,
"count($module, text, *, add_special_tokens=False, special=None, errors='strict')\n--\n\n"
"How many ids `encode` gives, without making them.");

static PyObject *py_count(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"count", 1, 1, {PYGT_TEXT, PYGT_ADD_SPECIAL, PYGT_SPECIAL, PYGT_ERRORS}};
  pygt_arguments a;
  if (pygt_parse(&signature, args, nargs, names, &a) < 0) return NULL;
  pygt_options o;
  if (pygt_options_open(&o, &a, 1) < 0) return NULL;
  uint8_t stack[PYGT_STACK_BYTES];
  pygt_inputs in;
  pygt_inputs_open(&in, stack, sizeof stack);
  const uint8_t *data;
  size_t length;
  PyObject *result = NULL;
  if (pygt_input(&in, a.values[PYGT_TEXT], -1, o.replace, &data, &length) == 0) {
    o.call.check_utf8 = in.unchecked;
    int64_t n;
    if (length < PYGT_RELEASE_BYTES) {
      n = gt_count(data, length, &o.call);
    } else {
      Py_BEGIN_ALLOW_THREADS
      n = gt_count(data, length, &o.call);
      Py_END_ALLOW_THREADS
    }
    if (n < 0) pygt_explain(n, data, length, &o.call);
    else result = PyLong_FromLongLong(n);
  }
  pygt_inputs_close(&in);
  pygt_options_close(&o);
  return result;
}

/* How many of the items of a batch are pairs. */
static Py_ssize_t pygt_count_pairs(PyObject *items) {
  Py_ssize_t pairs = 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items); i++) {
    PyObject *const item = PyTuple_GET_ITEM(items, i);
    pairs += PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2;
  }
  return pairs;
}

/* The texts of a batch as pointers; `items` is a tuple, so no one can take a text away while the GIL is released, and so are
 * pairs in it. */
static PyObject *pygt_encode_items(PyObject *items, pygt_options *o, int type_ids) {
  const Py_ssize_t n = PyTuple_GET_SIZE(items), pairs = pygt_count_pairs(items);
  const uint8_t **texts = PyMem_RawMalloc(((size_t)(n + pairs) + 1) * sizeof *texts);
  size_t *lengths = PyMem_RawMalloc(((size_t)(n + pairs) + 1) * sizeof *lengths);
  const int templates = pairs || type_ids;
  uint8_t *paired = templates ? PyMem_RawCalloc((size_t)n + 1, 1) : NULL;
  PyObject *result = NULL;
  pygt_inputs in;
  pygt_inputs_open(&in, NULL, 0);
  if (!texts || !lengths || (templates && !paired)) {
    PyErr_NoMemory();
    goto done;
  }
  Py_ssize_t at = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *const item = PyTuple_GET_ITEM(items, i);
    if (pairs && PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 2) {
      paired[i] = 1;
      if (pygt_input(&in, PyTuple_GET_ITEM(item, 0), i, o->replace, &texts[at], &lengths[at]) < 0) goto done;
      at++;
      if (pygt_input(&in, PyTuple_GET_ITEM(item, 1), i, o->replace, &texts[at], &lengths[at]) < 0) goto done;
    } else if (pygt_input(&in, item, i, o->replace, &texts[at], &lengths[at]) < 0) {
      goto done;
    }
    at++;
  }
  o->call.check_utf8 = in.unchecked;
  gt_output out = {0};
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = templates ? gt_encode_pairs(texts, lengths, paired, n, &o->call, type_ids, &out)
                     : gt_encode_many(texts, lengths, n, &o->call, &out);
  Py_END_ALLOW_THREADS
  if (status == GT_OK) result = pygt_wrap_output(&out);
  else pygt_raise(status, (Py_ssize_t)out.error_text, (Py_ssize_t)out.error_byte, out.error_added, NULL);
done:
  pygt_inputs_close(&in);
  PyMem_RawFree(paired);
  PyMem_RawFree(lengths);
  PyMem_RawFree(texts);
  return result;
}

static PyObject *pygt_encode_batch_of(const pygt_signature *signature, int type_ids, PyObject *const *args, Py_ssize_t nargs,
                                      PyObject *names) {
  pygt_arguments a;
  if (pygt_parse(signature, args, nargs, names, &a) < 0) return NULL;
  PyObject *texts = a.values[PYGT_TEXTS];
  if (PyUnicode_Check(texts) || PyBytes_Check(texts) || PyByteArray_Check(texts) || PyMemoryView_Check(texts))
    return PyErr_Format(PyExc_TypeError, "texts must be a list of texts, not one %.200s", Py_TYPE(texts)->tp_name);
  pygt_options o;
  if (pygt_options_open(&o, &a, 0) < 0) return NULL;
  PyObject *items = PySequence_Tuple(texts);
  PyObject *result = NULL;
  if (items) {
    result = pygt_encode_items(items, &o, type_ids);
    Py_DECREF(items);
  } else if (!Py_TYPE(texts)->tp_iter && !PySequence_Check(texts)) {
    PyErr_Format(PyExc_TypeError, "texts must be a list of texts, not %.200s", Py_TYPE(texts)->tp_name);
  }
  pygt_options_close(&o);
  return result;
}

PyDoc_STRVAR(encode_batch_doc,
"encode_batch($module, texts, threads=None, *, add_special_tokens=False, special=None, errors='strict')\n--\n\n"
"Ids of many texts: Encoded(ids, offsets), uint32 ids of all texts one after the other and int64 offsets of\n"
"len(texts) + 1 entries; ids[offsets[i]:offsets[i + 1]] are those of texts[i]. A tuple of two texts is a pair. Options as\n"
"for `encode`.\n\n"
"threads: None for as many as there are CPUs. Ids do not depend on it.");

static PyObject *py_encode_batch(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {
      "encode_batch", 1, 2, {PYGT_TEXTS, PYGT_THREADS, PYGT_ADD_SPECIAL, PYGT_SPECIAL, PYGT_ERRORS}};
  return pygt_encode_batch_of(&signature, 0, args, nargs, names);
}

PyDoc_STRVAR(encode_batch_with_type_ids_doc,
"encode_batch_with_type_ids($module, texts, threads=None, *, add_special_tokens=False, special=None,\n"
"                           errors='strict')\n--\n\n"
"`encode_batch` with the type id of every id: EncodedWithTypeIds(ids, offsets, type_ids).");

static PyObject *py_encode_batch_with_type_ids(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {
      "encode_batch_with_type_ids", 1, 2, {PYGT_TEXTS, PYGT_THREADS, PYGT_ADD_SPECIAL, PYGT_SPECIAL, PYGT_ERRORS}};
  return pygt_encode_batch_of(&signature, 1, args, nargs, names);
}

PyDoc_STRVAR(encode_separated_doc,
"encode_separated($module, data, separator=None, threads=None, *, add_special_tokens=False, special=None,\n"
"                 errors='strict')\n--\n\n"
"Ids of the pieces of one buffer between separators (bytes), as Encoded(ids, offsets). A separator belongs to no\n"
"piece; the piece after the last one is dropped when it is empty. separator None: the buffer is one text.");

static PyObject *py_encode_separated(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {
      "encode_separated", 1, 3, {PYGT_DATA, PYGT_SEPARATOR, PYGT_THREADS, PYGT_ADD_SPECIAL, PYGT_SPECIAL, PYGT_ERRORS}};
  pygt_arguments a;
  if (pygt_parse(&signature, args, nargs, names, &a) < 0) return NULL;
  pygt_options o;
  if (pygt_options_open(&o, &a, 0) < 0) return NULL;
  pygt_inputs in;
  pygt_inputs_open(&in, NULL, 0);
  const uint8_t *data, *separator = NULL;
  size_t length, separator_length = 0;
  PyObject *result = NULL, *given = a.values[PYGT_SEPARATOR];
  if (given && given != Py_None && pygt_input(&in, given, -1, 0, &separator, &separator_length) < 0) goto done;
  if (separator && !separator_length) {
    PyErr_SetString(PyExc_ValueError, "separator must not be empty (None: no separator)");
    goto done;
  }
  in.unchecked = 0;
  if (pygt_input(&in, a.values[PYGT_DATA], -1, o.replace, &data, &length) < 0) goto done;
  o.call.check_utf8 = in.unchecked;
  gt_output out = {0};
  int status;
  Py_BEGIN_ALLOW_THREADS
  status = gt_encode_separated(data, length, separator, separator_length, &o.call, &out);
  Py_END_ALLOW_THREADS
  if (status == GT_OK) result = pygt_wrap_output(&out);
  else pygt_raise(status, -1, (Py_ssize_t)out.error_byte, out.error_added, NULL); /* the byte is that of the buffer */
done:
  pygt_inputs_close(&in);
  pygt_options_close(&o);
  return result;
}

#include "pydecode.h"
#include "pymodule.h"

#endif
