import numpy as np
import pytest

import semibandit as sb

STREAM = sb.streams.synthetic(300, pieces=5, seed=4)
SPACE = sb.Interval(0, 1)


def learner_for(feedback, **options):
    if feedback == "bandit":
        return sb.Exp3Grid(SPACE, n_arms=8, seed=1, **options)
    return sb.Exp3Set(SPACE, seed=1, **options)


@pytest.mark.parametrize("feedback", ["full", "semi-bandit", "bandit"])
def test_history_agrees_with_the_problems(feedback):
    history = sb.play(learner_for(feedback), STREAM, feedback)
    assert len(history) == len(STREAM)
    for t, problem in enumerate(STREAM):
        assert history.loss[t] == problem.loss(history.rho[t])
        lo, hi = history.lo[t], history.hi[t]
        assert lo <= history.rho[t] <= hi
        if feedback == "semi-bandit":
            assert (lo, hi) == problem.losses().piece(history.rho[t]).domain[0]
    assert (history.probability > 0).all()
    assert (history.learner_seconds > 0).all()
    if feedback == "full":
        assert (history.widths == 1).all()
        assert history.probability == pytest.approx(1)


def test_regret_is_against_the_exact_best_parameter():
    history = sb.play(learner_for("semi-bandit"), STREAM)
    best = sb.best_in_hindsight(STREAM)
    assert history.best() == best
    total = history.loss.sum() - len(STREAM) * best.mean_loss
    assert history.regret()[-1] == pytest.approx(total)
    # No fixed parameter does better than the best one.
    for rho in np.linspace(0, 1, 50):
        assert history.regret(rho)[-1] <= total + 1e-9


def test_maximize_plays_the_mirrored_game():
    mirrored = [sb.Explicit(problem.losses() * -1.0 + 1.0) for problem in STREAM]
    losses = sb.play(learner_for("semi-bandit"), STREAM)
    utilities = sb.play(learner_for("semi-bandit", maximize=True), mirrored)
    # The mirrored losses differ in the last bit, so the draws may as well.
    assert utilities.rho == pytest.approx(losses.rho, abs=1e-9)
    assert utilities.regret() == pytest.approx(losses.regret(), abs=1e-6)


def test_one_pass_streams_are_collected():
    history = sb.play(learner_for("semi-bandit"), (STREAM[t] for t in range(100)))
    same = sb.play(learner_for("semi-bandit"), STREAM[:100])
    assert len(history.problems) == 100
    assert history.regret() == pytest.approx(same.regret())


def test_a_failing_problem_leaves_the_learner_as_it_was():
    class Broken:
        space = SPACE

        def reveal(self, rho):
            raise RuntimeError("no luck")

    learner = learner_for("semi-bandit")
    density = learner.density()
    with pytest.raises(RuntimeError, match="no luck"):
        sb.play(learner, [Broken()])
    assert learner.pending == ()
    assert learner.density() == density


def test_bad_input():
    with pytest.raises(ValueError, match="feedback must be one of"):
        sb.play(learner_for("full"), STREAM, "psychic")
    elsewhere = sb.Explicit(sb.PiecewiseConstant([0, 2], [0.5]))
    with pytest.raises(ValueError, match=r"problem 0 is on \[0, 2\], the learner on \[0, 1\]"):
        sb.play(learner_for("full"), [elsewhere])
    with pytest.raises(TypeError, match="learner must be a learner such as Exp3Set"):
        sb.play([], learner_for("full"))
    with pytest.raises(TypeError, match="semi-bandit feedback needs problems with a method `reveal`, got 1"):
        sb.play(learner_for("full"), [1, 2])

    empty = sb.play(learner_for("full"), [])
    assert len(empty) == 0
    with pytest.raises(ValueError, match="at least one problem"):
        empty.regret()
