"""New figures and axes, and the colours of all plots."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from semibandit._extras import needed
from semibandit.spaces import name_along

__all__ = [
    "BLUE",
    "FEEDBACK",
    "GREEN",
    "ORANGE",
    "OTHERS",
    "axes",
    "axis",
    "heat_map",
    "knob",
    "names",
    "new_figure",
    "require",
    "require_games",
    "visible_figure",
]

BLUE, ORANGE, GREEN = "#1f4e9c", "#c2571a", "#2a7f62"
FEEDBACK = {"full": GREEN, "semi-bandit": BLUE, "bandit": ORANGE}
OTHERS = "#7b3f98", "#a08a00", "#b0355e", "#5f6b73"  # for further curves


def new_figure(**options: Any) -> Any:
    """Return a figure without a window, for files."""
    with needed("drawing", "plot"):
        from matplotlib.figure import Figure
    return Figure(layout="constrained", **options)


def visible_figure(**options: Any) -> Any:
    """Return a figure of pyplot, which `plt.show()` shows."""
    with needed("drawing", "plot"):
        from matplotlib import pyplot
    return pyplot.figure(layout="constrained", **options)


def axes(ax: Any) -> Any:
    """Return the given axes, or new ones of pyplot."""
    if ax is None:
        return visible_figure().subplots()
    if not hasattr(ax, "pcolormesh"):
        raise TypeError(f"ax must be axes of matplotlib, got {ax!r}")
    return ax


def require(name: str, value: Any, *methods: str) -> None:
    """Raise unless the value has these methods."""
    for method in methods:
        if not callable(getattr(value, method, None)):
            raise TypeError(f"{name} must be something with a method {method!r}, got {value!r}")


def require_games(histories: Any) -> None:
    """Raise unless this is a mapping from names to games."""
    if not isinstance(histories, Mapping) or not histories:
        raise TypeError(f"histories must be a History, or several of them by name, got {histories!r}")
    for history in histories.values():
        require("histories", history, "regret", "densities")


def names(space: Any) -> str:
    """Return the names of the parameters of a space: those of knobs, or ρ and α."""
    if space.names:
        return ", ".join(space.names)
    return "ρ" if space.alphas == (None,) else "ρ, α"


def knob(space: Any) -> str:
    """Return the name of the parameter along the rows; "" if all knobs are choices."""
    return name_along(space.names, space.alphas[0]) or "" if space.names else "ρ"


def axis(space: Any, edges: Any) -> tuple[list[float], str]:
    """Return positions in a row as parameter values, and the scale of the axis."""
    if space.line.log:
        return [math.exp(x) for x in edges], "log"
    return list(edges), "linear"


def heat_map(ax: Any, x: Any, y: Any, values: Any, colours: str = "Blues", label: str | None = None) -> None:
    """Draw values between the edges x and y, with a colour bar; default label: that of a density."""
    image = ax.pcolormesh(x, y, values, cmap=colours, rasterized=True)
    ax.figure.colorbar(image, ax=ax, pad=0.01).set_label(label or "√(density / uniform density)")
