"""Branch and bound: which variable to branch on, by a mix of two scores, in the solver SCIP.

Strong branching solves both children of each candidate. Let s₁ be the smaller and s₂ the larger gain of the
objective in the children. The variable with the largest ρ·s₁ + (1 - ρ)·s₂ is chosen (Balcan, Dick, Sandholm,
Vitercik 2018). Scores are lines in ρ, so every choice holds on an interval, and the whole search on their
intersection: exact feedback from one run.
"""

from __future__ import annotations

import math
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from semibandit import _validate
from semibandit._extras import needed
from semibandit.families.instance import before_end, interval_or
from semibandit.families.lines import LARGEST, top
from semibandit.families.stepwise import Stepwise

if TYPE_CHECKING:
    from semibandit.spaces.interval import Interval

__all__ = ["Branching", "Search"]

# Only the branching rule depends on ρ: no cuts, no restarts, no heuristics, one thread.
_SETTINGS: dict[str, Any] = {
    "display/verblevel": 0, "presolving/maxrestarts": 0, "estimation/restarts/restartpolicy": "n",
    "separating/maxrounds": 0,
    "separating/maxroundsroot": 0, "lp/threads": 1, "parallel/maxnthreads": 1,
}  # fmt: skip
_FOREVER = 2**31 - 1


class Search(NamedTuple):
    """A search by branch and bound.

    Attributes
    ----------
    nodes
        Number of nodes.
    objective
        Value of the best solution found; nan if there is none.
    status
        SCIP's status at the end, such as "optimal" or "totalnodelimit".
    variables
        Names of the variables branched on, in the order of the search.
    interval
        Interval of ρ with the same search.
    """

    nodes: int
    objective: float
    status: str
    variables: tuple[str, ...]
    interval: tuple[float, float]


