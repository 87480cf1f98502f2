"""The calls of built modules: every way to encode a text gives the ids of the reference."""

from __future__ import annotations

import itertools
import json
import mmap
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
import modules

# ------------------------------------------------------------------ generated text

WORDS = ["the", " The", "it's", "I'LL", " don't", "1234567", " 3.14", "naïve", "中文", "こんにちは", "한국어", "привет", "مرحبا",
         "हिन्दी", "ไทย", "👩‍👩‍👧", "\u00a0", "\u3000", "\r\n", "\n\n", "\t", "   ", "e\u0301", "\u212b", "ſ", "ﬁ", "()", "==>", "\x00"]  # fmt: skip
SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|eot_id|>",
    "<|begin_of_text|>",
    "<|fim_prefix|>",
    "<|endof",
    "text|>",
    "<|",
]
CHARACTERS = st.characters(exclude_categories=["Cs"])
TEXTS = st.one_of(
    st.text(CHARACTERS, max_size=80),
    st.lists(st.one_of(st.sampled_from(WORDS), st.sampled_from(SPECIALS), CHARACTERS), max_size=25).map("".join),
    st.lists(st.builds(lambda c, n: c * n, st.sampled_from([*WORDS, *"a1. '\n"]), st.integers(1, 70)), max_size=6).map(
        "".join
    ),
)


def test_ids_of_generated_text(pair: tuple[modules.Built, modules.Reference]) -> None:
    """encode, encode_batch and count, for each instruction set; decode gives the text back."""
    built, reference = pair
    normalizer = None if reference.ranks else reference.engine.normalizer
    added = [token.content for token in reference.engine.get_added_tokens_decoder().values()] if normalizer else []

    @settings(max_examples=150)
    @given(st.lists(TEXTS, max_size=6))
    @example(["", "a", "", "\n", " \u3000", "b\x00"])
    @example([])
    def check(texts: list[str]) -> None:
        right = [list(ids) for ids in reference.encode_batch(texts)]
        for isa in built.isas:
            with built.isa(isa):
                ids, offsets = built.module.encode_batch(texts, 2, **reference.options)
                assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == right, isa
                assert len(offsets) == len(texts) + 1 and offsets[0] == 0
                assert [built.module.encode(text, **reference.options).tolist() for text in texts] == right, isa
                assert [built.module.count(text, **reference.options) for text in texts] == list(map(len, right)), isa
        for text, ids_of_text in zip(texts, right, strict=True):
            expected = normalizer.normalize_str(text) if normalizer else text
            if not any(token in text for token in added):
                assert built.module.decode(ids_of_text) == expected

    check()


def test_special_tokens_in_generated_text(pair: tuple[modules.Built, modules.Reference]) -> None:
    """By default, as text, all, some by name, or an error: as the reference's own switches have it."""
    built, reference = pair
    encode = built.module.encode
    engine = reference.engine
    names = sorted(engine.special_tokens_set) if reference.ranks else list(built.module.tokenizer.special_tokens)
    pieces = st.one_of(st.sampled_from(names), st.sampled_from(SPECIALS), st.text(CHARACTERS, max_size=5))
    texts = st.lists(pieces, max_size=8).map("".join)

    def reference_as_text(text: str) -> list[int]:
        engine.encode_special_tokens = True
        try:
            return list(engine.encode(text, add_special_tokens=False).ids)
        finally:
            engine.encode_special_tokens = False

    @settings(max_examples=80)
    @given(texts, st.sampled_from(names))
    def check(text: str, name: str) -> None:
        if not reference.ranks:
            right = engine.encode(text, add_special_tokens=False).ids
            assert encode(text).tolist() == encode(text, special="match").tolist() == right
            assert encode(text, special="text").tolist() == reference_as_text(text)
            if any(other in text for other in names):
                with pytest.raises(ValueError, match="special"):
                    encode(text, special="error")
            else:
                assert encode(text, special="error").tolist() == right
            return
        assert encode(text, special="match").tolist() == engine.encode(text, allowed_special="all")
        assert encode(text, special="text").tolist() == engine.encode_ordinary(text)
        right = engine.encode(text, allowed_special={name}, disallowed_special=())
        assert encode(text, special={name}).tolist() == right
        try:
            right = engine.encode(text)
        except ValueError as error:
            with pytest.raises(ValueError) as caught:
                encode(text)
            assert str(caught.value).startswith(str(error).splitlines()[0].rstrip("."))
        else:
            assert encode(text).tolist() == right

    check()


