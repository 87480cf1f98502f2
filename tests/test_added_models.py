"""Added tokens of whole models against tokenizers 0.23.3: real definitions with thousands of them, and made-up ones.

Texts are made of added tokens, parts of them, runs, and what stands between. `special=` in all its modes: tokenizers'
`encode_special_tokens` is our "text"; a set or a mapping is the same on a definition whose `special` flags say which
tokens are text, since the flag does nothing else on the way to ids.
"""

from __future__ import annotations

import functools
import json
import random
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

tokenizers = pytest.importorskip("tokenizers")
sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)

MARK = "\u2581"
Modes = dict[str, str]


class Definition:
    """A tokenizer.json, ours and the reference's."""

    def __init__(self, name: str, data: bytes, engines: modules.Engines) -> None:
        self.name, self.json, self.engines = name, json.loads(data), engines
        self.added = [token["content"] for token in self.json["added_tokens"]]
        self.special = {token["content"] for token in self.json["added_tokens"] if token["special"]}
        self.special_ids = {token["id"] for token in self.json["added_tokens"] if token["special"]}

    @functools.lru_cache(maxsize=4)  # noqa: B019 - one of each lives as long as the tests
    def reference(self, text_tokens: frozenset[str] = frozenset()) -> Any:
        """The reference in which these tokens are text."""
        tokens = [token | {"special": token["content"] in text_tokens} for token in self.json["added_tokens"]]
        engine = tokenizers.Tokenizer.from_str(json.dumps(self.json | {"added_tokens": tokens}))
        engine.encode_special_tokens = True
        return engine

    def check(self, texts: Sequence[str], special: Any, text_tokens: Iterable[str] = ()) -> None:
        """special: of our calls; text_tokens: what it makes text."""
        expected = [
            encoding.ids
            for encoding in self.reference(frozenset(text_tokens)).encode_batch_fast(texts, add_special_tokens=False)
        ]
        for isa, engine in self.engines.each():
            for text, right in zip(texts, expected, strict=True):
                got = engine.encode(text, special=special).tolist()
                assert got == right, f"{self.name}, {isa}, {text!r}"
            sizes = [engine.count(text, special=special) for text in texts]
            assert sizes == list(map(len, expected)), f"{self.name}, {isa}"

    def check_modes(self, texts: Sequence[str], rng: random.Random) -> None:
        """All ways to say which tokens match."""
        others = [content for content in dict.fromkeys(self.added) if content not in self.special]
        some = set(rng.sample(sorted(self.special), len(self.special) // 2))
        self.check(texts, None)
        self.check(texts, "match")
        self.check(texts, "text", self.special)
        self.check(texts, some, self.special - some)
        named: Modes = dict.fromkeys(some, "text") | dict.fromkeys(rng.sample(others, len(others) // 2), "text")
        self.check(texts, named, named)
        self.check_errors(texts)

    def check_errors(self, texts: Sequence[str]) -> None:
        """A text is refused if and only if a special token is matched in it."""
        reference = self.reference()
        only_added = reference.encode_batch_fast(texts, add_special_tokens=False)
        as_text = self.reference(frozenset(self.special)).encode_batch_fast(texts, add_special_tokens=False)
        for isa, engine in self.engines.each():
            for text, matched, plain in zip(texts, only_added, as_text, strict=True):
                try:
                    got = engine.encode(text, special="error").tolist()
                except ValueError:
                    assert self.special_ids & set(matched.ids), f"{self.name}, {isa}, {text!r}"
                else:
                    assert got == matched.ids == plain.ids, f"{self.name}, {isa}, {text!r}"


def pieces_of(contents: Sequence[str], rng: random.Random) -> list[str]:
    """Tokens, and what begins or ends like one."""
    chosen = rng.sample(list(contents), min(60, len(contents)))
    parts = [part for content in chosen for part in (content, content, content[:-1], content[1:], content[:1])]
    return [part for part in parts if part]


BETWEEN = ["a", "Z", "é", "中", "_", "1", ".", "<", ">", "|", "the", " the", "\u3000", "\u00a0", "e\u0301", "🙂"]
RUNS = ["\n", "\t", " ", MARK, "\r\n", " \n", "\n\t"]


def random_texts(contents: Sequence[str], rng: random.Random, count: int) -> list[str]:
    parts = pieces_of(contents, rng)

    def part() -> str:
        kind = rng.random()
        if kind < 0.5:
            return rng.choice(parts)
        return (
            rng.choice(RUNS) * rng.choice([1, 1, 2, 3, 7, 31, 32, 33, 62, 63, 64])
            if kind < 0.7
            else rng.choice(BETWEEN)
        )

    return ["".join(part() for _ in range(rng.randint(1, 10))) for _ in range(count)]


def run_texts() -> list[str]:
    """Runs of 1 to 100, alone and beside other characters and other runs."""
    texts = []
    for char in ("\n", "\t", " ", MARK):
        for length in range(1, 101):
            run = char * length
            texts += [run, f"a{run}b"]
            if length in (1, 2, 15, 16, 17, 30, 31, 32, 33, 47, 48, 61, 62, 63, 64, 65, 93, 94, 100):
                texts += [
                    f"a {run}",
                    f"{run}{MARK}a",
                    f"\n{run}\t{run}\n",
                    f"<bos>{run}<eos>",
                    f"é{run}中",
                    f"{run}\r{run}",
                ]
    return texts


MODELS = ["gemma3", "command_r", "deepseek_v4", "gpt_neox", "moonshine"]


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest, folder: Path) -> Definition:
    name = request.param
    path = modules.definition_file(name, folder)
    return Definition(name, modules.definition_bytes(path), modules.engines(name, path, folder))


def test_random_texts_in_all_modes(model: Definition) -> None:
    rng = random.Random(model.name)
    model.check_modes(random_texts(model.added, rng, 250), rng)


def test_runs_of_one_character(model: Definition) -> None:
    texts = run_texts()
    model.check(texts, None)
    model.check(texts[::3], "text", model.special)


def test_every_added_token_between_others(model: Definition) -> None:
    texts = ["".join(model.added[i : i + 7]) for i in range(0, len(model.added), 7)]
    texts += [f"x{a}{b} y" for a, b in zip(model.added[::5], model.added[::-5], strict=True)]
    model.check(texts, None)


@pytest.mark.parametrize("lengths", [(1,), (2,), (31,), (30, 31), (3, 5, 16), tuple(range(1, 32))])
def test_runs_of_gemma3_that_are_named_as_text(folder: Path, lengths: tuple[int, ...]) -> None:
    """They are no special tokens, so that only a mapping can say so; others of the runs go on being matched."""
    path = modules.definition_file("gemma3", folder)
    model = Definition("gemma3", modules.definition_bytes(path), modules.engines("gemma3", path, folder))
    named = [char * length for char in "\n\t" for length in lengths if char * length in model.added]
    rng = random.Random(len(lengths))
    texts = run_texts()[:: 4 if len(lengths) > 1 else 2] + random_texts(
        ["\n", "\n\n", "\t\t", "<bos>", *named], rng, 100
    )
    model.check(texts, dict.fromkeys(named, "text"), named)
    # one that is an error where it is matched, and only there
    for isa, engine in model.engines.each():
        wrong = {"\n" * 31: "error"}
        assert (
            engine.encode("a" + "\n" * 30 + "b", special=wrong).tolist()
            == engine.encode("a" + "\n" * 30 + "b").tolist()
        )
        with pytest.raises(ValueError, match="disallowed"):
            engine.encode("a" + "\n" * 33, special=wrong)
        assert isa


# ------------------------------------------------------------------ made-up definitions


def token(content: str, number: int, **flags: bool) -> dict[str, Any]:
    return dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False) | {
        "id": number,
        "content": content,
        **flags,
    }


STRINGS = ["a", "b", "c", "A", "é", "e", "\u0301", "x", "<", ">", MARK, "\n", " ", "\t", ".", "_", "中"]
LLAMA2 = {
    "type": "Sequence",
    "normalizers": [
        {"type": "Prepend", "prepend": MARK},
        {"type": "Replace", "pattern": {"String": " "}, "content": MARK},
    ],
}
MARKS = {"type": "Replace", "pattern": {"String": " "}, "content": MARK}


def characters(words: Sequence[str], tokens: Sequence[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """BPE over characters with byte fallback; ids of tokens that are no entries go on from there."""
    entries = ["<unk>", *STRINGS, *words, *[f"<0x{b:02X}>" for b in range(256)]]
    vocab = {entry: i for i, entry in enumerate(dict.fromkeys(entries))}
    merges = [[w[:i], w[i:]] for w in words for i in range(1, len(w)) if w[:i] in vocab and w[i:] in vocab]
    numbered, free = [], len(vocab)
    for made in tokens:
        number = vocab.get(made["content"])
        numbered.append(made | {"id": free if number is None else number})
        free += number is None
    return {
        "version": "1.0",
        "added_tokens": numbered,
        "normalizer": None,
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "BPE",
            "vocab": vocab,
            "merges": merges,
            "unk_token": "<unk>",
            "fuse_unk": True,
            "byte_fallback": True,
        },
        **changes,
    }


WORDS = [
    "ab",
    MARK + "a",
    MARK + "ab",
    MARK * 2,
    MARK * 3,
    MARK * 4,
    "\n\n",
    "\n\n\n",
    "\t\t",
    "a" + MARK,
    "aa",
    "abc",
    "<x",
]

TOYS: dict[str, dict[str, Any]] = {
    # the space of Llama 2: prepended, replaced; the file's marks are respelled as spaces
    "respelled": characters(
        WORDS,
        [
            token("<x>", 0, special=True),
            token("ab", 0, normalized=True),
            token(" c", 0, normalized=True, special=True),
            token("b" + MARK, 0, normalized=True),
            token(MARK + "x", 0),
            token("  ", 0),
            token("\n", 0),
            token("\n\n", 0),
            token("a<", 0, normalized=True, single_word=True),
            token("A", 0, lstrip=True, rstrip=True, special=True),
        ],
        normalizer=LLAMA2,
    ),
    # the same with normalized tokens that take the space around them: not respelled
    "marks kept": characters(
        WORDS,
        [
            token("<x>", 0, special=True, normalized=True, lstrip=True),
            token("b", 0, normalized=True, rstrip=True),
            token(MARK, 0, single_word=True),
            token("a b", 0, normalized=True, special=True),
            token("\n", 0, rstrip=True),
        ],
        normalizer=MARKS,
    ),
    # content that the normalizer changes
    "changed": characters(
        WORDS,
        [
            token("A", 0, normalized=True),
            token("ÉX", 0, normalized=True, special=True),
            token("e\u0301", 0, special=True),
            token("aA", 0, normalized=True, single_word=True),
            token("ab", 0, lstrip=True),
            token("<A>", 0, normalized=True, rstrip=True, special=True),
            token(" ", 0, single_word=True, special=True),
        ],
        normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]},
    ),
    # runs that the model makes too, as in Gemma 3, with others that begin like them
    "runs": characters(
        [
            MARK + "a",
            "ab",
            *["\n" * n for n in range(2, 8)],
            *[MARK * n for n in range(2, 5)],
            *["\t" * n for n in (2, 3)],
        ],
        [
            *[token("\n" * n, 0) for n in range(1, 8)],
            *[token("\t" * n, 0) for n in range(1, 4)],
            *[token(MARK * n, 0) for n in range(2, 5)],
            token("<x>", 0, special=True),
            token("a", 0, single_word=True),
        ],
        normalizer=MARKS,
    ),
}


@pytest.mark.parametrize("name", TOYS)
def test_made_up_sets_in_all_modes(name: str, folder: Path) -> None:
    toy = TOYS[name]
    engines = modules.engines(f"added_{name.replace(' ', '_')}", toy, folder)
    definition = Definition(name, json.dumps(toy).encode(), engines)
    rng = random.Random(name)
    parts = [*STRINGS, *definition.added, *definition.added, *WORDS]
    texts = ["", *parts, *["".join(rng.choices(parts, k=rng.randint(2, 9))) for _ in range(1500)]]
    texts += ["".join(rng.choice(parts) * rng.randint(1, 20) for _ in range(12)) for _ in range(60)]
    definition.check_modes(texts, rng)
    for _ in range(4):
        named = rng.sample(definition.added, len(definition.added) // 2)
        definition.check(texts[::4], dict.fromkeys(named, "text"), named)
