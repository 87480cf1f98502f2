"""The regex engine against the reference engines: splits, merges, added tokens, and whole models."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from gigatok_compile.definition import read_definition
from gigatok_compile.errors import Unsupported
from gigatok_compile.grammars.registry import load_grammar
from gigatok_compile.ir.definition import TokenizerDefinition
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.verify.expand import to_regex_package
from gigatok_runtime.bpe import BytePairEncoder
from gigatok_runtime.regex_engine import RegexEngine
from gigatok_runtime.splitting import BEHAVIORS, Splitter
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

tokenizers = pytest.importorskip("tokenizers")
tiktoken = pytest.importorskip("tiktoken")

Pieces = list[str]
MakeEngine = Callable[[TokenizerDefinition], RegexEngine]
few = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

EDGY = list("aabBsSltdrvemZ'19 \t\n\r.,!?/-_$中文かтÉéßſKʕ٣½Ⅷ\u0301\u200b\u200d\u00a0\u0085\u3000\u2028\ufeff😀𝐀")
edgy_text = st.lists(
    st.sampled_from([*EDGY, "'ll", "'S", "\r\n", "   ", "123456", "words", "\U000ac517"]), max_size=24
).map("".join)
any_text = st.text(max_size=30) | edgy_text


def splitter(pattern: str, dialect: str = "oniguruma", behavior: str = "Isolated", invert: bool = False) -> Splitter:
    return Splitter(to_regex_package(parse_pattern(pattern, dialect)), behavior, invert)


def pieces(split: Splitter, text: str) -> Pieces:
    return [text[start:end] for start, end in split.spans(text)]


def reference_pieces(pattern: str, behavior: str, invert: bool, text: str) -> Pieces:
    name = {"MergedWithPrevious": "merged_with_previous", "MergedWithNext": "merged_with_next"}.get(
        behavior, behavior.lower()
    )
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(pattern), name, invert)
    return [text[start:end] for _, (start, end) in split.pre_tokenize_str(text)]


# Patterns and behaviors


def test_edge_splits(shared: Any) -> None:
    cases = json.loads((shared.root / "cases" / "edge_splits.json").read_text("utf-8"))
    steps = {name: [splitter(p) for p in patterns] for name, patterns in cases["meta"]["patterns"].items()}
    wrong = []
    for case in cases["cases"]:
        for name, expected in case["splits"].items():
            got = [case["text"]] if case["text"] else []
            for step in steps[name]:
                got = [part for piece in got for part in pieces(step, piece)]
            if got != expected:
                wrong.append((case["name"], name, got, expected))
    assert not wrong and len(cases["cases"]) > 100


PATTERNS = [
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    r"\p{N}{1,3}+|\s+$|^a+|\bB",
    r"(?=(\d{3})+(?!\d))",
    r"([!.,?])\1*|\w+",
    r"(?<=a)b|(?<!a) |(?<x>.)\k<x>",
    r"a?|\R",
    r"[\p{Lu}\p{Lt}&&[^A-M]]+|(?>a|ab)b|x*?9|[[:punct:]]++",
    r"\Ga|\B|\Z",
    r"-",
]


@pytest.mark.parametrize("pattern", PATTERNS)
@few
@given(text=edgy_text)
def test_patterns_split_as_oniguruma_does(pattern: str, text: str) -> None:
    for behavior in BEHAVIORS:
        for invert in (False, True):
            assert pieces(splitter_cached(pattern, behavior, invert), text) == reference_pieces(
                pattern, behavior, invert, text
            )


_splitters: dict[tuple[str, str, bool], Splitter] = {}


def splitter_cached(pattern: str, behavior: str, invert: bool) -> Splitter:
    key = (pattern, behavior, invert)
    if key not in _splitters:
        _splitters[key] = splitter(pattern, "oniguruma", behavior, invert)
    return _splitters[key]


def test_every_code_point_is_classified_as_in_the_reference() -> None:
    """Between letters, where letter, digit, blank, line break, mark and the rest all cut differently."""
    pattern = r"\p{L}+|\p{N}|\s|[\r\n]+|\w+|\p{M}"
    ours = splitter(pattern, behavior="Isolated")
    points = [
        chr(c) for c in (*range(0xD800), *range(0xE000, 0x32400), *range(0xE0000, 0xE0200))
    ]  # all that is assigned
    for at in range(0, len(points), 20_000):
        text = "a".join(points[at : at + 20_000])
        assert pieces(ours, text) == reference_pieces(pattern, "Isolated", False, text)


FANCY = [
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s",
    r"\w+$|^[a-z]+|(?m:^\d+$)|[^\w\s]|\b ",
    r"(?s:.)",
    r".\Z|a\z|[a-z&&[^b]]+",
]


@pytest.mark.parametrize("pattern", FANCY)
@few
@given(text=edgy_text)
def test_patterns_match_as_fancy_regex_does(pattern: str, text: str) -> None:
    """tiktoken joins what matched; with every text in the vocabulary that is, each piece is one token."""
    ours = pieces(splitter(pattern, "fancy", "Removed", True), text)
    ranks = {bytes([b]): b for b in range(256)}
    for piece in ours:
        ranks.setdefault(piece.encode(), len(ranks))
    encoding = tiktoken.Encoding("test", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    assert encoding.encode_ordinary(text) == [ranks[piece.encode()] for piece in ours]


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        (r"(?i:ss)", "case folding of one character to several"),
        (r"(?i:ß)x", "case folding of one character to several"),
        (r"(?<x>a)\g<x>", "a group call"),
        (r"(a)(?i:\1)", "a case-insensitive back-reference"),
        (r"a\Kb", r"the anchor \K"),
    ],
)
def test_what_has_no_counterpart_is_refused(pattern: str, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        splitter(pattern)
    assert caught.value.tier == "regex" and str(caught.value).startswith(f"{construct} has no exact counterpart")


# Merging


@few
@given(data=st.data())
def test_merges_are_those_of_the_reference(data: st.DataObject) -> None:
    """Random vocabularies over two letters, where merges overlap and compete; ignore_merges with entries out of reach."""
    letters = "abc"
    entries = list(letters)
    merges: list[tuple[str, str]] = []
    for _ in range(data.draw(st.integers(0, 14))):
        left, right = data.draw(st.sampled_from(entries)), data.draw(st.sampled_from(entries))
        if (left, right) not in merges and len(left + right) <= 8:
            merges.append((left, right))
            entries += [left + right] if left + right not in entries else []
    unreachable = data.draw(st.lists(st.text(letters, min_size=2, max_size=4), max_size=3))
    entries += [entry for entry in dict.fromkeys(unreachable) if entry not in entries]
    ignore = data.draw(st.booleans())
    ids = {entry: i for i, entry in enumerate(entries)}
    model = tokenizers.models.BPE(vocab=ids, merges=merges, ignore_merges=ignore)
    byte_ids = np.array([ids.get(chr(b), -1) for b in range(256)], np.int32)
    rows = np.array([[ids[a], ids[b], ids[a + b]] for a, b in merges], np.int32).reshape(-1, 3)
    ours = BytePairEncoder([e.encode() for e in entries], rows, np.arange(len(rows), dtype=np.int32), byte_ids, ignore)
    for text in data.draw(st.lists(st.text(letters, min_size=1, max_size=40), min_size=1, max_size=8)):
        assert ours.encode(text.encode()) == [token.id for token in model.tokenize(text)]


def test_long_pieces_merge_in_time() -> None:
    ids = {"a": 0, "b": 1}
    merges = []
    for n in range(1, 12):
        ids["a" * 2**n] = len(ids)
        merges.append([ids["a" * 2 ** (n - 1)], ids["a" * 2 ** (n - 1)], ids["a" * 2**n]])
    byte_ids = np.array([{97: 0, 98: 1}.get(b, -1) for b in range(256)], np.int32)
    rows = np.array(merges, np.int32)
    ours = BytePairEncoder([k.encode() for k in ids], rows, np.arange(len(rows), dtype=np.int32), byte_ids, False)
    assert ours.encode(b"a" * 262_144) == [ids["a" * 2048]] * 128


def test_ranks_that_no_pair_makes(shared: Any, regex_engine: MakeEngine, tmp_path: Any) -> None:
    """A rank file may hold tokens that merging cannot reach: they count for whole pieces only."""
    import base64

    case = shared.faults["tt-unreachable-token"]
    ranks = {bytes.fromhex(k): v for k, v in case["input"]["ranks_hex"].items()}
    others = [bytes([b]) for b in range(256) if bytes([b]) not in ranks]
    ranks |= {token: 100 + i for i, token in enumerate(others)}
    path = tmp_path / "made.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(t) + b" %d\n" % r for t, r in ranks.items()))
    grammar = SimpleNamespace(patterns=(case["input"]["pat_str"],), dialect="fancy", special_tokens={})
    engine = regex_engine(read_definition(str(path), grammar=grammar))
    assert [engine.encode(text).tolist() for text in case["input"]["texts"]] == case["expected"]


STEPS_FOR_RANKS = ["deepseek-v3", "starcoder", "bloom", "bert", "superbpe", "none", "word", "deepseek-coder"]


@pytest.mark.parametrize("name", STEPS_FOR_RANKS)
def test_ranks_with_steps_of_a_tokenizer_json(name: str, regex_engine: MakeEngine, tmp_path: Any) -> None:
    """Pieces are those of tokenizers, and the ids of each those of tiktoken."""
    import base64

    import tiktoken
    from gigatok_compile.grammars.examples import pieces_of
    from gigatok_compile.grammars.registry import load_grammar

    grammar = load_grammar(name)
    words = {
        example.text[at : at + size].encode()
        for example in grammar.examples
        for size in (2, 3, 4)
        for at in range(0, len(example.text) - size, 3)
    }
    tokens = [bytes([b]) for b in range(256)] + sorted(
        words | {b"  ", b" h", b" w", b"12", b"'s", b"\n "} | {b"he", b"ll"}
    )
    ranks = {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}
    path = tmp_path / "made.tiktoken"
    path.write_bytes(b"".join(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()))
    definition = read_definition(str(path), grammar=grammar)
    assert definition.reference == "tiktoken 0.14.0 on the pieces of tokenizers 0.23.3"
    core = tiktoken.Encoding("made", pat_str=".", mergeable_ranks=ranks, special_tokens={})._core_bpe
    contents: dict[str, Any] = {"pre_tokenizer": grammar.pre_tokenizer}
    if grammar.patterns:
        contents = {"pattern": list(grammar.patterns), "dialect": grammar.dialect}
    texts = [example.text for example in grammar.examples]
    engine = regex_engine(definition)
    for text, pieces in zip(texts, pieces_of(contents, texts), strict=True):
        expected = [number for piece in pieces for number in core.encode_single_piece(piece.encode())]
        assert engine.encode(text).tolist() == expected, text


# Added tokens


FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
CONTENTS = ["<a>", "<a", "ab", "abc", "b", " ", "\n", "é", "e\u0301", "x é", "<a><b>", "가", "ᄀ"]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_added_tokens_match_as_in_the_reference(
    data: st.DataObject,
    toy_definition: Callable[..., dict[str, Any]],
    read_definition_dict: Callable[..., TokenizerDefinition],
    regex_engine: MakeEngine,
) -> None:
    contents = data.draw(st.lists(st.sampled_from(CONTENTS), min_size=1, max_size=4, unique=True))
    added = [
        {"id": 300 + i, "content": content} | {flag: data.draw(st.booleans()) for flag in FLAGS}
        for i, content in enumerate(contents)
    ]
    normalizer = data.draw(st.sampled_from([None, {"type": "NFC"}]))
    if normalizer and len({tokenizers.normalizers.NFC().normalize_str(c) for c in contents}) < len(contents):
        return  # two tokens that normalize to the same: the reference takes either
    made = toy_definition({"added_tokens": added, "normalizer": normalizer})
    engine = regex_engine(read_definition_dict(made))
    reference = tokenizers.Tokenizer.from_str(json.dumps(made))
    parts = st.sampled_from([*contents, *CONTENTS, "a", "_", "1", "  ", "\t", "\u200d", "\u0301", "e", "z", "ᅡ"])
    for text in data.draw(st.lists(st.lists(parts, max_size=10).map("".join), min_size=1, max_size=12)):
        for special in (None, "text"):
            reference.encode_special_tokens = special == "text"
            right = ids_or_panic(reference, text)
            ids = engine.encode(text, special=special).tolist()
            assert right is None or ids == right, (text, added)
        for skip in (False, True):
            assert engine.decode(ids, skip) == reference.decode(ids, skip_special_tokens=skip), (text, added)


def ids_or_panic(reference: Any, text: str) -> list[int] | None:
    """None where the reference panics: when whitespace that one token took leaves less than nothing of the next."""
    try:
        ids: list[int] = reference.encode(text).ids
        return ids
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


def test_decoding_names_tokens_by_their_normalized_content(
    toy_definition: Callable[..., dict[str, Any]],
    read_definition_dict: Callable[..., TokenizerDefinition],
    regex_engine: MakeEngine,
) -> None:
    contents = ["xe\u0301 ", "Xe\u0301", "\u212b", "X\xe9"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False}
    for normalized in (False, True):
        for special in (False, True):
            added = [
                {"id": 300 + i, "content": content, "normalized": normalized and i < 3, "special": special, **flags}
                for i, content in enumerate(contents)
            ]
            made = toy_definition({"added_tokens": added, "normalizer": {"type": "NFC"}})
            engine = regex_engine(read_definition_dict(made))
            reference = tokenizers.Tokenizer.from_str(json.dumps(made))
            for number in range(256, 262):
                for skip in (False, True):
                    assert engine.decode([number], skip) == reference.decode([number], skip_special_tokens=skip)


def test_forbidden_tokens_are_found_inside_allowed_ones(shared: Any, regex_engine: MakeEngine) -> None:
    special = {"<|a|><|b|>": 100300, "<|b|>": 100301, "<|b|><|c|>": 100302}
    grammar = SimpleNamespace(patterns=(r"\S+|\s+",), dialect="fancy", special_tokens=special)
    definition = read_definition(str(shared.model_file("cl100k_base")), grammar=grammar)
    engine = regex_engine(definition)
    ranks = {token: i for i, token in enumerate(definition.model.tokens) if token is not None}
    encoding = tiktoken.Encoding("t", pat_str=r"\S+|\s+", mergeable_ranks=ranks, special_tokens=special)
    for text in ("<|a|><|b|>", "x<|a|><|b|>", "<|a|>", "<|b|", "<|b|>"):
        for allowed in (set(), {"<|a|><|b|>"}, {"<|b|>"}, set(special)):
            ours = {name: "match" if name in allowed else "error" for name in special}
            try:
                right = encoding.encode(text, allowed_special=allowed)
            except ValueError:
                with pytest.raises(ValueError, match="disallowed special token"):
                    engine.encode(text, special=ours)
            else:
                assert engine.encode(text, special=ours).tolist() == right


@pytest.mark.parametrize(
    "name",
    ["added-empty-content", "added-overlap-two-passes", "added-single-word", "added-id-disorder", "added-normalized"],
)
def test_known_hard_added_tokens(
    shared: Any,
    name: str,
    toy_definition: Callable[..., dict[str, Any]],
    read_definition_dict: Callable[..., TokenizerDefinition],
    regex_engine: MakeEngine,
) -> None:
    """The cases' own files are not byte-level; their added tokens and texts are, as good as in a byte-level model."""
    case = shared.faults[name]
    config = json.loads((shared.root / "cases" / case["model_or_config"]).read_text("utf-8"))
    made = toy_definition({"added_tokens": config["added_tokens"]})
    reference = tokenizers.Tokenizer.from_str(json.dumps(made))
    engine = regex_engine(read_definition_dict(made))
    for text in case["input"]:
        assert engine.encode(text).tolist() == reference.encode(text).ids