def test_add_special_tokens(pair: tuple[modules.Built, modules.Reference]) -> None:
    built, reference = pair
    texts = ["", "a", "Hello world", "<|endoftext|>", "中文", "x" * 3000]
    for text in texts:
        without = reference.encode(text).tolist()
        right = without if reference.ranks else reference.engine.encode(text, add_special_tokens=True).ids
        options = {**reference.options, "add_special_tokens": True}
        assert built.module.encode(text, **options).tolist() == right
        assert built.module.count(text, **options) == len(right)
        ids, offsets = built.module.encode_batch([text, text], 2, **options)
        assert ids.tolist() == right * 2 and offsets.tolist() == [0, len(right), 2 * len(right)]
        assert built.module.encode(text, **{**options, "add_special_tokens": False}).tolist() == without


def test_ids_before_and_after_a_text(folder: Path, toy_definition: Any) -> None:
    """A post-processor with ids on both sides; the models above have none."""
    import tokenizers

    def piece(kind: str, name: str) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": 0}}

    definition = toy_definition(
        {
            "added_tokens": [
                {"id": 257 + i, "content": content, "special": True, "single_word": False, "lstrip": False,
                 "rstrip": False, "normalized": False}
                for i, content in enumerate(["<s>", "</s>"])
            ],
            "post_processor": {
                "type": "TemplateProcessing",
                "single": [piece("SpecialToken", "<s>"), piece("SpecialToken", "<s>"), piece("Sequence", "A"),
                           piece("SpecialToken", "</s>")],
                "pair": [piece("Sequence", "A"), piece("Sequence", "B")],
                "special_tokens": {
                    content: {"id": content, "ids": [257 + i], "tokens": [content]}
                    for i, content in enumerate(["<s>", "</s>"])
                },
            },
        }
    )  # fmt: skip
    built = modules.build_toy("toy_post", definition, folder)
    engine = tokenizers.Tokenizer.from_str(json.dumps(definition))
    texts = ["", "ab", "x</s>y", "ab " * 400_000]
    answers = [engine.encode(text).ids for text in texts]
    for isa in built.isas:
        with built.isa(isa):
            for text, right in zip(texts, answers, strict=True):
                assert right[:2] == [257, 257] and right[-1] == 258
                got = built.module.encode(text, add_special_tokens=True)
                assert got.tolist() == right and built.module.count(text, add_special_tokens=True) == len(right)
                assert built.module.encode(text).tolist() == right[2:-1]
            for threads in (1, 2, 8):
                ids, offsets = built.module.encode_batch(texts, threads, add_special_tokens=True)
                assert [ids[a:b].tolist() for a, b in itertools.pairwise(offsets)] == answers


def test_all_kinds_of_input(pair: tuple[modules.Built, modules.Reference], tmp_path: Path) -> None:
    built, reference = pair
    text = "It's ½ of naïve 中文 \U0001f9e9\n\n  end " * 40
    data = text.encode()
    path = tmp_path / "text"
    path.write_bytes(data)
    right = reference.encode(text).tolist()
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        kinds: list[Any] = [text, data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), mapped]
        for kind in kinds:
            assert built.module.encode(kind, **reference.options).tolist() == right, type(kind)
            assert built.module.count(kind, **reference.options) == len(right)
        ids, offsets = built.module.encode_batch(kinds, **reference.options)
        assert ids.tolist() == right * len(kinds) and len(offsets) == len(kinds) + 1
        ids = offsets = kind = kinds = None  # type: ignore[assignment]
    assert built.module.encode_file(path, **reference.options).ids.tolist() == right


