/* Text arguments of the Python calls: str, bytes and buffers of bytes as UTF-8 in memory.
 *
 * ASCII str, bytes and buffers are used where they lie. Other str hold no UTF-8: it is made in scratch that goes away with
 * the call, not by PyUnicode_AsUTF8AndSize, which would leave a second copy of every text inside its str for good.
 */
#ifndef GIGATOK_PYTEXT_H
#define GIGATOK_PYTEXT_H

#include "pyutf8.h"

enum { PYGT_STACK_BYTES = 4096, PYGT_BLOCK_BYTES = 1 << 18 };

/* What the generated package tells the extension at import (`configure` in pycall.h). */
static struct {
  Py_ssize_t n_added;     /* added tokens */
  uint8_t *text_modes;    /* n_added modes: special tokens as text, the others match; NULL when n_added is 0 */
  uint8_t *error_modes;   /* n_added modes: special tokens are an error, the others match */
  int default_error;      /* special=None means "error" (rank files), not "match" */
  int join_surrogates;    /* surrogates in a str go through UTF-16 (rank files), they are no error */
  PyObject *encoded;      /* class Encoded(ids, offsets) */
  PyObject *resolve;      /* special -> bytes of n_added modes */
  PyObject *fail;         /* (status, text index or -1, offset, added token or -1, text or None) -> exception */
  PyObject *as_ids;       /* anything of whole numbers -> C-contiguous uint32 array of one dimension */
} pygt_state;

/* Scratch for UTF-8 made from str: a first piece on the stack, then blocks. Pointers into it stay valid. */
typedef struct pygt_block {
  struct pygt_block *next;
} pygt_block;

typedef struct {
  uint8_t *at;
  size_t left;
  pygt_block *blocks;
} pygt_arena;

/* At least `n` bytes at arena->at. 0, or -1 when memory is out (no exception is set). */
static int pygt_arena_reserve(pygt_arena *arena, size_t n) {
  if (n <= arena->left) return 0;
  size_t bytes = n > PYGT_BLOCK_BYTES ? n : PYGT_BLOCK_BYTES;
  pygt_block *block = PyMem_RawMalloc(sizeof(pygt_block) + bytes);
  if (!block) return -1;
  block->next = arena->blocks;
  arena->blocks = block;
  arena->at = (uint8_t *)(block + 1);
  arena->left = bytes;
  return 0;
}

static void pygt_arena_free(pygt_arena *arena) {
  while (arena->blocks) {
    pygt_block *next = arena->blocks->next;
    PyMem_RawFree(arena->blocks);
    arena->blocks = next;
  }
}

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

/* UTF-8 of a str that is not ASCII, in the arena. 0; -1 with an exception; 1 at a surrogate. */
static int pygt_transcode(pygt_arena *arena, PyObject *text, const uint8_t **data, size_t *length) {
  size_t n = (size_t)PyUnicode_GET_LENGTH(text);
  int kind = (int)PyUnicode_KIND(text); /* the width of a character, as its name says */
  size_t most = kind == PyUnicode_1BYTE_KIND ? 2 : kind == PyUnicode_2BYTE_KIND ? 3 : 4;
  if (n > (size_t)PY_SSIZE_T_MAX / 8 || pygt_arena_reserve(arena, n * most + PYGT_SLACK) < 0) {
    PyErr_NoMemory();
    return -1;
  }
  uint8_t *start = arena->at, *end;
  if (pygt_use_wide()) end = pygt_utf8_wide(PyUnicode_DATA(text), kind, n, start);
  else if (kind == PyUnicode_1BYTE_KIND) end = pygt_utf8_from_ucs1(PyUnicode_1BYTE_DATA(text), n, start);
  else if (kind == PyUnicode_2BYTE_KIND) end = pygt_utf8_from_ucs2(PyUnicode_2BYTE_DATA(text), n, start);
  else end = pygt_utf8_from_ucs4(PyUnicode_4BYTE_DATA(text), n, start);
  if (!end) return 1;
  *data = start;
  *length = (size_t)(end - start);
  arena->at = end;
  arena->left -= *length;
  return 0;
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
