"""Typed reading of JSON objects: every read checks the type and names the field when it is wrong.

The reference rejects a file whose known fields have the wrong type and ignores fields it does not know, so
these readers do the same. `null` counts as absent exactly where the reference says so (`optional_*`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from gigatok_compile.errors import DefinitionError

U32_MAX = 2**32 - 1

_JSON_NAMES = {dict: "an object", list: "a list", str: "a string", bool: "true or false", type(None): "null"}


def json_name(value: object) -> str:
    """What a JSON value is, for messages: "a list", "null", "the number 3"."""
    return _JSON_NAMES.get(type(value)) or f"the number {value}"


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object and the path to it, "" for the whole file."""

    values: dict[str, Any]
    where: str

    @classmethod
    def of(cls, value: object, where: str) -> Fields:
        """Wrap `value`, which must be a JSON object."""
        if not isinstance(value, dict):
            raise DefinitionError(f"expected an object, found {json_name(value)}", where=where)
        return cls(value, where)

    def path(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def fail(self, key: str, message: str, hint: str | None = None) -> NoReturn:
        raise DefinitionError(message, where=self.path(key), hint=hint)

    def required(self, key: str) -> Any:
        if key not in self.values:
            self.fail(key, "this field is missing")
        return self.values[key]

    def kind(self) -> str:
        """The `type` field, which every component but the model must have."""
        return self.string("type")

    def string(self, key: str) -> str:
        value = self.required(key)
        if not isinstance(value, str):
            self.fail(key, f"expected a string, found {json_name(value)}")
        return value

    def boolean(self, key: str, default: bool | None = None) -> bool:
        """A true or false; `default` None makes the field required."""
        if default is not None and key not in self.values:
            return default
        value = self.required(key)
        if not isinstance(value, bool):
            self.fail(key, f"expected true or false, found {json_name(value)}")
        return value

    def unsigned(self, key: str) -> int:
        value = self.required(key)
        if not is_u32(value):
            self.fail(key, f"expected a whole number from 0 to {U32_MAX}, found {json_name(value)}")
        return int(value)

    def child(self, key: str) -> Fields:
        return Fields.of(self.required(key), self.path(key))

    def optional_child(self, key: str) -> Fields | None:
        """The object at `key`; None when it is absent or null."""
        return None if self.values.get(key) is None else self.child(key)

    def items(self, key: str) -> list[Any]:
        value = self.required(key)
        if not isinstance(value, list):
            self.fail(key, f"expected a list, found {json_name(value)}")
        return value

    def children(self, key: str) -> Iterator[Fields]:
        """The objects of the list at `key`."""
        for index, value in enumerate(self.items(key)):
            yield Fields.of(value, f"{self.path(key)}[{index}]")


def is_u32(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= U32_MAX
