"""Several knobs
=============

Programs have more than one knob: a step size that wants a logarithmic scale, a batch size that is a whole
number, a switch. ``sb.Knobs`` gives them names, and one learner turns them all. This page tunes the
training of small models, where each round is another data set.
"""

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# The algorithm
# -------------
#
# Stochastic gradient descent for linear regression, with a budget: it may look at 512 examples, and then
# has to stop. Three things are to be chosen:
#
# - the *step* size: too small and it does not arrive, too large and it explodes;
# - the *batch* size: large batches have less noise, but make fewer steps;
# - the *schedule*: a constant step, or one that decays.
#
# They depend on each other. The loss is the error on new examples, relative to predicting 0: 1 is
# worthless.


def train(data: tuple[np.ndarray, ...], step: float, batch: int, schedule: str) -> float:
    """The relative error on new examples after training with a budget of 512 examples."""
    X, y, X_new, y_new = data
    w, n_steps = np.zeros(X.shape[1]), len(y) // batch
    for k in range(n_steps):
        rows = slice(k * batch, (k + 1) * batch)
        rate = step if schedule == "constant" else step * (1.0 - k / n_steps)
        w -= rate * (X[rows].T @ (X[rows] @ w - y[rows])) / batch
        if not np.abs(w).max() < 1e6:
            return 1.0  # exploded
    return float(min(np.mean((X_new @ w - y_new) ** 2) / np.mean(y_new**2), 1.0))


def make(seed: int) -> tuple[np.ndarray, ...]:
    """A data set: 512 examples to learn from and 200 new ones, ten features of different scales, noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(712, 10)) * np.geomspace(0.3, 1.5, 10)
    y = X @ rng.normal(size=10) + rng.normal(size=712)
    return X[:512], y[:512], X[512:], y[512:]


# %%
# The knobs
# ---------
#
# ``Real`` is a real number, on a logarithmic scale if asked for; ``Integer`` a whole number; ``Choice``
# one of some words. A trial has the ``values`` of all of them by name, ready to be passed on.

knobs = sb.Knobs(
    step=sb.Real(1e-3, 10.0, log=True),
    batch=sb.Integer(1, 64, log=True),
    schedule=sb.Choice("constant", "decay"),
)
DEFAULT = {"step": 0.03, "batch": 8, "schedule": "constant"}

learner = sb.Exp3Set(knobs, seed=0)
trial = learner.ask()
print(trial.values)
print("loss", train(make(0), **trial.values))
learner.tell(trial, train(make(0), **trial.values))

# %%
# Some data sets are harder than others, at all values of the knobs alike. To tell this from what the
# knobs do it helps to look at the same data set more than once: ``ask(probes=3)`` names three further
# points. Only the first is *played*, and counts; the others are looks.

trial = learner.ask(probes=3)
for values in trial.looks:
    print(values)
learner.forget(trial)  # we were only curious

# %%
# Playing
# -------
#
# For ``sb.play`` a problem needs a space, and a method ``loss`` that takes the knobs by name.


class Training:
    """One data set."""

    space = knobs

    def __init__(self, seed: int) -> None:
        self.data = make(seed)

    def loss(self, **values: object) -> float:
        """Train once."""
        return train(self.data, **values)


ROUNDS = 500
problems = [Training(seed) for seed in range(ROUNDS)]
learner = sb.Exp3Set(knobs, seed=0)
history = sb.play(learner, problems, "bandit", probes=3)
best = learner.recommend()
print("recommended", best.values)
for name, rounds in {"first": slice(50), "last": slice(-50, None)}.items():
    print(f"paid in the {name} 50 rounds: {history.loss[rounds].mean():.3f}")

# %%
# What it played, by step and batch, is below; dark points are late rounds. The lines are for us alone, as
# they need many runs: the mean loss on a grid of values. They show a valley that runs across: the larger
# the batch, the larger the step may be, and has to be.

steps, batches = np.geomspace(1e-3, 10, 17), [1, 2, 4, 8, 16, 32, 64]
some = [make(seed) for seed in range(5000, 5006)]
values = history.values
fig, axes = plt.subplots(1, 2, figsize=(11, 4.4), sharey=True, layout="constrained")
for schedule, ax in zip(("constant", "decay"), axes, strict=True):
    mean = [
        [np.mean([train(data, step, batch, schedule) for data in some]) for step in steps]
        for batch in batches
    ]
    lines = ax.contour(steps, batches, mean, [0.16, 0.2, 0.3, 0.5, 0.8], colors="0.7", linewidths=1)
    ax.clabel(lines, fontsize="small")
    here = values["schedule"] == schedule
    points = ax.scatter(
        values["step"][here],
        values["batch"][here],
        c=history.t[here],
        cmap="Blues",
        vmin=-100,
        vmax=ROUNDS,
        s=16,
    )
    for chosen, mark, name in ((DEFAULT, "s", "default"), (best.values, "o", "recommended")):
        if chosen["schedule"] == schedule:
            ax.plot(chosen["step"], chosen["batch"], mark, color="tab:orange", ms=9, mec="black", label=name)
    ax.set(xscale="log", yscale="log", xlabel="step", title=f"{schedule}: {here.sum()} rounds")
    ax.legend(frameon=False, loc="upper left")
axes[0].set_ylabel("batch")
fig.colorbar(points, ax=axes, label="round")

# sphinx_gallery_thumbnail_number = 1

# %%
# The density of the first knob through time, with all others together:

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.knobs.along(history, ax)

# %%
# Is it better than the default?
# ------------------------------
#
# On data sets that were not used for learning, the same ones for both:

fresh = [make(seed) for seed in range(10_000, 10_200)]
ours, theirs = (np.array([train(data, **chosen) for data in fresh]) for chosen in (best.values, DEFAULT))
error = (ours - theirs).std(ddof=1) / np.sqrt(len(fresh))
print(f"recommended {ours.mean():.4f}, default {theirs.mean():.4f}")
print(f"difference  {(ours - theirs).mean():+.4f} ± {error:.4f}")

# %%
# Try next
# --------
#
# - Another budget: if only 128 examples may be seen, which knobs move?
# - ``probes=0`` and four times as many rounds cost the same number of runs. Which is better?
# - A program instead of a function: ``semibandit tune "train --step {step} --batch {batch} --schedule
#   {schedule} {instance}" data/* --knob step=1e-3:10:log --knob batch=1..64:log --knob
#   schedule=constant,decay --state knobs.json``.
# - Where a run shows more than a single loss, see :doc:`/knobs`.

plt.show()
