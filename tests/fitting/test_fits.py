"""The best parameter of a log: the same for every way of working on it, with bounds that hold."""

import itertools
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semibandit as sb
from reference.feedback import random_loss
from semibandit.fitting import partial
from semibandit.streams import Stream


def everything(result):
    """All that a fit says, to the bit."""
    return json.dumps(result.to_dict())


def random_steps(seed, count):
    random = np.random.default_rng(seed)
    return [random_loss(random) for _ in range(count)]


def random_lines(seed, count, pieces=4):
    random = np.random.default_rng(seed)
    return [
        sb.PiecewiseLinear(np.r_[0, np.sort(random.random(pieces - 1)), 1], *random.random((2, pieces)))
        for _ in range(count)
    ]


# -- the same result -----------------------------------------------------------------------------------

EDGES = st.lists(st.integers(1, 15).map(lambda k: k / 16), max_size=5, unique=True).map(sorted)
LOSSES = st.one_of(st.floats(0, 1), st.sampled_from([0.1, 0.2, 0.3, 1e-17, 1e16, -1e16, 2e16]))


@st.composite
def functions(draw):
    edges = [0.0, *draw(EDGES), 1.0]
    left = [draw(LOSSES) for _ in edges[1:]]
    if draw(st.booleans()):
        return sb.PiecewiseLinear(edges, left, [draw(LOSSES) for _ in left])
    return sb.PiecewiseConstant(edges, left)


@settings(max_examples=60)
@given(
    st.lists(functions(), min_size=2, max_size=30),
    st.lists(st.integers(1, 40), min_size=2, max_size=2),
    st.sampled_from([0.0, 0.3]),
)
def test_chunks_do_not_change_a_bit(log, chunks, holdout):
    if len(log) * holdout < 1:
        holdout = 0.0
    one, other = (sb.fit(log, chunk=chunk, holdout=holdout, default=0.5) for chunk in chunks)
    assert everything(one) == everything(other)


def test_mean_of_losses_is_not_negative():
    for seed in range(60):
        random = np.random.default_rng(seed)
        edges = [0, *sorted(random.random(2)), 1]
        log = [sb.PiecewiseLinear(edges, random.random(3), [random.random(), 0, 0]) for _ in range(5)]
        assert sb.fit(log).mean_loss == 0.0


@pytest.mark.parametrize("make", [random_steps, random_lines])
def test_partials_add_to_the_fit_of_both_logs(make):
    log = make(3, 50)
    whole = sb.fit(log, default=0.25)
    parts = [pickle.loads(pickle.dumps(sb.fit(part).partial)) for part in (log[:7], log[7:31], log[31:])]
    for grouped in ((parts[0] + parts[1]) + parts[2], parts[2] + (parts[0] + parts[1])):
        assert everything(sb.Fit.of(grouped, default=0.25)) == everything(whole)
    with pytest.raises(TypeError, match="partial must be a Partial"):
        sb.Fit.of(whole)
    with pytest.raises(ValueError, match="problems must be on one space"):
        _ = parts[0] + sb.fit([sb.PiecewiseConstant([0, 2], [0.5])]).partial
    with pytest.raises(ValueError, match="all have losses or all utilities"):
        _ = parts[0] + sb.fit(log, maximize=True).partial


def test_bounds_that_are_the_whole_range_are_vacuous():
    few, many = sb.fit(random_steps(0, 3), default=0.5), sb.fit(random_steps(0, 2000))
    assert few.confidence.vacuous
    assert few.confidence.loss.vacuous
    assert few.confidence.gap.vacuous
    assert "loss 0." in repr(few)
    assert "vacuous bounds" in repr(few)
    assert not many.confidence.vacuous
    assert "vacuous" not in repr(many)


def test_rows_of_two_parameters():
    stream = sb.streams.digits_two_metrics(6, (2, 3, 4), n_rows=3)
    result = sb.fit(stream, default=(0.5, 0.5), holdout=1 / 3)
    chosen = [stream[t] for t in (0, 1, 3, 4)]
    best = sb.best_in_hindsight(chosen)
    assert (result.interval, result.alpha, result.parameters) == (best.interval, best.alpha, best.parameters)
    assert result.confidence.loss.value == pytest.approx(
        np.mean([stream[t].loss(*best.parameters) for t in (2, 5)])
    )


