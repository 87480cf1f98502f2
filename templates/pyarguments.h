/* Arguments of the Python calls: keywords read without a dict, options as a gt_call, texts of every kind as UTF-8. */
#ifndef GIGATOK_PYARGUMENTS_H
#define GIGATOK_PYARGUMENTS_H

/* What the generated package tells the extension at import (`configure` in pymodule.h). */
static struct {
  Py_ssize_t n_added;     /* added tokens */
  uint8_t *text_modes;    /* n_added modes: special tokens as text, the others match; NULL when n_added is 0 */
  uint8_t *error_modes;   /* n_added modes: special tokens are an error, the others match */
  int default_error;      /* special=None means "error" (rank files), not "match" */
  int join_surrogates;    /* surrogates in a str go through UTF-16 (rank files), they are no error */
  PyObject *encoded;      /* class Encoded(ids, offsets) */
  PyObject *encoded_types; /* class EncodedWithTypeIds(ids, offsets, type_ids) */
  PyObject *resolve;      /* special -> bytes of n_added modes */
  PyObject *fail;         /* (status, text index or -1, offset, added token or -1, text or None) -> exception */
  PyObject *as_ids;       /* anything of whole numbers -> C-contiguous uint32 array of one dimension */
} pygt_state;

/* Raise the exception that pygt_state.fail makes. Always -1. */
static int pygt_raise(int status, Py_ssize_t index, Py_ssize_t offset, int added, PyObject *text) {
  if (status == GT_NO_MEMORY) {
    PyErr_NoMemory();
    return -1;
  }
  if (!pygt_state.fail) {
    PyErr_SetString(PyExc_RuntimeError, "configure() has not been called");
    return -1;
  }
  PyObject *error = PyObject_CallFunction(pygt_state.fail, "inniO", status, index, offset, added, text ? text : Py_None);
  if (error) {
    PyErr_SetObject((PyObject *)Py_TYPE(error), error);
    Py_DECREF(error);
  }
  return -1;
}

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
  PYGT_PAIR,
  PYGT_PARAMETERS,
  PYGT_NO_PARAMETER = 0 /* ends a signature; PYGT_TEXT is only ever first */
};

static const char *const pygt_parameter_names[PYGT_PARAMETERS] = {
    "text",   "texts",  "data", "ids", "separator", "threads", "add_special_tokens", "special",
    "errors", "skip_special_tokens", "pair"};
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

/* ------------------------------------------------------------------ texts */

/* A buffer held until the call is over. Its own allocation, since a Py_buffer may point into itself. */
typedef struct pygt_held {
  struct pygt_held *next;
  Py_buffer buffer;
} pygt_held;

/* Inputs of one call: the scratch, the buffers held, and whether any text still needs its UTF-8 checked. */
typedef struct {
  pygt_arena arena;
  pygt_held *held;
  int unchecked;
} pygt_inputs;

static void pygt_inputs_open(pygt_inputs *in, uint8_t *stack, size_t stack_bytes) {
  in->arena = (pygt_arena){stack, stack_bytes, NULL};
  in->held = NULL;
  in->unchecked = 0;
}

static void pygt_inputs_close(pygt_inputs *in) {
  while (in->held) {
    pygt_held *next = in->held->next;
    PyBuffer_Release(&in->held->buffer);
    PyMem_RawFree(in->held);
    in->held = next;
  }
  pygt_arena_free(&in->arena);
}

static int pygt_input_str(pygt_inputs *in, PyObject *text, Py_ssize_t index, int replace, const uint8_t **data,
                          size_t *length) {
#if PY_VERSION_HEX < 0x030C0000
  if (PyUnicode_READY(text) < 0) return -1;
#endif
  if (PyUnicode_IS_ASCII(text)) {
    *data = (const uint8_t *)PyUnicode_1BYTE_DATA(text);
    *length = (size_t)PyUnicode_GET_LENGTH(text);
    return 0;
  }
  int status = pygt_transcode(&in->arena, text, data, length);
  if (status <= 0) return status;
  if (!replace && !pygt_state.join_surrogates) return pygt_raise(GT_BAD_UTF8, index, -1, -1, text);
  /* What tiktoken does: join surrogate pairs, turn lone ones into U+FFFD. */
  PyObject *units = PyUnicode_AsEncodedString(text, "utf-16-le", "surrogatepass");
  if (!units) return -1;
  PyObject *joined = PyUnicode_DecodeUTF16(PyBytes_AS_STRING(units), PyBytes_GET_SIZE(units), "replace", &(int){-1});
  Py_DECREF(units);
  if (!joined) return -1;
  status = pygt_transcode(&in->arena, joined, data, length);
  Py_DECREF(joined);
  return status;
}

/* Ill-formed parts become U+FFFD, as str(data, "utf-8", "replace") has it. */
static int pygt_replace_bad(pygt_inputs *in, const uint8_t **data, size_t *length) {
  PyObject *text = PyUnicode_DecodeUTF8((const char *)*data, (Py_ssize_t)*length, "replace");
  if (!text) return -1;
  int status = pygt_transcode(&in->arena, text, data, length);
  Py_DECREF(text);
  return status;
}

static int pygt_wrong_type(PyObject *text, Py_ssize_t index) {
  char name[40] = "text";
  if (index >= 0) PyOS_snprintf(name, sizeof name, "texts[%lld]", (long long)index);
  PyErr_Format(PyExc_TypeError, "%s must be str, bytes or a one-dimensional C-contiguous buffer of bytes, not %.200s", name,
               Py_TYPE(text)->tp_name);
  return -1;
}

static int pygt_input_buffer(pygt_inputs *in, PyObject *text, Py_ssize_t index, const uint8_t **data, size_t *length) {
  if (!PyObject_CheckBuffer(text)) return pygt_wrong_type(text, index);
  pygt_held *held = PyMem_RawMalloc(sizeof *held);
  if (!held) {
    PyErr_NoMemory();
    return -1;
  }
  Py_buffer *buffer = &held->buffer;
  if (PyObject_GetBuffer(text, buffer, PyBUF_RECORDS_RO) < 0) {
    PyMem_RawFree(held);
    if (!PyErr_ExceptionMatches(PyExc_BufferError) && !PyErr_ExceptionMatches(PyExc_TypeError)) return -1;
    PyErr_Clear();
    return pygt_wrong_type(text, index);
  }
  held->next = in->held;
  in->held = held;
  const char *format = buffer->format ? buffer->format : "B";
  int bytes = buffer->itemsize == 1 && format[0] && !format[1] && strchr("Bbc", format[0]);
  if (buffer->ndim > 1 || !bytes || !PyBuffer_IsContiguous(buffer, 'C')) return pygt_wrong_type(text, index);
  *length = (size_t)buffer->len;
  *data = buffer->len ? buffer->buf : (const uint8_t *)"";
  return 0;
}

/* UTF-8 of any text. `index` is its place in a batch, or -1. 0, or -1 with an exception. */
static int pygt_input(pygt_inputs *in, PyObject *text, Py_ssize_t index, int replace, const uint8_t **data, size_t *length) {
  if (PyUnicode_Check(text)) return pygt_input_str(in, text, index, replace, data, length);
  if (PyBytes_Check(text)) {
    *data = (const uint8_t *)PyBytes_AS_STRING(text);
    *length = (size_t)PyBytes_GET_SIZE(text);
  } else if (pygt_input_buffer(in, text, index, data, length) < 0) {
    return -1;
  }
  if (!replace) in->unchecked = 1;
  else if (gt_validate_utf8(*data, *length) >= 0) return pygt_replace_bad(in, data, length);
  return 0;
}

#endif
