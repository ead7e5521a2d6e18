"""The first minute: what a first call costs with an empty cache of machine code, and with a full one.

Each call runs in a fresh process, twice with one cache directory of its own: cold, then warm. With
`--against TREE` (another checkout) the main job of `make demo` runs in both trees, and the ratio is printed.

    python benchmarks/cold.py [--against TREE] [--only NAME]
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from measure import at_most, finish, note, say, table

SOURCE = Path(__file__).resolve().parent.parent / "src"
TARGET = 1 / 3  # of the time of another checkout

POINTS = "import numpy as np; P = np.random.default_rng(0).random((12, 2)); "
PLANE = "from scipy.spatial.distance import pdist; D = pdist(P); C = sb.clustering.DasguptaCost(); "
JOBS = {
    "import": "",
    "learner": "l = sb.Exp3Set(sb.Interval(0, 1), seed=0); l.tell(l.ask(), 0.5); l.ask()",
    "grid": "l = sb.Exp3Grid(sb.Interval(0, 1), 9, seed=0); l.tell(l.ask(), 0.5); l.ask()",
    "knapsack": "p = sb.streams.knapsack(rounds=1)[0]; p.reveal(1.0); p.losses()",
    "linkage": POINTS + PLANE + "p = sb.Linkage(D, C); p.reveal(0.5); p.losses()",
    "two metrics": POINTS + PLANE + "p = sb.MetricLinkage(D, D * D, C); p.reveal(0.5, 0.0)",
    "independent set": "p = sb.streams.independent_set(rounds=1)[0]; p.reveal(1.0); p.losses()",
    "seeding": "p = sb.streams.seeding(rounds=1)[0]; p.reveal(1.0); p.losses()",
    "prices": "p = sb.streams.posted_price(rounds=1)[0]; p.reveal(0.5); p.losses()",
    "hindsight": "sb.best_in_hindsight(sb.streams.synthetic(9))",
    "dispersion": "sb.dispersion.measure(sb.streams.synthetic(9))",
}
DEMO = "import sys; from semibandit.cli import main; sys.argv[1:] = {words!r}; main()"
WORDS = ["play", "knapsack", "--kind", "spanner", "--rho-max", "2", "--rounds", "3000", "--seed", "0"]


def seconds(program: str, cache: str, source: Path = SOURCE) -> tuple[float, float]:
    """Seconds on the clock and of the processor for a program in a fresh process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(source)}
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, busy


def first_calls(only: str | None) -> None:
    """Cold and warm first calls, in seconds of the processor."""
    rows = []
    for name, job in JOBS.items():
        if only in (None, name):
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = (seconds(f"import semibandit as sb; {job}", cache)[1] for _ in range(2))
            rows.append((name, f"{cold:.1f}", f"{warm:.1f}"))
            say(f"{name:<18}{cold:>8.1f}{warm:>8.1f}")
    table("first-calls", ("first call", "cold, s", "warm, s"), rows)


def compare(other: Path) -> None:
    """How long the demo takes with an empty cache and with a full one, here over there."""
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
        job = DEMO.format(words=[*WORDS, "--png", str(Path(here) / "demo.png")])
        ours, theirs = seconds(job, here), seconds(job, there, other / "src")
        warm, before = seconds(job, here), seconds(job, there, other / "src")
    at_most(
        "demo, cold, on the clock, over that of the other checkout", ours[0] / theirs[0], round(TARGET, 2)
    )
    note("demo, cold, of the processor", ours[1] / theirs[1])
    note("demo, warm, on the clock", warm[0] / before[0])
    note("demo, warm, of the processor", warm[1] / before[1])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="another checkout of the project")
    parser.add_argument("--only", choices=JOBS, help="one line of the table")
    options = parser.parse_args()
    first_calls(options.only)
    if options.against is not None:
        compare(options.against)
    finish()


if __name__ == "__main__":
    main()
