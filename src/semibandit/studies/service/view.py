"""The data of a study's page: at most 200 columns, whatever the length of the log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from semibandit.learners import Learner
from semibandit.studies.api import StudyInfo
from semibandit.studies.log.history import StudyRound
from semibandit.studies.log.replica import Lease
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.study import Study

__all__ = ["Column", "StudyView", "Timeline", "thinned"]

_MAX_COLUMNS = 200
_RECENT = 200  # rounds that are shown one by one
_LARGE = 100_000  # pieces of a learner whose summary takes long
_REST = 20.0  # a new summary is made after this many times the duration of the last one


class Column(msgspec.Struct, frozen=True):
    """The study after an event, with means over the rounds since the previous column and over all rounds."""

    event: int
    at: float
    told: int
    rho: int | float
    lo: float
    hi: float
    place: float
    masses: list[float]
    moving: float | None
    mean: float | None
    default: float | None
    width: float | None
    alpha: float | list[Any] | None = None


class StudyView(StudyInfo, frozen=True, kw_only=True):
    """All data of a study's page."""

    now: float
    line: tuple[float, float]
    alphas: list[Any]
    names: list[str]
    guarantee: str
    certificate: str | None
    forgotten: int
    failures: dict[str, int]
    leases: list[Lease]
    columns: list[Column]
    recent: list[StudyRound]


class Timeline:
    """History of a study for its page.

    Parameters
    ----------
    reader
        Opened for reading only, so that workers do not wait for the page.
    live
        The same study, which the service writes to.
    """

    def __init__(self, reader: Study, live: Study) -> None:
        self.reader, self._live = reader, live
        self._saved: list[StudySummary] = []
        self._newest: StudySummary | None = None
        self._made, self._took = 0.0, 0.0

    def info(self) -> StudyInfo:
        """Return the state of the study."""
        return StudyInfo(**self._info(self.current(), self._recent()))

    def view(self) -> StudyView:
        """Return all data of the page."""
        newest, recent, learner = self.current(), self._recent(), self._live.learner
        counts, leases = newest.counts, self._live.pending
        return StudyView(
            **self._info(newest, recent),
            now=time.time(),
            line=newest.line,
            alphas=[alpha for alpha in learner.space.alphas if alpha is not None],
            names=list(learner.space.names),
            guarantee=learner.guarantee,
            certificate=certificate_text(learner),
            forgotten=learner.n_asked - counts.told - counts.failed - len(leases),
            failures=counts.failures,
            leases=leases[:_RECENT],
            columns=self.columns(newest),
            recent=recent,
        )

    def _info(self, newest: StudySummary, recent: Sequence[StudyRound]) -> dict[str, Any]:
        live, counts = self._live, newest.counts
        return {
            "id": live.id,
            "name": live.name,
            "events": newest.event,
            "told": counts.told,
            "failed": counts.failed,
            "pending": len(live.pending),
            "per_minute": _per_minute(recent, time.time()),
            "rho": newest.rho,
            "interval": newest.interval,
            "began": counts.began,
            "at": counts.at,
            "settings": msgspec.to_builtins(live.settings),
            "alpha": newest.alpha,
            "mean_loss": _mean(counts.loss, counts.n_losses),
            "note": counts.note,
        }

    def current(self) -> StudySummary:
        """Return the newest summary. For large learners it may be some seconds old."""
        n_events = self._live.n_events
        if self._newest is None and self._live.learner.n_pieces > _LARGE:
            self._newest = next(iter(self.reader.summaries()[-1:]), None)  # the page opens at once
            if self._newest is not None:
                return self._newest
        due = time.monotonic() - self._made > _REST * self._took
        if self._newest is None or (due and self._newest.event != n_events):
            first, start = self._newest is None, time.monotonic()
            self._newest = self._live.summary()
            self._made = time.monotonic()
            # The first one may include compilation.
            self._took = 0.0 if first else self._made - start
        return self._newest

    def columns(self, newest: StudySummary) -> list[Column]:
        """Return at most 200 columns, the newest last."""
        since = self._saved[-1].event + 1 if self._saved else 1
        self._saved += self.reader.summaries(since)
        shown = thinned([s for s in self._saved if s.event < newest.event], _MAX_COLUMNS - 1)
        return [
            _column(after, before) for before, after in zip([None, *shown], [*shown, newest], strict=True)
        ]

    def moment(self, event: int) -> Column:
        """Return the study as it was after an event."""
        return _column(self.reader.summary(event), None)

    def _recent(self) -> list[StudyRound]:
        return self.reader.history(since=max(1, self._live.n_events - 3 * _RECENT))[-_RECENT:]


def thinned(items: list[Any], most: int) -> list[Any]:
    """Return at most `most` of the items, evenly spread, the last one included."""
    if len(items) <= most:
        return items
    return [items[(i + 1) * len(items) // most - 1] for i in range(most)]


def certificate_text(learner: Learner) -> str | None:
    """Return the certificate in words; None if the learner gives none."""
    try:
        given = learner.certificate()
    except ValueError:
        return None
    return (
        f"After {learner.n_told} rounds the expected regret is at most {given.value:.4g} against the best "
        f"hundredth of the space: {given.learning:.4g} for learning, {given.clips:.4g} for clipped "
        f"estimates; it is never more than the sum of the losses."
    )


def _per_minute(recent: Sequence[StudyRound], now: float) -> float:
    """Return the rounds per minute over the last minute, or since the first of 200 recent rounds."""
    start = now - 60.0
    if len(recent) == _RECENT:
        start = max(start, recent[0].at)
    return 60.0 * sum(record.at >= start for record in recent) / max(now - start, 1.0)


def _column(summary: StudySummary, before: StudySummary | None) -> Column:
    counts = summary.counts
    loss, n_losses, widths, n_widths = 0.0, 0, 0.0, 0
    if before is not None:
        earlier = before.counts
        loss, n_losses = earlier.loss, earlier.n_losses
        widths, n_widths = earlier.widths, earlier.n_widths
    return Column(
        event=summary.event,
        at=counts.at,
        told=counts.told,
        rho=summary.rho,
        lo=summary.interval[0],
        hi=summary.interval[1],
        place=summary.place,
        masses=[round(mass, 6) for mass in summary.masses()],
        moving=_mean(counts.loss - loss, counts.n_losses - n_losses),
        mean=_mean(counts.loss, counts.n_losses),
        default=_mean(counts.defaults, counts.n_defaults),
        width=_mean(counts.widths - widths, counts.n_widths - n_widths),
        alpha=summary.alpha,
    )


def _mean(total: float, n: int) -> float | None:
    return total / n if n > 0 else None
