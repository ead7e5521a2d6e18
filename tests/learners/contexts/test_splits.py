"""Cuts of a cell of contexts: found where curves differ, and not where only the level does."""

import numpy as np
import pytest

from reference.context_splits import LooksByArrays
from semibandit.learners.contexts.splits import Looks, cuts_of

PRICE = 3.6  # four times the range of the losses of `rounds`, as the learner has it


def rounds(n, difference, level, seed=0, groups=32):
    """Return a feature and losses; each round observes a few groups next to each other."""
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    losses = np.full((n, groups), np.nan)
    for i in range(n):
        start = rng.integers(groups - 4)
        seen = slice(start, start + rng.integers(1, 5))
        curve = abs(np.linspace(0, 1, groups) - (0.5 + difference * (x[i] > 0.6)))
        losses[i, seen] = curve[seen] + level * x[i] + 0.05 * rng.normal()
    return x, losses


def test_cut_is_where_the_curves_differ():
    x, losses = rounds(300, 0.4, 0.0)
    cut = Looks(losses, np.ones(300)).best_cut(x, 0.5, 0.25)
    assert cut.at == pytest.approx(0.6, abs=0.05)
    assert cut.evidence > 10.0


@pytest.mark.parametrize("seed", range(5))
def test_useless_column_and_mere_level_have_little_evidence(seed):
    x, losses = rounds(300, 0.4, 0.0, seed)
    noise = np.random.default_rng(seed + 50).random(300)
    useless = Looks(losses, np.ones(300)).best_cut(noise, 0.5, PRICE)
    x, losses = rounds(300, 0.0, 0.1, seed)
    harder = Looks(losses, np.ones(300)).best_cut(x, 0.5, PRICE)
    for cut in (useless, harder):
        assert cut is None or cut.evidence < 8.0


def test_cuts_leave_rounds_on_both_sides():
    values = np.array([0.0] * 10 + [1.0] * 10)
    assert cuts_of(values).tolist() == [0.5]
    assert cuts_of(np.array([0.0] * 3 + [1.0] * 30)).size == 0
    assert cuts_of(np.ones(50)).size == 0
    fine = cuts_of(np.arange(1000.0))
    assert fine.size <= 31
    assert fine.min() >= 5.0
    assert fine.max() <= 994.0


def test_constant_losses_give_no_cut():
    losses = np.full((60, 32), 0.3)
    assert Looks(losses, np.ones(60)).best_cut(np.linspace(0, 1, 60), 0.5, 0.0) is None


@pytest.mark.parametrize("seed", range(40))
def test_cut_is_that_of_the_array_formulas(seed):
    rng = np.random.default_rng(seed)
    n, groups = int(rng.integers(12, 300)), int(rng.integers(1, 33))
    x, losses = rng.random(n), np.full((n, groups), np.nan)
    if seed % 3 == 0:  # ties
        x = np.round(8.0 * x)
    for i in range(n):
        start = rng.integers(groups)
        seen = slice(start, rng.integers(start, groups) + 1)
        curve = abs(np.linspace(0.0, 1.0, groups) - 0.3 - 0.4 * (x[i] > 0.6 * x.max()))
        losses[i, seen] = curve[seen] + 0.1 * rng.normal()
    losses[:, :: int(rng.integers(2, 40))] = np.nan  # groups that nobody observed
    losses[0, -1] = 0.5
    weights = 1.0 / rng.uniform(0.1, 1.0, n)
    for price in (0.0, 1.0):
        cut = Looks(losses, weights).best_cut(x, 0.5, price)
        expected = LooksByArrays(losses, weights).best_cut(x, 0.5, price)
        assert (cut is None) == (expected is None)
        if cut is not None:
            assert cut.at == expected.at
            assert cut.evidence == pytest.approx(expected.evidence, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_cut_pays_still_when_each_side_plays_only_its_own_best(seed):
    rng = np.random.default_rng(seed)
    x, losses = rng.random(400), np.full((400, 32), np.nan)
    for i in range(400):
        best = 4 if x[i] < 0.5 else 28
        seen = rng.integers(32) if i < 40 else np.clip(best + rng.integers(-2, 3), 0, 31)
        losses[i, seen] = abs(seen - best) / 32 + 0.05 * rng.normal()
    for n in (120, 400):
        cut = Looks(losses[:n], np.ones(n)).best_cut(x[:n], 0.5, 4.0)
        assert cut.at == pytest.approx(0.5, abs=0.1)
