"""Exact arithmetic on arrays of doubles: integers times a power of two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray

__all__ = ["Dyadic"]

Integers = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Dyadic:
    """The exact numbers digits·2^exponent, where `digits` is an array of Python integers."""

    exponent: int
    digits: Integers

    @classmethod
    def of(cls, values: FloatArray) -> Dyadic:
        """Convert finite doubles without rounding."""
        mantissa, exponents = mantissas(values)
        exponent = int(exponents[mantissa != 0].min(initial=0))
        shift = np.where(mantissa == 0, 0, exponents - exponent)
        if not shift.size or shift.max() <= 10:  # all of them fit into 63 bits
            return cls(exponent, (mantissa << shift).astype(object))
        return cls(exponent, mantissa.astype(object) << shift.astype(object))

    def at_exponent(self, exponent: int) -> Integers:
        """Return the digits for a smaller or equal exponent."""
        return self.digits << (self.exponent - exponent) if exponent < self.exponent else self.digits

    def __add__(self, other: Dyadic) -> Dyadic:
        exponent = min(self.exponent, other.exponent)
        return Dyadic(exponent, self.at_exponent(exponent) + other.at_exponent(exponent))

    def __sub__(self, other: Dyadic) -> Dyadic:
        return self + Dyadic(other.exponent, -other.digits)

    def __mul__(self, other: Dyadic) -> Dyadic:
        return Dyadic(self.exponent + other.exponent, self.digits * other.digits)

    def __getitem__(self, index: Any) -> Dyadic:
        return Dyadic(self.exponent, self.digits[index])

    @staticmethod
    def concatenate(parts: list[Dyadic]) -> Dyadic:
        """Join arrays, in order."""
        exponent = min(part.exponent for part in parts)
        return Dyadic(exponent, np.concatenate([part.at_exponent(exponent) for part in parts]))

    def differences(self) -> Dyadic:
        """Subtract from each number the one before it; 0 is before the first."""
        digits = self.digits.copy()
        digits[1:] -= self.digits[:-1]
        return Dyadic(self.exponent, digits)

    def running_sums(self) -> Dyadic:
        """Return the sums of the first 1, 2, 3, ... numbers."""
        return Dyadic(self.exponent, np.cumsum(self.digits))

    def grouped(self, firsts: IntArray) -> Dyadic:
        """Return the sums of the numbers from each of `firsts` to the next one."""
        return Dyadic(self.exponent, np.add.reduceat(self.digits, firsts))

    def to_floats(self, quantum: int | None = None) -> FloatArray:
        """Return the nearest doubles, ties to even; first round to multiples of 2^quantum, if given."""
        digits, exponent = self.digits, self.exponent
        if quantum is not None and quantum > exponent:
            half = 1 << (quantum - exponent - 1)
            digits, exponent = (digits + half) >> (quantum - exponent), quantum
        numerator, denominator = 1 << max(exponent, 0), 1 << max(-exponent, 0)
        try:  # the quotient of two integers is rounded correctly
            return np.array([digit * numerator / denominator for digit in digits.tolist()], np.float64)
        except OverflowError:
            raise ValueError("values must be finite, got a sum beyond the range of doubles") from None


def mantissas(values: FloatArray) -> tuple[IntArray, IntArray]:
    """Return integers of 53 bits and exponents: values = mantissas·2^exponents."""
    fraction, exponents = np.frexp(values)
    return np.ldexp(fraction, 53).astype(np.int64), exponents.astype(np.int64) - 53
