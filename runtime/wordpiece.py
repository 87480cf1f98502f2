"""WordPiece and WordLevel in plain Python: the same ids as the reference."""

from __future__ import annotations

from collections.abc import Sequence


class WordPieceEncoder:
    """A vocabulary of words and of what continues them.

    Args:
        tokens: bytes of each id as the vocabulary spells it; None for ids that no text becomes.
        prefix: what an entry that continues a word begins with; None: nothing continues a word (WordLevel).
        unk_id: of a word that is not covered by entries, or too long.
        max_characters: of a word; None for any number.
    """

    def __init__(
        self, tokens: Sequence[bytes | None], prefix: str | None, unk_id: int, max_characters: int | None
    ) -> None:
        self.unk_id = unk_id
        self.max_characters = max_characters
        self.first = {token: number for number, token in enumerate(tokens) if token}
        start = None if prefix is None else prefix.encode()
        self.continuing = (
            {} if start is None else {t[len(start) :]: i for t, i in self.first.items() if t.startswith(start)}
        )
        self.longest = max(map(len, self.first), default=0)

    def encode(self, piece: bytes) -> list[int]:
        """Ids of one piece (a pre-token), UTF-8."""
        if self.max_characters is not None and len(piece.decode()) > self.max_characters:
            return [self.unk_id]
        ids: list[int] = []
        at, entries = 0, self.first
        while at < len(piece):
            # Entries are whole characters, so the longest in bytes is the longest in characters.
            stop = next((k for k in range(min(len(piece), at + self.longest), at, -1) if piece[at:k] in entries), None)
            if stop is None:
                return [self.unk_id]
            ids.append(entries[piece[at:stop]])
            at, entries = stop, self.continuing
        return ids
