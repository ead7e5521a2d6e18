import math

import numpy as np
import pytest

import semibandit as sb

STEPS = sb.PiecewiseConstant([0, 0.15, 0.4, 0.42, 1], [0.9, 0.1, 0.5, 0.7])


class Family:
    """A family that is written out, to be broken one method at a time."""

    high = 1.0
    maximize = False

    def __init__(self, function=STEPS):
        self.function = function
        self.space = sb.Interval(*function.domain[0])

    def loss(self, rho):
        return self.function(rho)

    def reveal(self, rho):
        return self.function.piece(rho)

    def losses(self):
        return self.function


class Modulo(Family):
    """Feedback sets of several stretches: pieces i and i + 2 are seen together."""

    def reveal(self, rho):
        edges, values = self.function.edges, self.function.values
        at = int(np.searchsorted(edges, rho, side="right")) - 1
        parity = min(at, values.size - 1) % 2
        return sb.PiecewiseConstant(edges, np.where(np.arange(values.size) % 2 == parity, values, np.nan))


ROWS = sb.Strips(3, sb.Interval(0, 1))


class Plane:
    """Two parameters: a function for each row, and pieces of rows that are seen together."""

    high = 1.0
    maximize = False
    space = ROWS

    def __init__(self, *rows):
        self.rows = rows or (STEPS, sb.PiecewiseConstant([0, 0.4, 1], [0.2, 0.5]), STEPS)

    def row_of(self, alpha):
        return self.space.alphas.index(alpha)

    def loss(self, rho, alpha):
        return self.rows[self.row_of(alpha)](rho)

    def together(self, rho, alpha):
        """The rows that are seen with (rho, alpha), and their pieces."""
        return {self.row_of(alpha): self.rows[self.row_of(alpha)].piece(rho)}

    def reveal(self, rho, alpha):
        return self.space.lay_rows(self.together(rho, alpha))

    def losses(self):
        return self.space.lay_rows(dict(enumerate(self.rows)))


class OuterRows(Plane):
    """The first and the last row, whose losses are the same, are seen together."""

    def together(self, rho, alpha):
        alike = (0, 2) if self.row_of(alpha) != 1 else (1,)
        return {row: self.rows[row].piece(rho) for row in alike}


def piece_index(edges, rho):
    return int(np.searchsorted(edges, rho, side="right"))


def black_box(**options):
    return sb.BlackBox(
        piece_index, STEPS.edges[1:-1], sb.Interval(0, 1), lambda i: STEPS.values[i], **options
    )


GOOD = {
    "written out": lambda: Family(),
    "explicit": lambda: sb.Explicit(STEPS),
    "one piece": lambda: sb.Explicit(sb.PiecewiseConstant([-3, 8], [0.25])),
    "synthetic": lambda: sb.streams.synthetic(1, pieces=40, seed=0)[0],
    "several stretches": lambda: Modulo(),
    "knapsack": lambda: sb.streams.knapsack("mixed", rounds=1, n=20, seed=0)[0],
    "knapsack in another space": lambda: sb.streams.knapsack(
        "weakly-correlated", rounds=1, n=20, seed=0, space=sb.Interval(0.5, 3), partition="order"
    )[0],
    "linkage": lambda: sb.streams.clustering("gaussian", rounds=1, seed=0)[0],
    "rows": lambda: Plane(),
    "sets of several rows": lambda: OuterRows(),
    "metric linkage": lambda: sb.streams.digits_two_metrics(100, sizes=(4, 5), seed=0)[1],
    "metric linkage, few rows": lambda: sb.streams.digits_two_metrics(9, sizes=(3, 8), seed=1, n_rows=2)[0],
    "independent set": lambda: sb.streams.independent_set(1, vertices=20, adaptive=True, seed=0)[0],
    "seeding": lambda: sb.streams.seeding(1, points=30, seed=0)[0],
    "posted price": lambda: sb.streams.posted_price(1, seed=0)[0],
    "second price": lambda: sb.streams.second_price(1, loss="utility", seed=0)[0],
    "black box": lambda: black_box(),
    "coarse black box": lambda: black_box(tolerance=0.003),
    
}


@pytest.mark.parametrize("name", GOOD)
def test_families_keep_the_contract(name):
    for seed in range(3):
        sb.testing.check_problem(GOOD[name](), n_points=30, seed=seed)


