"""The whole loss functions of problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, Line

__all__ = ["require_span", "require_whole", "space_of", "whole_functions", "whole_loss"]


def whole_functions(problems: Iterable[Any], maximize: bool, spaces: list[Any]) -> Iterator[Piecewise]:
    """The functions to minimise; `spaces` gets the space of the first problem, None for a bare function."""
    ends: tuple[float, float] | None = None
    for i, problem in enumerate(_validate.iterable("problems", problems, "a sequence of problems")):
        if not spaces:
            spaces.append(space_of(problem))
        function = whole_loss(problem)
        require_whole(function, i)
        ends = require_span(function, i, ends)
        yield function * -1.0 if maximize else function


def require_whole(function: Piecewise, i: int) -> None:
    """Raise if the function of problem i is not seen everywhere."""
    if not function.whole:
        raise ValueError(f"the loss function of problem {i} is not seen everywhere: {function!r}")


def require_span(function: Piecewise, i: int, ends: tuple[float, float] | None) -> tuple[float, float]:
    """The span of the function of problem i; raise if it is another than that of those before it."""
    own = float(function.edges[0]), float(function.edges[-1])
    if own != (ends or own):
        raise ValueError(f"problems must be on one space, got {own} in problem {i} and {ends} before it")
    return own


def whole_loss(problem: Any) -> Piecewise:
    """The loss function of a problem, or the function itself."""
    if isinstance(problem, Piecewise):
        return problem
    losses = getattr(problem, "losses", None)
    if not callable(losses):
        raise TypeError(f"problems must be functions, or have a method `losses`, got {problem!r}")
    function = losses()
    if not isinstance(function, Piecewise | Boxes):
        raise TypeError(
            f"`losses` must return the loss as a PiecewiseConstant (or a PiecewiseLinear), got {function!r} "
            f"from {problem!r}"
        )
    space = space_of(problem)
    return (Line(0.0, 1.0) if space is None else space.line).on_rows(function)  # type: ignore[no-any-return]


def space_of(problem: Any) -> Any:
    """Return the space of a problem; None for a bare function."""
    return getattr(problem, "space", None)
