"""plan_added_tokens: added tokens -> the two matchers of templates/added.h.

Problem: find the leftmost, then longest, added token in a text that almost never holds one, at next to no cost. A scan over
vectors of bytes looks for the first three bytes a token can begin with (`finder`); where it stops, a walk through a trie
of the tokens settles whether one begins there and which is the longest. What the scan finds by mistake costs a failed
walk, so what bytes meet in one of its eight buckets is chosen by how common the mistakes would be in text.

There are two passes, each with its own matcher: tokens with normalized=false over the raw text, then the others, by
their normalized content, over the normalized text between. A pass without tokens costs nothing. Where some tokens of the
first pass change nothing (run_tokens.py) there is a third matcher, the first without them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from gigatok_compile.errors import DefinitionError
from gigatok_compile.ir.definition import AddedToken
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.normalizer.tables import add_to_bucket
from gigatok_compile.unicode import property_ranges
from gigatok_compile.vocabulary.run_tokens import RunTokens

SINGLE_WORD, LSTRIP, RSTRIP, SPECIAL, RUN = 1, 2, 4, 8, 16  # bits of gt_added_flags
PREFIX = 3  # bytes the finder looks at
BUCKETS = 8


@dataclass(frozen=True, slots=True)
class AddedPass:
    """The matcher of one pass. `contents`: what each token looks like there, by its number in the definition."""

    contents: dict[int, bytes]
    buckets: tuple[tuple[bytes, ...], ...]  # prefixes that share a bit of the finder

    def __str__(self) -> str:
        if not self.contents:
            return "no tokens"
        shown = " ".join(
            "{" + " ".join(map(repr, bucket[:4])) + (" ...}" if len(bucket) > 4 else "}") for bucket in self.buckets
        )
        return f"{len(self.contents)} tokens, scan for {shown}"


@dataclass(frozen=True, slots=True)
class AddedTokenPlan:
    """What templates/added.h needs. `overlap`: two tokens can share bytes of a text, so looking for those of mode GT_ERROR
    takes a scan of its own (gt_added_forbidden)."""

    passes: tuple[AddedPass, ...]  # raw text, normalized text; raw text without what changes nothing, if there is any
    exclusive: bool
    overlap: bool
    tables: TableSet
    warnings: tuple[str, ...]

    def __str__(self) -> str:
        lines = ["added tokens", f"  raw text: {self.passes[0]}", f"  normalized text: {self.passes[1]}"]
        if len(self.passes) > 2:
            lines.append(f"  raw text, without those that the model makes too: {self.passes[2]}")
        return "\n".join(lines + [f"  warning: {warning}" for warning in self.warnings])


def plan_added_tokens(
    tokens: Sequence[AddedToken],
    normalize: Callable[[str], str],
    *,
    exclusive: bool,
    runs: Sequence[RunTokens] = (),
    where: str = "added_tokens",
) -> AddedTokenPlan:
    """Tables and constants of templates/added.h.

    Args:
        tokens: the added tokens, ids resolved; their numbers here are those of gigatok.h's `added_modes`.
        normalize: the definition's normalizer.
        exclusive: what GT_AS_TEXT means. True (tiktoken): such tokens are not looked for. False (tokenizers'
            encode_special_tokens): they are matched, and the match is text; no shorter token is tried there.
        runs: tokens of the first pass that need not be looked for, but for one more than the longest.
        where: field path, for errors.

    Raises DefinitionError for a token that normalizes to nothing, and for a tiktoken set in which one special is a prefix of
    another: tiktoken tries specials in the order of a Python set, so which one it finds changes from run to run.
    """
    warnings: list[str] = []
    numbers: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})  # by what is looked for
    for number, token in enumerate(tokens):
        if not token.matched:
            continue
        text = normalize(token.content) if token.normalized else token.content
        first = numbers[token.normalized].setdefault(text.encode(), number)
        if not text and token.content:
            raise DefinitionError(
                f"the added token {token.content!r} normalizes to nothing, which the reference finds before every byte: it cuts "
                "the text there, or panics inside a character",
                where=f"{where}[{number}].content",
                hint='take the token out, or give it "normalized": false',
            )
        if not text:
            warnings.append(f"added token {token.id} is empty: it never matches")
        elif first != number:
            warnings.append(
                f"added tokens {tokens[first].id} and {token.id} are both {text!r} once normalized: {tokens[first].id} "
                "always wins here, in the reference either may"
            )
    contents = [{number: content for content, number in found.items() if content} for found in numbers]
    if any(t.rstrip for t in tokens) and any(t.lstrip and t.content[:1].isspace() for t in tokens):
        warnings.append(
            "an added token with lstrip begins with whitespace and another has rstrip: the reference panics on some texts"
        )
    if exclusive:
        _refuse_prefixes(tokens, where)
    passes = [_plan_pass(contents[0]), _plan_pass(contents[1])]
    idle = {number for run in runs for number in run.numbers}
    if runs:
        needed = {number: content for number, content in contents[0].items() if number not in idle}
        needed |= {run.numbers[-1]: bytes([run.byte]) * (len(run.numbers) + 1) for run in runs}
        passes.append(_plan_pass(needed))
    flags = [
        SINGLE_WORD * t.single_word
        | LSTRIP * t.lstrip
        | RSTRIP * t.rstrip
        | SPECIAL * t.special
        | RUN * (number in idle)
        for number, t in enumerate(tokens)
    ]
    words = property_ranges("\\w", "fancy") if any(t.single_word for t in tokens) else ()
    overlap = any(_can_overlap(list(c.values())) for c in contents)
    tables = [
        Table("added_ids", np.array([t.id for t in tokens], np.uint32), "id of each added token"),
        Table("added_flags", np.array(flags, np.uint8), "1 single_word, 2 lstrip, 4 rstrip, 8 special, 16 run"),
        Table("added_words", np.array(words, np.uint32).reshape(-1), "first and last code points of Rust's \\w"),
    ]
    constants = {
        "added_count": len(tokens),
        "added_words_count": len(words),
        "added_exclusive": int(exclusive),
        "added_overlap": int(overlap),
        "added_runs": int(bool(runs)),
    }
    for number, plan in enumerate(passes):
        tables += _trie_tables(f"added{number}", plan)
        constants[f"added{number}_count"] = len(plan.contents)
    return AddedTokenPlan(tuple(passes), exclusive, overlap, TableSet(tuple(tables), constants), tuple(warnings))


def _refuse_prefixes(tokens: Sequence[AddedToken], where: str) -> None:
    ordered = sorted(token.content for token in tokens if token.content)
    for shorter, longer in itertools.pairwise(ordered):
        if longer.startswith(shorter):
            raise DefinitionError(
                f"special token {shorter!r} is a prefix of {longer!r}, so tiktoken itself does not always find the same one",
                where=where,
                hint="rename or remove one of them",
            )


def _can_overlap(contents: list[bytes]) -> bool:
    """Can two different occurrences, of one token or two, share bytes of a text? A token inside another counts."""
    endings = {c[i:] for c in contents for i in range(1, len(c))}
    starts = {c[:i] for c in contents for i in range(1, len(c) + 1)}
    whole = set(contents)
    inside = (
        c[i:j] for c in contents for i in range(len(c)) for j in {i + n for n in map(len, whole)} if j - i < len(c)
    )
    return not endings.isdisjoint(starts) or any(part in whole for part in inside)


# ---- the scan: prefixes in eight buckets ----


def _plan_pass(contents: dict[int, bytes]) -> AddedPass:
    prefixes = sorted({content[:PREFIX] for content in contents.values()})
    for length in (2, 1):  # a large set is told apart by fewer bytes, which a merge would come to anyway
        if len(prefixes) > 64:
            prefixes = sorted({prefix[:length] for prefix in prefixes})
    return AddedPass(contents, tuple(map(tuple, _cluster(prefixes))))


def _frequency(byte: int) -> float:
    """About how often a byte occurs in text, code and markup (of all bytes; bytes over 127 in other scripts)."""
    if byte == 0x20:
        return 0.15
    if byte == 0x0A:
        return 0.03
    if 0x61 <= byte <= 0x7A:
        return 0.025
    if byte >= 0x80:
        return 0.01
    return 0.004 if 0x21 <= byte < 0x7F else 0.0005


_FREQUENCY = np.array([_frequency(byte) for byte in range(256)])


def _mistakes(bucket: Sequence[bytes]) -> float:
    """Share of places at which a bucket's lookups agree: the product over positions of what its nibbles let through."""
    share = 1.0
    for position in range(PREFIX):
        known = [prefix[position] for prefix in bucket if len(prefix) > position]
        if len(known) < len(bucket):  # a prefix ends before it: everything is let through
            continue
        low, high = {byte & 15 for byte in known}, {byte >> 4 for byte in known}
        share *= float(_FREQUENCY[[h << 4 | l for h in high for l in low]].sum())
    return share


