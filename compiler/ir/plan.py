"""TableSet: read-only data and constants of a module, as numpy arrays with names.

Each analysis returns one; `emit` joins them, writes the arrays to one binary file that the assembler includes
(`.incbin`: a 5 MB C array takes gcc 6 s, `.incbin` 0.02 s), and declares them in `tables.h`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

C_TYPES = {
    "uint8": "uint8_t",
    "int8": "int8_t",
    "uint16": "uint16_t",
    "int16": "int16_t",
    "uint32": "uint32_t",
    "int32": "int32_t",
    "uint64": "uint64_t",
    "int64": "int64_t",
    "float32": "float",
    "float64": "double",
}


@dataclass(frozen=True, slots=True)
class Table:
    """One array. `name` is the C symbol without the `gt_` prefix; `comment` says what an entry is."""

    name: str
    data: npt.NDArray[np.generic]  # one-dimensional, little-endian, C-contiguous
    comment: str
    align: int = 64

    @property
    def c_type(self) -> str:
        return C_TYPES[self.data.dtype.name]

    @property
    def declaration(self) -> str:
        return f"extern const {self.c_type} gt_{self.name}[{max(1, self.data.size)}];"


@dataclass(frozen=True, slots=True)
class TableSet:
    """Tables, and constants that become `#define GT_<NAME> <value>`. files: C texts made along with them, by name."""

    tables: tuple[Table, ...] = ()
    constants: dict[str, int] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)

    def __or__(self, other: TableSet) -> TableSet:
        both = set(self.constants) & set(other.constants) | set(self.files) & set(other.files)
        names = {t.name for t in self.tables} & {t.name for t in other.tables}
        if both or names:
            raise ValueError(f"defined twice: {sorted(both | names)}")
        return TableSet(self.tables + other.tables, self.constants | other.constants, self.files | other.files)

    @property
    def bytes(self) -> int:
        return sum(t.data.nbytes for t in self.tables)

    def __str__(self) -> str:
        lines = [f"table {t.name:<24} {t.data.nbytes:>10} bytes  {t.comment}" for t in self.tables]
        lines += [f"constant GT_{name.upper():<22} {value}" for name, value in self.constants.items()]
        return "\n".join(lines)
