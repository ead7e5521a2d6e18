"""The whole loss functions of problems, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, Line

__all__ = ["space_of", "whole_losses"]


def whole_losses(problems: Iterable[tuple[int, Any]]) -> Iterator[tuple[Any, Piecewise]]:
    """Yield each problem with its loss function; a function stands for itself.

    Raises if a function is not seen everywhere, or has another span than the first.
    """
    first: tuple[float, float] | None = None
    for i, problem in problems:
        function = _loss_function(problem)
        if not function.whole:
            raise ValueError(f"the loss function of problem {i} is not seen everywhere: {function!r}")
        span = float(function.edges[0]), float(function.edges[-1])
        first = span if first is None else first
        if span != first:
            raise ValueError(f"problems must be on one space, got {span} in problem {i} and {first} before")
        yield problem, function


def space_of(problem: Any) -> Any:
    """Return the space of a problem; None for a bare function."""
    return getattr(problem, "space", None)


def _loss_function(problem: Any) -> Piecewise:
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
