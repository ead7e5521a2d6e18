"""New figures and axes, and the colours of all pictures."""

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
OTHERS = "#7b3f98", "#a08a00", "#b0355e", "#5f6b73"  # where they do not suffice


def new_figure(**options: Any) -> Any:
    """A figure that belongs to no window, so that a server or a test needs no screen."""
    with needed("drawing", "plot"):
        from matplotlib.figure import Figure
    return Figure(layout="constrained", **options)


def visible_figure(**options: Any) -> Any:
    """A figure that `plt.show()` shows, for those who have imported pyplot; one of nobody's for others.

    pyplot keeps its figures until they are closed, and may want a screen: who has not imported it does not
    expect that.
    """
    pyplot = sys.modules.get("matplotlib.pyplot")
    return new_figure(**options) if pyplot is None else pyplot.figure(layout="constrained", **options)


def axes(ax: Any) -> Any:
    """The axes given, or new ones."""
    if ax is None:
        return visible_figure().subplots()
    if not hasattr(ax, "pcolormesh"):
        raise TypeError(f"ax must be axes of matplotlib, got {ax!r}")
    return ax


def require(name: str, value: Any, *methods: str) -> None:
    """Refuse what cannot be drawn, for want of a method."""
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise TypeError(f"{name} must be something with a method {method!r}, got {value!r}")


def require_games(histories: Any) -> None:
    """Refuse what is not a mapping from names to games."""
    if not isinstance(histories, Mapping) or not histories:
        raise TypeError(f"histories must be what play returns, or several of them by name, got {histories!r}")
    for history in histories.values():
        require("histories", history, "regret", "densities")


def names(space: Any) -> str:
    """What the parameters of a space are called: the names of knobs, or the field's letters."""
    if space.names:
        return ", ".join(space.names)
    return "ρ" if space.alphas == (None,) else "ρ, α"


def knob(space: Any) -> str:
    """What the parameter along the rows is called."""
    return str(space.names[0]) if space.names else "ρ"


def axis(space: Any, edges: Any) -> tuple[list[float], str]:
    """Places of a row as values to draw, and the scale of the axis."""
    if space.line.log:
        return [math.exp(x) for x in edges], "log"
    return list(edges), "linear"
