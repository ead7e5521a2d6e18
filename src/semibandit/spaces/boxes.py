"""Boxes: a function of several knobs, as functions of one knob on boxes of the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from semibandit import _validate
from semibandit.functions import Piecewise, PiecewiseConstant, PiecewiseLinear

__all__ = ["Boxes"]


class Boxes:
    """Function of several knobs: functions of the knob along the rows, each on a box of the other knobs.

    Feedback for a learner on `Knobs` that covers other rows than the one played, and the whole loss function
    of a problem with several knobs. Boxes must not overlap. As feedback they must be one set of a partition
    of the space.

    Parameters
    ----------
    parts
        Pairs of a function of the values of the knob along the rows, and a dict with the range of the other
        knobs. For a number the range is a value or a pair (lo, hi), half-open but closed at the end of the
        knob; for a choice, a value or a list of values. A knob that is not in the dict may have any value.

    Examples
    --------
    >>> import semibandit as sb
    >>> knobs = sb.Knobs(alpha=sb.Real(0, 1), depth=sb.Integer(1, 4))
    >>> seen = Boxes([(sb.PiecewiseConstant([0.25, 0.5], [0.7]), {"depth": (1, 3)})])
    >>> knobs.line.on_rows(seen)
    PiecewiseConstant([0.25, 0.5, 1.25, 1.5], [0.7, nan, 0.7])
    """

    def __init__(self, parts: Iterable[tuple[Piecewise, dict[str, Any]]]) -> None:
        self.parts = tuple(map(_pair, _validate.iterable("parts", parts, "pairs of a function and a box")))
        if not self.parts:
            raise ValueError("parts must hold at least one pair of a function and a box, got none")

    def __repr__(self) -> str:
        return f"Boxes({list(self.parts)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Boxes) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `from_dict`."""
        return {"boxes": [[function.to_dict(), where] for function, where in self.parts]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Boxes:
        """Return the boxes from their `to_dict`."""
        if not (isinstance(data, dict) and isinstance(data.get("boxes"), list)):
            raise ValueError(f"data must be a dict with a list of 'boxes', got {data!r}")
        kinds = (PiecewiseConstant, PiecewiseLinear)
        return cls(
            [(kinds["left" in function].from_dict(function), where) for function, where in data["boxes"]]
        )


def _pair(part: Any) -> tuple[Piecewise, dict[str, Any]]:
    if not (
        isinstance(part, tuple | list)
        and len(part) == 2
        and isinstance(part[0], Piecewise)
        and isinstance(part[1], dict)
    ):
        raise TypeError(f"parts must be pairs of a piecewise function and a dict of ranges, got {part!r}")
    function, where = part
    return function, {str(name): list(w) if isinstance(w, tuple) else w for name, w in where.items()}
