"""What to deploy: `recommend()` against the tallest piece, the median of the density, and the best value.

Run: python benchmarks/recommend.py [--seeds 5] [--rounds 1000] [--streams mixed,iris]

Learners play the streams of the suite, and two more on which simple rules fail: slivers, where each instance
has hundreds of pieces, and two valleys with a hill between them. After 30, 100, 300 and all rounds each rule
names a value, and its mean loss over the whole stream is compared with that of the best fixed one. Targets:
by the geometric mean over streams no worse than the median, nor than the tallest piece; on no stream worse
than the median by more than three standard errors (drifting apart).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from measure import finish, say, show, table
from playing.players import SHOWN, default, grid, low, no_baseline
from playing.streams import RECIPES, Stream, load

import semibandit as sb
from semibandit.learners.recommendation import at_the_minimum

HERE = Path(__file__).resolve().parent
LEARNERS: dict[str, tuple[Callable[[int, int], Any], str]] = {
    "default": (default, "semi-bandit"),
    "single losses": (default, "bandit"),
    'baseline="low"': (low, "semi-bandit"),
    "baseline=None": (no_baseline, "semi-bandit"),
    "Exp3Grid": (grid, "bandit"),
}
RULES = ("recommend()", "tallest piece", "median")
APART = ("drifting",)  # where the best value moves, what was paid long ago says little of the whole stream
LEAST = 1e-3  # an excess of a thousandth of the range is as good as none
EVEN = 0.05  # no worse than the median: a ratio of geometric means within 5 %


def made(name: str, mean: Callable[[Any], Any], pieces: int, noise: float, rounds: int) -> Stream:
    """Instances cut at random, each of them easy or hard, and each piece better or worse."""
    rng = np.random.default_rng(5)
    problems = []
    for _ in range(rounds):
        edges = np.concatenate(([0.0], np.sort(rng.random(pieces - 1)), [1.0]))
        values = mean(0.5 * (edges[1:] + edges[:-1])) + 0.5 * noise * rng.normal()
        values = np.clip(values + noise * rng.normal(size=pieces), 0.0, 1.0)
        problems.append(sb.Explicit(sb.PiecewiseConstant(edges, values)))
    return Stream(name, problems, keeps_order=False)


def slivers(rounds: int) -> Stream:
    return made("slivers", lambda x: 0.3 + 0.6 * abs(x - 0.3), 400, 0.25, rounds)


def valleys(rounds: int) -> Stream:
    return made("two valleys", lambda x: np.where(abs(abs(x - 0.5) - 0.3) < 0.1, 0.3, 0.7), 20, 0.4, rounds)


def mean_loss(stream: Stream) -> Callable[[float], float]:
    """By how much the mean loss of a value is above that of the best."""
    total = sb.PiecewiseConstant.sum([problem.function for problem in stream.problems])
    return lambda rho: (total(min(max(rho, 0.0), 1.0)) - total.min()) / len(stream)


def median(learner: Any) -> float:
    return float(learner._rho(learner._played(learner._epoch.weights.draw(0.5))))


def tallest(learner: Any) -> float:
    _, x, _ = at_the_minimum(learner._epoch.weights, learner._line, learner._stats)
    return float(learner._rho(x))


def play(stream: Stream, make: Any, feedback: str, seeds: int, rounds: int) -> np.ndarray[Any, Any]:
    """What the value that each rule names costs above the best: seeds × times × rules."""
    above = mean_loss(stream)
    problems = [stream.game(seed)[:rounds] for seed in range(seeds)]
    at = {30, 100, 300, len(problems[0])}
    games = []
    for seed, game in enumerate(problems):
        learner = make(len(game), seed)
        rows = []
        for t, problem in enumerate(game, 1):
            trial = learner.ask()
            learner.tell(trial, SHOWN[feedback](problem.function, trial.rho))
            if t in at:
                named = learner.recommend().rho, tallest(learner), median(learner)
                rows.append([above(rho) for rho in named])
        games.append(rows)
    return np.array(games)


def judge(learner: str, games: dict[str, np.ndarray[Any, Any]]) -> list[str]:
    """Hold a learner to its targets; its row of the table."""
    means = np.array([above.mean(axis=(0, 1)) for above in games.values()])
    ours, top, middle = np.exp(np.log(np.maximum(means, LEAST)).mean(axis=0))
    show(
        f"{learner}: excess, recommend() over the median",
        ours / middle,
        "<= 1.05",
        ours <= (1 + EVEN) * middle,
    )
    show(f"{learner}: excess, recommend() over the tallest piece", ours / top, "<= 1", ours <= top)
    for name, above in games.items():
        worse = (above[..., 0] - above[..., 2]).mean(axis=1)
        error = worse.std(ddof=1) / np.sqrt(worse.size)
        if worse.mean() > LEAST and name not in APART:
            what = f"{learner}, {name}: worse than the median, in standard errors"
            show(what, worse.mean() / max(error, 1e-12), "<= 3", worse.mean() <= 3.0 * error)
    return [learner, *(f"{1e3 * x:.1f}" for x in (ours, middle, top))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--streams", help="names, with commas between them")
    parser.add_argument("--kept", type=Path, default=HERE.parent / "build" / "suite")
    options = parser.parse_args()
    streams = {name: lambda name=name: load(name, RECIPES[name], options.kept) for name in RECIPES}
    streams |= {"slivers": lambda: slivers(options.rounds), "two valleys": lambda: valleys(options.rounds)}
    chosen = options.streams.split(",") if options.streams else list(streams)
    games: dict[str, dict[str, Any]] = {learner: {} for learner in LEARNERS}
    say(f"{'':<35}" + "".join(f"{rule:>16}" for rule in RULES) + "   (mean loss above the best, 1/1000)")
    for name in chosen:
        stream = streams[name]()
        for learner, (make, feedback) in LEARNERS.items():
            above = games[learner][name] = play(stream, make, feedback, options.seeds, options.rounds)
            figures = "".join(f"{1e3 * x:16.2f}" for x in above.mean(axis=(0, 1)))
            say(f"{learner:<18}{name:<17}{figures}")
    rows = [judge(learner, played) for learner, played in games.items()]
    table("recommend", ("", "`recommend()`", "median of the density", "tallest piece"), rows)
    finish()


if __name__ == "__main__":
    main()
