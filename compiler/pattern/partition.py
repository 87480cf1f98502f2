"""PatternAst -> TagProgram: number the cells of the coarsest partition that no set in the pattern can tell apart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from gigatok_compile.errors import CompileError
from gigatok_compile.ir.pattern import PatternAst
from gigatok_compile.ir.tags import Alt, Chars, Look, Next, Node, Range, Repeat, Seq, Span, Tag, TagProgram, walk
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.desugar import Desugar, sequence
from gigatok_compile.pattern.names import tag_names


def partition(ast: PatternAst) -> TagProgram:
    """The pattern over tags. Tags are numbered by lowest code point, so equal partitions are numbered alike.

    Raises:
        Unsupported: for constructs that the automaton tier does not have.
    """
    desugar = Desugar(ast)
    root = desugar.run()
    return number_tags(ast.text, ast.dialect, root, desugar.sets)


def literal_program(text: str) -> TagProgram:
    """The program of a `String` pattern: the characters of `text`, nothing special. dialect is "literal".

    Raises:
        CompileError: when `text` is empty or holds a lone surrogate.
    """
    if not text:
        raise CompileError("a literal pattern must not be empty")
    if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise CompileError("a literal pattern must not hold lone surrogates")
    sets = [CodeSet.single(ord(char)) for char in text]
    items: list[Node] = [Chars(frozenset({i}), Span(i, i + 1)) for i in range(len(text))]
    return number_tags(text, "literal", sequence(items, Span(0, len(text))), sets)


def number_tags(pattern: str, dialect: str, root: Node, sets: list[CodeSet]) -> TagProgram:
    """Replace the set numbers in `root` by the tags of the partition over the sets that it still uses."""
    used = sorted({number for node in walk(root) if isinstance(node, Chars | Next) for number in node.tags})
    cells = coarsest_partition([sets[number] for number in used])
    tags_of: dict[int, frozenset[int]] = {}
    for position, number in enumerate(used):
        tags_of[number] = frozenset(index for index, (mask, _) in enumerate(cells) if mask >> position & 1)
    cell_sets = [CodeSet(ranges) for _, ranges in cells]
    names = tag_names(cell_sets)
    tags = tuple(Tag(index, names[index], code_set.ranges) for index, code_set in enumerate(cell_sets))
    return TagProgram(pattern, dialect, tags, _renumber(root, tags_of))


def coarsest_partition(sets: list[CodeSet]) -> list[tuple[int, tuple[Range, ...]]]:
    """(mask, ranges) of every cell, by lowest code point; bit n of the mask: the cell lies in `sets[n]`."""
    changes: dict[int, int] = {0: 0}  # code point where membership changes -> sets that enter or leave there
    for number, code_set in enumerate([*sets, CodeSet.everything()]):
        for low, high in code_set.ranges:
            changes[low] = changes.get(low, 0) ^ 1 << number
            changes[high + 1] = changes.get(high + 1, 0) ^ 1 << number
    scalar = 1 << len(sets)
    cells: dict[int, list[Range]] = {}
    mask = 0
    for low, after in pairwise(sorted(changes)):
        mask ^= changes[low]
        if mask & scalar:
            cells.setdefault(mask ^ scalar, []).append((low, after - 1))
    return [(mask, CodeSet.of(ranges).ranges) for mask, ranges in cells.items()]


def _renumber(node: Node, tags_of: dict[int, frozenset[int]]) -> Node:
    match node:
        case Chars() | Next():
            (number,) = node.tags
            return replace(node, tags=tags_of[number])
        case Seq():
            return replace(node, items=tuple(_renumber(item, tags_of) for item in node.items))
        case Alt():
            return replace(node, options=tuple(_renumber(option, tags_of) for option in node.options))
        case Repeat() | Look():
            return replace(node, item=_renumber(node.item, tags_of))
