"""Kinds of knobs: real numbers, integers, choices.

Every kind has `count`, its number of values; `check`; `within`, a test for the ranges of `Boxes`; and
`coordinate`, with which the nearest row is found. `Real` and `Integer` also have a `scale`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from semibandit import _validate
from semibandit.spaces.scales import ContinuousScale, DiscreteScale, Scale

__all__ = ["Choice", "Integer", "Kind", "Number", "Real", "When", "read_kind"]

_LARGEST = 2**53
_LARGEST_LOG = 10**14  # up to here the logarithms of neighbouring integers are different doubles
_FAR = 1e3  # distance of two choices; numbers are at most 1 apart


class Number:
    """Base of the kinds whose values are ordered: `Real` and `Integer`."""

    name: ClassVar[str]
    ordered: ClassVar[bool] = True
    lo: Any
    hi: Any
    log: bool
    scale: Scale

    def _set(self, **attributes: Any) -> None:
        for name, value in attributes.items():
            object.__setattr__(self, name, value)  # the dataclass is frozen

    def _set_range(self, check: Callable[[str, Any], Any]) -> None:
        log = _validate.boolean("log", self.log)
        self._set(lo=check("lo", self.lo), hi=check("hi", self.hi), log=log)
        if not self.lo < self.hi:
            raise ValueError(f"lo must be below hi, got lo = {self.lo} and hi = {self.hi}")
        if self.log and not self.lo > 0:
            raise ValueError(f"lo must be above 0 on a log scale, got lo = {self.lo}")

    @property
    def count(self) -> float:
        """Number of values; inf for a `Real` without a step."""
        return self.scale.count

    def spread(self, n: int) -> list[Any]:
        """Return the values in the middles of n cells of equal length on the scale, or all if at most n."""
        start, end = self.scale.ends
        if self.count <= n:
            return [self.scale.at(i) for i in range(int(self.count))]  # type: ignore[union-attr]
        values = [self.scale.value(start + (end - start) * ((2 * i + 1) / (2 * n))) for i in range(n)]
        return list(dict.fromkeys(values))  # cells of a log scale may contain no integer of their own

    def coordinate(self, value: Any) -> float:
        """Return the position of a value on the scale, in [0, 1]."""
        start, end = self.scale.ends
        return (self.scale.place(value) - start) / (end - start)

    def check(self, name: str, value: Any) -> Any:
        """Return the value in its own type; raise an error that names the knob if there is no such value."""
        raise NotImplementedError

    def within(self, name: str, wanted: Any) -> Callable[[Any], bool]:
        """Return a test for [lo, hi), closed at the end of the knob, given (lo, hi); or for one value."""
        if not isinstance(wanted, tuple | list):
            only = self.check(name, wanted)
            return lambda value: bool(value == only)
        lo, hi = _validate.vector(name, wanted, length=2).tolist()
        if not lo < hi:
            raise ValueError(f"{name} must be a value or a pair (lo, hi) with lo < hi, got {wanted!r}")
        return lambda value: bool(lo <= value < hi or value == hi == self.hi)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `read_kind`."""
        return {"kind": self.name} | asdict(self)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True)
class Real(Number):
    """Knob with real values in [lo, hi].

    Parameters
    ----------
    lo, hi
        Ends, lo < hi.
    log
        Draw values uniformly in their logarithm; requires lo > 0.
    step
        Allow only lo, lo + step, ..., hi; hi must be one of them.

    Examples
    --------
    >>> Real(1e-4, 1, log=True)
    Real(lo=0.0001, hi=1.0, log=True, step=None)
    >>> Real(0, 1, step=0.05).count
    21
    """

    name: ClassVar[str] = "real"
    lo: float
    hi: float
    log: bool = False
    step: float | None = None

    def __post_init__(self) -> None:
        self._set_range(_validate.number)
        if not math.isfinite(self.hi - self.lo):
            raise ValueError(f"the length of the range must be finite, got {self!r}")
        if self.log and not math.log(self.lo) < math.log(self.hi):
            raise ValueError(f"lo and hi are too close for a log scale, got {self.lo} and {self.hi}")
        self._set(scale=ContinuousScale(self.lo, self.hi, self.log))
        if self.step is None:
            return
        step = _validate.number("step", self.step, low=0.0, open=True)
        if self.log:
            raise ValueError(f"give log or step, not both, got {self!r}")
        steps = (self.hi - self.lo) / step
        if not 0.5 < steps < _LARGEST or abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(f"hi must be lo plus a whole number of steps, got {self!r}")
        self._set(step=step, scale=DiscreteScale(self.lo, self.hi, round(steps) + 1))

    def check(self, name: str, value: Any) -> float:
        """Return the value as a float; raise an error that names the knob if there is no such value."""
        x = _validate.number(name, value, low=self.lo, high=self.hi)
        if self.step is None:
            return x
        scale: Any = self.scale
        nearest = float(scale.at(min(round((x - self.lo) / self.step), scale.count - 1)))
        if abs(nearest - x) > 1e-9 * self.step:
            raise ValueError(
                f"{name} must be {self.lo:g} plus a whole number of steps of {self.step:g}, got {x!r}"
            )
        return nearest


