"""Every learner and its peers on the package's own streams: regret, and the targets that it is held to.

Run: python benchmarks/suite.py [--seeds 20] [--streams mixed,iris] [--learners default,VHCT] [--jobs 2]

The whole loss functions of a stream are computed once and kept below build/suite; games in a random order of
the rounds (drifting and Pabulib keep theirs) are then quick, and those that were played before with the same
code are not played again. Regret is against the exact best fixed parameter. `--quick` plays 200 rounds of two
streams and judges nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from measure import finish, number, say, show, table
from playing.players import LATE, PLAYERS, Player
from playing.streams import RECIPES, Stream, load, pabulib

import semibandit as sb

HERE = Path(__file__).resolve().parent
AT = (100, 300)  # rounds after which the beginning of a game is judged
APART = ("drifting", "concentrated")  # not in geometric means: regret below 0, and a needle

Results = dict[str, dict[str, np.ndarray[Any, Any]]]  # learner -> stream -> seeds × (at 100, at 300, at T)


class Games:
    """Regrets of games, kept on disk under the version of the code that played them."""

    def __init__(self, path: Path, jobs: int) -> None:
        self.path, self.jobs = path, jobs
        self.kept: dict[str, list[float]] = json.loads(path.read_text()) if path.exists() else {}

    def regrets(self, player: Player, stream: Stream, n: int) -> list[list[float]]:
        """The regrets of the games with the seeds 0 to n - 1; as many at a time as there are jobs."""
        keys = [f"{stream.name} {len(stream)} {player.name} {player.version} {seed}" for seed in range(n)]
        missing = [seed for seed in range(n) if keys[seed] not in self.kept]
        ends = [min(t, len(stream)) for t in (*AT, len(stream))]
        for start in range(0, len(missing), self.jobs):
            games = sb.play_many(
                {"player": player}, stream.game, missing[start : start + self.jobs], n_jobs=self.jobs
            )
            for seed, losses in zip(games.seeds, games.losses["player"], strict=True):
                paid = list(accumulate(losses.tolist()))
                self.kept[keys[seed]] = [paid[t - 1] - stream.best(seed, t) for t in ends]
            self.path.write_text(json.dumps(self.kept))
        return [self.kept[key] for key in keys]


def play_all(players: list[Player], streams: list[Stream], seeds: int, others: int, games: Games) -> Results:
    results: Results = {player.name: {} for player in players}
    for player in players:
        n = seeds if player.name == "default" else min(others, player.seeds or others)
        for stream in streams:
            try:
                regrets = games.regrets(player, stream, n)
            except ImportError as error:
                say(f"{player.name} is left out: {error} (make bench installs it)")
                del results[player.name]
                break
            results[player.name][stream.name] = np.array(regrets)
            first, _, last = np.array(regrets).T
            say(f"{player.name:<18}{stream.name:<17}{n:>3} seeds: regret {last.mean():8.2f}, "
                  f"worst {last.max():8.2f}, at 100 {first.mean():7.2f}")  # fmt: skip
    return results


# -- targets ---------------------------------------------------------------------------------------


def means(results: Results, learner: str, column: int = 2) -> dict[str, float]:
    return {name: float(games[:, column].mean()) for name, games in results.get(learner, {}).items()}


def quotient(results: Results, ours: str, theirs: str, column: int = 2) -> float:
    """The geometric mean over the streams that both have played of the ratio of their regrets."""
    a, b = means(results, ours, column), means(results, theirs, column)
    return statistics.geometric_mean(a[s] / b[s] for s in a if s in b and s not in APART)


def not_below(results: Results, ours: str, theirs: str, column: int = 2) -> list[str]:
    a, b = means(results, ours, column), means(results, theirs, column)
    return [s for s in a if s in b and a[s] >= b[s]]


def none_of(what: str, streams: list[str]) -> None:
    show(f"{what}{': ' if streams else ''}{', '.join(streams)}", len(streams), "none", not streams)


def judge(results: Results) -> None:
    """Hold the regrets against the targets, as far as the learners have played."""
    quotients = [
        ('new default over baseline="low"', "default", 'baseline="low"', 0.40),
        ("new default over full information", "default", "full information", 2.5),
        ("four probes over full information", "4 probes", "full information", 1.5),
        ("single losses, new default over Exp3Grid", "single losses", "Exp3Grid", 0.6),
    ]
    for what, ours, theirs, target in quotients:
        if (results.get(ours, {}).keys() & results.get(theirs, {}).keys()) - set(APART):
            value = quotient(results, ours, theirs)
            show(f"geometric mean of regret, {what}", value, f"≤ {target:g}", value <= target)
    if not results.get("default"):
        return
    for peer in ("Exp3Grid", "VHCT"):
        if results.get(peer):
            none_of(f"streams not below {peer}", not_below(results, "default", peer))
    for stream, games in results["default"].items():
        if stream not in APART:
            worst = games[:, 2].max() / games[:, 2].mean()
            show(f"worst of {len(games)} seeds over the mean, {stream}", worst, "≤ 2.5", worst <= 2.5)
    for column, rounds in enumerate(AT):
        judge_beginning(results, column, rounds)
    if "concentrated" in results["default"]:
        needle = means(results, "default")["concentrated"]
        show("regret on concentrated", needle, "≤ 150", needle <= 150)


def judge_beginning(results: Results, column: int, rounds: int) -> None:
    if results.get('baseline="low"'):
        above = not_below(results, "default", 'baseline="low"', column)
        none_of(f'first {rounds} rounds, streams above baseline="low"', above)
    if results.get("Exp3Grid"):
        n = len(results["default"])
        below = 1.0 - len(not_below(results, "default", "Exp3Grid", column)) / n
        show(f"first {rounds} rounds, share of streams below Exp3Grid", below, "≥ 2/3", below >= 2 / 3)


# -- tables ----------------------------------------------------------------------------------------


def regrets(name: str, results: Results, streams: list[str]) -> None:
    """Mean regret of each learner on each stream; the worst seed of the default beside it."""
    rows = []
    for learner in results:
        cells = [cell(results[learner].get(stream), learner == "default") for stream in streams]
        most = max(len(games) for games in results[learner].values())
        rows.append((learner, *cells, str(most)))
    table(name, ("mean regret", *streams, "seeds"), rows)


def cell(games: Any, with_worst: bool) -> str:
    if games is None:
        return ""
    mean = number(games[:, 2].mean())
    return f"**{mean}** ({number(games[:, 2].max())})" if with_worst else mean


def beginnings(results: Results, streams: list[str]) -> None:
    """Mean regret after the first rounds."""
    names = [name for name in ("default", 'baseline="low"', "Exp3Grid") if results.get(name)]
    columns = [means(results, name, column) for column in range(len(AT)) for name in names]
    rows = [(stream, *(number(column.get(stream, np.nan)) for column in columns)) for stream in streams]
    table("beginning", ("", *(f"{name}, {t} rounds" for t in AT for name in names)), rows)


def show_tables(results: Results, streams: list[str], name: str) -> None:
    """The tables that these learners make: prompt ones, and the default told late."""
    late = {player.name for player in LATE}
    played = {name: games for name, games in results.items() if games}
    prompt = {name: games for name, games in played.items() if name not in late}
    delayed = {name: games for name, games in played.items() if name in late | {"default"}}
    if prompt.keys() - {"default"}:
        regrets(name, prompt, streams)
        beginnings(prompt, streams)
    if delayed.keys() - {"default"}:
        regrets("late", delayed, streams)


# -- the command -----------------------------------------------------------------------------------


def chosen(what: str, given: str | None, known: list[str]) -> list[str]:
    names = known if given is None else given.split(",")
    if unknown := [name for name in names if name not in known]:
        sys.exit(f"unknown {what} {', '.join(unknown)}: choose from {', '.join(known)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, help="games on each stream")
    parser.add_argument("--others", type=int, help="games of all but the default; slow peers play fewer")
    parser.add_argument("--streams", help="names, separated by commas")
    parser.add_argument("--learners", help="names, separated by commas")
    parser.add_argument("--jobs", type=int, default=1, help="games at the same time")
    parser.add_argument("--pabulib", default=os.environ.get("PABULIB"), help="folder of .pb files ($PABULIB)")
    parser.add_argument("--kept", type=Path, default=HERE.parent / "build" / "suite")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--name", default="regret", help="what to call the table of regrets")
    options = parser.parse_args()

    recipes = RECIPES | ({"pabulib": pabulib(options.pabulib)} if options.pabulib else {})
    names = chosen("stream", options.streams, list(recipes))
    everyone = {player.name: player for player in PLAYERS + LATE}
    learners = chosen("learner", options.learners, list(everyone))
    if options.quick:
        names, rounds, options.seeds, options.others = names[:2], 200, 1, 1
        learners = [name for name in learners if everyone[name].package in ("semibandit", "numpy")]
    else:
        rounds = None
    streams = [load(name, recipes[name], options.kept, rounds) for name in names]
    games = Games(options.kept / "games.json", options.jobs)
    others = options.others or options.seeds
    results = play_all([everyone[name] for name in learners], streams, options.seeds, others, games)
    show_tables(results, names, options.name)
    if options.quick:
        return
    judge(results)
    finish()


if __name__ == "__main__":
    main()
