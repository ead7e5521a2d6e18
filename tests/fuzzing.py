"""Call every public callable with nasty values in the place of each argument.

Run as a program, in a process of its own: what hangs or crashes the interpreter ends with it. Allowed are a
result, a TypeError or a ValueError; everything else is printed, a line each that begins with WRONG.
"""

import faulthandler
import inspect
import math
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import semibandit as sb
from semibandit.dispersion import bounds

LIMIT = 200.0  # seconds for a call, some of which compile
UNIT = sb.Interval(0, 1)
STEPS = sb.PiecewiseConstant([0, 0.5, 1], [0.9, 0.1])
PROBLEM = sb.Explicit(STEPS)
D = np.array([[0, 1, 3, 6], [1, 0, 2, 5], [3, 2, 0, 2.5], [6, 5, 2.5, 0]])
Z = np.array([[0, 1, 1.0, 2], [2, 3, 1.0, 2], [4, 5, 1.0, 4]])
COST = sb.clustering.DasguptaCost()

NASTY: list[Any] = [
    None, True, 0, -1, 1.5, 10**400, -(10**400), 2**63, math.nan, math.inf, -math.inf, 1e308, 5e-324, 1j,
    "", "no", b"x", [], [1.0], [math.nan], [[1.0, 2.0]], ["a", "b"], {}, {"a": 1}, set(), object(), len,
    np.array(3.0), np.zeros(0), np.zeros((2, 2)), np.full((4, 4), np.nan), np.matrix([[1.0, 2.0]]),
    np.ma.masked_array([1.0, 2.0], mask=[True, False]), np.array(["a"]), np.array([1, None], dtype=object),
    np.array([10**400], dtype=object), np.zeros(3, dtype="M8[s]"), STEPS, UNIT, iter([]),
]  # fmt: skip

