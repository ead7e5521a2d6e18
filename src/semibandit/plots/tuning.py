"""Draw the result of tuning."""

from __future__ import annotations

import math
from os import PathLike
from typing import Any

from semibandit.plots.figures import BLUE, GREEN, ORANGE, new_figure

__all__ = ["effect", "picture"]

_COLUMNS = 3


def picture(tuner: Any, path: str | PathLike[str]) -> None:
    """Write a PNG of a `Tuner`: the means of the configurations over each knob."""
    names = tuner.space.names or ("rho",)
    rows, columns = -(-len(names) // _COLUMNS), min(len(names), _COLUMNS)
    size = (9, 5) if len(names) == 1 else (4.2 * columns, 3.8 * rows)
    figure = new_figure(figsize=size, dpi=110)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).flat
    for name, ax in zip(names, panels, strict=False):
        effect(tuner, name, ax)
    for ax in figure.axes[len(names) :]:
        ax.remove()
    if figure.axes[0].get_legend_handles_labels()[0]:
        figure.axes[0].legend(frameon=False, fontsize="small")
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
