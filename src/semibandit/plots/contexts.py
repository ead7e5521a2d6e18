"""Plot of the recommended parameter over a feature of the context."""

from __future__ import annotations

from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.plots.figures import BLUE, axes, knob, require
from semibandit.spaces import Context, Label, Real

__all__ = ["recommended"]

_POINTS = 201


def recommended(learner: Any, feature: str, context: Any = None, ax: Any = None) -> Any:
    """Plot the recommended parameter over a feature, with the interval of equally good ones.

    Parameters
    ----------
    learner
        A learner or a study with contexts.
    feature
        A number or a choice; labels have no order, see `contexts()`.
    context
        Values of the other features; those that are missing are unknown.
    ax
        Axes to draw into.
    """
    require("learner", learner, "recommend")
    learner = getattr(learner, "learner", learner)
    known = getattr(learner, "context", None)
    if not isinstance(known, Context):
        raise ValueError(f"learner must have a context, got {learner!r}")
    names = tuple(name for name, kind in known.features.items() if not isinstance(kind, Label))
    feature = _validate.choice("feature", feature, names)
    given = known.named(known.read(context)) if context is not None else {}
    kind: Any = known.features[feature]
    values = kind.spread(_POINTS) if kind.name != "choice" else list(kind.values)
    found = [learner.recommend(context=given | {feature: value}) for value in values]
    rho = [each.rho for each in found]
    lo, hi = np.array([each.interval for each in found], dtype=float).T
    ax = axes(ax)
    if kind.name == "choice":
        places = np.arange(len(values))
        ax.vlines(places, lo, hi, color=BLUE, alpha=0.3, linewidth=8.0)
        ax.plot(places, rho, "o", color=BLUE)
        ax.set_xticks(places, [str(value) for value in values])
    else:
        ax.fill_between(values, lo, hi, color=BLUE, alpha=0.2, linewidth=0.0, step="mid")
        ax.plot(values, rho, color=BLUE, drawstyle="steps-mid")
        ax.set_xscale("log" if isinstance(kind, Real) and kind.log else "linear")
    if learner.space.line.log:
        ax.set_yscale("log")
    name = knob(learner.space)
    ax.set(title=f"Recommended {name} over {feature}", xlabel=feature, ylabel=name)
    return ax
