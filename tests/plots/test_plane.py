import numpy as np
import pytest

import semibandit as sb
from semibandit import plots
from semibandit.plots import plane


@pytest.fixture(scope="module")
def game():
    stream = sb.streams.digits_two_metrics(15, (2, 3, 4), n_rows=3)
    learner = sb.Exp3Set(stream[0].space, seed=0)
    return sb.play(learner, stream), learner


def test_heat_maps_show_rows_and_the_feedback_set(game):
    history, learner = game
    chosen = learner.recommend()
    ax = plane.density(history, chosen=chosen)
    values = np.asarray(ax.collections[0].get_array()).reshape(3, -1)
    assert (values**2).mean() == pytest.approx(1)
    points = {line.get_label(): (line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines}
    assert points["chosen"] == (chosen.rho, chosen.alpha)
    assert points["best in hindsight"] == history.best().parameters
    problem = history.problems[0]
    ax = plane.instance(problem, 0.4, 0.5)
    seen = problem.reveal(0.4, 0.5)
    assert len(ax.patches) == sum(len(row.domain) for row in problem.space.line.rows(seen))


def test_densities_of_one_parameter_sum_over_the_other(game):
    history, _ = game
    for draw, bins in ((plots.across, 3), (plots.density, 64)):
        values = np.asarray(draw(history).collections[0].get_array())
        assert values.reshape(bins, -1).shape[1] == 15
        assert (values.reshape(bins, -1) ** 2).mean(axis=0) == pytest.approx(1)
    assert [label.get_text() for label in plots.across(history).get_yticklabels()] == ["0", "0.5", "1"]


def test_overview_writes_a_picture(game, tmp_path):
    history, learner = game
    plots.overview({"semi-bandit": history}, tmp_path / "game.png", chosen=learner.recommend())
    assert (tmp_path / "game.png").stat().st_size > 10_000
