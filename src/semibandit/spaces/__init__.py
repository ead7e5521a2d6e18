"""Parameter spaces, and the line on which a learner keeps its weights.

Every space consists of rows of one interval, laid end to end on a line. An `Interval` has one row, `Strips`
have one for each value of the further parameters, `Knobs` for combinations of values of the other knobs.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from semibandit.spaces.boxes import Boxes
from semibandit.spaces.context import Context, Label, Point
from semibandit.spaces.interval import Interval
from semibandit.spaces.kinds import Choice, Integer, Kind, Real, When
from semibandit.spaces.knobs import Knobs
from semibandit.spaces.line import Axis, Line
from semibandit.spaces.parameters import Parameters, call, name_along, parameters_of, values_of
from semibandit.spaces.strips import Alpha, Strips

__all__ = [
    "Alpha",
    "Axis",
    "Boxes",
    "Choice",
    "Context",
    "Integer",
    "Interval",
    "Knobs",
    "Label",
    "Line",
    "Parameters",
    "Point",
    "Real",
    "Space",
    "Strips",
    "When",
    "as_space",
    "call",
    "name_along",
    "parameters_of",
    "restore",
    "values_of",
]


@runtime_checkable
class Space(Protocol):
    """Rows of an interval, each with its own values of further parameters."""

    @property
    def interval(self) -> Interval:
        """Range of rho, the same in every row."""
        ...

    @property
    def alphas(self) -> tuple[Alpha | None, ...]:
        """Further parameters of each row; (None,) if there are none."""
        ...

    @property
    def directions(self) -> tuple[Axis, ...]:
        """Positions of the rows along each further parameter."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the arguments of a problem's methods, that of rho first; () if they are positional."""
        ...

    @property
    def line(self) -> Line:
        """Line of a learner's weights."""
        ...

    def parameters(self, row: int, x: float) -> Parameters:
        """Return the arguments of a problem's methods for position x of a row."""
        ...

    def place(self, *args: Any, **values: Any) -> float:
        """Return the point of the line of functions for the parameters."""
        ...

    def coordinates(self, *args: Any, **values: Any) -> tuple[Any, Any]:
        """Return rho and alpha of the parameters, checked."""
        ...

    def describe(self) -> str:
        """Return the description that must be the same for a learner and its problems."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `restore`."""
        ...


def as_space(space: Any) -> Space:
    """Return a space; a `Real` or an `Integer` alone is the knob `rho`, a `Choice` alone the knob `choice`.

    >>> as_space(Choice("fast", "good"))
    Knobs(choice=Choice('fast', 'good'))
    """
    if isinstance(space, Kind):
        return Knobs(rho=space) if space.ordered else Knobs(choice=space)
    if not isinstance(space, Space):
        raise TypeError(f"space must be an Interval, Strips, Knobs or a single knob, got {space!r}")
    return space


def restore(data: dict[str, Any]) -> Space:
    """Return the space from its `to_dict`.

    >>> space = Strips(3, Interval(0, 1), over=Interval(2, 4))
    >>> restore(space.to_dict()) == space
    True
    """
    if "knobs" in data:
        return Knobs.from_dict(data)
    return Strips.from_dict(data) if "interval" in data else Interval(**data)
