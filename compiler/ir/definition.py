"""TokenizerDefinition: what a definition file says, with every default filled in and every id resolved."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.unigram import UnigramModel

Dialect = Literal["oniguruma", "fancy"]
Behavior = Literal["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"]
PrependScheme = Literal["first", "never", "always"]
CONTINUES, ENDS = 1, 2  # bits of BpeModel.affixes


@dataclass(frozen=True, slots=True)
class NormalizerStep:
    """One normalizer in order. `kind` is the `type` of tokenizer.json ("NFC", ...); `options` its other fields."""

    kind: str
    where: str  # field path, for errors
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = {k: f"{len(v)} bytes" if isinstance(v, bytes) else v for k, v in self.options.items()}
        return f"{self.kind} {shown or ''}".rstrip()


@dataclass(frozen=True, slots=True)
class SplitStep:
    """Cut every piece at the matches of a pattern.

    `is_regex` False means `pattern` is literal text. A pattern that is not the user's may name sets of components,
    `\\p{hf:numeric}`. `component` is what the file says in its place, for messages: "Digits(individual_digits=true)";
    "" for a named grammar. `on_bytes`: after the byte map, so the pattern reads a character of the byte-level alphabet for
    each byte, and can cut characters in two.
    """

    pattern: str
    dialect: Dialect
    where: str
    behavior: Behavior = "Isolated"
    invert: bool = False
    is_regex: bool = True
    component: str = ""
    on_bytes: bool = False
    swapped: str = ""
    derived: bool = False


@dataclass(frozen=True, slots=True)
class MetaspaceStep:
    """In every piece: spaces become `replacement`, which is also put before a piece that does not begin with it.

    prepend_scheme: "always", "never", or "first": only before a piece that begins where the original text does.
    split: a cut in front of every mark, which stands as a SplitStep before this step already. So every piece but the first
        of those that were one begins with a mark, and prepending piece by piece does what prepending before the cut did.
    respelled: marks become spaces instead (definition/respell.py); then the cut stands behind this step, unless it is
        by_piece: steps before it have cut the text, it is the last step, and the model does it to every piece.
    """

    replacement: str  # one character
    prepend_scheme: PrependScheme
    split: bool
    where: str
    respelled: bool = False
    by_piece: bool = False


@dataclass(frozen=True, slots=True)
class ByteLevelStep:
    """The byte-to-character map of every byte-level chain; only SplitSteps with `on_bytes` see what it makes.

    With `add_prefix_space` a piece that does not begin with a space gets one. `use_regex` has become a SplitStep already.
    """

    add_prefix_space: bool
    where: str


PreTokenizerStep = SplitStep | MetaspaceStep | ByteLevelStep


@dataclass(frozen=True, slots=True)
class AddedToken:
    """An added token with its *resolved* id (the id in the file is advisory, see the reference)."""

    id: int
    content: str
    single_word: bool = False
    lstrip: bool = False
    rstrip: bool = False
    normalized: bool = False
    special: bool = True
    matched: bool = True  # False: it has an id and a name, and no text ever becomes it (control tokens)


@dataclass(frozen=True, slots=True)
class HiddenSymbol:
    """A symbol of BPE over characters that merges like any other and is never given out.

    id: its number in merges, from len(tokens) upwards for characters that are no entry. text: what it is made of.
    ids: what stands for it after merging.
    """

    id: int
    text: bytes
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class BpeModel:
    """A BPE vocabulary, over bytes or over characters.

    tokens: the bytes of text that every id stands for (None for gaps, for added tokens that are not model entries, and for
        entries that no text can become); index = id. Where the definition replaces spaces by a mark, the mark is written as a
        space here (see definition/respell.py).
    merges: (m, 3) int32 rows (left id, right id, merged id), best first; no pair occurs twice.
    ranks: (m,) int32, the merge rank of each row (0 is best). Rows may share a rank: in a rank file
        every pair whose joined bytes are an entry merges at that entry's rank, and in SentencePiece even different entries
        may have one score. Among equals the leftmost pair merges first.
    byte_ids: (256,) int32, the id of each single byte, -1 where the vocabulary has none. Of characters: the entries `<0xNN>`
        that a character without an entry falls back to; all -1 without byte_fallback.
    ignore_merges: a whole pre-token that is an entry gets its id without merging (always so for rank files).
    atoms: what merging begins with: "bytes", or "characters" that are entries.
    unk_id: the id of what is no atom and falls back to nothing; -1 where that is dropped from the text.
    fuse_unk: neighbours of that kind are one id.
    affixes: (n,) uint8 where the definition has a continuing_subword_prefix or an end_of_word_suffix, else None. CONTINUES: the
        entry was written with the prefix, so it stands anywhere but at the beginning of a pre-token; ENDS: with the suffix, so
        it stands at the end of one. `tokens` have neither. marks: which of the two the definition has, entries with them or not.
    hidden: symbols that are never given out, over characters only; no known model has any.
    """

    tokens: tuple[bytes | None, ...]
    merges: npt.NDArray[np.int32]
    ranks: npt.NDArray[np.int32]
    byte_ids: npt.NDArray[np.int32]
    ignore_merges: bool
    atoms: Literal["bytes", "characters"] = "bytes"
    unk_id: int = -1
    fuse_unk: bool = False
    affixes: npt.NDArray[np.uint8] | None = None
    marks: int = 0
    hidden: tuple[HiddenSymbol, ...] = ()

    def __str__(self) -> str:
        entries = sum(token is not None for token in self.tokens)
        return f"{entries} entries, {len(self.merges)} merges" + (
            ", whole pre-tokens first" if self.ignore_merges else ""
        )


@dataclass(frozen=True, slots=True)
class WordPieceModel:
    """A vocabulary of words and of what continues them: WordPiece, or WordLevel, where nothing continues a word.

    A pre-token is the longest entry that it begins with, then the longest entry that continues it, and so on to its end; if
    there is none anywhere, or if the pre-token has too many characters, it is unknown as a whole.

    tokens: the bytes of text that every id stands for at the beginning of a word, so `##ing` is what the word "##ing" is; None
        for gaps and for entries that no text can become; index = id.
    prefix: what an entry that continues a word begins with, which is no part of the text; b"" if every entry continues
        words too; None if none does.
    unk_id: the id of a word that is unknown.
    max_characters: of a word; a longer one is unknown. None: words of any length are looked up.
    """

    tokens: tuple[bytes | None, ...]
    prefix: bytes | None
    unk_id: int
    max_characters: int | None

    def __str__(self) -> str:
        entries = sum(token is not None for token in self.tokens)
        if self.prefix is None:
            return f"{entries} words, all others have id {self.unk_id}"
        longest = "" if self.max_characters is None else f", words of at most {self.max_characters} characters"
        return f"{entries} entries, continued by {self.prefix.decode()!r}{longest}, unknown words have id {self.unk_id}"


Model = BpeModel | WordPieceModel | UnigramModel


@dataclass(frozen=True, slots=True)
class SentencePieceDecoding:
    """How a `.model` decodes (gigatok_runtime.sentencepiece.SentencePieceDecoder).

    shown: the bytes that each id shows as, with marks as spaces: b"" for control ids, the surface of the unknown id, one byte for
        a byte piece. kinds: (n,) uint8, BYTE, MARKED (begins with a mark) or PLAIN.
    strip: of which pieces at the beginning of a text the mark is dropped.
    """

    shown: tuple[bytes, ...]
    kinds: npt.NDArray[np.uint8]
    strip: Literal["none", "first", "every"]


@dataclass(frozen=True, slots=True)
class TemplatePiece:
    """One place of a template: all ids of a text (`source` "A" or "B"), or the one id `id`; and its type id."""

    source: Literal["A", "B", ""]
    type_id: int
    id: int = 0


Template = tuple[TemplatePiece, ...]
TEXT_A = TemplatePiece("A", 0)
TEXT_B = TemplatePiece("B", 1)


@dataclass(frozen=True, slots=True)
class PostProcessor:
    """What goes around one text and around a pair of texts.

    single, pair: with add_special_tokens=True. plain_single, plain_pair: without, where there are type ids and an order of
    the two texts, and no pieces of `id`. The templates of one text hold A once, those of a pair A and B once each.
    pair and plain_pair are None, both of them, where the definition's way with a pair loses a text or crashes.
    """

    single: Template = (TEXT_A,)
    pair: Template | None = (TEXT_A, TEXT_B)
    plain_single: Template = (TEXT_A,)
    plain_pair: Template | None = (TEXT_A, TEXT_B)

    @classmethod
    def around(cls, prefix: Sequence[int] = (), suffix: Sequence[int] = ()) -> PostProcessor:
        """Ids before and after one text; nothing around a pair."""
        before, after = (tuple(TemplatePiece("", 0, number) for number in ids) for ids in (prefix, suffix))
        return cls(single=(*before, TEXT_A, *after))

    @property
    def prefix(self) -> tuple[int, ...]:
        """The ids before one text."""
        return tuple(piece.id for piece in self.single[: self._place])

    @property
    def suffix(self) -> tuple[int, ...]:
        """The ids after one text."""
        return tuple(piece.id for piece in self.single[self._place + 1 :])

    @property
    def _place(self) -> int:
        return next(place for place, piece in enumerate(self.single) if piece.source)


@dataclass(frozen=True, slots=True)
class DecoderStep:
    """One decoder in order. `kind` is the `type` of tokenizer.json ("ByteFallback", ...), or "Bytes": the bytes of
    `BpeModel.tokens` joined, as a rank file has it. `options`: its other fields; of Replace `pattern`, `is_regex`, `content`."""

    kind: str
    where: str  # field path, for errors
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TokenizerDefinition:
    """Everything a definition says. Ids equal the reference engine's (`reference`).

    contents: the model's entries as the vocabulary spells them, which is what decoders see; index = id, None for gaps.
        Empty for a rank file, whose entries are bytes.
    """

    name: str
    source_format: Literal["tokenizer.json", "tiktoken", "tekken.json", "sentencepiece"]
    reference: str  # e.g. "tokenizers 0.23.3"
    sha256: str
    normalizer: tuple[NormalizerStep, ...]
    pre_tokenizer: tuple[PreTokenizerStep, ...]
    model: Model
    added_tokens: tuple[AddedToken, ...]
    post_processor: PostProcessor
    decoder: tuple[DecoderStep, ...] | None  # None: there is none, and the reference joins tokens with spaces
    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None
    mark: str = (
        ""  # what stands for a space in the file, if its steps and entries were respelled (definition/respell.py)
    )
    warnings: tuple[str, ...] = ()
    contents: tuple[str | None, ...] = ()
    sentencepiece: SentencePieceDecoding | None = None
    roles: Mapping[str, int] = field(default_factory=dict)  # "bos", "eos", "unk", "pad", ... -> id
    settings: Mapping[str, Any] = field(
        default_factory=dict
    )  # of tokenizer_config.json: "model_max_length", "padding_side"

    @property
    def marks_in_normalizer(self) -> bool:
        """A normalizer that puts marks for spaces was respelled (not the Metaspace pre-tokenizer)."""
        return bool(self.mark) and not any(isinstance(step, MetaspaceStep) for step in self.pre_tokenizer)

    def __str__(self) -> str:
        lines = [
            f"definition {self.name} ({self.source_format}, reference {self.reference})",
            f"  sha256 {self.sha256}",
            f"  vocabulary {self.model}",
            f"  added tokens {len(self.added_tokens)}",
        ]
        lines += [f"  normalizer {step}" for step in self.normalizer]
        lines += [f"  pre-tokenizer {step}" for step in self.pre_tokenizer]
        lines.append(f"  post-processor one text: {_template_text(self.post_processor.single)}")
        lines.append(f"  post-processor pair: {_template_text(self.post_processor.pair)}")
        lines += [f"  decoder {step.kind} {step.options or ''}".rstrip() for step in self.decoder or ()]
        if self.decoder is None:
            lines.append("  decoder none: tokens are joined with spaces")
        return "\n".join(lines)


def _template_text(template: Template | None) -> str:
    if template is None:
        return "refused"
    return " ".join(f"{piece.source or piece.id}:{piece.type_id}" for piece in template)
