"""Fitting a log with one process and with two: time, memory, and the same result.

Run: python benchmarks/scale.py [--knapsacks 100000] [--clusterings 2000] [--files 200000]

The memory of a worker is its peak, measured in a process of its own for each length of the log.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from measure import at_least, at_most, finish, note, options, show

import semibandit as sb

LOGS = {
    "knapsacks": lambda rounds: sb.streams.knapsack("mixed", rounds, 50, seed=0),
    "clusterings": lambda rounds: sb.streams.clustering("elongated", rounds, seed=0),
    "files": lambda rounds: sb.streams.read_knapsacks(f"{FOLDER.name}/*/*.kp", on_demand=True)[:rounds],
}
TARGETS = {"knapsacks": 1.7, "clusterings": 1.7, "files": 1.5}
FOLDER = tempfile.TemporaryDirectory(prefix="semibandit-scale-")


def write_files(rounds: int) -> None:
    """Write small files of knapsacks, a thousand to a folder."""
    rng, place = np.random.default_rng(0), Path(FOLDER.name)
    for i in range(rounds):
        items = "".join(f"{value} {size}\n" for value, size in rng.integers(1, 100, (9, 2)))
        (place / f"{i // 1000:03}").mkdir(exist_ok=True)
        (place / f"{i // 1000:03}/{i:06}.kp").write_text(f"9 120\n{items}")


def fitted(name: str, rounds: int, n_jobs: int, **given: Any) -> tuple[float, float, Any]:
    """Return the seconds of a fit, the processor time of this process, and the fit."""
    wall, cpu = perf_counter(), process_time()
    result = sb.fit(LOGS[name](rounds), n_jobs=n_jobs, default=1.0, **given)
    return perf_counter() - wall, process_time() - cpu, result


def speed(name: str, rounds: int) -> None:
    for n_jobs in (1, 2):
        fitted(name, 8, n_jobs)  # start workers and load kernels
    _, quarter, _ = fitted(name, rounds // 4, 1)
    alone, own, one = fitted(name, rounds, 1)
    together, parent, two = fitted(name, rounds, 2)
    note(f"{rounds:,} {name}: milliseconds of work each, one process", 1e3 * own / rounds)
    note(f"{name}: share of the work in the parent of two workers", parent / own)
    differ = json.dumps(one.to_dict()) != json.dumps(two.to_dict())
    show(f"{name}: results that differ between one process and two", differ, "none", not differ)
    at_least(f"{rounds:,} {name}, one process over two", alone / together, TARGETS[name])
    at_most(f"{name}: work on the log over four times that on a quarter", own / (4.0 * quarter), 1.15)


def memory(name: str, rounds: int) -> None:
    short, long = (peak(name, n) for n in (rounds // 8, rounds))
    for who in ("worker", "parent"):
        note(f"{rounds:,} {name}: MB of a {who}", long[who])
    at_most(f"{name}: memory of a worker, a log over an eighth of it", long["worker"] / short["worker"], 1.15)


def peak(name: str, rounds: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--peak", f"{name} {rounds}"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def print_peak(name: str, rounds: int) -> None:
    """Print the peak memory in MB of the largest worker and of this process."""
    from joblib.externals.loky import get_reusable_executor

    fitted(name, rounds, 2)
    get_reusable_executor().shutdown(wait=True)  # the usage of children counts when they have ended
    use = {"worker": resource.RUSAGE_CHILDREN, "parent": resource.RUSAGE_SELF}
    print(json.dumps({what: resource.getrusage(who).ru_maxrss / 1024 for what, who in use.items()}))


if __name__ == "__main__":
    given = options(__doc__, knapsacks=100_000, clusterings=2_000, files=200_000, peak=None)
    if given.peak:
        stream, length = given.peak.split()
        print_peak(stream, int(length))
    else:
        write_files(given.files)
        for stream in LOGS:
            speed(stream, getattr(given, stream))
            if stream != "files":
                memory(stream, getattr(given, stream) // 5)
        finish()