def _cluster(prefixes: list[bytes]) -> list[list[bytes]]:
    """Prefixes in at most BUCKETS groups: the two whose union adds fewest mistakes are joined until they fit."""
    groups = [[prefix] for prefix in prefixes]
    while len(groups) > BUCKETS:
        alone = [_mistakes(group) for group in groups]
        pairs = ((i, j) for i in range(len(groups)) for j in range(i + 1, len(groups)))
        best = min(pairs, key=lambda ij: (_mistakes(groups[ij[0]] + groups[ij[1]]) - alone[ij[0]] - alone[ij[1]], ij))
        groups[best[0]] += groups.pop(best[1])
    return groups


def finder_masks(plan: AddedPass) -> npt.NDArray[np.uint8]:
    """(98,) uint8: [3 bytes][low, high nibble][16] -> bit of each bucket that the nibble lets through.

    Then 1 and the byte that all tokens begin with, or two zeros.
    """
    masks = np.zeros((PREFIX, 2, 16), np.uint8)
    for number, bucket in enumerate(plan.buckets):
        for prefix in bucket:
            add_to_bucket(masks, number, prefix)
    firsts = sorted({content[0] for content in plan.contents.values()})
    lone = [1, firsts[0]] if len(firsts) == 1 else [0, 0]
    return np.concatenate([masks.reshape(-1), np.array(lone, np.uint8)])


