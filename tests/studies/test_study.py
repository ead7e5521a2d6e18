"""Studies: rounds, leases, settings, replays, history, threads and forks."""

import json
import math
import os
import pickle
import random
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing

import numpy as np
import pytest

import semibandit as sb
from semibandit.studies.log import backend, events
from semibandit.studies.log.operations import Ask, ForgottenError, Tell
from semibandit.studies.log.stores import UnknownStudyError, open_store
from semibandit.studies.log.stores.sqlite import SQLiteStore
from semibandit.studies.settings import StudySettings
from study_workers import SPACE, bits, play, seen_around


@pytest.fixture
def study(storage):
    with sb.Study(storage, "knob", space=SPACE, seed=7) as study:
        yield study


@pytest.fixture
def quick(tmp_path):
    """A study in SQLite, for tests that do not depend on the store."""
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "knob", space=SPACE, seed=7) as study:
        yield study


@pytest.fixture
def clock(monkeypatch):
    """A clock that only the test moves."""
    now = [1_000_000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    monkeypatch.setattr("semibandit.studies.log.stores.sqlite._elapsed", lambda: now[0])
    return now


def test_draws_and_weights_are_those_of_the_learner(study):
    learner = sb.Exp3Set(SPACE, seed=7)
    for _ in range(60):
        ours, theirs = study.ask(), learner.ask()
        assert (ours.id, ours.rho, ours.position) == (theirs.id, theirs.rho, theirs.position)
        seen = sb.PiecewiseConstant.constant(0.5 * ours.rho, 0.5 + 0.5 * ours.rho, abs(ours.rho - 0.3))
        assert study.tell(ours, seen) is True
        learner.tell(theirs, seen)
    assert study.density() == learner.density()
    assert study.recommend() == learner.recommend()
    assert study.n_events == 121


def test_a_second_tell_changes_nothing(study):
    trial = study.ask()
    seen = seen_around(trial.rho, random.Random(0))
    assert study.tell(trial, seen)
    before = bits(study.learner), study.n_events
    assert not study.tell(trial, seen)
    assert not study.tell(trial.id, None)
    assert not study.forget(trial)
    assert (bits(study.learner), study.n_events) == before
    with pytest.raises(ValueError, match="trial 0 is finished: there is no lease to renew"):
        study.renew(trial)


def test_the_same_key_returns_the_pending_trial(study):
    trial = study.ask(key="one")
    assert study.ask(key="one") == trial
    assert study.ask(key="two") != trial
    study.tell(trial, seen_around(trial.rho, random.Random(0)))
    assert study.ask(key="one").id == 2


def test_refused_arguments_change_nothing(study, storage):
    trial = study.ask()
    before = bits(study.learner), study.n_events
    bad = [
        (trial, sb.PiecewiseConstant.constant(0, 1, 1e200), "must be finite"),
        (trial, sb.PiecewiseConstant.constant(0, math.nextafter(trial.rho, 0), 0.5), "must cover"),
        (trial, "nothing", "must be"),
        (99, None, "trial 99 is unknown"),
        (-1, None, "at least 0"),
        ("0", None, "must be an integer"),
    ]
    for told, seen, message in bad:
        with pytest.raises((ValueError, TypeError), match=message):
            study.tell(told, seen)
    for arguments in (
        {"lease": -1},
        {"lease": math.nan},
        {"worker": ""},
        {"worker": "a\x00b"},
        {"key": "k" * 501},
        {"info": {"x": [1]}},
        {"info": {"x": math.inf}},
        {"info": {str(i): i for i in range(51)}},
    ):
        with pytest.raises((ValueError, TypeError)):
            study.ask(**arguments)
    with pytest.raises(ValueError, match="seen=None together with failure"):
        study.tell(trial, 0.5, failure="x")
    with pytest.raises(ValueError, match="to change"):
        study.change()
    with sb.Study(storage, "other", space=SPACE) as other:
        stranger = other.ask()
    with pytest.raises(ValueError, match="asked of another study"):
        study.tell(stranger, None)
    assert (bits(study.learner), study.n_events) == before


STRIPS = sb.Strips(3, sb.Interval(0, 1))
KNOBS = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good"))
PRIOR = sb.PiecewiseConstant([0, 0.5, 1], [0.5, 1.5])


def row_seen(trial, i):
    row = STRIPS.row_of(trial.alpha)
    return STRIPS.lay_rows({row: sb.PiecewiseConstant([0, 1], [0.2 + 0.1 * row])})


def probes_seen(trial, i):
    looks = [seen_around(rho, random.Random(i)) for rho in (trial.rho, *trial.probes)]
    return [None, *looks[1:]] if i == 7 else looks[: 1 + i % 3]


def box_seen(trial, i):
    loss = 0.1 + 0.02 * abs(trial.values["depth"] - 9) + 0.3 * (trial.values["mode"] == "fast")
    return sb.Boxes([(sb.PiecewiseConstant([1e-4, 1], [loss]), {"depth": trial.values["depth"]})])


@pytest.mark.parametrize(
    ("settings", "seen_of"),
    [
        ({"space": STRIPS, "rate": sb.FixedRate(0.1)}, row_seen),
        ({"space": SPACE, "learner": "Exp3Grid", "n_arms": 5}, lambda trial, i: np.float64(trial.rho)),
        ({"space": SPACE, "prior": PRIOR}, lambda trial, i: sb.PiecewiseLinear.line(0, 1, 0.9, 0.1)),
        ({"space": SPACE}, probes_seen),
        ({"space": KNOBS, "rate": 1.0}, box_seen),
    ],
    ids=["strips", "grid", "prior and lines", "probes", "knobs"],
)
def test_each_kind_of_feedback_replays_to_the_bit(tmp_path, settings, seen_of):
    url = f"sqlite:///{tmp_path}/studies.db"
    with sb.Study(url, "knob", seed=1, **settings) as study:
        for i in range(30):
            trial = study.ask(probes=2 if seen_of is probes_seen else 0)
            study.tell(trial, seen_of(trial, i))
        with sb.Study(url, "knob", seed=1, **settings) as other:
            assert bits(other.learner) == bits(study.learner) == bits(study.at(study.n_events))
            assert other.recommend().values == study.recommend().values
        last, summary = study.history()[-1], study.summary()
        assert (last.rho, last.trial) == (trial.rho, trial.id)
        assert sum(summary.masses()) == pytest.approx(1.0)
        assert (summary.counts.told, summary.counts.n_losses) == (30, 29 if seen_of is probes_seen else 30)


# -- leases ------------------------------------------------------------------------------------------


def test_a_trial_is_forgotten_when_its_lease_expires(tmp_path, clock):
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=SPACE, seed=0) as study:
        late, kept, forever = study.ask(lease=10), study.ask(lease=10), study.ask(lease=math.inf)
        clock[0] += 9
        study.renew(kept, lease=10)
        clock[0] += 2
        study.ask()  # any operation forgets overdue trials
        assert [lease.trial for lease in study.pending] == [kept.id, forever.id, 3]
        with pytest.raises(ForgottenError, match=r"trial 0 was forgotten .* lease expired"):
            study.tell(late, seen_around(late.rho, random.Random(0)))
        assert study.tell(kept, None, failure="timeout")
        clock[0] += 1e9
        assert [lease.trial for lease in study.pending] == [1 + 1, 3]
        with pytest.raises(ForgottenError):
            study.tell(3, None)
        assert [lease.trial for lease in study.pending] == [forever.id]
        assert [record.failure for record in study.history()] == [
            "lease expired", "timeout", "lease expired",
        ]  # fmt: skip
        assert study.learner.n_failed == 1