# -- unreadable problems -------------------------------------------------------------------------------


def sometimes(t, rng):
    if t in (3, 17):
        raise OSError(f"disk {t} is on fire")
    return sb.PiecewiseConstant([0, rng.random(), 1], rng.random(2))


def test_unreadable_problems_are_skipped_on_request():
    stream = Stream(sometimes, 40, seed=0)
    with pytest.raises(OSError, match="disk 3 is on fire"):
        sb.fit(stream)
    result = sb.fit(stream, unreadable="skip", chunk=7)
    assert [str(each) for each in result.unreadable] == [
        "problem 3: disk 3 is on fire", "problem 17: disk 17 is on fire",
    ]  # fmt: skip
    assert result.count == 38
    assert "2 unreadable" in repr(result)
    held = sb.fit(stream, unreadable="skip", holdout=0.25)
    assert [each.index for each in held.unreadable] == [3, 17]
    assert held.count + held.held_out == 38


# -- confidence bounds ------------------------------------------------------------------------------------


def coin_log(seed, n):
    """Losses 0 or 1, with mean 0.3 left and 0.5 right of a break that is uniform: 0.3 + 0.2ρ at ρ."""
    random = np.random.default_rng([seed, 5])
    breaks, left, right = random.random((3, n))
    return [
        sb.PiecewiseConstant([0, x, 1], [float(a < 0.3), float(b < 0.5)])
        for x, a, b in zip(breaks, left, right, strict=True)
    ]


def expected(rho):
    return 0.3 + 0.2 * rho


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_bounds_hold_at_their_level(level):
    """Over 100 logs, each statement holds at least as often as it should."""
    uniform, uniform_gap, checked, checked_gap = [], [], [], []
    for seed in range(100):
        log = coin_log(seed, 100)
        result = sb.fit(log, default=1.0, level=level)
        sure = result.confidence
        function = result.function
        off = max(
            abs(value - expected(x))
            for pair, value in zip(itertools.pairwise(function.edges), function.values, strict=True)
            for x in pair
        )
        uniform.append(off <= sure.radius)
        gap = expected(1.0) - expected(result.rho)
        uniform_gap.append(sure.gap.low <= gap <= sure.gap.high)
        assert sure.loss.low <= expected(result.rho) <= sure.loss.high or not uniform[-1]
        held = sb.fit(log, default=1.0, level=level, holdout=0.5)
        sure = held.confidence
        checked.append(sure.loss.low <= expected(held.rho) <= sure.loss.high)
        gap = expected(1.0) - expected(held.rho)
        checked_gap.append(sure.gap.low <= gap <= sure.gap.high)
    for covered in (uniform, uniform_gap, checked, checked_gap):
        assert np.mean(covered) >= level


def test_held_out_bounds_are_those_of_the_reference():
    log = coin_log(0, 1000)
    result = sb.fit(log, default=1.0, holdout=0.2)
    held = log[4::5]
    losses = np.array([f(result.rho) for f in held])
    gaps = np.array([f(1.0) for f in held]) - losses
    for estimate, numbers, width in (
        (result.confidence.loss, losses, 1.0),
        (result.confidence.gap, gaps, 2.0),
    ):
        log_term = np.log(4 / 0.05)
        radius = np.sqrt(2 * numbers.var(ddof=1) * log_term / 200) + 7 * width * log_term / (3 * 199)
        assert estimate.value == pytest.approx(numbers.mean())
        assert estimate.high == pytest.approx(numbers.mean() + radius)
    assert (result.count, result.held_out) == (800, 200)
    assert result.interval == sb.best_in_hindsight([f for t, f in enumerate(log) if t % 5 != 4]).interval


