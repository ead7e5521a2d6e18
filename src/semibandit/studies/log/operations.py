"""Operations that change a study: ask, enqueue, tell, forget, renew, change, prune, extend.

An operation is plain data. `Study` calls it in a transaction with the replica and the turn of the store;
`Client` sends it to a service as JSON. A refused operation raises ValueError or TypeError and changes
nothing.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Sequence
from typing import Any, ClassVar

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Trial
from semibandit.spaces import call
from semibandit.studies.log import events
from semibandit.studies.log.events import Event, Function, Info, LoggedFeedback
from semibandit.studies.log.replica import Replica
from semibandit.studies.log.stores import Turn
from semibandit.studies.settings import StudySettings

__all__ = [
    "FOREVER",
    "Ask",
    "Change",
    "Enqueue",
    "Extend",
    "Forget",
    "ForgottenError",
    "Operation",
    "PausedError",
    "Prune",
    "Renew",
    "Tell",
    "check_text",
    "creation",
    "decode_operations",
    "decode_outcomes",
    "encode_operations",
    "encode_outcomes",
    "tidy",
]

FOREVER = 1e15  # seconds: a lease that never expires; JSON has no infinity
_MAX_TEXT = 500  # characters of a worker, a key, a failure, a note
_MAX_INFO = 50  # entries of an info
_MAX_PROBES = 1000


class ForgottenError(ValueError):
    """The trial was given up or its lease has expired. Nothing was learned."""


class PausedError(ValueError):
    """The study gives out no trials until it goes on (`study.change(paused=False)`)."""


class Operation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A change of a study; `path` is the last part of its address in the service."""

    path: ClassVar[str]
    answer: ClassVar[Any] = bool
    idempotent: ClassVar[bool] = True  # running it twice has the effect of running it once

    def __call__(self, replica: Replica, turn: Turn) -> Any:
        """Check the arguments, then apply the operation to an up-to-date replica."""
        self.check()
        return self.apply(replica, turn)

    def check(self) -> None:
        """Raise ValueError or TypeError for arguments that are wrong for every study."""

    def apply(self, replica: Replica, turn: Turn) -> Any:
        """Change the learner and append events."""
        raise NotImplementedError

    def repeatable(self) -> Operation:
        """Return the operation in a form that has the same effect if it is sent twice."""
        return self


class Ask(Operation, frozen=True):
    """Ask for a trial. While a trial is pending, asking with the same key returns it again."""

    path: ClassVar[str] = "ask"
    idempotent: ClassVar[bool] = False
    answer: ClassVar[Any] = Trial
    worker: str = "client"
    lease: float | None = None
    key: str | None = None
    info: Info | None = None
    probes: int = 0
    values: dict[str, Any] | None = None
    explore: float = 1.0
    context: dict[str, Any] | None = None

    def repeatable(self) -> Ask:
        return self if self.key is not None else msgspec.structs.replace(self, key=uuid.uuid4().hex)

    def check(self) -> None:
        if self.values is not None and self.probes:
            raise ValueError("values go without probes")
        _check_lease(self.lease)
        _check_info(self.info)
        check_text("worker", self.worker)
        if self.key is not None:
            check_text("key", self.key)
        _validate.integer("probes", self.probes, low=0, high=_MAX_PROBES)
        _validate.number("explore", self.explore, low=0.0, high=1.0)

    def apply(self, replica: Replica, turn: Turn) -> Trial:
        tidy(replica, turn)
        if self.key is not None and self.key in replica.keys:
            return replica.trials[replica.keys[self.key]]
        if replica.counts.paused:
            raise PausedError("the study is paused: it gives out no trials, and takes the feedback of others")
        at = _time(replica, turn)
        queued = replica.queue[0] if self.values is None and replica.queue else None
        values = self.values if queued is None else queued.values
        given: dict[str, Any] = {} if self.context is None else {"context": self.context}
        if values is not None or given:
            _require_no_race(replica)
        if values is None:
            trial = replica.learner.ask(probes=int(self.probes), explore=float(self.explore), **given)
        else:
            trial = replica.learner.ask(values=values, **given)
        replica.changed = True
        replica.trials[trial.id] = trial
        event = events.Asked(
            at=at,
            trial=trial.id,
            position=trial.position,
            rho=trial.rho,
            worker=self.worker,
            until=_until(replica, turn, self.lease),
            alpha=list(trial.alpha) if isinstance(trial.alpha, tuple) else trial.alpha,
            probes=list(trial.positions[1:]) or None,
            key=self.key,
            info=self.info,
            explore=trial.explore,
            own=trial.own,
            enqueued=None if queued is None else queued.key,
            context=trial.context or None,
        )
        _append(replica, turn, event)
        return trial


