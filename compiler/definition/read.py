"""read_definition: any definition file we know to a TokenizerDefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gigatok_compile.definition.folder import add_folder_files, choose_file
from gigatok_compile.definition.json_text import parse_json
from gigatok_compile.definition.sentencepiece_model import read_sentencepiece_model
from gigatok_compile.definition.source import EMBEDDED, Source, is_folder, read_source
from gigatok_compile.definition.tekken_json import looks_like_tekken, read_tekken_json
from gigatok_compile.definition.tiktoken_ranks import Grammar, read_rank_file
from gigatok_compile.definition.tokenizer_json import read_parsed_json
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.names import name_from_stem

_RANK_LINE = re.compile(rb"[A-Za-z0-9+/]*={0,2}[ \t]+[0-9]+[ \t]*")
_FORMATS_HINT = (
    "what is read: tokenizer.json, tekken.json, a SentencePiece .model, a folder with one of these,"
    " and tiktoken rank files with --grammar"
)


def read_definition(
    path_or_word: str, *, grammar: Grammar | None = None, name: str | None = None
) -> TokenizerDefinition:
    """Read a tokenizer definition.

    Args:
        path_or_word: a tokenizer.json, tekken.json, SentencePiece `.model` or tiktoken rank file, plain or `.xz`; a folder
            that holds one of the first three; or `gpt2`, whose definition is embedded. The format is told by the content,
            not by the suffix.
        grammar: the pattern and special tokens of a rank file, which does not hold them.
        name: the module's name; None makes one from the stem of the file, or from the folder's name.

    Raises:
        DefinitionError: the file, the field's path or the line, what is wrong there, and what to do.
    """
    folder = Path(path_or_word)
    if path_or_word not in EMBEDDED and is_folder(folder):
        return _read_folder(folder, grammar, name)
    source = read_source(path_or_word)
    with _labelled(source.label):
        return _read(source, grammar, name or name_from_stem(source.stem))


def _read_folder(folder: Path, grammar: Grammar | None, name: str | None) -> TokenizerDefinition:
    file, warnings = choose_file(folder)
    source = read_source(str(file))
    with _labelled(source.label):
        definition = _read(source, grammar, name or name_from_stem(folder.resolve().name))
    with _labelled(str(folder)):
        definition = add_folder_files(definition, folder)
    return replace(definition, warnings=warnings + definition.warnings)


@contextmanager
def _labelled(label: str) -> Iterator[None]:
    """Errors from here name the file as the user wrote it."""
    try:
        yield
    except DefinitionError as error:
        where = f"{label}: {error.where}" if error.where else label
        raise DefinitionError(error.message, where=where, hint=error.hint) from None


def _read(source: Source, grammar: Grammar | None, name: str) -> TokenizerDefinition:
    if _looks_like_protobuf(source.data):
        if grammar is not None:
            raise DefinitionError("a SentencePiece model has no pattern", hint="leave --grammar out")
        return read_sentencepiece_model(source.data, name=name, sha256=source.sha256)
    start = source.data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise DefinitionError("the file is empty", hint=_FORMATS_HINT)
    if start.startswith((b"{", b"[")):
        if grammar is not None:
            raise DefinitionError("a tokenizer.json holds its own pattern", hint="leave --grammar out")
        value = parse_json(source.data)
        read = read_tekken_json if looks_like_tekken(value) else read_parsed_json
        return read(value, name=name, sha256=source.sha256)
    if source.suffix == ".tiktoken" or _RANK_LINE.fullmatch(start.splitlines()[0]):
        if grammar is None:
            raise DefinitionError(
                "a tiktoken rank file does not hold its pattern",
                hint="name it with --grammar, for example --grammar cl100k; a wrong one gives wrong ids",
            )
        return read_rank_file(source.data, grammar, name=name, sha256=source.sha256)
    raise DefinitionError("this is neither a JSON object nor a tiktoken rank file", hint=_FORMATS_HINT)


def _looks_like_protobuf(data: bytes) -> bool:
    """A SentencePiece model begins with field 1, a message: its tag is a line feed. Text has no bytes below a tab."""
    return data.startswith(b"\n") and any(byte < 9 for byte in data[:4096])
