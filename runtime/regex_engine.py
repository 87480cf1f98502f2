"""The regex engine: the whole of a definition in plain Python over the `regex` package.

It is what runs for patterns that are not regular (`GIGATOK_ENGINE=regex` selects it for any other), and what the
compiler checks its kernels against. Order of work, as in tokenizers 0.23: added tokens in the raw text, the normalizer on
what is left, added tokens in the normalized text, the split steps, the model on each piece, the post-processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from gigatok_runtime.added_tokens import AddedTokenMatcher
from gigatok_runtime.bpe import BytePairEncoder
from gigatok_runtime.byte_level import bytes_to_alphabet
from gigatok_runtime.character_bpe import CharacterPairEncoder
from gigatok_runtime.decoding import Decoder
from gigatok_runtime.definition_data import DefinitionData
from gigatok_runtime.encoded import Encoded, EncodedWithTypeIds
from gigatok_runtime.errors import InvalidUtf8Error, SpecialTokenError, no_pairs, wrong_type
from gigatok_runtime.manifest import Manifest
from gigatok_runtime.normalizers import make_normalizers
from gigatok_runtime.sentencepiece import respell
from gigatok_runtime.special import Special, joins_surrogates, resolve_modes
from gigatok_runtime.splitting import Splitter
from gigatok_runtime.texts import Buffer, Errors, Ids, Text, as_bytes, as_str, check_errors, check_threads
from gigatok_runtime.unigram import UnigramEncoder
from gigatok_runtime.wordpiece import WordPieceEncoder

PieceStep = Callable[[str], list[str]]  # or a _Metaspace or a _Split
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
        self.normalizers = make_normalizers(manifest["normalizer"], data.normalizer)
        self.steps, self.byte_steps = _piece_steps(manifest, data)
        self.model = _encoder(manifest, data)
        self.raw_matcher = self._matcher(normalized=False)
        self.normalized_matcher = self._matcher(normalized=True)
        self.decoder = Decoder(manifest, data)
        self.bytes_of = self.decoder.bytes_of
        self.id_of = {token: i for i, token in sorted(self.decoder.entries.items(), reverse=True)}
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

    def split(self, text: str, at_start: bool = True) -> list[bytes]:
        """The pre-tokens of a normalized text without added tokens. Not all are UTF-8 where a step cuts bytes.

        at_start: it begins where the original text does.
        """
        pieces = [text] if text else []
        for step in self.steps:
            if isinstance(step, _Metaspace):
                pieces = [step.replaced(piece, at_start and number == 0) for number, piece in enumerate(pieces)]
            elif not isinstance(step, _Split):
                pieces = [part for piece in pieces for part in step(piece)]
            elif not step.derived:
                spans = [step.spans(piece) for piece in pieces]
                at_start = (
                    at_start and bool(spans and spans[0]) and spans[0][0][0] == 0
                )  # or the step removed the start
                pieces = [piece[a:b] for piece, cuts in zip(pieces, spans, strict=True) for a, b in cuts]
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
                spans = [(lo + a, lo + b) for lo, hi in spans for a, b in step.spans(text[lo:hi])]
        if text.isascii():
            return spans
        offsets = np.concatenate([[0], np.cumsum([len(c.encode()) for c in text])]).tolist()
        return [(offsets[start], offsets[stop]) for start, stop in spans]

    def _plain_ids(self, text: str, at_start: bool) -> Iterator[int]:
        for piece in self.split(text, at_start):
            yield from self.model.encode(piece)

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
                    ids += self._plain_ids(normalized[first:last], start == first == 0)
        return ids

    def _encode_all(
        self,
        texts: Iterable[tuple[int | None, Text | tuple[Text, Text]]],
        add_special_tokens: bool,
        special: Special,
        errors: Errors,
    ) -> EncodedWithTypeIds:
        modes = resolve_modes(special, self.manifest)
        check_errors(errors)
        templates = self.manifest["post_processor"]
        single = templates["single" if add_special_tokens else "plain_single"]
        pair = templates["pair" if add_special_tokens else "plain_pair"]
        ids: list[int] = []
        types: list[int] = []
        offsets = [0]
        for index, item in texts:
            is_pair = isinstance(item, tuple) and len(item) == 2
            template = pair if is_pair else single
            if template is None:
                raise no_pairs(index)
            parts = item if is_pair else (item,)
            # Both are looked at before either is encoded, as in the compiled calls.
            read = [as_str(cast(Text, part), errors, self.join_surrogates, index) for part in parts]
            sources = {name: self._ids(text, modes, index) for name, text in zip("AB", read, strict=False)}
            for place, type_id in template:
                found = sources[place] if isinstance(place, str) else [place]
                ids += found
                types += [type_id] * len(found)
            offsets.append(len(ids))
        return EncodedWithTypeIds(np.array(ids, np.uint32), np.array(offsets, np.int64), np.array(types, np.uint32))

    def encode(
        self,
        text: Text,
        *,
        pair: Text | None = None,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
        threads: int | None = 1,
    ) -> npt.NDArray[np.uint32]:
        check_threads(threads)
        if isinstance(text, tuple):
            raise wrong_type(text, None)
        item = text if pair is None else (text, pair)
        return self._encode_all([(None, item)], add_special_tokens, special, errors).ids

    def encode_batch(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> Encoded:
        options: dict[str, Any] = {"add_special_tokens": add_special_tokens, "special": special, "errors": errors}
        return Encoded(*self.encode_batch_with_type_ids(texts, threads, **options)[:2])

    def encode_batch_with_type_ids(
        self,
        texts: Iterable[Text | tuple[Text, Text]],
        threads: int | None = None,
        *,
        add_special_tokens: bool = False,
        special: Special = None,
        errors: Errors = "strict",
    ) -> EncodedWithTypeIds:
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
            return Encoded(*self._encode_all([(None, whole)], add_special_tokens, special, errors)[:2])
        if not separator:
            raise ValueError("separator must not be empty (None: no separator)")
        parts = whole.split(separator)
        if not parts[-1]:
            parts.pop()
        try:
            return Encoded(*self._encode_all(enumerate(parts), add_special_tokens, special, errors)[:2])
        except (InvalidUtf8Error, SpecialTokenError) as error:
            before = sum(len(part) + len(separator) for part in parts[: error.index])
            raise error.moved(before) from None

    def count(
        self, text: Text, *, add_special_tokens: bool = False, special: Special = None, errors: Errors = "strict"
    ) -> int:
        return len(self.encode(text, add_special_tokens=add_special_tokens, special=special, errors=errors))

    def decode(self, ids: Ids, skip_special_tokens: bool = False) -> str:
        return self.decoder.decode(ids, skip_special_tokens)

    def decode_batch(self, ids: Iterable[Ids], skip_special_tokens: bool = False) -> list[str]:
        return self.decoder.decode_batch(ids, skip_special_tokens)

    def decode_bytes(self, ids: Ids, skip_special_tokens: bool = False) -> bytes:
        return self.decoder.decode_bytes(ids, skip_special_tokens)

    def token_bytes(self, id: int, /) -> bytes | None:
        return self.bytes_of.get(id)

    def token_id(self, token: str | bytes, /) -> int | None:
        if isinstance(token, str):
            return self.id_of.get(as_str(token, "strict", False).encode())
        return self.id_of.get(as_bytes(token))


class _Split:
    """A step that cuts.

    swapped: a character that changes places with the space for this step, or "". derived: the compiler's own, to which ids
    owe nothing; only `spans` shows where it cuts.
    """

    def __init__(self, splitter: Splitter, swapped: str, derived: bool) -> None:
        self.splitter = splitter
        self.swap = {ord(" "): swapped, ord(swapped): " "} if swapped else None
        self.derived = derived

    def spans(self, piece: str) -> Spans:
        return self.splitter.spans(piece.translate(self.swap) if self.swap else piece)


class _Metaspace:
    """The Metaspace pre-tokenizer: spaces become its mark, or (respelled) marks become spaces, and one is put before a piece
    that does not begin with one."""

    def __init__(self, mark: str, scheme: str, respelled: bool) -> None:
        self.old, self.new = (mark, " ") if respelled else (" ", mark)
        self.scheme = scheme

    def replaced(self, piece: str, at_start: bool) -> str:
        piece = piece.replace(self.old, self.new)
        prepends = self.scheme == "always" or (self.scheme == "first" and at_start)
        return self.new + piece if prepends and not piece.startswith(self.new) else piece


def _prefix_space(piece: str) -> list[str]:
    """ByteLevel's add_prefix_space."""
    return [piece if piece.startswith(" ") else " " + piece]


