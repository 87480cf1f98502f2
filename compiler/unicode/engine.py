"""The reference engines as oracles: which characters a pattern matches, and where it splits a text.

Only the table generators, the tool for grammars' examples and the tests import this; it needs the `test` extra
(tokenizers and tiktoken wheels).
"oniguruma" is `tokenizers.pre_tokenizers.Split`, "fancy" is the fancy-regex inside `tiktoken.Encoding`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

SURROGATES = (0xD800, 0xDFFF)
Piece = tuple[int, int, bool]  # start, end (code points), is it a match


@lru_cache(maxsize=1)
def all_scalars() -> str:
    """All 1,112,064 Unicode scalar values in order (surrogates are not scalar values)."""
    return "".join(map(chr, range(SURROGATES[0]))) + "".join(map(chr, range(SURROGATES[1] + 1, 0x110000)))


def code_points_of(pattern: str, dialect: str, text: str | None = None) -> set[int]:
    """Every character of `text`, by default every scalar value, that `pattern`, a pattern of one character, matches.

    The pattern is run with `+` over the text, so it must not look at its neighbours.
    Raises ValueError when the engine refuses the pattern.
    """
    text = all_scalars() if text is None else text
    if dialect == "fancy":
        return set(map(ord, _fancy_matched_text(pattern, text)))
    pieces = _oniguruma(f"(?:{pattern})+", "removed", True).pre_tokenize_str(text)
    return {ord(char) for _, (start, end) in pieces for char in text[start:end]}


def runs_of(patterns: Sequence[str]) -> list[int]:
    """Oniguruma: where the maximal runs begin, over all scalar values, of characters that the same of the `patterns`
    match (each of one character, no two of them matching the same character); gaps are runs as well."""
    alternation = "|".join(f"(?:{pattern})+" for pattern in patterns)
    return [start for _, (start, _) in _oniguruma(alternation, "isolated", False).pre_tokenize_str(all_scalars())]


def matches_whole(pattern: str, dialect: str, texts: Sequence[str]) -> list[bool]:
    """For each of the non-empty `texts`: does `pattern` split it into one piece that is a match of all of it?"""
    all_pieces = split(pattern, dialect, texts)
    return [pieces == [(0, len(text), True)] for text, pieces in zip(texts, all_pieces, strict=True)]


def split(pattern: str, dialect: str, texts: Sequence[str]) -> list[list[Piece]]:
    """Pieces of every text, in order: the matches of `pattern` and the gaps between them, no empty ones."""
    return _split_fancy(pattern, texts) if dialect == "fancy" else _split_oniguruma(pattern, texts)


def _oniguruma(pattern: str, behavior: str, invert: bool):  # type: ignore[no-untyped-def]
    from tokenizers import Regex
    from tokenizers.pre_tokenizers import Split

    try:
        return Split(Regex(pattern), behavior, invert)
    except Exception as error:
        raise ValueError(str(error)) from error


def _split_oniguruma(pattern: str, texts: Sequence[str]) -> list[list[Piece]]:
    isolated = _oniguruma(pattern, "isolated", False)
    matches_only = _oniguruma(pattern, "removed", True)
    result = []
    for text in texts:
        matched = {span for _, span in matches_only.pre_tokenize_str(text)}
        result.append([(start, end, (start, end) in matched) for _, (start, end) in isolated.pre_tokenize_str(text)])
    return result


def _fancy_encoding(pattern: str, pieces: set[bytes]):  # type: ignore[no-untyped-def]
    import tiktoken

    ranks = {bytes([value]): value for value in range(256)}
    for piece in sorted(pieces):
        ranks.setdefault(piece, len(ranks))
    try:
        return tiktoken.Encoding("oracle", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    except ValueError as error:
        raise ValueError(str(error)) from error


def _fancy_matched_text(pattern: str, text: str) -> str:
    """tiktoken drops the text between matches, so the bytes it encodes are the matched characters."""
    encoding = _fancy_encoding(pattern, set())
    data: bytes = encoding.decode_bytes(encoding.encode_ordinary(text))
    return data.decode("utf-8")


def _split_fancy(pattern: str, texts: Sequence[str]) -> list[list[Piece]]:
    """tiktoken does not show its pieces, and drops the gaps. With every substring of the texts in the vocabulary a
    piece is one token; with `|.` appended a character of a gap is a piece, too; and a piece is a match if the pattern
    matches where it begins. Quadratic in the length of a text. The pattern must not look back.
    """
    data = [text.encode() for text in texts]
    substrings = {part[i:j] for part in data for i in range(len(part)) for j in range(i + 1, len(part) + 1)}
    whole = _fancy_encoding(f"(?:{pattern})|(?s:.)", substrings)
    at_start = _fancy_encoding(f"\\A(?:{pattern})", set())
    result = []
    for text in texts:
        pieces: list[Piece] = []
        position = 0
        for token in whole.encode_ordinary(text):
            end = position + len(whole.decode_single_token_bytes(token).decode("utf-8"))
            is_match = end > position + 1 or bool(at_start.encode_ordinary(text[position:]))
            if pieces and not is_match and not pieces[-1][2]:
                pieces[-1] = (pieces[-1][0], end, False)
            else:
                pieces.append((position, end, is_match))
            position = end
        result.append(pieces)
    return result
