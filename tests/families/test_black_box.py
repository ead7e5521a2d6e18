import itertools
import math
import threading

import numpy as np
import pytest

import semibandit as sb
from reference.steps import Steps, maximal_piece_on_grid
from semibandit.families.black_box import same_output
from semibandit.families.black_box.grid import DyadicGrid

LOSS = {i: (i * 37 % 101) / 101 for i in range(101)}.__getitem__

SPACES = [(0.0, 1.0), (0.0, 10.0), (-3.0, 5.0), (-1.0, 0.0), (1e-6, 2e-6), (1e6, 1e6 + 1)]


def random_steps(rng, lo, hi, pieces):
    """Edges spread evenly, bunched up at an end, or on simple fractions."""
    u = rng.random(pieces - 1)
    kind = rng.integers(3)
    if kind == 1:
        u = u**8 if rng.integers(2) else 1 - u**8
    elif kind == 2:
        u = np.round(u * 64) / 64
    inner = [x for x in np.unique(lo + (hi - lo) * u).tolist() if lo < x < hi]
    return Steps([lo, *inner, hi])


def probes(steps, rng):
    """Random places, both ends of the space, every edge and its neighbouring doubles."""
    lo, hi = steps.edges[0], steps.edges[-1]
    near = [math.nextafter(x, side) for x in steps.edges[1:-1] for side in (-math.inf, math.inf)]
    return [lo, hi, *steps.edges[1:-1], *near, *rng.uniform(lo, hi, 5).tolist()]


def in_place(found, truth, tolerance):
    return all(abs(a - b) <= tolerance * (1 + 1e-9) for a, b in zip(found, truth, strict=True))


# -- reveal: Algorithm 5 --------------------------------------------------------------------------


@pytest.mark.parametrize("levels", [1, 2, 3, 10, 30])
@pytest.mark.parametrize(("lo", "hi"), SPACES)
def test_reveal_is_right_to_the_tolerance_within_the_promised_runs(lo, hi, levels):
    rng = np.random.default_rng(levels)
    # Exactly a power of two is the tightest case of the bound; one above and one below it are tried as well.
    for factor, pieces in itertools.product((1.0, 0.9, 1.4), (1, 2, 5, 12)):
        tolerance = min((hi - lo) * 2.0**-levels * factor, (hi - lo) * 0.999)
        bound = 2 * math.ceil(math.log2((hi - lo) / tolerance)) + 1
        steps = random_steps(rng, lo, hi, pieces)
        for rho in probes(steps, rng):
            steps.runs.clear()
            problem = sb.BlackBox(steps, None, sb.Interval(lo, hi), LOSS, tolerance)
            seen = problem.reveal(rho)
            assert in_place(seen.domain[0], steps.piece(rho), tolerance)
            assert seen.edges[0] <= rho <= seen.edges[-1]
            assert seen.values.tolist() == [LOSS(steps.index(rho))]
            assert len(steps.runs) == problem.n_runs <= bound
            assert problem.most_runs <= bound
            assert len(set(steps.runs)) == len(steps.runs)
            assert all(lo <= x <= hi for x in steps.runs)


@pytest.mark.parametrize("tolerance", [0.02, 1e-9])
@pytest.mark.parametrize("seed", range(4))
def test_every_rho_of_a_piece_reveals_the_same_interval_to_the_bit(seed, tolerance):
    rng = np.random.default_rng(seed)
    lo, hi = SPACES[seed]
    steps = random_steps(rng, lo, hi, 6)
    space = sb.Interval(lo, hi)
    grid = DyadicGrid(lo, hi, tolerance)
    points = None if grid.n_cells > 4096 else [grid.point(i) for i in range(grid.n_cells)]
    at_edges = {grid.cell(edge) for edge in steps.edges[1:-1]}
    checked = 0
    for rho in rng.uniform(lo, hi, 40).tolist():
        if grid.cell(rho) in at_edges:
            continue
        first = sb.BlackBox(steps, None, space, LOSS, tolerance).reveal(rho)
        for other in rng.uniform(*first.domain[0], 3).tolist():
            if grid.cell(other) not in at_edges:
                assert sb.BlackBox(steps, None, space, LOSS, tolerance).reveal(other) == first
                checked += 1
        if points:
            assert first.domain[0] == maximal_piece_on_grid(steps.index, points, hi, rho)
    assert checked > 40


