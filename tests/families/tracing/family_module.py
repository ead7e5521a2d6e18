"""Traced functions at the top of a module, for tests of pickling."""

import numpy as np

import semibandit as sb


@sb.traced(sb.Interval(0, 10))
def greedy(rho, values, sizes, capacity):
    room, gain = capacity, 0.0
    for i in np.argsort(-values / sizes**rho, kind="stable"):
        if sizes[i] <= room:
            room, gain = room - sizes[i], gain + values[i]
    return 1 - gain / values.sum()


class Machine:
    """A method as a family."""

    def __init__(self, speed):
        self.speed = speed

    @sb.traced(sb.Interval(0, 1))
    def above(self, rho, thresholds):
        """Return the share of thresholds below rho times the speed."""
        return sum(t < self.speed * rho for t in thresholds) / len(thresholds)
