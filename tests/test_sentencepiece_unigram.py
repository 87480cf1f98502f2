"""SentencePiece `.model` files of type unigram against sentencepiece 0.2.3: on plain Python, and compiled.

The arithmetic by itself is tested in test_unigram.py and test_unigram_kernel.py, the normalizer in test_sentencepiece_kernel.py.
"""

from __future__ import annotations

import dataclasses
import gc
import itertools
import lzma
import random
import resource
import string
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gigatok_compile import driver
from gigatok_compile.definition import sentencepiece_proto as proto
from gigatok_compile.errors import CompileError, DefinitionError, VerifyError
from gigatok_compile.ir.unigram import UnigramModel
from gigatok_compile.vocabulary.unigram_tables import build_unigram_tables
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("sentencepiece")
sys.path.insert(0, str(Path(__file__).parent))
import modules
import sentencepiece_models as models

sys.path.remove(str(Path(__file__).parent))

UNIGRAM = {"model_type": proto.UNIGRAM}
REAL = ("albert", "jurassic2", "t5_base", "sp_unigram_en", "sp_unigram_ja", "seqio_test")
ENTRIES: list[models.Piece] = [
    *((letter, -3.0 - k / 8, proto.NORMAL) for k, letter in enumerate("abcd\u2581é中😀")),
    *(
        (text, -4.5, proto.NORMAL)
        for text in ("ab", "bc", "\u2581a", "\u2581ab", "中中", "a\u2581", "\u2581\u2581\u2581")
    ),
    ("abc", -5.5, proto.NORMAL),
    ("bcbc", -0.01, proto.NORMAL),  # better than user-defined pieces in it
    ("cbcbc", -40.0, proto.NORMAL),
    ("bcb", 0.0, proto.USER_DEFINED),
    ("cc", -7.0, proto.USER_DEFINED),
    ("\u2581\u2581", 0.0, proto.USER_DEFINED),
    ("d\u2581d", 0.0, proto.USER_DEFINED),
    ("<u> </u>", 0.0, proto.USER_DEFINED),
    ("<u>", 0.0, proto.USER_DEFINED),
    ("<u>a", -9.0, proto.NORMAL),
    ("é中", 0.0, proto.USER_DEFINED),
    ("y", -1.0, proto.UNUSED),
    ("abcd", -1.0, proto.UNUSED),
    ("z", -1.0, proto.CONTROL),
    ("<ctl>", -1.0, proto.CONTROL),
]
RULES = models.charsmap({"q": "ab", "Q": " ", "é": "e", "中中": "a  ", "A": "a", "b\u0301": "\u2581"})
ALPHABET = "aabbccdd  \u2581é中😀yzqQAx\u0301\n<>u/☃"


def pieces(*more: models.Piece) -> list[models.Piece]:
    return [*models.META, *ENTRIES, *more]


def flags(prefix: bool, extra: bool, escape: bool = True) -> dict[str, Any]:
    return {"add_dummy_prefix": prefix, "remove_extra_whitespaces": extra, "escape_whitespaces": escape}


SUFFIX = {"treat_whitespace_as_suffix": True}
FALLBACK = {"byte_fallback": True}
MADE: dict[str, bytes] = {
    "usual": models.model_bytes(pieces(), flags(True, True), UNIGRAM),
    "bytes": models.model_bytes(pieces(*models.BYTES), flags(False, False), UNIGRAM | FALLBACK),
    "suffix": models.model_bytes(pieces(), flags(True, True), UNIGRAM | SUFFIX | {"unk_surface": b"??"}),
    "raw": models.model_bytes(
        pieces((" ", -2.5, proto.NORMAL), ("a b", -3.0, proto.NORMAL), (" <u> ", 0.0, proto.USER_DEFINED), *models.BYTES),
        flags(True, False, escape=False),
        UNIGRAM | FALLBACK,
    ),
    "rules": models.model_bytes(
        pieces(*models.BYTES)[1:],  # no unknown piece
        flags(True, False) | {"precompiled_charsmap": RULES},
        UNIGRAM | FALLBACK,
    ),
    "raw_rules": models.model_bytes(
        pieces((" ", -2.5, proto.NORMAL)),
        flags(True, True, escape=False) | {"precompiled_charsmap": RULES},
        UNIGRAM | SUFFIX,
    ),
}  # fmt: skip
"""Every kind of piece; between them every option."""


