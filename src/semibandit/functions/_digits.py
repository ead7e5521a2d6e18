"""Doubles as integers of many digits, added without rounding and rounded correctly at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from semibandit._validate import FloatArray, IntArray

BITS = 32
HALF, MASK = np.int64(1 << (BITS - 1)), np.int64((1 << BITS) - 1)
# Rows that are worked on at a time, so that what is needed in between stays small.
BLOCK = 1 << 17


@dataclass(frozen=True, eq=False)
class Digits:
    """Numbers Σ array[i, j]·2^(32·(first + j)), a row each.

    Where they are kept for long, digits are in [-2^31, 2^31) and take four bytes: a number then has only
    one form. While numbers are added they are wider: 2^30 rows can be added before digits are carried.
    """

    first: int
    array: npt.NDArray[Any]

    def rows(self, which: Any) -> Digits:
        """Some of the numbers, or all in another order."""
        return Digits(self.first, self.array[which])

    def grouped(self, firsts: IntArray) -> Digits:
        """The sums of the rows from each of `firsts` to the next one."""
        return carried(Digits(self.first, np.add.reduceat(self.array, firsts, axis=0, dtype=np.int64)))


def zeros(n: int) -> Digits:
    """Nothing, n times."""
    return Digits(0, np.zeros((n, 1), np.int64))


def of(values: FloatArray) -> Digits:
    """Finite doubles as digits, exactly: a mantissa of 53 bits covers three of them at most."""
    fraction, exponent = np.frexp(values)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    place = np.where(mantissa == 0, 0, exponent.astype(np.int64) - 53)
    column, shift = place >> 5, place & (BITS - 1)
    first = int(column.min())
    array = np.zeros((values.size, int(column.max()) - first + 3), np.int64)
    row, column = np.arange(values.size), column - first
    low, high = (mantissa & MASK) << shift, (mantissa >> BITS) << shift
    array[row, column] = low & MASK
    array[row, column + 1] = (low >> BITS) + (high & MASK)
    array[row, column + 2] = high >> BITS
    return Digits(first, array)


def _spread(digits: Digits, first: int, last: int) -> npt.NDArray[np.int64]:
    """The digits from place `first` up to `last`, as a fresh array of wide ones."""
    array = np.zeros((len(digits.array), last - first), np.int64)
    start = digits.first - first
    array[:, start : start + digits.array.shape[1]] = digits.array
    return array


def _range(parts: Sequence[Digits]) -> tuple[int, int]:
    return min(part.first for part in parts), max(part.first + part.array.shape[1] for part in parts)


def joined(parts: Sequence[Digits]) -> Digits:
    """The numbers of all parts, one after the other."""
    first, last = _range(parts)
    return Digits(first, np.concatenate([_spread(part, first, last) for part in parts]))


def total(a: Digits, b: Digits) -> Digits:
    """The sums a + b, number by number."""
    first, last = _range((a, b))
    return Digits(first, _spread(a, first, last) + _spread(b, first, last))


def difference(a: Digits, b: Digits) -> Digits:
    """The differences a - b, number by number."""
    return total(a, Digits(b.first, -b.array))


def carried(digits: Digits) -> Digits:
    """The same numbers with digits in [-2^31, 2^31), and no more of them than needed."""
    columns = [np.array(column, np.int64) for column in digits.array.T]
    j = 0
    while j < len(columns):
        carry = (columns[j] + HALF) >> BITS
        if carry.any():
            columns[j] -= carry << BITS
            if j + 1 == len(columns):
                columns.append(np.zeros_like(carry))
            columns[j + 1] += carry
        j += 1
    used = [j for j, column in enumerate(columns) if column.any()] or [0]
    array = np.stack(columns[used[0] : used[-1] + 1], axis=1).astype(np.int32)
    return Digits(digits.first + used[0], array)


def rounded(digits: Digits) -> FloatArray:
    """The nearest doubles, ties to even; so that equal numbers are equal, and larger ones not smaller."""
    digits = carried(digits)
    row = np.arange(len(digits.array))
    sign = np.where(digits.array[row, _top(digits.array)] < 0, -1, 1)
    # Magnitudes with digits in [0, 2^32); two more at the bottom, so that three can be read everywhere.
    array = np.column_stack((np.zeros((row.size, 2), np.int64), digits.array * sign[:, None]))
    for j in range(2, array.shape[1] - 1):
        carry = array[:, j] >> BITS
        array[:, j] -= carry << BITS
        array[:, j + 1] += carry
    top = _top(array)
    high, middle, low = (array[row, top - i].astype(np.uint64) for i in range(3))
    # 64 bits from the first that is not 0; the last of them also says whether anything follows.
    shift = (BITS - np.frexp(high.astype(np.float64))[1]).astype(np.uint64)
    word = ((high << np.uint64(BITS) | middle) << shift) | (low >> (np.uint64(BITS) - shift))
    rest = (low << shift) & np.uint64(MASK)
    digits_below = np.cumsum(array != 0, axis=1)[row, top - 2] - (low != 0)
    word |= ((rest != 0) | (digits_below > 0)).astype(np.uint64)
    exponent = BITS * (digits.first + top - 3) - shift.astype(np.int64)
    with np.errstate(over="ignore"):
        return np.asarray(sign * np.ldexp(word.astype(np.float64), exponent))


def _top(array: npt.NDArray[Any]) -> IntArray:
    """The place of the highest digit that is not 0, in each row."""
    top: IntArray = array.shape[1] - 1 - np.argmax(array[:, ::-1] != 0, axis=1)
    return top


def shifted(digits: Digits) -> Digits:
    """Each number in the place of the next; 0 in the first place."""
    array = np.zeros_like(digits.array)
    array[1:] = digits.array[:-1]
    return Digits(digits.first, array)


def _prefixes(digits: Digits) -> Iterator[tuple[slice, Digits]]:
    """The sums of the first 1, 2, 3, ... numbers, block by block."""
    before: Any = 0
    for start in range(0, len(digits.array), BLOCK):
        block = slice(start, start + BLOCK)
        sums = np.cumsum(digits.array[block], axis=0, dtype=np.int64) + before
        before = sums[-1]
        yield block, Digits(digits.first, sums)


def prefix_sums(digits: Digits, plus: Digits | None = None) -> FloatArray:
    """The sums of the first 1, 2, 3, ... numbers, rounded; with `plus`, to each its own number is added."""
    out = np.empty(len(digits.array))
    for block, sums in _prefixes(digits):
        out[block] = rounded(sums if plus is None else total(sums, plus.rows(block)))
    return out


def prefix_sums_in_two(digits: Digits) -> tuple[FloatArray, FloatArray]:
    """The same as unevaluated sums of two doubles: the nearest one, and what it lacks."""
    high, low = np.empty((2, len(digits.array)))
    for block, sums in _prefixes(digits):
        high[block] = rounded(sums)
        low[block] = rounded(difference(sums, of(high[block])))
    return high, low
