"""What `play` shows: progress, a closing table, what theory promises, and files on request."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich import box
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from semibandit import dispersion, plots
from semibandit.cli.problems import Case
from semibandit.cli.terminal import console
from semibandit.game import FEEDBACK, History, Kept, mean_loss, rounds
from semibandit.learners import Exp3Grid, Exp3Set, Learner

__all__ = ["Board"]


class Board:
    """Games on one stream with several kinds of feedback, shown side by side.

    Parameters
    ----------
    case
        The stream, made once, with its title and what to compare with.
    provable
        Play without a baseline; and, where the family has a theorem on its dispersion, with the step size of
        Theorem 3, so that its bound on the regret holds.
    seed
        Seed of the learners.
    """

    def __init__(self, case: Case, *, provable: bool, seed: int) -> None:
        self.case, self.provable, self.seed = case, provable, seed
        self.console = console()
        self.histories: dict[str, History] = {}
        self.learners: dict[str, Learner] = {}
        self.theory: _Theory | None = None

    # -- playing ---------------------------------------------------------------------------------

    def run(self, feedbacks: Sequence[str]) -> None:
        """Play a game for each kind of feedback, and find the best fixed parameter."""
        with self._progress() as progress:
            self.problems = [Kept(problem) for problem in _watched(progress, "instances", self.case.stream)]
            first = self.problems[0]
            self.space = first.space
            self.high = float(getattr(first, "high", 1.0))
            self.maximize = bool(getattr(first, "maximize", False))
            # Full feedback comes first, as the time that whole loss functions take is measured there. They
            # are then kept: for the best parameter in hindsight, for dispersion, for the pictures.
            if "full" in feedbacks:
                self._play("full", progress)
            watched = _watched(progress, "hindsight", self.problems)
            self.mean, self.best = mean_loss(watched, maximize=self.maximize)
            if self.case.bound_name:
                self.theory = _Theory(self.case, self.problems, self.high)
            for feedback in FEEDBACK:
                if feedback in feedbacks and feedback not in self.histories:
                    self._play(feedback, progress)

    def _progress(self) -> Progress:
        return Progress(
            TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"), console=self.console, transient=True,
        )  # fmt: skip

    def _play(self, feedback: str, progress: Progress) -> None:
        learner = self._learner(feedback)
        history = History(self.problems, self.space, feedback, self.maximize)
        task = progress.add_task(feedback, total=len(self.problems), note="")
        total = 0.0
        for row in rounds(learner, self.problems, feedback):
            history.append(row, learner)
            total += row.loss
            progress.update(task, advance=1, note=f"mean {self._word} {total / len(history):.4g}")
        self.histories[feedback], self.learners[feedback] = history, learner

    def _learner(self, feedback: str) -> Learner:
        options: dict[str, Any] = {"high": self.high, "maximize": self.maximize, "seed": self.seed}
        options |= {"horizon": len(self.problems), "baseline": None if self.provable else "low"}
        if feedback == "bandit":
            return Exp3Grid(self.space, **options)
        if feedback == "semi-bandit" and self.provable and self.theory and self.theory.regret:
            options["rate"] = self.theory.regret.rate
        return Exp3Set(self.space, **options)

    # -- showing ---------------------------------------------------------------------------------

    @property
    def _word(self) -> str:
        return "value" if self.maximize else "loss"

    def report(self, *, png: Path | None, csv: Path | None) -> None:
        """Print the tables, and write the files that were asked for."""
        self.console.print(self.table())
        guarantee = next(iter(self.learners.values())).guarantee
        self.console.print(f"[dim]Times are medians. The learners have {guarantee}.[/dim]")
        if self.theory is not None:
            self.console.print(self.theory.table(self.histories, self.provable))
        if csv is not None:
            self.write_csv(csv)
            self.console.print(f"wrote {csv}")
        if png is not None:
            shown = "semi-bandit" if "semi-bandit" in self.histories else next(iter(self.histories))
            chosen = self.learners[shown].recommend()
            interval = self.space.interval
            trees = (interval.lo, chosen.rho, interval.hi) if hasattr(self.problems[0], "tree") else ()
            plots.overview(self.histories, png, self.case.title, trees=trees, mean=self.mean, chosen=chosen)
            self.console.print(f"wrote {png}")

    def table(self) -> Table:
        """The closing table."""
        knobs = "ρ" if len(self.space.alphas) == 1 else "ρ, α"
        table = _table(self.case.title, collapse_padding=True)
        table.add_column("", no_wrap=True)
        for heading in (f"total\n{self._word}", "\nregret", f"{knobs} to\ndeploy", "mean width\nseen",
                        "learner\nµs/round", "feedback\nµs/round"):  # fmt: skip
            table.add_column(heading, justify="right", no_wrap=True)
        for feedback, history in self.histories.items():
            table.add_row(
                feedback,
                *self._compared(history.loss.mean()),
                _shown(self.learners[feedback].recommend()),
                "a point" if feedback == "bandit" else f"{history.widths.mean():.3g}",
                f"{1e6 * np.median(history.learner_seconds):.0f}",
                f"{1e6 * np.median(history.feedback_seconds):.0f}",
            )
        table.add_section()
        for name, mean in self._others():
            table.add_row(name, *self._compared(mean))
        table.add_row(f"best fixed {knobs}", *self._compared(self.best.mean_loss), _shown(self.best))
        return table

    def _compared(self, mean: float) -> tuple[str, str]:
        """The total, and the regret, of so much a round."""
        T = len(self.problems)
        regret = T * (mean - self.best.mean_loss) * (-1.0 if self.maximize else 1.0)
        return f"{T * mean:.1f}", f"{regret + 0.0:.1f}"

    def _others(self) -> Iterator[tuple[str, float]]:
        """What else to compare with: the default; with rows, the best at each end of either parameter."""
        if self.case.default is not None:
            yield f"fixed ρ = {self.case.default:g}", float(self.mean(self.case.default))
            return
        sign = -1.0 if self.maximize else 1.0
        rows = self.space.line.rows(self.mean * sign)
        for i in (0, -1):
            yield f"α = {self.space.alphas[i]:g}, best ρ", sign * rows[i].min()
        for rho in (self.space.interval.lo, self.space.interval.hi):
            yield f"ρ = {rho:g}, best α", sign * min(row(rho) for row in rows)

    def write_csv(self, path: Path) -> None:
        """Write all games to one file, with their kind of feedback in the first column."""
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["feedback", *next(iter(self.histories.values())).columns])
            for feedback, history in self.histories.items():
                writer.writerows((feedback, *row) for row in history.table())


class _Theory:
    """What is measured of the dispersion of a stream, next to what is proved."""

    def __init__(self, case: Case, problems: Sequence[Any], high: float) -> None:
        self.name = case.bound_name
        self.measured = dispersion.measure(problems)
        self.f = None if case.bound is None else case.bound(problems)
        self.regret = None
        if self.f is not None:
            T, R = len(problems), 0.5 * self.measured.space.width
            self.regret = dispersion.bounds.regret(T, self.measured.pieces, self.f, R, H=high)

    def table(self, histories: dict[str, History], provable: bool) -> Table:
        """Counts, β and the regret, with the bounds that hold."""
        measured, T = self.measured, self.measured.T
        table = _table("Dispersion and regret")
        for heading in ("", "measured", "at most", "by"):
            justify = "right" if heading in ("measured", "at most") else "left"
            table.add_column(heading, justify=justify, no_wrap=True)  # type: ignore[arg-type]
        eps = T**-0.5
        promised = "unknown" if self.f is None else f"{self.f(T, eps):.0f}"
        table.add_row(f"losses that break within {eps:.2g}", f"{measured.D(eps)}", promised, self.name)
        table.add_row("β", f"{measured.beta:.2f}")
        if "semi-bandit" in histories:
            regret = histories["semi-bandit"].regret()[-1]
            table.add_row("regret, semi-bandit", f"{regret:.1f}", *self._promise(provable))
        return table

    def _promise(self, provable: bool) -> tuple[str, str]:
        """The bound on the regret and where it is from, or why there is none."""
        if not provable:
            return "no proof", "--provable has one"
        if self.regret is None:
            return "unknown", "Theorem 3"
        if self.regret.value >= self.measured.T:
            return "no bound", "Theorem 3 (above T)"
        return f"{self.regret.value:.0f}", f"Theorem 3, {self.measured.pieces:.3g} sets"


def _watched(progress: Progress, name: str, problems: Sequence[Any]) -> Iterable[Any]:
    """The problems, with a progress bar."""
    task = progress.add_task(name, total=len(problems), note="")
    for problem in problems:
        yield problem
        progress.advance(task)


def _table(title: str, **options: Any) -> Table:
    return Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, **options)


def _shown(point: Any) -> str:
    """The parameters of a recommendation, or of the best in hindsight."""
    return ", ".join(f"{x:.4g}" for x in np.hstack(point.parameters))
