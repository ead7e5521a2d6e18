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
WORDS = ["play", "knapsack", "--rounds", "3000", "--seed", "0"]


def seconds(program: str, cache: str, source: Path = SOURCE) -> tuple[float, float]:
    """Seconds on the clock and of the processor for a program in a fresh process."""
    environment = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(source)}
    before, start = os.times(), time.perf_counter()
    subprocess.run([sys.executable, "-c", program], env=environment, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - start, busy


def table(only: str | None) -> None:
    """Print cold and warm first calls, in seconds of the processor."""
    print(f"{'first call':<18}{'cold':>8}{'warm':>8}   seconds of the processor")
    for name, job in JOBS.items():
        if only in (None, name):
            with tempfile.TemporaryDirectory() as cache:
                cold, warm = (seconds(f"import semibandit as sb; {job}", cache)[1] for _ in range(2))
            print(f"{name:<18}{cold:>8.1f}{warm:>8.1f}", flush=True)


def compare(other: Path) -> bool:
    """Print how long the demo takes with an empty cache, here over there; whether the target is met."""
    job = DEMO.format(words=WORDS)
    with tempfile.TemporaryDirectory() as here, tempfile.TemporaryDirectory() as there:
        ours, theirs = seconds(job, here), seconds(job, there, other / "src")
        warm, before = seconds(job, here), seconds(job, there, other / "src")
    for what, i in (("on the clock", 0), ("of the processor", 1)):
        print(
            f"demo, seconds {what}: cold {ours[i]:.1f} over {theirs[i]:.1f} = {ours[i] / theirs[i]:.2f}",
            end="; ",
        )
        print(f"warm {warm[i]:.1f} over {before[i]:.1f} = {warm[i] / before[i]:.2f}")
    ratio = ours[1] / theirs[1]
    print(f"cold demo, of the processor: {ratio:.2f} (target: {TARGET:.2f})")
    return ratio <= TARGET


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, help="another checkout of the project")
    parser.add_argument("--only", choices=JOBS, help="one line of the table")
    options = parser.parse_args()
    table(options.only)
    return 0 if options.against is None or compare(options.against) else 1


if __name__ == "__main__":
    sys.exit(main())
