"""Drift: when the best value moves
================================

This page follows a best value that moves: the instances of December differ from those of June. A learner that
never forgets keeps playing the old value; ``drift="auto"`` is the remedy.
"""

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# A year in four seasons
# ----------------------
#
# Losses are random step functions on [0, 1] that are low around 0.2 in the first 500 rounds, then around
# 0.75, 0.4, and 0.9.

SEASONS, LENGTH = (0.2, 0.75, 0.4, 0.9), 500
ROUNDS = len(SEASONS) * LENGTH


def make(best: float, rng: np.random.Generator) -> sb.Explicit:
    """Return a random step function with a valley around `best`."""
    edges = np.concatenate(([0.0], np.sort(rng.random(9)), [1.0]))
    middles = 0.5 * (edges[1:] + edges[:-1])
    mean = 0.65 - 0.5 * np.exp(-0.5 * ((middles - best) / 0.12) ** 2)
    return sb.Explicit(sb.PiecewiseConstant(edges, mean + rng.uniform(-0.15, 0.15, middles.size)))


rng = np.random.default_rng(0)
problems = [make(SEASONS[t // LENGTH], rng) for t in range(ROUNDS)]

fig, axes = plt.subplots(1, 2, figsize=(10, 3.6), sharey=True, layout="constrained")
for season, ax in zip((0, 1), axes, strict=True):
    sb.plots.loss_function(problems[season * LENGTH], None, ax)
    functions = [problem.losses() for problem in problems[season * LENGTH :][:LENGTH]]
    mean = sb.PiecewiseConstant.sum(functions)
    ax.stairs(mean.values / LENGTH, mean.edges, baseline=None, color="tab:orange", label="mean of the season")
    ax.set(title=f"Season {season + 1}: one instance, and the mean")
    ax.legend(frameon=False)

# %%
# The learner as it is, and with ``drift``
# ----------------------------------------
#
# ``drift="auto"`` tests whether the losses paid have changed. At an alarm the learner forgets most of its
# statistics and restarts a quarter of the weight. If you know how often the best value moves, give the share
# instead: ``drift=0.002`` is one move in 500 rounds.

DRIFTS = {"no drift": None, "drift='auto'": "auto", "drift=0.002": 0.002}
histories = {
    name: sb.play(sb.Exp3Set(sb.Interval(0, 1), drift=drift, seed=0), problems)
    for name, drift in DRIFTS.items()
}

fig, axes = plt.subplots(3, 1, figsize=(8.5, 7.5), sharex=True, layout="constrained")
for (name, history), ax in zip(histories.items(), axes, strict=True):
    sb.plots.density(history, ax, best=False)
    starts = LENGTH * np.arange(len(SEASONS))
    ax.hlines(SEASONS, starts, starts + LENGTH, color="tab:orange", ls="--")
    ax.set(title=name, xlabel="")
axes[-1].set_xlabel("round (dashed: the best ρ of the season)")

# sphinx_gallery_thumbnail_number = 2

# %%
# Which yardstick?
# ----------------
#
# The best *fixed* value is a compromise between four seasons, and a learner that follows them can be better
# than it, with a regret below zero. The right yardstick is the best *sequence* of four values, each for a
# block of rounds. It is computed exactly, with the places where blocks begin.

blocks = histories["no drift"].best_blocks(4)
print("rounds        best ρ")
for start, stop, best in blocks.sequences[-1]:
    print(f"{start:4} to {stop:4}  {best.rho:.3f}")

# %%
# The losses of the yardsticks, those that each learner has paid, and the difference to the sequence:

fixed = histories["no drift"].best()
print(f"{'best fixed ρ':<16} {fixed.mean_loss * ROUNDS:7.1f}")
print(f"{'best four blocks':<16} {blocks.totals[-1]:7.1f}")
for name, history in histories.items():
    print(f"{name:<16} {history.loss.sum():7.1f}   {history.regret(blocks=4)[-1]:+7.1f}")

fig, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
for name, history in histories.items():
    ax.plot(history.regret(blocks=4), label=name)
for start in LENGTH * np.arange(1, len(SEASONS)):
    ax.axvline(start, color="0.8", lw=1, zorder=0)
ax.set(xlabel="round", ylabel="regret against the best four blocks", title="What following has cost")
ax.legend(frameon=False)

# %%
# What it costs where nothing moves
# ---------------------------------
#
# A learner that forgets learns more slowly, and has no certificate. So ``drift`` is off by default. Here is
# the first season, twice as long. A fixed share forgets in every round; "auto" plays as without drift until
# an alarm, and false alarms are rare.

rng = np.random.default_rng(1)
still = [make(SEASONS[0], rng) for _ in range(2 * LENGTH)]
for name, drift in DRIFTS.items():
    learners = [sb.Exp3Set(sb.Interval(0, 1), drift=drift, seed=seed) for seed in range(3)]
    regrets = [sb.play(learner, still).regret()[-1] for learner in learners]
    print(f"{name:<16} regrets", *(f"{regret:6.1f}" for regret in regrets))

# %%
# Try next
# --------
#
# - Seasons that are shorter: from which length on does ``drift`` stop paying?
# - A best value that wanders slowly instead of jumping: ``sb.streams.synthetic(2000, drift=True)``.
# - Knapsacks that drift: ``semibandit play knapsack --kind drifting --drift auto --blocks 8 --png
#   game.png``.
# - Full information (``sb.play(..., feedback="full")``): how much faster does the learner follow?
# - What was measured on nine streams, missed targets included, is in :doc:`/learner`.

plt.show()
