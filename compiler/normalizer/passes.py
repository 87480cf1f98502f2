"""Normalizer steps -> passes: as few as may be, since each looks at the whole text.

Neighbouring steps that take each character by itself become one map; a prefix joins the map next to it. So does a decomposition, if the
map after it drops the marks that it would put in order: BERT's normalizer is one map.
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
    FusedPass,
    LiteralPass,
    NormalizerPass,
    PlannedPass,
    PrefixPass,
    RegexPass,
    RunPass,
    StripPass,
)
from gigatok_compile.ir.pattern import Literal, Quantified
from gigatok_compile.normalizer.charsmap import Charsmap
from gigatok_compile.normalizer.data import form_arrays
from gigatok_compile.pattern.parse import parse_pattern
from gigatok_compile.unicode.components import component_ranges, lowercase_map
from gigatok_runtime.normalization_form import NormalizationForm

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


_MOST_KEPT = 256
"""Marks that a map may keep and yet be joined to the decomposition before it. BERT's keeps 83 of 810, of scripts younger than its set."""


def plan_passes(steps: Sequence[NormalizerStep]) -> tuple[PlannedPass, ...]:
    """The passes in order; none for a chain that changes nothing."""
    planned: list[PlannedPass] = []
    for step in steps:
        for work in _passes_of(step):
            planned.append(PlannedPass((step.kind,), work))
            while len(planned) > 1 and (joined := _joined(planned[-2].work, planned[-1].work)) is not None:
                last, before = planned.pop().steps, planned.pop().steps
                planned.append(PlannedPass((*before, *last[before[-1] == last[0] :]), joined))
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
            yield _regex(options["regex"], options["content"], f"{step.where}.pattern.Regex")
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


def _regex(pattern: str, content: str, where: str) -> RunPass | RegexPass:
    """Raises PatternError: the pattern does not parse."""
    match parse_pattern(pattern, "oniguruma", where).root:
        case Quantified(item=Literal(code_point=c), low=low, high=None, mode="greedy") if c < 0x80 and low > 0:
            return RunPass(chr(c), low, content)
    return RegexPass(pattern, content, where)


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
        case FormPass(), CharacterPass() if not second.prefix:
            return _fused(first, second)
        case CharacterPass(), FusedPass() if not first.prefix:
            mapping = compose_maps(first.mapping, second.mapping)
            ordered = {c for c, text in first.mapping.items() if any(ord(char) in second.ordered for char in text)}
            ordered |= {c for c in second.ordered if c not in first.mapping}
            return FusedPass(mapping, frozenset(ordered), (first, *second.passes))
        case FusedPass(), CharacterPass() if not second.prefix:
            *before, last = first.passes
            assert isinstance(last, CharacterPass)
            both = CharacterPass(compose_maps(last.mapping, second.mapping))
            return FusedPass(compose_maps(first.mapping, second.mapping), first.ordered, (*before, both))
    return None


def _fused(form: FormPass, then: CharacterPass) -> CharacterPass | FusedPass | None:
    """A decomposition and a map as one map, if the map drops nearly all marks. What normalization does beyond taking characters apart is
    to put neighbouring marks in order, and of that nothing is seen where at most one of them stays."""
    if form.form not in ("NFD", "NFKD"):
        return None
    normalize = NormalizationForm(form_arrays(compatibility="K" in form.form), form.form)
    kept = {ord(mark) for mark in normalize.classes if then.mapping.get(ord(mark), mark)}
    if len(kept) > _MOST_KEPT:
        return None
    apart = {ord(char): normalize(char) for char in sorted(normalize.unsafe)}
    ordered = frozenset(c for c, text in apart.items() if any(ord(char) in kept for char in text))
    mapping = compose_maps(apart, then.mapping)
    return FusedPass(mapping, ordered, (form, then)) if ordered else CharacterPass(mapping)


def compose_maps(first: Mapping[int, str], second: Mapping[int, str]) -> dict[int, str]:
    """The map that does `second` after `first`; characters that stay are left out."""
    table = dict(second)
    keys: Iterable[int] = {**second, **first}
    both = {c: first.get(c, chr(c)).translate(table) for c in keys}
    return {c: text for c, text in both.items() if text != chr(c)}
