"""The `decoder` of a tokenizer.json."""

from __future__ import annotations

from gigatok_compile.definition.fields import Fields
from gigatok_compile.errors import DefinitionError

_NO_DECODER = (
    "decoder: none is given; decode() joins bytes as ByteLevel does,"
    " where the reference would join the mapped tokens with spaces"
)


def read_decoder(fields: Fields | None) -> tuple[str, tuple[str, ...]]:
    """The decoder's name ("ByteLevel") and warnings.

    Raises:
        DefinitionError: a decoder that is not compiled.
    """
    if fields is None:
        return "ByteLevel", (_NO_DECODER,)
    kind = fields.kind()
    if kind == "Sequence":
        children = list(fields.children("decoders"))
        if len(children) == 1:
            return read_decoder(children[0])
    elif kind == "ByteLevel":
        fields.boolean("add_prefix_space")
        fields.boolean("trim_offsets")
        return "ByteLevel", ()
    raise DefinitionError(
        f"the decoder {kind} is not compiled", where=fields.where, hint="what compiles: ByteLevel, or null"
    )