def hostile_texts() -> list[str]:
    own = ["bcb", "cc", "d d", "d\u2581d", "<u> </u>", "<u>", "é中", "  ", "\u2581\u2581"]
    texts = [
        "",
        " ",
        "   ",
        "\u2581",
        " \u2581 ",
        "a\u2581b",
        "<s>",
        "</s>a",
        "<unk>",
        "x<unk>x",
        "<0x41>",
        "<ctl>",
        "z",
        "y",
        "abcd",
    ]
    texts += [
        "\0",
        "a\0b",
        "\r\n",
        "\t a",
        "\ufeffa",
        "\u00a0a",
        "\uffff",
        "\U0010ffff",
        "a\u0301",
        "b\u0301c",
        "☃☄☃",
        "x☃a☃x",
    ]
    texts += [left + right for left, right in itertools.product([*own, "a", "bc", "x"], repeat=2)]
    texts += ["bcbcbcbcb", "cbcbcb", "dd d dd", "<u><u> </u></u>", "<<u>>", "<u >", "<u>a<u>"]
    texts += [
        letter * size
        for letter in ("a", " ", "é", "中", "☃", "bc")
        for size in (15, 16, 17, 63, 64, 65, 255, 1023, 1024, 1025)
    ]
    return texts  # fmt: skip


def random_texts(rng: random.Random, count: int) -> list[str]:
    lengths = [0, 1, 2, 3, 5, 9, 16, 17, 40, 130]
    return ["".join(rng.choices(ALPHABET, k=rng.choice(lengths))) for _ in range(count)]


def check_ids(engine: Any, reference: Any, texts: Sequence[str], where: object) -> None:
    """Ids, twice (what is kept must be the same), and the text of them."""
    expected = reference.encode(list(texts))
    for _ in range(2):
        for text, ids in zip(texts, expected, strict=True):
            assert engine.encode(text).tolist() == ids, (where, text)
    for ids in expected:
        assert engine.decode(ids) == reference.decode(ids), (where, ids)


def check_decoding(engine: Any, reference: Any, rng: random.Random, count: int, where: object) -> None:
    size = reference.get_piece_size()
    low = min(size, len(ENTRIES) + 3)
    for _ in range(count):
        ids = [rng.randrange(rng.choice([low, size])) for _ in range(rng.randint(0, 9))]
        assert engine.decode(ids) == reference.decode(ids), (where, ids)


# ------------------------------------------------------------------ plain Python


@pytest.mark.parametrize("block", range(8))
def test_made_up_models(block: int) -> None:
    """Every kind of piece, equal scores, rules, all flags; random texts and random ids."""
    for seed in range(block * 25, block * 25 + 25):
        rng = random.Random(seed)
        data, alphabet = models.random_model(rng, proto.UNIGRAM)
        reference = models.reference(data)
        engine = models.engine(models.read(data))
        texts = ["".join(rng.choices(alphabet, k=rng.choice([0, 1, 2, 3, 5, 9, 30]))) for _ in range(40)]
        check_ids(engine, reference, texts, seed)
        check_decoding(engine, reference, rng, 40, seed)


KINDS = st.sampled_from([proto.NORMAL, proto.NORMAL, proto.NORMAL, proto.USER_DEFINED, proto.UNUSED, proto.CONTROL])
ENTRY = st.tuples(
    st.text("ab\u2581 é", min_size=1, max_size=5),
    st.floats(-20, 1, width=32) | st.sampled_from([-1.0, -2.0, -3.0]) | st.floats(-(2.0**99), 2.0**99, width=32),
    KINDS,
)


