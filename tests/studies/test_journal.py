"""The state file of `semibandit tune` is a study, read and written as before."""

import math

import pytest

import semibandit as sb
from semibandit.tuning import Command, Journal, Tuner
from study_workers import SPACE, bits

GRID = {"space": SPACE, "learner": "Exp3Grid", "seed": 0, "horizon": 30}


def file(tmp_path):
    return tmp_path / "knob.json"


def tune(path, instances, feedback="bandit"):
    with Tuner(Command("sh -c 'echo {rho} # {instance}'", compare="loss"), SPACE, path, feedback=feedback,
               tolerance=0.1 if feedback == "black-box" else None, horizon=30) as tuner:  # fmt: skip
        for _ in tuner.rounds(instances):
            pass
        return tuner.learner.density(), tuner.learner.ask().rho


@pytest.mark.parametrize("feedback", ["bandit", "black-box"])
def test_a_state_file_is_a_study(tmp_path, feedback):
    path = file(tmp_path)
    density, rho = tune(path, [f"{i}.txt" for i in range(8)], feedback)
    with sb.Study(f"journal:///{path}", "any") as study:
        assert study.density() == density
        assert [record.info["instance"] for record in study.history()] == [f"{i}.txt" for i in range(8)]
        assert study.history()[2].loss == study.history()[2].rho
        assert study.ask().rho == rho
        assert study.at(5).n_told == 2


def test_a_study_writes_a_state_file(tmp_path):
    path = file(tmp_path)
    with sb.Study(f"journal:///{path}", "any", **GRID) as study:
        for i in range(8):
            trial = study.ask(info={"instance": f"{i}.txt"})
            if i == 3:
                study.tell(trial, None, failure="timeout", info={"seconds": 2.5})
            else:
                study.tell(trial, trial.rho, info={"default_loss": 0.5, "runs": 2})
        before = bits(study.learner)
        density, rho = study.density(), study.ask().rho
    with Journal(path) as journal:
        assert [record.instance for record in journal.rounds] == [f"{i}.txt" for i in range(8)]
        assert (journal.rounds[3].failure, journal.rounds[3].seconds) == ("timeout", 2.5)
        assert (journal.rounds[4].default_loss, journal.rounds[4].runs) == (0.5, 2)
    with Tuner(Command("echo {rho} {instance}"), SPACE, path, horizon=30) as tuner:
        assert tuner.learner.density() == density
        assert tuner.learner.ask().rho == rho
    with sb.Study(f"journal:///{path}", "any", **GRID) as again:
        assert len(bits(again.learner)) == len(before)
        assert again.density() == density


def test_what_a_journal_cannot_keep(tmp_path):
    path = file(tmp_path)
    url = f"journal:///{path}"
    for bad, message in (
        ({"rate": 0.1}, "cannot keep rate"),
        ({"space": sb.Strips(2, SPACE), "n_arms": 4}, "a journal keeps an Interval"),
    ):
        with pytest.raises(ValueError, match=message):
            sb.Study(url, "any", **{**GRID, **bad})
        assert not path.exists()
    with pytest.raises(ValueError, match="needs a horizon"):
        sb.Study(url, "any", space=SPACE, seed=0)
    with sb.Study(url, "any", space=SPACE, seed=0, horizon=30) as study:
        trial = study.ask()
        with pytest.raises(ValueError, match="one round at a time"):
            study.ask()
        with pytest.raises(ValueError, match="one interval with a loss"):
            study.tell(trial, sb.PiecewiseConstant([0, trial.rho / 2, 1], [math.nan, 0.5]))
        with pytest.raises(ValueError, match="keeps no changes"):
            study.change(note="x")
        assert study.n_events == 2
        assert study.tell(trial, sb.PiecewiseConstant.constant(0, 1, 0.5))
        forgotten = study.ask(lease=0.001)
        assert study.forget(forgotten)
        again = study.ask()  # the file cannot tell that there was another
        assert again.position == forgotten.position
        study.tell(again, None)
        with pytest.raises(ValueError, match="in use by another process"):
            sb.Study(url, "any")
    with sb.Study(url, "any") as study:
        assert [record.failure for record in study.history()] == [None, "failed"]