def test_a_token_over_two_others_is_found_first(
    toy_definition: Callable[..., dict[str, Any]],
    read_definition_dict: Callable[..., TokenizerDefinition],
    regex_engine: MakeEngine,
) -> None:
    flags = dict.fromkeys(FLAGS, False)
    made = toy_definition(
        {"added_tokens": [{"id": 300 + i, "content": c, **flags} for i, c in enumerate(["x", "xyz", "yz"])]}
    )
    engine = regex_engine(read_definition_dict(made))
    assert engine.encode("xyzyzx").tolist() == [257, 258, 120]  # x is byte 120 of the vocabulary


# Whole models


MODELS = ["gpt2", "llama3", "qwen3", "olmo2_dolma2", "deepseek_coder", "gpt_neox"]


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, shared: Any, regex_engine: MakeEngine) -> tuple[str, RegexEngine, Any]:
    """(name, our engine, the reference)"""
    definition = read_definition(str(shared.model_file(request.param)))
    reference = tokenizers.Tokenizer.from_str(shared.model_bytes(request.param).decode())
    return request.param, regex_engine(definition), reference


@few
@given(text=any_text)
@example(text="<|endoftext|> a <|eot_id|><|im_start|>\n<|fim_prefix|>")
def test_models_give_the_reference_ids(model: tuple[str, RegexEngine, Any], text: str) -> None:
    _, engine, reference = model
    for add in (False, True):
        ids = reference.encode(text, add_special_tokens=add).ids
        assert engine.encode(text, add_special_tokens=add).tolist() == ids
        for skip in (False, True):
            assert engine.decode(ids, skip) == reference.decode(ids, skip_special_tokens=skip)
    assert (
        engine.encode_batch([text, "", text]).ids.tolist() == 2 * reference.encode(text, add_special_tokens=False).ids
    )