@settings(max_examples=150)
@given(
    st.lists(ENTRY, min_size=1, max_size=12, unique_by=lambda entry: entry[0]),
    st.lists(st.text("ab\u2581 éx", max_size=20), min_size=1, max_size=5),
    st.tuples(*[st.booleans()] * 5),
)
def test_any_vocabulary(entries: list[Any], texts: list[str], options: tuple[bool, ...]) -> None:
    prefix, extra, escape, suffix, fallback = options
    trainer = UNIGRAM | {"treat_whitespace_as_suffix": suffix, "byte_fallback": fallback}
    more = models.BYTES if fallback else []
    data = models.model_bytes([*models.META, *entries, *more], flags(prefix, extra, escape), trainer)
    try:
        reference = models.reference(data)
    except RuntimeError:
        with pytest.raises(DefinitionError):
            models.read(data)
        return
    check_ids(models.engine(models.read(data)), reference, texts, data)


def test_user_defined_pieces_compete_by_score() -> None:
    """They have 0.1 * (bytes - 1) whatever the file says, in its spelling; a normal piece with more wins over them."""
    definition = models.read(MADE["usual"])
    model = definition.model
    assert isinstance(model, UnigramModel)
    number = {text: k + 3 for k, (text, _, _) in enumerate(ENTRIES)}
    assert model.scores[number["cc"]] == np.float32(0.1) and model.scores[number["\u2581\u2581"]] == np.float32(0.5)
    assert model.tokens[number["\u2581\u2581"]] == b"  " and model.tokens[number["<u> </u>"]] is None
    assert model.tokens[number["y"]] is model.tokens[number["z"]] is None
    engine = models.engine(models.read(models.model_bytes(pieces(), models.IDENTITY, UNIGRAM)))
    for text, right in {"bcb": ["bcb"], "bcbb": ["bcb", "b"], "bcbc": ["bcbc"], "cca": ["cc", "a"]}.items():
        assert engine.encode(text).tolist() == [number[piece] for piece in right], text
    data = models.model_bytes(pieces(("ab cbcbcbb", 90.0, proto.NORMAL), ("bcbc a", 9.0, proto.NORMAL)), {}, UNIGRAM)
    for text in ("bcb", "bcbc", "bcbca", "<u>a", "cbcbc", "xccx", "bcbc a", "d d", "d\u2581d", "   "):
        assert models.engine(models.read(data)).encode(text).tolist() == models.reference(data).encode(text), text
    assert not any(token.matched for token in definition.added_tokens)
    bpe = models.read(models.model_bytes(pieces(), models.IDENTITY))
    assert any(token.matched for token in bpe.added_tokens)


def test_the_score_of_a_user_defined_piece_to_the_last_bit() -> None:
    """A normal piece beside it wins as soon as its score is one step higher."""
    for size in (*range(3, 60), 255, 777, 2046):
        score = np.float32(0.1 * (size - 1))
        for rival, wins in ((score, True), (np.nextafter(score, np.float32(np.inf)), False)):
            more = [
                ("z" * size, 0.0, proto.USER_DEFINED),
                ("z" * (size - 1), float(rival), proto.NORMAL),
                ("z", 0.0, proto.NORMAL),
            ]
            data = models.model_bytes([*models.META, *more], models.IDENTITY, UNIGRAM)
            ids = models.reference(data).encode("z" * size)
            assert models.engine(models.read(data)).encode("z" * size).tolist() == ids, size
            assert (ids == [3]) == wins, size


