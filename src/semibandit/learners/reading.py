"""Reading of feedback: check what the user tells, and lay it on the line as losses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from semibandit import _validate
from semibandit._jit import kernel
from semibandit._validate import FloatArray
from semibandit.functions import Piecewise, PiecewiseConstant
from semibandit.spaces import Boxes, Line
from semibandit.weights import HALVINGS, Cells, Feedback, combined

__all__ = [
    "Scale",
    "cell_around",
    "function",
    "is_number",
    "looks",
    "loss",
    "predicted",
    "prior",
    "single_loss",
    "step",
    "whole_function",
]

_VALID, _OUT_OF_RANGE, _NOT_COVERED = 0, 1, 2
_UNIFORM = 0.01  # part of the uniform density in a prior
_LARGEST = 1e150  # of values without a bound: squares do not overflow
_CELLS = 32  # of a row, for single losses
_SINGLE = 4.0  # their cells are halved above a share of _SINGLE · t^(-1/3)


class Scale(NamedTuple):
    """Conversion of values, losses or utilities, to the losses that a learner uses.

    Parameters
    ----------
    low, high
        Bounds of the values.
    maximize
        Values are utilities.
    unit
        Losses are divided by it.
    origin
        Subtracted from losses, in units: with one of the losses, large values that differ little lose no
        digits.
    """

    low: float
    high: float
    maximize: bool
    unit: float = 1.0
    origin: float = 0.0

    @classmethod
    def bounded(cls, high: float, maximize: bool) -> Scale:
        """Return the scale that maps values in [0, high] to losses in [0, 1] (appendix A.1)."""
        return cls(0.0, high, maximize, high, -1.0 if maximize else 0.0)

    @classmethod
    def free(cls, high: float | None, maximize: bool) -> Scale:
        """Return the scale of values in [0, high], or of any values in the user's units."""
        return cls(-_LARGEST, _LARGEST, maximize) if high is None else cls(0.0, high, maximize, high)

    def losses(self, values: Any) -> Any:
        """Convert values to losses."""
        start = self.origin * self.unit
        losses = -values - start if self.maximize else values - start
        return losses if self.unit == 1.0 else losses / self.unit

    def value(self, loss: float) -> float:
        """Convert a loss to a value."""
        loss = self.unit * (loss + self.origin)
        return -loss if self.maximize else loss

    def expected(self) -> str:
        """Return the bounds as text."""
        if self.low < 0.0:
            return f"finite and at most {self.high:g} in size"
        return f"in [0, {self.high:g}]"


def is_number(seen: Any) -> bool:
    """Return whether the feedback is a single loss."""
    return isinstance(seen, int | float | np.floating | np.integer) and not isinstance(seen, bool)


def loss(seen: Any, scale: Scale) -> float:
    """Check a single loss."""
    return float(scale.losses(_validate.number("the loss told", seen, low=scale.low, high=scale.high)))


def cell_around(
    position: float, cells: Cells, line: Line, n_told: int, log_shares: Callable[[FloatArray], FloatArray]
) -> tuple[float, float]:
    """Return the cell that a single loss counts for.

    At first a 32nd of the line (on several rows, the cells of the baseline); halved while it holds more than
    a share 4·t^(-1/3) of the mass. The cells form a partition that depends on the past only.
    """
    edges = cells.edges
    if not cells.along_rows and cells.leaf.size > _CELLS and math.isinf(line.size):
        edges = edges[::2]
    i = min(max(int(np.searchsorted(edges, position, side="right")) - 1, 0), edges.size - 2)
    lo, hi = float(edges[i]), float(edges[i + 1])
    most = math.log(_SINGLE) - math.log1p(n_told) / 3.0
    if most > 0.0:  # no share is larger
        return lo, hi
    for _ in range(HALVINGS):
        middle = line.halfway(lo, hi)
        if not lo < middle < hi or log_shares(np.array([lo, hi]))[0] <= most:
            break
        lo, hi = (middle, hi) if position >= middle else (lo, middle)
    return lo, hi


def single_loss(
    loss: float,
    position: float,
    cells: Cells,
    line: Line,
    n_told: int,
    log_shares: Callable[[FloatArray], FloatArray],
) -> Feedback:
    """Return the feedback of a single loss, on the cell that it counts for."""
    lo, hi = cell_around(position, cells, line, n_told, log_shares)
    averaged = lo < line.halfway(lo, hi) < hi
    return replace(Feedback.step(lo, hi, loss, position, single=True), averaged=averaged)


def looks(
    positions: tuple[float, ...], seen: Any, line: Line, read: Callable[[int, Any], Feedback]
) -> Feedback | None:
    """Combine the feedback of the looks of a round, each read by `read`; None if all are missing."""
    if len(seen) > len(positions) or not seen:
        raise ValueError(f"seen must hold the feedback of each of {len(positions)} looks, got {len(seen)}")
    observed = [(line.position(positions[i]), read(i, one)) for i, one in enumerate(seen) if one is not None]
    return combined(observed) if observed else None


def step(seen: Any, position: float, line: Line, scale: Scale) -> Feedback | None:
    """Read one step around the parameter, the common case; None for all others and for errors."""
    if type(seen) is PiecewiseConstant and seen.values.size == 1 and line.bare:
        (lo, hi), value, (first, last) = seen.edges.tolist(), seen.values.item(), line.ends
        if first <= lo <= position <= hi <= last and scale.low <= value <= scale.high:
            return Feedback.step(lo, hi, scale.losses(value), position, whole=lo == first and hi == last)
    return None


