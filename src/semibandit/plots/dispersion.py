"""A picture of dispersion: D(T, ε) against ε, and where the discontinuities lie."""

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
    """Both panels in one figure, which is returned, and written to `path` if given. Needs matplotlib.

    `bound` is a theorem's f(T, ε), for instance Lemma 8 with the constants of the stream; None for Theorem 5
    with the measured rate of discontinuities. `bound_name` is what the legend calls it.
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
    """D(T, ε) on log axes, between the line C·ε·T and a theorem's bound."""
    require("result", result, "D", "worst")
    require("ax", ax, "pcolormesh")
    T, eps = result.T, result.eps
    if bound is not None:
        _validate.function("bound", bound)
    else:
        bound, bound_name = _theorem_5(result), "Theorem 5, at the measured rate"
    for rounds, row in zip(result.prefixes[:-1], result.table[:-1], strict=True):
        first = rounds == result.prefixes[0]
        ax.plot(
            eps, row, color=BLUE, alpha=0.25, lw=1.0, label="D(T′, ε), T′ = T/2, T/4, ..." if first else None
        )
    ax.plot(eps, [bound(T, e) for e in eps], color=GREEN, lw=1.5, label=bound_name)
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
    """Where the discontinuities lie; the worst interval of the length T^−1/2 of the space is marked."""
    require("result", result, "D", "worst")
    require("ax", ax, "pcolormesh")
    lo, hi = result.space.lo, result.space.hi
    places = result.breaks.start
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
    """The theorem with the mean taken from the highest intensity measured, that of `measure`."""
    from semibandit.dispersion.measuring import SLACK

    rate = result.C / SLACK
    K = int(np.bincount(result.breaks.owner, minlength=1).max())
    return lambda T, eps: worst_interval(T * min(1.0, rate * eps), T, K)
