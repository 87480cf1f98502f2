/* Ids as numpy arrays: copied when few, or around the memory that the kernel filled, which then lives as long as they do. */
#ifndef GIGATOK_PYOUTPUT_H
#define GIGATOK_PYOUTPUT_H

static PyObject *pygt_new_ids(int64_t n) {
  npy_intp shape = (npy_intp)n;
  return PyArray_SimpleNew(1, &shape, NPY_UINT32);
}

static PyObject *pygt_copy_ids(const uint32_t *ids, int64_t n) {
  PyObject *array = pygt_new_ids(n);
  if (array && n) memcpy(PyArray_DATA((PyArrayObject *)array), ids, (size_t)n * sizeof *ids);
  return array;
}

static void pygt_output_drop(PyObject *capsule) {
  gt_output *out = PyCapsule_GetPointer(capsule, "gigatok.output");
  if (!out) return;
  gt_output_free(out);
  PyMem_RawFree(out);
}

/* A capsule that owns what `out` points to; on failure that is freed. */
static PyObject *pygt_own_output(gt_output *out) {
  gt_output *kept = PyMem_RawMalloc(sizeof *kept);
  if (!kept) {
    gt_output_free(out);
    return PyErr_NoMemory();
  }
  *kept = *out;
  PyObject *owner = PyCapsule_New(kept, "gigatok.output", pygt_output_drop);
  if (!owner) {
    gt_output_free(kept);
    PyMem_RawFree(kept);
  }
  return owner;
}

/* An array around `data`, which `owner` keeps alive. */
static PyObject *pygt_array_around(void *data, int64_t n, int type, PyObject *owner) {
  npy_intp shape = (npy_intp)n;
  if (!n || !data) return PyArray_ZEROS(1, &shape, type, 0);
  PyObject *array = PyArray_SimpleNewFromData(1, &shape, type, data);
  if (!array) return NULL;
  Py_INCREF(owner);
  if (PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) { /* takes the reference, also when it fails */
    Py_DECREF(array);
    return NULL;
  }
  return array;
}

static PyObject *pygt_wrap_ids(gt_output *out) {
  PyObject *owner = pygt_own_output(out);
  if (!owner) return NULL;
  PyObject *ids = pygt_array_around(out->ids, out->n_ids, NPY_UINT32, owner);
  Py_DECREF(owner);
  return ids;
}

/* Encoded(ids, offsets), or with type ids EncodedWithTypeIds(ids, offsets, type_ids) */
static PyObject *pygt_wrap_output(gt_output *out) {
  PyObject *owner = pygt_own_output(out);
  if (!owner) return NULL;
  PyObject *ids = pygt_array_around(out->ids, out->n_ids, NPY_UINT32, owner);
  PyObject *offsets = ids ? pygt_array_around(out->offsets, out->n_texts + 1, NPY_INT64, owner) : NULL;
  const int typed = out->type_ids != NULL;
  PyObject *types = offsets && typed ? pygt_array_around(out->type_ids, out->n_ids, NPY_UINT32, owner) : NULL;
  Py_DECREF(owner);
  PyObject *result = NULL;
  if (types) result = PyObject_CallFunctionObjArgs(pygt_state.encoded_types, ids, offsets, types, NULL);
  else if (offsets && !typed) result = PyObject_CallFunctionObjArgs(pygt_state.encoded, ids, offsets, NULL);
  Py_XDECREF(types);
  Py_XDECREF(ids);
  Py_XDECREF(offsets);
  return result;
}

#endif
