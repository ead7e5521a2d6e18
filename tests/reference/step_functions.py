"""Step functions the obvious way: a list of (lo, hi, value) in exact rational arithmetic; None: not seen."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

Piece = tuple[Fraction, Fraction, Fraction | None]


def from_lists(edges: Iterable[float], values: Iterable[float]) -> list[Piece]:
    ends = [Fraction(edge) for edge in edges]
    steps = [None if math.isnan(value) else Fraction(value) for value in values]
    return list(zip(ends[:-1], ends[1:], steps, strict=True))


def value(pieces: Sequence[Piece], x: float) -> Fraction | None:
    """Right-continuous, the last end closed."""
    point = Fraction(x)
    for lo, hi, step in pieces:
        if lo <= point < hi:
            return step
    lo, hi, step = pieces[-1]
    assert point == hi, "outside"
    return step


def total(functions: Sequence[Sequence[Piece]]) -> list[Piece]:
    """The pointwise sum on the common refinement, seen where all functions are."""
    ends = sorted({end for pieces in functions for lo, hi, _ in pieces for end in (lo, hi)})
    result: list[Piece] = []
    for lo, hi in itertools.pairwise(ends):
        steps = [_inside(pieces, lo) for pieces in functions]
        seen = [step for step in steps if step is not None]
        result.append((lo, hi, sum(seen, Fraction(0)) if len(seen) == len(steps) else None))
    return result


def _inside(pieces: Sequence[Piece], point: Fraction) -> Fraction | None:
    for lo, hi, step in pieces:
        if lo <= point < hi:
            return step
    return None


def integral(pieces: Sequence[Piece]) -> Fraction:
    return sum(((hi - lo) * step for lo, hi, step in pieces if step is not None), Fraction(0))


def mean(pieces: Sequence[Piece]) -> Fraction:
    return integral(pieces) / sum(hi - lo for lo, hi, step in pieces if step is not None)


def compress(pieces: Sequence[Piece]) -> list[Piece]:
    result = [pieces[0]]
    for lo, hi, step in pieces[1:]:
        if step == result[-1][2]:
            result[-1] = (result[-1][0], hi, step)
        else:
            result.append((lo, hi, step))
    return result


def domain(pieces: Sequence[Piece]) -> list[tuple[Fraction, Fraction]]:
    marked = [(lo, hi, None if step is None else Fraction(0)) for lo, hi, step in pieces]
    return [(lo, hi) for lo, hi, step in compress(marked) if step is not None]


def argmin(pieces: Sequence[Piece]) -> tuple[Fraction, Fraction]:
    """The widest stretch on which the minimum is attained, the leftmost of equals."""
    lowest = min(step for _, _, step in pieces if step is not None)
    best = [(lo, hi) for lo, hi, step in compress(pieces) if step == lowest]
    return max(best, key=lambda stretch: stretch[1] - stretch[0])
