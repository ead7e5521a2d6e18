"""Values of the user's own in studies: asked, enqueued, over HTTP, late, and replayed to the bit."""

import math

import pytest

import semibandit as sb

KNOBS = sb.Knobs(alpha=sb.Real(0, 1), depth=sb.Integer(1, 500), mode=sb.Choice("a", "b"))
OWN = {"alpha": 0.25, "depth": 77, "mode": "b"}


@pytest.fixture(params=["study", "client"])
def opened(request, tmp_path):
    """Open a study again and again: in the store, or over HTTP."""
    storage = f"sqlite:///{tmp_path}/studies.db"
    if request.param == "study":
        return lambda **settings: sb.Study(storage, "x", **settings)
    pytest.importorskip("starlette")
    server = request.getfixturevalue("serve")(storage)
    return lambda **settings: sb.Client(server.url, study="x", **settings)


def test_own_values_are_evidence_and_the_density_stays(opened):
    study = opened(space=KNOBS, seed=1)
    plain = sb.Exp3Set(KNOBS, seed=1)
    late = []
    for _ in range(20):
        late.append(study.ask(values=OWN))
        assert late[-1].own
        assert late[-1].values == OWN
        trial, other = study.ask(), plain.ask()
        assert trial.values == other.values
        study.tell(trial, 0.5 + 0.1 * trial.rho)
        plain.tell(other, 0.5 + 0.1 * other.rho)
        if len(late) > 2:
            assert study.tell(late.pop(0), 0.1)
    assert study.density() == plain.density()
    best = study.recommend()
    assert best.values == OWN
    assert (best.evidence.mean, best.evidence.rounds) == (pytest.approx(0.1), 18)
    with opened() as again:
        assert again.density() == plain.density()
        assert again.recommend().values == OWN
        assert [row.own for row in again.history()].count(True) == 18
        assert {tuple(row.probability) for row in again.history() if row.own} == {()}
        assert again.replay(sb.Exp3Set(KNOBS, seed=1)).density() == plain.density()


def test_enqueued_values_are_played_once_by_the_next_ask(opened):
    study = opened(space=KNOBS, seed=1)
    other = {**OWN, "mode": "a"}
    assert study.enqueue(OWN, key="one")
    assert not study.enqueue(OWN, key="one"), "a repeated request"
    assert study.enqueue(other)
    with pytest.raises(ValueError, match=r"these values wait already: .*77"):
        study.enqueue({**OWN, "depth": 77.0})
    assert study.queue == [OWN, other]
    explicit = study.ask(values=other)
    assert study.queue == [OWN, other], "an ask with values leaves the queue as it is"
    first, second, third = (study.ask(probes=2) for _ in range(3))
    assert (first.values, second.values, study.queue) == (OWN, other, [])
    assert first.own
    assert second.own
    assert not third.own
    assert (len(first.probes), len(third.probes)) == (0, 2)
    assert not study.enqueue(OWN, key="one"), "also after it was played"
    assert study.enqueue(OWN), "the same values again, with another key"
    study.forget(second)
    study.forget(explicit)
    with opened() as again:
        assert again.queue == [other, OWN], "values of a forgotten trial wait again"


@pytest.mark.parametrize(
    ("values", "error", "message"),
    [
        ({**OWN, "alpha": 2}, ValueError, r"alpha must be in \[0, 1\], got 2"),
        ({**OWN, "mode": "c"}, ValueError, "mode must be one of 'a', 'b', got 'c'"),
        ({"alpha": 0.5}, ValueError, "values must have a value for alpha, depth, mode each, got alpha"),
        ({**OWN, "beta": 1}, ValueError, "got alpha, depth, mode, beta"),
    ],
)
def test_bad_values_change_nothing(opened, values, error, message):
    study = opened(space=KNOBS, seed=1)
    for method in (study.enqueue, lambda values: study.ask(values=values)):
        with pytest.raises(error, match=message):
            method(values)
    with pytest.raises(ValueError, match="values go without probes"):
        study.ask(values=OWN, probes=1)
    assert (study.n_events, study.queue) == (1, [])


def test_a_race_takes_no_values(tmp_path):
    study = sb.Study(f"sqlite:///{tmp_path}/a.db", "race", space=sb.Interval(0, 1), learner="Race", seed=0)
    for method in (study.enqueue, lambda values: study.ask(values=values)):
        with pytest.raises(ValueError, match="a race chooses its own values"):
            method({"rho": 0.5})


def test_choices_alone_in_a_study(opened):
    study = opened(space=sb.Knobs(mode=sb.Choice("a", "b", None), flag=sb.Choice(True, False)), seed=0)
    for _ in range(60):
        trial = study.ask()
        study.tell(trial, 0.1 if trial.values == {"mode": None, "flag": False} else 0.9)
    with opened() as again:
        assert again.recommend().values == {"mode": None, "flag": False}
        assert again.density() == study.density()


def test_leases_say_what_is_meant(opened):
    study = opened(space=sb.Interval(0, 1), seed=0)
    for lease in (0, -1):
        for method in (study.ask, study.change):
            with pytest.raises(
                ValueError, match=r"lease must be above 0 seconds \(math.inf: it never expires\)"
            ):
                method(lease=lease)
    with pytest.raises(ValueError, match="give a lease, a note, or paused"):
        study.change()
    study.change(lease=math.inf)
    study.ask()
    study.ask(lease=5)
    first, second = study.pending
    assert first.until is None
    assert second.until == pytest.approx(second.at + 5)
