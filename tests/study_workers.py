"""Workers of a study in other processes, and the comparison of learners to the bit.

    python study_workers.py STORAGE NAME ROUNDS SEED

plays ROUNDS rounds and prints the told trials.
"""

import os
import random
import sys

import pytest

import semibandit as sb
from semibandit.learners import storage as saving

SPACE = sb.Interval(0, 1)


def seen_around(rho, random_):
    """Return an interval around rho with its loss, which is smallest at 0.3."""
    lo, hi = max(0.0, rho - 0.05 * random_.random()), min(1.0, rho + 0.05 * random_.random())
    return sb.PiecewiseConstant.constant(lo, hi if hi > lo else lo + 0.01, 0.9 * abs(rho - 0.3))


def play(study, rounds, seed, lease=300.0):
    """Ask and tell; some runs fail, and some feedback is delayed."""
    random_ = random.Random(seed)
    late, told = [], []
    for _ in range(rounds):
        trial = study.ask(lease=lease)
        late.append(trial)
        if random_.random() < 0.3:
            continue
        while late:
            trial = late.pop(random_.randrange(len(late)))
            failed = random_.random() < 0.05
            seen = None if failed else seen_around(trial.rho, random_)
            study.tell(trial, seen, failure="broken" if failed else None)
            told.append(trial.id)
    for trial in late:
        study.tell(trial, seen_around(trial.rho, random_))
        told.append(trial.id)
    return told


def missing(what):
    """Skip a test; fail if SEMIBANDIT_ALL_TESTS is set."""
    if os.environ.get("SEMIBANDIT_ALL_TESTS"):
        pytest.fail(f"{what}, and SEMIBANDIT_ALL_TESTS asks for all tests")
    pytest.skip(what)


def bits(learner):
    """Return the complete state of a learner."""
    return saving.dumps(learner)


if __name__ == "__main__":
    address, name, rounds, seed = sys.argv[1:5]
    with sb.Study(address, name, space=SPACE, seed=0, worker=f"worker {seed}") as study:
        print(*play(study, int(rounds), int(seed)))
