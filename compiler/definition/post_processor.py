"""The `post_processor` of a tokenizer.json: templates of one text and of a pair.

The reference works on a list of encodings, one or two of them at first. TemplateProcessing makes a list with an encoding for
every piece, BertProcessing and RobertaProcessing put ids into each encoding, and at the end all are joined. A Sequence feeds
the list of one processor to the next. So the processors are run here, once for each of the four cases, on lists that hold
the texts as symbols.

Which processor an object is, is told by its fields (measured): the reference tries one after the other and looks at `type`
for ByteLevel and Sequence only. `{"type": "RobertaProcessing"}` without `trim_offsets` is a BertProcessing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gigatok_compile.definition.fields import Fields, is_u32, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import TEXT_A, TEXT_B, PostProcessor, Template, TemplatePiece

_HINT = "what compiles: ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, a Sequence of these, or null"
_PAIR_LOST = "pairs of texts are refused: the template of a pair must hold both texts, each once"
_PAIR_PANICS = "pairs of texts are refused: the reference crashes on them"

Encodings = list[Template]
Processor = Callable[[Encodings, bool], Encodings]  # (encodings, add_special_tokens)


class _Panic(Exception):
    """The reference crashes here. where: the field at fault."""

    def __init__(self, where: str, message: str) -> None:
        super().__init__(message)
        self.where = where


def read_post_processor(fields: Fields | None) -> tuple[PostProcessor, tuple[str, ...]]:
    """What is put around texts, and warnings.

    Raises:
        DefinitionError: a processor that is not compiled, one that crashes the reference, or one that drops or repeats
            a text that stands alone.
    """
    if fields is None:
        return PostProcessor(), ()
    process = _read(fields)
    single, plain_single = (_of_one_text(process, fields, add) for add in (True, False))
    warning = None
    pair: Template | None = None
    plain_pair: Template | None = None
    try:
        pair, plain_pair = (_joined(process([(TEXT_A,), (TEXT_B,)], add)) for add in (True, False))
        if _sources(pair) != ["A", "B"] or _sources(plain_pair) != ["A", "B"]:
            warning, pair, plain_pair = _PAIR_LOST, None, None
    except _Panic as panic:
        warning, pair, plain_pair = _PAIR_PANICS + f" ({panic})", None, None
    return PostProcessor(single, pair, plain_single, plain_pair), () if warning is None else (
        f"{fields.where}: {warning}",
    )


def _of_one_text(process: Processor, fields: Fields, add_special_tokens: bool) -> Template:
    try:
        template = _joined(process([(TEXT_A,)], add_special_tokens))
    except _Panic as panic:
        raise DefinitionError(f"{panic}, on which the reference crashes", where=panic.where) from None
    if _sources(template) != ["A"]:
        raise DefinitionError(
            "one text must come out once, and it comes out " + ("never" if not _sources(template) else "again"),
            where=fields.where,
            hint="the template `single` holds Sequence A, and once",
        )
    return template


def _joined(encodings: Encodings) -> Template:
    return tuple(piece for encoding in encodings for piece in encoding)


def _sources(template: Template) -> list[str]:
    return sorted(piece.source for piece in template if piece.source)


def _read(fields: Fields) -> Processor:
    known = fields.values.keys()
    if {"sep", "cls"} <= known:
        roberta = {"trim_offsets", "add_prefix_space"} <= known
        if roberta:
            fields.boolean("trim_offsets")
            fields.boolean("add_prefix_space")
        return _brackets(_token_id(fields, "cls"), _token_id(fields, "sep"), roberta)
    kind = fields.kind() if "type" in known and fields.values["type"] in ("ByteLevel", "Sequence") else ""
    if kind == "ByteLevel":
        fields.boolean("add_prefix_space")
        fields.boolean("trim_offsets")
        return lambda encodings, add: encodings
    if {"single", "pair", "special_tokens"} <= known:
        return _read_template(fields)
    if kind == "Sequence":
        return _chain([_read(child) for child in fields.children("processors")])
    named = fields.kind() if "type" in known else "TemplateProcessing"
    for key in _NEEDED.get(named, ()):
        fields.required(key)
    raise DefinitionError(f"the post-processor {named} is not compiled", where=fields.where, hint=_HINT)


_NEEDED = {
    "TemplateProcessing": ("single", "pair", "special_tokens"),
    "BertProcessing": ("sep", "cls"),
    "RobertaProcessing": ("sep", "cls"),
}


def _chain(processors: list[Processor]) -> Processor:
    def process(encodings: Encodings, add: bool) -> Encodings:
        for processor in processors:
            encodings = processor(encodings, add)
        return encodings

    return process


def _brackets(cls: int, sep: int, roberta: bool) -> Processor:
    """BertProcessing: `cls` A `sep`, and B `sep` with type ids 1. RobertaProcessing: B has two `sep`, all type ids are 0."""

    def process(encodings: Encodings, add: bool) -> Encodings:
        if roberta:
            encodings = [_typed(encoding, 0) for encoding in encodings]
        if not add:
            return encodings
        found = []
        for number, encoding in enumerate(encodings):
            kind = 0 if roberta or number == 0 else 1
            close = TemplatePiece("", kind, sep)
            open_ = (TemplatePiece("", kind, cls),) if number == 0 else (close,) if roberta else ()
            found.append((*open_, *encoding, close))
        return found

    return process


def _typed(encoding: Template, type_id: int) -> Template:
    return tuple(replace(piece, type_id=type_id) for piece in encoding)


def _read_template(fields: Fields) -> Processor:
    special = fields.child("special_tokens")
    ids = {name: _special_ids(special.child(name)) for name in special.values}
    single, pair = (_read_pieces(fields, key, ids, special.where) for key in ("single", "pair"))

    def process(encodings: Encodings, add: bool) -> Encodings:
        if len(encodings) > 2:
            raise _Panic(fields.where, f"a TemplateProcessing is given {len(encodings)} parts")
        found: Encodings = []
        for piece in pair if len(encodings) == 2 else single:
            if piece.numbers is not None:
                if add:
                    found.append(tuple(TemplatePiece("", piece.type_id, number) for number in piece.numbers))
                continue
            if piece.sequence >= len(encodings):
                raise _Panic(piece.where, "the template of one text must hold Sequence A, and not B")
            found.append(_typed(encodings[piece.sequence], piece.type_id))
        return found

    return process


class _Piece:
    """numbers: the ids of a special token, None for a sequence. sequence: 0 for A, 1 for B."""

    def __init__(self, where: str, type_id: int, numbers: list[int] | None, sequence: int = 0) -> None:
        self.where = where
        self.type_id = type_id
        self.numbers = numbers
        self.sequence = sequence


def _read_pieces(fields: Fields, key: str, ids: dict[str, list[int]], table: str) -> list[_Piece]:
    found = []
    for piece in fields.children(key):
        match list(piece.values):
            case ["Sequence"]:
                inner = piece.child("Sequence")
                name = inner.string("id")
                if name not in ("A", "B"):
                    inner.fail("id", f"expected A or B, found {name!r}")
                found.append(_Piece(inner.path("id"), inner.unsigned("type_id"), None, "AB".index(name)))
            case ["SpecialToken"]:
                inner = piece.child("SpecialToken")
                name = inner.string("id")
                if name not in ids:
                    inner.fail("id", f"{name!r} is not in {table}")
                found.append(_Piece(inner.path("id"), inner.unsigned("type_id"), ids[name]))
            case keys:
                raise DefinitionError(
                    f"expected Sequence or SpecialToken, found {', '.join(keys) or 'nothing'}", where=piece.where
                )
    return found


def _special_ids(fields: Fields) -> list[int]:
    fields.string("id")
    fields.items("tokens")
    ids = fields.items("ids")
    for index, value in enumerate(ids):
        if not is_u32(value):
            fields.fail(f"ids[{index}]", f"expected an id, found {json_name(value)}")
    return ids


def _token_id(fields: Fields, key: str) -> int:
    """The id of a `["[SEP]", 102]` pair."""
    pair = fields.items(key)
    if len(pair) != 2 or not isinstance(pair[0], str) or not is_u32(pair[1]):
        fields.fail(key, "expected a token and its id")
    return int(pair[1])
