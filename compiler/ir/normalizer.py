"""NormalizerPlan: the passes over a text that a chain of normalizers was compiled to."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FormPass:
    """A normalization form: "NFC", "NFD", "NFKC" or "NFKD"."""

    form: str


@dataclass(frozen=True, slots=True)
class CharacterPass:
    """Every character by itself: code point -> text, those that stay left out. `prefix` goes before a text that is not empty;
    it stands even if every character goes where `prefix_alone`, else only before something."""

    mapping: dict[int, str] = field(repr=False)
    prefix: str = ""
    prefix_alone: bool = True


@dataclass(frozen=True, slots=True)
class BytePass:
    """Every byte as its character of the byte-level alphabet."""


@dataclass(frozen=True, slots=True)
class LiteralPass:
    """Text of several characters for text, from left to right."""

    pattern: str
    content: str


@dataclass(frozen=True, slots=True)
class RegexPass:
    """The matches of a regular expression (Oniguruma) for text. `where`: its field."""

    pattern: str
    content: str
    where: str


@dataclass(frozen=True, slots=True)
class RunPass:
    """An ASCII character `least` times or more, as many as there are, for text."""

    character: str
    least: int
    content: str


@dataclass(frozen=True, slots=True)
class ClusterPass:
    """Grapheme clusters and characters by the maps of a charsmap: code point -> text, and for clusters of several characters
    and less than six bytes, the bytes that they begin with -> text."""

    characters: dict[int, str] = field(repr=False)
    clusters: dict[bytes, str] = field(repr=False)


@dataclass(frozen=True, slots=True)
class PrefixPass:
    """Text before a text that is not empty."""

    prefix: str


@dataclass(frozen=True, slots=True)
class StripPass:
    """No blanks at the ends."""

    left: bool
    right: bool


@dataclass(frozen=True, slots=True)
class FusedPass:
    """Passes that are one map of characters together, where no marks change places: code point -> text, those that stay left out. A
    text that holds one of `ordered` goes through the `passes`."""

    mapping: dict[int, str] = field(repr=False)
    ordered: frozenset[int] = field(repr=False)
    passes: tuple[FormPass | CharacterPass, ...]


NormalizerPass = (
    FormPass
    | CharacterPass
    | FusedPass
    | BytePass
    | LiteralPass
    | RunPass
    | RegexPass
    | ClusterPass
    | PrefixPass
    | StripPass
)


@dataclass(frozen=True, slots=True)
class PlannedPass:
    """A pass and the steps that it carries out, for people: "Lowercase, Nmt"."""

    steps: tuple[str, ...]
    work: NormalizerPass
