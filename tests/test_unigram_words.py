"""Entries that are said to be whole words encode to themselves, in plain Python."""

from __future__ import annotations

import lzma
import random
import sys
from pathlib import Path

import pytest
from gigatok_compile.vocabulary.unigram_words import find_whole_words

sys.path.insert(0, str(Path(__file__).parent))
import unigram_models as models

MODELS = Path(__file__).parents[2] / "shared" / "models"


@pytest.mark.parametrize("seed", range(40))
def test_random_models(seed: int) -> None:
    rng = random.Random(seed)
    if seed % 2:
        model, _ = models.from_tokenizers(models.random_tokenizers(rng)[0])
    else:
        model, _ = models.from_sentencepiece(models.random_sentencepiece(rng)[0])
    words, oracle = find_whole_words(model, 16), models.encoder(model)
    for token, number in model.matched.items():
        whole = oracle.encode(token) == [number]
        if model.engine == "tokenizers" and b"<unk>" not in token:  # a run of unknown pieces may be an entry too
            assert (token in words) == whole, token
        assert whole or token not in words, token  # sums past the limit of sentencepiece are left out
        assert words.get(token, number) == number


def test_nearly_all_entries_of_t5_are_whole_words() -> None:
    data = lzma.decompress((MODELS / "t5_base" / "tokenizer.json.xz").read_bytes())
    model, _ = models.from_tokenizers(data.decode(), respelled=True)
    words, oracle = find_whole_words(model, 16), models.encoder(model)
    assert len(words) == 32_092
    matched = {token: number for token, number in model.matched.items() if len(token) <= 16}
    assert len(matched) == 32_094
    for token in random.Random(1).sample(sorted(matched), 3000) + sorted(matched.keys() - words.keys()):
        assert (oracle.encode(token) == [matched[token]]) == (token in words)
