"""The `post_processor` of a tokenizer.json: the ids that go before and after one text."""

from __future__ import annotations

from gigatok_compile.definition.fields import Fields, is_u32, json_name
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import PostProcessor

_HINT = "what compiles: ByteLevel, TemplateProcessing, RobertaProcessing, BertProcessing, a Sequence with one of these, or null"


def read_post_processor(fields: Fields | None) -> PostProcessor:
    """What `add_special_tokens=True` puts around one text. ByteLevel only trims offsets and puts nothing.

    Raises:
        DefinitionError: a processor that is not compiled, or a template that is not "ids, the text, ids".
    """
    return (_read(fields) if fields else None) or PostProcessor()


def _read(fields: Fields) -> PostProcessor | None:
    """None for a processor that adds nothing."""
    # The reference tells a processor without a type by its keys, and only a template can be told so.
    kind = fields.kind() if "type" in fields.values else "TemplateProcessing"
    match kind:
        case "ByteLevel":
            fields.boolean("add_prefix_space")
            fields.boolean("trim_offsets")
            return None
        case "BertProcessing" | "RobertaProcessing":
            return PostProcessor((_token_id(fields, "cls"),), (_token_id(fields, "sep"),))
        case "TemplateProcessing":
            return _read_template(fields)
        case "Sequence":
            return _read_sequence(fields)
        case _:
            raise DefinitionError(f"the post-processor {kind} is not compiled", where=fields.where, hint=_HINT)


def _read_sequence(fields: Fields) -> PostProcessor | None:
    found: PostProcessor | None = None
    for child in fields.children("processors"):
        processor = _read(child)
        if processor and found:
            # Measured: a second TemplateProcessing sees the first one's pieces as a pair, and its single is not used.
            raise DefinitionError(
                "a second processor that adds tokens is not compiled", where=child.where, hint="keep one of them"
            )
        found = found or processor
    return found


def _read_template(fields: Fields) -> PostProcessor:
    special = fields.child("special_tokens")
    before: list[int] = []
    after: list[int] = []
    seen_text = False
    for piece in fields.children("single"):
        match list(piece.values):
            case ["Sequence"]:
                name = piece.child("Sequence").string("id")
                if name != "A" or seen_text:
                    piece.fail("Sequence.id", "the template of one text must hold Sequence A, and once")
                seen_text = True
            case ["SpecialToken"]:
                name = piece.child("SpecialToken").string("id")
                if name not in special.values:
                    piece.fail("SpecialToken.id", f"{name!r} is not in {special.where}")
                (after if seen_text else before).extend(_special_ids(special.child(name)))
            case keys:
                raise DefinitionError(
                    f"expected Sequence or SpecialToken, found {', '.join(keys) or 'nothing'}", where=piece.where
                )
    if not seen_text:
        fields.fail("single", "the template drops the text: it has no Sequence A")
    return PostProcessor(tuple(before), tuple(after))


def _special_ids(fields: Fields) -> list[int]:
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
