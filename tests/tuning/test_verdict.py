"""Better, worse, or cannot tell; and the table of the values tried."""

import math

import numpy as np
import pytest

from semibandit.tuning import Round
from semibandit.tuning.verdict import Tried, compare, of_default, tried

ENDS = (0.0, 1.0)


def played(rho, loss, default=None):
    return Round("a", rho, rho, 0.1, loss=loss, default_loss=default)


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
def test_answers(difference, rho, answer, values):
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


def test_few_pairs_are_taken_from_a_wider_stretch():
    finished = [played(x, 0.2, 0.5) for x in np.linspace(0.26, 0.49, 24)]
    assert compare(finished, 0.3, ENDS, 1.0).pairs == 24
    assert (compare(finished, 0.3, ENDS, 1.0).lo, compare(finished, 0.3, ENDS, 1.0).hi) == (0.25, 0.5)
    assert compare(finished[:5], 0.9, ENDS, 1.0).pairs == 5
    assert compare(finished, 0.9, ENDS, 1.0, values=3) is None
    assert compare([played(0.3, 0.2)], 0.3, ENDS, 1.0) is None


def test_how_many_pairs_would_tell():
    finished = [played(0.5, 0.3 + 0.01 * (i % 3), 0.4) for i in range(30)]
    found = compare(finished, 0.5, ENDS, 1.0, values=5)
    assert (found.answer, found.needed) == ("cannot tell", 120)
    assert compare(finished * 4, 0.5, ENDS, 1.0, values=5).answer == "better"
    alike = compare([played(0.5, 0.3, 0.3)] * 30, 0.5, ENDS, 1.0, values=5)
    assert (alike.answer, alike.needed) == ("cannot tell", None)


@pytest.mark.slow
def test_whoever_looks_after_every_round_is_seldom_wrong():
    """Ten values, all as good as the default; the one that looks best is compared again and again."""
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


def test_the_values_tried():
    finished = [played(0.2, 0.1), played(0.2, 0.3), played(0.7, 0.5, 0.4), Round("a", 0.2, 0.2, 0.1)]
    few = tried(finished, ENDS)
    assert few == [
        Tried(0.2, 0.2, pytest.approx(0.2), pytest.approx(0.1), 2),
        Tried(0.7, 0.7, 0.5, pytest.approx(math.nan, nan_ok=True), 1),
    ]
    assert of_default(finished, 0.9).mean == 0.4
    assert of_default(finished[:2], 0.9) is None
    many = tried([played(x, x) for x in np.linspace(0, 1, 101)], ENDS, rows=4)
    assert [(row.lo, row.hi, row.runs) for row in many] == [
        (0, 0.25, 25),
        (0.25, 0.5, 25),
        (0.5, 0.75, 25),
        (0.75, 1, 26),
    ]
