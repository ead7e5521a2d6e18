"""Checks of the contract: families that keep it pass, and every way to break it is found."""

import math

import numpy as np
import pytest

import semibandit as sb

STEPS = sb.PiecewiseConstant([0, 0.15, 0.4, 0.42, 1], [0.9, 0.1, 0.5, 0.7])
ROWS = sb.Strips(3, sb.Interval(0, 1))


class Family:
    """A family that is given by its loss function, to be broken one method at a time."""

    def __init__(self, function=STEPS):
        self.function = function
        self.space = sb.Interval(*function.domain[0])

    def loss(self, rho):
        return self.function(rho)

    def reveal(self, rho):
        return self.function.piece(rho)

    def losses(self):
        return self.function

    def part(self, rho):
        """Ends and loss of the piece of rho."""
        piece = self.function.piece(rho)
        return *piece.edges.tolist(), *piece.values.tolist()


class Modulo(Family):
    """Feedback sets of several intervals: pieces i and i + 2 are seen together."""

    def reveal(self, rho):
        edges, values = self.function.edges, self.function.values
        at = int(np.searchsorted(edges, rho, side="right")) - 1
        parity = min(at, values.size - 1) % 2
        return sb.PiecewiseConstant(edges, np.where(np.arange(values.size) % 2 == parity, values, np.nan))


class Plane:
    """Two parameters: a function for each row. Method `together` names the rows that are seen together."""

    space = ROWS
    rows = (STEPS, sb.PiecewiseConstant([0, 0.4, 1], [0.2, 0.5]), STEPS)

    def loss(self, rho, alpha):
        return self.rows[ROWS.row_of(alpha)](rho)

    def together(self, row):
        return (row,)

    def reveal(self, rho, alpha):
        row = ROWS.row_of(alpha)
        return ROWS.lay_rows({r: self.rows[r].piece(rho) for r in self.together(row)})

    def losses(self):
        return ROWS.lay_rows(dict(enumerate(self.rows)))


class OuterRows(Plane):
    """The first and the last row, whose losses are the same, are seen together."""

    def together(self, row):
        return (1,) if row == 1 else (0, 2)


def black_box(**options):
    def piece_index(edges, rho):
        return int(np.searchsorted(edges, rho, side="right"))

    space = sb.Interval(0, 1)
    return sb.BlackBox(piece_index, STEPS.edges[1:-1], space, lambda i: STEPS.values[i], **options)


@sb.traced(sb.Interval(0, 1))
def traced_step(rho, thresholds):
    return 0.2 * np.count_nonzero(thresholds < rho)


GOOD = {
    "written out": Family,
    "any finite losses": lambda: Family(sb.PiecewiseConstant([0, 0.3, 1], [-3, 50])),
    "one piece": lambda: sb.Explicit(sb.PiecewiseConstant([-3, 8], [0.25])),
    "several intervals": Modulo,
    "rows": Plane,
    "sets of several rows": OuterRows,
    "second price": lambda: sb.streams.second_price(1, loss="utility", seed=0)[0],
    "traced": lambda: traced_step(np.array([0.3, 0.8, 0.5])),
    "black box": black_box,
    "coarse black box": lambda: black_box(tolerance=0.003),
}


@pytest.mark.parametrize("name", GOOD)
def test_families_keep_the_contract(name):
    for seed in range(3):
        sb.testing.check_problem(GOOD[name](), n_points=30, seed=seed)


# -- broken families are caught -------------------------------------------------------------------

constant = sb.PiecewiseConstant.constant


class RightEndFails(Family):
    def loss(self, rho):
        return 1 / 0 if rho == 1 else super().loss(rho)


class BeginsNearRho(Family):
    """True losses, but the interval depends on the position of rho."""

    def reveal(self, rho):
        lo, hi, loss = self.part(rho)
        return constant(max(lo, min(rho, 0.99) - 0.05), hi, loss)


class TooWide(Family):
    def reveal(self, rho):
        lo, hi, loss = self.part(rho)
        return constant(lo, min(hi + 0.1, 1), loss)


class OutOfTheSpace(Family):
    def reveal(self, rho):
        lo, hi, loss = self.part(rho)
        return constant(lo, hi + (hi == 1), loss)


class Overlapping(Family):
    """Neighbours with equal losses, one of which claims both: true, and no partition."""

    def __init__(self):
        super().__init__(sb.PiecewiseConstant([0, 0.5, 1], [0.3, 0.3]))

    def reveal(self, rho):
        return constant(0.0 if rho < 0.5 else 0.5, 1.0, 0.3)


