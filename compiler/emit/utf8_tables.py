"""utf8_tables: how four characters of one to three bytes lie in UTF-8, for templates/pyfours.h.

The bytes of four characters are brought into four lanes of 32 bits, or back, by one byte shuffle, and there are 81 ways in which
four characters can be that long. (simdutf's kernels work the same way: D. Lemire and W. Mula, "Transcoding billions of Unicode
characters per second with SIMD instructions", 2022.) The same in every module.
"""

from __future__ import annotations

import itertools

import numpy as np
from gigatok_compile.ir.plan import Table, TableSet

_LANES = 4
_LONGEST = 3  # bytes of a character that is shuffled
_REACH = _LANES * _LONGEST
_NOTHING = 0x80  # an index that shuffles a zero in
_LENGTHS = list(itertools.product(range(1, _LONGEST + 1), repeat=_LANES))


def utf8_tables() -> TableSet:
    """Three tables of uint8:

    fours_of_leads  (4096,): by the bits of bytes 1 to 12 that begin a character, byte 0 doing so too, the row below, or GT_FOURS_NONE
    fours_apart     (81 * 16,): which byte goes into each byte of the lanes, a character's last byte lowest
    fours_joined    (256 * 16,): by bits 0-3 which characters have two bytes or more, 4-7 which have three, the same back; in a lane
                    a character's last byte is byte 2, what is before it below. The last byte of a row is _NOTHING + the bytes that
                    the four characters have together
    """
    rows = np.full(1 << _REACH, len(_LENGTHS), np.uint8)
    apart = np.full((len(_LENGTHS), 16), _NOTHING, np.uint8)
    joined = np.full((1 << 2 * _LANES, 16), _NOTHING, np.uint8)
    for number, lengths in enumerate(_LENGTHS):
        ends = list(itertools.accumulate(lengths))
        leads = sum(1 << (end - 1) for end in ends)
        later = range(ends[-1], _REACH)  # whatever begins there
        for more in itertools.product((0, 1), repeat=len(later)):
            rows[leads | sum(bit << place for bit, place in zip(more, later, strict=True))] = number
        for lane, (end, length) in enumerate(zip(ends, lengths, strict=True)):
            for k in range(length):
                apart[number, 4 * lane + k] = end - 1 - k
        bits = sum((length > 1) << lane | (length > 2) << (_LANES + lane) for lane, length in enumerate(lengths))
        places = [4 * lane + 3 - length + k for lane, length in enumerate(lengths) for k in range(length)]
        joined[bits, : len(places)] = places
        joined[bits, 15] = _NOTHING + ends[-1]
    return TableSet(
        (
            Table("fours_of_leads", rows, "by where characters begin, the row of fours_apart"),
            Table("fours_apart", apart.reshape(-1), "shuffles of four characters of UTF-8 into lanes"),
            Table("fours_joined", joined.reshape(-1), "shuffles of four lanes into UTF-8"),
        ),
        {"fours_none": len(_LENGTHS)},
    )
