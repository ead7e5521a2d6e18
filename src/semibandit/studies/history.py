"""The rounds of a study, as its log tells them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from semibandit.studies import events
from semibandit.studies.events import Asked, Failed, Forgotten, Info, Told

__all__ = ["Round", "rounds"]


class Round(msgspec.Struct, frozen=True, omit_defaults=True):
    """One trial that is over: told, failed, or forgotten (then `loss` is None and `failure` says why).

    `event` is the number of the event that ended it. `seconds` passed since it was asked. [lo, hi) around
    the parameter has the width `width`; a single loss has none.
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


def rounds(rows: Iterable[tuple[int, str]], since: int) -> Iterator[Round]:
    """The rounds that end at event `since` or later; KeyError where a trial was asked before these events."""
    asked: dict[int, Asked] = {}
    for number, line in rows:
        event = events.decode(line)
        if isinstance(event, Asked):
            asked[event.trial] = event
        elif isinstance(event, Told | Failed | Forgotten):
            trial = asked.pop(event.trial) if number >= since else asked.pop(event.trial, None)
            if trial is not None and number >= since:
                yield _round(number, trial, event)


def _round(number: int, trial: Asked, event: Told | Failed | Forgotten) -> Round:
    told = event if isinstance(event, Told) else None
    return Round(
        event=number,
        trial=trial.trial,
        at=event.at,
        seconds=event.at - trial.at,
        worker=trial.worker,
        rho=trial.rho,
        alpha=trial.alpha,
        loss=told.loss if told else None,
        width=told.width if told else None,
        probability=told.probability if told else None,
        failure=_failure(event),
        forgotten=isinstance(event, Forgotten),
        info=_together(trial, event),
    )


def _failure(event: Told | Failed | Forgotten) -> str | None:
    if isinstance(event, Forgotten):
        return "the lease ran out" if event.reason == "lease" else event.reason
    return event.failure if isinstance(event, Failed) else None


def _together(trial: Asked, event: Told | Failed | Forgotten) -> Info | None:
    later = None if isinstance(event, Forgotten) else event.info
    return {**(trial.info or {}), **(later or {})} or None
