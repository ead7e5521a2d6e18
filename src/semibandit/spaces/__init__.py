"""Parameter spaces: where the knob may stand, and the line that carries a learner's weights.

A learner never asks which kind of space it has: a space is rows of an interval, laid end to end on a line.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from semibandit._validate import FloatArray
from semibandit.spaces.axes import Axis
from semibandit.spaces.boxes import Boxes
from semibandit.spaces.interval import Interval
from semibandit.spaces.kinds import Choice, Integer, Real
from semibandit.spaces.knobs import Knobs
from semibandit.spaces.line import Line
from semibandit.spaces.points import Parameters, call, parameters_of, values_of
from semibandit.spaces.strips import Alpha, Strips

__all__ = [
    "Alpha",
    "Axis",
    "Boxes",
    "Choice",
    "Integer",
    "Interval",
    "Knobs",
    "Line",
    "Parameters",
    "Real",
    "Space",
    "Strips",
    "call",
    "parameters_of",
    "restore",
    "values_of",
]


@runtime_checkable
class Space(Protocol):
    """Rows of an interval, each with further parameters of its own."""

    @property
    def interval(self) -> Interval:
        """Where rho lives, in every row."""
        ...

    @property
    def alphas(self) -> tuple[Alpha | None, ...]:
        """The further parameters of each row; (None,) where there are none."""
        ...

    @property
    def directions(self) -> tuple[Axis, ...]:
        """Where the rows lie along each further parameter."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which problems are called, that of rho first; () where they are called by position."""
        ...

    @property
    def line(self) -> Line:
        """The line that a learner works on."""
        ...

    def parameters(self, row: int, x: float) -> Parameters:
        """What the methods of a problem take, for the place x of a row."""
        ...

    def place(self, *args: Any, **values: Any) -> float:
        """The point of the line that functions are on which stands for the parameters."""
        ...

    def finer(self, shares: FloatArray) -> tuple[Any, list[int]] | None:
        """The space with its heavy rows split, and of which row each new one is; None: none was."""
        ...

    @property
    def finest(self) -> Any:
        """The space with all rows that it may have."""
        ...

    def describe(self) -> str:
        """What a learner and its problems must agree on."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `restore` undoes it."""
        ...


def restore(data: dict[str, Any]) -> Space:
    """The space that `to_dict` has taken apart.

    >>> space = Strips((2, 3), Interval(0, 1), over=(Interval(0, 1), Interval(2, 4)))
    >>> restore(space.to_dict()) == space
    True
    """
    if "knobs" in data:
        return Knobs.from_dict(data)
    return Strips.from_dict(data) if "interval" in data else Interval(**data)
