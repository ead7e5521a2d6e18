"""`semibandit demo`: four algorithms, three kinds of feedback, one picture."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product, repeat
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from semibandit._validate import FloatArray
from semibandit.cli import problems
from semibandit.cli.terminal import console, drawable, progress_bar, table

if TYPE_CHECKING:
    from rich.progress import Progress

    from semibandit.games import StoredLosses

__all__ = ["demo"]

FAMILIES: dict[str, Callable[..., problems.Case]] = {
    "Packing a knapsack": problems.knapsack,
    "Ranking search results": partial(problems.rank_mix, documents=40),
    "Clustering": problems.linkage,
    "Scheduling jobs": problems.dispatch,
}
KINDS = {"full": "whole loss function", "semi-bandit": "one run: an interval", "bandit": "single losses"}
_PANELS = list(product(FAMILIES, KINDS))


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
    with progress_bar(out) as progress:
        played = _play_all(rounds, games, seed, progress)
    out.print(_table(played, rounds))
    if png is not None:
        _draw(played).savefig(png, dpi=110)
        out.print(f"wrote {png}")


def _play_all(rounds: int, games: int, seed: int, progress: Progress) -> list[Played]:
    """Play all games in two processes.

    The first run compiles kernels, for longer than it plays: those of the learner in one process, those of
    the families in the other. Games begin afterwards, and load the machine code.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes already use two cores
    ignore_interrupts = signal.SIGINT, signal.SIG_IGN
    with ProcessPoolExecutor(2, get_context("spawn"), signal.signal, ignore_interrupts) as pool:
        try:
            compiled = pool.submit(_compile_learner)
            made = pool.map(_losses, FAMILIES, repeat(rounds), repeat(seed))
            task = progress.add_task("preparing", total=len(FAMILIES), note="the first run compiles")
            streams = dict(zip(FAMILIES, progress.track(made, task_id=task), strict=True))
            compiled.result()
            problems, kinds = zip(*((streams[name][1], kind) for name, kind in _PANELS), strict=True)
            paid = pool.map(_games, problems, kinds, repeat(games))
            task = progress.add_task("playing", total=len(_PANELS), note="")
            losses = dict(zip(_PANELS, progress.track(paid, task_id=task), strict=True))
        except KeyboardInterrupt:
            for process in active_children():
                process.terminate()
            raise
    return [
        _compare(name, *made, {kind: losses[name, kind] for kind in KINDS}) for name, made in streams.items()
    ]


def _compile_learner() -> None:
    from semibandit import streams

    for kind in KINDS:
        _games(streams.synthetic(3), kind, 1)


def _losses(name: str, rounds: int, seed: int) -> tuple[float | None, list[StoredLosses]]:
    """Return the default of a family, and the problems of its stream with their loss functions."""
    from semibandit.games import StoredLosses

    case = FAMILIES[name](rounds=rounds, seed=seed)
    stored = [StoredLosses(problem) for problem in case.stream]
    for problem in stored:
        problem.losses()
    return case.default, stored


def _games(problems: Sequence[Any], kind: str, games: int) -> FloatArray:
    """Return the losses paid: a row for each game, a column for each round."""
    from semibandit.games import rounds as play_rounds
    from semibandit.learners import Exp3Set

    learners = [Exp3Set(problems[0].space, seed=seed) for seed in range(games)]
    return np.array([[x.loss for x in play_rounds(learner, problems, kind)] for learner in learners])


def _compare(name: str, default: Any, problems: list[StoredLosses], losses: dict[str, FloatArray]) -> Played:
    """Subtract the losses of the best fixed value."""
    from semibandit.games import best_in_hindsight

    best = best_in_hindsight(problems)
    fixed = np.array([problem.fixed(best.rho) for problem in problems])
    usual = np.array([problem.fixed(default) for problem in problems])
    regret = {kind: np.cumsum(paid - fixed, axis=1) for kind, paid in losses.items()}
    return Played(name, default, regret, np.cumsum(usual - fixed))


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
