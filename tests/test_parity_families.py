"""One definition of every BPE family, and every form of file, against its reference engine on every corpus.

Ids without and with special tokens, by document and in one piece, and the text that ids decode to; then the same without the
implied cuts (docs/implied-cuts.md), which ids owe nothing. `benchmarks/verify_models.py` is what compares; it does so for all
definitions of the shared folder. GIGATOK_FULL=1 takes the corpora whole. Definitions that no package publishes as they are
(put together from GGUF files) are compared where the shared folder is.
"""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from gigatok_compile.definition.read import read_definition
from gigatok_compile.vocabulary.implied_cuts import imply_cuts
from gigatok_compile.vocabulary.self_encoding import derive_entries
from gigatok_runtime.bpe import BytePairEncoder

sys.path.insert(0, str(Path(__file__).parent))
import modules

sys.path.insert(0, str(modules.ROOT))
try:
    from benchmarks import verify_models
finally:
    sys.path.remove(str(modules.ROOT))

PUBLISHED = ["gemma3", "mistral_v0_1_hf", "claude"]
"""Where the shared folder is absent these come from the registries, by name."""
OF_SHARED = {
    "llama2": "tokenizer.json",
    "clip": "tokenizer.json",  # end_of_word_suffix
    "falcon": "tokenizer.json",  # steps that see bytes; bytes that are missing
    "starcoder2": "tokenizer.json",  # a byte is missing
    "moonshine": "tokenizer.json",  # many added tokens
    "pix2tex": "tokenizer.json",  # no types, most bytes missing, no decoder
    "command_r": "tokenizer.json",
    "mistral_v3": "tokenizer.model",
    "sp_bpe_test": "tokenizer.model",
    "tekken_240911": "tekken.json",
    "qwen3_6": "qwen3_6.tiktoken",
}
SOME = None if modules.FULL else 12_000  # bytes of each corpus


def definition(name: str, folder: Path) -> Path:
    """The plain file."""
    if name in OF_SHARED:
        root = modules.shared_root()
        assert root is not None
        packed = root / "models" / name / f"{OF_SHARED[name]}.xz"
    else:
        packed = modules.definition_file(name, folder)
    return modules.plain_file(name, packed, folder)


def families() -> list[str]:
    return PUBLISHED + (list(OF_SHARED) if modules.shared_root() is not None else [])


@pytest.mark.parametrize("name", families())
def test_ids_and_texts_are_those_of_the_reference(name: str, folder: Path) -> None:
    path = definition(name, folder)
    built = modules.build(name, path, folder, grammar=verify_models.GRAMMARS.get(name))
    reference = verify_models.reference_of(name, path)
    row = modules.compare_on_corpora(built, reference, folder, SOME)
    assert (row["different"], row["different_text"]) == (0, 0), row
    assert row["ids"] > 100_000


@pytest.mark.parametrize("name", ["gemma3", "mistral_v0_1_hf"])
def test_ids_owe_nothing_to_the_implied_cuts(name: str, folder: Path) -> None:
    """The module cuts, the plain encoder here merges whole paragraphs; real text and text with everything beside everything."""
    path = definition(name, folder)
    built = modules.build(name, path, folder)
    read = read_definition(str(path), name=name)
    assert imply_cuts(read, derive_entries(read.model)) is not read
    model = read.model
    encoder = BytePairEncoder(
        model.tokens,
        model.merges,
        model.ranks,
        model.byte_ids,
        model.ignore_merges,
        characters=True,
        unk_id=model.unk_id,
        fuse_unk=model.fuse_unk,
    )
    generator = random.Random(4)
    texts = []
    for corpus in modules.corpus_names():
        text, _ = modules.first_documents(modules.corpus(corpus, folder), 6000)
        texts += [part for part in text.split("\n") if part.strip() and "<" not in part]
    letters = sorted({char for text in texts for char in text})
    texts += ["".join(generator.choices(letters, k=generator.randint(1, 300))) for _ in range(300)]
    prefix = " " if name == "mistral_v0_1_hf" else ""
    for text in texts:
        if "<" in text or "\t" in text:
            continue
        got = built.module.encode(text).tolist()
        assert got == encoder.merge((prefix + text.replace("▁", " ")).encode()), text


def test_every_definition_of_the_shared_folder_is_known_to_the_comparison() -> None:
    """Rank files need a grammar by name; nothing else is missing where the folder is."""
    root = modules.shared_root()
    found = verify_models.definitions(root) if root is not None else []
    ranks = {name for name, path in found if path.name.endswith(".tiktoken.xz")}
    assert ranks <= set(verify_models.GRAMMARS)
    assert root is None or {(name, f"{file}.xz") for name, file in OF_SHARED.items()} <= {(n, p.name) for n, p in found}
