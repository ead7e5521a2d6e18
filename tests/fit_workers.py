"""Problems for workers in other processes, which import this module."""

import os
import signal
from pathlib import Path

import semibandit as sb
from semibandit.streams import Stream

ROUNDS, DEADLY = 60, 37


def steps(t, rng):
    return sb.Explicit(sb.PiecewiseConstant([0, *sorted(rng.random(4)), 1], rng.random(5)))


class Deadly:
    """Makes the same problems, but kills the first process that makes one of them."""

    def __init__(self, marker):
        self.marker = marker

    def __call__(self, t, rng):
        if t == DEADLY:
            try:
                Path(self.marker).touch(exist_ok=False)
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return steps(t, rng)


class AlwaysDeadly:
    """Kills every process that makes one of the problems."""

    def __call__(self, t, rng):
        if t == DEADLY:
            os.kill(os.getpid(), signal.SIGKILL)
        return steps(t, rng)


def safe():
    return Stream(steps, ROUNDS, seed=0)


def deadly(marker):
    return Stream(Deadly(str(marker)), ROUNDS, seed=0)


def learner(seed):
    return sb.Exp3Set(sb.Interval(0, 1), seed=seed)
