"""Post-processors: one text and pairs, with special tokens and without, ids and type ids as the reference gives them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition import read_definition
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.post_processor import read_post_processor
from gigatok_compile.definition_data import write_definition_data
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import PostProcessor, Template
from gigatok_compile.manifest import build_manifest
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.regex_engine import RegexEngine
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

tokenizers = pytest.importorskip("tokenizers")
sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)


def text(name: str = "A", type_id: int = 0) -> dict[str, Any]:
    return {"Sequence": {"id": name, "type_id": type_id}}


def special(name: str, type_id: int = 0) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": type_id}}


IDS = {
    "c": {"id": "c", "ids": [100], "tokens": ["c"]},
    "s": {"id": "other", "ids": [102, 103], "tokens": ["s"]},
    "none": {"id": "none", "ids": [], "tokens": []},
}


def template(single: list[Any], pair: list[Any]) -> dict[str, Any]:
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": IDS}


def chain(*processors: Any) -> dict[str, Any]:
    return {"type": "Sequence", "processors": list(processors)}


BRACKETS = {"sep": ["s", 102], "cls": ["c", 101]}
OFFSETS = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
ROBERTA = {**BRACKETS, "type": "RobertaProcessing", "trim_offsets": True, "add_prefix_space": False}
BERT = {**BRACKETS, "type": "BertProcessing"}
ONE = template([special("c"), text()], [special("c"), text(), special("s"), text("B", 1)])
PLAIN = template([text()], [text(), text("B", 1)])
ODD = template(
    [special("c", 5), text("A", 3), special("none"), special("s", 2)],
    [special("c", 5), text("B", 1), special("s"), special("none"), text("A", 3), special("s", 9)],
)

WHOLE: dict[str, Any] = {
    "none": None,
    "offsets": OFFSETS,
    "bert": BERT,
    "roberta": ROBERTA,
    "roberta that is a bert": {**BRACKETS, "type": "RobertaProcessing", "trim_offsets": True},
    "bert that is a roberta": {**ROBERTA, "type": "BertProcessing"},
    "untyped roberta": {key: value for key, value in ROBERTA.items() if key != "type"},
    "byte level that is a bert": {**BRACKETS, "type": "ByteLevel"},
    "a type of no meaning": {**BRACKETS, "type": "Nope"},
    "template": ONE,
    "untyped template": {key: value for key, value in ONE.items() if key != "type"},
    "odd template": ODD,
    "empty sequence": chain(),
    "offsets, template": chain(OFFSETS, ONE),
    "template, offsets": chain(ONE, chain(OFFSETS)),
    "template after a plain one": chain(PLAIN, ONE),
    "bert, template": chain(BERT, ONE),
    "template, bert": chain(ONE, BERT),
    "template, roberta": chain(ONE, ROBERTA),
    "bert, bert": chain(BERT, BERT),
    "roberta, roberta": chain(ROBERTA, ROBERTA),
}
WITHOUT_PAIRS: dict[str, Any] = {
    "template, template": chain(ONE, ONE),
    "empty pair": template([text()], []),
    "pair of one": template([text()], [text(), special("s")]),
    "repeated text": template([text()], [text(), text("B"), text()]),
}
"""What `WITHOUT_PAIRS` does with a pair loses a text, repeats one, or crashes the reference."""


def definition(toy_definition: Any, processor: Any) -> dict[str, Any]:
    return dict(toy_definition({"post_processor": processor}))


def read(toy_definition: Any, processor: Any, folder: Path) -> Any:
    path = folder / "toy.json"
    path.write_text(json.dumps(definition(toy_definition, processor)), encoding="utf-8")
    return read_definition(str(path))


def filled(template: Template | None, ids: dict[str, list[int]]) -> tuple[list[int], list[int]]:
    """Ids and type ids."""
    assert template is not None
    parts = [(ids[piece.source] if piece.source else [piece.id], piece.type_id) for piece in template]
    return [i for found, _ in parts for i in found], [kind for found, kind in parts for _ in found]


@pytest.mark.parametrize("name", [*WHOLE, *WITHOUT_PAIRS])
def test_templates_are_what_the_reference_does(toy_definition: Any, tmp_path: Path, name: str) -> None:
    processor = {**WHOLE, **WITHOUT_PAIRS}[name]
    found = read(toy_definition, processor, tmp_path)
    post: PostProcessor = found.post_processor
    engine = tokenizers.Tokenizer.from_str(json.dumps(definition(toy_definition, processor)))
    ids = {"A": [256, 256], "B": [98]}
    for add, single, pair in ((True, post.single, post.pair), (False, post.plain_single, post.plain_pair)):
        one = engine.encode("abab", add_special_tokens=add)
        assert filled(single, ids) == (one.ids, one.type_ids)
        if name in WHOLE:
            both = engine.encode("abab", "b", add_special_tokens=add)
            assert filled(pair, ids) == (both.ids, both.type_ids)
        else:
            assert pair is None
    warned = [warning for warning in found.warnings if "pairs of texts are refused" in warning]
    assert len(warned) == (name in WITHOUT_PAIRS)


@pytest.mark.parametrize(
    ("processor", "where", "message"),
    [
        (template([special("c")], [text(), text("B")]), "post_processor", "one text must come out once"),
        (template([text(), text()], [text(), text("B")]), "post_processor", "comes out again"),
        (template([text("B")], [text(), text("B")]), "post_processor.single[0].Sequence.id", "the reference crashes"),
        (chain(ROBERTA, chain(template([], []))), "post_processor", "comes out never"),
        (
            chain(template([special("c"), text(), special("c")], []), PLAIN),
            "post_processor.processors[1]",
            "given 3 parts, on which the reference crashes",
        ),
        (
            template([text()], [special("zz"), text(), text("B")]),
            "post_processor.pair[0].SpecialToken.id",
            "'zz' is not in",
        ),
    ],
)
def test_what_loses_a_text_or_crashes_is_refused(
    toy_definition: Any, tmp_path: Path, processor: Any, where: str, message: str
) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(toy_definition, processor, tmp_path)
    assert str(caught.value.where).endswith(f"toy.json: {where}")
    assert message in caught.value.message


@pytest.mark.parametrize(
    ("processor", "where"),
    [
        ({"type": "ByteLevel"}, "post_processor.add_prefix_space"),
        ({"type": "Nope"}, "post_processor"),
        ({"type": "BertProcessing", "sep": ["s", 1]}, "post_processor.cls"),
        ({"type": "TemplateProcessing", "single": [text()], "special_tokens": {}}, "post_processor.pair"),
        ({"type": "TemplateProcessing", "single": [text()], "pair": [text()]}, "post_processor.special_tokens"),
        (template([{"Sequence": {"id": "A"}}], []), "post_processor.single[0].Sequence.type_id"),
        (template([text("C")], []), "post_processor.single[0].Sequence.id"),
        (template(["$A"], []), "post_processor.single[0]"),
        ({**PLAIN, "special_tokens": {"x": {"id": "x", "ids": [1]}}}, "post_processor.special_tokens.x.tokens"),
        ({"processors": []}, "post_processor.single"),
    ],
)
def test_malformed_processors_are_named(toy_definition: Any, tmp_path: Path, processor: Any, where: str) -> None:
    with pytest.raises(DefinitionError) as caught:
        read(toy_definition, processor, tmp_path)
    assert str(caught.value.where).endswith(f"toy.json: {where}")
    with pytest.raises(Exception, match="did not match"):
        tokenizers.Tokenizer.from_str(json.dumps(definition(toy_definition, processor)))


# ------------------------------------------------------------------ the calls

BUILT = {"bert": BERT, "odd": ODD, "refused": WITHOUT_PAIRS["empty pair"]}


@pytest.fixture(scope="module", params=[(name, engine) for name in BUILT for engine in ("native", "regex")], ids=str)
def engines(request: pytest.FixtureRequest, toy_definition: Any, folder: Path) -> tuple[str, Any, Any]:
    """Which processor, our engine, and the reference."""
    name, engine = request.param
    made = definition(toy_definition, BUILT[name])
    theirs = tokenizers.Tokenizer.from_str(json.dumps(made))
    if engine == "native":
        return name, modules.build_toy(f"pairs_{name}", made, folder).module._module.engine, theirs
    path = folder / f"pairs_regex_{name}.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    found = read_definition(str(path))
    package = folder / f"pairs_regex_{name}"
    package.mkdir(exist_ok=True)
    (package / "definition.npz").write_bytes(write_definition_data(found))
    manifest = json.loads(json.dumps(build_manifest(found)))
    return name, RegexEngine(manifest, read_definition_data(package)), theirs


TEXTS = st.text("ab é日", max_size=12)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(TEXTS | st.tuples(TEXTS, TEXTS), max_size=8), add=st.booleans())
def test_batches_of_texts_and_pairs(engines: Any, items: list[Any], add: bool) -> None:
    name, ours, theirs = engines
    if name == "refused":
        items = [item for item in items if isinstance(item, str)]
    right = theirs.encode_batch(items, add_special_tokens=add)
    encoded = ours.encode_batch(items, add_special_tokens=add)
    typed = ours.encode_batch_with_type_ids(items, add_special_tokens=add)
    assert type(encoded).__name__ == "Encoded" and type(typed).__name__ == "EncodedWithTypeIds"
    assert [array.dtype for array in typed] == [np.uint32, np.int64, np.uint32]
    assert encoded.ids.tolist() == typed.ids.tolist() == [i for one in right for i in one.ids]
    assert typed.type_ids.tolist() == [i for one in right for i in one.type_ids]
    offsets = [0, *np.cumsum([len(one.ids) for one in right]).tolist()]
    assert encoded.offsets.tolist() == typed.offsets.tolist() == offsets
    for item, one in zip(items, right, strict=True):
        first, second = (item, None) if isinstance(item, str) else item
        assert ours.encode(first, pair=second, add_special_tokens=add).tolist() == one.ids


def test_large_pairs_go_over_threads(engines: Any) -> None:
    name, ours, theirs = engines
    if name == "refused":
        return
    long = "ab é日 " * (120_000 if ours.engine == "native" else 300)
    items = [(long, "a"), "b", ("", long[:900]), (long[:900], long[:9000])]
    right = theirs.encode_batch(items, add_special_tokens=True)
    for threads in (1, 3):
        encoded = ours.encode_batch_with_type_ids(items, threads, add_special_tokens=True)
        for number, one in enumerate(right):
            part = slice(*encoded.offsets[number : number + 2])
            assert np.array_equal(encoded.ids[part], one.ids)
            assert np.array_equal(encoded.type_ids[part], one.type_ids)


def test_bytes_and_buffers_are_pairs_too_and_faults_name_the_item(engines: Any) -> None:
    name, ours, theirs = engines
    if name == "refused":
        for call in (
            lambda: ours.encode("a", pair="b"),
            lambda: ours.encode_batch(["a", ("a", "b")]),
            lambda: ours.encode_batch_with_type_ids([("a", "b")], add_special_tokens=True),
        ):
            with pytest.raises(ValueError, match="cannot put a pair of texts together"):
                call()
        with pytest.raises(ValueError, match=r"texts\[1\] is a pair"):
            ours.encode_batch(["a", ("a", "b")])
        return
    right = theirs.encode("ab", "é", add_special_tokens=True).ids
    for pair in ((b"ab", bytearray("é".encode())), (memoryview(b"ab"), "é")):
        assert ours.encode(pair[0], pair=pair[1], add_special_tokens=True).tolist() == right
        assert ours.encode_batch([pair], add_special_tokens=True).ids.tolist() == right
    with pytest.raises(UnicodeDecodeError, match=r"texts\[1\] is not well-formed UTF-8 at byte 1"):
        ours.encode_batch(["a", ("ab", b"a\xff"), "b"])
    with pytest.raises(UnicodeDecodeError, match=r"texts\[2\] is not"):
        ours.encode_batch(["a", ("ab", "b"), (b"\xff", "b")])
    with pytest.raises(UnicodeEncodeError, match=r"texts\[0\] holds the surrogate"):
        ours.encode_batch([("a", "\ud800")])
    with pytest.raises(TypeError, match="text must be str"):
        ours.encode("a", pair=3)
    with pytest.raises(TypeError, match="text must be str"):
        ours.encode(("a", "b"))
    for wrong in (("a", "b", "c"), ("a",), ["a", "b"], ("a", 3)):
        with pytest.raises(TypeError, match=r"texts\[1\] must be str"):
            ours.encode_batch(["a", wrong])


def test_known_hard_case_of_a_pair(shared: Any) -> None:
    """Of faults.json: type ids of a template, with the ids of its texts as recorded (its model is no BPE)."""
    case = shared.faults["post-pair-typeids"]
    made = json.loads((shared.root / "cases" / case["model_or_config"]).read_text("utf-8"))
    post, warnings = read_post_processor(Fields.of(made["post_processor"], "post_processor"))
    engine = tokenizers.Tokenizer.from_str(json.dumps(made))
    first, second = (engine.encode(text, add_special_tokens=False).ids for text in case["input"])
    right = case["expected"]
    assert filled(post.pair, {"A": first, "B": second}) == (right["ids"], right["type_ids"])
    assert warnings == ()
