"""Functions of a knob and boxes of knobs, straight from the definitions."""

import math


def told_of(function, value, end):
    """Return the value of a step function at a value of the knob, whose `end` is closed; nan: unseen."""
    edges, values = function.edges.tolist(), function.values.tolist()
    for lo, hi, told in zip(edges[:-1], edges[1:], values, strict=True):
        if lo <= value < hi:
            return told
    if value == edges[-1] == end:
        return values[-1]
    return math.nan


def rows_in_box(knobs, where):
    """Return the rows whose values lie in a box, by a look at each."""
    found = []
    for row, alpha in enumerate(knobs.alphas):
        values = dict(zip(knobs.names[1:], alpha, strict=True))
        inside = []
        for name, side in where.items():
            kind, value = knobs.knobs[name], values[name]
            if kind.ordered and isinstance(side, tuple):
                inside.append(side[0] <= value and (value < side[1] or value == side[1] == kind.hi))
            elif isinstance(side, list):
                inside.append(value in side)
            else:
                inside.append(value == side)
        if all(inside):
            found.append(row)
    return found
