"""Kinds of knobs: real numbers, whole numbers, choices."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from semibandit import _validate
from semibandit.spaces.bands import Even, Logs, Ruler
from semibandit.spaces.interval import Interval
from semibandit.spaces.scales import Atoms, Scale, Smooth

__all__ = ["Choice", "Integer", "Kind", "Real", "read_kind"]

# Across the rows a real knob takes values from a grid this fine, which thirds divide.
_FINEST = 3**20
_LARGEST = 2**53
_LARGEST_LOG = 10**14  # doubles tell the logarithms of whole numbers apart up to here


class Kind(Protocol):
    """What a knob's values are."""

    name: ClassVar[str]
    ordered: ClassVar[bool]  # whether values have neighbours

    @property
    def count(self) -> int:
        """The number of values to choose from, across the rows."""
        ...

    @property
    def ruler(self) -> Ruler:
        """How they lie beside each other."""
        ...

    def pick(self, i: int) -> Any:
        """The i-th of them."""
        ...

    def index(self, value: Any) -> int:
        """The number of a value that was checked, or of the one that stands for it."""
        ...

    def check(self, name: str, value: Any) -> Any:
        """The value, or an error that names the knob."""
        ...

    def inside(self, name: str, wanted: Any) -> tuple[Any, Any] | tuple[Any, ...]:
        """What a side of a box says, checked: see `Boxes`."""
        ...

    def holds(self, wanted: Any, value: Any) -> bool:
        """Whether a value is on a side of a box that was checked."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `read_kind` undoes it."""
        ...


class _Ordered:
    """What real and whole numbers share."""

    name: ClassVar[str]
    ordered: ClassVar[bool] = True
    lo: Any
    hi: Any

    @property
    def count(self) -> int:
        raise NotImplementedError

    @cached_property
    def ruler(self) -> Ruler:
        """How values lie beside each other, across the rows; those of a real log scale were made even."""
        return Even(self.count)

    def check(self, name: str, value: Any) -> Any:
        raise NotImplementedError

    def inside(self, name: str, wanted: Any) -> tuple[Any, Any]:
        """A pair (lo, hi), or the value alone."""
        if not isinstance(wanted, tuple | list):
            value = self.check(name, wanted)
            return value, value
        if len(wanted) != 2:
            raise ValueError(f"{name} must be a value or a pair (lo, hi), got {wanted!r}")
        lo, hi = (_validate.number(name, end) for end in wanted)
        if not lo < hi:
            raise ValueError(f"{name} must be a pair (lo, hi) with lo < hi, got {wanted!r}")
        return lo, hi

    def holds(self, wanted: tuple[Any, Any], value: Any) -> bool:
        """Whether a value is in [lo, hi), which is closed where the knob ends, or is the one wanted."""
        lo, hi = wanted
        return bool(lo <= value < hi or (value == hi and (lo == hi or hi == self.hi)))

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `read_kind` undoes it."""
        return {"kind": self.name} | asdict(self)  # type: ignore[call-overload,no-any-return]


@dataclass(frozen=True)
class Real(_Ordered):
    """A knob with real values in [lo, hi].

    Parameters
    ----------
    lo, hi
        The ends, lo < hi.
    log
        Values are drawn evenly in their logarithm; needs lo > 0.
    step
        Only lo, lo + step, ..., hi are values; hi must be among them.

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
        interval = Interval(self.lo, self.hi)  # raises where the ends are no ends
        object.__setattr__(self, "lo", interval.lo)
        object.__setattr__(self, "hi", interval.hi)
        object.__setattr__(self, "log", _validate.boolean("log", self.log))
        if self.log and not self.lo > 0.0:
            raise ValueError(f"a log scale must stay above zero, got lo = {self.lo}")
        if self.log and not math.log(self.lo) < math.log(self.hi):
            raise ValueError(f"lo and hi are too close for a log scale, got {self.lo} and {self.hi}")
        if self.step is not None:
            object.__setattr__(self, "step", self._checked_step(self.step))

    def _checked_step(self, step: Any) -> float:
        width = _validate.number("step", step, low=0.0, open=True)
        if self.log:
            raise ValueError(f"give log or step, not both, got step = {width}")
        steps = (self.hi - self.lo) / width
        if not 0.5 < steps < _LARGEST or abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(
                f"hi must be lo and a whole number of steps, got {self.lo}, {self.hi} and step = {width}"
            )
        return width

    @cached_property
    def scale(self) -> Scale:
        """How values lie on a line."""
        if self.step is None:
            return Smooth(self.lo, self.hi, self.log)
        return Atoms(self.lo, self.hi, self.count)

    @property
    def count(self) -> int:
        """The number of values to choose from, across the rows."""
        return _FINEST if self.step is None else round((self.hi - self.lo) / self.step) + 1

    def pick(self, i: int) -> float:
        """The i-th of them."""
        lo, hi = self.scale.ends
        return float(self.scale.value(lo + (hi - lo) * ((2 * i + 1) / (2 * self.count))))

    def index(self, value: float) -> int:
        """The number of a value, or of the one that stands for it."""
        if self.step is not None:
            return round((value - self.lo) / self.step)
        lo, hi = self.scale.ends
        share = (self.scale.cut(value) - lo) / (hi - lo)
        return min(int(share * self.count), self.count - 1)

    def check(self, name: str, value: Any) -> float:
        """The value as a float, or an error that names the knob."""
        x = _validate.number(name, value, low=self.lo, high=self.hi)
        if self.step is not None:
            near = self.pick(min(round((x - self.lo) / self.step), self.count - 1))
            if abs(near - x) > 1e-9 * self.step:
                raise ValueError(
                    f"{name} must be {self.lo:g} and a whole number of steps of {self.step:g}, got {x!r}"
                )
            return near
        return x