@pytest.mark.parametrize("kind", [proto.NORMAL, proto.USER_DEFINED])
def test_the_normalizer_leaves_user_defined_pieces_alone(kind: int) -> None:
    """As for BPE: rules do not reach into them, nor does what is done with spaces."""
    data = models.model_bytes(
        pieces(("qq", -1.0, kind), ("Qb  c", -1.0, kind), ("中中中", -1.0, kind)),
        flags(True, True) | {"precompiled_charsmap": RULES},
        UNIGRAM,
    )
    engine, reference = models.engine(models.read(data)), models.reference(data)
    for text in (
        "qq",
        "qqq",
        "aqqa",
        "Qb  c",
        "a Qb  c",
        "Qb  Qb  c",
        "中中中",
        "中中中中",
        "é中",
        "éé中中",
        "  qq  ",
        "AqqA",
    ):
        assert engine.encode(text).tolist() == reference.encode(text), text
        assert engine.normalize(text).replace(" ", "\u2581") == reference.normalize(text), text


def test_user_defined_pieces_that_begin_with_one_another() -> None:
    """The reference looks at the 64 shortest at a place; more are refused."""
    for count in (64, 65):
        more = [("z" * n, 0.0, proto.USER_DEFINED) for n in range(1, count + 1)]
        rules = {"precompiled_charsmap": models.charsmap({"z": "a"})}
        data = models.model_bytes([*models.META, *more], rules, UNIGRAM)
        if count == 65:
            with pytest.raises(DefinitionError, match="more than 64 user-defined pieces begin with one another"):
                models.read(data)
            continue
        engine, reference = models.engine(models.read(data)), models.reference(data)
        for size in (1, 63, 64, 65, 70, 130):
            assert engine.encode("z" * size).tolist() == reference.encode("z" * size), size


# ------------------------------------------------------------------ loading


@pytest.mark.parametrize(
    ("entries", "trainer", "where"),
    [
        (models.META, {}, "pieces: there is no piece that text can match"),
        ([*models.META, *models.BYTES], FALLBACK, "pieces: there is no piece that text can match"),
        ([*models.META, ("a", -1.0, proto.CONTROL)], {}, "pieces: there is no piece that text can match"),
        ([], {}, "neither a JSON object nor"),
        (ENTRIES, {}, "pieces: there is no unknown piece"),
        (pieces(*models.BYTES[:7], *models.BYTES[8:]), FALLBACK, "pieces: trainer_spec.byte_fallback is set, and there is no byte piece <0x07>"),
        (pieces(), FALLBACK, "there is no byte piece <0x00>"),
        ([*ENTRIES, *models.BYTES[1:]], FALLBACK, "there is no byte piece <0x00>"),
        (pieces(*models.BYTES), {}, "pieces[33]: the byte piece '<0x00>' stands in a model without"),
        (pieces(("a", 0.0, proto.USER_DEFINED)), {}, "pieces[33]: the piece 'a' stands at pieces[3] already"),
        (pieces(("a", 0.0, proto.UNUSED)), {}, "pieces[33]: the piece 'a' stands at pieces[3] already"),
        (pieces(("", 0.0, proto.NORMAL)), {}, "pieces[33]: the piece is empty"),
        (pieces(("a\0", 0.0, proto.NORMAL)), {}, "pieces[33]: the piece b'a\\x00' holds a NUL"),
        (pieces(("q", float("nan"), proto.USER_DEFINED)), {}, "pieces[33].score: the score of 'q' is not a number"),
        (pieces(("<unk2>", 0.0, proto.UNKNOWN)), {}, "pieces[33]: a second unknown piece after pieces[0]"),
    ],
)  # fmt: skip
def test_what_the_reference_does_not_load(entries: list[models.Piece], trainer: dict[str, Any], where: str) -> None:
    data = models.model_bytes(entries, models.IDENTITY, UNIGRAM | trainer)
    with pytest.raises(DefinitionError) as caught:
        models.read(data)
    assert where in str(caught.value)
    with pytest.raises(RuntimeError):
        models.reference(data)


