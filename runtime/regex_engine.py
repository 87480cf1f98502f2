"""The regex engine: the whole of a definition in plain Python over the `regex` package.

It is what runs for patterns that are not regular (`GIGATOK_ENGINE=regex` selects it for any other), and what the
compiler checks its kernels against. Order of work, as in tokenizers 0.23: added tokens in the raw text, the normalizer on
what is left, added tokens in the normalized text, the split steps, BPE on each piece, the post-processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from gigatok_runtime.added_tokens import AddedTokenMatcher
from gigatok_runtime.bpe import BytePairEncoder
from gigatok_runtime.byte_level import bytes_to_alphabet
from gigatok_runtime.character_bpe import CharacterPairEncoder
from gigatok_runtime.definition_data import DefinitionData
from gigatok_runtime.encoded import Encoded
from gigatok_runtime.errors import InvalidUtf8Error, SpecialTokenError
from gigatok_runtime.manifest import Manifest
from gigatok_runtime.nfc import Nfc
from gigatok_runtime.sentencepiece import SentencePieceDecoder, SentencePieceNormalizer, respell
from gigatok_runtime.special import Special, joins_surrogates, resolve_modes
from gigatok_runtime.splitting import Splitter
from gigatok_runtime.texts import Buffer, Errors, Ids, Text, as_bytes, as_ids, as_str, check_errors, check_threads

PieceStep = Callable[[str], list[str]]
Spans = list[tuple[int, int]]


class RegexEngine:
    """An Engine (see engine.py) made of a package's manifest and definition data.

    Raises ValueError for a normalizer or step that it does not know.
    """

    engine = "regex"
    isa = "regex"

    def __init__(self, manifest: Manifest, data: DefinitionData) -> None:
        self.manifest = manifest
        self.data = data
        self.join_surrogates = joins_surrogates(manifest["source_format"])
        self.normalizers = [_normalizer(step, data) for step in manifest["normalizer"]]
        self.steps, self.byte_steps = _piece_steps(manifest, data)
        self.bpe = _encoder(manifest, data)
        self.raw_matcher = self._matcher(normalized=False)
        self.normalized_matcher = self._matcher(normalized=True)
        self.bytes_of = {i: token for i, token in enumerate(data.tokens) if token is not None}
        self.bytes_of |= {t["id"]: b for t, b in zip(manifest["added_tokens"], data.added_bytes, strict=True)}
        self.sentencepiece: SentencePieceDecoder | None = None
        if manifest["decoder"]["kind"] == "SentencePiece":
            self.bytes_of = dict(enumerate(data.shown))
            self.sentencepiece = SentencePieceDecoder(data.shown, data.kinds, manifest["decoder"]["strip"])
        self.hidden_ids = {t["id"] for t, hide in zip(manifest["added_tokens"], data.added_hidden, strict=True) if hide}
        self.id_of = {token: i for i, token in reversed([*enumerate(data.tokens)]) if token is not None}
        self.id_of |= {t["content"].encode(): t["id"] for t in reversed(manifest["added_tokens"])}

    def _matcher(self, normalized: bool) -> AddedTokenMatcher:
        added = self.manifest["added_tokens"]
        wanted = {i: t["content"] for i, t in enumerate(added) if t["normalized"] == normalized}
        if normalized:
            wanted = {i: self.normalize_content(content) for i, content in wanted.items()}
        exclusive = self.manifest["source_format"] == "tiktoken"
        return AddedTokenMatcher(added, wanted, self.manifest["word_ranges"], exclusive)

    def normalize(self, text: str) -> str:
        """What the normalizer makes of a text without added tokens."""
        for normalizer in self.normalizers:
            text = normalizer(text)
        return text

    def normalize_content(self, content: str) -> str:
        """What the content of an added token is looked for as in normalized text."""
        for step in self.manifest["normalizer"]:
            if step["kind"] == "SentencePiece":
                return respell(content, step["options"]["escape_whitespaces"])
        return self.normalize(content)

    def split(self, text: str) -> list[bytes]:
        """The pre-tokens of a normalized text without added tokens. Not all are UTF-8 where a step cuts bytes."""
        pieces = [text] if text else []
        for step in self.steps:
            pieces = [part for piece in pieces for part in step(piece)]
        found = [piece.encode() for piece in pieces]
        for splitter in self.byte_steps:
            found = [piece[start:stop] for piece in found for start, stop in splitter.spans(bytes_to_alphabet(piece))]
        return found

    def spans(self, text: str) -> Spans:
        """Byte offsets at which the pre-tokens of `text` start and stop, no normalizer run and no prefix put on (gt_boundaries)."""
        spans = self._byte_offsets(text)
        if not self.byte_steps:
            return spans
        mapped = bytes_to_alphabet(text.encode())
        for splitter in self.byte_steps:
            spans = [(lo + a, lo + b) for lo, hi in spans for a, b in splitter.spans(mapped[lo:hi])]
        return spans

    def _byte_offsets(self, text: str) -> Spans:
        """The same before the steps that cut bytes."""
        spans = [(0, len(text))] if text else []
        for step in self.steps:
            if isinstance(step, _Split):
                spans = [(lo + a, lo + b) for lo, hi in spans for a, b in step.splitter.spans(text[lo:hi])]
        if text.isascii():
            return spans
        offsets = np.concatenate([[0], np.cumsum([len(c.encode()) for c in text])]).tolist()
        return [(offsets[start], offsets[stop]) for start, stop in spans]

    def _plain_ids(self, text: str) -> Iterator[int]:
        for piece in self.split(text):
            yield from self.bpe.encode(piece)

    def _ids(self, text: str, modes: bytes, index: int | None) -> list[int]:
        """Ids of a text without the post-processor's."""
        added = self.manifest["added_tokens"]
        ids: list[int] = []
        if self.raw_matcher.exclusive:
            self.raw_matcher.check_forbidden(text, modes, (0, index))
        for start, end, token in self.raw_matcher.segments(text, modes, (0, index)):
            if token is not None:
                ids.append(added[token]["id"])
                continue
            segment = text[start:end]
            normalized = self.normalize(segment)
            offset = len(text[:start].encode()) if normalized == segment and self.normalized_matcher.contents else None
            for first, last, inner in self.normalized_matcher.segments(normalized, modes, (offset, index)):
                if inner is not None:
                    ids.append(added[inner]["id"])
                else:
                    ids += self._plain_ids(normalized[first:last])
        return ids

    def _encode_all(
        self, texts: Iterable[tuple[int | None, Text]], add_special_tokens: bool, special: Special, errors: Errors
    ) -> Encoded:
        modes = resolve_modes(special, self.manifest)
        check_errors(errors)
        around = self.manifest["post_processor"] if add_special_tokens else {"prefix": [], "suffix": []}
        ids: list[int] = []
        offsets = [0]
        for index, text in texts:
            ids += around["prefix"]
            ids += self._ids(as_str(text, errors, self.join_surrogates, index), modes, index)
            ids += around["suffix"]
            offsets.append(len(ids))
        return Encoded(np.array(ids, np.uint32), np.array(offsets, np.int64))

    def encode(
        self,
        text: Text,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
        threads: int | None = 1,
    ) -> npt.NDArray[np.uint32]:
        check_threads(threads)
        return self._encode_all([(None, text)], add_special_tokens, special, errors).ids

    def encode_batch(
        self,
        texts: Iterable[Text],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        if isinstance(texts, str | bytes | bytearray | memoryview) or not hasattr(texts, "__iter__"):
            one = "one " if isinstance(texts, str | bytes | bytearray | memoryview) else ""
            raise TypeError(f"texts must be a list of texts, not {one}{type(texts).__name__}")
        check_threads(threads)
        return self._encode_all(enumerate(texts), add_special_tokens, special, errors)

    def encode_separated(
        self,
        data: Buffer,
        separator: bytes | None = None,
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        check_threads(threads)
        whole = as_bytes(data)
        if separator is None:
            return self._encode_all([(None, whole)], add_special_tokens, special, errors)
        if not separator:
            raise ValueError("separator must not be empty (None: no separator)")
        parts = whole.split(separator)
        if not parts[-1]:
            parts.pop()
        try:
            return self._encode_all(enumerate(parts), add_special_tokens, special, errors)
        except (InvalidUtf8Error, SpecialTokenError) as error:
            before = sum(len(part) + len(separator) for part in parts[: error.index])
            raise error.moved(before) from None

    def count(
        self, text: Text, *, add_special_tokens: bool = False, special: Special = None, errors: Errors = "strict"
    ) -> int:
        return len(self.encode(text, add_special_tokens=add_special_tokens, special=special, errors=errors))

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str:
        if self.sentencepiece is not None:
            return self.sentencepiece.decode(as_ids(ids).tolist(), self.hidden_ids if skip_special_tokens else ())
        return self.decode_bytes(ids, skip_special_tokens).decode("utf-8", "replace")

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes:
        hidden = self.hidden_ids if skip_special_tokens else frozenset()
        if self.sentencepiece is not None:
            return self.sentencepiece.decode_bytes(as_ids(ids).tolist(), hidden)
        return b"".join(self.bytes_of.get(i, b"") for i in as_ids(ids).tolist() if i not in hidden)

    def token_bytes(self, id: int, /) -> bytes | None:
        return self.bytes_of.get(id)

    def token_id(self, token: str | bytes, /) -> int | None:
        if isinstance(token, str):
            return self.id_of.get(as_str(token, "strict", False).encode())
        return self.id_of.get(as_bytes(token))


class _Split:
    """A step that cuts."""

    def __init__(self, splitter: Splitter) -> None:
        self.splitter = splitter

    def __call__(self, piece: str) -> list[str]:
        return [piece[start:end] for start, end in self.splitter.spans(piece)]


def _prefix_space(piece: str) -> list[str]:
    """ByteLevel's add_prefix_space."""
    return [piece if piece.startswith(" ") else " " + piece]


def _piece_steps(manifest: Manifest, data: DefinitionData) -> tuple[list[PieceStep], list[Splitter]]:
    """Steps on text, and after them those on characters that stand for bytes."""
    patterns = iter(data.patterns)
    steps: list[PieceStep] = []
    byte_steps: list[Splitter] = []
    for step in manifest["pre_tokenizer"]:
        match step["kind"]:
            case "Split":
                steps.append(_Split(Splitter(next(patterns), step["behavior"], step["invert"])))
            case "ByteSplit":
                byte_steps.append(Splitter(next(patterns), step["behavior"], step["invert"]))
            case "ByteLevel":
                if step["add_prefix_space"]:
                    steps.append(_prefix_space)
            case kind:
                raise ValueError(f"pre-tokenizer step {kind!r} is unknown to this gigatok_runtime")
    return steps, byte_steps


def _encoder(manifest: Manifest, data: DefinitionData) -> BytePairEncoder | CharacterPairEncoder:
    if manifest["atoms"] == "bytes":
        return BytePairEncoder(data.tokens, data.merges, data.ranks, data.byte_ids, manifest["ignore_merges"])
    return CharacterPairEncoder(
        data.tokens,
        data.merges,
        data.ranks,
        data.byte_ids,
        manifest["unk_id"],
        manifest["fuse_unk"],
        data.hidden,
    )


def _normalizer(step: dict[str, Any], data: DefinitionData) -> Callable[[str], str]:
    kind = step["kind"]
    if kind == "SentencePiece":
        return SentencePieceNormalizer(step["options"], data.charsmap)
    if kind != "NFC":
        raise ValueError(f"normalizer {kind!r} is unknown to this gigatok_runtime")
    return Nfc(data.nfc)