# What a call needs; all other parameters have defaults, which are replaced in turn.
NEEDED: list[tuple[Any, dict[str, Any]]] = [
    (sb.Interval, {"lo": 0.0, "hi": 1.0}),
    (sb.Strips, {"n_rows": 2, "interval": UNIT}),
    (sb.Real, {"lo": 0.5, "hi": 1.0}),
    (sb.Integer, {"lo": 1, "hi": 3}),
    (sb.Knobs, {"along": "x", "x": sb.Real(0, 1)}),
    (sb.Boxes, {"parts": [(STEPS, {"mode": "a"})]}),
    (sb.PiecewiseConstant, {"edges": [0, 0.5, 1], "values": [1, 2]}),
    (sb.PiecewiseConstant.sum, {"functions": [STEPS, STEPS]}),
    (sb.PiecewiseConstant.constant, {"lo": 0.0, "hi": 1.0, "value": 0.5}),
    (STEPS, {"x": 0.5}),
    (STEPS.piece, {"x": 0.5}),
    (sb.PiecewiseLinear, {"edges": [0, 1], "left": [0.0], "right": [1.0]}),
    (sb.Exp3Set, {"space": UNIT, "horizon": 10}),
    (sb.Exp3Grid, {"space": UNIT, "n_arms": 3}),
    (sb.AdaptiveRate, {}),
    (sb.FixedRate, {"value": 0.1}),
    (sb.TheoremRate, {"horizon": 10}),
    (sb.Explicit, {"function": STEPS}),
    (sb.Knapsack, {"values": [6, 5], "sizes": [5, 4], "capacity": 7}),
    (sb.Linkage, {"distances": D, "cost": COST}),
    (sb.MetricLinkage, {"d0": D, "d1": D, "cost": COST}),
    (sb.IndependentSet, {"n_vertices": 3, "edges": [[0, 1]]}),
    (sb.PostedPrice, {"values": [0.2, 0.7]}),
    (sb.SecondPrice, {"bids": [0.2, 0.7]}),
    (sb.Seeding, {"points": [[0.0], [1.0], [7.0]], "n_clusters": 2}),
    (
        sb.BlackBox,
        {"run": lambda x, rho: rho > x, "instance": 0.3, "space": UNIT, "loss": float, "tolerance": 0.1},
    ),
    (sb.clustering.TargetDistance, {"labels": [0, 0, 1, 1]}),
    (sb.clustering.KMeansCost, {"n_clusters": 2}),
    (sb.clustering.KMedianCost, {"n_clusters": 2}),
    (COST, {"distances": D, "Z": Z}),
    (sb.clustering.KMeansCost(2), {"distances": D, "Z": Z}),
    (sb.clustering.TargetDistance([0, 0, 1, 1]), {"distances": D, "Z": Z}),
    (sb.clustering.layout, {"Z": Z}),
    (sb.clustering.diameters, {"distances": D, "tree": sb.clustering.layout(Z)}),
    (sb.clustering.best_pruning, {"Z": Z, "costs": np.ones(7), "n_clusters": 2}),
    (sb.clustering.pruning_labels, {"Z": Z, "clusters": [4, 5]}),
    (sb.best_in_hindsight, {"problems": [PROBLEM]}),
    (sb.fit, {"problems": [PROBLEM]}),
    (sb.play_many, {"learners": {"x": lambda seed: sb.Exp3Set(UNIT)}, "problems": [PROBLEM], "seeds": 1}),
    (sb.play, {"learner": sb.Exp3Set(UNIT, horizon=9, seed=0), "problems": [PROBLEM]}),
    (sb.rounds, {"learner": sb.Exp3Set(UNIT, horizon=9, seed=0), "problems": [PROBLEM]}),
    (sb.load, {"path": "no/such/file"}),
    (sb.dispersion.measure, {"functions": [[0.3], [0.5]], "space": UNIT}),
    (bounds.Beta, {"beta": 0.5}),
    (bounds.WK, {"w": 0.1, "k": 3}),
    (bounds.Table, {"T": 10, "eps": [0.1, 0.2], "counts": [1, 2]}),
    (bounds.step_size, {"T": 10, "M": 2, "R": 0.5, "r": 0.1}),
    (bounds.regret, {"T": 10, "M": 2, "f": bounds.Beta(0.5), "R": 0.5}),
    (sb.streams.synthetic, {"rounds": 3}),
    (sb.streams.knapsack, {"rounds": 3, "n": 5}),
    (sb.streams.clustering, {"rounds": 2, "per_class": 3}),
    (sb.streams.concentrated, {"rounds": 3}),
    (sb.streams.halving, {"rounds": 3}),
    (sb.streams.independent_set, {"rounds": 3}),
    (sb.streams.seeding, {"rounds": 3}),
    (sb.streams.posted_price, {"rounds": 3}),
    (sb.streams.second_price, {"rounds": 3}),
    (sb.testing.check_problem, {"problem": PROBLEM}),
]
METHODS: list[tuple[Any, str]] = [
    (problem, method)
    for problem in (
        PROBLEM, sb.Knapsack([6, 5], [5, 4], 7), sb.Linkage(D, COST), sb.PostedPrice([0.2, 0.7]),
        sb.Seeding([[0.0], [1.0], [7.0]], 2),
        sb.BlackBox(lambda x, rho: rho > x, 0.3, UNIT, float, 0.1),
    )
    for method in ("loss", "reveal")
]  # fmt: skip


def calls() -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Each call: what to print of it, the callable, the arguments."""
    table = [*NEEDED, *((getattr(problem, method), {"rho": 0.3}) for problem, method in METHODS)]
    for function, needed in table:
        name = getattr(function, "__qualname__", type(function).__name__)
        parameters = inspect.signature(function).parameters.values()
        for parameter in parameters:
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
                continue
            for value in NASTY:
                yield f"{name}({parameter.name}={_short(value)})", function, {**needed, parameter.name: value}


def _short(value: Any) -> str:
    return "a huge integer" if isinstance(value, int) and abs(value) > 2**200 else repr(value)[:60]


def consume(result: Any) -> None:
    """Look into what was made: streams make their instances on demand."""
    if isinstance(result, sb.streams.Stream):
        result[0].losses()
    elif inspect.isgenerator(result):
        list(result)


def main() -> None:
    warnings.simplefilter("ignore")
    count = 0
    for text, function, arguments in calls():
        count += 1
        print(f"now {text}", file=sys.stderr, flush=True)
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        try:
            consume(function(**arguments))
        except (TypeError, ValueError):
            pass
        except AssertionError:
            if function is not sb.testing.check_problem:  # whose way of saying no this is
                raise
        except OSError:
            if function is not sb.load:
                print(f"WRONG {text}: a file was looked for")
        except Exception as error:
            print(f"WRONG {text}: {error!r:.150}".replace("\n", " "))
    faulthandler.cancel_dump_traceback_later()
    print(f"{count} calls")


if __name__ == "__main__":
    main()
