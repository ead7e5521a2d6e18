"""Problems that are looked at several times."""

from __future__ import annotations

from typing import Any

from semibandit.functions import Piecewise

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

    def __init__(self, problem: Any) -> None:
        self.problem = problem
        self._function: Piecewise | None = None

    def losses(self) -> Piecewise:
        """The whole loss function."""
        if self._function is None:
            self._function = self.problem.losses()
        return self._function

    def fixed(self, *parameters: Any) -> float:
        """The loss of a fixed parameter: read off the whole function where it is known, else by a run."""
        if self._function is None:
            return float(self.problem.loss(*parameters))
        return float(self._function(self.problem.space.place(*parameters)))

    def __getattr__(self, name: str) -> Any:
        if name == "problem":  # while a copy is being made
            raise AttributeError(name)
        return getattr(self.problem, name)

    def __repr__(self) -> str:
        return f"Kept({self.problem!r})"
