"""State of a study in an answer of the service."""

import pytest

import semibandit as sb
from study_workers import SPACE, play

pytest.importorskip("starlette")


def test_info_counts_rounds_and_gives_the_certificate(tmp_path):
    from semibandit.studies.service.info import study_info

    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=SPACE, seed=0) as study:
        play(study, 60, 0)
        study.forget(study.ask())
        study.ask(lease=60)
        info = study_info(study)
        assert (info.pending, info.forgotten, info.leases) == (1, 1, study.pending)
        assert info.summary == study.summary()
        assert info.per_minute == pytest.approx(61, abs=1)  # the forgotten one counts
        assert f"at most {study.certificate().value:.4g}" in info.certificate
        saved = study.summaries()
        assert [summary.event for summary in saved] == [32, 64, 96]
        assert study.summary(event=64) == saved[1]


def test_a_learner_without_a_certificate_gives_the_reason(tmp_path):
    from semibandit.studies.service.info import study_info

    with sb.Study(f"sqlite:///{tmp_path}/x.db", "knob", space=SPACE, seed=0, drift=0.01) as study:
        play(study, 10, 0)
        assert "no bound on the expected regret: drift moves" in study_info(study).certificate
    with sb.Study(f"sqlite:///{tmp_path}/x.db", "single", space=SPACE, seed=0) as study:
        study.tell(study.ask(), 0.5)
        assert "a single loss is taken for all of its cell" in study_info(study).certificate
