import copy
import pickle

import pytest

import semibandit as sb
from semibandit.streams import Stream

STREAMS = {
    "knapsack": lambda: sb.streams.knapsack("mixed", rounds=3, n=8, seed=2),
    "clustering": lambda: sb.streams.clustering(rounds=3, per_class=4),
    "independent_set": lambda: sb.streams.independent_set(rounds=3),
    "seeding": lambda: sb.streams.seeding(rounds=3),
    "posted_price": lambda: sb.streams.posted_price(rounds=3),
    "second_price": lambda: sb.streams.second_price(rounds=3),
    "synthetic": lambda: sb.streams.synthetic(rounds=3),
    "concentrated": lambda: sb.streams.concentrated(rounds=3),
    "halving": lambda: sb.streams.halving(rounds=3),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda stream: pickle.loads(pickle.dumps(stream))]
)
def test_streams_can_be_pickled_and_copied(name, again):
    stream = STREAMS[name]()
    copied = again(stream)
    assert len(copied) == 3
    assert [problem.losses() for problem in copied] == [problem.losses() for problem in stream]


def make(t, rng):
    return sb.Explicit(sb.PiecewiseConstant([0, 1], [rng.random()]))


def test_streams_of_users_can_be_pickled():
    stream = Stream(make, 3, 0)
    assert [p.losses() for p in pickle.loads(pickle.dumps(stream))] == [p.losses() for p in stream]


def test_histories_can_be_pickled_and_copied():
    history = sb.play(sb.Exp3Set(sb.Interval(0, 1), horizon=5, seed=0), sb.streams.synthetic(rounds=5))
    for again in (copy.copy, copy.deepcopy, lambda h: pickle.loads(pickle.dumps(h))):
        copied = again(history)
        assert (copied.loss == history.loss).all()
        assert (copied.regret() == history.regret()).all()


def test_rounds_are_integers():
    with pytest.raises(TypeError, match="a round must be an integer or a slice"):
        sb.streams.synthetic(rounds=3)[1.5]
