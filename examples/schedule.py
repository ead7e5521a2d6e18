"""An algorithm with a knob: jobs by decreasing weight / (guessed time)^rho.

Were the guesses right, rho = 1 would be best (Smith's rule). They are not, and how far to trust them is what
rho says.

    python examples/schedule.py --make jobs 200           write 200 instances into the folder jobs
    python examples/schedule.py --power 0.5 jobs/000.txt  print the order of the jobs, then the loss

It knows nothing of semibandit: it stands for your own program. examples/black_box.py calls it as a function;
`semibandit tune` runs it as a command (docs/tune.md).
"""

import argparse
import random
from pathlib import Path


def schedule(jobs, rho):
    """The order in which one machine does the jobs (weight, guessed time, time)."""
    return sorted(range(len(jobs)), key=lambda j: (-jobs[j][0] / jobs[j][1] ** rho, j))


def cost(jobs, order):
    """The weighted mean of the times at which jobs are done, as a share of the time at which all are."""
    clock = total = 0.0
    for j in order:
        weight, _, time = jobs[j]
        clock += time
        total += weight * clock
    return total / (clock * sum(weight for weight, _, _ in jobs))


def make(seed, n=12):
    """A random instance, its guesses off by a factor of three or so."""
    rng = random.Random(seed)
    times = [rng.lognormvariate(0.0, 0.7) for _ in range(n)]
    return [(rng.uniform(0.1, 1.0) ** 2, time * rng.lognormvariate(0.0, 1.2), time) for time in times]


def read(path):
    """The instance in a file: a job a line."""
    return [tuple(map(float, line.split())) for line in Path(path).read_text().splitlines()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--make", nargs=2, metavar=("FOLDER", "COUNT"))
    parser.add_argument("--power", type=float, default=1.0)
    parser.add_argument("instance", nargs="?")
    arguments = parser.parse_args()
    if arguments.make:
        folder = Path(arguments.make[0])
        folder.mkdir(exist_ok=True)
        for i in range(int(arguments.make[1])):
            lines = ("{!r} {!r} {!r}\n".format(*job) for job in make(i))
            (folder / f"{i:03}.txt").write_text("".join(lines))
    else:
        jobs = read(arguments.instance)
        order = schedule(jobs, arguments.power)
        print(*order)
        print(cost(jobs, order))


if __name__ == "__main__":
    main()
