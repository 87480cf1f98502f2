"""Byte mode: a machine over characters as one over bytes, so that steps after ByteLevel can be composed with it.

Problem: such a step reads the 256 characters that stand for bytes. To it "ü" is two characters, Ã and ¼, of which the second
is a number: Digits cuts between them. So text has to be tagged byte by byte, where steps before ByteLevel want a tag a
character.

Idea: the first byte of a character carries the tag of the character, and every other byte a tag that tells those steps
nothing: the right state passes through it, the left state stays, there is no cut. On the other side, what a step after
ByteLevel wants to know of a first byte is known from the code point, so tags of first bytes are a partition of code points
still. Only the 64 continuation bytes need a table of their own.

    bytes          n     C3           BC                  C: the steps before see the character, the one after C3
    tags           n     ü and Ã      inside and ¼
"""

from __future__ import annotations

from collections.abc import Sequence

from gigatok_compile.ir.bimachine import START, Bimachine
from gigatok_compile.ir.tags import Range, Tag
from gigatok_compile.pattern.codeset import CodeSet
from gigatok_compile.pattern.partition import coarsest_partition
from gigatok_runtime.byte_level import BYTE_TO_CHAR

CONTINUATION = range(0x80, 0xC0)


def lift_to_bytes(machine: Bimachine) -> Bimachine:
    """The same over bytes: one more tag, the last, is that of every byte but the first of a character."""
    inside = machine.tag_count
    left = dict(machine.left)
    for (_, _, after), (target, _) in machine.left.items():
        assert target != START
        left[target, inside, after] = (target, False)
    return Bimachine(
        inside + 1, (*machine.right, tuple(range(machine.right_count))), machine.right_count, left, machine.kept
    )


def joint_with_bytes(
    alphabet: Sequence[CodeSet], continuation: Sequence[int], step: Sequence[Tag]
) -> tuple[list[tuple[int, int]], list[CodeSet], tuple[int, ...]]:
    """Pairs (column of a machine over bytes, tag of a step after ByteLevel) that a byte can have; the code points whose first
    byte has them; and the pair of each continuation byte.

    Args:
        alphabet: for each column of the machine, the code points whose first byte has it.
        continuation: the column of each continuation byte.
        step: the step's tags, of the characters that stand for bytes.
    """
    of_byte = [next(tag.index for tag in step if _holds(tag.ranges, ord(char))) for char in BYTE_TO_CHAR]
    firsts = [_with_first_byte([byte for byte in range(256) if of_byte[byte] == tag.index]) for tag in step]
    pairs: list[tuple[int, int]] = []
    sets: list[CodeSet] = []
    for mask, ranges in coarsest_partition([*alphabet, *firsts]):
        one, two = (number for number in range(len(alphabet) + len(firsts)) if mask >> number & 1)
        pairs.append((one, two - len(alphabet)))
        sets.append(CodeSet(ranges))
    places = []
    first_pairs = len(pairs)
    for byte, column in zip(CONTINUATION, continuation, strict=True):
        pair = (column, of_byte[byte])
        if pair not in pairs[first_pairs:]:
            pairs.append(pair)
            sets.append(CodeSet(()))
        places.append(pairs.index(pair, first_pairs))
    return pairs, sets, tuple(places)


def _holds(ranges: Sequence[Range], code_point: int) -> bool:
    return any(low <= code_point <= high for low, high in ranges)


def _with_first_byte(found: Sequence[int]) -> CodeSet:
    """Code points whose UTF-8 begins with one of these bytes."""
    return CodeSet.of(r for byte in found for r in _of_first_byte(byte))


def _of_first_byte(byte: int) -> list[Range]:
    if byte < 0x80:
        return [(byte, byte)]
    if 0xC2 <= byte < 0xE0:
        return [((byte & 0x1F) << 6, ((byte & 0x1F) + 1 << 6) - 1)]
    if 0xE0 <= byte < 0xF0:
        return [(max((byte & 0x0F) << 12, 0x800), ((byte & 0x0F) + 1 << 12) - 1)]
    if 0xF0 <= byte < 0xF5:
        return [(max((byte & 0x07) << 18, 0x10000), min(((byte & 0x07) + 1 << 18) - 1, 0x10FFFF))]
    return []


def continuation_names(continuation: Sequence[int]) -> dict[int, str]:
    """A C identifier for each column of continuation bytes, from the lowest one: `byte_80_and_57_more`."""
    names: dict[int, str] = {}
    for column in dict.fromkeys(continuation):
        found = [byte for byte, other in zip(CONTINUATION, continuation, strict=True) if other == column]
        more = f"_and_{len(found) - 1}_more" if len(found) > 1 else ""
        names[column] = f"byte_{found[0]:02X}{more}"
    return names
