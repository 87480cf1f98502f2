"""Whole modules of models over characters: Metaspace in all its forms, affixes, missing bytes; against tokenizers 0.23.3."""

from __future__ import annotations

import itertools
import json
import random
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from gigatok_compile.definition import tokenizer_json
from gigatok_compile.definition.read import read_definition
from gigatok_compile.definition_data import write_definition_data
from gigatok_compile.errors import DefinitionError
from gigatok_compile.manifest import build_manifest
from gigatok_runtime.definition_data import read_definition_data
from gigatok_runtime.regex_engine import RegexEngine
from tokenizers import Tokenizer

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.pop(0)

character_bpe: dict[str, Any] = runpy.run_path(str(Path(__file__).with_name("test_character_bpe.py")))

MARK = "\u2581"
LETTERS = [MARK, "a", "b", "x", "é", "<", ">", "\n", " ", ".", "日"]
WORDS = [
    MARK + "a",
    MARK + "b",
    "ab",
    MARK + "ab",
    MARK * 2,
    MARK * 3,
    MARK * 4,
    "\n\n",
    "aa",
    "a" + MARK,
    "\n" + MARK,
    "日a",
]


def model(fallback: str, unk: str | None = "<unk>", fuse: bool = False, ignore: bool = False) -> dict[str, Any]:
    """fallback: "no", "some" or "all" bytes have an entry."""
    entries = ["<unk>", *LETTERS, *WORDS]
    if fallback != "no":
        entries += [f"<0x{b:02X}>" for b in range(256) if fallback == "all" or b not in (0x09, 0xC3, 0xB8)]
    vocab = {entry: i for i, entry in enumerate(entries)}
    merges = [[w[:i], w[i:]] for w in WORDS for i in range(1, len(w)) if w[:i] in vocab and w[i:] in vocab]
    options = {"unk_token": unk, "fuse_unk": fuse, "byte_fallback": fallback != "no", "ignore_merges": ignore}
    return {"type": "BPE", "vocab": vocab, "merges": merges, **options}


def token(number: int, content: str, **flags: bool) -> dict[str, Any]:
    base = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content, **base, **flags}


TOKENS = [token(500, "<n>", special=True), token(501, "<x>", normalized=True), token(502, "b ", normalized=True)]
STRIPPING = [token(500, "<n>", lstrip=True), token(501, "<x>", rstrip=True), token(502, "\n", lstrip=True, rstrip=True)]


def definition(
    steps: Any, made: dict[str, Any], tokens: Sequence[dict[str, Any]] = (), **changes: Any
) -> dict[str, Any]:
    free = max(made["vocab"].values()) + 1
    numbered = [t | {"id": made["vocab"].get(t["content"], free + i)} for i, t in enumerate(tokens)]
    count = itertools.count(free)
    numbered = [
        t | {"id": made["vocab"][t["content"]] if t["content"] in made["vocab"] else next(count)} for t in numbered
    ]
    return {
        "version": "1.0",
        "added_tokens": numbered,
        "normalizer": None,
        "pre_tokenizer": steps,
        "model": made,
        **changes,
    }


def metaspace(scheme: str | None, split: bool | None = True, **more: Any) -> dict[str, Any]:
    step: dict[str, Any] = {"type": "Metaspace", "replacement": MARK, **more}
    if scheme is not None:
        step["prepend_scheme"] = scheme
    if split is not None:
        step["split"] = split
    return step


def chain(*steps: Any) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(steps)}


WHITESPACE, PUNCTUATION = {"type": "WhitespaceSplit"}, {"type": "Punctuation", "behavior": "Isolated"}
DIGITS = {"type": "Digits", "individual_digits": True}
CUT_E = {"type": "Split", "pattern": {"String": "e"}, "behavior": "Isolated", "invert": False}
REMOVE_A = {"type": "Split", "pattern": {"String": "a"}, "behavior": "Removed", "invert": False}