def test_no_parameter_is_run_twice():
    steps = Steps([0, 0.2, 0.7, 0.71, 1])
    problem = sb.BlackBox(steps, None, sb.Interval(0, 1), LOSS, check=5)
    for rho in (0.1, 0.5, 0.5, 1.0, 0.0):
        problem.reveal(rho)
        problem.loss(rho)
    problem.losses()
    problem.losses()
    assert len(set(steps.runs)) == len(steps.runs) == problem.n_runs


def test_a_failed_run_changes_nothing():
    broken = True

    def run(_, rho):
        if broken and rho < 0.5:
            raise OSError("no licence")
        return rho < 0.5

    problem = sb.BlackBox(run, None, sb.Interval(0, 1), float)
    with pytest.raises(OSError, match="no licence"):
        problem.reveal(0.7)
    broken = False
    assert problem.reveal(0.7) == sb.PiecewiseConstant([0.5, 1], [0])


# -- losses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("lo", "hi"), SPACES)
def test_losses_are_right_to_the_tolerance_and_agree_with_reveal_to_the_bit(lo, hi):
    rng = np.random.default_rng(5)
    tolerance = (hi - lo) * 1e-7
    for pieces in (1, 3, 40):
        steps = random_steps(rng, lo, hi, pieces)
        problem = sb.BlackBox(steps, None, sb.Interval(lo, hi), LOSS, tolerance)
        losses = problem.losses()
        middles = [0.5 * (a + b) for a, b in itertools.pairwise(steps.edges) if b - a > 3 * tolerance]
        wide = [steps.index(x) for x in middles]
        assert [LOSS(i) for i in wide] == [losses(x) for x in middles]
        assert set(wide) <= {steps.index(x) for x in losses.edges[:-1].tolist()}
        for edge in losses.edges[1:-1].tolist():
            assert min(abs(edge - x) for x in steps.edges) <= tolerance
        for x in middles:
            assert problem.reveal(x).piece(x) == losses.piece(x)


def test_threads_run_side_by_side():
    """Each run waits for a second one: this ends only where two are on their way at once."""
    meeting = threading.Barrier(2)

    def run(_, rho):
        meeting.wait(timeout=20)
        return 0

    problem = sb.BlackBox(run, None, sb.Interval(0, 1), float, tolerance=0.25, resolution=0.25, n_jobs=2)
    # The points are 0, 0.25, 0.5, 0.75: two pairs.
    assert problem.losses() == sb.PiecewiseConstant([0, 1], [0])
    assert problem.n_runs == 4


def test_losses_finds_recurring_outputs_wider_than_the_resolution():
    steps = Steps([0, 0.51, 0.54, 1], outputs=[0, 1, 0])
    space = sb.Interval(0, 1)
    assert len(sb.BlackBox(steps, None, space, LOSS, resolution=0.25).losses()) == 1
    for resolution in (None, 0.03):
        found = sb.BlackBox(steps, None, space, LOSS, resolution=resolution).losses()
        assert found.values.tolist() == [LOSS(0), LOSS(1), LOSS(0)]
        assert in_place(found.edges, steps.edges, 1e-9)


# -- outputs that come back -----------------------------------------------------------------------


def test_check_raises_if_an_output_recurs():
    steps = Steps([0, 0.4, 0.6, 1], outputs=["a", "b", "a"])
    assert sb.BlackBox(steps, None, sb.Interval(0, 1), len).reveal(0.1).domain == ((0.0, 1.0),)  # unnoticed
    problem = sb.BlackBox(steps, None, sb.Interval(0, 1), len, check=30)
    with pytest.raises(ValueError, match="not piecewise-unique"):
        problem.reveal(0.1)
    assert problem.reveal(0.5).domain[0] == pytest.approx((0.4, 0.6), abs=1e-9)


# -- comparing, losses of outputs, bad input --------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, 1.0, True),
        (math.nan, math.nan, True),
        (np.array([1, 2]), np.array([1, 2]), True),
        (np.array([1, 2]), np.array([1, 3]), False),
        (np.array([1, 2]), np.array([[1, 2]]), False),
        (np.array([1.0, math.nan]), np.array([1.0, math.nan]), True),
        (np.array(["a", None], dtype=object), np.array(["a", None], dtype=object), True),
        ((1, np.array([2])), (1, np.array([2])), True),
        ((1, 2), [1, 2], False),
        ({"x": np.array([1])}, {"x": np.array([2])}, False),
        ({"x": 1}, {"y": 1}, False),
        (np.array([1]), None, False),
    ],
)
def test_outputs_are_compared_by_content(a, b, same):
    assert same_output(a, b) is same
    assert same_output(b, a) is same


