"""Mistral's tekken.json to a TokenizerDefinition: a rank file with its pattern and special tokens.

Ids are ranks moved up by the number of special tokens, which have the first ids. Only the ranks below
`default_vocab_size - default_num_special_tokens` are used. Special tokens never come out of text. `token_str` is not read: many
tokens are not whole characters. What is checked is what mistral-common checks when it loads a file.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

import numpy as np
from gigatok_compile.definition.cutting_steps import check_user_pattern
from gigatok_compile.definition.fields import Fields
from gigatok_compile.definition.tiktoken_ranks import all_splits, decode_base64
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    AddedToken,
    BpeModel,
    ByteLevelStep,
    DecoderStep,
    PostProcessor,
    SplitStep,
    TokenizerDefinition,
)

REFERENCE: Final = "tiktoken 0.14.0 with the ranks of tekken.json"
MAX_TOKENS: Final = 2**24
MAX_SPECIAL_TOKENS: Final = 2**16

_OLD_SPECIAL_TOKENS: Final = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]", "[TOOL_RESULTS]"),
    *(
        "[/TOOL_RESULTS]",
        "[TOOL_CALLS]",
        "[IMG]",
        "<pad>",
        "[IMG_BREAK]",
        "[IMG_END]",
        "[PREFIX]",
        "[MIDDLE]",
        "[SUFFIX]",
    ),
    *("[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
"""What mistral-common takes for a file without `special_tokens` (versions up to v7)."""

_ROLES: Final = {"unk": "<unk>", "bos": "<s>", "eos": "</s>", "pad": "<pad>"}


def looks_like_tekken(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("vocab"), list) and "config" in value


def read_tekken_json(value: object, *, name: str, sha256: str) -> TokenizerDefinition:
    """Read the value of a tekken.json.

    Raises:
        DefinitionError: malformed, or a file that mistral-common does not load; names the field's path.
    """
    fields = Fields.of(value, "")
    config = fields.child("config")
    version = config.string("version")
    if not re.fullmatch(r"v[0-9]{1,4}", version):
        config.fail("version", f"unknown version {version!r}", "versions are v3, v7, v11, ...")
    pattern = config.string("pattern")
    check_user_pattern(pattern, "fancy", "config.pattern")
    size, specials = config.unsigned("default_vocab_size"), config.unsigned("default_num_special_tokens")
    if size > MAX_TOKENS:
        config.fail("default_vocab_size", f"{size} is above the largest taken, {MAX_TOKENS}")
    if specials > MAX_SPECIAL_TOKENS:
        config.fail("default_num_special_tokens", f"{specials} is above the largest taken, {MAX_SPECIAL_TOKENS}")
    if specials + 256 > size:
        config.fail("default_num_special_tokens", f"{specials} leave no room for the bytes in a vocabulary of {size}")
    ranks = _read_vocab(fields, size - specials, first=specials)
    tokens = [None] * specials + list(ranks)
    merges, merge_ranks = all_splits(ranks)
    added = _special_tokens(fields, specials, int(version[1:]))
    ids = {token.content: token.id for token in added}
    return TokenizerDefinition(
        name=name,
        source_format="tekken.json",
        reference=REFERENCE,
        sha256=sha256,
        normalizer=(),
        # As tiktoken has it: the matches are encoded, and what lies between them is dropped.
        pre_tokenizer=(
            SplitStep(pattern, "fancy", "config.pattern", behavior="Removed", invert=True),
            ByteLevelStep(add_prefix_space=False, where="config"),
        ),
        model=BpeModel(
            tuple(tokens),
            merges,
            merge_ranks,
            np.arange(specials, specials + 256, dtype=np.int32),
            ignore_merges=True,
        ),
        added_tokens=added,
        post_processor=PostProcessor(),
        decoder=(DecoderStep("Bytes", "decoder"),),
        truncation=None,
        padding=None,
        roles={role: ids[content] for role, content in _ROLES.items() if content in ids},
    )


def _read_vocab(fields: Fields, count: int, first: int) -> dict[bytes, int]:
    """Bytes of the first `count` tokens -> id, in order; the others are not used."""
    if len(fields.items("vocab")) < count:
        fields.fail(
            "vocab",
            f"{len(fields.items('vocab'))} tokens, where config.default_vocab_size asks for {count}",
            "the file may be cut or edited",
        )
    ids: dict[bytes, int] = {}
    for rank, entry in enumerate(fields.children("vocab")):
        if rank == count:
            break
        if entry.unsigned("rank") != rank:
            entry.fail("rank", f"expected {rank}, found {entry.unsigned('rank')}: ranks stand in order")
        token = decode_base64(entry.string("token_bytes").encode())
        if token is None:
            entry.fail("token_bytes", f"{entry.string('token_bytes')!r:.60} is not base64, or empty")
        if rank < 256 and token != bytes((rank,)):
            entry.fail("token_bytes", f"the first 256 tokens are the single bytes in order, found {token!r:.60}")
        if token in ids:
            entry.fail("token_bytes", f"the token {token!r:.60} stands at vocab[{ids[token] - first}] already")
        ids[token] = first + rank
    return ids


def _special_tokens(fields: Fields, count: int, version: int) -> tuple[AddedToken, ...]:
    """`count` special tokens: those of the file or of its version, then fillers, as mistral-common numbers them."""
    names: dict[int, str] = {}
    if fields.values.get("special_tokens") is None:
        if version > 7:
            fields.fail("special_tokens", f"a file of version v{version} must have them")
        names = dict(enumerate(_OLD_SPECIAL_TOKENS))
    else:
        for entry in fields.children("special_tokens"):
            rank, content = entry.unsigned("rank"), entry.string("token_str")
            if rank in names:
                entry.fail("rank", f"{names[rank]!r} and {content!r} both have rank {rank}")
            names[rank] = content
    if len(names) > count:
        raise DefinitionError(
            f"{len(names)} special tokens, and config.default_num_special_tokens is {count}", where="special_tokens"
        )
    # A filler is numbered by how many there are before it, so ranks with gaps would meet it.
    if names and max(names) >= len(names):
        raise DefinitionError(f"the ranks of special tokens have gaps below {max(names)}", where="special_tokens")
    contents = [names.get(i, f"<SPECIAL_{i}>") for i in range(count)]
    ((content, times),) = Counter(contents).most_common(1) or [("", 0)]
    if times > 1:
        raise DefinitionError(f"the special token {content!r} occurs twice", where="special_tokens")
    return tuple(AddedToken(i, content, matched=False) for i, content in enumerate(contents))
