"""The tables of single components against the components themselves, on all 1,112,064 scalar values.

`components_generate --check` proves the file, but by the code that wrote it; so every table is used here in another way.
"""

from __future__ import annotations

import numpy as np
import pytest
import tokenizers
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.normalizer import load_nfc_data, normalize_function
from gigatok_compile.unicode import components_generate
from gigatok_compile.unicode.components import (
    ANY_SCRIPT,
    component_ranges,
    load_components,
    lowercase_map,
    named_ranges,
    script_names,
)
from gigatok_compile.unicode.engine import all_scalars
from gigatok_compile.unicode.tables import property_ranges
from tokenizers import normalizers, pre_tokenizers

TEXT = all_scalars()
CODES = np.array([ord(char) for char in TEXT])


def mask(name: str) -> np.ndarray:
    """Boolean, one entry for every scalar value in order."""
    found = np.zeros(0x110000, dtype=np.bool_)
    for low, high in component_ranges(name):
        found[low : high + 1] = True
    return found[CODES]


def bert(**on: bool) -> normalizers.BertNormalizer:
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    return normalizers.BertNormalizer(**{name: on.get(name, False) for name in names})


def kept(*names: str) -> str:
    """All scalar values but those of the sets."""
    gone = np.logical_or.reduce([mask(name) for name in names])
    return "".join(char for char, out in zip(TEXT, gone, strict=True) if not out)


def test_the_file_is_what_the_generator_makes(capsys):
    assert load_components().source == f"tokenizers {tokenizers.__version__}"
    assert components_generate.main(["--check"]) == 0, capsys.readouterr().out


def test_sizes():
    sizes = {name: int(mask(name).sum()) for name in load_components().sets}
    assert sizes == {
        "numeric": 1924, "whitespace": 25, "word": 144667, "punctuation": 726,
        "bert_dropped": 137681, "bert_space": 21, "bert_chinese": 81264, "bert_mark": 1567,
        "combining_mark": 2097, "nmt_dropped": 30, "nmt_space": 15,
    }  # fmt: skip
    assert len(lowercase_map()) == 1488
    assert len(script_names()) == 135


def starts(step) -> list[int]:
    return [start for _, (start, _) in step.pre_tokenize_str(TEXT)]


@pytest.mark.parametrize(
    ("name", "step"),
    [("numeric", pre_tokenizers.Digits()), ("punctuation", pre_tokenizers.Punctuation("contiguous"))],
)
def test_sets_of_the_steps_that_keep_both_sides(name, step):
    """Runs begin where the table says, and the individual form says which side is which."""
    members = mask(name)
    assert starts(step) == [0, *(np.flatnonzero(np.diff(members)) + 1).tolist()]
    alone = pre_tokenizers.Digits(True) if name == "numeric" else pre_tokenizers.Punctuation()
    assert set(np.flatnonzero(members).tolist()) <= set(starts(alone))


def test_whitespace_and_word_sets_are_those_of_three_steps():
    space, word = mask("whitespace"), mask("word")
    pieces = pre_tokenizers.WhitespaceSplit().pre_tokenize_str(TEXT)
    assert "".join(piece for piece, _ in pieces) == kept("whitespace")
    pieces = pre_tokenizers.Whitespace().pre_tokenize_str(TEXT)
    assert "".join(piece for piece, _ in pieces) == kept("whitespace")
    kinds = np.where(space, 0, np.where(word, 1, 2))
    changes = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist()]
    assert [start for _, (start, _) in pieces] == [i for i in changes if kinds[i]]
    assert not (space & word).any()
    pieces = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(TEXT)
    assert "".join(piece for piece, _ in pieces) == kept("whitespace")
    assert {start for _, (start, _) in pieces} >= set(np.flatnonzero(mask("punctuation")).tolist())


def test_whitespace_is_what_strip_takes_off():
    strip = normalizers.Strip().normalize_str
    assert "".join(char for char in TEXT if not strip(char)) == "".join(map(chr, CODES[mask("whitespace")]))


