"""What a study has learned, as a prior on another space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.spaces import Interval, Knobs, Space, call

__all__ = ["prior_on"]

_CELLS = 256  # of a prior, on all rows together; at least 8 on each


def prior_on(space: Space, density: PiecewiseConstant, learned: Space, trust: float) -> PiecewiseConstant:
    """Return a density on another space, as a prior on its line.

    Each row takes the density of the learned row that is nearest in the values of the other knobs. Values
    that the learned space does not have get the uniform density alone.

    Parameters
    ----------
    space
        The other space.
    density, learned
        A density, and its space.
    trust
        Share of the density in the mixture with the uniform density, below 1.
    """
    for each in (learned, space):
        if not isinstance(each, Interval | Knobs):
            raise TypeError(f"space must be an Interval or Knobs, and that of this study, got {each!r}")
    if (space.names[:1], set(space.names)) != (learned.names[:1], set(learned.names)):
        raise ValueError(f"space must have the knobs {learned.names}, got {space.names}")
    trust = _validate.number("trust", trust, low=0.0, high=math.nextafter(1.0, 0.0))
    line, cells = space.line, max(_CELLS // space.line.n_rows, 8)
    inner = line.cuts(cells)
    (lo, hi), edges, masses = line.scale.span, [np.array([line.ends[0]])], []
    for row in range(line.n_rows):
        edges.append(np.append(inner + line.shift(row), line.outer(row)[1]))
        values = [lo, *map(line.scale.value, inner.tolist()), hi]
        masses.append(_masses(density, learned, _values(space, row, learned), values))
    whole, mass = np.concatenate(edges), np.concatenate(masses)
    uniform = np.diff(whole) / line.extent
    share = mass / mass.sum() if mass.sum() > 0.0 else uniform
    return PiecewiseConstant(whole, (trust * share + (1.0 - trust) * uniform) / np.diff(whole))


def _values(space: Any, row: int, learned: Any) -> Any:
    """Return the parameters of a row, with the first value of the learned space along the row."""
    if isinstance(space, Interval):
        return (learned.lo,)
    values = space.parameters(row, space.line.lo)
    return values if space.along is None else values | {space.along: learned.knobs[space.along].lo}


def _masses(density: PiecewiseConstant, learned: Any, values: Any, edges: list[Any]) -> Any:
    """Return the mass of the learned density between values along the row of other knobs; 0 if unknown."""
    line = learned.line
    try:
        row = line.read(call(learned.place, values))[0]
    except (ValueError, TypeError):
        return np.zeros(len(edges) - 1)
    (first, last), (lo, hi) = line.outer(row), line.scale.span
    places = [first if x <= lo else last if x >= hi else line.scale.place(x) + line.shift(row) for x in edges]
    return density.between(np.array(places))
