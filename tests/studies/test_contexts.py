"""Studies of learners with contexts: the log, replay, and the service."""

import numpy as np
import pytest

import semibandit as sb

CONTEXT = sb.Context(size=sb.Real(1, 1000, log=True), who=sb.Label())


def valley(x, best):
    return float(0.1 + 0.8 * abs(x - best))


def run(study, rounds, seed=0):
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        size = float(np.exp(rng.uniform(0, np.log(1000))))
        trial = study.ask(context={"size": size, "who": int(rng.integers(3))})
        study.tell(trial, valley(trial.rho, 0.1 if size < 30 else 0.9))


@pytest.fixture
def storage(tmp_path):
    return f"sqlite:///{tmp_path}/tuning.db"


def test_the_log_keeps_the_context_and_replays_it(storage):
    study = sb.Study(storage, "a", space=sb.Interval(0, 1), context=CONTEXT, seed=0)
    run(study, 300)
    assert len(study.contexts()) > 1
    assert repr(study.contexts()) == repr(study.learner.contexts())
    other = sb.Study(storage, "a", space=sb.Interval(0, 1), context=CONTEXT)
    assert repr(other.learner.contexts()) == repr(study.learner.contexts())
    given = {"size": 5, "who": "1"}
    assert other.recommend(context=given) == study.recommend(context=given)
    assert other.recommend(context=given).rho < 0.5 < other.recommend(context={"size": 900}).rho
    again = study.replay(sb.Exp3Set(sb.Interval(0, 1), context=CONTEXT, seed=0))
    assert repr(again.contexts()) == repr(study.learner.contexts())
    assert study.ask(context=given).rho == again.ask(context=given).rho


def test_a_snapshot_continues_as_the_log(storage):
    study = sb.Study(storage, "a", space=sb.Interval(0, 1), context=CONTEXT, seed=0)
    run(study, 100)
    from semibandit.studies.log.replica import Replica

    again = Replica.loads(study.snapshot())
    given = {"size": 5, "who": "1"}
    assert again.learner.ask(context=given).rho == study.ask(context=given).rho


def test_context_is_part_of_the_settings(storage):
    sb.Study(storage, "a", space=sb.Interval(0, 1), context=CONTEXT, seed=0)
    with pytest.raises(ValueError, match="other settings: context"):
        sb.Study(storage, "a", space=sb.Interval(0, 1), context=sb.Context(who=sb.Label()))


def test_wrong_context_changes_nothing(storage):
    study = sb.Study(storage, "a", space=sb.Interval(0, 1), context=CONTEXT, seed=0)
    for bad in ({"size": float("nan")}, {"weight": 3}):
        with pytest.raises(ValueError, match="context"):
            study.ask(context=bad)
    assert study.n_events == 1
    plain = sb.Study(storage, "b", space=sb.Interval(0, 1), seed=0)
    with pytest.raises(ValueError, match="context needs a learner made with"):
        plain.ask(context={"size": 3})
    with pytest.raises(ValueError, match="needs a learner made with context="):
        plain.contexts()


def test_client_has_the_same_methods(storage, serve):
    server = serve(storage)
    with sb.Client(server.url, study="a", space=sb.Interval(0, 1), context=CONTEXT, seed=0) as client:
        run(client, 100)
        local = sb.Study(storage, "a")
        assert len(client.contexts()) > 1
        assert repr(client.contexts()) == repr(local.contexts())
        given = {"size": 5.0, "who": "ü & 1"}
        assert client.recommend(context=given) == local.recommend(context=given)
        assert client.recommend() == local.recommend()
        with pytest.raises(ValueError, match="no other keys"):
            client.recommend(context={"colour": 1})
        with pytest.raises(ValueError, match="finite"):
            local.recommend(context={"size": float("nan")})
        trial = client.ask(context=given)
        assert trial.context == given
        assert local.pending[-1].context == given