def test_change_sets_the_default_lease_and_the_note(tmp_path, clock):
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=SPACE, seed=0) as study:
        study.ask()
        study.change(lease=5, note="one machine is slow")
        study.ask()
        ends = [lease.until - clock[0] for lease in study.pending]
        assert ends == [300, 5]
        clock[0] += 6
        assert study.prune() == 1
        with sb.Study(study.storage, "knob") as other:
            assert other.summary().counts.note == "one machine is slow"
        clock[0] -= 1000  # the clock is set back
        at = [json.loads(line)["at"] for _, line in study.events()]
        study.ask()
        assert at == sorted(at)


@pytest.mark.skipif(not os.path.exists("/proc/self/ns/time"), reason="needs the name of the boot")
def test_a_clock_that_jumps_does_not_end_leases_of_others(tmp_path, monkeypatch):
    storage = f"sqlite:///{tmp_path}/x.db"
    script = "import sys, semibandit as sb; sb.Study(sys.argv[1], 'knob').ask(lease=100)"
    with sb.Study(storage, "knob", space=SPACE, seed=0):
        subprocess.run([sys.executable, "-c", script, storage], check=True)
    real = time.time
    for days in (3, -3):
        monkeypatch.setattr("time.time", lambda days=days: real() + 86_400 * days)
        with sb.Study(storage, "knob") as study:  # a process that starts after the jump
            assert study.prune() == 0
            assert study.pending[0].trial == 0
            at = [json.loads(line)["at"] for _, line in study.events()]
            study.ask(lease=100)
            assert at == sorted(at)


