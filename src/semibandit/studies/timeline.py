"""A study as a page draws it: few enough points, however long the log is."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec

from semibandit.learners import Learner
from semibandit.studies.history import Round
from semibandit.studies.replica import Lease, Portrait
from semibandit.studies.study import Study

__all__ = ["Column", "Timeline", "View"]

_MOST_COLUMNS = 200
_RECENT = 200  # rounds that are shown one by one
_LARGE = 100_000  # pieces of a learner that takes its time to be drawn
_REST = 20.0  # a new portrait is drawn after so many times the time that the last one took


class Column(msgspec.Struct, frozen=True):
    """The study after an event; means of the rounds since the column before, and of all rounds."""

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


class View(msgspec.Struct, frozen=True):
    """All that a page shows."""

    id: int
    name: str
    events: int
    now: float
    began: float
    at: float
    line: tuple[float, float]
    alphas: list[Any]
    names: list[str]
    settings: dict[str, Any]
    note: str
    guarantee: str
    certificate: str | None
    told: int
    failed: int
    forgotten: int
    per_minute: float
    mean: float | None
    rho: int | float
    interval: tuple[float, float]
    alpha: float | list[Any] | None
    failures: dict[str, int]
    pending: int
    leases: list[Lease]
    columns: list[Column]
    recent: list[Round]


class Timeline:
    """What `study` was, read beside the study that is written to."""

    def __init__(self, study: Study, live: Study) -> None:
        self.study, self._live = study, live
        self._kept: list[Portrait] = []
        self._newest: Portrait | None = None
        self._drawn, self._took = 0.0, 0.0

    def current(self) -> Portrait:
        """The study as it is, give or take a moment: large learners are not drawn all the time."""
        n_events = self._live.n_events
        if self._newest is None and self._live.learner.n_pieces > _LARGE:
            self._newest = next(iter(self.study.portraits()[-1:]), None)  # so that a page opens at once
            if self._newest is not None:
                return self._newest
        due = time.monotonic() - self._drawn > _REST * self._took
        if self._newest is None or (due and self._newest.event != n_events):
            first, start = self._newest is None, time.monotonic()
            self._newest = self._live.portrait()
            self._drawn = time.monotonic()
            self._took = (
                0.0 if first else self._drawn - start
            )  # the first one may have waited for the compiler
        return self._newest

    def columns(self, newest: Portrait) -> list[Column]:
        """At most 200 columns, the newest last."""
        since = self._kept[-1].event + 1 if self._kept else 1
        self._kept += self.study.portraits(since)
        portraits = thinned([p for p in self._kept if p.event < newest.event], _MOST_COLUMNS - 1)
        columns = []
        before: Portrait | None = None
        for portrait in [*portraits, newest]:
            columns.append(_column(portrait, before))
            before = portrait
        return columns

    def moment(self, event: int) -> Column:
        """The study as it was after an event."""
        return _column(self.study.portrait(event), None)

    def recent(self, n_events: int) -> list[Round]:
        """The last rounds, one by one."""
        return self.study.history(since=max(1, n_events - 3 * _RECENT))[-_RECENT:]

    def per_minute(self, recent: Sequence[Round], now: float) -> float:
        """Rounds per minute, over the last minute or as far back as the recent rounds go."""
        start = max(now - 60.0, recent[0].at if recent else now)
        if len(recent) < _RECENT:
            start = now - 60.0
        rounds = sum(record.at >= start for record in recent)
        return 60.0 * rounds / max(now - start, 1.0)


def view(timeline: Timeline, columns: bool = True) -> View:
    """All that a page shows of a study; without the columns, what a list shows."""
    live = timeline._live
    now = time.time()
    leases = live.pending
    newest = timeline.current()
    tally = newest.tally
    learner = live.learner
    recent = timeline.recent(live.n_events)
    return View(
        id=live.id,
        name=live.name,
        events=newest.event,
        now=now,
        began=tally.began,
        at=tally.at,
        line=newest.line,
        alphas=[alpha for alpha in learner.space.alphas if alpha is not None],
        names=list(learner.space.names),
        settings=msgspec.to_builtins(live.settings),
        note=tally.note,
        guarantee=learner.guarantee,
        certificate=certificate_of(learner),
        told=tally.told,
        failed=tally.failed,
        forgotten=learner.n_asked - tally.told - tally.failed - len(leases),
        per_minute=timeline.per_minute(recent, now),
        mean=_mean(tally.loss, tally.n_losses),
        rho=newest.rho,
        interval=newest.interval,
        alpha=newest.alpha,
        failures=tally.failures,
        pending=len(leases),
        leases=leases[:_RECENT],
        columns=timeline.columns(newest) if columns else [],
        recent=recent if columns else [],
    )


def thinned(items: list[Any], most: int) -> list[Any]:
    """At most so many of them, evenly spread, the last one among them."""
    if len(items) <= most:
        return items
    return [items[(i + 1) * len(items) // most - 1] for i in range(most)]


def certificate_of(learner: Learner) -> str | None:
    """The certificate in words, where the learner gives one."""
    try:
        given = learner.certificate()
    except ValueError:
        return None
    return (
        f"After {learner.n_told} rounds the expected regret is at most {given.value:.4g}, against the best "
        f"hundredth of the space: {given.learning:.4g} for learning, {given.clips:.4g} for clips, and never "
        f"more than the losses paid."
    )


def _column(portrait: Portrait, before: Portrait | None) -> Column:
    tally = portrait.tally
    earlier = None if before is None else before.tally
    return Column(
        event=portrait.event,
        at=tally.at,
        told=tally.told,
        rho=portrait.rho,
        lo=portrait.interval[0],
        hi=portrait.interval[1],
        place=portrait.place,
        masses=[round(mass, 6) for mass in portrait.masses()],
        moving=_mean(
            tally.loss - (earlier.loss if earlier else 0.0),
            tally.n_losses - (earlier.n_losses if earlier else 0),
        ),
        mean=_mean(tally.loss, tally.n_losses),
        default=_mean(tally.defaults, tally.n_defaults),
        width=_mean(
            tally.widths - (earlier.widths if earlier else 0.0),
            tally.n_widths - (earlier.n_widths if earlier else 0),
        ),
        alpha=portrait.alpha,
    )


def _mean(total: float, n: int) -> float | None:
    return total / n if n > 0 else None
