"""Problems with stored loss functions."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from semibandit.functions import Piecewise
from semibandit.spaces import Boxes, call, name_along

__all__ = ["StoredLosses"]


class StoredLosses:
    """A problem whose whole loss function is computed at its first use, and stored.

    All other attributes are those of the problem, and a plain run remains a plain run. Regret, dispersion
    and plots of a list of these share one computation of the loss functions, and memory for all of them.

    >>> import semibandit as sb
    >>> problems = [StoredLosses(problem) for problem in sb.streams.synthetic(10)]
    >>> problems[0].losses() is problems[0].losses()
    True
    """

    # From Python 3.12 on, `isinstance(stored, Problem)` inspects the class and does not call `__getattr__`.
    space = property(attrgetter("problem.space"))
    high = property(attrgetter("problem.high"))
    maximize = property(attrgetter("problem.maximize"))
    loss = property(attrgetter("problem.loss"))
    reveal = property(attrgetter("problem.reveal"))

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self._function: Piecewise | Boxes | None = None

    def losses(self) -> Piecewise | Boxes:
        """Return the whole loss function."""
        if self._function is None:
            self._function = self.problem.losses()
        return self._function

    def fixed(self, *args: Any, **values: Any) -> float:
        """Return the loss of a parameter: from the stored function if there is one, else by a run."""
        parameters = values or args
        if self._function is None:
            return float(call(self.problem.loss, parameters))
        space = self.problem.space
        at = call(space.place, parameters)
        played = space.parameters(*space.line.read(at))
        along = name_along(space.names, space.alphas[0])
        if any(played[name] != values[name] for name in space.names if name != along):  # no such row
            return float(call(self.problem.loss, parameters))
        return float(space.line.on_rows(self._function)(at))

    def __getattr__(self, name: str) -> Any:
        if name == "problem":  # while being unpickled
            raise AttributeError(name)
        return getattr(self.problem, name)

    def __repr__(self) -> str:
        return f"StoredLosses({self.problem!r})"
