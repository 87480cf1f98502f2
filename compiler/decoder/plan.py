"""plan_decoder: a decoder and the spelling of every id -> the tables of templates/decode.h.

A chain of decoder steps turns a list of tokens into a text. As long as a step looks at one token at a time, and at whether
it is the first or the last of all, the step can be carried out here, once for every id: what is left for run time is to
join. So the chain is run on all ids in four places (in the middle, first, last, alone) until a step joins tokens:

- ByteLevel and Fuse join. What comes after them is the text as a whole; a Strip of its front can be done there.
- ByteFallback joins runs of byte tokens. They are marked, and the kernel looks at each run.
- CTC leaves out a token that is the one before it again. Tokens get a class; equal neighbours are dropped.
- No decoder at all joins with spaces: a space before every token but the first.
- SentencePiece is no chain: its texts are what the definition says, its runs of byte pieces are looked at character by
  character, and the mark of the tokens that begin a text is stepped over.

A chain that is of no such form runs in plain Python (`gigatok_runtime.decoding`), which is also what all tables are checked
against.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import DecoderStep, SentencePieceDecoding
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_runtime.decoding import alphabet_bytes, byte_of, decoder_step
from gigatok_runtime.manifest import DecoderEntry
from gigatok_runtime.sentencepiece import BYTE as BYTE_PIECE
from gigatok_runtime.sentencepiece import MARKED

NOT_ASCII, NOT_WHOLE, ABOVE_FF, ABOVE_FFFF, GAP, HIDDEN, BYTE, LONG = (1 << bit for bit in range(8))
INLINE = 14  # bytes of text in an entry

_POSITIONS = ("middle", "first", "last", "only")  # of a token among all
_STRIPS: Final = ("none", "first", "every")  # GT_DECODE_MARKS counts them

Words = list[str | None]


@dataclass(frozen=True, slots=True)
class DecodePlan:
    """engine: "native" with `tables`, or "python". reason: why not native. positions: the first or last token differs.

    marks: which tokens lose their mark at the beginning of a text, as SentencePieceDecoding.strip.
    """

    engine: str
    reason: str
    tables: TableSet
    positions: bool = False
    byte_fallback: bool = False
    lossy: bool = False
    marks: str = "none"

    def __str__(self) -> str:
        if self.engine == "python":
            return f"decoder: plain Python, because {self.reason}"
        traits = [
            "texts of the first or last token differ" if self.positions else "",
            "runs of byte tokens" if self.byte_fallback else "",
            "bytes that need not be UTF-8" if self.lossy else "",
            {"none": "", "first": "the first mark dropped", "every": "marks at the beginning dropped"}[self.marks],
        ]
        return f"decoder: native, {self.tables.bytes:,} bytes of tables; {', '.join(filter(None, traits)) or 'whole characters'}"


class _NotNative(Exception):
    """The chain has no tables; the message says why."""


class _Chain:
    """The spelling of every id in each place, as far as the chain has been run."""

    def __init__(self, names: Sequence[str | None]) -> None:
        self.words: dict[str, Words] = {position: list(names) for position in _POSITIONS}
        self.classes: Words | None = None  # what CTC compares
        self.byte_fallback = False
        self.byte_values: list[int | None] = [None] * len(names)  # of byte tokens, by id
        self.sentencepiece: SentencePieceDecoding | None = None
        self.data: dict[str, list[bytes | None]] | None = None  # once joined
        self.lossy = False
        self.trim: tuple[int, int] = (0, 0)  # how many of which byte

    def same_everywhere(self) -> bool:
        middle = self.words["middle"]
        return all(words == middle for words in self.words.values())

    def join(self, to_bytes: bool = False) -> None:
        """From strings to bytes. to_bytes: by the byte-level alphabet."""
        make = alphabet_bytes if to_bytes else str.encode
        done: dict[int, list[bytes | None]] = {}
        self.data = {}
        for position, words in self.words.items():
            if id(words) not in done:
                done[id(words)] = [None if word is None else make(word) for word in words]
            self.data[position] = done[id(words)]
        self.lossy = to_bytes


def plan_decoder(
    steps: Sequence[DecoderStep] | None,
    entries: Sequence[DecoderEntry] | None,
    names: Sequence[str | bytes | None],
    hidden: Sequence[int],
    sentencepiece: SentencePieceDecoding | None = None,
) -> DecodePlan:
    """The plan.

    Args:
        steps: the decoder, None where the definition has none.
        entries: the same for the runtime (`decoder_entries`).
        names: what decoders see of every id, None for gaps; bytes for a rank file.
        hidden: ids that are left out when special tokens are to be skipped.
        sentencepiece: how a `.model` decodes, whatever the other arguments say.

    Raises:
        DefinitionError: a Strip on which the reference crashes.
    """
    names = names or [None]  # C has no empty arrays
    try:
        chain = _run(steps, entries, names) if sentencepiece is None else _of_model(sentencepiece)
    except _NotNative as error:
        return DecodePlan("python", str(error), _tables(_Chain([None] * len(names)), ()))
    marks = "none" if sentencepiece is None else sentencepiece.strip
    return DecodePlan("native", "", _tables(chain, hidden), _differs(chain), chain.byte_fallback, chain.lossy, marks)


def token_names(
    contents: Sequence[str | None], added: Sequence[tuple[int, str]], tokens: Sequence[bytes | None], as_bytes: bool
) -> list[str | bytes | None]:
    """What decoders see of every id: entries of the vocabulary, and added tokens (id, name) in their places."""
    names: list[str | bytes | None] = list(tokens if as_bytes else contents)
    names += [None] * (max((number for number, _ in added), default=-1) + 1 - len(names))
    for number, name in added:
        names[number] = name.encode() if as_bytes else name
    return names


def _run(
    steps: Sequence[DecoderStep] | None,
    entries: Sequence[DecoderEntry] | None,
    names: Sequence[str | bytes | None],
) -> _Chain:
    if steps is not None and [step.kind for step in steps] == ["Bytes"]:
        chain = _Chain([None] * len(names))
        data = [name.encode() if isinstance(name, str) else name for name in names]
        chain.data = dict.fromkeys(_POSITIONS, data)
        chain.lossy = True
        return chain
    chain = _Chain([name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in names])
    for step, entry in zip(steps or (), entries or (), strict=True):
        if chain.data is None:
            _on_tokens(chain, step, entry)
        else:
            _on_text(chain, step)
    if chain.data is None:
        if steps is None:
            spaced: Words = [None if word is None else f" {word}" for word in chain.words["middle"]]
            chain.words["middle"] = chain.words["last"] = spaced
        chain.join()
    return chain


def _of_model(decoding: SentencePieceDecoding) -> _Chain:
    """How a SentencePiece model decodes. An id that shows nothing is a text without bytes and no gap: it ends a run.

    An ASCII byte is a character by itself, and what is left before it is no part of one, so it need not be a byte token. Line
    feeds are such pieces in most models.
    """
    chain = _Chain([None] * len(decoding.shown))
    chain.sentencepiece = decoding
    shown: list[bytes | None] = [*decoding.shown]
    chain.data = dict.fromkeys(_POSITIONS, shown)
    chain.byte_values = [
        text[0] if kind == BYTE_PIECE and not text.isascii() else None
        for text, kind in zip(decoding.shown, decoding.kinds, strict=True)
    ]
    chain.byte_fallback = any(value is not None for value in chain.byte_values)
    return chain


def _on_tokens(chain: _Chain, step: DecoderStep, entry: DecoderEntry) -> None:
    """A step on tokens that are not joined yet."""
    if step.kind in ("ByteLevel", "Fuse"):
        if step.kind == "ByteLevel" and chain.byte_fallback:
            raise _NotNative("ByteLevel comes after ByteFallback")
        chain.join(to_bytes=step.kind == "ByteLevel")
    elif chain.byte_fallback:
        if step.kind == "Strip" and step.options["stop"]:
            raise _crash(step, "some runs of byte tokens")
        raise _NotNative(f"{step.kind} comes after ByteFallback and before the tokens are joined")
    elif step.kind == "ByteFallback":
        chain.byte_fallback = True
        chain.byte_values = [_byte(word) for word in chain.words["middle"]]
        for words in chain.words.values():
            if words is not chain.words["middle"] and any(
                one != other and (_byte(one) is not None or _byte(other) is not None)
                for one, other in zip(words, chain.words["middle"], strict=True)
            ):
                raise _NotNative("whether a token is a byte token depends on its place")
    elif step.kind == "CTC":
        if chain.classes is not None or not chain.same_everywhere():
            raise _NotNative("CTC comes after a step that tells the first or the last token from others")
        chain.classes = chain.words["middle"]
        _everywhere(chain, entry)
    else:
        if step.kind == "Strip":
            _refuse_crashes(step, chain)
        _everywhere(chain, entry)
        if chain.classes is not None and not chain.same_everywhere():
            raise _NotNative(f"{step.kind} counts tokens after CTC has left some out")


def _byte(word: str | None) -> int | None:
    return None if word is None else byte_of(word)


def _everywhere(chain: _Chain, entry: DecoderEntry) -> None:
    """One step on the words of every place."""
    place_matters = entry["kind"] in ("Metaspace", "WordPiece", "BPEDecoder")
    done: dict[tuple[int, str], Words] = {}
    after: dict[str, Words] = {}
    for position, words in chain.words.items():
        key = (id(words), position if place_matters else "")
        if key not in done:
            done[key] = _at_position(entry, words, position) if place_matters else _alone(entry, words)
        after[position] = done[key]
    chain.words = after


def _alone(entry: DecoderEntry, words: Words) -> Words:
    """A step on every word by itself. CTC drops a token of which nothing is left."""
    run = decoder_step(entry)
    return [None if word is None else "".join(run([word], "replace")) for word in words]


def _at_position(entry: DecoderEntry, words: Words, position: str) -> Words:
    """A step on every word with another token before it, and one after it, or not."""
    run = decoder_step(entry)
    before = [] if position in ("first", "only") else [""]
    after = [] if position in ("last", "only") else [""]
    return [None if word is None else run([*before, word, *after], "replace")[len(before)] for word in words]


def _on_text(chain: _Chain, step: DecoderStep) -> None:
    """A step on the one text that is left."""
    if step.kind == "Fuse":
        return
    if step.kind != "Strip":
        raise _NotNative(f"{step.kind} comes after the tokens are joined")
    if step.options["stop"]:
        raise _crash(step, "an empty text")
    if not step.options["start"]:
        return
    if not step.options["content"].isascii():
        raise _NotNative(f"Strip takes off {step.options['content']!r}, which is not ASCII")
    if chain.trim[0] or chain.classes is not None:
        raise _NotNative("there is a second Strip, or one after CTC")
    chain.trim = (step.options["start"], ord(step.options["content"]))


def _refuse_crashes(step: DecoderStep, chain: _Chain) -> None:
    """The reference indexes before the start of a token that `stop` reaches beyond, and cuts out less than nothing of one
    that `start` and `stop` both take."""
    content, start, stop = (step.options[key] for key in ("content", "start", "stop"))
    if not stop:
        return
    for words in {id(words): words for words in chain.words.values()}.values():
        for word in words:
            if word is None:
                continue
            end = len(word) - len(word.rstrip(content))
            begin = len(word) - len(word.lstrip(content))
            if (end == len(word) and len(word) < stop) or min(begin, start) + min(end, stop) > len(word):
                raise _crash(step, f"the token {word!r}")


def _crash(step: DecoderStep, what: str) -> DefinitionError:
    return DefinitionError(
        f"the reference crashes on {what} with this Strip", where=f"{step.where}.stop", hint="set stop to 0"
    )


def _differs(chain: _Chain) -> bool:
    assert chain.data is not None
    return any(data != chain.data["middle"] for data in chain.data.values())


def _tables(chain: _Chain, hidden: Sequence[int]) -> TableSet:
    if chain.data is None:
        chain.join()
    assert chain.data is not None
    byte_values = chain.byte_values
    is_hidden = set(hidden)
    blob = bytearray()
    size = len(chain.data["middle"])
    flags = [
        (HIDDEN if number in is_hidden else 0) | (0 if value is None else BYTE)
        for number, value in enumerate(byte_values)
    ]
    middle = [
        data if value is None or data is None else bytes([value])
        for data, value in zip(chain.data["middle"], byte_values, strict=True)
    ]
    entries = _entries([*middle, None], [*flags, 0], blob)
    tables = [Table("decode_entries", entries, "two words an id: its text, flags, length; see decode.h")]
    constants = {
        "decode_size": size,
        "decode_positions": 0,
        "decode_byte_fallback": int(chain.byte_fallback),
        "decode_byte_each": int(chain.sentencepiece is not None),
        "decode_lossy": int(chain.lossy),
        "decode_ctc": int(chain.classes is not None),
        "decode_trim": chain.trim[0],
        "decode_trim_byte": chain.trim[1],
        "decode_marks": 0 if chain.sentencepiece is None else _STRIPS.index(chain.sentencepiece.strip),
    }
    if _differs(chain):
        constants["decode_positions"] = 1
        for position in ("first", "last", "only"):
            data = chain.data[position]
            ids = [number for number in range(size) if data[number] != chain.data["middle"][number]]
            tables += [
                Table(f"decode_{position}_ids", np.array(ids, np.uint32), f"ids whose text differs: {position} token"),
                Table(
                    f"decode_{position}_entries",
                    _entries([data[number] for number in ids], [flags[number] for number in ids], blob),
                    "their entries",
                ),
            ]
            constants[f"decode_{position}_count"] = len(ids)
    if chain.classes is not None:
        numbers: dict[str | None, int] = {}
        classes = [numbers.setdefault(word, len(numbers)) for word in chain.classes]
        tables.append(Table("decode_classes", np.array([*classes, 0], np.uint32), "tokens with equal ones are equal"))
    if constants["decode_marks"]:
        assert chain.sentencepiece is not None
        marked = np.packbits(chain.sentencepiece.kinds == MARKED, bitorder="little")
        tables.append(Table("decode_marked", marked, "a bit an id: its text begins with a mark"))
    if len(blob) >= 1 << 32:
        raise DefinitionError(f"the tokens take {len(blob)} bytes together, over 4 GiB", where="model.vocab")
    tables.append(Table("decode_blob", np.frombuffer(bytes(blob), np.uint8), f"texts of over {INLINE} bytes"))
    return TableSet(tuple(tables), constants)


def _entries(texts: Sequence[bytes | None], flags: Sequence[int], blob: bytearray) -> npt.NDArray[np.uint64]:
    """(2 n,) words of the entries; longer texts go to the end of `blob`."""
    found = bytearray(16 * len(texts))
    for number, (text, flag) in enumerate(zip(texts, flags, strict=True)):
        at = 16 * number
        if text is None:
            found[at + 14] = flag | GAP
            continue
        flag |= _kind(text)
        if len(text) <= INLINE:
            found[at : at + len(text)] = text
            found[at + 14], found[at + 15] = flag, len(text)
            continue
        found[at : at + 4] = len(blob).to_bytes(4, "little")
        found[at + 4 : at + 8] = len(text).to_bytes(4, "little")
        found[at + 14] = flag | LONG
        blob += text
    return np.frombuffer(bytes(found), "<u8").astype(np.uint64)


def _kind(text: bytes) -> int:
    """Flags of what text it is. Of a part of a character only its first byte tells."""
    if text.isascii():
        return 0
    try:
        text.decode()
        flag = NOT_ASCII
    except UnicodeDecodeError:
        flag = NOT_ASCII | NOT_WHOLE
    highest = max(text)
    if highest >= 0xF0:
        flag |= ABOVE_FF | ABOVE_FFFF
    elif highest >= 0xC4:
        flag |= ABOVE_FF
    return flag
