"""Passes of a normalizer -> their tables, and the C text that describes them to templates/passes.h."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
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
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.normalizer.character_tables import CR, ascii_shift, blanked_controls, character_tables
from gigatok_compile.normalizer.cluster_tables import cluster_tables
from gigatok_compile.normalizer.data import load_nfc_data
from gigatok_compile.normalizer.finder import FinderMasks, build_byte_finder, build_finder, format_bytes
from gigatok_compile.normalizer.matcher import compile_matcher
from gigatok_compile.normalizer.matcher_tables import matcher_fields, matcher_tables
from gigatok_compile.normalizer.tables import form_descriptor, form_flags, form_tables, nfc_leads, pair_table
from gigatok_runtime.byte_level import BYTE_TO_CHAR

FILE = "normalizer.inc.h"


@dataclass(frozen=True, slots=True)
class NormalizerCode:
    """tables: of all passes, and normalizer.inc.h, which describes them. lines: what each pass is and looks for, for people."""

    tables: TableSet
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Pass:
    """run: the C function. c_type: of its descriptor, whose initializer is `fields`. about: for people."""

    tables: TableSet
    run: str
    c_type: str
    fields: str
    about: str
    headers: tuple[str, ...] = ("characters.h",)


def compile_normalizer(passes: Sequence[PlannedPass]) -> NormalizerCode:
    """Everything the passes need in C.

    Raises:
        Unsupported: a Replace whose regex is not regular. PatternError: it does not parse.
        CompileError: a map or an automaton with too many texts or states.
    """
    rows_of_passes = list(_rows(passes))
    tables = TableSet(constants={"pass_count": len(rows_of_passes)})
    texts: list[str] = []
    rows: list[str] = []
    lines: list[str] = []
    headers: list[str] = []
    shared: set[str] = set()
    for number, (planned, about) in enumerate(rows_of_passes):
        steps = ", ".join(planned.steps)
        work = planned.work
        if isinstance(work, StripPass):
            rows.append(f"{{NULL, NULL, {work.left | work.right << 1}, 0}}")
            lines.append(f"{steps}: blanks at the ends are left out, nothing is copied")
            continue
        made = _compile(work, f"pass{number}")
        for table in made.tables.tables:  # two passes may use the same form
            if table.name not in shared:
                shared.add(table.name)
                tables |= TableSet((table,))
        tables |= TableSet(constants={k: v for k, v in made.tables.constants.items() if k not in tables.constants})
        texts.append(f"static const {made.c_type} gt_pass{number} = {made.fields}; /* {steps} */\n")
        rows.append(f"{{{made.run}, &gt_pass{number}, 0, {len(work.passes) if isinstance(work, FusedPass) else 0}}}")
        lines.append(f"{steps}: {about}{made.about}")
        headers += [header for header in made.headers if header not in headers]
    forms = [planned.work.form for planned, _ in rows_of_passes if isinstance(planned.work, FormPass)]
    if forms:
        tables |= pair_table(load_nfc_data(), any(form.endswith("C") for form in forms))
    if not passes:
        return NormalizerCode(tables | TableSet(files={FILE: "/* no normalizer */\n"}), ())
    included = "".join(f'#include "{header}"\n' for header in headers or ["characters.h"])
    body = "".join(f"  {row},\n" for row in rows)
    text = (
        f"/* The passes of the normalizer; what each looks for is in --explain. */\n{included}\n"
        "typedef struct {\n"
        "  gt_outcome (*run)(const void *pass, const uint8_t *p, size_t n, gt_scratch *out, size_t *length); /* NULL: Strip */\n"
        "  const void *pass;\n"
        "  uint8_t strip; /* 1: at the beginning, 2: at the end */\n"
        "  uint8_t stands_for; /* so many passes after it, which are left out where it does not stop */\n"
        f'}} gt_pass;\n\n{"".join(texts)}\nstatic const gt_pass gt_passes[] = {{\n{body}}};\n\n#include "passes.h"\n'
    )
    return NormalizerCode(tables | TableSet(files={FILE: text}), tuple(lines))


def _rows(passes: Sequence[PlannedPass]) -> Iterator[tuple[PlannedPass, str]]:
    """Passes as they are tried, what is to be said first of each. A fused one goes before those that it stands for."""
    for planned in passes:
        yield planned, ""
        if isinstance(planned.work, FusedPass):
            for work in planned.work.passes:
                yield PlannedPass(planned.steps, work), "if that one stopped, "


def _compile(work: NormalizerPass, name: str) -> _Pass:
    match work:
        case FormPass(form):
            return _form(form)
        case CharacterPass():
            return _characters(work, name)
        case FusedPass(mapping, ordered, instead):
            made = _characters(CharacterPass(mapping), name, ordered)
            about = f"{made.about}; stops at {len(ordered)} characters whose marks have an order, for the {len(instead)} passes that follow"
            return replace(made, about=about)
        case BytePass():
            return _bytes(name)
        case LiteralPass(pattern, content):
            finder = build_finder([ord(pattern[0])])
            tables = TableSet(
                (*_finder_tables(finder, name), _text(f"{name}_pattern", pattern), _text(f"{name}_content", content))
            )
            lengths = f"{len(pattern.encode())}, {len(content.encode())}"
            fields = f"{{{_finder(finder, name)}, gt_{name}_pattern, gt_{name}_content, {lengths}}}"
            return _Pass(
                tables, "gt_replace_literal", "gt_literal", fields, f"{pattern!r} becomes {content!r}; {finder}"
            )
        case PrefixPass(prefix):
            tables = TableSet((_text(f"{name}_prefix", prefix),))
            fields = f"{{gt_{name}_prefix, {len(prefix.encode())}}}"
            return _Pass(tables, "gt_put_before", "gt_prefix", fields, f"{prefix!r} before every text; always copies")
        case RunPass(character, least, content):
            finder = build_byte_finder([character.encode() * min(least, 3)])
            tables = TableSet((*_finder_tables(finder, name), _text(f"{name}_content", content)))
            fields = (
                f"{{{_finder(finder, name)}, {ord(character)}, {least}, gt_{name}_content, {len(content.encode())}}}"
            )
            about = f"{least} or more of {character!r} become {content!r}; {finder}"
            return _Pass(tables, "gt_replace_runs", "gt_run", fields, about, ("characters.h", "runs.h"))
        case RegexPass():
            matcher = compile_matcher(work)
            finder = build_byte_finder(matcher.prefixes)
            tables = TableSet(
                (*_finder_tables(finder, name), *matcher_tables(matcher, name), _text(f"{name}_content", work.content))
            )
            fields = f"{{{_finder(finder, name)}, {matcher_fields(matcher, name)}, gt_{name}_content, {len(work.content.encode())}}}"
            about = f"matches of {work.pattern!r} become {work.content!r}, {matcher}; {finder}"
            return _Pass(tables, "gt_replace_matches", "gt_matcher", fields, about, ("characters.h", "matcher.h"))
        case ClusterPass():
            return _clusters(work, name)
    raise AssertionError(work)


def _form(form: str) -> _Pass:
    data = load_nfc_data()
    tables = form_tables(data, form)
    leads = format_bytes(np.flatnonzero(nfc_leads(form_flags(data, form))).tolist())
    about = f"{form}, where a character is found that may change, move or compose; first bytes {leads}"
    return _Pass(
        tables, "gt_normalize_form", "gt_form", form_descriptor(data, form), about, ("characters.h", "normalize.h")
    )


def _characters(work: CharacterPass, name: str, stops: frozenset[int] = frozenset()) -> _Pass:
    finder = build_finder(stops.union(work.mapping))
    made = character_tables(name, work.mapping, stops)
    tables = TableSet((*_finder_tables(finder, name), *made.tables, _text(f"{name}_prefix", work.prefix)))
    arrays = ", ".join(f"gt_{name}_{part}" for part in ("blocks", "text_of", "starts", "texts", "ascii", "prefix"))
    numbers = f"{made.plain}, {len(work.prefix.encode())}, {made.growth}, {int(work.prefix_alone)}"
    first, count, shift = ascii_shift(work.mapping) or (0, 0, 0)
    low, blanks, blank = blanked_controls(work.mapping) or (0, 0, 0)
    copied = {*range(first, first + count), *(c for c in range(low, low + blanks) if work.mapping[c] == chr(blank))}
    rest = _finder(finder, name)
    if copied:
        others = build_finder(stops.union(work.mapping) - copied)
        tables |= TableSet(tuple(_finder_tables(others, f"{name}_rest")))
        rest = _finder(others, f"{name}_rest")
    ascii_ = f"{first}, {count}, {shift}, {low}, {blanks}, {blank}"
    fields = f"{{{_finder(finder, name)}, {arrays}, {numbers}, {ascii_}, {rest}}}"
    about = f"{len(work.mapping)} characters by a table; {finder}"
    if work.prefix:
        about = f"{work.prefix!r} before every text, {about}"
    return _Pass(tables, "gt_map_characters", "gt_character_map", fields, about)


def _bytes(name: str) -> _Pass:
    """ByteLevel: bytes that stand for themselves are found by the finder's not finding them."""
    changed = [byte for byte in range(256) if BYTE_TO_CHAR[byte].encode() != bytes([byte])]
    finder = build_byte_finder(bytes([byte]) for byte in changed)
    values = [int.from_bytes(char.encode(), "little") | len(char.encode()) << 24 for char in BYTE_TO_CHAR]
    table = Table(f"{name}_of", np.array(values, np.uint32), "length << 24 | UTF-8 of each byte's character")
    fields = f"{{gt_{name}_of, {_finder(finder, name)}}}"
    about = f"bytes by a table; {finder}"
    return _Pass(TableSet((*_finder_tables(finder, name), table)), "gt_map_bytes", "gt_byte_map", fields, about)


