"""Play games for `semibandit play`, and report them: tables, theory, and files on request."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import Progress
from rich.table import Table

from semibandit import dispersion, plots
from semibandit.cli.problems import Case
from semibandit.cli.terminal import console, progress_bar
from semibandit.cli.terminal import table as new_table
from semibandit.games import FEEDBACK, History, StoredLosses, mean_loss, rounds
from semibandit.learners import Exp3Grid, Exp3Set, Learner
from semibandit.learners.certificates import Certificate

__all__ = ["PlayReport"]


class PlayReport:
    """Games on one stream with several kinds of feedback, side by side.

    Parameters
    ----------
    case
        The stream, with its title and the default to compare with.
    provable
        Play without a baseline and, if the family has a theorem on its dispersion, with the learning rate of
        Theorem 3, so that its bound on the regret holds.
    seed
        Seed of the learners.
    probes
        Number of further parameters observed in each round; ignored with full feedback.
    drift
        `drift` of the learners.
    blocks
        Also show the regret against the best sequence of this many blocks; by default if the stream drifts.
    """

    def __init__(
        self,
        case: Case,
        *,
        provable: bool = False,
        seed: int = 0,
        probes: int = 0,
        drift: float | str | None = None,
        blocks: int | None = None,
    ) -> None:
        if provable and drift is not None:
            raise ValueError("--provable and --drift exclude each other: there is no proof with drift")
        self.case, self.provable, self.seed = case, provable, seed
        self.probes, self.drift = probes, drift
        self.blocks = case.blocks if blocks is None else blocks
        self.console = console()
        self.histories: dict[str, History] = {}
        self.learners: dict[str, Learner] = {}
        self.theory: _Theory | None = None

    # -- playing ---------------------------------------------------------------------------------

    def run(self, feedbacks: Sequence[str]) -> None:
        """Play a game for each kind of feedback, and find the best fixed parameter."""
        # Only the game that is drawn keeps its density over time.
        self.pictured = next(kind for kind in ("semi-bandit", *FEEDBACK) if kind in feedbacks)
        with progress_bar(self.console) as progress:
            watched = _watched(progress, "instances", self.case.stream)
            self.problems = [StoredLosses(problem) for problem in watched]
            self._read_common(self.problems[0])
            # Full feedback comes first, to measure the time of whole loss functions. They are stored then,
            # for the best parameter in hindsight, the dispersion and the pictures.
            if "full" in feedbacks:
                self._play("full", progress)
            watched = _watched(progress, "hindsight", self.problems)
            self.mean, self.best = mean_loss(watched, maximize=self.maximize)
            if self.case.bound_name:
                self.theory = _Theory(self.case, self.problems, self.high)
            for feedback in FEEDBACK:
                if feedback in feedbacks and feedback not in self.histories:
                    self._play(feedback, progress)

    def _read_common(self, first: Any) -> None:
        """Read the space and the range of losses from the first instance."""
        self.space = first.space
        self.high = float(getattr(first, "high", 1.0))
        self.maximize = bool(getattr(first, "maximize", False))

    def _play(self, feedback: str, progress: Progress) -> None:
        learner = self._learner(feedback)
        history = History(self.problems, self.space, feedback, self.maximize)
        task = progress.add_task(feedback, total=len(self.problems), note="")
        total = 0.0
        before = [getattr(problem, "n_runs", None) for problem in self.problems]
        probes = 0 if feedback == "full" else self.probes
        for row, problem, earlier in zip(
            rounds(learner, self.problems, feedback, probes=probes), self.problems, before, strict=True
        ):
            # Families that count their runs are more accurate: one reveal may take many runs.
            known = row if earlier is None else replace(row, runs=problem.n_runs - earlier)
            history.append(known, learner if feedback == self.pictured else None)
            total += row.loss
            progress.update(task, advance=1, note=f"mean {self._word} {total / len(history):.4g}")
        self.histories[feedback], self.learners[feedback] = history, learner

    def _learner(self, feedback: str) -> Learner:
        options: dict[str, Any] = {"high": self.high, "maximize": self.maximize, "seed": self.seed}
        options["horizon"] = len(self.problems)
        if not self.provable:
            return Exp3Set(self.space, drift=self.drift, **options)
        if feedback == "bandit":
            return Exp3Grid(self.space, baseline=None, **options)
        if feedback == "semi-bandit" and self.theory and self.theory.regret:
            options["rate"] = self.theory.regret.rate
        return Exp3Set(self.space, baseline=None, **options)

    # -- showing ---------------------------------------------------------------------------------

    @property
    def _word(self) -> str:
        return "value" if self.maximize else "loss"

    def report(self, *, png: Path | None, csv: Path | None) -> None:
        """Print the tables, and write the files that were asked for."""
        self.console.print(self.table())
        self.console.print(f"[dim]Times are medians. {' '.join(self._guarantees())}[/dim]")
        certificates = self._certificates()
        if self.theory is not None:
            self.console.print(self.theory.table(self.histories, self.provable, certificates))
        if csv is not None:
            self.write_csv(csv)
            self.console.print(f"wrote {csv}")
        if png is not None:
            chosen = self.learners[self.pictured].recommend()
            interval = self.space.interval
            trees = (interval.lo, chosen.rho, interval.hi) if hasattr(self.problems[0], "tree") else ()
            plots.overview(
                self.histories, png, self.case.title, trees=trees, mean=self.mean, chosen=chosen,
                blocks=self.blocks, certificates={name: bound.value for name, bound in certificates.items()},
            )  # fmt: skip
            self.console.print(f"wrote {png}")

    def _guarantees(self) -> Iterator[str]:
        """Yield a sentence on the regret guarantee for each group of learners that share it."""
        known: dict[str, list[str]] = {}
        for feedback, learner in self.learners.items():
            known.setdefault(learner.guarantee, []).append(feedback)
        for said, feedbacks in known.items():
            *others, last = feedbacks
            which = f"{', '.join(others)} and {last}" if others else last
            yield f"With {which} feedback: {said}."

    def _certificates(self) -> dict[str, Certificate]:
        """Return bounds on the expected regret from the observed losses, if dispersion is measured."""
        if self.theory is None:
            return {}
        measured = self.theory.measured
        bounds = {
            feedback: learner.certificate(measured)
            for feedback, learner in self.learners.items()
            if feedback != "bandit"  # a certificate of a grid is against the best arm
        }
        return {feedback: bound for feedback, bound in bounds.items() if not bound.reason}

    @property
    def _counted(self) -> bool:
        """Whether the numbers of runs and rounds differ."""
        return any(history.runs.sum() != len(history) for history in self.histories.values())

    def table(self) -> Table:
        """Return the closing table."""
        knobs = "ρ" if len(self.space.alphas) == 1 else "ρ, α"
        table = new_table(title=self.case.title, collapse_padding=True)
        table.add_column("", no_wrap=True)
        headings = [f"total\n{self._word}", "\nregret", f"{knobs} to\ndeploy", "width\nseen"]
        headings += ["\nruns"] if self._counted else []
        if self.blocks is not None:
            headings.insert(2, f"against\n{self.blocks} blocks")
        for heading in (*headings, "µs: learner\n+ feedback"):
            table.add_column(heading, justify="right", no_wrap=True)
        for feedback, history in self.histories.items():
            seconds = history.learner_seconds, history.feedback_seconds
            table.add_row(
                feedback,
                *self._compared(history.loss.mean()),
                _shown(self.learners[feedback].recommend()),
                "a point" if feedback == "bandit" else f"{history.widths.mean():.3g}",
                *([self._runs(history)] if self._counted else []),
                " + ".join(f"{1e6 * np.median(column):.0f}" for column in seconds),
            )
        table.add_section()
        for name, mean in self._others():
            table.add_row(name, *self._compared(mean))
        table.add_row(f"best fixed {knobs}", *self._compared(self.best.mean_loss), _shown(self.best))
        return table

    def _compared(self, mean: float) -> Iterator[str]:
        """Yield the total, the regret and the regret against blocks of a mean loss."""
        T = len(self.problems)
        sign = -1.0 if self.maximize else 1.0
        yield f"{T * mean:.1f}"
        yield f"{sign * T * (mean - self.best.mean_loss) + 0.0:.1f}"
        if self.blocks is not None:
            moving = next(iter(self.histories.values())).best_blocks(self.blocks).totals[-1]
            yield f"{sign * (T * mean - moving) + 0.0:.1f}"

    def _runs(self, history: History) -> str:
        """Return the number of runs; unknown for whole functions of families that do not count them."""
        if history.feedback == "full" and not hasattr(self.problems[0], "n_runs"):
            return "-"
        return f"{history.runs.sum():.0f}"

    def _others(self) -> Iterator[tuple[str, float]]:
        """Yield fixed parameters to compare with: the default, or the best at the ends of each parameter."""
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
    """Measured dispersion of a stream, and the bounds that are proved for it."""

    def __init__(self, case: Case, problems: Sequence[Any], high: float) -> None:
        self.name, self.high = case.bound_name, high
        self.measured = dispersion.measure(problems)
        self.f = None if case.bound is None else case.bound(problems)
        self.regret = None
        if self.f is not None:
            T, R = len(problems), 0.5 * self.measured.space.width
            self.regret = dispersion.bounds.regret(T, self.measured.pieces, self.f, R, H=high)

    def table(
        self, histories: dict[str, History], provable: bool, certificates: dict[str, Certificate]
    ) -> Table:
        """Return counts, β and the regret, with their bounds."""
        measured, T = self.measured, self.measured.T
        table = new_table(title="Dispersion and regret")
        for heading in ("", "measured", "at most", "by"):
            justify = "right" if heading in ("measured", "at most") else "left"
            table.add_column(heading, justify=justify, no_wrap=True, min_width=len(heading))  # type: ignore[arg-type]
        eps = T**-0.5
        at_most = None if self.f is None else self.f(T, eps)
        promised = "unknown" if at_most is None else "vacuous" if at_most >= T else f"{at_most:.0f}"
        table.add_row(f"losses that break within {eps:.2g}", f"{measured.D(eps)}", promised, self.name)
        table.add_row("β", f"{measured.beta:.2f}")
        for feedback, certificate in certificates.items():
            regret = f"{histories[feedback].regret()[-1]:.1f}"
            if provable and feedback == "semi-bandit":
                table.add_row(f"regret, {feedback}", regret, *self._promise())
            table.add_row(f"regret, {feedback}", regret, *self._bound(certificate.value, "its certificate"))
        return table

    def _promise(self) -> tuple[str, str]:
        """Return the bound of Theorem 3 on the regret."""
        if self.regret is None:
            return "unknown", "Theorem 3"
        return self._bound(self.regret.value, f"Theorem 3, {self.measured.pieces:.3g} sets")

    def _bound(self, value: float, source: str) -> tuple[str, str]:
        """Return a bound on the regret and its source, or that it says nothing."""
        if value >= self.measured.T * self.high:
            return "vacuous", f"{source}: larger than T"
        return f"{value:.0f}", source


def _watched(progress: Progress, name: str, problems: Sequence[Any]) -> Iterable[Any]:
    """Yield the problems, with a progress bar."""
    task = progress.add_task(name, total=len(problems), note="")
    for problem in problems:
        yield problem
        progress.advance(task)


def _shown(point: Any) -> str:
    """Return the parameters of a recommendation as text."""
    return ", ".join(f"{x:.4g}" for x in np.hstack(point.parameters))
