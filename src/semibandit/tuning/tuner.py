"""Learn the knob of a command, one instance after another."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from os import PathLike
from time import perf_counter
from types import TracebackType
from typing import Any, Self

import msgspec

from semibandit import _validate, spaces
from semibandit.families import BlackBox
from semibandit.functions import PiecewiseConstant
from semibandit.learners import Exp3Grid, Exp3Set, Learner, Trial
from semibandit.spaces import Interval, Knobs, Parameters, Space, call
from semibandit.tuning.command import Command, Outcome, StoppedError
from semibandit.tuning.journal import VERSION, Change, Journal, Round, Settings
from semibandit.tuning.losses import FIRST_ROUNDS, Hopeless, Rules, range_of
from semibandit.tuning.summary import Summary, summarise

__all__ = ["FEEDBACK", "Tuner"]

FEEDBACK = ("bandit", "black-box", "race")

# By default a search ends at this part of the width of the space: some 20 runs of the command.
_TOLERANCE = 1e-3

# A grid is made anew when so many more rounds are to come than it was made for: with twice the arms.
_OUTGROWN = 8
_MOST_ARMS = 1_000_000
_SAME_DRAW = 1e-9  # of the width: machines differ in the last digits of logarithms


class Tuner:
    """A learner, a command, and a state file that always holds all finished rounds.

    Parameters
    ----------
    command
        Run on each instance.
    space
        Where the parameter lives, with its margin; or the `Knobs` of a command with their names.
    state
        The state file: begun if it does not exist, else continued; its settings must be the same.
    feedback
        "bandit": one run per instance, a grid of parameters; "black-box": the interval around the parameter
        with the same output, by bisection (Algorithm 5), at more runs per instance.
    maximize
        What the command reports is to be large.
    default, default_share
        A parameter to compare with, run in addition on this share of the instances, chosen at random.
    high
        The largest loss. One that is larger, or a run that was killed at the timeout, counts as this. "auto":
        twice the largest of the first ten losses; until then nothing is learned.
    failed
        What is learned from a run that failed otherwise: "skip" (nothing), "high", or a loss.
    n_arms
        The size of the grid, for bandit feedback; by default the third root of the number of instances, and
        made anew, with what was learned on it left behind, when eight times as many are to be run.
    tolerance
        Where the bisection ends, for black-box feedback; by default a thousandth of the width of the space.
    probes
        The number of further parameters to run on each instance, for bandit feedback. The learner is then an
        `Exp3Set` that is told single losses, instead of an `Exp3Grid`.
    horizon
        The number of instances to expect. A state file keeps the one it was begun with.
    seed
        For the draws of the learner and for the choice of instances that `default` is run on.

    Examples
    --------
    >>> import tempfile, os
    >>> state = os.path.join(tempfile.mkdtemp(), "knob.json")
    >>> with Tuner(Command("echo {rho} {instance}"), Interval(0, 1), state) as tuner:
    ...     for row in tuner.rounds(["a.txt"]):
    ...         print(row.failure)
    the last line of the output is no number: '0.5 a.txt'
    """

    def __init__(
        self, command: Command, space: Interval | Knobs, state: str | PathLike[str], **options: Any
    ) -> None:
        settings = self._configure(command, space, **options)
        if settings.feedback == "race":
            raise ValueError("feedback must be 'bandit' or 'black-box': a Racer races")
        _learner(settings)
        self._open_file(state, settings)

    def _open_file(self, state: str | PathLike[str], settings: Settings) -> None:
        """Open the state file, and learn what it holds."""
        self.journal = Journal(state)
        try:
            self.settings = self._agree(settings)
            self._begin(self.settings.high, self.settings.horizon)
            self._relearn()
        except BaseException:
            self.close()
            raise

    def _configure(
        self,
        command: Command,
        space: Interval | Knobs,
        *,
        feedback: str = "bandit",
        maximize: bool = False,
        default: Any = None,
        default_share: float = 0.25,
        high: float | str = 1.0,
        failed: float | str = "skip",
        n_arms: int | None = None,
        tolerance: float | None = None,
        probes: int = 0,
        horizon: int = 1,
        seed: int = 0,
    ) -> Settings:
        """Check all options; what is wrong with them shows before there is a file."""
        self.command, self.space = command, space
        self.default = None if default is None else _checked_default(space, default)
        self.default_share = _validate.number("default_share", default_share, low=0.0, high=1.0)
        self.rules = Rules(
            None if high == "auto" else _validate.number("high", high, low=0.0, open=True),
            _validate.boolean("maximize", maximize),
            failed,
        )
        settings = Settings(
            version=VERSION,
            lo=space.interval.lo,
            hi=space.interval.hi,
            margin=space.interval.margin,
            feedback=_validate.choice("feedback", feedback, FEEDBACK),
            high=self.rules.high,
            maximize=self.rules.maximize,
            seed=_validate.integer("seed", seed, low=0),  # of 64 bits, as JSON holds
            n_arms=n_arms,
            tolerance=tolerance,
            horizon=_validate.integer("horizon", horizon, low=1),
            probes=_validate.integer("probes", probes, low=0),
            integer=command.integer,
            knobs=space.to_dict() if space.names else None,
        )
        _require_fitting(settings)
        return settings

    def _begin(self, high: float | None, horizon: int) -> None:
        """A learner for losses up to `high` and so many rounds, which has not learned anything."""
        self.rules = replace(self.rules, high=high)
        self.horizon = horizon
        self._learner = _learner(msgspec.structs.replace(self.settings, high=high, horizon=horizon))
        self._in_flight: Trial | None = None
        self._waiting: list[Round] = []  # rounds to learn from when the range is known

    @property
    def learner(self) -> Learner:
        """What has learned from all finished rounds."""
        return self._learner

    @property
    def where(self) -> str:
        """Where the rounds are."""
        return str(self.journal.path)

    def _agree(self, settings: Settings) -> Settings:
        """The settings of the state file, which is begun here if it is new."""
        if self.journal.settings is None:
            self.journal.begin(settings)
            return settings
        if differences := ", ".join(self.journal.settings.differences(settings)):
            raise ValueError(
                f"{self.journal.path} was begun with other settings: {differences}. "
                f"Use the same again, or another state file"
            )
        return self.journal.settings

    def _relearn(self) -> None:
        """Tell the learner the rounds of the file, each where its own draw says that it was played."""
        for line, record in enumerate(self.journal.records, start=2):
            try:
                if isinstance(record, Change):
                    self._apply(record)
                else:
                    self._learn(self._trial_of(record), record)
            except (TypeError, ValueError) as error:
                raise ValueError(f"{self.journal.path}: line {line} is damaged ({error})") from None

    def _trial_of(self, record: Round) -> Trial:
        """The trial that a round of the file was, which the learner must draw as it did then."""
        # Files of the first format were drawn otherwise.
        position = record.position if self.settings.version == 1 else None
        trial = self.learner.ask(probes=self.settings.probes, position=position)
        drawn = {"position": trial.position, "rho": self.command.value(trial.rho)}
        for name, value in drawn.items():
            _require_near(name, getattr(record, name), value, self.space.interval.width)
        return trial

    def _change(self, change: Change) -> None:
        """Write down what the rounds to come depend on, and go by it."""
        self.journal.append(change)
        self._apply(change)

    def _apply(self, change: Change) -> None:
        if change.horizon is not None:
            self._begin(self.rules.high, change.horizon)
        if change.high is not None:
            waiting = self._waiting
            self._begin(change.high, self.horizon)
            # Draws do not depend on the range: these are the trials that were played.
            for trial, record in [(self._trial_of(record), record) for record in waiting]:
                self._learn(trial, record)

    def close(self) -> None:
        """Close the state file."""
        self.journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- the rounds ------------------------------------------------------------------------------

    @property
    def finished(self) -> Sequence[Round]:
        """All rounds so far, those of earlier sessions included."""
        return self.journal.rounds

    @property
    def paired(self) -> Sequence[Round]:
        """All rounds, each with the loss of the default on the same instance where that is known."""
        return self.finished

    def todo(self, instances: Sequence[str], again: bool = False, retry_failed: bool = False) -> list[str]:
        """The instances that are still to be run.

        An instance is run as often as it is given; with `again`, once more than the one run least often so
        far. Failed rounds count as run, unless `retry_failed`.
        """
        for name in instances:
            _require_storable(name)
        done = Counter(r.instance for r in self.finished if not (retry_failed and r.failure is not None))
        given = Counter(instances)
        passes = 1 + min((done[name] // given[name] for name in given), default=0) if again else 1
        left = {name: passes * count - done[name] for name, count in given.items()}
        todo = []
        for name in (name for _ in range(passes) for name in instances):
            if left[name] > 0:
                left[name] -= 1
                todo.append(name)
        return todo

    def n_todo(self, instances: Sequence[str], again: bool = False, retry_failed: bool = False) -> int:
        """How many rounds there are still to be."""
        return len(self.todo(instances, again, retry_failed))

    def rounds(
        self, instances: Sequence[str], again: bool = False, retry_failed: bool = False
    ) -> Iterator[Round]:
        """Run the command on what is still to be run; a round is on the disk before it is yielded.

        Raises
        ------
        StoppedError
            Where the command cannot be started, or where the first ten rounds fail in the same way and no
            loss is learned from that, or all have a loss over `high`.
        """
        todo = self.todo(instances, again, retry_failed)
        self._grow(len(todo))
        yield from self._unless_hopeless(map(self._round, todo))
        self._set_range()
        self.journal.keep()

    def _grow(self, n_todo: int) -> None:
        """Make the grid anew where far more rounds are to come than it was made for.

        The bounds are those of the doubling trick: what is left behind is an eighth of what comes.
        """
        if _on_a_grid(self.settings) and self.settings.n_arms is None and n_todo >= _OUTGROWN * self.horizon:
            self._change(Change(horizon=n_todo))

    def _set_range(self) -> None:
        """Once enough losses were seen, what the largest one is taken to be."""
        losses = [record.loss for record in self._waiting if record.loss is not None]
        if self.rules.high is None and len(losses) >= FIRST_ROUNDS:
            self._change(Change(high=range_of(losses)))

    def _unless_hopeless(self, rounds: Iterable[Round]) -> Iterator[Round]:
        """The same rounds, until it is clear that all of them fail."""
        hopeless = Hopeless(self.rules)
        for record in rounds:
            yield record
            if (reason := hopeless.verdict(record)) is not None:
                raise StoppedError(reason)

    def _round(self, instance: str) -> Round:
        """One round. A trial whose round was interrupted is used again: a file opened anew would draw it."""
        self._set_range()
        trial = self._in_flight = self._in_flight or self.learner.ask(probes=self.settings.probes)
        record = self._play(trial, instance)
        self.journal.append(record)
        self._in_flight = None
        self._learn(trial, record)
        return record

    def _play(self, trial: Trial, instance: str) -> Round:
        start = perf_counter()
        seen: dict[str, Any]
        played = trial.values if trial.names else trial.rho
        if self.settings.feedback == "bandit":
            outcome, seen, runs = self._run_command(instance, played), {}, 1
        else:
            outcome, seen, runs = self._search(instance, trial.parameters)
        if trial.names:
            seen["values"] = trial.values
        if trial.probes:
            others = [self._run_command(instance, rho) for rho in trial.probes]
            seen["probed"] = tuple(other.loss for other in others)
            runs += len(others)
        if self._default_is_due(trial.id):
            assert self.default is not None
            other = self._run_command(instance, self.default)
            seen |= {"default_loss": other.loss, "default_failure": other.failure}
            runs += 1
        return Round(
            instance, self.command.value(trial.rho), trial.position, perf_counter() - start, runs,
            outcome.loss, outcome.failure, outcome.clipped, **seen,
        )  # fmt: skip

    def _run_command(self, instance: str, rho: Any = None, **values: Any) -> Outcome:
        return self.rules.judge(self.command.run(instance, values or rho))

    def _search(self, instance: str, parameters: Parameters) -> tuple[Outcome, dict[str, Any], int]:
        """The outcome there and the interval with the same one; no search where nothing can be learned."""
        line = self.space.line
        box = BlackBox(
            self._run_command, instance, self.space, lambda outcome: outcome.loss or 0.0,
            self.settings.tolerance or _TOLERANCE * (line.hi - line.lo), equal=Outcome.same,
        )  # fmt: skip
        outcome: Outcome = call(box.output, parameters)
        if outcome.loss is None:
            return outcome, {}, box.n_runs
        ((lo, hi),) = call(box.reveal, parameters).domain
        return outcome, {"lo": lo, "hi": hi}, box.n_runs

    def _default_is_due(self, number: int) -> bool:
        """Whether the default is run in this round: at random, but the same when a lost round is repeated."""
        if self.default is None:
            return False
        return random.Random(f"{self.settings.seed} {number}").random() < self.default_share

    def _learn(self, trial: Trial, record: Round) -> None:
        """Tell the learner a round, new or from the file: the very same step."""
        if self.rules.high is None:
            self._waiting.append(record)
            return
        loss = self.rules.of(record)
        seen: Any = loss
        if record.probed is not None:
            seen = [loss, *(each if each is None else min(each, self.rules.high) for each in record.probed)]
        elif loss is not None and record.lo is not None and record.hi is not None:
            seen = PiecewiseConstant.constant(record.lo, record.hi, loss)
        self.learner.tell(trial, seen)

    # -- where it stands -------------------------------------------------------------------------

    def summary(self) -> Summary:
        """Counts, means, the parameter to deploy, and the comparison with the default."""
        return summarise(self.finished, self.learner.recommend())


def _learner(settings: Settings) -> Learner:
    space: Space = Interval(settings.lo, settings.hi, settings.margin)
    if settings.knobs is not None:
        space = spaces.restore(settings.knobs)
    common: dict[str, Any] = {
        "horizon": settings.horizon,
        "high": settings.high or 1.0,  # while it is not known nothing is told
        "maximize": settings.maximize,
        "seed": settings.seed,
    }
    if _on_a_grid(settings):
        return Exp3Grid(space, settings.n_arms, **common)
    return Exp3Set(space, **common)


def _checked_default(space: Interval | Knobs, default: Any) -> Any:
    if isinstance(space, Interval):
        return space.check(default, "default")
    if not isinstance(default, dict):
        raise TypeError(f"default must be the values of all knobs by name, got {default!r}")
    return space.check(**default)


def _on_a_grid(settings: Settings) -> bool:
    """Whether the learner is an `Exp3Grid`: for single losses of one knob."""
    return settings.feedback == "bandit" and not settings.probes and settings.knobs is None


def _require_near(name: str, recorded: float, drawn: float, width: float) -> None:
    if not abs(recorded - drawn) <= _SAME_DRAW * max(width, abs(drawn)):
        raise ValueError(f"its {name} is {recorded!r}, and the rounds before it lead to {drawn!r}")


def _require_storable(name: str) -> None:
    """A name must be one that a file of JSON can hold and a command can be given."""
    if not isinstance(name, str):
        raise TypeError(f"instances must be strings, got {name!r}")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ValueError(f"an instance's name must be UTF-8, got {name!r}") from None
    if "\0" in name:
        raise ValueError(f"an instance's name must not hold a null character, got {name!r}")


def _require_fitting(settings: Settings) -> None:
    """Options that belong to one kind of feedback go with that kind."""
    for name, kind in (("n_arms", "bandit"), ("tolerance", "black-box")):
        if getattr(settings, name) is not None and settings.feedback != kind:
            raise ValueError(f"{name} goes with {kind} feedback, got {settings.feedback!r}")
    if settings.probes and settings.feedback != "bandit":
        raise ValueError(f"probes go with bandit feedback, got {settings.feedback!r}")
    if settings.probes and settings.n_arms is not None:
        raise ValueError(f"n_arms goes without probes, got {settings.n_arms} and {settings.probes}")
    if settings.n_arms is not None and _validate.integer("n_arms", settings.n_arms, low=1) > _MOST_ARMS:
        raise ValueError(f"n_arms must be at most {_MOST_ARMS}, got {settings.n_arms}")
    if settings.knobs is not None and settings.n_arms is not None:
        raise ValueError(f"n_arms goes with one parameter, not with knobs, got {settings.n_arms}")
    if settings.tolerance is not None and settings.knobs is None:
        width = settings.hi - settings.lo
        _validate.number("tolerance", settings.tolerance, low=0.0, high=width, open=True)
