"""Streams: determined by seed and round, picklable, divisible."""

import copy
import pickle

import pytest

import semibandit as sb
from semibandit.streams import Stream

STREAMS = {
    "knapsack": lambda seed: sb.streams.knapsack("mixed", rounds=3, n=8, seed=seed),
    "clustering": lambda seed: sb.streams.clustering("gaussian", rounds=3, per_class=4, seed=seed),
    "digits_two_metrics": lambda seed: sb.streams.digits_two_metrics(3, (2, 3), seed=seed, n_rows=2),
    "independent_set": lambda seed: sb.streams.independent_set(rounds=3, seed=seed),
    "max_cut": lambda seed: sb.streams.max_cut("groups", rounds=3, vertices=9, seed=seed),
    "rank_mix": lambda seed: sb.streams.rank_mix(rounds=3, documents=12, k=3, seed=seed),
    "dispatch": lambda seed: sb.streams.dispatch(rounds=3, jobs=9, seed=seed),
    "threshold": lambda seed: sb.streams.threshold(rounds=3, seed=seed),
    "path_tasks": lambda seed: sb.streams.path_tasks(rounds=3, size=20, seed=seed),
    "seeding": lambda seed: sb.streams.seeding(rounds=3, seed=seed),
    "posted_price": lambda seed: sb.streams.posted_price(rounds=3, seed=seed),
    "second_price": lambda seed: sb.streams.second_price(rounds=3, seed=seed),
    "synthetic": lambda seed: sb.streams.synthetic(rounds=3, seed=seed),
    "concentrated": lambda seed: sb.streams.concentrated(rounds=3, seed=seed),
    "halving": lambda seed: sb.streams.halving(rounds=8, seed=seed),
}


def losses(problems):
    return [problem.losses() for problem in problems]


@pytest.mark.parametrize("name", STREAMS)
def test_an_instance_depends_on_seed_and_round_only(name):
    stream = STREAMS[name](2)
    forwards = losses(stream)
    assert losses(stream[t] for t in reversed(range(len(stream)))) == forwards[::-1]
    assert losses(stream[1:3]) == losses(stream.part(1, 3)) == forwards[1:3]
    assert losses([stream[-1]]) == forwards[-1:]
    assert losses(STREAMS[name](3)) != forwards
    for again in (copy.copy, copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))):
        assert losses(again(stream)) == forwards


def make(t, rng):
    return sb.Explicit(sb.PiecewiseConstant([0, 1], [rng.random()]))


def test_streams_of_users_can_be_pickled():
    stream = Stream(make, 3, 0)
    assert losses(pickle.loads(pickle.dumps(stream))) == losses(stream)


def test_rounds_are_integers_below_the_length():
    stream = sb.streams.synthetic(rounds=5)
    with pytest.raises(IndexError, match="round 5 of a stream of 5"):
        stream[5]
    with pytest.raises(TypeError, match="indices must be integers or slices, not float"):
        stream[1.5]
