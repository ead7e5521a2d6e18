"""Draw the result of tuning."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

import numpy as np

from semibandit.plots.figures import BLUE, GREEN, ORANGE, new_figure

__all__ = ["effect", "knob", "picture"]

_MAX_VALUES = 40  # drawn with a mean each; more values are grouped by equal parts of the space
_COLUMNS = 3


def picture(tuner: Any, path: str | PathLike[str]) -> None:
    """Write a PNG of a `Tuner`.

    Race, or several knobs: the means of the configurations over each knob. Online with one parameter: the
    loss over it with its band, the runs, the default, and the density of the next draw.
    """
    if tuner.race or tuner.space.names:
        names = tuner.space.names or ("rho",)
        rows, columns = -(-len(names) // _COLUMNS), min(len(names), _COLUMNS)
        size = (9, 5) if len(names) == 1 else (4.2 * columns, 3.8 * rows)
        figure = new_figure(figsize=size, dpi=110)
        for name, ax in zip(
            names, figure.subplots(rows, columns, squeeze=False, sharey=True).flat, strict=False
        ):
            effect(tuner, name, ax)
        for ax in figure.axes[len(names) :]:
            ax.remove()
        if figure.axes[0].get_legend_handles_labels()[0]:
            figure.axes[0].legend(frameon=False, fontsize="small")
    else:
        figure = new_figure(figsize=(9, 6.5), dpi=110)
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        knob(tuner, upper)
        density, interval = tuner.learner.density(), tuner.space.interval
        lower.stairs(density.values, density.edges, fill=True, color=BLUE, alpha=0.35)
        lower.set(xlabel="ρ", ylabel="density", xlim=(interval.lo, interval.hi))
        lower.set_ylim(bottom=0.0)
        lower.axvline(tuner.learner.recommend().rho, color=GREEN, lw=1.2)
    figure.savefig(path)


def effect(tuner: Any, name: str, ax: Any) -> Any:
    """Draw the configurations over one knob: the means of the report's table, with two standard errors.

    The errors of a race are those of the difference to the best configuration. Configurations that have left
    the race, or have run only once online, are pale.
    """
    kind: Any = tuner.space.knobs[name] if tuner.space.names else None
    ordered = kind is None or kind.ordered
    rows = [row for row in tuner.standings() if math.isfinite(row.mean)]
    label = f"{'difference to the best,' if tuner.race else 'mean'} ± 2 standard errors"
    for row in reversed(rows):
        x = row.values[name] if ordered else kind.values.index(row.values[name])
        color = GREEN if row.best else ORANGE if row.default else BLUE
        text = "best found" if row.best else "default" if row.default else label
        marked = row.best or row.default
        style = {"ms": 7 if marked else 4, "alpha": 1.0 if row.racing or marked else 0.4}
        error = 0.0 if math.isnan(row.error) else 2.0 * row.error
        ax.errorbar([x], [row.mean], [error], fmt="o", color=color, lw=1.0, label=text, **style)
        label = label if text != label else "_"
    if not ordered:
        ax.set_xticks(range(len(kind.values)), [str(value) for value in kind.values])
        ax.set_xlim(-0.5, len(kind.values) - 0.5)
    elif kind is not None and kind.log:
        ax.set_xscale("log")
    ax.set(xlabel=name if tuner.space.names else "ρ")
    if ax.get_subplotspec().is_first_col():
        ax.set_ylabel(f"mean {'value' if tuner.maximize else 'loss'}")
    return ax


def knob(tuner: Any, ax: Any) -> Any:
    """Draw runs as dots, the means of the values tried with two standard errors, and the default."""
    word = "value" if tuner.maximize else "loss"
    records = tuner.finished
    runs = [(record.rho, record.loss) for record in records if record.loss is not None]
    if runs:
        ax.plot(*zip(*runs, strict=True), ".", ms=4, alpha=0.25, color="0.4", label="runs", zorder=1)
    n_values = len({rho for rho, _ in runs})
    found = tuner.standings(n_values) if 0 < n_values <= _MAX_VALUES else tuner.standings()
    found = [row for row in found if row.runs]
    rows = sorted((row for row in found if not row.default), key=lambda row: row.values["rho"])
    if rows:
        x = np.array([row.values["rho"] for row in rows])
        mean, error = np.array([row.mean for row in rows]), np.nan_to_num([row.error for row in rows])
        ax.fill_between(
            x, mean - 2 * error, mean + 2 * error, color=BLUE, alpha=0.2, lw=0, label="± 2 standard errors"
        )
        ax.plot(x, mean, "o-", color=BLUE, ms=4, lw=1.5, label=f"mean {word}")
    best = tuner.learner.recommend()
    ax.axvline(best.rho, color=GREEN, lw=1.2, label=f"recommended, {best.rho:.4g}")
    if tuner.default is not None:
        ax.axvline(tuner.default, color=ORANGE, lw=1.2, ls="--", label=f"default, {tuner.default:.4g}")
        for row in (row for row in found if row.default):
            band = 2.0 * np.nan_to_num([row.error])
            ax.errorbar([tuner.default], [row.mean], band, fmt="s", color=ORANGE, ms=5, capsize=3)
    ax.set(title=f"{len(records)} rounds", ylabel=word)
    ax.legend(frameon=False, fontsize="small")
    return ax
