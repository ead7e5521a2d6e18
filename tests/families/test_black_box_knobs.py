"""BlackBox on several knobs, compared with runs of every value."""

import math

import numpy as np
import pytest

import semibandit as sb

MODES = sb.Choice("fast", "good")


@pytest.mark.parametrize("kind", [sb.Integer(1, 12), sb.Integer(1, 40, log=True), sb.Real(0, 1, step=0.05)])
@pytest.mark.parametrize("seed", range(3))
def test_reveal_finds_all_values_with_the_same_output(kind, seed):
    rng = np.random.default_rng(seed)
    breaks = np.sort(rng.choice(kind.count, 4, replace=False))
    knobs = sb.Knobs(n=kind, mode=MODES)
    values = kind.spread(kind.count)
    runs = []

    def run(instance, n, mode):
        runs.append((n, mode))
        return mode, int(np.searchsorted(breaks, values.index(n), side="right"))

    box = sb.BlackBox(run, None, knobs, lambda output: output[1] / 5 + 0.1 * (output[0] == "fast"))
    outputs = [run(None, value, "good") for value in values]
    runs.clear()
    for i in rng.permutation(kind.count).tolist():
        before = box.n_runs
        played = {"n": values[i], "mode": "good"}
        seen = knobs.line.on_rows(box.reveal(**played), knobs.place(**played))
        assert box.n_runs - before <= box.most_runs
        row = knobs.line.row(seen, 1)
        for j in range(kind.count):
            told = row(0.5 * (kind.scale.edge(j) + kind.scale.edge(j + 1)))
            assert told == outputs[i][1] / 5 if outputs[j] == outputs[i] else math.isnan(told)
    assert len(runs) == len(set(runs)) == box.n_runs
    sb.testing.check_problem(box, n_points=12)


def test_ends_on_a_log_scale_are_found_to_the_tolerance():
    knobs = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 3))
    box = sb.BlackBox(
        lambda x, alpha, depth: (alpha > x, alpha > 20 * x, depth), 0.003, knobs,
        lambda output: 0.2 * (output[0] + output[1]) + 0.1 * output[2], tolerance=1e-7,
    )  # fmt: skip
    lo, hi = box.reveal(alpha=0.01, depth=2).edges.tolist()
    assert math.log(lo / 0.003) == pytest.approx(0.0, abs=2e-7)
    assert math.log(hi / 0.06) == pytest.approx(0.0, abs=2e-7)
    assert box.n_runs <= box.most_runs
    assert box.loss(alpha=0.5, depth=3) == pytest.approx(0.7)
    assert box.output(alpha=1.0, depth=3) == (True, True, 3)
    sb.testing.check_problem(box, n_points=15)
    best = sb.best_in_hindsight([box])
    assert best.values["depth"] == 1
    assert best.values["alpha"] < 0.003


def test_bad_values_and_endless_outputs_raise():
    knobs = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), mode=MODES)
    box = sb.BlackBox(lambda x, alpha, mode: alpha, 0, knobs, float, max_runs=500)
    with pytest.raises(ValueError, match="there is no knob 'rho'"):
        box.reveal(rho=0.3)
    with pytest.raises(ValueError, match="max_runs = 500 runs"):
        box.losses()