# -- creating and joining ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"space": sb.Interval(0, 2), "seed": 7}, "space = .*2.0.*it was"),
        ({"space": SPACE, "seed": 8}, r"seed = 8 \(it was 7\)"),
        ({"space": SPACE, "rate": 0.5}, r"rate = 0.5 \(it was not given\)"),
        ({"space": SPACE, "learner": "Exp3Grid", "n_arms": 4}, "learner = Exp3Grid"),
        ({"seed": 7}, "need a space"),
        ({"rate": 7}, "need a space"),
        ({"space": SPACE, "learner": "Exp4"}, "learner must be one of"),
        ({"space": SPACE, "high": -1.0}, "high must be"),
        ({"space": SPACE, "colour": 3}, "colour"),
        ({"space": (0, 1)}, "space must be"),
    ],
)
def test_joining_with_other_settings_is_refused(quick, given, message):
    before = quick.n_events
    with pytest.raises((ValueError, TypeError), match=message):
        sb.Study(quick.storage, "knob", **given)
    assert quick.n_events == before


def test_a_missing_seed_is_drawn(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    assert len({sb.Study(url, str(i), space=SPACE).settings.seed for i in range(4)}) == 4
    with sb.Study(url, "0") as joined, sb.Study(url, "0", space=SPACE) as again:
        assert joined.ask().rho != again.ask().rho


def test_kernels_are_compiled_before_the_store_is_locked(tmp_path, monkeypatch):
    doings = []
    make, turn = StudySettings.make, SQLiteStore.turn
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "a", space=SPACE, seed=0) as study:
        monkeypatch.setattr(StudySettings, "make", lambda self: doings.append("compile") or make(self))
        monkeypatch.setattr(
            SQLiteStore, "turn", lambda self, *args: doings.append("turn") or turn(self, *args)
        )
        study.tell(study.ask(), 0.5)
        assert doings == ["compile", "turn", "turn"]


def test_bad_names_and_unknown_studies_are_refused(tmp_path):
    url = f"sqlite:///{tmp_path}/x.db"
    sb.Study(url, "b", space=SPACE).close()
    with pytest.raises(UnknownStudyError, match="no study 'a' in"):
        sb.Study(url, "a")
    for name in ("", "x" * 201, "a\nb", 3):
        with pytest.raises((ValueError, TypeError), match="the name of a study must be"):
            sb.Study(url, name, space=SPACE)
    with pytest.raises(ValueError, match="high"):
        sb.Study(url, "a", space=SPACE, high=-1)
    assert list(open_store(url).studies().values()) == ["b"]