def _piece_steps(
    manifest: Manifest, data: DefinitionData
) -> tuple[list[PieceStep | _Metaspace | _Split], list[Splitter]]:
    """Steps on text, and after them those on characters that stand for bytes."""
    patterns = iter(data.patterns)
    steps: list[PieceStep | _Metaspace | _Split] = []
    byte_steps: list[Splitter] = []
    for step in manifest["pre_tokenizer"]:
        match step["kind"]:
            case "Split":
                splitter = Splitter(next(patterns), step["behavior"], step["invert"])
                steps.append(_Split(splitter, step["swapped"], step["derived"]))
            case "Metaspace":
                steps.append(_Metaspace(step["replacement"], step["prepend_scheme"], step["respelled"]))
            case "ByteSplit":
                byte_steps.append(Splitter(next(patterns), step["behavior"], step["invert"]))
            case "ByteLevel":
                if step["add_prefix_space"]:
                    steps.append(_prefix_space)
            case kind:
                raise ValueError(f"pre-tokenizer step {kind!r} is unknown to this gigatok_runtime")
    return steps, byte_steps


Encoder = BytePairEncoder | CharacterPairEncoder | WordPieceEncoder | UnigramEncoder


def _encoder(manifest: Manifest, data: DefinitionData) -> Encoder:
    model = manifest["model"]
    if model["kind"] == "Unigram":
        return UnigramEncoder(
            data.tokens,
            data.scores.tolist(),
            model["unk_score"],
            model["unk_id"],
            data.byte_ids.tolist(),
            model["engine"],
            model["space"].encode(),
        )
    if model["kind"] == "WordPiece":
        return WordPieceEncoder(data.tokens, model["prefix"], model["unk_id"], model["max_characters"])
    if data.hidden:
        return CharacterPairEncoder(
            data.tokens, data.merges, data.ranks, data.byte_ids, model["unk_id"], model["fuse_unk"], data.hidden
        )
    return BytePairEncoder(
        data.tokens,
        data.merges,
        data.ranks,
        data.byte_ids,
        manifest["ignore_merges"],
        characters=model["atoms"] == "characters",
        unk_id=model["unk_id"],
        fuse_unk=model["fuse_unk"],
        affixes=data.affixes,
        marks=data.marks,
    )