@pytest.mark.parametrize(
    ("entries", "trainer"),
    [
        ([*models.META, ("a", -1.0, proto.UNUSED)], {}),  # all text is unknown
        ([*models.META, ("a", -1.0, proto.USER_DEFINED), ("ab", -1.0, proto.USER_DEFINED)], {}),
        ([*ENTRIES, *models.BYTES], FALLBACK),  # nothing is unknown
        ([*models.BYTES, *ENTRIES, *models.META], FALLBACK),
        (pieces(("q", -3e38, proto.USER_DEFINED), ("w", -3e38, proto.CONTROL), ("v", -3e38, proto.UNUSED)), {}),
        (pieces(("q", 3.4e38, proto.NORMAL), ("aqa", 3e38, proto.NORMAL)), {}),
        ([("<unk>", -3e38, proto.UNKNOWN), ("a", -9e29, proto.NORMAL), ("ab", -1.0, proto.NORMAL)], {}),
    ],
)
def test_odd_models_that_load(entries: list[models.Piece], trainer: dict[str, Any]) -> None:
    data = models.model_bytes(entries, {}, UNIGRAM | trainer)
    definition = models.read(data)
    engine, reference = models.engine(definition), models.reference(data)
    rng = random.Random(3)
    check_ids(engine, reference, ["", "a", "b", "ab", "aqa", "qq", "ab" * 30, "xab☃q", *random_texts(rng, 100)], "odd")
    check_decoding(engine, reference, rng, 100, "odd")
    assert definition.roles.get("unk", -1) == reference.unk_id()


def test_what_is_not_compiled() -> None:
    long = models.read(models.model_bytes(pieces(("a" * 2048, -1.0, proto.NORMAL)), {}, UNIGRAM))
    no_mark = [entry for entry in ENTRIES if entry[0] != "\u2581"]
    markless = models.read(models.model_bytes([*models.META, *no_mark, *models.BYTES], {}, UNIGRAM | FALLBACK))
    for definition, message in (
        (long, "pieces[33]: the entry of id 33 has 2048 bytes"),
        (markless, "pieces: the mark '▁' is no entry"),
    ):
        assert isinstance(definition.model, UnigramModel)
        with pytest.raises(DefinitionError) as caught:
            build_unigram_tables(definition.model)
        assert message in str(caught.value)
    for kind, what in ((proto.WORD, "word"), (proto.CHAR, "char")):
        with pytest.raises(DefinitionError, match=rf"trainer_spec\.model_type: the model type {what} is not compiled"):
            models.read(models.model_bytes(pieces(), {}, {"model_type": kind}))


# ------------------------------------------------------------------ compiled: made-up models


@pytest.fixture(scope="session")
def made(folder: Path) -> Callable[[str], modules.Engines]:
    def build(name: str) -> modules.Engines:
        file = folder / f"unigram_{name}.model"
        with modules.locked(folder / f"{file.name}.write"):
            if not file.exists():
                file.write_bytes(MADE[name])
        return modules.engines(f"unigram_{name}", file, folder)

    return build


@pytest.mark.parametrize("name", MADE)
def test_compiled_models(made: Callable[[str], modules.Engines], name: str) -> None:
    reference = models.reference(MADE[name])
    for isa, engine in made(name).each():
        rng = random.Random(7)
        check_ids(engine, reference, hostile_texts() + random_texts(rng, 600), (name, isa))
        check_decoding(engine, reference, rng, 300, (name, isa))
        texts = random_texts(rng, 300)
        for threads in (1, 3):
            found, offsets = engine.encode_batch(texts, threads)
            assert [found[a:b].tolist() for a, b in itertools.pairwise(offsets)] == reference.encode(texts)


