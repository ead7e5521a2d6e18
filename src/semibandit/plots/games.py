"""Plots of games: regret, density over time, observed intervals, the loss of one instance.

Each function draws into the given axes, or into new ones, and returns them. Needs the `plot` extra.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.games import History
from semibandit.plots.figures import (
    BLUE,
    FEEDBACK,
    ORANGE,
    OTHERS,
    axes,
    axis,
    heat_map,
    knob,
    names,
    require,
    require_games,
)
from semibandit.spaces import call, parameters_of

__all__ = ["across", "dendrogram", "density", "loss_function", "regret", "widths"]

_MANY_POINTS = 100_000
_MOST_LABELS = 24  # of rows


def regret(
    histories: History | Mapping[str, History],
    ax: Any = None,
    *,
    rho: float | None = None,
    blocks: int | None = None,
    certificates: Mapping[str, float] | None = None,
    by: str = "round",
) -> Any:
    """Draw the cumulative regret against the best fixed parameter (or `rho`), one curve per game.

    With `blocks`, a dashed curve is the regret against the best sequence of at most this many parameters.
    `certificates` are bounds on the regret by the name of a game; they are shown in the legend. With
    by="run" the x-axis is runs of the algorithm instead of rounds.
    """
    _validate.choice("by", by, ("round", "run"))
    histories = _by_name(histories)
    certificates = _checked_certificates(certificates)
    ax = axes(ax)
    colours, others = dict(FEEDBACK), iter(OTHERS)
    for name, history in histories.items():
        curve = history.regret(rho)
        moving = None if blocks is None else history.regret(blocks=blocks)
        t = np.arange(1, curve.size + 1) if by == "round" else np.cumsum(history.runs)
        bound = certificates.get(name)
        label = name if bound is None else f"{name} (certified: at most {bound:.0f})"
        # The first of several games with the same feedback has its colour.
        colour = colours.pop(history.feedback, None) or next(others, None)
        (line,) = ax.plot(t, curve, label=label, color=colour, lw=1.5)
        if moving is not None:
            ax.plot(t, moving, label=f"{name}, {blocks} blocks", color=line.get_color(), lw=1.5, ls="--")
    ax.axhline(0.0, color="0.6", lw=0.8)
    space = next(iter(histories.values())).space
    against = f"the best fixed {names(space)}" if rho is None else f"ρ = {rho:g}"
    if blocks is not None:
        against += f" and the best {blocks} blocks"
    ax.set(title=f"Regret against {against}", xlabel=by, ylabel="cumulative regret")
    if by == "run":
        ax.set(title="Regret by runs of the algorithm", xscale="log")
    ax.margins(x=0.0)
    # "best" covers no curve, but is slow with many points.
    many = sum(len(history) for history in histories.values()) > _MANY_POINTS
    ax.legend(loc="upper left" if many else "best", framealpha=0.8, edgecolor="none")
    return ax


def _by_name(histories: History | Mapping[str, History]) -> Mapping[str, History]:
    """Return games by name; a single game has the name of its feedback."""
    if isinstance(histories, History):
        histories = {histories.feedback: histories}
    require_games(histories)
    return histories


def _checked_certificates(certificates: Any) -> dict[str, float]:
    """Return bounds by the name of a game."""
    if certificates is None:
        return {}
    if not isinstance(certificates, Mapping):
        raise TypeError(f"certificates must be bounds by the name of a game, got {certificates!r}")
    return {name: _validate.number("certificates", bound) for name, bound in certificates.items()}


def density(history: History, ax: Any = None, *, best: bool = True) -> Any:
    """Draw the density over ρ (the knob along the rows) through time, and the best fixed ρ as a line.

    Of several rows, the sum is drawn. The line needs the whole loss functions; best=False omits it.
    """
    require("history", history, "densities", "best")
    _validate.boolean("best", best)
    ax = axes(ax)
    times, edges, shares = history.densities()
    places, scale = axis(history.space, edges)
    _over_time(ax, times, len(history), places, shares.reshape(times.size, -1, edges.size - 1).sum(axis=1))
    if best:
        ax.axhline(history.best().rho, color=ORANGE, lw=1.0, ls="--")
    name = knob(history.space)
    ax.set(title=f"Density over {name} ({history.feedback})", xlabel="round", ylabel=name, yscale=scale)
    return ax


def across(history: History, ax: Any = None, *, best: bool = True) -> Any:
    """Draw the density over the other parameters through time, one band per row, and the best row."""
    require("history", history, "densities", "best")
    _validate.boolean("best", best)
    ax, alphas = axes(ax), history.space.alphas
    if alphas == (None,):
        raise TypeError(f"history must have several parameters, got one on {history.space!r}")
    times, _, shares = history.densities()
    n = len(alphas)
    _over_time(ax, times, len(history), np.arange(n + 1), shares.reshape(times.size, n, -1).sum(axis=2))
    if best:
        ax.axhline(alphas.index(history.best().alpha) + 0.5, color=ORANGE, lw=1.0, ls="--")
    step = -(-n // _MOST_LABELS)
    labels = [", ".join(map(_short, np.atleast_1d(np.array(x, object)))) for x in alphas[::step]]
    ax.set_yticks(np.arange(0, n, step) + 0.5, labels)
    space = history.space
    name = ", ".join(name for name in space.names if name != knob(space)) or "α"
    ax.set(title=f"Density over {name} ({history.feedback})", xlabel="round", ylabel=name)
    return ax


def _over_time(ax: Any, times: Any, n_rounds: int, edges: Any, masses: Any) -> None:
    """Draw probabilities, with a row for each snapshot; the root makes small densities visible."""
    right = np.append(times, max(n_rounds, times[-1] + 1))
    heat_map(ax, right, edges, np.sqrt(masses.T * masses.shape[1]))


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def widths(histories: History | Mapping[str, History], ax: Any = None) -> Any:
    """Draw the lengths of the observed intervals per round, with their running median, for each game."""
    single = isinstance(histories, History)
    histories = _by_name(histories)
    ax = axes(ax)
    colours, others = dict(FEEDBACK), iter(OTHERS)
    for label, history in histories.items():
        seen = history.widths
        t = np.arange(1, seen.size + 1)
        colour = BLUE if single else colours.pop(history.feedback, None) or next(others, None)
        (dots,) = ax.plot(t, seen, ".", ms=2, alpha=0.3, color=colour)
        parts = np.array_split(np.arange(seen.size), min(60, 1 + seen.size // 20))
        ax.plot(
            [t[part].mean() for part in parts], [np.median(seen[part]) for part in parts], lw=1.2,
            color="black" if single else dots.get_color(), label="running median" if single else label,
        )  # fmt: skip
    name = knob(next(iter(histories.values())).space)
    ax.set(title="Width of the observed interval", xlabel="round", ylabel=f"width in {name}", yscale="log")
    ax.margins(x=0.0)
    ax.legend(frameon=False)
    return ax


def loss_function(problem: Any, rho: float | None = None, ax: Any = None) -> Any:
    """Draw the whole loss function of an instance; the interval that a run at `rho` reveals is shaded."""
    require("problem", problem, "losses", "reveal")
    ax = axes(ax)
    function = problem.losses()
    if not isinstance(function, Piecewise):
        raise TypeError(f"only losses of one parameter can be drawn, got {function!r}")
    ax.plot(np.repeat(function.edges, 2)[1:-1], np.column_stack(function.ends).ravel(), color="black", lw=1.2)
    if rho is not None:
        for lo, hi in call(problem.reveal, parameters_of(problem.space.names, rho, None)).domain:
            ax.axvspan(lo, hi, color=BLUE, alpha=0.2, lw=0, label="revealed")
        ax.plot([rho], [function(rho)], "o", color=BLUE, ms=5, label="played")
        ax.legend(frameon=False)
    scale = "log" if problem.space.line.log else "linear"
    ax.set(title="Loss of one instance", xlabel=knob(problem.space), ylabel="loss", xscale=scale)
    ax.margins(x=0.0)
    return ax


def dendrogram(problem: Any, rho: float, ax: Any = None) -> Any:
    """Draw the cluster tree of a linkage problem at rho; dots show the target clustering, if any."""
    from matplotlib.collections import LineCollection
    from scipy.cluster import hierarchy

    require("problem", problem, "tree", "loss")
    ax = axes(ax)
    drawing = hierarchy.dendrogram(problem.tree(rho), no_plot=True)
    brackets = [
        list(zip(xs, ys, strict=True)) for xs, ys in zip(drawing["icoord"], drawing["dcoord"], strict=True)
    ]
    ax.add_collection(LineCollection(brackets, colors="0.35", linewidths=0.7))
    target = getattr(problem.cost, "target", None)
    if target is not None:
        leaves = drawing["leaves"]
        places = 10.0 * np.arange(len(leaves)) + 5.0  # the positions of leaves in scipy
        ax.scatter(
            places, np.zeros(len(leaves)), c=target[leaves], cmap="tab10", s=9, zorder=3, clip_on=False
        )
    ax.autoscale_view()
    ax.set_ylim(bottom=0.0)
    ax.set(title=f"ρ = {rho:.3g}: loss {problem.loss(rho):.3g}", xticks=[], ylabel="height")
    return ax
