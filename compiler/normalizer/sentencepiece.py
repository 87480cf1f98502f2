"""The SentencePiece normalizer as the tables of templates/sentencepiece.h."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from gigatok_compile.ir.definition import NormalizerStep
from gigatok_compile.ir.plan import Table, TableSet
from gigatok_compile.normalizer.sentencepiece_rules import CharsmapFacts, analyse_charsmap
from gigatok_compile.normalizer.tables import add_to_bucket
from gigatok_runtime.charsmap import Charsmap
from gigatok_runtime.sentencepiece import MARK

ALONE, SECOND, OWN, IS_MARK = 1, 2, 4, 8
"""Flags of a character: it has a rule of its own; a rule may begin at the character before it; a user-defined piece may begin
with it; it is the mark. A character without flags that follows one without flags is copied."""


def sentencepiece_constants(step: NormalizerStep | None) -> dict[str, int]:
    """The switches of templates/sentencepiece.h, all 0 without such a step."""
    options = {} if step is None else step.options
    prefix, suffix = bool(options.get("add_dummy_prefix")), bool(options.get("treat_whitespace_as_suffix"))
    rules, remove = bool(options.get("charsmap")), bool(options.get("remove_extra_whitespaces"))
    return {
        "sentencepiece": int(step is not None),
        "sp_prefix": int(prefix and not suffix),
        "sp_suffix": int(prefix and suffix),
        "sp_remove_extra": int(remove),
        "sp_escape": int(bool(options.get("escape_whitespaces"))),
        "sp_rules": int(rules),
        # Copied as they are, user-defined pieces differ from other text only where that could change.
        "sp_own": int(bool(options.get("user_defined")) and (rules or remove)),
    }


def own_pieces(step: NormalizerStep) -> list[bytes]:
    """The user-defined pieces that the normalizer has to look for."""
    return [piece.encode() for piece in step.options["user_defined"]] if sentencepiece_constants(step)["sp_own"] else []


def build_sentencepiece_tables(step: NormalizerStep, own_units: npt.NDArray[np.uint32], own_root: int) -> TableSet:
    """Tables and constants of templates/sentencepiece.h, without the switches; the header says how each is read.

    Args:
        own_units, own_root: the trie of `own_pieces(step)` (gigatok_compile.vocabulary.double_array), whatever their values.
    """
    constants = sentencepiece_constants(step)
    facts = analyse_charsmap(step.options["charsmap"])
    firsts = {piece.decode()[0] for piece in own_pieces(step)}
    flags = character_flags(facts, firsts, bool(constants["sp_escape"]))
    blocks, rows = _two_stages(flags)
    words = [chr(c).encode() for c in np.flatnonzero(flags).tolist()] + (
        [b"  "] if constants["sp_remove_extra"] else []
    )
    leads = np.zeros(256, np.uint8)
    leads[[word[0] for word in words]] = 1
    return TableSet(
        (
            Table("sp_units", facts.units, "trie of the rules: Darts double array, as the model has it"),
            Table(
                "sp_replacements",
                np.frombuffer(facts.replacements, np.uint8),
                "what rules put in place, NUL after each",
            ),
            Table("sp_own_units", own_units, "trie of the user-defined pieces (vocabulary/double_array.py)"),
            Table("sp_blocks", blocks, "row of sp_flags of every 64 code points"),
            Table("sp_flags", rows, "1 has a rule, 2 goes on a rule, 4 begins a user-defined piece, 8 the mark"),
            Table("sp_leads", leads, "1 for the first byte of a character with flags, and for a space where two count"),
            Table("sp_finder", finder(words), "nibble masks that find these characters"),
        ),
        {
            "sp_rules_root": Charsmap(step.options["charsmap"]).children(0) if len(facts.units) else 0,
            "sp_own_root": own_root,
        },
    )


def character_flags(facts: CharsmapFacts, own_firsts: Iterable[str], escape: bool) -> npt.NDArray[np.uint8]:
    """(0x110000,) uint8: the flags of each code point."""
    flags = np.zeros(0x110000, np.uint8)
    for chars, flag in (
        (facts.alone, ALONE),
        (facts.seconds, SECOND),
        (own_firsts, OWN),
        (MARK if escape else "", IS_MARK),
    ):
        flags[[ord(char) for char in chars]] |= flag
    return flags


def _two_stages(values: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint8]]:
    rows, which = np.unique(values.reshape(-1, 64), axis=0, return_inverse=True)
    return which.reshape(-1).astype(np.uint16), rows.reshape(-1)


def finder(words: Iterable[bytes]) -> npt.NDArray[np.uint8]:
    """(192,) uint8: [2 groups of 8 buckets][3 bytes][low, high nibble][16] -> bit of each bucket.

    Where all six lookups of one group share a bit, one of the words may begin; each of them is found. (The "Teddy" search of
    Hyperscan, as in normalizer/tables.py, with buckets for what compatibility rules touch.)
    """
    masks = np.zeros((2, 3, 2, 16), np.uint8)
    for prefix in sorted({word[:3] for word in words}):
        bucket = _bucket(prefix)
        add_to_bucket(masks[bucket // 8], bucket % 8, prefix)
    return masks.reshape(-1)


def _bucket(prefix: bytes) -> int:
    """Which of 16 buckets looks for a word: a bucket accepts the product of the nibbles it has seen, so unlike ones are kept apart."""
    lead, second = prefix[0], prefix[1] if len(prefix) > 1 else 0
    if prefix == b"  ":
        return 0
    if lead < 0x20:
        return 1
    if lead < 0xD0:
        return 2 if lead < 0x80 else 3 if lead < 0xC4 else 4 if lead < 0xCC else 5
    if lead < 0xE2:
        return 6 if lead < 0xE0 else 7 if lead == 0xE0 else 8
    if lead == 0xE2:
        return 9 if second == 0x80 else 10
    if lead == 0xE3:
        return 11 if second == 0x80 else 12
    return 13 if lead < 0xEF else 14 if lead == 0xEF else 15
