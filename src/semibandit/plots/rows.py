"""Plots of games with several knobs.

Each function draws into the axes given, or into new ones, and returns them. Needs the `plot` extra.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit.games import History
from semibandit.plots.figures import axes, axis, knob, require

__all__ = ["across", "along"]

_MOST_LABELS = 24


def across(history: History, ax: Any = None) -> Any:
    """Plot the density over the other knobs through time, one band per row; darker is more likely."""
    require("history", history, "densities")
    ax = axes(ax)
    times, _, shares = history.densities()
    masses = shares.reshape(times.size, len(history.space.alphas), -1).sum(axis=2)
    right = np.append(times, max(len(history), times[-1] + 1))
    n = masses.shape[1]
    image = ax.pcolormesh(
        right, np.arange(n + 1), np.sqrt(masses.T * n), cmap="Blues", vmin=0.0, rasterized=True
    )
    ax.figure.colorbar(image, ax=ax, pad=0.01).set_label("√(density / uniform density)")
    step = -(-n // _MOST_LABELS)
    shown: list[Any] = list(history.space.alphas[::step])
    labels = [", ".join(map(_short, alpha or ())) for alpha in shown]
    ax.set_yticks(np.arange(0, n, step) + 0.5, labels)
    others = ", ".join(name for name in history.space.names if name != knob(history.space))
    ax.set(title=f"Density over {others} ({history.feedback})", xlabel="round", ylabel=others)
    return ax


def along(history: History, ax: Any = None) -> Any:
    """Plot the density of the knob along the rows through time, summed over the rows."""
    require("history", history, "densities")
    ax = axes(ax)
    times, edges, shares = history.densities()
    masses = shares.reshape(times.size, -1, edges.size - 1).sum(axis=1)
    places, scale = axis(history.space, edges)
    right = np.append(times, max(len(history), times[-1] + 1))
    image = ax.pcolormesh(right, places, np.sqrt(masses.T * masses.shape[1]), cmap="Blues", rasterized=True)
    ax.figure.colorbar(image, ax=ax, pad=0.01).set_label("√(density / uniform density)")
    name = knob(history.space)
    ax.set(title=f"Density over {name} ({history.feedback})", xlabel="round", ylabel=name, yscale=scale)
    return ax


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
