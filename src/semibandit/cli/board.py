"""What the `play` commands show: progress with the running regret, a closing table, files on request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semibandit.game.hindsight import Hindsight, RowHindsight, best_in_hindsight
from semibandit.game.rounds import History, rounds
from semibandit.learners.exp3_grid import Exp3Grid
from semibandit.learners.exp3_set import Exp3Set
from semibandit.learners.learner import Learner

__all__ = ["Game"]


class Game:
    """Games on one stream with several kinds of feedback, shown side by side.

    Parameters
    ----------
    problems
        The stream; it is gone through several times.
    default
        A fixed parameter to compare with: what one would use without learning.
    seed, baseline
        Of the learners.
    """

    knobs = "ρ"

    def __init__(
        self, problems: Sequence[Any], *, default: float, seed: int, baseline: str | None = "low"
    ) -> None:
        self.problems = problems
        first = problems[0]
        self.space = first.space
        self.high = float(getattr(first, "high", 1.0))
        self.maximize = bool(getattr(first, "maximize", False))
        self.default = default
        self.seed = seed
        self.baseline = baseline
        self.console = Console()
        self.histories: dict[str, History] = {}
        self.learners: dict[str, Learner] = {}

    def learner(self, feedback: str) -> Learner:
        """A fresh learner for a kind of feedback."""
        kind = Exp3Grid if feedback == "bandit" else Exp3Set
        return kind(
            self.space,
            horizon=len(self.problems),
            high=self.high,
            maximize=self.maximize,
            baseline=self.baseline,
            seed=self.seed,
        )

    # -- playing ---------------------------------------------------------------------------------

    def run(self, feedbacks: Iterable[str]) -> None:
        """Find the best fixed parameter, then play a game for each kind of feedback."""
        with self._progress() as progress:
            self.best = self._hindsight(progress)
            self._fixed = np.array([problem.loss(*self.best.parameters) for problem in self.problems])
            self.others = self._others()
            for feedback in dict.fromkeys(str(feedback) for feedback in feedbacks):
                self._play(feedback, progress)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=self.console, transient=True,
        )  # fmt: skip

    def _hindsight(self, progress: Progress) -> Hindsight | RowHindsight:
        return best_in_hindsight(self._watched(progress), maximize=self.maximize)

    def _watched(self, progress: Progress) -> Iterable[Any]:
        """The problems, with a progress bar for each time that they are gone through."""
        task = progress.add_task("hindsight", total=len(self.problems), note="whole loss functions")

        def watched() -> Iterator[Any]:
            for problem in self.problems:
                yield problem
                progress.advance(task)

        return _Again(watched)

    def _others(self) -> list[tuple[str, float]]:
        """What to compare with besides the best fixed parameter: names and total losses."""
        total = sum(problem.loss(self.default) for problem in self.problems)
        return [(f"fixed ρ = {self.default:g}", float(total))]

    def _play(self, feedback: str, progress: Progress) -> None:
        learner = self.learner(feedback)
        history = History(self.problems, self.space, feedback, self.maximize)
        history._best = self.best
        task = progress.add_task(feedback, total=len(self.problems), note="")
        regret = 0.0
        sign = -1.0 if self.maximize else 1.0
        for row in rounds(learner, self.problems, feedback):
            history.append(row, learner)
            regret += sign * (row.loss - self._fixed[row.t])
            progress.update(task, advance=1, note=f"regret {regret:.1f}")
        history._best = self.best
        self.histories[feedback] = history
        self.learners[feedback] = learner

    # -- showing ---------------------------------------------------------------------------------

    def report(self, *, png: Path | None, csv: Path | None, title: str, trees: bool = False) -> None:
        """Print the table, and write what was asked for; `trees` adds dendrograms to the picture."""
        self.console.print(self.table(title))
        guarantee = next(iter(self.learners.values())).guarantee
        self.console.print(f"[dim]Times are medians. The learners have {guarantee}.[/dim]")
        if csv is not None:
            self.write_csv(csv)
            self.console.print(f"wrote {csv}")
        if png is not None:
            self.draw(png, title, trees)
            self.console.print(f"wrote {png}")

    def draw(self, png: Path, title: str, trees: bool) -> None:
        """The picture."""
        from semibandit import plots

        learner = self.learners.get("semi-bandit") or next(iter(self.learners.values()))
        rhos = (self.space.lo, learner.recommend().rho, self.space.hi) if trees else ()
        plots.overview(self.histories, png, title, trees=rhos)

    def table(self, title: str) -> Table:
        """The closing table."""
        word = "value" if self.maximize else "loss"
        table = Table(
            title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, collapse_padding=True
        )
        table.add_column("", no_wrap=True)
        for heading in (f"total\n{word}", "\nregret", f"{self.knobs} to\ndeploy", "mean width\nseen"):
            table.add_column(heading, justify="right", no_wrap=True)
        for heading in ("learner\nµs/round", "feedback\nµs/round"):
            table.add_column(heading, justify="right", no_wrap=True)
        for feedback, history in self.histories.items():
            table.add_row(
                feedback,
                f"{history.loss.sum():.1f}",
                f"{self._regret(history.loss.sum()):.1f}",
                self._shown(self.learners[feedback].recommend()),
                "a point" if feedback == "bandit" else f"{history.widths.mean():.3g}",
                f"{1e6 * np.median(history.learner_seconds):.0f}",
                f"{1e6 * np.median(history.feedback_seconds):.0f}",
            )
        table.add_section()
        for name, total in self.others:
            table.add_row(name, f"{total:.1f}", f"{self._regret(total):.1f}")
        table.add_row(f"best fixed {self.knobs}", f"{self._fixed.sum():.1f}", "0.0", self._shown(self.best))
        return table

    def _shown(self, point: Any) -> str:
        """The parameters of a recommendation or of the best in hindsight."""
        return f"{point.rho:.4g}"

    def _regret(self, total: float) -> float:
        difference = float(total - self._fixed.sum())
        return -difference if self.maximize else difference

    def write_csv(self, path: Path) -> None:
        """All games in one file, with their kind of feedback in the first column."""
        import csv

        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["feedback", *next(iter(self.histories.values())).columns])
            for feedback, history in self.histories.items():
                writer.writerows((feedback, *row) for row in history.table())


class _Again:
    """An iterable that starts its generator anew each time."""

    def __init__(self, start: Any) -> None:
        self._start = start

    def __iter__(self) -> Iterator[Any]:
        return iter(self._start())
