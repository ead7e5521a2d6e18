"""Parameter spaces: where the knob may stand, and the line that carries a learner's weights.

A learner never asks which kind of space it has: a space is rows of an interval, laid end to end on a line.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from semibandit.spaces.interval import Interval
from semibandit.spaces.line import Line
from semibandit.spaces.strips import Alpha, Strips

__all__ = ["Alpha", "Interval", "Line", "Space", "Strips", "restore"]


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
    def shape(self) -> tuple[int, ...]:
        """The number of rows along each further parameter."""
        ...

    @property
    def line(self) -> Line:
        """The line that a learner works on."""
        ...

    def parameters(self, row: int, rho: float) -> tuple[Any, ...]:
        """What the methods of a problem take."""
        ...

    def place(self, *parameters: Any) -> float:
        """The point of the line that functions are on which stands for the parameters."""
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
    kind = Strips.from_dict if "interval" in data else lambda data: Interval(**data)
    return kind(data)