class Tripled:
    def __call__(self, output, scale=3.0):
        return scale * output


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda output: 2.0 * output, 4.0),
        (lambda instance, output: instance + output, 12.0),
        (Tripled(), 6.0),
        (math.sqrt, math.sqrt(2)),
        (lambda *outputs: len(outputs), 1.0),
    ],
)
def test_loss_takes_the_output_or_the_instance_and_the_output(loss, expected):
    assert sb.BlackBox(lambda instance, rho: 2, 10, sb.Interval(0, 1), loss).loss(0.5) == expected


# -- against the exact families -------------------------------------------------------------------


@pytest.mark.parametrize("partition", ["order", "output"])
@pytest.mark.parametrize("seed", range(3))
def test_knapsack_as_a_black_box_has_the_exact_intervals(seed, partition):
    """An order never recurs, since two items swap once; a selected set may, but not for these seeds."""
    rng = np.random.default_rng(seed)
    values, sizes = rng.uniform(0.1, 1, 20), rng.uniform(0.1, 1, 20)
    exact = sb.Knapsack(values, sizes, capacity=0.3 * sizes.sum(), partition=partition)

    def run(problem, rho):
        solution = problem.solve(rho)
        return (solution.mask, solution.order) if partition == "order" else (solution.mask,)

    def loss(problem, output):
        return 1.0 - float(values[output[0]].sum()) / problem.bound

    problem = sb.BlackBox(run, exact, exact.space, loss, resolution=exact.space.width / 512)
    for rho in [0.0, 10.0, *rng.uniform(0, 3, 15).tolist()]:
        piece, seen = exact.reveal(rho).piece(rho), problem.reveal(rho)
        assert seen.domain[0] == pytest.approx(piece.domain[0], abs=1e-9)
        assert seen(rho) == pytest.approx(piece(rho), abs=1e-9)
    truth, found = exact.losses(), problem.losses()
    assert len(found) == len(truth)
    assert found.edges.tolist() == pytest.approx(truth.edges.tolist(), abs=1e-9)
    assert found.values.tolist() == pytest.approx(truth.values.tolist())


def test_an_output_that_changes_everywhere_raises():
    problem = sb.BlackBox(lambda x, rho: rho, None, sb.Interval(0, 1), lambda output: output, max_runs=1000)
    with pytest.raises(ValueError, match="is the output piecewise constant in rho"):
        problem.losses()
    assert problem.n_runs <= 1000
    assert problem.reveal(0.3)(0.3) == 0.3  # each call has the same limit


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_the_bound_on_runs_is_sharp(levels):
    n = 2**levels
    runs = []
    for lo, hi in itertools.combinations(range(n + 1), 2):
        for cell, offset in itertools.product(range(lo, hi), (0.0, 0.5)):
            steps = Steps(sorted({0.0, lo / n, hi / n, 1.0}))
            problem = sb.BlackBox(steps, None, sb.Interval(0, 1), LOSS, 1 / n)
            if (lo + cell) % 2:
                problem.loss((cell + offset) / n)  # a run made before counts as well
            assert problem.reveal((cell + offset) / n).domain == ((lo / n, hi / n),)
            runs.append(len(steps.runs))
    assert max(runs) == 2 * levels + 1


def test_a_rho_right_of_an_edge_in_its_cell_reveals_its_own_piece():
    steps = Steps([0, 0.301, 1])
    problem = sb.BlackBox(steps, None, sb.Interval(0, 1), LOSS, tolerance=0.125)
    assert problem.reveal(0.3).domain == ((0.0, 0.375),)
    assert problem.reveal(0.31) == sb.PiecewiseConstant([0.31, 1], [LOSS(1)])
    assert problem.reveal(0.5).domain == ((0.375, 1.0),)


def test_an_output_of_the_right_end_alone_is_revealed_there():
    problem = sb.BlackBox(lambda _, rho: rho == 1.0, None, sb.Interval(0, 1), float, 1e-3)
    assert problem.reveal(0.4) == problem.losses() == sb.PiecewiseConstant([0, 1], [0])
    assert problem.reveal(1.0) == sb.PiecewiseConstant([1 - 2.0**-10, 1], [1])
