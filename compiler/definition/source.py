"""Where a definition comes from: the bytes, the name to show, and the stem that names the module."""

from __future__ import annotations

import hashlib
import io
import lzma
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from pathlib import Path

from gigatok_compile.errors import DefinitionError

EMBEDDED = {"gpt2": "gpt2.tokenizer.json.xz"}
"""Definitions inside the package, by the word that asks for them. GPT-2's is MIT-licensed."""

MAX_BYTES = 2**30
"""Largest definition read, decompressed; the largest known is 35 MB. Keeps a bad .xz from filling the memory."""


@dataclass(frozen=True)
class Source:
    """The bytes of a definition, decompressed.

    label: what the user wrote, for messages. stem, suffix: of the file's name without `.xz`.
    """

    data: bytes
    label: str
    stem: str
    suffix: str

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.data).hexdigest()


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):  # ValueError: a NUL in the path
        return False


def read_source(path_or_word: str) -> Source:
    """Read a definition file, `.xz` or plain, or an embedded one by its word.

    Raises:
        DefinitionError: there is no such file, it cannot be read, or it is not what its suffix says.
    """
    if path_or_word in EMBEDDED:
        packed = (resources.files("gigatok_compile.definition") / EMBEDDED[path_or_word]).read_bytes()
        return Source(_decompress(packed, path_or_word), path_or_word, path_or_word, ".json")
    path = Path(path_or_word)
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        words = ", ".join(EMBEDDED)
        raise DefinitionError(
            "no such file", where=path_or_word, hint=f"a path, or a word for a definition inside: {words}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise DefinitionError(f"cannot be read: {reason}", where=path_or_word) from None
    name = path.name
    if name.endswith(".xz"):
        name = name[: -len(".xz")]
        data = _decompress(data, path_or_word)
    if len(data) > MAX_BYTES:
        raise DefinitionError(f"larger than {MAX_BYTES >> 20} MiB; this is no tokenizer definition", where=path_or_word)
    return Source(data, path_or_word, Path(name).stem, Path(name).suffix)


def _decompress(packed: bytes, label: str) -> bytes:
    try:
        with lzma.open(io.BytesIO(packed)) as file:
            return file.read(MAX_BYTES + 1)
    except (lzma.LZMAError, EOFError) as error:
        raise DefinitionError(f"not a complete .xz file: {error}", where=label, hint="fetch it again") from None
