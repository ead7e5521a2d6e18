"""What a worker does to a study in its turn: look at the replica, move the learner, append events.

Each function takes the replica, caught up with the log, and the turn. What is refused raises ValueError or
TypeError before the learner has moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from semibandit import _validate
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Trial
from semibandit.spaces import call
from semibandit.studies import events
from semibandit.studies.events import Asked, Changed, Event, Extended, Failed, Forgotten, Info, Renewed, Told
from semibandit.studies.replica import Replica
from semibandit.studies.stores import Turn

__all__ = ["ForgottenError", "Operation", "ask", "change", "extend", "forget", "renew", "tell", "tidy"]

# What is done in a turn.
Operation = Callable[[Replica, Turn], Any]

_LONGEST_TEXT = 500  # of a worker, a key, a failure, a note
_MOST_INFO = 50  # entries of an info


class ForgottenError(ValueError):
    """A trial was told after it had been given up or its lease had run out. Nothing was learned from it."""


def ask(
    replica: Replica,
    turn: Turn,
    worker: str,
    lease: float | None = None,
    info: Info | None = None,
    key: str | None = None,
    probes: int = 0,
) -> Trial:
    """Draw a trial, or find the pending one that was asked with the same key."""
    check_lease(lease)
    check_info(info)
    check_text("worker", worker)
    if key is not None:
        check_text("key", key)
    tidy(replica, turn)
    if key is not None and key in replica.keys:
        return replica.trials[replica.keys[key]]
    at = _time(replica, turn)
    trial = replica.learner.ask(probes=probes)
    replica.moved = True
    replica.trials[trial.id] = trial
    alpha = list(trial.alpha) if isinstance(trial.alpha, tuple) else trial.alpha
    until = _until(replica, at, lease)
    looks = list(trial.positions[1:]) or None
    event = Asked(at, trial.id, trial.position, trial.rho, worker, until, alpha, looks, key, info)
    _append(replica, turn, event)
    return trial


def tell(
    replica: Replica, turn: Turn, trial: Trial | int, seen: Any, failure: str | None, info: Info | None
) -> bool:
    """Learn from a trial; False where it was told before."""
    if failure is not None and seen is not None:
        raise ValueError("a run that failed has shown nothing: give seen=None together with failure")
    reason = check_text("failure", "failed" if failure is None else failure)
    check_info(info)
    tidy(replica, turn)
    ours = _pending(replica, trial)
    if ours is None:
        return False
    at = _time(replica, turn)
    seen = float(seen) if isinstance(seen, np.floating | np.integer) else seen
    replica.learner.tell(ours, seen)
    replica.moved = True
    event: Event = Failed(at, ours.id, reason, info)
    if seen is not None:
        loss, width = _paid(replica, ours, seen)
        p = replica.learner.last_probabilities
        event = Told(at, ours.id, events.pack(seen), loss, p[0] if len(p) == 1 else list(p), width, info)
    _append(replica, turn, event)
    return True


def forget(replica: Replica, turn: Turn, trial: Trial | int) -> bool:
    """Give a trial up; False where it is finished."""
    tidy(replica, turn)
    number = _number(replica, trial)
    if number not in replica.trials:
        return False
    _forget(replica, turn, number, "given up")
    return True


def renew(replica: Replica, turn: Turn, trial: Trial | int, lease: float | None) -> None:
    """Prolong a lease."""
    check_lease(lease)
    tidy(replica, turn)
    ours = _pending(replica, trial)
    if ours is None:
        raise ValueError(f"trial {_number(replica, trial)} is finished: there is nothing to renew")
    at = _time(replica, turn)
    _append(replica, turn, Renewed(at, ours.id, _until(replica, at, lease)))


def change(replica: Replica, turn: Turn, lease: float | None, note: str | None) -> None:
    """Change the settings that no learning depends on."""
    check_lease(lease)
    changed: dict[str, Any] = {} if lease is None else {"lease": float(lease)}
    if note is not None:
        changed["note"] = check_text("note", note)
    if not changed or lease == math.inf:
        raise ValueError("give a finite lease, or a note, to change")
    _append(replica, turn, Changed(_time(replica, turn), changed))


def extend(replica: Replica, turn: Turn, instances: list[str], runs: int, retry_failed: bool = False) -> None:
    """Give a race further instances or runs, or have it make its failed runs again."""
    at = _time(replica, turn)
    replica.race.extend(instances, runs, retry_failed)
    replica.moved = True
    _append(replica, turn, Extended(at, instances, runs, retry_failed))


def tidy(replica: Replica, turn: Turn) -> int:
    """Forget the trials whose lease has run out; how many."""
    late = replica.overdue(turn.now)
    for number in late:
        _forget(replica, turn, number, "lease")
    return len(late)


# -- inside ----------------------------------------------------------------------------------------


def _append(replica: Replica, turn: Turn, event: Event) -> None:
    line = events.encode(event)
    turn.append(line)
    replica.record(event, line)
    replica.moved = False


def _forget(replica: Replica, turn: Turn, number: int, reason: str) -> None:
    replica.learner.forget(replica.trials[number])
    replica.moved = True
    _append(replica, turn, Forgotten(_time(replica, turn), number, reason))


def _number(replica: Replica, trial: Trial | int) -> int:
    """The number of a trial of this study."""
    if isinstance(trial, Trial):
        if trial.learner != replica.tally.learner:
            raise ValueError(f"trial {trial.id} was asked of another study")
        return trial.id
    number = _validate.integer("trial", trial, low=0)
    if number >= replica.learner.n_asked:
        raise ValueError(f"trial {number} is unknown: this study has asked {replica.learner.n_asked} so far")
    return number


def _pending(replica: Replica, trial: Trial | int) -> Trial | None:
    """Our copy of a pending trial, None where it was told; an error where it was forgotten."""
    number = _number(replica, trial)
    if number in replica.tally.forgotten:
        raise ForgottenError(
            f"trial {number} was forgotten: it was given up, or its lease ran out; nothing is learned from it"
        )
    return replica.trials.get(number)


def _paid(replica: Replica, trial: Trial, seen: Any) -> tuple[float | None, float | None]:
    """The loss at the trial, and the width of the stretch around it on which the function was seen."""
    first = seen[0] if isinstance(seen, list | tuple) else seen
    if first is None:
        return None, None
    if isinstance(first, int | float):
        return float(first), None
    if isinstance(first, PiecewiseConstant) and len(first) == 1:
        return float(first.values[0]), float(first.edges[1] - first.edges[0])
    space = replica.learner.space
    x = call(space.place, trial.parameters)
    first = space.line.on_rows(first, x)
    lo, hi = next((lo, hi) for lo, hi in reversed(first.domain) if lo <= x <= hi)
    loss = float(first(x))
    # The right end of a stretch is closed where nothing is seen beyond it.
    return (float(first(math.nextafter(x, lo))) if math.isnan(loss) else loss), hi - lo


def _time(replica: Replica, turn: Turn) -> float:
    """The time of an event; clocks that are set back do not turn the log around."""
    return max(turn.now, replica.tally.at)


def _until(replica: Replica, at: float, lease: float | None) -> float | None:
    seconds = replica.tally.lease if lease is None else float(lease)
    return None if seconds == math.inf else at + seconds


def check_lease(lease: float | None) -> None:
    """A positive number of seconds; infinity is for ever, None the study's own."""
    if lease is not None and not (isinstance(lease, float) and lease == math.inf):
        _validate.number("lease", lease, low=0.0, open=True)


def check_text(name: str, text: Any) -> str:
    """Text that is not too long, without characters that no store keeps."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a string, got {text!r}")
    if not (0 < len(text) <= _LONGEST_TEXT and text.replace("\n", " ").isprintable()):
        raise ValueError(f"{name} must be 1 to {_LONGEST_TEXT} printable characters, got {text!r}")
    return text


def check_info(info: Info | None) -> None:
    """Plain data, by name."""
    if info is None:
        return
    if not isinstance(info, dict) or len(info) > _MOST_INFO:
        raise ValueError(f"info must be a dict of at most {_MOST_INFO} entries, got {info!r}")
    for name, value in info.items():
        check_text("a name in info", name)
        if isinstance(value, str):
            check_text(f"info[{name!r}]", value or " ")
        elif isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"info[{name!r}] must be finite, got {value!r}")
        elif value is not None and not isinstance(value, int | float):
            raise TypeError(f"info[{name!r}] must be text, a number, True, False or None, got {value!r}")