@dataclass(frozen=True)
class Integer(Number):
    """Knob with the values lo, lo + 1, ..., hi.

    Parameters
    ----------
    lo, hi
        Ends, lo < hi.
    log
        Draw values uniformly in their logarithm; requires lo >= 1 and hi <= 10¹⁴.

    Examples
    --------
    >>> Integer(1, 12).count
    12
    """

    name: ClassVar[str] = "integer"
    lo: int
    hi: int
    log: bool = False

    def __post_init__(self) -> None:
        self._set_range(lambda name, end: _validate.integer(name, end, low=-_LARGEST, high=_LARGEST))
        if self.log and self.hi > _LARGEST_LOG:
            raise ValueError(f"hi must be at most {_LARGEST_LOG:g} on a log scale, got {self.hi}")
        self._set(scale=DiscreteScale(self.lo, self.hi, self.hi - self.lo + 1, self.log))

    def check(self, name: str, value: Any) -> int:
        """Return the value as an int; raise an error that names the knob if there is no such value."""
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        return _validate.integer(name, value, low=self.lo, high=self.hi)


@dataclass(frozen=True, init=False)
class Choice:
    """Knob whose values have no order: texts, numbers, True, False or None.

    >>> Choice("fast", "good")
    Choice('fast', 'good')
    """

    name: ClassVar[str] = "choice"
    ordered: ClassVar[bool] = False
    values: tuple[Any, ...]

    def __init__(self, *values: Any) -> None:
        if not values:
            raise ValueError("a Choice must have at least one value, got none")
        for value in values:
            if value is not None and not isinstance(value, str | bool | int | float):
                raise TypeError(
                    f"a value of a Choice must be text, a number, True, False or None, got {value!r}"
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError(f"the values of a Choice must be finite, got {value!r}")
        if len(set(values)) < len(values):
            raise ValueError(f"the values of a Choice must differ, got {values!r}")
        object.__setattr__(self, "values", values)

    def __repr__(self) -> str:
        return f"Choice({', '.join(map(repr, self.values))})"

    @property
    def count(self) -> int:
        """Number of values."""
        return len(self.values)

    def coordinate(self, value: Any) -> float:
        """Return a position far from that of all other values."""
        return _FAR * self.values.index(value)

    def check(self, name: str, value: Any) -> Any:
        """Return the value; raise an error that names the knob if there is no such value."""
        if value not in self.values:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, self.values))}, got {value!r}")
        return self.values[self.values.index(value)]

    def within(self, name: str, wanted: Any) -> Callable[[Any], bool]:
        """Return a test for one value, or for a list of several."""
        several = wanted if isinstance(wanted, tuple | list) else (wanted,)
        values = [self.check(name, value) for value in several]
        return lambda value: value in values

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `read_kind`."""
        return {"kind": self.name, "values": list(self.values)}


Kind = Real | Integer | Choice


class When:
    """A knob that has an effect for one value of a `Choice` only, or for several (a tuple).

    >>> When(Real(1, 9), mode="good")
    When(Real(lo=1.0, hi=9.0, log=False, step=None), mode=('good',))
    """

    def __init__(self, kind: Kind | None = None, /, **condition: Any) -> None:
        if not isinstance(kind, Kind):
            raise TypeError(f"kind must be a Real, an Integer or a Choice, got {kind!r}")
        if len(condition) != 1:
            raise ValueError(f"a knob depends on one other knob, got {', '.join(condition) or 'none'}")
        self.kind = kind
        ((self.on, values),) = condition.items()
        self.values = tuple(values) if isinstance(values, tuple | list) else (values,)

    def __repr__(self) -> str:
        return f"When({self.kind!r}, {self.on}={self.values!r})"


def read_kind(data: dict[str, Any]) -> Kind:
    """Return the kind from its `to_dict`.

    >>> read_kind(Integer(1, 12).to_dict())
    Integer(lo=1, hi=12, log=False)
    """
    arguments = dict(data)
    match arguments.pop("kind"):
        case Real.name:
            return Real(**arguments)
        case Integer.name:
            return Integer(**arguments)
        case Choice.name:
            return Choice(*arguments["values"])
        case other:
            raise ValueError(f"a knob must be real, integer or choice, got {other!r}")