# -- broken families are caught -------------------------------------------------------------------


class NoLosses(Family):
    losses = None


class NoSpace(Family):
    def __init__(self):
        super().__init__()
        self.space = (0, 1)


class RightEndFails(Family):
    def loss(self, rho):
        if rho == 1:
            raise ZeroDivisionError
        return super().loss(rho)


class LeftEndIsAnother(Family):
    def reveal(self, rho):
        return super().reveal(rho) if rho > 0 else sb.PiecewiseConstant([0, 0.15], [0.2])


class TooLarge(Family):
    high = 0.8


class Negative(Family):
    def loss(self, rho):
        return -super().loss(rho)


class NotANumber(Family):
    def loss(self, rho):
        return str(super().loss(rho))


class Nan(Family):
    def loss(self, rho):
        return math.nan if rho > 0.6 else super().loss(rho)


class Random(Family):
    def __init__(self):
        super().__init__()
        self.random = np.random.default_rng(0)

    def loss(self, rho):
        return 0.3 if 0 < rho < 1 and self.random.random() < 0.1 else super().loss(rho)


class Forgetful(Family):
    """Half the interval when asked again."""

    def __init__(self):
        super().__init__()
        self.asked = set()

    def reveal(self, rho):
        piece = self.function.piece(rho)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        first = rho not in self.asked
        self.asked.add(rho)
        return sb.PiecewiseConstant.constant(lo, hi if first else 0.5 * (rho + hi), loss)


class ElsewhereRevealed(Family):
    def reveal(self, rho):
        return super().reveal(rho if rho in (0, 1) else 1 - rho)


class Anchored(Family):
    """Safe, but where the interval begins depends on where rho stands."""

    def reveal(self, rho):
        piece = self.function.piece(rho)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        return sb.PiecewiseConstant.constant(max(lo, min(rho, 0.99) - 0.05), hi, loss)


class TooWide(Family):
    """The interval runs over into the next piece."""

    def reveal(self, rho):
        piece = self.function.piece(rho)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        return sb.PiecewiseConstant.constant(lo, min(hi + 0.1, 1), loss)


class Shifted(Family):
    """The ends of feedback sets are wrong by a share of the width of a piece; only one end of 80 is."""

    def __init__(self, share=0.1):
        rng = np.random.default_rng(0)
        edges = np.linspace(0, 1, 81)
        super().__init__(sb.PiecewiseConstant(edges, rng.random(80)))
        wrong = edges.copy()
        wrong[40] += share / 80
        self.shifted = sb.PiecewiseConstant(wrong, self.function.values)

    def reveal(self, rho):
        return self.shifted.piece(rho)


class Overlapping(Family):
    """Neighbours with equal losses, one of which claims both: true, and no partition."""

    def __init__(self):
        super().__init__(sb.PiecewiseConstant([0, 0.5, 1], [0.3, 0.3]))

    def reveal(self, rho):
        return sb.PiecewiseConstant.constant(0.0 if rho < 0.5 else 0.5, 1.0, 0.3)


class OutOfTheSpace(Family):
    def reveal(self, rho):
        piece = self.function.piece(rho)
        lo, hi, loss = *piece.edges.tolist(), *piece.values.tolist()
        return sb.PiecewiseConstant.constant(lo, hi + (hi == 1), loss)


class PartOfTheLosses(Family):
    def losses(self):
        return self.function.restrict(0, 0.9)


class UnseenLosses(Family):
    def losses(self):
        return sb.PiecewiseConstant([0, 0.15, 0.4, 0.42, 1], [0.9, 0.1, math.nan, 0.7])


class NarrowPieceMissed(Family):
    def losses(self):
        return sb.PiecewiseConstant([0, 0.15, 0.41, 1], [0.9, 0.1, 0.7])


class NarrowPieceWrong(Family):
    """Two percent of the space: found because pieces are tried evenly."""

    def loss(self, rho):
        return 0.51 if 0.4 <= rho < 0.42 else super().loss(rho)


class NotAFunction(Family):
    def reveal(self, rho):
        return self.function.piece(rho).domain[0]


class AnotherRow(Plane):
    """What it sees lies in the next row."""

    def reveal(self, rho, alpha):
        return super().reveal(rho, self.space.alphas[(self.row_of(alpha) + 1) % 3])