def test_bert_normalizer_sets():
    spaces = dict.fromkeys(CODES[mask("bert_space")].tolist(), " ")
    assert bert(clean_text=True).normalize_str(TEXT) == kept("bert_dropped").translate(spaces)
    around = {code: f" {chr(code)} " for code in CODES[mask("bert_chinese")].tolist()}
    assert bert(handle_chinese_chars=True).normalize_str(TEXT) == TEXT.translate(around)
    assert component_ranges("bert_chinese")[5][0] == 0x2B920  # and not 2B820, as in BERT
    decomposed = normalizers.NFD().normalize_str(TEXT)
    gone = dict.fromkeys(CODES[mask("bert_mark")].tolist())
    assert bert(strip_accents=True).normalize_str(TEXT) == decomposed.translate(gone)


def test_sets_of_strip_accents_and_nmt():
    assert normalizers.StripAccents().normalize_str(TEXT) == kept("combining_mark")
    spaces = dict.fromkeys(CODES[mask("nmt_space")].tolist(), " ")
    assert normalizers.Nmt().normalize_str(TEXT) == kept("nmt_dropped").translate(spaces)


def test_lowercase_map():
    assert normalizers.Lowercase().normalize_str(TEXT) == TEXT.translate(lowercase_map())
    assert bert(lowercase=True).normalize_str(TEXT) == TEXT.translate(lowercase_map())
    assert lowercase_map()[0x130] == "i\u0307" and lowercase_map()[0x3A3] == "σ"


def test_scripts_partition_the_scalar_values_and_cut_as_the_step_does():
    names = [ANY_SCRIPT, *script_names()]
    masks = [mask(f"script={name}") for name in names]
    number = np.zeros(len(TEXT), dtype=np.int64)
    for index, members in enumerate(masks):
        assert not number[members].any()
        number[members] = index
    assert sum(int(members.sum()) for members in masks) == len(TEXT)

    def check(order: np.ndarray) -> None:
        text, kinds = "".join(map(chr, CODES[order])), number[order]
        some = np.flatnonzero(kinds)  # characters of a script; the others cut nothing
        cuts = some[np.flatnonzero(np.diff(kinds[some], prepend=0))].tolist()
        assert [start for _, (start, _) in pre_tokenizers.UnicodeScripts().pre_tokenize_str(text)] == cuts

    check(np.arange(len(TEXT)))
    check(np.flatnonzero(number)[::-1])
    check(np.random.default_rng(5).permutation(len(TEXT)))
    for name in ("hiragana", "katakana", "masaramgondi"):
        assert name not in names
    assert mask("script=han")[[TEXT.index(char) for char in "中あアー"]].all()


def test_compatibility_decompositions():
    """NFKD is NFD and the map; NFKC is NFC of that."""
    data = load_nfc_data()
    compatibility = {code: "".join(map(chr, parts)) for code, parts in data.compatibility.items()}
    text = "\n".join(TEXT.replace("\n", ""))
    decomposed = text.translate(compatibility)
    assert normalizers.NFKD().normalize_str(text) == normalizers.NFD().normalize_str(decomposed)
    ours = normalize_function([NormalizerStep("NFC", "normalizer")])
    assert normalizers.NFKC().normalize_str(text) == ours(decomposed)
    assert {parts for code, parts in data.compatibility.items() if code in (0xFF21, 0xFB01)} == {(0x41,), (0x66, 0x69)}


def test_names_of_sets_are_exact_and_apart_from_properties():
    assert named_ranges("hf:numeric", "fancy") == named_ranges("hf:numeric", "oniguruma") == component_ranges("numeric")
    assert named_ranges("N", "fancy") == property_ranges("N", "fancy") != component_ranges("numeric")
    assert named_ranges("hf:script=latin", "oniguruma") == component_ranges("script=latin")
    for name in ("hf:Numeric", "hf:", "hf: numeric", "HF:numeric", "hf:script=", "hf:script=hiragana", "numeric"):
        with pytest.raises(KeyError):
            named_ranges(name, "oniguruma")
    for dialect in ("oniguruma", "fancy"):
        with pytest.raises(KeyError):
            property_ranges("hf:numeric", dialect)
