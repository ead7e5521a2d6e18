"""How regret grows with T on random step functions, for intervals, single losses and a grid.

Run: python benchmarks/regret.py [--seeds 20] [--longest 100000] [--png docs/regret.png]

Each game of a horizon starts from scratch. The exponent is the slope of the mean regret on log-log axes.
The learners without baseline have a proof; theory has the exponents 1/2 and 2/3.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed
from measure import at_most, finish, options, table
from playing import SPACE

import semibandit as sb

# Feedback, learner, its options, the largest exponent, and how the curve is drawn.
GAMES: dict[str, tuple[str, Any, dict[str, Any], float, str]] = {
    "semi-bandit, provable": ("semi-bandit", sb.Exp3Set, {"baseline": None}, 0.55, "C0-o"),
    "semi-bandit, default": ("semi-bandit", sb.Exp3Set, {}, 0.55, "C0--s"),
    "single losses, default": ("bandit", sb.Exp3Set, {}, 0.75, "C2--s"),
    "Exp3Grid, provable": ("bandit", sb.Exp3Grid, {"baseline": None}, 0.75, "C1-o"),
    "Exp3Grid, default": ("bandit", sb.Exp3Grid, {}, 0.75, "C1--s"),
}


def one_seed(seed: int, horizons: list[int]) -> list[list[float]]:
    """Return the regrets: games × horizons."""
    problems = list(sb.streams.synthetic(max(horizons), seed=seed))
    best = [T * sb.best_in_hindsight(problems[:T]).mean_loss for T in horizons]
    regrets = []
    for feedback, make, given, *_ in GAMES.values():
        learners = [make(SPACE, horizon=T, seed=seed, **given) for T in horizons]
        games = [sb.rounds(x, problems[:T], feedback) for x, T in zip(learners, horizons, strict=True)]
        regrets.append([sum(r.loss for r in game) - least for game, least in zip(games, best, strict=True)])
    return regrets


def main() -> None:
    given = options(__doc__, seeds=20, longest=100_000, png=None)
    horizons = np.unique(np.geomspace(1_000, given.longest, 5).round().astype(int)).tolist()
    regrets = np.array(Parallel(-1)(delayed(one_seed)(seed, horizons) for seed in range(given.seeds)))
    mean, worst = regrets.mean(axis=0), regrets.max(axis=0)
    fits = [float(np.polyfit(np.log(horizons), np.log(row), 1)[0]) for row in mean]
    rows = [
        (name, *(f"{a:.0f} ({b:.0f})" for a, b in zip(mean[i], worst[i], strict=True)), f"**{fits[i]:.3f}**")
        for i, name in enumerate(GAMES)
    ]
    table("growth", ("mean regret (worst seed)", *(f"T = {T:,}" for T in horizons), "exponent"), rows)
    for fit, (name, game) in zip(fits, GAMES.items(), strict=True):
        at_most(f"exponent of the regret, {name}", fit, game[3])
    if given.png:
        draw(regrets, fits, np.array(horizons, float), given.png)
    finish()


def draw(regrets: np.ndarray, fits: list[float], T: np.ndarray, path: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 5), dpi=120, layout="constrained")
    ax = figure.subplots()
    for i, (name, (*_, style)) in enumerate(GAMES.items()):
        ax.plot(T, regrets[:, i].mean(axis=0), style, label=f"{name}: T^{fits[i]:.2f}")
        ax.fill_between(
            T, regrets[:, i].min(axis=0), regrets[:, i].max(axis=0), color=style[:2], alpha=0.12, lw=0
        )
    for power, label, style in ((1 / 2, "√T", ":"), (2 / 3, "T^(2/3)", "-.")):
        ax.plot(T, regrets[:, 0, 0].mean() * (T / T[0]) ** power, style, color="0.4", label=label)
    title = f"Regret on random step functions, mean and range of {len(regrets)} seeds"
    ax.set(xscale="log", yscale="log", xlabel="rounds T", ylabel="regret", title=title)
    ax.legend(frameon=False)
    figure.savefig(path)


if __name__ == "__main__":
    main()
