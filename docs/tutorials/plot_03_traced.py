"""Your own code, traced
=====================

``sb.traced`` finds exact intervals for code of your own: no formula for the interval is needed. This page
writes a cache in ten lines, traces it, plays it, measures the dispersion of its stream, and serves its knob.
"""

import tempfile
import textwrap

import matplotlib.pyplot as plt
import numpy as np

import semibandit as sb

# %%
# The algorithm
# -------------
#
# A cache holds five pages. A request for another page replaces one of them: the page that was used least
# often (ρ = 0), the page that was not used for the longest time (ρ = 1), or a mix of both criteria. The
# function returns the share of requests that miss the cache.


@sb.traced(sb.Interval(0, 1))
def cache(rho, requests):
    """Return the share of requests that miss a cache of five pages."""
    uses, last = np.zeros(requests.max() + 1), np.zeros(requests.max() + 1)
    held, misses = np.arange(5), 0
    for time, page in enumerate(requests):
        if page not in held:
            misses += 1
            scores = (1 - rho) * uses[held] + rho * last[held]
            held = np.append(np.delete(held, np.argmin(scores)), page)
        uses[page] += 1
        last[page] = time
    return misses / len(requests)


# %%
# An instance is an hour of requests. Some pages are always popular, others for a while.


def hour(seed: int) -> np.ndarray:
    """Return 80 requests for 30 pages."""
    rng = np.random.default_rng(seed)
    popular = np.minimum(rng.zipf(1.4, 80) - 1, 14)
    passing = 15 + (rng.geometric(0.4, 80) + np.arange(80) // int(rng.integers(4, 16))) % 15
    return np.where(rng.random(80) < 0.6, popular, passing)


# %%
# One run, one interval
# ---------------------
#
# Called with an instance, the traced function makes a problem. ``loss`` calls the function with a float.
# ``reveal`` calls it once with a number that records, at each miss, for which other ρ the same page is
# replaced.

problem = cache(hour(0))
print("plain run:  ", problem.loss(0.35))
print("traced run: ", problem.reveal(0.35))
losses = problem.losses()
print(f"all ρ:       {len(losses)} pieces, losses from {losses.min():.3f} to {losses.values.max():.3f}")

# %%
# The check compares all three kinds of feedback, also right beside the edges.

sb.testing.check_problem(problem)
print("no complaints")

# %%
# What cannot be traced raises an error that names the line:


@sb.traced(sb.Interval(0, 1))
def squared(rho, x):
    """A decision that is not a line in ρ."""
    return float(np.argmin(x * (rho * rho)))


try:
    squared(np.array([1.0, 2.0])).reveal(0.5)
except TypeError as error:
    print(textwrap.fill(str(error), 88))

# %%
# Playing
# -------
#
# We play 150 hours with intervals and with single losses, and compare with two fixed values. ρ = 0 happens to
# be near the best value, ρ = 1 is not. In 150 rounds the learners beat ρ = 1 only.

ROUNDS = 150
space = sb.Interval(0, 1)
hours = cache.stream([(hour(seed),) for seed in range(ROUNDS)])
histories = {name: sb.play(sb.Exp3Set(space, seed=0), hours, name) for name in ("semi-bandit", "bandit")}
best = histories["semi-bandit"].best()
print(f"best fixed ρ = {best.rho:.3f}, mean loss {best.mean_loss:.4f}")
for name, history in histories.items():
    print(f"{name:<12} regret {history.regret()[-1]:6.2f}")
for rho in (0.0, 1.0):
    print(f"ρ = {rho:g}        regret {sum(each.loss(rho) - best.mean_loss for each in hours):6.2f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
sb.plots.loss_function(problem, 0.35, left)
sb.plots.regret(histories, right)

# %%
# Is the stream dispersed?
# ------------------------
#
# The regret bound needs edges that do not concentrate in one place. Here they are fractions of small
# integers, which do concentrate. ``measure`` says how much.

result = sb.dispersion.measure(hours[:50], space)
print(textwrap.fill(result.verdict(), 88))

# %%
# Serving
# -------
#
# A study keeps the learner in a database. Any number of processes ask it for a value of ρ, run the algorithm,
# and tell it the interval. ``semibandit serve`` offers the study over HTTP, and ``sb.Client`` has the same
# methods. Fifty rounds are too few for a good recommendation, as its standard error shows.

with tempfile.TemporaryDirectory() as folder:
    study = sb.Study(f"sqlite:///{folder}/cache.db", "cache", space=space, seed=0)
    for each in hours[:50]:
        trial = study.ask()
        study.tell(trial, each.reveal(trial.rho))
    print("recommended:", study.recommend())
    study.close()

# %%
# Try next
# --------
#
# - :doc:`/traced` lists the operations, and :doc:`/black-box` says when to search for the interval instead.
# - Return ``(loss, output)`` and use ``partition="output"`` to join neighbours with the same output.
# - With ``sb.Knobs``, trace along one knob while others stay plain.

plt.show()
