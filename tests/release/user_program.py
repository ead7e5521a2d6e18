"""Program of a user with types, which a type checker reads beside the installed wheel."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

import semibandit as sb


class Cheapest:
    """A family of the user's own: one price left of a point, another right of it."""

    space = sb.Interval(0, 1)

    def __init__(self, point: float) -> None:
        self.point = point

    def loss(self, rho: float) -> float:
        return self.losses()(rho)

    def reveal(self, rho: float) -> sb.PiecewiseConstant:
        return assert_type(2.0 * self.losses() + 1.0 + self.losses(), sb.PiecewiseConstant).piece(rho)

    def losses(self) -> sb.PiecewiseConstant:
        return sb.PiecewiseConstant([0.0, self.point, 1.0], [0.9, 0.1])


def ask_and_tell(problems: list[Cheapest]) -> float:
    learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
    for problem in problems:
        trial = learner.ask()
        assert_type(trial, sb.Trial)
        assert_type(trial.rho, int | float)
        learner.tell(trial, problem.reveal(trial.rho))
    assert_type(learner.recommend(), sb.Recommendation)
    learner.tell(trial.rho, 0.3)  # type: ignore[arg-type]
    return learner.recommend().rho


def games(problems: list[Cheapest]) -> npt.NDArray[np.float64]:
    history = sb.play(sb.Exp3Set(Cheapest.space, seed=0), problems, feedback="semi-bandit")
    assert_type(history, sb.History)
    assert_type(history.to_dict(), dict[str, list[Any]])
    sb.play(Cheapest.space, problems)  # type: ignore[arg-type]
    sb.testing.check_problem(problems[0])
    return history.regret()


def logs(problems: list[Cheapest]) -> tuple[float, float]:
    best = sb.fit(problems, n_jobs=2)
    assert_type(best, sb.Fit)
    assert_type(best.rho, float)
    return best.interval


def several_knobs() -> dict[str, Any]:
    knobs = sb.Knobs(
        alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good")
    )
    return sb.Exp3Set(knobs, seed=0).ask().values


def streams_and_studies() -> None:
    assert_type(sb.streams.knapsack(rounds=3)[0], sb.Knapsack)
    with sb.Study("sqlite:///tuning.db", "name", space=sb.Interval(0, 1), seed=0) as study:
        assert_type(study, sb.Study)
        assert_type(study.ask(lease=300), sb.Trial)
        assert_type(study.certificate().learning, float)
        assert_type(study.density()(0.5), float)
    assert_type(sb.__version__, str)
    sb.no_such_name()  # type: ignore[attr-defined]
