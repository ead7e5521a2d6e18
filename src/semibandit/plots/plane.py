"""Plots of games with two parameters: heat maps over the square of (ρ, α).

Each function draws into the given axes, or into new ones, and returns them. Needs the `plot` extra.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit._validate import FloatArray
from semibandit.functions import Piecewise
from semibandit.games import History
from semibandit.plots.figures import ORANGE, axes, heat_map, require
from semibandit.spaces import Space

__all__ = ["density", "instance", "loss"]

_BINS = 512


def density(history: History, ax: Any = None, *, chosen: Any = None) -> Any:
    """Draw the learner's density over the square at the end of the game.

    A cross marks the best fixed point in hindsight, a circle `chosen`, the learner's recommendation.
    """
    require("history", history, "densities", "best")
    ax = axes(ax)
    _, edges, shares = history.densities()
    even = 1.0 / shares[-1].size
    heat_map(ax, edges, _boundaries(history.space), np.sqrt(shares[-1] / even))
    _mark(ax, history, chosen)
    ax.set(title=f"Density after {len(history)} rounds ({history.feedback})", xlabel="ρ", ylabel="α")
    return ax


def loss(
    function: Piecewise, space: Space, ax: Any = None, *, history: Any = None, chosen: Any = None
) -> Any:
    """Draw a function on the line of the space, such as a mean loss, over the square."""
    if not isinstance(function, Piecewise):
        raise TypeError(f"function must be a piecewise function, got {function!r}")
    if not isinstance(space, Space):
        raise TypeError(f"space must be Strips, got {space!r}")
    ax = axes(ax)
    edges = np.linspace(space.interval.lo, space.interval.hi, _BINS + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    values = np.array([row(middles) for row in space.line.rows(function)])
    heat_map(ax, edges, _boundaries(space), values, "viridis_r", "loss")
    if history is not None:
        _mark(ax, history, chosen)
    ax.set(title="Mean loss", xlabel="ρ", ylabel="α")
    return ax


def instance(problem: Any, rho: float, alpha: float, ax: Any = None) -> Any:
    """Draw the loss of one instance over the square, and outline the feedback set of (rho, alpha)."""
    require("problem", problem, "losses", "reveal")
    ax = loss(problem.losses(), problem.space, ax)
    from matplotlib.patches import Rectangle

    space, seen = problem.space, problem.reveal(rho, alpha)
    bounds = _boundaries(space)
    for row, part in enumerate(space.line.rows(seen)):
        for lo, hi in part.domain:
            corner, height = (lo, bounds[row]), bounds[row + 1] - bounds[row]
            ax.add_patch(Rectangle(corner, hi - lo, height, fill=False, ec="red", lw=1.2))
    ax.plot([rho], [alpha], "o", color="red", ms=5, clip_on=False)
    ax.set(title="Loss of one instance; outlined: revealed by one run", xlabel="ρ", ylabel="α")
    return ax


def _boundaries(space: Space) -> FloatArray:
    """Return the boundaries between the bands of the rows: halfway between neighbours."""
    alphas = np.array(space.alphas)
    if alphas.dtype == object or alphas.ndim != 1:
        raise TypeError(f"space must be Strips with one further parameter, got {space!r}")
    half = 0.5 * (alphas[1] - alphas[0]) if alphas.size > 1 else 0.5
    return np.concatenate(([alphas[0] - half], 0.5 * (alphas[1:] + alphas[:-1]), [alphas[-1] + half]))


def _mark(ax: Any, history: History, chosen: Any) -> None:
    """Mark the best fixed point in hindsight and the recommendation."""
    require("history", history, "best")
    if chosen is not None and not (hasattr(chosen, "rho") and hasattr(chosen, "alpha")):
        raise TypeError(f"chosen must be a recommendation, with rho and alpha, got {chosen!r}")
    best = history.best()
    rho, alpha = best.rho, best.alpha
    ax.plot([rho], [alpha], "x", color=ORANGE, ms=9, mew=2.5, label="best in hindsight", clip_on=False)
    if chosen is not None:
        ax.plot(
            [chosen.rho], [chosen.alpha], "o", mfc="none", color="black", ms=9, mew=1.8, label="chosen",
            clip_on=False,
        )  # fmt: skip
    ax.legend(frameon=True, framealpha=0.8, loc="lower left", fontsize="small")