@pytest.mark.parametrize("name", MADE)
def test_names_of_ids(made: Callable[[str], modules.Engines], name: str) -> None:
    """id_to_piece and piece_to_id. Marks are spaces in the bytes of a piece; that of a user-defined one is found by both spellings."""
    reference, escape = models.reference(MADE[name]), not name.startswith("raw")
    for tokenizer in made(name).tokenizers():
        for number in range(reference.get_piece_size()):
            piece = reference.id_to_piece(number)
            named = reference.is_unknown(number) or reference.is_control(number) or reference.is_byte(number)
            spelled = piece if named or not escape else piece.replace("\u2581", " ")
            assert tokenizer.token_to_id(spelled) == number, piece
            if not reference.is_byte(number):
                assert tokenizer.id_to_token(number) == spelled.encode(), piece
        assert [tokenizer.token_to_id(token["content"]) for token in tokenizer.manifest["added_tokens"]] == [
            token["id"] for token in tokenizer.manifest["added_tokens"]
        ]
        assert tokenizer.token_to_id("nothing") is None
        assert reference.piece_to_id("nothing") == reference.unk_id()


def test_special_tokens_in_text_are_text(made: Callable[[str], modules.Engines]) -> None:
    """No option makes control or user-defined pieces of a `.model` special: nothing is cut out of a Unigram text."""
    reference = models.reference(MADE["usual"])
    for _, engine in made("usual").each():
        for text in ("<s>a</s>", "a<ctl>b", "bcbc", "<u>a"):
            for special in (None, "match", "text", "error", {"<s>", "<ctl>", "cc"}, {"bcb": "error", "<u>": "match"}):
                assert engine.encode(text, special=special).tolist() == reference.encode(text), (text, special)


# ------------------------------------------------------------------ whole texts


