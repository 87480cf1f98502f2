/* Keyword arguments of the Python calls, read without a dict, and the options among them as a gt_call. */
#ifndef GIGATOK_PYARGUMENTS_H
#define GIGATOK_PYARGUMENTS_H

/* Every parameter that any call has. */
enum {
  PYGT_TEXT,
  PYGT_TEXTS,
  PYGT_DATA,
  PYGT_IDS,
  PYGT_SEPARATOR,
  PYGT_THREADS,
  PYGT_ADD_SPECIAL,
  PYGT_SPECIAL,
  PYGT_ERRORS,
  PYGT_SKIP_SPECIAL,
  PYGT_PARAMETERS,
  PYGT_NO_PARAMETER = 0 /* ends a signature; PYGT_TEXT is only ever first */
};

static const char *const pygt_parameter_names[PYGT_PARAMETERS] = {
    "text",   "texts",  "data", "ids", "separator", "threads", "add_special_tokens", "special",
    "errors", "skip_special_tokens"};
static PyObject *pygt_interned[PYGT_PARAMETERS];

typedef struct {
  const char *function;
  int required;   /* how many of `parameters` must be given */
  int positional; /* how many may be given without their name */
  uint8_t parameters[8];
} pygt_signature;

typedef struct {
  PyObject *values[PYGT_PARAMETERS]; /* borrowed; NULL: not given */
} pygt_arguments;

/* Which parameter of `signature` is called `name`, or -1. */
static int pygt_find_parameter(const pygt_signature *signature, PyObject *name) {
  for (int i = 0; i < 8 && (i == 0 || signature->parameters[i]); i++)
    if (pygt_interned[signature->parameters[i]] == name) return signature->parameters[i];
  for (int i = 0; i < 8 && (i == 0 || signature->parameters[i]); i++)
    if (PyUnicode_CompareWithASCIIString(name, pygt_parameter_names[signature->parameters[i]]) == 0)
      return signature->parameters[i];
  return -1;
}

static int pygt_parse(const pygt_signature *signature, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                      pygt_arguments *out) {
  memset(out, 0, sizeof *out);
  if (nargs > signature->positional) {
    PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s but %zd were given", signature->function,
                 signature->positional, signature->positional == 1 ? "" : "s", nargs);
    return -1;
  }
  for (Py_ssize_t i = 0; i < nargs; i++) out->values[signature->parameters[i]] = args[i];
  Py_ssize_t n_names = names ? PyTuple_GET_SIZE(names) : 0;
  for (Py_ssize_t i = 0; i < n_names; i++) {
    PyObject *name = PyTuple_GET_ITEM(names, i);
    int parameter = pygt_find_parameter(signature, name);
    if (parameter < 0) {
      PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", signature->function, name);
      return -1;
    }
    if (out->values[parameter]) {
      PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'", signature->function, name);
      return -1;
    }
    out->values[parameter] = args[nargs + i];
  }
  for (int i = 0; i < signature->required; i++) {
    if (!out->values[signature->parameters[i]]) {
      PyErr_Format(PyExc_TypeError, "%s() missing required argument: '%s'", signature->function,
                   pygt_parameter_names[signature->parameters[i]]);
      return -1;
    }
  }
  return 0;
}

/* The options of an encoding call. `modes` keeps call.added_modes alive. */
typedef struct {
  gt_call call;
  int replace;
  PyObject *modes;
} pygt_options;

static int pygt_option_special(pygt_options *o, PyObject *special) {
  if (!special || special == Py_None) {
    o->call.added_modes = pygt_state.default_error ? pygt_state.error_modes : NULL;
    return 0;
  }
  if (PyUnicode_Check(special)) {
    if (PyUnicode_CompareWithASCIIString(special, "match") == 0) return 0;
    if (PyUnicode_CompareWithASCIIString(special, "text") == 0) {
      o->call.added_modes = pygt_state.text_modes;
      return 0;
    }
    if (PyUnicode_CompareWithASCIIString(special, "error") == 0) {
      o->call.added_modes = pygt_state.error_modes;
      return 0;
    }
  }
  if (!pygt_state.resolve) {
    PyErr_SetString(PyExc_RuntimeError, "configure() has not been called");
    return -1;
  }
  PyObject *modes = PyObject_CallFunctionObjArgs(pygt_state.resolve, special, NULL);
  if (!modes) return -1;
  if (!PyBytes_Check(modes) || PyBytes_GET_SIZE(modes) != pygt_state.n_added) {
    Py_DECREF(modes);
    PyErr_SetString(PyExc_SystemError, "resolve() must return one byte an added token");
    return -1;
  }
  o->modes = modes;
  if (pygt_state.n_added) o->call.added_modes = (const uint8_t *)PyBytes_AS_STRING(modes);
  return 0;
}

static int pygt_option_threads(pygt_options *o, PyObject *threads, int default_threads) {
  o->call.threads = default_threads;
  if (!threads) return 0;
  o->call.threads = 0;
  if (threads == Py_None) return 0;
  PyObject *number = PyNumber_Index(threads);
  if (!number) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Format(PyExc_TypeError, "threads must be a whole number or None, not %.200s", Py_TYPE(threads)->tp_name);
    return -1;
  }
  int overflow;
  long long n = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  if (overflow < 0 || n < 1) n = overflow > 0 ? 1024 : 0;
  if (!n) {
    PyErr_Format(PyExc_ValueError, "threads must be at least 1 (None: one a CPU), not %R", threads);
    return -1;
  }
  o->call.threads = n > 1024 ? 1024 : (int32_t)n;
  return 0;
}

static int pygt_option_errors(pygt_options *o, PyObject *errors) {
  o->replace = 0;
  if (!errors) return 0;
  if (PyUnicode_Check(errors)) {
    if (PyUnicode_CompareWithASCIIString(errors, "strict") == 0) return 0;
    o->replace = 1;
    if (PyUnicode_CompareWithASCIIString(errors, "replace") == 0) return 0;
  }
  PyErr_Format(PyExc_ValueError, "errors must be 'strict' or 'replace', not %R", errors);
  return -1;
}

static int pygt_options_open(pygt_options *o, const pygt_arguments *a, int default_threads) {
  *o = (pygt_options){{NULL, 0, default_threads, 0}, 0, NULL};
  if (a->values[PYGT_ADD_SPECIAL]) {
    o->call.add_special_tokens = PyObject_IsTrue(a->values[PYGT_ADD_SPECIAL]);
    if (o->call.add_special_tokens < 0) return -1;
  }
  if (pygt_option_threads(o, a->values[PYGT_THREADS], default_threads) < 0) return -1;
  if (pygt_option_errors(o, a->values[PYGT_ERRORS]) < 0) return -1;
  return pygt_option_special(o, a->values[PYGT_SPECIAL]);
}

static void pygt_options_close(pygt_options *o) { Py_CLEAR(o->modes); }

#endif
