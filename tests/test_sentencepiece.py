"""SentencePiece `.model`: reader, normalizer, BPE and decoder against sentencepiece 0.2.3, on the plain-Python engine."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.errors import DefinitionError

pytest.importorskip("sentencepiece")
sys.path.insert(0, str(Path(__file__).parent))
import sentencepiece_models as models

sys.path.remove(str(Path(__file__).parent))

BPE_MODELS = ("mistral_v1", "mistral_v3", "mistral_v7", "sp_bpe_test")
LETTERS = [(c, -10.0 - i, proto.NORMAL) for i, c in enumerate("abcdx\u2581")]


def refusal(data: bytes) -> str:
    with pytest.raises(DefinitionError) as caught:
        models.read(data)
    return str(caught.value)


def pieces(*more: models.Piece) -> list[models.Piece]:
    return [*models.META, *LETTERS, *more]


# ------------------------------------------------------------------ ids and text


@pytest.mark.parametrize("name", BPE_MODELS)
def test_ids_and_text_on_corpora(shared: Any, name: str) -> None:
    data = shared.model_bytes(name)
    engine, reference = models.engine(models.read(data)), models.reference(data)
    for corpus in shared.corpus_names():
        lines = shared.corpus(corpus)[:12_000].decode("utf-8", "ignore").split("\n")
        expected = reference.encode(lines)
        for line, ids in zip(lines, expected, strict=True):
            assert engine.encode(line).tolist() == ids, (corpus, line)
            assert engine.decode(ids) == reference.decode(ids), (corpus, line)


def test_ids_of_a_whole_text_that_is_one_piece(shared: Any) -> None:
    data = shared.model_bytes("mistral_v3")
    text = shared.corpus("code")[:60_000].decode("utf-8", "ignore") + "ab" * 5000
    assert models.engine(models.read(data)).encode(text).tolist() == models.reference(data).encode(text)


@pytest.mark.parametrize("block", range(8))
def test_made_up_models(block: int) -> None:
    """Every kind of piece, equal scores, rules, all flags; random texts and random ids."""
    for seed in range(block * 25, block * 25 + 25):
        rng = random.Random(seed)
        data, alphabet = models.random_model(rng)
        definition, reference = models.read(data), models.reference(data)
        engine, size = models.engine(definition), reference.get_piece_size()
        for _ in range(40):
            text = "".join(rng.choice(alphabet) for _ in range(rng.choice([0, 1, 2, 3, 5, 9, 30])))
            ids = reference.encode(text)
            assert engine.encode(text).tolist() == ids, (seed, text)
            assert engine.decode(ids) == reference.decode(ids), (seed, text)
            ids = [rng.randrange(size) for _ in range(rng.randint(0, 8))]
            assert engine.decode(ids) == reference.decode(ids), (seed, ids)


def test_known_hard_cases(shared: Any) -> None:
    """All cases of faults.json that a BPE `.model` is loaded for."""
    seen = 0
    for case in shared.faults.values():
        which = case["model_or_config"]
        if not isinstance(which, str) or which not in ("sp:model:mistral_v1", "sp:configs/sp_bpe_uds.model"):
            continue
        seen += 1
        data = (
            shared.model_bytes("mistral_v1")
            if "mistral" in which
            else (shared.configs / "sp_bpe_uds.model").read_bytes()
        )
        engine = models.engine(models.read(data))
        for given, expected in zip(case["input"], case["expected"], strict=True):
            if case["call"]["op"] == "sp.decode_each":
                assert engine.decode(given) == expected["ok"], case["id"]
            elif isinstance(given, dict):  # bytes that are no text: SentencePiece has a U+FFFD for each of them
                with pytest.raises(ValueError, match="UTF-8"):
                    engine.encode(bytes.fromhex(given["hex"]))
            else:
                assert engine.encode(given).tolist() == expected["ids"], case["id"]
    assert seen == 5


def test_malformed_bytes_follow_errors_and_not_sentencepiece(shared: Any) -> None:
    """With errors="replace" a sequence that breaks off is one U+FFFD, as in all of gigatok; SentencePiece makes one of each byte."""
    engine = models.engine(models.read(shared.model_bytes("mistral_v1")))
    assert engine.encode(b"\xe4\xb8", errors="replace").tolist() == [28705, 29137]
    assert engine.encode(b"a\xffb", errors="replace").tolist() == [
        264,
        29137,
        28726,
    ]  # the same where there is one byte


def test_scores_order_as_in_the_reference() -> None:
    """Equal scores: the leftmost pair. -0.0 is below 0.0. Infinities are scores like others."""
    for first, second in [
        (0.0, 0.0),
        (-0.0, 0.0),
        (0.0, -0.0),
        (float("inf"), 1.0),
        (1.0, float("-inf")),
        (1.0, 1.0000001),
    ]:
        data = models.model_bytes(pieces(("ab", first, proto.NORMAL), ("bc", second, proto.NORMAL)))
        engine, reference = models.engine(models.read(data)), models.reference(data)
        for text in ("abc", "abcbc", "bcabc", "xabcabc"):
            assert engine.encode(text).tolist() == reference.encode(text), (first, second, text)


def test_unused_pieces_are_taken_apart_again() -> None:
    unused = [
        (text, score, proto.UNUSED) for text, score in (("ab", -3.0), ("abc", -1.5), ("abcd", -1.2), ("rs", -1.0))
    ]
    data = models.model_bytes(pieces(*unused, ("bc", -2.0, proto.NORMAL), ("cd", -1.0, proto.NORMAL)))
    definition, reference = models.read(data), models.reference(data)
    engine = models.engine(definition)
    assert {symbol.text: symbol.ids for symbol in definition.model.hidden}[b"abc"] == (3, 13)
    for text in ("abc", "abcd", "abcabcd ab cd abab", "rsrs", "r", "ars"):
        assert engine.encode(text).tolist() == reference.encode(text), text


def test_an_unknown_character_merges_where_a_piece_holds_it() -> None:
    for more in ([], models.BYTES):
        data = models.model_bytes(pieces(("aq", -1.0, proto.NORMAL), *more), trainer={"byte_fallback": bool(more)})
        engine, reference = models.engine(models.read(data)), models.reference(data)
        for text in ("aq", "q", "qq", "qaqz", "zq"):
            assert engine.encode(text).tolist() == reference.encode(text), text


def test_without_an_unknown_piece_where_all_bytes_have_one() -> None:
    """It loads, since nothing is unknown."""
    data = models.model_bytes([*pieces(("aq", -1.0, proto.NORMAL))[1:], *models.BYTES], {}, {"byte_fallback": True})
    definition, reference = models.read(data), models.reference(data)
    assert "unk" not in definition.roles and reference.unk_id() == -1
    engine = models.engine(definition)
    for text in ("ab", "q", "aqqa q", "é\u2581中 x\0"):
        ids = reference.encode(text)
        assert engine.encode(text).tolist() == ids, text
        assert engine.decode(ids) == reference.decode(ids), text


# ------------------------------------------------------------------ what is read


def test_what_the_definition_says(shared: Any) -> None:
    definition = models.read(shared.model_bytes("mistral_v7"))
    assert (definition.source_format, definition.reference) == ("sentencepiece", "sentencepiece 0.2.3")
    assert definition.roles == {"unk": 0, "bos": 1, "eos": 2}
    assert definition.post_processor.prefix == definition.post_processor.suffix == ()
    model = definition.model
    assert (model.atoms, model.unk_id, model.hidden) == ("characters", -1, ())
    assert model.byte_ids.tolist() == list(range(771, 771 + 256))
    assert b"\xe2\x96\x81" not in b"".join(token or b"" for token in model.tokens)
    by_name = {token.content: token for token in definition.added_tokens}
    assert not by_name["<s>"].matched and by_name["<s>"].special
    assert len(np.unique(model.merges[:, :2], axis=0)) == len(model.merges)
    (step,) = definition.normalizer
    assert "charsmap': '0 bytes'" in str(definition) and step.kind == "SentencePiece"


def test_control_pieces_are_not_matched_and_decode_to_nothing(shared: Any) -> None:
    engine = models.engine(models.read(shared.model_bytes("mistral_v3")))
    assert 1 not in engine.encode("<s>a</s>").tolist()
    assert engine.decode([1, 1032, 2]) == engine.decode([1032])
    assert engine.manifest["eot_token"] == 2
    assert engine.token_id("<s>") == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nul_piece", "holds a NUL"),
        ("duplicate_piece", "already, which the reference refuses"),
        ("empty_piece", "the piece is empty"),
        ("no_unk", "there is no unknown piece"),
        ("two_unk", "a second unknown piece"),
        ("byte_piece_without_flag", "without trainer_spec.byte_fallback"),
    ],
)
def test_models_that_the_reference_does_not_load(shared: Any, name: str, message: str) -> None:
    data = (shared.configs / f"spload_{name}.model").read_bytes()
    assert message in refusal(data)
    with pytest.raises(RuntimeError):
        models.reference(data)


@pytest.mark.parametrize(
    ("more", "trainer", "where"),
    [
        ([("a" * 8000, 0.0, proto.NORMAL)], {}, "pieces[9]: the piece has 8000 bytes"),
        ([("ab", 0.0, proto.NORMAL), ("ab", 0.0, proto.CONTROL)], {}, "pieces[10]: the piece 'ab' stands at pieces[9]"),
        ([*models.BYTES[:-1]], {"byte_fallback": True}, "there is no byte piece <0xFF>"),
        ([*models.BYTES, ("<0xaa>", 0.0, proto.BYTE)], {"byte_fallback": True}, "pieces[265]: the byte piece '<0xaa>'"),
    ],
)
def test_more_that_the_reference_does_not_load(more: list[models.Piece], trainer: dict[str, Any], where: str) -> None:
    data = models.model_bytes(pieces(*more), trainer=trainer)
    assert where in refusal(data)
    with pytest.raises(RuntimeError):
        models.reference(data)


@pytest.mark.parametrize(
    ("data", "where"),
    [
        (
            lambda: models.model_bytes(pieces((b"\xe4\xb8", 0.0, proto.NORMAL))),
            "pieces[9]: the piece b'\\xe4\\xb8' is not",
        ),
        (lambda: models.model_bytes(pieces(("ab", float("nan"), proto.NORMAL))), "pieces[9].score"),
        (
            lambda: models.model_bytes(pieces(), trainer={"model_type": proto.WORD}),
            "the model type word is not compiled",
        ),
        (
            lambda: models.model_bytes(pieces(), trainer={"model_type": proto.CHAR}),
            "the model type char is not compiled",
        ),
        (lambda: models.model_bytes(pieces(), trainer={"unk_surface": b"\xff"}), "trainer_spec.unk_surface"),
        (
            lambda: models.model_bytes(pieces(), {"precompiled_charsmap": b"abc"}),
            "precompiled_charsmap: the compiled rules",
        ),
    ],
)
def test_what_is_not_compiled(data: Callable[[], bytes], where: str) -> None:
    assert where in refusal(data())


def test_pieces_and_rules_that_begin_with_one_another() -> None:
    """The reference looks at the 64 shortest user-defined pieces and the 32 shortest rules at a place; more are refused."""
    for count in (64, 65):
        data = models.model_bytes(pieces(*(("z" * n, 0.0, proto.USER_DEFINED) for n in range(1, count + 1))))
        if count == 64:
            assert models.engine(models.read(data)).encode("z" * 70).tolist() == models.reference(data).encode("z" * 70)
        else:
            assert "more than 64 user-defined pieces begin with one another" in refusal(data)
    for count in (32, 33):
        rules = models.charsmap({"z" * n: f"a{n}" for n in range(1, count + 1)})
        data = models.model_bytes(pieces(), {**models.IDENTITY, "precompiled_charsmap": rules})
        if count == 32:
            assert models.engine(models.read(data)).normalize("z" * 40) == models.reference(data).normalize("z" * 40)
        else:
            assert "more than 32 rules begin with one another" in refusal(data)


def test_rules_for_decoding_and_samples_are_refused() -> None:
    model = proto.parse_model(models.model_bytes(pieces()))
    assert model is not None
    model.self_test_data.samples.add(input=b"a", expected=b"a")
    assert "self_test_data.samples" in refusal(model.SerializeToString())
    model.ClearField("self_test_data")
    model.denormalizer_spec.precompiled_charsmap = models.charsmap({"a": "b"})
    assert "denormalizer_spec.precompiled_charsmap" in refusal(model.SerializeToString())


def test_damaged_files_never_crash() -> None:
    rng = random.Random()
    good = models.model_bytes(
        pieces(("ab", -1.0, proto.NORMAL)), {"precompiled_charsmap": models.charsmap({"a\u0301": "á"})}
    )
    for _ in range(400):
        data = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(data))
            if rng.random() < 0.3:
                del data[at : at + rng.randint(1, 9)]
            else:
                data[at] = rng.randrange(256)
        data[:1] = b"\n"
        try:
            definition = models.read(bytes(data))
        except DefinitionError as error:
            assert str(error)
        else:
            models.engine(definition).encode("aá ab\u0301 abx")


def test_fields_that_are_not_known_are_passed_over(shared: Any) -> None:
    """trainer_spec has dozens; extensions have numbers from 200 upwards."""
    data = models.model_bytes(pieces(("ab", -1.0, proto.NORMAL)))
    assert models.read(data + b"\xc2\x0c\x03abc").model.tokens == models.read(data).model.tokens


def test_a_grammar_is_not_for_models(tmp_path: Path) -> None:
    from gigatok_compile.definition.read import read_definition
    from gigatok_compile.grammars.registry import load_grammar

    file = tmp_path / "a.model"
    file.write_bytes(models.model_bytes(pieces()))
    with pytest.raises(DefinitionError, match="leave --grammar out"):
        read_definition(str(file), grammar=load_grammar("gpt2"))