class Enqueue(Operation, frozen=True):
    """Let the next ask of any worker play these values."""

    path: ClassVar[str] = "enqueue"
    values: dict[str, Any]
    key: str | None = None

    def repeatable(self) -> Enqueue:
        return self if self.key is not None else msgspec.structs.replace(self, key=uuid.uuid4().hex)

    def check(self) -> None:
        if self.key is not None:
            check_text("key", self.key)

    def apply(self, replica: Replica, turn: Turn) -> bool:
        """Return whether the values were added; False for a repeated request."""
        if self.key in replica.counts.enqueued:
            return False
        _require_no_race(replica)
        values = replica.learner.own_values(self.values)
        if any(each.values == values for each in replica.queue):
            raise ValueError(f"these values wait already: {values!r}")
        key = self.key or uuid.uuid4().hex
        _append(replica, turn, events.Enqueued(_time(replica, turn), values, key))
        return True


class TrialOperation(Operation, frozen=True):
    """An operation on a trial, given by its number; `learner` names the learner that asked, if known.

    So does `position`, where the parameter was drawn: a store that was restored from a backup gives the
    numbers of lost trials to others.
    """

    trial: int
    learner: str | None = None
    position: float | None = None

    def pending(self, replica: Replica) -> Trial | None:
        """Return the pending trial, None if it is finished; raises ForgottenError if it was forgotten."""
        trial = self.known(replica)
        if self.trial in replica.counts.forgotten:
            raise ForgottenError(
                f"trial {self.trial} was forgotten (given up, or its lease expired): nothing was learned"
            )
        return trial

    def known(self, replica: Replica) -> Trial | None:
        """Return the trial, None if it is not pending; raises ValueError if the study never asked it."""
        number = _validate.integer("trial", self.trial, low=0)
        if self.learner is not None and self.learner != replica.counts.learner:
            raise ValueError(f"trial {number} was asked of another study")
        n_asked = replica.learner.n_asked
        if number >= n_asked:
            raise ValueError(f"trial {number} is unknown: this study has asked {n_asked} so far")
        trial = replica.trials.get(number)
        position = replica.finished.get(number) if trial is None else trial.position
        if None not in (position, self.position) and position != self.position:
            raise ValueError(
                f"trial {number} has another parameter than the one that was asked for: the store was "
                "restored from a backup, or has lost its last rounds"
            )
        return trial


class Tell(TrialOperation, frozen=True):
    """Tell the feedback of a trial: a loss, a function, or null if the run failed.

    `predicted` is a prediction of the loss of this instance, made without knowledge of the trial.
    """

    path: ClassVar[str] = "tell"
    seen: LoggedFeedback | None = None
    failure: str | None = None
    info: Info | None = None
    predicted: float | Function | None = None

    def check(self) -> None:
        if self.failure is not None and self.seen is not None:
            raise ValueError("a failed run has no feedback: give seen=None together with failure")
        if self.failure is not None:
            check_text("failure", self.failure)
        _check_info(self.info)

    def apply(self, replica: Replica, turn: Turn) -> bool:
        """Return whether it was told for the first time."""
        seen = None if self.seen is None else events.unpack(self.seen)
        predicted = None if self.predicted is None else events.unpack(self.predicted)
        tidy(replica, turn)
        trial = self.pending(replica)
        if trial is None:
            return False
        at = _time(replica, turn)
        replica.learner.tell(trial, seen, predicted=predicted)
        replica.changed = True
        event: Event = events.Failed(at, trial.id, self.failure or "failed", self.info)
        if self.seen is not None:
            loss, width = _loss_and_width(replica, trial, seen)
            p = replica.learner.last_probabilities
            probability = p[0] if len(p) == 1 else list(p)
            event = events.Told(at, trial.id, self.seen, loss, probability, width, self.info, self.predicted)
        _append(replica, turn, event)
        return True


