"""The whole loss functions of problems, checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, Line

__all__ = ["on_one_span", "space_of", "whole_loss"]


def whole_loss(problem: Any) -> Piecewise:
    """Return the loss function of a problem, or the function itself."""
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


def on_one_span(functions: Iterable[tuple[int, Piecewise]]) -> Iterator[tuple[int, Piecewise]]:
    """Pass functions through; raise if one is not seen everywhere, or has another span than the first."""
    span: tuple[float, float] | None = None
    for i, function in functions:
        if not function.whole:
            raise ValueError(f"the loss function of problem {i} is not seen everywhere: {function!r}")
        own = float(function.edges[0]), float(function.edges[-1])
        span = own if span is None else span
        if own != span:
            raise ValueError(f"problems must be on one space, got {own} in problem {i} and {span} before it")
        yield i, function
