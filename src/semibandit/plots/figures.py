"""New figures and axes, and the colours of all pictures."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["BLUE", "FEEDBACK", "GREEN", "ORANGE", "axes", "axis", "knob", "names", "new_figure"]

BLUE, ORANGE, GREEN = "#1f4e9c", "#c2571a", "#2a7f62"
FEEDBACK = {"full": GREEN, "semi-bandit": BLUE, "bandit": ORANGE}


def new_figure(**options: Any) -> Any:
    """A figure that belongs to no window, so that a server or a test needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'semibandit[plot]'") from None
    return Figure(layout="constrained", **options)


def axes(ax: Any) -> Any:
    """The axes given, or new ones."""
    return new_figure().subplots() if ax is None else ax


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
