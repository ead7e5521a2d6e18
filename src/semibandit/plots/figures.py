"""New figures and axes, and the colours of all pictures."""

from __future__ import annotations

from typing import Any

__all__ = ["BLUE", "FEEDBACK", "GREEN", "ORANGE", "axes", "new_figure"]

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