NATIVE: dict[str, dict[str, Any]] = {
    "always split": definition(metaspace("always"), model("all"), TOKENS),
    "first split": definition(metaspace("first"), model("some"), TOKENS),
    "never split": definition(metaspace("never"), model("no", fuse=True), TOKENS),
    "always whole": definition(metaspace("always", False), model("no", None), TOKENS),
    "first whole": definition(metaspace("first", False), model("all"), STRIPPING),
    "never whole": definition(metaspace("never", False, add_prefix_space=False), model("some", ignore=True), TOKENS),
    "old": definition(metaspace(None, None, add_prefix_space=True), model("some", fuse=True), TOKENS),
    "in a sequence, cut after it": definition(chain(metaspace("first"), DIGITS), model("all", ignore=True), TOKENS),
    "behind NFC": definition(metaspace("first"), model("all"), TOKENS[:2], normalizer={"type": "NFC"}),
    **{
        f"affixes: {name}": character_bpe["FILES"][name] | {"added_tokens": []}
        for name in (
            "characters, prefix '##', suffix '</w>'",
            "bytes, prefix '##', suffix '</w>'",
            "fallback no, unk <unk>, fuse True, suffix that no entry has",
            "bytes missing, unk <unk>, fuse False, prefix and suffix that no entry has",
        )
    },
    **{
        name: character_bpe["FILES"][name] | {"added_tokens": []}
        for name in ("bytes missing, unk <unk>, fuse True", "bytes missing, unk None, fuse False")
    },
}
"""Built and run on every instruction set. The rest of the forms below differ by what Python shows as well."""

REGEX: dict[str, dict[str, Any]] = {
    "after WhitespaceSplit, always": definition(chain(WHITESPACE, metaspace("always")), model("all"), TOKENS),
    "after WhitespaceSplit, first": definition(chain(WHITESPACE, metaspace("first")), model("some"), STRIPPING),
    "after WhitespaceSplit, never": definition(chain(WHITESPACE, metaspace("never", False)), model("no"), TOKENS),
    "after Punctuation, always": definition(chain(PUNCTUATION, metaspace("always", False)), model("all"), TOKENS),
    "after Punctuation, first": definition(chain(PUNCTUATION, metaspace("first")), model("all", ignore=True), TOKENS),
    "after a removal, first": definition(chain(REMOVE_A, metaspace("first")), model("all"), TOKENS),
    "after both": definition(chain(WHITESPACE, PUNCTUATION, metaspace("first")), model("some", fuse=True), TOKENS),
}

FORMS = [
    *itertools.product(("always", "first", "never"), (True, False, None), (None,)),
    *itertools.product((None,), (True, None), (True,)),
    ("never", True, False),
]
PLAIN: dict[str, dict[str, Any]] = {
    f"{scheme}, split {split}, legacy {legacy}, {fallback}, fuse {fuse}, {'strip' if tokens is STRIPPING else 'tokens'}": definition(
        metaspace(scheme, split, **({} if legacy is None else {"add_prefix_space": legacy})),
        model(fallback, fuse=fuse),
        tokens,
    )
    for scheme, split, legacy in FORMS
    for fallback, fuse in (("no", True), ("some", False), ("all", False))
    for tokens in (TOKENS, STRIPPING)
}

PARTS = [
    " ",
    "  ",
    MARK,
    MARK * 2,
    "\t",
    "\n",
    "\n\n",
    "a",
    "b",
    "ab",
    "é",
    "e\u0301",
    "日",
    "q",
    "🙂",
    "<n>",
    "<x>",
    "<",
    "b ",
    ".",
    "7",
    "\u3000",
]


def texts(seed: str, count: int = 1200) -> list[str]:
    """All pairs of parts; random ones; long ones. Many begin with spaces, marks or tokens."""
    rng = random.Random(seed)
    found = ["", *PARTS, *[a + b for a in PARTS for b in PARTS]]
    found += ["".join(rng.choices(PARTS, k=rng.randint(3, 10))) for _ in range(count)]
    found += ["".join(rng.choice(PARTS) * rng.randint(1, 9) for _ in range(40)) for _ in range(30)]
    return found


def answers(made: dict[str, Any], given: Sequence[str]) -> list[list[int]]:
    engine = Tokenizer.from_str(json.dumps(made))
    return [encoding.ids for encoding in engine.encode_batch_fast(given, add_special_tokens=False)]


def plain_engine(made: dict[str, Any], folder: Path) -> RegexEngine:
    path = folder / "toy.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    read = read_definition(str(path), name="toy")
    (folder / "definition.npz").write_bytes(write_definition_data(read))
    return RegexEngine(build_manifest(read), read_definition_data(folder))