def function(seen: Any, position: float, line: Line, scale: Scale, named: Callable[[], str]) -> Feedback:
    """Check a function that covers the parameter; `named` describes the parameter in errors."""
    if not isinstance(seen, Piecewise | Boxes):
        raise TypeError(
            f"seen must be a PiecewiseConstant or PiecewiseLinear that covers {named()}, "
            f"a single loss, or None for a failed run, got {seen!r}"
        )
    laid = line.lay(seen, position)
    # Copies: numba takes much longer to inspect read-only arrays.
    edges, sets = laid.edges.copy(), np.zeros(len(laid), np.int64)
    left, right = (end.copy() for end in laid.ends)
    status, value, whole = _survey(edges, left, right, sets, position, (scale.low, scale.high), line.ends)
    if status == _OUT_OF_RANGE:
        raise ValueError(f"the values told must be {scale.expected()}, got {float(value)!r}")
    if status == _NOT_COVERED:
        raise ValueError(f"the function told must cover {named()}, got {seen!r}")
    left, paid = scale.losses(left), float(scale.losses(value))
    if laid.degree == 0:
        return Feedback(edges, left, sets, paid, position, whole)
    right = scale.losses(right)
    return Feedback(edges, 0.5 * (left + right), sets, paid, position, whole, rises=right - left)


def whole_function(i: int, given: Any, line: Line, scale: Scale) -> Piecewise:
    """Check a logged function and lay it on the line."""
    if not isinstance(given, Piecewise | Boxes):
        raise TypeError(f"functions[{i}] must be a piecewise function, got {given!r}")
    laid = line.lay(given)
    if not laid.whole or (float(laid.edges[0]), float(laid.edges[-1])) != line.ends:
        raise ValueError(f"functions[{i}] must be seen on the whole space, got {given!r}")
    low, high = laid.min(), float(np.maximum(*laid.ends).max())
    if low < scale.low or high > scale.high:
        raise ValueError(f"functions[{i}] must have values {scale.expected()}, got {low:g} to {high:g}")
    left, right = laid.ends
    scaled = np.array(scale.losses(left))
    return laid.of_ends(laid.edges, scaled, scaled if left is right else np.array(scale.losses(right)))


def predicted(given: Any, line: Line, density: Callable[[], PiecewiseConstant]) -> float:
    """Return a prediction of the loss; of a function, its mean by the density from which parameters come."""
    if is_number(given):
        return _validate.number("predicted", given, low=-_LARGEST, high=_LARGEST)
    if not isinstance(given, Piecewise | Boxes):
        raise TypeError(f"predicted must be a number or a piecewise function, got {given!r}")
    laid, weight = line.lay(given), density()
    ends = float(laid.edges[0]), float(laid.edges[-1])
    if not laid.whole or ends != (float(weight.edges[0]), float(weight.edges[-1])):
        raise ValueError(f"predicted must be known on the whole space, got {given!r}")
    edges = np.union1d(laid.edges, weight.edges)
    shares = weight.spread(edges)[0] * np.diff(edges)
    return float(shares @ (0.5 * np.add(*laid.spread(edges))) / shares.sum())


def prior(given: Any, line: Line) -> PiecewiseConstant | None:
    """Check a prior; return it as a density on the weights' line, with 1 % of the uniform one mixed in."""
    if given is None:
        return None
    if not isinstance(given, PiecewiseConstant):
        raise TypeError(f"prior must be a density as a PiecewiseConstant, got {given!r}")
    (lo, hi), ends = line.ends, (float(given.edges[0]), float(given.edges[-1]))
    if line.n_rows > 1 and ends not in (line.ends, line.span):
        raise ValueError(
            f"prior must be a density on the {line.n_rows} rows of the space, from {lo:g} to {hi:g}, "
            f"got one from {ends[0]:g} to {ends[1]:g}"
        )
    laid: Any = given if ends == line.ends else line.lay(given)
    whole = laid.whole and (float(laid.edges[0]), float(laid.edges[-1])) == line.ends
    if not whole or laid.min() < 0.0 or laid.integral() <= 0.0:
        raise ValueError(f"prior must be a density on the whole space, got {given!r}")
    density = (1.0 - _UNIFORM) * (laid.values / laid.integral()) + _UNIFORM / (hi - lo)
    return PiecewiseConstant(laid.edges, density)


@kernel
def _survey(
    edges: Any, left: Any, right: Any, sets: Any, x: float, bounds: tuple[float, float],
    ends: tuple[float, float],
) -> tuple[int, float, bool]:  # fmt: skip
    """Check values; return (status, the value at x or the bad one, whether all of the line is covered).

    Writes -1 to `sets` (zeros before) for the pieces that were not observed.
    """
    at = -1
    whole = edges[0] == ends[0] and edges[left.size] == ends[1]
    for i in range(left.size):
        if math.isnan(left[i]):
            whole = False
            sets[i] = -1
            continue
        if not bounds[0] <= left[i] <= bounds[1]:
            return _OUT_OF_RANGE, left[i], whole
        if not bounds[0] <= right[i] <= bounds[1]:
            return _OUT_OF_RANGE, right[i], whole
        if edges[i] <= x < edges[i + 1]:
            at = i
    # The right end of an observed stretch is closed unless another piece begins there.
    if at < 0:
        for i in range(left.size):
            if x == edges[i + 1] and not math.isnan(left[i]):
                at = i
    if at < 0:
        return _NOT_COVERED, np.nan, whole
    if left[at] == right[at]:
        return _VALID, left[at], whole
    share = (x - edges[at]) / (edges[at + 1] - edges[at])
    value = left[at] * (1.0 - share) + right[at] * share
    return _VALID, min(max(value, min(left[at], right[at])), max(left[at], right[at])), whole
