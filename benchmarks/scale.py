"""A log by one process and by two: time, memory, and the same result. Run: python benchmarks/scale.py

The logs are streams: 100,000 knapsacks and 2,000 clusterings, or as --knapsacks and --clusterings say.
The memory of a worker is the peak of the fullest one, in a process of its own for each length of the log.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from time import perf_counter, process_time
from typing import Any

from measure import at_least, at_most, finish, note, say, show

import semibandit as sb

SPEED_UP = 1.7
MORE_MEMORY = 1.15
MORE_WORK = 1.15


def knapsacks(rounds: int) -> Any:
    return sb.streams.knapsack("mixed", rounds, 50, seed=0)


def clusterings(rounds: int) -> Any:
    return sb.streams.clustering("elongated", rounds, seed=0)


LOGS = {"knapsacks": knapsacks, "clusterings": clusterings}


def fitted(name: str, rounds: int, n_jobs: int, **options: Any) -> tuple[float, float, Any]:
    """The seconds that it takes to fit a log, those of this process's own work, and the fit."""
    wall, cpu = perf_counter(), process_time()
    result = sb.fit(LOGS[name](rounds), n_jobs=n_jobs, default=1.0, **options)
    return perf_counter() - wall, process_time() - cpu, result


def speed(name: str, rounds: int) -> None:
    """One process and two, on the whole log."""
    for n_jobs in (1, 2):
        fitted(name, 8, n_jobs, chunk=1)  # processes are there, and kernels loaded
    _, quarter, _ = fitted(name, rounds // 4, 1)
    alone, own, one = fitted(name, rounds, 1)
    together, parent, two = fitted(name, rounds, 2)
    say(f"    {one!r}")
    note(f"{rounds:,} {name}: milliseconds of work each, one process", 1e3 * own / rounds)
    note(f"{name}: breaks each", one.breaks / rounds)
    note(f"{name}: adding up, in the process that two others work for, over all work", parent / own)
    differ = json.dumps(one.to_dict()) != json.dumps(two.to_dict())
    show(f"{name}: results that differ between one process and two", differ, "none", not differ)
    at_least(f"{rounds:,} {name}, one process over two", alone / together, SPEED_UP)
    at_most(f"{name}: work on the log over four times that on a quarter", own / (4.0 * quarter), MORE_WORK)


def peak(name: str, rounds: int) -> dict[str, float]:
    """Megabytes of the fullest worker, and of the process that they work for."""
    command = [sys.executable, __file__, "--peak", name, str(rounds)]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def print_peak(name: str, rounds: int) -> None:
    from joblib.externals.loky import get_reusable_executor

    fitted(name, rounds, 2, chunk=100)
    get_reusable_executor().shutdown(wait=True)  # whose memory is known once they are gone
    use = {"worker": resource.RUSAGE_CHILDREN, "parent": resource.RUSAGE_SELF}
    print(json.dumps({what: resource.getrusage(who).ru_maxrss / 1024 for what, who in use.items()}))


def memory(name: str, rounds: int) -> None:
    short, long = peak(name, rounds // 8), peak(name, rounds)
    for who in ("worker", "parent"):
        note(f"{rounds:,} {name}: MB of a {who}, most of it Python and its libraries", long[who])
    at_most(
        f"{name}: memory of a worker, a log over an eighth of it",
        long["worker"] / short["worker"],
        MORE_MEMORY,
    )


def passes(name: str, rounds: int) -> None:
    """What it costs to hold a two-thousandth of the pieces: about four million of those of 10⁹ knapsacks."""
    _, once, whole = fitted(name, rounds, 1)
    _, again, narrow = fitted(name, rounds, 1, max_pieces=max(whole.breaks // 2000, 2))
    held = f"{len(narrow.function):,} of {whole.breaks:,} pieces"
    note(f"{rounds:,} {name}, {narrow.passes} passes to hold {held}: work over that of one", again / once)
    same = (narrow.interval, narrow.mean_loss) == (whole.interval, whole.mean_loss)
    show(f"{name}: results that differ between one pass and several", not same, "none", same)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--knapsacks", type=int, default=100_000)
    parser.add_argument("--clusterings", type=int, default=2_000)
    parser.add_argument("--peak", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peak:
        print_peak(options.peak[0], int(options.peak[1]))
        return
    for name in LOGS:
        rounds = getattr(options, name)
        speed(name, rounds)
        memory(name, rounds // 5)
        passes(name, rounds // 10)
    finish()


if __name__ == "__main__":
    main()
