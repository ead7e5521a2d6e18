"""`semibandit demo`: its table and its picture."""

import numpy as np
import pytest

import semibandit as sb
from command_line import main
from semibandit.cli.demo import FAMILIES, KINDS, _compare, _games, _losses


def test_table_names_all_families_and_the_picture_is_written(tmp_path):
    done = main("demo", "-T", "4", "--games", "1", "--png", str(tmp_path / "demo.png"))
    assert done.returncode == 0, done.stderr
    for name in FAMILIES:
        assert name in done.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_regret_is_against_the_exact_best_value():
    default, problems = _losses("Packing a knapsack", rounds=30, seed=3)
    paid = {kind: _games(problems, kind, 2) for kind in KINDS}
    played = _compare("packing", default, problems, paid)
    best = sb.best_in_hindsight(problems)
    usual = sum(problem.loss(default) for problem in problems)
    assert played.default_regret[-1] == pytest.approx(usual - 30 * best.mean_loss)
    history = sb.play(sb.Exp3Set(problems[0].space, seed=1), problems, "semi-bandit")
    np.testing.assert_allclose(played.regret["semi-bandit"][1], history.regret(), atol=1e-12)
