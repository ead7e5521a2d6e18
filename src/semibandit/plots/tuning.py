"""Draw the result of tuning."""

from __future__ import annotations

from os import PathLike
from typing import Any

import numpy as np

from semibandit.plots.figures import BLUE, GREEN, ORANGE, new_figure

__all__ = ["knob", "picture"]

_MAX_VALUES = 40  # with a mean each; more values are drawn by equal parts of the space


def picture(tuner: Any, path: str | PathLike[str]) -> None:
    """Write one PNG of a `Tuner`: the loss over the parameter with its band, runs, default and density.

    The density is that of the next draw; in a race it is the density of the runs.
    """
    figure = new_figure(figsize=(9, 6.5), dpi=110)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    knob(tuner, upper)
    density, interval = tuner.learner.density(), tuner.space.interval
    lower.stairs(density.values, density.edges, fill=True, color=BLUE, alpha=0.35)
    lower.set(xlabel="ρ", ylabel="runs" if tuner.race else "density", xlim=(interval.lo, interval.hi))
    lower.set_ylim(bottom=0.0)
    lower.axvline(tuner.learner.recommend().rho, color=GREEN, lw=1.2)
    figure.savefig(path)


def knob(tuner: Any, ax: Any) -> Any:
    """Draw runs as dots, the means of the values tried with two standard errors, and the default."""
    word = "value" if tuner.maximize else "loss"
    records = tuner.finished
    runs = [(record.rho, record.loss) for record in records if record.loss is not None]
    if runs:
        ax.plot(*zip(*runs, strict=True), ".", ms=4, alpha=0.25, color="0.4", label="runs", zorder=1)
    n_values = len({rho for rho, _ in runs})
    rows = tuner.values_tried(n_values) if n_values <= _MAX_VALUES else tuner.values_tried()
    if rows:
        x = np.array([0.5 * (row.lo + row.hi) for row in rows])
        mean, error = np.array([row.mean for row in rows]), np.nan_to_num([row.error for row in rows])
        ax.fill_between(
            x, mean - 2 * error, mean + 2 * error, color=BLUE, alpha=0.2, lw=0, label="± 2 standard errors"
        )
        ax.plot(x, mean, "o-", color=BLUE, ms=4, lw=1.5, label=f"mean {word}")
    best = tuner.learner.recommend()
    ax.axvline(best.rho, color=GREEN, lw=1.2, label=f"recommended, {best.rho:.4g}")
    if tuner.default is not None:
        ax.axvline(tuner.default, color=ORANGE, lw=1.2, ls="--", label=f"default, {tuner.default:.4g}")
        if (row := tuner.default_row()) is not None:
            band = 2.0 * np.nan_to_num([row.error])
            ax.errorbar([row.lo], [row.mean], band, fmt="s", color=ORANGE, ms=5, capsize=3)
    ax.set(title=f"{len(records)} rounds", ylabel=word)
    ax.legend(frameon=False, fontsize="small")
    return ax