class Forget(TrialOperation, frozen=True):
    """Give up a pending trial."""

    path: ClassVar[str] = "forget"

    def apply(self, replica: Replica, turn: Turn) -> bool:
        """Return whether the trial was pending."""
        tidy(replica, turn)
        if self.known(replica) is None:
            return False
        _forget(replica, turn, self.trial, "given up")
        return True


class Renew(TrialOperation, frozen=True):
    """Renew the lease of a pending trial for a number of seconds from now."""

    path: ClassVar[str] = "renew"
    lease: float | None = None

    def check(self) -> None:
        _check_lease(self.lease)

    def apply(self, replica: Replica, turn: Turn) -> bool:
        tidy(replica, turn)
        if self.pending(replica) is None:
            raise ValueError(f"trial {self.trial} is finished: there is no lease to renew")
        at = _time(replica, turn)
        _append(replica, turn, events.Renewed(at, self.trial, _until(replica, turn, self.lease)))
        return True


class Change(Operation, frozen=True):
    """Change the default lease or the note; pause the study, or let it go on."""

    path: ClassVar[str] = "change"
    lease: float | None = None
    note: str | None = None
    paused: bool | None = None

    def check(self) -> None:
        _check_lease(self.lease)
        if self.note is not None:
            check_text("note", self.note)
        if self.lease is None and self.note is None and self.paused is None:
            raise ValueError("give a lease, a note, or paused, to change")

    def apply(self, replica: Replica, turn: Turn) -> bool:
        changed: dict[str, Any] = {} if self.lease is None else {"lease": float(self.lease)}
        if self.note is not None:
            changed["note"] = self.note
        if self.paused is not None:
            changed["paused"] = self.paused
        _append(replica, turn, events.Changed(_time(replica, turn), changed))
        return True


class Prune(Operation, frozen=True):
    """Forget all trials whose lease has expired; the answer is their number."""

    path: ClassVar[str] = "prune"
    answer: ClassVar[Any] = int

    def apply(self, replica: Replica, turn: Turn) -> int:
        return tidy(replica, turn)


class Extend(Operation, frozen=True):
    """Give a race more instances or runs, or have it repeat its failed runs."""

    path: ClassVar[str] = "extend"
    idempotent: ClassVar[bool] = False
    instances: list[str]
    runs: int
    retry_failed: bool = False

    def apply(self, replica: Replica, turn: Turn) -> bool:
        at = _time(replica, turn)
        replica.race.extend(self.instances, self.runs, self.retry_failed)
        replica.changed = True
        _append(replica, turn, events.Extended(at, self.instances, self.runs, self.retry_failed))
        return True


_KINDS: dict[str, type[Operation]] = {
    kind.path: kind for kind in (Ask, Enqueue, Tell, Forget, Renew, Change, Prune, Extend)
}
_REFUSALS: dict[str, type[Exception]] = {
    kind.__name__: kind for kind in (ForgottenError, PausedError, TypeError, ValueError)
}


def encode_operations(operations: Sequence[Any]) -> str | None:
    """Return operations as text for another process to run; None if that is not possible."""
    if not all(isinstance(each, Operation) for each in operations):
        return None
    try:
        for each in operations:
            each.check()
        return msgspec.json.encode([(each.path, each) for each in operations]).decode()
    except (ValueError, TypeError):  # wrong arguments, or values of numpy: this process answers itself
        return None


def decode_operations(text: str) -> list[Operation]:
    """Return the operations that `encode_operations` wrote."""
    pairs = msgspec.json.decode(text, type=list[tuple[str, msgspec.Raw]])
    return [msgspec.json.decode(body, type=_KINDS[path]) for path, body in pairs]


def encode_outcomes(outcomes: Sequence[Any]) -> str:
    """Return outcomes as text: for each the name of the error, or nothing, and a value or message."""
    pairs = []
    for each in outcomes:
        refused = next((name for name, kind in _REFUSALS.items() if isinstance(each, kind)), "")
        pairs.append((refused, str(each) if refused else each))
    return msgspec.json.encode(pairs).decode()


