"""What a page is given: sums that add up, however the log is thinned."""

import math
from itertools import pairwise

import pytest

import semibandit as sb
from semibandit.studies import timeline
from semibandit.studies.timeline import Timeline, thinned, view
from study_workers import SPACE, play


@pytest.fixture
def study(tmp_path):
    with sb.Study(f"sqlite:///{tmp_path}/studies.db", "knob", space=SPACE, seed=7) as study:
        yield study


def test_columns_add_up(study):
    play(study, 150, 0)
    with sb.Study(study.storage, "knob") as looker:
        shown = view(Timeline(looker, study))
    rounds = [record for record in study.history() if record.loss is not None]
    last = shown.columns[-1]
    assert (shown.told, last.told) == (len(rounds), len(rounds))
    assert shown.mean == last.mean == pytest.approx(math.fsum(r.loss for r in rounds) / len(rounds))
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


def test_large_learners_are_not_drawn_all_the_time(study, monkeypatch):
    play(study, 60, 0)
    monkeypatch.setattr(timeline, "_LARGE", 10)
    shown = Timeline(study, study)
    first = shown.current()
    assert first.event < study.n_events  # what was kept, at once
    assert shown.current().event == study.n_events  # then as it is
    shown._took = 1e9
    play(study, 5, 1)
    assert shown.current().event < study.n_events  # for a while
    shown._took = 0.0
    assert shown.current().event == study.n_events


def test_thinning_keeps_the_last():
    assert thinned([1, 2, 3], 5) == [1, 2, 3]
    kept = thinned(list(range(1000)), 10)
    assert (len(kept), kept[-1]) == (10, 999)
    assert {b - a for a, b in pairwise(kept)} == {100}


def test_a_journal_has_a_page_too(tmp_path):
    with sb.Study(f"journal:///{tmp_path}/knob.json", "any", space=SPACE, seed=0, horizon=9) as study:
        for _ in range(4):
            study.tell(study.ask(), sb.PiecewiseConstant.constant(0, 1, 0.5))
        shown = view(Timeline(study, study))
    assert (shown.told, len(shown.columns)) == (4, 1)
