"""Studies on knobs: named values, boxes, splits of rows; replayed to the bit."""

import msgspec
import numpy as np
import pytest

import semibandit as sb
from semibandit.studies import events

P = sb.PiecewiseConstant
KNOBS = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("fast", "good"))


def loss_of(alpha, depth, mode):
    return min(0.1 * abs(np.log10(alpha) + 2.0) + 0.03 * abs(depth - 9) + 0.3 * (mode == "fast"), 1.0)


@pytest.fixture
def study(tmp_path):
    storage = f"sqlite:///{tmp_path}/studies.db"
    with sb.Study(storage, "solver", space=KNOBS, seed=0, rate=1.0) as study:
        yield study


def test_a_study_of_knobs_is_the_replay_of_its_log(study):
    for i in range(200):
        trial = study.ask(probes=i % 2)
        assert set(trial.values) == {"alpha", "depth", "mode"}
        study.tell(trial, [loss_of(**values) for values in trial.looks])
    trial = study.ask()
    seen = sb.Boxes([(P([1e-4, 1], [loss_of(**trial.values)]), {"depth": trial.values["depth"]})])
    assert study.tell(trial, seen)
    best = study.recommend()
    assert best.values["mode"] == "good"
    assert study.at(event=study.n_events).density() == study.learner.density()
    with sb.Study(study.storage, "solver", space=KNOBS, seed=0, rate=1.0) as again:
        assert again.learner.density() == study.learner.density()
        assert again.recommend().values == best.values
        assert again.ask().values.keys() == trial.values.keys()
    last = study.history()[-1]
    assert (last.rho, tuple(last.alpha)) == (trial.rho, trial.alpha)
    portrait = study.portrait()
    assert sum(portrait.masses()) == pytest.approx(1.0)


def test_trials_and_boxes_go_through_json():
    trial = sb.Exp3Set(sb.Knobs(n=sb.Integer(1, 9), mode=sb.Choice("a", None)), seed=0).ask(probes=1)
    again = msgspec.json.decode(msgspec.json.encode(trial), type=sb.Trial)
    assert again == trial
    assert type(again.values["n"]) is int
    boxes = sb.Boxes([(P([1, 3], [0.5]), {"mode": [None]})])
    line = events.encode(events.Told(1.0, 0, events.pack([boxes, 0.5]), 0.5, 0.25))
    told = events.decode(line)
    assert events.unpack(told.seen) == [boxes, 0.5]


def test_another_space_is_another_study(study):
    other = sb.Knobs(**KNOBS.knobs, along="depth")
    with pytest.raises(ValueError, match="space"):
        sb.Study(study.storage, "solver", space=other, seed=0, rate=1.0)
