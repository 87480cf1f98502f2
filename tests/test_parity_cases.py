"""Ids of built modules on known-hard cases: edge splits, published faults, llama.cpp's vectors, every scalar value,
entries that only a whole pre-token can be, and long runs. Oracles: the recorded answers and the reference engines."""

from __future__ import annotations

import hashlib
import itertools
import json
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
import modules


@pytest.fixture(scope="session")
def answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the reference's ids are kept between runs."""
    return modules.cache_folder(request.config, tmp_path_factory)


def both(model: str, folder: Path) -> tuple[modules.Built, modules.Reference]:
    return modules.build_model(model, folder), modules.reference(model, modules.definition_file(model, folder))


def check_batch(built: modules.Built, reference: modules.Reference, texts: list[str], threads: int = 1) -> None:
    """All instruction sets; ids and offsets of a batch, starting with nothing learnt and once more."""
    ids, offsets = reference.flat(texts)
    for isa in built.isas:
        with built.isa(isa):
            built.lib.gt_release_thread()
            for turn in ("first", "second"):
                got = built.module.encode_batch(texts, threads, **reference.options)
                if np.array_equal(got.ids, ids) and np.array_equal(got.offsets, offsets):
                    continue
                for i, text in enumerate(texts):
                    mine = got.ids[got.offsets[i] : got.offsets[i + 1]].tolist()
                    right = ids[offsets[i] : offsets[i + 1]].tolist()
                    assert mine == right, f"{isa}, {turn} time: {text[:200]!r}"
                pytest.fail(f"{isa}: offsets differ")


# ------------------------------------------------------------------ recorded cases


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_ids_of_the_edge_split_texts(model: str, folder: Path, shared: Any) -> None:
    """Alone, in pairs, and all in one text."""
    cases = json.loads((shared.root / "cases" / "edge_splits.json").read_text("utf-8"))["cases"]
    texts = [case["text"] for case in cases]
    texts += [a + b for a, b in itertools.pairwise(texts)]
    texts.append("".join(texts))
    check_batch(*both(model, folder), texts)


SPLITS = {"gpt2": "gpt2", "llama3": "llama3", "qwen3": "qwen2", "cl100k_base": "cl100k"}


@pytest.mark.parametrize("model", SPLITS)
def test_pieces_of_the_edge_split_texts(model: str, folder: Path, shared: Any) -> None:
    built = modules.build_model(model, folder)
    cases = json.loads((shared.root / "cases" / "edge_splits.json").read_text("utf-8"))["cases"]
    assert len(cases) > 100
    for case in cases:
        data = case["text"].encode()
        for isa in built.isas:
            pieces = [data[a:b].decode() for a, b in built.spans(data, isa).tolist()]
            assert pieces == case["splits"][SPLITS[model]], (isa, case["name"])


def build_text(made: Any) -> str:
    return "".join(part * times for part, times in made["repeat"]) if isinstance(made, dict) else str(made)


def check_long_answer(ids: Any, expected: dict[str, Any]) -> None:
    assert len(ids) == expected["n"]
    assert ids[:8].tolist() == expected["head"] and ids[-8:].tolist() == expected["tail"]
    assert hashlib.sha256(ids.astype("<u4").tobytes()).hexdigest() == expected["sha256_u32le"]


FAULT_MODELS = ["gpt2", "llama3", "qwen3", "gpt4o"]


