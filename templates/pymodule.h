/* The extension module itself: `configure`, kernel selection, and PyInit__call. */
#ifndef GIGATOK_PYMODULE_H
#define GIGATOK_PYMODULE_H

/* Modes in which a special token has `mode` and any other added token matches. NULL when there are none, or no memory. */
static uint8_t *pygt_modes_for(const char *special, Py_ssize_t n, uint8_t mode) {
  uint8_t *modes = n ? PyMem_RawMalloc((size_t)n) : NULL;
  for (Py_ssize_t i = 0; modes && i < n; i++) modes[i] = special[i] ? mode : GT_MATCH;
  return modes;
}

PyDoc_STRVAR(configure_doc,
"configure($module, special, default_error, join_surrogates, encoded, encoded_types, resolve, fail, as_ids, /)\n--\n\n"
"What the package tells this extension once, at import. special: bytes, one an added token in order, 1 if it is special.");

static PyObject *py_configure(PyObject *self, PyObject *args) {
  (void)self;
  const char *special;
  Py_ssize_t n;
  int default_error, join_surrogates;
  PyObject *encoded, *encoded_types, *resolve, *fail, *as_ids;
  if (!PyArg_ParseTuple(args, "y#ppOOOOO:configure", &special, &n, &default_error, &join_surrogates, &encoded, &encoded_types,
                        &resolve, &fail, &as_ids))
    return NULL;
  uint8_t *text = pygt_modes_for(special, n, GT_AS_TEXT), *error = pygt_modes_for(special, n, GT_ERROR);
  if (n && (!text || !error)) {
    PyMem_RawFree(text);
    PyMem_RawFree(error);
    return PyErr_NoMemory();
  }
  PyMem_RawFree(pygt_state.text_modes);
  PyMem_RawFree(pygt_state.error_modes);
  pygt_state.text_modes = text;
  pygt_state.error_modes = error;
  pygt_state.n_added = n;
  pygt_state.default_error = default_error;
  pygt_state.join_surrogates = join_surrogates;
  Py_XSETREF(pygt_state.encoded, Py_NewRef(encoded));
  Py_XSETREF(pygt_state.encoded_types, Py_NewRef(encoded_types));
  Py_XSETREF(pygt_state.resolve, Py_NewRef(resolve));
  Py_XSETREF(pygt_state.fail, Py_NewRef(fail));
  Py_XSETREF(pygt_state.as_ids, Py_NewRef(as_ids));
  Py_RETURN_NONE;
}

PyDoc_STRVAR(isa_doc, "isa($module, /)\n--\n\nThe kernel set in use.");
static PyObject *py_isa(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyUnicode_FromString(gt_isa());
}

PyDoc_STRVAR(isas_doc, "isas($module, /)\n--\n\nThe kernel sets this CPU can run, space separated, best first.");
static PyObject *py_isas(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyUnicode_FromString(gt_isas());
}

PyDoc_STRVAR(set_isa_doc,
"set_isa($module, name, /)\n--\n\nUse the kernel set `name`. ValueError if this CPU or build lacks it.");
static PyObject *py_set_isa(PyObject *self, PyObject *name) {
  (void)self;
  const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
  if (!text) return PyErr_Format(PyExc_TypeError, "the name of a kernel set is a str, not %.200s", Py_TYPE(name)->tp_name);
  if (gt_set_isa(text) != GT_OK)
    return PyErr_Format(PyExc_ValueError, "no kernel set %R here; this CPU and build have: %s", name, gt_isas());
  Py_RETURN_NONE;
}

PyDoc_STRVAR(release_thread_doc, "release_thread($module, /)\n--\n\nGive back the caches of the calling thread.");
static PyObject *py_release_thread(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  gt_release_thread();
  Py_RETURN_NONE;
}

PyDoc_STRVAR(thread_bytes_doc, "thread_bytes($module, /)\n--\n\nBytes of scratch and caches that the calling thread holds.");
static PyObject *py_thread_bytes(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyLong_FromLongLong(gt_thread_bytes());
}

#define PYGT_FAST(name) {#name, (PyCFunction)(void (*)(void))py_##name, METH_FASTCALL | METH_KEYWORDS, name##_doc}
#define PYGT_SIMPLE(name, flags) {#name, (PyCFunction)py_##name, flags, name##_doc}

static PyMethodDef pygt_methods[] = {
    PYGT_FAST(encode),
    PYGT_FAST(encode_batch),
    PYGT_FAST(encode_batch_with_type_ids),
    PYGT_FAST(encode_separated),
    PYGT_FAST(count),
    PYGT_FAST(decode),
    PYGT_FAST(decode_bytes),
    PYGT_FAST(decode_batch),
    PYGT_SIMPLE(token_bytes, METH_O),
    PYGT_SIMPLE(token_id, METH_O),
    PYGT_SIMPLE(configure, METH_VARARGS),
    PYGT_SIMPLE(isa, METH_NOARGS),
    PYGT_SIMPLE(isas, METH_NOARGS),
    PYGT_SIMPLE(set_isa, METH_O),
    PYGT_SIMPLE(release_thread, METH_NOARGS),
    PYGT_SIMPLE(thread_bytes, METH_NOARGS),
    {NULL, NULL, 0, NULL},
};

static int pygt_module_exec(PyObject *module) {
  (void)module;
  import_array1(-1);
  for (int i = 0; i < PYGT_PARAMETERS; i++) {
    if (pygt_interned[i]) continue;
    pygt_interned[i] = PyUnicode_InternFromString(pygt_parameter_names[i]);
    if (!pygt_interned[i]) return -1;
  }
  return 0;
}

static PyModuleDef_Slot pygt_slots[] = {
    {Py_mod_exec, (void *)pygt_module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef pygt_module = {
    PyModuleDef_HEAD_INIT, "_call", "Compiled calls of this tokenizer.", 0, pygt_methods, pygt_slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__call(void) { return PyModuleDef_Init(&pygt_module); }

#undef PYGT_FAST
#undef PYGT_SIMPLE

#endif
