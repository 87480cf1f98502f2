"""Module names made from file names can always be imported and hide nothing."""

from __future__ import annotations

import keyword
import sys

import pytest
from gigatok_compile.names import check_name, name_from_stem
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        ("gpt2", "gpt2"),
        ("tokenizer", "tokenizer"),
        ("Llama-3.1 8B", "llama_3_1_8b"),
        ("3B", "model_3b"),
        ("json", "json_model"),
        ("class", "class_model"),
        ("tokenizers", "tokenizers_model"),
        ("__init__", "init"),
        ("模型", "model"),
        ("", "model"),
    ],
)
def test_examples(stem: str, name: str) -> None:
    assert name_from_stem(stem) == name


@given(st.one_of(st.text(), st.sampled_from(sorted(sys.stdlib_module_names)), st.sampled_from(keyword.kwlist)))
def test_every_stem_gives_a_good_name(stem: str) -> None:
    name = name_from_stem(stem)
    assert check_name(name) == ()
    assert name_from_stem(name) == name
