"""`semibandit demo`: four algorithms, three kinds of feedback, one picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from semibandit._validate import FloatArray
from semibandit.cli import problems
from semibandit.cli.terminal import console, drawable, progress_bar, table

__all__ = ["demo"]

FAMILIES: dict[str, Callable[..., problems.Case]] = {
    "Packing a knapsack": problems.knapsack,
    "Ranking search results": partial(problems.rank_mix, documents=40),
    "Clustering": problems.linkage,
    "Scheduling jobs": problems.dispatch,
}
KINDS = {"full": "whole loss function", "semi-bandit": "one run: an interval", "bandit": "single losses"}


@dataclass(frozen=True)
class Played:
    """Games on the stream of a family: regret by kind of feedback, one row per seed, and of a fixed ρ."""

    name: str
    default: float
    regret: dict[str, FloatArray]
    default_regret: FloatArray


def demo(
    rounds: Annotated[int, typer.Option("--rounds", "-T", min=1, help="Instances of each family.")] = 500,
    games: Annotated[int, typer.Option(min=1, help="Games per kind of feedback, each with its seed.")] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the streams.")] = 0,
    png: Annotated[
        Path | None, typer.Option(callback=drawable, help="Write a picture of the regrets.")
    ] = None,
) -> None:
    """Play four families with three kinds of feedback, and compare with a fixed default value."""
    out = console()
    played = []
    with progress_bar(out) as progress:
        steps = (1 + games * len(KINDS)) * rounds
        tasks = {name: progress.add_task(name, total=steps, note="") for name in FAMILIES}
        for name, make in FAMILIES.items():
            advance = partial(progress.update, tasks[name], advance=1)
            played.append(_play(name, make(rounds=rounds, seed=seed), games, advance))
    out.print(_table(played, rounds))
    if png is not None:
        _draw(played).savefig(png, dpi=110)
        out.print(f"wrote {png}")


def _play(name: str, case: problems.Case, games: int, advance: Callable[[], None]) -> Played:
    """Play all games on a stream; `advance` is called after each round."""
    from semibandit.games import StoredLosses, best_in_hindsight
    from semibandit.games import rounds as play_rounds
    from semibandit.learners import Exp3Set

    stored = []
    for problem in case.stream:
        stored.append(StoredLosses(problem))
        stored[-1].losses()
        advance()
    best = best_in_hindsight(stored)
    fixed = np.array([problem.fixed(best.rho) for problem in stored])
    assert case.default is not None
    usual = np.array([problem.fixed(case.default) for problem in stored])
    regret: dict[str, FloatArray] = {}
    for kind in KINDS:
        paid = np.empty((games, len(stored)))
        for row, losses in enumerate(paid):
            learner = Exp3Set(stored[0].space, seed=row)
            for t, played in enumerate(play_rounds(learner, stored, kind)):
                losses[t] = played.loss
                advance()
        regret[kind] = np.cumsum(paid - fixed, axis=1)
    return Played(name, case.default, regret, np.cumsum(usual - fixed))


def _table(played: list[Played], rounds: int) -> Any:
    games = len(played[0].regret["full"])
    found = table(title=f"Regret after {rounds} rounds, mean of {games} games")
    found.add_column("family", no_wrap=True)
    for kind in (*KINDS.values(), "fixed default"):
        found.add_column(kind, justify="right", no_wrap=kind == "fixed default")
    for each in played:
        means = [f"{each.regret[kind][:, -1].mean():.1f}" for kind in KINDS]
        found.add_row(each.name, *means, f"{each.default_regret[-1]:.1f} (ρ={each.default:g})")
    return found


def _draw(played: list[Played]) -> Any:
    """Return a figure with one panel per family."""
    from semibandit.plots.figures import FEEDBACK, new_figure

    figure = new_figure(figsize=(11, 6.4))
    panels = figure.subplots(2, 2).flat
    for ax, each in zip(panels, played, strict=True):
        t = np.arange(1, each.default_regret.size + 1)
        ax.plot(t, each.default_regret, color="0.45", ls="--", label="a fixed default, without learning")
        highest = 0.0
        for kind in reversed(KINDS):
            curves = each.regret[kind]
            ax.plot(t, curves.mean(axis=0), color=FEEDBACK[kind], lw=2, label=KINDS[kind])
            ax.fill_between(t, curves.min(axis=0), curves.max(axis=0), color=FEEDBACK[kind], alpha=0.15, lw=0)
            highest = max(highest, float(curves.max()))
        if each.default_regret[-1] > 2.0 * highest:  # so that the other curves are seen
            ax.set_ylim(top=1.6 * highest)
            ax.annotate(
                f"default ρ = {each.default:g}: {each.default_regret[-1]:.0f} at the end ↑",
                (0.98, 0.93), xycoords="axes fraction", ha="right", color="0.35",
            )  # fmt: skip
        ax.set(title=each.name, xlabel="instances", ylabel="regret")
        ax.margins(x=0)
        ax.axhline(0, color="0.8", lw=0.8)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(
        "Loss paid while learning one parameter, minus that of the best fixed value in hindsight\n"
        "(lower is better; mean and range of the games)"
    )
    return figure
