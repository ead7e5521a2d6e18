"""Regret beside other online learners and tuners, on the same streams in one run.

Run: python benchmarks/peers.py [--seeds 10] [--rounds 1000] [--players VHCT,UCB1]

The streams have other seeds than those of `suite.py`. Each game plays a random order of the rounds, except on
`drifting`. `100 late`: feedback comes 100 rounds late; only learners that support delays play it.
A player with several settings shows the best of them on each stream, chosen afterwards.
Optuna's TPE and SMAC3 search for one good value: they learn for the first tenth of the rounds, one instance a
trial, and then play their best; TPE also plays every round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from measure import choose, finish, number, options, say, table
from playing import KEPT, PLAYERS, SPACE, Play, Recipe, Stream, load, play, tpe

import semibandit as sb

ARMS = 20
LATE = "100 late"
STREAMS = {
    "packing": Recipe(lambda T: sb.streams.knapsack("mixed", T, 50, 101), 1000),
    "budgets": Recipe(lambda T: sb.streams.knapsack("weakly-correlated", T, 100, 101), 1000),
    "ranking": Recipe(lambda T: sb.streams.rank_mix(rounds=T, documents=40, seed=101), 1000),
    "clustering": Recipe(lambda T: sb.streams.clustering("digits", T, seed=101), 1000),
    "scheduling": Recipe(lambda T: sb.streams.dispatch(rounds=T, seed=101), 1000),
    "drifting": Recipe(lambda T: sb.streams.knapsack("drifting", T, 50, 101), 1000, keeps_order=True),
}


def middle(arm: int) -> float:
    return (arm + 0.5) / ARMS


def index_policy(choose_arm: Callable[..., int], side: bool) -> Callable[[list[Any], int], Iterator[float]]:
    """Play a policy on the middles of equal cells; `side`: a run teaches all arms in its interval."""

    def game(problems: list[Any], seed: int) -> Iterator[float]:
        rng = np.random.default_rng([seed, 3])
        counts, totals, squares = np.zeros(ARMS), np.zeros(ARMS), np.zeros(ARMS)
        for t, problem in enumerate(problems):
            new = np.flatnonzero(counts == 0.0)
            arm = int(rng.choice(new)) if new.size else choose_arm(rng, t, counts, totals, squares)
            loss = problem.loss(middle(arm))
            seen = np.array([arm])
            if side:
                ((lo, hi),) = problem.function.piece(middle(arm)).domain
                middles = (np.arange(ARMS) + 0.5) / ARMS
                seen = np.flatnonzero((middles >= lo) & (middles < hi))
            counts[seen] += 1.0
            totals[seen] += loss
            squares[seen] += loss * loss
            yield loss

    return game


def ucb_arm(rng: Any, t: int, counts: Any, totals: Any, squares: Any) -> int:
    return int(np.argmin(totals / counts - np.sqrt(2.0 * math.log(t + 1.0) / counts)))


def ucb_v_arm(rng: Any, t: int, counts: Any, totals: Any, squares: Any) -> int:
    """Choose by empirical Bernstein bounds (Audibert, Munos, Szepesvari 2009)."""
    means, log = totals / counts, math.log(t + 1.0)
    variance = np.maximum(squares / counts - means**2, 0.0)
    return int(np.argmin(means - np.sqrt(2.0 * variance * log / counts) - 3.0 * log / counts))


def thompson_arm(rng: Any, t: int, counts: Any, totals: Any, squares: Any) -> int:
    """Draw from normal posteriors; the variance is that of all losses, shrunk to each arm's."""
    means = totals / counts
    whole = max(float(squares.sum() / counts.sum() - (totals.sum() / counts.sum()) ** 2), 1e-12)
    variance = (np.maximum(squares - counts * means**2, 0.0) + whole) / counts
    return int(np.argmin(rng.normal(means, np.sqrt(variance / counts))))


def cats(problems: list[Any], seed: int, bandwidth: float, rate: float) -> Iterator[float]:
    """Vowpal Wabbit's CATS: continuous actions on a tree of 32 cells."""
    from vowpalwabbit import Workspace

    vw = Workspace(
        f"--cats 32 --bandwidth {bandwidth} --min_value 0 --max_value 1 --epsilon 0.05 -l {rate} "
        f"--quiet --random_seed {seed + 1}"
    )
    for problem in problems:
        action, density = vw.predict("ca | a:1")
        loss = problem.loss(float(np.clip(action, 0.0, 1.0)))
        yield loss
        vw.learn(f"ca {action:.6f}:{loss:.9f}:{density:.9f} | a:1")
    vw.finish()


def square_cb(problems: list[Any], seed: int, gamma: float, rate: float) -> Iterator[float]:
    """Vowpal Wabbit's SquareCB on the cells, without features."""
    from vowpalwabbit import Workspace

    vw = Workspace(
        f"--cb_explore {ARMS} --squarecb --gamma_scale {gamma} -l {rate} --quiet --random_seed {seed + 1}"
    )
    rng = np.random.default_rng([seed, 13])
    for problem in problems:
        chances = np.array(vw.predict("| a:1"))
        arm = int(rng.choice(ARMS, p=chances / chances.sum()))
        loss = problem.loss(middle(arm))
        yield loss
        vw.learn(f"{arm + 1}:{loss:.9f}:{chances[arm]:.9f} | a:1")
    vw.finish()


