import numpy as np
import pytest

import semibandit as sb

HISTORY = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), sb.streams.synthetic(150, seed=0))


def test_loss_function_shades_the_revealed_interval():
    problem = HISTORY.problems[3]
    rho = float(HISTORY.rho[3])
    ax = sb.plots.loss_function(problem, rho)
    shaded = ax.patches[-1].get_window_extent().transformed(ax.transData.inverted())
    lo, hi = problem.losses().piece(rho).edges
    assert (shaded.x0, shaded.x1) == pytest.approx((lo, hi))


def test_dendrogram_has_a_bracket_for_each_merge_and_a_dot_for_each_point():
    problem = sb.streams.clustering("gaussian", 1, per_class=5)[0]
    ax = sb.plots.dendrogram(problem, 0.3)
    lines, dots = ax.collections
    assert len(lines.get_segments()) == 14
    assert len(dots.get_offsets()) == 15
    assert "ρ = 0.3" in ax.get_title()


def test_regret_against_blocks_is_drawn_beside_the_fixed_one():
    ax = sb.plots.regret(HISTORY, blocks=3)
    fixed, moving = ax.get_lines()[:2]
    assert np.array_equal(fixed.get_ydata(), HISTORY.regret())
    assert np.array_equal(moving.get_ydata(), HISTORY.regret(blocks=3))
    assert (fixed.get_color(), moving.get_linestyle()) == (moving.get_color(), "--")
    assert ax.get_title() == "Regret against the best fixed ρ and the best 3 blocks"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "semi-bandit",
        "semi-bandit, 3 blocks",
    ]


def test_regret_may_be_drawn_over_runs():
    history = sb.play(sb.Exp3Set(sb.Interval(0, 1), seed=0), sb.streams.synthetic(20, seed=0), probes=2)
    ax = sb.plots.regret(history, by="run")
    curve = ax.get_lines()[0]
    assert curve.get_xdata().tolist() == list(range(3, 63, 3))
    assert np.array_equal(curve.get_ydata(), history.regret())
    assert (ax.get_xlabel(), ax.get_xscale()) == ("run", "log")
    with pytest.raises(ValueError, match="by must be one of"):
        sb.plots.regret(history, by="hour")
