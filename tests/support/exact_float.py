"""Floating-point numbers as exact fractions, and correct rounding to any small format.

The formulas that tests compare with are written in exact arithmetic and rounded once, here.
"""

from dataclasses import dataclass
from fractions import Fraction

NAN = "nan"
INF, NEGATIVE_INF = "inf", "-inf"
# A value: a fraction with its sign kept apart for zeroes, or one of the names above.
Real = Fraction | str


@dataclass(frozen=True)
class Format:
    """A binary interchange format; it has infinities unless a flag says otherwise."""

    width: int
    exponent_bits: int
    fraction_bits: int
    bias: int
    fnuz: bool = False
    no_infinity: bool = False  # OCP e4m3: only all-ones is NaN
    only_numbers: bool = False  # neither infinity nor NaN: the largest magnitude stands for them

    @property
    def sign_bit(self) -> int:
        return 1 << (self.width - 1)

    @property
    def top_exponent(self) -> int:
        return (1 << self.exponent_bits) - 1

    def largest(self) -> int:
        """The pattern of the largest finite magnitude."""
        if self.fnuz or self.only_numbers:
            return self.sign_bit - 1
        if self.no_infinity:
            return self.sign_bit - 2
        return (self.top_exponent << self.fraction_bits) - 1

    def nan(self) -> int:
        if self.only_numbers:
            return self.largest()
        if self.fnuz:
            return self.sign_bit
        if self.no_infinity:
            return self.sign_bit - 1
        return (self.top_exponent << self.fraction_bits) | 1 << (self.fraction_bits - 1)

    def is_nan(self, bits: int) -> bool:
        if self.only_numbers:
            return False
        if self.fnuz:
            return bits == self.sign_bit
        magnitude = bits & (self.sign_bit - 1)
        if self.no_infinity:
            return magnitude == self.sign_bit - 1
        return magnitude > self.top_exponent << self.fraction_bits

    def is_infinite(self, bits: int) -> bool:
        magnitude = bits & (self.sign_bit - 1)
        plain = not (self.fnuz or self.no_infinity or self.only_numbers)
        return plain and magnitude == self.top_exponent << self.fraction_bits

    def value(self, bits: int) -> Real:
        if self.is_nan(bits):
            return NAN
        negative = bool(bits & self.sign_bit)
        if self.is_infinite(bits):
            return NEGATIVE_INF if negative else INF
        exponent = bits >> self.fraction_bits & self.top_exponent
        fraction = bits & ((1 << self.fraction_bits) - 1)
        significand = fraction | (1 << self.fraction_bits if exponent else 0)
        scale = max(exponent, 1) - self.bias - self.fraction_bits
        magnitude = Fraction(significand) * Fraction(2) ** scale
        return -magnitude if negative else magnitude

    def finite(self, bits: int) -> Fraction:
        """The value of a pattern that is neither NaN nor infinite."""
        value = self.value(bits)
        assert isinstance(value, Fraction), hex(bits)
        return value

    def round(self, value: Fraction, *, negative_zero: bool = False) -> int:
        """The nearest pattern, ties to even; too large becomes infinity, or NaN without one."""
        sign = self.sign_bit if value < 0 or (value == 0 and negative_zero) else 0
        magnitude = abs(value)
        if magnitude == 0:
            return 0 if self.fnuz else sign
        lowest = 1 - self.bias
        exponent = max(_floor_log2(magnitude), lowest)
        steps = magnitude / Fraction(2) ** (exponent - self.fraction_bits)
        whole = _round_half_even(steps)
        if whole >> (self.fraction_bits + 1):
            exponent, whole = exponent + 1, whole >> 1
        pattern = whole
        if whole >> self.fraction_bits:
            pattern += (exponent + self.bias - 1) << self.fraction_bits
        if pattern > self.largest():
            if self.fnuz:
                return self.nan()
            if self.only_numbers:
                return sign | self.largest()
            infinity = self.nan() if self.no_infinity else self.top_exponent << self.fraction_bits
            return sign | infinity
        return 0 if self.fnuz and pattern == 0 else sign | pattern


F16 = Format(16, 5, 10, 15)
BF16 = Format(16, 8, 7, 127)
F32 = Format(32, 8, 23, 127)
F64 = Format(64, 11, 52, 1023)
FP8_FNUZ = Format(8, 4, 3, 8, fnuz=True)
BF8_FNUZ = Format(8, 5, 2, 16, fnuz=True)
FP8_OCP = Format(8, 4, 3, 7, no_infinity=True)
BF8_OCP = Format(8, 5, 2, 15)
FP6 = Format(6, 2, 3, 1, only_numbers=True)
BF6 = Format(6, 3, 2, 3, only_numbers=True)
FP4 = Format(4, 2, 1, 1, only_numbers=True)


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def _round_half_even(value: Fraction) -> int:
    return round(value)  # Python's rounds half to even
