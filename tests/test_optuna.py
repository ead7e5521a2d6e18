"""The sampler for Optuna: its conventions, storages, several processes, and what it learns."""

import multiprocessing
import os
import pickle
import random
import warnings

import numpy as np
import pytest

import semibandit as sb

optuna = pytest.importorskip("optuna")

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution  # noqa: E402
from optuna.storages import JournalStorage, RDBStorage  # noqa: E402
from optuna.storages.journal import JournalFileBackend  # noqa: E402

from semibandit.optuna import Exp3Sampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {"rho": FloatDistribution(0, 1)}

try:
    from optuna.testing.pytest_samplers import (
        BasicSamplerTestCase,
        RelativeSamplerTestCase,
        SingleOnlySamplerTestCase,
    )
except ImportError:  # older than Optuna 4.7
    pass
else:

    class TestConventions(BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase):
        """The tests that Optuna has for samplers."""

        @pytest.fixture
        def sampler(self):
            return Exp3Sampler


def objective(trial):
    rho = trial.suggest_float("rho", 0, 1)
    trial.set_user_attr("interval", [max(0.0, rho - 0.05), min(1.0, rho + 0.05)])
    return abs(rho - 0.3)


@pytest.fixture(params=["memory", "sqlite", "journal"])
def storage(request, tmp_path):
    if request.param == "sqlite":
        return RDBStorage(f"sqlite:///{tmp_path}/optuna.db")
    if request.param == "journal":
        return JournalStorage(JournalFileBackend(str(tmp_path / "optuna.log")))
    return optuna.storages.InMemoryStorage()


def test_draws_and_estimates_are_those_of_the_learner():
    study = optuna.create_study(sampler=Exp3Sampler(SPACE, seed=3))
    learner = sb.Exp3Set(sb.Knobs(k0=sb.Real(0, 1)), seed=3)
    for _ in range(40):
        ours, theirs = study.ask(), learner.ask()
        rho = ours.suggest_float("rho", 0, 1)
        assert rho == theirs.rho
        lo, hi = 0.5 * rho, 0.5 + 0.5 * rho
        ours.set_user_attr("interval", [lo, hi])
        study.tell(ours, abs(rho - 0.3))
        learner.tell(theirs, sb.PiecewiseConstant.constant(lo, hi, abs(rho - 0.3)))
    assert study.sampler.recommend(study) == {"rho": learner.recommend().rho}


def test_a_second_process_learns_the_same(storage):
    study = optuna.create_study(storage=storage, sampler=Exp3Sampler(SPACE, seed=0))
    study.optimize(objective, n_trials=40)
    other = optuna.load_study(
        study_name=study.study_name, storage=storage, sampler=Exp3Sampler(SPACE, seed=1)
    )
    assert other.sampler.recommend(other) == study.sampler.recommend(study)
    # They go on in turn, each with the rounds of the other.
    for _ in range(5):
        other.optimize(objective, n_trials=2)
        study.optimize(objective, n_trials=1)
    densities = []
    for each in (study, other):
        each.sampler.recommend(each)
        densities.append(each.sampler._replica.learner.density().between(np.linspace(0, 1, 11)))
    # Feedback of the same trials in another order: equal but for the delays.
    assert np.allclose(*densities, atol=0.1)
    assert len(study.trials) == 55