def blue_fin(problems: list[Any], seed: int, eta: float, delta: float) -> Iterator[float]:
    """OPPerTune's BlueFin with two-point feedback, written after its paper (NSDI 2024)."""
    rng, centre, first, mean_square, sign = np.random.default_rng([seed, 17]), 0.5, 0.0, 0.0, 1.0
    for t, problem in enumerate(problems):
        if t % 2 == 0:
            sign = float(rng.choice([-1.0, 1.0]))
        way = sign if t % 2 == 0 else -sign
        loss = problem.loss(float(np.clip(centre + delta * way, 0.0, 1.0)))
        yield loss
        if t % 2 == 0:
            first = loss
            continue
        slope = (first - loss) / (2.0 * delta) * sign
        mean_square = 0.9 * mean_square + 0.1 * slope**2
        centre = float(np.clip(centre - eta * slope / math.sqrt(mean_square + 1e-8), delta, 1.0 - delta))


def then_best(problems: list[Any], seed: int, search: Callable[..., Any]) -> Iterator[float]:
    """Search in the first tenth of the rounds, then play the best value found."""
    first = len(problems) // 10
    best = yield from search(problems[:first], seed)
    for problem in problems[first:]:
        yield problem.loss(best)


def tpe_search(problems: list[Any], seed: int) -> Iterator[float]:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    for problem in problems:
        trial = study.ask()
        loss = problem.loss(trial.suggest_float("rho", 0.0, 1.0))
        study.tell(trial, loss)
        yield loss
    return study.best_params["rho"]  # type: ignore[return-value]


def smac_search(problems: list[Any], seed: int) -> Iterator[float]:
    from ConfigSpace import ConfigurationSpace
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario
    from smac.runhistory.dataclasses import TrialValue

    space = ConfigurationSpace({"rho": (0.0, 1.0)})
    scenario = Scenario(space, n_trials=len(problems), seed=seed, deterministic=True)
    smac = Facade(scenario, lambda config, seed=0: 0.0, overwrite=True, logging_level=50)
    losses = {}
    for problem in problems:
        info = smac.ask()
        rho = float(info.config["rho"])
        losses[rho] = loss = problem.loss(rho)
        smac.tell(info, TrialValue(cost=loss))
        yield loss
    return min(losses, key=losses.__getitem__)  # type: ignore[return-value]


def late(make: Callable[[int], Any], feedback: str) -> Play:
    return lambda problems, seed: play(make(seed), problems, feedback, delay=100)


OURS: dict[str, Play] = {
    "Exp3Set, intervals": PLAYERS["default"],
    "Exp3Set, single losses": PLAYERS["single losses"],
    "Exp3Grid": PLAYERS["Exp3Grid"],
}
RATES = (0.1, 0.5)
# Player -> its settings.
PEERS: dict[str, list[Play]] = {
    "UCB1": [index_policy(ucb_arm, side=False)],
    "UCB-V": [index_policy(ucb_v_arm, side=False)],
    "UCB-V, arms in the interval": [index_policy(ucb_v_arm, side=True)],
    "Thompson": [index_policy(thompson_arm, side=False)],
    "Thompson, arms in the interval": [index_policy(thompson_arm, side=True)],
    "VHCT (PyXAB)": [PLAYERS["VHCT"]],
    "CATS (Vowpal Wabbit)": [partial(cats, bandwidth=h, rate=l) for h in (0.02, 0.1) for l in RATES],
    "SquareCB (Vowpal Wabbit)": [partial(square_cb, gamma=g, rate=l) for g in (10.0, 1000.0) for l in RATES],
    "BlueFin (OPPerTune)": [
        partial(blue_fin, eta=e, delta=d) for e in (0.01, 0.03, 0.1) for d in (0.03, 0.1)
    ],
    "TPE (Optuna)": [tpe],
    "TPE, then its best": [partial(then_best, search=tpe_search)],
    "SMAC3, then its best": [partial(then_best, search=smac_search)],
}
DELAYED: dict[str, Play] = {
    "Exp3Set, intervals": late(lambda seed: sb.Exp3Set(SPACE, seed=seed), "semi-bandit"),
    "Exp3Set, single losses": late(lambda seed: sb.Exp3Set(SPACE, seed=seed), "bandit"),
    "Exp3Grid": late(lambda seed: sb.Exp3Grid(SPACE, ARMS, seed=seed), "bandit"),
}


def mean_regret(game: Play, stream: Stream, seeds: int) -> float:
    return float(np.mean([sum(game(stream.game(seed), seed)) - stream.best for seed in range(seeds)]))


def main() -> None:
    given = options(__doc__, seeds=10, rounds=1000, players=None, kept=str(KEPT))
    streams = [load(f"peers-{n}", r, Path(given.kept), given.rounds) for n, r in STREAMS.items()]
    settings = {name: [game] for name, game in OURS.items()} | PEERS
    rows = []
    for name in choose(given.players, settings):
        try:
            cells = [min(mean_regret(game, s, given.seeds) for game in settings[name]) for s in streams]
        except ImportError as error:
            say(f"{name} is left out: {error} (make bench installs it)")
            continue
        delayed = number(mean_regret(DELAYED[name], streams[0], given.seeds)) if name in DELAYED else ""
        label = f"{name}, best of {n}" if (n := len(settings[name])) > 1 else name
        rows.append([label, *map(number, cells), delayed])
        say(" | ".join(rows[-1]))
    table("peers", ["mean regret", *STREAMS, f"packing, {LATE}"], rows)
    finish()


if __name__ == "__main__":
    main()
