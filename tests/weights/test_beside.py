"""Prompt tells in contexts: the other weights of the mixture instead of a function of edges."""

import math

import numpy as np
import pytest

from semibandit.spaces import Interval
from semibandit.weights import Beside, Feedback, LocalPieces, Rule, dyadic_cells

RULE = Rule(0.0, 0.0, -math.inf, 0.0, 10.0)


def learned(seed, rounds):
    rng = np.random.default_rng(seed)
    weights = LocalPieces(dyadic_cells(Interval(0, 1)), 128)
    for _ in range(rounds):
        weights = weights.learn(some_feedback(rng), RULE).weights
    return weights


def some_feedback(rng):
    lo, hi = np.sort(rng.random(2))
    return Feedback.step(float(lo), float(hi), float(rng.random()), float(lo))


@pytest.mark.parametrize("seed", range(8))
def test_beside_gives_the_numbers_of_shares_at_ask(seed):
    own, other = learned(seed, 60), learned(seed + 100, 40)
    feedback, part = some_feedback(np.random.default_rng(seed)), 0.3

    def shares_at_ask(edges):
        shares = own_before.shares(edges)
        shares[0] = (1.0 - part) * shares[0] + part * other.shares(edges)[0]
        return shares

    own_before = own.detached()
    slow = Feedback(*feedback_parts(feedback), shares_at_ask=shares_at_ask)
    fast = Feedback(*feedback_parts(feedback), shares_at_ask=shares_at_ask, beside=Beside(other, part))
    one, two = own.detached().learn(slow, RULE), own.detached().learn(fast, RULE)
    expected = shares_at_ask(feedback.edges)[0][0]
    assert one.p == pytest.approx((expected,), rel=1e-12)
    assert two.p == pytest.approx(one.p, rel=1e-12)
    edges = np.linspace(0.0, 1.0, 100)
    np.testing.assert_allclose(two.weights.shares(edges), one.weights.shares(edges), rtol=1e-10)


def feedback_parts(feedback):
    return feedback.edges, feedback.losses, feedback.sets, feedback.paid, feedback.position
