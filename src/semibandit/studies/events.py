"""What can happen to a study. Its log of events, in the order that the store gives, is all there is to it.

An event is one line of JSON; its field `event` says which kind it is. Numbers are written with as many
digits as bring them back to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from semibandit import _validate
from semibandit.functions import PiecewiseConstant, PiecewiseLinear
from semibandit.spaces import Boxes

__all__ = [
    "Asked",
    "Changed",
    "Created",
    "Event",
    "Extended",
    "Failed",
    "Forgotten",
    "Function",
    "Info",
    "Renewed",
    "Seen",
    "Told",
    "decode",
    "encode",
    "pack",
    "unpack",
]

Info = dict[str, str | int | float | bool | None]


class Function(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A function as its `to_dict` gives it: steps have `values`, lines have `left` and `right`.

    Of several knobs, `boxes` has functions and what the other knobs may be; see `semibandit.Boxes`.
    """

    edges: list[float] = []
    values: list[float | None] | None = None
    left: list[float | None] | None = None
    right: list[float | None] | None = None
    boxes: list[Any] | None = None


# A loss, a function seen in part, or one of these for each look at an instance (None: it is missing).
Seen = float | Function | list[float | Function | None]


class _Event(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="event", tag=str.lower):
    at: float  # seconds since 1970, by the store's clock; never decreases


class Created(_Event, frozen=True):
    """The study begins, with a fresh learner: as it was described, and as it is saved."""

    settings: dict[str, Any]
    learner: bytes


class Asked(_Event, frozen=True):
    """A trial was drawn at `position`, for a worker that has it until the lease ends (None: for ever).

    `probes` are the positions of further looks. `key` names the request: the same one again gets the same
    trial.
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


class Told(_Event, frozen=True):
    """A trial was told; `probability` is that by which the learner divided, or one for each position.

    A journal of `semibandit tune` has no probabilities: there they are computed again. `width` is that of
    the interval that was seen; it and the loss are missing where the played parameter was not looked at.
    """

    trial: int
    seen: Seen
    loss: float | None
    probability: float | list[float] | None
    width: float | None = None
    info: Info | None = None


class Failed(_Event, frozen=True):
    """A run failed: nothing is learned from it."""

    trial: int
    failure: str
    info: Info | None = None


class Forgotten(_Event, frozen=True):
    """A trial was given up, or its lease ran out."""

    trial: int
    reason: str


class Renewed(_Event, frozen=True):
    """A worker keeps its trial for longer."""

    trial: int
    until: float | None = None


class Changed(_Event, frozen=True):
    """Settings that no learning depends on have other values now."""

    settings: dict[str, Any]


class Extended(_Event, frozen=True):
    """A race has more instances or runs, or makes its failed runs again."""

    instances: list[str]
    runs: int
    retry_failed: bool = False


Event = Created | Asked | Told | Failed | Forgotten | Renewed | Changed | Extended

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


def encode(event: Event) -> str:
    """One line of JSON."""
    return _encoder.encode(event).decode()


def decode(line: str | bytes) -> Event:
    """Undo `encode`."""
    event: Event = _decoder.decode(line)
    return event


def pack(seen: Any) -> Seen:
    """What is told to a learner, in the form of a log."""
    if isinstance(seen, PiecewiseConstant):
        # As its `to_dict` does, but for the usual case of one piece without detours.
        return Function(seen.edges.tolist(), [None if x != x else x for x in seen.values.tolist()])
    if isinstance(seen, PiecewiseLinear | Boxes):
        return msgspec.convert(seen.to_dict(), Function)
    if isinstance(seen, list | tuple):
        return [None if part is None else _pack_one(part) for part in seen]
    return _validate.number("seen", seen)


def _pack_one(seen: Any) -> float | Function:
    packed = pack(seen)
    if isinstance(packed, list):
        raise TypeError(f"what was seen at a position must be a function or a loss, got {seen!r}")
    return packed


def unpack(seen: Seen) -> PiecewiseConstant | PiecewiseLinear | Boxes | float | list[Any]:
    """Undo `pack`, to the bit."""
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
