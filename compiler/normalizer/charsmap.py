"""The `precompiled_charsmap` of a Precompiled normalizer: what it says, as maps, and a check that the reference can walk it.

The bytes are a little-endian u32, the size of a double-array trie (Darts-clone) in bytes, the trie's u32 units, then
replacement texts that end in NUL. A key's value is the place of its text. The reference looks a chunk of text up by its
first hit, which is the *shortest* key that is a prefix of the chunk, and replaces the whole chunk; a chunk is a grapheme
cluster of less than six bytes, or a character. So only keys of up to five bytes count, and of those none that has
another one as a prefix.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError

LONGEST_KEY = 5  # bytes: a cluster is looked up when it is shorter than six
MOST_KEYS = 1 << 20

Units = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Charsmap:
    """characters: code point -> its replacement. clusters: keys in bytes, each longer than one character -> replacement.

    size: bytes of the map, for people.
    """

    size: int
    characters: dict[int, str] = field(repr=False)
    clusters: dict[bytes, str] = field(repr=False)


def parse_charsmap(text: str, where: str) -> Charsmap:
    """The map in base64 `text`.

    Raises:
        DefinitionError: what the reference refuses (not base64, too short, replacements that are not UTF-8), and maps that make
            it panic: units or texts outside the map.
    """

    def fail(message: str, hint: str | None = None) -> NoReturn:
        raise DefinitionError(message, where=where, hint=hint)

    raw = _decode_base64(text)
    if raw is None:
        fail("this is not base64")
    size = int.from_bytes(raw[:4], "little")
    count = size // 4
    if len(raw) < 4 + 4 * count or len(raw) < 4:
        fail(f"the trie is said to have {size} bytes, and {max(0, len(raw) - 4)} are there")
    units = np.frombuffer(raw, "<u4", count, 4).astype(np.uint32)
    texts = raw[4 + 4 * count :]
    try:
        texts.decode()
    except UnicodeDecodeError as error:
        fail(f"the replacement texts are not UTF-8: {error}")
    characters: dict[int, str] = {}
    clusters: dict[bytes, str] = {}
    try:
        for key, place in _keys(units):
            replacement = _text_at(texts, place)
            if not _whole(key):
                characters.update(dict.fromkeys(characters_of(key), replacement))
            elif len(char := key.decode("utf-8", "ignore")) == 1 and len(char.encode()) == len(key):
                characters[ord(char)] = replacement
            else:
                clusters[key] = replacement
    except _Broken as error:
        fail(str(error), "the reference panics on some texts with this map")
    return Charsmap(len(raw), characters, clusters)


class _Broken(Exception):
    """The map leads outside itself."""


def _decode_base64(text: str) -> bytes | None:
    """The standard alphabet, padded as it should be or less, unused bits zero; else None."""
    match = re.fullmatch(r"([A-Za-z0-9+/]*)(={0,2})", text)
    if match is None or len(match[1]) % 4 == 1 or len(match[2]) > -len(match[1]) % 4:
        return None
    try:
        raw = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4), validate=True)
    except binascii.Error:
        return None
    return raw if base64.b64encode(raw).decode().rstrip("=") == match[1] else None


def _offset(unit: int) -> int:
    return (unit >> 10) << ((unit & 1 << 9) >> 6)


def _following(key: bytes) -> npt.NDArray[np.int64]:
    """Bytes that can come after `key` in UTF-8; NUL is none, the reference stops there."""
    for back in range(1, min(3, len(key)) + 1):
        lead = key[-back]
        if lead >= 0xC0:
            if back >= (2 if lead < 0xE0 else 3 if lead < 0xF0 else 4):
                break
            if back > 1:
                return np.arange(0x80, 0xC0)
            low = {0xE0: 0xA0, 0xF0: 0x90}.get(lead, 0x80)
            high = {0xED: 0x9F, 0xF4: 0x8F}.get(lead, 0xBF)
            return np.arange(low, high + 1)
    return _LEADS


_LEADS: npt.NDArray[np.int64] = np.r_[1:0x80, 0xC2:0xF5]


def _keys(units: Units) -> Iterator[tuple[bytes, int]]:
    """(key, place of its text) for the shortest keys. Walks on below them, since the reference does so and must not leave
    the array either."""
    count = len(units)
    if not count:
        raise _Broken("the trie is empty")
    labels = units & 0x800000FF
    pending = [(b"", _offset(int(units[0])), False)]
    seen = 0
    while pending:
        key, at, hit = pending.pop()
        following = _following(key)
        places = at ^ following
        if (places >= count).any():
            raise _Broken(f"the trie leads outside itself after the bytes {key.hex(' ') or '(none)'}")
        for byte in following[labels[places] == following].tolist():
            seen += 1
            if seen > MOST_KEYS:
                raise _Broken(f"the trie has more than {MOST_KEYS} paths of {LONGEST_KEY} bytes")
            unit = int(units[at ^ byte])
            child = at ^ byte ^ _offset(unit)
            longer = key + bytes([byte])
            if unit >> 8 & 1:
                if child >= count:
                    raise _Broken(f"the trie leads outside itself at the key {longer.hex(' ')}")
                place = int(units[child]) & 0x7FFFFFFF
                if not hit:
                    yield longer, place
            if len(longer) < LONGEST_KEY:
                pending.append((longer, child, hit or bool(unit >> 8 & 1)))


def _text_at(texts: bytes, place: int) -> str:
    if place > len(texts):
        raise _Broken(f"a replacement at {place} is past the {len(texts)} bytes of texts")
    end = texts.find(b"\0", place)
    try:
        return texts[place : len(texts) if end < 0 else end].decode()
    except UnicodeDecodeError as error:
        raise _Broken(f"a replacement at {place} begins inside a character") from error


def _whole(key: bytes) -> bool:
    """Is there a whole character in `key`?"""
    lead = key[0]
    return len(key) >= (1 if lead < 0x80 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4)


def characters_of(prefix: bytes) -> Iterator[int]:
    """Code points whose UTF-8 begins with `prefix`, or whose UTF-8 `prefix` begins with."""
    lead = prefix[0]
    if lead < 0x80:
        return iter([lead])
    size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
    low = high = lead & (0xFF >> (size + 1))
    for i in range(1, size):
        low = low << 6 | (prefix[i] & 0x3F if i < len(prefix) else 0)
        high = high << 6 | (prefix[i] & 0x3F if i < len(prefix) else 0x3F)
    least = {2: 0x80, 3: 0x800, 4: 0x10000}[size]
    return (c for c in range(max(low, least), min(high, 0x10FFFF) + 1) if not 0xD800 <= c < 0xE000)
