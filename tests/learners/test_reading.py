"""A round that shows one step takes a shorter way, on which nothing may change."""

import copy

import numpy as np
import pytest

import semibandit as sb
from semibandit.learners import storage

UNIT = sb.Interval(0, 1)
LEARNERS = {
    "local": lambda: sb.Exp3Set(UNIT, seed=0),
    "low": lambda: sb.Exp3Set(UNIT, baseline="low", seed=0),
    "none": lambda: sb.Exp3Set(UNIT, baseline=None, exploration="auto", seed=0),
    "drift": lambda: sb.Exp3Set(UNIT, drift="auto", seed=0),
    "utilities": lambda: sb.Exp3Set(UNIT, high=3.0, maximize=True, seed=0),
    "margin": lambda: sb.Exp3Set(sb.Interval(0, 1, margin=0.1), seed=0),
    "strips": lambda: sb.Exp3Set(sb.Strips(3, UNIT), seed=0),
}


class LongWay(sb.PiecewiseConstant):
    """A function that is not of the usual kind."""

    __slots__ = ()


def random_step(rng, space, trial):
    """(lo, hi, value) around the parameter, in its row; now and then up to the ends."""
    x = space.place(*trial.parameters)
    row = min(int(x), len(space.alphas) - 1)
    lo, hi = x - 0.2 * rng.random() - 1e-6, x + 0.2 * rng.random() + 1e-6
    if rng.random() < 0.1:
        lo, hi = row, row + 1
    return max(lo, row), min(hi, row + 1), rng.random()


@pytest.mark.parametrize("delay", [0, 3])
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_step_teaches_the_same_on_the_shorter_way(make, delay):
    rng = np.random.default_rng(1)
    quick = make()
    slow = copy.deepcopy(quick)
    pending = []
    for _ in range(120):
        pending.append((quick.ask(), slow.ask()))
        if len(pending) > delay:
            trial, other = pending.pop(int(rng.integers(len(pending))))
            step = random_step(rng, quick.space, trial)
            quick.tell(trial, sb.PiecewiseConstant.constant(*step))
            slow.tell(other, LongWay([step[0], step[1]], [step[2]]))
    assert storage.dumps(quick) == storage.dumps(slow)


@pytest.mark.parametrize("kind", [sb.PiecewiseConstant, LongWay])
@pytest.mark.parametrize(
    ("edges", "value", "message"),
    [
        ([-0.5, 1.0], 0.5, r"must lie inside \[0, 1\]"),
        ([0.0, 1.5], 0.5, r"must lie inside \[0, 1\]"),
        ([0.0, 1e-9], 0.5, "must cover rho"),
        ([0.0, 1.0], np.nan, "must cover rho"),
        ([0.0, 1.0], 1.5, r"must be in \[0, 1\], got 1.5"),
        ([0.0, 1.0], -0.5, r"must be in \[0, 1\], got -0.5"),
    ],
)
def test_errors_are_the_same_on_both_ways(kind, edges, value, message):
    learner = sb.Exp3Set(UNIT, high=1.0, seed=0)
    trial = learner.ask()
    with pytest.raises(ValueError, match=message):
        learner.tell(trial, kind(edges, [value]))
    learner.tell(trial, kind([0.0, 1.0], [0.5]))
