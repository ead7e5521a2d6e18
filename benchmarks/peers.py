"""Regret beside other online learners and tuners, on the same streams in one run.

Run: python benchmarks/peers.py [--seeds 10] [--rounds 1000] [--players "VHCT (PyXAB),UCB1"]

The streams have other seeds than those of `suite.py`. Each game plays a random order of the rounds, except on
`drifting`. `100 late`: feedback comes 100 rounds late. `kinds`: knapsacks of three kinds, told apart by two
features (`contexts.py`); regret is against the best value of each kind. Only players that can play these.
A player with several settings shows the best of them on each stream, chosen afterwards.
Tuners search for one good value: they learn for the first tenth of the rounds, one instance a trial (irace
races its candidates on the same instances), and then play their best; TPE also plays every round.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import contexts
import numpy as np
from measure import choose, finish, number, options, say, table
from playing import KEPT, PLAYERS, SPACE, Play, Recipe, Stream, load, play, searches, then_best, tpe
from scipy.stats import ttest_rel

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


def index_policy(choose_arm: Callable[..., int], side: bool = False, delay: int = 0) -> Play:
    """Play a policy on the middles of equal cells; `side`: a run teaches all arms in its interval."""

    def game(problems: list[Any], seed: int) -> Iterator[float]:
        rng = np.random.default_rng([seed, 3])
        counts, totals, squares = np.zeros(ARMS), np.zeros(ARMS), np.zeros(ARMS)
        waiting: deque[tuple[Any, float]] = deque()
        for t, problem in enumerate(problems):
            new = np.flatnonzero(counts == 0.0)
            arm = int(rng.choice(new)) if new.size else choose_arm(rng, t, counts, totals, squares)
            loss = problem.loss(middle(arm))
            seen = np.array([arm])
            if side:
                ((lo, hi),) = problem.function.piece(middle(arm)).domain
                middles = (np.arange(ARMS) + 0.5) / ARMS
                seen = np.flatnonzero((middles >= lo) & (middles < hi))
            waiting.append((seen, loss))
            if len(waiting) > delay:
                seen, told = waiting.popleft()
                counts[seen] += 1.0
                totals[seen] += told
                squares[seen] += told * told
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


def irace_search(problems: list[Any], seed: int) -> Iterator[float]:
    """irace, written after its paper (2016): two races, with paired t-tests after five instances."""
    rng, used = np.random.default_rng([seed, 19]), 0
    elites: list[float] = []
    losses: dict[float, list[float]] = {}
    for race in (1, 2):
        end = len(problems) * race // 2
        count = max(2, (end - used) // (5 + race))
        alive = [*elites, *rng.random(count)] if race == 1 else [*elites, *around(elites, count, rng)]
        for t in range(len(problems)):
            for rho in alive:
                if len(losses.setdefault(rho, [])) == t and used < end:
                    losses[rho].append(problems[t].loss(rho))
                    used += 1
                    yield losses[rho][-1]
            alive = [rho for rho in alive if len(losses[rho]) > t]  # those that the budget allowed
            alive.sort(key=lambda rho: float(np.mean(losses[rho][: t + 1])))
            elites = alive[:2] or elites
            if t >= 4:
                best = losses[alive[0]][: t + 1] if alive else []
                alive = [rho for rho in alive if not worse(losses[rho][: t + 1], best)]
            if len(alive) <= 2 or used >= end:
                break
    for problem in problems[used:]:
        yield problem.loss(elites[0])
    return {"rho": elites[0]}  # type: ignore[return-value]


def around(elites: list[float], count: int, rng: Any) -> Any:
    """Draw the candidates of the second race around its elites."""
    return np.clip(rng.choice(elites, count) + rng.normal(0.0, 0.5 / count, count), 0.0, 1.0)


def worse(losses: list[float], best: list[float]) -> bool:
    return losses != best and bool(ttest_rel(losses, best, alternative="greater").pvalue < 0.05)


def late(make: Callable[[int], Any], feedback: str) -> Play:
    return lambda problems, seed: play(make(seed), problems, feedback, delay=100)


def with_contexts(feedback: str) -> Callable[..., float]:
    """Return the total loss of the default learner with contexts."""

    def paid(problems: Any, features: contexts.Features, seed: int) -> float:
        learner = sb.Exp3Set(SPACE, context=contexts.reals(list(features[0])), seed=seed)
        return float(sb.play(learner, problems, feedback=feedback, contexts=features).loss.sum())

    return paid


def vowpal(setting: str) -> Callable[..., float]:
    return lambda problems, features, seed: contexts.vowpal(problems, features, setting, seed)


def kinds_regret(paid: Callable[..., float], seeds: int, rounds: int) -> float:
    regrets = []
    for seed in range(seeds):
        problems, features, which = contexts.knapsacks(contexts.TRIPLES[0], rounds, seed)
        told = contexts.with_useless(features, 0, seed)
        regrets.append(paid(problems, told, seed) - contexts.least(problems, which))
    return float(np.mean(regrets))


OURS: dict[str, Play] = {
    "Exp3Set with intervals": PLAYERS["default"],
    "Exp3Set with single losses": PLAYERS["single losses"],
    "Exp3Grid": PLAYERS["Exp3Grid"],
}
RATES = (0.1, 0.5)
# Player -> its settings.
PEERS: dict[str, list[Play]] = {
    "UCB1": [index_policy(ucb_arm)],
    "UCB-V": [index_policy(ucb_v_arm)],
    "UCB-V with side observations": [index_policy(ucb_v_arm, side=True)],
    "Thompson": [index_policy(thompson_arm)],
    "Thompson with side observations": [index_policy(thompson_arm, side=True)],
    "VHCT (PyXAB)": [PLAYERS["VHCT"]],
    "CATS (Vowpal Wabbit)": [partial(cats, bandwidth=h, rate=l) for h in (0.02, 0.1) for l in RATES],
    "SquareCB (Vowpal Wabbit)": [partial(square_cb, gamma=g, rate=l) for g in (10.0, 1000.0) for l in RATES],
    "BlueFin (OPPerTune)": [
        partial(blue_fin, eta=e, delta=d) for e in (0.01, 0.03, 0.1) for d in (0.03, 0.1)
    ],
    "TPE (Optuna)": [tpe],
    **{f"{name} then its best": [then_best(search)] for name, search in searches().items()},
    "irace then its best": [then_best(irace_search)],
}
DELAYED: dict[str, Play] = {
    "Exp3Set with intervals": late(lambda seed: sb.Exp3Set(SPACE, seed=seed), "semi-bandit"),
    "Exp3Set with single losses": late(lambda seed: sb.Exp3Set(SPACE, seed=seed), "bandit"),
    "Exp3Grid": late(lambda seed: sb.Exp3Grid(SPACE, ARMS, seed=seed), "bandit"),
    "UCB1": index_policy(ucb_arm, delay=100),
    "UCB-V": index_policy(ucb_v_arm, delay=100),
    "UCB-V with side observations": index_policy(ucb_v_arm, side=True, delay=100),
    "Thompson": index_policy(thompson_arm, delay=100),
    "Thompson with side observations": index_policy(thompson_arm, side=True, delay=100),
}
CONTEXTUAL: dict[str, list[Callable[..., float]]] = {
    "Exp3Set with intervals": [with_contexts("semi-bandit")],
    "Exp3Set with single losses": [with_contexts("bandit")],
    "CATS (Vowpal Wabbit)": [vowpal(setting) for setting in contexts.CATS],
    "SquareCB (Vowpal Wabbit)": [vowpal(setting) for setting in contexts.SQUARE_CB],
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
        kinds = [kinds_regret(paid, given.seeds, given.rounds) for paid in CONTEXTUAL.get(name, ())]
        label = f"{name}, best of {n}" if (n := len(settings[name])) > 1 else name
        rows.append([label, *map(number, cells), delayed, number(min(kinds)) if kinds else ""])
        say(" | ".join(rows[-1]))
    table("peers", ["mean regret", *STREAMS, f"packing, {LATE}", "kinds, with features"], rows)
    finish()


if __name__ == "__main__":
    main()
