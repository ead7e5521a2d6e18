"""Configurations for a race to try: a design that fills the space, then changes of the leaders.

A configuration is a tuple of values, one for each knob. The same arguments give the same configurations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from semibandit.spaces import Choice, Integer, Interval, Knobs, Real

__all__ = ["Configuration", "Kinds", "candidates", "check_default", "kinds_of", "space_filling"]

Configuration = tuple[Any, ...]
Kinds = dict[str, Real | Integer | Choice]

_STEPS = 0.02, 0.3  # smallest and largest standard deviation of a change, as a share of the scale
_CANDIDATES = 1000
_ATTEMPTS = 20  # to find another value
_DIGITS = 4


def kinds_of(space: Interval | Knobs, integer: bool = False) -> Kinds:
    """Return the knobs of a space by name; that of an `Interval` is called rho."""
    if isinstance(space, Knobs):
        return dict(space.knobs)
    if not integer:
        return {"rho": Real(space.lo, space.hi)}
    return {"rho": Integer(math.ceil(space.lo), math.floor(space.hi))}


def check_default(space: Interval | Knobs, default: Any, integer: bool = False) -> Any:
    """Return the default, a value or the values of all knobs by name, if it lies in the space."""
    if isinstance(space, Interval):
        value = space.check(default, "default")
        return float(round(value)) if integer else value
    if not isinstance(default, dict):
        raise TypeError(f"default must be the values of all knobs by name, got {default!r}")
    return space.check(**default)


def space_filling(kinds: Kinds, n: int, seed: int) -> list[Configuration]:
    """Return n configurations: evenly spaced for one number, otherwise a scrambled Sobol sequence."""
    if len(kinds) == 1:
        ((_, kind),) = kinds.items()
        if kind.ordered:
            found = [(_at(kind, i / (n - 1) if n > 1 else 0.5),) for i in range(n)]
            return list(dict.fromkeys(found))
    from scipy.stats import qmc

    points = qmc.Sobol(len(kinds), seed=np.random.default_rng(seed)).random_base2((n - 1).bit_length())
    found = [_of_place(kinds, point) for point in points.tolist()]
    return list(dict.fromkeys(found))[:n]


def candidates(
    kinds: Kinds, leaders: Sequence[Configuration], rng: np.random.Generator
) -> list[Configuration]:
    """Return 1,000 configurations: half of them drawn, half leaders with one or two knobs changed.

    Numbers change by a normal step on their scale, whose width is drawn too.
    """
    drawn = [_of_place(kinds, point) for point in rng.random((_CANDIDATES // 2, len(kinds))).tolist()]
    changed = [_changed(kinds, leaders[i], rng) for i in rng.integers(len(leaders), size=_CANDIDATES // 2)]
    return [*drawn, *changed]


def _changed(kinds: Kinds, leader: Configuration, rng: np.random.Generator) -> Configuration:
    values, every = list(leader), list(kinds.values())
    step = _STEPS[0] * (_STEPS[1] / _STEPS[0]) ** rng.random()
    for i in rng.permutation(len(every))[: 1 + int(rng.random() < 0.5)].tolist():
        values[i] = _neighbour(every[i], values[i], step, rng)
    return tuple(values)


def _neighbour(kind: Any, value: Any, step: float, rng: np.random.Generator) -> Any:
    """Return another value; of numbers, one at a normal distance, moved to the end of the range beyond it."""
    if not kind.ordered:
        others = [each for each in kind.values if each != value]
        return others[rng.integers(len(others))] if others else value
    for _ in range(_ATTEMPTS):
        new = _at(kind, min(max(kind.coordinate(value) + step * rng.standard_normal(), 0.0), 1.0))
        if new != value:
            return new
    return value


def _of_place(kinds: Kinds, point: Sequence[float]) -> Configuration:
    return tuple(_at(kind, u) for kind, u in zip(kinds.values(), point, strict=True))


def _at(kind: Any, u: float) -> Any:
    """Return the value at a share u of the scale; a `Real` has few digits, which are quick to type."""
    if not kind.ordered:
        return kind.values[min(int(u * len(kind.values)), len(kind.values) - 1)]
    start, end = kind.scale.ends
    value = kind.scale.value(start + (end - start) * u)
    if not isinstance(kind, Real) or kind.step is not None or value in (kind.lo, kind.hi):
        return value
    unit = abs(value) if kind.log else kind.hi - kind.lo
    rounded = round(value, _DIGITS - 1 - math.floor(math.log10(unit)))
    return min(max(rounded, kind.lo), kind.hi)
