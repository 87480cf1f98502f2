"""Names of generated modules: from a file's stem, and which names are allowed."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Iterable

from gigatok_compile.errors import DefinitionError

_OWN_NEEDS = frozenset({"numpy", "regex", "cffi", "_cffi_backend", "google", "gigatok_runtime", "gigatok_compile"})
"""What a generated module or this compiler imports: a module of that name would hide it."""

_WELL_KNOWN = frozenset(
    {
        "tokenizers",
        "tiktoken",
        "transformers",
        "sentencepiece",
        "torch",
        "tensorflow",
        "jax",
        "pip",
        "setuptools",
        "pytest",
    }
)


def name_from_stem(stem: str) -> str:
    """A valid module name made from a file's stem: "Llama-3.1" gives "llama_3_1".

    Example:
        name_from_stem("tokenizer") == "tokenizer"; name_from_stem("3B") == "model_3b"; name_from_stem("json") == "json_model"
    """
    name = re.sub(r"[^0-9a-z]+", "_", stem.lower()).strip("_")
    if not name or name[0].isdigit():
        name = f"model_{name}".rstrip("_")
    return f"{name}_model" if keyword.iskeyword(name) or _hides(name) else name


def check_name(name: str) -> tuple[str, ...]:
    """Warnings about a module name that a user chose.

    Raises:
        DefinitionError: the name cannot be imported, or would hide something the module needs itself.
    """
    if not name.isascii() or not name.isidentifier() or keyword.iskeyword(name):
        raise DefinitionError(
            f"{name!r} is not a module name", where="--name", hint="letters, digits and _, not beginning with a digit"
        )
    if name in _OWN_NEEDS or name in sys.stdlib_module_names:
        what = "the standard library's" if name in sys.stdlib_module_names else "the installed"
        raise DefinitionError(
            f"a module called {name!r} would hide {what} {name}", where="--name", hint="choose another name"
        )
    if name in _WELL_KNOWN:
        return (f"the module {name!r} hides the package {name} wherever its folder comes first in sys.path",)
    return ()


def _hides(name: str, groups: Iterable[frozenset[str]] = (_OWN_NEEDS, _WELL_KNOWN)) -> bool:
    return name in sys.stdlib_module_names or any(name in group for group in groups)
