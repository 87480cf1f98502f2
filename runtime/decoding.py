"""From ids to text in plain Python: every decoder of a tokenizer.json as tokenizers 0.23 carries it out.

A decoder is a list of steps, each from a list of strings to a list of strings; what the last one leaves is joined. It is
what the regex engine decodes with, what compiled tables are checked against, and what a native module uses for a chain that
does not fit its tables.

`decode_bytes` runs the same steps. Bytes that are no UTF-8 then go through them as surrogates (PEP 383) instead of U+FFFD.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal

from gigatok_runtime.byte_level import BYTE_TO_CHAR
from gigatok_runtime.definition_data import DefinitionData
from gigatok_runtime.manifest import DecoderEntry, Manifest
from gigatok_runtime.sentencepiece import SentencePieceDecoder
from gigatok_runtime.texts import Ids, as_ids

Handling = Literal["replace", "surrogateescape"]  # of bytes that are no UTF-8
Step = Callable[[list[str], Handling], list[str]]

CHAR_TO_BYTE: Final = {char: byte for byte, char in enumerate(BYTE_TO_CHAR)}
_CLEANUP: Final = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


class Decoder:
    """The decoder of a package, on ids.

    Args:
        manifest: of the package; its `decoder` None means that tokens are joined with spaces.
        data: its definition data.
    """

    def __init__(self, manifest: Manifest, data: DefinitionData) -> None:
        entries = manifest["decoder"]
        added = manifest["added_tokens"]
        self.hidden = {t["id"] for t, hide in zip(added, data.added_hidden, strict=True) if hide}
        self.sentencepiece: SentencePieceDecoder | None = None
        if entries and entries[0]["kind"] == "SentencePiece":
            self.sentencepiece = SentencePieceDecoder(data.shown, data.kinds, entries[0]["options"]["strip"])
            entries = []
        self.as_bytes = entries is not None and [entry["kind"] for entry in entries] == ["Bytes"]
        names = {i: name.encode("utf-8", "surrogatepass") for i, name in enumerate(data.contents) if name}
        self.entries = names | {i: token for i, token in enumerate(data.tokens) if token is not None}
        self.bytes_of = dict(self.entries)
        self.bytes_of |= {t["id"]: value for t, value in zip(added, data.added_bytes, strict=True)}
        self.name_of = {i: content for i, content in enumerate(data.contents) if content is not None}
        self.name_of |= {t["id"]: name for t, name in zip(added, data.added_names, strict=True)}
        self.steps = [] if self.as_bytes else decoder_steps(entries or ())
        self.joint = " " if entries is None else ""

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str:
        """Text of ids. Those the vocabulary does not hold are skipped; ill-formed UTF-8 becomes U+FFFD."""
        if self.sentencepiece is not None:
            return self.sentencepiece.decode(self._kept(ids, skip_special_tokens))
        if self.as_bytes:
            return self._joined_bytes(ids, skip_special_tokens).decode("utf-8", "replace")
        return self._text(ids, skip_special_tokens, "replace")

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes:
        """UTF-8 of that text, but for bytes that are no UTF-8, which come out as they are."""
        if self.sentencepiece is not None:
            return self.sentencepiece.decode_bytes(self._kept(ids, skip_special_tokens))
        if self.as_bytes:
            return self._joined_bytes(ids, skip_special_tokens)
        return self._text(ids, skip_special_tokens, "surrogateescape").encode("utf-8", "surrogateescape")

    def decode_batch(self, ids: Iterable[Ids], skip_special_tokens: bool = False) -> list[str]:
        """`decode` of each."""
        return [self.decode(one, skip_special_tokens) for one in ids]

    def _kept(self, ids: Ids, skip_special_tokens: bool) -> Iterator[int]:
        hidden = self.hidden if skip_special_tokens else frozenset()
        return (i for i in as_ids(ids).tolist() if i not in hidden)

    def _joined_bytes(self, ids: Ids, skip_special_tokens: bool) -> bytes:
        return b"".join(self.bytes_of.get(i, b"") for i in self._kept(ids, skip_special_tokens))

    def _text(self, ids: Ids, skip_special_tokens: bool, handling: Handling) -> str:
        tokens = [self.name_of[i] for i in self._kept(ids, skip_special_tokens) if i in self.name_of]
        return self.joint.join(run_steps(self.steps, tokens, handling))


def run_steps(steps: Iterable[Step], tokens: list[str], handling: Handling = "replace") -> list[str]:
    """What the steps leave of a list of tokens."""
    for step in steps:
        tokens = step(tokens, handling)
    return tokens


def decoder_steps(entries: Sequence[DecoderEntry]) -> list[Step]:
    """The functions of a manifest's decoder entries.

    Raises:
        ValueError: a kind that this runtime does not know.
    """
    return [decoder_step(entry) for entry in entries]


def decoder_step(entry: DecoderEntry) -> Step:
    """The function of one entry."""
    kind = entry["kind"]
    if kind in _WHOLE:
        return _WHOLE[kind]
    if kind in _MAKERS:
        return _MAKERS[kind](**entry["options"])
    raise ValueError(f"decoder {kind!r} is unknown to this gigatok_runtime")


def alphabet_bytes(token: str) -> bytes:
    """The bytes that a token of the byte-level alphabet stands for; its own UTF-8 if a character is not of it."""
    try:
        return bytes([CHAR_TO_BYTE[char] for char in token])
    except KeyError:
        return token.encode("utf-8", "surrogateescape")


def byte_of(token: str) -> int | None:
    """The byte that a token such as "<0x0A>" stands for. Six bytes long; what Rust reads as a number of two digits counts,
    and "+1" is one (measured)."""
    if len(token) != 6 or not token.isascii() or not token.startswith("<0x") or not token.endswith(">"):
        return None
    digits = token[3:5].removeprefix("+")
    return int(digits, 16) if all(digit in "0123456789abcdefABCDEF" for digit in digits) else None


def cleanup(text: str) -> str:
    """Spaces before punctuation go, and "do not" is contracted, as the WordPiece decoder has it."""
    for before, after in _CLEANUP:
        text = text.replace(before, after)
    return text


def _byte_level(tokens: list[str], handling: Handling) -> list[str]:
    return [b"".join(map(alphabet_bytes, tokens)).decode("utf-8", handling)]


def _fuse(tokens: list[str], handling: Handling) -> list[str]:
    return ["".join(tokens)]


def _byte_fallback(tokens: list[str], handling: Handling) -> list[str]:
    """A run of byte tokens becomes one token if it is UTF-8, else one U+FFFD a byte."""
    found: list[str] = []
    run = bytearray()

    def end_run() -> None:
        try:
            found.append(run.decode())
        except UnicodeDecodeError:
            found.extend([run.decode("utf-8", handling)] if handling == "surrogateescape" else ["\ufffd"] * len(run))
        run.clear()

    for token in tokens:
        byte = byte_of(token)
        if byte is not None:
            run.append(byte)
            continue
        if run:
            end_run()
        found.append(token)
    if run:
        end_run()
    return found


def _metaspace(replacement: str, prepend_scheme: str) -> Step:
    def step(tokens: list[str], handling: Handling) -> list[str]:
        first = " " if prepend_scheme == "never" else ""
        return [token.replace(replacement, " " if number else first) for number, token in enumerate(tokens)]

    return step


def _word_piece(prefix: str, cleanup: bool) -> Step:
    tidy: Callable[[str], str] = globals()["cleanup"] if cleanup else lambda text: text

    def step(tokens: list[str], handling: Handling) -> list[str]:
        joined = (
            token if not number else token[len(prefix) :] if token.startswith(prefix) else f" {token}"
            for number, token in enumerate(tokens)
        )
        return [tidy(token) for token in joined]

    return step


def _bpe_decoder(suffix: str) -> Step:
    def step(tokens: list[str], handling: Handling) -> list[str]:
        last = len(tokens) - 1
        return [token.replace(suffix, "" if number == last else " ") for number, token in enumerate(tokens)]

    return step


def _ctc(pad_token: str, word_delimiter_token: str, cleanup: bool) -> Step:
    tidy: Callable[[str], str] = globals()["cleanup"]

    def step(tokens: list[str], handling: Handling) -> list[str]:
        found = []
        for number, token in enumerate(tokens):
            if number and token == tokens[number - 1]:
                continue
            replaced = token.replace(pad_token, "")
            if cleanup:
                replaced = tidy(replaced).replace(word_delimiter_token, " ")
            if replaced:
                found.append(replaced)
        return found

    return step


def _replace(pattern: str, is_regex: bool, content: str) -> Step:
    """`pattern` of a regex: for the `regex` package, as Splitter takes it. `content` is literal. Nothing matches in an empty
    token, not even what matches nothing (measured)."""
    if not is_regex:
        return lambda tokens, handling: [token and token.replace(pattern, content) for token in tokens]
    from gigatok_runtime.splitting import Splitter

    splitter = Splitter(pattern, "Isolated", False)

    def one(token: str) -> str:
        found, done = [], 0
        for start, end in splitter.matches(token):
            found += [token[done:start], content]
            done = end
        return "".join([*found, token[done:]])

    return lambda tokens, handling: [token and one(token) for token in tokens]


def _strip(content: str, start: int, stop: int) -> Step:
    def one(token: str) -> str:
        low = 0
        while low < min(start, len(token)) and token[low] == content:
            low += 1
        high = len(token)
        while high > max(len(token) - stop, 0) and token[high - 1] == content:
            high -= 1
        return token[low:high]

    return lambda tokens, handling: [one(token) for token in tokens]


_WHOLE: Final[dict[str, Step]] = {"ByteLevel": _byte_level, "Fuse": _fuse, "ByteFallback": _byte_fallback}
_MAKERS: Final[dict[str, Callable[..., Step]]] = {
    "Metaspace": _metaspace,
    "WordPiece": _word_piece,
    "BPEDecoder": _bpe_decoder,
    "CTC": _ctc,
    "Replace": _replace,
    "Strip": _strip,
}


class DecodeStream:
    """Text of ids that come one after the other, as tokenizers' DecodeStream gives it.

    A part of a character is held back until the rest is there. Where later ids change the text that was given out already
    (an ill-formed run of byte tokens; tokenizers raises there), the text of the ids since then is given out on its own, so
    that nothing that comes later is lost. Work for one id does not grow with the length of the stream.

    Args:
        decode: `decode(ids, skip_special_tokens) -> str`.
    """

    def __init__(self, decode: Callable[[Any, bool], str], skip_special_tokens: bool = False) -> None:
        self._decode = decode
        self._skip = skip_special_tokens
        self._ids: list[int] = []
        self._given = 0  # of _ids, which are needed for the text around the next ones only
        self._prefix = ""

    def step(self, id: int | Sequence[int]) -> str | None:
        """The text that an id, or several, add to what was given out before; None while there is none to give.

        Raises:
            TypeError, ValueError: as for `decode`; the stream is as it was before.
        """
        more = as_ids(id if isinstance(id, Iterable) else [id]).tolist()
        if not self._prefix and self._ids:
            held = self._decode(self._ids, self._skip)
            if not held.endswith("\ufffd"):
                self._prefix, self._given = held, len(self._ids)
        ids = [*self._ids, *more]
        text = self._decode(ids, self._skip)
        self._ids = ids
        if len(text.encode()) <= len(self._prefix.encode()) or text.endswith("\ufffd"):
            return None
        new = (
            text[len(self._prefix) :] if text.startswith(self._prefix) else self._decode(ids[self._given :], self._skip)
        )
        self._ids = ids[self._given :]
        self._given = len(self._ids)
        self._prefix = self._decode(self._ids, self._skip)
        return new
