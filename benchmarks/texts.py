"""Cutting a corpus: documents, disjoint slices and short texts.

All of it is deterministic, so every engine sees the same strings in the same order, in any process.
"""

from __future__ import annotations

SEPARATOR = "<|endoftext|>"
LONG_DOCUMENT = 256 * 1024  # bytes; a longer one is cut in chunks before slices are dealt
CHUNK = 10 * 1024  # bytes of one such chunk


def split_documents(text: str) -> list[str]:
    """The documents between lines that hold only the separator, without empty ones."""
    documents: list[str] = []
    lines: list[str] = []
    for line in text.split("\n"):
        if line == SEPARATOR:
            documents.append("\n".join(lines))
            lines = []
        else:
            lines.append(line)
    documents.append("\n".join(lines))
    return [document for document in documents if document.strip()]


def read_documents(path: str) -> list[str]:
    with open(path, encoding="utf-8", newline="") as file:
        return split_documents(file.read())


def byte_length(documents: list[str]) -> int:
    return sum(len(document.encode()) for document in documents)


def cut_at_characters(text: str, size: int) -> list[str]:
    """Consecutive pieces of at most `size` bytes, never inside a character; joined they are the text again."""
    data = text.encode()
    pieces, start = [], 0
    while start < len(data):
        end = min(start + size, len(data))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end -= 1
        pieces.append(data[start:end].decode())
        start = end
    return pieces


def limit_documents(documents: list[str], size: int) -> list[str]:
    """About `size` bytes of whole documents, taken evenly from the whole list (a corpus is sorted by its sources).

    A document longer than what is still missing is cut, so the answer is never longer than `size`.
    """
    total = byte_length(documents)
    if total <= size:
        return documents
    kept: list[str] = []
    kept_bytes = seen_bytes = 0
    for document in documents:
        length = len(document.encode())
        if kept_bytes * total <= seen_bytes * size:  # behind the even share: take this one
            piece = cut_at_characters(document, size - kept_bytes)[0] if kept_bytes < size else ""
            if piece:
                kept.append(piece)
                kept_bytes += len(piece.encode())
        seen_bytes += length
    return kept


def deal_slices(documents: list[str], count: int) -> list[list[str]]:
    """`count` disjoint slices of about equal size and of like character.

    Documents are dealt whole, each to the slice that is shortest so far, so a slice never continues the text of
    another one; only a document over LONG_DOCUMENT is cut in chunks, which are dealt like documents.
    """
    slices: list[list[str]] = [[] for _ in range(count)]
    sizes = [0] * count
    for document in documents:
        length = len(document.encode())
        pieces = [document] if length <= LONG_DOCUMENT else cut_at_characters(document, CHUNK)
        for piece in pieces:
            shortest = sizes.index(min(sizes))
            slices[shortest].append(piece)
            sizes[shortest] += len(piece.encode())
    return slices


def short_texts(documents: list[str], size: int, count: int) -> list[str]:
    """Up to `count` distinct texts of `size` bytes (less at most 3 where a character would be cut), taken evenly."""
    distinct: dict[str, None] = {}
    for document in documents:
        for piece in cut_at_characters(document, size):
            if len(piece.encode()) > size - 4:
                distinct[piece] = None
    pieces = list(distinct)
    if len(pieces) <= count:
        return pieces
    return [pieces[index * len(pieces) // count] for index in range(count)]
