"""Rounds of a study as a table."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.studies.log.finished import StudyRound, StudyRounds

KNOBS = sb.Knobs(loss=sb.Real(0.001, 1, log=True), depth=sb.Integer(1, 12), mode=sb.Choice("a", "b"))


@pytest.fixture
def study(tmp_path):
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=KNOBS, seed=0) as study:
        for i in range(20):
            trial = study.ask(info={"instance": f"i{i}", "mixed": i if i % 2 else "text", "size": i / 2})
            study.tell(trial, None if i == 7 else 0.1 * (i % 5), failure="broken" if i == 7 else None)
        yield study


def test_each_knob_has_a_column(study):
    table = study.history().columns()
    played = [study.learner.space.names, len(table["trial"])]
    assert played == [("loss", "depth", "mode"), 20]
    assert {"knob_loss", "loss", "depth", "mode", "instance", "mixed", "size"} <= set(table)
    assert table["failure"][7] == "broken"
    assert table["loss"][7] is None
    assert table["mixed"][:2] == ["text", "1"]
    assert all(len(column) == 20 for column in table.values())


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_tables_hold_the_rounds(study, kind):
    pytest.importorskip(kind)
    rounds = study.history()
    if kind == "pyarrow":
        import pyarrow

        table = pyarrow.table(rounds).to_pandas()
    else:
        table = getattr(rounds, f"to_{kind}")()
    assert list(table["depth"]) == [each.alpha[0] for each in rounds]
    assert list(table["knob_loss"]) == [each.rho for each in rounds]
    losses = np.array(table["loss"], dtype=float)
    assert np.isnan(losses[7])
    assert losses[8] == rounds[8].loss


def test_a_study_without_rounds_has_its_columns():
    assert StudyRounds([]).columns().keys() == {*StudyRound.__struct_fields__} - {"alpha", "info"}
    assert {"depth", "mode"} <= StudyRounds([], ("depth", "mode")).columns().keys()


def test_a_table_keeps_strips_and_probes(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    space = sb.Strips(3, sb.Interval(0, 1))
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=space, seed=0) as study:
        trial = study.ask(probes=2)
        study.tell(trial, [0.5, 0.25, 0.75])
        study.tell(study.ask(values={"rho": 0.5, "alpha": space.alphas[0]}), 0.5)
        table = pyarrow.table(study.history()).to_pydict()
        assert table["rho"] == [trial.rho, 0.5]
        assert table["alpha"][0] == trial.alpha
