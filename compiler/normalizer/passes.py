"""Normalizer steps -> passes: as few as may be, since each looks at the whole text.

Neighbouring steps that take each character by itself become one map; a prefix joins the map next to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.ir.normalizer import (
    BytePass,
    CharacterPass,
    ClusterPass,
    FormPass,
    LiteralPass,
    NormalizerPass,
    PlannedPass,
    PrefixPass,
    RegexPass,
    StripPass,
)
from gigatok_compile.normalizer.charsmap import Charsmap
from gigatok_compile.unicode.components import component_ranges, lowercase_map

_BLANKS = (
    (9, 13),
    (32, 32),
    (133, 133),
    (160, 160),
    (5760, 5760),
    (8192, 8202),
    (8232, 8233),
    (8239, 8239),
    (8287, 8287),
)
"""What gt_blank of templates/characters.h has, but for U+3000."""


def plan_passes(steps: Sequence[NormalizerStep]) -> tuple[PlannedPass, ...]:
    """The passes in order; none for a chain that changes nothing."""
    planned: list[PlannedPass] = []
    for step in steps:
        for work in _passes_of(step):
            name = step.kind
            joined = _joined(planned[-1].work, work) if planned else None
            if joined is None:
                planned.append(PlannedPass((name,), work))
            else:
                names = planned[-1].steps
                planned[-1] = PlannedPass(names if names[-1] == name else (*names, name), joined)
    return tuple(planned)


def _passes_of(step: NormalizerStep) -> Iterator[NormalizerPass]:
    options = step.options
    match step.kind:
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            yield FormPass(step.kind)
        case "Lowercase":
            yield CharacterPass(lowercase_map())
        case "StripAccents":
            yield CharacterPass(_set("combining_mark", ""))
        case "Nmt":
            yield CharacterPass(_set("nmt_space", " ") | _set("nmt_dropped", ""))
        case "BertNormalizer":
            yield from _bert(options)
        case "ByteLevel":
            yield BytePass()
        case "Strip":
            if options["strip_left"] or options["strip_right"]:
                assert component_ranges("whitespace") == (*_BLANKS, (0x3000, 0x3000))
                yield StripPass(options["strip_left"], options["strip_right"])
        case "Prepend":
            if options["prepend"]:
                yield PrefixPass(options["prepend"])
        case "Precompiled":
            charsmap: Charsmap = options["precompiled_charsmap"]
            if charsmap.clusters or charsmap.characters:
                yield ClusterPass(charsmap.characters, charsmap.clusters)
        case "Replace" if "regex" in options:
            yield RegexPass(options["regex"], options["content"], f"{step.where}.pattern.Regex")
        case "Replace":
            yield from _literal(options["string"], options["content"], step.where)
        case "SentencePiece":
            return  # a function of its own (templates/sentencepiece.h)
        case kind:
            raise ValueError(kind)


def _literal(pattern: str, content: str, where: str) -> Iterator[NormalizerPass]:
    if not pattern:  # matches between all characters, as the empty regex does
        yield RegexPass("", content, f"{where}.pattern.String")
    elif pattern != content:
        yield CharacterPass({ord(pattern): content}) if len(pattern) == 1 else LiteralPass(pattern, content)


def _bert(options: Mapping[str, bool]) -> Iterator[NormalizerPass]:
    """In this order; stripping accents leaves the text decomposed."""
    if options["clean_text"]:
        yield CharacterPass(_set("bert_space", " ") | _set("bert_dropped", ""))
    if options["handle_chinese_chars"]:
        yield CharacterPass({c: f" {chr(c)} " for c in _set("bert_chinese", "")})
    if options["strip_accents"]:
        yield FormPass("NFD")
        yield CharacterPass(_set("bert_mark", ""))
    if options["lowercase"]:
        yield CharacterPass(lowercase_map())


def _set(name: str, value: str) -> dict[int, str]:
    return {c: value for low, high in component_ranges(name) for c in range(low, high + 1)}


def _joined(first: NormalizerPass, second: NormalizerPass) -> NormalizerPass | None:
    """One pass that does what both do, or None."""
    match first, second:
        case CharacterPass(), CharacterPass():
            if first.prefix and not first.prefix_alone and not all(second.mapping.values()):
                return None  # what is left of the text may be nothing now, and the prefix stands before it
            return CharacterPass(
                compose_maps(first.mapping, second.mapping), first.prefix.translate(second.mapping), first.prefix_alone
            )
        case PrefixPass(), CharacterPass():
            return replace(second, prefix=first.prefix.translate(second.mapping), prefix_alone=True)
        case CharacterPass(), PrefixPass():
            return replace(
                first, prefix=second.prefix + first.prefix, prefix_alone=bool(first.prefix and first.prefix_alone)
            )
        case PrefixPass(), PrefixPass():
            return PrefixPass(second.prefix + first.prefix)
        case FormPass(), FormPass() if first == second:
            return first
    return None


def compose_maps(first: Mapping[int, str], second: Mapping[int, str]) -> dict[int, str]:
    """The map that does `second` after `first`; characters that stay are left out."""
    table = dict(second)
    keys: Iterable[int] = {**second, **first}
    both = {c: first.get(c, chr(c)).translate(table) for c in keys}
    return {c: text for c, text in both.items() if text != chr(c)}
