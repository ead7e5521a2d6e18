"""What a study is begun with: a kind of learner, its space, seed and options."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from semibandit import _validate, spaces
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Exp3Grid, Exp3Set, Learner, storage
from semibandit.learners.race import Race
from semibandit.learners.rates import Rate
from semibandit.spaces import Space
from semibandit.studies import events
from semibandit.studies.events import Created

__all__ = ["LEARNERS", "LearnerKind", "Settings", "check_name", "first_event", "read_space"]


class LearnerKind(NamedTuple):
    """A class of learners that studies can hold: how to create, save and load one."""

    create: Callable[..., Any]
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes, str], Any]
    compiled: bool = True  # its first round compiles kernels


LEARNERS = {
    "Exp3Set": LearnerKind(Exp3Set, storage.dumps, storage.loads),
    "Exp3Grid": LearnerKind(Exp3Grid, storage.dumps, storage.loads),
    "Race": LearnerKind(Race, Race.dumps, Race.loads, compiled=False),
}
_LONGEST_NAME = 200


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The arguments of a learner as plain data; `options` holds those that were given."""

    space: dict[str, Any]
    learner: str = "Exp3Set"
    seed: int | None = None
    options: dict[str, Any] = {}

    @classmethod
    def of(cls, space: Space, learner: str, seed: int | None, options: dict[str, Any]) -> Settings:
        """Take arguments apart."""
        if not isinstance(space, Space):
            raise TypeError(f"space must be an Interval, Strips or Knobs, got {space!r}")
        _validate.choice("learner", learner, tuple(LEARNERS))
        # Through JSON, so that what is given compares equal to what comes out of a log.
        text = msgspec.json.encode([space.to_dict(), options], enc_hook=_plain)
        plain = msgspec.json.decode(text)
        return cls(plain[0], learner, seed, plain[1])

    def seeded(self) -> Settings:
        """The same with a seed, drawn where none was given."""
        seed = secrets.randbits(32) if self.seed is None else _validate.integer("seed", self.seed, low=0)
        return msgspec.structs.replace(self, seed=seed)

    def make(self) -> Learner:
        """A fresh learner; what is wrong with the arguments is an error here."""
        options = dict(self.options)
        if isinstance(options.get("rate"), dict):
            options["rate"] = _converted("rate", options["rate"], Rate)
        if isinstance(options.get("prior"), dict):
            options["prior"] = PiecewiseConstant.from_dict(options["prior"])
        learner: Learner = self.kind.create(read_space(self.space), seed=self.seed, **options)
        return learner

    @property
    def kind(self) -> LearnerKind:
        """How the learner is created, saved and loaded."""
        return LEARNERS[_validate.choice("learner", self.learner, tuple(LEARNERS))]

    def differences(self, other: Settings) -> Iterator[str]:
        """What `other` says otherwise, in words. A seed that is not given is no difference."""
        for name in ("learner", "space"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours != theirs:
                yield f"{name} = {theirs} (it was {ours})"
        if other.seed is not None and other.seed != self.seed:
            yield f"seed = {other.seed} (it was {self.seed})"
        for name in sorted(self.options.keys() | other.options.keys()):
            ours, theirs = (s.options.get(name, "not given") for s in (self, other))
            if ours != theirs:
                yield f"{name} = {theirs} (it was {ours})"


def first_event(settings: Settings, at: float) -> str:
    """The event with which a study begins."""
    seeded = settings.seeded()
    return events.encode(Created(at, msgspec.to_builtins(seeded), seeded.kind.dumps(seeded.make())))


def read_space(data: dict[str, Any]) -> Space:
    """The space that `Settings.of` took apart."""
    try:
        return spaces.restore(data)
    except (KeyError, AttributeError) as error:
        raise ValueError(
            f"space is not that of an Interval, of Strips or of Knobs: {data!r} ({error})"
        ) from None
    except TypeError as error:
        raise TypeError(f"space is not that of an Interval, of Strips or of Knobs: {error}") from None


def check_name(name: Any) -> str:
    """The name of a study, which is any printable text that is not too long."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a study must be a string, got {name!r}")
    if not (0 < len(name) <= _LONGEST_NAME and name.isprintable()):
        raise ValueError(
            f"the name of a study must be 1 to {_LONGEST_NAME} printable characters, got {name!r}"
        )
    return name


def _converted(name: str, data: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name} cannot be read: {error}") from None


def _plain(value: Any) -> Any:
    """Numbers of numpy, and whatever says of itself how it is written."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a setting must be plain data, a rate or a function, got {value!r}")
