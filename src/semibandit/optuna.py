"""A sampler for Optuna that learns from noisy losses, and from intervals on which a loss is the same.

    study = optuna.create_study(sampler=semibandit.optuna.Exp3Sampler(seed=0))

An objective that knows more than one loss says so: `trial.set_user_attr("interval", [lo, hi])` states that
every value of the knob along the line in [lo, hi) has the same loss on this instance.
"""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from semibandit import _validate
from semibandit._extras import needed
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Exp3Set, Trial
from semibandit.spaces import Choice, Integer, Knobs, Real

with needed("semibandit.optuna", "optuna"):
    import optuna
    from optuna.distributions import (
        BaseDistribution,
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )
    from optuna.samplers import BaseSampler, RandomSampler
    from optuna.search_space import IntersectionSearchSpace
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState

__all__ = ["Exp3Sampler"]

_PLAYED = "semibandit:played"  # attributes of a trial: where it was drawn, and in which space
_LEARNED = "semibandit:probability"  # by which its loss is divided
_INTERVAL = "interval"


class Exp3Sampler(BaseSampler):
    """Sample parameters by `Exp3Set`: for noisy objectives, on which each trial sees another instance.

    The storage is the state: every process replays the finished trials of all others, with the probabilities
    with which they were drawn. The parameters of the first trial are drawn uniformly, unless `search_space`
    is given. Pruned and failed trials teach nothing.

    Parameters
    ----------
    search_space
        Distributions by name. Default: those that all finished trials have in common, as for other samplers
        of Optuna; parameters outside it are drawn uniformly.
    along
        Name of the parameter that runs along the line, to which `interval` refers. Default: the first float
        in alphabetical order, or else the largest integer.
    seed
        Seed. Processes that work on one study should have different ones.
    settings
        Further arguments of `Exp3Set`.

    Examples
    --------
    >>> import optuna
    >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
    >>> study = optuna.create_study(sampler=Exp3Sampler(seed=0))
    >>> study.optimize(lambda trial: abs(trial.suggest_float("rho", 0, 1) - 0.3), n_trials=30)
    >>> sorted(study.sampler.recommend(study))
    ['rho']
    """

    def __init__(
        self,
        search_space: Mapping[str, BaseDistribution] | None = None,
        *,
        along: str | None = None,
        seed: int | None = None,
        **settings: Any,
    ) -> None:
        self._given = None if search_space is None else dict(sorted(search_space.items()))
        self._along = along
        self._seed = None if seed is None else _validate.seed("seed", seed)
        self._settings = settings
        self._independent = RandomSampler(seed=self._seed)
        self._common = IntersectionSearchSpace()
        self._replica: _Replica | None = None
        self._lock = threading.RLock()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_lock": None, "_replica": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.RLock()

    def reseed_rng(self) -> None:
        """Draw uniform parameters, and those of the next search space, from new seeds."""
        self._independent.reseed_rng()
        self._seed = None

    def infer_relative_search_space(
        self, study: optuna.Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return the distributions of the parameters that are learned."""
        self._raise_error_if_multi_objective(study)
        space = self._common.calculate(study) if self._given is None else self._given
        return {name: each for name, each in space.items() if not each.single()}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Draw the parameters."""
        if not search_space:
            return {}
        with self._lock:
            replica = self._current(study, search_space)
            drawn = replica.ask(trial.number)
            played: Any = {"position": drawn.position, "space": replica.space.key}
            study._storage.set_trial_system_attr(trial._trial_id, _PLAYED, played)
            return replica.space.values(drawn)

    def sample_independent(
        self, study: optuna.Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """Draw a parameter uniformly."""
        self._raise_error_if_multi_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def after_trial(
        self, study: optuna.Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Learn from a trial of this process, and keep the probability for the others."""
        with self._lock:
            if self._replica is None:
                return
            value = values[0] if state == TrialState.COMPLETE and values else None
            probability = self._replica.tell(trial, value)
            if probability is not None:
                study._storage.set_trial_system_attr(trial._trial_id, _LEARNED, probability)

    def recommend(self, study: optuna.Study) -> dict[str, Any]:
        """Return the parameters to deploy: on a noisy objective, better than those of `study.best_trial`."""
        with self._lock:
            space = self._common.calculate(study) if self._given is None else self._given
            learned = {name: each for name, each in space.items() if not each.single()}
            if not learned:
                raise ValueError("no parameters are known yet: run trials, or give a search_space")
            replica = self._current(study, learned)
            return replica.space.values(replica.learner.recommend())

    def _current(self, study: optuna.Study, search_space: dict[str, BaseDistribution]) -> _Replica:
        """Return the learner of this search space, after all finished trials."""
        space = _Space(search_space, self._along)
        owner = study.study_name, study._study_id, space.key
        if self._replica is None or self._replica.owner != owner:
            maximize = study.direction == StudyDirection.MAXIMIZE
            learner = Exp3Set(space.knobs, seed=self._seed, maximize=maximize, **self._settings)
            self._replica = _Replica(owner, space, learner)
        self._replica.read(study.get_trials(deepcopy=False))
        return self._replica


class _Space:
    """A search space of Optuna as `Knobs`, whose names are k0, k1 and so on."""

    def __init__(self, search_space: Mapping[str, BaseDistribution], along: str | None) -> None:
        self.distributions = dict(sorted(search_space.items()))
        self.names = {f"k{i}": name for i, name in enumerate(self.distributions)}
        own = {name: knob for knob, name in self.names.items()}
        if along is not None and along not in own:
            raise ValueError(f"along must be one of {', '.join(own)}, got {along!r}")
        kinds = {own[name]: _kind(each) for name, each in self.distributions.items()}
        self.knobs = Knobs(along=None if along is None else own[along], **kinds)
        self.along = self.names.get(self.knobs.along or "")
        self.key = repr([along, *self.distributions.items()])

    def values(self, trial: Any) -> dict[str, Any]:
        """Return the parameters of a trial or of a recommendation, in the types of Optuna."""
        return {
            name: _value(self.distributions[name], trial.values[knob]) for knob, name in self.names.items()
        }

    def played(self, asked: Trial, trial: FrozenTrial) -> bool:
        """Return whether a trial of Optuna has the parameters that were drawn for it."""
        drawn = self.values(asked)
        return all(name in trial.params and _equal(drawn[name], trial.params[name]) for name in drawn)


def _equal(a: Any, b: Any) -> bool:
    return bool(math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) else a == b)


def _kind(distribution: BaseDistribution) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return Choice(*map(str, range(len(distribution.choices))))
    if isinstance(distribution, IntDistribution) and distribution.step == 1:
        return Integer(distribution.low, distribution.high, log=distribution.log)
    if isinstance(distribution, FloatDistribution | IntDistribution):
        return Real(distribution.low, distribution.high, log=distribution.log, step=distribution.step)
    raise TypeError(f"search_space must hold floats, integers and categories, got {distribution!r}")


def _value(distribution: BaseDistribution, value: Any) -> Any:
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(value)]
    return int(value) if isinstance(distribution, IntDistribution) else float(value)


class _Replica:
    """The learner after the finished trials that were read. Every process has one of its own."""

    def __init__(self, owner: tuple[Any, ...], space: _Space, learner: Exp3Set) -> None:
        self.owner, self.space, self.learner = owner, space, learner
        self._pending: dict[int, Trial] = {}  # asked in this process, by the numbers of Optuna
        self._known: set[int] = set()
        self._finished = 0  # trials before this number are known

    def ask(self, number: int) -> Trial:
        trial = self._pending[number] = self.learner.ask()
        return trial

    def tell(self, trial: FrozenTrial, value: float | None) -> float | None:
        """Learn from a trial that was asked here; return its probability, None if there is nothing."""
        asked = self._pending.pop(trial.number, None)
        self._known.add(trial.number)
        if asked is None:
            return None
        if not self.space.played(asked, trial):  # the parameters were enqueued or fixed
            self.learner.forget(asked)
            return None
        seen = None if value is None or not math.isfinite(value) else self._seen(trial, asked, value)
        self.learner.tell(asked, seen)
        return None if seen is None else self.learner.last_probabilities[0]

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Learn from the trials of others that have finished."""
        for trial in trials[self._finished :]:
            if trial.state.is_finished() and trial.number not in self._known:
                self._known.add(trial.number)
                self._replay(trial)
        while self._finished < len(trials) and trials[self._finished].number in self._known:
            self._known.discard(trials[self._finished].number)
            self._finished += 1

    def _replay(self, trial: FrozenTrial) -> None:
        played, probability = trial.system_attrs.get(_PLAYED), trial.system_attrs.get(_LEARNED)
        if played is None or probability is None or trial.value is None or played["space"] != self.space.key:
            return
        asked = self.learner.ask(position=[played["position"]])
        if not self.space.played(asked, trial):
            self.learner.forget(asked)
            return
        seen = self._seen(trial, asked, trial.value)
        self.learner.tell(asked, seen, probability=probability)

    def _seen(self, trial: FrozenTrial, asked: Trial, value: float) -> Any:
        """Return the feedback: the loss on the interval that the objective has stated, or at a point."""
        interval = trial.user_attrs.get(_INTERVAL)
        if interval is None or self.space.along is None:
            return float(value)
        limits: Any = self.space.distributions[self.space.along]
        try:
            lo, hi = (min(max(float(end), limits.low), limits.high) for end in interval)
        except (TypeError, ValueError):
            lo = hi = math.nan
        if not lo <= asked.rho <= hi or lo == hi:
            warnings.warn(
                f"trial {trial.number}: {_INTERVAL} must be [lo, hi] around {asked.rho}, got {interval!r}; "
                "its loss counts for the played value only",
                stacklevel=2,
            )
            return float(value)
        return PiecewiseConstant.constant(lo, hi, float(value))
