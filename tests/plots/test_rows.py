"""Plots of games with knobs: axes have the names and scales of the knobs."""

import numpy as np
import pytest

import semibandit as sb
from semibandit import plots

pytest.importorskip("matplotlib")


class Solver:
    high = 1.0
    maximize = False

    def __init__(self, space):
        self.space = space

    def loss(self, alpha, depth=1, mode="good"):
        return self.reveal(alpha, depth, mode)(alpha)

    def row(self, depth=1, mode="good"):
        return sb.PiecewiseConstant([1e-4, 1e-2, 1], [0.2 + 0.05 * depth, 0.9 if mode == "fast" else 0.4])

    def reveal(self, alpha, depth=1, mode="good"):
        return self.row(depth, mode).piece(alpha)

    def losses(self):
        if len(self.space.knobs) == 1:
            return self.row()
        return sb.Boxes(
            [(self.row(d, m), {"depth": d, "mode": m}) for d in (1, 2, 3) for m in ("fast", "good")]
        )


def test_a_knob_with_log_has_a_log_axis():
    space = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True))
    history = sb.play(sb.Exp3Set(space, seed=0), [Solver(space)] * 30)
    ax = plots.density(history)
    assert (ax.get_ylabel(), ax.get_yscale()) == ("alpha", "log")
    assert ax.get_ylim() == pytest.approx((1e-4, 1.0))
    assert plots.widths(history).get_ylabel() == "width in alpha"
    ax = plots.loss_function(Solver(space), 0.1)
    assert (ax.get_xlabel(), ax.get_xscale()) == ("alpha", "log")
    assert plots.regret(history).get_title() == "Regret against the best fixed alpha"


def test_axes_of_several_knobs_have_their_names(tmp_path):
    space = sb.Knobs(alpha=sb.Real(1e-4, 1, log=True), depth=sb.Integer(1, 3), mode=sb.Choice("fast", "good"))
    history = sb.play(sb.Exp3Set(space, seed=0), [Solver(space)] * 40)
    ax = plots.across(history)
    assert ax.get_ylabel() == "depth, mode"
    assert [label.get_text() for label in ax.get_yticklabels()][:2] == ["1, fast", "1, good"]
    ax = plots.density(history)
    assert (ax.get_ylabel(), ax.get_yscale()) == ("alpha", "log")
    assert plots.regret(history).get_title() == "Regret against the best fixed alpha, depth, mode"
    plots.overview({"semi-bandit": history}, tmp_path / "page.png")
    assert (tmp_path / "page.png").stat().st_size > 10_000
    assert np.isfinite(history.widths).all()
