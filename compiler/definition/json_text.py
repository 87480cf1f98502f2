"""Bytes of a JSON file to Python values, as strictly as the reference reads it.

Python's json accepts more than the reference: a lone surrogate in an escape, NaN and Infinity, UTF-16 and UTF-32.
These are refused here, with the place. Of a repeated key both take the last. Numbers with a fraction or an exponent are read as the
reference reads them (json_number.py).
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from gigatok_compile.definition.json_number import read_float
from gigatok_compile.errors import DefinitionError

_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def parse_json(data: bytes) -> Any:
    """The value that a JSON file holds.

    Raises:
        DefinitionError: not UTF-8, a byte-order mark, or not JSON; the message has line, column and offset.
    """
    if data.startswith(b"\xef\xbb\xbf"):
        raise DefinitionError(
            "the file begins with a byte-order mark (offset 0), which the reference does not read",
            hint="save it as UTF-8 without a byte-order mark",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DefinitionError(
            f"not UTF-8: byte 0x{data[error.start]:02X} at offset {error.start}", hint="a tokenizer.json is UTF-8 text"
        ) from None
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=read_float)
    except json.JSONDecodeError as error:
        raise _json_error(error) from None
    except ValueError:
        raise DefinitionError("not a tokenizer definition: a number in the JSON has thousands of digits") from None
    except RecursionError:
        raise DefinitionError("not a tokenizer definition: the JSON is nested too deeply") from None
    if _SURROGATE_ESCAPE.search(text):
        _refuse_lone_surrogates(value, "")
    return value


def _json_error(error: json.JSONDecodeError) -> DefinitionError:
    place = f"line {error.lineno} column {error.colno} (offset {error.pos})"
    if error.msg == "Extra data":
        return DefinitionError(
            f"the JSON ends and more text follows, at {place}", hint="remove what follows the last }"
        )
    cut_short = error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string")
    hint = "the file may be cut off; fetch it again" if cut_short else None
    return DefinitionError(f"not valid JSON: {error.msg} at {place}", hint=hint)


def _refuse_constant(name: str) -> NoReturn:
    raise DefinitionError(f"not valid JSON: {name} is not a JSON number")


def _refuse_lone_surrogates(value: object, where: str) -> None:
    """Raise for the first string under `value` that holds half of a surrogate pair: such text has no UTF-8."""
    match value:
        case str():
            if not _is_encodable(value):
                raise DefinitionError(f"{value!r} holds a lone surrogate escape", where=where or None)
        case dict():
            for key, item in value.items():
                if not _is_encodable(key):
                    raise DefinitionError(f"the key {key!r} holds a lone surrogate escape", where=where or None)
                _refuse_lone_surrogates(item, f"{where}.{key}" if where else key)
        case list():
            for index, item in enumerate(value):
                _refuse_lone_surrogates(item, f"{where}[{index}]")
        case _:
            pass


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