@pytest.mark.parametrize(
    "data", [b"\xff", b"a\x80", b"\xc0\xaf", b"\xe4\xb8", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"x" * 4095 + b"\xe4", b"\xf0\x9f"]
)  # fmt: skip
def test_bytes_that_are_no_utf8_are_an_error_or_replaced(
    pair: tuple[modules.Built, modules.Reference], data: bytes
) -> None:
    built, reference = pair
    with pytest.raises(UnicodeDecodeError) as right:
        data.decode()
    for isa in built.isas:
        with built.isa(isa):
            with pytest.raises(UnicodeDecodeError) as caught:
                built.module.encode(data)
            assert caught.value.start == right.value.start
            with pytest.raises(UnicodeDecodeError):
                built.module.count(data)
            with pytest.raises(UnicodeDecodeError):
                built.module.encode_batch([b"fine", data])
            replaced = built.module.encode(data, errors="replace", **reference.options)
            assert replaced.tolist() == reference.encode(data.decode(errors="replace")).tolist()


def test_lone_surrogates(pair: tuple[modules.Built, modules.Reference]) -> None:
    """tokenizers refuses them, tiktoken joins pairs and replaces the rest."""
    built, reference = pair
    for text in ("\ud800", "a\udc4db", "\ud83d\udc4d", "x" * 5000 + "\udfff"):
        if reference.ranks:
            assert built.module.encode(text).tolist() == reference.engine.encode(text)
        else:
            with pytest.raises(UnicodeEncodeError):
                built.module.encode(text)
            joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
            assert built.module.encode(text, errors="replace").tolist() == reference.encode(joined).tolist()


def test_decoding_any_ids(pair: tuple[modules.Built, modules.Reference]) -> None:
    """Random ids, so also broken characters; special tokens kept or skipped; ids out of range."""
    built, reference = pair
    size = built.module.tokenizer.n_vocab
    known = [number for number, _ in built.module.tokenizer.vocabulary()]
    rng = np.random.default_rng(6)
    for count in (0, 1, 2, 3, 10, 100, 1000):
        ids = rng.choice(known, count).tolist()
        if reference.ranks:
            assert built.module.decode_bytes(ids) == reference.engine.decode_bytes(ids)
            assert built.module.decode(ids) == reference.engine.decode(ids)
            continue
        for skip in (False, True):
            right = reference.engine.decode(ids, skip_special_tokens=skip)
            assert built.module.decode(ids, skip) == right
            assert built.module.decode_bytes(ids, skip).decode(errors="replace") == right
        outside = [*ids, size, size + 1000, *ids]
        assert built.module.decode(outside) == reference.engine.decode(outside, skip_special_tokens=False)


def test_the_instruction_set_can_be_forced_from_outside(folder: Path) -> None:
    built = modules.build_model("gpt2", folder)
    script = f"import sys; sys.path.insert(0, {str(folder)!r}); import under_test_gpt2 as m; print(m.tokenizer.isa, *m.encode('a b'))"
    for isa in built.isas:
        environment = {**os.environ, "GIGATOK_ISA": isa}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
        )
        assert done.stdout == f"{isa} 64 275\n", done.stderr
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "GIGATOK_ISA": "mmx"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0 and "mmx" in done.stderr and "swar" in done.stderr


def test_the_regex_engine_gives_the_same_ids(folder: Path) -> None:
    """GIGATOK_ENGINE=regex: another implementation behind the same calls."""
    built = modules.build_model("gpt2", folder)
    text = modules.mixed_text(folder, 30_000)
    path = folder / "regex_check.txt"
    path.write_text(text, encoding="utf-8", newline="")
    script = f"""
import sys; sys.path.insert(0, {str(folder)!r})
import under_test_gpt2 as m
assert m.tokenizer.engine == "regex"
print(*m.encode(open({str(path)!r}, encoding="utf-8", newline="").read()))
"""
    environment = {**os.environ, "GIGATOK_ENGINE": "regex"}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert [int(i) for i in done.stdout.split()] == built.module.encode(text).tolist()
