"""Finished rounds of a study, read from its log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from semibandit.studies.log.events import Asked, Event, Failed, Forgotten, Info, Told

__all__ = ["AskedEarlierError", "StudyRound", "rounds"]


class AskedEarlierError(LookupError):
    """The trial of an event was asked before the events that were read."""


class StudyRound(msgspec.Struct, frozen=True, omit_defaults=True):
    """A finished trial: told, failed or forgotten. In the last two cases `failure` is the reason.

    `event` is the number of the event that finished it, `seconds` the time since it was asked, `width` the
    width of the observed interval around the parameter (None for a single loss).
    """

    event: int
    trial: int
    at: float
    seconds: float
    worker: str
    rho: int | float
    alpha: float | list[Any] | None = None
    loss: float | None = None
    width: float | None = None
    probability: float | list[float] | None = None
    failure: str | None = None
    forgotten: bool = False
    info: Info | None = None
    own: bool = False  # the parameter was given by the user, not drawn


def rounds(numbered: Iterable[tuple[int, Event]], since: int) -> Iterator[StudyRound]:
    """Yield the rounds that end at event `since` or later.

    Raises
    ------
    AskedEarlierError
        If a trial was asked before the first of these events.
    """
    asked: dict[int, Asked] = {}
    for number, event in numbered:
        if isinstance(event, Asked):
            asked[event.trial] = event
        elif isinstance(event, Told | Failed | Forgotten):
            trial = asked.pop(event.trial, None)
            if number < since:
                continue
            if trial is None:
                raise AskedEarlierError(f"event {number} ends trial {event.trial}, which was not asked")
            yield _round(number, trial, event)


def _round(number: int, trial: Asked, event: Told | Failed | Forgotten) -> StudyRound:
    return StudyRound(
        event=number,
        trial=trial.trial,
        at=event.at,
        seconds=event.at - trial.at,
        worker=trial.worker,
        rho=trial.rho,
        alpha=trial.alpha,
        loss=getattr(event, "loss", None),
        width=getattr(event, "width", None),
        probability=getattr(event, "probability", None),
        failure=getattr(event, "failure", None),
        forgotten=isinstance(event, Forgotten),
        own=trial.own,
        info={**(trial.info or {}), **(getattr(event, "info", None) or {})} or None,
    )
