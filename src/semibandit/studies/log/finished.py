"""Finished rounds of a study, read from its log."""

from __future__ import annotations

from collections import UserList
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from semibandit._extras import needed
from semibandit.spaces import values_of
from semibandit.studies.log.events import Asked, Event, Failed, Folded, Forgotten, Info, Told
from semibandit.studies.log.replica import pending_in

__all__ = ["AskedEarlierError", "StudyRound", "StudyRounds", "rounds"]


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


class StudyRounds(UserList[StudyRound]):
    """Rounds of a study: a list, and a table with a column for each knob.

    pandas, polars, DuckDB and others that read Arrow streams accept it directly.

    Parameters
    ----------
    rounds, names
        The rounds, and the names of the knobs (none: the parameters are rho and alpha).
    """

    def __init__(self, rounds: Iterable[StudyRound], names: tuple[str, ...] = ()) -> None:
        super().__init__(rounds)
        self.names = names

    def __getitem__(self, index: Any) -> Any:
        found = self.data[index]
        return StudyRounds(found, self.names) if isinstance(index, slice) else found

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as lists. A knob or an entry of `info` whose name is taken gets a prefix."""
        fields = [field for field in StudyRound.__struct_fields__ if field not in ("rho", "alpha", "info")]
        table = {field: [getattr(each, field) for each in self] for field in fields}
        table["probability"] = [_played(each.probability) for each in self]
        values = [values_of(self.names, each.rho, each.alpha) for each in self]
        knobs = list(dict.fromkeys(name for each in values for name in each)) or list(self.names or ("rho",))
        entries = list(dict.fromkeys(name for each in self for name in each.info or ()))
        for prefix, names, rows in (
            ("knob_", knobs, values),
            ("info_", entries, [each.info or {} for each in self]),
        ):
            for name in names:
                table[prefix + name if name in table else name] = _uniform([row.get(name) for row in rows])
        return table

    def to_pandas(self) -> Any:
        """Return a pandas DataFrame with one row per round. Needs pandas."""
        with needed("to_pandas", "pandas"):
            import pandas
        return pandas.DataFrame(self.columns())

    def to_polars(self) -> Any:
        """Return a polars DataFrame with one row per round. Needs polars."""
        with needed("to_polars", "arrow"):
            import polars
        return polars.DataFrame(self.columns(), infer_schema_length=None)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return an Arrow stream. Needs pyarrow."""
        with needed("an Arrow stream", "arrow"):
            import pyarrow
        return pyarrow.table(self.columns()).__arrow_c_stream__(requested_schema)


def _played(probability: float | list[float] | None) -> float | None:
    """Return the probability of the played parameter."""
    if isinstance(probability, list):
        return probability[0] if probability else None
    return probability


def _uniform(values: list[Any]) -> list[Any]:
    """Return values of one type: texts if there are texts and others, floats if there are floats."""
    kinds = {type(value) for value in values} - {type(None)}
    if kinds <= {int, float} and len(kinds) > 1:
        return [None if value is None else float(value) for value in values]
    return values if len(kinds) < 2 else [None if value is None else str(value) for value in values]


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
        elif isinstance(event, Folded):
            asked = pending_in(event.replica)
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
