"""How regret grows with T on dispersed streams: the exponents of intervals, of single losses and of a grid.

Run: python benchmarks/regret.py [--seeds 20] [--longest 100000] [--png docs/regret.png]

For each seed a stream of random step functions is played for several horizons, each game from scratch,
by provable learners (no baseline) and by default ones. The exponent is the slope of the mean regret
over seeds on log-log axes.
"""

from __future__ import annotations

import argparse
import os
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from measure import finish, say, show, table

import semibandit as sb

SPACE = sb.Interval(0, 1)
GAMES: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("semi-bandit, provable", "semi-bandit", sb.Exp3Set, {"baseline": None}),
    ("semi-bandit, default", "semi-bandit", sb.Exp3Set, {}),
    ("single losses, default", "bandit", sb.Exp3Set, {}),
    ("Exp3Grid, provable", "bandit", sb.Exp3Grid, {"baseline": None}),
    ("Exp3Grid, default", "bandit", sb.Exp3Grid, {}),
]
LARGEST = {"semi-bandit": 0.55, "bandit": 0.75}  # exponents: the theory has 1/2 and 2/3


def one_seed(seed: int, horizons: list[int]) -> list[tuple[str, int, float]]:
    problems = list(sb.streams.synthetic(max(horizons), seed=seed))
    results = []
    for T in horizons:
        best = sb.best_in_hindsight(problems[:T]).mean_loss
        for name, feedback, make, options in GAMES:
            learner = make(SPACE, horizon=T, seed=seed, **options)
            total = sum(row.loss for row in sb.rounds(learner, problems[:T], feedback))
            results.append((name, T, total - T * best))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--longest", type=int, default=100_000)
    parser.add_argument("--png")
    options = parser.parse_args()
    horizons = np.unique(np.geomspace(1_000, options.longest, 5).round().astype(int)).tolist()

    regrets: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        jobs = [pool.submit(one_seed, seed, horizons) for seed in range(options.seeds)]
        for done, job in enumerate(jobs, 1):
            for name, T, regret in job.result():
                regrets[name][T].append(regret)
            say(f"seed {done} of {options.seeds}")

    fits, rows = {}, []
    for name, *_ in GAMES:
        means = [float(np.mean(regrets[name][T])) for T in horizons]
        fits[name] = float(np.polyfit(np.log(horizons), np.log(means), 1)[0])
        cells = [f"{mean:.0f} ({max(regrets[name][T]):.0f})" for mean, T in zip(means, horizons, strict=True)]
        rows.append((name, *cells, f"**{fits[name]:.3f}**"))
    table("growth", ("mean regret (worst seed)", *(f"T = {T:,}" for T in horizons), "exponent"), rows)
    for name, feedback, *_ in GAMES:
        largest = LARGEST[feedback]
        show(f"exponent of the regret, {name}", fits[name], f"≤ {largest}", fits[name] <= largest)
    if options.png:
        draw(regrets, fits, horizons, options.png)


def draw(
    regrets: dict[str, dict[int, list[float]]], fits: dict[str, float], horizons: list[int], path: str
) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), dpi=120, layout="constrained")
    ax = figure.subplots()
    for name, feedback, make, given in GAMES:
        colour = "#1f4e9c" if feedback == "semi-bandit" else "#c2571a" if make is sb.Exp3Grid else "#2e7d32"
        all_seeds = np.array([regrets[name][T] for T in horizons])
        style = "-o" if given else "--s"
        ax.plot(horizons, all_seeds.mean(axis=1), style, color=colour, label=f"{name}: T^{fits[name]:.2f}")
        ax.fill_between(
            horizons, all_seeds.min(axis=1), all_seeds.max(axis=1), color=colour, alpha=0.12, lw=0
        )
    T = np.array(horizons, float)
    start = np.mean(regrets[GAMES[0][0]][horizons[0]])
    ax.plot(T, start * (T / T[0]) ** 0.5, ":", color="0.4", label="√T")
    ax.plot(T, start * (T / T[0]) ** (2 / 3), "-.", color="0.4", label="T^(2/3)")
    seeds = len(regrets[GAMES[0][0]][horizons[0]])
    ax.set(
        xscale="log", yscale="log", xlabel="rounds T", ylabel="regret",
        title=f"Regret on random step functions, mean and range of {seeds} seeds",
    )  # fmt: skip
    ax.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
    finish()
