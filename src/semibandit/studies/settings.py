"""Settings of a study: the kind of learner, its space, seed and options."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import msgspec

from semibandit import _validate, spaces
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Exp3Grid, Exp3Set, Learner, Trial, storage
from semibandit.learners.race import Race, RaceTrial
from semibandit.learners.rates import Rate
from semibandit.spaces import Context, Space

__all__ = ["LEARNERS", "LearnerKind", "StudySettings", "check_name", "read_space"]

_MAX_NAME = 200  # characters


class LearnerKind(NamedTuple):
    """A class of learners that studies can hold: how to create, save and load one, and its trials."""

    create: Callable[..., Any]
    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes, str], Any]
    trial: type[Trial] = Trial
    compiled: bool = True  # its first round compiles kernels
    certified: bool = True  # it has a method `certificate`


LEARNERS = {
    "Exp3Set": LearnerKind(Exp3Set, storage.dumps, storage.loads),
    "Exp3Grid": LearnerKind(Exp3Grid, storage.dumps, storage.loads),
    "Race": LearnerKind(Race, Race.dumps, Race.loads, RaceTrial, compiled=False, certified=False),
}


class StudySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Arguments of a learner as plain data; `options` holds those that differ from the defaults."""

    space: dict[str, Any]
    learner: str = "Exp3Set"
    seed: int | None = None
    options: dict[str, Any] = {}

    @classmethod
    def of(cls, space: Space, learner: str, seed: int | None, options: dict[str, Any]) -> StudySettings:
        """Convert arguments to plain data."""
        space = spaces.as_space(space)
        _validate.choice("learner", learner, tuple(LEARNERS))
        if seed is not None:
            seed = _validate.seed("seed", seed)
        # Through JSON, so that given settings compare equal to logged ones.
        text = msgspec.json.encode([space.to_dict(), options], enc_hook=_plain)
        plain = msgspec.json.decode(text)
        return cls(plain[0], learner, seed, plain[1])

    @classmethod
    def given(
        cls, space: Space | None, learner: str, seed: int | None, options: dict[str, Any]
    ) -> StudySettings | None:
        """Return the settings of somebody who opens a study; None without a space, to join any study."""
        if space is not None:
            return cls.of(space, learner, seed, options)
        if options or seed is not None:
            raise ValueError(f"settings of a learner need a space, got {', '.join(options) or 'seed'} alone")
        return None

    @property
    def kind(self) -> LearnerKind:
        """How the learner is created, saved and loaded."""
        return LEARNERS[_validate.choice("learner", self.learner, tuple(LEARNERS))]

    def seeded(self) -> StudySettings:
        """Return the same settings with a seed, drawn if none was given."""
        seed = secrets.randbits(32) if self.seed is None else self.seed
        return msgspec.structs.replace(self, seed=seed)

    def make(self) -> Learner:
        """Create the learner; raises ValueError or TypeError for wrong arguments."""
        options = dict(self.options)
        if isinstance(options.get("rate"), dict):
            options["rate"] = _converted("rate", options["rate"], Rate)
        if isinstance(options.get("prior"), dict):
            options["prior"] = PiecewiseConstant.from_dict(options["prior"])
        if isinstance(options.get("context"), dict):
            options["context"] = read_context(options["context"])
        learner: Learner = self.kind.create(read_space(self.space), seed=self.seed, **options)
        return learner

    def differences(self, other: StudySettings) -> Iterator[str]:
        """Describe each setting of `other` that differs. A missing seed agrees with every seed."""
        ours, theirs = (
            {"learner": x.learner, "space": x.space, "seed": x.seed} | x.options for x in (self, other)
        )
        if other.seed is None:
            theirs["seed"] = self.seed
        for name in ours | theirs:
            mine, given = (x.get(name, "not given") for x in (ours, theirs))
            if mine != given:
                yield f"{name} = {given} (it was {mine})"


def read_space(data: dict[str, Any]) -> Space:
    """Return the space from the form in which settings keep it."""
    try:
        return spaces.restore(data)
    except (KeyError, AttributeError) as error:
        raise ValueError(f"space must be an Interval, Strips or Knobs, got {data!r} ({error})") from None
    except TypeError as error:
        raise TypeError(f"space must be an Interval, Strips or Knobs: {error}") from None


def read_context(data: dict[str, Any]) -> Context:
    """Return the context from the form in which settings keep it."""
    try:
        return Context.from_dict(data)
    except (KeyError, TypeError) as error:
        raise ValueError(f"context must be a Context, got {data!r} ({error})") from None


def check_name(name: Any) -> str:
    """Check the name of a study: printable text of at most 200 characters."""
    if not isinstance(name, str):
        raise TypeError(f"the name of a study must be a string, got {name!r}")
    if not (0 < len(name) <= _MAX_NAME and name.isprintable()):
        raise ValueError(f"the name of a study must be 1 to {_MAX_NAME} printable characters, got {name!r}")
    return name


def _converted(name: str, data: Any, kind: Any) -> Any:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise ValueError(f"{name} cannot be read: {error}") from None


def _plain(value: Any) -> Any:
    """Convert rates, functions and numpy scalars for JSON."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"a setting must be plain data, a rate or a function, got {value!r}")
