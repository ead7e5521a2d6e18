"""Regret of every learner and its peers on the package's streams, and the targets for the default.

Run: python benchmarks/suite.py [--seeds 20] [--streams mixed,iris] [--learners default,VHCT] [--jobs 2]

The loss functions of a stream are computed once and kept below build/suite. Games are played in a random
order of the rounds, except on streams whose order matters. Regret is against the exact best fixed
parameter. `--others` is the number of seeds of all learners but the default. `--quick` plays 200 rounds
of two streams and checks no target. PABULIB (a folder of .pb files) adds a stream of participatory
budgets.
"""

from __future__ import annotations

import os
import statistics
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from measure import at_least, at_most, choose, finish, number, options, say, show, table
from playing import KEPT, PLAYERS, RECIPES, Stream, load, pabulib, total_of_best

AT = (100, 300)  # rounds after which the beginning of a game is judged
APART = ("drifting", "concentrated")  # not in geometric means: regret below 0, and a needle
LOW = 'baseline="low"'

Results = dict[str, dict[str, np.ndarray[Any, Any]]]  # learner -> stream -> seeds × (at 100, at 300, at T)


def regrets_of_game(player: str, stream: Stream, seed: int) -> list[float]:
    problems = stream.game(seed)
    paid = np.cumsum(list(PLAYERS[player](problems, seed)))
    begun = [paid[min(t, len(problems)) - 1] - total_of_best(problems[:t]) for t in AT]
    return [*begun, paid[-1] - stream.best]


def play_all(players: list[str], streams: list[Stream], seeds: int, others: int, jobs: int) -> Results:
    results: Results = {player: {} for player in players}
    for player in players:
        n = seeds if player == "default" else others
        for stream in streams:
            try:
                run = Parallel(jobs)(delayed(regrets_of_game)(player, stream, seed) for seed in range(n))
            except ImportError as error:
                say(f"{player} is left out: {error} (make bench installs it)")
                del results[player]
                break
            results[player][stream.name] = np.array(run)
            first, _, last = np.array(run).T
            say(f"{player:<18}{stream.name:<17}{n:>3} seeds: regret {last.mean():8.2f}, "
                f"worst {last.max():8.2f}, at 100 {first.mean():7.2f}")  # fmt: skip
    return results


# -- targets --------------------------------------------------------------------------------------------


def means(results: Results, learner: str, column: int = 2) -> dict[str, float]:
    return {name: float(games[:, column].mean()) for name, games in results.get(learner, {}).items()}


def not_below(results: Results, peer: str, column: int = 2) -> list[str]:
    """Return the streams on which the default's regret is not below that of a peer."""
    a, b = means(results, "default", column), means(results, peer, column)
    return [s for s in a if s in b and a[s] >= b[s]]


def judge(results: Results) -> None:
    """Compare the regrets with the targets that concern the learners played."""
    quotients = [
        ("default", LOW, 0.42),
        ("default", "full information", 2.6),
        ("4 probes", "full information", 1.5),
        ("single losses", "Exp3Grid", 0.6),
    ]
    for ours, theirs, target in quotients:
        a, b = means(results, ours), means(results, theirs)
        if common := (a.keys() & b.keys()) - set(APART):
            value = statistics.geometric_mean(a[s] / b[s] for s in common)
            at_most(f"geometric mean of regret, {ours} over {theirs}", value, target)
    if "default" in results:
        judge_default(results)


def judge_default(results: Results) -> None:
    for peer in ("Exp3Grid", "VHCT"):
        if peer in results:
            none_of(f"streams not below {peer}", not_below(results, peer))
    for stream, games in results["default"].items():
        if stream not in APART:
            worst = games[:, 2].max() / games[:, 2].mean()
            at_most(f"worst of {len(games)} seeds over the mean, {stream}", worst, 2.5)
    for column, rounds in enumerate(AT):
        if LOW in results:
            none_of(f"first {rounds} rounds, streams above {LOW}", not_below(results, LOW, column))
        if "Exp3Grid" in results:
            below = 1.0 - len(not_below(results, "Exp3Grid", column)) / len(results["default"])
            at_least(f"first {rounds} rounds, share of streams below Exp3Grid", below, 2 / 3)
    if "concentrated" in results["default"]:
        at_most("regret on concentrated", means(results, "default")["concentrated"], 150)


def none_of(what: str, streams: list[str]) -> None:
    show(f"{what}{': ' if streams else ''}{', '.join(streams)}", len(streams), "none", not streams)


# -- tables ---------------------------------------------------------------------------------------------


def show_tables(results: Results, streams: list[str], name: str) -> None:
    """Print mean regrets, with the worst seed of the default, and those after the first rounds."""
    if all(learner.endswith(" late") for learner in results if learner != "default"):
        name = "late"
    rows = []
    for learner, played in results.items():
        cells = [number(played[stream][:, 2].mean()) for stream in streams]
        if learner == "default":
            worst = [number(played[stream][:, 2].max()) for stream in streams]
            cells = [f"**{mean}** ({most})" for mean, most in zip(cells, worst, strict=True)]
        rows.append((learner, *cells, str(len(played[streams[0]]))))
    table(name, ("mean regret", *streams, "seeds"), rows)
    names = [learner for learner in ("default", LOW, "Exp3Grid") if learner in results]
    columns = [means(results, learner, column) for column in range(len(AT)) for learner in names]
    begun = [(stream, *(number(column[stream]) for column in columns)) for stream in streams]
    table("beginning", ("", *(f"{learner}, {t} rounds" for t in AT for learner in names)), begun)


def main() -> None:
    given = options(
        __doc__,
        seeds=20,
        others=0,
        streams=None,
        learners=None,
        jobs=1,
        kept=str(KEPT),
        quick=False,
        name="regret",
    )
    folder = os.environ.get("PABULIB")
    recipes = RECIPES | ({"pabulib": pabulib(folder)} if folder else {})
    names, learners = choose(given.streams, recipes), choose(given.learners, PLAYERS)
    seeds, others = (1, 1) if given.quick else (given.seeds, given.others or given.seeds)
    names, rounds = (names[:2], 200) if given.quick else (names, None)
    streams = [load(name, recipes[name], Path(given.kept), rounds) for name in names]
    results = play_all(learners, streams, seeds, others, given.jobs)
    show_tables(results, names, given.name)
    if not given.quick:
        judge(results)
        finish()


if __name__ == "__main__":
    main()
