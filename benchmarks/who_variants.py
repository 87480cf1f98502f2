"""Small definitions: each a step away from GPT-2's, for what an engine is known or suspected to overlook, and those of the
shared folder's `cases/configs`.

GPT-2's vocabulary is cut to its first 5,000 merges, which changes nothing that these are about and compiles faster.
"""

from __future__ import annotations

import contextlib
import copy
import json
import lzma
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

MERGES = 5000
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
"""As llama3 spells it; engines that know grammars by name know this one."""
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
TEXTS = (
    "a1234567b, 12 ab-cd x",
    "It's 2 O'CLOCK; don't",
    "foo  bar\n\n baz_1\t2",
    "Hello, WORLD! caf\u00e9 cafe\u0301 \u4e2d\u6587 12\u00bd",
)


class Variant(NamedTuple):
    name: str
    claim: str  # what it has that others do not
    path: Path
    texts: tuple[str, ...] = TEXTS
    added: tuple[str, ...] = ()  # typed in texts


def split(pattern: str = CL100K, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def steps(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Sequence", "pretokenizers": list(parts)}


def token(content: str, **options: bool) -> dict[str, Any]:
    usual = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    return {"id": 0, "content": content} | usual | options  # the id is set by `number`


def small_gpt2(shared: Path) -> dict[str, Any]:
    packed = shared / "models" / "gpt2" / "tokenizer.json.xz"
    definition: dict[str, Any] = json.loads(lzma.decompress(packed.read_bytes()))
    model = definition["model"]
    model["merges"] = model["merges"][:MERGES]
    model["vocab"] = {piece: id for piece, id in model["vocab"].items() if id < 256 + MERGES}
    number(definition)
    return definition


def number(definition: dict[str, Any]) -> None:
    """Ids without gaps, added tokens behind the vocabulary: what the reference gives them whatever the file says."""
    vocabulary = definition["model"]["vocab"]
    for id, piece in enumerate(sorted(vocabulary, key=vocabulary.get)):
        vocabulary[piece] = id
    for id, entry in enumerate(definition["added_tokens"], len(vocabulary)):
        entry["id"] = id


Change = Callable[[dict[str, Any]], None]


def pre_tokenizer(value: dict[str, Any] | None) -> Change:
    return lambda definition: definition.update(pre_tokenizer=value)


def normalizer(value: dict[str, Any]) -> Change:
    return lambda definition: definition.update(normalizer=value)


def model(**fields: Any) -> Change:
    return lambda definition: definition["model"].update(fields)


def added(entry: dict[str, Any], *changes: Change) -> Change:
    def change(definition: dict[str, Any]) -> None:
        definition["added_tokens"].append(entry)
        for one in changes:
            one(definition)

    return change


def without_type(definition: dict[str, Any]) -> None:
    del definition["model"]["type"]


def without_carriage_return(definition: dict[str, Any]) -> None:
    missing = "\u010d"
    model = definition["model"]
    model["vocab"] = {piece: id for piece, id in model["vocab"].items() if missing not in piece}
    model["merges"] = [
        merge for merge in model["merges"] if missing not in (merge if isinstance(merge, str) else "".join(merge))
    ]


def far_added_id(definition: dict[str, Any]) -> None:
    definition["added_tokens"][0]["id"] += 1000


def duplicate_merge(definition: dict[str, Any]) -> None:
    definition["model"]["merges"].append(definition["model"]["merges"][0])


def bytes_first(definition: dict[str, Any]) -> None:
    definition["pre_tokenizer"] = steps(BYTES | {"use_regex": True}, split(r"[0-9]"))


NFC = normalizer({"type": "NFC"})
PREFIX = BYTES | {"add_prefix_space": True, "use_regex": True}
CHANGES: dict[str, tuple[str, Change, tuple[str, ...]]] = {
    "no_pre_tokenizer": ("no pre-tokenizer", pre_tokenizer(None), ()),
    "no_regex": ("ByteLevel with use_regex=false alone", pre_tokenizer(BYTES), ()),
    "prefix_space": ("ByteLevel with add_prefix_space=true", pre_tokenizer(PREFIX), ()),
    "cl100k": ("cl100k's Split, ByteLevel", pre_tokenizer(steps(split(), BYTES)), ()),
    "cap_2": ("cl100k's Split with `\\p{N}{1,2}`", pre_tokenizer(steps(split(CL100K.replace("{1,3}", "{1,2}")), BYTES)), ()),
    "cap_none": ("cl100k's Split with `\\p{N}+`", pre_tokenizer(steps(split(CL100K.replace("{1,3}", "+")), BYTES)), ()),
    "digits_first": (
        "Digits before cl100k's Split",
        pre_tokenizer(steps({"type": "Digits", "individual_digits": True}, split(), BYTES)),
        (),
    ),
    "punctuation_first": (
        "Punctuation before cl100k's Split",
        pre_tokenizer(steps({"type": "Punctuation", "behavior": "Isolated"}, split(), BYTES)),
        (),
    ),
    "behavior_previous": (
        "cl100k's Split with MergedWithPrevious",
        pre_tokenizer(steps(split(behavior="MergedWithPrevious"), BYTES)),
        (),
    ),
    "behavior_contiguous": ("cl100k's Split with Contiguous", pre_tokenizer(steps(split(behavior="Contiguous"), BYTES)), ()),
    "behavior_removed": ("cl100k's Split with Removed", pre_tokenizer(steps(split(behavior="Removed"), BYTES)), ()),
    "removed_invert": ("cl100k's Split with Removed, invert", pre_tokenizer(steps(split(behavior="Removed", invert=True), BYTES)), ()),
    "nested": ("a Sequence in a Sequence", pre_tokenizer(steps(steps(split()), BYTES)), ()),
    "bytes_first": ("a Split after ByteLevel", bytes_first, ()),
    "own_regex": ("a Split of its own: `\\d{2}\\|\\S+\\|\\s+`", pre_tokenizer(steps(split(r"\d{2}|\S+|\s+"), BYTES)), ()),
    "single_word": ("an added token with single_word", added(token("qzx", single_word=True)), ("qzx",)),
    "both_strips": ("an added token with lstrip and rstrip", added(token("<m>", lstrip=True, rstrip=True)), ("<m>",)),
    "normalized": (
        "an added token with normalized=true, behind Lowercase",
        added(token("Yes", normalized=True), normalizer({"type": "Lowercase"})),
        ("Yes", "yes"),
    ),
    "not_normalized": (
        "an added token with normalized=false, behind Lowercase",
        added(token("Yes"), normalizer({"type": "Lowercase"})),
        ("Yes", "yes"),
    ),
    "normalized_nfc": (
        "an added token `z\u00e9` with normalized=true, behind NFC",
        added(token("z\u00e9", normalized=True), NFC),
        ("z\u00e9", "ze\u0301"),
    ),
    "added_id": ("an added token whose id is not the next one", far_added_id, ("<|endoftext|>",)),
    "added_known": ("an added token that the vocabulary has under another id", added(token("ab")), ("ab",)),
    "empty_added": ("an added token without content", added(token("")), ()),
    "nfc": ("NFC", NFC, ()),
    "nfkc": ("NFKC", normalizer({"type": "NFKC"}), ()),
    "lowercase": ("Lowercase", normalizer({"type": "Lowercase"}), ()),
    "strip": ("Strip", normalizer({"type": "Strip", "strip_left": True, "strip_right": True}), ()),
    "replace_regex": ("Replace of a regex", normalizer({"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "}), ()),
    "byte_fallback": ("byte_fallback=true with a vocabulary of bytes", model(byte_fallback=True), ()),
    "ignore_merges": ("ignore_merges=true", model(ignore_merges=True), ()),
    "suffix": ("end_of_word_suffix `</w>`, which no entry has", model(end_of_word_suffix="</w>"), ()),
    "unk_missing": ("an unk_token that is not in the vocabulary", model(unk_token="<none>"), ()),
    "no_type": ("a model without `type`", without_type, ()),
    "byte_missing": ("no entry for the byte 0x0D", without_carriage_return, ("\r",)),
    "merge_twice": ("a merge that is listed twice: the last place counts", duplicate_merge, ()),
}  # fmt: skip


def make_variants(shared: Path, folder: Path) -> list[Variant]:
    """Written to folder/variants. Files of `cases/configs` that are no tokenizer.json or `.model` are left out."""
    target = folder / "variants"
    target.mkdir(exist_ok=True)
    base = small_gpt2(shared)
    found = []
    for name, (claim, change, typed) in CHANGES.items():
        definition = copy.deepcopy(base)
        change(definition)
        if name != "added_id":
            number(definition)
        path = target / f"{name}.json"
        path.write_text(json.dumps(definition))
        found.append(Variant(name, claim, path, added=typed))
    return [*found, *case_variants(sorted((shared / "cases" / "configs").iterdir()))]


def case_variants(paths: Sequence[Path]) -> list[Variant]:
    found = []
    for path in paths:
        if path.name.endswith((".meta.json", ".tiktoken")) or path.suffix not in (".json", ".model"):
            continue
        name = "case_" + path.name.replace("-", "_").replace(".", "_")
        tokens: list[str] = []
        if path.suffix == ".json":
            with contextlib.suppress(ValueError):  # a file that is damaged on purpose
                tokens = [token["content"] for token in json.loads(path.read_bytes()).get("added_tokens", [])][:6]
        found.append(
            Variant(name, f"`{path.name}`", path, ("ab", "aabz", "c d", "a b x n i"), tuple(filter(None, tokens)))
        )
    return found