def test_a_deleted_study_raises_unknown_study_error(study, storage):
    study.ask()
    store = open_store(storage)
    store.delete(study.id)
    with pytest.raises(UnknownStudyError, match="does not exist any longer"):
        study.ask()
    with sb.Study(storage, "knob", space=SPACE) as again:
        assert again.n_events == 1
    store.close()


# -- replays -----------------------------------------------------------------------------------------


def test_the_learner_at_an_event_needs_no_snapshot(quick, monkeypatch):
    monkeypatch.setattr(backend, "snapshot_stride", lambda pieces: 64)
    moments = {}
    for seed in range(10):
        play(quick, 8, seed)
        moments[quick.n_events] = bits(quick.learner)
    store = open_store(quick.storage)
    assert store.last_snapshot(quick.id, "replica") is not None
    for _ in range(2):
        assert {event: bits(quick.at(event)) for event in moments} == moments
        store._run("DELETE FROM snapshots")
    store.close()
    assert quick.at(event=1).n_told == 0
    for event in (0, quick.n_events + 1):
        with pytest.raises(ValueError, match="event must be in 1 to"):
            quick.at(event)


def test_a_restored_backup_is_noticed(quick):
    play(quick, 20, 0)
    kept = quick.n_events
    before = bits(quick.learner)
    play(quick, 20, 1)
    store = open_store(quick.storage)
    store._run("DELETE FROM events WHERE event > ?", kept)
    assert bits(quick.learner) == before
    store._run("DELETE FROM events WHERE event > ?", kept - 5)
    quick.ask()
    assert quick.n_events == kept - 4
    store.close()


def test_replay_into_another_learner(quick):
    play(quick, 100, 0)
    same = quick.replay(sb.Exp3Set(SPACE, seed=7))
    assert same.density() == quick.density()
    other = quick.replay(sb.Exp3Set(SPACE, seed=0, rate=0.01))
    assert other.n_told == quick.learner.n_told
    assert other.density() != quick.density()


def test_a_failed_commit_changes_nothing(quick, monkeypatch):
    trial = quick.ask()
    before = bits(quick.learner)

    def fails(self, line):
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("semibandit.studies.log.stores.Turn.append", fails)
        with pytest.raises(OSError, match="disk is full"):
            quick.tell(trial, seen_around(trial.rho, random.Random(0)))
    assert bits(quick.learner) == before
    assert quick.tell(trial, None)


def test_a_refused_operation_leaves_the_others_of_its_transaction(quick):
    trial = quick.ask()
    first, error, second = quick.do_all([Ask("w"), Tell(trial.id, seen=1e200), Ask("w")])
    assert (first.id, second.id) == (1, 2)
    assert isinstance(error, ValueError)
    with sb.Study(quick.storage, "knob") as other:
        assert bits(other.learner) == bits(quick.learner)


# -- the history -------------------------------------------------------------------------------------


def test_history_has_losses_widths_and_info(quick):
    for i in range(5):
        trial = quick.ask(info={"instance": f"{i}.txt"})
        seen = sb.PiecewiseConstant([0, trial.rho / 2, 1], [math.nan, 0.5 - 0.1 * i])
        quick.tell(trial, seen, info={"default_loss": 0.6})
    trial = quick.ask()
    quick.tell(trial, sb.PiecewiseConstant([0, trial.rho, 1], [0.25, math.nan]))  # closed on the right
    rounds = quick.history()
    assert [record.loss for record in rounds] == [*(0.5 - 0.1 * i for i in range(5)), 0.25]
    assert rounds[0].width == pytest.approx(1 - rounds[0].rho / 2)
    assert rounds[2].info == {"instance": "2.txt", "default_loss": 0.6}
    assert rounds[0].worker == quick.worker
    assert [record.trial for record in quick.history(since=rounds[3].event)] == [3, 4, 5]
    counts = quick.summary().counts
    assert (counts.told, counts.n_defaults, counts.defaults) == (6, 5, pytest.approx(3.0))


