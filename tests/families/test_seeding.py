"""d^α seeding against shares to 60 digits, and its three kinds of feedback against each other."""

import itertools

import numpy as np
import pytest

import semibandit as sb
from reference import seeding as reference


def instances():
    """Name -> (points, uniforms)."""
    rng = np.random.default_rng(2)
    cloud = rng.normal(0, 1, (14, 2))
    grid = np.array([[i, j] for i in range(4) for j in range(4)], float)
    return {
        "cloud": (cloud, rng.random(4)),
        "grid, equal distances": (grid, rng.random(5)),
        "line": (np.arange(10.0)[:, None], rng.random(3)),
        "duplicates": (np.repeat(cloud[:5], 3, axis=0), rng.random(4)),
        "fewer distinct points than clusters": (np.repeat(cloud[:2], 4, axis=0), rng.random(4)),
        "all the same": (np.ones((5, 3)), rng.random(3)),
        "far apart": (10.0 ** rng.uniform(-6, 6, (12, 1)), rng.random(4)),
        "nearly equal distances": (np.vstack(([[0.0, 0.0]], _ring(9, 1e-7))), [0.0, 0.4, 0.7]),
        "uniforms at the ends": (cloud, [0.0, 0.0, 1 - 2**-53, 0.5]),
        "one cluster": (cloud, [0.3]),
    }


def _ring(n, noise):
    angle = np.linspace(0, 2 * np.pi, n, endpoint=False)
    radius = 1 + noise * np.random.default_rng(0).random(n)
    return np.column_stack((radius * np.cos(angle), radius * np.sin(angle)))


INSTANCES = instances()


@pytest.fixture(params=INSTANCES, ids=lambda name: name.replace(" ", "-").replace(",", ""))
def instance(request):
    return INSTANCES[request.param]


def make(points, uniforms, **options):
    return sb.Seeding(points, len(uniforms), uniforms=uniforms, **options)


def test_centers_are_those_of_exact_shares(instance):
    problem = make(*instance)
    for alpha in (*np.random.default_rng(1).uniform(0, 20, 25), 0.0, 2.0):
        assert problem.centers(alpha).tolist() == reference.centers(*instance, alpha)


def test_pieces_end_where_the_exact_centers_change(instance):
    problem = make(*instance)
    edges = problem.losses().edges
    assert (edges[0], edges[-1]) == (0.0, 20.0)
    # Ends of distances that nearly agree are ill-conditioned: 1e-14 over a slope of 1e-7.
    slack = 1e-6 if len(instance[0]) == 10 and len(instance[1]) == 3 else 1e-10
    for lo, hi in itertools.pairwise(edges):
        if hi - lo < 4 * slack:
            continue
        picked = problem.centers(0.5 * (lo + hi)).tolist()
        assert reference.centers(*instance, lo + slack) == picked
        assert reference.centers(*instance, hi - slack) == picked
        if hi < 20.0:
            assert reference.centers(*instance, hi + slack) != picked


def test_the_three_kinds_of_feedback_agree_to_the_bit(instance):
    problem = make(*instance)
    losses = problem.losses()
    edges = losses.edges
    points = np.unique(np.concatenate((edges, np.nextafter(edges[1:], 0), np.nextafter(edges[:-1], 20))))
    for alpha in points:
        assert problem.loss(alpha) == losses(alpha)
        lo, hi = losses.piece(alpha).edges
        assert problem.reveal(alpha).domain == ((lo, hi),)
        assert problem.reveal(alpha)(alpha) == losses(alpha)


def test_probabilities_are_those_of_k_means_plus_plus():
    points = np.array([[0.0], [1.0], [2.0], [4.0]])
    draws = [sb.Seeding(points, 2, uniforms=[0.0, u]).centers(2.0)[1] for u in (np.arange(2100) + 0.5) / 2100]
    assert np.bincount(draws).tolist() == [0, 100, 400, 1600]


def test_loss_is_relative_to_the_first_centre():
    points = np.array([[0.0], [1.0], [10.0], [11.0]])
    problem = sb.Seeding(points, 2, uniforms=[0.0, 0.3])
    assert problem.centers(2.0).tolist() == [0, 3]
    assert problem.loss(2.0) == (1 + 1) / (1 + 100 + 121)
    better = sb.Seeding(points, 2, uniforms=[0.0, 0.3], iterations=2)
    assert better.loss(2.0) == pytest.approx(4 * 0.25 / 222)
