"""Tune several knobs of real programs: the solver HiGHS, and the compressor xz.

    pip install 'semibandit[solver]'
    python examples/knobs.py highs
    python examples/knobs.py xz

Each round runs the next instance with the values played and with those of further probes. Several runs on one
instance separate its difficulty from the effect of the knobs. The last lines compare the recommended values
with the program's defaults, on instances that were not used for learning.
"""

from __future__ import annotations

import argparse
import lzma
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import semibandit as sb

# -- HiGHS on random knapsacks with several constraints ---------------------------------------------------

HIGHS = sb.Knobs(
    mip_heuristic_effort=sb.Real(0.001, 1.0, log=True),
    mip_pscost_minreliable=sb.Integer(1, 64, log=True),
    simplex_dual_edge_weight_strategy=sb.Choice(0, 1, 2),
)
HIGHS_DEFAULT = {
    "mip_heuristic_effort": 0.05,
    "mip_pscost_minreliable": 8,
    "simplex_dual_edge_weight_strategy": -1,  # HiGHS chooses
}
_MOST_ITERATIONS = 600


def programs(seed: int) -> Iterator[Any]:
    """Yield multi-dimensional knapsacks with values that are correlated with the sizes."""
    rng = np.random.default_rng(seed)
    while True:
        sizes = rng.integers(10, 60, (5, 12))
        yield sizes.mean(axis=0) + rng.integers(0, 15, 12), sizes, sizes.sum(axis=1) // 2


def work_of_highs(program: Any, **options: Any) -> float:
    """Return the number of simplex iterations of HiGHS, scaled; deterministic with one thread."""
    import highspy

    values, sizes, capacities = program
    solver = highspy.Highs()
    for name, value in {"output_flag": False, "threads": 1, "random_seed": 0, **options}.items():
        solver.setOptionValue(name, value)
    items = [solver.addBinary(obj=float(value)) for value in values]
    for row, capacity in zip(sizes.tolist(), capacities.tolist(), strict=True):
        solver.addConstr(sum(size * item for size, item in zip(row, items, strict=True)) <= capacity)
    solver.maximize()
    return min(solver.getInfo().simplex_iteration_count / _MOST_ITERATIONS, 1.0)


# -- xz on the files of Python's own library --------------------------------------------------------------

XZ = sb.Knobs(
    level=sb.Integer(0, 9),
    nice=sb.Integer(8, 273, log=True),
    finder=sb.Choice("hc3", "hc4", "bt2", "bt3", "bt4"),
    mode=sb.Choice("fast", "normal"),
)
XZ_DEFAULT = {"level": 6, "nice": 64, "finder": "bt4", "mode": "normal"}
_SECONDS_PER_MB = 0.1  # cost as much as a tenth of the size


def files(seed: int) -> Iterator[bytes]:
    """Yield the contents of files of at least 20 kB, in random order, repeatedly."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = [path for path in sorted(folder.glob("*.py")) if path.stat().st_size >= 20_000]
    rng = np.random.default_rng(seed)
    while True:
        for i in rng.permutation(len(found)).tolist():
            yield found[i].read_bytes()


def cost_of_xz(data: bytes, level: int, nice: int, finder: str, mode: str) -> float:
    """Return the compression ratio, plus 0.1 for each 0.1 seconds per megabyte."""
    options = {
        "id": lzma.FILTER_LZMA2,
        "preset": level,
        "nice_len": nice,
        "mf": getattr(lzma, f"MF_{finder.upper()}"),
        "mode": getattr(lzma, f"MODE_{mode.upper()}"),
    }
    start = process_time()
    packed = lzma.compress(data, filters=[options])
    seconds = process_time() - start
    return min(len(packed) / len(data) + 0.1 * seconds / _SECONDS_PER_MB / (len(data) / 1e6), 1.0)


# -- tuning -----------------------------------------------------------------------------------------------


def tune(
    knobs: sb.Knobs, run: Callable[..., float], instances: Iterator[Any], rounds: int, probes: int, seed: int
) -> tuple[sb.Recommendation, float]:
    """Return the recommendation after `rounds` instances, and the mean loss of the values played."""
    learner = sb.Exp3Set(knobs, seed=seed)
    paid = 0.0
    for _ in range(rounds):
        trial, instance = learner.ask(probes=probes), next(instances)
        losses = [run(instance, **values) for values in trial.looks]
        learner.tell(trial, losses)
        paid += losses[0] / rounds
    return learner.recommend(), paid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program", choices=("highs", "xz"))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--probes", type=int, default=3, help="further looks at each instance")
    parser.add_argument("--tests", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    knobs, default, run, stream = {
        "highs": (HIGHS, HIGHS_DEFAULT, work_of_highs, programs),
        "xz": (XZ, XZ_DEFAULT, cost_of_xz, files),
    }[given.program]
    best, paid = tune(knobs, run, stream(given.seed), given.rounds, given.probes, given.seed)
    fresh = stream(given.seed + 1)
    held_out = [next(fresh) for _ in range(given.tests)]
    ours, theirs = (
        np.array([run(instance, **values) for instance in held_out]) for values in (best.values, default)
    )
    print(f"while learning   {paid:.4f} an instance, {given.rounds * (1 + given.probes)} runs")
    print(f"recommended      {', '.join(f'{name} = {value}' for name, value in best.values.items())}")
    error = (ours - theirs).std(ddof=1) / np.sqrt(given.tests)
    print(f"on {given.tests} others     {ours.mean():.4f}, by default {theirs.mean():.4f}")
    print(f"difference       {(ours - theirs).mean():+.4f} ± {error:.4f}")


if __name__ == "__main__":
    main()
