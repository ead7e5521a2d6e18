"""Figures, axes and colours shared by all plots."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

from semibandit._extras import needed

__all__ = [
    "BLUE",
    "FEEDBACK",
    "GREEN",
    "ORANGE",
    "OTHERS",
    "axes",
    "axis",
    "knob",
    "names",
    "new_figure",
    "require",
    "require_games",
    "visible_figure",
]

BLUE, ORANGE, GREEN = "#1f4e9c", "#c2571a", "#2a7f62"
FEEDBACK = {"full": GREEN, "semi-bandit": BLUE, "bandit": ORANGE}
OTHERS = "#7b3f98", "#a08a00", "#b0355e", "#5f6b73"  # further curves


def new_figure(**options: Any) -> Any:
    """Return a figure without a window, which needs no screen."""
    with needed("drawing", "plot"):
        from matplotlib.figure import Figure
    return Figure(layout="constrained", **options)


def visible_figure(**options: Any) -> Any:
    """Return a figure that `plt.show()` shows if pyplot is imported, else one without a window.

    pyplot keeps its figures until they are closed and may need a screen, so it is not imported here.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    return new_figure(**options) if pyplot is None else pyplot.figure(layout="constrained", **options)


def axes(ax: Any) -> Any:
    """Return the given axes, or new ones."""
    if ax is None:
        return visible_figure().subplots()
    if not hasattr(ax, "pcolormesh"):
        raise TypeError(f"ax must be axes of matplotlib, got {ax!r}")
    return ax


def require(name: str, value: Any, *methods: str) -> None:
    """Raise a TypeError if the value lacks one of the methods that a plot calls."""
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise TypeError(f"{name} must be something with a method {method!r}, got {value!r}")


def require_games(histories: Any) -> None:
    """Raise a TypeError unless `histories` maps names to histories."""
    if not isinstance(histories, Mapping) or not histories:
        raise TypeError(f"histories must be a History, or a mapping from names to them, got {histories!r}")
    for history in histories.values():
        require("histories", history, "regret", "densities")


def names(space: Any) -> str:
    """Return the names of the parameters of a space; ρ and α unless they are knobs."""
    if space.names:
        return ", ".join(space.names)
    return "ρ" if space.alphas == (None,) else "ρ, α"


def knob(space: Any) -> str:
    """Return the name of the parameter along the rows."""
    return str(space.names[0]) if space.names else "ρ"


def axis(space: Any, edges: Any) -> tuple[list[float], str]:
    """Return the edges as values of the parameter, and the scale of its axis."""
    if space.line.log:
        return [math.exp(x) for x in edges], "log"
    return list(edges), "linear"
