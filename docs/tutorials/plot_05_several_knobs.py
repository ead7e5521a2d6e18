"""Several knobs
=============

This page tunes three knobs of a training run with one learner: a step size on a logarithmic scale, an integer
batch size, and a switch. Each round is another data set.
"""

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# The algorithm
# -------------
#
# Stochastic gradient descent for linear regression on 512 examples. The step size decreases to zero. There
# are three knobs:
#
# - *step*, the initial step size: too small and it does not converge, too large and it diverges;
# - *batch*, the number of examples per step: large batches have less noise, but make fewer steps;
# - *features*: raw, or scaled to the same spread.
#
# Their best values depend on each other. The loss is the error on new examples relative to predicting 0.

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def train(data: Data, step: float, batch: int, features: str) -> float:
    """Return the relative error on new examples after one pass over the training examples."""
    X, y, X_new, y_new = data
    if features == "scaled":
        X, X_new = X / X.std(axis=0), X_new / X.std(axis=0)
    w, n_steps = np.zeros(X.shape[1]), len(y) // batch
    for k in range(n_steps):
        rows = slice(k * batch, (k + 1) * batch)
        w -= step * (1 - k / n_steps) * (X[rows].T @ (X[rows] @ w - y[rows])) / batch
        if not np.abs(w).max() < 1e6:
            return 1.0  # diverged
    return float(min(np.mean((X_new @ w - y_new) ** 2) / np.mean(y_new**2), 1.0))


def make(seed: int) -> Data:
    """Return a data set: 512 training and 200 new examples, ten features in different units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(712, 10))
    y = X @ rng.normal(size=10) + rng.normal(size=712)
    X = X * rng.permutation(np.geomspace(0.1, 3.0, 10))
    return X[:512], y[:512], X[512:], y[512:]


# %%
# The knobs
# ---------
#
# ``Real`` is a real number, here on a logarithmic scale; ``Choice`` is one of several values.

knobs = sb.Knobs(
    step=sb.Real(1e-3, 10, log=True),
    batch=sb.Integer(1, 32),
    features=sb.Choice("raw", "scaled"),
)
DEFAULT = {"step": 0.01, "batch": 8, "features": "raw"}

# %%
# A trial has the values of all knobs by name. The feedback is a single loss.

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
# The plot shows the values played; dark points are late rounds. The shading, which the learner does not
# know, is the mean loss on a grid of values, dark where it is low. The valley is diagonal: larger batches
# need larger steps. It is deep and wide only with scaled features.

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
            at = chosen["step"], chosen["batch"]
            ax.plot(*at, mark, color="tab:orange", ms=9, mec="black", label=name, clip_on=False)
    ax.set(xscale="log", yscale="log", xlabel="step", title=f"{features}: {here.sum()} rounds")
    ax.legend(loc="upper left")
axes[0].set_ylabel("batch")
fig.colorbar(shades, ax=axes, label="mean loss")

# sphinx_gallery_thumbnail_number = 1

# %%
# The horizontal lines of points are *rows*. The learner has a row for each choice and each value
# of the batch, and learns the step along each row. Neighbouring rows learn from each other. The density of
# the step through time, summed over the rows:

fig, ax = plt.subplots(figsize=(9, 4), layout="constrained")
sb.plots.density(history, ax, best=False)

# %%
# Is it better than the default?
# ------------------------------
#
# A comparison on data sets that were not used for learning:

fresh = [make(seed) for seed in range(10_000, 10_200)]
ours, theirs = (np.array([train(data, **chosen) for data in fresh]) for chosen in (best.values, DEFAULT))
error = (ours - theirs).std(ddof=1) / np.sqrt(len(fresh))
print(f"recommended {ours.mean():.4f}, default {theirs.mean():.4f}")
print(f"difference  {(ours - theirs).mean():+.4f} ± {error:.4f}")

# %%
# Try next
# --------
#
# - Other seeds of the learner: does it always find the valley, and the same values?
# - ``sb.play(..., probes=1)`` runs each data set a second time with other values, which separates the
#   difficulty of a data set from the effect of the knobs. Compare at the same number of runs, over several
#   seeds.
# - A program instead of a function: ``semibandit tune "train --step {step} --batch {batch} {instance}"
#   data/* --knob step=1e-3:10:log --knob batch=1..32 --state knobs.json``.
# - :doc:`/knobs` explains the rows, and feedback for more than a single value.

plt.show()