class LastRowFails(Plane):
    def loss(self, rho, alpha):
        if (rho, alpha) == (1, 1):
            raise ZeroDivisionError
        return super().loss(rho, alpha)


class OneWay(Plane):
    """The first row sees the last one, which does not see the first: true, and no partition."""

    def together(self, rho, alpha):
        return {row: self.rows[row].piece(rho) for row in ((0, 2) if alpha == 0 else (self.row_of(alpha),))}


class OtherRowWrong(OuterRows):
    """What the first row says of the last one is twice as much as it should be."""

    def __init__(self):
        super().__init__(STEPS, STEPS, STEPS * 0.5)

    def together(self, rho, alpha):
        return {row: self.rows[0].piece(rho) for row in ((0, 2) if alpha == 0 else (self.row_of(alpha),))}


class RowMissing(Plane):
    def losses(self):
        return self.space.lay_rows({0: self.rows[0], 2: self.rows[2]})


BROKEN = {
    AnotherRow: r"reveal\(0.0, 0.0\) must be seen at rho, but is seen on \[0.0, 0.4\d*\] at alpha = 0.5",
    LastRowFails: r"the right end of the space, 1.0, 1.0, cannot be played: ZeroDivisionError",
    OneWay: r"must form a partition, but reveal\(0.\d+, 0.0\) is seen on .* and .* at alpha = 1.0",
    OtherRowWrong: r"OtherRowWrong: (losses\(\)|reveal).* is 0\.\d+, but",
    RowMissing: r"RowMissing: losses\(\)\(1.0\) must be in \[0, high\] = \[0, 1\], got nan",
    NoLosses: "a problem must have a method 'losses'",
    NoSpace: r"the space must be an Interval, Strips or Knobs, got \(0, 1\)",
    RightEndFails: r"the right end of the space, 1.0, cannot be played: ZeroDivisionError",
    LeftEndIsAnother: r"reveal\(0.0\) at the left end is 0.2, but loss\(0.0\) is 0.9",
    TooLarge: r"must be in \[0, high\] = \[0, 0.8\], got 0.9",
    Negative: "Negative: ",
    NotANumber: r"NotANumber: loss\(0.0\) must be a number, got '0.9'",
    Nan: "Nan: ",
    Random: "fix the randomness|is 0.3",
    Forgetful: r"was seen on .* and then on",
    ElsewhereRevealed: r"must be seen at rho, but is seen on",
    Anchored: "feedback sets must form a partition",
    TooWide: r"TooWide: (reveal|losses\(\)).* is 0\.\d+, but .* is 0\.\d+",
    Overlapping: "feedback sets must form a partition",
    OutOfTheSpace: r"must stay in Interval",
    PartOfTheLosses: r"PartOfTheLosses: losses\(\) must be seen on the whole space",
    UnseenLosses: r"UnseenLosses: ",
    NarrowPieceMissed: r"losses\(\) at 0\.\d+ is 0\.\d+, but",
    NarrowPieceWrong: r"but loss\(0.4\d+\) is 0.51",
    NotAFunction: r"must return a PiecewiseConstant or PiecewiseLinear, got \(",
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("family", BROKEN, ids=lambda family: family.__name__)
def test_broken_families_are_caught(family, seed):
    with pytest.raises(AssertionError, match=BROKEN[family]):
        sb.testing.check_problem(family(), n_points=60, seed=seed)


@pytest.mark.parametrize("share", [1e-9, 1e-6, 1e-3, 0.1])
def test_a_shifted_end_of_a_feedback_set_is_caught(share):
    with pytest.raises(AssertionError, match=r"losses\(\) at 0\.\d+ is 0\.\d+, but reveal\(0\.\d+\) is"):
        sb.testing.check_losses(Shifted(share), n_points=800)
    sb.testing.check_problem(Shifted(0.0))


def test_an_algorithm_that_is_not_piecewise_unique_is_caught():
    problem = sb.BlackBox(lambda _, rho: 0.4 < rho < 0.6, None, sb.Interval(0, 1), float, resolution=0.1)
    with pytest.raises(AssertionError, match=r"is [01]\.0, but"):
        sb.testing.check_problem(problem)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="n_points must be at least 1"):
        sb.testing.check_problem(Family(), n_points=0)
    with pytest.raises(ValueError, match="tolerance must be finite and >= 0"):
        sb.testing.check_problem(Family(), tolerance=-1)
