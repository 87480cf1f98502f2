"""Numbers of a JSON file as the reference reads them, which is not always the nearest float64.

serde_json, built as tokenizers builds it, collects digits in 64 bits, drops those that no longer fit, and multiplies or
divides once by a power of ten (measured: test_json_number.py). The result may be one unit in the last place off, and a
Unigram model breaks ties by that.
"""

from __future__ import annotations

from gigatok_compile.errors import DefinitionError

_U64_MAX = 2**64 - 1
_I64_MIN = -(2**63)
_I32_MAX = 2**31 - 1
_DIGITS = 19
"""Any number of so many digits fits in 64 bits."""
_LARGEST_POWER = 308
_POWERS = [float(f"1e{n}") for n in range(_LARGEST_POWER + 1)]


def read_float(text: str) -> float:
    """The value of a JSON number that has a fraction or an exponent, or is too large for 64 bits.

    Raises:
        DefinitionError: the number is larger than a float64, which the reference refuses.
    """
    mantissa, _, power = text.lstrip("-").replace("E", "e").partition("e")
    whole, _, fraction = mantissa.partition(".")
    if len(whole) + len(fraction) <= _DIGITS:
        significand, exponent = int(whole + fraction), -len(fraction)
    else:
        significand, exponent = _cut_digits(whole, fraction)
    if power:
        # digits past the last that fits in 32 bits are not looked at
        if abs(int(power)) > _I32_MAX:
            if significand and not power.startswith("-"):
                _refuse(text)
            significand = 0
        exponent = max(min(exponent + int(power), _I32_MAX), -_I32_MAX)
    value = _scale(significand, exponent, text)
    return -value if text.startswith("-") else value


def read_integer(value: int) -> float:
    """A JSON number without fraction and exponent, as a float.

    Raises:
        DefinitionError: the number is larger than a float64, which the reference refuses.
    """
    return float(value) if _I64_MIN <= value <= _U64_MAX else read_float(str(value))


def _cut_digits(whole: str, fraction: str) -> tuple[int, int]:
    """The digits that fit in 64 bits, and the power of ten to scale them by."""
    significand = 0
    exponent = 0
    for at, digit in enumerate(whole):
        longer = significand * 10 + int(digit)
        if longer > _U64_MAX:
            exponent = len(whole) - at
            break
        significand = longer
    # After a cut whole part a small first digit of the fraction may fit again; the reference takes it.
    for digit in fraction:
        longer = significand * 10 + int(digit)
        if longer > _U64_MAX:
            break
        significand = longer
        exponent -= 1
    return significand, exponent


def _scale(significand: int, exponent: int, text: str) -> float:
    value = float(significand)
    while exponent < -_LARGEST_POWER:
        if value == 0.0:
            return value
        value /= _POWERS[_LARGEST_POWER]
        exponent += _LARGEST_POWER
    if exponent < 0:
        return value / _POWERS[-exponent]
    if exponent > _LARGEST_POWER:
        if value != 0.0:
            _refuse(text)
        return value
    value *= _POWERS[exponent]
    if value == float("inf"):
        _refuse(text)
    return value


def _refuse(text: str) -> None:
    raise DefinitionError(f"not valid JSON: the number {text:.40} is out of range")
