"""The data of the page: columns add up to the rounds."""

import math
from itertools import pairwise

import pytest

import semibandit as sb
from semibandit.studies.service import view
from semibandit.studies.service.view import Timeline, thinned
from study_workers import SPACE, play


@pytest.fixture
def study(tmp_path):
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "knob", space=SPACE, seed=7) as study:
        yield study


def test_columns_add_up_to_all_rounds(study):
    play(study, 150, 0)
    with sb.Study(study.storage, "knob") as looker:
        shown = Timeline(looker, study).view()
    rounds = [record for record in study.history() if record.loss is not None]
    last = shown.columns[-1]
    assert (shown.told, last.told) == (len(rounds), len(rounds))
    assert shown.mean_loss == last.mean == pytest.approx(math.fsum(r.loss for r in rounds) / len(rounds))
    assert last.rho == shown.rho == study.recommend().rho
    assert [c.event for c in shown.columns] == sorted({c.event for c in shown.columns})
    told = 0
    for column in shown.columns:
        assert sum(column.masses) == pytest.approx(1.0, abs=1e-4)
        part = rounds[told : column.told]
        if part:
            assert column.moving == pytest.approx(math.fsum(r.loss for r in part) / len(part))
            assert column.width == pytest.approx(math.fsum(r.width for r in part) / len(part))
        told = column.told
    assert len(shown.columns) > 5
    moment = Timeline(study, study).moment(shown.columns[3].event)
    assert moment.masses == shown.columns[3].masses


def test_large_learners_are_summarized_less_often(study, monkeypatch):
    play(study, 60, 0)
    monkeypatch.setattr(view, "_LARGE", 10)
    shown = Timeline(study, study)
    first = shown.current()
    assert first.event < study.n_events  # the saved summary
    assert shown.current().event == study.n_events
    shown._took = 1e9
    play(study, 5, 1)
    assert shown.current().event < study.n_events
    shown._took = 0.0
    assert shown.current().event == study.n_events


def test_thinned_items_are_evenly_spread_and_include_the_last():
    assert thinned([1, 2, 3], 5) == [1, 2, 3]
    kept = thinned(list(range(1000)), 10)
    assert (len(kept), kept[-1]) == (10, 999)
    assert {b - a for a, b in pairwise(kept)} == {100}