@pytest.mark.parametrize("corpus", ["english", "zh", "code", "hi", "emoji", "mixed"])
def test_models_give_the_reference_ids_on_real_text(
    model: tuple[str, RegexEngine, Any], shared: Any, corpus: str
) -> None:
    _, engine, reference = model
    text = shared.corpus(corpus)[:60_000].decode("utf-8", "ignore")
    assert engine.encode(text).tolist() == reference.encode(text, add_special_tokens=False).ids


@few
@given(ids=st.lists(st.integers(0, 160_000), max_size=12))
def test_models_decode_any_ids_as_the_reference_does(model: tuple[str, RegexEngine, Any], ids: list[int]) -> None:
    _, engine, reference = model
    for skip in (False, True):
        assert engine.decode(ids, skip) == reference.decode(ids, skip_special_tokens=skip)


def test_vocabulary_and_special_tokens(model: tuple[str, RegexEngine, Any]) -> None:
    _, engine, reference = model
    manifest = engine.manifest
    assert manifest["vocabulary_size"] == reference.get_vocab_size(with_added_tokens=True)
    assert manifest["max_id"] == max(reference.get_vocab(True).values())
    special = {token.content: i for i, token in reference.get_added_tokens_decoder().items() if token.special}
    assert manifest["special_tokens"] == special
    for content, number in special.items():
        assert engine.token_id(content) == number and engine.token_bytes(number) == content.encode()
    assert engine.token_bytes(manifest["max_id"] + 1) is None and engine.token_id("no such token") is None
    assert engine.token_id(b" the") == reference.token_to_id("Ġthe")