@dataclass(frozen=True)
class Integer(_Ordered):
    """A knob with whole values lo, lo + 1, ..., hi.

    Parameters
    ----------
    lo, hi
        The ends, lo < hi.
    log
        Values are drawn evenly in their logarithm; needs lo >= 1 and hi <= 10¹⁴.

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
        for end in ("lo", "hi"):
            checked = _validate.integer(end, getattr(self, end), low=-_LARGEST, high=_LARGEST)
            object.__setattr__(self, end, checked)
        object.__setattr__(self, "log", _validate.boolean("log", self.log))
        if not self.lo < self.hi:
            raise ValueError(f"lo must be below hi, got lo = {self.lo} and hi = {self.hi}")
        if self.log and self.lo < 1:
            raise ValueError(f"a log scale must stay above zero, got lo = {self.lo}")
        if self.log and self.hi > _LARGEST_LOG:
            raise ValueError(f"hi must be at most {_LARGEST_LOG:g} on a log scale, got {self.hi}")

    @cached_property
    def scale(self) -> Scale:
        """How values lie on a line."""
        return Atoms(self.lo, self.hi, self.count, self.log)

    @property
    def count(self) -> int:
        """The number of values."""
        return self.hi - self.lo + 1

    @cached_property
    def ruler(self) -> Ruler:
        """How values lie beside each other, across the rows."""
        return Logs(self.lo, self.hi) if self.log else Even(self.count)

    def pick(self, i: int) -> int:
        """The i-th value."""
        return self.lo + i

    def index(self, value: int) -> int:
        """The number of a value."""
        return value - self.lo

    def check(self, name: str, value: Any) -> int:
        """The value as an int, or an error that names the knob."""
        if isinstance(value, float | np.floating) and float(value).is_integer():
            value = int(value)
        return _validate.integer(name, value, low=self.lo, high=self.hi)


@dataclass(frozen=True, init=False)
class Choice:
    """A knob with values that have no order: texts, numbers, True, False or None.

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
        """The number of values."""
        return len(self.values)

    @property
    def ruler(self) -> Ruler:
        """None is a neighbour of another."""
        return Even(self.count)

    def pick(self, i: int) -> Any:
        """The i-th value."""
        return self.values[i]

    def index(self, value: Any) -> int:
        """The number of a value."""
        return self.values.index(value)

    def check(self, name: str, value: Any) -> Any:
        """The value, or an error that names the knob."""
        try:
            return self.values[self.values.index(value)]
        except ValueError:
            raise ValueError(
                f"{name} must be one of {', '.join(map(repr, self.values))}, got {value!r}"
            ) from None

    def inside(self, name: str, wanted: Any) -> tuple[Any, ...]:
        """A value, or a list of several."""
        several = wanted if isinstance(wanted, tuple | list) else (wanted,)
        return tuple(self.check(name, value) for value in several)

    def holds(self, wanted: tuple[Any, ...], value: Any) -> bool:
        """Whether a value is among those wanted."""
        return value in wanted

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `read_kind` undoes it."""
        return {"kind": self.name, "values": list(self.values)}


def read_kind(data: dict[str, Any]) -> Kind:
    """The kind that `to_dict` has taken apart.

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