class AnotherRow(Plane):
    def together(self, row):
        return ((row + 1) % 3,)


class OneWay(Plane):
    """The first row sees the last one, which does not see the first: true, and no partition."""

    def together(self, row):
        return (0, 2) if row == 0 else (row,)


class OtherRowWrong(OneWay):
    """The first row reveals twice the loss of the last row."""

    rows = (STEPS, STEPS, STEPS * 0.5)

    def reveal(self, rho, alpha):
        return ROWS.lay_rows({row: STEPS.piece(rho) for row in self.together(ROWS.row_of(alpha))})


def changed(base=Family, **members):
    """A family with other methods or attributes."""
    return type("Changed", (base,), members)


NARROW_PIECE_MISSED = sb.PiecewiseConstant([0, 0.15, 0.41, 1], [0.9, 0.1, 0.7])
UNSEEN = sb.PiecewiseConstant([0, 0.15, 0.4, 0.42, 1], [0.9, 0.1, math.nan, 0.7])
BROKEN = [
    (changed(losses=None), "a problem must have a method 'losses'"),
    (changed(space=(0, 1), __init__=lambda self: None), r"the space must be .*, got \(0, 1\)"),
    (changed(high=0.8), r"must be in \[0, high\] = \[0, 0.8\], got 0.9"),
    (changed(high=1, loss=lambda self, rho: -STEPS(rho)), r"must be in \[0, high\] = \[0, 1\], got -0"),
    (changed(loss=lambda self, rho: "0.9"), r"Changed: loss\(0.\d+\) must be a number, got '0.9'"),
    (changed(loss=lambda self, rho: math.nan if rho > 0.6 else STEPS(rho)), "must be finite, got nan"),
    (changed(reveal=lambda self, rho: (0, 1)), r"must return a PiecewiseConstant or PiecewiseLinear, got \("),
    (changed(losses=lambda self: STEPS.restrict(0, 0.9)), r"losses\(\) must be seen on the whole space"),
    (changed(losses=lambda self: UNSEEN), r"losses\(\) must be seen on the whole space"),
    (changed(losses=lambda self: NARROW_PIECE_MISSED), r"losses\(\) at 0\.\d+ is 0\.\d+, but"),
    (
        changed(loss=lambda self, rho: 0.51 if 0.4 <= rho < 0.42 else STEPS(rho)),
        r"but loss\(0.4\d+\) is 0.51",
    ),
    (changed(Plane, losses=lambda self: ROWS.lay_rows({0: STEPS, 2: STEPS})), "must be seen on the whole"),
    (RightEndFails, r"loss\(1.0\) raised ZeroDivisionError"),
    (BeginsNearRho, "feedback sets must form a partition"),
    (TooWide, r"TooWide: (reveal|losses\(\)).* is 0\.\d+, but .* is 0\.\d+"),
    (Overlapping, "feedback sets must form a partition"),
    (OutOfTheSpace, r"must stay in Interval"),
    (AnotherRow, r"reveal\(0.0, 0.0\) must be seen at rho, but is seen on \[0.0, 0.4\d*\] at alpha = 0.5"),
    (OneWay, r"must form a partition, but reveal\(0.\d+, 0.0\) is seen on .* and .* at alpha = 1.0"),
    (OtherRowWrong, r"OtherRowWrong: (losses\(\)|reveal).* is 0\.\d+, but"),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("family", "message"), BROKEN)
def test_broken_families_are_caught(family, message, seed):
    with pytest.raises(AssertionError, match=message):
        sb.testing.check_problem(family(), n_points=60, seed=seed)


@pytest.mark.parametrize("share", [0.0, 1e-9, 1e-6, 1e-3, 0.1])
def test_a_shifted_end_of_a_feedback_set_is_caught(share):
    """One end of 80 is wrong by a share of the width of a piece."""
    edges, values = np.linspace(0, 1, 81), np.random.default_rng(0).random(80)
    problem = Family(sb.PiecewiseConstant(edges, values))
    edges[40] += share / 80
    problem.reveal = sb.PiecewiseConstant(edges, values).piece
    if not share:
        return sb.testing.check_problem(problem)
    with pytest.raises(AssertionError, match=r"losses\(\) at 0\.\d+ is 0\.\d+, but reveal\(0\.\d+\) is"):
        sb.testing.check_problem(problem)