def build_text(made: Any) -> str:
    return "".join(part * times for part, times in made["repeat"]) if isinstance(made, dict) else made


def test_known_hard_texts(model: tuple[str, RegexEngine, Any], shared: Any) -> None:
    """Every case of faults.json that was recorded with this model."""
    name, engine, _ = model
    ran = 0
    for case in shared.faults.values():
        if case["model_or_config"] != f"model:{name}":
            continue
        call, expected = case["call"], case["expected"]
        special = "text" if call.get("encode_special_tokens") else None
        options = {"add_special_tokens": call.get("add_special_tokens", True), "special": special}
        match call["op"]:
            case "encode_each":
                for text, right in zip(case["input"], expected, strict=True):
                    right = right["ids"] if isinstance(right, dict) else right
                    assert engine.encode(text, **options).tolist() == right, case["id"]
            case "encode":
                text = build_text(case["input"])
                ids = engine.encode(text, **options)
                assert len(ids) == expected["n"] and ids[:8].tolist() == expected["head"], case["id"]
                assert hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest() == expected["sha256_u32le"], case["id"]
            case "decode_each":
                skip = call.get("skip_special_tokens", False)
                assert [engine.decode(ids, skip) for ids in case["input"]] == expected, case["id"]
            case _:
                continue
        ran += 1
    assert ran or name not in ("gpt2", "llama3", "qwen3")