class Branching(Stepwise):
    """A mixed-integer program, solved by branch and bound with a mix of two branching scores.

    Needs the extra `scip`.

    Parameters
    ----------
    model
        A `pyscipopt.Model`, of which a copy is kept, or the path of a file that SCIP reads (MPS, LP, CIP).
    space
        Range of ρ, [0, 1] by default: 0 counts the larger gain only, 1 the smaller one only.
    node_limit
        Number of nodes after which the search stops. The loss is the number of nodes over this limit.
    settings
        Parameters of SCIP for all runs, such as {"separating/maxroundsroot": -1} for cuts at the root.
    partition
        Feedback sets: the maximal intervals with the same "loss", or those on which every choice is the same
        ("output").

    Notes
    -----
    Cost: one search for each call of `solve`, `loss` and `reveal`. Presolving is the same for all ρ.
    Restarts, primal heuristics and cuts are off by default. A candidate with an infeasible child is not
    branched on: its bound is tightened.

    Examples
    --------
    >>> import semibandit as sb
    >>> program = sb.streams.branching("auction", rounds=1, seed=0)[0]  # doctest: +SKIP
    >>> program.solve(0.5).status  # doctest: +SKIP
    'optimal'
    """

    def __init__(
        self,
        model: Any,
        space: Interval | None = None,
        *,
        node_limit: int = 1000,
        settings: dict[str, Any] | None = None,
        partition: str = "output",
    ) -> None:
        super().__init__(interval_or((0.0, 1.0), space), partition)
        self.node_limit = _validate.integer("node_limit", node_limit, low=1)
        if not isinstance(settings, dict | None):
            raise TypeError(f"settings must be a dict of parameters of SCIP, got {settings!r}")
        self.settings = dict(settings or {})
        self._suffix, self._program = _program_of(model)

    def solve(self, rho: float) -> Search:
        """Return the search at rho."""
        rho = before_end(self.space, rho)
        with needed("Branching", "scip"):
            import pyscipopt
        with _loaded(self._suffix, self._program) as model:
            model.setHeuristics(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.setParams(_SETTINGS | {"limits/totalnodes": self.node_limit} | self.settings)
            rule = _rule()(rho, *self.space.span)
            model.includeBranchrule(rule, "mix", "ρ·s₁ + (1 - ρ)·s₂", 10**8, maxdepth=-1, maxbounddist=1.0)
            model.optimize()
            if rule.error is not None:
                raise rule.error
            nodes = int(model.getNTotalNodes())
            objective = float(model.getObjVal()) if model.getNSols() else math.nan
            return Search(nodes, objective, model.getStatus(), tuple(rule.variables), (rule.lo, rule.hi))

    def _run(self, rho: float) -> tuple[float, float, float]:
        found = self.solve(rho)
        return *found.interval, min(found.nodes / self.node_limit, 1.0)

    def __repr__(self) -> str:
        return f"Branching({len(self._program):,} bytes, node_limit={self.node_limit}, {self.space!r})"


def _program_of(model: Any) -> tuple[str, bytes]:
    """Return the format and the text of a program."""
    if isinstance(model, str | Path):
        path = Path(model)
        if not path.is_file():
            raise FileNotFoundError(f"model must be a pyscipopt.Model or the path of a file, got {model!r}")
        return "".join(path.suffixes[-2:]), path.read_bytes()
    if not hasattr(model, "writeProblem"):
        raise TypeError(f"model must be a pyscipopt.Model or the path of a file, got {model!r}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.cip"
        model.writeProblem(str(path), verbose=False)
        return ".cip", path.read_bytes()


class _loaded:  # noqa: N801 - a context manager
    """SCIP's model of a program, freed at the end."""

    def __init__(self, suffix: str, program: bytes) -> None:
        self._suffix, self._text = suffix, program

    def __enter__(self) -> Any:
        from pyscipopt import Model

        self._model = Model()
        self._model.hideOutput()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"program{self._suffix}"
            path.write_bytes(self._text)
            self._model.readProblem(str(path))
        return self._model

    def __exit__(self, *_: object) -> None:
        self._model.freeProb()


@cache
def _rule() -> Any:
    """Return the branching rule, a class of PySCIPOpt."""
    import pyscipopt

    class Mix(pyscipopt.Branchrule):  # type: ignore[misc]
        """Branching rule that narrows [lo, hi) to the ρ with the same choices."""

        def __init__(self, rho: float, lo: float, hi: float) -> None:
            self.rho, self.lo, self.hi = rho, lo, hi
            self.variables: list[str] = []
            self.error: Exception | None = None

        def branchexeclp(self, allowaddcons: bool) -> dict[str, Any]:
            """Branch at a node whose relaxation is solved."""
            try:
                return {"result": self.branch()}
            except Exception as error:  # SCIP does not pass errors on
                self.error = error
                self.model.interruptSolve()
                return {"result": pyscipopt.SCIP_RESULT.DIDNOTRUN}

        def branch(self) -> Any:
            candidates, values, _, _, best, _ = self.model.getLPBranchCands()
            gains = np.empty((best, 2))
            self.model.startStrongbranch()
            try:
                for i, variable in enumerate(candidates[:best]):
                    infeasible, gains[i] = self.gains(variable)
                    if any(infeasible):
                        return self.tighten(variable, values[i], *infeasible)
            finally:
                self.model.endStrongbranch()
            chosen = self.choose(gains.min(axis=1), gains.max(axis=1))
            self.variables.append(candidates[chosen].name)
            self.model.branchVarVal(candidates[chosen], values[chosen])
            return pyscipopt.SCIP_RESULT.BRANCHED

        def gains(self, variable: Any) -> tuple[tuple[bool, bool], tuple[float, float]]:
            """Return whether each child is infeasible, and how much it worsens the relaxation."""
            now = self.model.getLPObjVal()
            down, up, _, _, no_down, no_up, _, _, failed = self.model.getVarStrongbranch(
                variable, _FOREVER, idempotent=True
            )
            if failed:
                return (False, False), (0.0, 0.0)
            return (no_down, no_up), (min(max(down - now, 0.0), LARGEST), min(max(up - now, 0.0), LARGEST))

        def tighten(self, variable: Any, value: float, no_down: bool, no_up: bool) -> Any:
            """Remove the infeasible child, or the node."""
            if no_down and no_up:
                return pyscipopt.SCIP_RESULT.CUTOFF
            if no_down:
                self.model.chgVarLb(variable, math.ceil(value))
            else:
                self.model.chgVarUb(variable, math.floor(value))
            return pyscipopt.SCIP_RESULT.REDUCEDDOM

        def choose(self, smaller: Any, larger: Any) -> int:
            """Return the position of the best candidate."""
            first, self.lo, self.hi = top(larger, smaller - larger, 1, self.rho, self.lo, self.hi)
            return int(first[0])

    return Mix