def test_range_of_losses_includes_the_observed_ones():
    log = [sb.PiecewiseConstant([0, 0.5, 1], [0.0, 3.0]), sb.PiecewiseConstant([0, 0.5, 1], [-1.0, 1.0])]
    loss = sb.fit(log).confidence.loss
    assert (loss.low, loss.high) == (-1.0, 3.0)  # two problems tell nothing but the range
    with pytest.raises(ValueError, match=r"losses must be in \[0, 2\], got some from -1.0 to 3.0"):
        sb.fit(log, high=2.0)


# -- mistakes ------------------------------------------------------------------------------------------


def test_bad_problems_are_refused():
    with pytest.raises(TypeError, match="problems must be a sequence of problems, got 3"):
        sb.fit(3)
    with pytest.raises(ValueError, match="problem 1 is not seen everywhere"):
        sb.fit([*random_steps(0, 1), sb.PiecewiseConstant([0, 1], [np.nan])])
    with pytest.raises(ValueError, match="problems must be on one space"):
        sb.fit([*random_steps(0, 1), sb.PiecewiseConstant([0, 2], [0.5])], chunk=1)
    with pytest.raises(ValueError, match="holdout needs problems that can be read again"):
        sb.fit(iter(random_steps(0, 9)), holdout=0.5)


def test_repr_and_dict():
    result = sb.fit(random_steps(0, 50), default=0.5, progress=True)
    assert repr(result).startswith("<Fit: rho=")
    assert "50 problems; 95% uniform: loss 0." in repr(result)
    assert "gap to the default" in repr(result)
    data = result.to_dict()
    assert json.loads(json.dumps(data)) == data
    assert sb.PiecewiseConstant.from_dict(data["function"]) == result.function


class Stopping:
    """A log that can be read in one pass, and that may stop."""

    def __init__(self, problems, stop=None):
        self.problems, self.stop = problems, stop

    def __iter__(self):
        for i, problem in enumerate(self.problems):
            if i == self.stop:
                raise KeyboardInterrupt
            yield problem


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stopped_fit_continues_from_its_checkpoint(tmp_path, monkeypatch, n_jobs):
    problems = list(sb.streams.synthetic(50, seed=0))
    path = tmp_path / "fit.checkpoint"
    with pytest.raises(KeyboardInterrupt):
        sb.fit(Stopping(problems, stop=33), checkpoint=path, chunk=5, n_jobs=n_jobs)
    worked = []
    adder = partial.Adder.__call__
    monkeypatch.setattr(
        partial.Adder, "__call__", lambda self, chunk: worked.append(chunk.start) or adder(self, chunk)
    )
    result = sb.fit(Stopping(problems), checkpoint=path, chunk=5)
    done = range(0, 50, 5)
    assert len(worked) < len(done)
    assert set(worked) >= {35, 40, 45}
    assert result.to_dict() == sb.fit(problems).to_dict()
    worked.clear()
    again = sb.fit(Stopping(problems), checkpoint=path, chunk=5)
    assert (worked, again.to_dict()) == ([], result.to_dict())
    assert [file.name for file in tmp_path.iterdir()] == ["fit.checkpoint"]


def test_a_checkpoint_of_another_fit_is_refused(tmp_path):
    problems = list(sb.streams.synthetic(20, seed=0))
    path = tmp_path / "fit.checkpoint"
    sb.fit(problems, checkpoint=path)
    with pytest.raises(ValueError, match="is the checkpoint of another fit"):
        sb.fit(problems[:10], checkpoint=path)
    path.write_bytes(b"something")
    with pytest.raises(ValueError, match="is not a checkpoint of a fit"):
        sb.fit(problems, checkpoint=path)


def test_utilities_are_maximised():
    stream = sb.streams.knapsack("uncorrelated", rounds=40, n=10, loss="utility")
    result = sb.fit(stream, default=1.0, holdout=0.25)
    best = sb.best_in_hindsight([stream[t] for t in range(40) if t % 4 != 3], maximize=True)
    assert result.maximize
    assert (result.interval, result.mean_loss) == (best.interval, best.mean_loss)
    held = [stream[t] for t in range(3, 40, 4)]
    assert result.held_out == len(held)
    gain = np.mean([p.loss(result.rho) - p.loss(1.0) for p in held])
    assert result.confidence.gap.value == pytest.approx(gain)
