"""Plot of the recommended parameter over a feature."""

import numpy as np
import pytest

import semibandit as sb
from semibandit import plots

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def learner():
    context = sb.Context(size=sb.Real(1, 100, log=True), kind=sb.Choice("a", "b"), who=sb.Label())
    learner = sb.Exp3Set(sb.Interval(0, 1), context=context, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(250):
        size = float(np.exp(rng.uniform(0, np.log(100))))
        trial = learner.ask(context={"size": size, "kind": "a"})
        learner.tell(trial, 0.1 + abs(trial.rho - (0.1 if size < 10 else 0.9)))
    return learner


def test_curve_is_what_is_recommended(learner):
    ax = plots.recommended(learner, "size", {"kind": "a"})
    x, y = ax.lines[0].get_data()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("size", "ρ", "log")
    assert y[0] < 0.5 < y[-1]
    assert y[50] == learner.recommend(context={"size": x[50], "kind": "a"}).rho


def test_choices_are_points(learner):
    ax = plots.recommended(learner, "kind")
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "b"]
