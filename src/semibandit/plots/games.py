"""Pictures of games: regret, the density through time, what was seen, one instance's loss.

Each function draws into the axes given, or into new ones, and returns them. Needs the `plot` extra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from semibandit.functions import Piecewise
from semibandit.game.rounds import History
from semibandit.spaces.interval import Interval

__all__ = ["dendrogram", "density", "loss_function", "overview", "regret", "widths"]

_COLOURS = {"full": "#2a7f62", "semi-bandit": "#1f4e9c", "bandit": "#c2571a"}


def _figure(**options: Any) -> Any:
    """A new figure that belongs to no window, so that a server or a test needs no screen."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'semibandit[plot]'") from None
    return Figure(layout="constrained", **options)


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    return _figure().subplots()


def regret(histories: History | Mapping[str, History], ax: Any = None, *, rho: float | None = None) -> Any:
    """Cumulative regret against the best fixed parameter (or against `rho`), one curve a game."""
    ax = _axes(ax)
    if isinstance(histories, History):
        histories = {histories.feedback: histories}
    for name, history in histories.items():
        curve = history.regret(rho)
        t = np.arange(1, curve.size + 1)
        ax.plot(t, curve, label=name, color=_COLOURS.get(history.feedback), lw=1.5)
    ax.axhline(0.0, color="0.6", lw=0.8)
    ax.set(title="Regret against the best fixed ρ", xlabel="round", ylabel="cumulative regret")
    ax.margins(x=0.0)
    ax.legend(frameon=False, loc="upper left")
    return ax


def density(history: History, ax: Any = None) -> Any:
    """The learner's density over ρ through time; darker is likelier, the line is the best fixed ρ."""
    ax = _axes(ax)
    if not isinstance(history.space, Interval):
        raise TypeError("a density of two parameters is drawn by plots.plane.density")
    times, edges, shares = history.densities()
    per_length = shares / np.diff(edges)
    right = np.append(times[1:], max(len(history), times[-1] + 1))
    # A root brings out what is unlikely but alive; the scale is shown relative to the even density.
    even = 1.0 / history.space.width
    image = ax.pcolormesh(
        np.append(times, right[-1]), edges, np.sqrt(per_length / even).T, cmap="Blues", rasterized=True
    )
    bar = ax.figure.colorbar(image, ax=ax, pad=0.01)
    bar.set_label("√(density / uniform density)")
    ax.axhline(history.best().rho, color="#c2571a", lw=1.0, ls="--")
    ax.set(title=f"Density over ρ ({history.feedback})", xlabel="round", ylabel="ρ")
    return ax


def widths(history: History, ax: Any = None) -> Any:
    """The lengths of the intervals seen, round by round, with their running median."""
    ax = _axes(ax)
    seen = history.widths
    t = np.arange(1, seen.size + 1)
    ax.plot(t, seen, ".", ms=2, alpha=0.3, color=_COLOURS["semi-bandit"])
    parts = np.array_split(np.arange(seen.size), min(60, seen.size))
    ax.plot(
        [t[part].mean() for part in parts], [np.median(seen[part]) for part in parts],
        color="black", lw=1.2, label="running median",
    )  # fmt: skip
    ax.set(title="Width of the interval seen", xlabel="round", ylabel="width in ρ", yscale="log")
    ax.margins(x=0.0)
    ax.legend(frameon=False)
    return ax


def loss_function(problem: Any, rho: float | None = None, ax: Any = None) -> Any:
    """One instance's whole loss function; what a run at `rho` reveals is shaded."""
    ax = _axes(ax)
    function: Piecewise = problem.losses()
    x = np.repeat(function.edges, 2)[1:-1]
    ax.plot(x, np.column_stack(function.ends).ravel(), color="black", lw=1.2)
    if rho is not None:
        for lo, hi in problem.reveal(rho).domain:
            ax.axvspan(lo, hi, color=_COLOURS["semi-bandit"], alpha=0.2, lw=0, label="revealed")
        ax.plot([rho], [function(rho)], "o", color=_COLOURS["semi-bandit"], ms=5, label="played")
        ax.legend(frameon=False)
    ax.set(title="Loss of one instance", xlabel="ρ", ylabel="loss")
    ax.margins(x=0.0)
    return ax


def dendrogram(problem: Any, rho: float, ax: Any = None) -> Any:
    """The cluster tree of a linkage problem at rho; dots show the target clustering, where there is one."""
    from matplotlib.collections import LineCollection
    from scipy.cluster import hierarchy

    ax = _axes(ax)
    drawing = hierarchy.dendrogram(problem.tree(rho), no_plot=True)
    brackets = [
        list(zip(xs, ys, strict=True)) for xs, ys in zip(drawing["icoord"], drawing["dcoord"], strict=True)
    ]
    ax.add_collection(LineCollection(brackets, colors="0.35", linewidths=0.7))
    target = getattr(problem.cost, "target", None)
    if target is not None:
        leaves = drawing["leaves"]
        places = 10.0 * np.arange(len(leaves)) + 5.0  # where scipy puts leaves
        ax.scatter(
            places, np.zeros(len(leaves)), c=target[leaves], cmap="tab10", s=9, zorder=3, clip_on=False
        )
    ax.autoscale_view()
    ax.set_ylim(bottom=0.0)
    ax.set(title=f"ρ = {rho:.3g}: loss {problem.loss(rho):.3g}", xticks=[], ylabel="height")
    return ax


def overview(
    histories: Mapping[str, History],
    path: str | PathLike[str],
    title: str = "",
    *,
    trees: Sequence[float] = (),
) -> None:
    """One PNG: regret curves, the density through time, the widths seen, and one instance's loss.

    For linkage problems also that instance's dendrograms at the parameters in `trees`.
    """
    figure = _figure(figsize=(12, 11.5 if trees else 8), dpi=110)
    upper, lower = figure.subfigures(2, 1, height_ratios=(2, 1)) if trees else (figure, None)
    axes = upper.subplots(2, 2)
    shown = histories.get("semi-bandit") or next(iter(histories.values()))
    regret(histories, axes[0, 0])
    density(shown, axes[0, 1])
    loss_function(shown.problems[-1], float(shown.rho[-1]), axes[1, 0])
    if shown.feedback == "bandit":
        axes[1, 1].set_axis_off()
    else:
        widths(shown, axes[1, 1])
    if lower is not None:
        for rho, ax in zip(trees, lower.subplots(1, len(trees), squeeze=False)[0], strict=True):
            dendrogram(shown.problems[-1], rho, ax)
    if title:
        figure.suptitle(title)
    figure.savefig(path)