def test_ids_depend_on_all_text_before() -> None:
    """Why no text is cut and no word is kept: in float32 what is far from zero has fewer digits, so that "ab" is a tie there."""
    entries = [("a", -1.0, 1), ("b", -1.0, 1), ("ab", -2.001, 1), ("x", -10.0, 1), (" ", -1.0, 1), ("\u2581", -1.0, 1)]
    data = models.model_bytes([*models.META, *entries], models.IDENTITY, UNIGRAM)
    engine, reference = models.engine(models.read(data)), models.reference(data)
    for before in ("", "x" * 9000, "x " * 6000, "x" * 20_000):
        assert engine.encode(before + "ab").tolist() == reference.encode(before + "ab")
    assert reference.encode("ab") == [3, 4]
    assert reference.encode("x" * 9000 + "ab")[-1:] == reference.encode("x " * 6000 + "ab")[-1:] == [5]


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.mark.parametrize("part", ["a", "bc", " ", "ab cd ", "中", "☃", "é中😀 bcbcb\n"])
def test_ten_megabytes(made: Callable[[str], modules.Engines], part: str) -> None:
    """Ids of one text in linear time, whatever it holds and however many threads, and memory is given back."""
    reference, engine = models.reference(MADE["bytes"]), made("bytes").built
    assert engine is not None
    times = []
    for size in (1_000_000, 10_000_000):
        text = part * (size // len(part.encode()))
        began = time.process_time()
        ids = engine.module.encode(text)
        times.append(time.process_time() - began)
        assert np.array_equal(ids, np.array(reference.encode(text), np.uint32))
    assert times[1] < 5 and times[1] < 40 * max(times[0], 0.005)
    for threads in (2, 4):
        assert np.array_equal(engine.module.encode(text, threads=threads), ids)
    del ids
    gc.collect()
    before = resident()
    for _ in range(3):
        engine.module.encode(text)
    gc.collect()
    assert resident() - before < 16 << 20


def test_a_large_text_keeps_its_sums(made: Callable[[str], modules.Engines]) -> None:
    """Random text of some megabytes: sums pass 100,000 again and again; other texts beside it, on threads."""
    reference, engine = models.reference(MADE["bytes"]), made("bytes").built
    assert engine is not None
    rng = random.Random(11)
    large = ["".join(rng.choices(ALPHABET, k=1_500_000)), "".join(rng.choices("abc", k=1_200_000))]
    texts = [*random_texts(rng, 50), large[0], *random_texts(rng, 50), large[1]]
    expected = reference.encode(texts)
    for threads in (1, 2, 5):
        found, offsets = engine.module.encode_batch(texts, threads)
        assert [found[a:b].tolist() for a, b in itertools.pairwise(offsets)] == expected


# ------------------------------------------------------------------ verification

BREAKS: dict[str, Callable[[UnigramModel], UnigramModel]] = {
    "a score": lambda model: dataclasses.replace(model, scores=np.where(np.arange(len(model.scores)) == 11, -9, model.scores)),
    "the score of what is unknown": lambda model: dataclasses.replace(model, unk_score=-1.0),
    "a byte": lambda model: dataclasses.replace(model, byte_ids=np.roll(model.byte_ids, 1)),
    "an entry": lambda model: dataclasses.replace(model, tokens=tuple(None if token == b"bcbc" else token for token in model.tokens)),
    "its reference": lambda model: dataclasses.replace(model, engine="tokenizers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BREAKS)
def test_a_broken_table_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Negative control: what is compiled is not what was read."""
    (tmp_path / "toy.model").write_bytes(MADE["bytes"])
    monkeypatch.setattr(driver, "build_unigram_tables", lambda model: build_unigram_tables(BREAKS[kind](model)))
    with pytest.raises(VerifyError, match="the compiled module is wrong: "):
        driver.compile_definition(str(tmp_path / "toy.model"), out_dir=tmp_path / "out", verify_seconds=2)
    assert not (tmp_path / "out" / "toy").exists()


def test_what_is_right_passes(tmp_path: Path) -> None:
    for name in ("bytes", "raw_rules"):
        (tmp_path / f"{name}.model").write_bytes(MADE[name])
        result = driver.compile_definition(str(tmp_path / f"{name}.model"), out_dir=tmp_path, verify_seconds=2)
        assert "agree with the regex engine" in result.verified


# ------------------------------------------------------------------ real models


def model_file(shared: Any, name: str) -> Path:
    return Path(shared.root / "models" / name / "tokenizer.model.xz")


@pytest.mark.parametrize("name", REAL)
def test_real_models(name: str, shared: Any, folder: Path) -> None:
    """Every corpus by line and in one piece, decoded too; random ids; control pieces in text."""
    file = model_file(shared, name)
    reference = models.reference(lzma.decompress(file.read_bytes()))
    both = modules.engines(f"sp_{name}", file, folder)
    assert both.built is not None
    assert both.built.module.manifest["decoder_engine"] == "native"
    texts = ["<s>a</s>", "<pad>", "[CLS] a [SEP]", "<unk>", "a\0b", "\u2581a", *string.printable]
    for corpus in shared.corpus_names():
        text = shared.corpus(corpus)[:30_000].decode("utf-8", "ignore")
        texts += [*text.split("\n"), text]
    check_ids(both.built.module, reference, texts, name)
    few = [text for text in texts if len(text) < 400][::12]
    check_ids(both.plain, reference, few, name)
    rng = random.Random(name)
    for _ in range(300):
        ids = [rng.randrange(reference.get_piece_size()) for _ in range(rng.randint(0, 30))]
        assert both.built.module.decode(ids) == reference.decode(ids), ids
    for isa, engine in both.each():
        if isa != "regex":
            check_ids(engine, reference, few, (name, isa))


def test_a_model_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.model").write_bytes(models.model_bytes(pieces((b"\xff", 0.0, proto.NORMAL)), {}, UNIGRAM))
    with pytest.raises(CompileError, match=r"pieces\[33\]: the piece b'\\xff' is not UTF-8"):
        driver.compile_definition(str(tmp_path / "bad.model"), out_dir=tmp_path / "out")
