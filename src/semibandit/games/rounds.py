"""The game of the paper: a learner draws a parameter, an instance arrives, feedback is observed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from time import perf_counter
from typing import Any

from semibandit import _validate
from semibandit.functions import Piecewise
from semibandit.games.history import GameRound, History
from semibandit.learners import Learner, Trial
from semibandit.spaces import Boxes, Parameters, Space, call

__all__ = ["FEEDBACK", "play", "rounds"]

FEEDBACK = ("full", "semi-bandit", "bandit")

_METHODS = {"full": "losses", "semi-bandit": "reveal", "bandit": "loss"}


def rounds(
    learner: Learner,
    problems: Iterable[Any],
    feedback: str = "semi-bandit",
    *,
    probes: int = 0,
    explore: float = 1.0,
    contexts: Any = None,
) -> Iterator[GameRound]:
    """Play the game and yield each round after it is played; `play` collects them.

    >>> import semibandit as sb
    >>> learner = sb.Exp3Set(sb.Interval(0, 1), seed=0)
    >>> problem = sb.Explicit(sb.PiecewiseConstant([0, 0.5, 1], [0.9, 0.1]))
    >>> [row.loss for row in rounds(learner, [problem] * 3)]
    [0.1, 0.1, 0.9]
    """
    _validate.choice("feedback", feedback, FEEDBACK)
    _require_learner(learner)
    probes = _validate.integer("probes", probes, low=0)
    if probes and feedback == "full":
        raise ValueError(f"probes must be 0 with full feedback, which shows everything, got {probes}")
    if probes and explore != 1.0:
        raise ValueError(f"explore cannot be combined with probes, got probes={probes}")
    problems = _validate.iterable("problems", problems, "a sequence of problems")
    return _rounds(learner, _with_contexts(problems, contexts), feedback, probes, explore)


def play(
    learner: Learner,
    problems: Iterable[Any],
    feedback: str = "semi-bandit",
    *,
    probes: int = 0,
    explore: float = 1.0,
    contexts: Any = None,
    progress: bool = False,
) -> History:
    """Play a learner against a stream of problems.

    Parameters
    ----------
    learner
        The learner; it continues from its present state.
    problems
        Instances of an algorithm family; see `Problem`.
    feedback
        "semi-bandit" (the piece around the parameter), "full" (the whole function: Hedge), or "bandit"
        (a single loss).
    probes
        Number of further parameters to observe in each round, without playing them. Each is one run.
    explore
        Probability of a draw from the density in each round; otherwise the recommended parameter is played.
    contexts
        Context of each problem, for a learner with `context=`: a sequence of dicts, or a function that
        returns that of a problem. `history.contexts` keeps them.
    progress
        Show a progress bar.

    Returns
    -------
    History
        One entry per round, with the regret; `semibandit.plots` draws it.
    """
    _require_learner(learner)
    problems = _validate.iterable("problems", problems, "a sequence of problems")
    collected: list[Any] = []
    arriving = problems if isinstance(problems, Sequence) else _collected(problems, collected)
    played = problems if isinstance(problems, Sequence) else collected
    history = History(played, learner.space, feedback, learner.maximize)
    game: Iterable[GameRound] = rounds(
        learner, arriving, feedback, probes=probes, explore=explore, contexts=contexts
    )
    if _validate.boolean("progress", progress):
        from rich.progress import track

        game = track(game, feedback, total=len(problems) if isinstance(problems, Sized) else None)
    for row in game:
        history.append(row, learner)
    return history


def _collected(problems: Iterable[Any], into: list[Any]) -> Iterator[Any]:
    """Pass problems through, and append them to a list."""
    for problem in problems:
        into.append(problem)
        yield problem


def _with_contexts(problems: Any, contexts: Any) -> Iterator[tuple[Any, Any]]:
    """Return problems with their contexts; None for each if there are none."""
    if contexts is None:
        return ((problem, None) for problem in problems)
    if callable(contexts):
        return ((problem, contexts(problem)) for problem in problems)
    contexts = _validate.iterable("contexts", contexts, "a sequence of dicts, or a function of a problem")
    if isinstance(problems, Sized) and isinstance(contexts, Sized) and len(contexts) < len(problems):
        raise ValueError(f"contexts must have one for each of {len(problems)} problems, got {len(contexts)}")
    return zip(problems, contexts, strict=False)


def _rounds(
    learner: Learner, problems: Iterable[tuple[Any, Any]], feedback: str, probes: int, explore: float
) -> Iterator[GameRound]:
    for t, (problem, context) in enumerate(problems):
        _require_same_space(learner.space, problem, t)
        predicted = getattr(problem, "predicted", None) if learner.takes_predictions else None
        start = perf_counter()
        trial = learner.ask(probes=probes, explore=explore, context=context)
        asked = perf_counter()
        try:
            looks = [_look(problem, parameters, feedback) for parameters in trial.looks]
            loss, interval = _played(learner.space, trial, looks[0])
            shown = perf_counter()
            learner.tell(trial, looks, predicted=predicted)
        except BaseException:
            if trial in learner.pending:
                learner.forget(trial)
            raise
        told = perf_counter()
        seconds = (asked - start) + (told - shown), shown - asked
        yield GameRound(
            t, trial.rho, loss, *interval, learner.last_probability, *seconds, len(looks), trial.alpha,
            trial.context,
        )  # fmt: skip


def _look(problem: Any, parameters: Parameters, feedback: str) -> Any:
    """Run the problem and return the feedback."""
    method = _METHODS[feedback]
    run = getattr(problem, method, None)
    if not callable(run):
        raise TypeError(f"{feedback} feedback needs problems with a method `{method}`, got {problem!r}")
    if feedback == "bandit":
        return _validate.number("the result of `loss`", call(run, parameters))
    seen = run() if feedback == "full" else call(run, parameters)
    if not isinstance(seen, Piecewise | Boxes):
        raise TypeError(
            f"`{method}` must return the loss as a PiecewiseConstant (or a PiecewiseLinear), got {seen!r} "
            f"from {problem!r}"
        )
    return seen


def _played(space: Space, trial: Trial, seen: Any) -> tuple[float, tuple[float, float]]:
    """Return the loss of the round, and the observed interval around rho."""
    if isinstance(seen, float):
        return seen, (trial.rho, trial.rho)
    x = call(space.place, trial.parameters)
    seen = space.line.on_rows(seen, x)
    return float(seen(x)), space.line.stretch(*space.line.around(seen, x))[1]


def _require_learner(learner: Any) -> None:
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a learner such as Exp3Set, got {learner!r}")


def _require_same_space(space: Space, problem: Any, t: int) -> None:
    theirs = getattr(problem, "space", None)
    if theirs is None or theirs is space:
        return
    if isinstance(theirs, Space) and theirs.describe() != space.describe():
        raise ValueError(f"problem {t} is on {theirs.describe()}, the learner on {space.describe()}")
