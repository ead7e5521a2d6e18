"""Strips: the line, functions and boxes on it, and learners on rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import semibandit as sb
from semibandit import PiecewiseConstant

UNIT = sb.Interval(0, 1)


def random_function(rng, lo=0.0, hi=1.0, pieces=4):
    edges = np.unique(np.concatenate(([lo], lo + (hi - lo) * rng.random(pieces - 1), [hi])))
    return PiecewiseConstant(edges, rng.random(edges.size - 1))


# -- the space -------------------------------------------------------------------------------------------


def test_rows_are_evenly_spaced_and_reach_both_ends():
    assert sb.Strips(5, UNIT).alphas == (0, 0.25, 0.5, 0.75, 1)
    assert sb.Strips(1, UNIT).alphas == (0.5,)
    assert sb.Strips(2, UNIT, sb.Interval(-3, 7)).alphas == (-3, 7)
    grid = sb.Strips((2, 3), UNIT, (UNIT, sb.Interval(0, 10)))
    assert grid.alphas == ((0, 0), (0, 5), (0, 10), (1, 0), (1, 5), (1, 10))
    assert [grid.row_of(alpha) for alpha in grid.alphas] == list(range(6))
    assert grid.parameters(*grid.line.read(grid.place(0.25, (1, 5)))) == (0.25, (1, 5))


@pytest.mark.parametrize(("T", "d"), [(1, 2), (100, 2), (1000, 2), (10_000, 2), (100, 3), (1000, 4)])
def test_the_default_number_of_rows_leaves_no_point_far_from_a_row(T, d):
    space = sb.Strips(None, UNIT, (UNIT,) * (d - 1) if d > 2 else UNIT, horizon=T)
    gap = 1 / (space.shape[0] - 1)
    assert len(space.shape) == d - 1
    assert 0.5 * gap * np.sqrt(d - 1) <= 1 / np.sqrt(T)
    if space.shape[0] > 2:  # and no more rows than that takes
        assert 0.5 / (space.shape[0] - 2) * np.sqrt(d - 1) > 1 / np.sqrt(T)


@given(
    st.integers(1, 70),
    st.floats(-5, 5),
    st.floats(0.1, 10),
    st.lists(st.floats(0, 1), min_size=2, max_size=5, unique=True),
    st.data(),
)
def test_lay_rows_keeps_the_values(n_rows, lo, width, marks, data):
    interval = sb.Interval(lo, lo + width)
    space = sb.Strips(n_rows, interval)
    edges = np.unique([min(interval.lo + interval.width * mark, interval.hi) for mark in marks])
    if edges.size < 2:
        return
    row = data.draw(st.integers(0, n_rows - 1))
    function = PiecewiseConstant(edges, np.arange(edges.size - 1) / edges.size)
    laid = space.lay_rows({row: function})
    back = space.row(laid, row)
    wide = function.edges[1:] - function.edges[:-1] > 1e-9
    for a, b, value in zip(edges[:-1][wide], edges[1:][wide], function.values[wide], strict=True):
        middle = 0.5 * (a + b)
        assert laid(space.place(middle, space.alphas[row])) == value
        assert back(middle) == value


def test_rows_of_the_unit_interval_are_exact():
    """A point of the line is in [lo, hi) exactly if its parameter is."""
    rng = np.random.default_rng(0)
    space = sb.Strips(64, UNIT)
    for row in (0, 1, 2, 31, 63):
        lo, hi = np.sort(rng.random(2))
        seen = space.lay_rows({row: PiecewiseConstant([lo, hi], [0.5])})
        for edge in (lo, hi):
            x = space.place(edge, space.alphas[row])
            for point in (np.nextafter(x, 0), x, np.nextafter(x, 100)):
                inside = seen.edges[0] <= point < seen.edges[-1]
                assert inside == (lo <= space.line.read(point)[1] < hi)


def test_the_ends_of_rows_belong_to_their_rows():
    space = sb.Strips(3, UNIT)
    laid = space.lay_rows({row: PiecewiseConstant([0, 1], [row / 10]) for row in range(3)})
    for row, alpha in enumerate(space.alphas):
        for rho in (0.0, 1.0):
            x = space.place(rho, alpha)
            assert laid(x) == row / 10
            assert space.line.read(x)[0] == row
            assert space.line.home(x) == x
            assert space.line.around(laid, x) == (0, 1)


def test_row_is_the_inverse_of_lay_rows():
    rng = np.random.default_rng(1)
    space = sb.Strips(4, sb.Interval(0, 2))
    functions = {row: random_function(rng, 0, 2) for row in range(4)}
    laid = space.lay_rows(functions)
    assert (laid.edges[0], laid.edges[-1]) == space.span
    for row, function in functions.items():
        back = space.row(laid, row)
        np.testing.assert_allclose(back.edges, function.edges, atol=1e-14)
        np.testing.assert_array_equal(back.values, function.values)
    part = space.lay_rows({2: functions[2]})
    assert np.isnan(space.row(part, 0).values).all()
    assert space.row(part, 2) == space.row(laid, 2)


def test_boxes_become_intervals_of_rows():
    space = sb.Strips(5, UNIT)
    seen = space.lay_boxes(((0.25, 0.5), (0.2, 0.75), 0.3), ((0.5, 1), (0.75, 1), 0.8))
    for row, alpha in enumerate(space.alphas):
        for rho in (0.1, 0.25, 0.4, 0.5, 0.9, 1.0):
            first = 0.25 <= rho < 0.5 and 0.2 <= alpha < 0.75
            second = rho >= 0.5 and alpha >= 0.75
            expected = 0.3 if first else 0.8 if second else np.nan
            np.testing.assert_equal(space.row(seen, row)(rho), expected)
    cube = sb.Strips((3, 3), UNIT)
    seen = cube.lay_boxes(((0, 1), (0, 0.6), (0.4, 1), 0.5))
    assert seen.domain == ((1.0, 3.0), (4.0, 6.0))  # rows (0, ½), (0, 1), (½, ½), (½, 1)


def test_argmin_lies_in_one_row():
    space = sb.Strips(3, UNIT)
    f = space.lay_rows({0: PiecewiseConstant([0, 0.6, 1], [1, 0]), 1: PiecewiseConstant([0, 0.5, 1], [0, 1])})
    assert f.argmin() == (0.6, 1.5)
    assert space.line.argmin(f) == (1, (0.0, 0.5))
    assert space.line.argmin(PiecewiseConstant([0, 3], [0.2])) == (0, (0, 1))


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match="interval must be an Interval"):
        sb.Strips(3, 5)
    with pytest.raises(ValueError, match="give n_rows, or a horizon"):
        sb.Strips(None, UNIT)
    with pytest.raises(ValueError, match="n_rows must be at least 1"):
        sb.Strips(0, UNIT)
    with pytest.raises(ValueError, match="same number of parameters"):
        sb.Strips((2, 3), UNIT, (UNIT, UNIT, UNIT))
    space = sb.Strips(3, UNIT)
    with pytest.raises(ValueError, match=r"alpha must be that of a row, got 0.4; the nearest row has 0.5"):
        space.place(0.1, 0.4)
    with pytest.raises(ValueError, match="a row must be in 0 to 2"):
        space.lay_rows({3: PiecewiseConstant([0, 1], [0])})
    with pytest.raises(TypeError, match=r"functions\[1\] must be a PiecewiseConstant"):
        space.lay_rows({1: 0.5})
    with pytest.raises(ValueError, match="must satisfy 0 <= lo < hi <= 1"):
        space.lay_rows({1: PiecewiseConstant([0, 2], [0])})
    with pytest.raises(ValueError, match="must not overlap"):
        space.lay_boxes(((0, 0.5), (0, 1), 0.1), ((0.4, 0.6), (0.5, 1), 0.2))
    with pytest.raises(ValueError, match="hold no row"):
        space.lay_boxes(((0, 0.5), (0.1, 0.2), 0.1))
    with pytest.raises(ValueError, match="a box must be 2 pairs"):
        space.lay_boxes(((0, 0.5), 0.1))


# -- learners --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.25])
@pytest.mark.parametrize("options", [{}, {"baseline": None, "rate": 0.4}, {"max_pieces": 16}])
def test_strips_with_one_row_equal_the_interval(options, margin):
    interval = sb.Interval(-1, 2, margin=margin)
    one, row = (sb.Exp3Set(space, seed=3, **options) for space in (interval, sb.Strips(1, interval)))
    rng = np.random.default_rng(5)
    for t in range(150):
        a, b = one.ask(), row.ask()
        assert (a.rho, a.alpha, b.rho, b.alpha) == (b.rho, None, a.rho, 0.5)
        function = random_function(rng, -1, 2)
        seen = function if t % 5 == 0 else function.piece(a.rho)
        one.tell(a, seen)
        row.tell(b, seen)
        assert one.last_probability == row.last_probability
    assert one.density() == row.density()
    assert one.recommend() == row.recommend()[:2]


def test_feedback_on_several_rows_is_one_set():
    """One step on several rows, against the formula."""
    space = sb.Strips(4, UNIT)
    learner = sb.Exp3Set(space, rate=0.5, baseline=None, seed=0)
    trial = learner.ask()
    row = space.row_of(trial.alpha)
    lo, hi = max(trial.rho - 0.1, 0), min(trial.rho + 0.1, 1)
    functions = {r: PiecewiseConstant([lo, hi], [0.6 + 0.1 * (r == row)]) for r in {row, (row + 1) % 4}}
    learner.tell(trial, space.lay_rows(functions))
    p = 2 * (hi - lo) / 4
    assert learner.last_probability == pytest.approx(p)
    inside = learner.density()(space.place(0.5 * (lo + hi), trial.alpha))
    other = learner.density()(space.place(0.5 * (lo + hi), space.alphas[(row + 1) % 4]))
    outside = learner.density()(space.place(0.5 * (lo + hi), space.alphas[(row + 2) % 4]))
    assert np.log(inside / outside) == pytest.approx(-0.5 * 0.7 / p)
    assert np.log(other / outside) == pytest.approx(-0.5 * 0.6 / p)


def test_margins_belong_to_the_ends_of_their_rows():
    space = sb.Strips(3, sb.Interval(0, 1, margin=0.5))
    assert space.line.ends == (-0.5, 5.5)
    learner = sb.Exp3Set(space, rate=1.0, baseline=None, seed=1)
    at_ends = 0
    for _ in range(60):
        trial = learner.ask()
        at_ends += trial.rho in (0.0, 1.0)
        row = space.row_of(trial.alpha)
        half = PiecewiseConstant([0, 0.5], [0.3]) if trial.rho < 0.5 else PiecewiseConstant([0.5, 1], [0.3])
        before = learner.density()
        learner.tell(trial, sb.Strips(3, UNIT).lay_rows({row: half}))
        start = -0.5 + 2 * row + (0.0 if trial.rho < 0.5 else 1.0)
        share = before.restrict(start, start + 1)
        assert learner.last_probability == pytest.approx(share.values @ share.widths)
    assert 15 < at_ends < 45
    assert space.row(learner.density(), 1).edges[[0, -1]].tolist() == [-0.5, 1.5]


@pytest.mark.parametrize("space", [sb.Strips(5, UNIT), sb.Strips((2, 3), sb.Interval(0, 2, margin=0.1))])
def test_saved_learners_have_the_same_future(space, tmp_path):
    def step(learner, trial):
        x = space.row_of(trial.alpha) / len(space) + trial.rho / 10
        learner.tell(trial, space.lay_boxes(_box_around(space, trial, x % 1)))

    learner = sb.Exp3Set(space, seed=2)
    for _ in range(40):
        step(learner, learner.ask())
    late = [learner.ask() for _ in range(3)]
    learner.save(tmp_path / "plane.sb")
    again = sb.load(tmp_path / "plane.sb")
    assert again.space == space
    assert again.pending == learner.pending == tuple(late)
    for one in (learner, again):
        for trial in reversed(one.pending):
            step(one, trial)
    for _ in range(20):
        a, b = learner.ask(), again.ask()
        assert a == b
        step(learner, a)
        step(again, b)
    assert learner.density() == again.density()


def _box_around(space, trial, value):
    """One of two boxes that halve rho, over all rows."""
    middle = 0.5 * (space.interval.lo + space.interval.hi)
    rho = (space.interval.lo, middle) if trial.rho < middle else (middle, space.interval.hi)
    return rho, *((-1, 2) for _ in space.axes), value


def test_a_learner_learns_from_boxes():
    """A two-parameter algorithm whose feedback is a box: the best corner is found."""
    space = sb.Strips(8, UNIT)
    learner = sb.Exp3Set(space, seed=0)
    rng = np.random.default_rng(1)
    for _ in range(400):
        cut = 0.5 + 0.1 * rng.random(2)
        trial = learner.ask()
        good = trial.rho >= cut[0] and trial.alpha >= cut[1]
        rho = (cut[0], 1) if trial.rho >= cut[0] else (0, cut[0])
        alpha = (cut[1], 1) if trial.alpha >= cut[1] else (0, cut[1])
        learner.tell(trial, space.lay_boxes((rho, alpha, 0.1 if good else 0.7)))
    best = learner.recommend()
    assert best.rho > 0.55
    assert best.alpha > 0.55


def test_feedback_must_cover_the_trial():
    space = sb.Strips(3, UNIT)
    learner = sb.Exp3Set(space, seed=0)
    trial = learner.ask()
    row = space.row_of(trial.alpha)
    with pytest.raises(ValueError, match=f"must cover rho = {trial.rho}, alpha = {trial.alpha}"):
        learner.tell(trial, space.lay_rows({(row + 1) % 3: PiecewiseConstant([0, 1], [0.5])}))
    with pytest.raises(ValueError, match="3 rows laid end to end"):
        learner.tell(trial, PiecewiseConstant([0, 4], [0.5]))
    learner.tell(trial, space.lay_rows({row: PiecewiseConstant([0, 1], [0.5])}))


def test_exp3_grid_plays_rows():
    space = sb.Strips(4, UNIT)
    learner = sb.Exp3Grid(space, n_arms=12, seed=0)
    points = set()
    for _ in range(600):
        trial = learner.ask()
        points.add(trial.parameters)
        learner.tell(trial, 0.1 if trial.alpha == 1.0 and trial.rho > 0.6 else 0.8)
    assert points == {(rho, alpha) for rho in (1 / 6, 0.5, 1 - 1 / 6) for alpha in space.alphas}
    best = learner.recommend()
    assert best.alpha == 1.0
    assert best.rho == pytest.approx(5 / 6)
    assert best.interval == pytest.approx((2 / 3, 1))
    density = learner.density()
    assert density.integral() == pytest.approx(1)
    assert space.row(density, 3)(0.9) > space.row(density, 0)(0.9)
    with pytest.raises(ValueError, match="multiple of the 4 rows"):
        sb.Exp3Grid(space, n_arms=10)
    assert sb.Exp3Grid(space, horizon=4 * 27).n_arms == 12


# -- the game --------------------------------------------------------------------------------------------


class Plane:
    """A problem on rows whose pieces are given outright; each piece of a row is a feedback set."""

    def __init__(self, space, rng):
        self.space = space
        self.functions = {row: random_function(rng) * (0.5 + 0.1 * row) for row in range(len(space))}

    def loss(self, rho, alpha):
        return self.functions[self.space.row_of(alpha)](rho)

    def reveal(self, rho, alpha):
        row = self.space.row_of(alpha)
        return self.space.lay_rows({row: self.functions[row].piece(rho)})

    def losses(self):
        return self.space.lay_rows(self.functions)


@pytest.mark.parametrize("feedback", ["full", "semi-bandit", "bandit"])
def test_a_game_on_rows_has_exact_regret(feedback, tmp_path):
    space = sb.Strips(4, UNIT)
    rng = np.random.default_rng(7)
    problems = [Plane(space, rng) for _ in range(60)]
    learner = sb.Exp3Grid(space, 8, seed=0) if feedback == "bandit" else sb.Exp3Set(space, seed=0)
    history = sb.play(learner, problems, feedback)
    for t, problem in enumerate(problems):
        rho, alpha = history.rho[t], history.alpha[t]
        assert history.loss[t] == problem.loss(rho, alpha)
        if feedback == "semi-bandit":
            piece = problem.functions[space.row_of(alpha)].piece(rho).domain[0]
            assert (history.lo[t], history.hi[t]) == pytest.approx(piece, abs=1e-14)
    best = history.best()
    totals = [PiecewiseConstant.sum([p.functions[row] for p in problems]) for row in range(4)]
    lowest = min(total.min() for total in totals)
    assert best.mean_loss == pytest.approx(lowest / 60)
    row = space.row_of(best.alpha)
    assert totals[row].min() == pytest.approx(lowest)
    assert best.interval == pytest.approx(totals[row].argmin(), abs=1e-13)
    assert history.regret()[-1] == pytest.approx(history.loss.sum() - lowest)
    assert history.regret(0.5, 1.0)[-1] == pytest.approx(
        history.loss.sum() - sum(problem.loss(0.5, 1.0) for problem in problems)
    )
    times, edges, shares = history.densities()
    assert shares.shape == (len(times), 4, len(edges) - 1)
    assert shares.sum(axis=(1, 2)) == pytest.approx(1)
    history.to_csv(tmp_path / "game.csv")
    assert (tmp_path / "game.csv").read_text().splitlines()[0].endswith(",alpha")


def test_learner_and_problems_must_have_one_space():
    problem = Plane(sb.Strips(4, UNIT), np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"problem 0 is on 4 rows of \[0, 1\].*the learner on 3 rows"):
        sb.play(sb.Exp3Set(sb.Strips(3, UNIT), seed=0), [problem])
    with pytest.raises(ValueError, match=r"the learner on \[0, 1\]"):
        sb.play(sb.Exp3Set(UNIT, seed=0), [problem])


def test_intervals_narrower_than_doubles_stay_in_their_row():
    """At the right end of a row the line has no double left: the last one of the row stands for them."""
    space = sb.Strips(5, sb.Interval(0, 1))
    below = np.nextafter(1.0, 0.0)
    for row in range(5):
        laid = space.lay_pieces(np.array([row]), np.array([below]), np.array([1.0]), np.array([0.25]))
        assert [r for r in range(5) if 0.25 in space.row(laid, r).values] == [row]
        both = space.lay_pieces(
            np.array([row, row]), np.array([0.5, below]), np.array([below, 1.0]), np.array([0.75, 0.25])
        )
        assert [r for r in range(5) if not np.isnan(space.row(both, r).values).all()] == [row]
        assert space.row(both, row)(0.6) == 0.75
