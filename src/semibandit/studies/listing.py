"""The list of the studies of a store, from one query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from semibandit.spaces import values_of
from semibandit.studies.log import events
from semibandit.studies.log.stores import Store, StudyRow
from semibandit.studies.log.summary import StudySummary

__all__ = ["StudyEntry", "list_studies"]


class StudyEntry(msgspec.Struct, frozen=True):
    """A study in a list; `values` are those to deploy, None before the first round.

    Rounds and values may be as old as the last saved summary: some 32 events, or 3 % of a long log.
    """

    id: int
    name: str
    archived: bool
    event: int
    at: float
    told: int
    failed: int
    mean: float | None
    values: dict[str, Any] | None


def list_studies(
    store: Store,
    summary_of: Callable[[int, bool], StudySummary | None],
    search: str = "",
    after: int = 0,
    limit: int = 100,
    archived: bool = False,
) -> list[StudyEntry]:
    """Return the studies whose names contain a text, by number, from the one after `after` on.

    `summary_of` gives the summary of a study that is open, and None for others. Its second argument tells
    whether the saved summary is older than the last event, or there is none.
    """
    return [_entry(row, summary_of) for row in store.page(search, after, limit, archived)]


def _entry(row: StudyRow, summary_of: Callable[[int, bool], StudySummary | None]) -> StudyEntry:
    saved = None
    if row.summary is not None:
        saved = msgspec.msgpack.decode(row.summary, type=StudySummary)
    summary = summary_of(row.id, saved is None or saved.event < row.event) or saved
    if summary is None:
        at = events.decode(row.line).at
        return StudyEntry(row.id, row.name, row.archived, row.event, at, 0, 0, None, None)
    counts = summary.counts
    alpha = tuple(summary.alpha) if isinstance(summary.alpha, list) else summary.alpha
    return StudyEntry(
        id=row.id,
        name=row.name,
        archived=row.archived,
        event=max(row.event, summary.event),
        at=max(counts.at, events.decode(row.line).at),
        told=counts.told,
        failed=counts.failed,
        mean=counts.loss / counts.n_losses if counts.n_losses else None,
        values=values_of(tuple(summary.names), summary.rho, alpha) if counts.told else None,
    )