@pytest.mark.parametrize("name", [*NATIVE, *REGEX])
def test_modules_give_the_ids_of_the_reference(name: str, folder: Path) -> None:
    made, tier = (NATIVE[name], "native") if name in NATIVE else (REGEX[name], "regex")
    given = texts(name)
    if "affixes" in name or "missing" in name:
        given = [
            *given,
            *character_bpe["TEXTS"][::3],
            *["".join(pair) for pair in itertools.pairwise(character_bpe["TEXTS"][::7])],
        ]
    right = answers(made, given)
    key = "characters_" + "".join(c if c.isalnum() else "_" for c in name)
    for isa, engine in modules.engines(key, made, folder, tier=tier).each():
        for text, ids in zip(given, right, strict=True):
            assert engine.encode(text).tolist() == ids, (name, isa, text)
        assert [engine.count(text) for text in given[::5]] == [len(ids) for ids in right[::5]]
        batch = engine.encode_batch(given, 2)
        assert batch.ids.tolist() == [i for ids in right for i in ids], (name, isa)


@pytest.mark.parametrize("name", PLAIN)
def test_forms_of_metaspace_on_plain_python(name: str, tmp_path: Path) -> None:
    made = PLAIN[name]
    engine, given = plain_engine(made, tmp_path), texts(name, 150)
    for text, ids in zip(given, answers(made, given), strict=True):
        assert engine.encode(text).tolist() == ids, text


# ------------------------------------------------------------------ "first" and the original text

MOVING: list[tuple[Any, Any, Any, str]] = [
    # what begins the text is removed: no piece begins at offset 0 of it
    ({"type": "Strip", "strip_left": True, "strip_right": False}, metaspace("first"), (), " a"),
    ({"type": "StripAccents"}, metaspace("first"), (), "\u0301a"),
    ({"type": "Replace", "pattern": {"String": "x"}, "content": ""}, metaspace("first"), (), "xa"),
    ({"type": "Replace", "pattern": {"String": "xx"}, "content": "b"}, metaspace("first"), (), "xxa"),
    ({"type": "Replace", "pattern": {"Regex": "x+"}, "content": "b"}, metaspace("first"), (), "xxa"),
    # one character becomes two, and something cuts between them: both begin there
    ({"type": "NFKC"}, metaspace("first"), [token(500, "1", normalized=True)], "½"),
    ({"type": "Prepend", "prepend": MARK}, chain(PUNCTUATION, metaspace("first")), (), "<"),
    ({"type": "NFD"}, chain(CUT_E, metaspace("first")), (), "é"),
]


@pytest.mark.parametrize("case", range(len(MOVING)))
def test_first_is_refused_where_offsets_of_the_start_move(
    case: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    normalizer, steps, tokens, text = MOVING[case]
    made = definition(steps, model("all"), tokens, normalizer=normalizer)
    with pytest.raises(DefinitionError, match='prepend_scheme "first" behind the normalizer') as caught:
        plain_engine(made, tmp_path)
    assert "toy.json: pre_tokenizer" in str(caught.value.where)
    # not for nothing: our ids would be wrong
    monkeypatch.setattr(tokenizer_json, "_refuse_first_where_offsets_move", lambda *parts: None)
    assert plain_engine(made, tmp_path).encode(text).tolist() != answers(made, [text])[0]


KEEPING: list[tuple[Any, Any, Any]] = [
    ({"type": "Strip", "strip_left": False, "strip_right": True}, chain(WHITESPACE, metaspace("first")), TOKENS[:2]),
    (
        {"type": "Replace", "pattern": {"String": "b"}, "content": "a"},
        chain(PUNCTUATION, metaspace("first")),
        TOKENS[:2],
    ),
    ({"type": "NFC"}, metaspace("first"), TOKENS[:2]),
    ({"type": "NFD"}, metaspace("first"), TOKENS[:1]),
    ({"type": "NFKC"}, metaspace("first"), TOKENS[:1]),
    ({"type": "Lowercase"}, metaspace("first"), TOKENS[:2]),
    ({"type": "Prepend", "prepend": MARK}, metaspace("first"), TOKENS),
    ({"type": "Prepend", "prepend": "a "}, metaspace("first"), TOKENS),
]


@pytest.mark.parametrize("case", range(len(KEEPING)))
def test_first_behind_other_normalizers(case: int, tmp_path: Path) -> None:
    normalizer, steps, tokens = KEEPING[case]
    made = definition(steps, model("all"), tokens, normalizer=normalizer)
    engine, given = plain_engine(made, tmp_path), [*texts(str(case), 300), "ﬁa", "İ", "\u0301a", "½a", "\u0958"]
    for text, ids in zip(given, answers(made, given), strict=True):
        assert engine.encode(text).tolist() == ids, text