def test_threads_share_an_engine(model: tuple[str, RegexEngine, Any]) -> None:
    _, engine, reference = model
    texts = [f"thread {i} says \U0001f9e9 " + "x" * i for i in range(64)]
    got: dict[str, list[int]] = {}
    threads = [threading.Thread(target=lambda t=text: got.update({t: engine.encode(t).tolist()})) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == {text: reference.encode(text, add_special_tokens=False).ids for text in texts}


# Rank files


@pytest.fixture(scope="module")
def cl100k(shared: Any, regex_engine: MakeEngine) -> tuple[RegexEngine, Any]:
    meta = json.loads((shared.configs / "cl100k.tiktoken.meta.json").read_text("utf-8"))
    grammar = load_grammar("cl100k")
    definition = read_definition(str(shared.model_file("cl100k_base")), grammar=grammar)
    assert grammar.pattern == meta["pat_str"]
    ranks = {token: i for i, token in enumerate(definition.model.tokens) if token is not None}
    encoding = tiktoken.Encoding(
        "cl100k", pat_str=meta["pat_str"], mergeable_ranks=ranks, special_tokens=meta["special_tokens"]
    )
    return regex_engine(definition), encoding


@few
@given(text=any_text)
@example(text="a<|endoftext|>b<|fim_prefix|><|endofprompt|>")
def test_rank_files_give_tiktokens_ids(cl100k: tuple[RegexEngine, Any], text: str) -> None:
    engine, encoding = cl100k
    assert engine.encode(text, special="text").tolist() == encoding.encode(text, disallowed_special=())
    ids = encoding.encode(text, allowed_special="all")
    assert engine.encode(text, special="match").tolist() == ids
    one = encoding.encode(text, allowed_special={"<|endoftext|>"}, disallowed_special=())
    assert engine.encode(text, special={"<|endoftext|>"}).tolist() == one
    assert engine.decode_bytes(ids) == encoding.decode_bytes(ids) and engine.decode(ids) == encoding.decode(ids)


@pytest.mark.parametrize("corpus", ["english", "ru", "code"])
def test_rank_files_give_tiktokens_ids_on_real_text(cl100k: tuple[RegexEngine, Any], shared: Any, corpus: str) -> None:
    engine, encoding = cl100k
    text = shared.corpus(corpus)[:60_000].decode("utf-8", "ignore")
    assert engine.encode(text, special="text").tolist() == encoding.encode_ordinary(text)


def test_rank_files_refuse_special_tokens_by_default(cl100k: tuple[RegexEngine, Any], shared: Any) -> None:
    engine, _ = cl100k
    case = shared.faults["tt-specials"]
    expected = case["expected"]
    for text in case["input"]:
        with pytest.raises(ValueError) as caught:
            engine.encode(text)
        assert str(caught.value).startswith("Encountered text corresponding to disallowed special token '<|")
    assert [engine.encode(t, special="match").tolist() for t in case["input"]] == expected["allowed_all"]
    assert [engine.encode(t, special="text").tolist() for t in case["input"]] == expected["as_text"]
    one = engine.encode("<|fim_prefix|><|endoftext|>", special={"<|endoftext|>"}).tolist()
    assert one == expected["one_allowed"]


def test_rank_files_join_surrogates(cl100k: tuple[RegexEngine, Any], shared: Any) -> None:
    engine, encoding = cl100k
    case = shared.faults["tt-lone-surrogate"]
    for escaped, right in zip(case["input"], case["expected"], strict=True):
        text = json.loads(f'"{escaped}"')
        assert engine.encode(text).tolist() == right == encoding.encode(text)


def test_rank_files_fold_case_as_tiktoken_does(cl100k: tuple[RegexEngine, Any], shared: Any) -> None:
    engine, _ = cl100k
    case = shared.faults["tt-contraction-foldcase"]
    assert [engine.encode(text).tolist() for text in case["input"]] == case["expected"]
