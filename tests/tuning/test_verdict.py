"""Summaries, the values tried, and the verdict on the default."""

import math

import numpy as np
import pytest

from semibandit.tuning import RunRecord
from semibandit.tuning.verdict import Tried, compare, of_default, summarise, tried

ENDS = (0.0, 1.0)


def played(rho, loss, default=None):
    return RunRecord("a", rho, loss, default_loss=default)


def rounds(n, difference, seed=0, values=(0.25, 0.75)):
    """Instances differ a lot; the first value is better than the default by `difference`, others worse."""
    rng = np.random.default_rng(seed)
    out = []
    for i in range(n):
        level, rho = rng.uniform(0.2, 0.6), values[i % len(values)]
        better = difference if rho == values[0] else -0.2
        loss, other = level - better + 0.05 * rng.normal(), level + 0.05 * rng.normal()
        out.append(played(rho, float(np.clip(loss, 0, 1)), float(np.clip(other, 0, 1)) if i % 3 else None))
    return out


@pytest.mark.parametrize(
    ("difference", "rho", "answer"),
    [(0.15, 0.25, "better"), (0.15, 0.75, "worse"), (0.0, 0.25, "cannot tell"), (-0.15, 0.25, "worse")],
)
@pytest.mark.parametrize("values", [2, None])
def test_the_verdict_is_that_of_the_confidence_interval(difference, rho, answer, values):
    finished = rounds(600, difference)
    found = compare(finished, rho, ENDS, 1.0, values=values)
    pairs = [r.loss - r.default_loss for r in finished if r.rho == rho and r.default_loss is not None]
    assert found.answer == answer
    assert found.pairs == len(pairs) == 200
    assert found.recommended - found.default == pytest.approx(np.mean(pairs))
    assert found.bounds.low < np.mean(pairs) < found.bounds.high
    assert found.error == pytest.approx(np.std(pairs, ddof=1) / math.sqrt(200))
    assert (found.needed == 200) == (answer != "cannot tell")
    assert found.candidates == (127 if values is None else 2)
    larger = compare(finished, rho, ENDS, 1.0, maximize=True, values=values)
    assert {larger.answer, answer} in ({"better", "worse"}, {"cannot tell"})
    assert (found.lo, found.hi) == ((rho, rho) if values else (rho, rho + 1 / 64))


def test_a_stretch_with_few_pairs_is_widened():
    finished = [played(x, 0.2, 0.5) for x in np.linspace(0.26, 0.49, 24)]
    assert compare(finished, 0.3, ENDS, 1.0).pairs == 24
    assert (compare(finished, 0.3, ENDS, 1.0).lo, compare(finished, 0.3, ENDS, 1.0).hi) == (0.25, 0.5)
    assert compare(finished[:5], 0.9, ENDS, 1.0).pairs == 5
    assert compare(finished, 0.9, ENDS, 1.0, values=3) is None
    assert compare([played(0.3, 0.2)], 0.3, ENDS, 1.0) is None


def test_number_of_pairs_needed_for_a_decision():
    finished = [played(0.5, 0.3 + 0.01 * (i % 3), 0.4) for i in range(30)]
    found = compare(finished, 0.5, ENDS, 1.0, values=5)
    assert (found.answer, found.needed) == ("cannot tell", 120)
    assert compare(finished * 4, 0.5, ENDS, 1.0, values=5).answer == "better"
    alike = compare([played(0.5, 0.3, 0.3)] * 30, 0.5, ENDS, 1.0, values=5)
    assert (alike.answer, alike.needed) == ("cannot tell", None)


@pytest.mark.slow
def test_verdicts_are_seldom_wrong_at_any_time():
    """Ten values are all as good as the default; the one with the lowest mean is compared repeatedly."""
    wrong = 0
    for seed in range(100):
        finished = rounds(300, 0.0, seed, values=(0.5,))
        rng = np.random.default_rng(seed)
        finished = [played(float(rng.integers(10)) / 10, r.loss, r.default_loss) for r in finished]
        for t in range(50, 301, 50):
            best = min(tried(finished[:t], ENDS), key=lambda row: row.mean).lo
            found = compare(finished[:t], best, ENDS, 1.0, values=10)
            if found is not None and found.answer != "cannot tell":
                wrong += 1
                break
    assert wrong <= 5


def test_rows_of_values_and_of_stretches():
    finished = [
        played(0.2, 0.1),
        played(0.2, 0.3),
        played(0.7, 0.5, 0.4),
        RunRecord("a", 0.2, None, failure="x"),
    ]
    few = tried(finished, ENDS)
    assert few == [
        Tried(0.2, 0.2, pytest.approx(0.2), pytest.approx(0.1), 2, 1),
        Tried(0.7, 0.7, 0.5, pytest.approx(math.nan, nan_ok=True), 1),
    ]
    assert of_default(finished, 0.9).mean == 0.4
    assert of_default(finished[:2], 0.9) is None
    many = tried([played(x, x) for x in np.linspace(0, 1, 101)], ENDS, rows=4)
    assert [(row.lo, row.hi) for row in many] == [(0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1)]
    assert [row.runs for row in many] == [25, 25, 25, 26]
    (lost,) = tried([RunRecord("a", 0.2, None, failure="x")], ENDS)
    assert (math.isnan(lost.mean), lost.runs, lost.failed) == (True, 0, 1)


def test_summary_counts_rounds_and_compares_with_the_default():
    records = [
        played(0.2, 0.1, 0.5),
        played(0.3, 0.3, 0.4),
        RunRecord("b", 0.4, 1.0, runs=3, clipped="over 1: 7.0"),
        RunRecord("b", 0.4, 1.0, clipped="no end after 5 seconds"),
        RunRecord("c", 0.4, None, failure="exit status 3"),
        RunRecord("c", 0.4, 1.0, failure="exit status 3"),
    ]
    found = summarise(records)
    assert (found.n_rounds, found.n_runs, found.n_failed, found.n_skipped) == (6, 8, 2, 1)
    assert found.clipped == {"over": 1, "no end": 1}
    assert found.mean_loss == pytest.approx(3.4 / 5)
    assert found.comparison == pytest.approx((2, 0.2, 0.45, np.std([-0.4, -0.1], ddof=1) / math.sqrt(2)))
    assert summarise([]).comparison is None
    assert math.isnan(summarise([]).mean_loss)
