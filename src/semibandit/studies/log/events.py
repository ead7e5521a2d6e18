"""Events of a study. The log of events, in the order of the store, is the whole state of a study.

An event is one line of JSON; its field `event` names its kind. Numbers are written with enough digits to
restore them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant, PiecewiseLinear
from semibandit.spaces import Boxes, values_of

__all__ = [
    "EXPIRED",
    "Asked",
    "Changed",
    "Created",
    "Enqueued",
    "Event",
    "Extended",
    "Failed",
    "Folded",
    "Forgotten",
    "Function",
    "Info",
    "LoggedFeedback",
    "Renewed",
    "Told",
    "decode",
    "encode",
    "pack",
    "unpack",
]

EXPIRED = "lease expired"  # the reason for which a trial was forgotten
Info = dict[str, str | int | float | bool | None]


class Function(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A function in the form of its `to_dict`: steps have `values`, lines have `left` and `right`.

    Functions of several knobs have `boxes`; see `semibandit.Boxes`.
    """

    edges: list[float] = []
    values: list[float | None] | None = None
    left: list[float | None] | None = None
    right: list[float | None] | None = None
    boxes: list[Any] | None = None


# A loss, a partially known function, or one of these for the played parameter and each probe (None: missing).
LoggedFeedback = float | Function | list[float | Function | None]


class _Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag=str.lower):
    at: float  # seconds since 1970, by the clock of the store; never decreases


class Created(_Event, frozen=True):
    """The study was created, with these settings and this saved learner."""

    settings: dict[str, Any]
    learner: bytes


class Folded(_Event, frozen=True):
    """The first event of a log whose older events were deleted: the saved replica after event `number`."""

    number: int
    replica: bytes


class Asked(_Event, frozen=True):
    """A trial was drawn at `position` for a worker; its lease ends at `until` (None: never).

    `probes` are the positions of further parameters. `key` identifies the request: a repeated request with
    the same key returns the same trial. `explore` is the probability of a draw from the density. `own`: rho
    and alpha were given by the user, not drawn; `enqueued` is the key of the request if they have waited in
    the queue. `context` holds the known features of the instance.
    """

    trial: int
    position: float
    rho: int | float
    worker: str
    until: float | None = None
    alpha: float | list[Any] | None = None
    probes: list[float] | None = None
    key: str | None = None
    info: Info | None = None
    explore: float = 1.0
    own: bool = False
    enqueued: str | None = None
    context: dict[str, Any] | None = None

    def given(self, names: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the user's own values by name; None if the trial was drawn."""
        alpha = tuple(self.alpha) if isinstance(self.alpha, list) else self.alpha
        return values_of(names, self.rho, alpha) if self.own else None


class Enqueued(_Event, frozen=True):
    """Values of the user's own wait for the next ask. A repeated request with the same key counts once."""

    values: dict[str, Any]
    key: str


class Told(_Event, frozen=True):
    """Feedback of a trial; `probability` is the divisor of the importance weight, or one for each position.

    It is an empty list for a user's own values from which the density has learned nothing.
    `width` is the width of the observed interval around the played parameter. Loss and width are None if
    the feedback covers the probes only. `predicted` is the prediction of the loss that was given with it.
    """

    trial: int
    seen: LoggedFeedback
    loss: float | None
    probability: float | list[float]
    width: float | None = None
    info: Info | None = None
    predicted: float | Function | None = None


class Failed(_Event, frozen=True):
    """A run failed: the learner counts it and learns nothing."""

    trial: int
    failure: str
    info: Info | None = None


class Forgotten(_Event, frozen=True):
    """A trial was given up, or its lease expired; `failure` tells which."""

    trial: int
    failure: str


class Renewed(_Event, frozen=True):
    """The lease of a trial was renewed."""

    trial: int
    until: float | None = None


class Changed(_Event, frozen=True):
    """The default lease, the note, or whether the study is paused was changed."""

    settings: dict[str, Any]


class Extended(_Event, frozen=True):
    """A race has more instances or runs, or makes its failed runs again."""

    instances: list[str]
    runs: int
    retry_failed: bool = False


Event = Created | Folded | Enqueued | Asked | Told | Failed | Forgotten | Renewed | Changed | Extended

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def encode(event: Event) -> str:
    """Return an event as one line of JSON."""
    return _encoder.encode(event).decode()


def decode(line: str | bytes) -> Event:
    """Return the event that `encode` wrote."""
    event: Event = _decoder.decode(line)
    return event


def pack(seen: Any) -> LoggedFeedback:
    """Convert feedback to the form of the log."""
    if isinstance(seen, PiecewiseConstant):
        # Same as `to_dict`, which is slower.
        return Function(seen.edges.tolist(), [None if x != x else x for x in seen.values.tolist()])
    if isinstance(seen, PiecewiseLinear | Boxes):
        return msgspec.convert(seen.to_dict(), Function)
    if isinstance(seen, list | tuple):
        return [None if part is None else pack_one(part, "each entry of seen") for part in seen]
    return _validate.number("seen", seen)


def pack_one(given: Any, name: str) -> float | Function:
    """Convert a number or a function to the form of the log."""
    if isinstance(given, list | tuple):
        raise TypeError(f"{name} must be a number or a function, got {given!r}")
    packed = pack(given)
    assert not isinstance(packed, list)
    return packed


def unpack(seen: LoggedFeedback) -> PiecewiseConstant | PiecewiseLinear | Boxes | float | list[Any]:
    """Return the feedback that `pack` converted, exactly."""
    if isinstance(seen, Function):
        return _function(seen)
    if isinstance(seen, Sequence):
        return [None if part is None else unpack(part) for part in seen]
    return seen


def _function(seen: Function) -> PiecewiseConstant | PiecewiseLinear | Boxes:
    values = seen.values
    if seen.boxes is not None:
        return Boxes.from_dict({"boxes": seen.boxes})
    if values is not None and seen.left is None and seen.right is None:
        if len(values) == 1 and len(seen.edges) == 2 and values[0] is not None:
            return PiecewiseConstant.constant(seen.edges[0], seen.edges[1], values[0])
        return PiecewiseConstant.from_dict({"edges": seen.edges, "values": values})
    if values is None and seen.left is not None and seen.right is not None:
        return PiecewiseLinear.from_dict({"edges": seen.edges, "left": seen.left, "right": seen.right})
    raise ValueError("a function must have edges and values, edges, left and right, or boxes")
