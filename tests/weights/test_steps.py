"""What was seen, in plain numbers and in arrays."""

import numpy as np
import pytest
from msgspec.structs import replace

from semibandit import Interval
from semibandit.weights import (
    ExponentialPieces,
    IntervalTree,
    LocalPieces,
    Rule,
    Step,
    WholeSoFar,
    dyadic_cells,
)

CELLS = dyadic_cells(Interval(0, 1))
WEIGHTS = {
    "tree": lambda: IntervalTree(0, 1),
    "local": lambda: LocalPieces(CELLS, 0.5, 128),
    "whole": lambda: WholeSoFar(CELLS, 128),
    "exponential": lambda: ExponentialPieces(np.array([0.0, 1.0]), np.zeros(1), np.zeros(1)),
}


def random_step(rng, weights):
    """What a round may show at a parameter that is drawn from the weights; now and then everything."""
    home = weights.draw(rng.random())
    lo, hi = max(home - 0.1 * rng.random() - 1e-9, 0.0), min(home + 0.1 * rng.random() + 1e-9, 1.0)
    whole = rng.random() < 0.1
    lo, hi = (0.0, 1.0) if whole else (lo, hi)
    return Step(lo, hi, rng.random(), home, whole, single=not whole and rng.random() < 0.2)


def numbers_of(learned):
    factors = None if learned.factors is None else list(learned.factors)
    return replace(learned, weights=None, factors=factors)


@pytest.mark.parametrize("make", WEIGHTS.values(), ids=WEIGHTS)
def test_a_step_teaches_the_same_in_numbers_and_in_arrays(make):
    rng = np.random.default_rng(0)
    rule = Rule(lambda: 0.1, 0.01, -2.0, 0.5)
    one, other = make(), make()
    for _ in range(200):
        step = random_step(rng, one)
        by_numbers, by_arrays = one.learn(step, rule), other.learn(step.in_arrays(), rule)
        one, other = by_numbers.weights, by_arrays.weights
        assert one.state().tobytes() == other.state().tobytes()
        assert numbers_of(by_numbers) == numbers_of(by_arrays)
