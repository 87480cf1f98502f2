"""The messages of a SentencePiece `.model` (sentencepiece_model.proto), described to the protobuf library at run time.

Only the fields that change what a model does are here; all others are unknown fields, which the library skips. Text is
`bytes` on purpose: on the wire it is the same as `string`, and the reader then says itself what is wrong with text that is
not UTF-8. No generated code: what protoc writes is tied to one version of the library.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError

_Field = descriptor_pb2.FieldDescriptorProto
_PACKAGE: Final = "gigatok_compile.sentencepiece"

UNIGRAM, BPE, WORD, CHAR = 1, 2, 3, 4
MODEL_TYPES: Final = {UNIGRAM: "unigram", BPE: "BPE", WORD: "word", CHAR: "char"}
"""TrainerSpec.model_type."""

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
"""SentencePiece.type."""

# As enums, so that a number outside counts as absent, which is what the reference makes of it.
_ENUMS: Final = {
    "ModelType": {"UNIGRAM": UNIGRAM, "BPE": BPE, "WORD": WORD, "CHAR": CHAR},
    "Type": {
        "NORMAL": NORMAL,
        "UNKNOWN": UNKNOWN,
        "CONTROL": CONTROL,
        "USER_DEFINED": USER_DEFINED,
        "UNUSED": UNUSED,
        "BYTE": BYTE,
    },
}
# message -> (name, number, type, default); "[]" in front of a type: repeated
_MESSAGES: Final[dict[str, list[tuple[str, int, str, str | None]]]] = {
    "TrainerSpec": [
        ("model_type", 3, "ModelType", "UNIGRAM"),
        ("treat_whitespace_as_suffix", 24, "bool", "false"),
        ("byte_fallback", 35, "bool", "false"),
        ("unk_surface", 44, "bytes", " \\342\\201\\207 "),
        ("unk_piece", 45, "bytes", "<unk>"),
        ("bos_piece", 46, "bytes", "<s>"),
        ("eos_piece", 47, "bytes", "</s>"),
        ("pad_piece", 48, "bytes", "<pad>"),
    ],
    "NormalizerSpec": [
        ("name", 1, "bytes", None),
        ("precompiled_charsmap", 2, "bytes", None),
        ("add_dummy_prefix", 3, "bool", "true"),
        ("remove_extra_whitespaces", 4, "bool", "true"),
        ("escape_whitespaces", 5, "bool", "true"),
    ],
    "Sample": [("input", 1, "bytes", None), ("expected", 2, "bytes", None)],
    "SelfTestData": [("samples", 1, "[]Sample", None)],
    "SentencePiece": [
        ("piece", 1, "bytes", None),
        ("score", 2, "float", None),
        ("type", 3, "Type", "NORMAL"),
    ],
    "ModelProto": [
        ("pieces", 1, "[]SentencePiece", None),
        ("trainer_spec", 2, "TrainerSpec", None),
        ("normalizer_spec", 3, "NormalizerSpec", None),
        ("self_test_data", 4, "SelfTestData", None),
        ("denormalizer_spec", 5, "NormalizerSpec", None),
    ],
}
_SCALARS: Final = {
    "bool": _Field.TYPE_BOOL,
    "bytes": _Field.TYPE_BYTES,
    "float": _Field.TYPE_FLOAT,
}


@lru_cache(maxsize=1)
def model_class() -> Any:
    """The class ModelProto. Its pool is its own, so it does not meet the one of an installed sentencepiece."""
    file = descriptor_pb2.FileDescriptorProto(
        name="gigatok_compile/sentencepiece_model.proto", package=_PACKAGE, syntax="proto2"
    )
    for name, values in _ENUMS.items():
        enum = file.enum_type.add(name=name)
        for value, number in values.items():
            enum.value.add(name=value, number=number)
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, default in fields:
            repeated = kind.startswith("[]")
            kind = kind.removeprefix("[]")
            added = message.field.add(name=field, number=number)
            added.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
            if kind in _SCALARS:
                added.type = _SCALARS[kind]
            else:
                added.type = _Field.TYPE_ENUM if kind in _ENUMS else _Field.TYPE_MESSAGE
                added.type_name = f".{_PACKAGE}.{kind}"
            if default is not None:
                added.default_value = default
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.ModelProto"))


def parse_model(data: bytes) -> Any | None:
    """A ModelProto; None when `data` is no protobuf of that kind."""
    model = model_class()()
    try:
        model.ParseFromString(data)
    except DecodeError:
        return None
    return model
