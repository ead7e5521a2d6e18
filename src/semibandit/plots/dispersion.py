"""Plots of dispersion: D(T, ε) against ε, and a histogram of the discontinuities."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit import _validate
from semibandit.dispersion.bounds.regret import DispersionFunction
from semibandit.dispersion.bounds.uniform import worst_interval
from semibandit.plots.figures import BLUE, GREEN, ORANGE, new_figure, require, visible_figure

if TYPE_CHECKING:
    from semibandit.dispersion.measuring import Dispersion

__all__ = ["counts", "histogram", "plot"]


def plot(
    result: Dispersion,
    path: str | PathLike[str] | None = None,
    *,
    bound: DispersionFunction | None = None,
    bound_name: str = "the theorem",
    title: str = "",
) -> Any:
    """Draw `counts` above `histogram`, return the figure, and write it to `path` if given.

    `bound` and `bound_name` are as for `counts`.
    """
    if path is not None:
        path = _validate.path("path", path)
    if not isinstance(title, str):
        raise TypeError(f"title must be a string, got {title!r}")
    figure = (visible_figure if path is None else new_figure)(figsize=(8.0, 8.0), dpi=110)
    above, below = figure.subplots(2, 1, height_ratios=[2.2, 1.0])
    counts(result, above, bound=bound, bound_name=bound_name)
    histogram(result, below)
    if title:
        figure.suptitle(title)
    if path is not None:
        figure.savefig(path)
    return figure


def counts(
    result: Dispersion, ax: Any, *, bound: DispersionFunction | None = None, bound_name: str = "the theorem"
) -> Any:
    """Draw D(T, ε) on log axes, with the line C·ε·T and a theorem's bound f(T, ε).

    Default bound: Theorem 5 with the measured rate of discontinuities. It is drawn where it is below T; the
    legend says "vacuous" if it nowhere is.
    """
    require("result", result, "D", "worst")
    require("ax", ax, "pcolormesh")
    T, eps = result.T, result.eps
    if bound is not None:
        _validate.function("bound", bound)
    else:
        bound, bound_name = _theorem_5(result), "Theorem 5, at the measured rate"
    for i, row in enumerate(result.table[:-1]):
        label = "D(T′, ε), T′ = T/2, T/4, ..." if i == 0 else None
        ax.plot(eps, row, color=BLUE, alpha=0.25, lw=1.0, label=label)
    bounded = np.array([bound(T, e) for e in eps], dtype=np.float64)
    bounded[bounded >= T] = np.nan
    name = f"{bound_name} (vacuous: larger than T)" if np.isnan(bounded).all() else bound_name
    ax.plot(eps, bounded, color=GREEN, lw=1.5, label=name)
    ax.plot(eps, result.C * eps * T, color=ORANGE, lw=1.2, ls="--", label=f"C·ε·T, C = {result.C:.3g}")
    ax.plot(eps, eps / result.space.width * T, color="0.5", lw=1.0, ls=":", label="ε·T / |space|")
    ax.plot(eps, result.counts, color=BLUE, lw=2.0, marker=".", ms=5, label=f"D(T, ε), T = {T:,}")
    if 0.0 < result.beta < np.inf:
        at = T**-result.beta / result.C
        ax.axvline(at, color=ORANGE, lw=1.0, alpha=0.6)
        ax.annotate(
            f"β = {result.beta:.2f}", (at, 0.75), xytext=(-5, 4), textcoords="offset points", rotation=90,
            color=ORANGE, va="bottom", ha="right",
        )  # fmt: skip
    ax.set(xscale="log", yscale="log", xlim=(eps[0], eps[-1]), ylim=(0.7, 1.6 * T))
    ax.set(xlabel="ε, length of the interval", ylabel="functions that break in the worst one")
    ax.set_title("dispersed" if result.dispersed else "not dispersed", loc="left")
    ax.grid(True, which="major", color="0.92", lw=0.8)
    ax.legend(loc="lower right", fontsize="small", framealpha=0.95, edgecolor="none")
    return ax


def histogram(result: Dispersion, ax: Any) -> Any:
    """Draw a histogram of the discontinuities, and mark the worst interval of T^−1/2 of the space."""
    require("result", result, "D", "worst")
    require("ax", ax, "pcolormesh")
    lo, hi = result.space.lo, result.space.hi
    places = result.breaks.x
    bins = int(np.clip(np.sqrt(max(places.size, 1)), 20, 200))
    ax.hist(places, bins=bins, range=(lo, hi), color=BLUE, alpha=0.7)
    if places.size:
        worst = result.worst(result.space.width / np.sqrt(result.T))
        ax.axvspan(worst.lo, min(worst.hi, hi), color=ORANGE, alpha=0.3, lw=0)
        ax.annotate(
            f"{worst.functions} of {result.T} functions break within {worst.hi - worst.lo:.2g}",
            (worst.lo, 1.0),
            xycoords=("data", "axes fraction"), xytext=(0, 3), textcoords="offset points", color=ORANGE,
            ha="left" if worst.lo < (lo + hi) / 2 else "right", fontsize="small",
        )  # fmt: skip
    ax.set(xlim=(lo, hi), xlabel="ρ", ylabel="discontinuities")
    return ax


def _theorem_5(result: Dispersion) -> DispersionFunction:
    """Return the bound of Theorem 5 for the highest rate of discontinuities measured."""
    from semibandit.dispersion.measuring import SLACK

    rate = result.C / SLACK
    K = int(np.bincount(result.breaks.owner, minlength=1).max())
    return lambda T, eps: worst_interval(T * min(1.0, rate * eps), T, K)
