"""A knob that many workers turn together, and that outlives all of them."""

from __future__ import annotations

import math
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from types import TracebackType
from typing import Any

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Learner, Recommendation, Trial
from semibandit.learners.certificates import Certificate
from semibandit.spaces import Space
from semibandit.studies import events, operations
from semibandit.studies.events import Asked, Info, Told
from semibandit.studies.history import Round, rounds
from semibandit.studies.operations import Operation
from semibandit.studies.replica import Lease, Portrait, Replica
from semibandit.studies.settings import Settings, check_name, first_event
from semibandit.studies.stores import Store, Turn, UnknownStudyError, missing, open_store, public

__all__ = ["Study"]

# Events that are read at once while catching up: bounds memory.
_CHUNK = 20_000

# How far before the first round of a history to look for where it was asked.
_LOOK_BACK = 1000

# What an operation answers to input that is wrong; the learner has not moved then.
_REFUSED = (ValueError, TypeError)


class Study:
    """A learner whose rounds are in a store, shared by all processes that open it.

    The study is its log of events. Every process replays it into a learner of its own and reads only what
    is new; all of these learners agree to the bit. Asking and telling are one transaction each. A study may
    be used by several threads, survives a fork, and when pickled is opened again elsewhere.

    Parameters
    ----------
    storage
        `sqlite:///tuning.db`, `postgresql://...` or `journal:///knob.json`; see `semibandit.studies.stores`.
    name
        Begins the study of this name, or joins it.
    space
        Where the parameter lives. Not needed to join.
    seed
        For the draws; where none is given one is drawn.
    learner
        "Exp3Set" (default) or "Exp3Grid".
    worker
        How this process is called in the log; by default by its machine and number.
    settings
        Further arguments of the learner. Where a study is joined with a space, all settings must agree with
        those that it was begun with.

    Examples
    --------
    >>> import semibandit as sb, tempfile
    >>> storage = f"sqlite:///{tempfile.mkdtemp()}/tuning.db"
    >>> study = sb.Study(storage, "alpha", space=sb.Interval(0, 1), seed=0)
    >>> trial = study.ask(lease=60)
    >>> study.tell(trial, sb.PiecewiseConstant.constant(0.5, 1, 0.2))
    True
    >>> study.tell(trial, sb.PiecewiseConstant.constant(0.5, 1, 0.2))
    False
    >>> study.n_events, study.history()[0].loss
    (3, 0.2)
    """

    def __init__(
        self,
        storage: str,
        name: str,
        *,
        space: Space | None = None,
        seed: int | None = None,
        learner: str = "Exp3Set",
        worker: str | None = None,
        **settings: Any,
    ) -> None:
        given = None if space is None else Settings.of(space, learner, seed, settings)
        if given is None and (settings or seed is not None):
            raise ValueError(f"settings of a learner need a space, got {', '.join(settings) or 'seed'} alone")
        self._open(storage, name, given, worker)

    @classmethod
    def of_settings(
        cls, storage: str, name: str, settings: Settings | None, worker: str | None = None
    ) -> Study:
        """Begin or join a study whose settings are plain data."""
        study = cls.__new__(cls)
        study._open(storage, name, settings, worker)
        return study

    def _open(self, storage: str, name: str, given: Settings | None, worker: str | None) -> None:
        self.storage, self.name = storage, check_name(name)
        if worker is None:
            worker = f"{socket.gethostname()}:{os.getpid()}"
        self.worker = operations.check_text("worker", worker)
        if given is not None:
            given.make()  # what is wrong with the settings shows before there is a study
        elif (path := missing(storage)) is not None:  # which opening would make
            raise UnknownStudyError(
                f"there is no file {path}, so no study {self.name!r}; a space is needed to begin one"
            )
        self._lock = threading.RLock()
        self._replica: Replica | None = None
        self._busy = False  # other processes have been seen to write
        self._rehearsed = False  # what the learner needs was compiled
        self._store: Store = open_store(storage)
        try:
            self.id = self._begin_or_find(given)
            self._agree(given)
        except BaseException:
            self.close()
            raise

    def _begin_or_find(self, given: Settings | None) -> int:
        study = self._store.find(self.name)
        if study is not None:
            return study
        if given is None:
            raise UnknownStudyError(
                f"there is no study {self.name!r} in {public(self.storage)}; a space is needed to begin one"
            )
        return self._store.create(self.name, first_event(given, time.time()))

    def _agree(self, given: Settings | None) -> None:
        if given is not None and (differences := ", ".join(self.settings.differences(given))):
            raise ValueError(f"the study {self.name!r} was begun with other settings: {differences}")

    def __reduce__(self) -> tuple[Any, ...]:
        return Study, (self.storage, self.name)

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            self._store.close()

    def __enter__(self) -> Study:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({public(self.storage)!r}, {self.name!r})"

    # -- rounds ------------------------------------------------------------------------------------

    def ask(
        self,
        *,
        lease: float | None = None,
        info: Info | None = None,
        key: str | None = None,
        worker: str | None = None,
        probes: int = 0,
    ) -> Trial:
        """Draw a parameter for this worker, which has to tell, or to renew, within `lease` seconds.

        The default lease is a setting of the study (300 s, see `change`); `math.inf` is for ever. A trial
        whose lease has run out is forgotten when anybody asks or tells next. `info` is kept with the trial.
        Asked again with the same `key` while the trial is pending, it is the same trial: so a request may be
        repeated whose answer was lost. `probes` is the number of further parameters to look at.
        """
        worker = self.worker if worker is None else worker
        lease = lease if self._store.keeps_leases else math.inf
        trial: Trial = self.do(
            lambda replica, turn: operations.ask(replica, turn, worker, lease, info, key, probes)
        )
        return trial

    def tell(
        self, trial: Trial | int, seen: Any, *, failure: str | None = None, info: Info | None = None
    ) -> bool:
        """Learn from what a trial has shown: a function, a loss, or None where the run failed.

        Told twice is told once: the second time nothing changes and the answer is False. `failure` says why
        a run failed. `info` is kept with the round; a number `default_loss` in it is the loss of the
        parameter that was in use before, and is averaged beside the learner's.

        Raises
        ------
        ForgottenError
            The trial was given up, or its lease has run out; nothing was learned.
        """
        told: bool = self.do(lambda replica, turn: operations.tell(replica, turn, trial, seen, failure, info))
        return told

    def forget(self, trial: Trial | int) -> bool:
        """Give a pending trial up; False where it is finished already."""
        forgotten: bool = self.do(lambda replica, turn: operations.forget(replica, turn, trial))
        return forgotten

    def renew(self, trial: Trial | int, *, lease: float | None = None) -> None:
        """Keep a pending trial for `lease` seconds from now."""
        self.do(lambda replica, turn: operations.renew(replica, turn, trial, lease))

    def change(self, *, lease: float | None = None, note: str | None = None) -> None:
        """Change what no learning depends on: the default lease, and a note for those who look."""
        self.do(lambda replica, turn: operations.change(replica, turn, lease, note))

    def prune(self) -> int:
        """Forget what is overdue (how many?), drop all snapshots but the newest, give the room back."""
        overdue: int = self.do(operations.tidy)
        with self._lock:
            self._store.prune(self.id)
        return overdue

    def do(self, operation: Operation) -> Any:
        """Do an operation in a transaction."""
        (outcome,) = self.do_all([operation])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def do_all(self, wanted: Sequence[Operation]) -> list[Any]:
        """Do operations in one transaction; what each of them gives, or the error that it is refused with.

        Whatever else goes wrong undoes all of them. The replica may have moved then: it is dropped, and
        made again from the log when it is needed.
        """
        with self._lock:
            outcomes: list[Any] | None = None
            while outcomes is None:
                # Where others write as well, most of their events are lived through before it is our turn.
                replica = self._current() if self._busy else self._replica or self._rebuilt()
                self._replica = None
                if not self._rehearsed:
                    replica.rehearse()
                    self._rehearsed = True
                with self._store.turn(self.id, replica.event) as turn:
                    self._busy = self._busy or len(turn.rows) > 1
                    if replica.follow(turn.rows):
                        before = replica.event
                        outcomes = [_attempt(operation, replica, turn) for operation in wanted]
            self._replica = replica
            self._keep(replica, before)
            return outcomes

    # -- the replica -------------------------------------------------------------------------------

    def _current(self) -> Replica:
        """The replica, with all that is in the log."""
        replica, self._replica = self._replica, None
        if replica is None or not replica.follow(self._store.read(self.id, replica.event)):
            replica = self._rebuilt()
        self._replica = replica
        return replica

    def _rebuilt(self, event: int | None = None) -> Replica:
        """The newest snapshot, or the newest before an event, and the log from there on."""
        snapshot = self._store.snapshot(self.id, event)
        replica = None if snapshot is None else Replica.loads(snapshot)
        if replica is None or not replica.follow(self._store.read(self.id, replica.event, 1)):
            first = self._store.read(self.id, 1, 1)
            if not first:
                raise UnknownStudyError(f"the study {self.name!r} is no longer in {public(self.storage)}")
            replica = Replica(first[0][1])
        last = math.inf if event is None else event
        while rows := self._store.read(self.id, replica.event, _CHUNK)[1:]:
            for number, line in rows:
                if number > last:
                    return replica
                replica.apply(line)
        return replica

    def _keep(self, replica: Replica, before: int) -> None:
        """Keep a portrait and a snapshot now and then: whoever writes an event at which one is due."""
        n_pieces = replica.learner.n_pieces
        if _crossed(before, replica.event, portrait_stride(replica.event, n_pieces)):
            portrait = msgspec.msgpack.encode(replica.portrait())
            self._store.save_portrait(self.id, replica.event, portrait)
        if _crossed(before, replica.event, snapshot_stride(n_pieces)):
            self._store.save_snapshot(self.id, replica.event, replica.dumps())

    # -- where it stands ---------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What the study was begun with."""
        with self._lock:
            return self._current().settings

    @property
    def learner(self) -> Learner:
        """The learner as the log has made it. Look at it, but ask and tell the study."""
        with self._lock:
            return self._current().learner

    @property
    def n_events(self) -> int:
        """The number of events in the log."""
        with self._lock:
            return self._current().event

    @property
    def pending(self) -> list[Lease]:
        """The trials that workers have, oldest first."""
        with self._lock:
            return list(self._current().leases.values())

    def density(self) -> PiecewiseConstant:
        """The density that the next parameter is drawn from."""
        density: PiecewiseConstant = self.learner.density()
        return density

    def recommend(self) -> Recommendation:
        """The value to deploy."""
        return self.learner.recommend()

    def certificate(self) -> Certificate:
        """What the learner can vouch for."""
        return self.learner.certificate()

    def portrait(self, event: int | None = None) -> Portrait:
        """What a page shows of the study as it is, or was after an event."""
        with self._lock:
            return self._at(event).portrait()

    def portraits(self, since: int = 1) -> list[Portrait]:
        """The portraits that were kept on the way, from an event on."""
        since = _validate.integer("since", since, low=0)
        with self._lock:
            kept = self._store.portraits(self.id, since)
        return [msgspec.msgpack.decode(portrait, type=Portrait) for portrait in kept]

    def at(self, event: int) -> Learner:
        """The learner as it was after an event, 1 being the creation."""
        with self._lock:
            return self._at(event).learner

    def _at(self, event: int | None) -> Replica:
        current = self._current()
        if event is None:
            return current
        if not 1 <= _validate.integer("event", event) <= current.event:
            raise ValueError(f"event must be in 1 to {current.event}, got {event}")
        return self._rebuilt(event)

    # -- the log -----------------------------------------------------------------------------------

    def events(self, since: int = 1, limit: int | None = None) -> list[tuple[int, str]]:
        """The events from one on, each with its number, as lines of JSON."""
        since, limit = _range(since, limit)
        with self._lock:
            return self._store.read(self.id, since, limit)

    def history(self, since: int = 1, limit: int | None = None) -> list[Round]:
        """The rounds that ended with event number `since` or later, in that order; at most `limit`.

        O(events since), and those before in which these rounds were asked.
        """
        since, limit = _range(since, limit)
        back = _LOOK_BACK
        while True:
            with suppress(KeyError):
                return list(islice(rounds(self._rows(max(1, since - back)), since), limit))
            back *= 8  # a round was asked even earlier

    def _rows(self, since: int = 1) -> Iterator[tuple[int, str]]:
        while rows := self.events(since, _CHUNK):
            yield from rows
            since = rows[-1][0] + 1

    def replay(self, learner: Learner) -> Learner:
        """Have another, fresh learner live through the log: what would it believe by now?

        It is told the parameters that were played and what they have shown, with the probabilities by which
        they were chosen: so its estimates are as unbiased as those of the learner that chose them.
        """
        trials: dict[int, Trial] = {}
        for _, line in self._rows():
            event = events.decode(line)
            if isinstance(event, Asked):
                trials[event.trial] = learner.ask(position=[event.position, *(event.probes or ())])
            elif isinstance(event, Told):
                seen = events.unpack(event.seen)
                learner.tell(trials.pop(event.trial), seen, probability=event.probability)
            elif hasattr(event, "trial") and event.trial in trials and not isinstance(event, events.Renewed):
                learner.forget(trials.pop(event.trial))
        return learner


def portrait_stride(event: int, n_pieces: int) -> int:
    """Events between two portraits: some 64 of them while a log doubles, fewer of large learners."""
    return max(16, 1 << event.bit_length() >> 7, 1 << (n_pieces // 16).bit_length())


def snapshot_stride(n_pieces: int) -> int:
    """Events between two snapshots: more for larger learners, up to what is replayed in a second."""
    return min(max(2048, 1 << (n_pieces // 50).bit_length()), 32_768)


def _crossed(before: int, after: int, stride: int) -> bool:
    return before // stride != after // stride


def _attempt(operation: Operation, replica: Replica, turn: Turn) -> Any:
    try:
        return operation(replica, turn)
    except _REFUSED as error:
        if replica.moved:
            raise
        return error


def _range(since: Any, limit: Any) -> tuple[int, int | None]:
    """The first event that is wanted, and at most how many."""
    since = _validate.integer("since", since, low=0)
    return since, None if limit is None else _validate.integer("limit", limit, low=0)
