/* decode, decode_bytes, and look-ups in the vocabulary. */
#ifndef GIGATOK_PYDECODE_H
#define GIGATOK_PYDECODE_H

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

typedef PyObject *(*pygt_bytes_to_object)(const char *bytes, Py_ssize_t length);

static PyObject *pygt_object_str(const char *bytes, Py_ssize_t length) {
  return PyUnicode_DecodeUTF8(bytes, length, "replace");
}

static PyObject *pygt_decode_with(const pygt_signature *signature, pygt_bytes_to_object make, PyObject *const *args,
                                  Py_ssize_t nargs, PyObject *names) {
  pygt_arguments a;
  if (pygt_parse(signature, args, nargs, names, &a) < 0) return NULL;
  int skip = a.values[PYGT_SKIP_SPECIAL] ? PyObject_IsTrue(a.values[PYGT_SKIP_SPECIAL]) : 0;
  if (skip < 0) return NULL;
  pygt_ids in;
  if (pygt_ids_open(&in, a.values[PYGT_IDS]) < 0) return NULL;
  uint8_t stack[PYGT_STACK_BYTES];
  uint8_t *bytes = stack, *more = NULL;
  int64_t capacity = sizeof stack, length;
  PyObject *result = NULL;
  if (in.n > PYGT_STACK_BYTES / 8) { /* a guess above the average; the second round has the exact size */
    capacity = 8 * in.n;
    bytes = more = PyMem_RawMalloc((size_t)capacity);
  }
  for (int round = 0; round < 2; round++) {
    if (!bytes) {
      PyErr_NoMemory();
      break;
    }
    if (in.n < PYGT_RELEASE_IDS) {
      length = gt_decode(in.ids, in.n, skip, bytes, capacity);
    } else {
      Py_BEGIN_ALLOW_THREADS
      length = gt_decode(in.ids, in.n, skip, bytes, capacity);
      Py_END_ALLOW_THREADS
    }
    if (length < 0) {
      pygt_raise((int)length, -1, -1, -1, NULL);
      break;
    }
    if (length <= capacity) {
      result = make((const char *)bytes, (Py_ssize_t)length);
      break;
    }
    PyMem_RawFree(more);
    capacity = length;
    bytes = more = PyMem_RawMalloc((size_t)capacity);
  }
  PyMem_RawFree(more);
  pygt_ids_close(&in);
  return result;
}

PyDoc_STRVAR(decode_doc,
"decode($module, ids, skip_special_tokens=False)\n--\n\n"
"Text of ids (any sequence or array of whole numbers). Ill-formed UTF-8 becomes U+FFFD; ids that the vocabulary does\n"
"not hold are skipped, as the reference does.");

static PyObject *py_decode(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"decode", 1, 2, {PYGT_IDS, PYGT_SKIP_SPECIAL}};
  return pygt_decode_with(&signature, pygt_object_str, args, nargs, names);
}

PyDoc_STRVAR(decode_bytes_doc,
"decode_bytes($module, ids, skip_special_tokens=False)\n--\n\n"
"Bytes of ids, as they are.");

static PyObject *py_decode_bytes(PyObject *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names) {
  (void)self;
  static const pygt_signature signature = {"decode_bytes", 1, 2, {PYGT_IDS, PYGT_SKIP_SPECIAL}};
  return pygt_decode_with(&signature, PyBytes_FromStringAndSize, args, nargs, names);
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
