"""A study: a learner that many workers share and that outlives them."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, Protocol, Self, TypeVar

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Exp3Set, Learner, Recommendation, Trial
from semibandit.learners.certificates import Certificate
from semibandit.learners.contexts import ContextCell
from semibandit.spaces import Space, as_space
from semibandit.studies.log import events
from semibandit.studies.log.backend import LocalBackend
from semibandit.studies.log.events import Asked, Event, Folded, Info
from semibandit.studies.log.finished import AskedEarlierError, StudyRounds, rounds
from semibandit.studies.log.operations import (
    FOREVER,
    Ask,
    Change,
    Enqueue,
    Forget,
    Prune,
    Renew,
    Tell,
    check_text,
)
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import DamagedStudyError, public
from semibandit.studies.log.summary import StudySummary
from semibandit.studies.prior import prior_on
from semibandit.studies.settings import StudySettings, check_name, read_space

__all__ = ["Backend", "Study"]

T = TypeVar("T")

_CHUNK = 10_000  # events that are read at once
_LOOK_BACK = 1000  # events before the first round of a history in which to search for its ask


class Backend(Protocol):
    """How a study is reached: a store that this process opens, or a service. Events are numbered from 1."""

    id: int
    name: str
    settings: StudySettings

    def do_all(self, operations: Sequence[Any]) -> list[Any]:
        """Run operations; return the outcome of each, or the error that refused it."""

    def read(self, since: int, limit: int | None = None) -> list[tuple[int, str]]:
        """Return events with their numbers; a limit may be lowered."""

    def inspect(self, function: Callable[[Replica], T], event: int | None = None) -> T:
        """Call a function with the replica as it is, or was after an event."""

    def summaries(self, since: int) -> list[StudySummary]:
        """Return the saved summaries from an event on."""

    def fold(self, keep: int) -> int:
        """Replace all events but the last ones by a snapshot; return how many are left."""

    def close(self) -> None:
        """Close connections."""


class Study:
    """A learner whose rounds are kept in a store and shared by all processes that open it.

    A study is its log of events. Each process replays the log into a learner of its own and reads only new
    events; these learners are identical to the bit. Each ask and each tell is one transaction. Threads may
    share a study, a forked child may use it, and a pickled study is opened again elsewhere.

    Parameters
    ----------
    storage
        `sqlite:///tuning.db` or `postgresql://...`; see `semibandit.studies.log.stores`.
    name
        Name of the study, which is created if it does not exist and a space is given.
    space
        Space of the parameter. Not needed to join an existing study.
    seed
        Seed of the learner. Default: drawn at random.
    learner
        "Exp3Set" (default) or "Exp3Grid".
    worker
        Name of this process in the log. Default: host name and process number.
    settings
        Further arguments of the learner. If a study is joined with a space, all settings must agree with
        those of its creation.

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
        given = StudySettings.given(space, learner, seed, settings)
        self._open(storage, name, given, worker)

    @staticmethod
    def of_settings(
        storage: str, name: str, settings: StudySettings | None, worker: str | None = None
    ) -> Study:
        """Create or join a study whose settings are plain data."""
        study = Study.__new__(Study)
        study._open(storage, name, settings, worker)
        return study

    def _open(self, storage: str, name: str, given: StudySettings | None, worker: str | None) -> None:
        self._set_worker(worker)
        self.storage = storage
        self._backend: Backend = LocalBackend(storage, check_name(name), given)

    def _set_worker(self, worker: str | None) -> None:
        name = f"{socket.gethostname()}:{os.getpid()}" if worker is None else worker
        self.worker = check_text("worker", name)

    @property
    def id(self) -> int:
        """Number of the study in its store."""
        return self._backend.id

    @property
    def name(self) -> str:
        """Name of the study."""
        return self._backend.name

    def __reduce__(self) -> tuple[Any, ...]:
        return Study, (self.storage, self.name)

    def close(self) -> None:
        """Close connections."""
        self._backend.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
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
        values: dict[str, Any] | None = None,
        explore: float = 1.0,
        context: dict[str, Any] | None = None,
    ) -> Trial:
        """Draw a parameter for this worker.

        Parameters
        ----------
        lease
            Seconds in which the worker has to tell or renew; `math.inf` never expires. A trial whose lease
            has expired is forgotten at the next operation of any worker. Default: a setting of the study
            (300 s, see `change`).
        info
            Plain data that is kept with the trial.
        key
            Identifies the request: while the trial is pending, asking with the same key returns it again.
        worker
            Name in the log, instead of that of this process.
        probes
            Number of further parameters to evaluate on the same instance (`trial.probes`).
        values
            A parameter of one's own, by name, instead of a draw; see `Exp3Set.ask`.
        explore
            Probability of a draw from the density; otherwise the recommended parameter is played.
        context
            Features of the instance, by name; see `Exp3Set.ask`.
        """
        worker = self.worker if worker is None else worker
        probes = _validate.integer("probes", probes, low=0)
        explore = _validate.number("explore", explore, low=0.0, high=1.0)
        trial: Trial = self.do(Ask(worker, _seconds(lease), key, info, probes, values, explore, context))
        return trial

    def enqueue(self, values: dict[str, Any], *, key: str | None = None) -> bool:
        """Let the next ask of any worker play a parameter of one's own; see `Exp3Set.ask`.

        If that trial is forgotten, the values wait again.

        Parameters
        ----------
        values
            The parameter by name: `{"rho": 0.3}`, or a value for each knob. ValueError if the same values
            wait already.
        key
            Identifies the request: repeated with the same key it returns False and changes nothing.
        """
        added: bool = self.do(Enqueue(values, key))
        return added

    def tell(
        self,
        trial: Trial | int,
        seen: Any,
        *,
        predicted: Any = None,
        failure: str | None = None,
        info: Info | None = None,
    ) -> bool:
        """Learn from the feedback of a trial; return False if it was told before, which changes nothing.

        Parameters
        ----------
        trial
            The trial, or its number.
        seen
            A function that covers the parameter, a loss, or None if the run failed. For a trial with probes
            a list of these.
        predicted
            Prediction of the loss of this instance, a number or a function; see `Exp3Set.tell`.
        failure
            Reason why the run failed.
        info
            Plain data that is kept with the round. A number `default_loss` is the loss of the value that was
            used before, on the same instance; the page shows its mean.

        Raises
        ------
        ForgottenError
            If the trial was given up or its lease has expired; nothing was learned.
        """
        packed = None if seen is None else events.pack(seen)
        forecast = None if predicted is None else events.pack_one(predicted, "predicted")
        told: bool = self.do(Tell(*_identity(trial), packed, failure, info, forecast))
        return told

    def forget(self, trial: Trial | int) -> bool:
        """Give up a pending trial; return False if it is finished already."""
        forgotten: bool = self.do(Forget(*_identity(trial)))
        return forgotten

    def renew(self, trial: Trial | int, *, lease: float | None = None) -> None:
        """Renew the lease of a pending trial for `lease` seconds from now."""
        self.do(Renew(*_identity(trial), _seconds(lease)))

    def change(
        self, *, lease: float | None = None, note: str | None = None, paused: bool | None = None
    ) -> None:
        """Change the default lease of all workers (`math.inf`: none expires), or the note of the page.

        While a study is paused, it takes feedback, and `ask` raises PausedError.
        """
        self.do(Change(_seconds(lease), note, paused))

    def prune(self) -> int:
        """Forget overdue trials now; return their number."""
        forgotten: int = self.do(Prune())
        return forgotten

    def do(self, operation: Any) -> Any:
        """Run an operation in a transaction."""
        (outcome,) = self._backend.do_all([operation])
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def do_all(self, operations: Sequence[Any]) -> list[Any]:
        """Run operations in one transaction; return the outcome of each, or the error that refused it."""
        return self._backend.do_all(operations)

    # -- state -------------------------------------------------------------------------------------

    @property
    def settings(self) -> StudySettings:
        """Settings with which the study was created."""
        return self._backend.settings

    @property
    def learner(self) -> Learner:
        """The learner after all events. Read it, but ask and tell the study."""
        return self._learner()

    @property
    def n_events(self) -> int:
        """Number of the last event in the log; they are numbered from 1."""
        return self._backend.inspect(lambda replica: replica.event)

    @property
    def queue(self) -> list[dict[str, Any]]:
        """Values of `enqueue` that wait for an ask."""
        return self._backend.inspect(lambda replica: [each.values for each in replica.queue])

    @property
    def pending(self) -> list[Asked]:
        """Pending trials, as the events that asked them, oldest first; `until` is the end of the lease."""
        return self._backend.inspect(lambda replica: list(replica.leases.values()))

    def density(self) -> PiecewiseConstant:
        """Return the density from which the next parameter is drawn."""
        density: PiecewiseConstant = self.learner.density()
        return density

    def recommend(self, *, context: dict[str, Any] | None = None) -> Recommendation:
        """Return the value to deploy: for a context if one is given, else for all."""
        return self.learner.recommend() if context is None else self.learner.recommend(context=context)

    def contexts(self) -> list[ContextCell]:
        """Return the cells of contexts, that with the most rounds first; a single one if none differ."""
        learner = self.learner
        if not isinstance(learner, Exp3Set):
            raise ValueError(f"only an Exp3Set has contexts, got {self.settings.learner}")
        return learner.contexts()

    def certificate(self) -> Certificate:
        """Return the learner's bound on its expected regret."""
        return self.learner.certificate()

    def prior_for(self, space: Space, trust: float = 0.5) -> PiecewiseConstant:
        """Return what was learned as a prior on another space: wider, narrower, or with other choices.

        It begins a new study: `Study(storage, name, space=space, prior=old.prior_for(space))`. It is a
        mixture of our density, where the spaces have values in common, and the uniform density.

        Parameters
        ----------
        space
            An Interval; or Knobs of the same names, if this study has knobs.
        trust
            Share of our density in the mixture, below 1.
        """
        return prior_on(as_space(space), self.density(), self.learner.space, trust)

    def summary(self, event: int | None = None) -> StudySummary:
        """Return counters, recommendation and density of the study as it is, or was after an event."""
        return self._backend.inspect(Replica.summary, _event(event))

    def summaries(self, since: int = 1) -> list[StudySummary]:
        """Return the summaries that were saved from an event on."""
        return self._backend.summaries(_validate.integer("since", since, low=0))

    def at(self, event: int) -> Learner:
        """Return the learner as it was after an event; event 1 is the creation."""
        return self._learner(_validate.integer("event", event))

    def snapshot(self, event: int | None = None) -> bytes:
        """Return the saved replica as it is, or was after an event; `Client` loads it."""
        return self._backend.inspect(Replica.dumps, _event(event))

    def _learner(self, event: int | None = None) -> Learner:
        return self._backend.inspect(lambda replica: replica.learner, event)

    def inspect(self, function: Callable[[Replica], T]) -> T:
        """Call a function with the replica: the learner, counters and leases after all events."""
        return self._backend.inspect(function)

    # -- the log -----------------------------------------------------------------------------------

    def events(self, since: int = 1, limit: int | None = None) -> list[tuple[int, str]]:
        """Return the events from number `since` on, as pairs of number and JSON; at most `limit`."""
        since, limit = _range(since, limit)
        return list(islice(self._rows(since, _CHUNK if limit is None else min(limit, _CHUNK)), limit))

    def _rows(self, since: int, chunk: int = _CHUNK) -> Iterator[tuple[int, str]]:
        while rows := self._backend.read(since, chunk):
            yield from rows
            since = rows[-1][0] + 1

    def _decoded(self, since: int) -> Iterator[tuple[int, Event]]:
        for number, line in self._rows(since):
            try:
                yield number, events.decode(line)
            except msgspec.DecodeError as error:
                raise DamagedStudyError(f"{self!r}: event {number} is damaged ({error})") from None

    def history(self, since: int = 1, limit: int | None = None) -> StudyRounds:
        """Return the rounds that ended with event `since` or later, in that order; at most `limit`.

        A list with the methods `to_pandas` and `to_polars`, with a column for each knob.

        O(events since), and those before in which these rounds were asked.
        """
        since, limit = _range(since, limit)
        back = _LOOK_BACK
        while True:
            start = max(1, since - back)
            try:
                names = read_space(self.settings.space).names
                return StudyRounds(islice(rounds(self._decoded(start), since), limit), names)
            except AskedEarlierError as error:
                if start == 1:
                    raise DamagedStudyError(f"{self!r}: {error}") from None
            back *= 8

    def fold(self, keep: int = 0) -> int:
        """Replace the oldest events by a snapshot, so that a long study takes less space.

        Returns the number of events that are left. The learner and all counters stay as they are; the
        folded rounds are no longer in `history`, and `at` and `replay` cannot return to them.

        Parameters
        ----------
        keep
            Number of the last events to keep.
        """
        return self._backend.fold(_validate.integer("keep", keep, low=0))

    def replay(self, learner: Learner) -> Learner:
        """Replay the log into another, new learner, and return it.

        It is told the played parameters and their feedback with the logged probabilities, so its estimates
        are as unbiased as those of the learner that chose the parameters.
        """
        lines = [line for _, line in self._rows(1)]
        first = events.decode(lines[0])
        if isinstance(first, Folded):
            raise ValueError(f"{self!r}: the first {first.number} events were folded")
        return Replica.after(lines, learner).learner


def _identity(trial: Any) -> tuple[int, str | None, float | None]:
    """Return the number of a trial; the name of its learner and its position if they are known."""
    if isinstance(trial, Trial):
        return trial.id, trial.learner, trial.position
    return _validate.integer("trial", trial, low=0), None, None


def _seconds(lease: Any) -> float | None:
    return FOREVER if isinstance(lease, float) and lease == math.inf else lease


def _event(event: Any) -> int | None:
    return None if event is None else _validate.integer("event", event)


def _range(since: Any, limit: Any) -> tuple[int, int | None]:
    since = _validate.integer("since", since, low=0)
    return since, None if limit is None else _validate.integer("limit", limit, low=0)
