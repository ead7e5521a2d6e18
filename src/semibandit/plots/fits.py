"""Plots of fits. Needs the `plot` extra."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.fitting import Fit
from semibandit.functions import Piecewise
from semibandit.plots.figures import BLUE, ORANGE, axes

__all__ = ["fit"]

_MOST_POINTS = 4000  # of a curve; more than the columns of a figure


def fit(result: Fit, ax: Any = None, *, default: float | None = None) -> Any:
    """Draw the mean loss of a log with its confidence band, the best parameters, and the default.

    The band holds for all parameters at once, with probability `confidence.level`; a vacuous band is not
    drawn. Of several rows, that of the best parameter is black and the others are grey.

    Parameters
    ----------
    result
        Result of `fit`.
    ax
        Axes to draw in. Default: new ones.
    default
        Value of ρ to mark.
    """
    if not isinstance(result, Fit):
        raise TypeError(f"result must be a Fit, got {result!r}")
    if result.names:
        raise TypeError(f"fits of named knobs cannot be drawn, got {result!r}")
    default = None if default is None else _validate.number("default", default)
    ax = axes(ax)
    curve, space = result.function, result.space
    if space is not None and len(space.alphas) > 1:
        best = space.alphas.index(result.alpha)
        for i, row in enumerate(space.line.rows(curve)):
            if i == best:
                curve = row
            else:
                ax.plot(*_points(row), color="0.8", lw=0.6)
    x, y = _points(curve)
    radius = result.confidence.radius
    note = ""
    if result.confidence.vacuous:
        note = "; confidence band vacuous"
    else:
        ax.fill_between(x, y - radius, y + radius, color=BLUE, alpha=0.15, lw=0, label=_band(result))
    ax.plot(x, y, color="black", lw=1.2, label=f"mean of {result.count:,} problems{note}")
    lo, hi = result.interval
    ax.axvspan(lo, hi, color=ORANGE, alpha=0.3, lw=0)
    ax.axvline(result.rho, color=ORANGE, lw=1.2, label=f"best: ρ = {result.rho:.4g}")
    if default is not None:
        ax.axvline(default, color="0.4", lw=1.0, ls="--", label=f"default: ρ = {default:.4g}")
    ax.set(title="Mean loss", xlabel="ρ", ylabel="loss")
    ax.margins(x=0.0)
    if np.nanmin(y) >= 0.0:
        ax.set_ylim(bottom=max(ax.get_ylim()[0], 0.0))  # there are no negative losses
    ax.legend(frameon=False)
    return ax


def _band(result: Fit) -> str:
    return f"expected loss, {result.confidence.level:.0%} band (± {result.confidence.radius:.2g})"


def _points(function: Piecewise) -> tuple[Any, Any]:
    """Return the points of a curve: both ends of each piece, or a grid if there are too many pieces."""
    if len(function) <= _MOST_POINTS:
        return np.repeat(function.edges, 2)[1:-1], np.column_stack(function.ends).ravel()
    lowest = function.edges[np.nanargmin(function.lowest)]
    x = np.union1d(np.linspace(function.edges[0], function.edges[-1], _MOST_POINTS), lowest)
    return x, function(x)
