"""Whether what is recommended is better than the default, and how good the values tried were."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from semibandit.confidence import Bounds, betting_bounds, rules_out
from semibandit.learners import Exp3Grid
from semibandit.tuning.journal import Round
from semibandit.tuning.race import Race

if TYPE_CHECKING:
    from semibandit.tuning.tuner import Tuner

__all__ = ["ALPHA", "Tried", "Verdict", "compare", "of_default", "tried", "verdict"]

ALPHA = 0.05
_HALVINGS = 6  # of the space: the finest stretches of values that are compared with the default
_PAIRS = 20  # a wider stretch is taken where there are fewer
_MOST_DOUBLINGS = 6  # of the pairs, in looking ahead
_ROWS = 12


class Tried(NamedTuple):
    """What runs with values from lo to hi have cost: the mean, its standard error, their number.

    The error is nan for one run.
    """

    lo: float
    hi: float
    mean: float
    error: float
    runs: int


@dataclass(frozen=True)
class Verdict:
    """What is recommended against a default, on the instances on which both were run.

    `bounds` hold the mean of the difference, recommended minus default, at the 95 % level, whenever one looks
    and whichever values are compared: of `candidates` that might have been, each has its part of the 5 %.
    """

    lo: float  # the values that count as the recommended one
    hi: float
    pairs: int
    recommended: float  # means over the pairs
    default: float
    error: float  # standard error of the mean of the differences; nan for one pair
    bounds: Bounds
    candidates: int
    # So many pairs would tell, were the same differences seen again and again; None: far too many. Another
    # value that comes to be recommended has pairs of its own.
    needed: int | None
    maximize: bool = False

    @property
    def answer(self) -> str:
        """One of "better", "worse" and "cannot tell"."""
        if self.bounds.low <= 0.0 <= self.bounds.high:
            return "cannot tell"
        return "better" if (self.bounds.low > 0.0) == self.maximize else "worse"


def verdict(tuner: Tuner) -> Verdict | None:
    """What a tuner's rounds say of its recommendation and its default; None where there is nothing to say."""
    high, learner = tuner.rules.high, tuner.learner
    if high is None or learner.n_told == 0:
        return None
    settings = tuner.settings
    rho = learner.recommend().rho
    values = learner.n_arms if isinstance(learner, Exp3Grid | Race) else None
    return compare(tuner.paired, rho, (settings.lo, settings.hi), high, settings.maximize, values)


def compare(
    finished: Sequence[Round],
    rho: float,
    ends: tuple[float, float],
    high: float,
    maximize: bool = False,
    values: int | None = None,
) -> Verdict | None:
    """The difference between rho and the default, from the rounds in which both were run. O(rounds).

    A round is played at a value that was drawn without knowing the instance, so that the differences of the
    rounds played at one value are a fair sample. They lie in [-high, high].

    Parameters
    ----------
    finished
        All rounds; those without a run of the default do not count.
    rho
        What is recommended.
    ends, high, maximize
        The space, the largest loss, and whether losses are values to be large.
    values
        The number of values on a grid. None: values are from the whole space, and those count that lie in the
        finest stretch around rho, a half, a quarter, ... or a 64th of the space, with 20 pairs.
    """
    pairs = [
        (record.rho, record.loss, record.default_loss)
        for record in finished
        if record.loss is not None and record.default_loss is not None
    ]
    if values is None:
        candidates = 2 ** (_HALVINGS + 1) - 1
        stretches: Iterable[tuple[float, float]] = _around(rho, *ends)
    else:
        candidates = max(values, len({played for played, _, _ in pairs}))
        slack = 1e-9 * (ends[1] - ends[0])
        stretches = [(rho - slack, rho + slack)]
    inside: list[tuple[float, float]] = []
    for lo, hi in stretches:
        inside = [(loss, other) for played, loss, other in pairs if lo <= played <= hi]
        if len(inside) >= _PAIRS:
            break
    if not inside:
        return None
    ours, theirs = (math.fsum(column) / len(inside) for column in zip(*inside, strict=True))
    differences = [min(max(loss - other, -high), high) for loss, other in inside]
    alpha = ALPHA / candidates
    needed = next(
        (
            n
            for n in range(_MOST_DOUBLINGS)
            if rules_out(0.0, np.tile(differences, 2**n), -high, high, alpha=alpha)
        ),
        None,
    )
    return Verdict(
        *((lo, hi) if values is None else (rho, rho)),
        len(inside),
        ours,
        theirs,
        _row(lo, hi, differences).error,
        betting_bounds(differences, -high, high, alpha=alpha),
        candidates,
        None if needed is None else len(inside) * 2**needed,
        maximize,
    )


def _around(rho: float, lo: float, hi: float) -> Iterable[tuple[float, float]]:
    """The stretches that hold rho, from the finest to the whole space."""
    for level in range(_HALVINGS, -1, -1):
        n = 2**level
        i = min(int(n * ((rho - lo) / (hi - lo))), n - 1)
        yield lo + (hi - lo) * (i / n), lo + (hi - lo) * ((i + 1) / n)


def tried(finished: Sequence[Round], ends: tuple[float, float], rows: int = _ROWS) -> list[Tried]:
    """The values tried, or where there are many of them, stretches of the space; from left to right."""
    runs = [(record.rho, record.loss) for record in finished if record.loss is not None]
    lo, hi = ends
    few = len({rho for rho, _ in runs}) <= rows
    groups: dict[float, list[float]] = defaultdict(list)
    for rho, loss in runs:
        groups[rho if few else min(int(rows * ((rho - lo) / (hi - lo))), rows - 1)].append(loss)
    return [
        _row(
            *((key, key) if few else (lo + (hi - lo) * (key / rows), lo + (hi - lo) * ((key + 1) / rows))),
            losses,
        )
        for key, losses in sorted(groups.items())
    ]


def of_default(finished: Sequence[Round], default: float) -> Tried | None:
    """What the runs of the default have cost."""
    losses = [record.default_loss for record in finished if record.default_loss is not None]
    return _row(default, default, losses) if losses else None


def _row(lo: float, hi: float, losses: Sequence[float]) -> Tried:
    n = len(losses)
    mean = math.fsum(losses) / n
    squares = math.fsum((loss - mean) ** 2 for loss in losses)
    return Tried(lo, hi, mean, math.sqrt(squares / (n - 1) / n) if n > 1 else math.nan, n)
