"""tiktoken rank files to a TokenizerDefinition.

One line per token: base64 of its bytes, a space, its rank, which is its id. The pattern and the special tokens are
not in the file; a named grammar brings them. tiktoken merges by the rank of the *joined bytes*, so every way to cut
an entry into two entries is a merge at that entry's rank, and whole pieces are looked up first.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar, cast

import numpy as np
import numpy.typing as npt
from gigatok_compile.definition.alphabet import missing_bytes
from gigatok_compile.definition.bpe_model import MAX_ID
from gigatok_compile.definition.cutting_steps import check_user_pattern
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import (
    AddedToken,
    BpeModel,
    ByteLevelStep,
    DecoderStep,
    Dialect,
    MetaspaceStep,
    PostProcessor,
    PreTokenizerStep,
    SplitStep,
    TokenizerDefinition,
)

Word = TypeVar("Word", bytes, str)

REFERENCE = "tiktoken 0.14.0"
REFERENCE_OF_STEPS = "tiktoken 0.14.0 on the pieces of tokenizers 0.23.3"


class Grammar(Protocol):
    """What a rank file leaves out: how text is cut, and the special tokens with their ids.

    patterns: in order; none for a grammar that is given as a pre_tokenizer. steps: the same as tokenizers carries them out.
    """

    @property
    def patterns(self) -> Sequence[str]: ...
    @property
    def dialect(self) -> str: ...
    @property
    def steps(self) -> Sequence[PreTokenizerStep]: ...
    @property
    def special_tokens(self) -> Mapping[str, int]: ...


def read_rank_file(data: bytes, grammar: Grammar, *, name: str, sha256: str) -> TokenizerDefinition:
    """Read the bytes of a rank file.

    Raises:
        DefinitionError: a line that is not a token and its rank, a token or rank that occurs twice, a byte without
            a rank, or a special token whose id is taken; names the line. Or a grammar with a step that puts marks in.
    """
    ranks, size, warnings = _read_lines(data)
    tokens: list[bytes | None] = [None] * size
    for token, rank in ranks.items():
        tokens[rank] = token
    byte_ids = np.array([ranks.get(bytes((byte,)), -1) for byte in range(256)], dtype=np.int32)
    if missing := missing_bytes(byte_ids, "rank"):
        raise DefinitionError(
            missing, hint="the file may be cut off; the reference panics on texts that hold such a byte"
        )
    steps, reference = _steps(grammar)
    merges, merge_ranks = all_splits(ranks)
    return TokenizerDefinition(
        name=name,
        source_format="tiktoken",
        reference=reference,
        sha256=sha256,
        normalizer=(),
        pre_tokenizer=steps,
        model=BpeModel(tuple(tokens), merges, merge_ranks, byte_ids, ignore_merges=True),
        added_tokens=_special_tokens(grammar, tokens),
        post_processor=PostProcessor(),
        decoder=(DecoderStep("Bytes", "decoder"),),
        truncation=None,
        padding=None,
        warnings=warnings,
    )


def _steps(grammar: Grammar) -> tuple[tuple[PreTokenizerStep, ...], str]:
    """The steps, and whose ids come out.

    One pattern that is read as tiktoken reads it is what tiktoken has: it encodes the matches, and what lies between them is
    dropped. Everything else (several patterns, Oniguruma's dialect, a pre_tokenizer) cuts as tokenizers does, which drops
    nothing unless it says so; the ids of the pieces are tiktoken's.
    """
    if grammar.patterns and grammar.dialect not in ("fancy", "oniguruma"):
        raise DefinitionError(f"the grammar's dialect {grammar.dialect!r} is not fancy or oniguruma")
    dialect = cast(Dialect, grammar.dialect)
    bytes_step = ByteLevelStep(add_prefix_space=False, where="grammar")
    if len(grammar.patterns) == 1:
        (pattern,) = grammar.patterns
        check_user_pattern(pattern, dialect, "grammar.pattern")
        if dialect == "fancy":
            return (
                SplitStep(pattern, dialect, "grammar.pattern", behavior="Removed", invert=True),
                bytes_step,
            ), REFERENCE
    for index, pattern in enumerate(grammar.patterns):
        check_user_pattern(pattern, dialect, f"grammar.pattern[{index}]")
    steps = [replace(step, where=f"grammar.{step.where}") for step in grammar.steps]
    for step in steps:
        if isinstance(step, MetaspaceStep):
            raise DefinitionError(
                "Metaspace puts marks into the text, and the tokens of a rank file are bytes of the text itself",
                where=step.where,
                hint="a grammar of patterns, or a pre_tokenizer without Metaspace",
            )
    if not any(isinstance(step, ByteLevelStep) for step in steps):
        steps.append(bytes_step)
    return tuple(steps), REFERENCE_OF_STEPS


def _read_lines(data: bytes) -> tuple[dict[bytes, int], int, tuple[str, ...]]:
    """Token bytes to rank, in file order; the number of ids; and warnings."""
    ranks: dict[bytes, int] = {}
    lines_of_ranks: dict[int, int] = {}
    warnings: list[str] = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]  # the reference skips it too, by way of a lenient base64
    for number, line in _lines(data):
        parts = line.split()
        # isdigit of bytes is ASCII only; the length bound keeps int() off hostile input
        if len(parts) != 2 or not parts[1].isdigit() or len(parts[1]) > 10:
            raise _line_error(number, f"expected a base64 token, a space and a rank, found {_shown(line)}")
        encoded, rank = parts[0], int(parts[1])
        if rank > MAX_ID:
            raise _line_error(number, f"the rank {rank} is above the largest taken, {MAX_ID}")
        if rank in lines_of_ranks:
            raise _line_error(number, f"the rank {rank} stands on line {lines_of_ranks[rank]} already")
        lines_of_ranks[rank] = number
        if encoded == b"=":
            # Whisper's file ends so: an empty token, which can never match. Its id stays a gap.
            warnings.append(f"line {number}: the empty token of rank {rank} can never match and is left out")
            continue
        token = decode_base64(encoded)
        if token is None:
            raise _line_error(number, f"{_shown(encoded)} is not base64")
        if token in ranks:
            raise _line_error(number, f"the token {token!r} stands on line {lines_of_ranks[ranks[token]]} already")
        ranks[token] = rank
    if not ranks:
        raise DefinitionError("the rank file holds no tokens")
    return ranks, max(lines_of_ranks) + 1, tuple(warnings)


def _lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Numbered lines that are not blank; bytes.splitlines knows LF, CR and CRLF and nothing else."""
    for number, line in enumerate(data.splitlines(), start=1):
        if line.strip():
            yield number, line


def decode_base64(encoded: bytes) -> bytes | None:
    """The bytes, or None unless `encoded` is just what an encoder writes for them. Empty is None too."""
    try:
        token = binascii.a2b_base64(encoded)
    except binascii.Error:
        return None
    return token if token and base64.b64encode(token) == encoded else None


def all_splits(ranks: Mapping[bytes, int]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Every pair of entries whose joined bytes are an entry: (m, 3) rows (left, right, joined) by rank, and (m,) ranks.

    Example:
        {a: 0, b: 1, ab: 2, aab: 3, aa: 4} gives (0, 1, 2), then (0, 2, 3) and (4, 1, 3), then (0, 0, 4).
    """
    rows = split_rows(ranks, sorted(ranks, key=ranks.__getitem__))
    return rows, rows[:, 2].copy()


def split_rows(ids: Mapping[Word, int], order: Iterable[Word]) -> npt.NDArray[np.int32]:
    """(m, 3) int32 rows (left, right, joined): every cut of each word of `order` into two words of `ids`."""
    look_up = ids.get
    lengths = {len(word) for word in ids}
    flat: list[int] = []
    for word in order:
        size = len(word)
        # Few lengths occur, so an absurdly long word is not cut everywhere.
        cuts = range(1, size) if size < 1000 else sorted(n for n in lengths if size - n in lengths)
        for cut in cuts:
            left = look_up(word[:cut])
            if left is not None:
                right = look_up(word[cut:])
                if right is not None:
                    flat += (left, right, ids[word])
    return np.array(flat, dtype=np.int32).reshape(-1, 3)


def _special_tokens(grammar: Grammar, tokens: list[bytes | None]) -> tuple[AddedToken, ...]:
    seen: dict[int, str] = {}
    for content, token_id in grammar.special_tokens.items():
        if token_id < len(tokens) and tokens[token_id] is not None:
            raise DefinitionError(
                f"the special token {content!r} has id {token_id}, which is the rank of {tokens[token_id]!r}",
                hint="this grammar belongs to another rank file",
            )
        if token_id in seen:
            raise DefinitionError(f"the special tokens {seen[token_id]!r} and {content!r} both have id {token_id}")
        seen[token_id] = content
    return tuple(AddedToken(token_id, content) for content, token_id in grammar.special_tokens.items())


def _line_error(number: int, message: str) -> DefinitionError:
    return DefinitionError(
        message, where=f"line {number}", hint="each line is the base64 of a token, a space, its rank"
    )


def _shown(data: bytes) -> str:
    text = data[:40].decode("utf-8", "replace")
    return repr(text + ("..." if len(data) > 40 else ""))
