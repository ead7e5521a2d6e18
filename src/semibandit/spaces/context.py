"""Contexts: features of an instance that are known before its parameter is chosen."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._validate import FloatArray
from semibandit.spaces.kinds import Choice, Integer, Number, Real, read_kind

__all__ = ["Column", "Context", "Feature", "Label", "Point"]

Point = tuple[Any, ...]  # the value of each feature, None if unknown

_FEW = 8  # choices with a column of their own; more are labels
_LONGEST = 256  # characters of a label
_UNKNOWN = -1.0  # coordinate of an unknown number; known ones are in [0, 1]


@dataclass(frozen=True)
class Label:
    """Feature whose values are not known in advance, such as customers: texts or integers.

    >>> Label().check("customer", 7)
    '7'
    """

    name: ClassVar[str] = "label"

    def check(self, name: str, value: Any) -> str:
        """Return the label as text."""
        if isinstance(value, bool | np.bool_) or not isinstance(value, str | int | np.integer):
            raise TypeError(f"{name} must be a text, an integer or None, got {value!r}")
        text = str(value)
        if len(text) > _LONGEST:
            raise ValueError(f"{name} must have at most {_LONGEST} characters, got {len(text)}")
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"kind": self.name}


Feature = Real | Integer | Choice | Label


class Column(NamedTuple):
    """Coordinate of a context: a number, or 1 for one value of a choice and 0 for the others."""

    feature: int
    number: Number | None
    value: Any = None


class Context:
    """Features of an instance: `Real`, `Integer`, `Choice` or `Label`, by name.

    A missing feature or None is unknown, which is a value of its own. A number outside its range counts as
    the nearest end, with one warning for each feature.

    Examples
    --------
    >>> context = Context(size=Real(10, 1e5, log=True), kind=Choice("a", "b"), customer=Label())
    >>> context
    Context(size=Real(lo=10.0, hi=100000.0, log=True, step=None), kind=Choice('a', 'b'), customer=Label())
    >>> context.read({"size": 400, "customer": 7})
    (400.0, None, '7')
    """

    def __init__(self, **features: Feature) -> None:
        if not features:
            raise ValueError("a Context must have at least one feature, got none")
        for name, kind in features.items():
            if not isinstance(kind, Feature):
                raise TypeError(f"feature {name!r} must be a Real, Integer, Choice or Label, got {kind!r}")
        self.features = features
        self.names = tuple(features)
        self._warned: set[str] = set()
        self.columns: list[Column] = []
        self.labels: list[int] = []  # features that are labels, or choices with many values
        for i, kind in enumerate(features.values()):
            if isinstance(kind, Number):
                self.columns.append(Column(i, kind))
            elif isinstance(kind, Choice) and kind.count <= _FEW:
                self.columns.extend(Column(i, None, value) for value in kind.values)
            else:
                self.labels.append(i)

    def read(self, given: Any) -> Point:
        """Check a context; return the value of each feature, in the order of the features."""
        if given is None:
            return (None,) * len(self.names)
        if not isinstance(given, dict):
            raise TypeError(f"context must be a dict with values for {', '.join(self.names)}, got {given!r}")
        unknown = [name for name in given if name not in self.features]
        if unknown:
            raise ValueError(
                f"context must have no other keys than {', '.join(self.names)}, got {unknown[0]!r}"
            )
        point, outside = [], []
        for name, kind in self.features.items():
            value = given.get(name)
            if value is not None:
                value, is_outside = _checked(f"context[{name!r}]", kind, value)
                if is_outside and name not in self._warned:
                    outside.append((name, given[name]))
            point.append(value)
        for name, value in outside:
            self._warned.add(name)
            number: Any = self.features[name]
            message = f"context[{name!r}] = {value!r} is outside [{number.lo:g}, {number.hi:g}]"
            warnings.warn(f"{message}; it counts as the nearest end", RuntimeWarning, stacklevel=4)
        return tuple(point)

    def named(self, point: Point) -> dict[str, Any]:
        """Return the known features of a point, by name."""
        return {name: value for name, value in zip(self.names, point, strict=True) if value is not None}

    def coordinates(self, point: Point) -> FloatArray:
        """Return the value of each column: numbers in [0, 1] or -1 if unknown, choices 0 or 1."""
        out = np.empty(len(self.columns))
        for i, (feature, number, value) in enumerate(self.columns):
            given = point[feature]
            if number is None:
                # True == 1 in Python, but these are different choices
                out[i] = float(given == value and type(given) is type(value))
            else:
                out[i] = _UNKNOWN if given is None else number.coordinate(given)
        return out

    def keys(self, point: Point) -> tuple[str, ...]:
        """Return the text of each label; "" if it is unknown."""
        return tuple("" if point[i] is None else f"{point[i]}" for i in self.labels)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for `from_dict`."""
        return {name: kind.to_dict() for name, kind in self.features.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Context:
        """Return the context from its `to_dict`.

        >>> context = Context(n=Integer(1, 9), user=Label())
        >>> Context.from_dict(context.to_dict()) == context
        True
        """
        return cls(
            **{
                name: Label() if kind["kind"] == Label.name else read_kind(kind)
                for name, kind in data.items()
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and list(self.features.items()) == list(other.features.items())

    def __hash__(self) -> int:
        return hash(tuple(self.features.items()))

    def __repr__(self) -> str:
        return f"Context({', '.join(f'{name}={kind!r}' for name, kind in self.features.items())})"


def _checked(name: str, kind: Feature, value: Any) -> tuple[Any, bool]:
    """Return the value in its own type, within the range, and whether it was outside."""
    if not isinstance(kind, Number):
        return kind.check(name, value), False
    if type(value) is float and kind.lo <= value <= kind.hi and type(kind) is Real:  # the common case
        return value, False
    if isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be a number or None for unknown, got {value!r}")
    try:
        x = math.inf if isinstance(value, int) and value > 10**300 else value
        if not abs(x) < math.inf and x == x:
            x = kind.hi if x > 0 else kind.lo
            return x, True
    except TypeError:
        pass  # `number` names what came
    x = _validate.number(name, x)
    if isinstance(kind, Integer) and x != round(x):
        raise TypeError(f"{name} must be a whole number or None for unknown, got {value!r}")
    inside = min(max(x, kind.lo), kind.hi)
    return (int(inside) if isinstance(kind, Integer) else float(inside)), inside != x
