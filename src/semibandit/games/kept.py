"""Problems that are looked at several times."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, call

__all__ = ["Kept"]


class Kept:
    """A problem whose whole loss function is computed once, when it is first asked for, and kept.

    All else is that of the problem: a plain run stays a plain run. A list of these is played, looked back
    at, measured and drawn at the cost of one pass; it takes the memory of all functions.

    >>> import semibandit as sb
    >>> problems = [Kept(problem) for problem in sb.streams.synthetic(10)]
    >>> problems[0].losses() is problems[0].losses()
    True
    """

    # From Python 3.12 on `isinstance(kept, Problem)` looks at the class, and does not ask `__getattr__`.
    space = property(attrgetter("problem.space"))
    high = property(attrgetter("problem.high"))
    maximize = property(attrgetter("problem.maximize"))
    loss = property(attrgetter("problem.loss"))
    reveal = property(attrgetter("problem.reveal"))

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self._function: Piecewise | Boxes | None = None

    def losses(self) -> Piecewise | Boxes:
        """The whole loss function."""
        if self._function is None:
            self._function = self.problem.losses()
        return self._function

    def fixed(self, *args: Any, **values: Any) -> float:
        """The loss of a fixed parameter: read off the whole function where it is known, else by a run."""
        parameters = values or args
        if self._function is None:
            return float(call(self.problem.loss, parameters))
        space = self.problem.space
        at = call(space.place, parameters)
        played = space.parameters(*space.line.read(at))
        if any(played[name] != values[name] for name in space.names[1:]):  # no row has these values
            return float(call(self.problem.loss, parameters))
        return float(space.line.on_rows(self._function)(at))

    def __getattr__(self, name: str) -> Any:
        if name == "problem":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.problem, name)

    def __repr__(self) -> str:
        return f"Kept({self.problem!r})"
