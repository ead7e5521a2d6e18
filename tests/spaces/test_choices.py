"""Choices alone, and a single knob as a space."""

import numpy as np
import pytest

import semibandit as sb
from semibandit.spaces import restore

CHOICES = sb.Knobs(mode=sb.Choice("fast", "good", None), flag=sb.Choice(True, False))


def test_choices_alone_are_rows():
    assert (CHOICES.along, CHOICES.names, len(CHOICES)) == (None, ("mode", "flag"), 6)
    assert restore(CHOICES.to_dict()) == CHOICES
    assert repr(CHOICES) == "Knobs(mode=Choice('fast', 'good', None), flag=Choice(True, False))"
    for row, alpha in enumerate(CHOICES.alphas):
        values = dict(zip(CHOICES.names, alpha, strict=True))
        assert CHOICES.parameters(row, 0.5) == values
        assert CHOICES.line.read(CHOICES.place(**values))[0] == row
    with pytest.raises(
        ValueError, match=r"along must be the name of a Real or an Integer \(none\), got 'mode'"
    ):
        sb.Knobs(along="mode", mode=sb.Choice("a", "b"))


@pytest.mark.parametrize("config", [{}, {"baseline": "low"}, {"baseline": None}, {"drift": "auto"}], ids=str)
def test_the_best_choice_is_found_and_saved(config, tmp_path):
    learner = sb.Exp3Set(CHOICES, seed=0, **config)
    for _ in range(400):
        trial = learner.ask()
        learner.tell(trial, 0.1 if trial.values == {"mode": None, "flag": False} else 0.8)
    best = learner.recommend()
    assert best.values == {"mode": None, "flag": False}
    assert (best.along, "interval" in repr(best)) == (None, False)
    learner.save(tmp_path / "learner")
    again = sb.load(tmp_path / "learner")
    assert [again.ask().values for _ in range(9)] == [learner.ask().values for _ in range(9)]


def test_choices_with_equal_rows_are_exp3():
    """The rows are the arms: a grid of as many arms, told the same losses, has the same weights."""
    knobs, grid = sb.Knobs(mode=sb.Choice(*"abcd")), sb.Interval(0, 1)
    ours = sb.Exp3Set(knobs, baseline=None, rate=0.1, seed=1)
    theirs = sb.Exp3Grid(grid, 4, baseline=None, rate=0.1, seed=1)
    for t in range(100):
        a, b = ours.ask(), theirs.ask()
        assert "abcd".index(a.values["mode"]) == int(b.rho * 4)
        loss = (0.3 + 0.1 * "abcd".index(a.values["mode"]) + 0.07 * (t % 5)) % 1.0
        ours.tell(a, loss)
        theirs.tell(b, loss)
    assert np.allclose(ours.density().between(np.arange(5.0)), theirs.density().between(np.linspace(0, 1, 5)))


@pytest.mark.parametrize(
    ("kind", "name"),
    [(sb.Choice("a", "b"), "choice"), (sb.Integer(1, 9), "rho"), (sb.Real(1e-3, 1, log=True), "rho")],
)
def test_a_single_knob_is_a_space(kind, name, tmp_path):
    learner = sb.Exp3Set(kind, seed=4)
    assert learner.space == sb.Knobs(**{name: kind})
    assert learner.ask().values.keys() == {name}
    assert sb.Exp3Grid(kind, 8, seed=4).ask().values.keys() == {name}
    with sb.Study(f"sqlite:///{tmp_path}/a.db", "one", space=kind, seed=4) as study:
        trial = study.ask()
        assert trial.values == sb.Exp3Set(kind, seed=4).ask().values
        study.tell(trial, 0.5)
        assert study.recommend().values.keys() == {name}
        assert study.summary().counts.told == 1