@pytest.mark.parametrize("model", FAULT_MODELS)
def test_published_faults_of_a_model(model: str, folder: Path, shared: Any) -> None:
    """Every recorded case of this model whose call is `encode` or `decode`."""
    built = modules.build_model(model, folder)
    ran = []
    for case in shared.faults.values():
        if case["model_or_config"] != f"model:{model}":
            continue
        call, expected = case["call"], case["expected"]
        special = "text" if call.get("encode_special_tokens") else None
        options = {"add_special_tokens": call.get("add_special_tokens", True), "special": special}
        match call["op"]:
            case "encode_each":
                right = [answer["ids"] for answer in expected]
                for isa in built.isas:
                    with built.isa(isa):
                        got = [built.module.encode(text, **options).tolist() for text in case["input"]]
                        assert got == right, case["id"]
                        assert [built.module.count(text, **options) for text in case["input"]] == list(map(len, right))
                        ids, offsets = built.module.encode_batch(case["input"], 2, **options)
                        assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == right
            case "encode":
                text = build_text(case["input"])
                for isa in built.isas:
                    with built.isa(isa):
                        before = time.process_time()
                        check_long_answer(built.module.encode(text, **options), expected)
                        assert time.process_time() - before < call["time_limit_s"] / 5
            case "decode_each":
                skip = call["skip_special_tokens"]
                assert [built.module.decode(ids, skip) for ids in case["input"]] == expected, case["id"]
            case _:
                continue
        ran.append(case["id"])
    assert len(ran) >= {"gpt2": 7, "llama3": 11, "qwen3": 4, "gpt4o": 2}[model], ran


def test_published_faults_of_rank_files(folder: Path, shared: Any) -> None:
    """The config is cl100k's rank file cut short, with the full pattern."""
    source = shared.configs / "cl100k.tiktoken"
    built = modules.build("cl100k_small", source, folder, grammar="cl100k")
    faults = shared.faults
    for name in ("tt-contraction-foldcase", "tt-whitespace-dollar"):
        for text, right in zip(faults[name]["input"], faults[name]["expected"], strict=True):
            for isa in built.isas:
                with built.isa(isa):
                    assert built.module.encode(text, special="text").tolist() == right, (isa, text)
    for escaped, right in zip(
        faults["tt-lone-surrogate"]["input"], faults["tt-lone-surrogate"]["expected"], strict=True
    ):
        assert built.module.encode(json.loads(f'"{escaped}"')).tolist() == right
    check_long_answer(
        built.module.encode(build_text(faults["tt-long-run"]["input"])), faults["tt-long-run"]["expected"]
    )
    specials = faults["tt-specials"]
    encode = built.module.encode
    assert [encode(text, special="match").tolist() for text in specials["input"]] == specials["expected"]["allowed_all"]
    assert [encode(text, special="text").tolist() for text in specials["input"]] == specials["expected"]["as_text"]
    one = encode("<|fim_prefix|><|endoftext|>", special={"<|endoftext|>"}).tolist()
    assert one == specials["expected"]["one_allowed"]
    for text in specials["input"]:
        with pytest.raises(ValueError) as caught:
            encode(text)
        assert str(caught.value).startswith("Encountered text corresponding to disallowed special token '<|")


def test_ids_of_a_byte_level_config_with_a_post_processor(folder: Path, shared: Any) -> None:
    case = shared.faults["offsets-bytelevel-trim-01"]
    built = modules.build("blpost_01", shared.configs / "blpost_01.json", folder)
    for text, right in zip(case["input"], case["expected"], strict=True):
        assert built.module.encode(text).tolist() == right["ids"]


@pytest.mark.parametrize(
    ("model", "vectors"), [("gpt2", "gpt-2"), ("llama3", "llama-bpe"), ("qwen2", "qwen2"), ("qwen3", "qwen2")]
)
def test_vectors_of_llama_cpp(model: str, vectors: str, folder: Path, shared: Any) -> None:
    """A second, independent oracle."""
    built = modules.build_model(model, folder)
    base = shared.root / "models" / "llama_cpp_vectors" / f"ggml-vocab-{vectors}.gguf"
    texts = Path(f"{base}.inp").read_text("utf-8").split("\n__ggml_vocab_test__\n")
    lines = Path(f"{base}.out").read_text("utf-8").splitlines()
    answers = [[int(number) for number in line.split()] for line in lines]
    assert len(texts) >= len(answers) >= 46
    for text, right in zip(texts, answers, strict=False):
        for isa in built.isas:
            with built.isa(isa):
                assert built.module.encode(text).tolist() == right, (isa, text)