def _clusters(work: ClusterPass, name: str) -> _Pass:
    made = cluster_tables(work, name)
    low, count, blank = blanked_controls(work.characters, without=[CR]) or (0, 0, 0)
    finder = build_finder(c for c in made.found if not low <= c < low + count or work.characters.get(c) != chr(blank))
    tables = TableSet((*_finder_tables(finder, name), *made.tables))
    arrays = ", ".join(f"gt_{name}_{part}" for part in ("blocks", "text_of", "starts", "texts", "ascii"))
    keys = ", ".join(f"gt_{name}_{part}" for part in ("keys", "key_texts", "key_bytes", "seconds"))
    numbers = f"NULL, {made.plain}, 0, {made.growth}, 1, 0, 0, 0, {low}, {count}, {blank}, {_finder(finder, name)}"
    fields = f"{{{{{_finder(finder, name)}, {arrays}, {numbers}}}, {keys}, {made.slots_log2}, {made.seconds}}}"
    about = f"{len(work.characters)} characters and {len(work.clusters)} longer keys, by grapheme cluster; {finder}"
    if count:
        about += f"; of {format_bytes(range(low, low + count))} what becomes {chr(blank)!r} does so where clean text is copied"
    return _Pass(tables, "gt_map_clusters", "gt_cluster_map", fields, about, ("characters.h", "clusters.h"))


def _text(name: str, text: str) -> Table:
    return Table(name, np.frombuffer(text.encode(), np.uint8), "text")


def _finder_tables(finder: FinderMasks, name: str) -> Iterator[Table]:
    yield Table(f"{name}_masks", finder.masks, "nibble masks that find the characters of the pass")
    yield Table(f"{name}_leads", finder.leads, "1 for the first bytes of these")


def _finder(finder: FinderMasks, name: str) -> str:
    return f"{{gt_{name}_masks, gt_{name}_leads, {finder.groups}, {finder.positions}, {int(finder.ascii)}}}"
