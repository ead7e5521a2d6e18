"""All plots of a game on one page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.games import History, mean_loss
from semibandit.plots import games, plane
from semibandit.plots.figures import knob, new_figure, require_games

__all__ = ["overview"]


def overview(
    histories: Mapping[str, History],
    path: str | PathLike[str],
    title: str = "",
    *,
    trees: Sequence[float] = (),
    mean: Piecewise | None = None,
    chosen: Any = None,
    blocks: int | None = None,
    certificates: Mapping[str, float] | None = None,
) -> None:
    """Write one PNG: regret, density over time, the loss of one instance, and plots for the kind of space.

    Parameters
    ----------
    histories
        Games on the same problems, by name; the density is that of the game with semi-bandit feedback.
    path, title
        File to write, and title of the page.
    trees
        For linkage problems on an interval: parameters at which to draw dendrograms of one instance.
    mean, chosen
        On strips: the mean loss of all problems, if known, and the recommendation of the learner.
    blocks, certificates
        As for `plots.regret`.
    """
    require_games(histories)
    path = _validate.path("path", path)
    if not isinstance(title, str):
        raise TypeError(f"title must be a string, got {title!r}")
    trees = _validate.vector("trees", trees).tolist()
    shown = histories.get("semi-bandit") or next(iter(histories.values()))
    beside = {"blocks": blocks, "certificates": certificates}
    if shown.space.names and shown.space.alphas[0] is not None:
        figure = _knobs(histories, shown, beside)
    elif shown.space.alphas[0] is None:
        figure = _line(histories, shown, trees, beside)
    else:
        figure = _plane(histories, shown, mean, chosen, beside)
    if title:
        figure.suptitle(title)
    figure.savefig(path)


def _line(
    histories: Mapping[str, History], shown: History, trees: Sequence[float], beside: dict[str, Any]
) -> Any:
    figure = new_figure(figsize=(12, 11.5 if trees else 8), dpi=110)
    upper, lower = figure.subfigures(2, 1, height_ratios=(2, 1)) if trees else (figure, None)
    axes = upper.subplots(2, 2)
    games.regret(histories, axes[0, 0], **beside)
    games.density(shown, axes[0, 1])
    games.loss_function(shown.problems[-1], float(shown.rho[-1]), axes[1, 0])
    if counted := _counted(histories):
        games.regret(counted, axes[1, 1], by="run")
    elif shown.feedback == "bandit":
        axes[1, 1].set_axis_off()
    else:
        games.widths(shown, axes[1, 1])
    if lower is not None:
        for rho, ax in zip(trees, lower.subplots(1, len(trees), squeeze=False)[0], strict=True):
            games.dendrogram(shown.problems[-1], rho, ax)
    return figure


def _knobs(histories: Mapping[str, History], shown: History, beside: dict[str, Any]) -> Any:
    figure = new_figure(figsize=(13, 8), dpi=110)
    axes = figure.subplots(2, 2)
    games.regret(histories, axes[0, 0], **beside)
    games.across(shown, axes[0, 1])
    if knob(shown.space):
        games.density(shown, axes[1, 0])
        games.widths(shown, axes[1, 1])
    else:  # choices alone have no interval
        for ax in axes[1]:
            ax.set_axis_off()
    return figure


def _counted(histories: Mapping[str, History]) -> dict[str, History]:
    """Return the games with a number of runs, if runs and rounds differ; full feedback may have none."""
    if all(history.runs.sum() == len(history) for history in histories.values()):
        return {}
    return {
        name: history
        for name, history in histories.items()
        if history.feedback != "full" or history.runs.sum() > len(history)
    }


def _plane(
    histories: Mapping[str, History],
    shown: History,
    mean: Piecewise | None,
    chosen: Any,
    beside: dict[str, Any],
) -> Any:
    figure = new_figure(figsize=(15, 8.5), dpi=100)
    axes = figure.subplots(2, 3)
    if mean is None:
        mean, _ = mean_loss(shown.problems)
    games.regret(histories, axes[0, 0], **beside).set(title="Regret against the best fixed (ρ, α)")
    plane.density(shown, axes[0, 1], chosen=chosen)
    plane.loss(mean, shown.space, axes[0, 2], history=shown, chosen=chosen)
    games.density(shown, axes[1, 0])
    games.across(shown, axes[1, 1])
    plane.instance(shown.problems[-1], float(shown.rho[-1]), float(shown.alpha[-1]), axes[1, 2])
    return figure