def decode_outcomes(text: str, operations: Sequence[Any], trial: type[Any]) -> list[Any]:
    """Return the outcomes that `encode_outcomes` wrote; `trial` is the class of trials of the learner."""
    outcomes: list[Any] = []
    pairs = msgspec.json.decode(text, type=list[tuple[str, msgspec.Raw]])
    for (refused, value), operation in zip(pairs, operations, strict=True):
        if refused:
            outcomes.append(_REFUSALS[refused](msgspec.json.decode(value)))
        else:
            kind = trial if operation.answer is Trial else operation.answer
            outcomes.append(msgspec.json.decode(value, type=kind))
    return outcomes


def creation(settings: StudySettings, at: float) -> str:
    """Return the first event of a study."""
    seeded = settings.seeded()
    learner = seeded.kind.dumps(seeded.make())
    return events.encode(events.Created(at, msgspec.to_builtins(seeded), learner))


def tidy(replica: Replica, turn: Turn) -> int:
    """Forget the trials whose lease has expired; return how many."""
    late = replica.overdue(turn.steady)
    for number in late:
        _forget(replica, turn, number, events.EXPIRED)
    return len(late)


def _append(replica: Replica, turn: Turn, event: Event) -> None:
    line = events.encode(event)
    turn.append(line)
    replica.record(event, line)
    replica.changed = False


def _forget(replica: Replica, turn: Turn, number: int, reason: str) -> None:
    replica.learner.forget(replica.trials[number])
    replica.changed = True
    _append(replica, turn, events.Forgotten(_time(replica, turn), number, reason))


def _loss_and_width(replica: Replica, trial: Trial, seen: Any) -> tuple[float | None, float | None]:
    """Return the loss of the played parameter and the width of the observed interval around it."""
    first = seen[0] if isinstance(seen, list) else seen
    if first is None:
        return None, None
    if isinstance(first, float):
        return first, None
    if isinstance(first, PiecewiseConstant) and len(first) == 1:
        return float(first.values[0]), float(first.edges[1] - first.edges[0])
    space = replica.learner.space
    x = call(space.place, trial.parameters)
    first = space.line.on_rows(first, x)
    lo, hi = next((lo, hi) for lo, hi in reversed(first.domain) if lo <= x <= hi)
    loss = float(first(x))
    # An interval is closed on the right if the function is unknown beyond it.
    return (float(first(math.nextafter(x, lo))) if math.isnan(loss) else loss), hi - lo


def _time(replica: Replica, turn: Turn) -> float:
    """Return the time of an event, which never decreases even if the clock is set back."""
    return max(turn.now, replica.counts.at)


def _require_no_race(replica: Replica) -> None:
    if replica.settings.learner == "Race":
        raise ValueError("a race chooses its own values; give it a `default`, or use another learner")


def _until(replica: Replica, turn: Turn, lease: float | None) -> float | None:
    seconds = replica.counts.lease if lease is None else float(lease)
    return None if seconds >= FOREVER else turn.steady + seconds


def _check_lease(lease: float | None) -> None:
    if lease is not None and _validate.number("lease", lease) <= 0.0:
        raise ValueError(f"lease must be above 0 seconds (math.inf: it never expires), got {lease!r}")


def check_text(name: str, text: Any) -> str:
    """Check a text: 1 to 500 printable characters or newlines."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {text!r}")
    if not (0 < len(text) <= _MAX_TEXT and text.replace("\n", " ").isprintable()):
        raise ValueError(f"{name} must be 1 to {_MAX_TEXT} printable characters, got {text!r}")
    return text


def _check_info(info: Info | None) -> None:
    if info is None:
        return
    if not isinstance(info, dict) or len(info) > _MAX_INFO:
        raise ValueError(f"info must be a dict of at most {_MAX_INFO} entries, got {info!r}")
    for name, value in info.items():
        check_text("a name in info", name)
        if isinstance(value, str):
            check_text(f"info[{name!r}]", value or " ")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"info[{name!r}] must be finite, got {value!r}")
        elif value is not None and not isinstance(value, int | float):
            raise TypeError(f"info[{name!r}] must be text, a number, True, False or None, got {value!r}")