def test_threads_give_the_same_ids(folder: Path, shared: Any) -> None:
    from concurrent.futures import ThreadPoolExecutor

    case = shared.faults["threads-same-ids"]["expected"]
    built = modules.build_model("llama3", folder)
    texts = [f"thread {i} says \U0001f9e9 " + "x" * i for i in range(64)]
    with ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(built.module.encode, texts))
    assert lists[0].tolist() == case["ids_i0"]
    check_long_answer(np.concatenate(lists), case["concat"])


# ------------------------------------------------------------------ every scalar value


def scalars() -> list[str]:
    return [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_ids_of_all_scalar_values_one_by_one(model: str, folder: Path, answers: Path) -> None:
    """Each of the 1,112,064 as a text of its own. (For half of the models, without most of the planes that hold nothing,
    unless GIGATOK_FULL=1: the reference engines take half a minute.)"""
    built, reference = both(model, folder)
    chars = scalars()
    assert len(chars) == 1_112_064
    if not modules.FULL and model in ("olmo2_dolma2", "r50k_base", "cl100k_base"):
        chars = [char for char in chars if not 0x3_8000 <= ord(char) <= 0xD_FFFF and ord(char) < 0xF_8000]
    key = f"{model}-{reference.digest}-scalars-alone-{len(chars)}"
    ids, offsets = modules.remembered(answers, key, lambda: reference.flat(chars))
    for isa in built.isas:
        with built.isa(isa):
            got = built.module.encode_batch(chars, 1, **reference.options)
            if np.array_equal(got.ids, ids) and np.array_equal(got.offsets, offsets):
                continue
            for i, char in enumerate(chars):
                mine, right = got.ids[got.offsets[i] : got.offsets[i + 1]], ids[offsets[i] : offsets[i + 1]]
                assert mine.tolist() == right.tolist(), (isa, hex(ord(char)))


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_ids_of_all_scalar_values_between_letters(model: str, folder: Path, answers: Path) -> None:
    """One text in which each of the 1,112,064 stands as a{char}b on a line."""
    built, reference = both(model, folder)
    text = "b\na".join(["", *scalars(), ""])
    key = f"{model}-{reference.digest}-scalars-between"
    (expected,) = modules.remembered(answers, key, lambda: (reference.encode(text),))
    for isa in built.isas:
        with built.isa(isa):
            got = built.module.encode(text, **reference.options)
            assert np.array_equal(got, expected), modules.first_difference(got, expected, reference.engine.decode)


# ------------------------------------------------------------------ entries that merging does not make


def whole_only_entries(reference: modules.Reference) -> list[str]:
    """Entries that are one id by `ignore_merges`, or by tiktoken's look-up of a whole piece, and else several."""
    if reference.ranks:
        engine = reference.engine
        found = []
        for token in engine.token_byte_values():
            try:
                text = token.decode()
            except UnicodeDecodeError:
                continue
            # `_encode_single_piece` looks up; merging alone is what a longer piece gets
            if len(token) > 1 and len(engine._encode_bytes(token)) == 1 and len(merged(engine, token)) > 1:
                found.append(text)
        return found
    import tokenizers

    definition = json.loads(reference.data)
    definition["model"]["ignore_merges"] = False
    merging = tokenizers.Tokenizer.from_str(json.dumps(definition))
    engine = reference.engine
    added = set(engine.get_added_tokens_decoder())
    candidates = [
        engine.decode([i], skip_special_tokens=False) for i in range(engine.get_vocab_size()) if i not in added
    ]
    candidates = [text for text in candidates if "\ufffd" not in text]
    whole, parts = (
        [e.ids for e in each.encode_batch_fast(candidates, add_special_tokens=False)] for each in (engine, merging)
    )
    return [text for text, a, b in zip(candidates, whole, parts, strict=True) if len(a) == 1 and a != b]


def merged(engine: Any, token: bytes) -> list[int]:
    """The textbook: the lowest joined rank first, leftmost."""
    ranks = engine._mergeable_ranks
    parts = [token[i : i + 1] for i in range(len(token))]
    while True:
        pairs = [(ranks[a + b], i) for i, (a, b) in enumerate(itertools.pairwise(parts)) if a + b in ranks]
        if not pairs:
            return [ranks[part] for part in parts]
        _, i = min(pairs)
        parts[i : i + 2] = [parts[i] + parts[i + 1]]


def neighbours(entry: str) -> Iterable[str]:
    """The entry as a part of longer pre-tokens, and whole."""
    yield from (entry + tail for tail in ("벅스", "a", "中", "日本", "и", "ة", "1", "\n"))
    yield from (head + entry.lstrip() for head in ("中", "한국", " 中", "x"))
    yield f"{entry} {entry}{entry} {entry}"


@pytest.mark.parametrize("model", ["llama3", "cl100k_base", "r50k_base"])
def test_entries_that_only_a_whole_piece_can_be(model: str, folder: Path) -> None:
    """What was learnt of such an entry inside a longer pre-token does not hold for the entry itself, nor the reverse."""
    built, reference = both(model, folder)
    entries = whole_only_entries(reference)
    if model == "llama3":
        assert len(entries) > 500
    texts = [text for entry in entries for text in (*neighbours(entry), entry)]
    check_batch(built, reference, texts)
    check_batch(built, reference, [text for entry in entries for text in (entry, *neighbours(entry))])
    check_batch(built, reference, entries + texts[::-1])


def test_what_a_longer_piece_taught_does_not_answer_for_a_whole_piece(folder: Path) -> None:
    """The smallest case of the above."""
    built = modules.build_model("llama3", folder)
    built.lib.gt_release_thread()
    assert built.module.encode(" 스타벅스").tolist()[:4] == [80307, 45780, 225, 222]
    assert built.module.encode(" 스타").tolist() == [114833]


@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_every_vocabulary_entry_as_a_text(model: str, folder: Path) -> None:
    """Alone, doubled, cut short at both ends, and inside of words."""
    built, reference = both(model, folder)
    entries = []
    for _, token in built.module.tokenizer.vocabulary():
        try:
            entries.append(token.decode())
        except UnicodeDecodeError:
            continue
    assert len(entries) > 45_000
    if not modules.FULL:
        entries = entries[:4000] + entries[4000::5]
    texts = [text for e in entries for text in (e, e + e, e[1:], e[:-1], f"x{e}y")]
    check_batch(built, reference, texts, threads=2)


# ------------------------------------------------------------------ long runs

RUNS = {
    "a": "a" * 1_000_000,
    "ab": "ab" * 500_000,
    "spaces": " " * 1_000_000,
    "newlines": "\n" * 1_000_000,
    "digits": "7" * 1_000_000,
    "one CJK character": "中" * 333_334,
    "one Hangul syllable": "가" * 333_334,
    "Fibonacci word": "",
    "emoji": "\U0001f469\u200d" * 140_000,
    "letters of many scripts": "aбγ中가あ" * 70_000,
    "signs": "=-" * 500_000,
    "spaces, then text": " " * 500_000 + "x\n" + " " * 500_000,
}


def long_text(name: str) -> str:
    if name != "Fibonacci word":
        return RUNS[name]
    a, b = "a", "ab"
    while len(b) < 1_000_000:
        a, b = b, b + a
    return b[:1_000_000]


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("model", modules.PARITY_MODELS)
def test_long_runs(model: str, name: str, folder: Path, answers: Path) -> None:
    """A megabyte without a place to cut: right, and n log n. A quadratic pass would take minutes."""
    built, reference = both(model, folder)
    text = long_text(name)
    key = f"{model}-{reference.digest}-run-{name}"
    (expected,) = modules.remembered(answers, key, lambda: (reference.encode(text),))
    for isa in built.isas:
        with built.isa(isa):
            before = time.process_time()
            got = built.module.encode(text, **reference.options)
            spent = time.process_time() - before
            assert np.array_equal(got, expected), modules.first_difference(got, expected, reference.engine.decode)
            assert spent < 3, f"{spent:.1f} s"
    for threads in (2, 8):
        assert np.array_equal(built.module.encode(text, threads=threads, **reference.options), expected)
    assert built.module.count(text, **reference.options) == len(expected)
    assert built.module.decode(expected) == text
