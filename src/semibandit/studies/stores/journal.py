"""The state file of `semibandit tune` as a store: one study, one process, one round at a time.

The file holds finished rounds. Each is read as two events, asked and told; what has no place in the file (a
pending trial, a renewed lease) lives as long as the process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from semibandit.studies import events
from semibandit.studies.events import Asked, Changed, Created, Failed, Forgotten, Function, Told
from semibandit.studies.settings import Settings, first_event
from semibandit.studies.stores import Entry
from semibandit.tuning.journal import VERSION, Journal, Round
from semibandit.tuning.journal import Settings as FileSettings

__all__ = ["JournalStore"]

_STUDY = 1
_OPTIONS = {"n_arms": None, "high": 1.0, "maximize": False}


class JournalTurn:
    """See `Turn`."""

    def __init__(self, store: JournalStore, since: int) -> None:
        self._store = store
        self.rows = store.read(_STUDY, since)
        self.now = time.time()
        self._before = len(store.lines), dict(store.asked)

    def append(self, line: str) -> None:
        self._store.append(line)

    def __enter__(self) -> JournalTurn:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            n_lines, self._store.asked = self._before
            del self._store.lines[n_lines:]


class JournalStore:
    """See `Store`."""

    keeps_leases = False

    def __init__(self, url: str, path: str) -> None:
        self.url, self.path = url, Path(path)
        self._journal = Journal(path)
        self.lines: list[str] = []
        self.asked: dict[int, Asked] = {}  # the pending trial, if any
        self._asked_at = 0  # the lines before it
        if self._journal.settings is not None:
            first = _read_settings(self._journal.settings)
            rounds = self._journal.rounds
            if len(rounds) < len(self._journal.records):
                raise ValueError(
                    "a study has no grid that grows; this state file is for `semibandit tune` alone"
                )
            began = os.path.getmtime(path) - sum(record.seconds for record in rounds)
            self.lines.append(first_event(first, began))
            for number, record in enumerate(rounds):
                asked, ended = _read_round(number, record, began)
                self.lines += [events.encode(asked), events.encode(ended)]
                began = ended.at

    def create(self, name: str, line: str) -> int:
        if not self.lines:
            created = events.decode(line)
            assert isinstance(created, Created)
            try:
                settings = _write_settings(msgspec.convert(created.settings, Settings))
            except ValueError:
                self.path.unlink()  # it is empty
                raise
            self._journal.begin(settings)
            self.lines.append(line)
        return _STUDY

    def studies(self) -> list[Entry]:
        return [Entry(_STUDY, self.path.stem, len(self.lines))] if self.lines else []

    def find(self, name: str) -> int | None:
        return _STUDY if self.lines else None

    def delete(self, study: int) -> None:
        self.close()
        self.path.unlink()

    def turn(self, study: int, since: int) -> JournalTurn:
        return JournalTurn(self, since)

    def read(self, study: int, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        lines = self.lines[since - 1 :] if limit is None else self.lines[since - 1 : since - 1 + limit]
        return list(enumerate(lines, start=since))

    def append(self, line: str) -> None:
        """Take an event; the file gets it if it ends a round."""
        event = events.decode(line)
        if isinstance(event, Changed):
            raise ValueError("a journal keeps no changes of settings; a study in sqlite:/// does")
        if isinstance(event, Asked):
            if self.asked:
                raise ValueError(
                    "a journal keeps one round at a time: tell or forget the pending trial first"
                )
            self.asked[event.trial] = event
            self._asked_at = len(self.lines)
        elif isinstance(event, Told | Failed):
            self._journal.append(_write_round(self.asked.pop(event.trial), event))
        elif isinstance(event, Forgotten):
            # As if it had not been asked: the file cannot tell that a draw was used up.
            del self.asked[event.trial]
            del self.lines[self._asked_at :]
            return
        self.lines.append(line)

    def save_portrait(self, study: int, event: int, portrait: bytes) -> None:
        """Journals are short: what is drawn of them is made again."""

    def portraits(self, study: int, since: int = 1) -> list[bytes]:
        return []

    def save_snapshot(self, study: int, event: int, replica: bytes) -> None:
        """Journals are short: they are replayed as a whole."""

    def snapshot(self, study: int, event: int | None = None) -> bytes | None:
        return None

    def prune(self, study: int) -> None:
        """There is nothing to drop."""

    def close(self) -> None:
        self._journal.close()


def _read_settings(file: FileSettings) -> Settings:
    if file.probes or file.integer or file.high is None or file.feedback == "race":
        what = "rounds with probes" if file.probes else "races" if file.feedback == "race" else "integers"
        what = what if file.high is not None else "range to learn"
        raise ValueError(f"a study has no {what} yet; this state file is for `semibandit tune` alone")
    options = {name: getattr(file, name) for name in ("horizon", *_OPTIONS)}
    given = {name: value for name, value in options.items() if name == "horizon" or value != _OPTIONS[name]}
    kind = "Exp3Grid" if file.feedback == "bandit" else "Exp3Set"
    return Settings({"lo": file.lo, "hi": file.hi, "margin": file.margin}, kind, file.seed, given)


def _write_settings(settings: Settings) -> FileSettings:
    unknown = sorted(settings.options.keys() - {"horizon", *_OPTIONS})
    if unknown or "horizon" not in settings.options:
        what = f"cannot keep {', '.join(unknown)}" if unknown else "needs a horizon"
        raise ValueError(f"a journal {what}; a study in sqlite:/// keeps everything")
    if settings.space.keys() != {"lo", "hi", "margin"}:
        raise ValueError(f"a journal keeps an Interval, got {settings.space}")
    options: dict[str, Any] = {**_OPTIONS, **settings.options}
    return FileSettings(
        version=VERSION,
        lo=settings.space["lo"],
        hi=settings.space["hi"],
        margin=settings.space["margin"],
        feedback="bandit" if settings.learner == "Exp3Grid" else "black-box",
        seed=settings.seed or 0,
        tolerance=None,
        **options,
    )


def _read_round(number: int, record: Round, began: float) -> tuple[Asked, Told | Failed]:
    asked = Asked(began, number, record.position, record.rho, "journal", info={"instance": record.instance})
    names = ("seconds", "runs", "failure", "clipped", "default_loss", "default_failure")
    info = {name: getattr(record, name) for name in names if getattr(record, name) is not None}
    at = began + record.seconds
    if record.loss is None:
        return asked, Failed(at, number, record.failure or "failed", info)
    seen: float | Function = record.loss
    width = None
    if record.lo is not None and record.hi is not None:
        seen, width = Function([record.lo, record.hi], [record.loss]), record.hi - record.lo
    return asked, Told(at, number, seen, record.loss, None, width, info)


def _write_round(asked: Asked, event: Told | Failed) -> Round:
    info: dict[str, Any] = {**(asked.info or {}), **(event.info or {})}
    values: dict[str, Any] = {
        "instance": str(info.get("instance", "")),
        "seconds": float(info.get("seconds", event.at - asked.at)),
        **{
            name: info[name]
            for name in ("runs", "failure", "clipped", "default_loss", "default_failure")
            if name in info
        },
    }
    if isinstance(event, Failed):
        return Round(rho=asked.rho, position=asked.position, **{"failure": event.failure, **values})
    if isinstance(event.seen, list):
        raise ValueError("a journal keeps one look at an instance; sqlite:/// keeps any number")
    if isinstance(event.seen, Function):
        if event.seen.values is None or len(event.seen.values) != 1:
            raise ValueError(
                "a journal keeps a loss, or one interval with a loss; sqlite:/// keeps any function"
            )
        values["lo"], values["hi"] = event.seen.edges
    return Round(rho=asked.rho, position=asked.position, loss=event.loss, **values)