@pytest.mark.parametrize("other", [sb.Interval(-1, 2), sb.Interval(0.2, 0.6), sb.Interval(0.5, 3)])
def test_a_study_on_another_interval_begins_with_what_was_learned(quick, other):
    play(quick, 150, 0)
    prior = quick.prior_for(other, trust=0.75)
    assert prior.values.min() > 0
    assert prior.domain == ((other.lo, other.hi),)
    lo, hi = max(other.lo, 0.0), min(other.hi, 1.0)
    edges = np.linspace(lo, hi, 9)
    ours, given = quick.density().between(edges), prior.between(edges)
    uniform = 0.25 * np.diff(edges) / (other.hi - other.lo)
    cell = (other.hi - other.lo) / 256 * quick.density().values.max()
    assert np.allclose(given - uniform, 0.75 * ours / ours.sum(), atol=2 * cell / ours.sum())
    with sb.Study(quick.storage, "moved", space=other, seed=0, prior=prior) as moved:
        assert np.allclose(moved.density().between(edges), given, atol=0.02)
        play_on = moved.ask()
        assert other.lo <= play_on.rho <= other.hi


def test_a_prior_needs_a_space_of_the_same_kind(quick):
    with pytest.raises(ValueError, match="must have the knobs"):
        quick.prior_for(sb.Knobs(a=sb.Real(0, 1), b=sb.Real(0, 1)))
    with pytest.raises(TypeError, match="must be an Interval or Knobs"):
        quick.prior_for(sb.Strips(3, sb.Interval(0, 1)))
    disjoint = quick.prior_for(sb.Interval(5, 6))
    assert np.allclose(disjoint.values, 1.0)


def test_a_study_on_other_knobs_begins_with_what_was_learned(tmp_path):
    storage = f"sqlite:///{tmp_path}/knobs.db"
    space = sb.Knobs(depth=sb.Integer(1, 12), mode=sb.Choice("a", "b"), along="depth")
    wider = sb.Knobs(depth=sb.Integer(-3, 20), mode=sb.Choice("a", "b", "c"), along="depth")
    narrower = sb.Knobs(depth=sb.Integer(4, 8), mode=sb.Choice("b"), along="depth")
    with sb.Study(storage, "old", space=space, seed=0) as study:
        for _ in range(300):
            trial = study.ask()
            study.tell(trial, abs(trial.values["depth"] - 7) / 12 + 0.3 * (trial.values["mode"] == "a"))
        old = study.density()
        for new in (wider, narrower):
            prior = study.prior_for(new, trust=0.8)
            assert prior.integral() == pytest.approx(1.0)
            assert (prior.edges[0], prior.edges[-1]) == new.line.ends
            inside, ours = [], []
            for depth in range(4, 9):
                x, y = (s.place(depth=depth, mode="b") for s in (new, study.learner.space))
                inside.append(prior.between(np.array([x, x + 1.0]))[0])
                ours.append(old.between(np.array([y, y + 1.0]))[0])
            # The same proportions as before, apart from the uniform share.
            rest = np.array(inside) - 0.2 / new.line.extent
            assert np.allclose(rest / rest.sum(), np.array(ours) / sum(ours))
            with sb.Study(storage, f"new {new.line.n_rows}", space=new, seed=0, prior=prior) as moved:
                assert moved.ask().values["mode"] in "abc"
        unknown = study.prior_for(wider, trust=0.8)
        assert unknown(wider.place(depth=20, mode="b")) == pytest.approx(0.2 / wider.line.extent)
        assert unknown(wider.place(depth=5, mode="c")) == pytest.approx(0.2 / wider.line.extent)