def work(path, seed):
    storage = JournalStorage(JournalFileBackend(path))
    study = optuna.load_study(study_name="shared", storage=storage, sampler=Exp3Sampler(seed=seed))
    study.optimize(objective, n_trials=15)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_processes_share_a_study(tmp_path):
    path = str(tmp_path / "optuna.log")
    study = optuna.create_study(
        study_name="shared", storage=JournalStorage(JournalFileBackend(path)), sampler=Exp3Sampler(seed=9)
    )
    fork = multiprocessing.get_context("fork")
    processes = [fork.Process(target=work, args=(path, seed)) for seed in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 4
    assert len(study.trials) == 60
    assert abs(study.sampler.recommend(study)["rho"] - 0.3) < 0.2
    assert study.sampler._replica.learner.n_told >= 55  # all but the uniform ones at the beginning


def test_threads_share_a_sampler():
    study = optuna.create_study(sampler=Exp3Sampler(SPACE, seed=0))
    study.optimize(objective, n_trials=60, n_jobs=4)
    assert study.sampler._replica.learner.n_told == 60
    assert study.sampler._replica.learner.pending == ()


def test_all_kinds_of_parameters_keep_their_types():
    space = {
        "a b": FloatDistribution(1e-3, 1, log=True),
        "half": FloatDistribution(0, 2, step=0.5),
        "n": IntDistribution(1, 12),
        "even": IntDistribution(0, 8, step=2),
        "kind": CategoricalDistribution([None, True, "x", 1.5]),
        "fixed": FloatDistribution(2, 2),
    }
    study = optuna.create_study(sampler=Exp3Sampler(space, along="a b", seed=0), direction="maximize")
    for _ in range(30):
        trial = study.ask(space)
        assert trial.params["half"] in (0, 0.5, 1, 1.5, 2)
        assert type(trial.params["even"]) is int
        assert trial.params["even"] % 2 == 0
        assert trial.params["kind"] in (None, True, "x", 1.5)
        study.tell(trial, trial.params["a b"])
    assert set(study.sampler.recommend(study)) == set(space) - {"fixed"}


def test_failed_and_pruned_trials_teach_nothing():
    study = optuna.create_study(sampler=Exp3Sampler(SPACE, seed=0))
    for state in (optuna.trial.TrialState.FAIL, optuna.trial.TrialState.PRUNED):
        trial = study.ask()
        trial.suggest_float("rho", 0, 1)
        study.tell(trial, state=state)
    study.optimize(lambda trial: trial.suggest_float("rho", 0, 1) * float("inf"), n_trials=2)
    learner = study.sampler._replica.learner
    assert (learner.n_told, learner.n_failed, learner.pending) == (0, 4, ())


def test_trials_of_other_samplers_are_left_out():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=10)
    study.sampler = Exp3Sampler(seed=0)
    study.enqueue_trial({"rho": 0.5})
    study.optimize(objective, n_trials=10)
    assert study.sampler._replica.learner.n_told == 9
    assert study.trials[10].params == {"rho": 0.5}


@pytest.mark.parametrize("interval", [[0.9, 0.1], "wide", [2, 3], [None, 1], 5])
def test_a_wrong_interval_is_named(interval):
    def wrong(trial):
        trial.suggest_float("rho", 0, 1)
        trial.set_user_attr("interval", interval)
        return 0.5

    study = optuna.create_study(sampler=Exp3Sampler(SPACE, seed=0))
    with pytest.warns(UserWarning, match=r"interval must be \[lo, hi\] around"):
        study.optimize(wrong, n_trials=1)
    assert study.sampler._replica.learner.n_told == 1


def test_a_pickled_sampler_reads_the_study_again():
    study = optuna.create_study(sampler=Exp3Sampler(SPACE, seed=0))
    study.optimize(objective, n_trials=20)
    best = study.sampler.recommend(study)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    assert study.sampler.recommend(study) == best


def test_wrong_arguments_are_refused():
    study = optuna.create_study(sampler=Exp3Sampler())
    with pytest.raises(ValueError, match="no parameters are known yet"):
        study.sampler.recommend(study)
    with pytest.raises(ValueError, match="along must be one of rho, got 'x'"):
        optuna.create_study(sampler=Exp3Sampler(SPACE, along="x")).ask().suggest_float("rho", 0, 1)
    with pytest.raises(TypeError, match="seed"):
        Exp3Sampler(seed="x")


def test_a_noisy_knob_is_found():
    random_ = random.Random(0)

    def noisy(trial):
        rho = trial.suggest_float("rho", 0, 1)
        trial.set_user_attr("interval", [rho - 0.1 * random_.random(), rho + 0.1 * random_.random() + 1e-9])
        return abs(rho - 0.3) + random_.gauss(0, 0.3)

    study = optuna.create_study(sampler=Exp3Sampler(seed=0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(noisy, n_trials=400)
    assert abs(study.sampler.recommend(study)["rho"] - 0.3) < 0.1
