"""Posted prices and auctions with a reserve against sales carried out one by one, and in a game."""

import math

import numpy as np
import pytest

import semibandit as sb

RNG = np.random.default_rng(11)


BUYERS = {
    "one": [0.4],
    "random": RNG.random(7),
    "ties": [0.5, 0.5, 0.25, 0.25, 0.25, 0.75],
    "all equal": [0.5] * 4,
    "zeros": [0.0, 0.0, 0.6],
    "above the space": [1.7, 0.3, 2.5],
    "at the ends": [0.0, 1.0, 1.0, 0.5],
}


@pytest.fixture(params=BUYERS, ids=lambda name: name.replace(" ", "-"))
def values(request):
    return BUYERS[request.param]


def posted(values, supply, price):
    """Buyers come one after another, the highest value first."""
    left, revenue = supply, 0.0
    for value in sorted(values, reverse=True):
        if left and value > price:
            left -= 1
            revenue += price
    return revenue


def auction(bids, supply, reserve):
    """Winners pay what would have sufficed to win."""
    ranked = sorted(bids, reverse=True)
    winners = [bid for bid in ranked[:supply] if bid > reserve]
    losing = ranked[supply] if len(ranked) > supply else 0.0
    return sum(max(losing, reserve) for _ in winners)


def problems(values, supplies=(1, 2, 5), **options):
    for supply in supplies:
        yield sb.PostedPrice(values, supply=supply, **options), posted
        yield sb.SecondPrice(values, supply=supply, **options), auction


@pytest.mark.parametrize("space", [sb.Interval(0, 1), sb.Interval(0.2, 0.6)], ids=["whole", "part"])
def test_revenue_is_that_of_single_sales(values, space):
    points = np.concatenate(
        (RNG.uniform(space.lo, space.hi, 30), [space.lo], values, np.nextafter(values, 0))
    )
    points = points[(points >= space.lo) & (points < space.hi)]
    for problem, sale in problems(values, space=space, loss="utility"):
        function = problem.losses()
        assert (function.edges[0], function.edges[-1]) == (space.lo, space.hi)
        for rho in points:
            expected = sale(values, problem.supply, rho)
            assert problem.revenue(rho) == pytest.approx(expected, abs=1e-15)
            assert problem.loss(rho) == problem.revenue(rho)
            assert function(rho) == pytest.approx(expected, abs=1e-14)
            assert problem.reveal(rho)(rho) == pytest.approx(expected, abs=1e-14)


def test_reveal_is_maximal_with_the_same_number_sold(values):
    for problem, _ in problems(values):
        for rho in RNG.random(30):
            lo, hi = problem.reveal(rho).domain[0]
            assert lo <= rho < hi
            assert {problem.sold(x) for x in (lo, math.nextafter(hi, 0))} == {problem.sold(rho)}
            for beyond in (math.nextafter(lo, -1), hi):
                if 0 <= beyond < 1:
                    assert problem.sold(beyond) != problem.sold(rho)


def test_best_price_in_hindsight_is_a_point_that_sells():
    stream = sb.streams.posted_price(60, buyers=3, loss="utility", seed=3)
    best = sb.best_in_hindsight(stream, maximize=True)
    assert best.interval[0] == best.interval[1]
    total = sum(problem.revenue(best.rho) for problem in stream)
    assert total == pytest.approx(60 * best.mean_loss, rel=1e-12)
    # The supremum is approached just left of some buyer's value.
    candidates = np.nextafter(np.concatenate([problem.values for problem in stream]), 0)
    assert total == pytest.approx(max(sum(p.revenue(x) for p in stream) for x in candidates), rel=1e-12)
