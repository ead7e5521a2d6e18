"""Any algorithm with several knobs as a family: Algorithm 5 along the row of the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.families.black_box.problem import BlackBox
from semibandit.functions.constant import PiecewiseConstant
from semibandit.spaces.boxes import Boxes
from semibandit.spaces.interval import Interval
from semibandit.spaces.knobs import Knobs

__all__ = ["KnobBox"]


class KnobBox(BlackBox):
    """A `BlackBox` on `Knobs`: `run(instance, **values)`, searched along the row that the other knobs make.

    The parameters are those of `BlackBox`; `tolerance` and `resolution` are distances on the line, such as
    those of logarithms. Of whole numbers, and of a `Real` with a step, ends are exact: a search halves the
    number of values. Each row is a `BlackBox` of its own.

    >>> import semibandit as sb
    >>> knobs = sb.Knobs(depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good"))
    >>> def run(instance, depth, mode):
    ...     return depth >= instance, mode
    >>> box = sb.BlackBox(run, 5, knobs, lambda output: 0.2 if output[0] else 0.9)
    >>> box.reveal(depth=7, mode="fast"), box.reveal(depth=4, mode="good")
    (PiecewiseConstant([5.0, 12.0], [0.2]), PiecewiseConstant([1.0, 5.0], [0.9]))
    """

    def __init__(
        self,
        run: Callable[..., Any],
        instance: Any,
        space: Any,
        loss: Callable[..., float],
        tolerance: float = 1e-9,
        **options: Any,
    ) -> None:
        if not isinstance(space, Knobs):
            raise TypeError(f"space must be an Interval or Knobs, got {space!r}")
        if not callable(run):
            raise TypeError(f"run must be callable, got {run!r}")
        self.run, self.instance, self._knobs, self._scale = run, instance, space, space.scale
        self.space = space  # type: ignore[assignment]
        line = Interval(*self._scale.ends)
        self.tolerance = _validate.number("tolerance", tolerance, low=0.0, high=line.width, open=True)
        # Between two points of a search there is a value at most, so that none is missed.
        finest = line.width / self._scale.size
        self._loss = loss
        self._options: dict[str, Any] = {"tolerance": finest if finest > 0.0 else self.tolerance, **options}
        self._boxes: dict[tuple[Any, ...], BlackBox] = {}
        self._seen: dict[tuple[Any, ...], Any] = {}
        first = self._box(self._key(space.parameters(0, space.line.lo)))  # raises where an option is wrong
        self.equal, self.high, self.maximize = first.equal, first.high, first.maximize
        self.max_runs, self.most_runs = first.max_runs, first.most_runs

    @property
    def n_runs(self) -> int:  # type: ignore[override]
        """How often `run` was called so far. No values are run twice."""
        return len(self._seen)

    def _key(self, values: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(values[name] for name in self._knobs.names[1:])

    def _box(self, others: tuple[Any, ...]) -> BlackBox:
        """The search along the row of these values."""
        if others not in self._boxes:
            line = Interval(*self._scale.ends)
            self._boxes[others] = BlackBox(
                self._along(others), self.instance, line, self._loss, **self._options
            )
        return self._boxes[others]

    def _along(self, others: tuple[Any, ...]) -> Callable[[Any, float], Any]:
        names = self._knobs.names

        def run(instance: Any, x: float) -> Any:
            key = (self._scale.value(x), *others)
            if key not in self._seen:
                self._seen[key] = self.run(instance, **dict(zip(names, key, strict=True)))
            return self._seen[key]

        return run

    def _search(self, values: dict[str, Any]) -> tuple[BlackBox, Any, float]:
        """The row of the values, the value along it, and its place."""
        checked = self._knobs.check(**values)
        value = checked[self._knobs.along]
        return self._box(self._key(checked)), value, self._scale.cut(value)

    def output(self, **values: Any) -> Any:  # type: ignore[override]
        """What `run` gives for the values; run once, then remembered."""
        box, _, x = self._search(values)
        return box.output(x)

    def loss(self, **values: Any) -> float:  # type: ignore[override]
        """The loss at the values (bandit feedback): one run."""
        box, _, x = self._search(values)
        return box.loss(x)

    def reveal(self, **values: Any) -> PiecewiseConstant:  # type: ignore[override]
        """The loss on the interval around the value along the row with the same output (Algorithm 5)."""
        box, value, x = self._search(values)
        piece = box.reveal(x)
        lo, hi = piece.edges.tolist()
        # Rounding on the way to the line and back must not lose the value itself.
        below = value if lo == x else min(self._scale.value(lo), value)
        return PiecewiseConstant.constant(below, self._upper(hi, value), float(piece.values[0]))

    def _upper(self, x: float, value: Any) -> float:
        """The upper end of what is seen around a value, given the first point that was not."""
        end: float = self._knobs.interval.hi
        if x >= self._scale.ends[1]:  # all to the end of the knob, which is closed
            return end if value < end else float(self._scale.span[1])
        above = max(float(self._scale.value(x)), math.nextafter(value, math.inf))
        return above if above < end else math.nextafter(end, -math.inf)

    def losses(  # type: ignore[override]
        self, resolution: float | None = None, n_jobs: int | None = None
    ) -> Boxes:
        """The loss everywhere (full information): that of every row there may be; see `Knobs.finest`."""
        finest, most = self._knobs.finest, self.n_runs + self.max_runs
        parts: list[tuple[Any, dict[str, Any]]] = []
        for alpha in finest.alphas:
            others = alpha or ()
            row = self._box(others).losses(resolution, n_jobs)
            parts.append((self._in_values(row), dict(zip(finest.names[1:], others, strict=True))))
            if self.n_runs > most:
                raise ValueError(
                    f"more than max_runs = {self.max_runs} runs in {len(parts)} of {len(finest)} rows"
                )
        return Boxes(parts)

    def _in_values(self, row: PiecewiseConstant) -> PiecewiseConstant:
        """A function of places as one of values; of several edges at one value the last counts."""
        edges = [float(self._scale.value(x)) for x in row.edges.tolist()[:-1]]
        edges.append(self._upper(float(row.edges[-1]), edges[-1]))
        wide = np.diff(edges) > 0.0
        return PiecewiseConstant(np.append(np.array(edges[:-1])[wide], edges[-1]), row.values[wide])

    def __repr__(self) -> str:
        return f"<BlackBox on {self.space!r}, tolerance={self.tolerance:g}: {self.n_runs} runs so far>"