# ---- the walk: a trie in breadth-first order ----


def _trie_tables(name: str, plan: AddedPass) -> list[Table]:
    """The trie of a pass, nodes in breadth-first order, so that the children of node s are children[s] to children[s + 1].

    Node 0 is the root. `labels[s]` is the byte that leads to s, `tokens[s]` the token that ends there or -1.
    """
    ordered = sorted((content, number) for number, content in plan.contents.items())
    spans = [(0, len(ordered), 0)]  # of each node: which contents pass through it, and its depth
    labels, tokens, children = [0], [-1], []
    node = 0
    while node < len(spans):
        low, high, depth = spans[node]
        children.append(len(spans))
        if low < high and len(ordered[low][0]) == depth:  # sorts before all that go on from here
            tokens[node] = ordered[low][1]
            low += 1
        while low < high:
            label, stop = ordered[low][0][depth], low
            while stop < high and ordered[stop][0][depth] == label:
                stop += 1
            spans.append((low, stop, depth + 1))
            labels.append(label)
            tokens.append(-1)
            low = stop
        node += 1
    children.append(len(spans))
    root = np.zeros(256, np.uint32)
    for child in range(children[0], children[1]):
        root[labels[child]] = child
    return [
        Table(f"{name}_finder", finder_masks(plan), "nibble masks of the first bytes of tokens"),
        Table(f"{name}_root", root, "trie node after each first byte, 0: none"),
        Table(f"{name}_children", np.array(children, np.uint32), "first child of each trie node, and the end"),
        Table(f"{name}_labels", np.array(labels, np.uint8), "byte that leads to each trie node"),
        Table(f"{name}_tokens", np.array(tokens, np.int32), "number of the added token that ends there, or -1"),
    ]
