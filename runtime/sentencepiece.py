"""SentencePiece's own normalizer and decoder, as its `.model` files mean them (sentencepiece 0.2.3).

Inside gigatok the mark U+2581, which SentencePiece puts in place of a space, is a space again ("respelled"): a normalized text and
the pieces both have one byte where SentencePiece has three. That loses nothing, since with `escape_whitespaces` no other
space is left in a normalized text. Without it both characters stay what they are.
"""

from __future__ import annotations

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from gigatok_runtime.charsmap import Charsmap

MARK: Final = "\u2581"
BYTE, MARKED, PLAIN = 0, 1, 2
"""Kinds of ids for decoding: a byte; a piece that begins with the mark; any other."""


def respell(text: str, escape_whitespaces: bool) -> str:
    """Text after SentencePiece's normalizer, or a piece, as it is spelled inside."""
    return text.replace(MARK, " ") if escape_whitespaces else text


class SentencePieceNormalizer:
    """text -> normalized text, respelled.

    Args:
        options: the booleans add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces and treat_whitespace_as_suffix, and
            user_defined, the pieces that are taken over as they are wherever they stand in the text.
        charsmap: the compiled rules, b"" for none. It must have been checked (`Charsmap` looks only at its outside).
    """

    def __init__(self, options: Mapping[str, Any], charsmap: bytes) -> None:
        self.prefix = bool(options["add_dummy_prefix"])
        self.remove_extra = bool(options["remove_extra_whitespaces"])
        self.escape = bool(options["escape_whitespaces"])
        self.as_suffix = bool(options["treat_whitespace_as_suffix"])
        self.rules = Charsmap(charsmap) if charsmap else None
        self.longest_rule = int(options.get("longest_rule", 0))
        self.user_defined = _by_first(options["user_defined"])
        self.plain: dict[str, bool] = {}  # characters with which nothing begins

    def __call__(self, text: str) -> str:
        if not text:
            return ""
        units = self._units(text)
        first = next(units)
        if self.remove_extra:
            while first == " ":
                following = next(units, None)
                if following is None:
                    return ""
                first = following
        out = [" "] if self.prefix and not self.as_suffix else []
        after_space = self.remove_extra
        unit: str | None = first
        while unit is not None:
            if after_space:
                unit = unit.lstrip(" ")
            if unit:
                out.append(unit)
                after_space = self.remove_extra and unit.endswith(" ")
            unit = next(units, None)
        # The dummy prefix is spelled as a mark where spaces are escaped, so here it does not matter which it is.
        normalized = respell("".join(out), self.escape)
        if self.remove_extra:
            normalized = normalized.rstrip(" ")
        return normalized + " " if self.prefix and self.as_suffix else normalized

    def _units(self, text: str) -> Iterator[str]:
        """What stands in place of each rule and user-defined piece, and the characters between in runs, spaces apart."""
        at = done = 0
        while at < len(text):
            char = text[at]
            if self._is_plain(char) and not (char == " " and self.remove_extra):
                at += 1
                continue
            size, unit = self._replaced(text, at)
            if size == 0 and char != " ":
                at += 1
                continue
            if done < at:
                yield text[done:at]
            yield unit if size else char
            at = done = at + max(size, 1)
        if done < at:
            yield text[done:at]

    def _replaced(self, text: str, at: int) -> tuple[int, str]:
        """How many characters at `at` a user-defined piece or a rule takes, and what for; 0 for none."""
        for piece in self.user_defined.get(text[at], ()):
            if text.startswith(piece, at):
                return len(piece), piece
        if self.rules is not None:
            ahead = text[at : at + self.longest_rule].encode()
            if rule := self.rules.longest(ahead):
                return len(ahead[: rule[0]].decode()), rule[1].decode()
        return 0, ""

    def _is_plain(self, char: str) -> bool:
        plain = self.plain.get(char)
        if plain is None:
            begins = self.rules is not None and self.rules.begins(char.encode())
            plain = self.plain[char] = char not in self.user_defined and not begins
        return plain


def _by_first(pieces: Iterable[str]) -> dict[str, list[str]]:
    """Pieces by their first character, longest first (in bytes; one text's prefixes, so in characters too)."""
    found: dict[str, list[str]] = {}
    for piece in sorted(pieces, key=len, reverse=True):
        found.setdefault(piece[0], []).append(piece)
    return found


class SentencePieceDecoder:
    """ids -> text.

    Control ids vanish, an unknown id shows as the model's `unk_surface`, bytes are joined to characters. Where a piece begins with
    the mark and nothing but vanished ids stands before it, the mark is dropped: of the first such piece (strip "first"), of
    every one until there is text ("every"), or not at all ("none").

    Args:
        shown: the text of every id, respelled.
        kinds: BYTE, MARKED or PLAIN for every id.
        strip: "none", "first" or "every".
    """

    def __init__(self, shown: Sequence[bytes], kinds: Sequence[int], strip: str) -> None:
        self.shown = shown
        self.kinds = kinds
        self.strip = strip

    def parts(self, ids: Iterable[int], hidden: Collection[int] = ()) -> Iterator[tuple[bytes, bool]]:
        """Pieces of the text in order, and whether each is a run of byte pieces. Ids outside the vocabulary are passed over."""
        run = bytearray()
        at_start, strip = True, self.strip != "none"
        for i in ids:
            if i in hidden or not 0 <= i < len(self.shown):
                continue
            shown, kind = self.shown[i], self.kinds[i]
            if kind == BYTE:
                run += shown
                continue
            if run:
                yield bytes(run), True
                run.clear()
                at_start = False
            if at_start and strip and kind == MARKED:
                shown = shown[1:]
                strip = self.strip == "every"
            if shown:
                yield shown, False
                at_start = False
        if run:
            yield bytes(run), True

    def decode_bytes(self, ids: Iterable[int], hidden: Collection[int] = ()) -> bytes:
        """The text in bytes; byte pieces are the bytes they stand for, whether or not they make characters."""
        return b"".join(part for part, _ in self.parts(ids, hidden))

    def decode(self, ids: Iterable[int], hidden: Collection[int] = ()) -> str:
        """The text. In a run of byte pieces each byte that is no part of a character is one U+FFFD."""
        return "".join(
            part.decode("utf-8", EACH_BAD_BYTE if in_bytes else "replace") for part, in_bytes in self.parts(ids, hidden)
        )


def _one_bad_byte(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return "\ufffd", error.start + 1


EACH_BAD_BYTE: Final = "gigatok-each-bad-byte"
codecs.register_error(EACH_BAD_BYTE, _one_bad_byte)
"""`errors` for decoding: one U+FFFD for each byte that is not part of a character (Python's "replace" makes one of several)."""