def test_a_lost_trial_is_refused_after_a_backup_was_restored(quick, tmp_path):
    path = quick.storage.removeprefix("sqlite:///")
    copy = sqlite3.connect(tmp_path / "backup.db")
    play(quick, 5, 0)
    with closing(sqlite3.connect(path)) as ours:
        ours.backup(copy)
    play(quick, 1, 1)
    lost = quick.ask()
    with closing(sqlite3.connect(path)) as ours:
        copy.backup(ours)
    copy.close()
    with pytest.raises(ValueError, match=f"trial {lost.id} is unknown"):
        quick.tell(lost, 0.5)
    with sb.Study(quick.storage, "knob") as other:
        while (taken := other.ask(values={"rho": 0.125})).id < lost.id:
            pass
        with pytest.raises(ValueError, match="restored from a backup"):
            quick.tell(lost, 0.5)
        assert other.pending[-1].trial == taken.id == lost.id
        assert other.tell(taken, 0.25)


# -- threads, forks, pickles -------------------------------------------------------------------------


def test_threads_share_a_study(quick):
    threads = [threading.Thread(target=play, args=(quick, 30, seed)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert quick.learner.n_asked == 120
    assert quick.pending == []
    with sb.Study(quick.storage, "knob") as other:
        assert bits(other.learner) == bits(quick.learner)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_parent_and_child_share_a_study_after_a_fork(study):
    play(study, 10, 0)
    child = os.fork()
    if child == 0:
        try:
            play(study, 10, 1)
            os._exit(0)
        except BaseException:
            os._exit(1)
    play(study, 10, 2)
    assert os.waitpid(child, 0)[1] == 0
    play(study, 10, 3)
    assert study.learner.n_asked == 40
    assert bits(study.at(study.n_events)) == bits(study.learner)


def test_a_pickled_study_opens_again(quick):
    play(quick, 10, 0)
    copy = pickle.loads(pickle.dumps(quick))
    assert bits(copy.learner) == bits(quick.learner)
    assert repr(copy) == f"Study({quick.storage!r}, 'knob')"


def play_hard_instances(study, rounds, seed=0):
    """Play with `explore`, and predict the hardness of the instances."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        hardness = rng.random()
        f = sb.PiecewiseConstant([0, 0.3, 1], hardness + rng.random(2) * [0.2, 0.4])
        trial = study.ask(explore=0.3)
        study.tell(trial, f.piece(trial.rho), predicted=hardness if rng.random() < 0.5 else f)


def test_predictions_and_explore_are_logged_and_replayed(tmp_path):
    storage = f"sqlite:///{tmp_path}/x.db"
    space = sb.Interval(0, 1)
    with sb.Study(storage, "knob", space=space, seed=0) as study:
        play_hard_instances(study, 40)
        learner = study.learner
    assert (learner.n_mixed, learner.n_late, learner._forecast.rounds) == (40, 0, 40)
    with sb.Study(storage, "knob") as again:  # replays the log
        assert bits(again.learner) == bits(learner)
        lines = [line for _, line in again.events()]
        assert sum('"explore":0.3' in line for line in lines) == 40
        assert sum('"predicted":' in line for line in lines) == 40
        other = again.replay(sb.Exp3Set(space, seed=0))
        assert other._forecast.rounds == 40
        with pytest.raises(ValueError, match="explore must be above 0"):
            again.ask(explore=0.0)
        with pytest.raises(ValueError, match="cannot be combined with probes"):
            again.ask(explore=0.5, probes=2)
        trial = again.ask()
        with pytest.raises(TypeError, match="predicted must be a number or a function"):
            again.tell(trial, 0.5, predicted=[0.5])
        with pytest.raises(ValueError, match="predicted must be known on the whole space"):
            again.tell(trial, 0.5, predicted=sb.PiecewiseConstant([0, 0.5], [0.1]))
        assert again.tell(trial, 0.5, predicted=0.4)


def test_logs_without_the_newer_fields_are_read():
    asked = events.decode('{"event":"asked","at":1.0,"trial":0,"position":0.5,"rho":0.5,"worker":"w"}')
    told = events.decode('{"event":"told","at":1.0,"trial":0,"seen":0.5,"loss":0.5,"probability":1.0}')
    assert (asked.explore, told.predicted) == (1.0, None)
