"""State of a study, as the service answers it and the page shows it."""

from __future__ import annotations

import time
from collections.abc import Sequence

from semibandit.learners import Learner
from semibandit.studies.api import StudyInfo
from semibandit.studies.log.finished import StudyRound
from semibandit.studies.study import Study

__all__ = ["study_info"]

_RECENT = 200  # rounds from which the speed is measured
_MAX_LEASES = 200


def study_info(study: Study) -> StudyInfo:
    """Return the state of a study. O(P)."""
    summary, leases, learner, now = study.summary(), study.pending, study.learner, time.time()
    counts = summary.counts
    recent = study.history(since=max(1, summary.event - 3 * _RECENT))[-_RECENT:]
    return StudyInfo(
        id=study.id,
        name=study.name,
        now=now,
        settings=study.settings,
        summary=summary,
        pending=len(leases),
        forgotten=learner.n_asked - counts.told - counts.failed - len(leases),
        per_minute=_per_minute(recent, now),
        leases=leases[:_MAX_LEASES],
        names=list(learner.space.names),
        alphas=[alpha for alpha in learner.space.alphas if alpha is not None],
        certificate=_certificate(learner) if study.settings.kind.certified else learner.guarantee,
    )


def _certificate(learner: Learner) -> str:
    given = learner.certificate()
    if given.reason:
        return f"There is no bound on the expected regret: {given.reason}."
    return (
        f"After {learner.n_told} rounds the expected regret is at most {given.value:.4g} against the best "
        f"hundredth of the space: {given.learning:.4g} for learning, {given.clips:.4g} for clipped "
        f"estimates; it is never more than the sum of the losses."
    )


def _per_minute(recent: Sequence[StudyRound], now: float) -> float:
    """Return the rounds per minute over the last minute, or since the first of 200 recent rounds."""
    start, shortest = now - 60.0, 1.0
    if len(recent) == _RECENT:
        start, shortest = max(start, recent[0].at), 1e-3
    return 60.0 * sum(record.at >= start for record in recent) / max(now - start, shortest)
