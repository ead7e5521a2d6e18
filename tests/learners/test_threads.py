"""Many threads, one learner: kernels run without Python's lock, so the learner has one of its own."""

import threading

import pytest

import semibandit as sb

SPACE = sb.Interval(0, 1)
THREADS, ROUNDS = 8, 150


@pytest.mark.parametrize("kind", ["set", "grid"])
def test_eight_threads_on_one_learner(kind, tmp_path):
    total = THREADS * ROUNDS
    learner = (
        sb.Exp3Grid(SPACE, 7, horizon=total, seed=0)
        if kind == "grid"
        else sb.Exp3Set(SPACE, horizon=total, seed=0)
    )
    problems = list(sb.streams.synthetic(rounds=50, seed=1))
    errors = []

    def work(number):
        try:
            for i in range(ROUNDS):
                trial = learner.ask()
                problem = problems[(i + number) % len(problems)]
                if i % 10 == 9:
                    learner.forget(trial)
                else:
                    learner.tell(
                        trial, problem.loss(trial.rho) if kind == "grid" else problem.reveal(trial.rho)
                    )
                if i % 50 == 0:
                    learner.density()
                    learner.recommend()
                    learner.save(tmp_path / f"{number}")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert learner.n_asked == total
    assert learner.n_told == total * 9 // 10
    assert learner.pending == ()
    assert learner.density().edges[[0, -1]].tolist() == [0.0, 1.0]
    assert sb.load(tmp_path / "0").n_asked <= total
