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
# has to stop. The step size falls to zero on the way. Three things are to be chosen:
#
# - the *step* to begin with: too small and it does not arrive, too large and it explodes;
# - the *batch*: how many examples make a step. Large batches have less noise, but make fewer steps;
# - the *features*: as they are, or scaled to the same spread.
#
# They depend on each other. The loss is the error on new examples, relative to predicting 0: 1 is
# worthless.

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def train(data: Data, step: float, batch: int, features: str) -> float:
    """The relative error on new examples after training on all examples once."""
    X, y, X_new, y_new = data
    if features == "scaled":
        X, X_new = X / X.std(axis=0), X_new / X.std(axis=0)
    w, n_steps = np.zeros(X.shape[1]), len(y) // batch
    for k in range(n_steps):
        rows = slice(k * batch, (k + 1) * batch)
        w -= step * (1 - k / n_steps) * (X[rows].T @ (X[rows] @ w - y[rows])) / batch
        if not np.abs(w).max() < 1e6:
            return 1.0  # exploded
    return float(min(np.mean((X_new @ w - y_new) ** 2) / np.mean(y_new**2), 1.0))


def make(seed: int) -> Data:
    """A data set: 512 examples to learn from and 200 new ones; ten features, each in a unit of its own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(712, 10))
    y = X @ rng.normal(size=10) + rng.normal(size=712)
    X = X * rng.permutation(np.geomspace(0.1, 3.0, 10))
    return X[:512], y[:512], X[512:], y[512:]


# %%
# The knobs
# ---------
#
# ``Real`` is a real number, on a logarithmic scale if asked for; ``Integer`` a whole number; ``Choice``
# one of some words.

knobs = sb.Knobs(
    step=sb.Real(1e-3, 10, log=True),
    batch=sb.Integer(1, 32),
    features=sb.Choice("raw", "scaled"),
)
DEFAULT = {"step": 0.01, "batch": 8, "features": "raw"}

# %%
# A trial has the values of all of them by name, ready to be passed on. What is told is a single loss.

learner = sb.Exp3Set(knobs, seed=0)
for seed in range(3):
    trial = learner.ask()
    loss = train(make(seed), **trial.values)
    learner.tell(trial, loss)
    print(f"loss {loss:.3f} with {trial.values}")

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


ROUNDS = 400
problems = [Training(seed) for seed in range(ROUNDS)]
learner = sb.Exp3Set(knobs, seed=0)
history = sb.play(learner, problems, feedback="bandit")
best = learner.recommend()
print("recommended", best.values)
for name, part in {"first": slice(25), "last": slice(-25, None)}.items():
    print(f"paid in the {name} 25 rounds: {history.loss[part].mean():.3f}")

# %%
# What it played, by step and batch, is drawn below; dark points are late rounds. The shading is for us
# alone, as it takes many runs: the mean loss on a grid of values, dark where it is low. There is a valley
# that runs across: the larger the batch, the larger the step has to be. And it is deep and wide only
# where features are scaled.

steps, batches = np.geomspace(1e-3, 10, 17), [1, 2, 4, 8, 16, 32]
some = [make(seed) for seed in range(5000, 5006)]
played = history.values
fig, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True, layout="constrained")
for features, ax in zip(("raw", "scaled"), axes, strict=True):
    mean = [
        [np.mean([train(data, step, batch, features) for data in some]) for step in steps]
        for batch in batches
    ]
    shades = ax.contourf(steps, batches, mean, np.linspace(0, 1, 11), cmap="Greys_r", alpha=0.6)
    here = played["features"] == features
    ax.scatter(
        played["step"][here], played["batch"][here], c=history.t[here], cmap="Blues", vmax=ROUNDS, s=16
    )
    for chosen, mark, name in ((DEFAULT, "s", "default"), (best.values, "o", "recommended")):
        if chosen["features"] == features:
            ax.plot(chosen["step"], chosen["batch"], mark, color="tab:orange", ms=9, mec="black", label=name)
    ax.set(xscale="log", yscale="log", xlabel="step", title=f"{features}: {here.sum()} rounds")
    ax.legend(loc="upper left")
axes[0].set_ylabel("batch")
fig.colorbar(shades, ax=axes, label="mean loss")

# sphinx_gallery_thumbnail_number = 1

# %%
# The horizontal streaks are *rows*. The learner has a line for each choice and for each of a few values
# of the batch, along which it moves the step. Rows that do well are split, so that in the end it knows
# the batch more finely where that matters. Here is the density of the step through time, with all rows
# together:

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.rows.along(history, ax)

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
# - Other seeds of the learner: does it always find the valley, and always the same place in it?
# - ``sb.play(..., probes=1)`` looks at each data set a second time, with other values: what is hard about
#   a data set can then be told from what the knobs do. Compare at the same number of runs, and over
#   several seeds.
# - A program instead of a function: ``semibandit tune "train --step {step} --batch {batch} {instance}"
#   data/* --knob step=1e-3:10:log --knob batch=1..32 --state knobs.json``.
# - Where a run shows more than a single loss, and how rows are split, is in :doc:`/knobs`.

plt.show()
