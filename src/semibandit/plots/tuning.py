"""What tuning has found out about a knob, on one page."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np

from semibandit.plots.figures import BLUE, GREEN, ORANGE, new_figure
from semibandit.tuning.verdict import of_default, tried

if TYPE_CHECKING:
    from semibandit.tuning import Tuner

__all__ = ["knob", "picture"]

_MOST_VALUES = 40  # that have a mean each; more of them are drawn by stretches of the space


def picture(tuner: Tuner, path: str | PathLike[str]) -> None:
    """Write one PNG: the loss over the knob with its band, the runs as dots, the default, the density.

    The density is what the next ρ is drawn from; of a race, which draws none, it is where its runs were.
    """
    figure = new_figure(figsize=(9, 6.5), dpi=110)
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    knob(tuner, upper)
    density = tuner.learner.density()
    lower.stairs(density.values, density.edges, fill=True, color=BLUE, alpha=0.35)
    word = "runs" if tuner.settings.feedback == "race" else "density"
    lower.set(xlabel="ρ", ylabel=word, xlim=(tuner.settings.lo, tuner.settings.hi))
    lower.set_ylim(bottom=0.0)
    lower.axvline(tuner.learner.recommend().rho, color=GREEN, lw=1.2)
    figure.savefig(path)


def knob(tuner: Tuner, ax: Any) -> Any:
    """Runs as dots, the mean of the values tried with a band of two standard errors, and the default."""
    word = "value" if tuner.settings.maximize else "loss"
    played = [(record.rho, record.loss) for record in tuner.finished if record.loss is not None]
    if played:
        ax.plot(*zip(*played, strict=True), ".", ms=4, alpha=0.25, color="0.4", label="runs", zorder=1)
    n_values = len({rho for rho, _ in played})
    stretches = {"rows": n_values} if n_values <= _MOST_VALUES else {}
    rows = tried(tuner.finished, (tuner.settings.lo, tuner.settings.hi), **stretches)
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
        if (row := of_default(tuner.finished, tuner.default)) is not None:
            band = 2.0 * np.nan_to_num([row.error])
            ax.errorbar([row.lo], [row.mean], band, fmt="s", color=ORANGE, ms=5, capsize=3)
    ax.set(title=f"{len(tuner.finished)} rounds", ylabel=word)
    ax.legend(frameon=False, fontsize="small")
    return ax
